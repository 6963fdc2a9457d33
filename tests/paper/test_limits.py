"""The limits of the regret: their constants phase by phase, their closed forms, their proofs."""

from __future__ import annotations

import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import evenhand as eh
from evenhand import families, limits
from evenhand.research.environments.problem import BiasedLinearBandit
from reference import kappa_gaps, kappa_star

PHASES = 200
EPS = 2.0 ** (2 - np.arange(1, PHASES + 1))


def g_phase(d: int, k: int, delta: float, s2: float) -> np.ndarray:
    """Lemma 12: at most this many rounds in the G-exploration of a group, phase by phase."""
    phase = np.arange(1, PHASES + 1)
    odds = k * phase * (phase + 1) / delta
    return 2 * (d + 1) * s2 / EPS**2 * np.log(odds) + (d + 1) * (d + 2) / 2


@given(
    st.integers(1, 12), st.floats(0.4, 14.0), st.floats(0.0, 6.0), st.sampled_from([0.05, 1.0, 7.0])
)
def test_theorem_1_covers_every_course_of_the_phases(
    d: int, log_horizon: float, log_kappa: float, sigma: float
) -> None:
    """The closed form against the sums it bounds, with the worst κ(Δ̂) that each phase allows."""
    T, kappa = 10.0**log_horizon, 10.0**log_kappa
    root = math.sqrt(kappa)
    features = np.vstack([np.eye(d), np.zeros(d)])
    features[d, 0] = -(root - 1) / (root + 1)
    actions = eh.ActionSet(features, [1] + [-1] * d)
    kappa = kappa_star(features, actions.groups)  # d = 1 with κ = 1 among them
    k, s2, delta, log_t = d + 1, sigma**2, 1 / T, math.log(T)
    crossing = (2 * kappa * s2 * log_t / T) ** (1 / 3)
    early = crossing < EPS
    # Facts (1): gaps at most 10ε and 42ε in the two groups; beyond the crossing 42ε ≤ 42·crossing.
    evaluating = float((g_phase(d, k, delta, s2) * 52 * EPS)[early].sum())
    late = 42 * crossing * T
    # A bias phase that runs passes the stopping test with some κ(Δ̂) ≤ 2κ_*.
    per_phase = np.minimum(2 * kappa, EPS**3 * T / (s2 * log_t)) / EPS**2
    phase = np.arange(1, PHASES + 1)
    price = 2 * s2 * per_phase * np.log(phase * (phase + 1) / delta) + 2 * (d + 1)
    # It runs only if both groups' evaluations of its phase fit into T.
    fits = 2 * np.ceil(g_phase(d, k, delta, s2) - (d + 1) * (d + 2) / 2) <= T
    n = max(1, int(fits.sum()))
    spent = max(price[:j].sum() + 13 / 8 * price[j - 1] for j in range(1, n + 1))
    direct = late + evaluating + spent + 4
    limit = limits.worst_case_upper(actions, T, noise_scale=sigma)
    assert limit >= direct * (1 - 1e-12)
    assert limit <= 3 * direct  # and gives not much away


def test_theorem_1_has_the_form_it_says() -> None:
    """Slope 2/3 in T and 1/3 in κ_*, and the constants of the docstring."""
    low, high = (families.worst_case(2, kappa, 1e9)[0].actions for kappa in (1.0, 64.0))
    T, n, log_t = 1e30, 50, math.log(1e30)  # ⌊log₄ 1e30⌋ = 49
    leading = T ** (2 / 3) * log_t ** (1 / 3)
    expected = leading * (53 + 10 * math.log(n * (n + 1) * T) / log_t)
    assert limits.worst_case_upper(low, T) == pytest.approx(expected, rel=0.01)
    assert limits.worst_case_upper(high, T) / limits.worst_case_upper(low, T) == pytest.approx(
        4.0, rel=1e-6
    )
    ratio = limits.worst_case_upper(low, 8 * T) / limits.worst_case_upper(low, T)
    assert ratio == pytest.approx(4.0, rel=0.02)
    # In other units the same: the value bound scales the regret.
    assert limits.worst_case_upper(low, 1e8, noise_scale=3.0, value_bound=3.0) == pytest.approx(
        3 * limits.worst_case_upper(low, 1e8)
    )
    # A larger δ: shorter phases, and 4δT for the failures.
    surely, likely = (limits.worst_case_upper(low, 1e8, delta=delta) for delta in (1e-8, 0.01))
    log_t = math.log(1e8)
    bias = 2 * 2 ** (1 / 3) * (7 / 3 + 13 / 8) * (1e8 / log_t) ** (2 / 3)
    evaluating = 208 * 3 * (1e8 / (2 * log_t)) ** (1 / 3)
    shorter = (bias + evaluating) * math.log(0.01 / 1e-8)
    assert (surely - 4) - (likely - 4e6) == pytest.approx(shorter, rel=1e-9)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.floats(1.0, 14.0),
    st.sampled_from([0.1, 1.0, 5.0]),
)
@settings(max_examples=40)
def test_theorem_2_covers_every_course_of_the_phases(
    seed: int, d: int, log_horizon: float, sigma: float
) -> None:
    T, s2 = 10.0**log_horizon, sigma**2
    problem = families.random(3 * d, d, seed, noise_scale=sigma)
    k, delta, log_t = 3 * d, 1 / T, math.log(T)
    # Groups are evaluated while a gap is possible: 10ε > Δ_min, and ε > Δ_≠/16 for the other one.
    rounds = g_phase(d, k, delta, s2)
    possible = 1 + int((np.ceil(rounds - (d + 1) * (d + 2) / 2) <= T).sum())
    own = (problem.delta_min < 10 * EPS) & (np.arange(PHASES) < possible)
    other = (problem.delta_neq < 16 * EPS) & (np.arange(PHASES) < possible)
    direct = float((rounds * 10 * EPS)[own].sum() + (rounds * 42 * EPS)[other].sum())
    # κ(Δ̂^l) ≤ 17κ(Δ ∨ ε_l), phase by phase; then an interruption or recovery.
    phases = np.flatnonzero(problem.delta_neq < 16 * EPS)[: possible + 1]
    sizes = np.array([eh.kappa(problem.actions, np.maximum(problem.gaps, EPS[j])) for j in phases])
    per_phase = 17 * sizes / EPS[phases] ** 2
    price = 2 * s2 * per_phase * np.log((phases + 1) * (phases + 2) / delta) + 2 * (d + 1)
    price = price[: max(1, possible)]
    recovery = 21 * s2 * per_phase[: len(price)] * log_t
    courses = [
        price[: j + 1].sum() + max(13 / 8 * price[j], recovery[j] - price[j])
        for j in range(len(price))
    ]
    limit = limits.gap_dependent_upper(problem, T)
    assert limit >= (direct + max(courses) + 4) * (1 - 1e-12)


def test_theorem_2_has_the_form_it_says() -> None:
    problem = families.gap_dependent(4, 4.0, 0.05, 0.1)[0]
    gaps = np.maximum(problem.gaps, 0.1)
    price = kappa_gaps(problem.actions.features, problem.actions.groups, gaps) / 0.1**2
    T = 1e12
    n, log_t = 20, math.log(T)  # ⌊log₄ 1e12⌋ = 19
    log_n = math.log(n * (n + 1) * T)
    expected = (
        5 * (400 / 0.05 + 2688 / 0.1) * math.log(5 * (n + 1) * (n + 2) * T)
        + 104 * 5 * 6
        + 2 * 5 * (n + 13 / 8)
        + 4
        + price * (11628 * log_n + max(14144 * log_n, 91392 * log_t))
    )
    assert limits.gap_dependent_upper(problem, T) == pytest.approx(expected, rel=1e-9)
    # In other units the same.
    scaled = BiasedLinearBandit(
        problem.actions, 3 * problem.gamma, 3 * np.asarray(problem.omega), 3.0
    )
    assert limits.gap_dependent_upper(scaled, T, value_bound=3.0) == pytest.approx(3 * expected)
    with pytest.raises(eh.InputError, match="beyond value_bound = 1"):
        limits.gap_dependent_upper(scaled, T)


def test_theorem_3() -> None:
    assert limits.worst_case_lower(8.0, 1e9) == pytest.approx(2 * 1e6 / (8 * math.e))
    with pytest.raises(eh.InputError, match="at least 64κ_"):
        limits.worst_case_lower(4.0, 255)


@pytest.mark.parametrize("d", [4, 5, 9])
@pytest.mark.parametrize("kappa", [1.0, 4.0, 100.0])
@pytest.mark.parametrize("gaps", [(0.01, 0.12), (0.1, 0.1), (0.001, 0.05)])
def test_theorem_4_and_its_limit(d: int, kappa: float, gaps: tuple[float, float]) -> None:
    """R/log T tends to [d/(10Δ_min)] ∨ [(κ_*+1)/(4Δ_≠²)], which Graves–Lai is never below."""
    delta_min, delta_neq = gaps
    rate = max(d / (10 * delta_min), (kappa + 1) / (4 * delta_neq**2))
    T = 1e300
    lower = limits.gap_dependent_lower(d, kappa, delta_min, delta_neq, T) / math.log(T)
    assert 0.93 * rate <= lower <= rate
    problems = families.gap_dependent(d, kappa, delta_min, delta_neq)
    assert max(limits.graves_lai(problem).bound for problem in problems) >= rate
    # The third term holds before the logarithm does.
    T = 20 * 8 * kappa / delta_neq**3
    early = limits.gap_dependent_lower(d, kappa, delta_min, delta_neq, T)
    assert early >= kappa / (4 * delta_neq**2)
    assert limits.gap_dependent_lower(d, kappa, delta_min, delta_neq, 2) == 0.0


@pytest.mark.parametrize("d", [2, 3])
def test_theorem_4_for_small_d(d: int) -> None:
    T = 1e30
    within = (d - 1) / 0.02 * (math.log(T) - math.log(8 * d * math.log(T) / 0.01**2))
    assert limits.gap_dependent_lower(d, 2.0, 0.01, 0.12, T) == pytest.approx(within)
    between = 17 / 0.04 * (math.log(T) - math.log(128 * math.log(T) / 0.001))
    assert limits.gap_dependent_lower(d, 16.0, 0.1, 0.1, T) == pytest.approx(between)
    with pytest.raises(eh.InputError, match="delta_min ≤ delta_neq"):
        limits.gap_dependent_lower(d, 16.0, 0.2, 0.1, T)


@pytest.mark.parametrize(
    ("c", "d", "kappa", "expected"), [(1.0, 2, 1.0, 4686), (3.0, 2, 1.0, 4346), (3.0, 5, 4.0, 5544)]
)
def test_two_point_numbers(c: float, d: int, kappa: float, expected: float) -> None:
    pair = families.worst_case(d, kappa, 1e6, c)
    assert round(limits.two_point(*pair, horizon=1e6)) == expected
    assert limits.two_point(*pair[::-1], horizon=1e6) == limits.two_point(*pair, horizon=1e6)


@given(st.floats(1.0, 4.0), st.floats(0.5, 4.0), st.floats(3.5, 12.0), st.floats(0.2, 5.0))
def test_two_point_is_the_least_over_thresholds(
    kappa: float, c: float, log_horizon: float, sigma: float
) -> None:
    T = 10.0**log_horizon
    pair = [
        BiasedLinearBandit(p.actions, p.gamma, p.omega, sigma)
        for p in families.worst_case(3, kappa, T, c)
    ]
    rho = c * (kappa / T) ** (1 / 3)
    s = 2 / (math.sqrt(kappa) + 1) * rho / sigma
    price = min(problem.gaps[3] for problem in pair) - rho
    A = np.geomspace(1e-6, 60, 20001)
    curve = 2 * price / s**2 * A * np.tanh(A / 2) + T * rho / (1 + np.exp(A))
    limit = limits.two_point(*pair, horizon=T)
    assert limit <= min(curve.min(), T * rho / 2) * (1 + 1e-12)
    assert limit >= min(curve.min(), T * rho / 2) * (1 - 1e-4)
    assert sigma != 1.0 or limit >= limits.worst_case_lower(kappa, T)


def bayes_regret(first: BiasedLinearBandit, second: BiasedLinearBandit, horizon: int) -> float:
    """Least mean regret of all policies on a pair told apart by the last option, d = 2.

    Backward induction over the rounds left and the log-likelihood ratio, on a grid.
    """
    shift = float(first.evaluations[2] - second.evaluations[2])
    grid = np.arange(-9.0, 9.0, 0.03)
    q = 1 / (1 + np.exp(-grid))  # probability of the first problem
    drift = shift**2 / 2
    law = sum(
        weight[:, None] * norm.pdf(grid[None] - grid[:, None], mean, abs(shift))
        for weight, mean in ((q, drift), (1 - q, -drift))
    )
    law /= law.sum(axis=1, keepdims=True)
    costs = np.outer(q, first.gaps) + np.outer(1 - q, second.gaps)
    value = np.zeros(len(grid))
    for _ in range(horizon):
        value = np.minimum(costs[:, :2].min(axis=1) + value, costs[:, 2] + law @ value)
    return float(value[np.argmin(np.abs(grid))])


@pytest.mark.parametrize(("kappa", "c"), [(1.0, 1.0), (1.0, 3.0), (4.0, 2.0)])
def test_two_point_is_below_the_best_policy_of_all(kappa: float, c: float) -> None:
    """The exact Bayes-optimal policy, by dynamic programming, is above the limit and near it."""
    T = 2000
    pair = families.worst_case(2, kappa, T, c)
    optimum = bayes_regret(*pair, T)
    limit = limits.two_point(*pair, horizon=T)
    assert limit <= optimum * 1.001  # the grid's error
    assert optimum <= 1.4 * limit


def test_two_point_edges() -> None:
    first, second = families.worst_case(2, 4.0, 1e6)
    problems = families.gap_dependent(4, 4.0, 0.05, 0.1)
    with pytest.raises(eh.InputError, match=r"evaluations of 2 options differ.*x2, x4"):
        limits.two_point(problems[0], problems[1], 1e6)
    assert limits.two_point(problems[0], problems[2], 1e6) > 0
    other = families.worst_case(2, 9.0, 1e6)[0]
    with pytest.raises(eh.InputError, match="same options"):
        limits.two_point(first, other, 1e6)
    # Without the telling option nothing can be learnt: half the rounds are lost.
    blind = eh.ActionSet(first.actions.features[:2], [1, -1])
    pair = [BiasedLinearBandit(blind, p.gamma, p.omega) for p in (first, second)]
    assert limits.two_point(*pair, horizon=1e6) == pytest.approx(1e6 * first.delta_min / 2)
    # The same problem twice: nothing to lose.
    assert limits.two_point(first, first, 1e6) == 0.0


def conic_reference(problem: BiasedLinearBandit) -> float:
    """The limit as a semidefinite program, with a_{x*} eliminated: a_x ≡ (x − z_x z_* x*; 0)."""
    x, z, star = problem.actions.features, problem.actions.groups, problem.best
    rows = x - np.outer(z * z[star], x[star])
    rivals = np.flatnonzero(problem.gaps > 0)
    costs = cp.Variable(len(rivals), nonneg=True)
    units = rows[rivals] / np.sqrt(problem.gaps[rivals])[:, None]
    V = units.T @ cp.diag(costs) @ units
    room = np.array([[1 / (2 * problem.noise_scale**2)]])
    constraints = []
    for rival in rivals:
        v = ((x[star] - x[rival]) / problem.gaps[rival])[:, None]
        constraints.append(cp.bmat([[V, v], [v.T, room]]) >> 0)
    program = cp.Problem(cp.Minimize(cp.sum(costs)), constraints)
    program.solve(solver=cp.CLARABEL)
    return float(program.value)


@pytest.mark.parametrize("seed", range(8))
def test_graves_lai_agrees_with_a_semidefinite_program(seed: int) -> None:
    problem = families.random(6 + seed, 2 + seed % 3, seed, noise_scale=0.5 + 0.25 * seed)
    limit = limits.graves_lai(problem)
    assert limit.verify()
    assert limit.gap <= 1e-6
    assert limit.value == pytest.approx(conic_reference(problem), rel=1e-4)


@pytest.mark.parametrize("kappa", [1.0, 4.0, 100.0])
@pytest.mark.parametrize("T", [1e4, 1e6, 1e12])
def test_graves_lai_of_the_worst_case_pair(kappa: float, T: float) -> None:
    """d = 2: three points are a basis, so weights are unique, and x_2 is the rival that binds.

    (x_1 − x_2; 0) ≡ −a_2 + (2/α)a_3 modulo a_1 costs 2(√Δ_2 + (2/α)√Δ_3)²/Δ_2².
    """
    first = families.worst_case(2, kappa, T * kappa)[0]
    a = 2 / (math.sqrt(kappa) + 1)
    _, gap, dear = np.sqrt(first.gaps)
    total = gap + 2 / a * dear
    limit = limits.graves_lai(first)
    assert limit.value == pytest.approx(2 * total**2 / gap**4, rel=1e-6)
    expected = [math.inf, 2 * total / gap**5, 2 * total * 2 / a / dear / gap**4]
    assert limit.allocation.tolist() == pytest.approx(expected, rel=1e-4)
    assert np.flatnonzero(limit.design.certificate.dual.any(axis=1)).tolist() == [0]
    assert limit.verify()


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_graves_lai_without_bias_is_the_classical_limit(sigma: float) -> None:
    """Unit vectors of one group, known by pulls of their own: Σ 2σ²/Δ_x.

    The option of the other group has a twin's worth of room: it costs 2σ²(√Δ)²/Δ² by itself too.
    """
    actions = eh.ActionSet(np.vstack([np.eye(4), np.zeros(4)]), [1, 1, 1, 1, -1])
    problem = BiasedLinearBandit(actions, [0.9, 0.7, 0.5, 0.8], omega=-0.4, noise_scale=sigma)
    # The last option is e alone: (x_1; 0) = a_1 + a_5 modulo a_1 is a_5.
    gaps = np.array([0.2, 0.4, 0.1, 0.9])
    limit = limits.graves_lai(problem)
    assert limit.value == pytest.approx(float((2 * sigma**2 / gaps).sum()), rel=1e-6)
    assert limit.allocation[1:].tolist() == pytest.approx(
        (2 * sigma**2 / gaps**2).tolist(), rel=1e-4
    )


def test_graves_lai_does_not_depend_on_coordinates() -> None:
    problem = families.random(12, 3, 5)
    turn = np.array([[2.0, 1.0, 0.0], [0.0, 1e-4, 3.0], [1.0, 0.0, 1e3]])
    turned = BiasedLinearBandit(
        eh.ActionSet(problem.actions.features @ turn, problem.actions.groups),
        np.linalg.solve(turn, problem.gamma),
        problem.omega,
    )
    limit = limits.graves_lai(turned)
    assert limit.verify()
    assert limit.value == pytest.approx(limits.graves_lai(problem).value, rel=1e-5)


def several_attributes() -> BiasedLinearBandit:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, size=(14, 2)).astype(float)
    actions = eh.ActionSet(rng.standard_normal((14, 3)), attributes=z)
    return BiasedLinearBandit(actions, rng.standard_normal(3) / 4, [0.3, -0.8])


def many_rivals(seed: int) -> BiasedLinearBandit:
    """Far more rivals than the conic program starts with, with gaps of all sizes."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.01, np.pi, 90)
    features = np.column_stack([np.cos(angle), np.sin(angle), rng.standard_normal(90)])
    actions = eh.ActionSet(features, rng.choice([-1, 1], 90))
    return BiasedLinearBandit(actions, [0.6, 0.3, 0.01], omega=0.2)


@pytest.mark.parametrize(
    "problem",
    [
        several_attributes(),
        *map(many_rivals, range(4)),
        # κ = 1e6 against easy rivals: λ of some options is 1e-9 of the whole, and still needed
        *families.worst_case(5, 1e6, 1e12, c=3.0),
    ],
)
def test_graves_lai_of_hard_problems(problem: BiasedLinearBandit) -> None:
    limit = limits.graves_lai(problem)
    assert limit.verify()
    assert limit.gap <= 1e-6


def test_a_false_graves_lai_proof_is_found_out() -> None:
    limit = limits.graves_lai(families.random(10, 3, 2))
    assert limit.verify()
    design, proof = limit.design, limit.design.certificate
    points = limit.problem.actions.points
    other = limits.graves_lai(families.random(10, 3, 3)).design
    for false, complaint in [
        (replace(design, certificate=replace(proof, dual=1.01 * proof.dual)), "times its cost"),
        (replace(design, certificate=replace(proof, bound=1.01 * proof.bound)), "its dual proves"),
        (replace(design, mass=0.99 * design.mass), "variance"),
        (replace(design, value=1.01 * design.value), "its value"),
        (replace(design, weights=np.eye(9)[0]), "variance"),
        (replace(design, weights=-design.weights), "negative"),
        # A part along a_{x*} is free for every rival's direction, and worth nothing.
        (
            replace(
                design,
                certificate=replace(proof, dual=0.9 * proof.dual + points[limit.problem.best]),
            ),
            "its dual proves",
        ),
        (other, "not for this problem"),
    ]:
        false = replace(limit, design=false)  # noqa: PLW2901
        finding = false.verify()
        assert not finding
        assert any(complaint in reason for reason in finding.reasons), finding.reasons


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 8))
@settings(max_examples=30)
def test_no_allocation_beats_the_graves_lai_bound(seed: int, d: int, extra: int) -> None:
    """Random pulls, scaled until they tell every rival apart, cost at least the bound."""
    problem = families.random(d + 1 + extra, d, seed)
    limit = limits.graves_lai(problem)
    assert limit.verify()
    rng = np.random.default_rng(seed)
    A, star = problem.actions.points, problem.best
    V = A[star] - A
    V[:, d:] = 0.0
    rivals = np.arange(len(A)) != star
    for _ in range(20):
        mu = rng.exponential(size=len(A)) ** 3 + 1e-3
        mu[rivals] *= np.where(rng.random() < 0.5, limit.allocation[rivals] + 1e-3, 1.0)
        mu[star] *= 1e3
        information = A.T @ (mu[:, None] * A)
        variance = (V @ np.linalg.inv(information) * V).sum(axis=1)[rivals]
        needed = (2 * variance / problem.gaps[rivals] ** 2).max()
        assert needed * float(mu @ problem.gaps) >= limit.bound * (1 - 1e-9)


def test_graves_lai_refuses_ties_and_confounded_groups() -> None:
    tied = BiasedLinearBandit(eh.ActionSet([[1.0], [1.0]], [1, -1]), [1.0], 0.2)
    with pytest.raises(eh.InputError, match="2 options are tied for the best"):
        limits.graves_lai(tied)
    with pytest.raises(eh.InputError, match="2 options are tied for the best"):
        limits.gap_dependent_upper(tied, 1e6)
    features = [[1.0, 1.0], [1.0, 2.0], [-1.0, 0.5]]  # the first feature is the group
    confounded = BiasedLinearBandit(eh.ActionSet(features, [1, 1, -1]), [0.1, 0.3], 0.1)
    with pytest.raises(eh.NotIdentifiableError, match="from the best, 'option 2'"):
        limits.graves_lai(confounded)


@pytest.mark.parametrize("horizon", [1, 0, -5, math.nan, math.inf])
def test_bad_horizons_are_refused(horizon: float) -> None:
    problem = families.random(6, 2, 0)
    for limit in (
        lambda: limits.worst_case_upper(problem.actions, horizon),
        lambda: limits.gap_dependent_upper(problem, horizon),
        lambda: limits.worst_case_lower(1.0, horizon),
        lambda: limits.gap_dependent_lower(4, 1.0, 0.1, 0.1, horizon),
    ):
        with pytest.raises(eh.InputError, match="horizon"):
            limit()
    with pytest.raises(eh.InputError, match="delta must lie"):
        limits.worst_case_upper(problem.actions, 100, delta=0.0)
    with pytest.raises(eh.InputError, match="noise_scale"):
        limits.worst_case_upper(problem.actions, 100, noise_scale=-1.0)
