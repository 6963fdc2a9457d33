"""The smallest ellipsoid around rows of which many lie close to it.

Of all M with slacks s_i = r − a_iᵀM a_i ≥ 0 for all rows, the one that maximises log det M is
V(w)⁻¹ for the G-optimal weights w, which are the multipliers of the slacks. Where no more than
p = r(r+1)/2 rows come near the surface, a working set finds them in one or two rounds. Where many
do, the optimum of a working set fits its noise and leaves others out, again and again.

So one path is followed here, v_i s_i = μ → 0 with Σ v_i a_i a_iᵀ = M⁻¹, and rows join and leave at
every step of it. Slacks are linear in M: a row joins with the slack that it has, and the weight
μ / s_i that the path gives to it, before it is left out. What weights that come and go do to the
moments is made up for by the others, each in proportion to its own.

Notation: M = WᵀW, y_i = W a_i, moments m_i = svec(y_i y_iᵀ), q = v / s. A step M ← Wᵀ(I + E)W with
e = svec(E) has Δs_i = −m_i·e and Δv_i = μ/s_i − v_i + q_i m_i·e, and so

    F e = svec(I) − Σ (μ/s_i) m_i,    F = I + Σ q_i m_i m_iᵀ.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from evenhand.arrays import Floats, Indices
from evenhand.designs._ascent import moment_gram
from evenhand.designs.screen import GramFactor, Screen
from evenhand.numerics.row_space import RowSpace, largest_entries, leverages

_OUTER = 4  # rows to begin with, per moment: those farthest out
_JOIN = 1  # rows that join at a time, per moment
_SPARE = 1.6  # rows that stay, per moment, whatever their weights
_LIGHT = 0.1  # of the average weight of a support: rows below leave,
_FAR = 3.0  # if their slack is more than so many times the average
_INSIDE = 0.1  # of the average slack: what a row is given that was outside
_FIELD = 32  # rows that are looked at in every step, per moment: those farthest out,
_AGAIN = 0.1  # and all rows when the average slack has fallen to this share
_STEPS = 40  # where the path is of use it takes 8 to 15
_PATIENCE = 6  # steps, of which the last has half the average slack of the worst, or it is left
_RESTORED = 1e-8  # a share of the moments that moves no leverage by more
_EXACT = 1e-12  # a gap that is rounding: it may be zero and then falls no more
_DEPENDENT = 1e-13  # what is left of a moment, squared, by way of the others: rounding


class Moments:
    """Sums of moments and products with them, for rows Y, without writing the moments down."""

    def __init__(self, r: int) -> None:
        self.i, self.j = np.tril_indices(r)
        self.scale = np.where(self.i == self.j, 1.0, np.sqrt(2.0))

    def of(self, S: Floats) -> Floats:
        """Return svec(S) of a symmetric matrix, (r, r)."""
        vector: Floats = S[self.i, self.j] * self.scale
        return vector

    def matrix(self, e: Floats) -> Floats:
        """Return the matrix E with svec(E) = e."""
        r = int(self.i[-1]) + 1
        E = np.empty((r, r))
        E[self.i, self.j] = E[self.j, self.i] = e / self.scale
        return E

    def sum(self, Y: Floats, v: Floats) -> Floats:
        """Return Σ v_i m_i."""
        return self.of((Y * v[:, None]).T @ Y)

    def products(self, Y: Floats, e: Floats) -> Floats:
        """Return m_i·e."""
        products: Floats = np.einsum("ij,ij->i", Y @ self.matrix(e), Y)
        return products


def enclosing(
    A: Floats, space: RowSpace, first: GramFactor, tol: float
) -> tuple[Indices, Floats, Screen] | None:
    """Return rows and weights whose gap over all rows is at most ``tol``, from some V on, and
    the screen that says so; None if the path does not lead there.
    """
    r = space.rank
    p = r * (r + 1) // 2
    moments = Moments(r)
    one = moments.of(np.eye(r))
    F = np.empty((p, p))
    screen = Screen(A, first)
    rows = np.union1d(largest_entries(screen.d, _OUTER * p), space.basis)
    d = screen.d[rows]
    outside = max(float(d.max()) / r - 1.0, tol)
    grown = 1.0 + (1.0 + _INSIDE) * outside  # so that all rows are inside
    M, s = _scaled(first, grown), r - d / grown
    v, _, _ = relaxed(A[rows] @ M.W.T)
    v = np.maximum(v, _LIGHT / len(v))
    field, looked = largest_entries(screen.d, _FIELD * p), np.inf
    seen = A[field]
    levels: list[float] = []
    for _ in range(_STEPS):
        n, q, mu = len(rows), v / s, float(v @ s) / len(rows)
        Y = np.ascontiguousarray(A[rows] @ M.W.T)
        moment_gram(Y, q, F)
        F[np.diag_indices(p)] += 1.0
        factor, info = lapack.dpotrf(F.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            return None

        def solve(b: Floats, factor: Floats = factor) -> Floats:
            return np.asarray(lapack.dpotrs(factor, b, lower=0)[0])

        # Mehrotra's steps: where μ = 0 leads, then what is left of μ and how the products bend
        e = solve(one)
        ds = -moments.products(Y, e)
        dv = -v - q * ds
        ahead = float((v + _longest(v, dv) * dv) @ (s + _longest(s, ds) * ds)) / n
        bent = (mu * max(ahead / mu, 0.0) ** 3 - dv * ds) / s
        E = moments.matrix(e)
        e = solve(one + moments.of(E @ E) - moments.sum(Y, bent))
        ds = -moments.products(Y, e)
        dv = bent - v - q * ds
        short = 1.0 - min(0.1, max(0.001, mu * n / r))
        E = moments.matrix(e)
        b = min(_longest(s, ds, short), 0.9 / max(-float(np.linalg.eigvalsh(E)[0]), 0.9))
        v = v + _longest(v, dv, short) * dv
        s = s + b * ds
        L = np.linalg.cholesky(np.eye(r) + b * E)
        M = GramFactor(L.T @ M.W, np.linalg.solve(L, M.U.T).T)
        # rows leave, and the others make up for them
        level = float(v @ s) / float(v.sum())
        stay = (v > _LIGHT * v.sum() / p) | (s < _FAR * level) | np.isin(rows, space.basis)
        stay[largest_entries(v, int(_SPARE * p))] = True
        rows, v, s, q, Y = rows[stay], v[stay], s[stay], q[stay], Y[stay]
        goal = moments.of(np.asarray(np.linalg.inv(np.eye(r) + b * E), dtype=np.float64))
        for _ in range(3):
            missing = goal - moments.sum(Y, v)
            if np.abs(missing).max() <= _RESTORED:
                break
            dv = q * moments.products(Y, solve(missing))
            v = v + _longest(v, dv, 0.9) * dv
        # which rows come near, and whether all are low enough for V(v), which is nearly M⁻¹
        level = float(v @ s) / float(v.sum())
        levels.append(level)
        if len(levels) >= _PATIENCE and level > 0.5 * max(levels[-_PATIENCE:]):
            return None
        enough = r * (1.0 + tol) / v.sum()
        enough *= float(np.linalg.eigvalsh(L.T @ moments.matrix(moments.sum(Y, v)) @ L)[0])
        near, beyond = field, leverages(seen, M.W)
        inside = float(beyond.max()) <= enough
        if inside or level < _AGAIN * looked:
            # of the rows that may join, at least as many as will are in the field
            some = min(len(rows) + _JOIN * p, len(beyond))
            worth = max(r - level, float(np.partition(beyond, -some)[-some]))
            near, beyond = screen.rows_above(min(worth, enough) if inside else worth, M)
            if inside and not np.any(beyond > enough):
                return rows, v / v.sum(), screen
            # rows far outside say that the field is not the right one yet
            looked = level if beyond.max(initial=0.0) <= r + level else np.inf
            if screen.factor is M:
                field = largest_entries(screen.d, _FIELD * p)
                seen = A[field]
        near, beyond = near[beyond > r - level], beyond[beyond > r - level]
        largest = max(float(beyond.max(initial=0.0)), r - level)
        new = ~np.isin(near, rows)
        near, beyond = near[new], beyond[new]
        top = largest_entries(beyond, _JOIN * p)
        near, beyond = near[top], beyond[top]
        if r - largest < _INSIDE * level:
            grown = largest / (r - _INSIDE * level)
            M, s, beyond = _scaled(M, grown), r - (r - s) / grown, beyond / grown
        mu = float(v @ s) / len(rows)
        rows, s = np.append(rows, near), np.append(s, r - beyond)
        v = np.append(v, mu / (r - beyond))
    return None


def dependent(B: Floats) -> bool:
    """Return whether the moments of the rows of B are dependent, as those of dummies and signs are.

    Then rows lie on an ellipsoid without noise, more of them than a path can tell apart.
    """
    p = B.shape[1] * (B.shape[1] + 1) // 2
    F = np.zeros((p, p))  # of which one triangle is written, and both are scaled
    moment_gram(B, np.ones(len(B)), F)
    sizes = np.sqrt(F.diagonal())
    if not sizes.all():
        return True
    factor, info = lapack.dpotrf((F / sizes / sizes[:, None]).T, lower=0, clean=0, overwrite_a=1)
    return bool(info != 0 or factor.diagonal().min() ** 2 < _DEPENDENT)


def relaxed(B: Floats) -> tuple[Floats, float, float]:
    """Return weights that bring all rows of B close to one ellipsoid, if any do; the gap that equal
    weights have, and theirs.
    """
    # Where all leverages are r (1 − y'Ey) with a small E, a multiplicative step takes off about
    # 2/r of it, so one with the power r/2 takes off most; a little less, as n rows at random have
    # moments of different sizes, from (1 − √(p/n))² to (1 + √(p/n))². Elsewhere it overshoots and
    # is stopped.
    n, r = B.shape
    power = 0.5 * r / (1.0 + 0.5 * r * (r + 1) / n)
    w = best = np.full(n, 1.0 / n)
    gaps: list[float] = []
    while len(gaps) < 5 or _EXACT < gaps[-1] <= 0.8 * gaps[-3]:
        try:
            W = np.linalg.inv(np.linalg.cholesky((B * w[:, None]).T @ B))
        except np.linalg.LinAlgError:
            gaps.append(np.inf)
            break
        d = leverages(B, W) / r
        gaps.append(float(d.max()) - 1.0)
        if gaps[-1] <= min(gaps):
            best = w
        # no weight grows more than e-fold at once
        w = w * np.exp(min(power, 1.0 / max(gaps[-1], 1e-9)) * np.log(np.maximum(d, 1e-300)))
        w /= w.sum()
    return best, gaps[0], min(gaps)


def _scaled(M: GramFactor, by: float) -> GramFactor:
    """Return M / by."""
    return GramFactor(M.W / np.sqrt(by), M.U * np.sqrt(by))


def _longest(x: Floats, dx: Floats, short: float = 1.0) -> float:
    """Return a step, up to one, that takes x + step dx no nearer to zero than ``short`` says."""
    steepest = float(np.max(-dx / x))
    return min(1.0, short / steepest) if steepest > 0.0 else 1.0
