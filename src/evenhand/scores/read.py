"""From a table of any layout to `Scores`.

Each column is read once: names as numbers, marks and grades as scores. What is wrong is noted with
its row, and put into words in `problems`. What is kept of a table is twelve bytes a row or so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.best import Best, checked_best, oriented
from evenhand.errors import InputError
from evenhand.scores import problems
from evenhand.scores.criteria import reviewed, weights_in
from evenhand.scores.find import Parts, looks_wide
from evenhand.scores.grades import Marks, assumed_of, grades_in, read_marks, verdicts_in
from evenhand.scores.layout import Layout, exported, laid_out, lengths_of, wants_lengths
from evenhand.scores.roles import ROLES, Families, ReadOptions, roles_said
from evenhand.scores.scores import (
    Codes,
    Factor,
    Finding,
    Scores,
    crossed,
    taken_together,
    without_own,
)
from evenhand.tables.cells import (
    ColumnScan,
    Missing,
    as_text,
    calendar_dates,
    coded,
    coded_among,
    is_moment,
    is_text,
    moments,
    plain_numbers,
    scanned_together,
)
from evenhand.tables.columns import Table, check_decimal
from evenhand.tables.office import ABOVE
from evenhand.tables.texts import is_absent, listed, parsed, text_of

if TYPE_CHECKING:
    import pandas as pd

_TRUTHS = {"true": "1.0", "false": "0.0"}
_MOST_BESIDE, _MOST_COLUMNS = 200_000, 32  # rows and columns that are kept beside the roles
# Notes that stay when scores are read for more.
_OF_TABLES = ("log", "table", "marks", "column", "standing", "far", "missing")


def read_table(
    table: Any,
    *,
    families: Families | None = None,
    said: Iterable[str] = (),
    **reading: Unpack[ReadOptions],
) -> Scores:
    """Return the scores in a table; an `InputError` names row and column of what is wrong."""
    scale, direction = oriented(reading.get("scale"), reading.get("best"))
    repeats, telling = reading.get("repeats", False), reading.get("telling", True)
    for word in ("missing", "copies"):
        if (value := reading.get(word, "refuse")) not in ("refuse", "drop"):
            raise InputError(f"{word} is 'refuse' or 'drop'; got {value!r}")
    check_decimal(reading.get("decimal"))
    grades = grades_in(words) if (words := reading.get("grades")) is not None else {}
    again = table if isinstance(table, Scores) else None
    told: list[str] = []
    best: Best | None
    if again is not None:
        layout, new = _kept(again, direction, reading)
        if not (new or scale) and (again.place is None or (repeats and not telling)):
            return again
        notes = [note for note in again.notes if note.assumption in _OF_TABLES]
        signed, best = True, direction or again.best
    else:
        layout = laid_out(table, **reading)
        told, signed, own = _attributes_of(table)
        best = direction or own
        notes = [Finding.note("log", text) for text in (*said, *told)]
        notes += [Finding.note("table", text) for text in layout.notes]
    source, wide = layout.source, bool(layout.wide)
    if exported(source):
        repeats = True
        if best is None and "best" in source.columns:
            best = checked_best(next(iter(source.texts("best")), None))
    parts = layout.parts
    score, rival, who = (parts.one(role) for role in ("score", "rival", "evaluator"))
    if grades and rival:
        raise InputError(
            "grades are of one option; where two are compared, write first, second or tie"
        )
    if grades and best is not None:
        raise InputError("grades name the best first: leave out best, which is for numbers")
    unclear = best is None and not grades and score and not rival and reading.get("scored", True)
    missing = reading.get("missing") == "drop"
    drop = [*parts.names, *parts.numbers] if missing else []
    drop += parts.all("score") if wide else ()
    read = read_columns(source, parts, reading.get("decimal"), drop, grades)
    if unclear:
        titles = [text for text in layout.notes if text.startswith(ABOVE)]
        titles.append(f"The options are in column {parts.one('option')!r}.")
        columns = layout.wide or parts.all("score")
        problems.refuse_unclear([*titles, *told, *read.marks.notes], columns, source.name)
    scale = scale or read.marks.scale
    found = problems.Problems(source, parts, read, wide=len(layout.wide))
    found.of_columns(drop, grades)
    if score:
        found.of_scores(scale)
    repeats = repeats or found.of_repeats()
    if score and not who and "evaluator" not in layout.said and again is None:
        found.of_unnamed(repeats=repeats and telling)
    found.refuse()
    if rival and direction == "low":
        found.refuse_low_verdicts(logged=signed and again is None)
    if rival and not signed:
        read, scale = problems.leads(found, scale)
    if score:
        found.refuse_untold(telling=telling, scale=scale is not None)
    groups = _groups(layout.said, parts, read, families)
    scores = _scores(parts, read, groups, scale, best or "high")
    found.of_spellings(scores)
    found.refuse()
    if unclear:
        problems.refuse_ranks(scores, source.name)
    notes += [Finding.note("column", text) for text in _read_as(parts)]
    assumed = [assumed_of(grades)] if grades else []
    notes += [Finding.note("marks", text) for text in (*read.notes, *assumed)]
    notes += problems.on_standing(layout.left_out)
    notes += found.far_scores() if scale is None else ()
    lost = 0 if wide or not drop else read.n_rows - len(scores) - read.n_aside
    unused = parts.unused(source)
    by_whom = looks_wide(source, [score, *unused], like=score) if score and not who else []
    by_whom = by_whom if len(scores.option) == len(scores) else []  # rows of options
    notes += problems.notes_on(scores, lost, _n_again(scores) if repeats else 0, by_whom)
    where, rows = source.where, read.rows  # and not the table, which is large
    scores = replace(
        scores,
        grades=grades,
        notes=tuple(dict.fromkeys(notes)),
        beside=_beside(source, unused, read) if reading.get("beside") and not wide else {},
        place=lambda row: where([row if rows is None else int(rows[row])])[0],
    )
    if again is not None:
        kept = again if rows is None else again.among(rows)
        return replace(
            scores,
            called={**again.called, **scores.called},
            **{name: getattr(kept, name) for name in ("grades", "barred", "criteria", "weights")},
        )
    scores = without_own(scores)
    if scores.criterion is None:
        return scores
    return reviewed(scores, weights_in(reading.get("criteria")), drop=missing)


def _read_as(parts: Parts) -> list[str]:
    """Say what columns are read as that nobody named."""
    worded = {column: role for column, role in parts.read_as.items() if column.lower() != role}
    said = ", ".join(f"{column!r} is read as {role!r}" for column, role in worded.items())
    return [f"By names and what repeats with what, {said}."] if said else []


def _kept(scores: Scores, direction: Best | None, reading: ReadOptions) -> tuple[Layout, bool]:
    """Return the layout of scores that were read before, and whether something new is asked."""
    for word in ("wide", "grades", "criteria"):
        if reading.get(word):
            raise InputError(f"{word} is for tables, and these are scores; say it to read_scores")
    if direction == "low" and scores.grades:
        raise InputError("these scores are grades, the best of them highest: leave out best")
    table = Kept(scores)
    said, new = table.said(roles_said(reading))
    if wants_lengths(reading) and not said.get("attributes"):
        said["attributes"] = lengths_of(table, said)
        new = new or bool(said["attributes"])
    return Layout(table, said), new or direction not in (None, scores.best)


def _attributes_of(table: Any) -> tuple[list[str], bool, Best | None]:
    """Return a frame's notes, whether it is ours (signed), and which scores are best."""
    said = getattr(table, "attrs", {})
    notes = [text for text in said.get("notes", ()) if isinstance(text, str)]
    return notes, bool(said.get("signed")), checked_best(said.get("best"))


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
    # by role (option, evaluator): the group of each name, where a column has them
    members: Mapping[str, Codes]
    torn: tuple[Torn, ...]  # names with two groups
    n_rows: int  # of the table
    rows: NDArray[np.int64] | None  # (n,) those that were kept; None where all were
    marks: Marks  # what was done to scores
    n_aside: int  # rows of those who stood aside
    barred: tuple[tuple[str, str], ...]  # options and evaluators in these
    notes: tuple[str, ...]

    def row(self, position: int) -> int:
        """Return the row of the table behind a row that was kept."""
        return position if self.rows is None else int(self.rows[position])


def read_columns(
    source: Table,
    parts: Parts,
    decimal: str | None,
    drop: Sequence[str],
    grades: Mapping[str, float],
) -> Columns:
    """Read the columns of a table of scores."""
    groupings = {  # a column of groups, of which names, and what these are
        group: (of, "evaluator" if part == "evaluator" else "option")
        for part in ("option", "rival", "evaluator")
        if (group := parts.one(f"{part}_group")) and (of := parts.one(part))
    }
    texts = [*parts.names, *groupings]
    cells = source.read(dict.fromkeys([*texts, *parts.numbers]))
    n = len(next(iter(cells.values())))
    score, rival, marks = parts.one("score"), parts.one("rival"), Marks()
    gone = np.zeros(n, dtype=np.bool_)
    if score:
        cells[score], marks, gone = _marked(cells, score, parts, grades)
    of_numbers = {c: _plain(cells.pop(c)) for c in parts.numbers}
    aside, rows = gone.copy(), None
    who, option = parts.one("evaluator"), str(parts.one("option"))
    barred: list[tuple[str, str]] = []
    if who and aside.any() and not rival:
        pair = [as_text(cells[c].filter(pa.array(aside))).to_pylist() for c in (option, who)]
        barred = [*dict.fromkeys(zip(*pair, strict=True))]
    for column in drop:
        lost = of_numbers[column] if column in of_numbers else as_text(cells[column])
        gone |= pc.is_null(lost).to_numpy(zero_copy_only=False)
    if gone.any():
        rows = np.flatnonzero(~gone)
        cells = {column: values.take(pa.array(rows)) for column, values in cells.items()}
    # Names first: of their cells little is left, and numbers take room while they are looked at.
    numbering: dict[str, dict[str, int]] = {column: {} for column in parts.names}
    if rival:  # both options of a comparison are numbered together
        numbering[rival] = numbering[str(parts.one("option"))]
    codes = {column: coded_among(cells.pop(column), numbering[column]) for column in parts.names}
    names = {column: Factor(own, tuple(numbering[column])) for column, own in codes.items()}
    of_groups: dict[str, int] = {}
    found: dict[str, list[tuple[str, Codes, Codes]]] = {}
    for column, (of, part) in groupings.items():
        groups = coded_among(_levels(cells.pop(column)), of_groups)
        found.setdefault(part, []).append((column, codes[of], groups))
    members, torn = {}, []
    for part in list(found):
        own = names[str(parts.one(part))].names
        members[part], strange = _members(part, found.pop(part), own, tuple(of_groups), rows)
        torn += [] if strange is None else [strange]
    scans, numbers = _numbers(of_numbers, parts, decimal)
    if score and aside.any():  # whose cells are empty, and are nobody's fault
        lost = pc.is_null(of_numbers[score]).to_numpy(zero_copy_only=False)
        scans[score].missing = Missing.of(lost & ~aside)
    return Columns(
        names=names,
        numbers=numbers if rows is None else {c: values[rows] for c, values in numbers.items()},
        scans=scans,
        missing={column: _missing(own, rows) for column, own in codes.items()},
        groups=tuple(of_groups),
        members=members,
        torn=tuple(torn),
        n_rows=n,
        rows=rows,
        marks=marks,
        n_aside=int(np.count_nonzero(aside)),
        barred=tuple(barred),
        notes=tuple(marks.notes),
    )


def _marked(
    cells: Mapping[str, pa.Array], column: str, parts: Parts, grades: Mapping[str, float]
) -> tuple[pa.Array, Marks, NDArray[np.bool_]]:
    """Return scores as numbers where they can be read, what was done, and who stood aside."""
    own, rival = cells[column], parts.one("rival")
    own = own.dictionary_decode() if pa.types.is_dictionary(own.type) else own
    own = as_text(own) if grades and not is_text(own.type) else own
    won = _verdicts(own, cells[str(parts.one("option"))], cells[rival]) if rival else None
    own = own if won is None else won
    marks, aside = Marks(), np.zeros(len(own), dtype=np.bool_)
    plain = plain_numbers(own) if is_text(own.type) and not grades else None
    if is_text(own.type) and (plain is None or np.isnan(plain).sum() > own.null_count):
        names, codes = coded(own)
        marks = read_marks(names, grades)
        if marks.aside:
            aside = np.isin(codes, [names.index(name) for name in marks.aside])
            n = int(aside.sum())
            some, are = ("cell", "is") if n == 1 else ("cells", "are")
            said = f"{n:,} {some} with {listed(marks.aside, 4)} {are} taken for no score."
            marks.notes.insert(0, said)
        own = _recoded(marks.texts, codes) if marks.texts != names else own
    marks.verdicts = won is not None
    return own, marks, aside


def _recoded(texts: Sequence[str | None], codes: Codes) -> pa.Array:
    """Return cells by the numbers of their texts, −1 for none."""
    return pa.array([*texts, None], pa.string()).take(pa.array(codes % (len(texts) + 1)))


def _verdicts(cells: pa.Array, first: pa.Array, second: pa.Array) -> pa.Array | None:
    """Return verdicts in words or truth values as 1, −1 and 0; None if a cell is none."""
    if pa.types.is_boolean(cells.type):
        return pc.subtract(pc.multiply(cells.cast(pa.float64()), 2.0), 1.0)
    if not is_text(cells.type):
        return None
    columns = [coded(own) for own in (cells, first, second)]
    codes, n = crossed(*(own + 1 for _, own in columns))
    row = np.zeros(n, dtype=np.int64)
    row[codes] = np.arange(len(codes))
    words = [[[*names, ""][at] for at in own[row].tolist()] for names, own in columns]
    found = verdicts_in(zip(*words, strict=True))
    return None if found is None else _recoded(found, codes)


def _missing(codes: Codes, rows: NDArray[np.int64] | None) -> Missing:
    found = Missing.of(codes < 0)
    if rows is None or not found.count:
        return found
    return Missing(found.count, int(rows[found.first]), tuple(rows[list(found.also)].tolist()))


def _levels(cells: pa.Array) -> pa.Array:
    """Return cells with groups; those that are numbers as one writes them shortest."""
    names, codes = coded(cells)
    numbers, fits = parsed(names)
    short = [text_of(number) for number in numbers.tolist()] if fits.all() else names
    return cells if short == names else _recoded(short, codes)


def _members(
    part: str,
    columns: Sequence[tuple[str, Codes, Codes]],
    names: Sequence[str],
    groups: Sequence[str],
    rows: NDArray[np.int64] | None,
) -> tuple[Codes, Torn | None]:
    """Return (names,) the group of each name, −1 for none, and a name with two."""
    member = np.full(len(names), -1, dtype=np.int32)
    first, torn = None, set[int]()
    for column, of, side in columns:
        known = np.flatnonzero((side >= 0) & (of >= 0))
        who, theirs = of[known], side[known]
        # Of several rows of a name the last to be written stays: backwards, the first.
        fresh = member[who] < 0
        member[who[fresh][::-1]] = theirs[fresh][::-1]
        odd = np.flatnonzero(member[who] != theirs)
        torn.update(np.unique(who[odd]).tolist())
        if odd.size and first is None:
            row, name, other = (int(one[odd[0]]) for one in (known, who, theirs))
            place, both = row if rows is None else int(rows[row]), (member[name], other)
            first = Torn(column, place, part, names[name], (groups[both[0]], groups[both[1]]), 0)
    return member, None if first is None else replace(first, count=len(torn))


def _numbers(
    cells: Mapping[str, pa.Array], parts: Parts, decimal: str | None
) -> tuple[dict[str, ColumnScan], dict[str, Floats]]:
    """Return what is in columns of numbers, and the numbers: of times, days if they are dates."""
    time, days = parts.one("time"), None
    if time is not None:
        dates, own = is_moment(cells[time].type), cells[time]
        days = moments(own) if dates or (is_text(own.type) and plain_numbers(own) is None) else None
    others = {column: own for column, own in cells.items() if column != time or days is None}
    scans = scanned_together(others, commas=True, decimal=decimal)
    numbers = {
        column: np.full(len(cells[column]), np.nan) if scan.values is None else scan.values
        for column, scan in scans.items()
    }
    if time is not None and days is not None:
        scans[time], numbers[time] = ColumnScan(time, missing=Missing.of(np.isnan(days))), days
    elif time is not None and (days := calendar_dates(numbers[time])) is not None:
        numbers[time] = days
    return {column: scans[column] for column in cells}, numbers


def _plain(cells: pa.Array) -> pa.Array:
    """Return cells of a column of numbers, truth values as such, absent ones null."""
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
    names, codes = coded(cells := as_text(cells))
    known = {name: name.casefold() for name in names if not is_absent(name)}
    truths = _TRUTHS if {*known.values()} <= {*_TRUTHS, "0", "1", "0.0", "1.0"} else {}
    new = [truths.get(known[name], name) if name in known else None for name in names]
    return cells if new == names else _recoded(new, codes)


def _groups(
    said: Mapping[str, Any], parts: Parts, read: Columns, families: Families | None
) -> dict[str, Mapping[str, str | None]]:
    """Return groups by name that no column has: the user's own, or families of models."""
    found = {role: value for role, value in said.items() if isinstance(value, Mapping)}
    if families is None or said.get("partial") is not None:
        return found
    for part in ("option", "evaluator"):
        column, group = parts.one(part), f"{part}_group"
        if column is None or parts.one(group) or group in said:
            continue
        own = families(part, read.names[column].names)
        if own is None:
            break
        found |= {group: own} if any(one is not None for one in own.values()) else {}
    return found


def _scores(
    parts: Parts,
    read: Columns,
    groups_by_name: Mapping[str, Mapping[str, str | None]],
    scale: tuple[float, float] | None,
    best: Best,
) -> Scores:
    groups = {name: code for code, name in enumerate(read.groups)}

    def names(role: str) -> Factor | None:
        columns = [read.names[column] for column in parts.all(role)]
        return taken_together(columns) if columns else None

    def numbers(role: str) -> dict[str, Floats]:
        own, against = read.numbers, parts.against
        return {c: own[c] - own[against[c]] if c in against else own[c] for c in parts.all(role)}

    def members(role: str, names: Factor | None) -> Codes | None:
        said = groups_by_name.get(f"{role}_group")
        if said is None or names is None:
            return read.members.get(role)
        texts = {str(name): str(group) for name, group in said.items() if group is not None}
        if said and not {str(name) for name in said} & {*names.names}:
            some = f"{list(said)[:5]!r}; its {role}s are {names.names[:8]!r}"
            raise InputError(f"{role}_group names no {role} that is in the table: {some}")
        own = [groups.setdefault(texts[n], len(groups)) if n in texts else -1 for n in names.names]
        return np.array(own, dtype=np.int32)

    option, evaluator, rival = names("option"), names("evaluator"), names("rival")
    assert option is not None
    of_options, of_evaluators = members("option", option), members("evaluator", evaluator)
    return Scores(
        next(iter(numbers("score").values()), np.zeros(len(option.codes))),
        option,
        evaluator,
        rival=None if rival is None else rival.codes,
        item=names("item"),
        event=names("event"),
        cluster=names("cluster"),
        criterion=names("criterion"),
        groups=tuple(groups),
        option_group=of_options,
        evaluator_group=of_evaluators,
        stated=next(iter(numbers("partial").values()), None),
        reference=next(iter(numbers("reference").values()), None),
        attributes=numbers("attributes"),
        time=next(iter(numbers("time").values()), None),
        scale=scale,
        called=parts.called,
        best=best,
        barred=read.barred,
    )


def _n_again(scores: Scores) -> int:
    """Return how many scores come again."""
    if scores.evaluator is None:
        return 0
    columns = [scores.scored[0], scores.evaluator.codes]
    columns += [] if scores.rival is None else [scores.rival]
    columns += [] if scores.criterion is None else [scores.criterion.codes]
    return len(scores) - crossed(*columns)[1]


def _beside(source: Table, columns: list[str], read: Columns) -> dict[str, Factor]:
    """Return columns that have no role, as names in the rows that were kept."""
    found = {}
    for column in columns[:_MOST_COLUMNS] if read.n_rows <= _MOST_BESIDE else ():
        with suppress(InputError):  # of lists, say, which nobody asked for
            names, codes = coded(source.cells(column))
            found[column] = Factor(codes if read.rows is None else codes[read.rows], tuple(names))
    return found


class Kept(Table):
    """A table of scores whose columns are called as their roles."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

        def groups(of: Codes | None, sides: Codes | None) -> Factor | None:
            return None if of is None or sides is None else Factor(sides[of], scores.groups)

        option, rival, evaluator = scores.option, scores.rival, scores.evaluator
        who = None if evaluator is None else evaluator.codes
        sides = scores.option_group
        of: dict[str, Factor | np.ndarray[Any, Any] | None] = {
            "option": option,
            "evaluator": evaluator,
            "item": scores.item,
            "score": scores.score,
            "event": scores.event,
            "cluster": scores.cluster,
            "rival": None if rival is None else Factor(rival, option.names),
            "option_group": groups(option.codes, sides),
            "rival_group": groups(rival, sides),
            "evaluator_group": groups(who, scores.evaluator_group),
            "partial": scores.stated,
            "reference": scores.reference,
            "time": scores.time,
            **scores.attributes,
        }
        kept = {name: column for name, column in of.items() if column is not None}
        self._columns = kept | {n: column for n, column in scores.beside.items() if n not in kept}
        where = scores.where
        super().__init__("the scores", [*self._columns], self._cells, lambda r: [*map(where, r)])

    def _cells(self, name: str) -> pa.Array:
        column = self._columns[name]
        if not isinstance(column, Factor):
            return pa.array(column, from_pandas=True)
        codes = pa.array(column.codes, mask=column.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.names, pa.string()))

    def to_frame(self) -> pd.DataFrame:
        """Return it as a frame; columns that have no role are numbers where all cells are."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        columns = {}
        for name, cells in self.read(self.columns).items():
            own = as_text(cells) if pa.types.is_dictionary(cells.type) else cells
            if name in self._scores.beside and own.null_count < len(own):
                numbers = plain_numbers(own)
                if numbers is not None:
                    whole = bool((numbers == np.floor(numbers)).all())  # false for NaN
                    own = pa.array(numbers.astype(np.int64) if whole else numbers)
            columns[name] = own.to_pandas()
        frame = pd.DataFrame(columns)
        frame.attrs = {"signed": True} | ({"best": "low"} if self._scores.best == "low" else {})
        return frame

    def said(self, said: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return what is said of these scores by the names of this table; whether it is new."""
        new, found = False, dict[str, Any]()
        for role, kind in ROLES.items():
            own = [*self._scores.attributes] if role == "attributes" else role
            has = bool(own) if role == "attributes" else role in self._columns
            value = said.get(role, role)
            unsaid = kind.asked and value in (None, (), [])
            named = ", ".join(value) if kind.several and isinstance(value, list) else value
            if unsaid or named in (role, self._scores.called.get(role)):
                if kind.asked or not has:
                    found[role] = own if has else None
                continue
            new = new or value is not None or has
            found[role] = value
        return found, new
