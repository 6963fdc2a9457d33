"""What the paper says, what was measured, and whether the two agree."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import binomtest

from evenhand.report.words import number
from evenhand.research.reproduction.audit import AuditedRuns
from evenhand.research.reproduction.geometry import EQUAL, Geometries
from evenhand.research.reproduction.measurements import Measurements, PairCurve, Rate, growth_rate
from evenhand.research.reproduction.tally import LemmaCheck

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
    erratum: str = ""  # where the paper says something else than what is held to

    @property
    def verdict(self) -> str:
        """In one word or two."""
        return "holds" if self.holds else "does not hold"


def statements(found: Measurements) -> tuple[Statement, ...]:
    """Return every numbered statement of the paper, in its order, with its verdict."""
    total = sum((audit for _, audit in found.lemmas), AuditedRuns())
    tried = found.geometry
    return (
        _rate_in_horizon(found),
        _rate_in_kappa(found),
        _logarithm(found),
        _two_regimes(found),
        _worst_case_lower(found),
        _asymptotic_lower(found),
        _elfving(tried),
        _finite_lower(found),
        _margin(tried),
        _worst_parameter(tried),
        _rounding_the_bias(tried),
        _rounding_evaluations(tried),
        _residual(tried),
        _alignment(tried),
        _price_of_admissible_gaps(tried),
        _properties_of_prices(tried),
        _rescaling(tried),
        _failure(found),
        _survivors(total),
        _samples(found, total),
        _price(total),
        _estimated_price(total),
        _group_in_time(total),
        _worst_case_set(tried),
        _gap_dependent_set(tried),
        _price_on_the_family(tried),
        _evaluations_in_time(found),
        _coverage(found),
        _best_stays(total),
        _estimated_gaps(total),
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
        "The end of the proof has κ for κ^(1/3), 6L for (L+1)(L+2) under the logarithm, and "
        "κ(Δ̂) ≤ κ_* for ≤ 2κ_*; the theorem stands, and the limit here has constants of its own.",
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
        "limit, without the ε_T that the paper has in κ(Δ ∨ Δ_≠ ∨ ε_T) and with constants.",
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


def _asymptotic_lower(found: Measurements) -> Statement:
    curve, plan = found.growth, found.programme.growth
    ratio = float(curve.per_log[-1] / curve.limit)
    return Statement(
        "Theorem 4",
        "As T grows, on one problem of the gap-dependent family every policy loses at least "
        "d/(10Δ_min) and (κ+2)/(8Δ_≠²) times log T, where κ bounds κ(Δ).",
        f"At T = {_count(curve.horizons[-1])} fair elimination loses {number(ratio)} times that "
        f"(d = {plan.d}, κ = {2 * plan.kappa:g}, Δ_min = {plan.delta_min:g}, "
        f"Δ_≠ = {plan.delta_neq:g}).",
        ratio >= 1,
        "The family's group +1 begins with e_1, not e_2. For d = 2 and 3 its options are e_i, not "
        "all e_1, its parameters add 2Δ_min, not Δ_min, and the two cases are swapped.",
    )


def _elfving(tried: Geometries) -> Statement:
    check, better = tried.checks["theorem 5"], tried.checks["theorem 5, none better"]
    return Statement(
        "Theorem 5",
        "Elfving: a design is c-optimal just if tc = Σ π(x)ζ_x a_x lies on the boundary of the "
        "hull of ±a_x, and t⁻² is then its variance.",
        f"On {_sets(tried)}, for the bias and for a random c each: {_alike(check)}. None of "
        f"{better.n:,} other designs was better.",
        _held(check, better),
    )


def _finite_lower(found: Measurements) -> Statement:
    ratios = [
        float(worst / lower)
        for worst, lower in (
            *zip(found.growth.worst, found.growth.lower, strict=True),
            *zip(found.transition.per_log, found.transition.lower, strict=True),
        )
        if lower > 0
    ]
    check = found.geometry.checks["theorem 6, kappa"]
    return Statement(
        "Theorem 6",
        "For every T ≥ 2, on one problem of the family every policy loses of order d/Δ_min log T, "
        "κ_*/Δ_≠² log T and κ_*/Δ_≠²; and κ_*/8 ≤ κ(Δ) ≤ 2κ_* on it.",
        f"Fair elimination loses between {number(min(ratios))} and {number(max(ratios))} times the "
        f"bound. {_checked(check, 'bounds of κ(Δ)')}, {_slack(check)}.",
        min(ratios) >= 1 and _held(check),
    )


def _margin(tried: Geometries) -> Statement:
    margin, apart = tried.checks["lemma 1, margin"], tried.checks["lemma 1, apart"]
    return Statement(
        "Lemma 1",
        "κ_* is the largest κ for which a hyperplane through 0 keeps the groups apart with margin "
        "(√κ−1)/(√κ+1) times the largest distance; κ_* = 1 where none does.",
        f"On {_sets(tried)}, the widest margin by a linear program: {_alike(margin)}; κ_* = 1 on "
        f"all {apart.n:,} sets without one.",
        _held(margin, apart),
    )


def _worst_parameter(tried: Geometries) -> Statement:
    check, bracket = tried.checks["lemma 2"], tried.checks["lemma 2, bracket"]
    line = tried.checks["lemma 2, line"]
    return Statement(
        "Lemma 2",
        "κ̃/2 ≤ κ_* ≤ 2κ̃, for features of rank two or more.",
        f"{_checked(check, 'inequalities')}, {_slack(check)}. κ̃ is between the worst regret of a "
        f"design and the price of a mixture of parameters: {_alike(bracket)}.",
        _held(check, bracket) and line.violations > 0,
        f"κ_* ≤ 2κ̃ fails for features of rank one ({line.violations:,} of {line.n:,} sets on a "
        f"line, by up to {number(line.closest)} times; {{1 (+), 1.01 (−)}} is one): its proof "
        "needs two options whose values differ by one.",
    )


def _rounding_the_bias(tried: Geometries) -> Statement:
    check = tried.checks["lemma 3"]
    return Statement(
        "Lemma 3",
        "⌈mπ(x)⌉ evaluations estimate the bias with variance at most eᵀV(π)⁺e/m.",
        f"{_checked(check, 'designs')}, optimal ones and any, m from 0.01 to 10⁴; {_slack(check)}.",
        _held(check),
    )


def _rounding_evaluations(tried: Geometries) -> Statement:
    check = tried.checks["lemma 4"]
    return Statement(
        "Lemma 4",
        "⌈mπ(x)⌉ evaluations, π G-optimal, estimate every evaluation with variance at most "
        "(d+1)/m.",
        f"{_checked(check, 'designs')}, of both groups and of one; {_slack(check)} (the largest "
        "variance of the design itself is the rank, so it is attained where that is d + 1).",
        _held(check),
    )


def _residual(tried: Geometries) -> Statement:
    check = tried.checks["lemma 5"]
    return Statement(
        "Lemma 5",
        "κ_* = max_u 1/max_x (x·u + z_x)².",
        f"On {_sets(tried)}, the right side by a linear program, the left as the variance of the "
        f"design: {_alike(check)}.",
        _held(check),
    )


def _alignment(tried: Geometries) -> Statement:
    check, alpha = tried.checks["lemma 6"], tried.checks["lemma 6, alpha"]
    sharper, line = tried.checks["lemma 6, sharper"], tried.checks["lemma 6, line"]
    return Statement(
        "Lemma 6",
        "κ_*/3 ≤ α ≤ 16κ_*, for features of rank two or more.",
        f"{_checked(check, 'inequalities')}, {_slack(check)}; α by a linear program for each pair "
        f"of options: {_alike(alpha)}. Even 4κ_* ≤ α holds: {_checked(sharper, 'sets')}.",
        _held(check, alpha, sharper) and line.violations > 0,
        f"κ_*/3 ≤ α fails for features of rank one ({line.violations:,} of {line.n:,} sets on a "
        f"line, by up to {number(line.closest)} times; {{1 (+), 1.01 (−)}} is one).",
    )


def _price_of_admissible_gaps(tried: Geometries) -> Statement:
    check = tried.checks["lemma 7"]
    return Statement(
        "Lemma 7",
        "κ(Δ) ≤ 2κ_* for values in [−1, 1].",
        f"{_checked(check, 'parameters')}, in the midst and at vertices of what is allowed; the 2 "
        f"is needed: the largest κ(Δ)/(2κ_*) is {check.closest:.4g}.",
        _held(check),
    )


def _properties_of_prices(tried: Geometries) -> Statement:
    check, same = tried.checks["lemma 8"], tried.checks["lemma 8, homogeneous"]
    price = tried.checks["lemma 8, kappa"]
    return Statement(
        "Lemma 8",
        "κ(cΔ) = cκ(Δ); κ is monotone; κ(Δ ∨ Δ') ≥ κ(Δ) ∨ κ(Δ'); κ(Δ ∨ ε) → κ(Δ) as ε → 0.",
        f"{_checked(check, 'inequalities')}; the limit by a modulus of continuity. Units: "
        f"{_alike(same)}. κ(Δ) beside a linear program: {_alike(price)}.",
        _held(check, same, price),
    )


def _rescaling(tried: Geometries) -> Statement:
    check, support = tried.checks["lemma 9"], tried.checks["lemma 9, support"]
    return Statement(
        "Lemma 9",
        "The Δ-optimal design is κπ(x)/Δ_x, where π is bias-optimal for a_x/√Δ_x, on at most d + 1 "
        "options.",
        f"Cost, price and variance: {_alike(check)}; {_checked(support, 'supports')} of more.",
        _held(check, support),
    )


def _failure(found: Measurements) -> Statement:
    shares = [(delta, audit.failures, audit.runs) for delta, audit in found.failures]
    said = ", ".join(f"{_rate(x, n)} (2δ = {2 * delta:.0%})" for delta, x, n in shares)
    return Statement(
        "Lemma 10",
        "Some estimate of a run is off by ε_l or more with probability at most 2δ.",
        f"Over {shares[0][2]:,} runs each, with 95% intervals: {said}.",
        all(_at_most(x / n, 2 * delta, n) for delta, x, n in shares),
    )


def _evaluations_in_time(found: Measurements) -> Statement:
    shares = [(delta, audit.off_values, audit.runs) for delta, audit in found.failures]
    said = ", ".join(f"{_rate(x, n)} (δ = {delta:.0%})" for delta, x, n in shares)
    return Statement(
        "Lemma 18",
        "Some evaluation of an option in play is estimated with an error of ε_l or more, in any "
        "G-phase, with probability at most δ.",
        f"Over {shares[0][2]:,} runs each, with 95% intervals: {said}.",
        all(_at_most(x / n, delta, n) for delta, x, n in shares),
    )


def _estimated_price(total: AuditedRuns) -> Statement:
    check, sharper = total.estimated_price, total.sharper_price
    return Statement(
        "Lemma 13",
        "Without F, κ(Δ ∨ ε_l) ≤ κ(Δ̂_l) ≤ 513(1 + ε_l/τ)κ(Δ ∨ τ) for every τ > 0.",
        f"{_checked(check, 'inequalities')}, τ = ε_l/8, ε_l and 8ε_l; {_slack(check)}. With 17 for "
        f"513: {_checked(sharper, 'inequalities')}, the largest {sharper.closest:.1%} of that.",
        _held(check, sharper),
    )


def _estimated_gaps(total: AuditedRuns) -> Statement:
    parts = total.upper_gaps, total.gone, total.dropped_late
    largest = ", ".join(f"{part.closest:.1%}" for part in parts)
    check = parts[0] + parts[1] + parts[2]
    return Statement(
        "Lemma 21",
        "Without F, Δ̂_l ≤ Δ + 16ε_l for options in play, those with Δ ≥ 21ε_l are out of play "
        "after phase l, and what is dropped in phase l has Δ > ε_l.",
        f"{_checked(check, 'steps and options')}. The largest of each kind were {largest} of what "
        "is allowed.",
        _held(*parts),
    )


def _worst_case_set(tried: Geometries) -> Statement:
    check = tried.checks["lemma 15"]
    return Statement(
        "Lemma 15",
        "The options of Theorem 3 have the κ_* that they are made for.",
        f"By a linear program: {_alike(check)}.",
        _held(check),
    )


def _gap_dependent_set(tried: Geometries) -> Statement:
    check = tried.checks["lemma 16"]
    return Statement(
        "Lemma 16",
        "The options of Theorem 6 have the κ_* that they are made for.",
        f"By a linear program: {_alike(check)}.",
        _held(check),
        "The options as printed leave out e_1, and with it the span.",
    )


def _price_on_the_family(tried: Geometries) -> Statement:
    check, corrected = tried.checks["lemma 17"], tried.checks["lemma 17, corrected"]
    others = tried.checks["lemma 17, others"]
    return Statement(
        "Lemma 17",
        "On the first problem of Theorem 6's family κ(Δ) = (1+√κ_*)²Δ_(d+1)/4.",
        f"By a linear program: {_alike(check)}. With the formula for the others: "
        f"{_alike(corrected)}.",
        _held(check, corrected) and others.violations == others.n,
        f"Claimed for every problem of the family. In the others option 1 has a gap, and κ(Δ) is "
        f"(√Δ_(d+1) + (1−a)√Δ_1)²/a² with a = 2/(√κ_*+1), larger in all {others.n:,} with κ_* > 1, "
        f"by up to {others.closest:.2f} times.",
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
        f"{_checked(total.price, 'inequalities')}, two to a phase; {_slack(total.price)}.",
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
    off = [(delta, audit.off_bias, audit.runs) for delta, audit in found.failures]
    wrong = ", ".join(f"{_rate(x, n)} (δ = {delta:.0%})" for delta, x, n in off)
    return Statement(
        "Lemma 19",
        "The bias is estimated with an error of ε_l or more, in any phase, with probability at "
        "most δ; and the intervals of bias() hold it with 1 − δ.",
        f"With 95% intervals: {wrong}. Last interval and all intervals of a run hold the bias: "
        f"{said}.",
        all(_at_most(1 - ever, delta, audit.estimated) for delta, _, ever, audit in rows)
        and all(_at_most(x / n, delta, n) for delta, x, n in off),
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


def _rate(x: int, n: int) -> str:
    """Return a share with its 95% interval (Clopper and Pearson)."""
    low, high = binomtest(x, n).proportion_ci()
    return f"{x / n:.2%} [{low:.2%}, {high:.2%}]"


def _checked(check: LemmaCheck, what: str) -> str:
    return f"{check.violations:,} violations in {check.n:,} {what}"


def _held(*checks: LemmaCheck) -> bool:
    return all(check.n > 0 and check.violations == 0 for check in checks)


def _slack(check: LemmaCheck) -> str:
    """Say how much room there was at the least."""
    slack = 1 - check.closest
    return f"smallest slack {slack:.2%}" if slack > 5e-5 else "smallest slack below 0.01%"


def _alike(check: LemmaCheck) -> str:
    apart = check.closest * EQUAL
    return f"equal in {check.n:,} comparisons, to {apart:.0e}".replace("e-0", "e-")


def _sets(tried: Geometries) -> str:
    return (
        f"{tried.sets:,} sets ({tried.separable:,} with groups apart, {tried.deficient:,} of "
        f"features that do not span, {tried.lines:,} on a line)"
    )


def _signed(rate: Rate) -> str:
    return f"{rate.exponent:.2f}".replace("-", "−")


def _count(number: float) -> str:
    return (
        f"{number:,.0f}" if number < 1e5 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    )
