"""Rules by which scores become values: means, trimmed means, recusal, and two-way effects.

Notation
--------
y, p        (rows,) scores and partiality;  c: the evaluator at an event, who has a leniency s_c
v           (scored,) values by a rule

A rule is linear in the scores, but for the trimmed mean: with a bias β taken off, values are
v(y) − β v(p). So which β makes another option win is a division.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.auditing.contests import Contests
from evenhand.auditing.levels import Levels
from evenhand.scores import Scores
from evenhand.scores.factor import Codes, chunks, sums_over

_LEAST_TRIMMED = 3


@dataclass(frozen=True, eq=False)
class Ballots:
    """Scores as rows that speak for one option each; a comparison makes two, the second turned."""

    score: Floats  # (rows,) y, from the origin of their level
    partial: Floats  # (rows,) p
    evaluator: Codes | None  # (rows,) who; None where nobody said
    chair: Codes | None  # (rows,) who at which event; None where nobody said, or in comparisons
    contests: Contests  # what the rows are about
    compared: bool = False  # whether each score makes two rows

    @classmethod
    def of(cls, scores: Scores) -> Ballots:
        """Return the rows of a table of scores."""
        contests = Contests.of(scores)
        partial = np.zeros(len(scores)) if scores.partial is None else scores.partial
        who = None if scores.evaluator is None else scores.evaluator.codes
        if scores.rival is None:
            chair = None if who is None else scores.chairs[0]
            return cls(scores.centred, partial, who, chair, contests)
        who = None if who is None else np.tile(who, 2)
        y, p = (np.concatenate([x, -x]) for x in (scores.score, partial))
        return cls(y, p, who, None, contests, compared=True)

    def turned(self, x: Floats) -> Floats:
        """(rows,) numbers by score, as they count for the option of each row."""
        return np.concatenate([x, -x]) if self.compared else x

    @property
    def own(self) -> NDArray[np.bool_]:
        """(rows,) whether the evaluator is partial, to or against."""
        return np.asarray(self.partial != 0.0)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(scored,) how many rows are about each."""
        return np.bincount(self.contests.scored, minlength=len(self.contests.entry))

    def mean(self, values: Floats, rows: NDArray[np.bool_] | None = None) -> Floats:
        """(entries,) the mean of some rows; NaN where there is none of one."""
        scored, n = self.contests.scored, len(self.contests.entry)
        if rows is None:
            means = sums_over(scored, n, values) / self.counts
        else:
            there = sums_over(scored, n, rows)
            means = np.full(n, np.nan)
            np.divide(sums_over(scored, n, values, rows), there, out=means, where=there > 0)
        return self.contests.of_entries(means)

    def mean_without(self, own: Floats) -> Floats:
        """(entries,) the mean once (evaluators,) the bias of each is taken off."""
        assert self.evaluator is not None
        total = np.zeros(len(self.counts))
        for rows in chunks(len(self.score), least=len(total)):
            left = self.score[rows] - own[self.evaluator[rows]] * self.partial[rows]
            total += np.bincount(self.contests.scored[rows], left, minlength=len(total))
        return self.contests.of_entries(total / self.counts)

    def trimmed(self, bias: float = 0.0) -> Floats:
        """(entries,) the mean without the highest and the lowest score (of one or two, the mean),
        less a bias.
        """
        highest, lowest = np.full(len(self.counts), -np.inf), np.full(len(self.counts), np.inf)
        total = np.zeros(len(self.counts))
        for rows in chunks(len(self.score), least=len(total)):
            scored, left = self.contests.scored[rows], self.score[rows] - bias * self.partial[rows]
            np.maximum.at(highest, scored, left)
            np.minimum.at(lowest, scored, left)
            total += np.bincount(scored, left, minlength=len(total))
        enough = self.counts >= _LEAST_TRIMMED
        total = np.where(enough, total - highest - lowest, total)
        return self.contests.of_entries(total / np.where(enough, self.counts - 2, self.counts))

    @cached_property
    def levels(self) -> Levels | None:
        """All rows, to be fitted by levels of what is scored and of who scores; None without."""
        return None if self.chair is None else self._levels(self.contests.scored, self.chair)

    def two_way(self, values: Floats, rows: NDArray[np.bool_] | None = None) -> Floats:
        """(entries,) values less what lenient and severe evaluators add, the mean if nobody knows;
        NaN at events where no chain of evaluators links some options with the others.
        """
        if self.chair is None or self.levels is None:
            return self.mean(values, rows)
        levels = self.levels
        if rows is not None:
            levels, values = (
                self._levels(self.contests.scored[rows], self.chair[rows]),
                values[rows],
            )
        found = self.contests.of_entries(levels.fitted(values))
        linked = self.contests.alike(levels.parts)
        return np.where(linked[self.contests.event], found, np.nan)

    def _levels(self, scored: Codes, chair: Codes) -> Levels:
        assert self.chair is not None
        return Levels(scored, chair, len(self.counts), int(self.chair.max(initial=-1)) + 1)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Who wins at every event by a rule, and who without it."""

    rule: str
    winner: Indices  # (events,) the entry that wins by the rule; −1 where options cannot be ranked
    baseline: Indices  # (events,) the one that wins without it
    flipped: NDArray[np.bool_]  # (events,) whether another wins; a tie changes nothing
    podium_changed: NDArray[np.bool_]  # (events,) whether the first three or their order change
    margin: Floats  # (events,) lead by the rule: 0 in a tie, infinite without a rival
    # (entries,) whether each wins without the rule, alone or in a tie
    first_before: NDArray[np.bool_]

    @classmethod
    def of(cls, rule: str, contests: Contests, values: Floats, before: Floats) -> Comparison:
        """Return who wins by some values, against who wins by others; (entries,) both."""
        ranked = ~(contests.any_of(np.isnan(values)) | contests.any_of(np.isnan(before)))
        places, places_before = contests.places(values), contests.places(before)
        podium = contests.podium(contests.order(places, places_before))
        earlier = contests.podium(contests.order(places_before, places))
        return cls(
            rule,
            np.where(ranked, podium[:, 0], -1),
            np.where(ranked, earlier[:, 0], -1),
            ranked & (podium[:, 0] != earlier[:, 0]),
            ranked & (podium != earlier).any(axis=1),
            np.where(ranked, contests.lead(values, podium), np.nan),
            places_before == 0,
        )
