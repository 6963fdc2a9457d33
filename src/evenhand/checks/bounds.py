"""Scores beyond the range that was stated: refused before they do harm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats
from evenhand.errors import InputError


def refuse_beyond(
    counts: Counts,
    sums: Floats,
    squares: Floats,
    bounds: tuple[float, float],
    label: Callable[[int], str],
) -> None:
    """Raise `InputError` if some of these evaluations must lie outside the bounds.

    For scores in [a, b] the mean lies there, and Σ (y − a)(b − y) ≥ 0; both are needed, and for
    single scores they are all.
    """
    low, high = bounds
    room = (high - low) * 1e-9
    means = sums / np.maximum(counts, 1)
    inside = (low + high) * sums - squares - counts * (low * high)
    size = counts * max(abs(low), abs(high)) ** 2
    wrong: NDArray[np.bool_] = (counts > 0) & (
        (means < low - room) | (means > high + room) | (inside < -1e-9 * size)
    )
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        what = f"{sums[x]:g}" if counts[x] == 1 else f"one of {counts[x]} with mean {means[x]:g}"
        raise InputError(
            f"a score of {label(x)!r} lies outside the bounds, from {low:g} to {high:g}: {what}. "
            "Nothing was taken. Mend the score, or give other bounds."
        )
