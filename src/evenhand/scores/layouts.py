"""The table behind scores: its layout, and its columns, names as codes, numbers as numbers.

Wide tables have a row for each option and a column for each evaluator, or for each item: they are
read as long ones, with a row for each cell. Of those that a campaign exported, what was withdrawn,
or came late, is no score. Scores that were read are a table again, to be shown, or read for more.

Nothing is refused of the columns here: what is wrong is noted with its row, and `defects` puts it
into words. What is kept of a table is twelve bytes a row or so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.marks import (
    Marking,
    Marks,
    all_plain,
    loose_number,
    read_marks,
    read_verdicts,
    share_of_marks,
)
from evenhand.scores.read import BY_NAME, SEVERAL, Parts, shown, tells_apart
from evenhand.scores.scores import Codes, Factor, Scores, chunks, first_repeated
from evenhand.tables.cells import (
    ColumnScan,
    Missing,
    as_text,
    calendar_dates,
    coded,
    coded_among,
    give_back,
    has_decimal_commas,
    is_moment,
    is_number,
    is_text,
    moments,
    plain_numbers,
    scanned,
)
from evenhand.tables.columns import Cells, Table, no_such_column
from evenhand.tables.opened import holds_marks
from evenhand.tables.texts import is_absent, is_beside, is_total, listed

if TYPE_CHECKING:
    import pandas as pd

_ACROSS = ("evaluator", "option", "item")  # what columns may be: the first that has none
_STANDING = "standing"
_COLUMNS = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_TRUTHS = {"true": "1.0", "false": "0.0"}
_MARKS = 0.5  # share of cells that may be scores, of a column that holds an evaluator's
_LAST = 4  # lines at the end of a table that may be totals
_MOST_NAMES = 10_000  # whose spellings are compared
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")
_BY_COLUMN = ("attributes",)  # parts whose columns keep their names


class Wide(Table):
    """A wide table as a long one, a row for each of its cells."""

    def __init__(self, source: Table, turned: Sequence[str], across: str) -> None:
        self._source = source
        self.turned = tuple(turned)
        self.is_text, self.commas_are_free = source.is_text, source.commas_are_free
        kept = [column for column in source.columns if column not in turned]
        self.across, self.score = _free(across, kept), _free("score", kept)
        super().__init__(source.name, (*kept, self.across, self.score))

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        kept = [column for column in columns if column not in (self.across, self.score)]
        m = len(self.turned)
        cells = self._source.read([*kept, *self.turned], names)
        n = len(cells[self.turned[0]])
        rows = pa.array(np.repeat(np.arange(n), m))
        long = {column: cells.pop(column).take(rows) for column in kept}
        long[self.across] = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(m, dtype=np.int32), n)), pa.array(self.turned)
        )
        beside = pa.concat_arrays(_of_one_kind(list(cells.values())))
        long[self.score] = beside.take(pa.array(np.arange(n * m).reshape(m, n).T.reshape(-1)))
        return {column: long[column] for column in columns}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where rows stand in the wide table."""
        return self._source.where([row // len(self.turned) for row in rows])

    def origin(self, row: int) -> int:
        """Return the row of the wide table that a cell stands in."""
        return self._source.origin(row // len(self.turned))

    def column_of(self, row: int, column: str) -> str:
        """The column of the wide table that holds a cell of the long one."""
        return (
            self.turned[row % len(self.turned)] if column in (self.score, self.across) else column
        )


def guessed_wide(
    source: Table, given: Mapping[str, Any], marking: Marking
) -> tuple[bool | list[str], str]:
    """Return the columns that hold the scores of an evaluator each (on an item each, where there is
    a column of evaluators), if there is no column of scores and this is plain, and what is to be
    said; False else.
    """
    if any(given.get(part) not in (part, None) for part in ("item", "score", "rival")):
        return False, ""
    if any(part in source.columns for part in ("rival", "item")):
        return False, ""
    named = [c for part, value in given.items() for c in _named(part, value)]
    others = [c for c in source.columns if c and c not in named and not is_beside(c)]
    found, counts = {}, list[str]()
    for column in others[1:] if given.get("option") == "option" else others:
        try:
            texts = source.texts(column)
        except InputError:
            continue
        if _counts(source, column):
            counts.append(column)
        elif share_of_marks(texts, marking) > _MARKS:
            numbers = [x for t in texts if t and (x := loose_number(t)) is not None]
            found[column] = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    if len(found) < 2 or holds_marks(list(found)):  # a table without a header: not its first line
        return False, ""
    low, high = (float(np.median([ends[i] for ends in found.values()])) for i in (0, 1))
    room = max(high - low, 1e-9)
    if any(e[0] < low - room or e[1] > high + room for e in found.values()):
        return False, ""
    who = given.get("evaluator")
    if who in source.columns and not any(
        tells_apart(source, [who, c]) for c in source.columns if c and c not in (who, *found)
    ):  # rows are scores, and not what an evaluator scored
        return False, ""
    whose = "on an item" if who in source.columns else "of an evaluator"
    return list(found), (
        f"There is no column of scores; {shown(list(found))} hold numbers and are read as the "
        f"scores {whose} each. If not, say which are: wide=[…]."
        + (f" Numbers that count the rows are left out: {shown(counts)}." if counts else "")
    )


def _counts(source: Table, column: str) -> bool:
    """Whether a column numbers the rows."""
    numbers = plain_numbers(as_text(source.cells(column)))
    return numbers is not None and len(numbers) > 2 and bool((np.diff(numbers) == 1).all())


def turned(
    source: Table, wide: bool | Sequence[str], given: dict[str, Any], marking: Marking
) -> tuple[Wide, str]:
    """Return a wide table as a long one, with its new columns put among those that were named, and
    which columns were left out.
    """
    across = next((part for part in _ACROSS if given.get(part) not in source.columns), None)
    if across is None:
        raise InputError(
            f"{source.name}: option=, evaluator= and item= all have a column, so wide= has nothing "
            "to turn; leave wide= out, or leave one of them out for the columns to be it"
        )
    named = given.get(across)
    if named not in (None, across):
        raise InputError(f"{across}={named!r}: {no_such_column(source, str(named))}")
    if across == "evaluator" and given["option"] == "option" and "option" not in source.columns:
        given["option"] = _first_names(source)
    named_columns = {column for part, value in given.items() for column in _named(part, value)}
    beside: list[str] = []
    if isinstance(wide, bool):
        columns = [c for c in source.columns if c and c not in named_columns]
        beside = [c for c in columns if is_total(c) or not _may_be_scores(source, c, marking)]
        columns = (
            [c for c in columns if c not in beside] if len(columns) - len(beside) > 1 else columns
        )
        hint = "name those with scores: wide=['…', '…']"
    else:
        columns = [wide] if isinstance(wide, str) else list(wide)
        hint = "name others"
    for column in columns:
        if column not in source.columns:
            raise InputError(f"wide=: {no_such_column(source, column)}")
        if column in named_columns - set(BY_NAME):
            raise InputError(f"{source.name}: column {column!r} is named in wide= and elsewhere")
    if len(columns) < 2:
        raise InputError(
            f"{source.name}: wide= needs two columns of scores or more, and there "
            f"{'is' if columns else 'are'} {listed(columns) or 'none'}; {hint}"
        )
    table = Wide(source, columns, across)
    given[across], given["score"] = table.across, table.score
    if not set(beside) - set(columns):
        return table, ""
    return table, f"Left out, as they hold no scores: {shown(beside)}."


def _may_be_scores(source: Table, column: str, marking: Marking) -> bool:
    """Whether something in a column is a score."""
    try:
        return share_of_marks(source.texts(column), marking) > 0.0
    except InputError:
        return True


def _first_names(source: Table) -> str:
    """Return the first column, where names stand; refuse one with numbers, which may be scores."""
    first = source.columns[0]
    if _range(source, first) is not None:
        raise InputError(
            f"{source.name}: column {first!r} comes first and holds numbers, which may be scores; "
            "say which column names the options: option= (names in the index of a frame: give "
            "frame.reset_index())"
        )
    return first


def looks_wide(source: Table, others: Sequence[str], like: str | None = None) -> list[str]:
    """Return the columns that hold numbers only, where two do or more: perhaps evaluators."""
    ranges = {column: _range(source, column) for column in others}
    found = {column: ends for column, ends in ranges.items() if ends is not None}
    if like in found:
        low, high = found[like]
        room = high - low
        found = {c: e for c, e in found.items() if low - room <= e[0] <= e[1] <= high + room}
    return list(found) if len(found) > 1 else []


def _range(source: Table, column: str) -> tuple[float, float] | None:
    """Return the least and the largest number in a column; None if not all are numbers."""
    try:
        cells = source.cells(column)
        own = cells if is_number(cells.type) else as_text(cells)
    except InputError:
        return None
    numbers = plain_numbers(own)
    if numbers is None and source.commas_are_free:
        numbers = plain_numbers(own, ",")
    if numbers is None or not np.isfinite(numbers).any():
        return None
    known = numbers[np.isfinite(numbers)]
    return float(known.min()), float(known.max())


def _of_one_kind(columns: list[pa.Array]) -> list[pa.Array]:
    kinds = {cells.type for cells in columns}
    if len(kinds) == 1 and not pa.types.is_integer(next(iter(kinds))):
        return columns
    if all(is_number(kind) or pa.types.is_null(kind) for kind in kinds):
        return [pc.cast(cells, pa.float64()) for cells in columns]
    return [as_text(cells) for cells in columns]


def _free(name: str, taken: Sequence[str]) -> str:
    return _free(f"{name} ", taken) if name in taken else name


def _named(part: str, value: Any) -> list[str]:
    if isinstance(value, Mapping) or value is None or part == "score":
        return []
    return [value] if isinstance(value, str) else list(value)


class Selected(Table):
    """A table without some of its rows."""

    def __init__(self, source: Table, kept: NDArray[np.bool_]) -> None:
        super().__init__(source.name, source.columns)
        self._source, self._kept = source, kept
        self.is_text, self.commas_are_free = source.is_text, source.commas_are_free

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        kept = pa.array(self._kept)
        return {c: cells.filter(kept) for c, cells in self._source.read(columns, names).items()}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where rows stand in the table as it is."""
        return self._source.where(np.flatnonzero(self._kept)[list(rows)].tolist())

    def origin(self, row: int) -> int:
        """Return which row of the table as it is this is."""
        return self._source.origin(int(np.flatnonzero(self._kept)[row]))


def exported(source: Table) -> bool:
    """Tell whether a campaign exported a table: a row for each time that somebody was asked."""
    return set(source.columns) >= _COLUMNS and set(source.texts(_STANDING)) <= set(_KNOWN)


def counted(source: Table, given: Mapping[str, Any]) -> tuple[Table, dict[str, int]]:
    """Return a table without what does not count, if a campaign exported it, and how many rows that
    is, by their standing; else as it is.
    """
    if not exported(source) or _STANDING in map(str, given.values()):
        return source, {}
    standing = source.texts(_STANDING)
    found = Counter(standing)
    if found.keys() <= {_KNOWN[0]}:
        return source, {}
    left_out = {name: found[name] for name in _KNOWN[1:] if found[name]}
    return Selected(source, np.array([one == _KNOWN[0] for one in standing])), left_out


def without_copies(source: Table) -> tuple[Table, str]:
    """Return a table with one of all rows that are the same in every cell, and what is left out."""
    columns = [column for column in source.columns if column]
    codes = [coded(cells)[1] + 1 for cells in source.read(columns, columns).values()]
    keys = np.stack(codes, axis=1)
    first = np.zeros(len(keys), dtype=np.bool_)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    n = int((~first).sum())
    if not n:
        return source, ""
    text = f"{n:,} row{' is a copy' if n == 1 else 's are copies'} of another in every cell, and "
    return Selected(
        source, first
    ), f"{text}{'is' if n == 1 else 'are'} left out, as copies='drop' says."


def without_totals(source: Table) -> tuple[Table, str]:
    """Return a table without lines of totals or means at its end, and what was left out."""
    columns = [column for column in source.columns if column]
    for first in [] if source.is_large else columns[:2]:
        try:
            cells = source.cells(first)
            ends = as_text(cells.slice(max(len(cells) - _LAST, 0))).to_pylist()
        except InputError:
            continue
        n = last = len(cells)
        while last > max(2, n - len(ends)) and is_total(ends[last - n - 1] or ""):
            last -= 1
        if last < n:
            break
    else:
        return source, ""
    if not _adds_up(source, columns, first, last):
        return source, ""
    kept = np.arange(n) < last
    said = listed([str(name) for name in ends[last - n :]])
    where = ", ".join(source.where(list(range(last, n))))
    return Selected(source, kept), f"{where}, {said}, is taken for totals and left out."


def _adds_up(source: Table, columns: Sequence[str], first: str, last: int) -> bool:
    """Whether a line has the mean, the sum or the median of what stands above, or lacks a name that
    the others have.
    """
    for column in columns:
        if column == first:
            continue
        try:
            texts = source.texts(column)
        except InputError:
            continue
        above = [text for text in texts[:last] if text]
        numbers = [value for text in above if (value := loose_number(text)) is not None]
        if len(numbers) < len(above) or not numbers:
            if texts[last] is None and len(above) == last:
                return True
            continue
        own = loose_number(texts[last] or "")
        means = (np.mean(numbers), np.sum(numbers), np.median(numbers))
        if own is not None and any(
            abs(own - one) <= 0.06 * max(1.0, abs(one) * 0.1) for one in means
        ):
            return True
    return False


class Kept(Table):
    """A table of scores whose columns are called as the parts that they play."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        of: dict[str, Factor | np.ndarray[Any, Any] | None] = {
            "option": scores.option,
            "evaluator": scores.evaluator,
            "item": scores.item,
            "score": scores.score,
            "event": scores.event,
            "cluster": scores.cluster,
            "rival": _of_codes(scores.rival, scores.option.names),
        }
        sides = scores.option_group
        of["option_group"] = _groups(scores, scores.option.codes, sides)
        of["rival_group"] = None if scores.rival is None else _groups(scores, scores.rival, sides)
        if scores.evaluator is not None:
            of["evaluator_group"] = _groups(scores, scores.evaluator.codes, scores.evaluator_group)
        of |= {"partial": scores.stated, "reference": scores.reference, "time": scores.time}
        of |= scores.attributes
        kept = {name: column for name, column in of.items() if column is not None}
        self._columns = kept | {n: column for n, column in scores.beside.items() if n not in kept}
        super().__init__("the scores", list(self._columns))

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        return {column: _cells(self._columns[column]) for column in columns}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where scores stand in the table that they come from."""
        return [self._scores.where(row) for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Return it as a frame; columns that play no part are numbers where all cells are."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        cells = self.read(self.columns)
        for column in self._scores.beside:
            texts = cells[column].dictionary_decode()
            numbers = plain_numbers(texts) if is_text(texts.type) else None
            if numbers is not None and texts.null_count < len(texts):
                whole = bool((numbers == np.floor(numbers)).all())  # false for NaN
                cells[column] = pa.array(numbers.astype(np.int64) if whole else numbers)
        frame = pd.DataFrame(
            {
                c: (as_text(own) if pa.types.is_dictionary(own.type) else own).to_pandas()
                for c, own in cells.items()
            }
        )
        frame.attrs["signed"] = True
        frame.attrs |= {"best": self._scores.best} if self._scores.best == "low" else {}
        return frame

    def given(self, asked: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return what is asked of these scores, by the names of this table (a part that nobody
        names stays as it is; None: nothing plays it), and whether it is new.
        """
        scores, new = self._scores, False
        found: dict[str, Any] = {}
        for part, value in asked.items():
            own = list(getattr(scores, part)) if part in _BY_COLUMN else part
            has = bool(own) if part in _BY_COLUMN else part in self._columns
            called = scores.called.get(part)
            said = ", ".join(value) if part in SEVERAL and isinstance(value, list) else value
            unsaid = part not in _DROPPED and (value is None or value in ((), []))
            if unsaid or said in (part, called):
                found[part] = own if has else None if part not in _BY_COLUMN else ()
                continue
            new = new or value is not None or has
            found[part] = value
        return found, new


# Parts of which None says that nothing plays them, where it says nothing of others.
_DROPPED = (
    "evaluator", "rival", "item", "event", "cluster", "option_group", "rival_group",
    "evaluator_group",
)  # fmt: skip


def _of_codes(codes: Codes | None, names: tuple[str, ...]) -> Factor | None:
    return None if codes is None else Factor(codes, names)


def _groups(scores: Scores, codes: Codes, groups: Codes | None) -> Factor | None:
    return None if groups is None else Factor(groups[codes], scores.groups)


def _cells(column: Factor | np.ndarray[Any, Any]) -> pa.Array:
    if not isinstance(column, Factor):
        return pa.array(column, from_pandas=True)
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, mask=column.codes < 0), pa.array(column.names, pa.string())
    )


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
    scale: tuple[float, float] | None = None  # that the scores themselves state
    n_aside: int = 0  # rows of those who stood aside
    verdicts: bool = False  # scores are words that say which of two options is better
    strange: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # no grades: row, nearest
    notes: tuple[str, ...] = ()

    def row(self, position: int) -> int:
        """Return the row of the table behind a row that was kept."""
        return position if self.rows is None else int(self.rows[position])


def read_columns(
    source: Table,
    parts: Parts,
    *,
    decimal: str | None = None,
    drop: Sequence[str] = (),
    marking: Marking,
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
    marks = _marks(cells, parts, marking)
    of_numbers = {c: _plain(cells.pop(c)) for c in parts.numbers}
    rows, no_grades = None, _first_rows(cells, of_numbers, marks, parts)
    if drop or marks.aside is not None:
        gone = np.zeros(n, dtype=np.bool_) if marks.aside is None else marks.aside.copy()
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
    who, joined = parts.one("evaluator"), list[str]()
    if who is not None:
        others = [codes[c] for c in parts.names if c != who]
        names[who], joined = _joined(names[who], others)
        codes[who] = names[who].codes
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
    if decimal is None and has_decimal_commas(scans.values()):
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
        scale=marks.scale,
        n_aside=0 if marks.aside is None else int(marks.aside.sum()),
        verdicts=marks.verdicts,
        strange=no_grades,
        notes=(*marks.notes, *joined),
    )


def _marks(cells: dict[str, Cells], parts: Parts, marking: Marking) -> Marks:
    """Return what was done to the cells of a column of scores, and put what they came to there."""
    column, rival = parts.one("score"), parts.one("rival")
    if column is None:
        return Marks(pa.array([]))
    own = cells[column]
    own = own.combine_chunks() if isinstance(own, pa.ChunkedArray) else own
    own = own.dictionary_decode() if pa.types.is_dictionary(own.type) else own
    if marking.grades and not is_text(own.type):
        own = as_text(own)
    verdicts = read_verdicts(own, cells[str(parts.one("option"))], cells[rival]) if rival else None
    found = read_marks(own if verdicts is None else verdicts.cells, marking)
    found.verdicts = verdicts is not None
    found.given = own if found.strange else None
    cells[column] = found.cells
    return found


def _first_rows(
    cells: Mapping[str, Cells], numbers: Mapping[str, pa.Array], marks: Marks, parts: Parts
) -> dict[str, tuple[int, str]]:
    """Return texts that are no grades, with the first row of each and the nearest grade."""
    if not marks.strange or marks.given is None:
        return {}
    texts = as_text(marks.given).to_pylist()
    return {text: (texts.index(text), near) for text, near in marks.strange.items()}


def _joined(evaluators: Factor, others: Sequence[Codes]) -> tuple[Factor, list[str]]:
    """Return names of evaluators that differ in capitals, blanks and points only as one, unless
    both scored the same; and what is to be said.
    """
    plain: dict[str, list[int]] = {}
    for code, name in enumerate(evaluators.names[:_MOST_NAMES]):
        plain.setdefault(_spelled(name), []).append(code)
    new, said = np.arange(len(evaluators.names)), []
    for bare, codes in plain.items():
        if len(codes) < 2 or not any(letter.isalpha() for letter in bare):
            continue
        rows = np.flatnonzero(np.isin(evaluators.codes, codes))
        if others and first_repeated(*(codes_of[rows] for codes_of in others)) is not None:
            continue
        names = [evaluators.names[code] for code in codes]
        new[codes] = codes[0]
        said.append(f"{listed(names)} are taken for one evaluator, {names[0]!r}.")
    if not said:
        return evaluators, []
    kept, codes_left = np.unique(new, return_inverse=True)
    number = np.append(codes_left.astype(np.int32), -1)
    return Factor(number[evaluators.codes], tuple(evaluators.names[c] for c in kept)), said


def _spelled(name: str) -> str:
    return " ".join(re.sub(r"\.(?=\s|$)", " ", name.casefold()).split())


def _missing(codes: Codes, rows: NDArray[np.int64] | None) -> Missing:
    found = Missing.of(codes < 0)
    if rows is None or not found.count:
        return found
    return Missing(found.count, int(rows[found.first]), tuple(rows[list(found.also)].tolist()))


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
        scan = scanned(column, own, decimal=decimal)
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


def _plain(cells: pa.Array) -> pa.Array:
    """Return cells of a column of numbers, truth values as such; what says that there is none
    becomes null.
    """
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _plain(cells.dictionary_decode())
    if pa.types.is_boolean(kind):
        return cells.cast(pa.float64())
    if pa.types.is_floating(kind):
        lost = pc.is_nan(cells)
        return pc.if_else(lost, pa.scalar(None, kind), cells) if pc.any(lost).as_py() else cells
    if not is_text(kind) or all_plain(cells) or all_plain(cells := as_text(cells)):
        return cells
    names, codes = coded(cells)
    absent = [name.casefold() == "nan" or is_absent(name) for name in names]
    some = {name.casefold() for name, gone in zip(names, absent, strict=True) if not gone}
    truths = _TRUTHS if some <= {*_TRUTHS, "0", "1", "0.0", "1.0"} else {}
    new = [
        None if gone else truths.get(name.casefold(), name)
        for name, gone in zip(names, absent, strict=True)
    ]
    if new == names:
        return cells
    return pa.array([*new, None], pa.string()).take(pa.array(codes % (len(new) + 1)))
