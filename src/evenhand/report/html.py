"""A report as HTML: one file to read, print and send on, or a block in a notebook.

Everything is in it: styles, pictures, numbers. Nothing in it runs, nothing is fetched, and the file
says so to the browser (its content security policy). A cell or sentence may be any value: texts are
escaped, numbers are written as people read them, only `Markup`, which the functions here return,
goes in as it is. Styles stand in the tags, since a notebook may drop style sheets.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from html import escape
from importlib import resources
from importlib.metadata import version
from os import PathLike
from xml.etree import ElementTree

from evenhand.files import write_atomically
from evenhand.report.model import (
    Assumptions,
    Cell,
    Facts,
    Note,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Span,
    Standing,
    Strong,
    Table,
    cell,
    is_number,
)
from evenhand.report.pictures import svg_text
from evenhand.report.words import number

_FAINT = "opacity:.65"
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.15em .75em .15em 0;white-space:nowrap"
_FIRST = "text-align:left;vertical-align:baseline"  # a title stands beside its first line
_WIDTH, _HEIGHT = 120, 14  # of a drawing in a table, in pixels


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(value: Cell) -> Markup:
    """Return a value as HTML: escaped, unless it is `Markup` already."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, Strong):
        return Markup(f"<b>{escape(cell(value))}</b>")
    if isinstance(value, Span):
        return interval(value.value, value.low, value.high, value.ends)
    return Markup(escape(cell(value)))


def facts(entries: Mapping[str, Cell]) -> Markup:
    """Return a table of two columns, what and how much."""
    rows = "".join(
        '<tr style="background:none">'
        f'<td style="{_FIRST};{_CELL};{_FAINT}">{text(name)}</td>'
        f'<td style="{_FIRST};padding:.15em 0;overflow-wrap:anywhere">{text(value)}</td></tr>'
        for name, value in entries.items()
    )
    return Markup(f'<table style="border-collapse:collapse"><tbody>{rows}</tbody></table>')


def table(shown: Table, most: int) -> Markup:
    """Return a table; numbers stand right, and a last line says how many rows were left out."""
    header, rows = shown.header, shown.shown(most)
    left_out = shown.left_out(rows)
    sides = [
        "right" if any(is_number(row[i]) for row in rows) else "left" for i in range(len(header))
    ]

    def line(cells: Sequence[Cell], style: str, titles: bool = False) -> str:
        written = ""
        for side, one in zip(sides, cells, strict=True):
            # the column of a drawing has no title
            opening, closing = ('th scope="col"', "th") if titles and one != "" else ("td", "td")
            written += f'<{opening} style="text-align:{side};{style}">{text(one)}</{closing}>'
        return f'<tr style="background:none">{written}</tr>'

    body = "".join(line(row, _CELL) for row in rows)
    if left_out:
        body += (
            f'<tr style="background:none"><td colspan="{len(header)}" '
            f'style="text-align:left;{_FAINT}">… and {left_out:,} more</td></tr>'
        )
    return Markup(
        '<table style="border-collapse:collapse"><thead>'
        + line(header, f"{_CELL};border-bottom:{_LINE}", titles=True)
        + f"</thead><tbody>{body}</tbody></table>"
    )


def interval(value: float, low: float, high: float, ends: tuple[float, float]) -> Markup:
    """Return a line from low to high, if they are known, with a dot at the value, on an axis."""
    first, last = ends
    if not (math.isfinite(value) and last > first):
        return Markup("–")

    def line(start: float, end: float, top: int, bottom: int, look: str) -> str:
        return (
            f'<line x1="{place(start)}" x2="{place(end)}" y1="{top}" y2="{bottom}" '
            f'stroke="currentColor" {look}/>'
        )

    def place(x: float) -> str:
        return f"{_WIDTH * min(max((x - first) / (last - first), 0.0), 1.0):.4g}"

    shapes = f'<circle cx="{place(value)}" cy="7" r="3" fill="currentColor"/>'
    if math.isfinite(low) or math.isfinite(high):
        shapes = line(low, high, 7, 7, 'stroke-width="2" stroke-opacity=".55"') + shapes
    if first < 0.0 < last:
        dashes = 'stroke-opacity=".35" stroke-dasharray="2"'
        shapes = line(0.0, 0.0, 0, _HEIGHT, dashes) + shapes
    said = f"{number(value)}, from {number(low)} to {number(high)}"
    return Markup(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" overflow="visible" role="img" '
        f'aria-label="{escape(said)}">{shapes}</svg>'
    )


_MOST_ON_PAGE, _MOST_LINES, _MOST_IN_NOTEBOOK = 50, 100, 25


def as_page(report: Report, title: str | None = None, made: date | None = None) -> str:
    """Return a report as a page of HTML that may neither run nor fetch anything."""
    title = report.title if title is None else title
    sections = list(report.at("print", "brief", "page"))
    if report.told:
        sections.insert(0, Section("In short", [_in_short(report)]))
    said = [(f"part-{i}", one) for i, one in enumerate(sections, 1)]
    day = _today() if made is None else made
    contents = "".join(f'<li><a href="#{name}">{text(s.title)}</a></li>' for name, s in said)
    body = "".join(_section(name, one) for name, one in said)
    style = resources.files("evenhand.report").joinpath("page.css").read_text("utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{text(title)}</h1>
<p class="made">{day:%Y-%m-%d}, by evenhand {text(version("evenhand"))}</p>
<p class="verdict">{text(report.verdict)}</p></header>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{body}</main>
</body>
</html>
"""


def _today() -> date:
    """The day, or the one that who builds things twice alike says (reproducible-builds.org)."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(said), UTC).date() if said.isdigit() else date.today()


def write_page(html: str, path: str | PathLike[str]) -> None:
    """Write a page to a file, whole or not at all."""
    with write_atomically(path, "the report") as draft:
        draft.write_text(html, encoding="utf-8")


def _part(part: Part, page: bool, title: str) -> str:
    """Return a part of the section of a title, on a page or in a notebook."""
    if isinstance(part, Table):
        drawn = table(part, _MOST_ON_PAGE if page else _MOST_IN_NOTEBOOK)
        return _scrolling(part.caption or title, drawn)
    if isinstance(part, Facts):
        return _scrolling(part.caption, facts(part.entries))
    if isinstance(part, Points):
        said = part.shown(_MOST_LINES if page else _MOST_IN_NOTEBOOK)
        return f"<ul>{''.join(f'<li>{text(one)}</li>' for one in said)}</ul>\n"
    if isinstance(part, Note):
        return f'<p class="note">{text(part.sentence)}</p>\n'
    if isinstance(part, Assumptions):
        return f"<dl>{''.join(_assumption(*one) for one in part.entries)}</dl>\n"
    if isinstance(part, Picture):
        return _picture(part) if page else ""
    return part if isinstance(part, Markup) else f"<p>{text(part)}</p>\n"


def _in_short(report: Report) -> Markup:
    """Return the facts of a report: titles at the left, the sentences of each beside it."""
    rows = (
        f"<dt>{text(title)}</dt><dd>{''.join(f'<p>{text(one)}</p>' for one in told)}</dd>"
        for title, told in report.short.items()
    )
    return Markup(f'<dl class="short">{"".join(rows)}</dl>\n')


def _scrolling(caption: str, drawn: Markup) -> Markup:
    """Return a table under its caption; where it is wider than the screen it scrolls by itself."""
    said = text(caption)
    opening, rest = drawn.split(">", 1)
    heading = f"<caption>{said}</caption>" if caption else ""
    return Markup(
        f'<div class="scroll" role="region" aria-label="{said or "Table"}" tabindex="0">'
        f"{opening}>{heading}{rest}</div>\n"
    )


_STANDINGS: dict[Standing, str] = {
    "held": "✓ held",
    "contradicted": "✗ contradicted",
    "noted": "! seen, but nothing is withdrawn",
    "not tested": "? not tested",
}


def _assumption(assumption: str, standing: Standing, seen: str) -> str:
    return (
        f'<dt>{text(assumption)} <span class="{standing.replace(" ", "-")}">'
        f"{_STANDINGS[standing]}</span></dt><dd>{text(seen)}</dd>"
    )


def _picture(shown: Picture) -> Markup:
    """Return a figure of matplotlib as part of a page."""
    said = f"<figcaption>{text(shown.caption)}</figcaption>" if shown.caption else ""
    drawn = inline_svg(svg_text(shown.draw()), shown.name, shown.description)
    return Markup(
        f'<figure><div class="scroll" role="region" aria-label="Picture" tabindex="0">'
        f"{drawn}</div>{said}</figure>\n"
    )


def inline_svg(svg: str, name: str, description: str = "") -> Markup:
    """Return an SVG file as part of a page: no prologue, and names that no other picture has."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):  # a style would be the whole page's
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(key): value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({key: _renamed(key, x, name) for key, x in attributes.items()})
    shape = {"viewBox": root.get("viewBox"), "width": root.get("width"), "role": "img"}
    root.attrib.clear()
    root.attrib.update({key: value for key, value in shape.items() if value is not None})
    root.set("stroke-linejoin", "round")
    if description:
        root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode").strip())


def _local(tag: str) -> str:
    """Return a name without its namespace, which HTML knows by itself."""
    return tag.rsplit("}", 1)[-1]


def _renamed(key: str, value: str, name: str) -> str:
    """Return an attribute with names that are this picture's own."""
    where = {"id": "^", "href": "^#"}.get(key, r"url\(#")
    return re.sub(f"({where})", rf"\g<1>{name}-", value)


def _section(name: str, section: Section) -> str:
    parts = "".join(_part(part, True, section.title) for part in section.filled)
    heading = f"<h2>{text(section.title)}</h2>\n" if section.title else ""
    return f'<section id="{name}">\n{heading}{parts}</section>\n'


def as_html(report: Report) -> Markup:
    """Return what notebooks show: nothing in it runs, all names are escaped."""
    parts = [f"<h4>{text(report.verdict)}</h4>\n", _in_short(report) if report.told else ""]
    for section in report.at("print", "brief"):
        parts.append(f"<h5>{text(section.title)}</h5>\n" if section.title else "")
        parts += [_part(part, False, "") for part in section.filled]
    return Markup(f'<div style="max-width:60em">{"".join(parts)}</div>')
