"""Names: what the options are called, names that stand more than once, names in messages.

Nothing here imports pyarrow: whoever brings options as arrays does not wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


class Names(Sequence[str]):
    """The names of the options: a sequence of texts that takes little memory until it is read.

    Options without names of their own are called "option 1", "option 2", and so on.

    Parameters
    ----------
    texts : tuple of str, or pyarrow text, optional
        The names given by the user; pyarrow text where they come from a table.
    numbers : (k,) ints or range, optional
        The numbers of the options where no names were given, counted from 1.

    Examples
    --------
    >>> names = Names(numbers=range(1, 1_000_001))
    >>> len(names), names[0], names[-1], names.index("option 7")
    (1000000, 'option 1', 'option 1000000', 6)
    >>> Names(("Ann", "Bo")) == ("Ann", "Bo")
    True
    """

    __slots__ = ("_numbers", "_texts")

    def __init__(
        self,
        texts: tuple[str, ...] | pa.ChunkedArray | None = None,
        numbers: NDArray[np.int64] | range = range(0),
    ) -> None:
        self._texts = texts
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers if self._texts is None else self._texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Names: ...
    def __getitem__(self, index: int | slice) -> str | Names:
        if isinstance(index, slice):
            if self._texts is None:
                return Names(numbers=self._numbers[index])
            return Names(self._texts[index])
        position = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= position < len(self):
            raise IndexError(f"there are {len(self)} names; index {index} is outside")
        if self._texts is None:
            return f"option {self._numbers[position]}"
        return str(self._texts[position])

    def __iter__(self) -> Iterator[str]:
        if self._texts is None:
            return (f"option {number}" for number in self._numbers)
        if isinstance(self._texts, tuple):
            return iter(self._texts)
        return (name for chunk in self._texts.iterchunks() for name in chunk.to_pylist())

    def __contains__(self, name: object) -> bool:
        return self._position(name) >= 0

    def index(self, name: object, start: int = 0, stop: int | None = None) -> int:
        """The position of a name; ValueError if it is not there."""
        position = self._position(name)
        if position not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"there is no option {name!r}")
        return position

    def _position(self, name: object) -> int:
        if not isinstance(name, str):
            return -1
        if isinstance(self._texts, tuple):
            return self._texts.index(name) if name in self._texts else -1
        if self._texts is not None:
            return int(self._texts.index(name).as_py())
        digits = name.removeprefix("option ")
        if not digits.isdecimal() or name != f"option {int(digits)}":
            return -1
        number = int(digits)
        if isinstance(self._numbers, range):
            return self._numbers.index(number) if number in self._numbers else -1
        found = np.flatnonzero(self._numbers == number)
        return int(found[0]) if found.size else -1

    def take(self, indices: NDArray[np.int64]) -> Names:
        """The names at these positions."""
        if isinstance(self._texts, tuple):
            return Names(tuple(self._texts[i] for i in indices.tolist()))
        if self._texts is not None:
            return Names(self._texts.take(indices))
        return Names(numbers=np.asarray(self._numbers)[indices])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and type(self._texts) is type(other._texts):
            if self._texts is None:
                return np.array_equal(self._numbers, other._numbers)
            return bool(self._texts == other._texts)
        if isinstance(other, (Names, tuple, list)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        # That of the tuple which it equals.
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Names], tuple[Any, Any]]:
        return Names, (self._texts, self._numbers)

    def __repr__(self) -> str:
        return f"Names({listed(list(self[:3]))}{f', … ({len(self)})' if len(self) > 3 else ''})"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes for a message, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a', … (3 in all)")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand more than once, of a few names, such as those of columns."""
    return [name for name, count in Counter(names).items() if count > 1]
