"""HTML for notebooks: blocks of tables and sentences, with nothing in them that runs or is fetched.

A cell or sentence may be any value. Texts are escaped; numbers are written as people read them;
only `Markup`, which the functions here return, goes in as it is. Colours are those of the page,
so that a dark page stays dark; styles stand in the tags, since a notebook may drop style sheets.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Self

_FAINT = "opacity:.65"
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.15em 1em .15em 0;white-space:nowrap"
_MOST_DECIMALS, _LARGE = 6, 1e7  # beyond these, numbers are written in powers of ten
_WIDTH, _HEIGHT = 120, 14  # of a drawing in a table, in pixels


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


class Rounded(float):
    """A number that is written with so many decimals, as all others of its column.

    Examples
    --------
    >>> text(Rounded(-1234.5, 2)), text(Rounded(math.nan, 2)), text(Rounded(-0.001, 1))
    ('−1,234.50', '–', '0.0')
    """

    digits: int

    def __new__(cls, value: float, digits: int) -> Self:
        """Take the number down, and how many decimals it has."""
        number = super().__new__(cls, value)
        number.digits = digits
        return number


def text(value: object) -> Markup:
    """Return a value as HTML: escaped, unless it is `Markup` already.

    Numbers that are not whole have four digits, unless they are `Rounded`. Nothing (None, NaN) is a
    dash.

    Examples
    --------
    >>> text("R&D <b>"), text(Markup("<b>R</b>"))
    ('R&amp;D &lt;b&gt;', '<b>R</b>')
    >>> text(12_000), text(-1 / 3), text(-math.inf), text(math.nan)
    ('12,000', '−0.3333', '−∞', '–')
    """
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup("–")
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Markup(_number(value))
    return Markup(escape(str(value)))


def block(title: object, *parts: object) -> Markup:
    """Return a title, and below it tables and sentences.

    Examples
    --------
    >>> block("Ann & Bo", "Both are home.").count("<div")
    3
    """
    lines = [f'<div style="font-weight:600;margin:.2em 0">{text(title)}</div>']
    lines += [
        part if isinstance(part, Markup) else f'<div style="margin:.2em 0">{text(part)}</div>'
        for part in parts
    ]
    return Markup(f'<div style="max-width:60em">{"".join(lines)}</div>')


def faint(value: object) -> Markup:
    """Return a sentence that stands back behind the others."""
    return Markup(f'<div style="{_FAINT};margin:.2em 0">{text(value)}</div>')


def facts(entries: Mapping[str, object]) -> Markup:
    """Return a table of two columns, what and how much.

    Examples
    --------
    >>> "<td" in facts({"evaluations": 12_000})
    True
    """
    rows = "".join(
        '<tr style="background:none">'
        f'<td style="text-align:left;{_CELL};{_FAINT}">{text(name)}</td>'
        f'<td style="text-align:left;overflow-wrap:anywhere">{text(value)}</td></tr>'
        for name, value in entries.items()
    )
    return Markup(f'<table style="border-collapse:collapse"><tbody>{rows}</tbody></table>')


def table(header: Sequence[object], rows: Iterable[Sequence[object]], left_out: int = 0) -> Markup:
    """Return a table; numbers stand right, and a last line says how many rows were left out.

    Examples
    --------
    >>> drawn = table(["option", "value"], [["Ann", 1.5], ["Bo", 1.25]], left_out=1_000)
    >>> drawn.count("<tr"), "1,000 more" in drawn
    (4, True)
    """
    rows = [list(row) for row in rows]
    sides = [
        "right" if any(_is_number(row[i]) for row in rows) else "left" for i in range(len(header))
    ]

    def line(tag: str, cells: Sequence[object], style: str) -> str:
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
    """Return a bar that fills so much of its room, from 0 to 1.

    Examples
    --------
    >>> 'width="60"' in bar(0.5)
    True
    """
    share = min(max(share, 0.0), 1.0)
    return _drawing(
        f'<rect x="0" y="3" width="{_WIDTH * share:.4g}" height="8" fill="currentColor" '
        'fill-opacity=".55"/>',
        f"{100 * share:.3g}%",
    )


def interval(value: float, low: float, high: float, ends: tuple[float, float]) -> Markup:
    """Return a line from low to high with a dot at the value, on an axis with the given ends.

    Where neither end is known there is the dot alone.

    Examples
    --------
    >>> 'cx="60"' in interval(0.0, -math.inf, 0.5, ends=(-1.0, 1.0))
    True
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
        f"{_number(value)}, from {_number(low)} to {_number(high)}",
    )


def _drawing(shapes: str, description: str) -> Markup:
    return Markup(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" style="overflow:visible;vertical-align:middle" '
        f'role="img" aria-label="{escape(description)}">{shapes}</svg>'
    )


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _number(value: numbers.Real | float) -> str:
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}".replace("-", "−")
    x = float(value)
    if math.isnan(x):
        return "–"
    if isinstance(value, Rounded) and value.digits <= _MOST_DECIMALS and abs(x) < _LARGE:
        return f"{round(x, value.digits) + 0.0:,.{value.digits}f}".replace("-", "−")
    return f"{x:.4g}".replace("-", "−").replace("inf", "∞")
