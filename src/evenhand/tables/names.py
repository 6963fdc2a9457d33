"""Names: what the options are called, names that stand more than once, names in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Below this many names memory is of no concern.
SMALL_TABLE = 1 << 20


class Names(Sequence[str]):
    """The names of the options: a sequence of texts that takes little memory until it is read.

    Options without names of their own are called "option 1", "option 2", and so on.

    Parameters
    ----------
    texts : pyarrow text, optional
        The names given by the user.
    numbers : (k,) ints or range, optional
        The numbers of the options where no names were given, counted from 1.

    Examples
    --------
    >>> names = Names(numbers=range(1, 1_000_001))
    >>> len(names), names[0], names[-1], names.index("option 7")
    (1000000, 'option 1', 'option 1000000', 6)
    >>> Names(pa.chunked_array([["Ann", "Bo"]])) == ("Ann", "Bo")
    True
    """

    __slots__ = ("_numbers", "_texts")

    def __init__(
        self,
        texts: pa.ChunkedArray | None = None,
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
        return str(self._texts[position].as_py())

    def __iter__(self) -> Iterator[str]:
        if self._texts is None:
            return (f"option {number}" for number in self._numbers)
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
        if self._texts is not None:
            return int(pc.index(self._texts, name).as_py())
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
        if self._texts is not None:
            return Names(self._texts.take(pa.array(indices)))
        return Names(numbers=np.asarray(self._numbers)[indices])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and self._texts is not None and other._texts is not None:
            return bool(self._texts.equals(other._texts))
        if isinstance(other, Names) and self._texts is None and other._texts is None:
            return np.array_equal(self._numbers, other._numbers)
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
    """The names that stand more than once, of a few names, such as those of columns.

    Examples
    --------
    >>> repeated(["age", "town", "age"])
    ['age']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def repeated_name(names: pa.ChunkedArray) -> tuple[str, list[int]] | None:
    """A name that stands in several rows, of millions, with its rows; None if all are distinct.

    Examples
    --------
    >>> repeated_name(pa.chunked_array([["Ann", "Bo"], ["Ann"]]))
    ('Ann', [0, 2])
    """
    # Names that end differently differ: sorted by their last byte, a table of all names, several
    # times as large as the names, is never needed at once.
    parts = 1 if len(names) < SMALL_TABLE else 16
    endings = pa.chunked_array([_last_bytes(chunk) % parts for chunk in names.iterchunks()])
    for ending in range(parts):
        part = names.filter(pc.equal(endings, ending))
        if pc.count_distinct(part, mode="all").as_py() == len(part):
            continue
        counts = pc.value_counts(part)
        name = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0].as_py()
        return name, np.flatnonzero(pc.equal(names, name).to_numpy()).tolist()
    return None


def _last_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    """The last byte of each text; the texts are not empty."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset + 1 :][: len(texts)]
    return np.frombuffer(data, dtype=np.uint8)[ends - 1]
