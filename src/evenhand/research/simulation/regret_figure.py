"""The picture of regret: mean curves with bands, and the limits that theory sets.

`regret_picture` works out what to draw, `draw_regret_picture` draws it. Both axes are logarithmic,
so a rate T^a is a line of slope a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure

_DASHES = ("-", "--", "-.", ":")
_LIMIT_POINTS = 60


@dataclass(frozen=True, eq=False)
class RegretLine:
    """The mean regret of one policy over one horizon."""

    policy: str
    horizon: int
    times: NDArray[np.int64]  # (c,) evaluations
    mean: Floats  # (c,) regret after them
    error: Floats  # (c,) its standard error
    n_runs: int


@dataclass(frozen=True, eq=False)
class Curve:
    """A line to draw, with the band around it; all positive."""

    name: str | None  # text of the legend (None: none)
    group: int  # number of the policy, which sets the colour
    times: Floats  # (c,), as heights, low and high
    heights: Floats
    low: Floats
    high: Floats
    ends: bool = False  # whether the points are ends of runs (markers) or a way there (a thin line)


@dataclass(frozen=True, eq=False)
class RegretPicture:
    """What the picture of regret shows, in numbers."""

    curves: tuple[Curve, ...]
    # name → (times, values), where they are finite and positive
    limits: dict[str, tuple[Floats, Floats]]
    note: str  # how many runs it rests on, and what the bands are


def regret_picture(
    lines: Sequence[RegretLine], limits: Mapping[str, Callable[[float], float]]
) -> RegretPicture:
    """Work out the curves: means with two standard errors to each side, and limits beside them.

    Over several horizons the regrets at the ends make a curve of their own, which is what a limit
    speaks of; limits are drawn over the range of the horizons, or of time if there is one horizon.
    A logarithmic scale has no place for a regret of zero: such points are left out.
    """
    horizons = sorted({line.horizon for line in lines})
    several = len(horizons) > 1
    names = list(dict.fromkeys(line.policy for line in lines))
    curves: list[Curve] = []
    for group, name in enumerate(names):
        own = sorted((line for line in lines if line.policy == name), key=lambda line: line.horizon)
        for line in own:
            times = line.times.astype(np.float64)
            legend = None if several else name
            curves.append(_curve(legend, group, times, line.mean, line.error))
        if several:
            ends = np.array([line.horizon for line in own], dtype=np.float64)
            mean = np.array([line.mean[-1] for line in own])
            error = np.array([line.error[-1] for line in own])
            curves.append(_curve(name, group, ends, mean, error, ends=True))
    first = horizons[0] if several else min(int(line.times[0]) for line in lines)
    span = np.geomspace(first, horizons[-1], _LIMIT_POINTS)
    heights = {name: np.array([limit(t) for t in span.tolist()]) for name, limit in limits.items()}
    drawn = {name: np.isfinite(values) & (values > 0) for name, values in heights.items()}
    fewest, most = (f(line.n_runs for line in lines) for f in (min, max))
    runs = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    note = f"mean of {runs} run{'s' if most > 1 else ''}" + (
        " per line; bands: ± 2 standard errors" if fewest > 1 else " per line"
    )
    if any(shown.any() for shown in drawn.values()):
        note += "; a limit is for runs that end there"
    return RegretPicture(
        tuple(curves),
        {name: (span[shown], heights[name][shown]) for name, shown in drawn.items() if shown.any()},
        note,
    )


def draw_regret_picture(picture: RegretPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture, into axes of the user's if there are any."""
    figure = new_figure(7.6, 5.2) if axes is None else axes.figure.figure
    axes = figure.subplots() if axes is None else axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    joined = any(curve.ends for curve in picture.curves)
    for curve in picture.curves:
        _draw_curve(axes, curve, thin=joined and not curve.ends)
    for i, (name, (times, values)) in enumerate(picture.limits.items()):
        dashes = (0, (4 + 2 * i, 2, 1, 2)) if i else (0, (4, 2))
        axes.plot(times, values, color=FAINT, lw=1.2, ls=dashes, label=name, zorder=1)
    axes.set_xlabel("evaluations" + (" T (ends) and t (on the way)" if joined else ""), color=INK)
    axes.set_ylabel("regret", color=INK)
    axes.set_title(picture.note, loc="left", fontsize=9, color=FAINT)
    axes.grid(True, which="major", color="#e6e6e6", lw=0.7)
    frame(axes)
    legend = axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    for text in legend.get_texts():
        literal(text)
    return figure


def _curve(
    name: str | None, group: int, times: Floats, mean: Floats, error: Floats, *, ends: bool = False
) -> Curve:
    """Return a curve on the logarithmic scale: positive points, bands cut off far below."""
    shown = mean > 0
    mean, error = mean[shown], np.nan_to_num(error[shown])
    low = np.maximum(mean - 2.0 * error, mean / 100.0)
    return Curve(name, group, times[shown], mean, low, mean + 2.0 * error, ends)


def _draw_curve(axes: Axes, curve: Curve, thin: bool) -> None:
    colour = STYLES[curve.group % len(STYLES)][0]
    dashes = _DASHES[curve.group // len(STYLES) % len(_DASHES)]
    axes.plot(
        curve.times,
        curve.heights,
        color=colour,
        ls=dashes,
        lw=0.9 if thin else 1.8,
        alpha=0.45 if thin else 1.0,
        marker="o" if curve.ends else None,
        ms=4.5,
        label=curve.name,
        zorder=2 if thin else 3,
    )
    if not thin:
        axes.fill_between(curve.times, curve.low, curve.high, color=colour, alpha=0.18, lw=0)
