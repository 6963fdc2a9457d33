"""The bias over time as a curve with its interval: where its lines, band and labels stand.

`curves` works out what `curve.html` draws; colours are the style sheet's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.answers.biases import NamedBias
from evenhand.campaigns.course import Moment
from evenhand.report.words import number

_MOST = 4  # biases that are drawn
_WIDTH, _HEIGHT = 640.0, 220.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 12.0, 44.0  # room for labels, in pixels
_STEPS = (1.0, 2.0, 5.0, 10.0)
_TICKS = 5


@dataclass(frozen=True)
class Curve:
    """A bias over the evaluations: lines in pixels, labels, and the numbers behind them."""

    name: str
    said: str
    moments: tuple[tuple[int, float, NamedBias], ...]  # evaluations, time, what was known
    line: str  # points of the estimate
    dots: tuple[tuple[float, float], ...]
    bands: tuple[str, ...]  # outlines of the interval, where there is one
    across: tuple[tuple[float, str], ...]  # labels below
    up: tuple[tuple[float, str], ...]  # labels at the left
    zero: float | None


def curves(course: Sequence[Moment]) -> list[Curve]:
    """Return a curve for each bias that can be told by now, a few at most."""
    last = course[-1].biases if course else ()
    return [_curve(course, i) for i, one in enumerate(last[:_MOST]) if one.known]


def _curve(course: Sequence[Moment], i: int) -> Curve:
    told = [
        (moment.evaluations, moment.at, moment.biases[i])
        for moment in course
        if i < len(moment.biases) and moment.biases[i].known
    ]
    low, high = _ends([one for _, _, one in told])
    first, end = told[0][0], max(told[-1][0], told[0][0] + 1)

    def x(n: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (n - first) / (end - first), 1)

    def y(value: float) -> float:
        inside = min(max(value, low), high)
        return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - inside) / (high - low), 1)

    dots = tuple((x(n), y(one.estimate)) for n, _, one in told)
    bands, piece = list[str](), list[tuple[float, float, float]]()
    for n, _, one in [*told, (end, 0.0, None)]:
        if one is not None and math.isfinite(one.high - one.low):
            piece.append((x(n), y(one.low), y(one.high)))
            continue
        if piece:
            if len(piece) == 1:  # a bar, where there is but one
                at, under, over = piece[0]
                piece = [(at - 3.0, under, over), (at + 3.0, under, over)]
            outline = [(a, over) for a, _, over in piece]
            outline += [(a, under) for a, under, _ in reversed(piece)]
            bands.append(_points(outline))
        piece = []
    latest = told[-1][2]
    known = math.isfinite(latest.high - latest.low)
    interval = f"from {number(latest.low)} to {number(latest.high)}" if known else "no interval yet"
    return Curve(
        latest.name,
        f"{latest.name}: {number(latest.estimate)} ({interval}) after {told[-1][0]:,} evaluations; "
        f"{number(told[0][2].estimate)} after {told[0][0]:,}",
        tuple(told), _points(dots), dots, tuple(bands),
        tuple((x(n), f"{n:,.0f}") for n in _ticks(first, end, whole=True)),
        tuple((y(value), number(value)) for value in _ticks(low, high)),
        y(0.0) if low < 0.0 < high else None,
    )  # fmt: skip


def _ends(told: Sequence[NamedBias]) -> tuple[float, float]:
    """Return from where to where the axis goes: all estimates, zero, and the last interval."""
    seen = [0.0, *(one.estimate for one in told)]
    latest = next((one for one in reversed(told) if math.isfinite(one.high - one.low)), None)
    if latest is not None:
        half = 0.75 * (latest.high - latest.low)
        seen += [latest.estimate - half, latest.estimate + half]
    low, high = min(seen), max(seen)
    room = 0.08 * (high - low) or 1.0
    return low - room, high + room


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return round numbers between two ends."""
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * s for s in _STEPS if size * s >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    found = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [round(n * step, 10) for n in found]


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in places)
