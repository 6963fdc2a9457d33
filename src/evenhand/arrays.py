"""Arrays: what they are called in signatures, what is refused before anything is computed, and
values that hold them.

Every array of the user's comes in through one of the functions here. What they return is plain
numbers: no mask, no text, and, after `refuse_non_finite`, nothing that is not finite. The numbers
of a state, which may be a stranger's, come in through `recalled`: compiled code relies on their
shapes and ranges.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]
Rows: TypeAlias = "Floats | sparse.csr_array"
"""Rows of a matrix, dense or sparse."""

LARGEST = 1e200
"""Numbers of a state lie within ± this: sums of all scores that a policy takes do."""
MOST = 4 * 10**18
"""Evaluations that can be counted, with as many again as a horizon can have, in 64 bits."""
FEW = 2**16
"""Numbers of a matrix that is dense in any case: quicker than to look."""

_FULL = 0.05  # share of numbers that are not 0, from which on a matrix is dense for products
_CHUNK = 65536  # rows looked at in one go: the marks of what is not finite stay small


def as_points(points: ArrayLike, name: str = "points") -> Floats:
    """Return ``points`` as a C-contiguous float matrix, without a copy where it is one already."""
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
    """Return ``values`` as a finite float vector of the given length, always a copy."""
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
    for first in range(0, len(points), _CHUNK):
        finite = np.isfinite(points[first : first + _CHUNK])
        if finite.all():
            continue
        at, column = (int(i) for i in np.argwhere(~finite)[0])
        row = first + at
        called = "" if columns is None else f" ({columns[column]!r})"
        raise InputError(
            f"{name}[{row}, {column}]{called} is {points[row, column]}; every entry must be "
            "finite. Fill it in, or leave the row or the column out."
        )


def unmasked(values: Any, name: str) -> NDArray[Any]:
    """Return an array of what was given; an error if it is ragged or masked, as `np.asarray` would
    drop a mask, and with it the user's word that a number is no number.
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


def recalled(
    memory: Mapping[str, Any],
    name: str,
    shape: tuple[int | None, ...] = (),
    kind: type[float] | type[int] | type[bool] = float,
    least: float = -LARGEST,
    most: float = LARGEST,
) -> Any:
    """Return the number or array (a copy, C-contiguous, 64 bits) that a state has under this name;
    ValueError unless shape (None: any length), kind and range are these, NaN being nowhere.
    """
    try:
        given = memory[name]
        array = np.asarray(given)
    except (KeyError, IndexError, TypeError):
        raise ValueError(f"it has no {name!r}") from None
    except (ValueError, OverflowError, RecursionError):
        raise ValueError(f"{name} is ragged") from None
    if array.size == 0 and shape[:1] == (None,):
        array = np.zeros((0, *(n or 0 for n in shape[1:])))
    fits = len(array.shape) == len(shape) and all(
        want in (None, has) for want, has in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = " × ".join("any number" if n is None else str(n) for n in shape) or "one number"
        raise ValueError(f"{name} has the shape {array.shape}; it must be {wanted}")
    kinds = {float: "fiu", int: "iu", bool: "b"}[kind]
    if array.dtype.kind not in kinds and array.size:
        what = {float: "numbers", int: "whole numbers", bool: "truth values"}[kind]
        raise ValueError(f"{name} is {given!r:.80}; it must be of {what}")
    if kind is bool:
        return array.item() if shape == () else array.astype(np.bool_)
    if kind is int:
        most = min(most, MOST)
    sound = (array >= least) & (array <= most)
    if not sound.all():
        place = tuple(int(i) for i in np.argwhere(~sound)[0])
        raise ValueError(
            f"{name}{_at(place)} is {array[place]}; it must be from {least:g} to {most:g}"
        )
    array = np.array(array, dtype=np.int64 if kind is int else np.float64, order="C")
    return array.item() if shape == () else array


def recalled_counts(memory: Mapping[str, Any], name: str, n: int) -> Counts:
    """Return (n,) counts ≥ 0 of a state, whose sum can be counted, too; see `recalled`."""
    counts: Counts = recalled(memory, name, (n,), int, least=0)
    if counts.sum(dtype=np.float64) > MOST:
        raise ValueError(f"{name} adds up to over {MOST:g}")
    return counts


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
        except (TypeError, ValueError, OverflowError):
            table = ", or use ActionSet.from_table for a table with text" * (array.ndim == 2)
            raise InputError(
                f"{name}{_at(place)} is {value!r}, which is not a number; correct it{table}."
            ) from None
    raise InputError(
        f"{name} has the type {array.dtype} though it holds numbers only; convert it with "
        f"np.asarray({name}, dtype=float)."
    )


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether the value is a finite real number (a bool is not meant as one)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number of a range, or refuse what is none."""
    if not is_number(value) or value != int(value) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most:,}; got {value!r}.")
    return int(value)


def checked_aim(confidence: object, tolerance: object, least: float = 0.0) -> tuple[float, float]:
    """Return how sure a choice is to be and what it may lose, or say what is wrong with it."""
    if not is_number(confidence) or not max(least, 1e-300) <= confidence < 1.0:
        raise InputError(
            f"confidence must be at least {least:g} and less than 1; got {confidence!r}."
            if least
            else f"confidence must lie between 0 and 1; got {confidence!r}."
        )
    if not is_number(tolerance) or tolerance < 0.0:
        raise InputError(f"tolerance must be a number ≥ 0, in units of value; got {tolerance!r}.")
    return float(confidence), float(tolerance)


def read_only(array: Floats) -> Floats:
    """Return the array, which can no longer be written to."""
    array.flags.writeable = False
    return array


class ArrayValue:
    """Base of frozen dataclasses (``eq=False``) whose arrays are their own: copied when they come
    from outside and read-only from then on, also after copying and unpickling.
    """

    def __post_init__(self) -> None:
        self._own(copy=True)

    def _own(self, *, copy: bool) -> None:
        for declared in fields(self):  # type: ignore[arg-type] # every subclass is a dataclass
            value = getattr(self, declared.name)
            # what is read-only and owns its memory is some other value's, and may be shared
            if isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None):
                own = value.copy() if copy else value
                own.flags.writeable = False
                object.__setattr__(self, declared.name, own)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._own(copy=False)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same(getattr(self, declared.name), getattr(other, declared.name))
            for declared in fields(self)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        # the plain fields tell values apart well enough, and cost nothing where arrays are long
        plain = (getattr(self, declared.name) for declared in fields(self))  # type: ignore[arg-type]
        told = (v for v in plain if isinstance(v, str | int | float) and not _is_nan(v))
        return hash((type(self), *told))


def same(one: object, other: object) -> bool:
    """Tell whether two contents are the same, arrays or not; NaN is the same as NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 # only NaN is not itself


def dense(rows: Any) -> Floats:
    """Return rows dense."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)


def thin(rows: Any) -> Rows:
    """Return rows dense, unless products with them are cheaper as they are."""
    from scipy import sparse  # noqa: PLC0415 - only where there are rows to work on

    if isinstance(rows, np.ndarray):
        return rows
    size = rows.shape[0] * rows.shape[1]
    full = size <= FEW or rows.nnz > _FULL * size
    return dense(rows) if full else sparse.csr_array(rows)


def per_item(items: NDArray[Any], weights: Floats, n_items: int) -> sparse.csr_array:
    """Return (i, q) what adds rows up by their items."""
    from scipy import sparse  # noqa: PLC0415 - only where there are rows to work on

    q = len(items)
    return sparse.csr_array((weights, (items, np.arange(q))), shape=(n_items, q))
