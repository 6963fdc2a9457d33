"""Where scores lie, and whether their differences are there.

Notation
--------
y           scores;  R their range
c           the origin: what is taken off all scores before anything is added up
u           what scores are rounded to: the distance of neighbouring floating-point numbers

Nothing that is said of differences may hang on a constant that is added to all scores. But sums of
squares of scores about a level of 10⁸ R have no digit left of the scatter, and what is called
rounding 'of the largest score' is then larger than the noise. So scores are taken from c, which
lies among them, and differences below a few u are rounding, and no differences.

c is a multiple of a power of 2 near R, so that taking it off is exact where y is as large as R, and
whole numbers stay whole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError

LEAST, MOST = 1e-100, 1e100
"""How small and how large the range of scores may be, so that squares of squares are no matter."""

WHOLE = 2.0**53
"""Up to where whole numbers are not rounded."""

_LOST = 1e-6  # of the range: scores that are rounded to more have lost their differences
_ROUNDINGS = 4.0  # of single scores that may add up in a difference


class Level(NamedTuple):
    """What is taken off all scores, and below what a difference of them is rounding."""

    origin: float = 0.0
    grain: float = 0.0


AS_GIVEN = Level()
"""Nothing was taken off."""


def level_of(y: Floats, column: str = "score", *, compared: bool = False) -> Level:
    """Return where scores lie; `InputError` where their differences cannot be worked with."""
    if not len(y):
        return AS_GIVEN
    low, high = float(y.min()), float(y.max())
    size = max(abs(low), abs(high))
    apart = size if compared else high - low
    if apart == 0.0:
        return Level(0.0 if compared else low)
    if not LEAST <= apart <= MOST:
        raise InputError(
            f"column {column!r}: scores lie between {low:g} and {high:g}; to add up their squares "
            f"they must differ by {LEAST:g} to {MOST:g}. Give them in another unit"
            + (f": all divided by {apart:.0e}." if math.isfinite(apart) else ".")
        )
    step = 2.0 ** math.floor(math.log2(apart))
    origin = 0.0 if compared else step * round(0.5 * (low / step + high / step))
    rounded = float(np.spacing(size))
    if size <= WHOLE and bool((y == np.rint(y)).all()):
        return Level(origin)
    if rounded > _LOST * apart:
        raise InputError(
            f"column {column!r}: scores lie between {low!r} and {high!r}; numbers of that size are "
            f"rounded to {rounded:.2g}, and what tells these scores apart, {apart:.2g} at most, is "
            f"lost. Take about {origin:g} off all of them where they still have their digits."
        )
    return Level(origin, _ROUNDINGS * rounded)
