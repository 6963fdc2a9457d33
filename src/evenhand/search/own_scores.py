"""Options compared by their own scores, where features explain values only in part.

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o; its value is v_o = x·γ + u_o
u_o                             what the features do not explain: exchangeable, N(0, τ²)
P, H    (k, r)  points (x; z) and (x; c) of `OptionFrame`; B = P − H, the bias part
ȳ, V    (k,)    mean scores of the options and their variances σ_o²/n_o
W       (k,)    weights 1/(τ² + V_o);  K = (PᵀWP)⁻¹PᵀW, so that θ̂ = Kȳ by least squares
a, D            a contrast: a·v is estimated by a·ȳ − D·θ̂, with D = aB (own scores, less what the
                attributes did to them). The lead of i over j has a = e_i − e_j; the bias itself
                a = 0 and D = −e.

The error of a contrast is c·ε̄ − h·u, with h = DK and c = a − h: of variance N = Σ c²V from noise,
which evaluations shrink, and M = τ² Σ h² from what the features do not explain, which they do not.
Two options of the same attributes have h = 0: no features, no τ, no bias.

What is known of τ
------------------
Only k − r residuals. Its posterior, for a flat prior on γ and ω and the density 1/(τ² + V̄) on τ²,
V̄ the mean of V, is worked out on a grid; given τ all else is Gaussian. As V → 0 the prior becomes
1/τ², and the posterior of a contrast is exactly Student's with k − r degrees of freedom, whose
intervals cover as often as they say. Before that they are approximate. All rests on the u_o being
exchangeable: a feature that nobody recorded and that goes with the group looks like bias.

Duels: options of the same attributes against each other, by their own scores and nothing else
----------------------------------------------------------------------------------------------
n, ȳ    (k,)    counts and mean scores of one batch, whose counts no score of it decided
w_ij = n_i n_j/(n_i + n_j)      S_ij = Σ w_ij (ȳ_i − ȳ_j),  W_ij = Σ w_ij, over batches
s_ij = Σ w_ij²/n_i              v_ij = σ_i² s_ij + σ_j² s_ji, the variance of S_ij

Why that holds at all times: given the past, S_ij − W_ij(μ_i − μ_j) grows by a centred Gaussian of
known variance, whatever decided the counts of the batch. So E exp(λ(S − Wμ) − λ²v/2) = 1 for every
λ, and the mixture over λ = |N(0, 1/ρ)| is a martingale too. By Ville it stays below 1/δ at all
times with probability 1 − δ, which is what `DuelScores.leads` solves for μ_i − μ_j. The scatter of
Gaussian scores is independent of their means, so that an estimated σ is made up for by Student's
quantile in place of the Gaussian one: that step is approximate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from evenhand.arrays import Counts, Floats, Indices
from evenhand.checks.statistics import residuals
from evenhand.numerics.least_squares import Svd
from evenhand.policies.messages import Feedback

_GRID = 40  # values of τ², from far below the noise to far above the residuals
_BISECTIONS = 36
_PRIOR = 8.0  # scores that an option's, or a group's, own scatter has to outweigh
_PLAN = 2.0  # ρ in units of σ²: the information of four evaluations on each side


@dataclass(frozen=True, eq=False)
class OwnScores:
    """What was scored so far, and the noise in it."""

    counts: Counts  # (k,) numbers of evaluations
    means: Floats  # (k,) mean scores; 0 where there is none
    scatters: Floats  # (k,) sums of squared deviations from those means
    scales: Floats  # (k,) standard deviation σ_o of one evaluation of each option
    freedom: float  # of the scales; infinite if they are known

    @classmethod
    def of(cls, told: Feedback, groups: Indices, noise_scale: float | None = None) -> OwnScores:
        """Return the scores that were told, with the noise from their scatter within options."""
        # An option's variance is the largest of the pooled one, of that of its group (``groups``
        # numbers them) and of its own, drawn towards the pooled one as if that had been seen in
        # `_PRIOR` further scores; and of ``noise_scale``, where it is stated. Scores that never
        # differ say nothing about the noise.
        freedom = np.maximum(told.counts - 1, 0)
        scatters = np.maximum(told.sums_of_squares - told.sums * told.means, 0.0)
        total = int(freedom.sum())
        pooled = float(scatters.sum()) / max(total, 1)
        group = (np.bincount(groups, scatters) + _PRIOR * pooled) / (
            np.bincount(groups, freedom) + _PRIOR
        )
        own = (scatters + _PRIOR * pooled) / (freedom + _PRIOR)
        squares = np.maximum(np.maximum(own, group[groups]), pooled)
        if noise_scale is not None:
            squares = np.maximum(squares, noise_scale**2)
            total_or_known = np.inf
        else:
            total_or_known = float(total) if pooled > 0.0 else 0.0
        return cls(told.counts, told.means, scatters, np.sqrt(squares), total_or_known)

    @property
    def variances(self) -> Floats:
        """(k,) variances V of the means; infinite where there is none."""
        V = np.full(len(self.counts), np.inf)
        seen = self.counts > 0
        V[seen] = self.scales[seen] ** 2 / self.counts[seen]
        return V

    @property
    def differ(self) -> bool:
        """Whether something is known of the noise: it is stated, or scores of options differ."""
        return self.freedom >= 1.0

    def quantile(self, failure: float) -> float:
        """Return by how many deviations a mean is off, on one side, so rarely; infinite before
        there is a scatter.
        """
        # Student's where the noise is estimated: of Gaussian scores the scatter is independent of
        # the means.
        if not self.differ:
            return np.inf
        if np.isinf(self.freedom):
            return float(-ndtri(failure))
        return float(-stdtrit(self.freedom, failure))


@dataclass(frozen=True, eq=False)
class Deviations:
    """What the scores say about τ and, given it, about the parameters."""

    squares: Floats  # (g,) values of τ²
    weights: Floats  # (g,) their posterior probabilities
    estimators: Floats  # (g, r, k) K for each of them

    @property
    def median(self) -> Deviations:
        """The posterior median of τ, as if it were known."""
        g = int(np.searchsorted(np.cumsum(self.weights), 0.5))
        return Deviations(self.squares[[g]], np.ones(1), self.estimators[[g]])

    def exceeded(self, failure: float) -> float:
        """Return what a sum of u_o with coefficients of length 1 exceeds so rarely."""
        roots = np.sqrt(self.squares)[:, None]
        return -float(_quantiles(0.0 * roots, roots, self.weights, failure)[0])


def deviations(
    points: Floats, means: Floats, variances: Floats, known: float | None = None
) -> Deviations | None:
    """Return the posterior of τ by points, (k, r), of full rank, and mean scores, whose variances
    are infinite where there is none; None where there are too few options to say anything of it.
    """
    seen = np.isfinite(variances)
    P, y, V = points[seen], means[seen], variances[seen]
    n, r = P.shape
    span = Svd.of(P)
    if n < r + (known is None) or span.rank < r:
        return None
    y = y - span.U @ (span.U.T @ y)
    centre = float(V.mean())
    if known is None:
        scale = centre + float(y @ y) / (n - r)
        if scale == 0.0:
            return None
        squares = np.geomspace(1e-3 * max(centre, 1e-12 * scale), 1e4 * scale, _GRID)
    else:
        squares = np.array([known**2])
    W = 1.0 / np.maximum(squares[:, None] + V, 1e-300)  # (g, n)
    roots = np.sqrt(W)
    Q, R = np.linalg.qr(roots[:, :, None] * P)
    estimators = np.zeros((len(squares), r, len(points)))
    estimators[:, :, seen] = np.linalg.solve(R, Q.transpose(0, 2, 1) * roots[:, None, :])
    if known is not None:
        return Deviations(squares, np.ones(1), estimators)
    white = roots * y
    along = (Q.transpose(0, 2, 1) @ white[:, :, None])[:, :, 0]
    misfit = (white**2).sum(axis=1) - (along**2).sum(axis=1)
    log_det = np.log(np.abs(np.diagonal(R, axis1=1, axis2=2))).sum(axis=1)
    # restricted likelihood times density; the steps of the grid are equal in log τ²
    prior = np.log(squares / (squares + centre))
    log_weights = np.log(roots).sum(axis=1) - log_det - 0.5 * misfit + prior
    weights = np.exp(log_weights - log_weights.max())
    return Deviations(squares, weights / weights.sum(), estimators)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Estimates of contrasts and their variances, for each value of τ."""

    estimates: Floats  # (g, q)
    noise: Floats  # (g, q) N, a part of their variances,
    unexplained: Floats  # (g, q) and M, the other
    weights: Floats  # (g,) probabilities of the values of τ

    @classmethod
    def of(
        cls, scores: OwnScores, known: Deviations, own: Floats | None, bias: Floats
    ) -> Contrasts:
        """Work out q contrasts: own scores (q, k) or none of them, and their bias part (q, r)."""
        V = scores.variances
        V[np.isinf(V)] = 0.0  # of an option without scores nothing is used
        K = known.estimators
        across = K.transpose(0, 2, 1)  # (g, k, r): what a score adds to the parameters
        unexplained = known.squares[:, None] * (bias @ (K @ across) * bias).sum(axis=2)
        estimates = -(K @ scores.means) @ bias.T
        noise = (bias @ ((K * V) @ across) * bias).sum(axis=2)
        if own is not None:
            estimates = estimates + own @ scores.means
            noise = noise + own**2 @ V - 2.0 * ((own * V) @ across * bias).sum(axis=2)
        return cls(estimates, np.maximum(noise, 0.0), unexplained, known.weights)

    @property
    def middle(self) -> Floats:
        """(q,) posterior means."""
        return np.asarray(self.weights @ self.estimates)

    @property
    def spread(self) -> Floats:
        """(q,) posterior variances."""
        about = (self.estimates - self.middle) ** 2
        return np.asarray(self.weights @ (about + self.noise + self.unexplained))

    def interval(self, deviations_of_noise: float, failure: float) -> Floats:
        """Return (q, 3) estimates, lows and highs, for so many deviations of the noise, and a
        probability of ``failure``, on each side, that what the features do not explain misleads.
        """
        if np.isinf(deviations_of_noise):
            everything = np.full(self.estimates.shape[1], np.inf)
            return np.column_stack([self.middle, -everything, everything])
        stretch = max(1.0, deviations_of_noise / -float(ndtri(failure)))
        sds = np.sqrt(self.unexplained + stretch**2 * self.noise)
        both = np.hstack([self.estimates, -self.estimates])
        ends = _quantiles(both, np.hstack([sds, sds]), self.weights, failure)
        low, high = ends[: sds.shape[1]], -ends[sds.shape[1] :]
        return np.column_stack([np.clip(self.middle, low, high), low, high])


def _quantiles(means: Floats, sds: Floats, weights: Floats, level: float) -> Floats:
    """Return quantiles below the median of mixtures of Gaussians, (g, q), by bisection."""
    reach = 2.0 - float(ndtri(level * float(weights.min(initial=1.0, where=weights > 1e-12))))
    low, high = (means - reach * sds).min(axis=0), means.max(axis=0)
    sds = np.maximum(sds, 1e-300)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above = weights @ ndtr((middle - means) / sds) > level
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(low)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Least squares on all scores, as if the features explained all of the values."""

    parameters: Floats  # (r,) θ̂
    root: Floats  # (r, r) R with RᵀR = Σ n P Pᵀ/σ², so that the variance of v·θ̂ is ‖R⁻ᵀv‖²
    # p-value of the fit; NaN where no more options have scores than there are parameters
    misfit: float

    @classmethod
    def of(cls, points: Floats, scores: OwnScores) -> LinearFit | None:
        """Fit; None where the options with scores do not show all parameters."""
        seen = scores.counts > 0
        P, y = points[seen], scores.means[seen]
        n, r = P.shape
        if n < r or Svd.of(P).rank < r or not (scores.scales > 0.0).all():
            return None
        weights = np.sqrt(scores.counts[seen]) / scores.scales[seen]
        Q, R = np.linalg.qr(weights[:, None] * P)
        parameters = np.linalg.solve(R, Q.T @ (weights * y))
        noise_scale = float(scores.scales.max()) if np.isinf(scores.freedom) else None
        left = residuals(P, scores.counts[seen], y, scores.scatters[seen], noise_scale)
        return cls(parameters, R, left.lack.p_value)

    def deviations(self, directions: Floats) -> Floats:
        """Return (q,) standard deviations of directions (q, r) of the parameter."""
        return np.asarray(np.linalg.norm(np.linalg.solve(self.root.T, directions.T), axis=0))


@dataclass(frozen=True, eq=False)
class DuelScores:
    """What batches of scores say about the differences between options."""

    weights: Floats  # (k, k) W
    sums: Floats  # (k, k) S
    shares: Floats  # (k, k) s

    @classmethod
    def none(cls, k: int) -> Self:
        """Return what is known of k options before the first batch."""
        return cls(*(np.zeros((k, k)) for _ in range(3)))

    def after(self, counts: Counts, means: Floats) -> Self:
        """Return what is known after one batch more."""
        (used,) = np.nonzero(counts)
        n = counts[used].astype(np.float64)
        w = n[:, None] * n / (n[:, None] + n)
        y = means[used]
        new = type(self)(self.weights.copy(), self.sums.copy(), self.shares.copy())
        at = np.ix_(used, used)
        new.weights[at] += w
        new.sums[at] += w * (y[:, None] - y)
        new.shares[at] += w**2 / n[:, None]
        return new

    def leads(self, i: int, scales: Floats, failure: float, stretch: float = 1.0) -> Floats:
        """Return (k, 3) the leads of option i, with intervals, each side of which holds at all
        times at once with probability 1 − ``failure`` (at most 6%).
        """
        # ``scales`` are (k,) standard deviations of one evaluation of each option; ``stretch`` is
        # by how much wider intervals are where these are estimated.
        W = self.weights[i]
        v = scales[i] ** 2 * self.shares[i] + scales**2 * self.shares[:, i]
        rho = np.maximum(_PLAN * scales[i] * scales, 1e-300)
        # Φ(S/√(v + ρ)) ≥ Φ(2) = .977 where the bound is reached, for δ ≤ .06
        odds = 2.0 * math.log(1.0 / (2.0 * 0.977 * failure))
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = self.sums[i] / W
            width = stretch * np.sqrt((v + rho) * (np.log1p(v / rho) + odds)) / W
        leads = np.column_stack([middle, middle - width, middle + width])
        leads[W == 0.0] = (np.nan, -np.inf, np.inf)
        return leads
