"""A number with its interval, and the tails that intervals are made of.

Notation
--------
sf      probability of more than so much;  a mass is that of an interval, sf(a) − sf(b)
T, ν    Student's variable with ν degrees of freedom;  f = ν/(ν + T²), so that sf(T) = ½ I_f(ν/2, ½)
        for T ≥ 0, I the incomplete beta function

A lead of thirty deviations has a probability of 10⁻¹⁹⁸, one of forty none that a float can hold.
What is wanted are ratios of such numbers, and these have logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.arrays import Floats


@dataclass(frozen=True)
class Estimate:
    """A number with an interval that holds it with probability at least ``level``.

    Before anything is known the value is NaN and the interval is everything.

    Examples
    --------
    >>> Estimate(value=1.6, low=1.1, high=2.1, level=0.95).covers(1.585)
    True
    """

    value: float
    low: float
    high: float
    level: float

    def covers(self, truth: float) -> bool:
        """Tell whether the interval holds the given number."""
        return self.low <= truth <= self.high

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, -self.high, -self.low, self.level)

    @classmethod
    def without_interval(cls, value: float = math.nan, level: float = 0.0) -> Estimate:
        """Return a number that may be anything, or one of which nothing is known."""
        return Estimate(value, -math.inf, math.inf, level)


_LEAST = 1e-290  # below, an incomplete beta function is worked out by its series


def log_normal_tail(x: Floats) -> Floats:
    """Return log sf(x) of the standard normal distribution."""
    return np.asarray(special.log_ndtr(-x))


def log_student_tail(f: Floats, freedom: Floats | float) -> Floats:
    """Return log sf(T) of Student's distribution for T ≥ 0, given f = ν/(ν + T²)."""
    a = np.broadcast_to(0.5 * np.asarray(freedom), f.shape)
    plain = special.betainc(a, 0.5, f)
    with np.errstate(divide="ignore"):
        tail = np.log(0.5 * plain)
        far = (plain < _LEAST) & (f > 0.0)
        if far.any():
            # I_f(a, ½) = f^a ₂F₁(a, ½; a + 1; f)/(a B(a, ½))
            a = a[far]
            series = np.log(special.hyp2f1(a, 0.5, a + 1.0, f[far]))
            scale = np.log(2.0 * a) + special.betaln(a, 0.5)
            tail[far] = a * np.log(f[far]) + series - scale
    return np.asarray(tail)


def student_tail(t: Floats, freedom: float) -> Floats:
    """Return sf(t) of Student's distribution, or of the normal one with infinite ``freedom``."""
    if math.isinf(freedom):
        return np.asarray(special.ndtr(-t))
    return np.asarray(special.stdtr(freedom, -t))


def student_quantile(failure: float, freedom: float) -> float:
    """Return what Student's variable exceeds with a chance of ``failure``; see `student_tail`."""
    if math.isinf(freedom):
        return -float(special.ndtri(failure))
    return -float(special.stdtrit(freedom, failure))


def log_mass(tail: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the log of the probability between (n,) ends of a symmetric distribution, given log
    sf(x) for x ≥ 0 as ``tail``; −∞ where there is nothing between them.
    """
    across = (low < 0.0) & (high > 0.0)
    # to the left of 0 the same as to its right
    near = np.where(high <= 0.0, -high, low)
    far = np.where(high <= 0.0, -low, high)
    near_tail, far_tail = tail(np.abs(near)), tail(np.abs(far))
    with np.errstate(invalid="ignore", divide="ignore"):
        beside = near_tail + np.log1p(-np.exp(np.minimum(far_tail - near_tail, 0.0)))
        both = np.log1p(-np.minimum(np.exp(near_tail) + np.exp(far_tail), 1.0))
    return np.where(across, both, np.where(near_tail == -np.inf, -np.inf, beside))
