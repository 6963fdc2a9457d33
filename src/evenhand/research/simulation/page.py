"""A simulation in words and in a picture: where the trap is, and what every policy lost.

Both axes of the picture are logarithmic, so a rate T^a is a line of slope a.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import NotIdentifiableError
from evenhand.geometry import bias_optimal_design
from evenhand.policies import FairPhasedElimination
from evenhand.report.model import (
    Cell,
    Picture,
    Report,
    Section,
    Share,
    Table,
    frame_table,
)
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure
from evenhand.report.words import number, short
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.limits import gap_dependent_upper, worst_case_upper
from evenhand.research.simulation.results import Limit, Runs, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.research.simulation.results import Results

_DASHES = ("-", "--", "-.", ":")
_LIMIT_POINTS = 60


def report_of(results: Results) -> Report:
    """Return what came out of a simulation."""
    note = (
        f"Over {len(results.runs[0]):,} runs each, seed {results.seed}. T: evaluations in a run. "
        "90%: nine runs in ten lose less. Best: runs that recommend the best option at the end. "
        "Bias: runs whose interval for the bias holds it, of those that have one."
    )
    drawn = Picture(
        "regret", results.plot, "Mean regret against evaluations; the ends are in the table."
    )
    return Report(
        "What policies lose",
        problem_in_words(results.problem),
        sections=[
            Section(
                "Regret: the value lost over all evaluations of a run",
                [_table(results), note],
                "print",
            ),
            Section("All numbers", [frame_table("Regret at the horizon", results.summary())]),
            Section("In a picture", [drawn], "file"),
        ],
    )


def _table(results: Results) -> Table:
    rows: list[list[Cell]] = []
    for row, runs in zip(results.summary().itertuples(), results.runs, strict=True):
        share, _ = runs.coverage
        error = "" if math.isnan(row.se_regret) else f" ± {number(row.se_regret)}"
        rows.append(
            [
                row.policy,
                row.horizon,
                f"{number(row.mean_regret)}{error}",
                row.q90,
                Share(runs.correct.mean()),
                None if math.isnan(share) else Share(share),
            ]
        )
    return Table("Regret", ["policy", "T", "regret ± s.e.", "90%", "best", "bias"], rows)


def problem_in_words(problem: BiasedLinearBandit) -> str:
    """Say what is simulated and where the trap is."""
    labels, wrong = problem.actions.labels, int(problem.evaluations.argmax())
    said = f"{len(labels)} options, {problem.actions.n_features} features, κ* = "
    said += ", ".join(number(price) for price in prices(problem))
    said += f". The best is {short(labels[problem.best])}; "
    # Equal evaluations differ by rounding in the families of the lower bounds
    lead = float(problem.evaluations[wrong] - problem.evaluations[problem.best])
    if lead <= 1e-12 * float(np.abs(problem.evaluations).max()):
        return f"{said}no other is evaluated higher."
    return (
        f"{said}evaluations put {short(labels[wrong])} first, by {number(lead)}, which is worth "
        f"{number(float(problem.gaps[wrong]))} less."
    )


def prices(problem: BiasedLinearBandit) -> list[float]:
    """Return κ_* of every attribute; infinite where its bias is not identified, which some policies
    allow.
    """
    found = []
    for name in problem.actions.attribute_names:
        try:
            found.append(bias_optimal_design(problem.actions, name).value)
        except NotIdentifiableError:
            found.append(math.inf)
    return found


def promises(results: Results) -> dict[str, Limit]:
    """Return what Theorems 1 and 2 promise of the registered policy, which has B = 1, δ = 1/T."""
    problem = results.problem
    if (
        all(runs.policy != FairPhasedElimination.name for runs in results.runs)
        or problem.actions.group_names is None
        or np.abs(problem.values).max() > 1.0
    ):
        return {}
    found: dict[str, Limit] = {
        "Theorem 1": partial(worst_case_upper, problem.actions, noise_scale=problem.noise_scale)
    }
    if len(problem.best_all) == 1:
        found["Theorem 2"] = partial(gap_dependent_upper, problem)
    worst = float(problem.gaps.max())
    return {name: partial(_below, promise, worst) for name, promise in found.items()}


def _below(limit: Limit, slope: float, T: float) -> float:
    """A limit where it says something: choosing the worst option all the time costs slope · T."""
    height = limit(T) if T >= 2.0 else np.inf
    return height if height < slope * T else np.nan


def draw_regret(
    runs: Sequence[Runs], limits: Mapping[str, Callable[[float], float]], axes: Axes | None = None
) -> Figure:
    """Draw mean regrets with two standard errors to each side, and limits over the range of the
    horizons, or of time if there is one horizon; into axes of the user's if there are any.

    Over several horizons the regrets at the ends make a curve of their own, which is what a limit
    speaks of.
    """
    figure = new_figure(7.6, 5.2) if axes is None else axes.figure.figure
    axes = figure.subplots() if axes is None else axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    joined = len({one.horizon for one in runs}) > 1
    for group, name in enumerate(dict.fromkeys(one.policy for one in runs)):
        own = sorted((one for one in runs if one.policy == name), key=lambda one: one.horizon)
        found = [(r.checkpoint, r.regret.mean(axis=0), standard_error(r.regret)) for r in own]
        for times, mean, error in found:
            _draw_curve(axes, None if joined else name, group, times, mean, error, thin=joined)
        if joined:
            ends = (np.array([part[-1] for part in parts]) for parts in zip(*found, strict=True))
            _draw_curve(axes, name, group, *ends, marker="o")
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


def _draw_curve(
    axes: Axes,
    name: str | None,
    group: int,
    times: NDArray[Any],
    mean: Floats,
    error: Floats,
    *,
    thin: bool = False,
    marker: str | None = None,
) -> None:
    """Draw positive means in the colour of a policy, with a band that is cut off far below."""
    shown = mean > 0
    times, mean, error = times[shown], mean[shown], np.nan_to_num(error[shown])
    colour = STYLES[group % len(STYLES)][0]
    axes.plot(
        times,
        mean,
        color=colour,
        ls=_DASHES[group // len(STYLES) % len(_DASHES)],
        lw=0.9 if thin else 1.8,
        alpha=0.45 if thin else 1.0,
        marker=marker,
        ms=4.5,
        label=name,
        zorder=2 if thin else 3,
    )
    if not thin:
        low = np.maximum(mean - 2.0 * error, mean / 100.0)
        axes.fill_between(times, low, mean + 2.0 * error, color=colour, alpha=0.18, lw=0)
