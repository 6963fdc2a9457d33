"""`evenhand inspect` for panels: what several evaluators can tell, and whom to add."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.panel_files import table_at
from evenhand.cli.score_tables import scores_at
from evenhand.questions import Questions
from evenhand.questions.inputs import named

if TYPE_CHECKING:
    from evenhand.tables.sources import SourceTable


def panel_of_files(
    options: SourceTable,
    evaluators: Path,
    label: str | None,
    option_group: str | None,
    evaluator_group: str | None,
    prices: str | None,
    bias: str,
) -> Questions:
    """Return the panel of a table of options and one of evaluators."""
    judges = table_at(evaluators)
    if evaluator_group is None and option_group in judges.columns:
        evaluator_group = option_group
    costs = None if prices is None else judges.numbers(prices, "--prices", above=0.0)
    return Questions.panel(
        named(options, options.name, label=label, group=option_group),
        named(judges, str(evaluators), group=evaluator_group),
        bias=bias,  # type: ignore[arg-type] # checked there
        prices=costs,
    )


def panel_of_scores(
    scores: Path,
    option: str | None,
    evaluator: str | None,
    option_group: str | None,
    evaluator_group: str | None,
    bias: str,
) -> Questions:
    """Return the panel behind a table of scores; what was not scored may not be asked."""
    return Questions.from_scores(
        scores_at(str(scores)),
        option or "option",
        evaluator or "evaluator",
        option_group=option_group or "option_group",
        evaluator_group=evaluator_group or "evaluator_group",
        only_seen=True,
        bias=bias,
    )
