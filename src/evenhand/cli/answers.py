"""Answers on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from evenhand.answers import Answer
from evenhand.cli.tables import number_table, print_table

_MOST_ROWS = 25  # of a table in the terminal; --json has all


def print_answer(
    out: Console, answer: Answer, figure: Path | None = None, report: Path | None = None
) -> None:
    """Print an answer in words, the ranking, what to ask next, and which files were written."""
    out.print(str(answer), soft_wrap=True)
    out.print("\nRanking", style="bold")
    _print_frame(out, answer.standings)
    if answer.next_questions:
        out.print("\nAsk next", style="bold")
        shown = answer.next_questions.to_frame()
        _print_frame(
            out,
            shown[["label", "price", "rival", "error", "error_after", "chance", "chance_after"]],
        )
    for what, path in (("picture", figure), ("report", report)):
        if path is not None:
            out.print(f"\nThe {what} is in {path}.", soft_wrap=True)


def _print_frame(out: Console, frame: Any) -> None:
    table = number_table()
    for name in frame.columns:
        numeric = frame[name].dtype.kind in "fiu"
        table.add_column(str(name).replace("_", " "), justify="right" if numeric else "left")
    for row in frame.head(_MOST_ROWS).itertuples(index=False):
        table.add_row(*(_cell(cell) for cell in row))
    if len(frame) > _MOST_ROWS:
        table.add_row(f"… and {len(frame) - _MOST_ROWS} more: --json has all")
    print_table(out, table)


def _cell(value: Any) -> str:
    """Return a cell as people read it; nothing where nothing is known."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < float("inf") else ""
    return "" if value is None else str(value)
