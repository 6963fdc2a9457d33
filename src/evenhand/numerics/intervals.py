"""A number with its interval, and what intervals are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from scipy import special


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

    def __neg__(self) -> Self:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    @classmethod
    def without_interval(cls, value: float = math.nan, level: float = 0.0) -> Estimate:
        """Return a number that may be anything, or one of which nothing is known."""
        return Estimate(value, -math.inf, math.inf, level)


def student_quantile(failure: float, freedom: float) -> float:
    """Return what Student's variable exceeds with a chance of ``failure``."""
    if math.isinf(freedom):
        return -float(special.ndtri(failure))
    return -float(special.stdtrit(freedom, failure))
