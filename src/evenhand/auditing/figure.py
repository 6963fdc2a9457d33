"""The picture of an audit: whose bias is how large, and which decisions would not bear it.

`audit_picture` works out what to draw, `draw_audit_picture` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenhand.arrays import Floats
from evenhand.auditing.audit import Audit
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.words import verdict
from evenhand.best import Best, direction, sign
from evenhand.report.pictures import (
    FAINT,
    INK,
    STYLES,
    ForestRow,
    draw_forest,
    frame,
    literal,
    new_figure,
)
from evenhand.report.words import abridged, counted, percent

_MOST_EVALUATORS = 30
_LEAST_ROWS = 5
_MOST_NAMES = 6  # of events that are not safe, written beside their marks
_MOST_EVENTS = 400
_MANY_EVENTS = 24  # from which on events have no names on the axis
_FAR = 30.0  # times the smallest favour, from which on the axis counts in powers of ten

_VERDICTS = {
    "safe": (STYLES[2][0], "o", "safe"),
    "fragile": (STYLES[4][0], "s", "fragile: nobody can tell"),
    "wrong": (STYLES[1][0], "X", "wrong: another is better, by more than noise"),
    "unknown": (FAINT, "d", "not known"),
}
_OTHER, _FOUND = STYLES[:2]


@dataclass(frozen=True)
class EvaluatorMark:
    """One evaluator's shrunken bias with its interval, and whether it is found."""

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
    """What the picture of an audit shows."""

    title: str  # the verdict
    bias: BiasEstimate
    prediction: tuple[float, float] | None  # for one more evaluator; None where that is not known
    placebo: Floats  # (draws,) the bias with groups permuted at random
    # those of `n_evaluators` that are drawn, the largest bias first
    evaluators: tuple[EvaluatorMark, ...]
    n_evaluators: int
    # those of `n_tipped`, which a favour can tip, that are drawn, the easiest first
    events: tuple[EventMark, ...]
    n_tipped: int
    n_events: int  # with those that no favour can tip
    best: Best = "high"

    @property
    def known(self) -> bool:
        """Whether there is a bias to draw."""
        return math.isfinite(self.bias.value)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and highest bias on the axis: all estimates, and intervals unless they dwarf
        them.
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
        evaluators=_outermost(marks, audit.effects.scores.best),
        n_evaluators=len(marks),
        events=_evenly(events),
        n_tipped=len(events),
        n_events=len(audit.decisions),
        best=audit.effects.scores.best,
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


def _outermost(marks: Sequence[EvaluatorMark], best: Best) -> tuple[EvaluatorMark, ...]:
    """Return the marks by size, the largest favour first; of many, the largest and smallest."""
    ordered = sorted(marks, key=lambda one: -sign(best) * one.value)
    if len(ordered) <= _MOST_EVALUATORS:
        return tuple(ordered)
    half = _MOST_EVALUATORS // 2
    return (*ordered[:half], *ordered[-half:])


def draw_audit_picture(picture: AuditPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, whose bias is how large."""
    if axes is not None:
        _draw_evaluators(axes, picture)
        axes.set_xlabel(_UNITS, fontsize=9, color=INK)
        _legend(axes.legend(handles=_of_evaluators(picture), frameon=False, fontsize=8))
        return axes.figure.figure
    rows = max(len(_rows(picture)) + 1, _LEAST_ROWS, min(len(picture.events), 12))
    show_events, show_placebo = bool(picture.events), picture.known and len(picture.placebo) > 1
    height = 1.9 + 0.23 * rows + 0.9 * show_placebo
    wide = (10.4, 108) if show_events else (6.6, 66)
    figure = new_figure(wide[0], height, picture.title, wrap=wide[1])
    columns = "12" if show_events else "1"  # who, and events; the placebo stands below the first
    parts = figure.subplot_mosaic(
        f"{columns}\n{columns.replace('1', '3')}" if show_placebo else columns,
        width_ratios=[5.4, 4.6] if show_events else [1.0],
        height_ratios=[0.24 * rows, 0.8] if show_placebo else [1.0],
    )
    _draw_evaluators(parts["1"], picture)
    if show_placebo:
        _draw_placebo(parts["3"], picture)
        parts["1"].tick_params(axis="x", labelbottom=False)
    parts["3" if show_placebo else "1"].set_xlabel(_UNITS, fontsize=9, color=INK)
    if show_events:
        _draw_events(parts["2"], picture)
    handles = [*_of_evaluators(picture), *_of_events(picture)]
    _legend(
        figure.legend(
            handles=handles, loc="outside lower left", ncols=4, frameon=False, fontsize=8.5
        )
    )
    return figure


def _rows(picture: AuditPicture) -> list[ForestRow]:
    """Return the rows of the forest plot: all together, then one by one."""
    bias = picture.bias
    left_out = picture.n_evaluators - len(picture.evaluators)
    gap = {len(picture.evaluators) // 2: f"… {left_out:,} in between …"} if left_out else {}
    return [
        ForestRow("all evaluators", bias.value, bias.low, bias.high, (INK, "D"), strong=True),
        *(
            ForestRow(
                one.name, one.value, one.low, one.high, _FOUND if one.found else _OTHER,
                heading=gap.get(i, ""),
            )
            for i, one in enumerate(picture.evaluators)
        ),
    ]  # fmt: skip


def _draw_evaluators(axes: Axes, picture: AuditPicture) -> None:
    bias = picture.bias
    if picture.known:
        _band(axes, picture.prediction, 0.10)
        _band(axes, (bias.low, bias.high), 0.28)
    draw_forest(axes, _rows(picture), zero=True, ends=picture.ends, fewest=_LEAST_ROWS)
    said = f"what is added to scores; {direction(picture.best).lower()[:-1]}"
    axes.set_title(said, loc="left", fontsize=8.5, color=FAINT)


def _draw_placebo(axes: Axes, picture: AuditPicture) -> None:
    low, high = picture.ends
    edges = np.linspace(low, high, 121)
    axes.hist(picture.placebo, bins=edges.tolist(), color=FAINT, alpha=0.75)
    axes.axvline(picture.bias.value, color=INK, lw=1.4)
    axes.axvline(0.0, color=FAINT, lw=0.8, ls="--")
    axes.set_xlim(low, high)
    axes.set_yticks([])
    axes.set_ylabel("permuted groups", rotation=0, ha="right", va="center", fontsize=8.5, color=INK)
    frame(axes, names=True)


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
        axes.axvspan(*size, color=INK, alpha=0.22, lw=0)
    for said, (colour, marker, _) in _VERDICTS.items():
        at = [i for i, one in enumerate(events) if one.verdict == said]
        axes.plot(tipping[at], at, marker=marker, color=colour, ms=4.5, ls="", mew=0.6)
    axes.set_ylim(len(events) - 0.3, -0.7)
    if not far:
        axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    if len(events) <= _MANY_EVENTS:
        axes.set_yticks(range(len(events)))
        for label in axes.set_yticklabels([abridged(one.name) for one in events]):
            literal(label)
    else:
        axes.set_yticks([])
        _name_those_in_doubt(axes, events, tipping)
    few = f"{len(events):,} of " if len(events) < picture.n_tipped else ""
    left_out = picture.n_events - picture.n_tipped
    said = f"; {left_out:,} more that none can tip" if left_out else ""
    axes.set_title(
        f"{few}{counted(picture.n_tipped, 'decision')}, the easiest to tip first{said}",
        loc="left", fontsize=8.5, color=FAINT,
    )  # fmt: skip
    axes.set_xlabel("favour of the whole panel that would tip it", fontsize=9, color=INK)
    frame(axes, names=len(events) <= _MANY_EVENTS)


def _name_those_in_doubt(axes: Axes, events: Sequence[EventMark], tipping: Floats) -> None:
    """Write the names of decisions that are wrong, as far as there is room."""
    doubtful = [i for i, one in enumerate(events) if one.verdict == "wrong"][:_MOST_NAMES]
    apart, last = max(len(events) / 22, 1.0), -math.inf
    for i in doubtful:
        place = max(float(i), last + apart)
        last = place
        axes.annotate(
            abridged(events[i].name), (float(tipping[i]), i), (1.0, place),
            textcoords=axes.get_yaxis_transform(), ha="right", va="center", fontsize=7.5,
            color=INK, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "lw": 0.6},
        )  # fmt: skip


_UNITS = "points added to those whom evaluators are partial to"


def _band(axes: Axes, ends: tuple[float, float] | None, alpha: float) -> None:
    if ends is not None and math.isfinite(ends[1] - ends[0]):
        axes.axvspan(*ends, color=INK, alpha=alpha, lw=0)


def _legend(legend: Legend) -> None:
    for text in legend.get_texts():
        literal(text)


def _of_evaluators(picture: AuditPicture) -> list[Line2D | Patch]:
    """Return what is drawn of evaluators, and only that, for the legend."""
    handles: list[Line2D | Patch] = []
    if picture.known and math.isfinite(picture.bias.high - picture.bias.low):
        level = percent(picture.bias.level)
        handles.append(Patch(color=INK, alpha=0.28, lw=0, label=f"common bias ({level})"))
    if picture.known and picture.prediction is not None:
        handles.append(Patch(color=INK, alpha=0.10, lw=0, label="one more evaluator"))
    for found, (colour, marker), said in (
        (True, _FOUND, "evaluator who stands out"),
        (False, _OTHER, "other evaluator"),
    ):
        if any(one.found is found for one in picture.evaluators):
            handles.append(Line2D([], [], ls="", marker=marker, color=colour, ms=5.5, label=said))
    return handles


def _of_events(picture: AuditPicture) -> list[Line2D | Patch]:
    """Return what is drawn of events, and of permutations, for the legend."""
    handles: list[Line2D | Patch] = []
    if picture.known and len(picture.placebo) > 1:
        handles.append(Patch(color=FAINT, alpha=0.75, lw=0, label="groups dealt out at random"))
    for said, (colour, marker, label) in _VERDICTS.items():
        if any(one.verdict == said for one in picture.events):
            handles.append(Line2D([], [], ls="", marker=marker, color=colour, ms=5, label=label))
    return handles
