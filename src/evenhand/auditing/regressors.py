"""A few columns beside one another: what each of them explains that the others do not.

Notation
--------
R̃_j     (n,) columns, of any scale;  ỹ (n,) what they explain
β       their coefficients by least squares; of all that fit as well, the shortest
S̃_j     R̃_j less what the other columns explain; all 0 where they explain all of it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.numerics.gram import Gram
from evenhand.numerics.tolerance import RANK


@dataclass(frozen=True, eq=False)
class Regressed:
    """What columns explain beside one another."""

    slopes: Floats  # (r,) β
    # (r,) whether S̃_j is more than rounding, so that β_j is the only one that fits
    told: NDArray[np.bool_]
    rank: int  # how many of the columns are independent
    # (r, r) how much of each other column, column by column, is taken off to give S̃
    shares: Floats

    def apart(self, columns: Sequence[Floats]) -> Floats:
        """Return (n, r) S̃, without a copy where there is one column."""
        if len(columns) == 1 and self.told.all():
            return columns[0].reshape(-1, 1)
        n = len(columns[0]) if columns else 0
        apart = np.zeros((n, len(columns)), order="F")
        for j in np.flatnonzero(self.told):
            for i, column in enumerate(columns):
                apart[:, j] += self.shares[i, j] * column
        return apart


def regressed(columns: Sequence[Floats], y: Floats) -> Regressed:
    """Return what columns explain of y."""
    r = len(columns)
    gram = np.array([[a @ b for b in columns] for a in columns]).reshape(r, r)
    sizes = gram.diagonal()
    form = Gram.of_matrix(gram, sizes)
    slopes = form.inverse @ np.array([column @ y for column in columns]).reshape(r)
    shares, told = np.zeros((r, r)), np.zeros(r, dtype=np.bool_)
    for j in np.flatnonzero(sizes > 0.0):
        others = np.delete(np.arange(r), j)
        some = Gram.of_matrix(gram[np.ix_(others, others)], sizes[others])
        b = some.inverse @ gram[others, j]
        told[j] = sizes[j] - gram[others, j] @ b > RANK * sizes[j]
        shares[j, j], shares[others, j] = 1.0, -b
    return Regressed(slopes, told, form.root.shape[1], shares)
