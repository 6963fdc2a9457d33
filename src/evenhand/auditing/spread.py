"""How much biases differ: among evaluators, and among those whom they favour.

Notation
--------
b_g, v_g    the bias of g, and the variance of the noise in it (`own`)
τ           standard deviation of true biases about their mean μ
w_g         1/(v_g + τ²);  μ = Σ w b/Σ w;  G how many there are

If all were alike, Q = Σ (b − μ)²/v would be χ² with G − 1 degrees of freedom; by how much it
exceeds them gives τ² (DerSimonian and Laird). The mean is as sure as the b are spread about it: its
variance is Σ w(b − μ)²/((G − 1) Σ w), with Student's distribution (Hartung and Knapp).

One more of them has the variance of the mean and τ² beside (Higgins, Thompson and Spiegelhalter),
which is as sure as τ² is: with s_k = Σ v⁻ᵏ and c = s₁ − s₂/s₁, the variance of Q is
2(G − 1) + 4cτ² + 2(s₂ − 2s₃/s₁ + s₂²/s₁²)τ⁴ (Biggerstaff and Tweedie), that of τ² by c² less, and
degrees of freedom are twice the square over the variance, from 2 to G − 2. With G − 2 throughout,
95% intervals hold the next one in 82% to 92% of cases on skating's nations; so in 94% to 97%.

Each bias is drawn to the mean by the share v/(v + τ²) of it that is noise. Which differ from 0 is
said so that of those named no more than a given share are named falsely (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.auditing.own import OwnBiases


@dataclass(frozen=True)
class Spread:
    """How much the biases of evaluators, or towards groups, differ.

    Parameters
    ----------
    n
        How many have a bias that is known.
    mean, low, high
        Their mean, each counted by how well it is known, and an interval of ``level``.
    sd
        Standard deviation of true biases.
    next_low, next_high
        Between what the bias of one more would lie with probability ``level``.
    level
        Confidence of both intervals.
    chance
        How probable as much would be if all were alike.

    Examples
    --------
    >>> own = OwnBiases(np.arange(4), np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, 0.5), 100.0)
    >>> found = spread(own, 0.95)
    >>> found.n, round(found.mean, 6), round(found.sd**2, 6)
    (4, 3.0, 2.833333)
    """

    n: int
    mean: float
    low: float
    high: float
    sd: float
    next_low: float
    next_high: float
    level: float
    chance: float


@dataclass(frozen=True)
class Spreads:
    """How much biases differ.

    Parameters
    ----------
    evaluators
        Among evaluators.
    groups
        Among groups that are favoured; where none are given, among options.
    """

    evaluators: Spread
    groups: Spread


def spread(own: OwnBiases, level: float) -> Spread:
    """Return how much biases differ; intervals are infinite where too few are known."""
    known = np.isfinite(own.variance)
    b, v = own.bias[known], own.variance[known]
    n = len(b)
    if n < 2 or not (v > 0.0).all():
        mean = float(b.mean()) if n else math.nan
        nowhere = (-math.inf, math.inf)
        return Spread(n, mean, *nowhere, math.nan, *nowhere, level, math.nan)
    unit = math.sqrt(float(v.max()))
    b, v = b / unit, v / unit**2  # third powers of scores' squares follow
    w = 1.0 / v
    s1, s2, s3 = (float((w**k).sum()) for k in (1, 2, 3))
    Q, c = float(w @ (b - w @ b / s1) ** 2), s1 - s2 / s1
    # c is 0 where one is known and all others hardly
    tau2 = max(0.0, (Q - (n - 1)) / c) if c > 0.0 else 0.0
    of_tau2 = 2 * (n - 1) + 4 * c * tau2 + 2 * (s2 - 2 * s3 / s1 + (s2 / s1) ** 2) * tau2**2
    w = 1.0 / (v + tau2)
    mean = float(w @ b / w.sum())
    variance = max(float(w @ (b - mean) ** 2) / (n - 1), float(tau2 == 0.0)) / float(w.sum())
    width = _quantile(n - 1, level) * math.sqrt(variance)
    freedom = min(max(2.0 * ((tau2 + variance) * c) ** 2 / of_tau2, 2.0), n - 2.0)
    further = _quantile(freedom, level) * math.sqrt(tau2 + variance) if n > 2 else math.inf
    return Spread(
        n,
        unit * mean,
        unit * (mean - width),
        unit * (mean + width),
        unit * math.sqrt(tau2),
        unit * (mean - further),
        unit * (mean + further),
        level,
        float(special.chdtrc(n - 1, Q)),
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Biases drawn to their mean, and which of them differ from 0.

    Parameters
    ----------
    bias, low, high
        (m,) each bias drawn to the mean, with its interval.
    chance
        (m,) how probable a bias as far from 0 would be for somebody fair, before it is drawn.
    q
        (m,) the share of falsely named at which this one would still be named.
    """

    bias: Floats
    low: Floats
    high: Floats
    chance: Floats
    q: Floats


def drawn(own: OwnBiases, about: Spread) -> Drawn:
    """Return the biases drawn to their mean."""
    v = own.variance
    if math.isnan(about.sd):
        mean, kept, variance = own.bias, np.ones(len(v)), v
    else:
        of_mean = ((about.high - about.low) / 2.0 / _quantile(about.n - 1, about.level)) ** 2
        noise = np.divide(v, v + about.sd**2, out=np.ones(len(v)), where=np.isfinite(v))
        kept = 1.0 - noise
        mean = np.full(len(v), about.mean)
        variance = noise * about.sd**2 + noise**2 * of_mean
    excess = np.where(kept > 0.0, own.bias - mean, 0.0)
    bias = mean + kept * np.nan_to_num(excess)
    t = _quantile(max(own.freedom, 1.0), about.level)
    width = t * np.sqrt(variance)
    ratio = np.divide(own.bias, np.sqrt(v), out=np.zeros(len(v)), where=np.isfinite(v) & (v > 0.0))
    chance = np.asarray(
        2.0 * special.stdtr(max(own.freedom, 1.0), -np.abs(ratio)), dtype=np.float64
    )
    return Drawn(bias, bias - width, bias + width, chance, false_discovery(chance))


def false_discovery(chances: Floats) -> Floats:
    """Return q-values: the share of falsely named, were all with a chance as small named.

    Examples
    --------
    >>> false_discovery(np.array([0.01, 0.04, 0.5]))
    array([0.03, 0.06, 0.5 ])
    """
    m = len(chances)
    order = np.argsort(chances)
    scaled = chances[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q, 1.0)


def _quantile(freedom: float, level: float) -> float:
    return -float(special.stdtrit(freedom, 0.5 * (1.0 - level)))
