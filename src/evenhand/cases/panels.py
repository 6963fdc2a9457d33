"""Panels of skating judges: a season of real events, each scored once by every judge.

The scores are those of `evenhand.cases.skating`. They were given once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, read_only
from evenhand.cases.skating import LEAST_SKATERS, season
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
