"""The references against closed forms, against one another and against plain floating point."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from instances import (
    BIASES,
    DIRECTIONS,
    SPREADS,
    Bias,
    Direction,
    Spread,
    gap_parameter,
    gap_problem,
    separated,
)
from reference import (
    Floats,
    UnprovedError,
    alpha_lower,
    alpha_value,
    bias_points,
    design_variance,
    elfving_value,
    exact_rank,
    g_optimal_check,
    minimax_value,
    proved,
    worst_case_regret,
)


def costs_of(instance: Bias | Direction) -> Floats | None:
    return instance.gaps if isinstance(instance, Bias) else instance.costs


ESTIMATION = [*BIASES, *DIRECTIONS]
CLOSED = [instance for instance in ESTIMATION if instance.value is not None]


def by_name(instance: Bias | Direction | Spread) -> str:
    return instance.name


@pytest.mark.parametrize("instance", CLOSED, ids=by_name)
def test_exact_simplex_meets_the_closed_form(instance: Bias | Direction) -> None:
    found = elfving_value(instance.points, instance.direction, costs_of(instance))
    # 1e-10 covers the rounding of coordinates such as −(1 − 2/(√κ + 1)) for κ = 1e9.
    assert found.kappa == pytest.approx(instance.value, rel=1e-10, abs=0)


@pytest.mark.parametrize("instance", ESTIMATION, ids=by_name)
def test_bracket_is_tight_and_its_design_attains_it(instance: Bias | Direction) -> None:
    costs = costs_of(instance)
    found = elfving_value(instance.points, instance.direction, costs)
    assert found.lower <= found.upper
    assert (found.upper - found.lower) * 10**30 <= found.upper
    price = np.ones(len(instance.points)) if costs is None else costs
    if found.kappa == 0 or np.any(price == 0):
        return  # the optimum is not attained: free points want infinite mass
    # μ = |w|√κ/√cost has variance 1 (Elfving) and costs κ; the variance is another route.
    w = np.array([float(value) for value in found.coefficients])
    masses = np.abs(w) * math.sqrt(found.kappa) / np.sqrt(price)
    variance = design_variance(instance.points, masses, instance.direction)
    assert variance.value == pytest.approx(1.0, rel=1e-9)
    assert float(masses @ price) == pytest.approx(found.kappa, rel=1e-12)


@pytest.mark.parametrize(
    "instance", [i for i in DIRECTIONS if i.name.startswith("Gaussian 60")], ids=by_name
)
def test_exact_simplex_agrees_with_highs_on_tame_data(instance: Direction) -> None:
    if "scales" in instance.name or "lengths" in instance.name or "tiny" in instance.name:
        instance = replace(instance, points=instance.points / np.abs(instance.points).max(axis=0))
    A, c = instance.points, instance.direction
    root = np.sqrt(np.ones(len(A)) if instance.costs is None else instance.costs)
    solution = linprog(-c, A_ub=np.vstack([A, -A]), b_ub=np.r_[root, root], bounds=(None, None))
    found = elfving_value(A, c, instance.costs)
    assert solution.fun**2 == pytest.approx(found.kappa, rel=1e-6, abs=1e-12)


def test_a_wrong_dual_or_estimator_is_refused() -> None:
    A, c = np.eye(2), np.array([1.0, 1.0])
    one = [Fraction(1)] * 2
    costs = [Fraction(1)] * 2
    exact = [Fraction(1), Fraction(1)]
    assert proved(A, exact, costs, one, one).kappa == pytest.approx(4.0, rel=1e-15)
    with pytest.raises(UnprovedError, match="misses"):
        proved(A, exact, costs, [Fraction(1), Fraction(1, 2)], one)
    with pytest.raises(UnprovedError, match="not tight"):
        proved(A, exact, costs, one, [Fraction(2), Fraction(1, 2)])
    with pytest.raises(UnprovedError, match="free point"):
        proved(A, exact, [Fraction(0), Fraction(1)], one, one)
    assert elfving_value(A, c).kappa == 4.0


@pytest.mark.parametrize("instance", SPREADS, ids=by_name)
def test_known_designs_pass_kiefer_wolfowitz(instance: Spread) -> None:
    rank = exact_rank(instance.points)
    assert (rank == instance.rank) is instance.exact_rank
    if instance.weights is not None:
        check = g_optimal_check(instance.points, instance.weights)
        assert check.rank == instance.rank
        assert abs(check.gap) < 1e-14
        on_support = check.leverages[instance.weights > 0]
        np.testing.assert_allclose(on_support, instance.rank, rtol=1e-13)


def test_leverages_agree_with_floating_point_and_are_not_fooled() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 4))
    weights = rng.dirichlet(np.ones(50))
    V = A.T @ (weights[:, None] * A)
    plain = np.einsum("xi,ij,xj->x", A, np.linalg.inv(V), A)
    np.testing.assert_allclose(g_optimal_check(A, weights).leverages, plain, rtol=1e-11)
    # Σ π_x leverage_x is the rank for every design, and leverage ignores the units.
    check = g_optimal_check(A * [1e-6, 1.0, 1e3, 1e6], weights)
    assert float(weights @ check.leverages) == pytest.approx(4.0, rel=1e-13)
    np.testing.assert_allclose(check.leverages, plain, rtol=1e-9)
    few = np.zeros(50)
    few[:3] = 1 / 3
    assert math.isinf(g_optimal_check(A, few).gap)


def test_variance_agrees_with_floating_point_and_reports_what_it_had_to_bend() -> None:
    rng = np.random.default_rng(1)
    A, c = rng.standard_normal((20, 3)), rng.standard_normal(3)
    masses = rng.exponential(size=20)
    V = A.T @ (masses[:, None] * A)
    found = design_variance(A, masses, c)
    assert found.value == pytest.approx(float(c @ np.linalg.solve(V, c)), rel=1e-11)
    assert found.backward_error == 0
    np.testing.assert_allclose(found.coefficients @ A, c, rtol=1e-12)
    two = np.zeros(20)
    two[[3, 7]] = 0.5
    inside = A[3] / 3 + A[7] / 7  # in their span, up to rounding
    near = design_variance(A, two, inside)
    assert 0 < near.backward_error < 1e-15
    assert near.value == pytest.approx(2 / 9 + 2 / 49, rel=1e-12)
    assert design_variance(A, two, c).backward_error > 1e-3
    assert math.isinf(design_variance(A, np.zeros(20), c).value)


# ---------------------------------------------------------------- α and κ̃


@pytest.mark.parametrize("seed", range(4))
def test_alpha_bounds_its_defining_ratio(seed: int) -> None:
    """The paper's ratio at many u stays below α, and at the best pair's dual vector reaches it."""
    x, z = separated(9, 2, 0.5, seed)
    alpha = alpha_value(x, z)
    rng = np.random.default_rng(seed)
    sampled = max(alpha_lower(x, z, u) for u in 3 * rng.standard_normal((2000, 2)))
    assert sampled <= alpha * (1 + 1e-12)
    A, _ = bias_points(x, z)
    reached = 0.0
    for i in range(9):
        for j in range(9):
            direction = np.append(x[i] - x[j], 0.0)
            dual = np.array([float(v) for v in elfving_value(A, direction).dual])
            if dual[-1] != 0:
                reached = max(reached, alpha_lower(x, z, dual[:-1] / dual[-1]))
    assert reached == pytest.approx(alpha, rel=1e-9)


def test_worst_case_regret_against_sampled_parameters() -> None:
    rng = np.random.default_rng(5)
    X, mu = rng.standard_normal((8, 2)), rng.exponential(size=8)
    worst = worst_case_regret(X, mu)
    best = 0.0
    for angle in np.linspace(0, 2 * np.pi, 4001):
        gamma = np.array([math.cos(angle), math.sin(angle)])
        gamma /= np.abs(X @ gamma).max()
        values = X @ gamma
        best = max(best, float(mu @ (values.max() - values)))
    assert best <= worst * (1 + 1e-12)
    assert best == pytest.approx(worst, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_minimax_bracket_is_tight(seed: int) -> None:
    x, z = separated(10, 2 + seed % 2, 0.4, seed)
    found = minimax_value(x, z)
    assert found.lower <= found.upper * (1 + 1e-12)
    assert found.upper == pytest.approx(found.lower, rel=1e-6)
    A, e = bias_points(x, z)
    assert design_variance(A, found.masses, e).value == pytest.approx(1.0, rel=1e-9)
    assert worst_case_regret(x, found.masses) == pytest.approx(found.upper, rel=1e-9)
    # Any other design of variance one has a worse worst case: the bias-optimal one, for instance.
    w = np.abs([float(value) for value in elfving_value(A, e).coefficients])
    assert worst_case_regret(x, w * w.sum()) >= found.lower * (1 - 1e-9)


# ---------------------------------------------------------------- families


def test_gap_problems_have_the_paper_s_best_action_and_gaps() -> None:
    for problem in range(1, 5):
        instance = gap_problem(6, 9.0, problem)
        assert instance.gaps is not None
        best = int(np.argmin(instance.gaps))
        assert best == problem - 1
        others = np.delete(instance.gaps, best)
        assert others.min() == pytest.approx(1 / 16)
        z = np.array(instance.groups)
        assert instance.gaps[z != z[best]].min() == pytest.approx(1 / 8)
        assert np.abs(instance.features @ gap_parameter(6, 1 / 16, 1 / 8, problem)).max() <= 1
