"""Panels of skating judges: a season of real events, each scored once by every judge.

Notation
--------
o, e        a performance (the option) and a judge;  y_oe the total that the judge gave
p_oe        1 where judge and skater share a nation
v_o, s_e    what a performance is worth, and how lenient a judge is: y = v_o + s_e + β p_oe + noise

The scores are those of `evenhand.cases.skating`. They were given once: `SkatingPanel.replay`
answers with them, and cannot be asked the same twice. What would come of other scores is simulated
by `fitted`, and by `null`, where nobody is best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Floats, read_only
from evenhand.cases.skating import LEAST_SKATERS, season
from evenhand.errors import InputError
from evenhand.policies.messages import Allocation, Feedback
from evenhand.questions import Questions

OWN_NATION = 3.18
"""Points that a judge adds for skaters of the own nation, by the model of the season."""


@dataclass(frozen=True, eq=False)
class SkatingPanel:
    """One event: every performance, scored once by every judge.

    Parameters
    ----------
    competition, program, discipline
        Which event.
    performances, judges
        Their nations, by name.
    table
        (performances, judges) the totals that were given.

    Examples
    --------
    >>> panel = next(skating_panels())
    >>> panel.competition, panel.program, panel.table.shape
    ('Grand Prix Final 2017 Senior and Junior', 'ICE DANCE FREE DANCE', (6, 9))
    >>> panel.questions().label(0), panel.questions().n_attributes    # one bias, 8 leniencies
    ('P049 by J027', 9)
    """

    competition: str
    program: str
    discipline: str
    performances: dict[str, str]
    judges: dict[str, str]
    table: Floats

    def questions(
        self,
        capacity: ArrayLike | None = 1,
        bias: Literal["common", "evaluator", "group"] = "common",
    ) -> Questions:
        """Return what can be asked: every judge about every performance; see `Questions.panel`."""
        return Questions.panel(self.performances, self.judges, capacity=capacity, bias=bias)

    @property
    def scores(self) -> Floats:
        """(q,) what the judges gave, question by question."""
        return self.table.ravel()

    @cached_property
    def partial(self) -> Floats:
        """(performances, judges) 1 where they share a nation."""
        nations = np.array(list(self.performances.values()))
        same = nations[:, None] == np.array(list(self.judges.values()))
        return read_only(np.asarray(same, dtype=np.float64))

    @cached_property
    def values(self) -> Floats:
        """(k,) v by two-way least squares, given β: what judges of average leniency would give."""
        return read_only((self.table - OWN_NATION * self.partial).mean(axis=1))

    @cached_property
    def leniencies(self) -> Floats:
        """(e,) s by two-way least squares, given β; they add to 0."""
        fair = self.table - OWN_NATION * self.partial
        return read_only(fair.mean(axis=0) - fair.mean())

    @cached_property
    def residuals(self) -> Floats:
        """(q,) what is left over, stretched to the variance of the noise that it was fitted to."""
        k, e = self.table.shape
        fitted = self.values[:, None] + self.leniencies + OWN_NATION * self.partial
        stretch = np.sqrt(k * e / ((k - 1) * (e - 1)))
        return read_only((self.table - fitted).ravel() * stretch)

    def replay(self, seed: int = 0) -> RecordedScores:
        """Return judges who give the scores that they gave, once each, whatever the seed.

        Examples
        --------
        >>> panel = next(skating_panels())
        >>> judges = panel.replay()
        >>> judges.score(3) == float(panel.table[0, 3])
        True
        """
        return RecordedScores(self.questions(), self.scores)

    def fitted(self, seed: int, pair_share: float = 0.0) -> FittedScores:
        """Return judges who give v_o + s_e + β p_oe and a residual of the event, drawn anew.

        Parameters
        ----------
        seed
            Where the draws come from. Those of a pair do not depend on what else is asked.
        pair_share
            How much of the residual variance is an effect of the pair, which is drawn once and
            stays; from 0 to 1.

        Examples
        --------
        >>> panel = next(skating_panels())
        >>> judges = panel.fitted(seed=1)
        >>> draws = np.array([judges.score(0) for _ in range(10_000)])
        >>> mean = panel.values[0] + panel.leniencies[0] + OWN_NATION * panel.partial[0, 0]
        >>> bool(abs(draws.mean() - mean) < 4 * panel.residuals.std() / 100)
        True
        """
        return self._drawn(self.values, seed, pair_share)

    def null(self, seed: int, tied: int | None = None) -> FittedScores:
        """Return judges as `fitted` has them, for performances of which none is the best.

        The ``tied`` best (all, if that is not said) are worth as much as the best of them; others
        keep their values. Whoever is sure of one choice is then wrong to be.
        """
        k = len(self.values)
        n = k if tied is None else tied
        if not 2 <= n <= k:
            raise InputError(f"tied must be from 2 to {k}, or None for all; got {tied!r}.")
        order = np.argsort(-self.values, kind="stable")
        worth = self.values.copy()
        worth[order[:n]] = worth[order[0]]
        return self._drawn(worth, seed, 0.0)

    def _drawn(self, values: Floats, seed: int, pair_share: float) -> FittedScores:
        if not 0.0 <= pair_share <= 1.0:
            raise InputError(f"pair_share must be a share from 0 to 1; got {pair_share!r}.")
        means = values[:, None] + self.leniencies + OWN_NATION * self.partial
        return FittedScores(values, means.ravel(), self.residuals, seed, pair_share)


class RecordedScores:
    """Scores that were given, for each question once: (q,)."""

    def __init__(self, questions: Questions, scores: Floats) -> None:
        self._questions, self._scores = questions, scores
        self._given: NDArray[np.bool_] = np.zeros(len(scores), dtype=np.bool_)

    def score(self, question: int) -> float:
        """Return the score; a second time there is none."""
        if self._given[question]:
            raise InputError(
                f"{self._questions.label(question)!r} was asked before: people are asked once, and "
                "there is no second score. Ask with capacity=1, or draw scores with fitted()."
            )
        self._given[question] = True
        return float(self._scores[question])

    def evaluate(self, allocation: Allocation) -> Feedback:
        """Return the scores of an allocation; nothing is given where one is there no more."""
        counts = allocation.counts
        again = np.flatnonzero(counts + self._given > 1)
        if len(again):
            question = int(again[0])
            raise InputError(
                f"{self._questions.label(question)!r} is asked "
                f"{counts[question] + self._given[question]} times, but there is one score of it: "
                "people are asked once. Ask with capacity=1, or draw scores with fitted()."
            )
        self._given |= counts > 0
        sums = self._scores * counts
        return Feedback(counts, sums, sums**2)


class FittedScores:
    """Scores drawn about (q,) means with the residuals of real ones, by question."""

    # `values` are the truth, (k,); `pair_share` is the share of the variance that stays with a
    # question; `best` is the option worth most, the first of several.

    def __init__(
        self, values: Floats, means: Floats, residuals: Floats, seed: int, pair_share: float
    ) -> None:
        self.values, self.best = values, int(np.argmax(values))
        self._residuals, self._seed = residuals, seed
        self._streams: dict[int, np.random.Generator] = {}
        self._loud = float(np.sqrt(1.0 - pair_share))
        stays = np.random.default_rng([seed, len(means)]).choice(residuals, len(means))
        self.evaluations: Floats = read_only(means + np.sqrt(pair_share) * stays)
        """(q,) mean answers, effects of pairs included."""

    def score(self, question: int) -> float:
        """Draw the next answer to one question."""
        return float(self._draw(int(question), 1)[0])

    def evaluate(self, allocation: Allocation) -> Feedback:
        """Draw the answers to an allocation; every call draws new ones."""
        counts = allocation.counts
        sums, squares = np.zeros(len(counts)), np.zeros(len(counts))
        for question in np.flatnonzero(counts).tolist():
            answers = self._draw(question, int(counts[question]))
            sums[question], squares[question] = answers.sum(), answers @ answers
        return Feedback(counts, sums, squares)

    def _draw(self, question: int, n: int) -> Floats:
        rng = self._streams.setdefault(question, np.random.default_rng([self._seed, question]))
        drawn = self._residuals[rng.integers(len(self._residuals), size=n)]
        return np.asarray(self.evaluations[question] + self._loud * drawn)


def skating_panels() -> Iterator[SkatingPanel]:
    """Yield the events of the season as whole panels.

    Of every competition and programme with at least six performances, and a judge who shares a
    nation with one of them.

    Examples
    --------
    >>> panels = list(skating_panels())
    >>> len(panels), sum(panel.table.size for panel in panels)
    (136, 14680)
    """

    def event_of(row: dict[str, str]) -> tuple[str, str]:
        return row["competition"], row["program"]

    for (competition, program), seen in groupby(sorted(season(), key=event_of), event_of):
        event = list(seen)
        performances = {row["performance"]: row["nation"] for row in event}
        judges = {row["judge"]: row["judge_nation"] for row in event}
        if len(performances) < LEAST_SKATERS or all(row["home"] == "0" for row in event):
            continue
        cells = {(row["performance"], row["judge"]): float(row["score"]) for row in event}
        table = np.array([[cells[o, e] for e in judges] for o in performances])
        yield SkatingPanel(
            competition, program, event[0]["discipline"], performances, judges, read_only(table)
        )
