"""What is wanted of the options: the best one, the m best, all above a bar, or all against one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.arrays import is_number
from evenhand.best import Best
from evenhand.errors import InputError

_NAMED = 5  # options that an error names
_KINDS = ("top", "bar", "against")


@dataclass(frozen=True)
class Target:
    """What is wanted: the ``top`` options, those above a ``bar``, or those that beat one option.

    Exactly one of the three. With a ``tolerance`` an option that is worse by no more than that
    counts as good enough: 'not worse than' the bar or the option it is ``against``. Where the
    lowest scores are ``best``, those are wanted that are below the bar.

    Examples
    --------
    >>> Target(top=10).words
    'the best 10'
    >>> Target(against="A", tolerance=0.02).words
    "no more than 0.02 worse than 'A'"
    """

    top: int | None = None
    bar: float | None = None
    against: str | None = None
    tolerance: float = 0.0
    best: Best = "high"

    def __post_init__(self) -> None:
        given = [name for name in _KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) if given else "none of them"
            raise InputError(
                "say one of top (how many are wanted), bar (what they must be worth) and against "
                f"(whom they must beat); got {said}."
            )
        if self.top is not None:
            if not is_number(self.top) or self.top != int(self.top) or self.top < 1:
                raise InputError(
                    "top must be a whole number of options that are wanted, 1 or more; got "
                    f"{self.top!r}."
                )
            object.__setattr__(self, "top", int(self.top))
        if self.bar is not None:
            if not is_number(self.bar) or not math.isfinite(self.bar):
                raise InputError(f"bar must be a number, in units of the scores; got {self.bar!r}.")
            object.__setattr__(self, "bar", float(self.bar))
        if self.against is not None and not (isinstance(self.against, str) and self.against):
            raise InputError(f"against must be the name of an option; got {self.against!r}.")
        if not is_number(self.tolerance) or not 0.0 <= self.tolerance < math.inf:
            raise InputError(
                f"tolerance must be a number ≥ 0, in units of value; got {self.tolerance!r}."
            )
        object.__setattr__(self, "tolerance", float(self.tolerance))

    @classmethod
    def of(
        cls,
        top: Any = None,
        bar: Any = None,
        against: Any = None,
        tolerance: Any = 0.0,
        best: Best | None = None,
    ) -> Target | None:
        """Return the target that arguments of these names say; None where none of them is given."""
        if top is None and bar is None and against is None:
            return None
        return cls(top, bar, against, tolerance, best or "high")

    @property
    def turned(self) -> Target:
        """The same of scores with the other sign."""
        bar = None if self.bar is None else -self.bar
        return replace(self, bar=bar, best="low" if self.best == "high" else "high")

    def among(self, labels: Sequence[str], compared: bool = False) -> Target:
        """Return the target, or say why options of these names cannot have it; ``compared`` says
        that they were compared and not scored.
        """
        if self.bar is not None and compared:
            raise InputError(
                "bar needs scores of options by themselves: comparisons tell differences only; say "
                "against, the name of an option."
            )
        if self.top is not None and self.top >= len(labels):
            raise InputError(
                f"top must be less than the number of options, which is {len(labels):,}; got "
                f"{self.top:,}."
            )
        if self.against is not None and self.against not in labels:
            some = ", ".join(map(repr, labels[:_NAMED]))
            raise InputError(
                f"against must be the name of an option ({some}"
                f"{', …' if len(labels) > _NAMED else ''}); got {self.against!r}."
            )
        if self.against is not None and len(labels) < 2:
            raise InputError(f"there is no option but {self.against!r} to hold against it.")
        return self

    def rival(self, labels: Sequence[str]) -> int | None:
        """Return the place of the option that others are held against; None if there is none."""
        return None if self.against is None else list(labels).index(self.against)

    @property
    def kind(self) -> str:
        """Which of the three it is: top, bar or against."""
        return next(name for name in _KINDS if getattr(self, name) is not None)

    @property
    def words(self) -> str:
        """What is wanted, as it follows 'which are'."""
        if self.top is not None:
            return "the best" if self.top == 1 else f"the best {self.top:,}"
        less = f"no more than {self.tolerance:g} " if self.tolerance else ""
        if self.bar is not None:
            worse, better = ("below", "above") if self.best == "high" else ("above", "below")
            return f"{less}{worse} {self.bar:g}" if less else f"{better} {self.bar:g}"
        return f"{less}worse than {self.against!r}" if less else f"better than {self.against!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        said = {name: getattr(self, name) for name in _KINDS}
        return {name: one for name, one in said.items() if one is not None} | {
            "tolerance": self.tolerance
        }
