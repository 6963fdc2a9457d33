"""The verifier computes variances and leverages to all the digits that the points deserve."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.designs.design import Certificate, Design
from evenhand.designs.verification import largest_variance
from reference import Floats, design_variance, g_optimal_check

CLOSE_AND_LONG = [
    (2.0**-close, 2.0**long)
    for close, long in ((0, 0), (10, 0), (20, 0), (30, 0), (0, 20), (10, 10), (20, 10), (10, 20))
]


def nearly_dependent(n: int, closeness: float, length: float) -> Floats:
    """Two columns that differ by little, a constant, and one row that is longer than the others.

    Every entry is exact, and columns are scaled by powers of two, which rounds nothing.
    """
    rng = np.random.default_rng(n)
    x = rng.integers(1, 100, n).astype(float)
    rows = np.column_stack([x, x + closeness * rng.integers(-9, 10, n), np.ones(n)])
    rows[1, :2] *= length
    return rows / 2.0 ** np.ceil(np.log2(np.abs(rows).max(axis=0)))


@pytest.mark.parametrize(("closeness", "length"), CLOSE_AND_LONG)
@pytest.mark.parametrize("n", [3, 4, 9])
def test_variances_on_nearly_dependent_columns(n: int, closeness: float, length: float) -> None:
    rows = nearly_dependent(n, closeness, length)
    mu = np.arange(1.0, n + 1) ** 2  # their roots are exact
    for c in (rows[0], rows[0] - rows[2], rows.sum(axis=0), np.eye(3)[2]):
        exact = design_variance(rows, mu, c).value
        assert largest_variance(rows, mu, c) == pytest.approx(exact, rel=1e-7)
        assert largest_variance(rows, mu, [c, c / 2]) == pytest.approx(exact, rel=1e-7)


def test_variances_on_dependent_columns_and_beyond_them() -> None:
    """0.1, 0.2 and 0.7 add to 1 up to rounding, which must not count as a direction."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], 8)
    rows = np.column_stack([counts / 10, np.ones(8), rng.choice([-1.0, 1.0], 8)])
    whole = np.column_stack([counts, np.full(8, 10), 10 * rows[:, -1]]) / 16
    mu = np.arange(1.0, 9.0) ** 2
    e = np.eye(5)[-1]
    exact = design_variance(whole, mu, 10 * e / 16).value
    assert largest_variance(rows, mu, e) == pytest.approx(exact, rel=1e-12)
    assert largest_variance(rows, mu, np.eye(5)[0]) == np.inf


@pytest.mark.parametrize("enough", [0.0, 0.5, 1.0, 2.0])
def test_a_quick_proof_that_it_is_enough_is_still_a_proof(enough: float) -> None:
    rng = np.random.default_rng(1)
    for n in range(2, 9):
        rows, mu = rng.integers(-9, 10, (n, 4)) / 8, rng.uniform(0.5, 2.0, n)
        c = rng.integers(-2, 3, n) @ rows
        exact = design_variance(rows, mu, c).value
        found = largest_variance(rows, mu, c, enough * exact)
        assert found >= exact * (1 - 1e-9)
        assert found <= max(1.0, enough) * exact * (1 + 1e-9)


@pytest.mark.parametrize(("closeness", "length"), CLOSE_AND_LONG)
def test_leverages_on_nearly_dependent_columns(closeness: float, length: float) -> None:
    points = nearly_dependent(12, closeness, length)
    weights = np.arange(1.0, 13.0) / 78
    design = Design("G", weights, 3.0, 3.0, Certificate(3.0, 3.0, np.eye(3)))
    exact = g_optimal_check(points, weights).leverages.max()
    assert design.verify(points).value == pytest.approx(exact, rel=1e-7)
    assert design.verify(points).bound == 3
