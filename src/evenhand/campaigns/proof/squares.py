"""Least squares on scores of a record.

Notation
--------
A       (s, m)  rows of the questions that were answered, over their relative noise: features, then
                attributes; columns are divided by their largest entries
n, ȳ, w (s,)    how often each question was answered, the mean score, and the squares about it
N       (s, s)  the diagonal matrix of n;  √N A = U S Wᵀ, its singular value decomposition
R       (m, r)  W S⁻¹, so that the variance of c·θ̂ is |cR|² per unit of noise variance

θ̂ = R Uᵀ √N ȳ,    scatter = Σ w + Σ n (ȳ − Aθ̂)²,    freedom = Σ n − r

c·θ is known if c lies in the span of W.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices

Truths = NDArray[np.bool_]

_RANK = 1e-10  # singular values above this share of the largest count
_WITHIN = 1e-7  # share of a row that may lie outside a span for the row to count as inside


class Spread(NamedTuple):
    """Estimates, (n,), 0 where nothing is known; and variances per unit of noise, ∞ there."""

    estimates: Floats
    variances: Floats


class Scores(NamedTuple):
    """Scores in their order, (n,) each: which question, and the score in units of the noise."""

    questions: Indices
    values: Floats

    def first(self, n: int) -> Scores:
        """Return the first n of them."""
        return Scores(self.questions[:n], self.values[:n])

    @classmethod
    def of(cls, told: Iterable[tuple[int, float]]) -> Scores:
        """Return pairs of a question and a score."""
        pairs = list(told)
        return cls(np.array([x for x, _ in pairs], dtype=np.intp), np.array([y for _, y in pairs]))

    @classmethod
    def joined(cls, parts: Iterable[Scores]) -> Scores:
        """Return scores one after another."""
        both = [cls.of([]), *parts]
        return cls(*(np.concatenate(part) for part in zip(*both, strict=True)))

    def means(self, q: int) -> tuple[Floats, Floats, Floats]:
        """Return (q,) counts, mean scores (0 without any) and squares about them."""
        counts = np.bincount(self.questions, minlength=q).astype(np.float64)
        often = np.maximum(counts, 1.0)
        means = np.bincount(self.questions, self.values, q) / often
        off = self.values - means[self.questions]
        means = means + np.bincount(self.questions, off, q) / often  # less rounding
        within = np.bincount(self.questions, (self.values - means[self.questions]) ** 2, q)
        return counts, means, within.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on some scores."""

    scales: Floats  # (m,) what columns are divided by
    theta: Floats  # (m,) θ̂
    axes: Floats  # (m, r) W
    root: Floats  # R
    scatter: float  # of the residuals; 0 where the noise is known
    freedom: float  # of the residuals; ∞ where the noise is known
    size: float  # sum of all squared scores, which says what of the scatter is rounding
    vague: Floats | None = None  # (g,) σ̃⁴/D of what is scored, if each has its own noise
    most: float = math.inf  # degrees of freedom of all
    pooled: Fit | None = None  # the same with one noise for all, if each has its own

    @classmethod
    def of(
        cls, rows: Floats, counts: Floats, means: Floats, within: Floats, noise_known: bool
    ) -> Fit:
        """Fit scores of questions with rows, (q, m), in units of the noise where that is known."""
        (used,) = np.nonzero(counts)
        sizes = np.abs(rows).max(axis=0, initial=0.0)
        scales = np.where(sizes == 0.0, 1.0, sizes)
        n, y, A = counts[used], means[used], rows[used] / scales
        U, S, Wt = np.linalg.svd(np.sqrt(n)[:, None] * A, full_matrices=False)
        kept = _RANK * S.max(initial=0.0) < S
        axes, theta = Wt[kept].T, np.zeros(A.shape[1])
        root = axes / S[kept]
        for _ in range(2):  # once more, for the digits that cancelled
            theta = theta + root @ (U[:, kept].T @ (np.sqrt(n) * (y - A @ theta)))
        size = float(n @ y**2) + float(within.sum())
        scatter, freedom = 0.0, math.inf
        if not noise_known:
            scatter = float(n @ (y - A @ theta) ** 2) + float(within.sum())
            freedom = float(counts.sum() - root.shape[1])
        return cls(scales, theta, axes, root, scatter, freedom, size)

    @property
    def unit(self) -> float:
        """Standard deviation of the noise; 1 where it is known."""
        if math.isinf(self.freedom):
            return 1.0
        # scores without any scatter leave rounding, of which nothing can be said
        least = max(self.scatter, 1e-24 * self.size, 1e-200)
        return math.sqrt(least / max(1.0, self.freedom))

    def factor(self, rows: Floats) -> Floats:
        """Return (n, r) B with BBᵀ the covariance of what rows, (n, m), come to."""
        return np.asarray(rows / self.scales @ self.root)

    def of_rows(self, rows: Floats) -> Spread:
        """Return what rows, (n, m), come to."""
        C = rows / self.scales
        estimates, variances = C @ self.theta, (self.factor(rows) ** 2).sum(axis=1)
        beside = np.linalg.norm(C - C @ self.axes @ self.axes.T, axis=1)
        unknown = beside > _WITHIN * np.linalg.norm(C, axis=1)
        variances[unknown], estimates[unknown] = np.inf, 0.0
        return Spread(estimates, variances)
