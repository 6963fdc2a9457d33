"""What the paper says, what was measured, and whether the two agree: `ROWS`, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """One statement of the paper beside a measurement."""

    source: str
    claim: str
    measured: str
    holds: bool
    erratum: str = ""  # where the paper says something else than what is held to


@dataclass(frozen=True)
class Row:
    """How a statement of the paper is held against what was measured.

    Parameters
    ----------
    source, claim, erratum
        As in `Statement`; an erratum has a place for numbers, as ``measured``.
    measured
        What is said, with places for the checks (0, 1, …), for "sets" and for ``numbers``.
    checks
        By name, those that must have been tried and never failed.
    refuted
        Those that must have failed: the paper has them wrong.
    numbers
        Numbers to be named, and under "holds" whether they agree with the claim.
    """

    source: str
    claim: str
    measured: str
    checks: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    numbers: Callable[[Measurements], Numbers] = lambda found: {}
    erratum: str = ""

    def statement(self, found: Measurements, every: dict[str, LemmaCheck], sets: str) -> Statement:
        """Return the row with its verdict."""
        checks, refuted = ([every[n] for n in names] for names in (self.checks, self.refuted))
        numbers = {"sets": sets, "holds": True} | self.numbers(found)
        holds = numbers["holds"] and all(check.held for check in checks)
        holds = holds and all(check.violations > 0 for check in refuted)
        measured, erratum = (
            said.format(*checks, *refuted, **numbers) for said in (self.measured, self.erratum)
        )
        return Statement(self.source, self.claim, measured, bool(holds), erratum)


def statements(found: Measurements) -> tuple[Statement, ...]:
    """Return every numbered statement of the paper, in its order, with its verdict."""
    tally = found.tally
    sets = (
        f"{tally['sets']:,} sets ({tally['separable']:,} with groups apart, "
        f"{tally['deficient']:,} of features that do not span, {tally['lines']:,} on a line)"
    )
    return tuple(row.statement(found, tally.checks, sets) for row in ROWS)


# ---------------------------------------------------------------- numbers of curves


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


# ---------------------------------------------------------------- numbers of runs that may fail


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


# ---------------------------------------------------------------- the statements

ROWS: tuple[Row, ...] = (
    Row(
        "Theorem 1, in T",
        "Worst-case regret is at most of order T^(2/3) log(T)^(1/3): the exponent of T is 2/3.",
        "Exponents {low:.3f} to {high:.3f} for T from {first} to {last}, where the form with its "
        "logarithm has {form:.3f}. The regret is never above {share:.1%} of the theorem's limit.",
        numbers=lambda found: _rate(found.in_horizon, 2 / 3),
        erratum="The end of the proof has κ for κ^(1/3), 6L for (L+1)(L+2) under the logarithm, "
        "and κ(Δ̂) ≤ κ_* for ≤ 2κ_*; the theorem stands, and the limit here has constants of its "
        "own.",
    ),
    Row(
        "Theorem 1, in κ_*",
        "Worst-case regret grows as κ_*^(1/3).",
        "Exponents {low:.3f} to {high:.3f} for κ_* from {first} to {last}. The regret is never "
        "above {share:.1%} of the theorem's limit.",
        numbers=lambda found: _rate(found.in_kappa, 1 / 3),
    ),
    Row(
        "Theorem 2, in T",
        "With gaps, regret grows as log T.",
        "R/log T is {first} and {last}; as a power of T the regret has exponent {rate:.3f}. It is "
        "never above {share:.2%} of the theorem's limit, without the ε_T that the paper has in "
        "κ(Δ ∨ Δ_≠ ∨ ε_T) and with constants.",
        numbers=_logarithm,
    ),
    Row(
        "Theorem 2, two regimes",
        "R/log T follows the larger of d/Δ_min and κ(Δ ∨ Δ_≠)/Δ_≠²: as Δ_≠ grows it falls as "
        "Δ_≠⁻², then stays.",
        "Exponent {bias} where the bias rules, {bandit} where the linear bandit does. The ratio "
        "of R/log T to the larger term varies by a factor of {spread:.1f}, the term itself by one "
        "of {fall:,.0f}.",
        numbers=_two_regimes,
    ),
    Row(
        "Theorem 3",
        "On one problem of the worst-case pair (c = 1) every policy loses κ_*^(1/3)T^(2/3)/(8e) "
        "or more.",
        "Fair elimination loses at least {fair:.1f} times that, blind elimination {blind:.1f} "
        "times. Against the sharper two-point bound: {tight:.2f} and {blind_tight:.2f} times.",
        numbers=_worst_case_lower,
    ),
    Row(
        "Theorem 4",
        "As T grows, on one problem of the gap-dependent family every policy loses at least "
        "d/(10Δ_min) and (κ+2)/(8Δ_≠²) times log T, where κ bounds κ(Δ).",
        "At T = {T} fair elimination loses {times} times that (d = {plan[d]}, κ = {k:g}, "
        "Δ_min = {plan[delta_min]:g}, Δ_≠ = {plan[delta_neq]:g}).",
        numbers=_asymptotic_lower,
        erratum="The family's group +1 begins with e_1, not e_2. For d = 2 and 3 its options are "
        "e_i, not all e_1, its parameters add 2Δ_min, not Δ_min, and the two cases are swapped.",
    ),
    Row(
        "Theorem 5",
        "Elfving: a design is c-optimal just if tc = Σ π(x)ζ_x a_x lies on the boundary of the "
        "hull of ±a_x, and t⁻² is then its variance.",
        "On {sets}, for the bias and for a random c each: {0.alike}. None of {1.n:,} other "
        "designs was better.",
        checks=("theorem 5", "theorem 5, none better"),
    ),
    Row(
        "Theorem 6",
        "For every T ≥ 2, on one problem of the family every policy loses of order d/Δ_min log T, "
        "κ_*/Δ_≠² log T and κ_*/Δ_≠²; and κ_*/8 ≤ κ(Δ) ≤ 2κ_* on it.",
        "Fair elimination loses between {low} and {high} times the bound. {0.tried} bounds of "
        "κ(Δ), {0.slack}.",
        checks=("theorem 6, kappa",),
        numbers=_finite_lower,
    ),
    Row(
        "Lemma 1",
        "κ_* is the largest κ for which a hyperplane through 0 keeps the groups apart with margin "
        "(√κ−1)/(√κ+1) times the largest distance; κ_* = 1 where none does.",
        "On {sets}, the widest margin by a linear program: {0.alike}; κ_* = 1 on all {1.n:,} sets "
        "without one.",
        checks=("lemma 1, margin", "lemma 1, apart"),
    ),
    Row(
        "Lemma 2",
        "κ̃/2 ≤ κ_* ≤ 2κ̃, for features of rank two or more.",
        "{0.tried} inequalities, {0.slack}. κ̃ is between the worst regret of a design and the "
        "price of a mixture of parameters: {1.alike}.",
        checks=("lemma 2", "lemma 2, bracket"),
        refuted=("lemma 2, line",),
        erratum="κ_* ≤ 2κ̃ fails for features of rank one ({2.violations:,} of {2.n:,} sets on a "
        "line, by up to {2.times} times; {{1 (+), 1.01 (−)}} is one): its proof needs two options "
        "whose values differ by one.",
    ),
    Row(
        "Lemma 3",
        "⌈mπ(x)⌉ evaluations estimate the bias with variance at most eᵀV(π)⁺e/m.",
        "{0.tried} designs, optimal ones and any, m from 0.01 to 10⁴; {0.slack}.",
        checks=("lemma 3",),
    ),
    Row(
        "Lemma 4",
        "⌈mπ(x)⌉ evaluations, π G-optimal, estimate every evaluation with variance at most "
        "(d+1)/m.",
        "{0.tried} designs, of both groups and of one; {0.slack} (the largest variance of the "
        "design itself is the rank, so it is attained where that is d + 1).",
        checks=("lemma 4",),
    ),
    Row(
        "Lemma 5",
        "κ_* = max_u 1/max_x (x·u + z_x)².",
        "On {sets}, the right side by a linear program, the left as the variance of the design: "
        "{0.alike}.",
        checks=("lemma 5",),
    ),
    Row(
        "Lemma 6",
        "κ_*/3 ≤ α ≤ 16κ_*, for features of rank two or more.",
        "{0.tried} inequalities, {0.slack}; α by a linear program for each pair of options: "
        "{1.alike}. Even 4κ_* ≤ α holds: {2.tried} sets.",
        checks=("lemma 6", "lemma 6, alpha", "lemma 6, sharper"),
        refuted=("lemma 6, line",),
        erratum="κ_*/3 ≤ α fails for features of rank one ({3.violations:,} of {3.n:,} sets on a "
        "line, by up to {3.times} times; {{1 (+), 1.01 (−)}} is one).",
    ),
    Row(
        "Lemma 7",
        "κ(Δ) ≤ 2κ_* for values in [−1, 1].",
        "{0.tried} parameters, in the midst and at vertices of what is allowed; the 2 is needed: "
        "the largest κ(Δ)/(2κ_*) is {0.closest:.4g}.",
        checks=("lemma 7",),
    ),
    Row(
        "Lemma 8",
        "κ(cΔ) = cκ(Δ); κ is monotone; κ(Δ ∨ Δ') ≥ κ(Δ) ∨ κ(Δ'); κ(Δ ∨ ε) → κ(Δ) as ε → 0.",
        "{0.tried} inequalities; the limit by a modulus of continuity. Units: {1.alike}. κ(Δ) "
        "beside a linear program: {2.alike}.",
        checks=("lemma 8", "lemma 8, homogeneous", "lemma 8, kappa"),
    ),
    Row(
        "Lemma 9",
        "The Δ-optimal design is κπ(x)/Δ_x, where π is bias-optimal for a_x/√Δ_x, on at most d + 1 "
        "options.",
        "Cost, price and variance: {0.alike}; {1.tried} supports of more.",
        checks=("lemma 9", "lemma 9, support"),
    ),
    Row(
        "Lemma 10",
        "Some estimate of a run is off by ε_l or more with probability at most 2δ.",
        "Over {runs:,} runs each, with 95% intervals: {said}.",
        numbers=lambda found: _shares(found, "failures", times=2),
    ),
    Row(
        "Lemma 11",
        "Without F, options that stay after phase l have gaps below 10ε_(l+1) in the group of the "
        "best option, below 42ε_(l+1) in the other.",
        "{0.tried} steps. The largest gap was {0.closest:.0%} of what is allowed.",
        checks=("lemma 11",),
    ),
    Row(
        "Lemma 12, evaluations",
        "A G-phase takes at most 2(d+1)ε_l⁻² log(kl(l+1)/δ) + (d+1)(d+2)/2 evaluations.",
        "{0.tried} G-phases. The largest took {0.closest:.2%} of that.",
        checks=("lemma 12, evaluations",),
    ),
    Row(
        "Lemma 12, regret",
        "Without F, a bias phase loses at most Σ μ_l Δ̂_l ≤ 2κ(Δ̂_l)ε_l⁻² log(l(l+1)/δ) + 2(d+1).",
        "{0.tried} inequalities, two to a phase; {0.slack}.",
        checks=("lemma 12, regret",),
    ),
    Row(
        "Lemma 13",
        "Without F, κ(Δ ∨ ε_l) ≤ κ(Δ̂_l) ≤ 513(1 + ε_l/τ)κ(Δ ∨ τ) for every τ > 0.",
        "{0.tried} inequalities, τ = ε_l/8, ε_l and 8ε_l; {0.slack}. With 17 for 513: {1.tried} "
        "inequalities, the largest {1.closest:.1%} of that.",
        checks=("lemma 13", "lemma 13, sharper"),
    ),
    Row(
        "Lemma 14",
        "Without F, the group of the best option is known after a bias phase with ε_l ≤ Δ_≠/8.",
        "{0.tried} runs: it was found in that phase or before.",
        checks=("lemma 14",),
    ),
    Row(
        "Lemma 15",
        "The options of Theorem 3 have the κ_* that they are made for.",
        "By a linear program: {0.alike}.",
        checks=("lemma 15",),
    ),
    Row(
        "Lemma 16",
        "The options of Theorem 6 have the κ_* that they are made for.",
        "By a linear program: {0.alike}.",
        checks=("lemma 16",),
        erratum="The options as printed leave out e_1, and with it the span.",
    ),
    Row(
        "Lemma 17",
        "On the first problem of Theorem 6's family κ(Δ) = (1+√κ_*)²Δ_(d+1)/4.",
        "By a linear program: {0.alike}. With the formula for the others: {1.alike}.",
        checks=("lemma 17", "lemma 17, corrected"),
        numbers=lambda found: {
            "holds": (others := found.tally.checks["lemma 17, others"]).violations == others.n
        },
        refuted=("lemma 17, others",),
        erratum="Claimed for every problem of the family. In the others option 1 has a gap, and "
        "κ(Δ) is (√Δ_(d+1) + (1−a)√Δ_1)²/a² with a = 2/(√κ_*+1), larger in all {2.n:,} with "
        "κ_* > 1, by up to {2.closest:.2f} times.",
    ),
    Row(
        "Lemma 18",
        "Some evaluation of an option in play is estimated with an error of ε_l or more, in any "
        "G-phase, with probability at most δ.",
        "Over {runs:,} runs each, with 95% intervals: {said}.",
        numbers=lambda found: _shares(found, "off_values"),
    ),
    Row(
        "Lemma 19",
        "The bias is estimated with an error of ε_l or more, in any phase, with probability at "
        "most δ; and the intervals of bias() hold it with 1 − δ.",
        "With 95% intervals: {wrong}. Last interval and all intervals of a run hold the bias: "
        "{said}.",
        numbers=_coverage,
    ),
    Row(
        "Lemma 20",
        "Without F, neither the best option nor its group is ever dropped.",
        "{0.tried} steps, while {dropped:,} other options were dropped.",
        checks=("lemma 20",),
        numbers=lambda found: {
            "dropped": (dropped := found.tally["dropped"]),
            "holds": dropped > 0,
        },
    ),
    Row(
        "Lemma 21",
        "Without F, Δ̂_l ≤ Δ + 16ε_l for options in play, those with Δ ≥ 21ε_l are out of play "
        "after phase l, and what is dropped in phase l has Δ > ε_l.",
        "{every.tried} steps and options. The largest of each kind were {0.closest:.1%}, "
        "{1.closest:.1%}, {2.closest:.1%} of what is allowed.",
        checks=("lemma 21, upper", "lemma 21, gone", "lemma 21, dropped"),
        numbers=lambda found: {
            "every": sum(
                (found.tally.checks[f"lemma 21, {part}"] for part in ("upper", "gone", "dropped")),
                LemmaCheck(),
            )
        },
    ),
    Row(
        "Section 1, no correction",
        "A linear bandit algorithm that does not correct evaluations has linear regret where they "
        "favour the wrong group.",
        "Blind elimination grows with exponent {blind:.3f} and loses {lost:.4g} per evaluation; "
        "the option that evaluations put first is worth {trap:.4g} less than the best. Fair "
        "elimination grows with exponent {fair:.3f} and loses {times} times less at T = {T}.",
        numbers=_blindness,
    ),
)
"""Every numbered statement of the paper, and how it is tried."""
