"""A column of names, as numbers: millions of rows, and every name once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
"""(n,) numbers of names, counted from 0; −1 where there is none."""


@dataclass(frozen=True, eq=False)
class Factor:
    """Names, and which of them stands in each row.

    Parameters
    ----------
    codes
        (n,) the number of the name in each row; −1 for none.
    names
        The names, in the order in which they first come.

    Examples
    --------
    >>> column = Factor.of(["Ann", "Bo", "Ann"])
    >>> column.codes, column.names, len(column)
    (array([0, 1, 0], dtype=int32), ('Ann', 'Bo'), 2)
    """

    codes: Codes
    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: list[str] | tuple[str, ...]) -> Factor:
        """Return the factor of some texts."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(np.array(codes, dtype=np.int32), tuple(numbers))

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.names)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(names,) in how many rows each name stands."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self))


def crossed(*columns: Codes) -> tuple[Codes, int]:
    """Return (n,) the number of each row's combination of names, and how many there are.

    Examples
    --------
    >>> crossed(np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 0], dtype=np.int32))
    (array([0, 1, 2], dtype=int32), 3)
    """
    if len(columns) == 1:
        return columns[0], int(columns[0].max(initial=-1)) + 1
    return _renumbered(*_keys(columns))


def taken_together(parts: Sequence[Factor]) -> Factor:
    """Return several columns of names as one, such as a competition and a programme as an event.

    Examples
    --------
    >>> event = taken_together([Factor.of(["Nice", "Nice", "Oslo"]), Factor.of(["SP", "FS", "SP"])])
    >>> event.names
    ('Nice, SP', 'Nice, FS', 'Oslo, SP')
    """
    if len(parts) == 1:
        return parts[0]
    codes, n = crossed(*(part.codes for part in parts))
    first = np.full(n, len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = np.argsort(first)
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    columns = [[part.names[code] for code in part.codes[first[order]].tolist()] for part in parts]
    return Factor(number[codes], tuple(", ".join(texts) for texts in zip(*columns, strict=True)))


def first_repeated(*columns: Codes) -> tuple[NDArray[np.int64], int] | None:
    """Return the rows of a combination of names that comes again, and how many rows repeat one.

    None if no combination does.

    Examples
    --------
    >>> option, judge = Factor.of(["Ann", "Bo", "Ann"]), Factor.of(["P", "P", "P"])
    >>> first_repeated(option.codes, judge.codes)
    (array([0, 2]), 1)
    """
    keys, _ = _keys(columns)
    keys.sort()  # in place: of millions of rows, a copy is a lot
    again = keys[1:][keys[1:] == keys[:-1]]
    if not again.size:
        return None
    return np.flatnonzero(_keys(columns)[0] == again[0]), again.size


def _keys(columns: Sequence[Codes]) -> tuple[NDArray[np.int64], int]:
    """Return (n,) one number for each row's combination of names, and what all are below."""
    keys, size = columns[0].astype(np.int64), int(columns[0].max(initial=-1)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=-1)) + 1
        if size * width > np.iinfo(np.int64).max:
            compact, size = _renumbered(keys, size)
            keys = compact.astype(np.int64)
        keys *= width
        keys += column
        size *= width
    return keys, size


def _renumbered(keys: NDArray[np.int64], size: int) -> tuple[Codes, int]:
    """Return keys from 0 to size − 1 as numbers without gaps, in the same order; how many."""
    if size <= 4 * len(keys) + 1024:  # a table of all keys is smaller than what sorting needs
        present = np.zeros(size, dtype=np.bool_)
        present[keys] = True
        number = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return number[keys], int(np.count_nonzero(present))
    found, codes = np.unique(keys, return_inverse=True)
    return codes.reshape(-1).astype(np.int32), len(found)
