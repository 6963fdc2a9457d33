"""What counts as rounding: all shares by which the package tells data from rounding.

Numbers have 16 digits. Which of them are left depends on what was computed, so there is one share
for each kind of computation, and no other; what a room adds is of what it is a share.

| computed | off by | counts as nothing |
| --- | --- | --- |
| rows as they were given: what cancels of them, singular values | 10⁻¹⁶ | `EXACT`, 10⁻¹² |
| sums of squares: eigenvalues, what is left of a row beside others | 10⁻¹³ | `RANK`, 10⁻¹⁰ |
| vectors that span a range, or what it lacks: that over a gap | 10⁻⁸ | `IN_SPAN`, 10⁻⁷ |
| squares of what is solved for step by step | 10⁻¹⁰ | `PROJECTED`, 10⁻⁹ |
| equal numbers, computed along two ways | 10⁻¹⁰ | `TIE`, 10⁻⁹ |
| a difference of equal numbers | 10⁻¹⁵ | `ROUNDING`, 10⁻¹² |

Ties are broken by place and not by rounding: what is chosen must not depend on the machine. Options
that are evaluated alike, designs of equal weights, leverages of 1/50: equal numbers are common, and
each is computed along a way of its own. Their last bits then depend on the order in which the
linear algebra of a machine adds. So numbers that differ by a share of at most `TIE` count as equal;
of equal ones the first is taken, and whole numbers are met from either side. The compiled passes do
the same (`_ties.h`).
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats

EXACT = 1e-12
"""A direction of rows counts if more than this share of them, or of what cancelled, is left.

For rows that are a user's own numbers, in comparable units. Designs, frames and confidence sets are
about these: a column that is a combination of others to 11 digits is still a column.
"""

EXACT_IN_SPAN = 1e-9
"""A vector lies in the span of such rows if less than this share of it is outside.

So a direction that rows do not show at all is not taken for one that they hardly show.
"""

RANK = 1e-10
"""Eigenvalues of a Gram matrix count beyond this share of the largest, or of its unit diagonal.

Squares have half the digits, and sums of 10⁵ of them, from which others are subtracted, lose three
more. One evaluation still counts beside 10¹⁰ of others. A row that is taken after others counts by
the same rule: a few hundred reflections leave 10⁻¹³ of it.
"""

IN_SPAN = 1e-7
"""Share of a direction that may lie outside a range for it to count as inside.

An eigenvector is off by rounding over the gap between eigenvalues, 10⁻¹⁵ over 10⁻⁵ or more, unless
counts differ by more than a factor of 10⁵. What is missing entirely is missing by far more.
"""

PROJECTED = 1e-9
"""The same share for sums of squares of what projections on effects leave.

Those of an audit are solved for step by step, to 10⁻¹⁰ (`linear.projection`).
"""

TIE = 1e-9
"""Numbers that differ by less, as a share of the largest, are equal.

Far above rounding: followed from step to step, leverages are off by a share of at most 2·10⁻¹⁰
(`_oful.pyx`), all else by much less. Far below what matters: with noise as large as the values, it
takes 10¹⁸ evaluations to see such a difference.
"""

ROUNDING = 1e-12
"""What is left of a difference of equal numbers is below this share of them; its square of squares.
"""


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
