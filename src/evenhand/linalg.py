"""The numerically delicate primitives: row spaces, products, leverages, accurate solves.

Notation
--------
A     (k, m)   the points, one row a_x per action
D     (m,)     column scales; every decision about rank is taken on A/D with rows of length one
B     (r, m)   r independent rows of A that span all of them
T     (m, r)   B T = I: the coordinates a T of a point are its weights on the rows of B
W     (r, m)   ‖W a‖² = aᵀV⁺a for points a in the range of V
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from evenhand._bases import spanning_rows
from evenhand._passes import products_into, squared_norms_into
from evenhand.errors import AccuracyError, InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

RANK_TOLERANCE = 1e-12
"""A direction counts only if unit rows (columns equilibrated) reach this far into it."""

_LEADING = 4096  # leading rows looked at first
_CHUNK = 65536  # rows copied at once
_SAMPLE_RUN = 16  # neighbouring rows read together when a large matrix is sampled


def as_points(points: ArrayLike, name: str = "points") -> Floats:
    """Return ``points`` as a C-contiguous float matrix, without a copy where it is one already."""
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise InputError(f"{name} must be a matrix: all rows of the same length.") from error
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
    for start in range(0, len(points), _CHUNK):
        bad = np.argwhere(~np.isfinite(points[start : start + _CHUNK]))
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


class RefinedSolver:
    """Solves M x = b and Mᵀy = b for one square M, as accurately as its entries deserve.

    Rows and columns are equilibrated by powers of two, which round nothing, and the solutions
    refined with residuals in extended precision.
    """

    def __init__(self, matrix: Floats) -> None:
        self._rows = _power_of_two(np.abs(matrix).max(axis=1))
        scaled = matrix / self._rows[:, None]
        self._columns = _power_of_two(np.abs(scaled).max(axis=0))
        scaled /= self._columns
        self._lu, self._pivots, info = lapack.dgetrf(scaled)
        if info != 0:
            raise AccuracyError("a basis of the linear program is singular to working precision.")
        self._wide = scaled.astype(np.longdouble)
        # one step of refinement squares the error; two are for pivots that tell of trouble
        self._steps = 1 if np.abs(self._lu.diagonal()).min() > 1e-4 else 3

    def solve(self, b: Floats) -> Floats:
        """Return x with M x = b."""
        return self._refined(self._wide, b / self._rows, 0) / self._columns

    def solve_transposed(self, b: Floats) -> Floats:
        """Return y with Mᵀy = b."""
        return self._refined(self._wide.T, b / self._columns, 1) / self._rows

    def _refined(self, wide: NDArray[np.longdouble], b: Floats, transposed: int) -> Floats:
        x, _ = lapack.dgetrs(self._lu, self._pivots, b, trans=transposed)
        for _ in range(self._steps):
            residual = (b - wide @ x).astype(np.float64)
            correction, _ = lapack.dgetrs(self._lu, self._pivots, residual, trans=transposed)
            x = x + correction
        return np.asarray(x, dtype=np.float64)


def _power_of_two(scales: Floats) -> Floats:
    """Return powers of two near the scales."""
    return np.ldexp(1.0, np.frexp(scales)[1])
