"""A column of names, as numbers: millions of rows, and every name once."""

from __future__ import annotations

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
    codes = columns[0]
    size = int(codes.max(initial=-1)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=-1)) + 1
        both = codes.astype(np.int64) * width + column
        found, codes = np.unique(both, return_inverse=True)
        codes, size = codes.reshape(-1).astype(np.int32), len(found)
    return codes, size
