"""Inputs that once broke a solver: each fact here has been false."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import evenhand as eh
import reference


def gaussian(k: int, m: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((k, m))


def largest_leverage(points: np.ndarray, weights: np.ndarray) -> float:
    """By QR of √π·A, columns equilibrated: another route than the solver's."""
    scales = np.abs(points).max(axis=0)
    used = weights > 0
    rows = points[used] / scales * np.sqrt(weights[used])[:, None]
    R = np.linalg.qr(rows[np.argsort(-np.abs(rows).max(axis=1))], mode="r")
    return float((np.linalg.solve(R.T, (points / scales).T) ** 2).sum(axis=0).max())


@pytest.mark.parametrize(
    ("points", "direction"),
    [
        ([[1, 0, -1], [-1, -1, -1], [1, -1, 1], [1, -1, 0]], [-1, 1, 0]),
        ([[-1, 1, 1], [1, 0, 1], [0, 1, -1], [1, 1, -1], [0, 0, 0]], [0, -1, 1]),
    ],
)
def test_small_grids_do_not_make_the_simplex_go_in_circles(points, direction) -> None:
    points, direction = np.array(points, float), np.array(direction, float)
    exact = reference.elfving_value(points, direction).kappa
    assert eh.c_optimal_design(points, direction).value == pytest.approx(exact, rel=1e-9)


def test_random_small_grids_agree_with_exact_arithmetic() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        k, m = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        points = rng.integers(-1, 2, (k, m)).astype(float)
        costs = rng.integers(0, 3, k).astype(float)
        direction = points[0] - points[1] if (points[0] != points[1]).any() else points[0]
        if not direction.any():
            continue
        exact = reference.elfving_value(points, direction, costs).kappa
        design = eh.c_optimal_design(points, direction, costs)
        assert design.value == pytest.approx(exact, rel=1e-9, abs=1e-300)
        assert design.certificate.gap <= 1e-9
        assert design.verify(points)


def test_a_column_that_the_sample_misses() -> None:
    points = gaussian(300_000, 6)
    points[:, 0], points[:, 5] = 1.0, 0.0
    points[[5, 150_001, 299_998], 5] = 1.0
    design = eh.g_optimal_design(points)
    assert design.certificate.bound == 6
    assert largest_leverage(points, design.weights) <= 6 * (1 + 2e-6)
    assert eh.c_optimal_design(points, np.eye(6)[5]).certificate.gap < 1e-9


@pytest.mark.parametrize("length", [1e6, 1e9])
def test_one_row_much_longer_than_the_others(length: float) -> None:
    points = gaussian(100_000, 5)
    points[77_777] *= length
    design = eh.g_optimal_design(points)
    assert largest_leverage(points, design.weights) <= 5 * (1 + 2e-6)
    assert eh.c_optimal_design(points, np.eye(5)[4]).certificate.gap < 1e-7


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-7, 1e-9])
def test_points_almost_on_a_sphere(noise: float) -> None:
    points = gaussian(5000, 10)
    points /= np.linalg.norm(points, axis=1)[:, None]
    points *= 1 + noise * gaussian(5000, 1, seed=1)
    design = eh.g_optimal_design(points)
    assert largest_leverage(points, design.weights) <= 10 * (1 + 2e-6)
    assert len(design.support) <= 55


def test_free_rows_of_very_different_length() -> None:
    points = np.array([[1e-6, 0, 0], [0, 1e5, 0], [1, 1, 1.0], [3, -1, 2.0]])
    costs = np.array([0.0, 0.0, 1.0, 2.0])
    exact = reference.elfving_value(points, np.eye(3)[2], costs).kappa
    design = eh.c_optimal_design(points, np.eye(3)[2], costs)
    assert design.value == pytest.approx(exact, rel=1e-9)
    assert design.verify(points)


def test_what_free_rows_do_alone_costs_exactly_nothing() -> None:
    points = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 1, 0.0]])
    design = eh.c_optimal_design(points, np.eye(4)[3], [2.0, 0.0, 0.0])
    assert design.value == design.certificate.bound == design.certificate.gap == 0.0
    assert design.verify(points)


def test_options_with_the_same_features_have_no_regret() -> None:
    actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["a", "b", "a"])
    design = eh.minimax_design(actions)
    assert design.value == 0.0
    assert design.verify(actions.points)


def test_verify_is_not_fooled() -> None:
    points = gaussian(50, 3)
    change = dataclasses.replace
    for design in (eh.c_optimal_design(points, [0, 0, 1.0]), eh.g_optimal_design(points)):
        proof = design.certificate
        assert design.verify(points)
        for forged in (
            change(design, mass=2 * design.mass),
            change(design, value=np.nan),
            change(design, value=1.01 * design.value),
            change(design, weights=np.full(50, np.nan)),
            change(design, certificate=change(proof, dual=np.full_like(proof.dual, np.nan))),
            change(design, certificate=change(proof, dual=0 * proof.dual)),
            change(design, certificate=change(proof, value=2 * proof.value)),
            change(design, certificate=change(proof, bound=0.5 * proof.bound)),
        ):
            assert not forged.verify(points)
        spoilt = points.copy()
        spoilt[7, 1] = np.nan
        assert not design.verify(spoilt)
        with pytest.raises(eh.InputError, match="50, 3"):
            design.verify(points[:, :2])


@pytest.mark.parametrize(
    "solve", [eh.g_optimal_design, lambda A: eh.c_optimal_design(A, np.eye(8)[0])]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_is_named_wherever_it_is(solve, value: float) -> None:
    points = gaussian(400_000, 8)
    points[377_777, 3] = value
    with pytest.raises(eh.InputError, match=r"377777, 3"):
        solve(points)


def test_grids_with_many_ties() -> None:
    """The cut once moved weight to points inside the ellipsoid: same moments, more weight."""
    for seed in (5, 38, 40, 61):
        points = np.random.default_rng(seed).integers(-1, 2, (400, 4)).astype(float)
        design = eh.g_optimal_design(points)
        assert len(design.support) <= 10
        assert largest_leverage(points, design.weights) <= 4 * (1 + 2e-6)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 4))
        shape = (int(rng.integers(50, 1500)), int(rng.integers(2, 6)))
        points = rng.integers(-size, size + 1, shape).astype(float)
        design = eh.g_optimal_design(points)
        rank = np.linalg.matrix_rank(points)
        assert len(design.support) <= rank * (rank + 1) // 2
        if rank == points.shape[1]:
            assert largest_leverage(points, design.weights) <= rank * (1 + 2e-6)
