"""The winner test of `certainty.winner`, with σ known, on many draws at once.

Notation
--------
v̂, C    (k,), (k, k)  estimated values and their covariance;  i the option of the largest estimate
T_j     v̂_i − v̂_j, of variance s_j²; under H_j, 'j is better than i by ε', its mean is at most −ε
c       C(e_i − e_j)/s_j²: v̂ − c T_j is independent of T_j

That i leads says of T_j, given the rest, that it lies in an interval [a, b]. So under H_j its upper
tail within that interval, p_j, is at least uniform, and 'the leader is best' may be said if every
p_j is at most δ: a false word needs that of the true best, one hypothesis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from evenhand.arrays import Floats

_CLOSEST = 12  # rivals, in their standard errors, whose tails are worked out
_FLAT = 1e-12  # slopes below it are rounding
_AT_ONCE = 4_000_000  # numbers worked on in one go


def leader_is_certain(
    estimates: Floats, own: Floats, shared: Floats, delta: float, tolerance: float = 0.0
) -> NDArray[np.bool_]:
    """Return (n,) whether the leader of each row of estimates, (n, k), is certainly the best."""
    # C = diag(own²) + shared·sharedᵀ, (k,) and (k, r).
    leaders = estimates.argmax(axis=1)
    certain = np.zeros(len(estimates), dtype=np.bool_)
    shared = _differing(own, shared)
    for leader in np.unique(leaders).tolist():
        (rows,) = np.nonzero(leaders == leader)
        for some in np.array_split(rows, math.ceil(estimates[rows].size * _CLOSEST / _AT_ONCE)):
            tails = _largest_tails(estimates[some], leader, own**2, shared, tolerance)
            certain[some] = tails <= delta
    return certain


def _differing(own: Floats, shared: Floats) -> Floats:
    """Return what options have in common but for what all of them have, (k, r') with r' ≤ r."""
    B = shared - shared.mean(axis=0)
    values, axes = np.linalg.eigh(B.T @ B)
    least = _FLAT**2 * max(float((own**2).sum()), float(values[-1:].sum()))
    return np.asarray(B @ axes[:, values > least])


def _largest_tails(estimates: Floats, i: int, own: Floats, B: Floats, tolerance: float) -> Floats:
    """Return (n,) the largest p_j of a leader over its closest rivals; 0 if it has none."""
    # `own` are (k,) variances, C = diag(own) + BBᵀ. With D_j = B_i − B_j the leads over j and l
    # have the covariance own_i + [l = j] own_j + D_j·D_l.
    D = B[i] - B
    variances = own[i] + own + (D**2).sum(axis=1)
    variances[i] = 0.0
    rivals = np.flatnonzero(variances > 1e-12 * variances.max(initial=0.0))
    if len(rivals) == 0:
        return np.zeros(len(estimates))
    leads = estimates[:, [i]] - estimates
    scores = leads[:, rivals] / np.sqrt(variances[rivals])
    m = min(_CLOSEST, len(rivals))
    nearest = rivals[np.argpartition(scores, m - 1, axis=1)[:, :m]]  # (n, j)
    T, s = np.take_along_axis(leads, nearest, axis=1), np.sqrt(variances[nearest])
    slopes = own[i] + D[nearest] @ D.T  # (n, j, l): how the lead over l rises with T_j
    np.put_along_axis(slopes, nearest[:, :, None], variances[nearest][:, :, None], axis=2)
    slopes /= variances[nearest][:, :, None]  # 1 for l = j
    slopes[:, :, i] = 0.0
    # the lead over l stays ≥ 0 while T_j falls by at most so much, or rises where slopes are < 0
    slack = leads[:, None, :] / np.where(slopes == 0.0, 1.0, slopes)
    low = T - np.where(slopes > _FLAT, slack, np.inf).min(axis=2)
    high = T + np.where(slopes < -_FLAT, -slack, np.inf).min(axis=2)
    log_t, log_a, log_b = (log_ndtr(-(x + tolerance) / s) for x in (T, low, high))
    with np.errstate(invalid="ignore"):
        within = np.expm1(np.minimum(log_b - log_t, 0.0)) / np.expm1(np.minimum(log_b - log_a, 0.0))
    p = np.exp(log_t - log_a) * np.where(np.isnan(within), 1.0, within)
    return np.asarray(p.max(axis=1))
