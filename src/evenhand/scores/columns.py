"""The columns of a table of scores: names as codes, numbers as numbers.

Nothing is refused here: what is wrong is noted with its row, and `defects` puts it into words. What
is kept of a table is twelve bytes a row or so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.scores.factor import Codes, Factor, chunks
from evenhand.scores.grades import WORDS
from evenhand.scores.parts import Parts
from evenhand.tables.cells import (
    Missing,
    as_text,
    calendar_dates,
    coded,
    coded_among,
    give_back,
    is_moment,
    is_text,
    moments,
    plain_numbers,
)
from evenhand.tables.numerals import is_absent
from evenhand.tables.scan import ColumnScan, Points, has_decimal_commas, scanned
from evenhand.tables.sources import Table


@dataclass(frozen=True)
class Torn:
    """A name with two groups, and how many such names there are."""

    column: str
    row: int
    part: str
    name: str
    groups: tuple[str, str]
    count: int


@dataclass(frozen=True, eq=False)
class Columns:
    """What was read of a table."""

    names: Mapping[str, Factor]  # by column
    numbers: Mapping[str, Floats]  # by column, NaN where there is none
    scans: Mapping[str, ColumnScan]  # by column of numbers: what is in it, defects included
    missing: Mapping[str, Missing]  # by column of names: how many cells are empty
    groups: tuple[str, ...]  # names of all groups
    # by part (option, evaluator): the group of each name, where a column has them
    members: Mapping[str, Codes]
    torn: tuple[Torn, ...]  # names with two groups
    n_rows: int  # of the table
    rows: NDArray[np.int64] | None  # (n,) those that were kept; None where all were

    def row(self, position: int) -> int:
        """Return the row of the table behind a row that was kept."""
        return position if self.rows is None else int(self.rows[position])


def read_columns(
    source: Table, parts: Parts, *, decimal: str | None = None, drop: Sequence[str] = ()
) -> Columns:
    """Read the columns of a table of scores."""
    groupings = {  # a column of groups, of which names, and what these are
        group: (of, "evaluator" if part == "evaluator" else "option")
        for part in ("option", "rival", "evaluator")
        if (group := parts.one(f"{part}_group")) and (of := parts.one(part))
    }
    texts = [*parts.names, *groupings]
    cells = source.read([*dict.fromkeys([*texts, *parts.numbers])], names=texts)
    n = len(next(iter(cells.values())))
    of_numbers = {c: _plain(cells.pop(c), graded=c == parts.one("score")) for c in parts.numbers}
    rows = None
    if drop:
        gone = np.zeros(n, dtype=np.bool_)
        for column in drop:
            lost = of_numbers[column] if column in of_numbers else as_text(cells[column])
            gone |= pc.is_null(lost).to_numpy(zero_copy_only=False)
        if gone.any():
            rows = np.flatnonzero(~gone)
            cells = {column: values.take(pa.array(rows)) for column, values in cells.items()}
    # Names first: of their cells little is left, and numbers take room while they are looked at.
    numbering: dict[str, dict[str, int]] = {column: {} for column in parts.names}
    if rival := parts.one("rival"):  # both options of a comparison are numbered together
        numbering[rival] = numbering[str(parts.one("option"))]
    codes = {column: coded_among(cells.pop(column), numbering[column]) for column in parts.names}
    names = {column: Factor(own, tuple(numbering[column])) for column, own in codes.items()}
    of_groups: dict[str, int] = {}
    found: dict[str, list[tuple[str, Codes, Codes]]] = {}
    for column, (of, part) in groupings.items():
        groups = coded_among(cells.pop(column), of_groups)
        found.setdefault(part, []).append((column, codes[of], groups))
    members, torn = {}, []
    for part in list(found):
        own = names[str(parts.one(part))].names
        members[part], strange = _members(part, found.pop(part), own, tuple(of_groups), rows)
        torn += [] if strange is None else [strange]
    give_back()
    scans, numbers = _numbers(of_numbers, parts, decimal)
    if decimal is None and source.commas_are_free and has_decimal_commas(scans.values()):
        scans, numbers = _numbers(of_numbers, parts, ",")
    if rows is not None:
        numbers = {column: values[rows] for column, values in numbers.items()}
    return Columns(
        names=names,
        numbers=numbers,
        scans=scans,
        missing={column: _missing(own, rows) for column, own in codes.items()},
        groups=tuple(of_groups),
        members=members,
        torn=tuple(torn),
        n_rows=n,
        rows=rows,
    )


def _missing(codes: Codes, rows: NDArray[np.int64] | None) -> Missing:
    found = Missing.of(codes < 0)
    return (
        found if rows is None or not found.count else Missing(found.count, int(rows[found.first]))
    )


def _members(
    part: str,
    columns: Sequence[tuple[str, Codes, Codes]],
    names: Sequence[str],
    groups: Sequence[str],
    rows: NDArray[np.int64] | None,
) -> tuple[Codes, Torn | None]:
    """Return (names,) the group of each name, −1 for none, and a name with two."""
    member = np.full(len(names), -1, dtype=np.int32)
    first: tuple[str, int, int, int] | None = None
    torn: set[int] = set()
    for column, of, side in columns:
        for part_of in chunks(len(of)):  # of millions of rows, numbers of all are a lot
            known = np.flatnonzero((side[part_of] >= 0) & (of[part_of] >= 0)) + part_of.start
            who, theirs = of[known], side[known]
            # Of several rows of a name the last to be written stays: backwards, the first.
            fresh = member[who] < 0
            member[who[fresh][::-1]] = theirs[fresh][::-1]
            odd = np.flatnonzero(member[who] != theirs)
            torn.update(np.unique(who[odd]).tolist())
            if odd.size and first is None:
                row = int(known[odd[0]])
                place = row if rows is None else int(rows[row])
                first = column, place, int(who[odd[0]]), int(theirs[odd[0]])
    if first is None:
        return member, None
    column, row, name, other = first
    both = groups[member[name]], groups[other]
    return member, Torn(column, row, part, names[name], both, len(torn))


def _numbers(
    cells: Mapping[str, pa.Array], parts: Parts, decimal: str | None
) -> tuple[dict[str, ColumnScan], dict[str, Floats]]:
    """Return what is in columns of numbers, and the numbers: of times, days if they are dates."""
    scans, numbers = {}, {}
    for column, own in cells.items():
        is_time = column == parts.one("time")
        days = _days(own) if is_time else None
        if days is not None:
            scans[column] = ColumnScan(column, missing=Missing.of(np.isnan(days)))
            numbers[column] = days
            continue
        scan = scanned(column, own, decimal=decimal or ".", keep=True)
        if decimal is not None:  # then nobody doubts what points are
            scan.points = Points(scan.points.first)
        scans[column] = scan
        values = np.full(len(own), np.nan) if scan.values is None else scan.values
        whole = calendar_dates(values) if is_time else None
        numbers[column] = values if whole is None else whole
    return scans, numbers


def _days(cells: pa.Array) -> Floats | None:
    """Return dates as days; None if they are none, or numbers."""
    if is_moment(cells.type):
        return moments(cells)
    return moments(cells) if is_text(cells.type) and plain_numbers(cells) is None else None


def _plain(cells: pa.Array, graded: bool = False) -> pa.Array:
    """Return cells of a column of numbers, truth values and grades as such; what says that there is
    none becomes null.
    """
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _plain(cells.dictionary_decode(), graded)
    if pa.types.is_boolean(kind):
        return cells.cast(pa.float64())
    if pa.types.is_floating(kind):
        lost = pc.is_nan(cells)
        return pc.if_else(lost, pa.scalar(None, kind), cells) if pc.any(lost).as_py() else cells
    if not is_text(kind) or _all_plain(cells) or _all_plain(cells := as_text(cells)):
        return cells
    names, codes = coded(cells)
    known = WORDS if graded else {word: WORDS[word] for word in ("true", "false")}
    new: list[str | None] = []
    for name in names:
        word = name.casefold()
        absent = word == "nan" or is_absent(name)
        new.append(None if absent else str(known[word]) if word in known else name)
    if new == names:
        return cells
    return pa.array([*new, None], pa.string()).take(pa.array(codes % (len(new) + 1)))


def _all_plain(cells: pa.Array) -> bool:
    numbers = plain_numbers(cells)
    return numbers is not None and np.count_nonzero(np.isnan(numbers)) == cells.null_count
