"""A bias with how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from scipy import special

from evenhand.numerics.estimate import Estimate


@dataclass(frozen=True)
class BiasEstimate(Estimate):
    """How much evaluators add to what they are partial to.

    Parameters
    ----------
    value, low, high
        The estimate, and an interval that holds the bias with probability ``level``.
    level
        Confidence of the interval.
    se, freedom
        Standard error, and the degrees of freedom of Student's distribution that goes with it.
    clusters
        Who comes back in several scores, and how many of them have partial scores. The interval is
        about others like them too.
    only
        Of whom it holds only for those who are here: partiality is one evaluator's alone, say, and
        nothing tells how another would be.

    Examples
    --------
    >>> bias = BiasEstimate.by_student(3.0, 1.0, freedom=30, level=0.95)
    >>> round(bias.low, 2), round(bias.high, 2), round(bias.chance, 4)
    (0.96, 5.04, 0.0054)
    >>> BiasEstimate.unknown(3.0, level=0.95).covers(1e9)
    True
    """

    se: float
    freedom: float
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    @classmethod
    def by_student(
        cls,
        value: float,
        se: float,
        freedom: float,
        level: float,
        clusters: Mapping[str, int] | None = None,
        only: tuple[str, ...] = (),
    ) -> BiasEstimate:
        """Return the estimate with a standard error, by Student's distribution."""
        width = -se * float(special.stdtrit(freedom, 0.5 * (1.0 - level))) if se > 0.0 else 0.0
        found = dict(clusters or {})
        return cls(value, value - width, value + width, level, se, freedom, found, only)

    @classmethod
    def unknown(cls, value: float, level: float, only: tuple[str, ...] = ()) -> BiasEstimate:
        """Return an estimate that nothing is known about: no scores are left to tell from."""
        return cls(value, -math.inf, math.inf, level, math.inf, 0.0, {}, only)

    @property
    def chance(self) -> float:
        """How probable an estimate as far from 0 would be without a bias."""
        if math.isnan(self.value) or math.isinf(self.se):
            return 1.0
        if self.se == 0.0:
            return float(self.value == 0.0)
        return 2.0 * float(special.stdtr(self.freedom, -abs(self.value) / self.se))
