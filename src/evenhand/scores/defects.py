"""What is wrong with a table of scores, where it stands, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.columns import Columns, Torn
from evenhand.scores.factor import Codes, first_repeated
from evenhand.scores.layouts import Wide
from evenhand.scores.parts import Parts, unused
from evenhand.scores.scores import WHOLE
from evenhand.tables.cells import as_text, calendar_dates, coded, is_date, spreadsheet_days
from evenhand.tables.complaints import plainly
from evenhand.tables.names import listed
from evenhand.tables.numerals import parsed, written_elsewhere
from evenhand.tables.scan import ColumnScan
from evenhand.tables.sources import Table

_DROP = ", or say missing='drop' to leave these scores out"


@dataclass(frozen=True, eq=False)
class Places:
    """Where rows of a table stand, in the user's words."""

    source: Table
    label: str | None

    def at(self, row: int, column: str) -> str:
        """Return where a cell stands."""
        return f"{self.source.places([row], self.label)[0]}, column {self._shown(row, column)!r}"

    def rows(self, rows: Sequence[int], most: int = 5) -> str:
        """Return where several rows stand."""
        return ", ".join(self.source.where(rows[:most])) + (", …" * (len(rows) > most))

    def _shown(self, row: int, column: str) -> str:
        return self.source.column_of(row, column) if isinstance(self.source, Wide) else column


def refuse(source: Table, problems: Sequence[str]) -> None:
    """Refuse a table with problems, all of them at once."""
    if len(problems) == 1:
        raise InputError(f"{source.name}: {problems[0]}")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"{source.name}: {len(problems)} things to correct:{lines}")


def check_cells(
    places: Places,
    parts: Parts,
    read: Columns,
    drop: Sequence[str] = (),
    remedy: str = _DROP,
) -> None:
    """Refuse a table with cells that are empty, or not what their column is for."""
    if read.n_rows == 0:
        raise InputError(f"{places.source.name} has a header but no rows; it needs a row per score")
    problems = list(_problems_of_names(places, read, drop, remedy))
    for column in parts.numbers:
        problems += _problems_of_numbers(places, parts, read, column, drop, remedy)
    problems += [_in_two_groups(places, torn) for torn in read.torn]
    refuse(places.source, problems)


def check_scores(
    places: Places,
    parts: Parts,
    read: Columns,
    scale: tuple[float, float] | None,
    *,
    telling: bool = True,
) -> None:
    """Refuse scores that are no scores; if they are to tell something, those that tell nothing."""
    column = parts.one("score")
    assert column is not None
    scores = read.numbers[column]
    if len(scores) == 0:
        raise InputError(
            f"{places.source.name}: of {read.n_rows:,} rows every one has an empty cell, from "
            f"{places.rows([0])} on, column {column!r} or another; nothing is left"
        )
    if len(scores) == 1 and telling:
        place = places.at(read.row(0), column)
        raise InputError(
            f"{places.source.name} has one score only ({place}): there is nothing to compare it "
            "with; give the scores of several options by several evaluators"
        )
    problem = _beyond(places, read, column, scores, scale) or _of_dates(
        places, read, column, scores, scale
    )
    refuse(places.source, [] if problem is None else [problem])
    low, high = float(scores.min()), float(scores.max())
    if high == low and telling:
        size = abs(low)
        rounded = f" (numbers of that size are rounded to {np.spacing(size):.2g})"
        raise InputError(
            f"{places.source.name}: from {places.at(read.row(0), column)} on every score is "
            f"{low:.15g}{rounded if size > WHOLE else ''}: nothing to compare; is it the column of "
            "the scores?"
        )


def check_repeats(places: Places, parts: Parts, read: Columns, copies_only: bool = False) -> None:
    """Refuse a table in which an evaluator scored the same thing twice, or a row comes twice."""
    if parts.one("evaluator") is None:
        return  # then it may have been two
    keys = parts.names
    codes = [read.names[column].codes for column in keys]
    found = _first_copied(places, parts, read, codes) if copies_only else first_repeated(*codes)
    if found is None:
        return
    rows, n = found
    what = ", ".join(
        f"{column} {read.names[column].names[read.names[column].codes[rows[0]]]!r}"
        for column in keys
    )
    at = [read.row(row) for row in rows.tolist()]
    more = f"; {n:,} rows repeat one" if n > 1 else ""
    others = _differing(places.source, parts, at[:2])
    tell = f" ({', '.join(repr(c) for c in others[:4])} differs there)" if others else ""
    raise InputError(
        f"{places.source.name}: {places.rows(at)}, column {parts.one('score')!r}: one evaluator "
        f"scored the same thing twice ({what}{more}). If something tells the scores apart, name "
        f"its column as item= or event={tell}; if the evaluator was asked again, say "
        "repeats=True; else remove the copies"
    )


def _first_copied(
    places: Places, parts: Parts, read: Columns, codes: Sequence[Codes]
) -> tuple[NDArray[np.int64], int] | None:
    """Return rows that are the same in every cell, and how many repeat one; None if none do."""
    columns = [*codes, *(_coded(read.numbers[column]) for column in parts.numbers)]
    if first_repeated(*columns) is None:
        return None
    others = [] if isinstance(places.source, Wide) else unused(places.source, parts)
    kept = slice(None) if read.rows is None else read.rows
    columns += [coded(cells)[1][kept] + 1 for cells in places.source.read(others, others).values()]
    return first_repeated(*columns)


def _coded(values: NDArray[Any]) -> Codes:
    """Return (n,) numbers for values: the same for the same."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int32)


def check_spelling(places: Places, parts: Parts, read: Columns) -> None:
    """Refuse groups of options and of evaluators that differ in spelling only."""
    if {"option", "evaluator"} - read.members.keys():
        return
    ours, theirs = (
        {read.groups[code] for code in np.unique(read.members[part]).tolist() if code >= 0}
        for part in ("option", "evaluator")
    )
    if ours & theirs or not ours or not theirs:
        return
    alike = alike_names(sorted(ours), sorted(theirs))
    if alike:
        one, other = alike[0]
        group, option = parts.one("option_group"), parts.one("option")
        assert group is not None
        assert option is not None
        who = np.flatnonzero(read.members["option"] == read.groups.index(one))[0]
        row = read.row(int(np.argmax(read.names[option].codes == who)))
        raise InputError(
            f"{places.source.name}: {places.at(row, group)}: {one!r} is {other!r} in column "
            f"{parts.one('evaluator_group')!r} ({len(alike)} groups differ so, and none is the "
            "same in both); spell groups alike"
        )


def check_two_groups(places: Places, parts: Parts, read: Columns) -> None:
    """Refuse more or fewer than two groups where features alone have to tell the bias."""
    group, option = parts.one("option_group"), parts.one("option")
    alone = parts.all("features") and not parts.one("partial") and "evaluator" not in read.members
    if not alone or group is None or option is None:
        return
    members, codes = read.members["option"], read.names[option].codes
    known = [read.groups[code] for code in np.unique(members[members >= 0]).tolist()]
    odd = np.flatnonzero((members < 0) | (members > 1) | (len(known) < 2))
    if not odd.size:
        return
    row = int(np.argmax(np.isin(codes, odd)))
    found = members[codes[row]]
    what = "no group" if found < 0 else "the only group" if len(known) < 2 else "a third group"
    raise InputError(
        f"{places.source.name}: {places.at(read.row(row), group)}: {what}"
        f"{'' if found < 0 else f', {read.groups[found]!r}'}, where features= needs two and every "
        f"option in one of them ({len(known)} are there: {listed(known)}); make a column with two, "
        "or one that is 1 for those who may be favoured (partial=)"
    )


def alike_names(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[str, str]]:
    """Return names that differ in capitals, blanks and marks only."""
    bare = {_bare(name): name for name in theirs}
    return [
        (name, bare[_bare(name)])
        for name in ours
        if _bare(name) in bare and bare[_bare(name)] != name
    ]


def _bare(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()) or name


def _problems_of_names(
    places: Places, read: Columns, drop: Sequence[str], remedy: str
) -> Iterator[str]:
    for column, missing in read.missing.items():
        if not missing.count or column in drop:
            continue
        if missing.count == read.n_rows:
            yield _all_empty(places, column)
        else:
            place = Places(places.source, None).at(missing.first, column)
            yield (
                f"{place} is empty ({missing.count:,} of {read.n_rows:,} rows are); fill in the "
                f"cells or remove the rows{remedy}"
            )


def _all_empty(places: Places, column: str) -> str:
    cell = Places(places.source, None).at(0, column)
    return f"{cell} and all cells below are empty; name another column, or leave it out"


def _problems_of_numbers(
    places: Places, parts: Parts, read: Columns, column: str, drop: Sequence[str], remedy: str
) -> Iterator[str]:
    scan, n = read.scans[column], read.n_rows
    if scan.unsupported is not None:
        dates = any(word in scan.unsupported for word in ("date", "time", "duration"))
        yield (
            f"{places.at(0, column)} and the cells below hold {'dates or times, ' * dates}"
            f"{scan.unsupported}, not numbers; name another column, or convert it"
        )
    elif scan.missing.count == n:
        yield _all_empty(places, column)
    elif scan.missing.count and column not in drop:
        yield (
            f"{places.at(scan.missing.first, column)} is empty ({scan.missing.count:,} of {n:,} "
            f"rows are); fill in the cells or remove the rows{remedy}"
        )
    if scan.first_text is not None:
        yield _problem_of_text(places, parts, column, scan)
    elif scan.points.doubtful is not None:
        row, text = scan.points.doubtful
        yield (
            f"{places.at(row, column)}: {text!r} may be {text.replace('.', '')} or "
            f"{float(text):g}, as the other numbers have no point; "
            f"{plainly(places.source, scan, '.')}"
        )
    if scan.first_infinite is not None:
        row, number = scan.first_infinite
        yield f"{places.at(row, column)}: {number} is no finite number; correct or remove it"


def _problem_of_text(places: Places, parts: Parts, column: str, scan: ColumnScan) -> str:
    assert scan.first_text is not None
    row, text = scan.first_text
    cell = f"{places.at(row, column)}: {text!r}"
    more = f" ({scan.n_texts:,} cells are not)" if scan.n_texts > 1 else ""
    if is_date(text):
        remedy = (
            "write all times in one way, such as 2016-01-05"
            if column == parts.one("time")
            else "a spreadsheet may have made it of a number such as 5.1: have it show the column "
            "as numbers and save it again"
        )
        return f"{cell} is a date or a time, not a number{more}; {remedy}"
    if not written_elsewhere(text):
        if not scan.n_numbers:
            return f"{cell} is not a number, and no cell of the column is; name another column"
        return f"{cell} is not a number{more}; correct the cells or remove the rows"
    mark = "," if scan.decimal == "." and parsed([text], ",")[1][0] else None
    return f"{cell} is not plainly a number{more}; {plainly(places.source, scan, mark)}"


def _in_two_groups(places: Places, torn: Torn) -> str:
    first, second = torn.groups
    more = f" ({torn.count:,} have several)" if torn.count > 1 else ""
    return (
        f"column {torn.column!r}: {torn.part} {torn.name!r} is of the group {first!r} and, in "
        f"{places.rows([torn.row])}, of {second!r}{more}; give everybody one group, or say with "
        "partial= who is partial to what"
    )


def _beyond(
    places: Places, read: Columns, column: str, scores: Floats, scale: tuple[float, float] | None
) -> str | None:
    if scale is None:
        return None
    outside = np.flatnonzero((scores < scale[0]) | (scores > scale[1]))
    if not outside.size:
        return None
    first = int(outside[0])
    return (
        f"{places.at(read.row(first), column)}: {scores[first]:.15g} is outside the scale from "
        f"{scale[0]:g} to {scale[1]:g} ({outside.size:,} of {len(scores):,} scores are); correct "
        "the scores or scale="
    )


def _of_dates(
    places: Places, read: Columns, column: str, scores: Floats, scale: tuple[float, float] | None
) -> str | None:
    if scale is not None:
        return None
    remedy = "if they are scores all the same, say so with scale=(lowest, highest)"
    if calendar_dates(scores) is not None:
        return (
            f"{places.at(read.row(0), column)}: {scores[0]:.0f} looks like a date, and so do all "
            f"others; name the column of the scores, or, {remedy}"
        )
    found = spreadsheet_days(scores)
    if found is None:
        return None
    row, day = found
    return (
        f"{places.at(read.row(row), column)}: {scores[row]:.0f} is {day} as spreadsheets count "
        f"days, which looks like a date among scores; correct it, or, {remedy}"
    )


def _differing(source: Table, parts: Parts, rows: Sequence[int]) -> list[str]:
    """Return columns without a part in which two rows differ."""
    if isinstance(source, Wide):
        return []
    cells = source.read(unused(source, parts))
    both = {c: as_text(own.take(pa.array(rows, pa.int64()))) for c, own in cells.items()}
    return [column for column, texts in both.items() if len(set(texts.to_pylist())) > 1]


def check_evaluators(places: Places, parts: Parts, read: Columns) -> None:
    """Refuse scores in the place of evaluators: numbers with decimals, which names have not."""
    column = parts.one("evaluator")
    if column is None or isinstance(places.source, Wide):
        return
    names = read.names[column].names
    values, fits = parsed(names)
    if not fits.all() or np.count_nonzero(values != np.floor(values)) * 2 <= len(names):
        return
    raise InputError(
        f"{places.source.name}: {places.at(read.row(0), column)} and the cells below hold numbers "
        f"such as {listed(names[:3])}, not names of evaluators; if each evaluator has a column of "
        "scores, say wide=True"
    )
