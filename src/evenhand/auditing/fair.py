"""What options are worth once evaluators are taken out of it, and how sure a lead is.

Notation
--------
y, p        (n,) scores and partiality
v           (entries,) values: v(y) − β v(p), with v linear
var         (events,) variance of the lead of one entry over another, for noise of variance 1

Three ways, by what the scores are: two-way levels, where evaluators score options; least squares on
differences, where they compare them; the reference, where something impartial knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import sides, whose_position
from evenhand.auditing.levels import sums
from evenhand.auditing.projections import Projection
from evenhand.auditing.rules import Ballots
from evenhand.scores import Scores

_FEW = 600  # options that are compared, for which the variance of a lead is exact


class Fair(Protocol):
    """Values of options without what evaluators add."""

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p); NaN at events where options have no common measure."""

    def variances(self, first: Indices, second: Indices) -> Floats:
        """(events,) var of the lead of one entry over another; NaN where one of them is −1."""


def fair(scores: Scores, ballots: Ballots) -> Fair:
    """Return the way to fair values that goes with a table of scores."""
    if scores.reference is not None:
        return References(scores.reference, ballots)
    return Panel(ballots) if scores.rival is None else Duels(scores, ballots)


@dataclass(frozen=True, eq=False)
class Panel:
    """Options that evaluators score: two-way levels; means, where nobody said who scored."""

    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p)."""
        return self.ballots.two_way(y), self.ballots.two_way(p)

    def variances(self, first: Indices, second: Indices) -> Floats:
        """(events,) var of a lead."""
        contests, levels = self.ballots.contests, self.ballots.levels
        both = (first >= 0) & (second >= 0)
        share = np.zeros(len(contests.option))
        share[first[both]], share[second[both]] = 1.0, -1.0
        contrast = (share / np.bincount(contests.entry))[contests.entry]
        event = contests.event[contests.entry]
        if levels is None:
            found = sums(event, contrast**2 / self.ballots.counts, len(contests))
        else:
            found = levels.variances(contrast, event, len(contests))
        return np.where(both, found, np.nan)


@dataclass(frozen=True, eq=False)
class Duels:
    """Options that evaluators compare: v_a − v_b, and what standing first adds."""

    scores: Scores
    ballots: Ballots

    @cached_property
    def _met(self) -> tuple[Projection, Indices]:
        """Who met whom, and (k,) the entry of each who did."""
        first, second, k = sides(self.scores)
        contests = self.ballots.contests
        entry = np.zeros(k, dtype=np.intp)
        entry[np.concatenate([first, second])] = contests.entry[contests.scored]
        return Projection(first, k, *whose_position(self.scores), against=second), entry

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p)."""
        met, entry = self._met
        contests = self.ballots.contests
        part = np.empty(len(entry), dtype=np.int32)
        part[entry] = met.parts[0]
        apart = contests.any_of(part != part[contests.starts][contests.event])[contests.event]
        found = np.empty((len(entry), 2))
        found[entry] = met.without(np.column_stack([y, p]))[1]
        found[apart] = np.nan
        return found[:, 0], found[:, 1]

    def variances(self, first: Indices, second: Indices) -> Floats:
        """(events,) var of a lead: exact for a few hundred options, else as of two means."""
        both = (first >= 0) & (second >= 0)
        if len(self._met[1]) > _FEW:
            counts = self.ballots.counts.astype(np.float64)
            times = sums(self.ballots.contests.entry, counts, len(self._met[1]))
            return np.where(both, 1.0 / times[first] + 1.0 / times[second], np.nan)
        a, b = (np.where(both, entries, 0) for entries in (first, second))
        cov = self._covariance
        return np.where(both, cov[a, a] + cov[b, b] - 2.0 * cov[a, b], np.nan)

    @cached_property
    def _covariance(self) -> Floats:
        """(entries, entries) of v, for noise of variance 1, but for what leads do not show."""
        _, entry = self._met
        contests, n = self.ballots.contests, len(self.scores)
        rows = contests.entry[contests.scored]
        whose, n_positions = whose_position(self.scores)
        met = np.zeros((len(entry), len(entry)))
        first, second = rows[:n], rows[n:]
        for one in (first, second):
            np.add.at(met, (one, one), 1.0)
        for one, other in ((first, second), (second, first)):
            np.add.at(met, (one, other), -1.0)
        stood = np.zeros((len(entry), n_positions))
        np.add.at(stood, (first, whose), 1.0)
        np.add.at(stood, (second, whose), -1.0)
        met -= stood / np.maximum(np.bincount(whose, minlength=n_positions), 1) @ stood.T
        return np.asarray(np.linalg.pinv(met, hermitian=True), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class References:
    """What something impartial knows: whatever evaluators gave, values are the references."""

    reference: Floats
    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) the mean of the references, whatever the bias."""
        known = self.ballots.mean(self.ballots.turned(self.reference))
        return known, np.zeros(len(known))

    def variances(self, first: Indices, second: Indices) -> Floats:
        """(events,) nothing: references have no noise."""
        return np.where((first >= 0) & (second >= 0), 0.0, np.nan)
