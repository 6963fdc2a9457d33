"""Least squares on scores of a record.

Notation
--------
A       (q, m)  rows of the questions over their relative noise: features, then attributes
T       (m, r)  A T has orthonormal columns, r the rank of A; rows c in the span of A are (c T) T',
                with T = W S⁻¹ and T' = S Wᵀ of the singular value decomposition A = U S Wᵀ
n, ȳ, w (q,)    how often each question was answered, the mean score, and the squares about it
P       (s, r)  coordinates of the questions that were answered;  V = Σ n p pᵀ = R⁻ᵀR⁻¹ on its range
θ̂ = RRᵀ Σ n p ȳ,    scatter = Σ w + Σ n (ȳ − p·θ̂)²,    freedom = Σ n − rank V

c·θ is known if c lies in the range of V; its variance is then cᵀRRᵀc, per unit of noise variance.
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

_RANK = 1e-10  # singular values of rows above this share of the largest count
_RANGE = 1e-12  # eigenvalues of V above this share of the largest count
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
        """Return (q,) counts, mean scores (0 without any) and squares about them.

        Examples
        --------
        >>> [part.tolist() for part in Scores(np.array([1, 1]), np.array([2.0, 4.0])).means(2)]
        [[0.0, 2.0], [0.0, 3.0], [0.0, 2.0]]
        """
        counts = np.bincount(self.questions, minlength=q).astype(np.float64)
        often = np.maximum(counts, 1.0)
        means = np.bincount(self.questions, self.values, q) / often
        off = self.values - means[self.questions]
        means = means + np.bincount(self.questions, off, q) / often  # less rounding
        within = np.bincount(self.questions, (self.values - means[self.questions]) ** 2, q)
        return counts, means, within.astype(np.float64)


class Span:
    """What rows of questions, (q, m) A, span; columns are divided by their largest entries."""

    def __init__(self, rows: Floats) -> None:
        self.rows, scales = rows, np.abs(rows).max(axis=0, initial=0.0)
        self._scales = np.where(scales == 0.0, 1.0, scales)
        _, sizes, Wt = np.linalg.svd(rows / self._scales, full_matrices=False)
        kept = sizes > _RANK * sizes.max(initial=0.0)
        self._into, self._back = Wt[kept].T / sizes[kept], sizes[kept, None] * Wt[kept]

    def coordinates(self, rows: Floats) -> Floats:
        """Return (n, r) coordinates of rows, (n, m)."""
        return np.asarray((rows / self._scales) @ self._into)

    def holds(self, rows: Floats) -> Truths:
        """Tell which rows, (n, m), lie in it."""
        scaled = rows / self._scales
        off = np.linalg.norm(scaled - (scaled @ self._into) @ self._back, axis=1)
        return np.asarray(off <= _WITHIN * np.maximum(np.linalg.norm(scaled, axis=1), 1e-300))


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on some scores.

    Parameters
    ----------
    span
        What the questions span, in the coordinates of which everything is.
    theta, root, beside
        (r,) θ̂, (r, ρ) R, and (r, r − ρ) what spans the rest.
    scatter, freedom
        Of the residuals; 0 and ∞ where the noise is known.
    size
        Sum of all squared scores, which says what of the scatter is rounding.
    """

    span: Span
    theta: Floats
    root: Floats
    beside: Floats
    scatter: float
    freedom: float
    size: float

    @classmethod
    def of(
        cls, span: Span, counts: Floats, means: Floats, within: Floats, noise_known: bool
    ) -> Fit:
        """Fit scores, in units of the noise where that is known; see `Scores.means`."""
        (used,) = np.nonzero(counts)
        n, y = counts[used], means[used]
        P = span.coordinates(span.rows[used])
        sizes, axes = np.linalg.eigh((P * n[:, None]).T @ P)
        kept = sizes > _RANGE * sizes.max(initial=0.0)
        root, theta = axes[:, kept] / np.sqrt(sizes[kept]), np.zeros(P.shape[1])
        for _ in range(2):  # once more, for the digits that cancelled
            theta = theta + root @ (root.T @ (P.T @ (n * (y - P @ theta))))
        size = float(n @ y**2) + float(within.sum())
        scatter, freedom = 0.0, math.inf
        if not noise_known:
            scatter = float(n @ (y - P @ theta) ** 2) + float(within.sum())
            freedom = float(counts.sum() - root.shape[1])
        return cls(span, theta, root, axes[:, ~kept], scatter, freedom, size)

    @property
    def unit(self) -> float:
        """Standard deviation of the noise; 1 where it is known."""
        if math.isinf(self.freedom):
            return 1.0
        # scores without any scatter leave rounding, of which nothing can be said
        least = max(self.scatter, 1e-24 * self.size, 1e-200)
        return math.sqrt(least / max(1.0, self.freedom))

    def of_rows(self, rows: Floats) -> Spread:
        """Return what rows, (n, m), come to."""
        directions = self.span.coordinates(rows)
        variances = ((directions @ self.root) ** 2).sum(axis=1)
        estimates = directions @ self.theta
        lost = ((directions @ self.beside) ** 2).sum(axis=1)
        unknown = lost > _WITHIN**2 * (directions**2).sum(axis=1)
        unknown |= ~self.span.holds(rows)
        variances[unknown], estimates[unknown] = np.inf, 0.0
        return Spread(estimates, variances)
