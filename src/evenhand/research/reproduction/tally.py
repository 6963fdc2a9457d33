"""How often a statement was checked, and how close it came to being false."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ROUNDING = 1e-9


@dataclass(frozen=True)
class LemmaCheck:
    """How often a statement was checked, how often it failed, and how close it came."""

    n: int = 0
    violations: int = 0
    closest: float = 0.0  # largest ratio of what was found to what is allowed; up to 1 it holds

    def __add__(self, other: LemmaCheck) -> LemmaCheck:
        return LemmaCheck(
            self.n + other.n,
            self.violations + other.violations,
            max(self.closest, other.closest),
        )

    @staticmethod
    def of(
        found: float, allowed: float, rounding: float = _ROUNDING, *, strict: bool = False
    ) -> LemmaCheck:
        """Check that a number is at most another, up to rounding; below it, if strict."""
        fails = found >= allowed if strict else found > allowed * (1 + rounding)
        return LemmaCheck(1, int(fails), found / allowed if allowed else math.inf)


UNTRIED = LemmaCheck()
