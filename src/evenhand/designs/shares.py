"""Shares that estimate several directions about as well as can be, fast: for use at every turn.

    min_w max_u uᵀV(w)⁻¹u,   V(w) = Σ w_x a_x a_xᵀ

`joint_design` solves it to seven digits. Who plans by estimates needs two, and often.

Notation
--------
A   (k, r)  points                  U   (n, r)  directions
w   (k,)    shares of evaluations   λ   (n,)    weights of the directions; both sum to one
q_u = uᵀV⁻¹u                        c_x = Σ_u λ_u (a_x·V⁻¹u)²

For fixed λ the least Σ λ_u q_u is found by w_x ← w_x √c_x, which never makes it larger (Yu, Annals
of Statistics 2010); for fixed w the largest by more weight on large q_u, λ_u ← λ_u q_u. The two are
taken in turns. h_u = √λ_u V⁻¹u / max_x √c_x then has Σ_u (a_x·h_u)² ≤ 1 for all x, which proves
that no shares do better than Σ λ_u q_u² / max_x c_x (see `joint`). The turns end when that is near.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats

_MOST_TURNS = 400
_EVENLY = 1e-3  # share that is spread evenly, so that V keeps an inverse; costs as much, relatively


def quick_shares(
    points: Floats, directions: Floats, start: Floats | None = None, tol: float = 0.02
) -> tuple[Floats, float, float]:
    """Return shares w, the largest uᵀV(w)⁻¹u, and what no shares can be below.

    Parameters
    ----------
    points
        (k, r) points that span everything.
    directions
        (n, r) directions, not all zero.
    start
        (k,) shares to start from; equal ones if not given.
    tol
        How far above its bound the value may be, relatively. Where that is not reached in a few
        hundred turns, the best shares so far are returned.

    Examples
    --------
    >>> shares, value, bound = quick_shares(np.eye(2), np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> shares.round(2), bound <= 5.0 <= value <= 1.02 * bound         # 1 here and 4 there
    (array([0.2, 0.8]), True)
    """
    A, U = points, directions / np.abs(directions).max()
    k = len(A)
    w = np.full(k, 1.0 / k) if start is None else start / start.sum()
    lam = np.full(len(U), 1.0 / len(U))
    best, value, bound = w, np.inf, 0.0
    for _ in range(_MOST_TURNS):
        w = (1.0 - _EVENLY) * w + _EVENLY / k
        G = np.linalg.solve(A.T @ (w[:, None] * A), U.T).T
        q = np.einsum("ij,ij->i", G, U)
        c = np.einsum("ij,ij->i", A @ (G.T @ (lam[:, None] * G)), A)
        if q.max() < value:
            best, value = w, float(q.max())
        bound = max(bound, float(lam @ q**2) / float(c.max()))
        if value <= bound * (1.0 + tol):
            break
        w = w * np.sqrt(np.maximum(c, 0.0))
        w /= w.sum()
        lam = lam * q
        lam /= lam.sum()
    unit = float(np.abs(directions).max()) ** 2
    return best, value * unit, bound * unit
