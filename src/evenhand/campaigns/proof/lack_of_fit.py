"""Whether mean answers lie on the linear model (docs/checks.md, 'The checks').

Notation
--------
n, ȳ, s²    (s,)    how often each question was answered, mean answers, variances within
H           (s, s)  projection on the columns of √n·A, h its diagonal
Q = Σ ω n (ȳ − a·θ̂)²,   D = Σ (1 − h) ω s²,   F = Q/D, with ω = 1, or n over its mean in panels

Box's degrees of freedom: f = D²/tr(((I − H)Σ)²) for Σ with the diagonal ωs², and
g = D²/Σ (1 − h)²(ωs²)²/ν.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.campaigns.proof.asked import Counts, Floats

_RANK = 1e-10
_DRAWN = 0.5  # further answers in which the pooled variance was seen, of every question
_LEAST = 4  # degrees of freedom within questions from which on F is used


class Lack(NamedTuple):
    """What the model leaves over: its p-value, degrees of freedom, and (s,) the residuals."""

    p_value: float
    df: int
    residuals: Floats


def lack_of_fit(
    rows: Floats,
    counts: Counts,
    means: Floats,
    within: Floats,
    noise: float | None,
    panel: bool = False,
) -> Lack:
    """Test mean answers to questions with these rows, (s, m).

    Parameters
    ----------
    rows, counts, means, within
        What was asked, how often, mean answers, and squares about them.
    noise
        Its scale, which counts only where hardly anything was asked twice.
    panel
        Whether to weigh squares by how often a question was asked.

    Examples
    --------
    >>> means, n = np.array([1.0, 2.0, 3.0, 9.0]), np.full(4, 5)
    >>> line = np.column_stack([np.ones(4), np.arange(4.0)])
    >>> lack = lack_of_fit(line, n, means, np.full(4, 4.0), None)
    >>> lack.df, lack.p_value < 1e-4
    (2, True)
    """
    root = np.sqrt(counts.astype(np.float64))
    scales = np.abs(rows).max(axis=0)
    A = rows / np.where(scales > 0.0, scales, 1.0) * root[:, None]
    U, sizes, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, sizes > _RANK * sizes.max(initial=0.0)]
    df = len(counts) - U.shape[1]
    y = root * means
    left = y - U @ (U.T @ y)
    left -= U @ (U.T @ left)
    nu = counts - 1.0
    repeats = float(nu.sum())
    by_scatter = repeats >= _LEAST
    pooled = float(within.sum()) / repeats if by_scatter else (noise or 0.0) ** 2
    if df <= 0 or not 0.0 < pooled < math.inf:
        return Lack(math.nan, max(df, 0), left / root)
    rest = np.clip(1.0 - (U**2).sum(axis=1), 0.0, 1.0)
    own = (within / pooled + _DRAWN) / (nu + _DRAWN) if by_scatter else np.ones(len(counts))
    weights = counts / counts.mean() if panel else np.ones(len(counts))
    sigma = weights * own
    D = float(rest @ sigma)
    F = float(weights @ left**2) / pooled / D
    inner = (U * sigma[:, None]).T @ U  # tr(((I − H)Σ)²) = tr Σ² − 2 tr HΣ² + tr (HΣ)²
    spread = float((sigma**2) @ (2.0 * rest - 1.0)) + float((inner**2).sum())
    f = D**2 / spread
    if not by_scatter:
        return Lack(float(special.chdtrc(f, F * f)), df, left / root)
    g = D**2 / float((rest * sigma) ** 2 @ (1.0 / (nu + _DRAWN)))
    return Lack(float(special.fdtrc(f, min(g, repeats), F)), df, left / root)
