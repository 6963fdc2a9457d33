"""The numerically delicate primitives: row spaces, products, leverages, accurate solves.

Notation
--------
A     (k, m)   the points, one row a_x per action
D     (m,)     column scales; every decision about rank is taken on A/D with rows of length one
F     (m, q)   a frame: the part of the space that matters, diag(1/D) unless some is ignored
B     (r, m)   r independent rows of A that span all of them
T     (m, r)   B T = I: the coordinates a T of a point are its weights on the rows of B
W     (r, m)   ‖W a‖² = aᵀV⁺a for points a in the range of V
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from evenhand._passes import products_into, squared_norms_into
from evenhand.errors import AccuracyError, InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

RANK_TOLERANCE = 1e-12
"""A direction counts only if unit rows (columns equilibrated) reach this far into it."""

_SAMPLE_RUN = 16  # neighbouring rows read together when a large matrix is sampled


def as_points(points: ArrayLike, name: str = "points") -> Floats:
    """Return ``points`` as a C-contiguous float matrix, without a copy where it is one already."""
    array = np.asarray(points)
    if array.ndim != 2:
        raise InputError(
            f"{name} must be a matrix with one row per action; got an array of "
            f"{array.ndim} dimension(s), shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"{name} must be real numbers; got dtype {array.dtype}. Encode text as numbers first, "
            "or use ActionSet.from_frame, which does."
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"{name} must have at least one row and one column; got {array.shape}.")
    return np.ascontiguousarray(array, dtype=np.float64)


def as_vector(values: ArrayLike, length: int, name: str) -> Floats:
    """Return ``values`` as a finite float vector of the given length, or say what is wrong."""
    vector = np.asarray(values)
    if vector.dtype.kind not in "fiub":
        raise InputError(f"{name} must be real numbers; got dtype {vector.dtype}.")
    if vector.shape != (length,):
        raise InputError(f"{name} must have shape ({length},); got {vector.shape}.")
    vector = np.ascontiguousarray(vector, dtype=np.float64)
    if not np.isfinite(vector).all():
        where = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(f"{name}[{where}] is {vector[where]}; every entry must be finite.")
    return vector


def refuse_non_finite(points: Floats, name: str = "points") -> None:
    """Raise an error that names the first entry that is NaN or infinite, if there is one."""
    for start in range(0, len(points), 65536):
        bad = np.argwhere(~np.isfinite(points[start : start + 65536]))
        if len(bad):
            row, column = int(bad[0, 0]) + start, int(bad[0, 1])
            raise InputError(
                f"{name}[{row}, {column}] is {points[row, column]}; every entry must be finite. "
                "Drop or repair that row."
            )


def products(points: Floats, u: Floats) -> Floats:
    """Return a·u for every row a, in one pass."""
    out = np.empty(len(points))
    products_into(points, np.ascontiguousarray(u), out)
    return out


def leverages(points: Floats, W: Floats) -> Floats:
    """Return ‖W a‖² for every row a, in one pass."""
    out = np.empty(len(points))
    squared_norms_into(points, W, out)
    return out


def sample_rows(k: int, size: int) -> Indices:
    """Return about ``size`` row indices spread over range(k), the same ones every time.

    Short runs at random places, one per stretch of equal length: quick to read, and proof
    against any order that the rows may have.
    """
    if k <= size:
        return np.arange(k)
    n_runs = max(1, size // _SAMPLE_RUN)
    stretch = k / n_runs
    offsets = np.random.default_rng(20210307).random(n_runs) * (stretch - _SAMPLE_RUN)
    starts = (np.arange(n_runs) * stretch + np.maximum(offsets, 0.0)).astype(np.intp)
    runs: Indices = (starts[:, None] + np.arange(_SAMPLE_RUN)).ravel()
    return runs[runs < k]


@dataclass(frozen=True)
class RowSpace:
    """A basis of the span of the rows, taken from the rows themselves.

    Where some directions are to be ignored, everything is meant modulo those: ``frame`` is a
    basis of the vectors orthogonal to them, scaled to equilibrate the columns.

    Parameters
    ----------
    basis
        Indices of r independent rows.
    rows
        Those rows B, (r, m).
    frame
        (m, q) matrix; the span is that of ``points @ frame``.
    transform
        (m, r) matrix T with B T = I; a T are the coordinates of a point a on the basis.
    """

    basis: Indices
    rows: Floats
    frame: Floats
    transform: Floats

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.basis)

    @property
    def full(self) -> bool:
        """Tell whether the rows span everything the frame sees."""
        return self.rank == self.frame.shape[1]

    def distance(self, vector: Floats) -> float:
        """Return how far a vector is from the span, relative to its length."""
        if self.full:
            return 0.0
        residual = (vector - (vector @ self.transform) @ self.rows) @ self.frame
        length = float(np.linalg.norm(vector @ self.frame))
        return float(np.linalg.norm(residual)) / length if length > 0 else 0.0


def column_scales(points: Floats, sample: Indices) -> Floats:
    """Return the largest magnitude in each column of the sampled rows, 1 for a column of zeros."""
    scales = np.abs(points[sample]).max(axis=0)
    scales[scales == 0.0] = 1.0
    return np.asarray(scales, dtype=np.float64)


def row_space(points: Floats, sample: Indices, frame: Floats) -> RowSpace:
    """Return a basis of the span of all rows, found among ``sample`` and extended where needed.

    A sample of full rank settles the matter. Otherwise one pass looks for rows outside the span
    of the sample, adds the farthest, and repeats: at most m passes, usually one.
    """
    while True:
        space = _row_space_of(points, sample, frame)
        if space.full or len(sample) >= len(points):
            return space
        outside = _rows_outside(points, space)
        if len(outside) == 0:
            return space
        sample = np.union1d(space.basis, outside)


def orthogonal_frame(space: RowSpace) -> Floats:
    """Return a basis (columns) of the vectors orthogonal to the span, within its frame."""
    Q, _ = np.linalg.qr((space.rows @ space.frame).T, mode="complete")
    return np.ascontiguousarray(space.frame @ Q[:, space.rank :])


def _row_space_of(points: Floats, sample: Indices, frame: Floats) -> RowSpace:
    """Pivoted QR of the transposed sample: its first r pivots are independent rows."""
    if len(sample) == 0 or frame.shape[1] == 0:
        m = frame.shape[0]
        return RowSpace(np.empty(0, np.intp), np.empty((0, m)), frame, np.empty((m, 0)))
    unit = points[sample] @ frame
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    if frame.shape[1] < frame.shape[0]:
        # a row that lies in the ignored directions leaves only rounding error behind
        reach = np.sqrt(leverages(points[sample], np.diag(np.abs(frame).max(axis=1))))
        lengths[lengths <= RANK_TOLERANCE * reach] = np.inf
    lengths[lengths == 0.0] = np.inf
    unit /= lengths[:, None]
    qr, pivots, *_ = lapack.dgeqp3(unit.T, overwrite_a=True)
    diagonal = np.abs(np.diagonal(qr))
    rank = int(np.count_nonzero(diagonal > RANK_TOLERANCE))
    basis = sample[pivots[:rank] - 1]
    B = points[basis]
    if rank == frame.shape[1]:
        T = frame @ np.linalg.inv(B @ frame)
    else:
        Q, R = np.linalg.qr((B @ frame).T)
        T = frame @ np.linalg.solve(R, Q.T).T
    return RowSpace(basis, B, frame, np.ascontiguousarray(T))


def _rows_outside(points: Floats, space: RowSpace) -> Indices:
    """Return, for each missing direction, the row that reaches farthest into it."""
    missing = orthogonal_frame(space).T
    reach = leverages(points, np.ascontiguousarray(missing))
    length = leverages(points, np.diag(np.abs(space.frame).max(axis=1)))
    outside = np.flatnonzero(reach > (100 * RANK_TOLERANCE) ** 2 * length)
    if len(outside) == 0:
        return outside
    shares = np.abs(points[outside] @ missing.T) / np.sqrt(length[outside])[:, None]
    return np.unique(outside[np.argmax(shares, axis=0)])


def solve_refined(matrix: Floats, rhs: Floats) -> Floats:
    """Solve a square system, rows and columns equilibrated, and refine in extended precision."""
    rows = _power_of_two(np.abs(matrix).max(axis=1))
    scaled = matrix / rows[:, None]
    columns = _power_of_two(np.abs(scaled).max(axis=0))
    scaled /= columns
    lu, pivots, info = lapack.dgetrf(scaled)
    if info != 0:
        raise AccuracyError("a basis of the linear program is singular to working precision.")
    b = rhs / rows
    x, _ = lapack.dgetrs(lu, pivots, b)
    wide = scaled.astype(np.longdouble)
    for _ in range(2):
        correction, _ = lapack.dgetrs(lu, pivots, (b - wide @ x).astype(np.float64))
        x = x + correction
    return np.asarray(x / columns, dtype=np.float64)


def _power_of_two(scales: Floats) -> Floats:
    """Return powers of two near the scales: dividing by them rounds nothing."""
    return np.ldexp(1.0, np.frexp(scales)[1])
