"""Limits of the regret: what Fair Phased Elimination guarantees, and what no policy can beat.

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
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, Indices
from evenhand.designs import Verification
from evenhand.environments.problem import BiasedLinearBandit
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError
from evenhand.geometry import bias_geometry, kappa

_RESCALINGS = 4  # of the conic program of `graves_lai`, where it comes out inaccurate
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
    m, k, kappa_star = actions.n_features + 1, len(actions), bias_geometry(actions).kappa_star
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
    s2 = _scale(problem.noise_scale, value_bound) ** 2
    _refuse_ties(problem)
    largest = float(np.abs(problem.values).max())
    if largest > value_bound * (1 + 1e-9):
        raise InputError(
            f"the values reach {largest:.6g}, beyond value_bound = {value_bound:g}; give the "
            "value_bound that the policy is told."
        )
    if problem.actions.group_names is None:
        raise InputError("Theorem 2 is about two groups; these options have attributes instead.")
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
    _check_kappa(kappa_star)
    if kappa_star > T / 64:
        raise InputError(
            f"Theorem 3 needs a horizon of at least 64κ_* = {64 * kappa_star:g}; got {T:g}."
        )
    return float(np.cbrt(kappa_star * T * T) / (8 * math.e))


def gap_dependent_lower(
    d: int, kappa_star: float, delta_min: float, delta_neq: float, horizon: float
) -> float:
    """Return what every policy suffers on one problem of `families.gap_dependent` (Theorem 4).

    The form for finite T, unit noise, at least 0. For d ≥ 4 it is the largest of three: of order
    d/Δ_min log T, of order κ_*/Δ_≠² log T, and of order κ_*/Δ_≠². For d = 2, 3 it is the limit of
    the case that `families.gap_dependent` returns.

    Examples
    --------
    >>> from evenhand import limits
    >>> [round(limits.gap_dependent_lower(4, 4.0, 0.05, 0.1, T)) for T in (1e6, 1e9, 1e12)]
    [102, 915, 1742]
    """
    T, log_t, _ = _rounds(horizon, None)
    _check_kappa(kappa_star)
    if d != int(d) or d < 2:
        raise InputError(f"d must be a whole number ≥ 2; got {d}.")
    if not 0 < delta_min <= delta_neq <= 0.5:
        raise InputError(
            "the gaps must satisfy 0 < delta_min ≤ delta_neq ≤ 1/2; got "
            f"delta_min = {delta_min}, delta_neq = {delta_neq}."
        )
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
class GravesLai:
    """The least cost of knowing the best option, per log T, with its proof.

    Parameters
    ----------
    problem
        What was asked about.
    value
        Σ μ(x)Δ_x: for every consistent policy, liminf R_T / log T is at least this.
    allocation
        (k,) pulls μ per log T; infinite for the best option, which costs nothing.
    bound
        What no allocation can beat, proven by ``dual``.
    rivals
        (n,) the rivals of the best option that make it costly.
    dual
        (n, d + p) one vector h per rival, with a_{x*}·h = 0 and Σ (a_x·h)² ≤ Δ_x for all options;
        then Σ μ(x)Δ_x ≥ 2σ² Σ ((x* − x; 0)·h_x)²/Δ_x², the sum over the rivals x.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem = eh.families.gap_dependent(d=4, kappa=4.0, delta_min=0.05, delta_neq=0.1)[0]
    >>> limit = eh.limits.graves_lai(problem)
    >>> limit.gap < 1e-6, bool(limit.verify())
    (True, True)
    """

    problem: BiasedLinearBandit
    value: float
    allocation: Floats
    bound: float
    rivals: Indices
    dual: Floats

    @property
    def gap(self) -> float:
        """How far above the bound the value may be, relative to the bound."""
        return max(0.0, self.value / self.bound - 1.0)

    def verify(self, tol: float = 1e-6) -> Verification:
        """Recompute value and bound from the problem alone, by dense least squares."""
        reasons = []
        star, gaps = self.problem.best, self.problem.gaps
        scales = np.abs(self.problem.actions.points).max(axis=0)
        scales[scales == 0] = 1.0
        A = self.problem.actions.points / scales
        V = A[star] - A
        V[:, self.problem.actions.n_features :] = 0.0
        others = np.arange(len(A)) != star
        # What is along a_{x*} is free, and no dual vector may profit from it.
        aside = np.eye(A.shape[1])
        if A[star].any():
            aside -= np.outer(A[star], A[star]) / (A[star] @ A[star])
        H = (self.dual * scales) @ aside
        load = ((A[others] @ H.T) ** 2).sum(axis=1) / gaps[others]
        if load.max() > 1 + tol:
            reasons.append(f"the dual charges an option {load.max():.9g} times its gap")
        gains = (V[self.rivals] * H).sum(axis=1) / gaps[self.rivals]
        bound = 2 * self.problem.noise_scale**2 * float(gains @ gains / max(1.0, load.max()))
        mu = self.allocation[others]
        if not (mu >= 0).all() or not np.isfinite(mu).all():
            return Verification(False, np.nan, bound, (*reasons, "some pulls are not numbers ≥ 0"))
        rows = (A[others] * np.sqrt(mu)[:, None]) @ aside
        targets = (V[others] / gaps[others, None]) @ aside
        y, *_ = np.linalg.lstsq(rows.T, targets.T, rcond=1e-13)
        stray = np.abs(rows.T @ y - targets.T).max(axis=0) / np.abs(targets).max(axis=1)
        if stray.max() > 1e-6:
            reasons.append("the pulls do not tell every rival from the best option")
        variance = float((y**2).sum(axis=0).max()) * 2 * self.problem.noise_scale**2
        if variance > 1 + tol:
            reasons.append(f"a rival's variance is {variance:.9g} times what is allowed")
        value = float(mu @ gaps[others])
        if abs(value - self.value) > tol * value:
            reasons.append(f"the pulls cost {value:.12g}, not {self.value:.12g}")
        if bound < self.bound * (1 - tol):
            reasons.append(f"the dual proves {bound:.12g}, not {self.bound:.12g}")
        return Verification(not reasons, value, bound, tuple(reasons))


def graves_lai(problem: BiasedLinearBandit, tol: float = 1e-6) -> GravesLai:
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

    Notes
    -----
    Pulls of x* are free, so everything is taken modulo a_{x*}. Rows a_x/√Δ_x have unit costs, and
    directions (x* − x; 0)√2 σ/Δ_x unit variances: min Σ λ_x such that Σ_x (w^v_x)²/λ_x ≤ 1 and
    Σ_x w^v_x b_x = v for all directions v. That is a conic program; directions join it as they
    are found to be violated.

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
    _refuse_ties(problem)
    star, sigma = problem.best, problem.noise_scale
    (rivals,) = np.nonzero(problem.gaps > 0)
    if len(rivals) == 0:
        raise InputError("there is one option only: nothing is to be learnt.")
    gaps = problem.gaps[rivals]
    units = np.ldexp(1.0, np.frexp(np.abs(problem.actions.points).max(axis=0))[1])
    A = problem.actions.points / units
    V = A[star] - A[rivals]
    V[:, problem.actions.n_features :] = 0.0
    N = _complement(A[star])
    B, U = (
        (A[rivals] @ N) / np.sqrt(gaps)[:, None],
        (V @ N) * (math.sqrt(2) * sigma / gaps)[:, None],
    )
    # Coordinates in which Σ b bᵀ is the identity.
    scales = np.abs(B).max(axis=0)
    scales[scales == 0] = 1.0
    _, singular, rows = np.linalg.svd(B / scales, full_matrices=False)
    kept = singular > 1e-12 * singular[0]
    transform = (rows[kept].T / singular[kept]) / scales[:, None]
    whole = U @ transform @ ((rows[kept] * singular[kept][:, None]) * scales)
    stray = np.abs((whole - U) / scales).max(axis=1) > 1e-8 * np.abs(U / scales).max(axis=1)
    if stray.any():
        x = int(rivals[np.flatnonzero(stray)[0]])
        raise NotIdentifiableError(
            f"no evaluations tell {problem.actions.labels[x]!r} from the best option, "
            f"{problem.actions.labels[star]!r}: the same means fit parameters for which it is "
            "better. Add options, or leave out features that tell the groups apart."
        )
    costs, used, H = _joint_design(B @ transform, U @ transform, tol / 10)
    allocation = np.zeros(len(A))
    allocation[star] = math.inf
    allocation[rivals] = costs / gaps
    bound = float((((U @ transform)[used] * H).sum(axis=1) ** 2).sum())
    limit = GravesLai(
        problem, float(costs.sum()), allocation, bound, rivals[used], H @ (N @ transform).T / units
    )
    if not limit.gap <= tol:
        raise AccuracyError(
            f"the Graves–Lai limit lies between {bound:.9g} and {limit.value:.9g}; ask for a tol "
            f"larger than {limit.gap:.1g}."
        )
    return limit


def _complement(a: Floats) -> Floats:
    """Return an orthonormal basis, (m, m−1), of what is orthogonal to a; of all if a is zero."""
    if not a.any():
        return np.eye(len(a))
    Q, _ = np.linalg.qr(a[:, None], mode="complete")
    return np.asarray(Q[:, 1:])


def _joint_design(B: Floats, U: Floats, tol: float) -> tuple[Floats, Indices, Floats]:
    """Return the least costs λ with uᵀV(λ)⁺u ≤ 1 for all rows u of U; used rows, dual vectors.

    Σ b bᵀ is the identity: then Σ λ is between 1 and k for directions of length at most 1. Some
    options may cost next to nothing and be needed all the same, so the program is solved again in
    units of the λ that it found, until the two sides meet; the best of each side is kept.
    """
    scale = float(np.linalg.norm(U, axis=1).max())
    U = U / scale
    n_new = 2 * B.shape[1] + 2
    used = np.sort(np.argsort(-np.linalg.norm(U, axis=1), kind="stable")[:n_new])
    units = np.ones(len(B))
    value, bound = math.inf, 0.0
    design, proof, proven = units, U[:0], used[:0]
    rescaled = 0
    while rescaled < _RESCALINGS:
        costs, H, active = _conic_program(B, U[used], units)
        variances = _variances(B, costs, U)
        if costs.sum() * variances.max() < value:
            value, design = float(costs.sum() * variances.max()), costs * variances.max()
        H = H / math.sqrt(((B @ H.T) ** 2).sum(axis=1).max())  # charges no option beyond its cost
        proves = float(((U[used[active]] * H).sum(axis=1) ** 2).sum())
        if proves > bound:
            bound, proof, proven = proves, H, used[active]
        if value <= bound * (1 + tol):
            break
        violated = np.setdiff1d(np.flatnonzero(variances > 1 + 1e-8), used)
        worst = violated[np.argsort(-variances[violated], kind="stable")[:n_new]]
        used = np.union1d(used, worst)
        if len(worst) == 0:
            units = np.clip(costs, 1e-6 * units, None)
            rescaled += 1
    return design * scale**2, proven, proof


def _variances(B: Floats, costs: Floats, U: Floats) -> Floats:
    """Return uᵀV(λ)⁺u for every row u; infinite where u is outside the range."""
    rows = (B * np.sqrt(costs)[:, None]).T
    y, *_ = np.linalg.lstsq(rows, U.T, rcond=1e-13)
    variances = (y**2).sum(axis=0)
    variances[np.abs(rows @ y - U.T).max(axis=0) > 1e-7] = math.inf
    return np.asarray(variances)


def _conic_program(B: Floats, U: Floats, units: Floats) -> tuple[Floats, Floats, Indices]:
    """Solve min Σ λ_x, Σ_x w^v_x b_x = u_v, (w^v_x)² ≤ t^v_x λ_x, Σ_x t^v_x ≤ 1.

    Returns λ, the dual vectors h, and which directions they belong to. ``units`` are guesses of λ.

    w² ≤ tλ is the second-order cone (t + λ, t − λ, 2w). With multipliers y_v of the equations and
    η_v of the sums, h_v = y_v/(2√η_v) satisfy Σ_v (b_x·h_v)² ≤ 1, and Σ_v (u_v·h_v)² is the value.
    """
    (k, r), n = B.shape, len(U)
    B = B * np.sqrt(units)[:, None]
    cells = n * k
    x, cell = np.tile(np.arange(k), n), np.arange(cells)
    lam, w, t = x, k + cell, k + cells + cell
    one = np.ones(cells)
    equations = sparse.hstack(
        [
            sparse.csc_matrix((n * r, k)),
            sparse.kron(sparse.eye(n), B.T, format="csc"),
            sparse.csc_matrix((n * r, cells)),
        ]
    )
    sums = sparse.csc_matrix((one, (cell // k, t)), shape=(n, k + 2 * cells))
    entries = np.concatenate([-one, -one, -one, one, -2 * one])
    row = np.concatenate([3 * cell, 3 * cell, 3 * cell + 1, 3 * cell + 1, 3 * cell + 2])
    column = np.concatenate([t, lam, t, lam, w])
    cones = sparse.csc_matrix((entries, (row, column)), shape=(3 * cells, k + 2 * cells))
    matrix = sparse.vstack([equations, sums, cones], format="csc")
    b = np.concatenate([U.ravel(), np.ones(n), np.zeros(3 * cells)])
    objective = np.concatenate([units, np.zeros(2 * cells)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kinds = [clarabel.ZeroConeT(n * r), clarabel.NonnegativeConeT(n)]
    kinds += [clarabel.SecondOrderConeT(3)] * cells
    none = sparse.csc_matrix((k + 2 * cells, k + 2 * cells))
    solution = clarabel.DefaultSolver(none, objective, matrix, b, kinds, settings).solve()
    costs = units * np.clip(np.array(solution.x[:k]), 0.0, None)
    z = np.array(solution.z[: n * r + n])
    if not np.isfinite(costs).all() or not np.isfinite(z).all() or costs.max() == 0.0:
        raise AccuracyError(f"the conic program of the Graves–Lai limit failed: {solution.status}.")
    eta = z[n * r :]
    (active,) = np.nonzero(eta > 1e-9 * eta.max())
    H = z[: n * r].reshape(n, r)[active] / (2 * np.sqrt(eta[active]))[:, None]
    return costs, H, active


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


def _check_kappa(kappa_star: float) -> None:
    if not (math.isfinite(kappa_star) and kappa_star >= 1):
        raise InputError(f"kappa_star must be a finite number ≥ 1; got {kappa_star}.")


def _refuse_ties(problem: BiasedLinearBandit) -> None:
    if len(problem.best_all) > 1:
        names = ", ".join(problem.actions.labels[x] for x in problem.best_all[:5])
        raise InputError(
            f"{len(problem.best_all)} options are tied for the best ({names}); this limit is for "
            "problems with one best option. Keep one of them."
        )
