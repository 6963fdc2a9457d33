"""One style of pictures: colours, frames, forest plots, files that are the same every time.

matplotlib is loaded when something is drawn: whoever never draws never waits for it.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.files import write_atomically
from evenhand.report.words import percent, short, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

FORMATS = ("png", "svg", "pdf")

INK, FAINT = "#222222", "#767676"
STYLES = (
    ("#0072B2", "o"), ("#D55E00", "^"), ("#009E73", "s"), ("#CC79A7", "v"), ("#E69F00", "D"),
    ("#56B4E9", "<"), ("#000000", "p"),
)  # fmt: skip
"""Colours told apart by all kinds of colour vision (Okabe and Ito), each with its marker."""

_BESIDE = 0.26  # rows by which a mean score stands below its value


def new_figure(width: float, height: float, title: str = "", wrap: int = 100) -> Figure:
    """Return an empty figure of so many inches, with a title in bold at its left."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 # slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=150)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08, wspace=0.04)
    FigureCanvasAgg(figure)
    if title:
        lines = "\n".join(textwrap.wrap(visible(title), wrap))
        figure.suptitle(lines, x=0.01, ha="left", fontsize=11, weight="bold", parse_math=False)
    return figure


def frame(axes: Axes, *, names: bool = False) -> None:
    """Leave the lower line of the frame, and the left one unless names stand there."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines["left"].set_visible(not names)
    axes.tick_params(colors=INK, labelsize=8.5, length=0 if names else 3)


def subtitle(axes: Axes, said: str, wrap: int = 112) -> None:
    """Write what a picture shows above it, in lines of so many letters."""
    lines = textwrap.fill(visible(said), wrap)
    literal(axes.set_title(lines, loc="left", fontsize=9, color=INK, pad=10))


def note_below(figure: Figure, said: str, wrap: int) -> None:
    """Write how to read a picture below it, in lines of so many letters."""
    lines = textwrap.fill(visible(said), wrap)
    literal(figure.supxlabel(lines, x=0.008, ha="left", fontsize=8.5, color=FAINT))


def literal(text: Text) -> Text:
    """Take a user's text as it is: dollar signs are not mathematics."""
    text.set_parse_math(False)
    return text


@dataclass(frozen=True)
class ForestRow:
    """A line of a forest plot: a name, an estimate with its interval, and a raw value beside it."""

    name: str
    value: float  # not known where it is not finite
    low: float  # dotted from side to side where both are infinite, not drawn where one is not known
    high: float
    style: tuple[str, str] = STYLES[0]  # colour and marker
    beside: float = math.nan  # drawn hollow just below, such as a mean score; NaN for none
    strong: bool = False  # whether the name stands out
    hollow: bool = False  # whether the mark is not filled
    aside: str = ""  # at its right, such as a count
    heading: str = ""  # above it, where a part of its own begins


def draw_forest(
    axes: Axes, rows: Sequence[ForestRow], *, zero: bool = False, aside: str = "", fewest: int = 4
) -> None:
    """Draw names with estimates and intervals, the first at the top."""
    places = forest_places(rows)
    for place, row in zip(places, rows, strict=True):
        _draw_row(axes, place, row)
    if zero:
        axes.axvline(0.0, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=1)
    if aside:
        _say_beside(axes, (1.0, 1.0), aside, up=4, xycoords="axes fraction", va="bottom")
    axes.set_xlim(*forest_ends(rows, zero=zero))
    axes.set_ylim(max([*places, fewest - 1.0]) + 0.6, -0.6)
    axes.set_yticks(places, [short(row.name) for row in rows])
    axes.grid(True, axis="x", color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    frame(axes, names=True)
    for row, label in zip(rows, axes.get_yticklabels(), strict=True):
        literal(label).set_fontweight("bold" if row.strong else "normal")


def forest_ends(rows: Sequence[ForestRow], *, zero: bool = False) -> tuple[float, float]:
    """Return ends of an axis that hold all estimates, and intervals unless they dwarf several."""
    points = [x for row in rows for x in (row.value, row.beside) if math.isfinite(x)]
    points += [0.0] if zero else []
    if not points:
        return 0.0, 1.0
    low, high = min(points), max(points)
    room = (high - low) or max(abs(high), 1.0)
    edges = [x for row in rows for x in (row.low, row.high) if math.isfinite(x)]
    most = 0.75 * room if len(rows) > 1 else math.inf
    low = max(min([low, *edges]), low - most)
    high = min(max([high, *edges]), high + most)
    margin = 0.04 * ((high - low) or room)
    return low - margin, high + margin


def forest_places(rows: Sequence[ForestRow]) -> list[float]:
    """Return where rows stand, from the top; a heading takes a row of its own."""
    headings = accumulate(1.2 if row.heading else 0.0 for row in rows)
    return [place + more for place, more in enumerate(headings)]


def _draw_row(axes: Axes, place: float, row: ForestRow) -> None:
    colour, marker = row.style
    if math.isfinite(row.low) and math.isfinite(row.high):
        axes.plot([row.low, row.high], [place, place], color=colour, lw=2.2, alpha=0.45)
    elif math.isfinite(row.value) and math.isinf(row.low) and math.isinf(row.high):
        # Without a line it would look exact.
        axes.axhline(place, color=colour, lw=1.2, ls=":", alpha=0.7)
    if math.isfinite(row.value):
        fill = "white" if row.hollow else colour
        axes.plot([row.value], [place], marker=marker, color=colour, mfc=fill, ms=6.5, ls="")
    else:
        _say_beside(axes, (0.0, place), "not known")
    if math.isfinite(row.beside):
        below = [place + _BESIDE]
        axes.plot([row.beside], below, marker=marker, color=colour, mfc="white", ms=4.5, ls="")
    if row.aside:
        _say_beside(axes, (1.0, place), row.aside)
    if row.heading:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        literal(_say_beside(axes, (0.0, place - 0.9), row.heading)).set_bbox(box)


def _say_beside(
    axes: Axes, at: tuple[float, float], text: str, up: float = 0.0, **how: Any
) -> Text:
    """Write something small right of a place: a share of the width, and a row."""
    how.setdefault("xycoords", axes.get_yaxis_transform())
    how.setdefault("va", "center")
    return axes.annotate(
        text, at, (4, up), textcoords="offset points", fontsize=7.5, color=FAINT, **how
    )


_MOST_BARS = 20


def shares_figure(
    title: str, names: Sequence[str], shares: Sequence[float], axes: Axes | None = None
) -> Figure:
    """Draw the twenty largest shares of the evaluations as bars."""
    order = sorted(range(len(shares)), key=lambda i: -shares[i])
    drawn = order[:_MOST_BARS]
    if axes is None:
        axes = new_figure(7.2, 1.6 + 0.26 * max(len(drawn), 4), title, wrap=76).subplots()
    for place, i in enumerate(drawn):
        axes.barh(place, shares[i], height=0.62, color=STYLES[0][0])
        said = percent(round(shares[i], 2 if shares[i] >= 0.01 else 4))
        axes.text(shares[i], place, f" {said}", va="center", fontsize=8.5, color=INK)
    axes.set_ylim(max(len(drawn), 4) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.15 * max((shares[i] for i in drawn), default=1.0))
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    axes.set_yticks(range(len(drawn)), [short(names[i], 28) for i in drawn])
    for label in axes.get_yticklabels():
        literal(label)
    frame(axes, names=True)
    rest = "" if len(drawn) == len(order) else f", the largest {len(drawn)} of {len(order):,}"
    axes.set_xlabel(f"share of the evaluations{rest}", fontsize=9, color=INK)
    return axes.figure.figure


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, the same bytes every time, whole or not at all."""
    import matplotlib  # noqa: PLC0415 # slow to load

    kind = checked_format(path)
    no_date: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
    }
    with (
        write_atomically(path, "the picture") as draft,
        matplotlib.rc_context({"svg.hashsalt": "evenhand"}),
    ):
        figure.savefig(draft, format=kind, metadata=no_date[kind])


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG with letters as letters, for a page."""
    import matplotlib  # noqa: PLC0415 # slow to load

    drawn = StringIO()
    with (
        matplotlib.rc_context({"svg.hashsalt": "evenhand", "svg.fonttype": "none"}),
        warnings.catch_warnings(),
    ):
        # a browser has letters that matplotlib's font lacks
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def checked_format(path: str | PathLike[str]) -> str:
    """Return the format that a file's name asks for, or say which ones there are."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise InputError(
            f"the picture's file {str(path)!r} must end in {', '.join('.' + f for f in FORMATS)}, "
            "which says what to write."
        )
    return kind
