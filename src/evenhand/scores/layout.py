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
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.scores.grades import grades_in, share_of_marks
from evenhand.scores.roles import BY_NAME, NEEDED, ROLES, ReadOptions, counts_repeats
from evenhand.scores.scores import Codes, baseline_in, crossed, first_repeated
from evenhand.tables.cells import as_text, coded, coded_among, is_number
from evenhand.tables.columns import Table, found_columns, no_such_column
from evenhand.tables.office import (
    holds_marks,
    is_beside,
    is_summed,
    numbers_in,
    texts_in,
    totals_at_end,
    worked_out,
)
from evenhand.tables.opened import open_table
from evenhand.tables.texts import is_date, listed

_WORDED = [role.name for role in ROLES.values() if role.words]
_ACROSS = ("evaluator", "option", "item")  # what columns may be: the first that has none
_STANDING = "standing"
_EXPORTED = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")
_MARKS = 0.5  # share of cells that may be scores, of a column that holds an evaluator's
_DERIVED, _NONE = "as worked out of others", "as they hold no scores"
_ADDRESS = re.compile(r"\S+@\S+[.]\S+")
_FIRST = 10_000  # rows that show what a column holds


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
    items = kept.get("item", ())
    if len(items) > 1 and (again := [column for column in items if counts_repeats(column)]):
        rest = ", ".join(repr(column) for column in items if column not in again) or None
        raise InputError(
            f"{source.name}: {shown(again)} counts how often the same was asked, and is no item: "
            f"say item={rest}, repeats=True (if it tells apart what was judged, rename it)"
        )
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
    """Return columns with the roles that they have by a synonym, unless several may have one."""
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
    """Return columns of groups, as 'Country' beside 'JCountry'; none where several pairs fit."""
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
    return [coded(cells)[1] for cells in source.read(columns).values()]


def tells_apart(source: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows are the same in some columns, and some are in each of them."""
    codes = _codes(source, columns)
    again = all(first_repeated(own) is not None for own in codes)
    return again and first_repeated(*codes) is None


def _differ(source: Table, columns: Sequence[str]) -> bool:
    """Whether columns do not name the same things, each in its own way."""
    codes = np.stack(_codes(source, columns))
    return len({np.unique(own, axis=1).shape[1] for own in (*codes[:, None], codes)}) > 1


def shown(columns: Sequence[str]) -> str:
    """Return columns for a message."""
    return ("columns " if len(columns) > 1 else "column ") + listed(columns, 6)


def _remade(
    source: Table,
    columns: Sequence[str],
    read: Callable[[str], pa.Array],
    row_of: Callable[[int], int],
    column_of: Callable[[int, str], str],
) -> Table:
    """Return a table with rows of another, or several rows for each, of which places are known."""
    where, origin = source.where, source.origin  # and not the table, which is large
    table = Table(
        source.name,
        columns,
        read,
        lambda rows: where([*map(row_of, rows)]),
        lambda row: origin(row_of(row)),
        column_of,
    )
    table.is_text, table.commas_are_free = source.is_text, source.commas_are_free
    return table


def _selected(source: Table, kept: NDArray[np.bool_]) -> Table:
    """Return a table without some of its rows."""
    rows = np.flatnonzero(kept)
    taken = pa.array(rows)

    def read(column: str) -> pa.Array:
        return source.read([column])[column].take(taken)

    return _remade(source, source.columns, read, lambda row: int(rows[row]), source.column_of)


def _long(source: Table, wide: Sequence[str], across: str) -> tuple[Table, str, str]:
    """Return a wide table with a row for each cell, and its columns of names and scores."""
    m, kept = len(wide), [column for column in source.columns if column not in wide]
    across, score = _free(across, kept), _free("score", kept)
    n = source.n_rows

    def read(column: str) -> pa.Array:
        if column == across:
            codes = pa.array(np.tile(np.arange(m, dtype=np.int32), n))
            return pa.DictionaryArray.from_arrays(codes, pa.array(wide))
        if column == score:
            beside = pa.concat_arrays(_of_one_kind(list(source.read(wide).values())))
            return beside.take(pa.array(np.arange(n * m).reshape(m, n).T.reshape(-1)))
        return source.read([column])[column].take(pa.array(np.repeat(np.arange(n), m)))

    def column_of(row: int, column: str) -> str:
        return wide[row % m] if column in (score, across) else column

    table = _remade(source, [*kept, across, score], read, lambda row: row // m, column_of)
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
    """Return how a table of scores is laid out, before a score is read."""
    wide, scored = reading.get("wide", False), reading.get("scored", True)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide= is True, False or a list of columns; got {wide!r}")
    grades = grades_in(words) if (words := reading.get("grades")) is not None else {}
    given = given_roles(reading)
    whole = open_table(table, "scores")
    source, left_out = _counted(_with_corner(whole, given), given)
    totals = ""
    if (end := totals_at_end(source)) is not None:
        source, totals = _selected(source, np.arange(source.n_rows) < end[0]), end[1]
    copies = ""
    if reading.get("copies") == "drop":
        source, copies = _without_copies(source)
    if wants_lengths(reading):
        given["attributes"] = lengths_of(source, given)
    guess, turn, columns = "", "", tuple[str, ...]()
    long = any(is_there(source, given, role) for role in ("score", "rival")) or not scored
    if wide or not long:
        found = {role: c for c, role in by_words(source, given, ("option", "evaluator")).items()}
        if not wide:
            wide, guess = _guessed_wide(source, given | found, grades)
        if wide:
            given |= {role: c for role, c in found.items() if wide is True or c not in wide}
            source, columns, turn = _turned(source, wide, given, grades)
    if not scored and not is_there(source, given, "score"):
        del given["score"]
    said = *whole.notes, totals, copies, guess, turn
    return Layout(source, given, columns, tuple(filter(None, said)), left_out)


def exported(source: Table) -> bool:
    """Tell whether a campaign exported a table: a row for each time that somebody was asked."""
    return set(source.columns) >= _EXPORTED and set(source.texts(_STANDING)) <= set(_KNOWN)


def _counted(source: Table, given: Mapping[str, Any]) -> tuple[Table, dict[str, int]]:
    """Return the rows of a campaign's export that count, and how many do not, by standing."""
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
    keys = np.stack([coded(c)[1] for c in source.read(columns).values()], axis=1)
    first = np.isin(np.arange(len(keys)), np.unique(keys, axis=0, return_index=True)[1])
    n = int((~first).sum())
    are = "row is a copy" if n == 1 else "rows are copies"
    said = f"{n:,} {are} of another in every cell, and left out, as copies='drop' says."
    return (_selected(source, first), said) if n else (source, "")


def _with_corner(source: Table, given: Mapping[str, Any]) -> Table:
    """Return a table whose first column names the options where it has names, and none itself."""
    corner = "option"
    if source.columns[0] or given[corner] != corner or is_there(source, given, corner):
        return source

    def before(column: str) -> str:
        return "" if column == corner else column

    columns = [corner, *source.columns[1:]]
    named = _remade(
        source, columns, lambda c: source.read([before(c)])[before(c)], int, lambda _, c: before(c)
    )
    return source if range_of(named, corner) is not None else named


def _guessed_wide(
    source: Table, given: Mapping[str, Any], grades: Mapping[str, float]
) -> tuple[bool | list[str], str]:
    """Return columns that hold an evaluator's scores each, if that is plain, and a note."""
    if any(given.get(role) not in (role, None) for role in ("item", "score", "rival")):
        return False, ""
    if any(role in source.columns for role in ("rival", "item")):
        return False, ""
    known = _named_columns(given)
    if given.get("option") == "option" and "option" not in source.columns:
        known |= {source.columns[0]}  # where names stand
    columns = {
        c: own for c in source.columns if c and c not in known if (own := texts_in(source, c))
    }
    texts = {column: own for column, own in columns.items() if not is_beside(column)}
    shares = {c: share for c, own in texts.items() if (share := share_of_marks(own, grades))}
    numbers = {column: numbers_in(texts[column]) for column in shares}
    some = {column: own[np.isfinite(own)] for column, own in numbers.items()}
    ends = {c: (own.min(), own.max()) if len(own) else (0.0, 0.0) for c, own in some.items()}
    counts = [c for c, own in numbers.items() if len(own) > 2 and (np.diff(own) == 1.0).all()]
    sure = [c for c in ends if c not in counts and shares[c] > _MARKS]
    order = 1.0 + np.arange(len(next(iter(texts.values()), ())))
    if sure and all(np.array_equal(np.sort(numbers[c]), order) for c in sure):
        sure, counts = [c for c in ends if c in sure or c in counts], []  # an order, too
    derived = worked_out({column: texts[column] for column in sure})
    found = [column for column in sure if column not in derived]
    if len(found) < 2 or holds_marks(found):  # a table without a header: not its first line
        return False, ""
    low, high = (float(np.median([ends[column][i] for column in found])) for i in (0, 1))
    room = max(high - low, 1e-9)
    fits = [c for c in ends if low - room <= ends[c][0] and ends[c][1] <= high + room]
    if not {*found} <= {*fits}:
        return False, ""
    # Nobody numbers rows from 3, and marks among other words are marks.
    found = [c for c in fits if c not in derived and (c not in counts or ends[c][0] > 1.0)]
    who = given.get("evaluator")
    if who in source.columns and not any(
        tells_apart(source, [who, c]) for c in source.columns if c and c not in (who, *found)
    ):  # rows are scores, and not what an evaluator scored
        return False, ""
    whose = "on an item" if who is None or who in source.columns else "of an evaluator"
    if whose == "of an evaluator":
        _refuse_crossed(source, found)
    counts = [column for column in counts if column not in found]
    derived += [column for column in columns if is_summed(column)]
    others = [
        c
        for c, own in columns.items()
        if c not in texts and c not in derived and share_of_marks(own, {})
    ]
    return found, (
        f"There is no column of scores; {shown(found)} hold numbers and are read as the "
        f"scores {whose} each. If not, say which are: wide=[…]. "
        + _left_out({"as numbers of rows": counts, _DERIVED: derived, _NONE: others})
    ).strip()


def _left_out(columns: Mapping[str, Sequence[str]]) -> str:
    """Say which columns are left out, by what they hold."""
    return " ".join(f"Left out, {what}: {shown(some)}." for what, some in columns.items() if some)


def _named_columns(given: Mapping[str, Any]) -> set[str]:
    """Return the columns that were named, but for that of the scores."""
    return {column for role, value in given.items() if role != "score" for column in named(value)}


def _turned(
    source: Table, wide: bool | Sequence[str], given: dict[str, Any], grades: Mapping[str, float]
) -> tuple[Table, tuple[str, ...], str]:
    """Return a wide table as a long one, the columns that were turned, and those left out."""
    free = [r for r in _ACROSS if given.get(r) not in source.columns]
    across = next((r for r in free if r != "evaluator" or given[r] is not None), None)
    if across is None:
        raise InputError(
            f"{source.name}: option=, evaluator= and item= all have a column, so wide= has nothing "
            "to turn; leave wide= or one of them out"
        )
    asked = given.get(across)
    if asked not in (None, across):
        raise InputError(f"{across}={asked!r}: {no_such_column(source, str(asked))}")
    if across != "option" and given["option"] == "option" and "option" not in source.columns:
        given["option"] = _first_names(source)
    known = _named_columns(given)
    beside, derived = list[str](), list[str]()
    if isinstance(wide, bool):
        columns = [c for c in source.columns if c and c not in known]
        cells = {c: texts_in(source, c) for c in columns}
        beside = [
            c
            for c, own in cells.items()
            if is_summed(c) or (own and not share_of_marks(own, grades))
        ]
        derived = worked_out({c: own for c, own in cells.items() if c not in beside})
        if len(columns) - len(beside) - len(derived) > 1:
            columns = [c for c in columns if c not in beside and c not in derived]
        if across == "evaluator":
            _refuse_crossed(source, columns)
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
    derived += [column for column in beside if is_summed(column)]
    left = {_NONE: [c for c in beside if c not in derived], _DERIVED: derived}
    return table, tuple(columns), _left_out(left) if {*beside, *derived} - {*columns} else ""


def _refuse_crossed(source: Table, columns: Sequence[str]) -> None:
    """Refuse columns that are evaluators by what they judged, as 'R1 Rigour', or so they look."""
    words = [re.split(r"\s*[-_:/|,.]\s*|\s+", column.strip()) for column in columns]
    if len(columns) < 3 or min(map(len, words)) < 2:
        return
    for cut in (1, -1):
        pairs = [(" ".join(own[:cut]), " ".join(own[cut:])) for own in words]
        n_first, n_last = (len({pair[i] for pair in pairs}) for i in (0, 1))
        if min(n_first, n_last) > 1 and len(columns) > 0.7 * n_first * n_last:
            of = pairs[0][1]
            some = [c for c, pair in zip(columns, pairs, strict=True) if pair[1] == of]
            raise InputError(
                f"{source.name}: {shown(columns)} look like {n_first} × {n_last}, as of evaluators "
                f"and criteria. Say wide= with the columns of one, such as wide={some!r}; "
                "or give a row for each score, with columns option, evaluator, item and score. If "
                "all are evaluators, name all in wide=[…]"
            )


def _first_names(source: Table) -> str:
    """Return the first column, where names stand; refuse numbers, times and addresses."""
    first = source.columns[0]
    texts = {c: [t for t in texts_in(source, c) if t] for c in source.columns[:3] if c}
    kinds = {
        c: {_ADDRESS.fullmatch(t) is not None or (is_date(t) and "time") for t in own}
        for c, own in texts.items()
    }
    if kinds.get(first) in ({True}, {"time"}):
        who = next((c for c, kind in kinds.items() if kind == {True}), first)
        raise InputError(
            f"{source.name}: column {first!r} comes first and holds times or addresses, as of a "
            f"form with a line for each person: say evaluator={who!r}, wide=True; if they are "
            f"what was scored, option={first!r}, wide=True"
        )
    if range_of(source, first) is not None:
        raise InputError(
            f"{source.name}: column {first!r} comes first and holds numbers, which may be scores; "
            "name that of the options, option= (of an index: give frame.reset_index())"
        )
    return first


def range_of(source: Table, column: str) -> tuple[float, float] | None:
    """Return the extremes of the first cells of a column; None if not all are numbers."""
    texts = [text for text in texts_in(source, column)[:_FIRST] if text]
    numbers = numbers_in(texts)
    if not texts or not np.isfinite(numbers).all():
        return None
    return float(numbers.min()), float(numbers.max())


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
