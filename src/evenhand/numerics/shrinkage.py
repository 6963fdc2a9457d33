"""Several estimates of a kind: how much the truths behind them differ, and each one shrunken.

Notation
--------
b_g, v_g    one of G estimates of a kind, and the variance of its noise
τ²          variance of the truths about their mean μ
w_g         1/(v_g + τ²);  μ̂ = Σ w b/Σ w;  c = Σ w − Σ w²/Σ w

At the true τ², Q(τ²) = Σ w (b − μ̂)² is χ² with G − 1 degrees of freedom. τ² is taken where Q is
G − 1, and 0 if it is less at 0 (Paule and Mandel). Its error is that of Q over c, so its variance
is 2(G − 1)/c². DerSimonian and Laird stop after the first step towards that root, with weights 1/v:
of 34 estimates that are known as well as the biases of skating's nations, their τ² is off by 0.45
of itself where it is 20 times a usual v, this one by 0.26; where it is 0.3 v, by 0.20 v and 0.24 v.
Intervals of both hold alike.

The mean is as sure as the b are spread about it: its variance is Q/((G − 1) Σ w), with Student's
distribution (Hartung and Knapp), and at least 1/Σ w where τ² is 0. One more of them has τ² beside
(Higgins, Thompson and Spiegelhalter), with as many degrees of freedom as twice the square over the
variance of τ² has, from 2 to G − 2. Each estimate is drawn to μ̂ by the share v/(v + τ²) of it that
is noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.optimize import brentq

from evenhand.arrays import Floats

_EXACT = 1e-12  # of the largest variance, added to all: an exact estimate has a finite weight, too


@dataclass(frozen=True)
class Population:
    """What estimates of a kind say of the truths behind them."""

    n: int  # how many were known
    mean: float  # μ̂
    mean_variance: float  # its variance, with n − 1 degrees of freedom
    between: float  # τ²
    next_freedom: float  # of where one more lies: around the mean, with τ² and the mean's variance
    chance: float  # how probable as much as they differ would be if all were alike

    def shrunken(self, estimates: Floats, variances: Floats) -> Floats:
        """Return (n,) estimates drawn to the mean; the mean where nothing is known."""
        kept = 1.0 - self.noise(variances)
        return np.asarray(self.mean + kept * np.where(kept > 0.0, estimates - self.mean, 0.0))

    def noise(self, variances: Floats) -> Floats:
        """Return (n,) the share of what an estimate differs by that is noise."""
        total = variances + self.between
        share = np.ones(len(variances))
        return np.divide(variances, total, out=share, where=np.isfinite(total) & (total > 0.0))


def population(estimates: Floats, variances: Floats) -> Population | None:
    """Return what estimates say of the truths behind them; None unless two have a variance."""
    known = np.isfinite(estimates) & np.isfinite(variances)
    b, v = estimates[known], variances[known]
    n = len(b)
    if n < 2 or not v.any():
        return None
    unit, level = math.sqrt(float(v.max())), float(b.mean())
    b, v = (b - level) / unit, v / unit**2 + _EXACT

    def weighted(between: float) -> tuple[Floats, float, float]:
        w = 1.0 / (v + between)
        mean = float(w @ b / w.sum())
        return w, mean, float(w @ (b - mean) ** 2)

    apart, between = weighted(0.0)[2], 0.0
    if apart > n - 1:  # with as much as all squares it is n − 1 at most, but for rounding
        most = 2.0 * float(((b - b.mean()) ** 2).sum())
        between = float(brentq(lambda tau: weighted(tau)[2] - (n - 1), 0.0, most))
    w, mean, Q = weighted(between)
    of_mean = max(Q / (n - 1), float(between == 0.0)) / float(w.sum())
    c = float(w.sum() - w @ w / w.sum())
    sure = ((between + of_mean) * c) ** 2 / (n - 1)
    return Population(
        n,
        level + unit * mean,
        unit**2 * of_mean,
        unit**2 * between,
        min(max(sure, 2.0), n - 2.0),
        float(special.chdtrc(n - 1, apart)),
    )
