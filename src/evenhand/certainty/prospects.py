"""How probable it is that further scores settle it, by the scores so far: a guess, and no claim.

Notation
--------
b, L        the option that leads, and (n,) its leads over all others;  λ the true ones
S, S'       (n, n) covariance of the leads now, and with the further scores
τ²          variance of values, which are taken to be drawn from one normal population

Who leads looks better than it is, the more so the more options there are. So λ is taken to be what
it is expected to be given L: with Σ = τ²(1 + 11ᵀ) and K = Σ(Σ + S)⁻¹ it is normal, of mean KL and
covariance Σ − KΣ; τ² is what estimates scatter beyond their noise. The leads by all scores, with
A = S'S⁻¹, are then AL + (1 − A)λ, with noise of covariance S' − AS' (information adds up). They are
drawn, and it is settled if whoever leads in the end would be certain.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.certainty.models import Fit
from evenhand.numerics.intervals import student_tail

_DRAWS = 2_000
_CLOSE = 48  # rivals that are looked at: those closest to the leader
_SMALL = 1e-12  # share of the largest axis of a covariance below which it has none


def chance_to_settle(
    leads: Floats,
    now: Floats,
    then: Floats,
    *,
    tolerance: float,
    failure: float,
    freedom: float = np.inf,
    errors: float | None = None,
) -> float:
    """Return how probable it is that further scores, which take the covariance of leads from
    ``now`` to ``then``, make the choice certain; a lead must be so many ``errors``, by one look if
    not given.
    """
    if not (np.isfinite(now).all() and np.isfinite(then).all()):
        return np.nan
    v = np.append(0.0, -leads)  # estimates, from the leader's on
    apart, later = (_apart(S) for S in (now, then))
    k = len(v)
    tau = max(0.0, float(v.var(ddof=1)) - 0.5 * float(apart.sum()) / (k * (k - 1)))
    if len(leads) > _CLOSE:
        some = np.argsort(leads, kind="stable")[:_CLOSE]
        leads, now, then = leads[some], now[np.ix_(some, some)], then[np.ix_(some, some)]
        later = _apart(then)
    n = len(leads)
    prior = tau * (np.eye(n) + 1.0)
    K, A = prior @ _inverse(prior + now), then @ _inverse(now)
    new = np.eye(n) - A
    mean = A @ leads + new @ (K @ leads)
    spread = new @ (prior - K @ prior) @ new.T + then - A @ then
    size, axes = np.linalg.eigh(0.5 * (spread + spread.T))
    z = np.random.default_rng(0).standard_normal((_DRAWS, n))
    ends = mean + (z * np.sqrt(np.maximum(size, 0.0))) @ axes.T
    values = np.hstack([np.zeros((_DRAWS, 1)), -ends])
    first = values.argmax(axis=1)
    ahead = values.max(axis=1)[:, None] - values + tolerance
    error = np.sqrt(later[first])
    others = np.arange(n + 1) != first[:, None]
    if errors is not None:
        return float((ahead >= errors * error).all(axis=1, where=others).mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = student_tail(ahead / error, freedom)
        share = np.full_like(error, 0.5)
        if tolerance > 0.0:  # the stronger of two tests: `winner`
            share = np.maximum(student_tail(tolerance / error, freedom), 1.0 / n)
    return float((tails <= failure * share).all(axis=1, where=others).mean())


def prospects_of(
    fit: Fit,
    leader: int,
    rivals: Indices,
    share: float,
    *,
    slack: float,
    failure: float,
    errors: float | None = None,
) -> float:
    """Return the chance that more scores like those of a fit, a ``share`` of all, settle it; NaN
    where options cannot be compared or nothing is known of the noise. ``slack`` is in units of the
    leads.
    """
    leads, variances = fit.leads(leader, rivals)
    if fit.freedom < 1.0 or not len(rivals) or not np.isfinite(variances).all():
        return np.nan
    unit = 1.0 if np.isinf(fit.freedom) else fit.scatter / fit.freedom
    now = unit * fit.shared(leader, rivals).some(np.arange(len(rivals)))
    freedom = fit.freedom / share
    return chance_to_settle(
        leads, now, share * now, tolerance=slack, failure=failure, freedom=freedom, errors=errors
    )


def _apart(S: Floats) -> Floats:
    """Return (n + 1, n + 1) variances of differences: the leader, and its rivals."""
    C = np.pad(S, ((1, 0), (1, 0)))
    own = np.diagonal(C)
    return np.asarray(np.maximum(own[:, None] + own - 2.0 * C, 0.0))


def _inverse(S: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(S, rcond=_SMALL, hermitian=True))
