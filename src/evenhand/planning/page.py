"""A plan as HTML, for notebooks: the same words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand import html
from evenhand.planning.words import asked_rows, curve_rows, option_rows, verdict

if TYPE_CHECKING:
    from evenhand.planning.plan import Plan

_MOST_ROWS = 25


def page_of(plan: Plan) -> str:
    """Return the plan as one block of HTML: nothing in it runs, all names are escaped."""
    parts: list[object] = []
    if plan.evaluations:
        parts.append(_table(*(asked_rows(plan) if plan.by_evaluator else option_rows(plan))))
    if plan.evaluators_curve:
        parts += [html.faint("What each more evaluator buys"), _table(*curve_rows(plan))]
    return html.block(verdict(plan), *parts, *plan.advice)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> html.Markup:
    return html.table(header, rows[:_MOST_ROWS], left_out=max(0, len(rows) - _MOST_ROWS))
