"""Arrays: what they are called in signatures, and what is refused before anything is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

_CHUNK = 65536  # rows looked at in one go: the marks of what is not finite stay small


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
