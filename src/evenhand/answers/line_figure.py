"""The picture of a target: options by value with intervals, and the line between in and out.

`line_picture` works out what to draw, `draw_line` draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenhand.answers.answer import Answer, Standing
from evenhand.answers.line_words import chance_in_words, groups
from evenhand.answers.placing import Placing
from evenhand.answers.words import is_apart, verdict
from evenhand.best import direction, sign
from evenhand.report.model import first_places
from evenhand.report.pictures import (
    FAINT,
    INK,
    ForestRow,
    draw_forest,
    forest_places,
    literal,
    new_figure,
)
from evenhand.report.words import percent, short

_MOST_ROWS = 60
_IN, _LINE, _OUT = ("#009E73", "o"), ("#E69F00", "D"), ("#8c8c8c", "v")  # colours and markers


@dataclass(frozen=True)
class LinePicture:
    """What the picture of a target shows."""

    title: str
    rows: tuple[ForestRow, ...]  # the most valuable first
    above: tuple[int, ...]  # how many of them are above a line; none where it is between no two
    at: float  # where the line is; NaN if nobody can say
    said: str  # what the line is
    value_label: str
    level: float
    n_options: int
    names: tuple[str, str, str]  # of those in, at the line and out


def line_picture(answer: Answer, placing: Placing) -> LinePicture:
    """Work out which options to draw, in which colours, and where the line is."""
    inside, line, _ = (set(some) for some in groups(placing))
    if is_apart(answer) or answer.contradicted:
        inside, line = set(), {one.index for one in answer.ranking}
    target, chosen = placing.target, set(placing.chosen)
    ranking, categories = answer.ranking, placing.categories
    if categories is not None:
        ranking = tuple(sorted(ranking, key=lambda one: categories.codes[one.index]))
    must = {place for place, one in enumerate(ranking) if one.index in chosen}
    places = first_places(len(ranking), must, _MOST_ROWS)
    own = next((one for one in ranking if one.option == target.against), None)
    shown = [ranking[place] for place in places]
    rows = []
    for one in shown:
        style = _IN if one.index in inside else _LINE if one.index in line else _OUT
        if own is not None and one.index == own.index:
            style = (INK, "s")
        rows.append(_row(answer, placing, one, style, chosen))
    above: tuple[int, ...] = ()
    at, said = math.nan, ""
    if categories is not None:
        kinds = [categories.name(one.index) for one in shown]
        begun = [i for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]]
        for i in begun:
            rows[i] = replace(rows[i], heading=f"{short(categories.column)}: {short(kinds[i])}")
        ends = zip(begun, [*begun[1:], len(kinds)], strict=True)
        funded = [(i, sum(one.index in chosen for one in shown[i:end]), end) for i, end in ends]
        above = tuple(i + n for i, n, end in funded if i + n < end)
        said = "the best" if target.top == 1 else f"the best {target.top:,}"
    elif target.top is not None and len(ranking) > target.top:
        first, second = ranking[target.top - 1], ranking[target.top]
        at, said = (
            0.5 * (_value(answer, first) + _value(answer, second)),
            f"the best {target.top:,}",
        )
        above = (sum(place < target.top for place in places),)
    elif target.bar is not None:
        at, said = target.bar, f"the bar, {target.bar:g}"
    elif own is not None:
        at, said = _value(answer, own), short(own.option)
    names = ("in", "at the line", "out")
    if target.bar is not None:
        names = ("above", "at the bar", "below")
        names = names if answer.best == "high" else names[::-1]
    if own is not None:
        better = "better" if not target.tolerance else "better, or not worse"
        names = (better, "cannot tell", "worse")
    return LinePicture(
        verdict(answer),
        tuple(rows),
        above,
        at,
        said,
        f"value, measured from {short(answer.label)}"
        if answer.compared
        else f"value, in units of the scores: {direction(answer.best).lower()[:-1]}",
        answer.confidence,
        len(ranking),
        names,
    )


def _value(answer: Answer, one: Standing) -> float:
    return -sign(answer.best) * one.lead if answer.compared else one.value


def _row(
    answer: Answer, placing: Placing, one: Standing, style: tuple[str, str], chosen: set[int]
) -> ForestRow:
    chance, verdict_ = float(placing.chances[one.index]), placing.verdicts[one.index]
    row = ForestRow(
        one.option,
        _value(answer, one),
        one.low,
        one.high,
        style,
        strong=one.index in chosen,
        hollow=verdict_ == "open" and style is not _LINE,
        aside=chance_in_words(chance),
    )
    return row if answer.compared else replace(row, beside=one.raw)


def draw_line(picture: LinePicture, axes: Axes | None = None) -> Figure:
    """Draw the picture, into axes of the user's if there are any."""
    mine = axes is None
    if axes is None:
        n = max(len(picture.rows) + sum(1 for row in picture.rows if row.heading), 4)
        height = 2.5 + (0.3 if n <= 25 else 0.22) * n
        axes = new_figure(9.2, height, picture.title, 98).subplots()
    draw_forest(axes, picture.rows, aside="chance", fewest=1)
    places = forest_places(picture.rows)
    if math.isfinite(picture.at):
        axes.axvline(picture.at, color=INK, lw=1.1, ls=(0, (5, 3)), zorder=1)
    for n in picture.above:
        place = places[n] - 0.5 if n < len(places) else places[-1] + 0.5
        axes.axhline(place, color=INK, lw=1.1, ls=(0, (5, 3)), zorder=1)
        axes.annotate(
            f"{picture.said} (above)", (0.0, place), (4, 3), ha="left", va="bottom",
            textcoords="offset points", xycoords=axes.get_yaxis_transform(), fontsize=8, color=INK,
        )  # fmt: skip
    if picture.said and not picture.above:
        literal(
            axes.annotate(
                picture.said,
                (picture.at, 1.0),
                (3, 3),
                textcoords="offset points",
                fontsize=8,
                xycoords=axes.get_xaxis_transform(),
                va="bottom",
                color=INK,
            )
        )
    axes.set_xlabel(picture.value_label, fontsize=9, color=INK, parse_math=False)
    left_out = picture.n_options - len(picture.rows)
    if left_out:
        said = f"{len(picture.rows)} of {picture.n_options:,} options are drawn"
        axes.set_title(said, loc="left", fontsize=8.5, color=FAINT)
    style: dict[str, Any] = {"ncols": 3, "frameon": False, "fontsize": 8.5}
    if mine:
        axes.figure.figure.legend(handles=_handles(picture), loc="outside lower left", **style)
    else:
        axes.legend(handles=_handles(picture), loc="best", **style)
    return axes.figure.figure


def _handles(picture: LinePicture) -> list[Line2D]:
    level = percent(picture.level)
    handles = []
    for name, (colour, marker) in zip(picture.names, (_IN, _LINE, _OUT), strict=True):
        sure = name if marker == _LINE[1] else f"surely {name}"
        made = Line2D([], [], ls="", marker=marker, color=colour, ms=6.5, label=sure)
        handles.append(made)
        if marker != _LINE[1]:
            said = f"probably {name} (chance {level} or more)"
            hollow = Line2D([], [], ls="", marker=marker, color=colour, mfc="white", ms=6.5)
            hollow.set_label(said)
            handles.append(hollow)
    raw = Line2D([], [], ls="", marker="o", color=FAINT, mfc="white", ms=4.5)
    raw.set_label("mean score, bias and all (small)")
    return [*handles, raw]
