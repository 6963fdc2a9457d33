"""The picture of regret: mean curves with bands, and the limits that theory sets.

`regret_curves` works out what to draw, `draw_regret` draws it. Both axes are logarithmic, so a rate
T^a is a line of slope a.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from evenhand.arrays import Floats
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure
from evenhand.research.simulation.results import Runs, standard_error

_DASHES = ("-", "--", "-.", ":")
_LIMIT_POINTS = 60


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


def regret_curves(runs: Sequence[Runs]) -> list[Curve]:
    """Work out the curves: means with two standard errors to each side.

    Over several horizons the regrets at the ends make a curve of their own, which is what a limit
    speaks of.
    """
    several = len({one.horizon for one in runs}) > 1
    curves: list[Curve] = []
    for group, name in enumerate(dict.fromkeys(one.policy for one in runs)):
        own = sorted((one for one in runs if one.policy == name), key=lambda one: one.horizon)
        found = [
            (one.checkpoint, one.regret.mean(axis=0), standard_error(one.regret)) for one in own
        ]
        curves += [_curve(None if several else name, group, *each) for each in found]
        if several:
            ends = ([part[-1] for part in parts] for parts in zip(*found, strict=True))
            curves.append(_curve(name, group, *ends, ends=True))
    return curves


def _curve(
    name: str | None,
    group: int,
    times: ArrayLike,
    mean: ArrayLike,
    error: ArrayLike,
    *,
    ends: bool = False,
) -> Curve:
    """Return a curve on the logarithmic scale: positive points, bands cut off far below."""
    times, mean, error = (np.asarray(part, dtype=np.float64) for part in (times, mean, error))
    shown = mean > 0
    mean, error = mean[shown], np.nan_to_num(error[shown])
    low = np.maximum(mean - 2.0 * error, mean / 100.0)
    return Curve(name, group, times[shown], mean, low, mean + 2.0 * error, ends)


def draw_regret(
    runs: Sequence[Runs], limits: Mapping[str, Callable[[float], float]], axes: Axes | None = None
) -> Figure:
    """Draw the curves, and limits over the range of the horizons, or of time if there is one
    horizon; into axes of the user's if there are any.
    """
    figure = new_figure(7.6, 5.2) if axes is None else axes.figure.figure
    axes = figure.subplots() if axes is None else axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    curves = regret_curves(runs)
    joined = any(curve.ends for curve in curves)
    for curve in curves:
        _draw_curve(axes, curve, thin=joined and not curve.ends)
    drawn = _draw_limits(axes, runs, limits, joined)
    axes.set_xlabel("evaluations" + (" T (ends) and t (on the way)" if joined else ""), color=INK)
    axes.set_ylabel("regret", color=INK)
    fewest, most = (f(len(one) for one in runs) for f in (min, max))
    n = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    note = f"mean of {n} run{'s' if most > 1 else ''} per line"
    note += "; bands: ± 2 standard errors" if fewest > 1 else ""
    note += "; a limit is for runs that end there" if drawn else ""
    axes.set_title(note, loc="left", fontsize=9, color=FAINT)
    axes.grid(True, which="major", color="#e6e6e6", lw=0.7)
    frame(axes)
    legend = axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    for text in legend.get_texts():
        literal(text)
    return figure


def _draw_limits(
    axes: Axes, runs: Sequence[Runs], limits: Mapping[str, Callable[[float], float]], joined: bool
) -> bool:
    """Draw limits where they are finite and positive; tell whether there are any."""
    last = max(one.horizon for one in runs)
    first = min(one.horizon if joined else int(one.checkpoint[0]) for one in runs)
    span = np.geomspace(first, last, _LIMIT_POINTS)
    drawn = 0
    for name, limit in limits.items():
        heights = np.array([limit(t) for t in span.tolist()])
        shown = np.isfinite(heights) & (heights > 0)
        if shown.any():
            dashes = (0, (4 + 2 * drawn, 2, 1, 2)) if drawn else (0, (4, 2))
            x, y = span[shown], heights[shown]
            axes.plot(x, y, color=FAINT, lw=1.2, ls=dashes, label=name, zorder=1)
            drawn += 1
    return drawn > 0


def _draw_curve(axes: Axes, curve: Curve, thin: bool) -> None:
    colour = STYLES[curve.group % len(STYLES)][0]
    axes.plot(
        curve.times,
        curve.heights,
        color=colour,
        ls=_DASHES[curve.group // len(STYLES) % len(_DASHES)],
        lw=0.9 if thin else 1.8,
        alpha=0.45 if thin else 1.0,
        marker="o" if curve.ends else None,
        ms=4.5,
        label=curve.name,
        zorder=2 if thin else 3,
    )
    if not thin:
        axes.fill_between(curve.times, curve.low, curve.high, color=colour, alpha=0.18, lw=0)
