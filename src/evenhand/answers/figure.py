"""The figure of an answer: options by value with intervals, scores beside values, and the biases.

`answer_picture` works out what to draw, `draw_answer_picture` draws it. One picture serves every
target: colours are verdicts, and a line is drawn where the target has one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenhand.answers.answer import Answer, Standing
from evenhand.answers.page import bias_name, is_apart, likely, odds, sides, verdict
from evenhand.best import direction, sign
from evenhand.inference.conclusion import Conclusion
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
from evenhand.report.words import abridged, percent, short

_MOST_ROWS, _MOST_BIASES = 40, 24
_IN, _OPEN, _OUT = ("#009E73", "o"), ("#E69F00", "D"), ("#767676", "v")
_STYLES = {
    "in": _IN, "not worse": _IN, "probably in": _IN, "open": _OPEN, "probably out": _OUT,
    "out": _OUT, "itself": (INK, "s"),
}  # fmt: skip


@dataclass(frozen=True)
class AnswerPicture:
    """What the picture of an answer shows."""

    title: str
    options: tuple[ForestRow, ...]  # the most valuable first
    biases: tuple[ForestRow, ...]
    aside: str  # what stands beside options
    value_label: str
    left_out: tuple[int, int]  # options and biases that are not drawn
    legend: tuple[tuple[str, tuple[str, str], bool], ...]  # names, styles, whether hollow
    at: float  # a bar, or the option that others are held against; NaN for none
    below: tuple[int, ...]  # how many rows stand above a line between in and out
    said: str  # what the line is


def answer_picture(answer: Answer) -> AnswerPicture:
    """Work out which options and biases to draw, in which colours, and where the line is."""
    said, inside, ranking = answer.conclusion, answer.categories, answer.ranking
    if inside is not None:
        ranking = tuple(sorted(ranking, key=lambda one: inside.codes[one.index]))
    must = {answer.raw_choice, *said.chosen}
    kept = {place for place, one in enumerate(ranking) if one.index in must}
    shown = [ranking[place] for place in first_places(len(ranking), kept, _MOST_ROWS)]
    known = not is_apart(answer) and not answer.contradicted
    found = {one.index: likely(said, one.index) if known else "open" for one in shown}
    chances = [odds(float(said.chances[one.index])) for one in shown]
    by_chance = any(chances) and known
    asides = chances if by_chance else [f"{one.evaluations:,}" for one in shown]
    rows = [
        _option_row(answer, one, found[one.index], one.index in said.chosen, aside)
        for one, aside in zip(shown, asides, strict=True)
    ]
    kinds = [] if inside is None else [inside.name(one.index) for one in shown]
    for i, kind in enumerate(kinds):
        if inside is not None and kind not in kinds[:i]:
            rows[i] = replace(rows[i], heading=f"{short(inside.column)}: {short(kind)}")
    biases = _biases(answer)
    at = (
        f"measured from {short(answer.label)}"
        if answer.scale.compared
        else "in units of the scores"
    )
    return AnswerPicture(
        verdict(answer),
        tuple(rows),
        tuple(biases),
        "chance" if by_chance else "scores",
        f"value, {at}: {direction(answer.best).lower()[:-1]}",
        (len(ranking) - len(rows), len(answer.biases) - len(biases)),
        _legend(answer, set(found.values())),
        *_line(said, shown, rows),
    )


def _option_row(answer: Answer, one: Standing, found: str, chosen: bool, aside: str) -> ForestRow:
    name = one.option
    if one.group is not None:
        name = f"{abridged(one.option, 25)} ({abridged(one.group, 12)})"
    origin = answer.standing(answer.option).raw if answer.scale.compared else 0.0
    return ForestRow(
        name,
        -sign(answer.best) * one.lead if answer.scale.compared else one.value,
        one.low,
        one.high,
        _STYLES[found],
        beside=one.raw - origin,
        strong=chosen,
        hollow=found.startswith("probably"),
        aside=aside,
    )


def _line(
    said: Conclusion, shown: list[Standing], rows: list[ForestRow]
) -> tuple[float, tuple[int, ...], str]:
    """Return where a bar or rival is, or below which rows the best end, and what that is."""
    target, chosen = said.target, set(said.chosen)
    if target.bar is not None:
        return target.bar, (), f"the bar, {target.bar:g}"
    if target.against is not None:
        own = (row.value for x, row in zip(shown, rows, strict=True) if x.option == target.against)
        return next(own, math.nan), (), short(target.against)
    begun = [i for i, row in enumerate(rows) if row.heading]
    if target.top == 1 and not begun:
        return math.nan, (), ""
    below, begun = [], begun or [0]
    for start, end in zip(begun, [*begun[1:], len(shown)], strict=True):
        n = start + sum(one.index in chosen for one in shown[start:end])
        below += [n] if start < n < end else []
    return math.nan, tuple(below), f"{target.words} (above)"


def _legend(answer: Answer, found: set[str]) -> tuple[tuple[str, tuple[str, str], bool], ...]:
    """Return what the marks that are drawn mean."""
    target, (good, bad, _) = answer.conclusion.target, sides(answer)
    if target.against is not None and target.tolerance:
        good = "better, or not worse"
    level = percent(answer.confidence)
    names = (
        (f"surely {good}", _IN, False, {"in", "not worse"}),
        (f"probably {good} (chance {level} or more)", _IN, True, {"probably in"}),
        ("not enough data to tell", _OPEN, False, {"open"}),
        (f"probably {bad} (chance {level} or more)", _OUT, True, {"probably out"}),
        (f"surely {bad}", _OUT, False, {"out"}),
    )
    marks = [(name, style, hollow) for name, style, hollow, kinds in names if kinds & found]
    return (*marks, ("mean score, bias and all (small)", (FAINT, "o"), True))


def _biases(answer: Answer) -> list[ForestRow]:
    """Return the biases to draw: favours as they come, then the most and the least lenient."""
    others = [one for one in answer.biases if one.kind != "leniency"][:_MOST_BIASES]
    lenient = sorted(
        answer.biases.of_kind("leniency"),
        key=lambda one: (not one.known, -sign(answer.best) * one.estimate),
    )
    room = max(_MOST_BIASES - len(others), 0)
    if len(lenient) > room:
        lenient = [*lenient[: room // 2], *lenient[len(lenient) - (room - room // 2) :]]
    severe = "severe (+), lenient (−)" if answer.best == "low" else "lenient (+), severe (−)"
    return [
        ForestRow(
            bias_name(answer, one),
            one.estimate,
            one.low,
            one.high,
            (INK, "o" if one.kind == "leniency" else "D"),
            hollow=one.kind == "leniency",
            heading=severe if place == len(others) > 0 else "",
        )
        for place, one in enumerate([*others, *lenient])
    ]


def draw_answer_picture(picture: AnswerPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, the options alone."""
    handles = [
        Line2D([], [], ls="", marker=marker, color=colour, ms=6.5, label=name,
               mfc="white" if hollow else colour)
        for name, (colour, marker), hollow in picture.legend
    ]  # fmt: skip
    style: dict[str, Any] = {"handles": handles, "frameon": False, "fontsize": 8.5}
    if axes is not None:
        _draw_options(axes, picture)
        axes.legend(loc="best", **style)
        return axes.figure.figure
    rows = len(picture.options) + sum(1.2 for row in picture.options if row.heading)
    n = max(rows, len(picture.biases) + 1.2, 4.0)
    wide = 10.4 if picture.biases else 9.2
    figure = new_figure(wide, 2.5 + (0.3 if n <= 25 else 0.24) * n, picture.title, 108)
    if picture.biases:
        axes, biases = figure.subplots(1, 2, width_ratios=(5.0, 2.9))
        draw_forest(biases, picture.biases, zero=True, fewest=int(n))
        more = f" ({picture.left_out[1]:,} not drawn)" if picture.left_out[1] else ""
        biases.set_title(f"what is added to scores{more}", loc="left", fontsize=8.5, color=FAINT)
    else:
        axes = figure.subplots()
    _draw_options(axes, picture)
    figure.legend(loc="outside lower left", ncols=3, **style)
    return figure


def _draw_options(axes: Axes, picture: AnswerPicture) -> None:
    draw_forest(axes, picture.options, aside=picture.aside, fewest=1)
    axes.set_xlabel(picture.value_label, fontsize=9, color=INK, parse_math=False)
    dashed: dict[str, Any] = {"color": INK, "lw": 1.1, "ls": (0, (5, 3)), "zorder": 1}
    small: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": INK}
    if math.isfinite(picture.at):
        axes.axvline(picture.at, **dashed)
        across = axes.get_xaxis_transform()
        literal(axes.annotate(picture.said, (picture.at, 1.0), (3, 3), xycoords=across, **small))
    places = forest_places(picture.options)
    for n in picture.below:
        axes.axhline(places[n] - 0.5, **dashed)
        along = axes.get_yaxis_transform()
        axes.annotate(picture.said, (0.0, places[n] - 0.5), (4, 3), xycoords=along, **small)
    if left_out := picture.left_out[0]:
        note = f"{len(picture.options)} of {len(picture.options) + left_out:,} options are drawn"
        axes.set_title(note, loc="left", fontsize=8.5, color=FAINT)
