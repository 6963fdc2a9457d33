"""Which end of the scores is the better one: as users say it, as a sign, and as a sentence.

Policies and fits maximise. Where lower is better, scores enter them times the sign, −1, and numbers
in units of a score leave times it again; leads, losses and tolerances are amounts and do not.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal

from evenhand.errors import InputError

Best = Literal["high", "low"]
"""Whether the highest or the lowest scores are the best."""


def checked_best(best: Any, argument: str = "best") -> Best | None:
    """Return which scores are best; None where it is not said.

    Examples
    --------
    >>> checked_best("low"), checked_best(None)
    ('low', None)
    """
    said: dict[Any, Best | None] = {None: None, "high": "high", "low": "low"}
    if isinstance(best, Hashable) and best in said:
        return said[best]
    raise InputError(
        f"{argument}= is 'high' where the highest scores are the best, or 'low' where the lowest "
        f"are; got {best!r}"
    )


def oriented(
    scale: Any, best: Any = None, argument: str = "scale"
) -> tuple[tuple[float, float] | None, Best | None]:
    """Return the scale, its lower end first, and which scores are best; None for what is not said.

    A scale with its higher end first, such as (5, 1), says that the lowest scores are the best.

    Examples
    --------
    >>> oriented((5, 1)), oriented((1, 5)), oriented(None, "low")
    (((1.0, 5.0), 'low'), ((1.0, 5.0), None), (None, 'low'))
    """
    best = checked_best(best)
    if scale is None:
        return None, best
    try:
        first, last = (math.nan if isinstance(end, str) else float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        first = last = math.nan
    if not (math.isfinite(first) and math.isfinite(last)) or first == last:
        raise InputError(
            f"{argument}= is the lowest and the highest score that can be given, such as (0, 10), "
            f"or (5, 1) where 1 is the best; got {scale!r}"
        )
    if first < last:
        return (first, last), best
    if best == "high":
        raise InputError(
            f"{argument}={scale!r}, from high to low, says that the lowest scores are the best, "
            "and best='high' that the highest are: say "
            f"{argument}=({last:g}, {first:g}), or best='low'"
        )
    return (last, first), "low"


def sign(best: Best | None) -> int:
    """Return −1 where the lowest scores are the best, else +1."""
    return -1 if best == "low" else 1


def turned(scale: Sequence[float] | None, best: Best | None) -> tuple[float, float] | None:
    """Return the ends of a scale times the sign, the lower one first.

    Examples
    --------
    >>> turned((1.0, 5.0), "low")
    (-5.0, -1.0)
    """
    if scale is None:
        return None
    ends = sorted(sign(best) * float(end) for end in scale)
    return ends[0], ends[1]


def direction(best: Best | None) -> str:
    """Return which scores are taken to be better, as a sentence."""
    return "Lower is better." if best == "low" else "Higher is better."
