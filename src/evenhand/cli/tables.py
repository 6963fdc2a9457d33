"""What commands on tables share: files, what people write in options, names and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.terminal import names_in
from evenhand.errors import InputError
from evenhand.report.pictures import checked_format
from evenhand.scores.grades import typed_grades

if TYPE_CHECKING:
    from evenhand.tables.columns import Table


def table_at(path: str | Path) -> Table:
    """Return the table in a file of any kind; "-" is the standard input."""
    from evenhand.tables.opened import open_table  # noqa: PLC0415 - see evenhand.tables

    if str(path) == "-":
        stream = typer.get_binary_stream("stdin")
        return open_table(stream, name="the standard input")
    return open_table(path)


def table_of(rows: Sequence[Mapping[str, str | None]], name: str) -> Table:
    """Return rows as a table."""
    from evenhand.tables.opened import of_rows  # noqa: PLC0415 - see evenhand.tables

    return of_rows(rows, name)


def scores_at(scores: str, metric: list[str] | None = None, families: Path | None = None) -> Any:
    """Return what to read; "-" is the standard input."""
    if scores == "-":
        return table_at(scores)
    if metric is None and families is None:
        return scores
    from evenhand.readers import read_scores  # noqa: PLC0415 - see evenhand.tables

    return read_scores(scores, metric=metric, families=families)


def grades_in(text: str | None) -> Any:
    """Return grades, the best first; with their numbers where these are stated."""
    names = names_in(text)
    return None if names is None else typed_grades(names)


def check_files(figure: Path | None, report: Path | None = None, *others: Path | None) -> None:
    """Refuse files that cannot be written before any work."""
    if figure is not None:
        checked_format(figure)
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report writes a page: FILE.html; got {str(report)!r}.")
    for path in (figure, report, *others):
        if path is not None and not path.parent.is_dir():
            raise InputError(
                f"there is no folder {str(path.parent)!r}; make it, or choose another."
            )
