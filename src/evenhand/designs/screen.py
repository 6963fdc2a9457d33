"""Leverages of all rows under one V, and bounds from them for any other.

One pass over all rows gives leverages d_old for some V_old. Later designs need no further pass for
most rows, since d_new ≤ λ_max(V_new⁺ V_old) · d_old; only rows that this bound does not clear are
looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from evenhand.arrays import Floats, Indices, refuse_non_finite
from evenhand.numerics.row_space import RowSpace, leverages

_FEW = 0.05  # a row gathered costs as much as ten read in order; a pass also renews the bound
_MARGIN = 0.95  # gather more than needed, if few are more: then the next design needs no gathering


@dataclass(frozen=True)
class GramFactor:
    """V = U Uᵀ by way of W with W U = I, so that aᵀV⁺a = ‖W a‖² for points a."""

    W: Floats
    U: Floats


def factor(space: RowSpace, rows: Floats, w: Floats) -> GramFactor:
    """Factor V(w) by QR of √w · rows, which keeps the accuracy that V itself would lose."""
    C = space.coordinates
    order = np.argsort(-np.abs(rows).max(axis=1) * w, kind="stable")  # long rows first: stable
    rows, w = rows[order], w[order]
    back = np.diag(space.scales) if space.full else space.rows
    R = np.linalg.qr((rows * np.sqrt(w)[:, None]) @ C, mode="r")
    if len(R) < space.rank:
        raise np.linalg.LinAlgError("too few rows for the rank")
    inverse, _ = lapack.dtrtri(R)
    return GramFactor(np.ascontiguousarray(np.triu(inverse).T @ C.T), (R @ back).T)


class Screen:
    """Leverages of all rows for one V, and bounds from them for any other."""

    def __init__(self, A: Floats, first: GramFactor) -> None:
        self.A = A
        self._look(first)

    def _look(self, factor: GramFactor) -> None:
        """Make a pass over all rows; from now on this V is the one to compare with."""
        self.factor = factor
        self.d = leverages(self.A, factor.W)
        if not np.isfinite(self.d.max()):
            refuse_non_finite(self.A)
        self._keep(np.inf)

    def _keep(self, cutoff: float) -> None:
        """Gather the rows whose leverage exceeds the cutoff, to look at them again and again."""
        self.cutoff = cutoff
        self.near = np.flatnonzero(self.d > cutoff)
        self.near_points = self.A[self.near]

    def rows_above(self, threshold: float, factor: GramFactor) -> tuple[Indices, Floats]:
        """Return all rows whose leverage under ``factor`` exceeds the threshold, and theirs."""
        if factor is not self.factor:
            growth = float(np.linalg.norm(factor.W @ self.factor.U, 2)) ** 2
            cutoff = threshold / growth
            if cutoff < self.cutoff:
                for lower in (_MARGIN * cutoff, cutoff):
                    if np.count_nonzero(self.d > lower) <= _FEW * len(self.A):
                        self._keep(lower)
                        break
                else:
                    self._look(factor)
        if factor is self.factor:
            (above,) = np.nonzero(self.d > threshold)
            return above, self.d[above]
        d = leverages(self.near_points, factor.W)
        (above,) = np.nonzero(d > threshold)
        return self.near[above], d[above]
