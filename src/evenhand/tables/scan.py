"""The scan: a first reading that learns what is in the columns of a table, defects included.

Nothing is refused here. What a defect means depends on the part that a column plays, so the scan
notes it with its row, and `complaints` puts it into words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.tables.cells import (
    Missing,
    as_text,
    coded,
    is_category,
    is_number,
    is_text,
    plain_numbers,
    recoded,
)
from evenhand.tables.groups import MAX_LEVELS
from evenhand.tables.numerals import (
    ONE_GROUP,
    is_absent,
    may_be_thousands,
    parsed,
    sorted_levels,
    written_elsewhere,
)
from evenhand.tables.sources import Source

# A spread of a few units in the last place of the largest value is rounding, not information.
ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass
class Moments:
    """Mean and spread of numbers that arrive in blocks (Chan's update about a shifted origin).

    Numbers are measured from the first one, so that 1e9 + small keeps the small.

    Examples
    --------
    >>> moments = Moments()
    >>> moments.add(np.array([1e9, 1e9 + 2]))
    >>> moments.add(np.array([1e9 + 4]))
    >>> moments.mean - 1e9, moments.deviation
    (2.0, 1.632993161855452)
    """

    count: int = 0
    origin: float = 0.0
    shifted_mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Take in one block of finite numbers."""
        if numbers.size == 0:
            return
        if self.count == 0:
            self.origin = float(numbers[0])
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = numbers - self.origin
            n, total = numbers.size, self.count + numbers.size
            mean = float(shifted.mean())
            shifted -= mean
            step = mean - self.shifted_mean
            self.squares += float(shifted @ shifted) + step * step * self.count * n / total
            self.shifted_mean += step * n / total
        self.count = total
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))

    @property
    def mean(self) -> float:
        """The mean of all numbers so far."""
        return self.origin + self.shifted_mean

    @property
    def deviation(self) -> float:
        """The standard deviation (of the numbers themselves, not of a sample: divided by n)."""
        return math.sqrt(self.squares / self.count)

    @property
    def constant(self) -> bool:
        """Whether the spread is no more than rounding."""
        return self.high - self.low <= ROUNDING * max(abs(self.low), abs(self.high))


@dataclass
class GroupTally:
    """How many options each group has, while their cells arrive in blocks.

    Examples
    --------
    >>> tally = GroupTally()
    >>> tally.add(pa.array(["home", "away", "home"]), start=0)
    array([0, 1, 0], dtype=int32)
    >>> tally.counts
    {'home': 2, 'away': 1}
    """

    counts: dict[str, int] = field(default_factory=dict)
    missing: Missing = field(default_factory=Missing)

    def add(self, cells: pa.Array, start: int) -> NDArray[np.int32]:
        """Take in one block; each row's group as its position in `counts` (−1 if it has none)."""
        names, codes = coded(cells)
        self.missing.note(codes < 0, start)
        # So many are refused in any case; counting on would fill the memory.
        if len(self.counts) <= MAX_LEVELS:
            sizes = np.bincount(codes[codes >= 0], minlength=len(names))
            for name, size in zip(names, sizes.tolist(), strict=True):
                self.counts[name] = self.counts.get(name, 0) + size
        return recoded(names, codes, list(self.counts))


@dataclass
class Points:
    """Whether the points in texts that are numbers may group thousands: 1.200 beside 800 does.

    They are decimal points as soon as one of them has not three digits after it, or a whole number
    of four digits does without.

    Examples
    --------
    >>> points = Points()
    >>> points.add(pa.array(["800", "1.200"]), np.array([800.0, 1.2]), rows=[0, 1])
    >>> points.doubtful
    (1, '1.200')
    >>> points.add(pa.array(["0.5"]), np.array([0.5]), rows=[2])
    >>> points.doubtful is None
    True
    """

    first: tuple[int, str] | None = None
    beside_whole_numbers: bool = False
    settled: bool = False

    @property
    def doubtful(self) -> tuple[int, str] | None:
        """The row and text of a number that may be a thousand times as large as it looks."""
        return self.first if self.beside_whole_numbers and not self.settled else None

    def add(
        self, cells: pa.Array, numbers: NDArray[np.float64], rows: Sequence[int] | NDArray[np.intp]
    ) -> None:
        """Take in texts that are all numbers or missing, the numbers, and the rows of both."""
        if self.settled:
            return
        pointed = pc.match_substring(cells, ".").fill_null(False)
        has_point = pointed.to_numpy(zero_copy_only=False)
        if has_point.any():
            place = int(np.argmax(has_point))
            self.first = self.first or (int(rows[place]), cells[place].as_py().strip())
            grouped = pc.match_substring_regex(cells.filter(pointed), ONE_GROUP)
            self.settled = not pc.all(grouped).as_py()
        whole = numbers[~has_point & np.isfinite(numbers)]
        self.beside_whole_numbers |= whole.size > 0
        self.settled |= bool((np.abs(whole) >= 1000).any())


@dataclass
class ColumnScan:
    """What the first reading learns about one column.

    Attributes
    ----------
    name : str
        The user's name of the column.
    categorical : bool
        Whether its numbers are categories too, by its type or by the user's word.
    unsupported : str or None
        The type of its cells, if they are neither numbers nor categories.
    missing : Missing
        The cells that are empty.
    decimal : str
        What stands before decimals, "." or ",".
    n_numbers, n_elsewhere, n_words, n_texts : int
        How many cells are numbers, how many are numbers in another notation, how many are words
        (neither, and not 'n/a' or the like), and how many are texts that are not numbers.
    first_text, first_infinite : (row, value) or None
        The first cell that is not a number, and the first number that is not finite.
    points : Points
        Whether points in its numbers may group thousands.
    sure_comma : bool
        Whether some cell is a number if its comma stands before decimals, and none if it groups
        thousands.
    moments : Moments
        Mean and spread of the finite numbers.
    counts_rows : bool
        Whether the numbers go up by one from row to row.
    group_values : dict or None
        The one number that all rows of a group hold, by group; None if they hold several.
    levels : dict
        The categories, each with the groups in which it occurs.
    levels_incomplete : bool
        Whether there were numbers that were not noted as categories.
    """

    name: str
    categorical: bool = False
    decimal: str = "."
    unsupported: str | None = None
    missing: Missing = field(default_factory=Missing)
    n_numbers: int = 0
    n_elsewhere: int = 0
    n_words: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] | None = None
    first_infinite: tuple[int, float] | None = None
    points: Points = field(default_factory=Points)
    sure_comma: bool = False
    moments: Moments = field(default_factory=Moments)
    counts_rows: bool = True
    group_values: dict[int, float] | None = field(default_factory=dict)
    levels: dict[str, set[int]] = field(default_factory=dict)
    levels_incomplete: bool = False

    def add(self, cells: pa.Array, start: int, groups: NDArray[np.int32] | None) -> None:
        """Take in the cells of one block.

        Parameters
        ----------
        cells : pyarrow array
            The column's cells in this block.
        start : int
            The row of the first of them.
        groups : (n,) ints or None
            The group of each row, 0 or 1 (−1 where it has none); None unless there are two groups.
        """
        kind = cells.type
        self.categorical |= is_category(kind)
        if self.categorical or pa.types.is_null(kind):
            self._add_categories(*coded(cells), start, groups)
        elif not (is_number(kind) or is_text(kind)):
            self.unsupported = str(kind)
        elif (numbers := plain_numbers(cells, self.decimal)) is not None:
            # These are not kept as categories: millions of them differ. Should the column turn out
            # to be categorical after all, it is scanned once more.
            self.levels_incomplete = True
            present = pc.is_valid(cells).to_numpy(zero_copy_only=False)
            self.missing.note(~present, start)
            if is_text(kind):
                self.points.add(cells, numbers, range(start, start + len(cells)))
            self._add_numbers(numbers, present, start, groups)
        else:
            self._add_texts(*coded(cells), start, groups)

    def _add_texts(
        self,
        names: Sequence[str],
        codes: NDArray[np.int32],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        """Take in texts, of which some may be numbers."""
        values, fits = parsed(names, self.decimal)
        # The last entry answers for the code −1.
        numbers = np.append(values, np.nan)[codes]
        numeric = np.append(fits, False)[codes]
        odd = np.flatnonzero((codes >= 0) & ~numeric)
        if odd.size and self.first_text is None:
            self.first_text = (start + int(odd[0]), names[codes[odd[0]]])
        self.n_texts += odd.size
        self._note_notations(names, values, fits, codes, start)
        self._add_categories(names, codes, start, groups)
        self._add_numbers(numbers, numeric, start, groups)

    def _note_notations(
        self,
        names: Sequence[str],
        values: NDArray[np.float64],
        fits: NDArray[np.bool_],
        codes: NDArray[np.int32],
        start: int,
    ) -> None:
        """Note what the texts are that are not numbers, and what the points in the numbers are."""
        sizes = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
        for name, fit, size in zip(names, fits.tolist(), sizes, strict=True):
            if fit or is_absent(name):
                continue
            if not written_elsewhere(name):
                self.n_words += size
                continue
            self.n_elsewhere += size
            self.sure_comma |= bool(parsed([name], ",")[1][0]) and not may_be_thousands(name)
        if fits.any() and not self.points.settled:
            known, first = np.unique(codes, return_index=True)
            rows = start + first[known >= 0]  # codes are all the numbers from 0, and -1 if any
            self.points.add(pa.array(names, pa.string()).filter(fits), values[fits], rows[fits])

    def _add_numbers(
        self,
        numbers: NDArray[np.float64],
        which: NDArray[np.bool_],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        self.n_numbers += int(np.count_nonzero(which))
        finite = np.isfinite(numbers)
        infinite = which & ~finite
        if self.first_infinite is None and infinite.any():
            row = int(np.argmax(infinite))
            self.first_infinite = (start + row, float(numbers[row]))
        kept = which & finite
        if not kept.all():
            numbers, groups = numbers[kept], None if groups is None else groups[kept]
        if self.counts_rows:
            first = self.moments.origin if self.moments.count else numbers[:1]
            rows = np.arange(start, start + len(numbers))
            self.counts_rows = np.array_equal(numbers, first + rows)
        self.moments.add(numbers)
        if groups is not None and self.group_values is not None:
            self._compare_with_groups(numbers, groups, self.group_values)

    def _compare_with_groups(
        self, numbers: NDArray[np.float64], groups: NDArray[np.int32], values: dict[int, float]
    ) -> None:
        for group in (0, 1):
            own = numbers[groups == group]
            if own.size == 0:
                continue
            known = values.setdefault(group, float(own[0]))
            tolerance = ROUNDING * max(abs(known), float(np.abs(own).max()))
            if float(np.abs(own - known).max()) > tolerance:
                self.group_values = None

    def _add_categories(
        self,
        names: Sequence[str],
        codes: NDArray[np.int32],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        self.missing.note(codes < 0, start)
        if len(self.levels) > MAX_LEVELS:
            return
        occurs = np.zeros((len(names), 2), dtype=np.bool_)
        if groups is not None:
            kept = (codes >= 0) & (groups >= 0)
            occurs[codes[kept], groups[kept]] = True
        for name, seen in zip(names, occurs, strict=True):
            self.levels.setdefault(name, set()).update(np.flatnonzero(seen).tolist())

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories: words that numbers do not outnumber.

        Numbers in another notation are numbers, and 'n/a' is no word.
        """
        n_numbers = self.n_numbers + self.n_elsewhere
        return self.categorical or self.n_words > n_numbers or (self.n_texts > n_numbers == 0)

    @property
    def sorted_levels(self) -> list[str]:
        """The categories in their order."""
        return sorted_levels(list(self.levels))


@dataclass
class Scan:
    """What the first reading learns about a table."""

    columns: dict[str, ColumnScan]
    n_rows: int = 0
    groups: GroupTally = field(default_factory=GroupTally)
    labels: pa.ChunkedArray | None = None
    unlabelled: Missing = field(default_factory=Missing)


def has_decimal_commas(columns: Iterable[ColumnScan]) -> bool:
    """Whether commas stand before decimals: some can mean nothing else, and no point does."""
    numbers = [column for column in columns if not column.is_category]
    return any(column.sure_comma for column in numbers) and not any(
        column.points.first for column in numbers
    )


def scan(
    source: Source,
    columns: Sequence[str],
    categorical: Sequence[str],
    group: str | None = None,
    label: str | None = None,
    decimal: str = ".",
) -> Scan:
    """Read a table once and note what is in it, defects included.

    Parameters
    ----------
    source : Source
        The table.
    columns : sequence of str
        The columns that become features or attributes.
    categorical : sequence of str
        Those among them that are categories even if they look like numbers.
    group, label : str, optional
        The columns with the groups and the names of the options.
    decimal : str
        What stands before decimals in texts, "." or ",".

    Examples
    --------
    >>> from evenhand.tables.sources import Frame
    >>> table = Frame(pa.table({"age": [31, 45], "town": ["Ulm", "Bonn"]}))
    >>> found = scan(table, ["age", "town"], categorical=[])
    >>> found.columns["age"].moments.mean, found.columns["town"].sorted_levels
    (38.0, ['Bonn', 'Ulm'])
    """
    found = Scan({name: ColumnScan(name, name in categorical, decimal) for name in columns})
    wanted = [*columns, *(column for column in (group, label) if column is not None)]
    labels: list[pa.Array] = []
    for block in source.blocks(wanted):
        cells = dict(zip(wanted, block, strict=True))
        start = found.n_rows
        groups = None
        if group is not None:
            groups = found.groups.add(cells[group], start)
            if len(found.groups.counts) > 2:
                groups = None
        if label is not None:
            texts = as_text(cells[label])
            found.unlabelled.note(pc.is_null(texts).to_numpy(zero_copy_only=False), start)
            labels.append(texts)
        for name, column in found.columns.items():
            column.add(cells[name], start, groups)
        found.n_rows += len(block[0])
    if label is not None:
        found.labels = pa.chunked_array(labels, pa.string())
    again = [
        name
        for name, column in found.columns.items()
        if column.is_category and column.levels_incomplete
    ]
    if again:
        found.columns |= scan(source, again, again, group).columns
    return found
