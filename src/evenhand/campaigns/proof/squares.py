"""Least squares on evaluations of a record.

Notation
--------
n, ȳ, w (q,)    how often each question was answered, the mean answer, and the squares about it
P       (s, r)  coordinates of the questions that were answered;  V = Σ n p pᵀ = R⁻ᵀR⁻¹ on its range
θ̂ = RRᵀ Σ n p ȳ,    scatter = Σ w + Σ n (ȳ − p·θ̂)²,    freedom = Σ n − rank V

c·θ is known if c lies in the range of V; its variance is then cᵀRRᵀc, per unit of noise variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.campaigns.proof.asked import Asked, Counts, Floats, Indices, Span

_RANGE = 1e-12  # eigenvalues of V above this share of the largest count
_WITHIN = 1e-7  # as in `asked`
_CHUNK = 20_000  # questions whose rows are made dense at once


class Spread(NamedTuple):
    """Estimates, (n,), 0 where nothing is known; and variances per unit of noise, ∞ there."""

    estimates: Floats
    variances: Floats


@dataclass(frozen=True, eq=False)
class Sums:
    """Answers, added up by question.

    Parameters
    ----------
    counts, means, within
        (q,) n, ȳ (0 without answers) and w.
    """

    counts: Counts
    means: Floats
    within: Floats

    @classmethod
    def of(cls, questions: Indices, scores: Floats, q: int) -> Sums:
        """Add up answers to questions, (n,) each, of q questions.

        Examples
        --------
        >>> Sums.of(np.array([1, 1]), np.array([2.0, 4.0]), 3).within.tolist()
        [0.0, 2.0, 0.0]
        """
        counts = np.bincount(questions, minlength=q)
        means = np.bincount(questions, scores, q) / np.maximum(counts, 1)
        off = scores - means[questions]
        means = means + np.bincount(questions, off, q) / np.maximum(counts, 1)  # less rounding
        within = np.asarray(np.bincount(questions, (scores - means[questions]) ** 2, q), np.float64)
        return cls(counts, means, within)


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on some answers.

    Parameters
    ----------
    span
        The span of all questions, in whose coordinates everything is.
    theta, root, beside
        (r,) θ̂, (r, ρ) R, and (r, r − ρ) what spans the rest.
    scatter, freedom
        Of the residuals; 0 and ∞ where the noise is known.
    size
        Sum of all squared answers, which says what of the scatter is rounding.
    """

    span: Span
    theta: Floats
    root: Floats
    beside: Floats
    scatter: float
    freedom: float
    size: float

    @classmethod
    def of(cls, asked: Asked, told: Sums, noise_known: bool) -> Fit:
        """Fit answers, in units of the noise where that is known."""
        span = asked.span
        V, b = np.zeros((span.rank, span.rank)), np.zeros(span.rank)
        (used,) = np.nonzero(told.counts)
        for begin in range(0, len(used), _CHUNK):
            some = used[begin : begin + _CHUNK]
            P, n = span.coordinates(asked.rows[some]), told.counts[some].astype(np.float64)
            V += (P * n[:, None]).T @ P
            b += P.T @ (n * told.means[some])
        root, beside = factors(V)
        theta = root @ (root.T @ b)
        left, size = 0.0, 0.0
        correction = np.zeros(span.rank)
        for begin in range(0, len(used), _CHUNK):  # once more, for the digits that cancelled
            some = used[begin : begin + _CHUNK]
            P, n = span.coordinates(asked.rows[some]), told.counts[some].astype(np.float64)
            correction += P.T @ (n * (told.means[some] - P @ theta))
        theta = theta + root @ (root.T @ correction)
        for begin in range(0, len(used), _CHUNK):
            some = used[begin : begin + _CHUNK]
            P, n = span.coordinates(asked.rows[some]), told.counts[some].astype(np.float64)
            left += float(n @ (told.means[some] - P @ theta) ** 2)
            size += float(n @ told.means[some] ** 2)
        within, freedom = float(told.within.sum()), float(told.counts.sum() - root.shape[1])
        if noise_known:
            return cls(span, theta, root, beside, 0.0, math.inf, size + within)
        return cls(span, theta, root, beside, left + within, freedom, size + within)

    @property
    def unit(self) -> float:
        """Standard deviation of the noise; 1 where it is known."""
        if math.isinf(self.freedom):
            return 1.0
        # answers without any scatter leave rounding, of which nothing can be said
        least = max(self.scatter, 1e-24 * self.size, 1e-200)
        return math.sqrt(least / max(1.0, self.freedom))

    @property
    def rank(self) -> int:
        """Dimension of what the answers show."""
        return int(self.root.shape[1])

    def of_rows(self, rows: Floats) -> Spread:
        """Return what rows, (n, m), come to."""
        said = self.along(self.span.coordinates(rows))
        unknown = ~self.span.has(rows)
        said.estimates[unknown], said.variances[unknown] = 0.0, np.inf
        return said

    def along(self, directions: Floats) -> Spread:
        """Return what directions, (n, r), come to."""
        variances = ((directions @ self.root) ** 2).sum(axis=1)
        estimates = directions @ self.theta
        lost = ((directions @ self.beside) ** 2).sum(axis=1)
        unknown = lost > _WITHIN**2 * (directions**2).sum(axis=1)
        variances[unknown], estimates[unknown] = np.inf, 0.0
        return Spread(estimates, variances)


def factors(V: Floats) -> tuple[Floats, Floats]:
    """Return R with RRᵀ = V⁺, and what spans the rest, of a matrix V ≥ 0."""
    sizes, axes = np.linalg.eigh(V)
    kept = sizes > _RANGE * sizes.max(initial=0.0)
    return axes[:, kept] / np.sqrt(sizes[kept]), axes[:, ~kept]


def helped(fit: Fit, values: Floats, features: Floats, deviation: float | None) -> Fit:
    """Return the fit if values follow from features, up to normal deviations.

    With F an orthonormal basis of what features and a constant leave open of k numbers, and H the
    coordinates of values, (k, r), FᵀHθ is N(0, τ²): so V grows by (σ/τ)² HᵀF FᵀH. τ is
    ``deviation``; where that is None, what gives gᵀ(C + τ²)⁻¹g its expectation f, for the f numbers
    g = FᵀHθ̂ of covariance C (Paule and Mandel), or an f-th of their mean error if that is more.
    """
    X = np.column_stack([np.ones(len(features)), features])
    X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    U, sizes, _ = np.linalg.svd(X)
    F = U[:, int((sizes > 1e-8 * sizes[0]).sum()) :]
    known = np.isfinite(fit.along(values[:1] - values[1:]).variances).all()
    if F.shape[1] == 0 or not known:
        return fit
    G, sigma = F.T @ values, fit.unit
    if deviation is None:
        deviation = _deviation(G @ fit.theta, sigma * (G @ fit.root))
    back = np.linalg.pinv(fit.root)  # θ = root·u, u of unit variance
    M = np.eye(fit.rank) + (sigma / deviation) ** 2 * (G @ fit.root).T @ (G @ fit.root)
    squares, axes = np.linalg.eigh(M)
    root = fit.root @ (axes / np.sqrt(squares))
    theta = root @ (root.T @ (back.T @ (back @ fit.theta)))
    return Fit(fit.span, theta, root, fit.beside, fit.scatter, fit.freedom, fit.size)


def _deviation(left: Floats, errors: Floats) -> float:
    """Return τ with leftᵀ(CCᵀ + τ²)⁻¹left = f, for f numbers of error C."""
    C, f = errors @ errors.T, len(left)
    least = max(float(np.trace(C)), 0.0) / f**2 + 1e-300

    def excess(square: float) -> float:
        return float(left @ np.linalg.solve(C + square * np.eye(f), left)) - f

    if excess(least) <= 0.0:
        return math.sqrt(least)
    low, high = math.log(least), math.log(least + float(left @ left))
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(math.exp(middle)) > 0.0 else (low, middle)
    return math.exp(0.5 * high)
