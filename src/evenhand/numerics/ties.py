"""Ties, broken by place and not by rounding: what is chosen must not depend on the machine.

Options that are evaluated alike, designs of equal weights, leverages of 1/50: equal numbers are
common, and each is computed along a way of its own. Their last bits then depend on the order in
which the linear algebra of a machine adds. So numbers that differ by a share of at most `TIE` count
as equal; of equal ones the first is taken, and whole numbers are met from either side. The compiled
passes do the same (`_ties.h`).
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.numerics.tolerance import ROUNDING, TIE


def first_largest(values: Floats, made_of: float = 0.0) -> int:
    """Return the place of the largest value; of those that tie, the first."""
    # Infinite values have no size: all that are finite tie by the largest of them. Values that are
    # differences of far larger numbers, ``made_of`` so large ones, tie by their rounding, too.
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return int(np.argmax(values >= values.max() - max(TIE * size, ROUNDING * made_of)))


def rounded_up(values: Floats) -> Floats:
    """Round numbers ≥ 0 up, unless they tie with a whole number: then it is that."""
    # So variances that are promised for ⌈·⌉ evaluations hold to a share of `TIE`.
    near = np.rint(values)
    return np.where(np.abs(values - near) <= TIE * values, near, np.ceil(values))
