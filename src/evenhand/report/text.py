"""A report as lines of text: what `print` shows, in a notebook's cell or a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from evenhand.report.model import (
    Assumptions,
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
from evenhand.report.words import visible

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
