"""How a table of scores is laid out: wide or long, and what is no row.

Wide tables have a row for each option and a column for each evaluator, or for each item or
criterion: they are read as long ones, with a row for each cell. Lines of totals, copies, and what
was withdrawn or came late in a campaign are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.errors import InputError, Remedy
from evenhand.scores.criteria import weights_in
from evenhand.scores.find import (
    Found,
    Parts,
    columns_in,
    counts_rows,
    evaluators_across,
    is_thing,
    parts_of,
    range_of,
    shown,
    tells_apart,
    words_in,
)
from evenhand.scores.grades import grades_in, share_of_marks
from evenhand.scores.roles import ROLES, THINGS, ReadOptions, roles_said
from evenhand.scores.scores import baseline_in
from evenhand.tables.cells import as_text, coded, coded_among, is_number
from evenhand.tables.columns import Table, no_such_column
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

_ACROSS = ("evaluator", "option", "item")  # what columns may be: the first that has none
_STANDING = "standing"
_EXPORTED = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")
_MARKS = 0.5  # share of cells that may be scores, of a column that holds an evaluator's
_NUMBERS = "as numbers of rows"
_DERIVED, _NONE = "as worked out of others", "as they hold no scores"
_ADDRESS = re.compile(r"\S+@\S+[.]\S+")


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
    said: Mapping[str, Any]  # columns by role, as they were said
    scored: bool = True  # whether there must be scores
    wide: tuple[str, ...] = ()  # columns that hold the scores of an evaluator each
    read_as: Mapping[str, str] = field(default_factory=dict)  # columns that nobody named, by role
    notes: tuple[str, ...] = ()  # what was passed over, or taken for something
    left_out: Mapping[str, int] = field(default_factory=dict)  # rows of a campaign, by standing

    @property
    def parts(self) -> Parts:
        """The columns by their roles; an error for one that is not there."""
        found = parts_of(self.source, self.said, by_name=not self.wide, scored=self.scored)
        return replace(found, read_as={**self.read_as, **found.read_as})


def laid_out(table: Any, **reading: Unpack[ReadOptions]) -> Layout:
    """Return how a table of scores is laid out, before a score is read."""
    wide, scored = reading.get("wide", False), reading.get("scored", True)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide is True, False or a list of columns; got {wide!r}")
    grades = grades_in(words) if (words := reading.get("grades")) is not None else {}
    said = roles_said(reading)
    whole = open_table(_with_index(table), "scores")
    source, left_out = _counted(_with_corner(whole, said), said)
    totals = ""
    if (end := totals_at_end(source)) is not None:
        source, totals = _selected(source, np.arange(source.n_rows) < end[0]), end[1]
    copies = ""
    if reading.get("copies") == "drop":
        source, copies = _without_copies(source)
    if wants_lengths(reading):
        said["attributes"] = lengths_of(source, said)
    found = Found(source, said, strict=not wide)
    sure = {role: column for column, role in found.by_words().items()}
    weights = weights_in(reading.get("criteria"))
    guess, turn, columns = "", "", tuple[str, ...]()
    across, read_as = None, dict[str, str]()
    if weights and "criterion" not in sure and not found.has("criterion"):
        across, wide = "criterion", list(weights)
    elif not (
        wide
        or any(map(found.has, ("score", "rival")))
        or {"score", "rival"} & sure.keys()
        or found.directed()
    ):
        wide, guess = _guessed_wide(source, said | sure, grades) if scored else (False, "")
    if wide:
        named = {*columns_in(wide)}
        of_both = {c: r for r, c in sure.items() if r in ("option", "evaluator")}
        beside = Found(source, said).sure if across else of_both
        read_as = {c: r for c, r in beside.items() if c not in named and r != "score"}
        said |= {r: c for c, r in read_as.items()}
        source, columns, turn = _turned(source, wide, said, grades, across)
    notes = tuple(filter(None, (*whole.notes, totals, copies, guess, turn)))
    return Layout(source, said, scored, columns, read_as, notes, left_out)


def _with_index(table: Any) -> Any:
    """Return a frame whose index, if it has a name, is a column."""
    index = [name for name in getattr(getattr(table, "index", None), "names", ()) if name]
    return table.reset_index() if index and not {*index} & {*table.columns} else table


def exported(source: Table) -> bool:
    """Tell whether a campaign exported a table: a row for each time that somebody was asked."""
    return set(source.columns) >= _EXPORTED and set(source.texts(_STANDING)) <= set(_KNOWN)


def _counted(source: Table, said: Mapping[str, Any]) -> tuple[Table, dict[str, int]]:
    """Return the rows of a campaign's export that count, and how many do not, by standing."""
    if not exported(source) or _STANDING in map(str, said.values()):
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
    said = f"{n:,} {are} of another in every cell, and left out."
    return (_selected(source, first), said) if n else (source, "")


def _with_corner(source: Table, said: Mapping[str, Any]) -> Table:
    """Return a table whose first column names the options where it has names, and none itself."""
    corner = "option"
    if source.columns[0] or Found(source, said, strict=False).has(corner):
        return source

    def before(column: str) -> str:
        return "" if column == corner else column

    columns = [corner, *source.columns[1:]]
    named = _remade(
        source, columns, lambda c: source.read([before(c)])[before(c)], int, lambda _, c: before(c)
    )
    return source if range_of(named, corner) is not None else named


def _guessed_wide(
    source: Table, said: Mapping[str, Any], grades: Mapping[str, float]
) -> tuple[bool | list[str], str]:
    """Return columns that hold an evaluator's scores each, if that is plain, and a note."""
    if any(said.get(role) or role in source.columns for role in ("item", "score", "rival")):
        return False, ""
    known = {c for value in said.values() for c in columns_in(value)} | {"option", "evaluator"}
    if not said.get("option") and "option" not in source.columns:
        known |= {source.columns[0]}  # where names stand
    columns = {
        c: own for c in source.columns if c and c not in known if (own := texts_in(source, c))
    }
    texts = {
        column: own
        for column, own in columns.items()
        if not is_beside(column) and " ".join(words_in(column)) not in THINGS
    }
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
    who = said.get("evaluator", "evaluator")
    whose = "an evaluator" if said.get("evaluator", "") is not None else "somebody unknown"
    by_person = who in source.columns and _names_rows(source, who) and "option" not in said
    if by_person and "option" not in source.columns:
        whose = "an option"
    elif who in source.columns:
        if any(
            tells_apart(source, [who, c]) for c in source.columns if c and c not in (who, *found)
        ):
            raise InputError(
                f"{source.name}: {shown(found)} hold numbers, in rows of what one evaluator judged",
                Remedy("criteria", dict.fromkeys(found, 1), "with weights, if they are criteria"),
                Remedy("wide", found, "if they are items, on which options were tried"),
                Remedy("columns", {"score": ...}, "if one of them is the score"),
            )
        return False, ""  # rows are scores, and not what an evaluator scored
    elif not (whose == "an option" or said.get("evaluator", "") is None):
        _refuse_rows(source, said, found)
    _refuse_crossed(source, found)
    counts = [column for column in counts if column not in found]
    derived += [column for column in columns if is_summed(column)]
    others = [
        c
        for c, own in columns.items()
        if c not in texts and c not in derived and share_of_marks(own, {})
    ]
    return found, (
        f"There is no column of scores; {shown(found)} hold numbers and are read as the scores of "
        f"{whose} each. If not, say which are (wide). "
        + _left_out({_NUMBERS: counts, _DERIVED: derived, _NONE: others})
    ).strip()


def _refuse_rows(source: Table, said: Mapping[str, Any], wide: Sequence[str]) -> None:
    """Refuse rows of which several are of one option, where another column tells these apart."""
    option = said.get("option") or ("option" if "option" in source.columns else source.columns[0])
    others = [c for c in source.columns if c and c not in (option, *wide)]
    beside = next((c for c in others if tells_apart(source, [option, c])), None)
    if beside is None:
        return
    known = "option" in said or option == "option"
    some = f"{source.name}: several rows are of one {option!r}, which {beside!r} tells apart"
    what = Remedy("columns", {"option": ...}, "with what was scored, and the other as its item")
    who = Remedy("columns", {"evaluator": beside}, "if they gave the scores")
    item = Remedy("columns", {"item": beside}, "if options were tried on these")
    who_ = () if is_thing(beside) or evaluators_across(source) else (who,)
    raise InputError(some, *((*who_, item) if known else (what,)))


def _names_rows(source: Table, column: str) -> bool:
    """Whether every row has a name of its own in a column."""
    (codes,) = (coded(cells)[1] for cells in source.read([column]).values())
    return len(np.unique(codes)) == len(codes)


def _left_out(columns: Mapping[str, Sequence[str]]) -> str:
    """Say which columns are left out, by what they hold."""
    return " ".join(f"Left out, {what}: {shown(some)}." for what, some in columns.items() if some)


def _turned(
    source: Table,
    wide: bool | str | Sequence[str],
    said: dict[str, Any],
    grades: Mapping[str, float],
    across: str | None,
) -> tuple[Table, tuple[str, ...], str]:
    """Return a wide table as a long one, the columns that were turned, and those left out."""
    if isinstance(wide, str) and wide in _ACROSS and wide not in source.columns:
        across, wide = wide, True
    free = [r for r in _ACROSS if (said.get(r) or r) not in source.columns]
    across = across or next(iter(free), None)
    if across is None:
        raise InputError(
            f"{source.name}: option, evaluator and item all have a column, so that wide has "
            "nothing to turn; leave it or one of them out"
        )
    asked, nobody = said.get(across), across == "evaluator" and said.get(across, "") is None
    if asked is not None:
        raise InputError(f"{across}={asked!r}: {no_such_column(source, str(asked))}")
    if across != "option" and not said.get("option") and "option" not in source.columns:
        said["option"] = _first_names(source)
    known = {c for r, value in said.items() if r != "score" for c in columns_in(value)}
    called = {r for r, own in ROLES.items() if not own.asked and r != "score" and r not in said}
    beside, derived, numbered = list[str](), list[str](), list[str]()
    if isinstance(wide, bool):
        columns = [c for c in source.columns if c and c not in known and c not in called]
        cells = {c: texts_in(source, c) for c in columns}
        counted = [c for c in columns if counts_rows(source, c)]
        numbers = [numbers_in(cells[c]) for c in counted]
        in_order = [own[0] <= 1.0 and (np.diff(own) == 1.0).all() for own in numbers]
        numbered = counted if in_order == [True] else []  # else all are ranks or marks
        numbered += [c for c in columns if words_in(c)[-1:] == ("id",) and c not in numbered]
        beside = [
            c
            for c, own in cells.items()
            if is_summed(c) or c in numbered or (own and not share_of_marks(own, grades))
        ]
        derived = worked_out({c: own for c, own in cells.items() if c not in beside})
        columns = [c for c in columns if c not in numbered]
        if len({*columns} - {*beside, *derived}) > 1:
            columns = [c for c in columns if c not in beside and c not in derived]
        if across == "evaluator":
            _refuse_crossed(source, columns)
    else:
        columns = [wide] if isinstance(wide, str) else list(wide)
    what = "criteria" if across == "criterion" else "wide"
    for column in columns:
        if column not in source.columns:
            raise InputError(f"{what}: {no_such_column(source, column)}")
        if column in known:
            raise InputError(f"{source.name}: column {column!r} is named in {what} and elsewhere")
    if len(columns) < 2 and what == "wide":
        raise InputError(
            f"{source.name}: a wide table has two columns of scores or more, and there "
            f"{'is' if columns else 'are'} {listed(columns) or 'none'}",
            Remedy("wide", ..., "with those that hold scores"),
        )
    table, name, said["score"] = _long(source, columns, across)
    said[across] = None if nobody else name
    derived += [column for column in beside if is_summed(column)]
    left = {
        _NUMBERS: numbered,
        _NONE: [c for c in beside if c not in (*derived, *numbered)],
        _DERIVED: derived,
    }
    whose = f"{shown(columns)} are read as the scores of an {across} each."
    said_ = [whose] if numbered else []
    said_ += [_left_out(left)] if {*beside, *derived} - {*columns} else []
    return table, tuple(columns), " ".join(said_)


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
                "and criteria; give a row for each review, with columns option and evaluator and "
                "one for each criterion",
                Remedy("wide", some, "and the like, for the columns of one criterion alone"),
                Remedy("wide", list(columns), "if all are evaluators"),
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
            "form with a line for each person",
            Remedy("columns", {"evaluator": who}, "if they scored the others"),
            Remedy("columns", {"option": first}, "if they are what was scored"),
        )
    if range_of(source, first) is not None:
        raise InputError(
            f"{source.name}: column {first!r} comes first and holds numbers, which may be scores; "
            "an index becomes a column by frame.reset_index()",
            Remedy("columns", {"option": ...}, "with the column of the options"),
        )
    return first


def wants_lengths(reading: ReadOptions) -> bool:
    """Whether lengths are to be looked for."""
    asked = (
        bool(reading.get("lengths")) and (reading.get("columns") or {}).get("attributes") is None
    )
    return asked and not reading.get("wide")


def lengths_of(source: Table, said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the column with the lengths of answers, where all were compared with one baseline."""
    found = {r: c for c, r in Found(source, said, strict=False).by_words().items()}
    both = ("length", "rival_length")
    own = [said.get(role) or found.get(role, role) for role in ("option", "rival", "item")]
    if not all(isinstance(c, str) and c in source.columns for c in (*both, *own)):
        return ()
    cells, names = source.read([*own[:2], *both]), dict[str, int]()
    first, second = (coded_among(cells[column], names) for column in own[:2])
    if any(cells[c].null_count for c in both) or min(first.min(), second.min()) < 0:
        return ()
    return () if baseline_in(first, second, len(names)) is None else both[:1]
