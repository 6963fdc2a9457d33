"""What commands share that read and print: tables, results for people and machines, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from evenhand.cli.options import Called, Shown
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.files import write_atomically
from evenhand.report.model import Result, plain, print_result
from evenhand.report.nouns import Nouns, figure_in
from evenhand.report.pictures import FORMATS, save_figure

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.tables.columns import Table

NOT_IDENTIFIABLE = 3
"""The code of commands whose question no number of evaluations can answer."""
_PLAIN = Shown()
_PAGES, _PICTURES = (".html", ".htm"), tuple(f".{ending}" for ending in FORMATS)


def table_at(path: str | Path) -> Table:
    """Return the table in a file of any kind; "-" is the standard input."""
    from evenhand.tables.opened import open_table  # noqa: PLC0415 - see evenhand.tables

    if str(path) == "-":
        return open_table(typer.get_binary_stream("stdin"), name="the standard input")
    return open_table(path)


def console() -> Console:
    """Return where people read; the user's names are printed as they are, brackets and all."""
    return Console(markup=False, emoji=False, highlight=False)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object in ASCII, which no terminal garbles; what is no number becomes null."""
    typer.echo(json.dumps(plain(values), indent=2, allow_nan=False))


def check_files(report: Collection[Path] | None, *, table: bool = False) -> None:
    """Refuse files that cannot be written before any work."""
    endings = (*_PAGES[:1], *_PICTURES, *([".csv"] if table else []))
    for path in report or ():
        if path.suffix.lower() not in (*endings, *_PAGES):
            raise InputError(
                f"{str(path)!r} must end in {', '.join(endings)}, which says what to write."
            )
        if not path.parent.is_dir():
            raise InputError(
                f"there is no folder {str(path.parent)!r}; make it, or choose another."
            )


def checked(shown: Shown, *, table: bool = False) -> Shown:
    """Return how a result is to be shown, or say why it cannot be, before any work."""
    check_files(shown.report, table=table)
    if isinstance(shown, Called):
        Nouns.of(shown.words[1] or {}, ())
    return shown


def show(
    found: Result,
    shown: Shown = _PLAIN,
    table: Callable[[], pd.DataFrame] | None = None,
    **more: Any,
) -> None:
    """Write a result to files, and print it for people or machines; of several values, those that
    are results are printed below it.
    """
    title, call = shown.words if isinstance(shown, Called) else (None, None)
    for path in shown.report or ():
        if path.suffix.lower() in _PAGES:
            found.report(path, title=title, call=call)
        elif path.suffix.lower() == ".csv" and table is not None:
            with write_atomically(path, "the table") as draft:
                table().to_csv(draft, index=False)
        else:
            drawn = found.plot()
            names = found._report().names if call else ()
            save_figure(figure_in(drawn, Nouns.of(call, names)) if call else drawn, path)
    if shown.as_json:
        below = {name: one.to_dict() for name, one in more.items() if isinstance(one, Result)}
        print_json(more | found.to_dict() | below)
        return
    print_result(console(), found, title=title, call=call, brief=shown.brief)
    for one in more.values():
        if isinstance(one, Result):
            console().print()
            print_result(console(), one, call=call, brief=shown.brief)
    for path in shown.report or ():
        what = "report" if path.suffix.lower() in _PAGES else "picture"
        typer.echo(f"\nThe {'table' if path.suffix.lower() == '.csv' else what} is in {path}.")


def end_untold(error: NotIdentifiableError, what: str, *, as_json: bool = False) -> NoReturn:
    """Say why no number of evaluations will do, and end with the code for that."""
    if as_json:
        print_json({what: False, "reason": str(error)})
    else:
        console().print(str(error), style="bold")
    raise typer.Exit(NOT_IDENTIFIABLE)


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
