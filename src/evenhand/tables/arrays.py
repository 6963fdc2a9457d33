"""Arrays: options given as numbers, groups and names in memory, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError
from evenhand.tables.cells import Missing, as_text
from evenhand.tables.groups import GroupTally, two_groups
from evenhand.tables.names import Names, listed, repeated, repeated_name

# Rows looked at in one go: the marks of what is not finite stay small beside the data.
BLOCK_ROWS = 1 << 16


def number_matrix(values: ArrayLike | None, what: str) -> NDArray[Any]:
    """The values as a matrix of real numbers, without a copy where they are one already."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(_ragged(values, what)) from None
    if array.ndim != 2:
        hint = (
            f"for a single column use {what}.reshape(-1, 1)"
            if array.ndim == 1
            else "give one row per option and one column per number"
        )
        raise InputError(
            f"{what} must have two dimensions (options × columns), not {array.ndim} "
            f"(shape {array.shape}); {hint}"
        )
    if 0 in array.shape:
        raise InputError(
            f"{what} has the shape {array.shape}: at least one option and one column are needed"
        )
    if array.dtype.kind not in "fiub":
        raise InputError(_not_numbers(array, what))
    return array


def _ragged(values: Any, what: str) -> str:
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
    for row, n in enumerate(lengths):
        if n != lengths[0]:
            return (
                f"{what}: row {row} has {n} numbers, row 0 has {lengths[0]}; "
                "every option needs the same number of them"
            )
    return f"{what} cannot be read as a matrix of numbers; give one row of numbers per option"


def _not_numbers(array: NDArray[Any], what: str) -> str:
    if array.dtype.kind == "c":
        return f"{what} holds complex numbers ({array.dtype}); give real ones, such as {what}.real"
    for (row, column), value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            return (
                f"{what}: row {row}, column {column}: {value!r} is not a number; correct it, or "
                "use ActionSet.from_frame for tables with text"
            )
    return (
        f"{what} has the type {array.dtype} though it holds numbers only; "
        f"convert it with np.asarray({what}, dtype=float)"
    )


def check_finite(
    points: NDArray[np.float64], d: int, x_names: Sequence[str], z_names: Sequence[str]
) -> None:
    """Refuse a matrix of `d` features and some attributes if a number in it is not finite."""
    for start in range(0, len(points), BLOCK_ROWS):
        finite = np.isfinite(points[start : start + BLOCK_ROWS])
        if finite.all():
            continue
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        value = points[start + row, column]
        what, name, position = (
            ("features", x_names[column], column)
            if column < d
            else ("attributes", z_names[column - d], column - d)
        )
        raise InputError(
            f"{what}: row {start + row}, column {position} ({name!r}) is {value}; every number "
            "must be finite: fill it in, or leave the row or the column out"
        )


def check_length(what: str, n: int, k: int) -> None:
    """Refuse `n` entries for `k` options."""
    if n != k:
        raise InputError(f"{what} has {n} entries, features has {k} rows; one per option is needed")


def group_signs(groups: Any, k: int, positive: object) -> tuple[NDArray[np.int8], tuple[str, str]]:
    """The group of each option as −1 or +1, a column (k, 1), and the names of the two groups.

    Examples
    --------
    >>> signs, names = group_signs(["home", "away", "home"], 3, positive=None)
    >>> signs.ravel(), names
    (array([ 1, -1,  1], dtype=int8), ('away', 'home'))
    """
    entries = _entries(groups, "groups", k)
    tally = GroupTally()
    codes = np.empty(k, dtype=np.int8)
    for start in range(0, k, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        # Many groups do not fit eight bits, but more than two end in an error below.
        codes[block] = tally.add(entries[block], start)
    _check_present(tally.missing, "groups")
    names = two_groups(
        tally.counts,
        positive,
        "groups",
        "for several groups give attributes=, one column of zeros and ones for each group but one",
    )
    signs = np.array([2 * names.index(name) - 1 for name in tally.counts], dtype=np.int8)
    return signs[codes][:, np.newaxis], names


def option_names(labels: Any, k: int) -> Names:
    """The names of the options, as given or numbered; an error unless they all differ.

    Examples
    --------
    >>> option_names(["Ann", "Bo"], 2), option_names(None, 2)
    (Names('Ann', 'Bo'), Names('option 1', 'option 2'))
    """
    if labels is None:
        return Names(numbers=range(1, k + 1))
    if isinstance(labels, Names):
        check_length("labels", len(labels), k)
        return labels
    texts = as_text(_entries(labels, "labels", k))
    missing = Missing()
    missing.note(pc.is_null(texts).to_numpy(zero_copy_only=False), start=0)
    _check_present(missing, "labels")
    names = pa.chunked_array([texts])
    twice = repeated_name(names)
    if twice is not None:
        name, rows = twice
        raise InputError(
            f"labels: the name {name!r} stands in {len(rows)} rows ({', '.join(map(str, rows[:5]))}"
            f"{', …' if len(rows) > 5 else ''}); names must differ"
        )
    return Names(names)


def _entries(values: Any, what: str, k: int) -> pa.Array:
    """One value per option."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{what} must hold one value per option, not the single text {values!r}")
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        try:
            values = np.asarray(values) if hasattr(values, "__array__") else list(values)
        except TypeError:
            raise InputError(f"{what} must hold one value per option, not {values!r}") from None
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise InputError(
                f"{what} must have one dimension, not the shape {values.shape}; use {what}.ravel()"
            )
    check_length(what, len(values), k)
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # Values of several kinds, such as 1 and "1": their texts tell them apart, or do not.
        return pa.array([None if v is None else str(v) for v in values], pa.string())


def _check_present(missing: Missing, what: str) -> None:
    if missing.count:
        raise InputError(f"{what}: row {missing.first} is missing or empty; every option needs one")


def column_names(names: Sequence[str] | None, n: int, what: str, letter: str) -> tuple[str, ...]:
    """The names of `n` columns, as given, or a letter with numbers.

    Examples
    --------
    >>> column_names(None, 2, "feature_names", "x")
    ('x1', 'x2')
    """
    if names is None:
        return tuple(f"{letter}{number}" for number in range(1, n + 1))
    if isinstance(names, str):
        raise InputError(f"{what} is a list of names: {what}=[{names!r}]")
    result = tuple(str(name) for name in names)
    if len(result) != n:
        raise InputError(
            f"{what} has {len(result)} names, there are {n} columns; give one for each"
        )
    twice = repeated(result)
    if twice:
        raise InputError(f"{what} has {listed(twice)} more than once; names must differ")
    return result


def option_positions(indices: ArrayLike, k: int) -> NDArray[np.int64]:
    """Distinct positions among `k` options, from positions or truth values.

    Examples
    --------
    >>> option_positions([True, False, True], 3)
    array([0, 2])
    """
    chosen = np.asarray(indices)
    if chosen.dtype == np.bool_ and chosen.shape == (k,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise InputError(
            f"indices must be a list of at least one option number, or {k} truth values; given is "
            f"an array of {chosen.dtype} of shape {chosen.shape}"
        )
    outside = chosen[(chosen < 0) | (chosen >= k)]
    if outside.size:
        raise InputError(f"there is no option {outside[0]}; they run from 0 to {k - 1}")
    values, counts = np.unique(chosen, return_counts=True)
    if len(values) < len(chosen):
        raise InputError(
            f"option {values[counts > 1][0]} is chosen twice; choose each at most once"
        )
    return chosen.astype(np.int64)
