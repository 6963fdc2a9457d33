"""How a table of scores is laid out: which column has which role, wide or long, and what is no row.

Roles are named by the user, or by columns of their own or other names (`roles`). Wide tables have a
row for each option and a column for each evaluator, or for each item: they are read as long ones,
with a row for each cell. Lines of totals, copies, and what was withdrawn or came late in a campaign
are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.scores.grades import grades_in, loose_number, share_of_marks
from evenhand.scores.roles import BY_NAME, NEEDED, ROLES, ReadOptions
from evenhand.scores.scores import Codes, baseline_in, crossed, first_repeated
from evenhand.tables.cells import as_text, coded, coded_among, is_number, plain_numbers
from evenhand.tables.columns import Cells, Table, found_columns, no_such_column
from evenhand.tables.opened import holds_marks, open_table
from evenhand.tables.texts import is_beside, is_total, listed

_WORDED = [role.name for role in ROLES.values() if role.words]
_ACROSS = ("evaluator", "option", "item")  # what columns may be: the first that has none
_STANDING = "standing"
_EXPORTED = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")
_MARKS = 0.5  # share of cells that may be scores, of a column that holds an evaluator's
_LAST = 4  # lines at the end of a table that may be totals


def given_roles(reading: ReadOptions) -> dict[str, Any]:
    """Return what was said of every role: its own name where nothing was, if that may name it."""
    return {r.name: reading.get(r.name, None if r.asked else r.name) for r in ROLES.values()}


@dataclass(frozen=True)
class Parts:
    """The columns of a table by their roles."""

    columns: Mapping[str, tuple[str, ...]]  # by role; one that nothing has is not there
    # columns of numbers about the first option, with those about the second
    against: Mapping[str, str] = field(default_factory=dict)
    # columns that were found by another word, with their roles
    read_as: Mapping[str, str] = field(default_factory=dict)

    def one(self, role: str) -> str | None:
        """Return the column with this role; None if there is none."""
        return next(iter(self.columns.get(role, ())), None)

    def all(self, role: str) -> tuple[str, ...]:
        """Return the columns with this role."""
        return self.columns.get(role, ())

    @property
    def numbers(self) -> list[str]:
        """All columns of numbers."""
        own = self._holding("numbers")
        return own + [self.against[column] for column in own if column in self.against]

    @property
    def names(self) -> list[str]:
        """All columns of names that no row may lack."""
        return self._holding("names")

    def _holding(self, what: str) -> list[str]:
        return [c for r in ROLES.values() if r.holds == what for c in self.all(r.name)]

    @property
    def called(self) -> dict[str, str]:
        """What the user calls the roles."""
        return {role: ", ".join(columns) for role, columns in self.columns.items() if columns}

    def unused(self, source: Table) -> list[str]:
        """Return the columns of a table that have no role."""
        used = {column for columns in self.columns.values() for column in columns}
        return [c for c in source.columns if c and c not in used and c not in self.against.values()]


def assigned(
    source: Table,
    given: Mapping[str, Any],
    hint: Callable[[], str] = str,
    *,
    other_words: bool = True,
) -> Parts:
    """Return the columns of a table by their roles; an error for one that is not there."""
    for role in NEEDED:
        if role in given and given[role] is None:
            raise InputError(f"{role}= must be the name of a column; got None")
    given = {p: None if isinstance(value, Mapping) else value for p, value in given.items()}
    read_as = by_words(source, given) if other_words else {}
    given |= {role: column for column, role in read_as.items()}
    several = [role.name for role in ROLES.values() if role.several]
    kept = found_columns(source, given, by_name=BY_NAME, several=several, hint=hint)
    own = [*kept.get("partial", ()), *kept.get("attributes", ())] if "rival" in kept else []
    against = {c: f"rival_{c}" for c in own if f"rival_{c}" in source.columns}
    return Parts(kept, against, read_as)


def is_there(source: Table, given: Mapping[str, Any], role: str) -> bool:
    """Tell whether a column has a role: the one that was named, or one that is called so."""
    asked = given[role] not in (role, None)
    return asked or role in source.columns or role in by_words(source, given).values()


def named(value: Any) -> list[Any]:
    """Return the columns that a value of the user's names."""
    if value is None or isinstance(value, Mapping):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def by_words(
    source: Table,
    given: Mapping[str, Any],
    roles: Collection[str] = _WORDED,
    *,
    strict: bool = True,
) -> dict[str, str]:
    """Return columns with the roles that they have by another word, of roles that nothing has; an
    error where several may have one, and differ.
    """
    taken = {c for role, value in given.items() if value != role for c in named(value)}
    small = {_small(c): c for c in source.columns if c not in taken and c not in given}
    found = {}
    for role in roles:
        if given.get(role) != role or role in source.columns:
            continue
        known = [small[word] for word in (role, *ROLES[role].words) if word in small]
        if strict and len(known) > 1 and _differ(source, known):
            ways = " or ".join(f"{role}={column!r}" for column in known)
            raise InputError(f"{source.name}: {shown(known)} may be the {role}; say {ways}")
        if len(known) == 1 or (strict and known):
            found[known[0]] = role
    numbered = next((small[word] for word in ("id", "idx") if word in small), None)
    columns = dict(given) | {role: column for column, role in found.items()}
    item, option, of = (columns.get(role) for role in ("item", "option", "evaluator"))
    if "item" in roles and numbered and item == "item" and item not in source.columns:
        keys = [c for c in (of, option) if c in source.columns]
        if option in keys and not tells_apart(source, keys):
            found |= {numbered: "item"} if tells_apart(source, [*keys, numbered]) else {}
    return found | _group_columns(source, columns)


def _small(column: str) -> str:
    """Return a column's name in small letters, however its words are joined."""
    apart = re.sub(r"[_.-]|(?<=[a-z])(?=[A-Z0-9]$)", " ", column)  # modelA, model1
    return " ".join(apart.casefold().split())


def _group_columns(source: Table, columns: Mapping[str, Any]) -> dict[str, str]:
    """Return columns of groups: 'university' of options beside 'reviewer university', 'wine.amer'
    beside 'judge.amer', 'Country' beside 'JCountry' of a 'Judge'; none where several pairs fit.
    """
    groups = ("option_group", "evaluator_group")
    if any(columns.get(role) != role or role in source.columns for role in groups):
        return {}
    taken = [c for role, value in columns.items() if role not in groups for c in named(value)]
    small = {_small(c): c for c in source.columns if c and c not in taken}
    option, evaluator = (str(columns.get(role)) for role in ("option", "evaluator"))
    ours, theirs = _small(option), _small(evaluator)
    pairs = {
        (small[group], small[name])
        for name in small
        for who in {theirs, "evaluator"}
        for what in (name.removeprefix(f"{who} "), name.removesuffix(f" {who}"))
        for group in (what, f"{ours} {what}", f"{what} {ours}")
        if what != name and group in small
    }
    if not pairs and {option, evaluator} <= {*source.columns}:
        pairs = {
            (small[what], small[name])
            for name in small
            if (what := name.removeprefix(theirs[:1])) != name and what in small
            if _is_of(source, small[what], option) and _is_of(source, small[name], evaluator)
        }
    return dict(zip(pairs.pop(), groups, strict=True)) if len(pairs) == 1 else {}


def _is_of(source: Table, group: str, column: str) -> bool:
    """Whether all rows with the same name have the same group, and groups have several names."""
    names, groups = _codes(source, [column, group])
    n = len(np.unique(names))
    return crossed(names, groups)[1] == n > len(np.unique(groups))


def _codes(source: Table, columns: Sequence[str]) -> list[Codes]:
    return [coded(cells)[1] for cells in source.read(columns, columns).values()]


def tells_apart(source: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows are the same in some columns, and some are in each of them."""
    codes = _codes(source, columns)
    again = all(first_repeated(own) is not None for own in codes)
    return again and first_repeated(*codes) is None


def _differ(source: Table, columns: Sequence[str]) -> bool:
    """Whether columns do not name the same things, each in its own way."""
    codes = np.stack(_codes(source, columns))
    return len({np.unique(own, axis=1).shape[1] for own in (*codes[:, None], codes)}) > 1


def texts_in(source: Table, column: str) -> list[str | None]:
    """Return the cells of a column as texts; none where they are neither names nor numbers."""
    try:
        return source.texts(column)
    except InputError:  # of lists, say: no names and no numbers
        return []


def shown(columns: Sequence[str]) -> str:
    """Return columns for a message."""
    return ("columns " if len(columns) > 1 else "column ") + listed(columns, 6)


class Remade(Table):
    """A table with rows of another, or several rows for each, of which it knows the places."""

    def __init__(
        self,
        source: Table,
        columns: Sequence[str],
        read: Callable[[Sequence[str], Collection[str]], dict[str, Cells]],
        row_of: Callable[[int], int],
        column_of: Callable[[int, str], str] = lambda row, column: column,
    ) -> None:
        super().__init__(source.name, columns, read, lambda r: source.where([*map(row_of, r)]))
        self.is_text, self.commas_are_free = source.is_text, source.commas_are_free
        self._source, self._row_of, self._column_of = source, row_of, column_of

    def origin(self, row: int) -> int:
        """Return which row of the table as it is this is made of."""
        return self._source.origin(self._row_of(row))

    def column_of(self, row: int, column: str) -> str:
        """Return the column of the table as it is that holds a cell."""
        return self._column_of(row, column)


def _selected(source: Table, kept: NDArray[np.bool_]) -> Table:
    """Return a table without some of its rows."""
    rows = np.flatnonzero(kept)

    def read(columns: Sequence[str], names: Collection[str]) -> dict[str, Cells]:
        return {c: own.take(pa.array(rows)) for c, own in source.read(columns, names).items()}

    return Remade(source, source.columns, read, lambda row: int(rows[row]))


def _long(source: Table, wide: Sequence[str], across: str) -> tuple[Table, str, str]:
    """Return a wide table as a long one, a row for each of its cells, with the names of its columns
    for what stood across and for the scores.
    """
    m, kept = len(wide), [column for column in source.columns if column not in wide]
    across, score = _free(across, kept), _free("score", kept)

    def read(columns: Sequence[str], names: Collection[str]) -> dict[str, Cells]:
        asked = [column for column in columns if column not in (across, score)]
        cells = source.read([*asked, *wide], names)
        n = len(cells[wide[0]])
        rows = pa.array(np.repeat(np.arange(n), m))
        long = {column: cells.pop(column).take(rows) for column in asked}
        long[across] = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(m, dtype=np.int32), n)), pa.array(wide)
        )
        beside = pa.concat_arrays(_of_one_kind(list(cells.values())))
        long[score] = beside.take(pa.array(np.arange(n * m).reshape(m, n).T.reshape(-1)))
        return {column: long[column] for column in columns}

    def column_of(row: int, column: str) -> str:
        return wide[row % m] if column in (score, across) else column

    table = Remade(source, [*kept, across, score], read, lambda row: row // m, column_of)
    return table, across, score


def _free(name: str, taken: Sequence[str]) -> str:
    return _free(f"{name} ", taken) if name in taken else name


def _of_one_kind(columns: list[pa.Array]) -> list[pa.Array]:
    kinds = {cells.type for cells in columns}
    if len(kinds) == 1 and not pa.types.is_integer(next(iter(kinds))):
        return columns
    if all(is_number(kind) or pa.types.is_null(kind) for kind in kinds):
        return [pc.cast(cells, pa.float64()) for cells in columns]
    return [as_text(cells) for cells in columns]


@dataclass(frozen=True)
class Layout:
    """How a table of scores is laid out: what is read of it, and what is said of its columns."""

    source: Table  # without totals, a wide one with a row for each cell
    given: Mapping[str, Any]  # columns by role, see `ReadOptions`
    wide: tuple[str, ...] = ()  # columns that hold the scores of an evaluator each
    notes: tuple[str, ...] = ()  # what was passed over, or taken for something
    left_out: Mapping[str, int] = field(default_factory=dict)  # rows of a campaign, by standing

    def parts(self, hint: Callable[[], str] = str) -> Parts:
        """Return the columns by their roles; an error, with a hint, for one that is not there."""
        return assigned(
            self.source, self.given, str if self.wide else hint, other_words=not self.wide
        )


def laid_out(table: Any, **reading: Unpack[ReadOptions]) -> Layout:
    """Return how a table of scores is laid out, before a score is read: the one answer to what is
    a header, a title, a total, and a column of scores.
    """
    wide, scored = reading.get("wide", False), reading.get("scored", True)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide= is True, False or a list of columns; got {wide!r}")
    grades = grades_in(words) if (words := reading.get("grades")) is not None else {}
    given = given_roles(reading)
    whole = open_table(table, "scores")
    source, left_out = _counted(whole, given)
    source, totals = _without_totals(source)
    copies = ""
    if reading.get("copies") == "drop":
        source, copies = _without_copies(source)
    if wants_lengths(reading):
        given["attributes"] = lengths_of(source, given)
    by_name = partial(by_words, roles=("option", "evaluator"))
    guess = turn = ""
    if not wide and scored and not any(is_there(source, given, r) for r in ("score", "rival")):
        found = {role: c for c, role in by_name(source, given).items()}
        wide, guess = _guessed_wide(source, given | found, grades)
    columns: tuple[str, ...] = ()
    if wide:
        found = {role: c for c, role in by_name(source, given).items()}
        given |= {role: c for role, c in found.items() if wide is True or c not in (wide or ())}
        source, columns, turn = _turned(source, wide, given, grades)
    if not scored and not is_there(source, given, "score"):
        del given["score"]
    notes = tuple(filter(None, [*whole.notes, totals, copies, guess, turn]))
    return Layout(source, given, columns, notes, left_out)


def exported(source: Table) -> bool:
    """Tell whether a campaign exported a table: a row for each time that somebody was asked."""
    return set(source.columns) >= _EXPORTED and set(source.texts(_STANDING)) <= set(_KNOWN)


def _counted(source: Table, given: Mapping[str, Any]) -> tuple[Table, dict[str, int]]:
    """Return a table without what does not count, if a campaign exported it, and how many rows that
    is, by their standing; else as it is.
    """
    if not exported(source) or _STANDING in map(str, given.values()):
        return source, {}
    standing = source.texts(_STANDING)
    found = Counter(standing)
    left_out = {name: found[name] for name in _KNOWN[1:] if found[name]}
    if not left_out:
        return source, {}
    return _selected(source, np.array([one == _KNOWN[0] for one in standing])), left_out


def _without_copies(source: Table) -> tuple[Table, str]:
    """Return a table with one of all rows that are the same in every cell, and what is left out."""
    columns = [column for column in source.columns if column]
    keys = np.stack([coded(c)[1] for c in source.read(columns, columns).values()], axis=1)
    first = np.zeros(len(keys), dtype=np.bool_)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    n = int((~first).sum())
    are, left = ("row is a copy", "is") if n == 1 else ("rows are copies", "are")
    said = f"{n:,} {are} of another in every cell, and {left} left out, as copies='drop' says."
    return (_selected(source, first), said) if n else (source, "")


def _without_totals(source: Table) -> tuple[Table, str]:
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
        if last < n and _adds_up(source, [c for c in columns if c != first], last):
            said = listed([str(name) for name in ends[last - n :]])
            where = ", ".join(source.where(list(range(last, n))))
            kept = _selected(source, np.arange(n) < last)
            return kept, f"{where}, {said}, is taken for totals and left out."
    return source, ""


def _adds_up(source: Table, columns: Sequence[str], last: int) -> bool:
    """Whether a line has the mean, the sum or the median of what stands above, or lacks a name that
    the others have.
    """
    for texts in (found for column in columns if (found := texts_in(source, column))):
        above = [text for text in texts[:last] if text]
        numbers = [value for text in above if (value := loose_number(text)) is not None]
        own = loose_number(texts[last] or "")
        if numbers and len(numbers) == len(above):
            means = np.array([np.mean(numbers), np.sum(numbers), np.median(numbers)])
            near = 0.06 * np.maximum(1.0, np.abs(means) * 0.1)
            if own is not None and bool((np.abs(own - means) <= near).any()):
                return True
        elif texts[last] is None and len(above) == last:
            return True
    return False


def _guessed_wide(
    source: Table, given: Mapping[str, Any], grades: Mapping[str, float]
) -> tuple[bool | list[str], str]:
    """Return the columns that hold the scores of an evaluator each (on an item each, where there is
    a column of evaluators), if there is no column of scores and this is plain, and what is to be
    said; False else.
    """
    if any(given.get(role) not in (role, None) for role in ("item", "score", "rival")):
        return False, ""
    if any(role in source.columns for role in ("rival", "item")):
        return False, ""
    known = _named_columns(given)
    others = [c for c in source.columns if c and c not in known and not is_beside(c)]
    found, counts = {}, list[str]()
    unnamed = given.get("option") == "option" and "option" not in source.columns
    for column in others[1:] if unnamed else others:
        texts = texts_in(source, column)
        if texts and _counts(source, column):
            counts.append(column)
        elif share_of_marks(texts, grades) > _MARKS:
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
    whose = "on an item" if who is None or who in source.columns else "of an evaluator"
    return list(found), (
        f"There is no column of scores; {shown(list(found))} hold numbers and are read as the "
        f"scores {whose} each. If not, say which are: wide=[…]."
        + (f" Numbers that count the rows are left out: {shown(counts)}." if counts else "")
    )


def _named_columns(given: Mapping[str, Any]) -> set[str]:
    """Return the columns that were named, but for that of the scores."""
    return {column for role, value in given.items() if role != "score" for column in named(value)}


def _counts(source: Table, column: str) -> bool:
    """Whether a column numbers the rows."""
    numbers = plain_numbers(as_text(source.cells(column)))
    return numbers is not None and len(numbers) > 2 and bool((np.diff(numbers) == 1).all())


def _turned(
    source: Table,
    wide: bool | Sequence[str],
    given: dict[str, Any],
    grades: Mapping[str, float],
) -> tuple[Table, tuple[str, ...], str]:
    """Return a wide table as a long one, with its new columns put among those that were named; the
    columns that were turned; and which were left out.
    """
    free = [r for r in _ACROSS if given.get(r) not in source.columns]
    across = next((r for r in free if r != "evaluator" or given[r] is not None), None)
    if across is None:
        raise InputError(
            f"{source.name}: option=, evaluator= and item= all have a column, so wide= has nothing "
            "to turn; leave wide= out, or leave one of them out for the columns to be it"
        )
    asked = given.get(across)
    if asked not in (None, across):
        raise InputError(f"{across}={asked!r}: {no_such_column(source, str(asked))}")
    if across != "option" and given["option"] == "option" and "option" not in source.columns:
        given["option"] = _first_names(source)
    known = _named_columns(given)
    beside: list[str] = []
    if isinstance(wide, bool):
        columns = [c for c in source.columns if c and c not in known]
        cells = {c: texts_in(source, c) for c in columns}
        beside = [
            c
            for c, own in cells.items()
            if is_total(c) or (own and not share_of_marks(own, grades))
        ]
        if len(columns) - len(beside) > 1:
            columns = [c for c in columns if c not in beside]
        hint = "name those with scores: wide=['…', '…']"
    else:
        columns = [wide] if isinstance(wide, str) else list(wide)
        hint = "name others"
    for column in columns:
        if column not in source.columns:
            raise InputError(f"wide=: {no_such_column(source, column)}")
        if column in known - set(BY_NAME):
            raise InputError(f"{source.name}: column {column!r} is named in wide= and elsewhere")
    if len(columns) < 2:
        raise InputError(
            f"{source.name}: wide= needs two columns of scores or more, and there "
            f"{'is' if columns else 'are'} {listed(columns) or 'none'}; {hint}"
        )
    table, given[across], given["score"] = _long(source, columns, across)
    left = set(beside) - set(columns)
    said = f"Left out, as they hold no scores: {shown(beside)}." if left else ""
    return table, tuple(columns), said


def _first_names(source: Table) -> str:
    """Return the first column, where names stand; refuse one with numbers, which may be scores."""
    first = source.columns[0]
    if range_of(source, first) is not None:
        raise InputError(
            f"{source.name}: column {first!r} comes first and holds numbers, which may be scores; "
            "say which column names the options: option= (names in the index of a frame: give "
            "frame.reset_index())"
        )
    return first


def range_of(source: Table, column: str) -> tuple[float, float] | None:
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


def wants_lengths(reading: ReadOptions) -> bool:
    """Whether lengths are to be looked for."""
    asked = bool(reading.get("lengths")) and reading.get("attributes") is None
    return asked and not reading.get("wide")


def lengths_of(source: Table, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the column with the lengths of answers, where all were compared with one baseline."""
    both, own = ("length", "rival_length"), [given["option"], given["rival"], given["item"]]
    if not all(isinstance(c, str) and c in source.columns for c in (*both, *own)):
        return ()
    cells, names = source.read([*own[:2], *both]), dict[str, int]()
    first, second = (coded_among(cells[column], names) for column in own[:2])
    if any(cells[c].null_count for c in both) or min(first.min(), second.min()) < 0:
        return ()
    return () if baseline_in(first, second, len(names)) is None else both[:1]
