"""A bias with how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special


@dataclass(frozen=True)
class BiasEstimate:
    """How much evaluators add to what they are partial to.

    Parameters
    ----------
    value, low, high
        The estimate, and an interval that holds the bias with probability ``level``.
    level
        Confidence of the interval.
    se, freedom
        Standard error, and the degrees of freedom of Student's distribution that goes with it.

    Examples
    --------
    >>> bias = BiasEstimate.by_student(3.0, 1.0, freedom=30, level=0.95)
    >>> round(bias.low, 2), round(bias.high, 2), round(bias.chance, 4)
    (0.96, 5.04, 0.0054)
    """

    value: float
    low: float
    high: float
    level: float
    se: float
    freedom: float

    @classmethod
    def by_student(cls, value: float, se: float, freedom: float, level: float) -> BiasEstimate:
        """Return the estimate with a standard error, by Student's distribution."""
        width = -se * float(special.stdtrit(freedom, 0.5 * (1.0 - level)))
        return cls(value, value - width, value + width, level, se, freedom)

    @property
    def chance(self) -> float:
        """How probable an estimate as far from 0 would be without a bias."""
        if not self.se > 0.0:
            return math.nan
        return 2.0 * float(special.stdtr(self.freedom, -abs(self.value) / self.se))

    def covers(self, truth: float) -> bool:
        """Tell whether the interval holds the given number."""
        return self.low <= truth <= self.high
