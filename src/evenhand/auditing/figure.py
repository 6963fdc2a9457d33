"""The picture of an audit: whose bias is how large, and which decisions would not bear it.

`audit_picture` works out what to draw, `draw_audit_picture` draws it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenhand.arrays import Floats
from evenhand.auditing.audit import Audit
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.words import verdict
from evenhand.report.words import percent, short

_MOST_ROWS = 30
_LEAST_ROWS = 5
_LONGEST_NAME = 40
_MOST_NAMES = 6  # of events that are not safe, written beside their marks
_MOST_EVENTS = 400
_MANY_EVENTS = 24  # from which on events have no names on the axis
_FAR = 30.0  # times the smallest favour, from which on the axis counts in powers of ten

# Told apart by all kinds of colour vision (Okabe and Ito), and by their markers.
_VERDICTS = {
    "safe": ("#009E73", "o", "safe"),
    "fragile": ("#E69F00", "s", "fragile: nobody can tell"),
    "wrong": ("#D55E00", "X", "wrong: another is better, by more than noise"),
    "unknown": ("#767676", "d", "not known"),
}
_BLUE, _RED, _INK, _FAINT = "#0072B2", "#D55E00", "#222222", "#767676"


@dataclass(frozen=True)
class EvaluatorMark:
    """One evaluator's bias, drawn towards the mean, with its interval, and whether it is found."""

    name: str
    value: float
    low: float
    high: float
    found: bool


@dataclass(frozen=True)
class EventMark:
    """One event: what favour of all evaluators would tip it, and what is said of its winner."""

    name: str
    tipping: float
    verdict: str


@dataclass(frozen=True)
class AuditPicture:
    """What the picture of an audit shows.

    Parameters
    ----------
    title
        The verdict.
    bias
        The common bias with its interval.
    prediction
        Between what the bias of one more evaluator would lie; None where that is not known.
    placebo
        (draws,) the same bias with groups dealt out at random.
    evaluators
        Those of ``n_evaluators`` that are drawn, the largest bias first.
    events
        Of ``n_tipped`` events that a favour can tip, the easiest first, those that are drawn.
    n_events
        How many events there are, with those that no favour can tip.
    """

    title: str
    bias: BiasEstimate
    prediction: tuple[float, float] | None
    placebo: Floats
    evaluators: tuple[EvaluatorMark, ...]
    n_evaluators: int
    events: tuple[EventMark, ...]
    n_tipped: int
    n_events: int

    @property
    def known(self) -> bool:
        """Whether there is a bias to draw."""
        return math.isfinite(self.bias.value)

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest bias on the axis: all estimates, and intervals unless they dwarf them.

        Examples
        --------
        >>> bias = BiasEstimate(2.0, 1.0, 3.0, 0.95, 0.5, 9)
        >>> AuditPicture("", bias, None, np.zeros(0), (), 0, (), 0, 0).ends
        (-0.12, 3.12)
        """
        points = [0.0, self.bias.value, *(one.value for one in self.evaluators)]
        points += [self.bias.low, self.bias.high, *(self.prediction or ())]
        points += self.placebo.tolist()
        points = [x for x in points if math.isfinite(x)]
        low, high = min(points), max(points)
        room = high - low
        if room == 0.0:
            return -1.0, 1.0
        edges = [x for one in self.evaluators for x in (one.low, one.high) if math.isfinite(x)]
        low = max(min([low, *edges]), low - 0.5 * room)
        high = min(max([high, *edges]), high + 0.5 * room)
        margin = 0.04 * (high - low)
        return low - margin, high + margin


def audit_picture(audit: Audit) -> AuditPicture:
    """Work out whose bias to draw, and which events."""
    marks, events = _evaluators(audit), _events(audit)
    next_one = audit.spread.evaluators
    ends = next_one.next_low, next_one.next_high
    return AuditPicture(
        title=verdict(audit),
        bias=audit.bias,
        prediction=ends if math.isfinite(ends[1] - ends[0]) else None,
        placebo=audit.placebo.draws,
        evaluators=_outermost(marks),
        n_evaluators=len(marks),
        events=_evenly(events),
        n_tipped=len(events),
        n_events=len(audit.decisions),
    )


def _evaluators(audit: Audit) -> list[EvaluatorMark]:
    """Return the evaluators who have a bias of their own that is known."""
    frame = audit.evaluators
    names = frame["evaluator"].tolist()
    if "group" in frame:
        groups = frame["group"].tolist()
        names = [
            name if group is None else f"{name} ({group})"
            for name, group in zip(names, groups, strict=True)
        ]
    columns = [frame[name].tolist() for name in ("shrunk", "shrunk_low", "shrunk_high", "flagged")]
    return [
        EvaluatorMark(name, value, low, high, bool(found))
        for name, value, low, high, found in zip(names, *columns, strict=True)
        if math.isfinite(value)
    ]


def _events(audit: Audit) -> list[EventMark]:
    """Return the events that a favour can tip, the easiest first."""
    made = audit.decisions
    marks = [
        EventMark(name, float(tipping), said)
        for name, tipping, said in zip(
            made.contests.names, made.tipping_favour, made.verdict, strict=True
        )
        if math.isfinite(tipping)
    ]
    return sorted(marks, key=lambda one: one.tipping)


def _evenly(events: Sequence[EventMark]) -> tuple[EventMark, ...]:
    """Return as many events as can be drawn, evenly by their rank, the first and the last too."""
    ranks = np.linspace(0, len(events) - 1, min(len(events), _MOST_EVENTS))
    return tuple(events[i] for i in np.round(ranks).astype(int).tolist())


def _outermost(marks: Sequence[EvaluatorMark]) -> tuple[EvaluatorMark, ...]:
    """Return the marks by size, the largest first; of many, the largest and the smallest."""
    ordered = sorted(marks, key=lambda one: -one.value)
    if len(ordered) <= _MOST_ROWS:
        return tuple(ordered)
    half = _MOST_ROWS // 2
    return (*ordered[:half], *ordered[-half:])


def draw_audit_picture(picture: AuditPicture) -> Figure:
    """Draw the picture."""
    rows = max(len(picture.evaluators) + 2, _LEAST_ROWS, min(len(picture.events), 12))
    show_events, show_placebo = bool(picture.events), picture.known and len(picture.placebo) > 1
    height = 1.9 + 0.23 * rows + 0.9 * show_placebo
    figure = Figure(figsize=(10.4 if show_events else 6.6, height), dpi=150)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.06, wspace=0.04)
    FigureCanvasAgg(figure)
    title = "\n".join(textwrap.wrap(picture.title, 108 if show_events else 66))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, weight="bold", parse_math=False)
    columns = "12" if show_events else "1"  # who, and events; the placebo stands below the first
    axes = figure.subplot_mosaic(
        f"{columns}\n{columns.replace('1', '3')}" if show_placebo else columns,
        width_ratios=[5.4, 4.6] if show_events else [1.0],
        height_ratios=[0.24 * rows, 0.8] if show_placebo else [1.0],
    )
    _draw_evaluators(axes["1"], picture, axis=not show_placebo)
    if show_placebo:
        _draw_placebo(axes["3"], picture)
    if show_events:
        _draw_events(axes["2"], picture)
    legend = figure.legend(
        handles=_handles(picture), loc="outside lower left", ncols=4, frameon=False, fontsize=8.5
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _draw_evaluators(axes: Axes, picture: AuditPicture, *, axis: bool) -> None:
    bias = picture.bias
    axes.set_xlim(*picture.ends)
    axes.axvline(0.0, color=_FAINT, lw=0.9, ls=(0, (4, 3)))
    names = ["all evaluators", *(short(one.name) for one in picture.evaluators)]
    left_out = picture.n_evaluators - len(picture.evaluators)
    middle = 1 + len(picture.evaluators) // 2 if left_out else len(names)
    places = [y + (y >= middle) for y in range(len(names))]  # a gap for those in between
    if picture.known:
        _band(axes, picture.prediction, 0.10)
        _band(axes, (bias.low, bias.high), 0.28)
        axes.plot(bias.value, 0, marker="D", color=_INK, ms=6.5, ls="")
        if math.isfinite(bias.high - bias.low):
            axes.plot([bias.low, bias.high], [0, 0], color=_INK, lw=2.2)
    else:
        axes.annotate(
            "not known", (0.0, 0.0), (4, 0), textcoords="offset points", va="center", fontsize=8.5,
            color=_FAINT,
        )  # fmt: skip
    for y, one in zip(places[1:], picture.evaluators, strict=True):
        colour, marker = (_RED, "^") if one.found else (_BLUE, "o")
        if math.isfinite(one.high - one.low):
            axes.plot([one.low, one.high], [y, y], color=colour, lw=1.8, alpha=0.45)
        axes.plot(one.value, y, marker=marker, color=colour, ms=5.5, ls="")
    axes.set_ylim(max(places[-1] + 1, _LEAST_ROWS) - 0.4, -0.7)
    axes.set_yticks(places)
    for i, label in enumerate(axes.set_yticklabels(names)):
        label.set_parse_math(False)
        if i == 0:
            label.set_fontweight("bold")
    if left_out:
        axes.annotate(
            f"… {left_out:,} in between …", (0.5, middle), va="center", ha="center", fontsize=7.5,
            xycoords=axes.get_yaxis_transform(), color=_FAINT,
        )  # fmt: skip
    axes.set_title("by how much scores are too high", loc="left", fontsize=8.5, color=_FAINT)
    _frame(axes)
    axes.tick_params(axis="y", labelsize=8, labelcolor=_INK, length=0)
    if axis:
        axes.set_xlabel(_UNITS, fontsize=9, color=_INK)
    else:
        axes.tick_params(axis="x", labelbottom=False)


def _draw_placebo(axes: Axes, picture: AuditPicture) -> None:
    low, high = picture.ends
    edges = np.linspace(low, high, 121)
    axes.hist(picture.placebo, bins=edges.tolist(), color=_FAINT, alpha=0.75)
    axes.axvline(picture.bias.value, color=_INK, lw=1.4)
    axes.axvline(0.0, color=_FAINT, lw=0.9, ls=(0, (4, 3)))
    axes.set_xlim(low, high)
    axes.set_yticks([])
    axes.set_ylabel("placebo", rotation=0, ha="right", va="center", fontsize=8.5, color=_INK)
    axes.set_xlabel(_UNITS, fontsize=9, color=_INK)
    _frame(axes)
    axes.spines["left"].set_visible(False)


def _draw_events(axes: Axes, picture: AuditPicture) -> None:
    events = picture.events
    tipping = np.array([one.tipping for one in events])
    positive = tipping[tipping > 0.0]
    far = len(positive) > 1 and positive.max() > _FAR * positive.min()
    if far:  # what takes hardly any favour stands at the edge
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_minor_formatter(lambda x, _: "")
        tipping = np.maximum(tipping, max(float(positive.min()), float(positive.max()) * 1e-3))
    size = sorted(abs(x) for x in (picture.bias.low, picture.bias.high))
    if picture.known and all(math.isfinite(x) for x in size):
        if picture.bias.low <= 0.0 <= picture.bias.high:
            size[0] = float(tipping.min()) if far else 0.0
        axes.axvspan(*size, color=_INK, alpha=0.22, lw=0)
    for said, (colour, marker, _) in _VERDICTS.items():
        at = [i for i, one in enumerate(events) if one.verdict == said]
        axes.plot(tipping[at], at, marker=marker, color=colour, ms=4.5, ls="", mew=0.6)
    axes.set_ylim(len(events) - 0.3, -0.7)
    if not far:
        axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    if len(events) <= _MANY_EVENTS:
        axes.set_yticks(range(len(events)))
        for label in axes.set_yticklabels([_event(one) for one in events]):
            label.set_parse_math(False)
        axes.tick_params(axis="y", labelsize=8, labelcolor=_INK, length=0)
    else:
        _name_those_in_doubt(axes, events, tipping)
    few = f"{len(events):,} of " if len(events) < picture.n_tipped else ""
    left_out = picture.n_events - picture.n_tipped
    said = f"; {left_out:,} more that none can tip" if left_out else ""
    axes.set_title(
        f"{few}{picture.n_tipped:,} decision{'' if picture.n_tipped == 1 else 's'}, the easiest "
        f"to tip first{said}",
        loc="left", fontsize=8.5, color=_FAINT,
    )  # fmt: skip
    axes.set_xlabel("favour of the whole panel that would tip it", fontsize=9, color=_INK)
    _frame(axes)
    if len(events) > _MANY_EVENTS:
        axes.set_yticks([])
    else:
        axes.tick_params(axis="y", labelsize=8, labelcolor=_INK, length=0)


def _name_those_in_doubt(axes: Axes, events: Sequence[EventMark], tipping: Floats) -> None:
    """Write the names of decisions that are wrong, as far as there is room."""
    doubtful = [i for i, one in enumerate(events) if one.verdict == "wrong"][:_MOST_NAMES]
    apart, last = max(len(events) / 22, 1.0), -math.inf
    for i in doubtful:
        place = max(float(i), last + apart)
        last = place
        axes.annotate(
            _event(events[i]), (float(tipping[i]), i), (1.0, place),
            textcoords=axes.get_yaxis_transform(), ha="right", va="center", fontsize=7.5,
            color=_INK, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "lw": 0.6},
        )  # fmt: skip


def _event(event: EventMark) -> str:
    """Return the name of an event; of a long one the start and the end, which tell it apart.

    Examples
    --------
    >>> _event(EventMark("Grand Prix of Figure Skating Final 2016, Ladies Short", 1.0, "safe"))
    'Grand Prix of Figur… 2016, Ladies Short'
    """
    name = short(event.name, 1_000)
    return name if len(name) <= _LONGEST_NAME else f"{name[:19].rstrip()}…{name[-19:]}"


_UNITS = "points added to those whom evaluators are partial to"


def _band(axes: Axes, ends: tuple[float, float] | None, alpha: float) -> None:
    if ends is not None and math.isfinite(ends[1] - ends[0]):
        axes.axvspan(*ends, color=_INK, alpha=alpha, lw=0)


def _frame(axes: Axes) -> None:
    axes.grid(True, axis="x", color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, colors=_FAINT)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#bbbbbb")


def _handles(picture: AuditPicture) -> list[Line2D | Patch]:
    """Return what is drawn, and only that, for the legend."""
    handles: list[Line2D | Patch] = []
    if picture.known and math.isfinite(picture.bias.high - picture.bias.low):
        level = percent(picture.bias.level)
        handles.append(Patch(color=_INK, alpha=0.28, lw=0, label=f"common bias ({level})"))
    if picture.known and picture.prediction is not None:
        handles.append(Patch(color=_INK, alpha=0.10, lw=0, label="one more evaluator"))
    for found, colour, marker, said in (
        (True, _RED, "^", "evaluator who is surely partial"),
        (False, _BLUE, "o", "other evaluator"),
    ):
        if any(one.found is found for one in picture.evaluators):
            handles.append(Line2D([], [], ls="", marker=marker, color=colour, ms=5.5, label=said))
    if picture.known and len(picture.placebo) > 1:
        handles.append(Patch(color=_FAINT, alpha=0.75, lw=0, label="groups dealt out at random"))
    for said, (colour, marker, label) in _VERDICTS.items():
        if any(one.verdict == said for one in picture.events):
            handles.append(Line2D([], [], ls="", marker=marker, color=colour, ms=5, label=label))
    return handles
