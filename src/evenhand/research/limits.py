"""Limits: what Fair Phased Elimination guarantees, and what no policy can beat.

Of the regret, and of the evaluations that it takes to be sure (`characteristic_time`).

Notation
--------
T, k, d        rounds, options, features              δ      probability of failure, 1/T by default
κ_*, κ(Δ)      price of the bias, see `geometry`      ε_l    2^{2−l}, precision of phase l
Δ_min, Δ_≠     least gap, and least gap of the group that does not hold the best option
F              the event that some estimate of the algorithm is off by more than ε_l; P(F) ≤ 2δ

Upper limits hold for the detailed algorithm with noise of scale σ and values within ±B, in
units of B, with s = σ/B: sample sizes carry the factor s², and so does the stopping test,
ε_l³ ≤ κ(Δ̂^l) s² log(T)/T. The paper has B = σ = 1 and leaves its constants unsaid. What its proof
gives is partly wrong (κ for κ^{1/3}, 6L for (L+1)(L+2)) and mostly wasteful (2^19), so the
constants here are derived again; the steps stand beside the code. They rest on these facts on the
complement of F:

(1) An option of X_l has a gap of at most 10ε_l in the group of x*, of at most 42ε_l in the other,
    and one of X_{l+1} of at most 21ε_l (Lemma 11).
(2) min(2, 8ε_l) ≤ Δ̂^l ≤ 2 and Δ ≤ Δ̂^l. So an interrupted bias phase, where survivors of gap at
    most 21ε_l are played instead, costs at most 21/8 of what it would have cost.
(3) Δ̂^l_x ≤ 17(Δ_x ∨ ε_l): if x is in X_l, Δ̂^l_x ≤ Δ_x + 16ε_l; if it was dropped in phase e < l,
    Δ̂^l_x = Δ̂^e_x ≤ Δ_x + 16ε_e and ε_e < Δ_x (Lemma 21). The paper has 513 for 17.
(4) A phase l that is completed, l ≥ 2, takes at least 4^{l−1}s² rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from evenhand.actions import ActionSet, checked_actions
from evenhand.arrays import ArrayValue, Floats
from evenhand.designs import Design, Verification
from evenhand.designs.joint import joint_design
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.geometry import bias_geometry, kappa
from evenhand.questions import Questions
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.ranges import check_gaps, check_size
from evenhand.search.evidence import certainty_entropy

_LAST_PHASE = 21 / 8 - 1  # what the interruption of the last bias phase may add, by (2)


def worst_case_upper(
    actions: ActionSet,
    horizon: float,
    *,
    noise_scale: float = 1.0,
    value_bound: float = 1.0,
    delta: float | None = None,
) -> float:
    """Return what the regret of Fair Phased Elimination never exceeds (Theorem 1).

    For B = σ = 1 and δ = 1/T, with n = 1 + ⌊log₄ T⌋ and L about log₂(T/κ_*)/3 phases, the limit is
    53 κ_*^{1/3}T^{2/3}log(T)^{1/3} + 10 κ_*^{1/3}T^{2/3}log(T)^{−2/3} log(n(n+1)T)
    + 166 (d+1)κ_*^{−1/3}T^{1/3}log(T)^{−1/3} log(kL(L+1)T) + 104(d+1)(d+2) + 2(d+1)(n + 13/8) + 4.

    It beats the obvious 2BT for T beyond about 4e4 κ_* log(T).

    Parameters
    ----------
    actions
        The options.
    horizon
        Number of rounds T, at least 2.
    noise_scale, value_bound
        Standard deviation σ of an evaluation, and bound B of the values.
    delta
        The algorithm's probability of failure, 1/T if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand import limits
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> [f"{limits.worst_case_upper(actions, T):.3g}" for T in (1e6, 1e9, 1e12)]
    ['2.38e+06', '2.39e+08', '2.58e+10']
    """
    T, log_t, delta = _rounds(horizon, delta)
    s2 = _scale(noise_scale, value_bound) ** 2
    _refuse_attributes(actions, "Theorem 1")
    kappa_star = bias_geometry(actions).kappa_star
    m, k = actions.n_features + 1, len(actions)
    # ε°: below it the stopping test fires, whatever Δ̂, since κ(Δ̂) ≤ 2κ_*. G-phases with ε_l ≤ ε°
    # and recovery play options of gap at most 42ε°, by (1).
    crossing = (2 * kappa_star * s2 * log_t / T) ** (1 / 3)
    late = 42 * crossing * T
    # G-phases with ε_l > ε°: Σ_l n_l(10 + 42)ε_l, with Lemma 12 for n_l and Σ 1/ε_l ≤ 2/ε_L.
    n_early = max(0, math.ceil(2 - math.log2(crossing)) - 1)
    early = 0.0
    if n_early:
        early = 208 * m * s2 / crossing * math.log(k * n_early * (n_early + 1) / delta)
        early += 104 * m * (m + 1)
    # Bias phases. A phase that is run has κ(Δ̂^l)/ε_l² ≤ 2κ_*/ε_l², and also ≤ ε_lT/(s² log T), or
    # the test would have fired. The first sums to 4/3 r^{−2}, the second to r, where rε° is the
    # least ε_l ≥ ε° and 1 ≤ r < 2: at most 7/3, in units of 2κ_*/ε°², and at most 1 in one phase.
    n_phases = _n_phases(T, s2)
    bias = 2 * s2 * math.log(n_phases * (n_phases + 1) / delta)
    bias *= (7 / 3 + _LAST_PHASE) * 2 * kappa_star / crossing**2
    bias += 2 * m * (n_phases + _LAST_PHASE)
    return float(value_bound * (late + early + bias + 4 * delta * T))


def gap_dependent_upper(
    problem: BiasedLinearBandit,
    horizon: float,
    *,
    value_bound: float = 1.0,
    delta: float | None = None,
) -> float:
    """Return what the regret of Fair Phased Elimination never exceeds on a problem (Theorem 2).

    For B = σ = 1 and δ = 1/T, with n = 1 + ⌊log₄ T⌋ phases, the limit is
    (d+1)(400/Δ_min + 2688/Δ_≠) log(k(n+1)(n+2)T) + 104(d+1)(d+2) + 2(d+1)(n + 13/8) + 4
    + κ(Δ ∨ Δ_≠)/Δ_≠² · [11628 log(n(n+1)T) + max(14144 log(n(n+1)T), 91392 log T)].

    The ε_T inside the paper's κ(Δ ∨ Δ_≠ ∨ ε_T) is not needed: recovery begins while
    ε_l > Δ_≠/16, by Lemma 14.

    Parameters
    ----------
    problem
        A problem with one best option and two groups.
    horizon
        Number of rounds T, at least 2.
    value_bound
        Bound B of the values that the algorithm is told.
    delta
        The algorithm's probability of failure, 1/T if not given.

    Examples
    --------
    >>> from evenhand import families, limits
    >>> problem = families.gap_dependent(d=4, kappa=4.0, delta_min=0.05, delta_neq=0.1)[0]
    >>> growth = [limits.gap_dependent_upper(problem, T) for T in (1e10, 1e20, 1e40)]
    >>> [round(limit / growth[0], 2) for limit in growth]          # log T
    [1.0, 1.98, 3.93]
    """
    T, log_t, delta = _rounds(horizon, delta)
    _refuse_questions(problem)
    s2 = _scale(problem.noise_scale, value_bound) ** 2
    _refuse_ties(problem)
    largest = float(np.abs(problem.values).max())
    if largest > value_bound * (1 + 1e-9):
        raise InputError(
            f"the values reach {largest:.6g}, beyond value_bound = {value_bound:g}; give the "
            "value_bound that the policy is told."
        )
    _refuse_attributes(problem.actions, "Theorem 2")
    m, k = problem.actions.n_features + 1, len(problem.actions)
    delta_min, delta_neq = problem.delta_min / value_bound, problem.delta_neq / value_bound
    n = _n_phases(T, s2)
    # G-phases cost regret while 10ε_l > Δ_min in the group of x*, and while ε_l > Δ_≠/16 in the
    # other (Lemma 14): Σ 1/ε_l < 20/Δ_min and 32/Δ_≠. The last may be interrupted.
    within = (400 / delta_min + 2688 / delta_neq) * m * s2 * math.log(k * (n + 1) * (n + 2) / delta)
    within += 104 * m * (m + 1)
    # Bias phases have ε_l > Δ_≠/16, and by (3) κ(Δ̂^l)/ε_l² is at most 17κ(Δ ∨ Δ_≠) times
    # max(1/ε_l², 1/(ε_lΔ_≠)), which sums to 342/Δ_≠² and is at most 256/Δ_≠².
    gaps = np.maximum(problem.gaps, problem.delta_neq) / value_bound
    price = kappa(problem.actions, gaps) / delta_neq**2
    log_n = math.log(n * (n + 1) / delta)
    between = 2 * 17 * 342 * s2 * log_n * price + 2 * m * (n + _LAST_PHASE)
    # Then comes either an interrupted phase or recovery: 21ε_lT ≤ 21κ(Δ̂^l) s² log(T)/ε_l².
    last = 17 * 256 * s2 * max(2 * _LAST_PHASE * log_n, 21 * log_t) * price
    return float(value_bound * (within + between + last + 4 * delta * T))


def worst_case_lower(kappa_star: float, horizon: float) -> float:
    """Return what every policy suffers on one of the worst-case pair, κ_*^{1/3}T^{2/3}/(8e).

    Theorem 3, for `families.worst_case` with c = 1, unit noise and T ≥ 64κ_*. It is loose by a
    factor of about ten: see `two_point`.

    Examples
    --------
    >>> from evenhand import limits
    >>> round(limits.worst_case_lower(kappa_star=1.0, horizon=1e6), 1)
    459.8
    """
    T, _, _ = _rounds(horizon, None)
    check_size(2, kappa_star, "kappa_star")
    if kappa_star > T / 64:
        raise InputError(
            f"Theorem 3 needs a horizon of at least 64κ_* = {64 * kappa_star:g}; got {T:g}."
        )
    return float(np.cbrt(kappa_star * T * T) / (8 * math.e))


def gap_dependent_lower(
    d: int, kappa_star: float, delta_min: float, delta_neq: float, horizon: float
) -> float:
    """Return what every policy suffers on one problem of `families.gap_dependent` (Theorem 6).

    Theorem 4 for finite T, unit noise, at least 0. For d ≥ 4 it is the largest of three: of order
    d/Δ_min log T, of order κ_*/Δ_≠² log T, and of order κ_*/Δ_≠². For d = 2, 3 it is the limit of
    the case that `families.gap_dependent` returns.

    Examples
    --------
    >>> from evenhand import limits
    >>> [round(limits.gap_dependent_lower(4, 4.0, 0.05, 0.1, T)) for T in (1e6, 1e9, 1e12)]
    [102, 915, 1742]
    """
    T, log_t, _ = _rounds(horizon, None)
    check_size(d, kappa_star, "kappa_star")
    check_gaps(delta_min, delta_neq)
    within = log_t - math.log(8 * d * log_t / delta_min**2)
    between = log_t - math.log(8 * kappa_star * log_t / delta_neq**3)
    by_groups = (kappa_star + 1) / (4 * delta_neq**2) * between
    if d < 4:
        if d / delta_min >= kappa_star / delta_neq**2:
            return max(0.0, (d - 1) / (2 * delta_min) * within)
        return max(0.0, by_groups)
    early = min(1.0, math.log(T * delta_neq**3 / (8 * kappa_star)))
    return max(
        0.0, d / (10 * delta_min) * within, by_groups, kappa_star / (4 * delta_neq**2) * early
    )


def two_point(first: BiasedLinearBandit, second: BiasedLinearBandit, horizon: float) -> float:
    """Return what the mean regret (R₁ + R₂)/2 of any policy on two problems is at least.

    For problems in which the evaluations of one option x° only differ, as the worst-case pair.
    With s the difference of its mean evaluations in units of the noise, ρ the least sum of an
    other option's two gaps, and c the smaller gap of x° less ρ, the limit is
    min_A [(2c/s²) A tanh(A/2) + Tρ/(1 + e^A)].

    Notes
    -----
    Draw one of the problems by a fair coin, and let q be its posterior probability. A round costs
    at least ρ min(q, 1−q), and c more if x° is played; only then is anything learnt. So no policy
    does better than to test by playing x° first, which costs c a time, and to pay Tρ min(q, 1−q)
    at the end. The log-likelihood ratio is a Brownian motion at whole times; to stop it at any
    time helps, and the best time is when it leaves [−A, A]: then E N = (2/s²) A tanh(A/2) and
    min(q, 1−q) = 1/(1 + e^A). The derivative vanishes where sinh A + A = Tρs²/(4c).

    Examples
    --------
    >>> from evenhand import families, limits
    >>> round(limits.two_point(*families.worst_case(d=2, kappa=1.0, horizon=1e6), horizon=1e6))
    4686
    """
    T = float(horizon)
    if not (math.isfinite(T) and T >= 1):
        raise InputError(f"horizon must be a finite number of rounds ≥ 1; got {horizon}.")
    _refuse_questions(first)
    if first.actions != second.actions or first.noise_scale != second.noise_scale:
        raise InputError("the two problems must have the same options and the same noise_scale.")
    shift = np.abs(first.evaluations - second.evaluations)
    rounding = 1e-12 * max(np.abs(first.evaluations).max(), np.abs(second.evaluations).max())
    (telling,) = np.nonzero(shift > rounding)
    if len(telling) > 1:
        names = ", ".join(first.actions.labels[x] for x in telling[:5])
        raise InputError(
            f"the evaluations of {len(telling)} options differ between the problems ({names}…); "
            "the two-point limit is for pairs that differ in one, such as families.worst_case."
        )
    both = first.gaps + second.gaps
    if len(telling) == 0:
        return float(T * both.min() / 2)  # nothing tells the problems apart
    x = int(telling[0])
    s = float(shift[x]) / first.noise_scale
    rho = float(np.delete(both, x).min())
    c = float(min(first.gaps[x], second.gaps[x])) - rho
    if c <= 0:
        return 0.0  # the telling option is as good as any: the relaxation says nothing
    level = T * rho * s * s / (4 * c)
    A = float(brentq(lambda a: math.sinh(a) + a - level, 0.0, math.asinh(level), xtol=1e-14))
    return float(2 * c / s**2 * A * math.tanh(A / 2) + T * rho / (1 + math.exp(A)))


@dataclass(frozen=True, eq=False)
class LeastCost(ArrayValue):
    """The least cost of telling every rival from the best option, with its proof.

    Of `graves_lai` it is regret, per log T; of `characteristic_time` the price per unit of
    kl(δ, 1 − δ), which is T* evaluations unless questions have prices.

    Parameters
    ----------
    problem
        What was asked about.
    design
        The joint design that attains it, with its certificate; None where no evaluations tell the
        rivals from the best option, since one of other features is exactly as good. Of regret it
        is over the rivals' points modulo that of the best option, whose evaluations cost nothing.
    regret
        Whether regret is what it costs.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem = eh.families.random(k=20, d=3, seed=1)
    >>> time = eh.limits.characteristic_time(problem)
    >>> time.gap < 1e-6, bool(time.verify()), round(float(time.proportions.sum()), 9)
    (True, True, 1.0)
    """

    problem: BiasedLinearBandit
    design: Design | None
    regret: bool = False

    @property
    def value(self) -> float:
        """What it costs; infinite without a design."""
        return math.inf if self.design is None else self.design.value

    @property
    def bound(self) -> float:
        """What nothing can beat, as the certificate of the design proves."""
        return math.inf if self.design is None else self.design.certificate.bound

    @property
    def gap(self) -> float:
        """How far above the bound the value may be, relative to the bound."""
        return 0.0 if self.design is None else self.design.certificate.gap

    @property
    def allocation(self) -> Floats:
        """(k,) pulls μ per log T; infinite for the best option, which costs no regret."""
        assert self.design is not None
        pulls = np.full(len(self.problem.actions), math.inf)
        pulls[self.problem.gaps > 0] = self.design.mass * self.design.weights
        return pulls

    @property
    def proportions(self) -> Floats:
        """(q,) the shares of the evaluations that attain T*; NaN where nothing does."""
        if self.design is None:
            return np.full(len(self.problem.actions), np.nan)
        return self.design.weights

    @property
    def ties(self) -> tuple[str, ...]:
        """The options that are exactly as good as the best, though their features differ."""
        _, rival = _scaled_leads(self.problem)
        labels = self.problem.questions.options.labels
        return tuple(labels[x] for x in self.problem.best_all.tolist() if rival[x])

    def evaluations(self, confidence: float = 0.95) -> float:
        """Return T*·kl(δ, 1 − δ), the least mean number of evaluations; δ = 1 − ``confidence``.

        It binds every policy that, on every problem with these options and this noise, names a best
        option with probability at least ``confidence`` once it stops: even one that is told the
        noise. kl(δ, 1 − δ) = (1 − 2δ) log((1 − δ)/δ), and 0 for δ ≥ ½, where a coin will do. Where
        some questions cost more than others, it is how many the least price buys.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0]], attributes=[[1.0], [1.0]])
        >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.0], omega=0.3)
        >>> time = eh.limits.characteristic_time(problem)      # two means: 8σ²/Δ² = 32
        >>> round(time.value, 4), round(time.evaluations(0.95), 2)
        (32.0, 84.8)
        """
        entropy = certainty_entropy(confidence)
        mass = math.inf if self.design is None else self.design.mass
        return mass * entropy if entropy else 0.0

    def verify(self, tol: float | None = None) -> Verification:
        """Recompute value and bound from the problem alone; see `Design.verify`."""
        if self.design is None or (self.ties and not self.regret):
            right = self.design is None and bool(self.ties)
            reason = "there is a design just where no options are tied"
            return Verification(math.inf, math.inf, [] if right else [reason])
        points, directions, costs = _program(self.problem, self.regret)
        found = self.design.verify(points, tol)
        if replace(self.design, direction=directions, costs=costs) == self.design:
            return found
        reasons = [*found.reasons, "the design is not for this problem"]
        return Verification(found.value, found.bound, reasons)


def _program(problem: BiasedLinearBandit, regret: bool) -> tuple[Floats, Floats, Floats]:
    """Return points, directions (x* − x; 0)√2 σ/Δ_x, which are to have variance one, and what a
    point costs. Columns are scaled, which changes no design.
    """
    leads, rivals = _scaled_leads(problem)
    if not regret:
        root = math.sqrt(2) * problem.noise_scale / problem.gaps[rivals, None]
        return _scaled_points(problem), leads[rivals] * root, problem.questions.prices
    # pulls of x* are free, so points and directions are taken modulo a_{x*}
    star, gaps = problem.best, problem.gaps
    A = _scaled_points(problem)
    aside = np.eye(A.shape[1])
    if A[star].any():
        aside -= np.outer(A[star], A[star]) / (A[star] @ A[star])
    others = gaps > 0
    root = math.sqrt(2) * problem.noise_scale / gaps[others, None]
    return _product(A[others], aside), _product(leads[others], aside) * root, gaps[others]


def _solved(problem: BiasedLinearBandit, regret: bool, tol: float) -> LeastCost:
    """Solve the program, or say that no evaluations tell the rivals apart."""
    try:
        return LeastCost(problem, joint_design(*_program(problem, regret), tol), regret)
    except NotIdentifiableError as error:
        remedy = "Add options, or leave out features that tell the groups apart."
        if isinstance(problem.actions, Questions):
            remedy = "Add questions about it and them to an evaluator who is partial to neither."
        raise NotIdentifiableError(
            "no evaluations tell every other option from the best, "
            f"{problem.questions.options.labels[problem.best]!r}: the same means fit "
            f"parameters for which another is better. {remedy}"
        ) from error


def graves_lai(problem: BiasedLinearBandit, tol: float = 1e-6) -> LeastCost:
    """Return the least cost, per log T, at which a policy can learn which option is the best.

    The least Σ μ(x)Δ_x over pulls μ that tell every rival x from x*: with
    ‖(x* − x; 0)‖² ≤ Δ_x²/(2σ²) in the norm of V(μ)⁻¹. Times log T it bounds the regret of every
    consistent policy from below as T grows; at practical horizons it may be far off.

    Parameters
    ----------
    problem
        A problem with one best option.
    tol
        Largest relative distance between the value and its proven bound.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand import limits
    >>> actions = eh.ActionSet([[2.0], [1.0]], [1, -1])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[1.0], omega=0.3)
    >>> limit = limits.graves_lai(problem)
    >>> round(limit.value, 6), limit.allocation.round(6)          # 2/9
    (0.222222, array([     inf, 0.222222]))
    >>> bool(limit.verify())
    True
    """
    _refuse_questions(problem)
    _refuse_ties(problem)
    if not problem.gaps.any():
        raise InputError("there is one option only: nothing is to be learnt.")
    return _solved(problem, True, tol)


def characteristic_time(problem: BiasedLinearBandit, tol: float = 1e-6) -> LeastCost:
    """Return how many evaluations it takes to be sure which option is the best: T*.

    1/T* = max_w min_x Δ_x²/(2σ²‖(x* − x; 0)‖²), over proportions w of evaluations and rivals x, in
    the norm of V(w)⁻¹. No policy that is right with probability 1 − δ on every problem does with
    fewer than T*·kl(δ, 1 − δ) evaluations in the mean (Garivier and Kaufmann, COLT 2016; for linear
    values Soare, Lazaric and Munos, NIPS 2014). As δ → 0 some need hardly more. Options of the same
    features are worth the same, whatever their groups, and need not be told apart. For a tolerance
    there is no such limit here: several answers are then right, and for those one is known as
    δ → 0 only. Where questions have prices, Σ price·w takes the place of Σ w = 1, and no policy
    pays less than T*·kl(δ, 1 − δ) in the mean; how often a question may be asked is not heeded.

    Parameters
    ----------
    problem
        Options, or questions about options, and the truth about them.
    tol
        Largest relative distance between T* and its proven bound.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.research.environments.skating import skate_canada
    >>> time = eh.limits.characteristic_time(skate_canada().problem)
    >>> bool(time.verify()), 0 < time.evaluations(0.95) < time.evaluations(0.99)
    (True, True)
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [1, 1, -1])
    >>> time = eh.limits.characteristic_time(eh.BiasedLinearBandit(actions, [0.5, 0.5], 0.1))
    >>> time.value, time.ties
    (inf, ('option 2',))
    """
    _, rival = _scaled_leads(problem)
    if not rival.any():
        raise InputError("all options have the same features: there is no best one to be found.")
    if not problem.gaps[rival].all():
        return LeastCost(problem, None)
    return _solved(problem, False, tol)


def _scaled_leads(problem: BiasedLinearBandit) -> tuple[Floats, NDArray[np.bool_]]:
    """Return (x* − x; 0) for all x, columns scaled, and which x are rivals: of other features."""
    questions = problem.questions
    values = np.zeros((len(questions.options), questions.rows.shape[1]))
    values[:, : questions.n_features] = questions.options.features
    values /= _column_scales(problem)
    leads = values[problem.best] - values
    return leads, leads.any(axis=1)


def _column_scales(problem: BiasedLinearBandit) -> Floats:
    """Return the largest entry of every column."""
    points = problem.questions.weighted_points
    scales = np.abs(points).max(axis=0, initial=0.0)
    scales[scales == 0.0] = 1.0
    return np.asarray(scales)


def _scaled_points(problem: BiasedLinearBandit) -> Floats:
    """Return the points, over the relative noise, with columns scaled, which changes no design."""
    return np.asarray(problem.questions.weighted_points / _column_scales(problem))


def _refuse_questions(problem: BiasedLinearBandit) -> None:
    if isinstance(problem.actions, Questions):
        raise InputError(
            "this limit is about regret, where what is evaluated is what is chosen; these are "
            "questions about options. characteristic_time takes them."
        )


def _product(rows: Floats, matrix: Floats) -> Floats:
    """Return rows · matrix, with zeros where everything cancelled and only rounding is left."""
    product = rows @ matrix
    product[np.abs(product) <= 1e-14 * (np.abs(rows) @ np.abs(matrix))] = 0.0
    return np.asarray(product)


def _n_phases(T: float, s2: float) -> int:
    """Return how many phases can be completed at most, by (4)."""
    return 1 + math.floor(max(0.0, math.log(T / s2, 4)))


def _rounds(horizon: float, delta: float | None) -> tuple[float, float, float]:
    """Return T, log T and δ."""
    T = float(horizon)
    if not (math.isfinite(T) and T >= 2):
        raise InputError(f"horizon must be a finite number of rounds ≥ 2; got {horizon}.")
    failure = 1 / T if delta is None else float(delta)
    if not 0 < failure <= 1:
        raise InputError(f"delta must lie in (0, 1]; got {delta}.")
    return T, math.log(T), failure


def _scale(noise_scale: float, value_bound: float) -> float:
    for name, number in (("noise_scale", noise_scale), ("value_bound", value_bound)):
        if not (math.isfinite(number) and number > 0):
            raise InputError(f"{name} must be a finite number > 0; got {number}.")
    return noise_scale / value_bound


def _refuse_attributes(actions: ActionSet, theorem: str) -> None:
    if checked_actions(actions).group_names is None:
        raise InputError(
            f"{theorem} is about two groups; these options have attributes instead. graves_lai "
            "takes these as well."
        )


def _refuse_ties(problem: BiasedLinearBandit) -> None:
    if len(problem.best_all) > 1:
        labels = problem.questions.options.labels
        names = ", ".join(labels[x] for x in problem.best_all[:5])
        raise InputError(
            f"{len(problem.best_all)} options are tied for the best ({names}); this limit is for "
            "problems with one best option. Keep one of them."
        )
