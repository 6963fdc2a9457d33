"""Cells of one column, as Arrow arrays: as texts, categories, numbers or dates; what is in them.

A category is a *code*, the position of the cell's text in a list of names; −1 where there is none.
So a list that ends with an entry for 'none' can be indexed with codes. Dates and times are read as
what they are, and as what a spreadsheet made of them.

Nothing is refused here. What a defect means depends on the part that a column plays, so the scan
notes it with its row, and `columns` puts it into words.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.tables.texts import is_absent, may_be_thousands, parsed, text_of, written_elsewhere

# Days since 1899-12-30, as spreadsheets count them: from 1982 to 2064.
_SERIALS = 30_000, 60_000
_SERIAL_ZERO = date(1899, 12, 30)
_SMALL = 1_000  # scores of this size have no business beside such days


def as_text(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Cells as trimmed text; what is missing or empty becomes null."""
    if isinstance(cells, pa.ChunkedArray):
        return as_text(cells.combine_chunks())
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return as_text(cells.dictionary_decode())
    if pa.types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if pa.types.is_floating(kind):
        encoded = cells.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        names = [None if math.isnan(value) else text_of(value) for value in values]
        return pa.array(names, pa.string()).take(encoded.indices)
    try:
        texts = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"cells of type {kind} cannot be read as text; convert the column"
        ) from None
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def coded(cells: pa.Array | pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct texts of some cells, and each cell's code among them (−1 where it is empty)."""
    numbers: dict[str, int] = {}
    codes = coded_among(cells, numbers)
    return list(numbers), codes


def coded_among(cells: pa.Array | pa.ChunkedArray, numbers: dict[str, int]) -> NDArray[np.int32]:
    """Each cell's code among names (−1 where it is empty); names that are new are added."""
    if isinstance(cells, pa.ChunkedArray):
        codes: NDArray[np.int32] = np.empty(len(cells), dtype=np.int32)
        start = 0
        for piece in cells.iterchunks():
            codes[start : start + len(piece)] = coded_among(piece, numbers)
            start += len(piece)
        return codes
    if pa.types.is_null(cells.type) or pa.types.is_nested(cells.type):
        cells = as_text(cells)
    encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    # Only the distinct values are turned into text: of millions of cells they are few. A dictionary
    # may list what no cell holds, and the same text twice.
    texts = as_text(encoded.dictionary).to_pylist()
    renumbered = np.full(len(texts) + 1, -1, dtype=np.int32)
    for place in pc.unique(encoded.indices).drop_null().to_pylist():
        if texts[place] is not None:
            renumbered[place] = numbers.setdefault(texts[place], len(numbers))
    indices = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    codes = renumbered[indices]
    return codes


def recoded(
    names: Sequence[str], codes: NDArray[np.int32], levels: Sequence[str]
) -> NDArray[np.int32]:
    """Codes among some names as codes among other names (−1 where a name is none of those)."""
    positions = {level: position for position, level in enumerate(levels)}
    return np.array([*(positions.get(name, -1) for name in names), -1], dtype=np.int32)[codes]


def plain_numbers(cells: pa.Array) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN where one is missing; None if one of them is not plainly a number."""
    try:
        numbers: NDArray[np.float64] = cells.cast(pa.float64(), safe=False).to_numpy(
            zero_copy_only=False
        )
    except pa.ArrowInvalid:
        return None
    return numbers


@dataclass(frozen=True)
class Missing:
    """How many cells of a column are missing, and the rows of the first and a few others."""

    count: int = 0
    first: int = -1
    also: tuple[int, ...] = ()

    @classmethod
    def of(cls, missing: NDArray[np.bool_]) -> Missing:
        """Return them, of (n,) which cells are."""
        count = int(np.count_nonzero(missing))
        if not count:
            return cls()
        rows = np.flatnonzero(missing)[: FEW + 1].tolist()
        return cls(count, rows[0], tuple(rows[1:]))


FEW = 5
"""Rows that are kept of those with the same defect, beside the first."""


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_moment(kind: pa.DataType) -> bool:
    """Whether cells of this type are dates, times or durations."""
    return bool(pa.types.is_temporal(kind))


def calendar_dates(numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Numbers such as 20160105 as days since 1970; None unless all of them are dates."""
    if not numbers.size or not (numbers.min() >= 19_000_101 and numbers.max() <= 20_991_231):
        return None
    if not np.array_equal(numbers, np.floor(numbers)):
        return None
    values, codes = np.unique(numbers.astype(np.int64), return_inverse=True)
    texts = [f"{n // 10_000}-{n // 100 % 100:02}-{n % 100:02}" for n in values.tolist()]
    try:
        return np.array(texts, "datetime64[D]").astype(np.float64)[codes]
    except ValueError:  # February 30
        return None


def day_among(numbers: NDArray[np.float64]) -> tuple[int, date] | None:
    """The row and date of a number that looks like a day: 20160105, or a spreadsheet's count."""
    if (all_days := calendar_dates(numbers)) is not None:
        return 0, date(1970, 1, 1) + timedelta(days=int(all_days[0]))
    low, high = _SERIALS
    if not numbers.size or not numbers.max() >= low:
        return None
    days = (low <= numbers) & (numbers <= high) & (numbers == np.floor(numbers))
    others = np.abs(numbers[~days])
    suspect = others.max() < _SMALL if others.size else bool((numbers % 10 != 0).any())
    if not days.any() or not suspect:
        return None
    row = int(np.argmax(days))
    return row, _SERIAL_ZERO + timedelta(days=int(numbers[row]))


def moments(cells: pa.Array) -> NDArray[np.float64] | None:
    """Dates, also as texts in ISO 8601, as days since 1970, NaN where empty; else None."""
    kind = cells.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return None
    for unit in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            since = cells.cast(unit, safe=False).cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        days: NDArray[np.float64] = pc.cast(since, pa.float64()).to_numpy(zero_copy_only=False)
        return days / 86_400e6
    return None


Codes = NDArray[np.int32]


Place = tuple[int, str]
"""A row, and what stands there."""


@dataclass
class ColumnScan:
    """What is in one column: numbers, in some notation, words, and neither."""

    name: str
    decimal: str | None = None  # what stands before decimals, "." or ","; None: nobody said
    # whether it holds categories: more words than numbers in any notation
    is_category: bool = False
    # the type of its cells, if they are neither numbers nor categories
    unsupported: str | None = None
    missing: Missing = Missing()  # a tuple
    n_numbers: int = 0
    n_texts: int = 0  # not numbers
    first_text: Place | None = None  # that is not a number
    texts_at: tuple[int, ...] = ()  # rows of some others
    first_infinite: tuple[int, float] | None = None  # row, and number that is not finite
    has_point: bool = False  # in some number
    doubtful: Place | None = None  # number whose point may group thousands
    # whether some cell is a number if its comma stands before decimals, and none otherwise
    sure_comma: bool = False
    values: Floats | None = None  # (n,) NaN where a cell is no number

    def take(self, numbers: Floats, which: NDArray[np.bool_]) -> None:
        """Take note of numbers, and which cells are some."""
        self.values, self.n_numbers = numbers, int(np.count_nonzero(which))
        infinite = which & ~np.isfinite(numbers)
        if infinite.any():
            row = int(np.argmax(infinite))
            self.first_infinite = row, float(numbers[row])

    def take_texts(self, names: Sequence[str], codes: Codes) -> None:
        """Take note of texts, of which some may be numbers."""
        values, fits = parsed(names, self.decimal or ".")
        self.missing = Missing.of(codes < 0)
        numeric = np.append(fits, False)[codes]  # the last entry answers for the code −1
        self.take(np.append(values, np.nan)[codes], numeric)
        odd = np.flatnonzero((codes >= 0) & ~numeric)
        if odd.size:
            self.first_text = int(odd[0]), names[codes[odd[0]]]
            self.texts_at = tuple(odd[1 : FEW + 1].tolist())
        self.n_texts, n_words, n_numbers = odd.size, 0, self.n_numbers
        sizes = np.bincount(codes[codes >= 0], minlength=len(names))
        for at in np.flatnonzero(~fits).tolist():
            if written_elsewhere(name := names[at]):
                n_numbers += sizes[at]
                self.sure_comma |= bool(parsed([name], ",")[1][0]) and not may_be_thousands(name)
            elif not is_absent(name):
                n_words += sizes[at]
        self.is_category = bool(n_words > n_numbers or odd.size > n_numbers == 0)
        pointed = fits & np.array(["." in name for name in names], dtype=np.bool_)
        self.has_point = bool(pointed.any())
        # 1.200 beside 800, where no point has other than three digits after it and no 4-digit
        # number does without
        whole = np.abs(values[fits & ~pointed & np.isfinite(values)])
        if self.has_point and self.decimal is None and whole.size and whole.max() < 1000:
            row = int(np.argmax(np.append(pointed, False)[codes]))
            if all(may_be_thousands(names[at]) for at in np.flatnonzero(pointed).tolist()):
                self.doubtful = row, names[codes[row]]


def scanned(
    name: str, cells: pa.Array, *, categorical: bool = False, decimal: str | None = None
) -> ColumnScan:
    """Look at a column and note what is in it; numbers have points if nobody says otherwise."""
    kind, found = cells.type, ColumnScan(name, decimal)
    found.is_category = categorical or pa.types.is_boolean(kind) or pa.types.is_dictionary(kind)
    if found.is_category or pa.types.is_null(kind):
        found.missing = Missing.of(coded(cells)[1] < 0)
    elif is_text(kind):
        found.take_texts(*coded(cells))
    elif (numbers := plain_numbers(cells) if is_number(kind) else None) is not None:
        present = pc.is_valid(cells).to_numpy(zero_copy_only=False)
        found.missing = Missing.of(~present)
        found.take(numbers, present)
    else:
        found.unsupported = str(kind)
    return found


def scanned_together(
    cells: Mapping[str, pa.Array],
    *,
    commas: bool,
    decimal: str | None = None,
    categorical: Collection[str] = (),
) -> dict[str, ColumnScan]:
    """Look at columns with one decimal mark: a comma if it may be, and one can be nothing else."""
    found = {c: scanned(c, own, categorical=c in categorical, decimal=decimal)
             for c, own in cells.items()}  # fmt: skip
    numbers = [column for column in found.values() if not column.is_category]
    sure = any(one.sure_comma for one in numbers) and not any(one.has_point for one in numbers)
    if decimal is None and commas and sure:
        return scanned_together(cells, commas=False, decimal=",", categorical=categorical)
    return found
