"""The scan: what is in the columns of a table, defects included.

Nothing is refused here. What a defect means depends on the part that a column plays, so the scan
notes it with its row, and `columns` puts it into words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.tables.cells import Missing, coded, is_category, is_number, is_text, plain_numbers
from evenhand.tables.groups import MAX_LEVELS
from evenhand.tables.numerals import (
    ONE_GROUP,
    is_absent,
    may_be_thousands,
    parsed,
    sorted_levels,
    written_elsewhere,
)

# A spread of a few units in the last place of the largest value is rounding, not information.
ROUNDING = 8 * float(np.finfo(float).eps)

Flags = NDArray[np.bool_]
Codes = NDArray[np.int32]


class Moments(NamedTuple):
    """Mean and spread of finite numbers, measured from the first, so that 1e9 + small keeps it."""

    mean: float = 0.0
    deviation: float = math.nan
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, numbers: Floats) -> Moments:
        """Return those of some numbers; the deviation is of the numbers, divided by n."""
        if not numbers.size:
            return cls()
        origin = float(numbers[0])
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = numbers - origin
            mean = float(shifted.mean())
            shifted -= mean
            squares = float(shifted @ shifted)
        deviation = math.sqrt(squares / numbers.size)
        return cls(origin + mean, deviation, float(numbers.min()), float(numbers.max()))

    @property
    def constant(self) -> bool:
        """Whether the spread is no more than rounding."""
        return self.high - self.low <= ROUNDING * max(abs(self.low), abs(self.high))


class Points(NamedTuple):
    """The first number with a point, and the first whose point may group thousands: 1.200 beside
    800, where no point has other than three digits after it and no 4-digit number does without.
    """

    first: tuple[int, str] | None = None
    doubtful: tuple[int, str] | None = None

    @classmethod
    def of(cls, cells: pa.Array, numbers: Floats, rows: Sequence[int] | NDArray[np.intp]) -> Points:
        """Return them, of texts that are all numbers or missing, the numbers, and their rows."""
        pointed = pc.match_substring(cells, ".").fill_null(False)
        has_point = pointed.to_numpy(zero_copy_only=False)
        if not has_point.any():
            return cls()
        place = int(np.argmax(has_point))
        first = int(rows[place]), cells[place].as_py().strip()
        whole = numbers[~has_point & np.isfinite(numbers)]
        doubtful = whole.size > 0 and not (np.abs(whole) >= 1000).any()
        for n in (1000, len(cells)):  # a few settle it, mostly
            some = cells.slice(0, n).filter(pointed.slice(0, n))
            doubtful = doubtful and pc.all(pc.match_substring_regex(some, ONE_GROUP)).as_py()
        return cls(first, first if doubtful else None)


@dataclass
class ColumnScan:
    """What is in one column."""

    name: str
    # whether its numbers are categories too, by its type or by the user's word
    categorical: bool = False
    decimal: str = "."  # what stands before decimals, "." or ","
    # the type of its cells, if they are neither numbers nor categories
    unsupported: str | None = None
    missing: Missing = Missing()  # noqa: RUF009 # a tuple
    n_numbers: int = 0
    n_elsewhere: int = 0  # numbers in another notation
    n_words: int = 0  # neither numbers in some notation nor 'n/a' or the like
    n_texts: int = 0  # not numbers
    first_text: tuple[int, str] | None = None  # row, and value that is not a number
    first_infinite: tuple[int, float] | None = None  # row, and number that is not finite
    # whether these may group thousands
    points: Points = Points()  # noqa: RUF009 # a tuple
    # whether some cell is a number if its comma stands before decimals, and none otherwise
    sure_comma: bool = False
    # of the finite numbers
    moments: Moments = Moments()  # noqa: RUF009 # a tuple
    values: Floats | None = None  # (n,) NaN where a cell is no number; only if they were to be kept
    counts_rows: bool = True  # whether the numbers go up by one from row to row
    # the one number that all rows of a group hold, by group; None if they hold several
    group_values: dict[int, float] | None = field(default_factory=dict)
    # the categories, each with the groups in which it occurs
    levels: dict[str, set[int]] = field(default_factory=dict)

    @property
    def is_category(self) -> bool:
        """Whether it holds categories: words, not 'n/a', that numbers in any notation do not
        outnumber.
        """
        n_numbers = self.n_numbers + self.n_elsewhere
        return self.categorical or self.n_words > n_numbers or (self.n_texts > n_numbers == 0)

    @property
    def sorted_levels(self) -> list[str]:
        """The categories in their order."""
        return sorted_levels(list(self.levels))


def scanned(
    name: str,
    cells: pa.Array,
    *,
    categorical: bool = False,
    decimal: str = ".",
    groups: Codes | None = None,
    keep: bool = False,
) -> ColumnScan:
    """Look at a column and note what is in it."""
    kind = cells.type
    found = ColumnScan(name, categorical or is_category(kind), decimal)
    if found.categorical or pa.types.is_null(kind):
        _note_categories(found, *coded(cells), groups)
    elif not (is_number(kind) or is_text(kind)):
        found.unsupported = str(kind)
    elif (numbers := plain_numbers(cells, decimal)) is not None:
        present = pc.is_valid(cells).to_numpy(zero_copy_only=False)
        found.missing = Missing.of(~present)
        if is_text(kind):
            found.points = Points.of(cells, numbers, range(len(cells)))
        _note_numbers(found, numbers, present, groups)
    else:
        _note_texts(found, *coded(cells), groups)
    if not keep:
        found.values = None
    return found


def _note_texts(
    found: ColumnScan, names: Sequence[str], codes: Codes, groups: Codes | None
) -> None:
    """Note texts, of which some may be numbers."""
    values, fits = parsed(names, found.decimal)
    # The last entry answers for the code −1.
    numbers = np.append(values, np.nan)[codes]
    numeric = np.append(fits, False)[codes]
    odd = np.flatnonzero((codes >= 0) & ~numeric)
    if odd.size:
        found.first_text = int(odd[0]), names[codes[odd[0]]]
    found.n_texts = odd.size
    sizes = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    for name, fit, size in zip(names, fits.tolist(), sizes, strict=True):
        if fit or is_absent(name):
            continue
        if not written_elsewhere(name):
            found.n_words += size
            continue
        found.n_elsewhere += size
        found.sure_comma |= bool(parsed([name], ",")[1][0]) and not may_be_thousands(name)
    if fits.any():
        known, first = np.unique(codes, return_index=True)
        rows = first[known >= 0]  # codes are all the numbers from 0, and -1 if any
        found.points = Points.of(
            pa.array(names, pa.string()).filter(fits), values[fits], rows[fits]
        )
    _note_categories(found, names, codes, groups)
    _note_numbers(found, numbers, numeric, groups)


def _note_numbers(found: ColumnScan, numbers: Floats, which: Flags, groups: Codes | None) -> None:
    found.values = numbers
    found.n_numbers = int(np.count_nonzero(which))
    finite = np.isfinite(numbers)
    infinite = which & ~finite
    if infinite.any():
        row = int(np.argmax(infinite))
        found.first_infinite = row, float(numbers[row])
    kept = which & finite
    if not kept.all():
        numbers, groups = numbers[kept], None if groups is None else groups[kept]
    found.counts_rows = all(  # a few say no, mostly
        np.array_equal(numbers[:n], numbers[:1] + np.arange(min(n, len(numbers))))
        for n in (100, len(numbers))
    )
    found.moments = Moments.of(numbers)
    for group in (0, 1) if groups is not None else ():
        own = numbers[groups == group]
        if not own.size or found.group_values is None:
            continue
        known = float(own[0])
        found.group_values[group] = known
        if float(np.abs(own - known).max()) > ROUNDING * max(abs(known), float(np.abs(own).max())):
            found.group_values = None


def _note_categories(
    found: ColumnScan, names: Sequence[str], codes: Codes, groups: Codes | None
) -> None:
    found.missing = Missing.of(codes < 0)
    occurs = np.zeros((len(names), 2), dtype=np.bool_)
    if groups is not None:
        kept = (codes >= 0) & (groups >= 0)
        occurs[codes[kept], groups[kept]] = True
    # so many are refused in any case
    few = zip(names[: MAX_LEVELS + 1], occurs, strict=False)
    found.levels = {name: set(np.flatnonzero(seen).tolist()) for name, seen in few}


def has_decimal_commas(columns: Iterable[ColumnScan]) -> bool:
    """Whether commas stand before decimals: some can mean nothing else, and no point does."""
    numbers = [column for column in columns if not column.is_category]
    return any(column.sure_comma for column in numbers) and not any(
        column.points.first for column in numbers
    )


@dataclass
class Scan:
    """What is in a table of options: its columns, groups and names."""

    columns: Mapping[str, ColumnScan]
    n_rows: int
    group_counts: Mapping[str, int] = field(default_factory=dict)
    groupless: Missing = Missing()  # noqa: RUF009 # a tuple
