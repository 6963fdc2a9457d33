"""The delicate primitives, each against a closed form or exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenhand.errors import AccuracyError
from evenhand.numerics import (
    RefinedSolver,
    dominant_basis,
    leverages,
    parts,
    row_space,
    rows_beyond,
)
from evenhand.questions import panel_form
from random_panels import random_panel
from reference import exact_rank, in_range

Floats = NDArray[np.float64]

EPS = np.finfo(np.float64).eps
SIZES = [0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 200]  # the passes work on blocks of 32 rows


def integers(rng: np.random.Generator, k: int, m: int, largest: int = 9) -> Floats:
    """Return small integers: their products and sums are exact in any order."""
    return rng.integers(-largest, largest + 1, size=(k, m)).astype(np.float64)


@st.composite
def integer_matrices(draw: st.DrawFn) -> Floats:
    """Return a small matrix of small integers, of any rank, zero rows and columns included."""
    k, m, r = draw(st.integers(1, 12)), draw(st.integers(1, 6)), draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return integers(rng, k, r, 3) @ integers(rng, r, m, 3)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("m", [1, 3, 8, 17])
def test_passes_over_integers_are_exact(k: int, m: int) -> None:
    rng = np.random.default_rng([k, m])
    rows, W = integers(rng, k, m), integers(rng, 5, m)
    W[2:, m // 2 :] = 0.0  # the zeros at the right that are not read
    W[4] = 0.0
    assert np.array_equal(leverages(rows, W), ((rows @ W.T) ** 2).sum(axis=1))


@pytest.mark.parametrize("k", SIZES)
def test_passes_over_reals_err_by_rounding_alone(k: int) -> None:
    rng = np.random.default_rng(k)
    rows, W = rng.normal(size=(k, 9)), rng.normal(size=(4, 9))
    size = ((np.abs(rows) @ np.abs(W).T) ** 2).sum(axis=1)
    exact = ((rows @ W.T) ** 2).sum(axis=1)
    assert (np.abs(leverages(rows, W) - exact) <= 4 * (2 * 9 + 4) * EPS * size).all()


@pytest.mark.parametrize("k", SIZES)
def test_rows_beyond_are_those_whose_product_exceeds_their_limit(k: int) -> None:
    """A product that equals its limit is not beyond it: the design's support lies there."""
    rng = np.random.default_rng(k)
    rows, u = integers(rng, k, 4, 2), np.array([1.0, -2.0, 0.0, 1.0])
    limits = rng.integers(0, 5, size=k).astype(np.float64)
    expected = rows @ u
    for s, limit in ((limits, limits), (None, np.ones(k))):
        found, values = rows_beyond(rows, u, s)
        assert found.tolist() == np.nonzero(np.abs(expected) > limit)[0].tolist()
        assert np.array_equal(values, expected[found])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_beyond_every_limit(bad: float) -> None:
    rows = np.zeros((40, 3))
    rows[33, 1] = bad
    found, _ = rows_beyond(rows, np.ones(3), np.full(40, 1e300))
    assert found.tolist() == [33]
    assert np.nonzero(~np.isfinite(leverages(rows, np.eye(3))))[0].tolist() == [33]


def hilbert(n: int) -> tuple[Floats, list[list[int]], int]:
    """Return L·H for Hilbert's matrix H, in integers, the integers of H⁻¹, and L."""
    L = math.lcm(*range(1, 2 * n))
    H = [[Fraction(L, i + j + 1) for j in range(n)] for i in range(n)]
    inverse = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(n + i, n - j - 1)
            * math.comb(n + j, n - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return np.array(H, dtype=np.float64), inverse, L


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_hilbert_systems_lose_only_what_extended_residuals_lose(n: int) -> None:
    """Refined solutions err by u + (n + 1)·cond(M, x)·v for residuals in a precision of v.

    u is the rounding of the solution itself and cond(M, x) = ‖|M⁻¹||M||x|‖/‖x‖, here in integers.
    Elimination without refinement is out by more than that, from n = 3 on.
    """
    matrix, inverse, L = hilbert(n)
    exact = np.array(inverse, dtype=object)
    v = np.finfo(np.longdouble).eps / 2
    solver = RefinedSolver(matrix)
    for j in range(n):
        b = np.zeros(n)
        b[j] = L
        column = exact[:, j]
        size = int(abs(column).max())
        work = abs(exact) @ (matrix.astype(int).astype(object) @ abs(column))
        condition = float(Fraction(int(work.max()), L * size))
        for x in (solver.solve(b), solver.solve_transposed(b)):
            error = np.abs(x - column.astype(np.float64)).max() / size
            assert error <= EPS + (n + 1) * condition * v


def exact_solution(matrix: Floats, b: Floats) -> list[Fraction]:
    """Solve by Gauss–Jordan in fractions; the matrix is not singular."""
    n = len(b)
    rows = [[Fraction(v) for v in row] + [Fraction(c)] for row, c in zip(matrix, b, strict=True)]
    for j in range(n):
        at = next(i for i in range(j, n) if rows[i][j])
        rows[j], rows[at] = rows[at], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        for i in range(n):
            if i != j and rows[i][j]:
                rows[i] = [v - rows[i][j] * w for v, w in zip(rows[i], rows[j], strict=True)]
    return [row[n] for row in rows]


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.booleans())
def test_systems_with_rows_and_columns_in_any_unit_are_solved(
    n: int, seed: int, transposed: bool
) -> None:
    """Units from 2⁻⁶⁰ to 2⁶⁰ cost no digit; the residual of every equation is rounding."""
    rng = np.random.default_rng(seed)
    matrix = integers(rng, n, n) + 10 * n * np.eye(n)  # strictly dominant: regular
    rows, columns = np.ldexp(1.0, rng.integers(-60, 61, size=(2, n)))
    matrix = rows[:, None] * matrix * columns
    b = rng.normal(size=n) * (columns if transposed else rows)
    solver = RefinedSolver(matrix)
    if transposed:
        x, exact, units = solver.solve_transposed(b), exact_solution(matrix.T, b), rows
    else:
        x, exact, units = solver.solve(b), exact_solution(matrix, b), columns
    scaled = [v * Fraction(u) for v, u in zip(exact, units, strict=True)]
    errors = [abs(Fraction(v) * Fraction(u) - w) for v, u, w in zip(x, units, scaled, strict=True)]
    assert max(errors) <= 8 * EPS * max(abs(w) for w in scaled)


@pytest.mark.parametrize(
    "matrix", [[[0.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [5.0, 0.0]], [[0.0, 0.0], [1.0, 2]]]
)
def test_a_singular_matrix_is_refused(matrix: list[list[float]]) -> None:
    with pytest.raises(AccuracyError, match="singular"):
        RefinedSolver(np.array(matrix))


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 2]))
def test_a_dominant_basis_has_all_rows_within_its_limit(
    extra: int, r: int, seed: int, limit: float
) -> None:
    """|weights| ≤ limit is optimality itself; the weights reproduce every row from the basis."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.eye(r), integers(rng, extra, r)])[rng.permutation(r + extra)]
    basis = np.array([np.nonzero((rows == e).all(axis=1))[0][0] for e in np.eye(r)])
    weights = rows.copy()
    dominant_basis(weights, basis, limit)
    assert np.abs(weights).max() <= limit
    assert len(set(basis.tolist())) == r
    assert np.allclose(weights[basis], np.eye(r), atol=1e-12)
    assert np.allclose(weights @ rows[basis], rows, atol=1e-10)
    assert abs(np.linalg.det(rows[basis])) >= 1 - 1e-10  # what it was at the start, or more


def test_dependent_rows_are_no_basis() -> None:
    rows = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="dependent"):
        dominant_basis(rows, np.array([0, 1]), 2.0)


@given(integer_matrices())
def test_the_rank_of_small_integers_is_exact(points: Floats) -> None:
    space = row_space(points, np.arange(len(points)))
    assert space.rank == exact_rank(points)
    assert exact_rank(space.rows) == space.rank if space.rank else len(space.rows) == 0
    assert np.array_equal(space.rows, points[space.basis])
    assert space.full == (space.rank == points.shape[1])


@given(integer_matrices(), st.integers(0, 2**32 - 1))
def test_the_span_holds_exactly_what_fractions_say(points: Floats, seed: int) -> None:
    space = row_space(points, np.arange(len(points)))
    for vector in integers(np.random.default_rng(seed), 4, points.shape[1], 3):
        assert space.contains(vector) == in_range(points, vector)
    for row in points:
        assert space.contains(row)


def test_a_direction_needs_its_small_parts_and_no_rounding() -> None:
    """Of a lead over a near twin, parts are small beside those of other leads, and needed."""
    twins, apart, alike = [1e-7, -1e-7, 0.0], [0.0, 0.0, 1.0], [1e-17, 0.0, 0.0]
    for other, needed in ((twins, [0, 1, 2]), (alike, [2])):
        found = parts(np.eye(3), np.array([apart, other]))
        assert np.flatnonzero(found.any(axis=1)).tolist() == needed


@pytest.mark.parametrize("seed", range(40))
def test_a_panel_taken_apart_is_least_squares_on_its_dense_rows(seed: int) -> None:
    """Estimates, variances and rank, with gaps, biases, noise and what nobody connects."""
    rng = np.random.default_rng(seed)
    panel = random_panel(rng, noise=seed % 2 == 0)
    (seen,) = np.nonzero(rng.random(len(panel)) < 0.7)
    counts, y = rng.integers(1, 4, len(seen)), rng.normal(size=len(seen))
    form = panel_form(panel, seen, counts)
    A = panel.weighted_points[seen] * np.sqrt(counts)[:, None]
    assert form.rank == np.linalg.matrix_rank(A)
    k, d, p = len(panel.options), panel.n_features, panel.n_attributes
    values = np.hstack([np.eye(k, d), np.tile(panel.neutral, (k, 1))])
    leads = np.hstack([np.eye(1, d) - np.eye(k, d), np.zeros((k, p))])
    known = np.linalg.pinv(A.T @ A, rcond=1e-10, hermitian=True)
    for rows, found in (
        (leads, form.lead_variances(0, np.arange(k))),
        (values, form.value_variances(np.arange(k), panel.neutral)),
    ):
        inside = np.abs(rows - rows @ known @ A.T @ A).max(axis=1) < 1e-8
        np.testing.assert_array_equal(np.isfinite(found), inside)
        exact = np.einsum("ij,jk,ik->i", rows, known, rows)
        np.testing.assert_allclose(found[inside], exact[inside], rtol=1e-9, atol=1e-9)
    theta = np.concatenate(form.solve(form.weights * y))
    fitted = known @ panel.points[seen].T @ (form.weights * y)
    np.testing.assert_allclose(panel.points[seen] @ (theta - fitted), 0.0, atol=1e-8)
    H, v = A @ known @ A.T, rng.random(len(seen))
    np.testing.assert_allclose(form.leverages(), np.diag(H), atol=1e-9)
    np.testing.assert_allclose(form.without(y), y - H @ y, atol=1e-9)
    assert form.mixed(v) == pytest.approx(np.trace(H * v @ (H * v)), abs=1e-9)
