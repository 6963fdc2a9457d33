"""The picture of an answer: options by value with intervals, scores beside values, and the bias.

`answer_picture` works out what to draw, `draw_answer_picture` draws it.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenhand.answers.answer import Answer, Standing
from evenhand.answers.words import interval, percent, short, verdict
from evenhand.policies.messages import Estimate

_MOST_ROWS = 25

# Told apart by all kinds of colour vision (Okabe and Ito), and by their markers.
_STYLES = (("#0072B2", "o"), ("#D55E00", "^"))
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
        The names of −1 and +1; None where there are attributes instead.
    level
        Probability that the intervals hold.
    bias
        The bias, with its interval.
    bias_label
        What a bias above 0 means.
    """

    title: str
    rows: tuple[Standing, ...]
    n_options: int
    chosen: int
    ends: tuple[float, float]
    group_names: tuple[str, str] | None
    level: float
    bias: Estimate
    bias_label: str

    @property
    def note(self) -> str:
        """How many options are left out; "" if none is."""
        left_out = self.n_options - len(self.rows)
        if not left_out:
            return ""
        return f"The first {len(self.rows)} of {self.n_options:,} options are drawn."


def answer_picture(answer: Answer) -> AnswerPicture:
    """Work out which options to draw, and between which ends."""
    names = answer.options.group_names
    if names is None:
        bias_label = f"scores per 1 of {short(answer.options.attribute_names[0])}"
    else:
        bias_label = f"too much for {short(names[1])},\ntoo little for {short(names[0])}"
    rows = _rows(answer)
    return AnswerPicture(
        title=verdict(answer),
        rows=rows,
        n_options=len(answer.ranking),
        chosen=answer.option,
        ends=_ends(rows),
        group_names=names,
        level=answer.confidence,
        bias=answer.bias,
        bias_label=bias_label,
    )


def draw_answer_picture(picture: AnswerPicture) -> Figure:
    """Draw the picture."""
    n = len(picture.rows)
    figure = Figure(figsize=(8.6, 2.3 + 0.3 * max(n, 4)), dpi=150)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08, wspace=0.04)
    FigureCanvasAgg(figure)
    options, bias = figure.subplots(1, 2, width_ratios=(5.2, 1.0))
    title = "\n".join(textwrap.wrap(picture.title, 92))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, weight="bold", parse_math=False)
    _draw_options(options, picture)
    _draw_bias(bias, picture)
    legend = figure.legend(
        handles=_handles(picture), loc="outside lower left", ncols=4, frameon=False, fontsize=8.5
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a user's dollar signs are not mathematics
    return figure


def _rows(answer: Answer) -> tuple[Standing, ...]:
    """Return the first options, and with them the chosen one and that of the highest scores."""
    must = {answer.option, answer.raw_choice}
    late = [one for one in answer.ranking[_MOST_ROWS:] if one.index in must]
    early = list(answer.ranking[:_MOST_ROWS])
    for one in reversed(early) if late else ():
        if len(early) + len(late) > _MOST_ROWS and one.index not in must:
            early.remove(one)
    return (*early, *late)


def _ends(rows: tuple[Standing, ...]) -> tuple[float, float]:
    """Return ends that hold all values and scores, and intervals unless they dwarf them."""
    points = [x for one in rows for x in (one.value, one.raw) if math.isfinite(x)]
    if not points:
        return 0.0, 1.0
    low, high = min(points), max(points)
    room = (high - low) or max(abs(high), 1.0)
    edges = [x for one in rows for x in (one.low, one.high) if math.isfinite(x)]
    low = max(min([low, *edges]), low - 0.75 * room)
    high = min(max([high, *edges]), high + 0.75 * room)
    margin = 0.04 * ((high - low) or room)
    return low - margin, high + margin


def _style(picture: AnswerPicture, standing: Standing) -> tuple[str, str]:
    if picture.group_names is None or standing.group == picture.group_names[0]:
        return _STYLES[0]
    return _STYLES[1]


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
    axes.set_xlabel("value, in units of the scores", fontsize=9, color=_INK)
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
    hollow = {"ls": "", "marker": "o", "color": _FAINT, "mfc": "white"}
    handles.append(Line2D([], [], **hollow, ms=4.5, label="mean score, bias and all"))  # type: ignore[arg-type]
    if any(math.isfinite(one.high - one.low) for one in picture.rows):
        said = f"interval ({percent(picture.level)})"
        handles.append(Line2D([], [], color=_FAINT, lw=2.2, alpha=0.6, label=said))
    return handles
