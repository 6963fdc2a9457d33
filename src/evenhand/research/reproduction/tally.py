"""How often statements were checked, and how close they came to being false."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from evenhand.report.words import number

EQUAL = 1e-6
"""How far two numbers that are equal may be apart: what linear programs leave."""
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

    @property
    def held(self) -> bool:
        """Whether it was checked, and never failed."""
        return self.n > 0 and self.violations == 0

    @property
    def tried(self) -> str:
        """How often it failed, to be followed by what was checked."""
        return f"{self.violations:,} violations in {self.n:,}"

    @property
    def slack(self) -> str:
        """How much room there was at the least."""
        slack = 1 - self.closest
        return f"smallest slack {slack:.2%}" if slack > 5e-5 else "smallest slack below 0.01%"

    @property
    def times(self) -> str:
        """The largest ratio of what was found to what is allowed."""
        return number(self.closest)

    @property
    def alike(self) -> str:
        """How far apart numbers were that should be equal."""
        apart = self.closest * EQUAL
        return f"equal in {self.n:,} comparisons, to {apart:.0e}".replace("e-0", "e-")


UNTRIED = LemmaCheck()


@dataclass(frozen=True)
class Tally:
    """What came of some trials: counts and checks by name; tallies add up."""

    counts: Counter[str] = field(default_factory=Counter)
    checks: dict[str, LemmaCheck] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def __add__(self, other: Tally) -> Tally:
        names = {**self.checks, **other.checks}
        checks = {n: self.checks.get(n, UNTRIED) + other.checks.get(n, UNTRIED) for n in names}
        return Tally(self.counts + other.counts, checks)

    def note(self, name: str, check: LemmaCheck) -> None:
        """Add a check to those of its name."""
        self.checks[name] = self.checks.get(name, UNTRIED) + check
