"""A number with its interval, as a value."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
