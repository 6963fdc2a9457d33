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
from scipy.linalg import lapack

from evenhand.designs._ascent import multiplicative, newton
from evenhand.designs.design import Certificate, Design
from evenhand.designs.support import cut_support, symmetric_moments
from evenhand.errors import AccuracyError, InputError
from evenhand.linalg import (
    Floats,
    Indices,
    RowSpace,
    as_points,
    leverages,
    refuse_non_finite,
    row_space,
    sample_rows,
)

_SMALL = 2048  # up to this many rows the working set is everything
_ROUNDS = 40
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
    if not 0 < tol < 1:
        raise InputError(f"tol must lie between 0 and 1; got {tol}.")
    A = as_points(points)
    k, m = A.shape
    sample = sample_rows(k, max(1024, 48 * m))
    space = row_space(A, sample)
    r = space.rank
    if r == 0:
        raise InputError("all points are zero; there is nothing to estimate.")
    p = r * (r + 1) // 2

    screen: _Screen | None = None
    if k <= max(_SMALL, 4 * p):
        rows = np.arange(k)
    else:
        screen = _Screen(A, _factor(space, A[sample], np.full(len(sample), 1.0 / len(sample))))
        rows = _first_working_set(screen.d, space.basis, p)
    w = np.empty(0)
    for _ in range(_ROUNDS):
        w = _solve(np.ascontiguousarray(A[rows] @ space.transform), w, 0.1 * tol)
        rows, w = rows[w > 0.0], w[w > 0.0]
        factor = _factor(space, A[rows], w)
        if screen is None:
            screen = _Screen(A, factor)
        high, d = screen.rows_above(r * (1.0 - 1e-6), factor)
        largest = float(d.max())
        if largest <= r * (1.0 + tol):
            weights = np.zeros(k)
            weights[rows] = w
            certificate = Certificate(largest, float(r), factor.W / np.sqrt(largest))
            return Design("G", weights, largest, largest, certificate)
        violating = d > r * (1.0 + 0.1 * tol)
        high, d = high[violating], d[violating]
        new = np.setdiff1d(high[np.argsort(-d, kind="stable")[: 2 * p]], rows)
        rows, w = np.concatenate([rows, new]), np.concatenate([w, np.zeros(len(new))])
    raise AccuracyError(
        f"the G-optimal design reached a gap of {largest / r - 1:.2g}, not {tol:.2g}. "
        "Ask for a larger tol."
    )


@dataclass(frozen=True)
class _Factor:
    """V = U Uᵀ by way of W with W U = I, so that aᵀV⁺a = ‖W a‖² for points a."""

    W: Floats
    U: Floats


def _factor(space: RowSpace, rows: Floats, w: Floats) -> _Factor:
    """Factor V(w) by QR of √w · rows, which keeps the accuracy that V itself would lose."""
    C = space.coordinates
    back = np.diag(space.scales) if space.full else space.rows
    R = np.linalg.qr((rows * np.sqrt(w)[:, None]) @ C, mode="r")
    inverse, _ = lapack.dtrtri(R)
    return _Factor(np.ascontiguousarray(np.triu(inverse).T @ C.T), (R @ back).T)


class _Screen:
    """Leverages of all rows for one V, and bounds from them for any other."""

    def __init__(self, A: Floats, factor: _Factor) -> None:
        self.A = A
        self._look(factor)

    def _look(self, factor: _Factor) -> None:
        self.factor = factor
        self.d = leverages(self.A, factor.W)
        if not np.isfinite(self.d.max()):
            refuse_non_finite(self.A)

    def rows_above(self, threshold: float, factor: _Factor) -> tuple[Indices, Floats]:
        """Return all rows whose leverage under ``factor`` exceeds the threshold, and theirs."""
        if factor is not self.factor:
            growth = np.linalg.norm(factor.W @ self.factor.U, 2) ** 2
            (unclear,) = np.nonzero(self.d * growth > threshold)
            if len(unclear) < 0.2 * len(self.A):
                d = leverages(self.A[unclear], factor.W)
                return unclear[d > threshold], d[d > threshold]
            self._look(factor)
        (above,) = np.nonzero(self.d > threshold)
        return above, self.d[above]


def _first_working_set(d: Floats, basis: Indices, p: int) -> Indices:
    """Rows of largest leverage, rows from anywhere, and a basis, so that the rank is full."""
    top = np.argpartition(-d, 3 * p // 2)[: 3 * p // 2]
    anywhere = sample_rows(len(d), 2 * p)
    return np.unique(np.concatenate([top, anywhere, basis]))


def _solve(B: Floats, w: Floats, tol: float) -> Floats:
    """Return D-optimal weights of the rows of B, at most r(r+1)/2 of them positive.

    Newton's method on a guess of the support is fastest and may stall where many rows lie almost
    on the optimal ellipsoid. Rows exactly on one ellipsoid are a linear problem; for the rest
    there is the interior-point method, which always gets there.
    """
    n, r = B.shape
    p = r * (r + 1) // 2
    d = np.empty(n)
    if len(w):
        start = w
        gap = newton(B, w, d, tol, 2 * p, 60)
    else:
        start = np.full(n, 1.0 / n)
        gap = multiplicative(B, start, d, _WARM_UP)
        w = start
        if gap > tol:
            (alive,) = np.nonzero(d > r * (1.0 - gap))
            on_ellipsoid = _weights_on_ellipsoid(B, alive, start) if len(alive) > p else None
            if on_ellipsoid is not None:
                w, gap = on_ellipsoid, 0.0
            else:
                w = _restrict(start, d, max(r, 4 * p // 5))
                gap = newton(B, w, d, tol, 2 * p, 60)
    if gap > tol:
        w = _interior_point(B, start, tol)
    (support,) = np.nonzero(w > 1e-14)
    cut = np.zeros(n)
    cut[support] = cut_support(B[support], w[support])
    return cut / cut.sum()


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
    rows = rows[:: max(1, len(rows) // (5 * r * (r + 1) // 4))]
    weights = start[rows] / start[rows].sum()
    M = symmetric_moments(B[rows])
    target: Floats | None = None
    for _ in range(8):
        G, info = lapack.dpotrf((M * weights[:, None]).T @ M, lower=1, overwrite_a=True)
        if info != 0:
            return None
        if target is None:
            t, _ = lapack.dpotrs(G, M.T @ weights, lower=1)
            if np.abs(M @ t - 1.0).max() > 1e-9:
                return None
            target = _moments_of_inverse(t, r)
        z, _ = lapack.dpotrs(G, target - M.T @ weights, lower=1)
        weights = weights * (1.0 + M @ z)
        keep = weights > 0.0
        if keep.all():
            full = np.zeros(len(B))
            full[rows] = weights
            return full
        rows, weights, M = rows[keep], weights[keep], M[keep]
    return None


def _moments_of_inverse(t: Floats, r: int) -> Floats:
    """Return svec(T⁻¹)/r for the matrix T given as svec(T)."""
    i, j = np.tril_indices(r)
    root = np.where(i == j, 1.0, np.sqrt(2.0))
    T = np.zeros((r, r))
    T[i, j] = T[j, i] = t / root
    inverse = np.linalg.inv(T)
    return np.asarray(inverse[i, j] * root / r)
