"""What options are worth once evaluators are taken out of it, and how sure a lead is.

Notation
--------
y, p        (n,) scores and partiality
v           (entries,) values: v(y) − β v(p), with v linear
e           what values and evaluators leave over of scores;  ν its degrees of freedom

Three ways, by what the scores are: two-way levels, where evaluators score options; least squares on
differences, where they compare them; the reference, where something impartial knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import sides, whose_position
from evenhand.auditing.lead_errors import LeadCovariance, Opinions
from evenhand.auditing.projections import Projection
from evenhand.auditing.rules import Ballots
from evenhand.certainty.models import Shared
from evenhand.numerics.gram import Gram
from evenhand.scores import Scores
from evenhand.scores.factor import crossed, sums_over

_FEW = 600  # options that are compared, for which the variance of a lead is exact


LeadErrors = Callable[[int, int, int], LeadCovariance | None]
"""How far off the leads of an entry of an event are: event, entry, and a rival or −1."""


class Fair(Protocol):
    """Values of options without what evaluators add."""

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p); NaN at events where options have no common measure."""

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are by (n,) scores and (entries,) values with the bias off,
        after fitting so many numbers beside levels; entries count from the first of their event.
        """


def fair(scores: Scores, ballots: Ballots) -> Fair:
    """Return the way to fair values that goes with a table of scores."""
    if scores.reference is not None:
        return References(scores.reference - scores.level.origin, ballots)
    return Panel(ballots) if scores.rival is None else Duels(scores, ballots)


@dataclass(frozen=True, eq=False)
class Panel:
    """Options that evaluators score: two-way levels; means, where nobody said who scored."""

    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p)."""
        return self.ballots.two_way(y), self.ballots.two_way(p)

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are: each event by its own noise."""
        ballots, contests = self.ballots, self.ballots.contests
        entry = contests.entry[contests.scored]
        if ballots.levels is not None and len(contests.entry) > len(values):  # several items
            level = ballots.levels.fitted(y)[contests.scored]
            y = y - level + values[entry]
        chair = ballots.chair
        if chair is not None:
            pair, n = crossed(entry, chair)
            times = sums_over(pair, n)
            some = np.zeros(n, dtype=np.intp)
            some[pair] = np.arange(len(pair))
            y, entry, chair = sums_over(pair, n, y) / times, entry[some], chair[some]
        order = np.argsort(contests.event[entry], kind="stable")
        ends = np.searchsorted(contests.event[entry[order]], np.arange(len(contests) + 1))
        seats = 0 if chair is None else len(np.unique(chair)) - len(contests)
        taken = min(fitted / max(len(y) - len(values) - seats, 1), 1.0)

        def of(event: int, leader: int, rival: int) -> LeadCovariance | None:
            rows, start = order[ends[event] : ends[event + 1]], int(contests.starts[event])
            who = None
            if chair is not None:
                who = np.unique(chair[rows], return_inverse=True)[1].reshape(-1).astype(np.int32)
            mine = values[start : start + int(contests.sizes[event])]
            found = Opinions(entry[rows] - start, who, y[rows], mine, taken)
            return found.errors(leader, rival)

        return of


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

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are, each event by its own noise: sums of e over pairs of
        evaluator and options, which scatter by more than single ones do.
        """
        contests, n = self.ballots.contests, len(self.scores)
        rows = contests.entry[contests.scored]
        first, second = rows[:n], rows[n:]
        event, size = contests.event[first], len(contests)
        left = self._met[0].without(y)[0].reshape(-1)
        pairs = [np.minimum(first, second), np.maximum(first, second)]
        if self.ballots.evaluator is None:
            pairs.append(np.arange(n, dtype=np.int32))
        else:
            pairs.append(self.ballots.evaluator[:n])
        pair, n_pairs = crossed(*pairs)
        of_pair = np.zeros(n_pairs, dtype=np.int32)
        of_pair[pair] = event
        together = sums_over(pair, n_pairs, np.where(first <= second, left, -left))
        verdicts = np.bincount(event, minlength=size)
        others = contests.sizes - 1 + (whose_position(self.scores)[1] + fitted) * verdicts / n
        scatter = np.maximum(sums_over(event, size, left**2), sums_over(of_pair, size, together**2))
        variance = scatter / np.maximum(verdicts - others, 1.0)
        freedom = np.bincount(of_pair, minlength=size) - others
        exact = len(values) <= _FEW
        root = self._root if exact else np.zeros((len(values), 0))
        alone = np.zeros(len(values)) if exact else 1.0 / np.bincount(rows, minlength=len(values))

        def of(event: int, leader: int, _: int) -> LeadCovariance | None:
            if freedom[event] < 1.0 or not variance[event] > 0.0:
                return None
            start = contests.starts[event]
            rivals = np.delete(np.arange(contests.sizes[event]), leader)
            b, j = start + leader, start + rivals
            factor = np.column_stack([root[b] - root[j], np.full(len(j), math.sqrt(alone[b]))])
            scatter = float(variance[event] * freedom[event])
            return LeadCovariance(rivals, Shared(factor, alone[j]), scatter, float(freedom[event]))

        return of

    @cached_property
    def _root(self) -> Floats:
        """(entries, r) R: leads have the covariance of R Rᵀ, for noise of variance 1."""
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
        sizes, stood = met.diagonal().copy(), np.zeros((len(entry), n_positions))
        np.add.at(stood, (first, whose), 1.0)
        np.add.at(stood, (second, whose), -1.0)
        met -= stood / np.maximum(np.bincount(whose, minlength=n_positions), 1) @ stood.T
        return Gram.of_matrix(met, sizes).root


@dataclass(frozen=True, eq=False)
class References:
    """What something impartial knows: whatever evaluators gave, values are the references."""

    reference: Floats
    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) the mean of the references, whatever the bias."""
        known = self.ballots.mean(self.ballots.turned(self.reference))
        return known, np.zeros(len(known))

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return that references have no noise."""
        sizes = self.ballots.contests.sizes

        def of(event: int, leader: int, _: int) -> LeadCovariance:
            rivals = np.delete(np.arange(sizes[event]), leader)
            none = Shared(np.zeros((len(rivals), 0)), np.zeros(len(rivals)))
            return LeadCovariance(rivals, none, 0.0, math.inf)

        return of
