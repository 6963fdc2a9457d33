"""Estimators and their confidence widths, each a function beside its lemma.

Notation
--------
A       (k, m)  points            n, s   (k,)  counts and sums of evaluations of each option
V(n) = Σ n_x a_x a_xᵀ             θ̂ = V(n)⁺ Σ s_x a_x, ordinary least squares
q       (k,)    sums of squares of evaluations
S = Σ (q_x − s_x²/n_x)            scatter of evaluations around their option's mean, in
f = Σ (n_x − 1)                   degrees of freedom; both sums over the options that have some
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.least_squares import Svd


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares as a linear map of means: estimates of n linear functions of θ."""

    used: Indices  # (u,) the options that were evaluated
    weights: Floats  # (n, u) what the mean of each of them counts for
    # (n,) of the estimates per unit of noise; infinite where evaluations do not show it
    deviations: Floats

    def estimates(self, means: Floats) -> Floats:
        """Return (n,) estimates from the (k,) mean evaluation of each option."""
        return np.asarray(self.weights @ means[self.used])


def least_squares(points: Floats, counts: Counts, targets: Floats) -> LeastSquares:
    """Return the least squares estimator of targets · θ from so many evaluations of each point."""
    # The weights w of a target minimise Σ w_x²/n_x subject to Σ w_x a_x = target (its projection,
    # where that is not in the span). Works on √n · A, columns equilibrated, which keeps the
    # accuracy that V(n) loses.
    (used,) = np.nonzero(counts)
    root = np.sqrt(counts[used].astype(np.float64))
    rows = Svd.of(points[used] * root[:, None])
    weights, _ = rows.weights(targets)
    return LeastSquares(used, weights @ rows.U.T * root, np.sqrt(rows.variances(targets)))


def gaussian_width(deviation: float, failure: float) -> float:
    """Return a half-width that a Gaussian error exceeds with probability at most ``failure``."""
    # P(|N(0, s²)| ≥ s √(2 log(1/δ))) ≤ δ, as in the paper's Lemma 10.
    return float(deviation * np.sqrt(2.0 * np.log(1.0 / failure)))


def fixed_design_width(
    deviation: float,
    failure: float,
    counts: Counts,
    sums: Floats,
    squares: Floats,
    noise_scale: float | None = None,
) -> float:
    """Return a half-width of a linear function of the means of evaluations whose counts, (k,), were
    fixed before; ``deviation`` is its standard deviation per unit of noise.
    """
    # With the noise scale, that of `gaussian_width`. Without it, Student's: for Gaussian noise S/σ²
    # is χ² with f degrees of freedom and independent of the means, so that the error over deviation
    # · √(S/f) is t with f. Infinite while nothing scatters: no evaluation was repeated, or the
    # evaluator repeats itself.
    if noise_scale is not None:
        return gaussian_width(noise_scale * deviation, failure)
    repeated = counts > 1
    n, s, q = counts[repeated], sums[repeated], squares[repeated]
    scatter, freedom = float(np.maximum(q - s**2 / n, 0.0).sum()), int((n - 1).sum())
    if scatter == 0.0:
        return math.inf
    quantile = -float(stdtrit(freedom, 0.5 * failure))
    return deviation * math.sqrt(scatter / freedom) * quantile
