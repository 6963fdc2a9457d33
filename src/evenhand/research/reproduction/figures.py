"""The figures of a reproduction: those of `statements.toml`, whose captions are its statements.

Most are a `Panel`, which says what is drawn; `_draw` draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand.arrays import Floats
from evenhand.report.pictures import FAINT, INK, STYLES, frame, new_figure
from evenhand.research.reproduction.measurements import Curve, Measurements
from evenhand.research.reproduction.statements import PAPER, growth_when_blind

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
_LONG, _DASHED, _DOTTED, _MIXED = (0, (8, 2)), (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2))


@dataclass(frozen=True)
class Numbered:
    """A figure of the reproduction."""

    name: str  # of its files, without ending
    title: str
    # the statements it shows, by their source; its caption is made of them
    sources: Sequence[str]
    note: str  # how to read it
    draw: Callable[[Measurements], Figure]


@dataclass(frozen=True, eq=False)
class Line:
    """A measured curve with a band of two standard errors, or a limit (no marker)."""

    name: str
    y: Floats
    colour: str = FAINT
    marker: str = ""
    error: Floats | None = None
    dashes: tuple[int, tuple[float, ...]] | str = "-"


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn into some axes, on logarithmic scales, along the same x."""

    title: str
    x: Floats
    lines: Sequence[Line]
    labels: tuple[str, str] = ("", "")
    # its place in the axes, or how many columns it has below them
    legend: Literal["", "upper left", "upper right"] | int = ""


def _draw(panel: Panel, axes: Axes | None = None, height: float = 5.2) -> Figure:
    figure = new_figure(7.6, height) if axes is None else axes.figure.figure
    axes = figure.subplots() if axes is None else axes
    axes.set_xscale("log")
    axes.set_yscale("log")
    _frame(axes, panel.title)
    x = panel.x
    for line in panel.lines:
        y, name = line.y, _symbols(line.name)
        if not line.marker:
            shown = y > 0
            axes.plot(
                x[shown], y[shown], color=line.colour, lw=1.2, ls=line.dashes, label=name, zorder=2
            )
            continue
        axes.plot(x, y, color=line.colour, lw=1.6, marker=line.marker, ms=3.8, label=name, zorder=3)
        if line.error is not None:
            low = np.maximum(y - 2 * line.error, y / 10)
            axes.fill_between(x, low, y + 2 * line.error, color=line.colour, alpha=0.2, lw=0)
    axes.set_xlabel(_symbols(panel.labels[0]), color=INK)
    axes.set_ylabel(_symbols(panel.labels[1]), color=INK)
    if isinstance(panel.legend, int):
        _legend_below(figure, panel.legend)
    elif panel.legend:
        axes.legend(frameon=False, fontsize=8.5, loc=panel.legend)
    return figure


def _pair(curve: Curve, title: str = "", legend: Literal["", "upper left"] = "upper left") -> Panel:
    lines = [
        Line("fair elimination", curve["mean"], _FAIR, "o", curve["error"]),
        Line("blind elimination", curve["blind"], _BLIND, "s"),
        Line("Theorem 1", curve["upper"], dashes=_LONG),
        Line("two-point bound", curve["two_point"], dashes=_DASHED),
        Line("Theorem 3 (for c = 1)", curve["lower"], dashes=_DOTTED),
    ]
    return Panel(title, curve["x"], lines, legend=legend)


def _scaled(curves: Sequence[Curve], c: float) -> Panel:
    """Regret over κ_*^{1/3}T^{2/3}."""
    lines = []
    for i, curve in enumerate(curves):
        d, star = curve.plan["d"], curve.plan["fixed"]
        unit = np.cbrt(star * curve["x"] ** 2)
        name = f"fair, d = {d}, κ* = {star:g}: exponent {curve.stairs}"
        lines.append(Line(name, curve["mean"] / unit, (_FAIR, _THIRD)[i % 2], "os"[i % 2]))
    form = "log(T)^(1/3), the form of Theorem 1"
    lines.append(Line(form, curve["form"] / unit, dashes=_MIXED))
    lines.append(Line("two-point bound", curve["two_point"] / unit, dashes=_DASHED))
    title = f"the same over κ*^(1/3) T^(2/3), c = {c:g}"
    return Panel(title, curve["x"], lines, ("evaluations T", ""), "upper right")


def draw_in_horizon(found: Measurements, axes: Axes | None = None) -> Figure:
    """Draw regret against T: as it is, and over κ_*^{1/3}T^{2/3}; the former into given axes."""
    if axes is not None:
        return _draw(_pair(found.in_horizon[-1]), axes)
    figure = new_figure(9.6, 7.6)
    scales = list(dict.fromkeys(curve.plan["c"] for curve in found.in_horizon))
    grid = figure.subplots(2, len(scales), sharex=True, sharey="row", squeeze=False)
    for column, c in enumerate(scales):
        curves = [curve for curve in found.in_horizon if curve.plan["c"] == c]
        last = curves[-1]
        where = f"worst-case pair, c = {c:g}, d = {last.plan['d']}, κ* = {last.plan['fixed']:g}"
        above = _pair(last, f"{where}: exponent {last.stairs}", "" if column else "upper left")
        _draw(above, grid[0, column])
        _draw(_scaled(curves, c), grid[1, column])
        grid[1, column].set_ylim(0.2, 40)
    grid[0, 0].set_ylabel("regret, mean of the pair", color=INK)
    grid[1, 0].set_ylabel(_symbols("regret / κ*^(1/3) T^(2/3)"), color=INK)
    return figure


def draw_in_kappa(found: Measurements) -> Figure:
    """Draw regret against κ_*."""
    lines = []
    for i, curve in enumerate(found.in_kappa):
        name = f"fair elimination, c = {curve.plan['c']:g}: exponent {curve.stairs}"
        colour, marker = (_FAIR, _THIRD)[i % 2], "os"[i % 2]
        lines.append(Line(name, curve["mean"], colour, marker, curve["error"]))
    first = found.in_kappa[0]
    guide = first["form"] * float(np.exp(np.log(first["mean"] / first["form"]).mean()))
    lines += [
        Line("slope 1/3", guide, dashes=_MIXED),
        Line("Theorem 1", first["upper"], dashes=_LONG),
        Line(f"two-point bound, c = {first.plan['c']:g}", first["two_point"], dashes=_DASHED),
        Line("Theorem 3", first["lower"], dashes=_DOTTED),
    ]
    title = f"worst-case pairs, d = {first.plan['d']}, T = {first.plan['fixed']:.2g}"
    labels = "κ*", "regret, mean of the pair"
    return _draw(Panel(title.replace("e+", "e"), first["x"], lines, labels, 2))


def draw_growth(found: Measurements) -> Figure:
    """Draw R/log T against T, with the limits of Theorems 2 and 4."""
    curve, plan = found.growth, found.growth.plan
    x, log_t = curve["x"], np.log(curve["x"])
    lines = [
        Line("fair elimination", curve["per_log"], _FAIR, "o", curve["error"] / log_t),
        Line("Theorem 2", curve["upper"] / log_t, dashes=_LONG),
        Line("Graves–Lai, for T → ∞", np.full(len(x), plan["graves_lai"]), dashes=_MIXED),
        Line("Theorem 4, for T → ∞", np.full(len(x), plan["limit"]), dashes=_DASHED),
        Line("Theorem 6", curve["lower"] / log_t, dashes=_DOTTED),
    ]
    title = (
        f"gap-dependent family, {_shape(plan)}, Δ_≠ = {plan['delta_neq']:g}; shaded: the group is "
        "found in time"
    )
    figure = _draw(Panel(title, x, lines, ("evaluations T", "regret / log T, hardest problem"), 4))
    figure.axes[0].axvspan(float(x[curve["settled"]][0]), float(x[-1]), color="#f2f5f8")
    return figure


def draw_transition(found: Measurements) -> Figure:
    """Draw R/log T against Δ_≠, with the two terms of Theorem 2."""
    curve, plan = found.transition, found.transition.plan
    larger = np.maximum(curve["within"], curve["between"])
    scale = float(np.exp(np.log(curve["per_log"] / larger).mean()))
    bias, bandit = "κ(Δ ∨ Δ_≠)/Δ_≠², the bias", "d/Δ_min, the linear bandit"
    lines = [
        Line("fair elimination", curve["per_log"], _FAIR, "o"),
        Line(f"{scale:.0f} × {bias}", scale * curve["between"], _BLIND, dashes=_DASHED),
        Line(f"{scale:.0f} × {bandit}", scale * curve["within"], _THIRD, dashes=_MIXED),
        Line("Theorem 6", curve["lower"], dashes=_DOTTED),
    ]
    title = f"gap-dependent families, {_shape(plan)}, T = {plan['horizon']:.0e}".replace("e+", "e")
    labels = "Δ_≠, gap between the groups", "regret / log T, hardest problem"
    return _draw(Panel(title, curve["x"], lines, labels, "upper right"))


def _shape(plan: Mapping[str, Any]) -> str:
    return f"d = {plan['d']}, κ* = {plan['kappa']:g}, Δ_min = {plan['delta_min']:g}"


def draw_failures(found: Measurements) -> Figure:
    """Draw how often F happens and intervals fail, against δ."""
    deltas = np.array([delta for delta, _ in found.failures])
    frail = found.programme["audits"]["frail"]
    limits = [
        Line("2δ, Lemma 10", 2 * deltas, dashes=_DASHED),
        Line("δ, Lemmas 18 and 19", deltas, dashes=_DOTTED),
    ]
    title = f"{frail.words}, T = {frail.horizon}"
    labels = "δ, the failure probability asked for", "share of runs"
    figure = _draw(Panel(title, deltas, limits, labels), height=4.6)
    (axes,) = figure.axes
    for name, colour, marker, count in (
        ("F happens: some estimate is off by ε_l", _FAIR, "o", "failures"),
        ("some interval of the run misses the bias", _BLIND, "s", "ever_missed"),
        ("some evaluation is off by ε_l", _THIRD, "D", "off_values"),
    ):
        shares = np.array([audit[count] / audit["runs"] for _, audit in found.failures])
        errors = np.sqrt(shares * (1 - shares) / found.failures[0][1]["runs"])
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
    axes.set_xticks(deltas, [f"{delta:g}" for delta in deltas])
    axes.minorticks_off()
    _legend_below(figure, 2)
    return figure


def draw_blindness(found: Measurements) -> Figure:
    """Draw fair and blind regret against T."""
    curve, plan = found.blind, found.blind.plan
    fair, blind = (f"elimination: exponent {r.exponent:.3f}" for r in growth_when_blind(curve))
    trap = f"always the wrong option: {plan['trap']:.3g} T"
    lines = [
        Line(f"blind {blind}", curve["blind"], _BLIND, "s", curve["blind_error"]),
        Line(f"fair {fair}", curve["fair"], _FAIR, "o", curve["fair_error"]),
        Line(trap, plan["trap"] * curve["x"], dashes=_DASHED),
    ]
    title = f"random problem, k = {plan['k']}, d = {plan['d']}: evaluations favour the wrong group"
    labels = "evaluations T", "regret"
    return _draw(Panel(title, curve["x"], lines, labels, "upper left"), height=5.0)


_DRAWN_LEMMAS = {
    "lemma 12, evaluations": "Lemma 12: evaluations\nof a G-phase",
    "lemma 12, regret": "Lemma 12: regret\nof a bias phase",
    "lemma 11": "Lemma 11: gaps\nof what stays",
    "lemma 14": "Lemma 14: phase that\nfinds the group",
    "lemma 13, sharper": "Lemma 13, 17 for 513:\nprice of estimated gaps",
    "lemma 21, dropped": "Lemma 21: gaps of\nwhat is dropped",
}


def draw_lemmas(found: Measurements) -> Figure:
    """Draw how close runs came to what the lemmas allow."""
    figure = new_figure(9.6, 6.4)
    axes = figure.subplots()
    for i, (case, audit) in enumerate(found.lemmas):
        places = [row for row, name in enumerate(_DRAWN_LEMMAS) if name in audit.checks]
        colour, marker = STYLES[i % len(STYLES)]
        axes.plot(
            [audit.checks[name].closest for name in _DRAWN_LEMMAS if name in audit.checks],
            [row + 0.1 * (i - (len(found.lemmas) - 1) / 2) for row in places],
            marker,
            color=colour,
            ms=6,
            label=_symbols(f"{case.words}, T = {case.horizon:.0e}".replace("e+0", "e")),
        )
    axes.axvline(1.0, color=FAINT, lw=1.2, ls=_DASHED, zorder=1)
    axes.text(1.012, -0.62, "allowed", color=FAINT, fontsize=8.5, va="center")
    axes.set_ylim(len(_DRAWN_LEMMAS) - 0.4, -0.8)
    axes.set_xlim(0, 1.12)
    axes.set_yticks(range(len(_DRAWN_LEMMAS)), list(_DRAWN_LEMMAS.values()))
    axes.set_xlabel("largest found in any run without F / what the lemma allows", color=INK)
    audits = found.programme["audits"]
    _frame(axes, f"{audits['replications']:,} runs each, δ = {audits['delta']:g}")
    _legend_below(figure, 2)
    return figure


_DRAWN: dict[str, Callable[[Measurements], Figure]] = {
    "horizon": draw_in_horizon,
    "kappa": draw_in_kappa,
    "growth": draw_growth,
    "transition": draw_transition,
    "failures": draw_failures,
    "lemmas": draw_lemmas,
    "blindness": draw_blindness,
}
FIGURES = tuple(Numbered(**one, draw=_DRAWN[one["name"]]) for one in PAPER["figures"])
"""All figures, in the order of the page."""


def _frame(axes: Axes, title: str) -> None:
    axes.grid(True, which="major", color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    frame(axes)
    axes.set_title(_symbols(title), loc="left", fontsize=9, color=FAINT)


def _legend_below(figure: Figure, columns: int) -> None:
    figure.legend(frameon=False, fontsize=8.5, loc="outside lower center", ncols=columns)


def _symbols(text: str) -> str:
    """Return text with the paper's symbols set as formulas."""
    for plain, formula in _FORMULAS.items():
        text = text.replace(plain, formula)
    return text
