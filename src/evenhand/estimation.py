"""Estimators and their confidence widths, each a function beside its lemma.

Notation
--------
A       (k, m)  points            n, s   (k,)  counts and sums of evaluations of each option
V(n) = Σ n_x a_x a_xᵀ             θ̂ = V(n)⁺ Σ s_x a_x, ordinary least squares
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def least_squares(points: Floats, counts: NDArray[np.int64], sums: Floats) -> Floats:
    """Return θ̂ = V(n)⁺ Σ s_x a_x, the shortest one where V(n) is singular.

    Works on √n · A, columns equilibrated, which keeps the accuracy that V(n) would lose.
    """
    (used,) = np.nonzero(counts)
    root = np.sqrt(counts[used].astype(np.float64))
    rows = points[used]
    scales = np.abs(rows).max(axis=0)
    scales[scales == 0.0] = 1.0
    theta, *_ = np.linalg.lstsq(rows / scales * root[:, None], sums[used] / root, rcond=1e-13)
    return np.asarray(theta / scales)


def direction_weights(points: Floats, counts: NDArray[np.int64], direction: Floats) -> Floats:
    """Return (k,) weights w with c·θ̂ = Σ w_x · mean_x and variance Σ w_x²/n_x per unit noise.

    The best linear unbiased estimate of c·θ from the means: w minimises Σ w_x²/n_x subject to
    Σ w_x a_x = c.
    """
    (used,) = np.nonzero(counts)
    root = np.sqrt(counts[used].astype(np.float64))
    rows = points[used]
    scales = np.abs(rows).max(axis=0)
    scales[scales == 0.0] = 1.0
    y, *_ = np.linalg.lstsq((rows / scales * root[:, None]).T, direction / scales, rcond=1e-13)
    weights = np.zeros(len(points))
    weights[used] = y * root
    return weights


def gaussian_width(deviation: float, failure: float) -> float:
    """Return a half-width that a Gaussian error exceeds with probability at most ``failure``.

    P(|N(0, s²)| ≥ s √(2 log(1/δ))) ≤ δ, as in Lemma proba_F.

    Examples
    --------
    >>> round(gaussian_width(1.0, 0.05), 3)
    2.448
    """
    return deviation * float(np.sqrt(2.0 * np.log(1.0 / failure)))
