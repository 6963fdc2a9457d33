"""HTML of single parts: escaped texts, tables, small drawings; nothing in them runs or is fetched.

A cell or sentence may be any value. Texts are escaped; numbers are written as people read them;
only `Markup`, which the functions here return, goes in as it is. Colours are those of the page,
so that a dark page stays dark; styles stand in the tags, since a notebook may drop style sheets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from evenhand.report.model import Bar, Cell, Span, Strong, Table, cell, is_number
from evenhand.report.words import number

_FAINT = "opacity:.65"
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.15em 1em .15em 0;white-space:nowrap"
_FIRST = "text-align:left;vertical-align:baseline"  # a title stands beside its first line
_WIDTH, _HEIGHT = 120, 14  # of a drawing in a table, in pixels


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def text(value: Cell) -> Markup:
    """Return a value as HTML: escaped, unless it is `Markup` already."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, Strong):
        return Markup(f"<b>{escape(cell(value))}</b>")
    if isinstance(value, Span):
        return interval(value.value, value.low, value.high, value.ends)
    if isinstance(value, Bar):
        return bar(value.share)
    return Markup(escape(cell(value)))


def block(title: str, *parts: str) -> Markup:
    """Return a title, and below it tables and sentences."""
    below = "".join(part if isinstance(part, Markup) else block_line(part) for part in parts)
    return Markup(
        '<div style="max-width:60em;overflow-x:auto">'
        f'<div style="font-weight:600;margin:.2em 0 .4em">{text(title)}</div>{below}</div>'
    )


def block_line(sentence: str) -> Markup:
    """Return a sentence on a line of its own."""
    return Markup(f'<div style="margin:.2em 0">{text(sentence)}</div>')


def faint(value: Cell) -> Markup:
    """Return a sentence that stands back behind the others."""
    return Markup(f'<div style="{_FAINT};margin:.5em 0 .2em">{text(value)}</div>')


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

    def line(tag: str, cells: Sequence[Cell], style: str) -> str:
        opening = 'th scope="col"' if tag == "th" else tag
        written = "".join(
            f'<{opening} style="text-align:{side};{style}">{text(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f'<tr style="background:none">{written}</tr>'

    body = "".join(line("td", row, _CELL) for row in rows)
    if left_out:
        body += (
            f'<tr style="background:none"><td colspan="{len(header)}" '
            f'style="text-align:left;{_FAINT}">… and {left_out:,} more</td></tr>'
        )
    return Markup(
        '<table style="border-collapse:collapse"><thead>'
        + line("th", header, f"{_CELL};border-bottom:{_LINE}")
        + f"</thead><tbody>{body}</tbody></table>"
    )


def bar(share: float) -> Markup:
    """Return a bar that fills so much of its room, from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    return _drawing(
        f'<rect x="0" y="3" width="{_WIDTH * share:.4g}" height="8" fill="currentColor" '
        'fill-opacity=".55"/>',
        f"{100 * share:.3g}%",
    )


def interval(value: float, low: float, high: float, ends: tuple[float, float]) -> Markup:
    """Return a line from low to high (none where neither is known) with a dot at the value, on an
    axis.
    """
    first, last = ends
    if not (math.isfinite(value) and last > first):
        return Markup("–")

    def place(x: float) -> str:
        return f"{_WIDTH * min(max((x - first) / (last - first), 0.0), 1.0):.4g}"

    zero = ""
    if first < 0.0 < last:
        zero = (
            f'<line x1="{place(0.0)}" x2="{place(0.0)}" y1="0" y2="{_HEIGHT}" '
            'stroke="currentColor" stroke-opacity=".35" stroke-dasharray="2"/>'
        )
    line = ""
    if math.isfinite(low) or math.isfinite(high):
        line = (
            f'<line x1="{place(low)}" x2="{place(high)}" y1="7" y2="7" stroke="currentColor" '
            'stroke-width="2" stroke-opacity=".55"/>'
        )
    return _drawing(
        f'{zero}{line}<circle cx="{place(value)}" cy="7" r="3" fill="currentColor"/>',
        f"{number(value)}, from {number(low)} to {number(high)}",
    )


def _drawing(shapes: str, description: str) -> Markup:
    return Markup(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" style="overflow:visible;vertical-align:middle" '
        f'role="img" aria-label="{escape(description)}">{shapes}</svg>'
    )
