"""Arrays: what they are called in signatures, and what is refused before anything is computed.

Every array of the user's comes in through one of the functions here. What they return is plain
numbers: no mask, no text, and, after `refuse_non_finite`, nothing that is not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]

_CHUNK = 65536  # rows looked at in one go: the marks of what is not finite stay small


def as_points(points: ArrayLike, name: str = "points") -> Floats:
    """Return ``points`` as a C-contiguous float matrix, without a copy where it is one already.

    Examples
    --------
    >>> as_points([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    return np.ascontiguousarray(real_matrix(points, name), dtype=np.float64)


def real_matrix(values: ArrayLike | None, name: str) -> NDArray[Any]:
    """Return a matrix of real numbers of any type, without a copy where it is one already."""
    array = unmasked(values, name)
    if array.ndim != 2:
        hint = (
            f"for a single column use {name}.reshape(-1, 1)"
            if array.ndim == 1
            else "give one row per option and one column per number"
        )
        raise InputError(
            f"{name} must be a matrix with two dimensions (options × columns), not {array.ndim} "
            f"(shape {array.shape}); {hint}."
        )
    if 0 in array.shape:
        raise InputError(
            f"{name} has the shape {array.shape}; at least one option (row) and one column are "
            "needed."
        )
    _refuse_other_kinds(array, name)
    return array


def as_vector(values: ArrayLike, length: int, name: str) -> Floats:
    """Return ``values`` as a finite float vector of the given length, always a copy.

    Examples
    --------
    >>> as_vector([1, 2], 2, "gaps")
    array([1., 2.])
    >>> as_vector([1.0, float("inf")], 2, "gaps")
    Traceback (most recent call last):
    evenhand.errors.InputError: gaps[1] is inf; every entry must be finite.
    """
    vector = unmasked(values, name)
    if vector.shape != (length,):
        raise InputError(f"{name} must have shape ({length},); got {vector.shape}.")
    _refuse_other_kinds(vector, name)
    vector = np.array(vector, dtype=np.float64, order="C")
    if not np.isfinite(vector).all():
        where = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(f"{name}[{where}] is {vector[where]}; every entry must be finite.")
    return vector


def refuse_non_finite(
    points: Floats, name: str = "points", columns: Sequence[str] | None = None
) -> None:
    """Raise an error that names the first entry that is NaN or infinite, if there is one."""
    for start in range(0, len(points), _CHUNK):
        finite = np.isfinite(points[start : start + _CHUNK])
        if finite.all():
            continue
        first, column = (int(i) for i in np.argwhere(~finite)[0])
        row = start + first
        called = "" if columns is None else f" ({columns[column]!r})"
        raise InputError(
            f"{name}[{row}, {column}]{called} is {points[row, column]}; every entry must be finite."
            " Fill it in, or leave the row or the column out."
        )


def unmasked(values: Any, name: str) -> NDArray[Any]:
    """Return an array of what was given; an error if it is ragged or some of it is masked.

    ``np.asarray`` alone drops a mask, and with it the user's word that a number is no number.

    Examples
    --------
    >>> unmasked(np.ma.array([1.0, 2.0], mask=[False, True]), "gaps")
    Traceback (most recent call last):
    evenhand.errors.InputError: gaps[1] is masked; every entry must be there. Fill it in...
    """
    place = _first_masked(values)
    if place is not None:
        raise InputError(
            f"{name}{_at(place)} is masked; every entry must be there. Fill it in, for example "
            "with .filled(value), or leave the option out."
        )
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(_ragged(values, name)) from None


def _first_masked(values: Any) -> tuple[int, ...] | None:
    """Where the first masked entry of an array, or of lists of arrays, stands; None if nowhere."""
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.argwhere(np.ma.getmaskarray(values))
        return tuple(hidden[0].tolist()) if len(hidden) else None
    if isinstance(values, list | tuple):
        for position, part in enumerate(values):
            inside = _first_masked(part)
            if inside is not None:
                return position, *inside
    return None


def _at(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]" if place else ""


def _ragged(values: Any, name: str) -> str:
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
    for row, n in enumerate(lengths):
        if n != lengths[0]:
            return (
                f"{name}: row {row} has {n} numbers, row 0 has {lengths[0]}; "
                "every option needs the same number of them."
            )
    return f"{name} cannot be read as a matrix of numbers; give one row of numbers per option."


def _refuse_other_kinds(array: NDArray[Any], name: str) -> None:
    """Refuse what is not real numbers, and name the first entry that is none."""
    if array.dtype.kind in "fiub":
        return
    if array.dtype.kind == "c":
        raise InputError(
            f"{name} holds complex numbers ({array.dtype}); give real ones, such as {name}.real."
        )
    for place, value in np.ndenumerate(array.astype(object)):
        try:
            float(value)
        except (TypeError, ValueError):
            table = ", or use ActionSet.from_frame for a table with text" * (array.ndim == 2)
            raise InputError(
                f"{name}{_at(place)} is {value!r}, which is not a number; correct it{table}."
            ) from None
    raise InputError(
        f"{name} has the type {array.dtype} though it holds numbers only; convert it with "
        f"np.asarray({name}, dtype=float)."
    )
