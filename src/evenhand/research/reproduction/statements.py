"""What the paper says, what was measured, and whether the two agree: `statements.toml`, row by row.

A row holds where all of its ``checks`` were tried and never failed, all that it has ``refuted`` did
fail (there the paper is wrong), and its numbers agree with the claim.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.stats import binomtest

from evenhand.report.words import number
from evenhand.research.reproduction.measurements import Curve, Measurements, Rate, growth_rate
from evenhand.research.reproduction.tally import LemmaCheck

# How far a fitted exponent may be from the claimed one: the rest of the staircase and lower-order
# terms are in it, besides noise.
_NEAR = 0.06
_ERRORS = 4.0  # standard errors that a measured probability may exceed its bound by

PAPER = tomllib.loads((files(__package__) / "statements.toml").read_text(encoding="utf-8"))
"""The statements, and the figures that show them."""

Numbers = dict[str, Any]
"""Numbers to be named in a row, and under "holds" whether they agree with its claim."""


@dataclass(frozen=True)
class Statement:
    """One statement of the paper beside a measurement."""

    source: str
    claim: str
    measured: str
    holds: bool
    erratum: str = ""  # where the paper says something else than what is held to


def statements(found: Measurements) -> tuple[Statement, ...]:
    """Return every numbered statement of the paper, in its order, with its verdict."""
    tally, every = found.tally, found.tally.checks
    sets = (
        f"{tally['sets']:,} sets ({tally['separable']:,} with groups apart, "
        f"{tally['deficient']:,} of features that do not span, {tally['lines']:,} on a line)"
    )
    rows = []
    for row in PAPER["statements"]:
        source = row["source"]
        checks, refuted = ([every[n] for n in row.get(name, ())] for name in ("checks", "refuted"))
        numbers = {"sets": sets, "holds": True}
        if source in _NUMBERS:
            numbers |= _NUMBERS[source](found)
        holds = numbers["holds"] and all(check.held for check in checks)
        holds = holds and all(check.violations > 0 for check in refuted)
        measured, erratum = (
            row.get(part, "").format(*checks, *refuted, **numbers)
            for part in ("measured", "erratum")
        )
        rows.append(Statement(source, row["claim"], measured, bool(holds), erratum))
    return tuple(rows)


def _rate(curves: Sequence[Curve], exponent: float) -> Numbers:
    rates = [curve.stairs.exponent for curve in curves]
    share = max(float((curve["worst"] / curve["upper"]).max()) for curve in curves)
    x = curves[0]["x"]
    return {
        "low": min(rates),
        "high": max(rates),
        "first": _count(x[0]),
        "last": _count(x[-1]),
        "form": growth_rate(x, curves[0]["form"]).exponent,
        "share": share,
        "holds": all(abs(rate - exponent) <= _NEAR for rate in rates) and share <= 1,
    }


def _logarithm(found: Measurements) -> Numbers:
    curve, settled = found.growth, found.growth["settled"]
    per_log, T = curve["per_log"][settled], curve["x"][settled]
    share = float((curve["worst"] / curve["upper"]).max())
    return {
        "first": f"{number(per_log[0])} at T = {_count(T[0])}",
        "last": f"{number(per_log[-1])} at T = {_count(T[-1])}",
        "rate": curve.rate("worst", settled).exponent,  # next to 0 for a logarithm
        "share": share,
        "holds": per_log[-1] <= 1.1 * per_log[0] and share <= 1,
    }


def _two_regimes(found: Measurements) -> Numbers:
    curve = found.transition
    within, between = curve["within"], curve["between"]
    larger = np.maximum(within, between)
    ratio = curve["per_log"] / larger
    bias = curve.rate("per_log", between >= 4 * within).exponent
    bandit = curve.rate("per_log", within >= 16 * between).exponent
    spread = float(ratio.max() / ratio.min())
    return {
        "bias": f"{bias:.2f}".replace("-", "−"),
        "bandit": f"{bandit:.2f}".replace("-", "−"),
        "spread": spread,
        "fall": float(larger[0] / larger[-1]),
        "holds": abs(bias + 2) <= 0.4 and abs(bandit) <= 0.2 and spread <= 10,
    }


def _worst_case_lower(found: Measurements) -> Numbers:
    every = (*found.in_horizon, *found.in_kappa)
    papers = [curve for curve in every if curve.plan["c"] == 1.0]

    def least(curves: Iterable[Curve], measured: str, bound: str) -> float:
        return min(float((curve[measured] / curve[bound]).min()) for curve in curves)

    times = {
        "fair": least(papers, "worst", "lower"),
        "blind": least(papers, "blind_worst", "lower"),
        "tight": least(every, "mean", "two_point"),
        "blind_tight": least(every, "blind", "two_point"),
    }
    return times | {"holds": min(times.values()) >= 1}


def _asymptotic_lower(found: Measurements) -> Numbers:
    plan = found.growth.plan
    ratio = float(found.growth["per_log"][-1] / plan["limit"])
    said = {"T": _count(found.growth["x"][-1]), "times": number(ratio), "k": 2 * plan["kappa"]}
    return said | {"plan": plan, "holds": ratio >= 1}


def _finite_lower(found: Measurements) -> Numbers:
    curves = ((found.growth, "worst"), (found.transition, "per_log"))
    above = [(c[name][c["lower"] > 0] / c["lower"][c["lower"] > 0]) for c, name in curves]
    low, high = (float(f(np.concatenate(above))) for f in (np.min, np.max))
    return {"low": number(low), "high": number(high), "holds": low >= 1}


def _blindness(found: Measurements) -> Numbers:
    curve = found.blind
    fair, blind = (rate.exponent for rate in growth_when_blind(curve))
    T = curve["x"][-1]
    return {
        "fair": fair,
        "blind": blind,
        "lost": float(curve["blind"][-1] / T),
        "trap": curve.plan["trap"],
        "times": _count(curve["blind"][-1] / curve["fair"][-1]),
        "T": _count(T),
        "holds": abs(blind - 1) <= 0.02 and fair <= 0.5,
    }


def growth_when_blind(curve: Curve) -> tuple[Rate, Rate]:
    """Return how fair and blind regret grow over the second half of the grid."""
    half = slice(len(curve["x"]) // 2, None)
    return curve.rate("fair", half), curve.rate("blind", half)


def _shares(found: Measurements, count: str, times: int = 1) -> Numbers:
    """How often something happened, which may with probability δ, or twice that, at most."""
    rows = [(delta, audit[count], audit["runs"]) for delta, audit in found.failures]
    bound = "δ" if times == 1 else f"{times}δ"
    return {
        "runs": rows[0][2],
        "said": ", ".join(f"{_share(x, n)} ({bound} = {times * d:.0%})" for d, x, n in rows),
        "holds": all(_at_most(x / n, times * d, n) for d, x, n in rows),
    }


def _coverage(found: Measurements) -> Numbers:
    off = _shares(found, "off_bias")
    rows = [
        (delta, audit["missed"] / n, audit["ever_missed"] / n, n)
        for delta, audit in found.failures
        if (n := audit["estimated"])
    ]
    held = [f"{1 - last:.2%} and {1 - ever:.2%} (of {1 - d:.0%})" for d, last, ever, _ in rows]
    holds = off["holds"] and all(_at_most(ever, delta, n) for delta, _, ever, n in rows)
    return {"wrong": off["said"], "said": ", ".join(held), "holds": holds}


def _at_most(share: float, bound: float, n: int) -> bool:
    """Tell whether a measured probability agrees with an upper bound."""
    return share <= bound + _ERRORS * math.sqrt(bound * (1 - bound) / n)


def _share(x: int, n: int) -> str:
    """Return a share with its 95% interval (Clopper and Pearson)."""
    low, high = binomtest(x, n).proportion_ci()
    return f"{x / n:.2%} [{low:.2%}, {high:.2%}]"


def _count(number: float) -> str:
    return (
        f"{number:,.0f}" if number < 1e5 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    )


def _corrected(found: Measurements) -> Numbers:
    others = found.tally.checks["lemma 17, others"]
    return {"holds": others.violations == others.n}


def _dropped(found: Measurements) -> Numbers:
    dropped = found.tally["dropped"]
    return {"dropped": dropped, "holds": dropped > 0}


def _every_step(found: Measurements) -> Numbers:
    parts = (found.tally.checks[f"lemma 21, {part}"] for part in ("upper", "gone", "dropped"))
    return {"every": sum(parts, LemmaCheck())}


_NUMBERS: dict[str, Callable[[Measurements], Numbers]] = {
    "Theorem 1, in T": lambda found: _rate(found.in_horizon, 2 / 3),
    "Theorem 1, in κ_*": lambda found: _rate(found.in_kappa, 1 / 3),
    "Theorem 2, in T": _logarithm,
    "Theorem 2, two regimes": _two_regimes,
    "Theorem 3": _worst_case_lower,
    "Theorem 4": _asymptotic_lower,
    "Theorem 6": _finite_lower,
    "Lemma 10": lambda found: _shares(found, "failures", times=2),
    "Lemma 17": _corrected,
    "Lemma 18": lambda found: _shares(found, "off_values"),
    "Lemma 19": _coverage,
    "Lemma 20": _dropped,
    "Lemma 21": _every_step,
    "Section 1, no correction": _blindness,
}
