"""The picture of an answer: options by value with intervals, scores beside values, and the bias.

`answer_picture` works out what to draw, `draw_answer_picture` draws it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer, Standing
from evenhand.answers.biases import NamedBias
from evenhand.answers.page import first_standings
from evenhand.answers.words import verdict
from evenhand.policies.messages import Estimate
from evenhand.report.words import interval, percent, short

_MOST_ROWS = 25

_MOST_BIASES = 24

# Told apart by all kinds of colour vision (Okabe and Ito), and by their markers.
_STYLES = (
    ("#0072B2", "o"), ("#D55E00", "^"), ("#009E73", "s"), ("#CC79A7", "v"), ("#E69F00", "D"),
    ("#56B4E9", "<"), ("#000000", "p"),
)  # fmt: skip
_INK, _FAINT = "#222222", "#767676"
_BESIDE = 0.26  # rows by which a mean score stands below its value


@dataclass(frozen=True)
class AnswerPicture:
    """What the picture of an answer shows.

    Parameters
    ----------
    title
        The choice, and how sure it is.
    rows
        The options that are drawn, the most valuable first, of ``n_options``.
    chosen
        Index of the option to choose.
    ends
        Lowest and highest value on the axis; intervals may be longer.
    group_names
        The names of the groups, in an action set those of −1 and +1; None where there are none, or
        too many to be told apart.
    level
        Probability that the intervals hold.
    value_label
        What the axis of the values is called.
    bias
        The bias, with its interval.
    bias_label
        What a bias above 0 means.
    biases
        All of them by name, instead, where there are evaluators; those of ``n_biases`` that are
        drawn.
    """

    title: str
    rows: tuple[Standing, ...]
    n_options: int
    chosen: int
    ends: tuple[float, float]
    group_names: tuple[str, ...] | None
    level: float
    value_label: str
    bias: Estimate
    bias_label: str
    biases: tuple[NamedBias, ...] | None = None
    n_biases: int = 0

    @property
    def note(self) -> str:
        """How many options are left out; "" if none is."""
        left_out = self.n_options - len(self.rows)
        if not left_out:
            return ""
        return f"The first {len(self.rows)} of {self.n_options:,} options are drawn."


def answer_picture(answer: Answer) -> AnswerPicture:
    """Work out which options to draw, and between which ends."""
    rows, options = first_standings(answer, _MOST_ROWS), answer.options
    picture = AnswerPicture(
        title=verdict(answer),
        rows=rows,
        n_options=len(answer.ranking),
        chosen=answer.option,
        ends=_ends(rows),
        group_names=None,
        level=answer.confidence,
        value_label="value, in units of the scores",
        bias=answer.bias,
        bias_label="",
    )
    if isinstance(options, ActionSet):
        names = options.group_names
        label = f"scores per 1 of {short(options.attribute_names[0])}"
        if names is not None:
            label = f"too much for {short(names[1])},\ntoo little for {short(names[0])}"
        return replace(picture, group_names=names, bias_label=label)
    if answer.compared:
        picture = _measured_from_the_chosen(picture, answer)
    groups = tuple(dict.fromkeys(group for group in options.groups or () if group is not None))
    if len(groups) > len(_STYLES):  # too many to be told apart: named instead
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


def _measured_from_the_chosen(picture: AnswerPicture, answer: Answer) -> AnswerPicture:
    """Set the mean verdict of the chosen option to 0, as its value is."""
    chosen = answer.standing(answer.option)
    rows = tuple(replace(one, raw=one.raw - chosen.raw) for one in picture.rows)
    label = f"value, measured from {short(chosen.option)}"
    return replace(picture, rows=rows, ends=_ends(rows), value_label=label)


def _biases(answer: Answer) -> tuple[NamedBias, ...]:
    """Return the biases to draw: favours as they come, then the most and the least lenient."""
    others = [one for one in answer.biases if one.kind != "leniency"][:_MOST_BIASES]
    lenient = sorted(
        answer.biases.of_kind("leniency"), key=lambda one: (not one.known, -one.estimate)
    )
    room = max(_MOST_BIASES - len(others), 0)
    if len(lenient) > room:
        lenient = [*lenient[: room // 2], *lenient[len(lenient) - (room - room // 2) :]]
    return (*others, *lenient)


def draw_answer_picture(picture: AnswerPicture) -> Figure:
    """Draw the picture."""
    panel = picture.biases is not None
    n = max(len(picture.rows), len(picture.biases or ()), 4)
    figure = Figure(figsize=(10.4 if panel else 8.6, 2.3 + 0.3 * n), dpi=150)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08, wspace=0.04)
    FigureCanvasAgg(figure)
    options, bias = figure.subplots(1, 2, width_ratios=(5.2, 2.9 if panel else 1.0))
    title = "\n".join(textwrap.wrap(picture.title, 110 if panel else 92))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, weight="bold", parse_math=False)
    _draw_options(options, picture)
    if picture.biases is None:
        _draw_bias(bias, picture)
    else:
        _draw_biases(bias, picture.biases, picture.n_biases, n)
    legend = figure.legend(
        handles=_handles(picture),
        loc="outside lower left",
        ncols=6 if panel else 4,
        frameon=False,
        fontsize=8.5,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a user's dollar signs are not mathematics
    return figure


def _ends(rows: tuple[Standing, ...]) -> tuple[float, float]:
    """Return ends that hold all values and scores, and intervals unless they dwarf them."""
    raw = [one.raw for one in rows if math.isfinite(one.raw)]
    return _ends_of([(one.value, one.low, one.high) for one in rows], raw)


def _ends_of(
    intervals: Sequence[tuple[float, float, float]], more: Sequence[float]
) -> tuple[float, float]:
    """Return ends that hold all estimates and more, and intervals unless they dwarf them."""
    points = [*(value for value, _, _ in intervals if math.isfinite(value)), *more]
    if not points:
        return 0.0, 1.0
    low, high = min(points), max(points)
    room = (high - low) or max(abs(high), 1.0)
    edges = [x for _, *ends in intervals for x in ends if math.isfinite(x)]
    low = max(min([low, *edges]), low - 0.75 * room)
    high = min(max([high, *edges]), high + 0.75 * room)
    margin = 0.04 * ((high - low) or room)
    return low - margin, high + margin


def _style(picture: AnswerPicture, standing: Standing) -> tuple[str, str]:
    if picture.group_names is None or standing.group is None:
        return _STYLES[0]
    return _STYLES[picture.group_names.index(standing.group)]


def _draw_options(axes: Axes, picture: AnswerPicture) -> None:
    for y, standing in enumerate(picture.rows):
        colour, marker = _style(picture, standing)
        if math.isfinite(standing.low) and math.isfinite(standing.high):
            axes.plot([standing.low, standing.high], [y, y], color=colour, lw=2.2, alpha=0.45)
        axes.plot(standing.value, y, marker=marker, color=colour, ms=6.5, ls="")
        below = y + _BESIDE
        axes.plot(standing.raw, below, marker=marker, color=colour, mfc="white", ms=4.5, ls="")
        axes.annotate(
            f"{standing.evaluations:,}",
            (1.0, y),
            (4, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=_FAINT,
        )
    axes.annotate(
        "evaluations", (1.0, 1.0), (4, 4), xycoords="axes fraction", textcoords="offset points",
        fontsize=7.5, color=_FAINT, ha="left", va="bottom",
    )  # fmt: skip
    axes.set_xlim(*picture.ends)
    axes.set_ylim(len(picture.rows) - 0.4, -0.6)
    axes.set_yticks(range(len(picture.rows)))
    names = axes.set_yticklabels([short(one.option) for one in picture.rows])
    for name, standing in zip(names, picture.rows, strict=True):
        name.set_parse_math(False)
        if standing.index == picture.chosen:
            name.set_fontweight("bold")
    axes.set_xlabel(picture.value_label, fontsize=9, color=_INK, parse_math=False)
    if picture.note:
        axes.set_title(picture.note, loc="left", fontsize=8.5, color=_FAINT)
    axes.grid(True, axis="x", color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    _frame(axes)
    axes.tick_params(axis="y", labelsize=8.5, labelcolor=_INK, length=0)


def _draw_bias(axes: Axes, picture: AnswerPicture) -> None:
    bias = picture.bias
    axes.axhline(0.0, color=_FAINT, lw=0.9, ls=(0, (4, 3)))
    known = math.isfinite(bias.value)
    bounded = known and math.isfinite(bias.low) and math.isfinite(bias.high)
    if bounded:
        axes.plot([0.0, 0.0], [bias.low, bias.high], color=_INK, lw=2.2, alpha=0.45)
    if known:
        axes.plot([0.0], [bias.value], marker="D", color=_INK, ms=6, ls="")
        ends = np.array([0.0, bias.value, *((bias.low, bias.high) if bounded else ())])
        margin = 0.08 * float(np.ptp(ends)) or 1.0
        axes.set_ylim(float(ends.min()) - margin, float(ends.max()) + margin)
    else:
        axes.set_ylim(-1.0, 1.0)
    said = interval(bias).replace(" (", "\n(") if known else "not known"
    axes.set_title(f"bias\n{said}", fontsize=8.5, color=_INK)
    axes.set_xlim(-1.0, 1.0)
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.set_ylabel(picture.bias_label, fontsize=8.5, color=_INK, parse_math=False)
    _frame(axes)
    axes.spines["right"].set_visible(True)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)


def _draw_biases(axes: Axes, biases: tuple[NamedBias, ...], n_biases: int, n_rows: int) -> None:
    """Draw favours, and below them who is lenient and who severe, each in a row with its name."""
    first = sum(one.kind != "leniency" for one in biases)  # leniencies come last
    places = [y if y < first else y + 1.2 * (first > 0) for y in range(len(biases))]
    axes.axvline(0.0, color=_FAINT, lw=0.9, ls=(0, (4, 3)))
    for y, one in zip(places, biases, strict=True):
        colour, marker, fill = (_INK, "D", _INK) if one.kind != "leniency" else (_INK, "o", "white")
        if math.isfinite(one.low) and math.isfinite(one.high):
            axes.plot([one.low, one.high], [y, y], color=colour, lw=2.2, alpha=0.45)
        axes.plot(one.estimate, y, marker=marker, color=colour, mfc=fill, ms=5.5, ls="")
        if not one.known:
            axes.annotate(
                "not known", (0.0, y), (4, 0), textcoords="offset points", va="center",
                fontsize=7.5, color=_FAINT,
            )  # fmt: skip
    if 0 < first < len(biases):
        axes.annotate(
            "lenient (+), severe (−)", (0.02, first - 0.1),
            xycoords=axes.get_yaxis_transform(), fontsize=7.5, color=_FAINT, va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    axes.set_xlim(*_ends_of([(one.estimate, one.low, one.high) for one in biases], (0.0,)))
    axes.set_ylim(max([*places, n_rows - 1.0]) + 0.6, -0.6)
    names = axes.set_yticks(places, [short(one.name) for one in biases])
    for tick in names:
        tick.label1.set_parse_math(False)
    left_out = n_biases - len(biases)
    title = "what evaluators add to scores" + (f" ({left_out:,} not drawn)" if left_out else "")
    axes.set_title(title, loc="left", fontsize=8.5, color=_FAINT)
    axes.grid(True, axis="x", color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    _frame(axes)
    axes.tick_params(axis="y", labelsize=8.5, labelcolor=_INK, length=0)


def _frame(axes: Axes) -> None:
    axes.tick_params(labelsize=8, colors=_FAINT)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#bbbbbb")


def _handles(picture: AnswerPicture) -> list[Line2D]:
    names = ("value",) if picture.group_names is None else picture.group_names
    handles = [
        Line2D([], [], ls="", marker=marker, color=colour, ms=6.5, label=short(name))
        for name, (colour, marker) in zip(names, _STYLES, strict=False)
    ]
    said = "mean score, bias and all"
    hollow = {"ls": "", "marker": "o", "color": _FAINT, "mfc": "white"}
    handles.append(Line2D([], [], **hollow, ms=4.5, label=said))  # type: ignore[arg-type]
    if any(math.isfinite(one.high - one.low) for one in picture.rows):
        said = f"interval ({percent(picture.level)})"
        handles.append(Line2D([], [], color=_FAINT, lw=2.2, alpha=0.6, label=said))
    return handles
