"""What a bias can be at most, where features explain the values of options only in part.

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o; its value is v_o = x·γ + u_o
u_o                             what the features miss: exchangeable, N(0, τ²)
P, H    (k, r)  points (x; z) and (x; c) of `OptionFrame`; B = P − H, the bias part
ȳ, V    (k,)    mean scores of the options and their variances σ_o²/n_o
K       (r, k)  (PᵀWP)⁻¹PᵀW with W = 1/(τ² + V): θ̂ = Kȳ by least squares
D               a bias Dθ: what the attributes add to i beside x has D = B_i − B_x; h = DK

A bias is off by h·(ε̄ + u), of variance N = Σ h²V from noise, which evaluations shrink, and
M = τ² Σ h² from what the features miss, which they do not. τ² is what the k − r residuals have
beyond what noise makes of them, or 0. A bias is said to be off by √(t²M + s²N) at most: t is
Student's quantile with k − r degrees of freedom, which is exact where noise is small beside τ, and
s the larger of t and the quantile of noise at one of several looks. All rests on the u_o being
exchangeable: a feature that nobody recorded and that goes with the group looks like bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.numerics.least_squares import Svd
from evenhand.policies.frame import OptionFrame
from evenhand.policies.phase_designs import student_quantile
from evenhand.search.guess import Guess

_USUAL = 0.25  # in units of the noise: what an unsure choice reckons a bias to be


@dataclass(frozen=True, eq=False)
class Bias:
    """What all scores by some time, a look, say of the bias of one option beside another."""

    frame: OptionFrame
    scores: Guess  # means by options, and the noise in them
    told: tuple[Floats, float, float] | None  # K, τ² and a deviation less; None: nothing is known
    few: float  # deviations by which a bias is off, by what features miss: t
    loud: float  # and by noise: s

    @classmethod
    def of(
        cls, frame: OptionFrame, scores: Guess, deviation: float | None, failure: float, look: int
    ) -> Self:
        """Return what is known at a look, the first or a later one, with a probability of
        ``failure`` that a bias, on one side, is beyond what it is said to be, at any look.
        """
        # All looks l have 1/(l(l + 1)) of the noise each, which adds up to 1.
        seen = scores.told.counts > 0
        P, y = frame.points[seen], scores.told.means[seen]
        span, (n, r) = Svd.of(P), P.shape
        free = n - r if deviation is None else math.inf
        share = failure / (look * (look + 1))
        loud = student_quantile(share, scores.freedom) if scores.heard else math.inf
        if free < 1 or not scores.heard or span.rank < r:
            return cls(frame, scores, None, math.inf, loud)
        few = student_quantile(failure, free)
        V = scores.own[seen] ** 2 / scores.told.counts[seen]
        square = less = (deviation or 0.0) ** 2
        if deviation is None:
            left = y - span.U @ (span.U.T @ y)
            noise = V @ (1.0 - (span.U**2).sum(axis=1))
            square = max(float(left @ left - noise) / (n - r), 0.0)
            error = math.sqrt(2.0 * V.mean() * (2.0 * square + V.mean()) / (n - r))
            less = max(square - error, 0.0)
        root = 1.0 / np.sqrt(square + V)
        Q, R = np.linalg.qr(root[:, None] * P)
        K = np.zeros((r, len(seen)))
        K[:, seen] = np.linalg.solve(R, Q.T * root)
        return cls(frame, scores, (K, square, less), few, max(few, loud))

    @property
    def means(self) -> Floats:
        """(k,) mean scores; 0 where there is none."""
        return self.scores.told.means

    @cached_property
    def variances(self) -> Floats:
        """(k,) V; infinite where there is no score."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.scores.own**2 / self.scores.told.counts)

    @cached_property
    def parts(self) -> Floats:
        """(k, r) B."""
        return np.asarray(self.frame.points - self.frame.values)

    @property
    def theta(self) -> Floats:
        """(r,) θ̂; 0 while nothing is known."""
        return np.zeros(self.frame.rank) if self.told is None else self.told[0] @ self.means

    @cached_property
    def of_options(self) -> Floats:
        """(k,) what the attributes add to options, beside the centre of all attributes."""
        return np.asarray(self.parts @ self.theta)

    def errors(self, D: Floats, own: Floats | float = 0.0) -> Floats:
        """Return (3, n) by how much biases may be off, about how much will be left of that when
        there is no noise, and the noise √N; ``own`` is further noise, a variance.
        """
        missed = low = noise = np.where(D.any(axis=1), np.inf, 0.0)
        if self.told is not None:
            K, square, less = self.told
            h = (D @ K) ** 2
            missed, low = (self.few**2 * one * h.sum(axis=1) for one in (square, less))
            noise = h @ np.where(np.isinf(self.variances), 0.0, self.variances)
        noise = noise + own
        loud = np.square(self.loud * np.sqrt(noise), where=noise > 0.0, out=np.zeros(len(D)))
        return np.sqrt([missed + loud, low, noise])

    def between(self, pairs: Indices) -> Floats:
        """Return (n, r) D of pairs of options."""
        return np.asarray(self.parts[pairs[:, 0]] - self.parts[pairs[:, 1]])

    def most(self, pairs: Indices) -> Floats:
        """Return (n,) what options have beside others by their attributes at most."""
        one, other = self.of_options[pairs].T
        return np.asarray(one - other + self.errors(self.between(pairs))[0])

    def shares(self, pair: Indices) -> Floats:
        """Return (k,) how evaluations are shared out that tell a bias soonest, |h|σ."""
        assert self.told is not None
        sized = np.abs(self.between(pair[None]) @ self.told[0])[0] * self.scores.own
        return np.asarray(sized / sized.sum())

    def guesses(self) -> Floats:
        """(k,) own scores, less the bias as far as it is known; −∞ without scores."""
        # Where scores leave the variance v, by the share b²/(b² + v), b what a bias usually is;
        # or by 1 − 4v/bias², if that is more, for then it is plainly there.
        seen, bias = self.scores.told.counts > 0, self.of_options
        if self.told is not None:
            h = (self.parts @ self.told[0]) ** 2
            v = h @ np.where(seen, self.told[1] + self.variances, 0.0)
            usual, square = (_USUAL * self.scores.own) ** 2, np.maximum(bias**2, 1e-300)
            bias = bias * np.maximum(usual / (usual + v), 1.0 - 4.0 * v / square)
        return np.where(seen, self.means - bias, -np.inf)
