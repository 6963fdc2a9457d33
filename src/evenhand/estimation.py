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
from evenhand.numerics.svd import Svd


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares as a linear map of means: estimates of n linear functions of θ.

    Parameters
    ----------
    used
        (u,) the options that were evaluated.
    weights
        (n, u) what the mean of each of them counts for.
    deviations
        (n,) standard deviations of the estimates per unit of noise; infinite where the evaluations
        do not show the function.
    """

    used: Indices
    weights: Floats
    deviations: Floats

    def estimates(self, means: Floats) -> Floats:
        """Return (n,) estimates from the (k,) mean evaluation of each option."""
        return np.asarray(self.weights @ means[self.used])


def least_squares(points: Floats, counts: Counts, targets: Floats) -> LeastSquares:
    """Return the least squares estimator of targets · θ from so many evaluations of each point.

    The weights w of a target minimise Σ w_x²/n_x subject to Σ w_x a_x = target (its projection,
    where that is not in the span). Works on √n · A, columns equilibrated, which keeps the accuracy
    that V(n) loses.

    Parameters
    ----------
    points
        (k, m) points.
    counts
        (k,) numbers of evaluations.
    targets
        (n, m) directions of the parameter.

    Examples
    --------
    >>> fit = least_squares(np.eye(2), np.array([4, 0]), np.eye(2))
    >>> fit.estimates(np.array([1.5, 0.0])), fit.deviations
    (array([1.5, 0. ]), array([0.5, inf]))
    """
    (used,) = np.nonzero(counts)
    root = np.sqrt(counts[used].astype(np.float64))
    rows = Svd.of(points[used] * root[:, None])
    weights, _ = rows.weights(targets)
    return LeastSquares(used, weights @ rows.U.T * root, np.sqrt(rows.variances(targets)))


def gaussian_width(deviation: float, failure: float) -> float:
    """Return a half-width that a Gaussian error exceeds with probability at most ``failure``.

    P(|N(0, s²)| ≥ s √(2 log(1/δ))) ≤ δ, as in the paper's Lemma 10.

    Examples
    --------
    >>> round(gaussian_width(1.0, 0.05), 3)
    2.448
    """
    return float(deviation * np.sqrt(2.0 * np.log(1.0 / failure)))


def fixed_design_width(
    deviation: float,
    failure: float,
    counts: Counts,
    sums: Floats,
    squares: Floats,
    noise_scale: float | None = None,
) -> float:
    """Return a half-width of a linear function of the means, for counts that were fixed before.

    With the noise scale, that of `gaussian_width`. Without it, Student's: for Gaussian noise S/σ²
    is χ² with f degrees of freedom and independent of the means, so that the error over
    deviation · √(S/f) is t with f. Infinite while nothing scatters: no evaluation was repeated, or
    the evaluator repeats itself.

    Parameters
    ----------
    deviation
        Standard deviation of the function, per unit of noise.
    failure
        Probability that the error is larger.
    counts, sums, squares
        (k,) the evaluations that it is a function of.
    noise_scale
        σ; None if it is not known.

    Examples
    --------
    >>> pair = np.array([2]), np.array([3.0]), np.array([5.0])           # scores 1 and 2
    >>> round(fixed_design_width(0.5**0.5, 0.05, *pair), 3)              # ½ · 12.706, of t with 1
    6.353
    >>> fixed_design_width(1.0, 0.05, np.array([1]), np.array([1.0]), np.array([1.0]))
    inf
    """
    if noise_scale is not None:
        return gaussian_width(noise_scale * deviation, failure)
    repeated = counts > 1
    n, s, q = counts[repeated], sums[repeated], squares[repeated]
    scatter, freedom = float(np.maximum(q - s**2 / n, 0.0).sum()), int((n - 1).sum())
    if scatter == 0.0:
        return math.inf
    quantile = -float(stdtrit(freedom, 0.5 * failure))
    return deviation * math.sqrt(scatter / freedom) * quantile
