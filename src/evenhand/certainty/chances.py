"""How probable it is that an option is among those wanted: an estimate, and no claim.

Notation
--------
v̂, C        (k,) estimated values up to a constant, and (k, k) their covariance up to what all share
τ²          variance of values, which are taken to be drawn from one normal population
A, w        (k, k−1) an orthonormal basis of differences, and w = Aᵀv̂ in which AᵀCA = diag(λ)
q           σ² over its estimate; ν/q is χ² of ν degrees of freedom

w_i are independent, of variance τ² + qλ_i, whatever the mean of the population is. τ, and q, have
what w says of them on a grid, with τ flat before; given both the true w_i are normal, of mean
ρ_i w_i and variance ρ_i qλ_i, ρ_i = τ²/(τ² + qλ_i). They are drawn, and what is wanted is counted.
So who leads is drawn back by as much as it owes to noise, and what is said of everybody at once is
as probable as it says, if values are about normal. docs/research/measured.md has how often
that was right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats
from evenhand.certainty.line import Field

_DRAWS = 4_000
_TAUS, _SCALES = 60, 15  # points of the grid
_REACH = 4.0  # times the scatter of the estimates that τ may be


@dataclass(frozen=True, eq=False)
class Drawn:
    """Values as they may be, by the scores and by what values are in general."""

    values: Floats  # (b, k) draws, each of mean 0

    @classmethod
    def of(cls, field: Field) -> Self:
        """Draw, the same for the same values however options are numbered or called."""
        k, order = len(field), field.order
        v = field.values[order]
        basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]
        C = field.covariance[np.ix_(order, order)]
        sizes, axes = np.linalg.eigh(basis.T @ C @ basis)
        sizes = np.maximum(sizes, 1e-12 * sizes[-1])
        basis = basis @ axes
        w = basis.T @ v
        nu = field.freedom if field.own is None else field.own.most
        grid = (np.arange(_SCALES) + 0.5) / _SCALES
        q = np.ones(1) if math.isinf(nu) else nu / special.chdtri(nu, grid)
        spread = math.sqrt(float(w @ w) / max(k - 1, 1)) or math.sqrt(float(sizes.mean()))
        tau = _REACH * spread * (np.arange(_TAUS) + 0.5) / _TAUS
        total = tau[:, None, None] ** 2 + q[:, None] * sizes  # (τ, q, k − 1)
        log = -0.5 * (np.log(total) + w**2 / total).sum(axis=2)
        weights = np.exp(log - log.max()).ravel()
        rng = np.random.default_rng(1)
        which = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(_DRAWS))
        which = np.minimum(which, len(weights) - 1)
        t, s = np.unravel_index(which, log.shape)
        noise = q[s][:, None] * sizes
        kept = tau[t][:, None] ** 2 / (tau[t][:, None] ** 2 + noise)
        z = rng.standard_normal((_DRAWS, k - 1))
        found = np.empty((_DRAWS, k))
        found[:, order] = (kept * w + np.sqrt(kept * noise) * z) @ basis.T
        return cls(found)

    @property
    def spread(self) -> float:
        """Standard deviation of values in general."""
        return math.sqrt(float(self.values.var(axis=1, ddof=1).mean()))

    def among(self, m: int) -> Floats:
        """Return (k,) how probable it is that each is among the m best."""
        first = np.argpartition(-self.values, m - 1, axis=1)[:, :m]
        return np.bincount(first.ravel(), minlength=self.values.shape[1]) / len(self.values)

    def above(
        self, field: Field, values: Floats, errors: Floats, line: float, unit: float = 1.0
    ) -> Floats:
        """Return (k,) how probable it is that each is above a line, by values whose standard errors
        are in the units of the field's; NaN where these are not known.
        """
        if not (np.isfinite(values).all() and np.isfinite(errors).all()):
            return np.full(len(values), np.nan)
        # draws of values about their mean, and of the mean, which is no better known than it is
        shared = float((errors**2 - np.diagonal(field.centred)).mean())
        z = np.random.default_rng(2).standard_normal(len(self.values))
        mean = values.mean() + unit * math.sqrt(max(shared, 0.0)) * z
        found = self.values * unit + mean[:, None]
        return np.asarray((found > line).mean(axis=0))

    def beside(self, rival: int, slack: float) -> Floats:
        """Return (k,) how probable it is that each is better than one, or no worse; NaN of that."""
        chances = np.asarray((self.values - self.values[:, [rival]] > -slack).mean(axis=0))
        chances[rival] = math.nan
        return chances

    def lost(self, chosen: NDArray[np.intp]) -> float:
        """Return what is lost per place by these on average, against the best as many."""
        m = len(chosen)
        best = -np.partition(-self.values, m - 1, axis=1)[:, :m]
        return float((best.sum(axis=1) - self.values[:, chosen].sum(axis=1)).mean()) / m
