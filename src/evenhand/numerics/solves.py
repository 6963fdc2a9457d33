"""Square systems, solved as accurately as their entries deserve."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from evenhand.arrays import Floats
from evenhand.errors import AccuracyError

STEADY = 1e-4
"""Equilibrated systems whose pivots are all larger lose so few digits that one step is enough."""


class RefinedSolver:
    """Solves M x = b and Mᵀy = b, of vectors or matrices b, more accurately than elimination."""

    # Rows and columns are equilibrated by powers of two, which round nothing, and the solutions
    # refined with residuals in long double. With c the condition number of the equilibrated M, the
    # share of x that is wrong shrinks by about c · 1e-16 with each step, down to the larger of
    # c · 5e-20 (what the residuals are off by) and 1e-16: all digits up to c of about 2e3, fewer by
    # c from there, none from 1e16 on. Where long double is no wider, it stays c · 1e-16.

    def __init__(self, matrix: Floats) -> None:
        rows = _power_of_two(np.abs(matrix).max(axis=1))
        columns = _power_of_two(np.abs(matrix / rows[:, None]).max(axis=0))
        self._factors = _factored(matrix, rows, columns)
        self._steps = 1  # it squares the error; more are for pivots that tell of trouble
        if self._factors.least_pivot <= STEADY:
            self._steps = 3
            # a long row makes its columns tiny in all other rows; by their usual size they are not
            columns = _power_of_two(_usual(matrix))
            rows = _power_of_two(np.abs(matrix / columns).max(axis=1))
            other = _factored(matrix, rows, columns)
            if other.least_pivot > self._factors.least_pivot:
                self._factors = other
        if self._factors.least_pivot == 0.0:
            raise AccuracyError("a basis of the linear program is singular to working precision.")

    def solve(self, b: Floats) -> Floats:
        """Return x with M x = b."""
        factors = self._factors
        return self._refined(factors.wide, (b.T / factors.rows).T, factors.columns, 0)

    def solve_transposed(self, b: Floats) -> Floats:
        """Return y with Mᵀy = b."""
        factors = self._factors
        return self._refined(factors.wide.T, (b.T / factors.columns).T, factors.rows, 1)

    def _refined(
        self, wide: NDArray[np.longdouble], b: Floats, units: Floats, transposed: int
    ) -> Floats:
        lu, swaps = self._factors.lu, self._factors.swaps
        x, _ = lapack.dgetrs(lu, swaps, b, trans=transposed)
        for _ in range(self._steps):
            residual = (b - wide @ x).astype(np.float64)
            correction, _ = lapack.dgetrs(lu, swaps, residual, trans=transposed)
            x = x + correction
        return np.asarray((x.T / units).T, dtype=np.float64)


class _Factors(NamedTuple):
    """LU factors of a matrix in units of rows and columns, and itself in long double."""

    lu: Floats
    swaps: NDArray[np.intc]
    wide: NDArray[np.longdouble]
    rows: Floats
    columns: Floats
    least_pivot: float


def _factored(matrix: Floats, rows: Floats, columns: Floats) -> _Factors:
    scaled = matrix / rows[:, None] / columns
    lu, swaps, _ = lapack.dgetrf(scaled)
    least = float(np.abs(lu.diagonal()).min())
    return _Factors(lu, swaps, scaled.astype(np.longdouble), rows, columns, least)


def _power_of_two(scales: Floats) -> Floats:
    """Return powers of two near the scales."""
    return np.ldexp(1.0, np.frexp(scales)[1])


def _usual(matrix: Floats) -> Floats:
    """Return the geometric mean of the entries of each column that are not zero."""
    sizes = np.abs(matrix)
    logs = np.log2(sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
    return np.asarray(np.exp2(logs.sum(axis=0) / np.maximum((sizes > 0.0).sum(axis=0), 1)))


def observed(S: Floats, a: Floats, n: int) -> Floats:
    """Return a square root of (V + n a aᵀ)⁻¹, given one of V⁻¹ (Potter's update)."""
    f = S.T @ a
    grown = 1.0 + n * float(f @ f)
    return S - np.outer(S @ f, f) * (n / (grown + math.sqrt(grown)))
