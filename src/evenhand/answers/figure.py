"""The picture of an answer: options by value with intervals, scores beside values, and the bias.

`answer_picture` works out what to draw, `draw_answer_picture` draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer, Standing
from evenhand.answers.biases import NamedBias
from evenhand.answers.sections import spoken_of
from evenhand.answers.words import verdict
from evenhand.best import direction, sign
from evenhand.numerics.intervals import Estimate
from evenhand.report.model import first_places
from evenhand.report.pictures import (
    FAINT,
    INK,
    STYLES,
    ForestRow,
    draw_forest,
    literal,
    new_figure,
)
from evenhand.report.words import interval, percent, short

_MOST_ROWS, _MOST_BIASES = 25, 24


@dataclass(frozen=True)
class AnswerPicture:
    """What the picture of an answer shows."""

    title: str
    rows: tuple[Standing, ...]  # those that are drawn, the most valuable first
    n_options: int
    chosen: int  # index of the option to choose
    group_names: tuple[str, ...] | None  # of −1 and +1 in an action set; None if none, or too many
    level: float  # probability that the intervals hold
    value_label: str
    bias: Estimate
    bias_label: str  # what a bias above 0 means
    biases: tuple[NamedBias, ...] | None = None  # drawn instead, if evaluators
    n_biases: int = 0
    leniency: str = "lenient (+), severe (−)"

    @property
    def note(self) -> str:
        """What is left out, in words."""
        left_out = self.n_options - len(self.rows)
        if not left_out:
            return ""
        return f"The first {len(self.rows)} of {self.n_options:,} options are drawn."

    @property
    def option_rows(self) -> list[ForestRow]:
        """The options as lines of a forest plot."""
        return [
            ForestRow(
                one.option,
                one.value,
                one.low,
                one.high,
                STYLES[0]
                if self.group_names is None or one.group is None
                else STYLES[self.group_names.index(one.group)],
                beside=one.raw,
                strong=one.index == self.chosen,
                aside=f"{one.evaluations:,}",
            )
            for one in self.rows
        ]

    @property
    def bias_rows(self) -> list[ForestRow]:
        """The biases as lines of a forest plot: favours, below them who is lenient or severe."""
        if self.biases is None:
            bias = self.bias
            return [ForestRow("bias", bias.value, bias.low, bias.high, (INK, "D"))]
        first = sum(one.kind != "leniency" for one in self.biases)  # leniencies come last
        return [
            ForestRow(
                one.name,
                one.estimate,
                one.low,
                one.high,
                (INK, "o" if one.kind == "leniency" else "D"),
                hollow=one.kind == "leniency",
                heading=self.leniency if place == first > 0 else "",
            )
            for place, one in enumerate(self.biases)
        ]


def answer_picture(answer: Answer) -> AnswerPicture:
    """Work out which options and biases to draw."""
    options, low = answer.options, answer.best == "low"
    places = first_places(len(answer.ranking), spoken_of(answer), _MOST_ROWS)
    picture = AnswerPicture(
        title=verdict(answer),
        rows=tuple(answer.ranking[place] for place in places),
        n_options=len(answer.ranking),
        chosen=answer.option,
        group_names=None,
        level=answer.confidence,
        value_label=f"value, in units of the scores: {direction(answer.best).lower()[:-1]}",
        bias=answer.bias,
        bias_label="",
        leniency="severe (+), lenient (−)" if low else "lenient (+), severe (−)",
    )
    if isinstance(options, ActionSet):
        names = options.group_names
        label = f"scores per 1 of {short(options.attribute_names[0])}"
        if names is not None:
            much, little = ("too high", "too low") if low else ("too much", "too little")
            label = f"{much} for {short(names[1])},\n{little} for {short(names[0])}"
        return replace(picture, group_names=names, bias_label=label)
    if answer.compared:
        chosen = answer.standing(answer.option)
        picture = replace(
            picture,
            rows=tuple(replace(one, raw=one.raw - chosen.raw) for one in picture.rows),
            value_label=f"value, measured from {short(chosen.option)}: "
            f"{direction(answer.best).lower()[:-1]}",
        )
    groups = tuple(dict.fromkeys(group for group in options.groups or () if group is not None))
    if len(groups) > len(STYLES):  # too many to be told apart: named instead
        groups = ()
        rows = tuple(
            one if one.group is None else replace(one, option=f"{one.option} ({one.group})")
            for one in picture.rows
        )
        picture = replace(picture, rows=rows)
    return replace(
        picture,
        group_names=groups or None,
        biases=_biases(answer),
        n_biases=len(answer.biases),
    )


def _biases(answer: Answer) -> tuple[NamedBias, ...]:
    """Return the biases to draw: favours as they come, then the most and the least lenient."""
    others = [one for one in answer.biases if one.kind != "leniency"][:_MOST_BIASES]
    lenient = sorted(
        answer.biases.of_kind("leniency"),
        key=lambda one: (not one.known, -sign(answer.best) * one.estimate),
    )
    room = max(_MOST_BIASES - len(others), 0)
    if len(lenient) > room:
        lenient = [*lenient[: room // 2], *lenient[len(lenient) - (room - room // 2) :]]
    return (*others, *lenient)


def draw_answer_picture(picture: AnswerPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, the options alone."""
    if axes is not None:
        _draw_options(axes, picture)
        legend = axes.legend(handles=_handles(picture), loc="best", frameon=False, fontsize=8)
        for text in legend.get_texts():
            literal(text)
        return axes.figure.figure
    panel = picture.biases is not None
    n = max(len(picture.rows), len(picture.biases or ()), 4)
    figure = new_figure(10.4 if panel else 8.6, 2.3 + 0.3 * n, picture.title, 110 if panel else 92)
    options, bias = figure.subplots(1, 2, width_ratios=(5.2, 2.9 if panel else 1.8))
    _draw_options(options, picture)
    _draw_biases(bias, picture, n)
    legend = figure.legend(
        handles=_handles(picture),
        loc="outside lower left",
        ncols=6 if panel else 4,
        frameon=False,
        fontsize=8.5,
    )
    for text in legend.get_texts():
        literal(text)
    return figure


def _draw_options(axes: Axes, picture: AnswerPicture) -> None:
    draw_forest(axes, picture.option_rows, aside="evaluations", fewest=1)
    axes.set_xlabel(picture.value_label, fontsize=9, color=INK, parse_math=False)
    if picture.note:
        axes.set_title(picture.note, loc="left", fontsize=8.5, color=FAINT)


def _draw_biases(axes: Axes, picture: AnswerPicture, n_rows: int) -> None:
    draw_forest(axes, picture.bias_rows, zero=True, fewest=n_rows)
    title = "what evaluators add to scores"
    if picture.biases is None:
        known = math.isfinite(picture.bias.value)
        title = f"bias\n{interval(picture.bias) if known else 'not known'}"
        axes.set_yticks([])
        axes.set_xlabel(picture.bias_label, fontsize=9, color=INK, parse_math=False)
    elif left_out := picture.n_biases - len(picture.biases):
        title += f" ({left_out:,} not drawn)"
    axes.set_title(title, loc="left", fontsize=8.5, color=FAINT)


def _handles(picture: AnswerPicture) -> list[Line2D]:
    names = ("value",) if picture.group_names is None else picture.group_names
    handles = [
        Line2D([], [], ls="", marker=marker, color=colour, ms=6.5, label=short(name))
        for name, (colour, marker) in zip(names, STYLES, strict=False)
    ]
    said = "mean score, bias and all"
    handles.append(Line2D([], [], ls="", marker="o", color=FAINT, mfc="white", ms=4.5, label=said))
    if any(math.isfinite(one.high - one.low) for one in picture.rows):
        said = f"interval ({percent(picture.level)})"
        handles.append(Line2D([], [], color=FAINT, lw=2.2, alpha=0.6, label=said))
    return handles
