"""Designs of stages: how much of each question settles the leads soonest, and in which order.

Notation
--------
P       (q, r)  points of the questions, U (n, r) directions: leads, each scaled by its need
c, n    (q,)    prices, and how often a question is asked;  V = Σ n p pᵀ
u       (q,)    shares of the money: n ∝ u/c, so that for one unit of it V = Σ u (p/√c)(p/√c)ᵀ
f       (n,)    variances uᵀV⁻¹u of the directions
h       (q,)    how often a question was asked beyond its share of what its peers were, rounded
                down: the same question to other evaluators

Money is shared so that the largest f is least (`proportions`). An order takes one question after
the other: the next is the one that lessens Σ f³ most for its price, from a small head start in the
proportions on. The power leans on the largest f, and yet goes on where two of them are tied, which
no single question lessens.

Of peers that are as good, those that were asked least are next. For that the gain of a question is
weighed by 1/(1 + ρh)(1 + ρ(h + 1)): what one more answer is worth after h of them if each pair of
evaluator and option had an effect of its own, with ρ times the variance of the noise, that stays.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty import _stages

IN_SPAN = 1e-8
"""Relative distance from a span below which a direction lies in it."""
_CRITICAL = 64  # rivals that a design is made for at first
_STEPS, _TOL = 200, 0.01  # of the search for proportions
_HEAD = 0.1  # of an evaluation, in the proportions, that an order starts from
_NEGLIGIBLE = 1e-3  # of an equal share: weights below it are left out where they are not needed
_STAYS = 0.35  # ρ, about that of skating judges
_GREEDY = 256  # questions after which an order only follows its shares
_RIDGE = 1e-9


def proportions(points: Floats, directions: Floats, start: Floats) -> tuple[Floats, float]:
    """Return w and max ‖u‖²_{V(w)⁻¹} over directions u, (n, r), each scaled by its need."""
    critical = _longest(directions)
    weights = start.copy()
    for _ in range(4):
        U = np.ascontiguousarray(directions[critical])
        value = _stages.minimax_weights(points, U, weights, _STEPS, _TOL)
        if len(critical) == len(directions):
            break
        all_of_them = spreads(inverse_gram(points, weights), directions) ** 2
        worse = np.setdiff1d(np.flatnonzero(all_of_them > 1.02 * value), critical)
        if len(worse) == 0:
            break
        worst = worse[np.argsort(-all_of_them[worse], kind="stable")[:_CRITICAL]]
        critical = np.concatenate([critical, worst])
        weights = 0.8 * weights + 0.2 * start
    return weights, value


def spread_out_by(points: Floats, directions: Floats, weights: Floats, length: int) -> Indices:
    """Return (length,) points in an order that has the proportions early on."""
    U, q = directions[_longest(directions)], len(points)
    used = needed(points, U, weights)
    share = np.zeros(q)
    share[used] = weights[used]
    none, free = np.zeros(q, dtype=np.int64), np.full(q, length)
    head = head_start(points, share)
    return dealt(points, U, share, head, length, np.ones(q), none, free, np.arange(q))


def dealt(
    points: Floats,
    directions: Floats,
    shares: Floats,
    head: Floats,
    length: int,
    prices: Floats,
    asked: Counts,
    left: Counts,
    peers: Indices,
) -> Indices:
    """Return (length,) questions, or fewer if there are no more, in an order that is good early on.

    Parameters
    ----------
    points, directions
        P and U.
    shares
        (q,) shares of the evaluations; those without any are not asked.
    head
        (r, r) what V is before the first of them.
    length
        How many questions.
    prices, asked, left
        (q,) their prices, how often they were asked before, and how often they may be now.
    peers
        (q,) the same number for questions that are peers.
    """
    U = directions[_longest(directions)]
    (used,) = np.nonzero((shares > 0.0) & (left > 0))
    P = np.ascontiguousarray(points[used])
    ridge = _RIDGE * (np.diag(np.diag(head)) + np.eye(len(head)))
    inverse: Floats = np.asarray(np.linalg.inv(head + ridge), dtype=np.float64)
    Z = P @ inverse
    order = _stages.dealt(
        P,
        inverse,
        Z @ U.T,
        np.einsum("ij,ij->i", U @ inverse, U),
        1.0 + np.einsum("ij,ij->i", Z, P),
        shares[used] / shares[used].sum(),
        prices[used],
        asked[used],
        left[used],
        peers[used],
        length,
        _GREEDY,
        _STAYS,
    )
    return used[order]


def head_start(points: Floats, shares: Floats) -> Floats:
    """Return V of a tenth of an evaluation in these proportions."""
    return _HEAD * gram(points, shares / shares.sum())


def _longest(directions: Floats) -> Indices:
    sizes = np.einsum("ij,ij->i", directions, directions)
    return np.argsort(-sizes, kind="stable")[:_CRITICAL]


def needed(points: Floats, U: Floats, weights: Floats) -> Indices:
    """Return the points of more than negligible weight, if they do for the directions."""
    used = np.flatnonzero(weights > 0.0)
    heavy = np.flatnonzero(weights > _NEGLIGIBLE / len(weights))
    if len(heavy) < len(used):  # a point may be rare and needed all the same
        worst, without = (
            spreads(inverse_gram(points[some], weights[some]), U).max() for some in (used, heavy)
        )
        span = inverse_gram(points[heavy], weights[heavy])
        missing = np.abs(U - U @ span @ gram(points[heavy], weights[heavy])).max(axis=1)
        if without < 1.01 * worst and missing.max() < IN_SPAN * np.abs(U).max():
            return heavy
    return used


def spreads(covariance: Floats, directions: Floats) -> Floats:
    """Return √(cᵀV⁻¹c) for every direction, a row."""
    return np.asarray(np.sqrt(np.maximum(((directions @ covariance) * directions).sum(axis=1), 0)))


def gram(points: Floats, weights: Floats) -> Floats:
    """Return V(w) = Σ w a aᵀ."""
    return np.asarray((points * weights[:, None]).T @ points)


def inverse_gram(points: Floats, weights: Floats) -> Floats:
    """Return V(w)⁻¹, on its range."""
    inverse = np.linalg.pinv(gram(points, weights), rcond=1e-11, hermitian=True)
    return np.asarray(inverse, dtype=np.float64)
