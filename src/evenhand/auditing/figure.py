"""The picture of an audit: whose bias is how large, and which decisions would not bear it.

`audit_picture` works out what to draw, `draw_audit_picture` draws it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenhand.auditing.audit import Audit
from evenhand.auditing.page import verdict
from evenhand.best import direction, sign
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

if TYPE_CHECKING:
    import pandas as pd

_MOST_EVALUATORS = 30
_LEAST_ROWS = 5
_MOST_EVENTS = 400
_MANY_EVENTS = 24  # from which on events have no names on the axis
_FAR = 30.0  # times the smallest favour, from which on the axis is drawn together beyond the median

_VERDICTS = {
    "safe": (STYLES[2][0], "o", "safe"),
    "fragile": (STYLES[4][0], "s", "fragile: nobody can tell"),
    "wrong": (STYLES[1][0], "X", "wrong: another is better, by more than noise"),
    "unknown": (FAINT, "d", "not known"),
}
_OTHER, _NAMED = STYLES[:2]


@dataclass(frozen=True)
class AuditPicture:
    """What the picture of an audit shows."""

    title: str  # the verdict
    direction: str  # which scores are better
    band: tuple[float, float] | None  # the interval of the bias; None where there is none
    level: float
    rows: tuple[ForestRow, ...]  # all evaluators together, then each, the largest favour first
    events: pd.DataFrame  # those that a favour can tip, the easiest first; none of one
    heading: str  # of the events: how many there are


def audit_picture(audit: Audit) -> AuditPicture:
    """Work out whose bias to draw, and which events."""
    bias, made = audit.bias, audit.decisions
    marks = made[np.isfinite(made["tipping_favour"])].sort_values("tipping_favour", kind="stable")
    ranks = np.linspace(0, len(marks) - 1, min(len(marks), _MOST_EVENTS))  # evenly, of many
    shown = marks.iloc[np.round(ranks).astype(int) if len(made) > 1 else []]
    few = f"{len(shown):,} of " if len(shown) < len(marks) else ""
    more = f"; {len(made) - len(marks):,} more that none can tip" * (len(made) > len(marks))
    return AuditPicture(
        verdict(audit),
        direction(audit.scores.best).lower()[:-1],
        (bias.low, bias.high) if math.isfinite(bias.high - bias.low) else None,
        bias.level,
        (
            ForestRow("all evaluators", bias.value, bias.low, bias.high, (INK, "D"), strong=True),
            *_evaluators(audit),
        ),
        shown,
        f"{few}{counted(len(marks), 'decision')}, the easiest to tip first{more}",
    )


def _evaluators(audit: Audit) -> list[ForestRow]:
    """Return the evaluators' shrunken biases; of many, the largest and the smallest."""
    each = audit.evaluators
    order = np.argsort(-sign(audit.scores.best) * each["shrunk"], kind="stable")
    groups = each.get("group", [None] * len(order))
    rows = [
        ForestRow(
            each["evaluator"][x] if groups[x] is None else f"{each['evaluator'][x]} ({groups[x]})",
            float(each["shrunk"][x]), float(each["shrunk_low"][x]), float(each["shrunk_high"][x]),
            _NAMED if each["flagged"][x] else _OTHER,
        )
        for x in order.tolist()
        if math.isfinite(each["shrunk"][x])
    ]  # fmt: skip
    if len(rows) <= _MOST_EVALUATORS:
        return rows
    half, between = _MOST_EVALUATORS // 2, len(rows) - _MOST_EVALUATORS
    first = replace(rows[-half], heading=f"… {between:,} in between …")
    return [*rows[:half], first, *rows[-half + 1 :]]


def draw_audit_picture(picture: AuditPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, whose bias is how large."""
    if axes is not None:
        _draw_evaluators(axes, picture)
        handles = _legend(replace(picture, events=picture.events[:0]))
        axes.legend(handles=handles, frameon=False, fontsize=8)
        return axes.figure.figure
    rows = max(len(picture.rows) + 1, _LEAST_ROWS, min(len(picture.events), 12))
    wide, wrap = (10.4, 108) if len(picture.events) else (6.6, 66)
    figure = new_figure(wide, 1.9 + 0.23 * rows, picture.title, wrap=wrap)
    if len(picture.events):
        left, right = figure.subplots(1, 2, width_ratios=[5.4, 4.6])
        _draw_events(right, picture)
    else:
        left = figure.subplots()
    _draw_evaluators(left, picture)
    figure.legend(
        handles=_legend(picture), loc="outside lower left", ncols=4, frameon=False, fontsize=8.5
    )
    return figure


def _draw_evaluators(axes: Axes, picture: AuditPicture) -> None:
    if picture.band is not None:
        axes.axvspan(*picture.band, color=INK, alpha=0.18, lw=0)
    draw_forest(axes, picture.rows, zero=True, fewest=_LEAST_ROWS)
    if not any(math.isfinite(row.value) for row in picture.rows):
        axes.set_xticks([])
    said = f"what is added to scores; {picture.direction}"
    axes.set_title(said, loc="left", fontsize=8.5, color=FAINT)
    axes.set_xlabel("points added to those whom evaluators are partial to", fontsize=9, color=INK)


def _draw_events(axes: Axes, picture: AuditPicture) -> None:
    events, names = picture.events, len(picture.events) <= _MANY_EVENTS
    tipping = events["tipping_favour"].to_numpy()
    positive = tipping[tipping > 0.0]
    if len(positive) > 1 and positive.max() > _FAR * positive.min():
        axes.set_xscale("symlog", linthresh=float(np.median(positive)))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    if picture.band is not None:
        near, far = sorted(abs(x) for x in picture.band)
        near = 0.0 if picture.band[0] <= 0.0 <= picture.band[1] else near
        axes.axvspan(near, far, color=INK, alpha=0.18, lw=0)
    for said, (colour, marker, _) in _VERDICTS.items():
        at = np.flatnonzero(events["verdict"] == said)
        axes.plot(tipping[at], at, marker=marker, color=colour, ms=4.5, ls="", mew=0.6)
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    axes.set_ylim(len(events) - 0.3, -0.7)
    axes.set_yticks(range(len(events)) if names else [])
    for label in axes.set_yticklabels(
        [abridged(name) for name in events["event"]] if names else []
    ):
        literal(label)
    axes.set_title(picture.heading, loc="left", fontsize=8.5, color=FAINT)
    axes.set_xlabel("favour of all evaluators that would tip it", fontsize=9, color=INK)
    frame(axes, names=names)


def _legend(picture: AuditPicture) -> list[Line2D | Patch]:
    """Return what is drawn, and only that: first of evaluators, then of events."""
    said = {_NAMED: "evaluator whose own scores show it", _OTHER: "other evaluator"}
    styles = {row.style for row in picture.rows}
    there = set(picture.events["verdict"])
    marks = [(*style, label) for style, label in said.items() if style in styles]
    marks += [style for verdict, style in _VERDICTS.items() if verdict in there]
    handles: list[Line2D | Patch]
    handles = [Line2D([], [], ls="", marker=m, color=c, ms=5, label=label) for c, m, label in marks]
    if picture.band is None:
        return handles
    label = f"common bias ({percent(picture.level)})"
    return [Patch(color=INK, alpha=0.18, lw=0, label=label), *handles]
