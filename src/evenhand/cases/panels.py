"""Panels of skating judges: a season of real events, each scored once by every judge.

The scores are those of `evenhand.cases.skating`. They were given once: `SkatingPanel.replay`
answers with them, and cannot be asked the same twice.
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
