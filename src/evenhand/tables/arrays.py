"""Arrays: options given as numbers, groups and names in memory, and what is wrong with them.

Nothing here imports pyarrow: whoever brings options as arrays does not wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import unmasked
from evenhand.errors import InputError
from evenhand.tables.texts import Names, listed, repeated, text_of, two_groups


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
    texts, codes = _coded(_entries(groups, "groups", k))
    for position, text in enumerate(texts):
        if text is None:
            raise _missing("groups", int(np.argmax(codes == position)))
    sizes = np.bincount(codes, minlength=len(texts))
    counts: Counter[str] = Counter()
    for text, size in zip(texts, sizes.tolist(), strict=True):
        counts[str(text)] += size
    names = two_groups(
        counts,
        positive,
        "groups",
        "for several groups give attributes=, one column of zeros and ones for each group but one",
    )
    signs = np.array([1 if text == names[1] else -1 for text in texts], dtype=np.int8)
    return signs[codes][:, np.newaxis], names


def option_names(labels: Any, k: int, what: str = "labels") -> Names:
    """The names of the options, as given or numbered; an error unless they all differ.

    Examples
    --------
    >>> option_names(["Ann", "Bo"], 2), option_names(None, 2)
    (Names('Ann', 'Bo'), Names('option 1', 'option 2'))
    """
    if labels is None:
        return Names(numbers=range(1, k + 1))
    if isinstance(labels, Names):
        check_length(what, len(labels), k)
        return labels
    names = tuple(
        _present(text, row, what) for row, text in enumerate(_texts(_entries(labels, what, k)))
    )
    if len(set(names)) < k:
        name = repeated(names)[0]
        rows = [str(row) for row, other in enumerate(names) if other == name]
        raise InputError(
            f"{what}: the name {name!r} stands in {len(rows)} rows ({', '.join(rows[:5])}"
            f"{', …' if len(rows) > 5 else ''}); names must differ"
        )
    return Names(names)


def texts_or_none(values: Iterable[Any]) -> list[str | None]:
    """The trimmed text of each value; None where it is missing or empty.

    Examples
    --------
    >>> texts_or_none(["fr ", None, float("nan"), 3])
    ['fr', None, None, '3']
    """
    return list(_texts(values))


def _present(text: str | None, row: int, what: str) -> str:
    if text is None:
        raise _missing(what, row)
    return text


def _missing(what: str, row: int) -> InputError:
    return InputError(f"{what}: row {row} is missing or empty; every option needs one")


def _entries(values: Any, what: str, k: int) -> NDArray[Any] | list[Any]:
    """One value per option."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{what} must hold one value per option, not the single text {values!r}")
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim != 1:
            raise InputError(
                f"{what} must have one dimension, not the shape {array.shape}; use {what}.ravel()"
            )
        check_length(what, len(array), k)
        if np.ma.is_masked(values):
            return list(values)
        return array if array.dtype.kind not in "mM" else [_date(value) for value in array]
    try:
        entries = list(values)
    except TypeError:
        raise InputError(f"{what} must hold one value per option, not {values!r}") from None
    check_length(what, len(entries), k)
    return entries


def _date(value: Any) -> str | None:
    return None if np.isnat(value) else str(value)


def _coded(values: NDArray[Any] | list[Any]) -> tuple[list[str | None], NDArray[np.intp]]:
    """The texts of the distinct values, and each value's position among them."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufUS":
        # Two passes see two values, which is what is right; more are counted for the message.
        other = values != values[0]
        two = values[[0, int(np.argmax(other))]]
        if (values[other] == two[1]).all():
            return list(_texts(two)), other.astype(np.intp)
        found, codes = np.unique(values, return_inverse=True)
        return list(_texts(found)), codes
    one_kind = len(set(map(type, values))) == 1
    # By kind and value: True and 1 are equal, but not the same label.
    keys = values if one_kind else list(zip(map(type, values), values, strict=True))
    try:
        positions = {key: position for position, key in enumerate(dict.fromkeys(keys))}
    except TypeError:  # what has no hash, such as a list or a mask, may have a text
        return _coded(list(_texts(values)))
    codes = np.fromiter(map(positions.__getitem__, keys), np.intp, len(keys))
    return list(_texts(positions if one_kind else (value for _, value in positions))), codes


def _texts(values: Iterable[Any]) -> Iterable[str | None]:
    """The trimmed text of each value; None where it is missing or empty."""
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if isinstance(value, bytes):
            value = value.decode(errors="backslashreplace")  # noqa: PLW2901
        # NaN and NaT differ from themselves; pandas' NA has a name of its own
        missing = value is None or value is np.ma.masked or type(value).__name__ == "NAType"
        yield None if missing or value != value else text_of(value).strip() or None  # noqa: PLR0124


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
    chosen = unmasked(indices, "indices")
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
