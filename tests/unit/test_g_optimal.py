"""G-optimal designs and the kernels below them, on small dull inputs first."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from reference import Floats, g_optimal_check
from rotation import nightly

KINDS = ("integers", "one-hot", "one-hot + group", "percentages", "signs", "duplicates")


def table(kind: str, k: int, m: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, k, m])
    one_hot = (rng.integers(0, m, k)[:, None] == np.arange(m)).astype(np.float64)
    if kind == "integers":
        return rng.integers(-3, 4, (k, m)).astype(np.float64)
    if kind == "one-hot":
        return one_hot
    if kind == "one-hot + group":
        return np.column_stack([one_hot, rng.choice([-1.0, 1.0], k)])
    if kind == "percentages":
        return rng.multinomial(100, np.full(m, 1 / m), k).astype(np.float64)
    if kind == "signs":
        return rng.choice([-1.0, 1.0], (k, m))
    few = rng.integers(-2, 3, (max(1, k // 2), m)).astype(np.float64)
    return few[rng.integers(0, len(few), k)]


def surface(kind: str, k: int, m: int) -> Floats:
    """Points all of which lie on, or close to, the optimal ellipsoid."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((k, m))
    X /= np.linalg.norm(X, axis=1)[:, None]
    if kind == "near-sphere":
        X *= 1.0 + 1e-5 * rng.standard_normal((k, 1))
    if kind == "sphere + group":
        X[:, -1] = 0.0
        X /= np.linalg.norm(X, axis=1)[:, None]
        X[:, -1] = rng.choice([-1.0, 1.0], k)
    if kind == "signs":
        X = rng.choice([-1.0, 1.0], (k, m))
    if kind == "one-hot + group":
        X = table(kind, k, m - 1, 0)
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", range(1, 13))
@pytest.mark.parametrize("first", [0, *nightly([2])])
def test_small_tables(kind: str, k: int, first: int) -> None:
    for m in range(1, 6):
        for seed in (first, first + 1):
            points = table(kind, k, m, seed)
            if not points.any():
                continue
            for tol in (0.1, 1e-2, 1e-6):
                design = eh.g_optimal_design(points, tol=tol)
                r = int(np.linalg.matrix_rank(points))
                V = np.linalg.pinv((points * design.weights[:, None]).T @ points, rcond=1e-12)
                largest = np.einsum("ij,jk,ik->i", points, V, points).max()
                assert largest <= r * (1 + tol) * (1 + 1e-11)
                assert len(design.support) <= r * (r + 1) // 2
                assert design.certificate.gap <= tol


@pytest.mark.parametrize("kind", KINDS)
def test_many_twins(kind: str) -> None:
    """More rows carry weight than a support can hold: none of them may be lost on the way."""
    for k in (25, 40):
        for m in (2, 3, 4, 5):
            for seed in range(8):
                assert eh.g_optimal_design(table(kind, k, m, seed), 1e-8).certificate.gap <= 1e-8


def test_one_row_more_than_there_are_moments() -> None:
    """The total weight is a moment more, and no row is left over: the cut once broke there."""
    rng = np.random.default_rng(3)
    for points in ([[2.0, -1], [-3, 1], [2, 3], [0, 2]], *rng.integers(-3, 4, (300, 11, 4))):
        A = np.asarray(points, dtype=np.float64)
        design = eh.g_optimal_design(A, tol=0.01)
        assert g_optimal_check(A, design.weights).gap <= 0.01
        assert len(design.support) <= len(A) - 1


@pytest.mark.parametrize(
    "kind", ["sphere", "sphere + group", "signs", "one-hot + group", "near-sphere"]
)
def test_clouds_on_their_ellipsoid(kind: str) -> None:
    points = surface(kind, 4000, 6)
    design = eh.g_optimal_design(points)
    r = int(np.linalg.matrix_rank(points))
    assert g_optimal_check(points, design.weights).gap <= 1e-6
    assert len(design.support) <= r * (r + 1) // 2


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_very_different_lengths(seed: int) -> None:
    """Coordinates on a poor basis, exchanged for a good one, once lost the digits of the gap."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((300, 6)) * 10.0 ** rng.uniform(-6, 6, (300, 1))
    assert eh.g_optimal_design(points, 1e-9).certificate.gap <= 1e-9
