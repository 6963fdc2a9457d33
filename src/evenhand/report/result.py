"""What every result can do: print, show itself in a notebook, to_dict, plot, report.

Here stand its lines of text, and its plain values: what JSON can hold.
"""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.report.model import (
    Assumptions,
    Depth,
    Facts,
    Note,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Table,
    cell,
    is_number,
)
from evenhand.report.nouns import Nouns
from evenhand.report.pictures import checked_format, save_figure
from evenhand.report.words import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console


def plain(value: Any) -> Any:
    """Return a value of plain Python, with None in the place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value


WIDTH = 100
_MOST_ROWS = 20


def as_text(report: Report, width: int = WIDTH) -> str:
    """Return the verdict, the facts and what else is printed, in lines of at most so many letters
    but for tables: numbers are never cut.
    """
    parts = [_wrapped(report.verdict, width), _facts(report.told, width)]
    parts += [section_text(one, width) for one in report.at("print")]
    return "\n\n".join(part for part in parts if part)


def section_text(section: Section, width: int = WIDTH, most: int = _MOST_ROWS) -> str:
    """Return a section as text: its title, and below it what can be written."""
    written = [text for part in section.filled if (text := _part(part, width, most))]
    return "\n".join([visible(section.title), *written] if section.title else written)


def table_lines(table: Table, most: int = _MOST_ROWS) -> Iterator[str]:
    """Yield the lines of a table: header, rows, and how many were left out."""
    rows = table.shown(most)
    kept = [
        i for i in range(len(table.header)) if table.header[i] or any(cell(row[i]) for row in rows)
    ]
    right = [any(is_number(row[i]) for row in rows) for i in kept]
    lines = [
        [visible(table.header[i]) for i in kept],
        *([cell(row[i]) for i in kept] for row in rows),
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(kept))]
    for line in lines:
        cells = zip(line, widths, right, strict=True)
        written = "  ".join(text.rjust(w) if r else text.ljust(w) for text, w, r in cells)
        yield f"  {written}".rstrip()
    if left_out := table.left_out(rows):
        yield f"  … and {left_out:,} more"


def _facts(facts: Sequence[tuple[str, str]], width: int) -> str:
    """Return sentences beside their titles; a title that is repeated stands once."""
    column = max((len(title) for title, _ in facts), default=0) + 2
    lines: list[str] = []
    before = ""
    for title, text in facts:
        shown, before = "" if title == before else visible(title), title
        lines += textwrap.wrap(
            visible(text),
            width,
            initial_indent=shown.ljust(column),
            subsequent_indent=" " * column,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _part(part: Part, width: int, most: int) -> str:
    if isinstance(part, Table):
        return "\n".join(table_lines(part, most))
    if isinstance(part, Facts):
        return "\n".join(f"  {cell(name)}: {cell(value)}" for name, value in part.entries.items())
    if isinstance(part, Points):
        return "\n".join(_wrapped(one, width, "- ", "  ") for one in part.shown(most))
    if isinstance(part, Note):
        return _wrapped(part.sentence, width)
    if isinstance(part, Assumptions):
        said = (f"{what} {standing}. {seen}".rstrip() for what, standing, seen in part.entries)
        return "\n".join(_wrapped(one, width, "- ", "  ") for one in said)
    if isinstance(part, Picture):
        return ""
    return _wrapped(part, width)


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(visible(text), width, initial_indent=first, subsequent_indent=rest)
    return "\n".join(lines)


class Result(ABC):
    """A result that says what it has to say in one value, a `Report`, however it is shown.

    A room implements three methods, which hand on to its `sections.py` and `figure.py`.
    """

    @abstractmethod
    def _report(self) -> Report:
        """Return what there is to say."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """Return what machines read, by names that stay; numbers may be infinite or NaN."""

    @abstractmethod
    def _draw(self, axes: Axes | None) -> Figure:
        """Draw the picture, or its main part into axes of the user's."""

    def __str__(self) -> str:
        return as_text(self._report())

    def _repr_html_(self) -> str:
        from evenhand.report.html import as_html  # noqa: PLC0415 # only notebooks need it

        return as_html(self._report())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as texts, numbers, lists and dictionaries, fit for JSON.

        What is not known, or has no end, is None.
        """
        found: dict[str, Any] = plain(dict(self._record()))
        return found

    def plot(self, path: str | PathLike[str] | None = None, ax: Axes | None = None) -> Figure:
        """Draw the picture.

        Parameters
        ----------
        path
            Where to write it (.png, .svg or .pdf); nowhere if not given.
        ax
            Axes of a figure of your own, which get the main part of the picture.
        """
        if path is not None:
            checked_format(path)
        figure = self._draw(ax)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        made: date | None = None,
        call: Mapping[str, str] | None = None,
    ) -> None:
        """Write a page of HTML that holds everything, to read, to print and to send on.

        Parameters
        ----------
        path
            Where to write it.
        title
            What it is about, in your words.
        made
            The day that it is of; today if not given.
        call
            Nouns of your own, such as ``{"option": "application", "evaluator": "reviewer"}``; what
            may be called otherwise is option, evaluator, group, item, score and evaluation.
        """
        from evenhand.report.html import as_page, write_page  # noqa: PLC0415

        write_page(as_page(in_nouns(self._report(), call), title, made), path)


def in_nouns(report: Report, call: Mapping[str, str] | None) -> Report:
    """Return a report in nouns of the user's own, if there are any."""
    return report if not call else Nouns.of(call, report.names).report(report)


_MOST_ON_TERMINAL = 40


def print_result(
    out: Console,
    result: Result,
    whole: bool = False,
    title: str | None = None,
    call: Mapping[str, str] | None = None,
) -> None:
    """Print the verdict, the facts and the sections that are brief, or all; --json has all rows."""
    report = in_nouns(result._report(), call)
    if title is not None:
        out.print(f"{visible(title)}\n", style="bold", soft_wrap=True)
    short = Report(report.title, report.verdict, report.facts)
    verdict, _, rest = as_text(short, width=out.width).partition("\n\n")
    out.print(verdict, style="bold", soft_wrap=True)
    if rest:
        out.print(f"\n{rest}", soft_wrap=True)
    depths: tuple[Depth, ...] = ("print", "brief", "page") if whole else ("print", "brief")
    for section in report.at(*depths):
        title, _, below = section_text(section, out.width, _MOST_ON_TERMINAL).partition("\n")
        if not below and section.title:
            continue  # a picture
        out.print(f"\n{title}", style="bold", soft_wrap=True)
        out.print(below, soft_wrap=True)
