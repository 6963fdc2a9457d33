"""The cheapest evaluations for given variances where questions may be asked only so often.

    min Σ c_x μ_x  with  uᵀV(μ)⁺u ≤ 1 for all u,  0 ≤ μ_x ≤ cap_x,  Σ_{x of e} μ_x ≤ workload_e

With weights w^u that write u as a combination of rows, that is a conic program, as in
`designs.joint`: (w^u_x)² ≤ t^u_x μ_x and Σ_x t^u_x ≤ 1. Caps are whole numbers, so rounding up
stays within them, and only lowers variances; as much as is not needed is rounded down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.designs.joint import solve_conic
from evenhand.numerics.least_squares import Gram, Svd
from evenhand.questions import UNLIMITED

_SLACK = 1e-7  # variance beyond 1 that is the program's rounding
_ALL = 20_000  # evaluations, up to which one begins with all of them
_ALONE = 1e-9  # what a row leaves to others to tell, and what it tells, that is rounding
_AT_ONCE = 64  # shares of those that are there, of which one is left out at a time at first


def capped_counts(
    rows: Floats,
    directions: Floats,
    prices: Floats,
    capacity: Counts,
    evaluator: Indices,
    workload: Counts,
) -> Floats:
    """Return (q,) whole counts within the caps, of nearly the least price."""
    # All of them together must be enough; each direction, a row, is then known with variance 1.
    caps = np.minimum(capacity, 10**9).astype(float)
    C = Svd.of(rows).coordinates
    B, U = rows @ C, directions @ C
    if caps.sum() <= _ALL:
        counts = _left_out(B, U, prices, caps, evaluator, workload)
        if _worst(B, U, counts) <= 1.0 + _SLACK:
            return counts
    mu = _program(B, U, prices, caps, evaluator, workload)
    counts = _within(_rounded(B, U, mu, caps), mu, evaluator, workload)
    while _worst(B, U, counts) > 1.0 + _SLACK:
        room = (counts < caps) & _has_room(counts, evaluator, workload)
        if not room.any():
            return counts
        gains = np.where(room, _gains(B, U, counts) / prices, -1.0)
        counts[int(np.argmax(gains))] += 1.0
    return _left_out(B, U, prices, counts, evaluator, workload)


def _left_out(
    B: Floats, U: Floats, prices: Floats, counts: Floats, evaluator: Indices, workload: Counts
) -> Floats:
    """Return counts without what is not needed: what adds least to the variances for its price is
    left out first, of those who are asked too much whatever it adds.
    """
    counts, n = counts.copy(), _AT_ONCE
    while True:
        (on,) = np.nonzero(counts)
        over = ~_has_room(counts, evaluator, workload + 1)[on]
        some = on[over] if over.any() else on
        P = Gram.of(B[on], counts[on]).inverse
        half = B[some] @ P
        left, told = 1.0 - (half * B[some]).sum(axis=1), ((half @ U.T) ** 2).max(axis=1)
        alone = left < _ALONE  # nothing else tells what it tells
        more = told / np.where(alone, 1.0, left)
        more[alone] = np.where(told[alone] < _ALONE, 0.0, np.inf)
        after = np.einsum("ij,jk,ik->i", U, P, U).max() + more
        may = np.isfinite(more) if over.any() else after <= 1.0 + _SLACK
        if not may.any():
            return counts
        order = np.argsort(np.where(may, more / prices[some], np.inf), kind="stable")
        batch = some[order[: max(1, min(int(may.sum()), len(on) // n))]]
        fewer = counts.copy()
        fewer[batch] -= 1.0
        if len(batch) > 1 and (over.any() or _worst(B, U, fewer) > 1.0 + _SLACK):
            n *= 4  # too many at once
            continue
        counts = fewer


def _rounded(B: Floats, U: Floats, mu: Floats, caps: Floats) -> Floats:
    """Return whole numbers: as many of the largest rests go up as it takes, the others down."""
    # That all of them go up is always enough. Of equal rests, of which symmetric panels have many,
    # chance decides, so that what goes up is spread over all.
    down = np.floor(mu + 1e-6)
    rest = np.round(mu - down, 6)
    order = np.random.default_rng(0).permutation(len(mu))
    order = order[np.argsort(-rest[order], kind="stable")]

    def with_first(n: int) -> Floats:
        counts = down.copy()
        counts[order[:n]] += 1.0
        return np.minimum(counts, caps)

    low, high = -1, int((rest > 0.0).sum())
    while high - low > 1:
        middle = (low + high) // 2
        enough = _worst(B, U, with_first(middle)) <= 1.0 + _SLACK
        low, high = (low, middle) if enough else (middle, high)
    return with_first(high)


def _worst(B: Floats, U: Floats, counts: Floats) -> float:
    """Return the largest variance of a direction; infinite if one is lost."""
    used = counts > 0
    if not used.any():
        return float("inf")
    return float(Gram.of(B[used], counts[used]).variances(U).max())


def _gains(B: Floats, U: Floats, counts: Floats) -> Floats:
    """Return what one more of each would take off the variances, all in all."""
    V = (B * counts[:, None]).T @ B + 1e-9 * np.eye(B.shape[1])
    half = np.linalg.solve(V, B.T)  # V⁻¹b
    return np.asarray(((U @ half) ** 2).sum(axis=0) / (1.0 + (B.T * half).sum(axis=0)))


def _has_room(counts: Floats, evaluator: Indices, workload: Counts) -> NDArray[np.bool_]:
    """Return (q,) whether who is asked may be asked more."""
    used = np.bincount(evaluator[evaluator >= 0], counts[evaluator >= 0], minlength=len(workload))
    room = np.append(used < workload, True)
    return np.asarray(room[evaluator])


def _within(counts: Floats, mu: Floats, evaluator: Indices, workload: Counts) -> Floats:
    """Return counts within the workloads: what was rounded up most is rounded down again."""
    for e in np.flatnonzero(workload < UNLIMITED).tolist():
        own = np.flatnonzero((evaluator == e) & (counts > 0))
        over = int(counts[own].sum()) - int(workload[e])
        for x in own[np.argsort(mu[own] - counts[own], kind="stable")][: max(over, 0)]:
            counts[x] -= 1.0
    return counts


def _program(
    B: Floats, U: Floats, prices: Floats, caps: Floats, evaluator: Indices, workload: Counts
) -> Floats:
    """Solve the conic program; variables μ, then w and t for every direction and row."""
    (q, r), n = B.shape, len(U)
    cells = n * q
    cell, x = np.arange(cells), np.tile(np.arange(q), n)
    w, t = q + cell, q + cells + cell
    width = q + 2 * cells
    one = np.ones(cells)
    equations = sparse.hstack(
        [
            sparse.csc_matrix((n * r, q)),
            sparse.kron(sparse.eye(n), B.T, format="csc"),
            sparse.csc_matrix((n * r, cells)),
        ]
    )
    sums = sparse.csc_matrix((one, (cell // q, t)), shape=(n, width))
    capped = sparse.csc_matrix((np.ones(q), (np.arange(q), np.arange(q))), shape=(q, width))
    (busy,) = np.nonzero(workload < UNLIMITED)
    loads = sparse.csc_matrix(evaluator[None, :] == busy[:, None], dtype=float)
    loads = sparse.hstack([loads, sparse.csc_matrix((len(busy), 2 * cells))])
    entries = np.concatenate([-one, -one, -one, one, -2 * one])
    row = np.concatenate([3 * cell, 3 * cell, 3 * cell + 1, 3 * cell + 1, 3 * cell + 2])
    column = np.concatenate([t, x, t, x, w])
    cones = sparse.csc_matrix((entries, (row, column)), shape=(3 * cells, width))
    solution = solve_conic(
        np.concatenate([prices, np.zeros(2 * cells)]),
        sparse.vstack([equations, sums, capped, loads, cones], format="csc"),
        np.concatenate(
            [U.ravel(), np.ones(n), caps, workload[busy].astype(float), np.zeros(3 * cells)]
        ),
        n_equal=n * r,
        n_positive=n + q + len(busy),
        name="the capped design",
        tol=1e-8,
    )
    return np.clip(solution.x[:q], 0.0, caps)
