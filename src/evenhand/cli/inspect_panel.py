"""`evenhand inspect` for panels: what several evaluators can tell, and whom to add."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from evenhand.cli.panel_files import table_at
from evenhand.cli.score_tables import scores_at
from evenhand.cli.terminal import console, print_json
from evenhand.questions import Questions
from evenhand.questions.inputs import named
from evenhand.report.panel import PanelInspection, inspect_panel

if TYPE_CHECKING:
    from evenhand.tables.sources import Table as GivenTable

_MOST_NAMES = 12  # of options in a line of the terminal; --json has all


def panel_of_files(
    options: GivenTable,
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


def show_panel(questions: Questions, *, full: bool, figure: Path | None, as_json: bool) -> bool:
    """Print what a panel can tell; return whether that is everything."""
    write_picture = None if figure is None else _picture_writer(figure)
    found = inspect_panel(questions, full)
    if write_picture is not None:
        write_picture(found)
    if as_json:
        print_json(found.to_dict())
        return found.check.fine
    _print(found)
    if figure is not None:
        console().print(f"\nThe picture is in {figure}.")
    return found.check.fine


def _print(found: PanelInspection) -> None:
    out = console()
    first, *others = found.sentences
    out.print(first, style="bold")
    for sentence in others:
        out.print(f"\n{sentence}")
    start = found.start_by_evaluator()
    if not start:
        return
    out.print("\nA start: whom to ask about whom", style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("evaluator")
    table.add_column("about")
    for who, items in start.items():
        more = f", … ({len(items)} in all)" if len(items) > _MOST_NAMES else ""
        table.add_row(who, ", ".join(items[:_MOST_NAMES]) + more)
    out.print(table)


def _picture_writer(path: Path) -> Callable[[PanelInspection], None]:
    """Return what writes the picture; a file that cannot be is refused before any work."""
    # Drawing takes longer to import than most answers take to find.
    from evenhand.report import bias_figure, panel_figure  # noqa: PLC0415

    bias_figure.checked_format(path)

    def write(found: PanelInspection) -> None:
        picture = panel_figure.panel_picture(found)
        bias_figure.save_figure(panel_figure.draw_panel_picture(picture), path)

    return write
