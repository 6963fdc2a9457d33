"""The columns of a table of scores, read in blocks: names as codes, numbers as numbers.

Nothing is refused here: what is wrong is noted with its row, and `defects` puts it into words. So
all of a table is read once, and what is kept of it is twelve bytes a row or so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.scores.factor import Codes, Factor
from evenhand.scores.parts import Parts
from evenhand.tables.cells import (
    Missing,
    as_text,
    coded,
    coded_among,
    is_text,
    plain_numbers,
    read_numbers,
)
from evenhand.tables.dates import calendar_dates, is_moment, moments
from evenhand.tables.numerals import is_absent
from evenhand.tables.scan import ColumnScan, has_decimal_commas
from evenhand.tables.sources import Source

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Torn:
    """A name with two groups, and how many such names there are.

    Parameters
    ----------
    column, row
        The column of groups and the row where the second group stands.
    part, name, groups
        What it is, option or evaluator, its name and its two groups.
    count
        How many names have several.
    """

    column: str
    row: int
    part: str
    name: str
    groups: tuple[str, str]
    count: int


class Membership:
    """The group of each name, while rows arrive in blocks.

    Examples
    --------
    >>> codes = lambda *numbers: np.array(numbers, dtype=np.int32)
    >>> nations = Membership()
    >>> nations.add(codes(0, 1, 0), codes(0, 1, -1), np.arange(3), "nation")
    >>> nations.add(codes(2, 1), codes(1, 0), np.arange(3, 5), "nation")
    >>> nations.of(4)
    array([ 0,  1,  1, -1], dtype=int32)
    >>> nations.torn("option", ("Ann", "Bo", "Cy", "Di"), ("FRA", "ITA"))
    Torn(column='nation', row=4, part='option', name='Bo', groups=('ITA', 'FRA'), count=1)
    """

    def __init__(self) -> None:
        self._group: Codes = np.full(64, -1, dtype=np.int32)
        self._torn: set[int] = set()
        self._first: tuple[str, int, int, int] | None = None

    def add(self, names: Codes, groups: Codes, rows: NDArray[np.int64], column: str) -> None:
        """Take in one block of a column: names, their groups, and the rows where they stand."""
        known = (groups >= 0) & (names >= 0)
        names, groups, rows = names[known], groups[known], rows[known]
        while len(self._group) <= int(names.max(initial=-1)):
            self._group = np.append(self._group, np.full_like(self._group, -1))
        # Of several rows of a name the last to be written stays: written backwards, the first.
        fresh = self._group[names] < 0
        self._group[names[fresh][::-1]] = groups[fresh][::-1]
        odd = np.flatnonzero(self._group[names] != groups)
        self._torn.update(np.unique(names[odd]).tolist())
        if odd.size and self._first is None:
            place = odd[0]
            self._first = column, int(rows[place]), int(names[place]), int(groups[place])

    def of(self, n: int) -> Codes:
        """Return (n,) the group of each name, −1 for none."""
        found = np.full(n, -1, dtype=np.int32)
        found[: min(n, len(self._group))] = self._group[:n]
        return found

    def torn(self, part: str, names: Sequence[str], groups: Sequence[str]) -> Torn | None:
        """Return a name with two groups, if there is one."""
        if self._first is None:
            return None
        column, row, name, other = self._first
        both = groups[self._group[name]], groups[other]
        return Torn(column, row, part, names[name], both, len(self._torn))


class Pile:
    """Numbers that arrive in blocks, as one array.

    It grows where it is: a list of blocks, joined at the end, needs the memory twice.

    Examples
    --------
    >>> pile = Pile(np.dtype(np.int32))
    >>> pile.add(np.array([1, 2], dtype=np.int32))
    >>> pile.add(np.array([3], dtype=np.int32))
    >>> pile.all()
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._values = np.empty(0, dtype)
        self._n = 0

    def add(self, block: NDArray[Any]) -> None:
        """Take in one block."""
        needed = self._n + len(block)
        if needed > len(self._values):
            # nobody else has seen the array
            self._values.resize(max(needed, len(self._values) * 9 // 8), refcheck=False)
        self._values[self._n : needed] = block
        self._n = needed

    def all(self) -> NDArray[Any]:
        """Return all of them; nothing can be added then."""
        self._values.resize(self._n, refcheck=False)
        return self._values


class Numbers:
    """A column of numbers, while its cells arrive in blocks."""

    def __init__(self, name: str, decimal: str | None, is_time: bool) -> None:
        self.scan = ColumnScan(name, decimal=decimal or ".")
        self.scan.points.settled = decimal is not None  # then nobody doubts what points are
        self.kinds: dict[str, int] = {}  # numbers and dates, with the row of the first
        self._is_time = is_time

    def read(self, cells: pa.Array, start: int) -> tuple[Floats, Flags]:
        """Return a block's numbers, and where they are missing; note what is neither."""
        cells = _plain(cells)
        if self._is_time and (plain_numbers(cells) is None if is_text(cells.type) else True):
            days = moments(cells) if is_moment(cells.type) or is_text(cells.type) else None
            if days is not None:
                self.kinds.setdefault("dates", start)
                missing = np.isnan(days)
                self.scan.missing.note(missing, start)
                return days, missing
        if cells.null_count < len(cells):
            self.kinds.setdefault("numbers", start)
        missing = pc.is_null(cells).to_numpy(zero_copy_only=False)
        self.scan.add(cells, start, None)
        if self.scan.unsupported is not None:
            return np.full(len(cells), np.nan), missing
        return read_numbers(cells, self.scan.decimal), missing

    def finished(self, values: Floats) -> Floats:
        """Return all numbers, where they are times in days if they are dates."""
        days = calendar_dates(values) if self._is_time and "dates" not in self.kinds else None
        return values if days is None else days


@dataclass(frozen=True, eq=False)
class Columns:
    """What was read of a table.

    Parameters
    ----------
    names, numbers
        By column: its names, and its numbers (NaN where there is none).
    scans
        By column of numbers: what is in it, defects included.
    missing
        By column of names: how many cells are empty.
    groups
        Names of all groups.
    members
        By part (option, evaluator): the group of each name, where a column has them.
    torn
        Names with two groups.
    mixed
        The column of times if it has numbers and dates, with the rows of the first of each.
    n_rows
        How many rows the table has.
    rows
        (n,) the rows that were kept; None where all were.
    """

    names: Mapping[str, Factor]
    numbers: Mapping[str, Floats]
    scans: Mapping[str, ColumnScan]
    missing: Mapping[str, Missing]
    groups: tuple[str, ...]
    members: Mapping[str, Codes]
    torn: tuple[Torn, ...]
    mixed: Mapping[str, Mapping[str, int]]
    n_rows: int
    rows: NDArray[np.int64] | None

    def row(self, position: int) -> int:
        """Return the row of the table behind a row that was kept."""
        return position if self.rows is None else int(self.rows[position])


def read_columns(
    source: Source, parts: Parts, *, decimal: str | None = None, drop: Sequence[str] = ()
) -> Columns:
    """Read the columns of a table of scores.

    Parameters
    ----------
    source
        The table.
    parts
        Its columns by the parts that they play.
    decimal
        What stands before decimals in texts; None to find it out.
    drop
        Columns of which an empty cell takes its row out.

    Examples
    --------
    >>> from evenhand.tables.sources import Frame
    >>> table = Frame(pa.table({"who": ["Ann", "Bo", "Ann"], "mark": ["7", "n/a", "8"]}))
    >>> read = read_columns(table, Parts({"option": ("who",), "score": ("mark",)}), drop=["mark"])
    >>> read.names["who"], read.numbers["mark"], read.rows
    (Factor(codes=array([0, 0], dtype=int32), names=('Ann',)), array([7., 8.]), array([0, 2]))
    """
    found = _read(source, parts, decimal, drop)
    if decimal is None and source.commas_are_free and has_decimal_commas(found.scans.values()):
        return _read(source, parts, ",", drop)
    return found


def _read(source: Source, parts: Parts, decimal: str | None, drop: Sequence[str]) -> Columns:
    reading = _Reading(parts, decimal, drop)
    wanted = reading.wanted
    for block in source.blocks(wanted):
        reading.take(dict(zip(wanted, block, strict=True)), len(block[0]))
    return reading.columns()


class _Reading:
    """A table that is being read: what its blocks have brought so far."""

    def __init__(self, parts: Parts, decimal: str | None, drop: Sequence[str]) -> None:
        self._names: dict[str, dict[str, int]] = {column: {} for column in parts.names}
        rival, option = parts.one("rival"), parts.one("option")
        if rival is not None and option is not None:
            self._names[rival] = self._names[option]
        self._numbers = {c: Numbers(c, decimal, c == parts.one("time")) for c in parts.numbers}
        self._groupings = {  # a column of groups, of which names, and what these are
            group: (of, "evaluator" if part == "evaluator" else "option")
            for part in ("option", "rival", "evaluator")
            if (group := parts.one(f"{part}_group")) and (of := parts.one(part))
        }
        self._members = {part: Membership() for _, part in self._groupings.values()}
        self._of = {part: of for of, part in reversed(self._groupings.values())}
        self._groups: dict[str, int] = {}
        self._missing = {column: Missing() for column in self._names}
        self._drop = set(drop)
        self._codes = {column: Pile(np.dtype(np.int32)) for column in self._names}
        self._values = {column: Pile(np.dtype(np.float64)) for column in self._numbers}
        self._gone: list[NDArray[np.int64]] = []
        self._n_rows = 0

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return [*self._names, *self._numbers, *self._groupings]

    def take(self, cells: Mapping[str, pa.Array], n: int) -> None:
        """Take in one block of n rows."""
        start = self._n_rows
        self._n_rows += n
        rows = np.arange(start, start + n)
        read = {column: of.read(cells[column], start) for column, of in self._numbers.items()}
        gone = self._gone_of(cells, {column: missing for column, (_, missing) in read.items()}, n)
        if gone.any():
            self._gone.append(rows[gone])
            kept = pa.array(~gone)
            cells = {column: values.filter(kept) for column, values in cells.items()}
            read = {c: (values[~gone], missing[~gone]) for c, (values, missing) in read.items()}
            rows = rows[~gone]
        for column, (values, _) in read.items():
            self._values[column].add(values)
        codes = {c: coded_among(cells[c], numbers) for c, numbers in self._names.items()}
        for column, own in codes.items():
            empty = np.zeros(n, dtype=np.bool_)
            empty[~gone] = own < 0
            self._missing[column].note(empty, start)
            self._codes[column].add(own)
        for column, (of, part) in self._groupings.items():
            groups = coded_among(cells[column], self._groups)
            self._members[part].add(codes[of], groups, rows, column)

    def _gone_of(
        self, cells: Mapping[str, pa.Array], missing: Mapping[str, Flags], n: int
    ) -> Flags:
        """Return which rows of a block have an empty cell where none may be."""
        gone = np.zeros(n, dtype=np.bool_)
        for column in self._drop:
            if column in missing:
                gone |= missing[column]
            else:
                gone |= pc.is_null(as_text(cells[column])).to_numpy(zero_copy_only=False)
        return gone

    def columns(self) -> Columns:
        """Return all that was read."""
        factors = {
            column: Factor(self._codes[column].all(), tuple(numbers))
            for column, numbers in self._names.items()
        }
        numbers = {
            column: read.finished(self._values[column].all())
            for column, read in self._numbers.items()
        }
        groups = tuple(self._groups)
        torn = (
            member.torn(part, factors[self._of[part]].names, groups)
            for part, member in self._members.items()
        )
        return Columns(
            names=factors,
            numbers=numbers,
            scans={column: read.scan for column, read in self._numbers.items()},
            missing=self._missing,
            groups=groups,
            members={p: m.of(len(factors[self._of[p]])) for p, m in self._members.items()},
            torn=tuple(found for found in torn if found is not None),
            mixed={c: read.kinds for c, read in self._numbers.items() if len(read.kinds) > 1},
            n_rows=self._n_rows,
            rows=np.delete(np.arange(self._n_rows), np.concatenate(self._gone))
            if self._gone
            else None,
        )


def _plain(cells: pa.Array) -> pa.Array:
    """Return cells of a column of numbers; what says that there is none becomes null.

    Examples
    --------
    >>> _plain(pa.array(["7", " ", "n/a", "8"])).to_pylist()
    ['7', None, None, '8']
    >>> _plain(pa.array(["true", "False"])).to_pylist(), _plain(pa.array([1.0, np.nan])).to_pylist()
    ([1.0, 0.0], [1.0, None])
    """
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _plain(cells.dictionary_decode())
    if pa.types.is_boolean(kind):
        return cells.cast(pa.float64())
    if pa.types.is_floating(kind):
        lost = pc.is_nan(cells)
        return pc.if_else(lost, pa.scalar(None, kind), cells) if pc.any(lost).as_py() else cells
    if not is_text(kind):
        return cells
    cells = as_text(cells)
    numbers = plain_numbers(cells)
    if numbers is not None and np.count_nonzero(np.isnan(numbers)) == cells.null_count:
        return cells
    names, codes = coded(cells)
    lower = [name.casefold() for name in names]
    if names and set(lower) <= {"true", "false"}:
        truths = [float(name == "true") for name in lower]
        return pa.array(np.array([*truths, np.nan])[codes], from_pandas=True)
    absent = [name in ("nan", "") or is_absent(name) for name in lower]
    if not any(absent):
        return cells
    lost = pa.array(np.array([*absent, True])[codes])
    return pc.if_else(lost, pa.scalar(None, cells.type), cells)
