"""A report as one block of HTML, for notebooks."""

from __future__ import annotations

from evenhand.report import markup
from evenhand.report.markup import Markup
from evenhand.report.model import Assumptions, Facts, Note, Part, Picture, Points, Report, Table

_MOST_ROWS = 25


def as_html(report: Report) -> Markup:
    """Return what notebooks show: nothing in it runs, all names are escaped."""
    said: dict[str, list[Markup]] = {}
    for title, text in report.told:
        said.setdefault(title, []).append(markup.text(text))
    facts = {
        title: Markup("".join(f"<div>{one}</div>" for one in texts))
        for title, texts in said.items()
    }
    parts: list[str] = [markup.facts(facts)] if facts else []
    for section in report.at("print", "brief"):
        parts += [markup.faint(section.title)] if section.title else []
        parts += [_part(part) for part in section.filled]
    return markup.block(report.verdict, *parts)


def _part(part: Part) -> str:
    if isinstance(part, Table):
        return markup.table(part, _MOST_ROWS)
    if isinstance(part, Facts):
        return markup.facts(part.entries)
    if isinstance(part, Points):
        return Markup("".join(markup.block_line(one) for one in part.shown(_MOST_ROWS)))
    if isinstance(part, Note):
        return markup.faint(part.sentence)
    if isinstance(part, Assumptions):
        return markup.facts({what: f"{stand}. {seen}" for what, stand, seen in part.entries})
    if isinstance(part, Picture):
        return Markup("")
    return part
