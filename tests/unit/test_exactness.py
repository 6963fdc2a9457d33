"""Every solver on every hard instance: closed forms, exact references, optimality conditions.

The conditions (Elfving, Kiefer–Wolfowitz) are recomputed from the design and the points in exact
arithmetic; nothing a solver says about its own result is believed.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import NotIdentifiableError
from instances import (
    BIASES,
    DIRECTIONS,
    HOPELESS,
    HOPELESS_DIRECTIONS,
    SPREADS,
    Bias,
    Direction,
    Spread,
    cube_slab,
    separated,
)
from reference import (
    Elfving,
    Floats,
    GCheck,
    Variance,
    bias_points,
    design_variance,
    elfving_value,
    g_optimal_check,
    minimax_value,
    worst_case_regret,
)

Problem = Bias | Direction
PROBLEMS: dict[str, Problem] = {
    f"{type(problem).__name__}: {problem.name}": problem for problem in [*BIASES, *DIRECTIONS]
}
SPREADS_BY_NAME = {spread.name: spread for spread in SPREADS}
EPS = float(np.finfo(np.float64).eps)


def prices(problem: Problem) -> Floats:
    given = problem.gaps if isinstance(problem, Bias) else problem.costs
    return np.ones(len(problem.points)) if given is None else given


def fresh_design(problem: Problem) -> eh.designs.Design:
    if isinstance(problem, Direction):
        costs = None if problem.costs is None else problem.costs.copy()
        return eh.c_optimal_design(problem.points.copy(), problem.direction.copy(), costs)
    actions = eh.ActionSet(problem.features, problem.groups)
    if problem.gaps is None:
        return eh.bias_optimal_design(actions)
    return eh.delta_optimal_design(actions, problem.gaps)


@cache
def solved(name: str) -> eh.designs.Design:
    return fresh_design(PROBLEMS[name])


@cache
def expected(name: str) -> Elfving:
    problem = PROBLEMS[name]
    return elfving_value(problem.points, problem.direction, prices(problem))


def variance_of(problem: Problem, masses: Floats) -> Variance:
    """The exact variance; a weight that is all rounding (below 1e-14) counts as none if it may."""
    kept = np.where(masses < 1e-14 * masses.max(), 0.0, masses)
    trimmed = design_variance(problem.points, kept, problem.direction)
    if trimmed.backward_error <= 1e-12:
        return trimmed
    return design_variance(problem.points, masses, problem.direction)


def attained(name: str) -> bool:
    """Whether an optimal design exists: free points in the support want infinite mass."""
    return bool(np.all(prices(PROBLEMS[name])[solved(name).weights > 0] > 0))


def exact_products(points: Floats, u: Floats | list[Fraction]) -> list[Fraction]:
    exact_u = [Fraction(value) for value in u]
    return [
        sum((Fraction(float(a)) * b for a, b in zip(row, exact_u, strict=True)), Fraction(0))
        for row in points
    ]


def value_is_exact(name: str) -> None:
    problem, design = PROBLEMS[name], solved(name)
    floor = 1e-14 * prices(problem).max() if expected(name).kappa == 0 else 0.0
    assert design.value == pytest.approx(expected(name).kappa, rel=problem.tolerance, abs=floor)
    if problem.value is not None:
        assert design.value == pytest.approx(problem.value, rel=problem.tolerance, abs=floor)
    if isinstance(problem, Bias):
        actions, gaps = eh.ActionSet(problem.features, problem.groups), problem.gaps
        found = eh.bias_geometry(actions).kappa_star if gaps is None else eh.kappa(actions, gaps)
        floor = 1e-14 * prices(problem).max()
        assert found == pytest.approx(expected(name).kappa, rel=problem.tolerance, abs=floor)


def weights_are_a_small_design(name: str) -> None:
    problem, design = PROBLEMS[name], solved(name)
    assert design.weights.shape == (len(problem.points),)
    assert (design.weights >= 0).all()
    assert float(design.weights.sum()) == pytest.approx(1.0, abs=1e-12)
    assert len(design.support) <= problem.points.shape[1]
    np.testing.assert_array_equal(design.support, np.flatnonzero(design.weights > 0))
    assert design.criterion == "c"


def design_attains_its_value(name: str) -> None:
    """μ = mass·π has variance one and costs the value; without costs, π's variance is the value."""
    problem, design = PROBLEMS[name], solved(name)
    masses = design.mass * design.weights
    variance = variance_of(problem, masses)
    assert variance.backward_error <= 1e-10
    cost = float(masses @ prices(problem))
    if attained(name):
        assert variance.value == pytest.approx(1.0, rel=problem.tolerance)
        assert cost == pytest.approx(design.value, rel=problem.tolerance)
    else:
        # The value is an infimum: the design is sound, and not cheaper than the infimum.
        assert variance.value <= 1 + problem.tolerance
        assert cost >= design.value * (1 - problem.tolerance)
    given = problem.gaps if isinstance(problem, Bias) else problem.costs
    if given is None:
        alone = variance_of(problem, design.weights)
        assert alone.value == pytest.approx(design.value, rel=problem.tolerance)


def direction_is_on_the_boundary_of_elfvings_set(name: str) -> None:
    """The least-squares coefficients are Elfving's: |w_x| = mass·π_x·√cost_x/√value on the support.

    With Σ w a = c this is t·c = Σ π ζ a, and Σ√cost|w| = √value puts it on the boundary.
    """
    problem, design = PROBLEMS[name], solved(name)
    if not attained(name) or design.value == 0:
        return
    w = variance_of(problem, design.mass * design.weights).coefficients
    root = np.sqrt(prices(problem))
    wanted = design.mass * design.weights * root / math.sqrt(design.value)
    assert float(root @ np.abs(w)) ** 2 == pytest.approx(design.value, rel=problem.tolerance)
    np.testing.assert_allclose(root * np.abs(w), root * wanted, atol=1e-6 * math.sqrt(design.value))


def dual_vector_proves_the_bound(name: str) -> None:
    """|a·u| ≤ √cost at every point, (c·u)² is the bound, and the bound reaches the value.

    A dual vector of floats can be feasible only up to the rounding of its products.
    """
    problem, design = PROBLEMS[name], solved(name)
    certificate = design.certificate
    u = np.asarray(certificate.dual, dtype=np.float64)
    root = np.sqrt(prices(problem))
    rounding = 64 * EPS * (np.abs(problem.points) @ np.abs(u))
    reach = np.array([float(abs(value)) for value in exact_products(problem.points, u)])
    assert (reach <= root * (1 + 1e-9) + rounding).all()
    gain = exact_products(problem.direction[None, :], u)[0]
    slack = 64 * EPS * float(np.abs(problem.direction) @ np.abs(u))
    assert abs(float(gain)) == pytest.approx(math.sqrt(certificate.bound), rel=1e-9, abs=slack)
    assert certificate.value == design.value
    paid = root > 0
    unsure = 2 * float((rounding[paid] / root[paid]).max(initial=0.0))
    assert certificate.gap <= problem.tolerance + unsure
    assert certificate.bound <= expected(name).kappa * (1 + problem.tolerance) + 1e-300
    # Complementary slackness, where a weight is more than rounding.
    heavy = design.weights > 1e-5
    loose = np.abs(reach - root)[heavy]
    assert (loose <= 1e-6 * root[heavy] + rounding[heavy]).all()


def rounding_keeps_the_promise_of_lemma_c_opt(name: str) -> None:
    problem, design = PROBLEMS[name], solved(name)
    alone = variance_of(problem, design.weights).value
    for n in (1, 10, 997):
        counts = np.asarray(design.counts(pulls=n))
        assert np.issubdtype(counts.dtype, np.integer)
        assert counts.sum() <= n + len(design.support)
        assert (counts[design.weights == 0] == 0).all()
        assert variance_of(problem, counts.astype(float)).value <= alone / n * (1 + 1e-9)
        if design.mass * n < 1e15:
            counts = np.asarray(design.counts(precision=n))
            assert counts.sum() <= n * design.mass * (1 + 1e-12) + len(design.support)
            found = variance_of(problem, counts.astype(float)).value
            assert found <= (1 + problem.tolerance) / n


def same_input_gives_the_same_bits(name: str) -> None:
    first, second = solved(name), fresh_design(PROBLEMS[name])
    assert first.weights.tobytes() == second.weights.tobytes()
    assert (first.value, first.mass) == (second.value, second.mass)
    one, other = np.asarray(first.certificate.dual), np.asarray(second.certificate.dual)
    assert one.tobytes() == other.tobytes()


def verify_accepts_the_design_and_refuses_forgeries(name: str) -> None:
    problem, design = PROBLEMS[name], solved(name)
    points = problem.points
    assert design.verify(points)
    assert not dataclasses.replace(design, weights=0.9 * design.weights).verify(points)
    moved = design.weights.copy()
    moved[design.support[0]] = -moved[design.support[0]]
    assert not dataclasses.replace(design, weights=moved).verify(points)
    if design.value == 0:
        return
    assert not design.verify(1.01 * points)
    for factor in (1.01, 0.99):
        # One is not feasible, the other does not prove what is claimed.
        dual = factor * np.asarray(design.certificate.dual)
        forged = dataclasses.replace(design.certificate, dual=dual)
        assert not dataclasses.replace(design, certificate=forged).verify(points)
    flat = 0.5 * design.weights + 0.5 / len(points)
    if variance_of(problem, design.mass * flat).value > 1.001 and attained(name):
        assert not dataclasses.replace(design, weights=flat).verify(points)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_design_keeps_every_condition(name: str) -> None:
    value_is_exact(name)
    weights_are_a_small_design(name)
    design_attains_its_value(name)
    direction_is_on_the_boundary_of_elfvings_set(name)
    dual_vector_proves_the_bound(name)
    rounding_keeps_the_promise_of_lemma_c_opt(name)
    same_input_gives_the_same_bits(name)
    verify_accepts_the_design_and_refuses_forgeries(name)


@cache
def spread_design(name: str, tol: float = 1e-6) -> eh.designs.Design:
    return eh.g_optimal_design(SPREADS_BY_NAME[name].points.copy(), tol=tol)


def spread_check(spread: Spread, weights: Floats) -> GCheck:
    """Exact leverages; where the rank holds up to rounding only, in coordinates of the range."""
    if spread.exact_rank:
        return g_optimal_check(spread.points, weights)
    left = np.linalg.svd(spread.points, full_matrices=False)[0][:, : spread.rank]
    return g_optimal_check(left, weights)


def g_optimal_design_meets_kiefer_wolfowitz(name: str, tol: float) -> None:
    spread, design = SPREADS_BY_NAME[name], spread_design(name, tol)
    assert (design.weights >= 0).all()
    assert float(design.weights.sum()) == pytest.approx(1.0, abs=1e-12)
    r = spread.rank
    assert len(design.support) <= r * (r + 1) // 2
    np.testing.assert_array_equal(design.support, np.flatnonzero(design.weights > 0))
    check = spread_check(spread, design.weights)
    # 2e-8: what leverages in floats lose when columns are collinear to 1e-8.
    assert check.gap <= tol + 2e-8
    assert design.certificate.gap <= tol
    assert design.certificate.gap == pytest.approx(check.gap, abs=3e-8)
    assert design.certificate.bound == pytest.approx(r, rel=1e-12)
    assert design.value == pytest.approx(float(check.leverages.max()), rel=3e-8)
    assert design.criterion == "G"
    # Σπ(r(1+gap) − leverage) = r·gap, so a point of weight π misses the maximum by r·gap/π at most.
    on = design.support
    short = r * (1 + check.gap) - check.leverages[on]
    assert (short <= r * (max(check.gap, 0.0) + 1e-9) / design.weights[on]).all()


def g_rounding_keeps_the_promise_of_lemma_g_opt(name: str) -> None:
    spread, design = SPREADS_BY_NAME[name], spread_design(name)
    for n in (1, 10, 997):
        counts = np.asarray(design.counts(pulls=n))
        assert counts.sum() <= n + len(design.support)
        leverages = spread_check(spread, counts.astype(float)).leverages
        assert leverages.max() <= design.value / n * (1 + 1e-7)
        counts = np.asarray(design.counts(precision=n))
        leverages = spread_check(spread, counts.astype(float)).leverages
        assert leverages.max() <= (1 + 1e-7) / n


def g_certificate_is_an_ellipsoid_around_all_points(name: str) -> None:
    """‖Wa‖ ≤ 1 for all points, up to the rounding of products of floats."""
    spread, design = SPREADS_BY_NAME[name], spread_design(name)
    W = np.asarray(design.certificate.dual, dtype=np.float64)
    reach = (np.abs(spread.points) @ np.abs(W).T).max(axis=1)
    rounding = 64 * EPS * np.sqrt(len(W)) * reach
    products = np.array(
        [float(sum(y * y for y in exact_products(W, row))) for row in spread.points]
    )
    assert (products <= 1 + 1e-7 + rounding).all()


def g_design_is_deterministic_and_verifies(name: str) -> None:
    spread, design = SPREADS_BY_NAME[name], spread_design(name)
    again = eh.g_optimal_design(spread.points.copy(), tol=1e-6)
    assert design.weights.tobytes() == again.weights.tobytes()
    assert design.verify(spread.points)
    assert not dataclasses.replace(design, weights=0.9 * design.weights).verify(spread.points)
    one = np.zeros_like(design.weights)
    one[design.support[0]] = 1.0
    if spread.rank > 1:
        assert not dataclasses.replace(design, weights=one).verify(spread.points)


@pytest.mark.parametrize("name", SPREADS_BY_NAME)
def test_a_g_optimal_design_keeps_every_condition(name: str) -> None:
    for tol in (1e-3, 1e-6):
        g_optimal_design_meets_kiefer_wolfowitz(name, tol)
    g_rounding_keeps_the_promise_of_lemma_g_opt(name)
    g_certificate_is_an_ellipsoid_around_all_points(name)
    g_design_is_deterministic_and_verifies(name)


MINIMAX = {
    "cube slab d=3": cube_slab(3),
    "worst case d=2": (np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.0]]), [1, -1, -1]),
    "exclusive or": (
        np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]),
        [1, -1, -1, 1],
    ),
    "line": (np.array([[1.0], [1.01]]), [1, -1]),
    "columns 1e-6 and 1e6": (separated(8, 2, 0.4, 3)[0] * [1e-6, 1e6], separated(8, 2, 0.4, 3)[1]),
    **{f"separated {seed}": separated(9, 2 + seed % 2, 0.4, seed) for seed in range(3)},
}


@pytest.mark.parametrize("name", MINIMAX)
def test_minimax_design_is_optimal(name: str) -> None:
    features, groups = MINIMAX[name]
    exact = minimax_value(features, groups)
    actions = eh.ActionSet(features, groups)
    design = eh.minimax_design(actions)
    assert exact.lower * (1 - 1e-6) <= design.value <= exact.upper * (1 + 1e-6)
    A, e = bias_points(features, groups)
    masses = design.mass * design.weights
    assert design_variance(A, masses, e).value <= 1 + 1e-6
    assert worst_case_regret(features, masses) == pytest.approx(design.value, rel=1e-6)
    assert design.criterion == "minimax"
    assert design.verify(A)
    assert not dataclasses.replace(design, weights=0.9 * design.weights).verify(A)
    assert eh.bias_geometry(actions).kappa_minimax() == pytest.approx(design.value, rel=1e-6)


@pytest.mark.parametrize("bias", HOPELESS, ids=lambda bias: bias.name)
def test_a_bias_that_cannot_be_estimated_is_an_error(bias: Bias) -> None:
    actions = eh.ActionSet(bias.features, bias.groups)
    gaps = np.ones(len(bias.features))
    gaps[0] = 0.0
    for attempt in (
        lambda: eh.bias_optimal_design(actions),
        lambda: eh.delta_optimal_design(actions, gaps),
        lambda: eh.kappa(actions, gaps),
        lambda: eh.bias_geometry(actions),
        lambda: eh.minimax_design(actions),
    ):
        with pytest.raises(NotIdentifiableError) as caught:
            attempt()
        assert len(str(caught.value)) > 40


@pytest.mark.parametrize("problem", HOPELESS_DIRECTIONS, ids=lambda problem: problem.name)
def test_a_direction_out_of_range_is_an_error(problem: Direction) -> None:
    with pytest.raises(NotIdentifiableError):
        eh.c_optimal_design(problem.points, problem.direction, problem.costs)
