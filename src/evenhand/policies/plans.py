"""Plans of phases: how often to evaluate each option."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats
from evenhand.designs import Design, g_optimal_design
from evenhand.numerics.ties import rounded_up
from evenhand.policies.kept import Recent


class PhaseDesigns:
    """G-optimal designs on some of the rows of a matrix; those that were made are remembered.

    Parameters
    ----------
    rows
        (k, n) what estimates are linear in, one row per option.

    Examples
    --------
    >>> designs = PhaseDesigns(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> designs.rank(np.array([1, 2])), designs.counts(np.array([1, 2]), 9.0)
    (2, array([0, 5, 5]))
    """

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._designs: Recent[bytes, Design] = Recent()

    def design(self, active: NDArray[np.intp]) -> Design:
        """Return the G-optimal design on the active rows, which are not all zero."""
        return self._designs.get(active.tobytes(), lambda: g_optimal_design(self._rows[active]))

    def rank(self, active: NDArray[np.intp]) -> int:
        """Return the rank of the active rows, which is the value of their design."""
        return round(self.design(active).value)

    def counts(self, active: NDArray[np.intp], n: float) -> Counts:
        """Return ⌈n π(x)⌉ evaluations of the active options, of all k."""
        counts = np.zeros(len(self._rows), dtype=np.int64)
        counts[active] = whole(n * self.design(active).weights)
        return counts


def whole(pulls: Floats) -> Counts:
    """Round up; what no horizon can hold is cut off before it overflows, and stays too much.

    Examples
    --------
    >>> whole(np.array([0.0, 1.5, 1e30]))[:2]
    array([0, 2])
    """
    return np.minimum(rounded_up(pulls), 2.0**60 / len(pulls)).astype(np.int64)
