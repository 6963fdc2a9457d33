"""A report on a terminal: the verdict in bold, facts, tables that are never cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.model import Depth, Report
from evenhand.report.result import Result
from evenhand.report.text import as_text, section_text

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ROWS = 40


def print_result(out: Console, result: Result, whole: bool = False) -> None:
    """Print the verdict, the facts and the sections that are brief, or all; --json has all rows."""
    report = result._report()
    short = Report(report.title, report.verdict, report.facts)
    verdict, _, rest = as_text(short, width=out.width).partition("\n\n")
    out.print(verdict, style="bold", soft_wrap=True)
    if rest:
        out.print(f"\n{rest}", soft_wrap=True)
    depths: tuple[Depth, ...] = ("print", "brief", "page") if whole else ("print", "brief")
    for section in report.at(*depths):
        title, _, below = section_text(section, out.width, _MOST_ROWS).partition("\n")
        if not below and section.title:
            continue  # a picture
        out.print(f"\n{title}", style="bold", soft_wrap=True)
        out.print(below, soft_wrap=True)
