"""How much biases differ: among evaluators, and among those whom they favour.

How much true biases differ, and by how much each is shrunken, is `numerics.shrinkage`, the same as
in an answer of `decide`. Which differ from 0 is said so that of those named no more than a given
share are named falsely (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.auditing.own import OwnBiases
from evenhand.numerics.shrinkage import population
from evenhand.numerics.tails import student_quantile


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
    """How much biases differ: among evaluators, and among groups that are favoured (options,
    without any).
    """

    evaluators: Spread
    groups: Spread


def spread(own: OwnBiases, level: float) -> Spread:
    """Return how much biases differ; intervals are infinite where too few are known."""
    found = population(own.bias, own.variance)
    if found is None:
        b = own.bias[np.isfinite(own.variance)]
        mean = float(b.mean()) if len(b) else math.nan
        nowhere = (-math.inf, math.inf)
        return Spread(len(b), mean, *nowhere, math.nan, *nowhere, level, math.nan)
    failure = 0.5 * (1.0 - level)
    width = student_quantile(failure, found.n - 1) * math.sqrt(found.mean_variance)
    further = math.inf
    if found.n > 2:
        ahead = math.sqrt(found.between + found.mean_variance)
        further = student_quantile(failure, found.next_freedom) * ahead
    return Spread(
        found.n,
        found.mean,
        found.mean - width,
        found.mean + width,
        math.sqrt(found.between),
        found.mean - further,
        found.mean + further,
        level,
        found.chance,
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Biases shrunken to their mean, and which of them differ from 0."""

    bias: Floats  # (m,) shrunken, with its interval
    low: Floats
    high: Floats
    # (m,) how probable a bias as far from 0 would be for somebody fair, not shrunken
    chance: Floats
    q: Floats  # (m,) the share of falsely named at which this one would still be named


def drawn(own: OwnBiases, level: float) -> Drawn:
    """Return the biases drawn to their mean, with intervals of a level."""
    v, among = own.variance, population(own.bias, own.variance)
    bias, variance = own.bias, v
    if among is not None:
        noise = among.noise(v)
        bias = among.shrunken(own.bias, v)
        variance = noise * among.between + noise**2 * among.mean_variance
    freedom = max(own.freedom, 1.0)
    width = student_quantile(0.5 * (1.0 - level), freedom) * np.sqrt(variance)
    ratio = np.divide(own.bias, np.sqrt(v), out=np.zeros(len(v)), where=np.isfinite(v) & (v > 0.0))
    chance = np.asarray(2.0 * special.stdtr(freedom, -np.abs(ratio)), dtype=np.float64)
    return Drawn(bias, bias - width, bias + width, chance, false_discovery(chance))


def false_discovery(chances: Floats) -> Floats:
    """Return q-values: the share of falsely named, were all with a chance as small named."""
    m = len(chances)
    order = np.argsort(chances)
    scaled = chances[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q, 1.0)
