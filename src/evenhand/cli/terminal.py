"""What commands share: printing for people and machines, numbers as people write them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from evenhand.errors import InputError, NotIdentifiableError
from evenhand.report.model import Result, plain, print_result
from evenhand.report.nouns import Nouns, figure_in
from evenhand.report.pictures import save_figure
from evenhand.tables.texts import number_in

NOT_IDENTIFIABLE = 3
"""The code of commands whose question no number of evaluations can answer."""


def console() -> Console:
    """Return where people read; the user's names are printed as they are, brackets and all."""
    return Console(markup=False, emoji=False, highlight=False)


def say_written(picture: Path | None, report: Path | None = None) -> None:
    """Say which files were written."""
    for what, path in (("picture", picture), ("report", report)):
        if path is not None:
            typer.echo(f"\nThe {what} is in {path}.")


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object in ASCII, which no terminal garbles; what is no number becomes null."""
    typer.echo(json.dumps(plain(values), indent=2, allow_nan=False))


def show(
    found: Result,
    figure: Path | None = None,
    report: Path | None = None,
    *,
    as_json: bool = False,
    title: str | None = None,
    call: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """Draw and write a result where that is asked for, and print it for people or machines; of
    several values, those that are results are printed below it.
    """
    if figure is not None and call:
        save_figure(figure_in(found.plot(), Nouns.of(call, found._report().names)), figure)
    elif figure is not None:
        found.plot(figure)
    if report is not None:
        found.report(report, title=title, call=call)
    if as_json:
        below = {name: one.to_dict() for name, one in more.items() if isinstance(one, Result)}
        print_json(more | found.to_dict() | below)
        return
    print_result(console(), found, title=title, call=call)
    for one in more.values():
        if isinstance(one, Result):
            console().print()
            print_result(console(), one, call=call)
    say_written(figure, report)


def end_untold(error: NotIdentifiableError, what: str, *, as_json: bool = False) -> NoReturn:
    """Say why no number of evaluations will do, and end with the code for that."""
    if as_json:
        print_json({what: False, "reason": str(error)})
    else:
        console().print(str(error), style="bold")
    raise typer.Exit(NOT_IDENTIFIABLE)


def calls_in(text: str | None) -> dict[str, str] | None:
    """Return nouns of the user's own, by what they are for: option=application,…"""
    if text is None:
        return None
    found = dict(pair.partition("=")[::2] for pair in names_in(text) or [])
    Nouns.of(found, ())  # before any work
    return found


def names_in(text: str | None) -> list[str] | None:
    """Return the names in a list separated by commas; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def typed_number(text: str | float) -> float:
    """Return the number in what was typed, read as those in tables are."""
    try:
        return number_in(str(text))
    except InputError as error:
        raise typer.BadParameter(f"{error}.") from None


def typed_whole(text: str | int) -> int:
    """Return the whole number in what was typed, read as those in tables are."""
    found = typed_number(text)
    if not found.is_integer() or abs(found) > 10**18:
        raise typer.BadParameter(f"{text!r} is not a whole number up to 1e18.")
    return int(found)


@contextmanager
def progress(doing: str, total: int) -> Iterator[Callable[[], None]]:
    """Give what is called when a step is done; show a bar where somebody looks."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with Progress(
        TextColumn(doing),
        BarColumn(),
        TextColumn("{task.percentage:.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,  # a thread of its own would be copied into forked workers
    ) as bar:
        task = bar.add_task("", total=total)
        bar.refresh()
        yield lambda: bar.update(task, advance=1, refresh=True)
