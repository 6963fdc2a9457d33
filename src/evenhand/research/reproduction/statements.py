"""What the paper says, what was measured, and whether the two agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evenhand.report.words import number
from evenhand.research.reproduction.audit import AuditedRuns, LemmaCheck
from evenhand.research.reproduction.measurements import Measurements, PairCurve, Rate, growth_rate

# How far a fitted exponent may be from the claimed one: the rest of the staircase and lower-order
# terms are in it, besides noise.
_NEAR = 0.06
_ERRORS = 4.0  # standard errors that a measured probability may exceed its bound by


@dataclass(frozen=True)
class Statement:
    """One statement of the paper beside a measurement."""

    source: str
    claim: str
    measured: str
    holds: bool

    @property
    def verdict(self) -> str:
        """In one word or two."""
        return "holds" if self.holds else "does not hold"


def statements(found: Measurements) -> tuple[Statement, ...]:
    """Return every statement that was reproduced, with its verdict."""
    total = sum((audit for _, audit in found.lemmas), AuditedRuns())
    return (
        _rate_in_horizon(found),
        _rate_in_kappa(found),
        _logarithm(found),
        _two_regimes(found),
        _worst_case_lower(found),
        _gap_dependent_lower(found),
        _failure(found),
        _samples(found, total),
        _price(total),
        _best_stays(total),
        _survivors(total),
        _group_in_time(total),
        _coverage(found),
        _blindness(found),
    )


def _rate_in_horizon(found: Measurements) -> Statement:
    curves = found.in_horizon
    rates = [curve.rate.exponent for curve in curves]
    form = growth_rate(curves[0].x, curves[0].form).exponent
    share = _share_of_upper(curves)
    return Statement(
        "Theorem 1, in T",
        "Worst-case regret is at most of order T^(2/3) log(T)^(1/3): the exponent of T is 2/3.",
        f"Exponents {min(rates):.3f} to {max(rates):.3f} for T from {_count(curves[0].x[0])} to "
        f"{_count(curves[0].x[-1])}, where the form with its logarithm has {form:.3f}. The regret "
        f"is never above {share:.1%} of the theorem's limit.",
        all(abs(rate - 2 / 3) <= _NEAR for rate in rates) and share <= 1,
    )


def _rate_in_kappa(found: Measurements) -> Statement:
    curves = found.in_kappa
    rates = [curve.rate.exponent for curve in curves]
    share = _share_of_upper(curves)
    return Statement(
        "Theorem 1, in κ_*",
        "Worst-case regret grows as κ_*^(1/3).",
        f"Exponents {min(rates):.3f} to {max(rates):.3f} for κ_* from {curves[0].x[0]:g} to "
        f"{_count(curves[0].x[-1])}. The regret is never above {share:.1%} of the theorem's limit.",
        all(abs(rate - 1 / 3) <= _NEAR for rate in rates) and share <= 1,
    )


def _logarithm(found: Measurements) -> Statement:
    curve = found.growth
    per_log = curve.per_log[curve.settled]
    T = curve.horizons[curve.settled]
    share = float((curve.worst / curve.upper).max())
    return Statement(
        "Theorem 2, in T",
        "With gaps, regret grows as log T.",
        f"R/log T is {number(per_log[0])} at T = {_count(T[0])} and "
        f"{number(per_log[-1])} at T = {_count(T[-1])}; as a power of T the regret has "
        f"exponent {curve.rate.exponent:.3f}. It is never above {share:.2%} of the theorem's "
        "limit.",
        bool(per_log[-1] <= 1.1 * per_log[0]) and share <= 1,
    )


def _two_regimes(found: Measurements) -> Statement:
    curve = found.transition
    bias, bandit = curve.rate("bias"), curve.rate("bandit")
    spread = float(curve.ratio.max() / curve.ratio.min())
    return Statement(
        "Theorem 2, two regimes",
        "R/log T follows the larger of d/Δ_min and κ(Δ ∨ Δ_≠)/Δ_≠²: as Δ_≠ grows it falls as "
        "Δ_≠⁻², then stays.",
        f"Exponent {_signed(bias)} where the bias rules, {_signed(bandit)} where the "
        f"linear bandit does. The ratio of R/log T to the larger term varies by a factor of "
        f"{spread:.1f}, the term itself by one of {_fall(found):,.0f}.",
        abs(bias.exponent + 2) <= 0.4 and abs(bandit.exponent) <= 0.2 and spread <= 10,
    )


def _fall(found: Measurements) -> float:
    curve = found.transition
    return float(max(curve.within[0], curve.between[0]) / max(curve.within[-1], curve.between[-1]))


def _worst_case_lower(found: Measurements) -> Statement:
    papers = [curve for curve in (*found.in_horizon, *found.in_kappa) if curve.c == 1.0]
    fair = min(float((curve.worst / curve.lower).min()) for curve in papers)
    blind = min(float((curve.blind_worst / curve.lower).min()) for curve in papers)
    every = (*found.in_horizon, *found.in_kappa)
    tight = min(float((curve.mean / curve.two_point).min()) for curve in every)
    blind_tight = min(float((curve.blind / curve.two_point).min()) for curve in every)
    return Statement(
        "Theorem 3",
        "On one problem of the worst-case pair (c = 1) every policy loses κ_*^(1/3)T^(2/3)/(8e) "
        "or more.",
        f"Fair elimination loses at least {fair:.1f} times that, blind elimination {blind:.1f} "
        f"times. Against the sharper two-point bound: {tight:.2f} and {blind_tight:.2f} times.",
        min(fair, blind, tight, blind_tight) >= 1,
    )


def _gap_dependent_lower(found: Measurements) -> Statement:
    ratios = [
        float(worst / lower)
        for worst, lower in (
            *zip(found.growth.worst, found.growth.lower, strict=True),
            *zip(found.transition.per_log, found.transition.lower, strict=True),
        )
        if lower > 0
    ]
    return Statement(
        "Theorem 4",
        "On one problem of the gap-dependent family every policy loses of order d/Δ_min log T and "
        "κ_*/Δ_≠² log T (here in its form for finite T).",
        f"Fair elimination loses between {number(min(ratios))} and "
        f"{number(max(ratios))} times the bound.",
        min(ratios) >= 1,
    )


def _failure(found: Measurements) -> Statement:
    shares = [(delta, audit.failures / audit.runs, audit.runs) for delta, audit in found.failures]
    said = ", ".join(f"{share:.2%} (2δ = {2 * delta:.0%})" for delta, share, _ in shares)
    return Statement(
        "Lemma 10",
        "Some estimate of a run is off by ε_l or more with probability at most 2δ.",
        f"Over {shares[0][2]:,} runs each: {said}.",
        all(_at_most(share, 2 * delta, n) for delta, share, n in shares),
    )


def _samples(found: Measurements, total: AuditedRuns) -> Statement:
    check = sum((audit.samples for _, audit in found.failures), total.samples)
    return Statement(
        "Lemma 12, evaluations",
        "A G-phase takes at most 2(d+1)ε_l⁻² log(kl(l+1)/δ) + (d+1)(d+2)/2 evaluations.",
        f"{_checked(check, 'G-phases')}. The largest took {check.closest:.2%} of that.",
        check.violations == 0 and check.n > 0,
    )


def _price(total: AuditedRuns) -> Statement:
    return Statement(
        "Lemma 12, regret",
        "Without F, a bias phase loses at most Σ μ_l Δ̂_l ≤ 2κ(Δ̂_l)ε_l⁻² log(l(l+1)/δ) + 2(d+1).",
        f"{_checked(total.price, 'inequalities')}, two to a phase.",
        total.price.violations == 0 and total.price.n > 0,
    )


def _best_stays(total: AuditedRuns) -> Statement:
    return Statement(
        "Lemma 20",
        "Without F, neither the best option nor its group is ever dropped.",
        f"{_checked(total.kept, 'steps')}, while {total.dropped:,} other options were dropped.",
        total.kept.violations == 0 and total.dropped > 0,
    )


def _survivors(total: AuditedRuns) -> Statement:
    return Statement(
        "Lemma 11",
        "Without F, options that stay after phase l have gaps below 10ε_(l+1) in the group of the "
        "best option, below 42ε_(l+1) in the other.",
        f"{_checked(total.survivors, 'steps')}. The largest gap was {total.survivors.closest:.0%} "
        "of what is allowed.",
        total.survivors.violations == 0 and total.survivors.n > 0,
    )


def _group_in_time(total: AuditedRuns) -> Statement:
    return Statement(
        "Lemma 14",
        "Without F, the group of the best option is known after a bias phase with ε_l ≤ Δ_≠/8.",
        f"{_checked(total.decided, 'runs')}: it was found in that phase or before.",
        total.decided.violations == 0 and total.decided.n > 0,
    )


def _coverage(found: Measurements) -> Statement:
    rows = [
        (delta, 1 - audit.missed / audit.estimated, 1 - audit.ever_missed / audit.estimated, audit)
        for delta, audit in found.failures
    ]
    said = ", ".join(f"{last:.2%} and {ever:.2%} (of {1 - d:.0%})" for d, last, ever, _ in rows)
    return Statement(
        "Lemma 19",
        "The bias is estimated to within ε_l in all phases with probability at least 1 − δ; so do "
        "the intervals of bias() hold it.",
        f"Last interval and all intervals of a run hold the bias: {said}.",
        all(_at_most(1 - ever, delta, audit.estimated) for delta, _, ever, audit in rows),
    )


def _blindness(found: Measurements) -> Statement:
    curve = found.blind
    fair, blind = curve.rates
    lost = float(curve.blind[-1] / curve.horizons[-1])
    return Statement(
        "Section 1, no correction",
        "A linear bandit algorithm that does not correct evaluations has linear regret where they "
        "favour the wrong group.",
        f"Blind elimination grows with exponent {blind.exponent:.3f} and loses {lost:.4g} per "
        f"evaluation; the option that evaluations put first is worth {curve.trap:.4g} less than "
        f"the best. Fair elimination grows with exponent {fair.exponent:.3f} and loses "
        f"{_count(curve.blind[-1] / curve.fair[-1])} times less at T = "
        f"{_count(curve.horizons[-1])}.",
        abs(blind.exponent - 1) <= 0.02 and fair.exponent <= 0.5,
    )


def _share_of_upper(curves: tuple[PairCurve, ...]) -> float:
    return max(float((curve.worst / curve.upper).max()) for curve in curves)


def _at_most(share: float, bound: float, n: int) -> bool:
    """Tell whether a measured probability agrees with an upper bound."""
    return share <= bound + _ERRORS * math.sqrt(bound * (1 - bound) / n)


def _checked(check: LemmaCheck, what: str) -> str:
    return f"{check.violations:,} violations in {check.n:,} {what}"


def _signed(rate: Rate) -> str:
    return f"{rate.exponent:.2f}".replace("-", "−")


def _count(number: float) -> str:
    return (
        f"{number:,.0f}" if number < 1e5 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    )
