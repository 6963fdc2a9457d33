"""Estimators and their confidence widths, each a function beside its lemma.

Notation
--------
A       (k, m)  points            n, s   (k,)  counts and sums of evaluations of each option
V(n) = Σ n_x a_x a_xᵀ             θ̂ = V(n)⁺ Σ s_x a_x, ordinary least squares
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats


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
