"""Options of the same attributes against each other, by their own scores and nothing else.

Notation
--------
n, ȳ    (k,)    counts and mean scores of one batch, whose counts no score of it decided
w_ij = n_i n_j/(n_i + n_j)      S_ij = Σ w_ij (ȳ_i − ȳ_j),  W_ij = Σ w_ij, over batches
s_ij = Σ w_ij²/n_i              v_ij = σ_i² s_ij + σ_j² s_ji, the variance of S_ij

Why it holds at all times
-------------------------
Given the past, S_ij − W_ij(μ_i − μ_j) grows by a centred Gaussian of known variance, whatever
decided the counts of the batch. So E exp(λ(S − Wμ) − λ²v/2) = 1 for every λ, and the mixture over
λ = |N(0, 1/ρ)| is a martingale too. By Ville it stays below 1/δ at all times with probability
1 − δ, which is what `DuelScores.leads` solves for μ_i − μ_j. The scatter of Gaussian scores is
independent of their means, so that an estimated σ is made up for by Student's quantile in place of
the Gaussian one: that step is approximate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from evenhand.arrays import Counts, Floats

_PLAN = 2.0  # ρ in units of σ²: the information of four evaluations on each side


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
