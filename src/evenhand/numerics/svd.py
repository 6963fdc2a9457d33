"""Rows taken apart by their singular values: what they span, and what least squares makes of it.

A = U diag(s) Wᵀ diag(c), for rows A, (q, m), whose columns have the largest entries c. Scaled like
that, the units of columns do not matter to what counts as rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.numerics.tolerance import EXACT, EXACT_IN_SPAN


@dataclass(frozen=True, eq=False)
class Svd:
    """The singular value decomposition of rows, without what is rounding."""

    U: Floats  # (q, r) orthonormal columns
    sizes: Floats  # (r,) singular values
    W: Floats  # (m, r) orthonormal columns
    scales: Floats  # (m,) c; 1 where a column is 0

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """Return the decomposition of rows, (q, m)."""
        scales = np.abs(rows).max(axis=0, initial=0.0)
        scales[scales == 0.0] = 1.0
        U, sizes, Wt = np.linalg.svd(rows / scales, full_matrices=False)
        span = sizes > EXACT * sizes.max(initial=0.0)
        return cls(U[:, span], sizes[span], Wt[span].T, scales)

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.sizes)

    @property
    def coordinates(self) -> Floats:
        """(m, r) C with A C = U, so that Σ (aC)ᵀ(aC) over the rows is the unit matrix."""
        return np.asarray(self.W / self.sizes / self.scales[:, None])

    def weights(self, targets: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return (n, r) w, and (n,) whether the rows show targets, (n, m), at all."""
        # Least squares on y estimates a target's combination of the coefficients by w·Uᵀy, with the
        # variance w·w per unit of noise.
        T = targets / self.scales
        inside = T @ self.W
        off = np.abs(T - inside @ self.W.T).max(axis=1, initial=0.0)
        seen = np.asarray(off <= EXACT_IN_SPAN * np.abs(T).max(axis=1, initial=0.0))
        return np.asarray(inside / self.sizes), seen

    def variances(self, targets: Floats) -> Floats:
        """Return (n,) the variances of targets, (n, m), per unit of noise; infinite if not seen."""
        weights, seen = self.weights(targets)
        return np.where(seen, (weights**2).sum(axis=1), np.inf)

    def solve(self, y: Floats) -> Floats:
        """Return (m,) coefficients by least squares on y, (q,): of all that fit, one."""
        return np.asarray(self.coordinates @ (self.U.T @ y))
