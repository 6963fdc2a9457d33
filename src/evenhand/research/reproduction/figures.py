"""The figures of a reproduction, each with a caption: what the paper claims, what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand.arrays import Floats
from evenhand.report.pictures import FAINT, INK, STYLES, frame, new_figure
from evenhand.research.reproduction.audit import AuditedRuns
from evenhand.research.reproduction.measurements import Measurements, PairCurve
from evenhand.research.reproduction.statements import Statement
from evenhand.research.reproduction.tally import LemmaCheck

_FAIR, _BLIND, _THIRD = (colour for colour, _ in STYLES[:3])
# Longer ones first: parts of them are symbols, too.
_FORMULAS = {
    "κ*^(1/3) T^(2/3)": r"$\kappa_*^{1/3}T^{2/3}$",
    "log(T)^(1/3)": r"$\log(T)^{1/3}$",
    "κ(Δ ∨ Δ_≠)/Δ_≠²": r"$\kappa(\Delta\vee\Delta_{\neq})/\Delta_{\neq}^2$",
    "d/Δ_min": r"$d/\Delta_{\min}$",
    "κ*": r"$\kappa_*$",
    "Δ_min": r"$\Delta_{\min}$",
    "Δ_≠": r"$\Delta_{\neq}$",
    "ε_l": r"$\varepsilon_l$",
}
_DASHED, _DOTTED, _MIXED = (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))


@dataclass(frozen=True)
class Numbered:
    """A figure of the reproduction."""

    name: str  # of its files, without ending
    title: str
    # the statements it shows, by their source; its caption is made of them
    sources: tuple[str, ...]
    note: str  # how to read it
    draw: Callable[[Measurements], Figure]

    def caption(self, rows: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Return the statements that belong under the figure."""
        return tuple(row for row in rows if row.source in self.sources)


def draw_in_horizon(found: Measurements, axes: Axes | None = None) -> Figure:
    """Draw regret against T: as it is, and over κ_*^{1/3}T^{2/3}; the former into given axes."""
    if axes is not None:
        _logarithmic(axes)
        _draw_pair(axes, found.in_horizon[-1], legend=True)
        return axes.figure.figure
    figure = new_figure(9.6, 7.6)
    scales = list(dict.fromkeys(curve.c for curve in found.in_horizon))
    grid = figure.subplots(2, len(scales), sharex=True, sharey="row", squeeze=False)
    for column, c in enumerate(scales):
        curves = [curve for curve in found.in_horizon if curve.c == c]
        last = curves[-1]
        above, below = grid[0, column], grid[1, column]
        _logarithmic(above)
        _draw_pair(above, last, legend=column == 0)
        where = f"worst-case pair, c = {c:g}, d = {last.d}, κ* = {last.fixed:g}"
        _title(above, f"{where}: exponent {last.rate}")
        _logarithmic(below)
        for i, curve in enumerate(curves):
            unit = np.cbrt(curve.fixed * curve.x**2)
            name = f"fair, d = {curve.d}, κ* = {curve.fixed:g}: exponent {curve.rate}"
            _line(below, curve.x, curve.mean / unit, (_FAIR, _THIRD)[i % 2], name, "os"[i % 2])
        unit = np.cbrt(last.fixed * last.x**2)
        _limit(below, last.x, last.form / unit, "log(T)^(1/3), the form of Theorem 1", _MIXED)
        _limit(below, last.x, last.two_point / unit, "two-point bound", _DASHED)
        _title(below, f"the same over κ*^(1/3) T^(2/3), c = {c:g}")
        below.set_xlabel("evaluations T", color=INK)
        _legend(below, "upper right")
        below.set_ylim(0.2, 40)
    grid[0, 0].set_ylabel("regret, mean of the pair", color=INK)
    grid[1, 0].set_ylabel(_symbols("regret / κ*^(1/3) T^(2/3)"), color=INK)
    return figure


def draw_in_kappa(found: Measurements) -> Figure:
    """Draw regret against κ_*."""
    figure = new_figure(7.6, 5.2)
    axes = figure.subplots()
    _logarithmic(axes)
    for i, curve in enumerate(found.in_kappa):
        name = f"fair elimination, c = {curve.c:g}: exponent {curve.rate}"
        _line(axes, curve.x, curve.mean, (_FAIR, _THIRD)[i % 2], name, "os"[i % 2], curve.error)
    first = found.in_kappa[0]
    guide = first.form / first.form[0] * float(np.exp(np.log(first.mean / first.form).mean()))
    _limit(axes, first.x, guide * first.form[0], "slope 1/3", _MIXED)
    _limit(axes, first.x, first.upper, "Theorem 1", (0, (8, 2)))
    _limit(axes, first.x, first.two_point, f"two-point bound, c = {first.c:g}", _DASHED)
    _limit(axes, first.x, first.lower, "Theorem 3", _DOTTED)
    axes.set_xlabel(_symbols("κ*"), color=INK)
    axes.set_ylabel("regret, mean of the pair", color=INK)
    _title(axes, f"worst-case pairs, d = {first.d}, T = {first.fixed:.2g}".replace("e+", "e"))
    _legend_below(figure, 2)
    return figure


def draw_growth(found: Measurements) -> Figure:
    """Draw R/log T against T, with the limits of Theorems 2 and 4."""
    figure = new_figure(7.6, 5.2)
    axes, curve, plan = figure.subplots(), found.growth, found.programme.growth
    _logarithmic(axes)
    log_t = np.log(curve.horizons)
    _line(axes, curve.horizons, curve.per_log, _FAIR, "fair elimination", "o", curve.error / log_t)
    _limit(axes, curve.horizons, curve.upper / log_t, "Theorem 2", (0, (8, 2)))
    for name, limit, dashes in (
        ("Graves–Lai, for T → ∞", curve.graves_lai, _MIXED),
        ("Theorem 4, for T → ∞", curve.limit, _DASHED),
    ):
        _limit(axes, curve.horizons, np.full(len(log_t), limit), name, dashes)
    _limit(axes, curve.horizons, curve.lower / log_t, "Theorem 6", _DOTTED)
    axes.axvspan(
        float(curve.horizons[curve.settled][0]), float(curve.horizons[-1]), color="#f2f5f8"
    )
    axes.set_xlabel("evaluations T", color=INK)
    axes.set_ylabel("regret / log T, hardest problem", color=INK)
    _title(
        axes,
        f"gap-dependent family, d = {plan.d}, κ* = {plan.kappa:g}, Δ_min = {plan.delta_min:g}, "
        f"Δ_≠ = {plan.delta_neq:g}; shaded: the group is found in time",
    )
    _legend_below(figure, 4)
    return figure


def draw_transition(found: Measurements) -> Figure:
    """Draw R/log T against Δ_≠, with the two terms of Theorem 2."""
    figure = new_figure(7.6, 5.2)
    axes, curve, plan = figure.subplots(), found.transition, found.programme.transition
    _logarithmic(axes)
    x = curve.delta_neqs
    _line(axes, x, curve.per_log, _FAIR, "fair elimination", "o")
    scale = float(np.exp(np.log(curve.ratio).mean()))
    times = f"{scale:.0f} × "
    _limit(axes, x, scale * curve.between, f"{times}κ(Δ ∨ Δ_≠)/Δ_≠², the bias", _DASHED, _BLIND)
    _limit(axes, x, scale * curve.within, f"{times}d/Δ_min, the linear bandit", _MIXED, _THIRD)
    shown = curve.lower > 0
    _limit(axes, x[shown], curve.lower[shown], "Theorem 6", _DOTTED)
    axes.set_xlabel(_symbols("Δ_≠, gap between the groups"), color=INK)
    axes.set_ylabel("regret / log T, hardest problem", color=INK)
    _title(
        axes,
        f"gap-dependent families, d = {plan.d}, κ* = {plan.kappa:g}, Δ_min = {plan.delta_min:g}, "
        f"T = {plan.horizon:.0e}".replace("e+", "e"),
    )
    _legend(axes, "upper right")
    return figure


def draw_failures(found: Measurements) -> Figure:
    """Draw how often F happens and intervals fail, against δ."""
    figure = new_figure(7.6, 4.6)
    axes = figure.subplots()
    _logarithmic(axes)
    deltas = np.array([delta for delta, _ in found.failures])
    audits = [audit for _, audit in found.failures]
    counts: tuple[tuple[str, str, str, Callable[[AuditedRuns], int]], ...] = (
        ("F happens: some estimate is off by ε_l", _FAIR, "o", lambda a: a.failures),
        ("some interval of the run misses the bias", _BLIND, "s", lambda a: a.ever_missed),
        ("some evaluation is off by ε_l", _THIRD, "D", lambda a: a.off_values),
    )
    for name, colour, marker, count in counts:
        shares = np.array([count(audit) / audit.runs for audit in audits])
        errors = np.sqrt(shares * (1 - shares) / audits[0].runs)
        shown = shares > 0
        axes.errorbar(
            deltas[shown],
            shares[shown],
            yerr=np.minimum(2 * errors[shown], 0.9 * shares[shown]),
            color=colour,
            marker=marker,
            ms=5.5,
            lw=1.4,
            capsize=3,
            label=_symbols(name),
        )
    _limit(axes, deltas, 2 * deltas, "2δ, Lemma 10", _DASHED)
    _limit(axes, deltas, deltas, "δ, Lemmas 18 and 19", _DOTTED)
    axes.set_xlabel("δ, the failure probability asked for", color=INK)
    axes.set_ylabel("share of runs", color=INK)
    axes.set_xticks(deltas, [f"{delta:g}" for delta in deltas])
    axes.minorticks_off()
    _title(
        axes, f"{found.programme.audits.frail.words}, T = {found.programme.audits.frail.horizon}"
    )
    _legend_below(figure, 2)
    return figure


def draw_blindness(found: Measurements) -> Figure:
    """Draw fair and blind regret against T."""
    figure = new_figure(7.6, 5.0)
    axes, curve, plan = figure.subplots(), found.blind, found.programme.blindness
    _logarithmic(axes)
    fair, blind = curve.rates
    x = curve.horizons
    name = f"blind elimination: exponent {blind.exponent:.3f}"
    _line(axes, x, curve.blind, _BLIND, name, "s", curve.blind_error)
    name = f"fair elimination: exponent {fair.exponent:.3f}"
    _line(axes, x, curve.fair, _FAIR, name, "o", curve.fair_error)
    _limit(axes, x, curve.trap * x, f"always the wrong option: {curve.trap:.3g} T", _DASHED)
    axes.set_xlabel("evaluations T", color=INK)
    axes.set_ylabel("regret", color=INK)
    _title(axes, f"random problem, k = {plan.k}, d = {plan.d}: evaluations favour the wrong group")
    _legend(axes, "upper left")
    return figure


def draw_lemmas(found: Measurements) -> Figure:
    """Draw how close runs came to what the lemmas allow."""
    figure = new_figure(9.6, 6.4)
    axes = figure.subplots()
    rows: tuple[tuple[str, Callable[[AuditedRuns], LemmaCheck]], ...] = (
        ("Lemma 12: evaluations\nof a G-phase", lambda audit: audit.samples),
        ("Lemma 12: regret\nof a bias phase", lambda audit: audit.price),
        ("Lemma 11: gaps\nof what stays", lambda audit: audit.survivors),
        ("Lemma 14: phase that\nfinds the group", lambda audit: audit.decided),
        ("Lemma 13, 17 for 513:\nprice of estimated gaps", lambda audit: audit.sharper_price),
        ("Lemma 21: gaps of\nwhat is dropped", lambda audit: audit.dropped_late),
    )
    for i, (case, audit) in enumerate(found.lemmas):
        checks = [check(audit) for _, check in rows]
        places = [row for row, check in enumerate(checks) if check.n]
        axes.plot(
            [checks[row].closest for row in places],
            [row + 0.1 * (i - (len(found.lemmas) - 1) / 2) for row in places],
            STYLES[i % len(STYLES)][1],
            color=STYLES[i % len(STYLES)][0],
            ms=6,
            label=_symbols(f"{case.words}, T = {case.horizon:.0e}".replace("e+0", "e")),
        )
    axes.axvline(1.0, color=FAINT, lw=1.2, ls=_DASHED, zorder=1)
    axes.text(1.012, -0.62, "allowed", color=FAINT, fontsize=8.5, va="center")
    axes.set_ylim(len(rows) - 0.4, -0.8)
    axes.set_xlim(0, 1.12)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlabel("largest found in any run without F / what the lemma allows", color=INK)
    _frame(axes)
    audits = found.programme.audits
    _title(axes, f"{audits.replications:,} runs each, δ = {audits.delta:g}")
    _legend_below(figure, 2)
    return figure


FIGURES = (
    Numbered(
        "horizon",
        "Regret against the horizon",
        ("Theorem 1, in T", "Theorem 3"),
        "Phases halve the precision, so the regret climbs a staircase; exponents are fitted to "
        "like points of its steps. With the paper's c = 1, never learning the bias is nearly "
        "optimal: blind elimination looks good. With c = 3 it does not. Fair elimination is the "
        "paper's algorithm, Fair Phased Elimination.",
        draw_in_horizon,
    ),
    Numbered(
        "kappa",
        "Regret against κ*",
        ("Theorem 1, in κ_*", "Theorem 3"),
        "The harder the bias is to estimate, the more every policy loses.",
        draw_in_kappa,
    ),
    Numbered(
        "growth",
        "With gaps, the regret is a logarithm",
        ("Theorem 2, in T", "Theorem 4", "Theorem 6"),
        "A flat line is growth as log T. Before the shaded range the run ends while both groups "
        "are in play.",
        draw_growth,
    ),
    Numbered(
        "transition",
        "From the price of the bias to that of a linear bandit",
        ("Theorem 2, two regimes", "Theorem 6"),
        "The dashed lines are the two terms of Theorem 2, both times the same constant.",
        draw_transition,
    ),
    Numbered(
        "failures",
        "How often the algorithm fails",
        ("Lemma 10", "Lemma 18", "Lemma 19"),
        "Short runs with a large δ, so that failures happen. Bars are two standard errors.",
        draw_failures,
    ),
    Numbered(
        "lemmas",
        "The lemmas, on every run",
        (
            "Lemma 12, evaluations",
            "Lemma 12, regret",
            "Lemma 20",
            "Lemma 11",
            "Lemma 14",
            "Lemma 13",
            "Lemma 21",
        ),
        "A lemma that is about all runs must hold on each: the worst of all runs is drawn.",
        draw_lemmas,
    ),
    Numbered(
        "blindness",
        "What it costs to believe the evaluations",
        ("Section 1, no correction",),
        "Blind elimination is phased elimination on raw evaluations: it finds the option of the "
        "highest evaluation and stays with it.",
        draw_blindness,
    ),
)
"""All figures, in the order of the page."""


def _draw_pair(axes: Axes, curve: PairCurve, legend: bool) -> None:
    _line(axes, curve.x, curve.mean, _FAIR, "fair elimination", "o", curve.error)
    _line(axes, curve.x, curve.blind, _BLIND, "blind elimination", "s")
    _limit(axes, curve.x, curve.upper, "Theorem 1", (0, (8, 2)))
    _limit(axes, curve.x, curve.two_point, "two-point bound", _DASHED)
    _limit(axes, curve.x, curve.lower, "Theorem 3 (for c = 1)", _DOTTED)
    if legend:
        _legend(axes, "upper left")


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    _frame(axes)


def _frame(axes: Axes) -> None:
    axes.grid(True, which="major", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    frame(axes)


def _title(axes: Axes, text: str) -> None:
    axes.set_title(_symbols(text), loc="left", fontsize=9, color=FAINT)


def _legend(axes: Axes, place: Literal["upper left", "upper right"], columns: int = 1) -> None:
    axes.legend(frameon=False, fontsize=8.5, loc=place, ncols=columns)


def _legend_below(figure: Figure, columns: int) -> None:
    figure.legend(frameon=False, fontsize=8.5, loc="outside lower center", ncols=columns)


def _symbols(text: str) -> str:
    """Return text with the paper's symbols set as formulas."""
    for plain, formula in _FORMULAS.items():
        text = text.replace(plain, formula)
    return text


def _line(
    axes: Axes,
    x: Floats,
    y: Floats,
    colour: str,
    name: str,
    marker: str,
    error: Floats | None = None,
) -> None:
    axes.plot(x, y, color=colour, lw=1.6, marker=marker, ms=3.8, label=_symbols(name), zorder=3)
    if error is not None:
        low = np.maximum(y - 2 * error, y / 10)
        axes.fill_between(x, low, y + 2 * error, color=colour, alpha=0.2, lw=0)


def _limit(
    axes: Axes,
    x: Floats,
    y: Floats,
    name: str,
    dashes: tuple[int, tuple[float, ...]],
    colour: str = FAINT,
) -> None:
    shown = y > 0
    axes.plot(x[shown], y[shown], color=colour, lw=1.2, ls=dashes, label=_symbols(name), zorder=2)
