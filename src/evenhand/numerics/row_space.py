"""Row spaces: which rows of a matrix span all of them, and what lies in that span.

Notation
--------
A     (k, m)   the points, one row a_x per action
D     (m,)     column scales; every decision about rank is taken on A/D with rows of length one
B     (r, m)   r independent rows of A that span all of them
T     (m, r)   B T = I: the coordinates a T of a point are its weights on the rows of B
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from evenhand.arrays import Floats, Indices, refuse_non_finite
from evenhand.numerics._bases import spanning_rows
from evenhand.numerics.passes import leverages, sample_rows

RANK_TOLERANCE = 1e-12
"""A direction counts only if unit rows (columns equilibrated) reach this far into it."""

_LEADING = 4096  # leading rows looked at first
_CHUNK = 65536  # rows copied at once


@dataclass(frozen=True)
class RowSpace:
    """A basis of the span of the rows, taken from the rows themselves.

    Parameters
    ----------
    basis
        Indices of r independent rows.
    rows
        Those rows B, (r, m).
    scales
        (m,) magnitudes of the columns.
    transform
        (m, r) matrix T with B T = I; a T are the coordinates of a point a on the basis.
    n_leading
        How many basis rows are leading ones: they span all leading rows, so the coordinates after
        these are what remains of a point modulo the leading rows.
    """

    basis: Indices
    rows: Floats
    scales: Floats
    transform: Floats
    n_leading: int = 0

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.basis)

    @property
    def full(self) -> bool:
        """Tell whether the rows span everything."""
        return self.rank == len(self.scales)

    @property
    def coordinates(self) -> Floats:
        """Return an (m, r) matrix C so that a C determines a, as accurately as there is.

        Scaling the columns is all where the rank is full; otherwise it is the transform.
        """
        return np.diag(1.0 / self.scales) if self.full else self.transform

    def distance(self, vector: Floats) -> float:
        """Return how far a vector is from the span, relative to its length."""
        if self.full:
            return 0.0
        residual = vector - (vector @ self.transform) @ self.rows
        length = float(np.abs(vector / self.scales).max())
        return float(np.abs(residual / self.scales).max()) / length if length > 0 else 0.0


def row_space(points: Floats, sample: Indices, leading: Indices | None = None) -> RowSpace:
    """Return a basis of the span of all rows, found among ``sample`` and extended where needed.

    A sample of full rank settles the matter. Otherwise one pass looks for rows outside the span
    of the sample, adds the farthest, and repeats: at most m passes, usually one.

    Parameters
    ----------
    points
        (k, m) matrix.
    sample
        Rows to look at first.
    leading
        Rows whose span comes first in the basis.
    """
    leading = np.empty(0, dtype=np.intp) if leading is None else leading
    first = leading[sample_rows(len(leading), _LEADING)]
    while True:
        space = _row_space_of(points, np.concatenate([first, sample]), len(first))
        astray = (
            _leading_outside(points, leading, space) if len(first) < len(leading) else first[:0]
        )
        if len(astray):
            first = np.concatenate([first, astray])
            continue
        if space.full or len(sample) >= len(points):
            return space
        outside = _rows_outside(points, space)
        if len(outside) == 0:
            return space
        sample = np.concatenate([sample, outside])


def _row_space_of(points: Floats, sample: Indices, n_leading: int) -> RowSpace:
    """Pick independent rows; decisions are taken on rows of length one, columns equilibrated."""
    chosen, n_leading, scales = spanning_rows(points, sample, n_leading, RANK_TOLERANCE)
    if not np.isfinite(scales).all():
        refuse_non_finite(points)
    basis = sample[chosen]
    B = points[basis]
    if len(chosen) == points.shape[1]:
        lu, swaps, _ = lapack.dgetrf(B / scales)
        inverse, _ = lapack.dgetri(lu, swaps)
    else:
        Q, R = np.linalg.qr((B / scales).T)
        inverse = np.linalg.solve(R, Q.T).T
    T = np.ascontiguousarray(inverse / scales[:, None])
    return RowSpace(basis, B, scales, T, n_leading)


def _leading_outside(points: Floats, leading: Indices, space: RowSpace) -> Indices:
    """Return leading rows that the leading part of the basis does not span, the farthest ones."""
    farthest: dict[int, tuple[float, int]] = {}
    lengths = np.linalg.norm(space.rows / space.scales, axis=1)
    for start in range(0, len(leading), _CHUNK):
        rows = leading[start : start + _CHUNK]
        shares = np.abs(points[rows] @ space.transform) * lengths
        whole = shares.max(axis=1, initial=0.0)
        whole[whole == 0.0] = 1.0
        shares = shares[:, space.n_leading :] / whole[:, None]
        for column, at in enumerate(np.argmax(shares, axis=0)):
            share = float(shares[at, column])
            if share > max(100 * RANK_TOLERANCE, farthest.get(column, (0.0, 0))[0]):
                farthest[column] = (share, int(rows[at]))
    return np.unique(np.array([row for _, row in farthest.values()], dtype=np.intp))


def _rows_outside(points: Floats, space: RowSpace) -> Indices:
    """Return, for each missing direction, the row that reaches farthest into it."""
    Q, _ = np.linalg.qr((space.rows / space.scales).T, mode="complete")
    missing = np.ascontiguousarray(Q[:, space.rank :].T / space.scales)
    reach = leverages(points, missing)
    length = leverages(points, np.diag(1.0 / space.scales))
    if not np.isfinite(length.max()):
        refuse_non_finite(points)
    (outside,) = np.nonzero(reach > (100 * RANK_TOLERANCE) ** 2 * length)
    if len(outside) == 0:
        return outside
    shares = np.abs(points[outside] @ missing.T) / np.sqrt(length[outside])[:, None]
    return np.unique(outside[np.argmax(shares, axis=0)])
