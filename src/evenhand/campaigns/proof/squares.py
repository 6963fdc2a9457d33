"""Least squares on scores of a record.

Notation
--------
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

from evenhand.campaigns.proof.asked import Asked, Floats, Indices

_RANGE = 1e-12  # eigenvalues of V above this share of the largest count
_WITHIN = 1e-7  # as in `asked`


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


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on some scores.

    Parameters
    ----------
    asked
        The questions, in the coordinates of whose span everything is.
    theta, root, beside
        (r,) θ̂, (r, ρ) R, and (r, r − ρ) what spans the rest.
    scatter, freedom
        Of the residuals; 0 and ∞ where the noise is known.
    size
        Sum of all squared scores, which says what of the scatter is rounding.
    """

    asked: Asked
    theta: Floats
    root: Floats
    beside: Floats
    scatter: float
    freedom: float
    size: float

    @classmethod
    def of(
        cls, asked: Asked, counts: Floats, means: Floats, within: Floats, noise_known: bool
    ) -> Fit:
        """Fit scores, in units of the noise where that is known; see `Scores.means`."""
        (used,) = np.nonzero(counts)
        n, y = counts[used], means[used]
        P = asked.coordinates(asked.rows[used])
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
        return cls(asked, theta, root, axes[:, ~kept], scatter, freedom, size)

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
        directions = self.asked.coordinates(rows)
        variances = ((directions @ self.root) ** 2).sum(axis=1)
        estimates = directions @ self.theta
        lost = ((directions @ self.beside) ** 2).sum(axis=1)
        unknown = lost > _WITHIN**2 * (directions**2).sum(axis=1)
        unknown |= ~self.asked.spans(rows)
        variances[unknown], estimates[unknown] = np.inf, 0.0
        return Spread(estimates, variances)
