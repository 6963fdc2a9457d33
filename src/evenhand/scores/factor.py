"""A column of names, as numbers: millions of rows, and every name once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats

Codes = NDArray[np.int32]
"""(n,) numbers of names, counted from 0; −1 where there is none."""

_CHUNK = 1 << 17  # rows looked at in one go


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
    """Return (n,) the number of each row's combination of names, and how many there are."""
    codes, size = columns[0], int(columns[0].max(initial=-1)) + 1
    for column in columns[1:]:
        if column is not codes:  # the same names twice tell nothing new
            codes, size = _crossed(codes, size, column, int(column.max(initial=-1)) + 1)
    return codes, size


def chunks(n: int, least: int = 0) -> Iterator[slice]:
    """Return n rows, a few at a time."""
    size = max(_CHUNK, least)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def sums_over(codes: Codes, size: int, *columns: Floats | NDArray[np.bool_]) -> Floats:
    """Return (size,) the sum over the rows of each code of the product of columns (of ones, without
    any), a few rows at a time.
    """
    total = np.zeros(size)
    for rows in chunks(len(codes), least=size):  # since each makes a sum for every code
        product = None
        for column in columns:
            product = column[rows] if product is None else product * column[rows]
        total += np.bincount(codes[rows], product, minlength=size)
    return total


def sums(codes: Codes, size: int, columns: Floats) -> Floats:
    """Return (size, r) the sums of columns over clusters."""
    return np.column_stack([sums_over(codes, size, column) for column in columns.T])


def taken_together(parts: Sequence[Factor]) -> Factor:
    """Return several columns of names as one, such as a competition and a programme as an event."""
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
    """Return the rows of a combination of names that comes again, and how many rows repeat one; or
    None.
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
            found, codes = np.unique(keys, return_inverse=True)
            keys, size = codes.reshape(-1), len(found)
        keys *= width
        keys += column
        size *= width
    return keys, size


def _crossed(first: Codes, n_first: int, second: Codes, n_second: int) -> tuple[Codes, int]:
    """Return combinations of two columns as numbers, in the order of both; how many there are.

    Names are few beside rows, so rows are dealt out to the second name and then to the first, and
    nothing is compared: time and memory grow with rows, and with nothing else.
    """
    order = _dealt(second, n_second)
    order = order[_dealt(first[order], n_first)]
    new = np.ones(len(first), dtype=np.bool_)
    dealt = first[order]
    new[1:] = dealt[1:] != dealt[:-1]
    dealt = second[order]
    new[1:] |= dealt[1:] != dealt[:-1]
    number = np.cumsum(new, dtype=np.int32)
    number -= 1
    codes = dealt  # its memory is used again
    codes[order] = number
    return codes, int(number[-1]) + 1 if len(number) else 0


def _dealt(codes: Codes, size: int) -> NDArray[np.int32]:
    """Return the rows by their codes, those with the same in the order in which they stand."""
    from scipy import sparse  # noqa: PLC0415 # names alone need none of it

    n = len(codes)
    lowest = int(codes.min(initial=0))  # −1 where there is no name
    ones, ends = np.ones(n, dtype=np.int8), np.arange(n + 1, dtype=np.int32)
    rows = sparse.csr_array((ones, codes - lowest if lowest else codes, ends), (n, size - lowest))
    return np.asarray(rows.tocsc().indices)
