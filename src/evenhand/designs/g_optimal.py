"""G-optimal designs: know the evaluations of all options equally well.

Kiefer and Wolfowitz: the design that maximises log det V(π) also minimises the largest leverage
max_x a_xᵀV(π)⁺a_x, which is then the rank r of the points. So max leverage / r − 1, over all
points, certifies any design.

The work is done on a small working set: the rows of largest leverage and some at random. One
pass over all rows gives leverages d_old for some V_old. Later designs need no further pass for
most rows, since d_new ≤ λ_max(V_new⁺ V_old) · d_old; only rows that this bound does not clear are
looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas, lapack

from evenhand.arrays import Floats, Indices, as_points, refuse_non_finite
from evenhand.designs._ascent import multiplicative, newton
from evenhand.designs.check import checked
from evenhand.designs.design import Certificate, Design
from evenhand.designs.support import cut_support, symmetric_moments
from evenhand.errors import AccuracyError, InputError
from evenhand.numerics._bases import dominant_basis, spanning_rows
from evenhand.numerics.passes import leverages, sample_rows
from evenhand.numerics.row_space import RANK_TOLERANCE, RowSpace, row_space

_SMALL = 2048  # up to this many rows the working set is everything
_LONG = 64.0  # coordinates larger than this call for another basis
_ROUNDS = 40
_ROOM = 2.5  # rows per moment when weights are fitted to rows on an ellipsoid
_WARM_UP = 10  # multiplicative steps before the first Newton step


def g_optimal_design(points: ArrayLike, tol: float = 1e-6) -> Design:
    """Return the design that minimises the largest variance of any option's evaluation.

    Parameters
    ----------
    points
        (k, m) matrix, one row per option; any rank r.
    tol
        The largest leverage will be at most r (1 + tol).

    Examples
    --------
    >>> import evenhand as eh
    >>> grid = np.linspace(-1, 1, 201)
    >>> design = eh.g_optimal_design(np.vander(grid, 3))     # a parabola on [-1, 1]
    >>> grid[design.support], round(design.value, 4)
    (array([-1.,  0.,  1.]), 3.0)
    """
    if not (isinstance(tol, (int, float)) and 0 < tol < 1):
        raise InputError(f"tol must lie between 0 and 1; got {tol!r}.")
    A = as_points(points)
    try:
        return _g_optimal(A, tol)
    except np.linalg.LinAlgError as error:
        raise AccuracyError(
            "the G-optimal design broke down: the points are singular to working precision. Bring "
            "rows and columns to comparable size, or drop columns that are almost combinations "
            "of others."
        ) from error


def _g_optimal(A: Floats, tol: float) -> Design:
    """Alternate between a small working set and the rows that its optimum leaves too high."""
    k, m = A.shape
    sample = sample_rows(k, max(1024, 48 * m))
    space = row_space(A, sample)
    r = space.rank
    if r == 0:
        raise InputError("all points are zero; there is nothing to estimate.")
    rows, w, screen = _first_design(A, space, tol)
    largest = np.inf
    for _ in range(_ROUNDS):
        rows, w = rows[w > 0.0], w[w > 0.0]
        few = cut_support(_coordinates(A, rows, space), w)
        few /= few.sum()
        factor = _factor(space, A[rows[few > 0.0]], few[few > 0.0])
        if screen is None:
            screen = _Screen(A, factor)
        high, d = screen.rows_above(r * (1.0 - 1e-6), factor)
        largest = float(d.max())
        if largest <= r * (1.0 + tol):
            weights = np.zeros(k)
            weights[rows] = few
            certificate = Certificate(largest, float(r), factor.W / np.sqrt(largest))
            design = Design("G", weights, largest, largest, certificate)
            return checked(design, A, space.scales, tol)
        violating = d > r * (1.0 + 0.1 * tol)
        high, d = high[violating], d[violating]
        new = np.setdiff1d(high[np.argsort(-d, kind="stable")[: r * (r + 1)]], rows)
        rows, w = np.concatenate([rows, new]), np.concatenate([w, np.zeros(len(new))])
        w = _solve(_coordinates(A, rows, space), tol, w)
    raise AccuracyError(
        f"the G-optimal design reached a gap of {largest / r - 1:.2g}, not {tol:.2g}. "
        "Ask for a larger tol."
    )


def _first_design(A: Floats, space: RowSpace, tol: float) -> tuple[Indices, Floats, _Screen | None]:
    """Return rows and weights to begin with, and the screen if a pass was made for them.

    Everything, where there are few rows. Else a sample, which settles the matter if all rows lie
    on one ellipsoid; if not, it is joined by the rows that reach farthest out.
    """
    k, m = A.shape
    p = space.rank * (space.rank + 1) // 2
    if k <= max(_SMALL, 4 * p):
        rows = np.arange(k)
        return rows, _solve(_coordinates(A, rows, space), tol), None
    rows = np.union1d(sample_rows(k, int(_ROOM * p)), space.basis)
    w = _Start(_coordinates(A, rows, space)).settled()
    if w is not None:
        return rows, w, None
    spread = A[np.concatenate([sample_rows(k, 160 * m), space.basis])]
    screen = _Screen(A, _factor(space, spread, np.full(len(spread), 1.0 / len(spread))))
    rows = np.union1d(_largest(screen.d, 3 * p // 2), rows)
    return rows, _solve(_coordinates(A, rows, space), tol), screen


@dataclass(frozen=True)
class _Factor:
    """V = U Uᵀ by way of W with W U = I, so that aᵀV⁺a = ‖W a‖² for points a."""

    W: Floats
    U: Floats


def _factor(space: RowSpace, rows: Floats, w: Floats) -> _Factor:
    """Factor V(w) by QR of √w · rows, which keeps the accuracy that V itself would lose."""
    C = space.coordinates
    order = np.argsort(-np.abs(rows).max(axis=1) * w, kind="stable")  # long rows first: stable
    rows, w = rows[order], w[order]
    back = np.diag(space.scales) if space.full else space.rows
    R = np.linalg.qr((rows * np.sqrt(w)[:, None]) @ C, mode="r")
    if len(R) < space.rank:
        raise np.linalg.LinAlgError("too few rows for the rank")
    inverse, _ = lapack.dtrtri(R)
    return _Factor(np.ascontiguousarray(np.triu(inverse).T @ C.T), (R @ back).T)


class _Screen:
    """Leverages of all rows for one V, and bounds from them for any other."""

    def __init__(self, A: Floats, factor: _Factor) -> None:
        self.A = A
        self._look(factor)

    def _look(self, factor: _Factor) -> None:
        """Make a pass over all rows; from now on this V is the one to compare with."""
        self.factor = factor
        self.d = leverages(self.A, factor.W)
        if not np.isfinite(self.d.max()):
            refuse_non_finite(self.A)
        self._keep(np.inf)

    def _keep(self, cutoff: float) -> None:
        """Gather the rows whose leverage exceeds the cutoff, to look at them again and again."""
        self.cutoff = cutoff
        self.near = np.flatnonzero(self.d > cutoff)
        self.near_points = self.A[self.near]

    def rows_above(self, threshold: float, factor: _Factor) -> tuple[Indices, Floats]:
        """Return all rows whose leverage under ``factor`` exceeds the threshold, and theirs."""
        if factor is not self.factor:
            growth = float(np.linalg.norm(factor.W @ self.factor.U, 2)) ** 2
            cutoff = threshold / growth
            if cutoff < self.cutoff:
                if np.count_nonzero(self.d > cutoff) > 0.2 * len(self.A):
                    self._look(factor)
                else:
                    self._keep(0.95 * cutoff)
        if factor is self.factor:
            (above,) = np.nonzero(self.d > threshold)
            return above, self.d[above]
        d = leverages(self.near_points, factor.W)
        (above,) = np.nonzero(d > threshold)
        return self.near[above], d[above]


def _coordinates(A: Floats, rows: Indices, space: RowSpace) -> Floats:
    """Return the rows in coordinates in which V is well conditioned.

    On the basis of the row space; where some row is very long, on a basis that dominates.
    """
    B = np.ascontiguousarray(A[rows] @ space.transform)
    if np.abs(B).max() > _LONG:
        basis, _, _ = spanning_rows(B, np.arange(len(B)), 0, RANK_TOLERANCE)
        if len(basis) == B.shape[1]:
            dominant_basis(B, basis, 2.0)
    return B


def _largest(d: Floats, size: int) -> Indices:
    """Return the indices of the ``size`` largest entries; quick where d is long.

    A sample gives a threshold that a few times as many entries exceed.
    """
    rows: Indices = np.arange(len(d))
    if len(d) > 64 * size:
        guess = np.sort(d[sample_rows(len(d), 16384)])
        (above,) = np.nonzero(d > guess[-max(16, 3 * size * len(guess) // len(d))])
        if len(above) >= size:
            rows = above
    return rows[np.argpartition(d[rows], len(rows) - size)[len(rows) - size :]]


class _Start:
    """Weights of the rows of B after a few multiplicative steps from uniform ones."""

    def __init__(self, B: Floats) -> None:
        self.B = B
        self.w, self.d = np.full(len(B), 1.0 / len(B)), np.empty(len(B))
        self.gap = multiplicative(B, self.w, self.d, _WARM_UP)

    def settled(self) -> Floats | None:
        """Return optimal weights if the rows that matter lie on one ellipsoid, else None.

        Worth a try when more rows have a leverage above r than a support can hold.
        """
        r = self.B.shape[1]
        if np.count_nonzero(self.d > r) <= 0.45 * r * (r + 1):
            return None
        (alive,) = np.nonzero(self.d > r * (1.0 - self.gap))
        w = _weights_on_ellipsoid(self.B, alive, self.w)
        if w is None or multiplicative(self.B, w, self.d, 0) > 1e-9:
            return None
        return w


def _solve(B: Floats, tol: float, w: Floats | None = None) -> Floats:
    """Return D-optimal weights of the rows of B.

    Newton's method on a guess of the support is fastest and may stall where many rows lie almost
    on the optimal ellipsoid. Rows exactly on one ellipsoid are a linear problem; for the rest
    there is the interior-point method, which always gets there.
    """
    n, r = B.shape
    p = r * (r + 1) // 2
    tol = 0.1 * tol
    d = np.empty(n)
    if w is None:
        start = _Start(B)
        w = start.w
        if start.gap > tol:
            settled = start.settled()
            if settled is not None:
                return settled
            w = _restrict(start.w, start.d, max(r, 4 * p // 5))
    inside = w.copy()
    if newton(B, w, d, tol, 2 * p, 60) > tol:
        w = _interior_point(B, inside, tol)
    w[w <= 1e-14] = 0.0
    return np.asarray(w / w.sum())


def _restrict(w: Floats, d: Floats, size: int) -> Floats:
    """Return the weights on the rows of largest leverage only, summing to one."""
    if size >= len(w):
        return w.copy()
    keep = np.argpartition(-d, size)[:size]
    restricted = np.zeros(len(w))
    restricted[keep] = w[keep] / w[keep].sum()
    return restricted


def _interior_point(B: Floats, w: Floats, tol: float) -> Floats:
    """Follow the central path  d + s = r,  w_i s_i = μ → 0  of max log det V(w), w ≥ 0.

    A Newton step solves (H + S/W) Δw = d − r + μ/w with H = M Mᵀ, M the moments of the rows in
    the coordinates where V = I; by Woodbury's identity in p = r(r+1)/2 dimensions.
    """
    r = B.shape[1]
    w = 0.5 * w + 0.5 / len(w)
    s = np.full(len(w), float(r))
    for _ in range(100):
        L = np.linalg.cholesky((B * w[:, None]).T @ B)
        Y = np.linalg.solve(L, B.T).T
        d = np.einsum("ij,ij->i", Y, Y)
        if d.max() * w.sum() <= r * (1.0 + tol):
            break
        mu = 0.1 * float(w @ s) / len(w)
        M = symmetric_moments(Y)
        ratio = w / s
        G = (M * ratio[:, None]).T @ M
        G[np.diag_indices_from(G)] += 1.0
        g = d - r + mu / w
        factor, _ = lapack.dpotrf(G, lower=1, overwrite_a=True)
        z, _ = lapack.dpotrs(factor, M.T @ (ratio * g), lower=1)
        dw = ratio * (g - M @ z)
        ds = mu / w - s - s / w * dw
        w = w + dw * min(1.0, 0.95 / max(float((-dw / w).max()), 1e-300))
        s = s + ds * min(1.0, 0.95 / max(float((-ds / s).max()), 1e-300))
    w = w / w.sum()
    return np.where(w > 1e-4 * tol / len(w), w, 0.0)


def _weights_on_ellipsoid(B: Floats, rows: Indices, start: Floats) -> Floats | None:
    """Return exact weights when the given rows lie on one ellipsoid yᵀTy = 1, else None.

    Then V = T⁻¹/r is optimal, and weights that give it solve linear equations in the moments. The
    least change of the present weights, relative to themselves, keeps them positive where there
    is room; rows that turn negative are dropped and the rest solved again.
    """
    r = B.shape[1]
    rows = rows[
        np.linspace(0, len(rows) - 1, min(len(rows), int(_ROOM * r * (r + 1) / 2)), dtype=int)
    ]
    weights = start[rows] / start[rows].sum()
    M = symmetric_moments(B[rows])
    target: Floats | None = None
    for _ in range(8):
        scaled = M * np.sqrt(weights)[:, None]
        G, info = lapack.dpotrf(blas.dsyrk(1.0, scaled.T, lower=1), lower=1, overwrite_a=True)
        pivots = np.diagonal(G)
        if info != 0 or pivots.min() < 1e-6 * pivots.max():  # moments too dependent to solve for
            return None
        if target is None:
            t, _ = lapack.dpotrs(G, M.T @ weights, lower=1)
            if np.abs(M @ t - 1.0).max() > 1e-9:
                return None
            target = _moments_of_inverse(t, r)
            if target is None:
                return None
        z, _ = lapack.dpotrs(G, target - M.T @ weights, lower=1)
        weights = weights * (1.0 + M @ z)
        keep = weights > 0.0
        if keep.all():
            full = np.zeros(len(B))
            full[rows] = weights
            return full
        rows, weights, M = rows[keep], weights[keep], M[keep]
    return None


def _moments_of_inverse(t: Floats, r: int) -> Floats | None:
    """Return svec(T⁻¹)/r for the matrix T given as svec(T); None if T is no ellipsoid's."""
    i, j = np.tril_indices(r)
    root = np.where(i == j, 1.0, np.sqrt(2.0))
    T = np.zeros((r, r))
    T[i, j] = t / root
    factor, info = lapack.dpotrf(T, lower=1)
    if info != 0:
        return None
    inverse, _ = lapack.dpotri(factor, lower=1)
    return np.asarray(inverse[i, j] * root / r)
