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

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evenhand.arrays import Counts, Floats


def least_squares_estimator(points: Floats, counts: NDArray[np.int64], targets: Floats) -> Floats:
    """Return the matrix E, (n, k), with targets · θ̂ = E · means: least squares as a linear map.

    Row i of E holds the weights w that minimise Σ w_x²/n_x subject to Σ w_x a_x = target i (its
    projection, where that is not in the range). The variance of the estimate is Σ w_x²/n_x per
    unit of noise. Works on √n · A, columns equilibrated, which keeps the accuracy that V(n) loses.

    Parameters
    ----------
    points
        (k, m) points.
    counts
        (k,) numbers of evaluations.
    targets
        (n, m) directions of the parameter.
    """
    (used,) = np.nonzero(counts)
    estimator = np.zeros((len(targets), len(points)))
    if len(used) == 0:
        return estimator
    root = np.sqrt(counts[used].astype(np.float64))
    rows = points[used]
    scales = np.abs(rows).max(axis=0)
    scales[scales == 0.0] = 1.0
    weighted = rows / scales * root[:, None]
    solution, *_ = np.linalg.lstsq(weighted.T, (targets / scales).T, rcond=1e-13)
    estimator[:, used] = solution.T * root
    return estimator


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
