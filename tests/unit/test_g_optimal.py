"""G-optimal designs and the kernels below them, on small dull inputs first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import evenhand as eh
from evenhand.designs._ascent import interior_point, newton
from evenhand.designs.enclosing import enclosing
from evenhand.designs.g_optimal import cut_support
from evenhand.designs.screen import Screen, factor
from evenhand.numerics import row_space
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


def moments(Y: Floats) -> Floats:
    i, j = np.tril_indices(Y.shape[1])
    return Y[:, i] * Y[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))


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


def test_rows_one_more_than_moments() -> None:
    """Four rows, three moments: the total weight is a fourth, and no row is left over."""
    points = np.array([[2.0, -1], [-3, 1], [2, 3], [0, 2]])
    design = eh.g_optimal_design(points, tol=0.01)
    assert g_optimal_check(points, design.weights).gap <= 0.01
    assert len(design.support) <= 3


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


def test_eleven_integer_rows_in_four_dimensions() -> None:
    """One row more than the ten moments: where the cut of the support once broke."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        points = rng.integers(-3, 4, (11, 4)).astype(np.float64)
        design = eh.g_optimal_design(points, tol=0.01)
        assert design.certificate.gap <= 0.01
        assert len(design.support) <= 10


@pytest.mark.parametrize(
    "kind", ["sphere", "sphere + group", "signs", "one-hot + group", "near-sphere"]
)
def test_clouds_on_their_ellipsoid(kind: str) -> None:
    points = surface(kind, 4000, 6)
    design = eh.g_optimal_design(points)
    r = int(np.linalg.matrix_rank(points))
    assert g_optimal_check(points, design.weights).gap <= 1e-6
    assert len(design.support) <= r * (r + 1) // 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", range(1, 13))
def test_the_cut_keeps_moments_and_adds_no_weight(kind: str, k: int) -> None:
    for m in range(1, 5):
        Y, w = table(kind, k, m, 2), np.random.default_rng(k).random(k) + 0.1
        cut = cut_support(Y, w)
        before, after = (Y * w[:, None]).T @ Y, (Y * cut[:, None]).T @ Y
        np.testing.assert_allclose(after, before, atol=1e-11 * np.abs(before).max(initial=1))
        assert (cut >= 0).all()
        assert cut.sum() <= w.sum() * (1 + 1e-8)
        r = Y.shape[1]
        assert np.count_nonzero(cut) <= r * (r + 1) // 2


def test_the_cut_in_exact_arithmetic() -> None:
    """On the line, one moment: all weight goes where it is least, to the longest point."""
    Y, w = np.array([[1.0], [2.0], [4.0], [-4.0]]), np.array([0.5, 0.25, 0.125, 0.125])
    cut = cut_support(Y, w)
    moment = sum(Fraction(a) * Fraction(y) ** 2 for a, y in zip(w, Y[:, 0], strict=True))
    (row,) = np.flatnonzero(cut)
    assert Fraction(cut[row]) * Fraction(Y[row, 0]) ** 2 == moment
    assert abs(Y[row, 0]) == 4.0


@pytest.mark.parametrize("kind", ["integers", "signs", "duplicates", "one-hot + group"])
@pytest.mark.parametrize("n", [6, 12, 40])
def test_the_interior_point_method_reaches_the_rank(kind: str, n: int) -> None:
    """Both sides of Woodbury's identity, twins and dependent moments: the gap is met."""
    for m in (2, 3):
        points = table(kind, n, m, 7)
        space = row_space(points, np.arange(n))
        B = np.ascontiguousarray(points @ space.transform)
        w, d = np.full(n, 1.0 / n), np.empty(n)
        gap = interior_point(B, w, d, 1e-7, 100, B[:0])
        assert gap <= 1e-7
        assert abs(w.sum() - 1.0) < 1e-14
        V = (B * w[:, None]).T @ B
        assert np.einsum("ij,jk,ik->i", B, np.linalg.inv(V), B).max() <= space.rank * (1 + 2e-7)


@pytest.mark.parametrize("m", [2, 4, 6])
def test_newton_and_the_interior_point_method_meet_in_one_ellipsoid(m: int) -> None:
    """V is unique: two methods that share no step give the same one."""
    p = m * (m + 1) // 2
    B = np.random.default_rng(m).standard_normal((p, m))
    one, other, d = np.full(p, 1.0 / p), np.full(p, 1.0 / p), np.empty(p)
    assert newton(B, one, d, 1e-10, 100) <= 1e-10
    assert interior_point(B, other, d, 1e-10, 100, B[:0]) <= 1e-10
    V = (B * one[:, None]).T @ B
    assert abs(one.sum() - 1.0) < 1e-14
    assert np.einsum("ij,jk,ik->i", B, np.linalg.inv(V), B).max() <= m * (1 + 1e-9)
    np.testing.assert_allclose(V, (B * other[:, None]).T @ B, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_very_different_lengths(seed: int) -> None:
    """Coordinates on a poor basis, exchanged for a good one, once lost the digits of the gap."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((300, 6)) * 10.0 ** rng.uniform(-6, 6, (300, 1))
    assert eh.g_optimal_design(points, 1e-9).certificate.gap <= 1e-9


def test_a_screen_misses_no_row() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((3000, 4))
    space = row_space(points, np.arange(100))
    screen = Screen(points, factor(space, points, np.full(3000, 1 / 3000)))
    for seed in range(8):
        w = np.random.default_rng(seed).dirichlet(np.full(30, 0.5))
        V = factor(space, points[:30], w)
        d = ((points @ V.W.T) ** 2).sum(axis=1)
        threshold = float(np.quantile(d, 0.99 - 0.1 * seed))
        rows, values = screen.rows_above(threshold, V)
        assert rows.tolist() == np.flatnonzero(d > threshold).tolist()
        np.testing.assert_allclose(values, d[rows])


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("group", [False, True])
def test_one_path_leads_to_the_ellipsoid_around_all_rows(noise: float, group: bool) -> None:
    """From the covariance of a sample; the rows that it returns are optimal for all the others."""
    rng = np.random.default_rng(3)
    points = rng.standard_normal((6000, 7))
    points *= (1.0 + noise * rng.standard_normal((6000, 1))) / np.linalg.norm(
        points, axis=1, keepdims=True
    )
    if group:
        points = np.column_stack([points, rng.choice([-1.0, 1.0], 6000)])
    space = row_space(points, np.arange(200))
    path = enclosing(points, space, factor(space, points[:200], np.full(200, 1 / 200)), 1e-7)
    assert path is not None
    rows, w, _ = path
    weights = np.zeros(6000)
    weights[rows] = w
    assert abs(w.sum() - 1.0) < 1e-12
    assert len(rows) < 600
    assert g_optimal_check(points, weights).gap <= 1.01e-7
