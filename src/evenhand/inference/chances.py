"""How probable it is that an option is among those wanted: an estimate, and no claim.

Notation
--------
v̂, C        (k,) estimated values less their mean, and (k, k) their covariance
τ²          variance of values, which are taken to be drawn from one normal population
A, w        (k, k−1) an orthonormal basis of differences, and w = Aᵀv̂ in which AᵀCA = diag(λ)
q           σ² over its estimate; ν/q is χ² of ν degrees of freedom

w_i are independent, of variance τ² + qλ_i, whatever the mean of the population is. τ, and q, have
what w says of them on a grid, with τ flat before; given both the true w_i are normal, of mean
ρ_i w_i and variance ρ_i qλ_i, ρ_i = τ²/(τ² + qλ_i). They are drawn, and what is wanted is counted.
So who leads is drawn back by as much as it owes to noise. z is AᵀZ, Z normal of options: the draws
are the same whichever eigenvectors a processor finds. Of very many options, values are taken to err
independently, and w = v̂.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats

_DRAWS = 4_000
_MANY = 400  # options whose errors are taken to be independent
_TAUS, _SCALES = 60, 15  # points of the grid
_SURE = 400.0  # degrees of freedom from which on the noise counts as known
_CELLS = 1_000_000  # numbers that are worked on at once
_REACH = 4.0  # times the scatter of the estimates that τ may be


@dataclass(frozen=True, eq=False)
class Drawn:
    """Values as they may be, by the scores and by what values are in general."""

    values: Floats  # (k, b) draws, each of mean 0

    @classmethod
    def of(cls, values: Floats, covariance: Floats, freedom: float) -> Self:
        """Draw, the same for the same values however options are numbered or called; of more than
        400 options the covariance is its (k,) diagonal.
        """
        k, order = len(values), np.argsort(-values, kind="stable")
        place, w, basis = np.argsort(order), values[order] - values.mean(), None
        if covariance.ndim == 2:
            basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]
            C = covariance[np.ix_(order, order)]
            sizes, axes = np.linalg.eigh(basis.T @ C @ basis)
            basis = basis @ axes
            w = basis.T @ w
        else:
            sizes = covariance[order]
        sizes = np.maximum(sizes, 1e-12 * sizes.max(initial=0.0))
        grid = (np.arange(_SCALES) + 0.5) / _SCALES
        q = np.ones(1) if freedom > _SURE else freedom / special.chdtri(freedom, grid)
        spread = math.sqrt(float(w @ w) / max(k - 1, 1)) or math.sqrt(float(sizes.mean()))
        tau = _REACH * spread * (np.arange(_TAUS) + 0.5) / _TAUS
        noise, squares = q[:, None] * sizes, tau * tau
        log = np.concatenate([
            _likely(some[:, None, None] + noise, w)
            for some in np.array_split(squares, 1 + tau.size * noise.size // _CELLS)
        ])  # fmt: skip
        weights = np.exp(log - log.max()).ravel()
        draws = _DRAWS if k <= _MANY else _DRAWS // 4
        where, z = (_random.__wrapped__ if basis is None else _random)(draws, k)
        which = np.searchsorted(np.cumsum(weights / weights.sum()), where)
        cells, which = np.unique(np.minimum(which, len(weights) - 1), return_inverse=True)
        squares, noise = squares[cells // len(q), None], noise[cells % len(q)]
        kept = squares / (squares + noise)
        mean, error = (kept * w).T, np.sqrt(kept * noise).T
        if basis is not None:
            drawn = error.take(which, axis=1) * (basis.T @ z) + mean.take(which, axis=1)
            return cls(basis[place] @ drawn)
        for i, cell in enumerate(which.tolist()):
            z[:, i] = error[:, cell] * z[:, i] + mean[:, cell]
        return cls(z[place])

    @property
    def spread(self) -> float:
        """Standard deviation of values in general."""
        return math.sqrt(float(self.values.var(axis=0, ddof=1).mean()))

    def among(self, m: int) -> Floats:
        """Return (k,) how probable it is that each is among the m best."""
        k, draws = self.values.shape
        first = np.argpartition(-self.values, m - 1, axis=0)[:m] if m > 1 else self.values.argmax(0)
        return np.asarray(np.bincount(first.ravel(), minlength=k) / draws)

    def above(self, mean: float, error: float, line: float) -> Floats:
        """Return (k,) how probable it is that each is above a line, by the mean of all values and
        its standard error.
        """
        z = np.random.default_rng(2).standard_normal(self.values.shape[1])
        return np.asarray((self.values + (mean + error * z) > line).mean(axis=1))

    def beside(self, rival: int, slack: float) -> Floats:
        """Return (k,) how probable it is that each is better than one, or no worse; NaN of that."""
        chances = np.asarray((self.values - self.values[rival] > -slack).mean(axis=1))
        chances[rival] = math.nan
        return chances

    def lost(self, chosen: NDArray[np.intp]) -> float:
        """Return what is lost per place by these on average, against the best as many."""
        m = len(chosen)
        best = self.values.max(axis=0) if m == 1 else -np.partition(-self.values, m - 1, axis=0)[:m]
        return float((best.sum() - self.values[chosen].sum()) / self.values.shape[1]) / m


def _likely(total: Floats, w: Floats) -> Floats:
    """Return (τ, q) log likelihoods of w with (τ, q, k − 1) variances."""
    return np.asarray(-0.5 * (np.log(total) + w**2 / total).sum(axis=2))


@lru_cache(maxsize=2)
def _random(draws: int, wide: int) -> tuple[Floats, Floats]:
    """Return (draws,) uniform numbers in order and (wide, draws) normal ones: always the same."""
    rng = np.random.default_rng(1)
    where, z = rng.random(draws), np.empty((wide, draws))
    order = np.argsort(where)
    for some in np.array_split(np.argsort(order), 1 + draws * wide // _CELLS):
        z[:, some] = rng.standard_normal((len(some), wide)).T
    return where[order], z
