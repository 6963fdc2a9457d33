"""Tables and their columns: which one plays which part, and what is wrong in which row and column.

One table, one finder and one list of defects serve scores, options, evaluators, sheets, labels and
logs. pyarrow is imported where cells are read, and not before.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import ConflictError, InputError, Problem, Remedy
from evenhand.tables.texts import (
    is_date,
    listed,
    may_be_thousands,
    parsed,
    refuse_repeated,
    repeated,
    two_readings,
    written_elsewhere,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from evenhand.tables.cells import ColumnScan, Missing

Where: TypeAlias = Callable[[Sequence[int]], list[str]]
"""Says where rows, counted from 0, stand in what the user has."""

GROUP_WORDS = ("group", "nation", "country", "univ", "institution", "affiliation", "family",
               "team", "school", "club", "side")  # fmt: skip
"""Words in the names of columns that have groups."""
_MOST_ROWS = 4  # of a defect that stands in several


def by_number(rows: Sequence[int]) -> list[str]:
    """Return where rows of a table in memory stand."""
    return [f"row {row}" for row in rows]


class Table:
    """A table: its name in messages, its columns (one may have an empty name), and how these and
    the places of rows are found when they are asked for.
    """

    is_text = False  # cells are written out, as in CSV, so that numbers are written in some way
    commas_are_free = False  # no comma separates cells, so that it may well stand before decimals
    is_large = False  # so that it is not looked through only to suggest something
    notes: tuple[str, ...] = ()  # what was passed over, or taken for something
    sheets: tuple[str, ...] = ()  # of a workbook, the one that this is first

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        read: Callable[[str], pa.Array],
        where: Where = by_number,
        origin: Callable[[int], int] = int,
        column_of: Callable[[int, str], str] = lambda row, column: column,
        n_rows: int | None = None,
    ) -> None:
        self.name, self.columns, self.where, self._read = name, tuple(columns), where, read
        # which row of the table as it was opened a row is, or is made of; and which column of what
        # the user has holds a cell
        self.origin, self.column_of, self._n_rows = origin, column_of, n_rows
        if not any(self.columns):
            raise InputError(f"{name} has no columns, and a table needs some")
        if twice := repeated(column for column in self.columns if column):
            raise InputError(f"{name}: the header names {listed(twice)} more than once; rename one")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        if self._n_rows is None:
            self._n_rows = len(self.cells(next(filter(None, self.columns))))
        return self._n_rows

    def read(self, columns: Iterable[str]) -> dict[str, pa.Array]:
        """Return the cells of some columns."""
        return {column: self._read(column) for column in columns}

    def places(self, rows: Sequence[int], label: str | None = None) -> list[str]:
        """Return where rows stand, with the names in a column."""
        found = self.where(rows)
        if label is None:
            return found
        texts = self.texts(label)
        return [
            f"{place} ({name!r})" if (name := texts[row]) else place
            for place, row in zip(found, rows, strict=True)
        ]

    def cells(self, column: str, said: str = "") -> pa.Array:
        """Return the cells of a column; an error, with what named it, if it is not there."""
        if not column or column not in self.columns:
            raise InputError(no_such_column(self, column, said))
        return self._read(column)

    def names(self, column: str, said: str = "") -> list[str]:
        """Return the cells of a column as names; an error where one is empty, or stands twice."""
        texts = self.texts(column, said)
        if None in texts:
            place = self.where([texts.index(None)])[0]
            raise InputError(f"{self.name}: {place}, column {column!r} is empty; fill in a name")
        refuse_repeated(texts, f"{self.name}: column {column!r}", self.where)
        return list(map(str, texts))

    def texts(self, column: str, said: str = "", start: int = 0) -> list[str | None]:
        """Return the cells of a column as trimmed texts, from a row on; None where one is empty."""
        from evenhand.tables.cells import as_text  # noqa: PLC0415 # pyarrow

        found: list[str | None] = as_text(self.cells(column, said).slice(start)).to_pylist()
        return found

    def numbers(self, column: str, said: str = "", *, above: float = -np.inf) -> Floats:
        """Return finite numbers above a limit; an error names others."""
        from evenhand.tables.cells import scanned_together  # noqa: PLC0415 # pyarrow

        cells, found = {column: self.cells(column, said)}, Defects(self)
        scan = scanned_together(cells, commas=self.commas_are_free)[column]
        numbers = np.zeros(0) if scan.values is None else scan.values
        if scan.missing.count:
            found.of_cells(column, scan.missing, len(cells[column]))
        elif not found.of_numbers(scan) and scan.values is None:
            found.add(" holds no numbers; name another", column)
        elif (low := np.flatnonzero(numbers <= above)).size:
            said = f"{numbers[low[0]]:g} is not larger than {above:g}"
            what = f": {said}; correct the cell or leave the row out"
            found.add(what, column, int(low[0]), low[1:6].tolist())
        found.refuse()
        return numbers


def found_columns(
    source: Table,
    given: Mapping[str, Any],
    *,
    by_name: Sequence[str] = (),
    several: Sequence[str] = (),
    hint: Callable[[], str] = str,
) -> dict[str, tuple[str, ...]]:
    """Return the columns by the parts that they play; an error, with a hint, for one not there.

    A part of `by_name` that nobody named another column for (its column is called as itself) has
    none if there is no such column; parts of `several` may have more than one.
    """
    columns: dict[str, tuple[str, ...]] = {}
    roles: dict[str, str] = {}
    absent: list[str] = []
    unsaid = {part for part in by_name if given.get(part) == part}
    for part in sorted(given, key=unsaid.__contains__):
        chosen = list(_named(part, given[part], several))
        if part in unsaid and (part not in source.columns or part in roles):
            continue
        for column in chosen:
            if not column or column not in source.columns:
                absent.append(f"{part}={column!r}: {no_such_column(source, column)}")
            elif chosen.count(column) > 1:
                raise InputError(f"{part} names {column!r} twice; name every column once")
            elif roles.setdefault(column, part) != part:
                both = f"{roles[column]} and as {part}; it can be only one of them"
                raise InputError(f"{source.name}: column {column!r} is named as {both}")
        columns[part] = tuple(chosen)
    if absent:
        raise InputError("\n".join(filter(None, [*absent, hint()])))
    return {part: columns[part] for part in given if columns.get(part)}


def _named(part: str, value: Any, several: Sequence[str]) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, str):
        yield value
        return
    if part not in several or isinstance(value, bytes) or not isinstance(value, Sequence):
        needed = "a column, or several in a list" if part in several else "the name of a column"
        raise InputError(f"{part} must be {needed}; got {value!r}")
    for column in value:
        if not isinstance(column, str):
            raise InputError(f"{part} must be names of columns; got {column!r} among them")
        yield column


def no_such_column(source: Table, column: str, said: str = "", *, typed: bool = True) -> str:
    """Say that a column is not there, and which one may be meant if somebody `typed` it; `said` is
    what named it.
    """
    columns = [name for name in source.columns if name]
    lower = {name.casefold(): name for name in columns}
    near = difflib.get_close_matches(str(column).casefold(), list(lower), n=3)
    close = near if typed else []
    hint = f"did you mean {' or '.join(repr(lower[name]) for name in close)}? " if close else ""
    if parsed(columns)[1].any():
        hint += "The first line looks like data: does the table have a header? "
    named = f", which is to be {said.rstrip('=')}" if said else ""
    its = f"{hint}Its" if hint else "its"
    return f"{source.name} has no column {column!r}{named}; {its} columns are {listed(columns, 30)}"


def check_decimal(decimal: str | None) -> None:
    """Refuse what does not stand before decimals."""
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal is '.' or ',', or left out to find it out; got {decimal!r}")


class _Found(NamedTuple):
    """A problem, whose message goes on from its place (' is empty; …'), and where else it is."""

    problem: Problem
    also: tuple[int, ...]  # further rows with the same


class Defects:
    """What is wrong in a table, until all of it is said at once."""

    def __init__(self, source: Table, label: str | None = None) -> None:
        self.source, self._label = source, label
        self._found: list[_Found] = []
        self._conflicts = 0

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self,
        what: str,
        column: str | None = None,
        row: int | None = None,
        also: Sequence[int] = (),
        *remedies: Remedy,
        code: str = "cell",
    ) -> None:
        """Take note of a problem."""
        self._found.append(_Found(Problem(what, code, row, column, remedies), tuple(also)))

    @contextmanager
    def at(self, row: int) -> Iterator[None]:
        """Take note of what is refused, and of the row it stands in."""
        try:
            yield
        except (InputError, ConflictError) as error:
            one = error.problems[0]
            self.add(f": {one.message.rstrip('.')}", None, row, (), *one.remedies, code=one.code)
            self._conflicts += isinstance(error, ConflictError)

    def place(self, row: int, column: str) -> str:
        """Return where a cell stands, in the user's words."""
        return self._places([Problem("", row=row, column=column)])[0]

    def _places(self, problems: Sequence[Problem]) -> list[str]:
        """Return where problems stand: a file is looked through once for all of them."""
        rows = [one.row for one in problems if one.row is not None]
        where = dict(zip(rows, self.source.places(rows, self._label) if rows else (), strict=True))
        found = []
        for row, column in ((one.row, one.column) for one in problems):
            known = [] if row is None else [where[row]]
            if column is not None:
                shown = column if row is None else self.source.column_of(row, column)
                known.append(f"column {shown!r}")
            found.append(", ".join(known))
        return found

    def rows(self, rows: Sequence[int], most: int = 5) -> str:
        """Return where several rows stand."""
        return ", ".join(self.source.where(rows[:most])) + (", …" * (len(rows) > most))

    def refuse(self, *remedies: Remedy, after: str = "") -> None:
        """Raise an error that names all problems, if there are any."""
        if not self._found:
            return
        problems, source = [], self.source
        places = self._places([one for one, _ in self._found])
        for (one, also), where in zip(self._found, places, strict=True):
            more = f"; also {self.rows(also, most=_MOST_ROWS)}" if also else ""
            cells = [
                (source.origin(row), source.column_of(row, column))
                for row in (one.row, *also)
                if row is not None and (column := one.column) is not None
            ]
            row, column = cells[0] if cells else (None, one.column)
            new = replace(one, message=f"{one.message}{more}", row=row, column=column, where=where)
            problems.append(replace(new, also=tuple(cells[1:])))
        last = problems[-1]
        problems[-1] = replace(
            last, message=last.message + after, remedies=(*last.remedies, *remedies)
        )
        kind = ConflictError if self._conflicts == len(problems) else InputError
        raise kind(source.name, problems=problems)

    def of_cells(
        self, column: str, missing: Missing, n: int, *remedies: Remedy, or_else: str = ""
    ) -> None:
        """Take note of the empty cells of a column of n."""
        if missing.count == n:
            every = " is empty in every row; name another, or leave it out"
            self.add(every, column, code="empty")
        elif missing.count:
            texts = self.source.texts(column)
            said = [text for row in (missing.first, *missing.also) if (text := texts[row])]
            empty = f"empty or {said[0]!r}" if said else "empty"
            self.add(
                f" is {empty} ({missing.count:,} of {n:,} rows are); fill in the cells or remove "
                f"the rows{or_else}",
                column,
                missing.first,
                missing.also,
                *remedies,
                code="empty",
            )

    def of_numbers(self, scan: ColumnScan, *category: Remedy, is_time: bool = False) -> bool:
        """Take note of what is no number in a column of numbers; tell whether something is."""
        before, column = len(self), scan.name
        if scan.unsupported is not None:
            dates = any(word in scan.unsupported for word in ("date", "time", "duration"))
            said = f" holds {'dates or times, ' * dates}{scan.unsupported}, not numbers"
            self.add(
                f"{said}{' or categories' * bool(category)}; name another, or convert it",
                column,
                code="number",
            )
        elif scan.first_text is not None:
            row, text = scan.first_text
            code, said, *remedies = self._of_text(scan, text, is_time)
            ways = (*remedies, *category)
            self.add(f": {text!r} {said}", column, row, scan.texts_at, *ways, code=code)
        elif scan.doubtful is not None:
            row, text = scan.doubtful
            both = f"{text.replace('.', '')} or {float(text):g}, as others have no point"
            said, *remedies = self._plainly(scan, ".")
            said = f": {text!r} may be {both}; {said}"
            self.add(said, column, row, (), *remedies, code="decimal")
        if scan.first_infinite is not None:
            row, number = scan.first_infinite
            what = f": {number} is not a finite number; correct the cell or remove the row"
            self.add(what, column, row, code="number")
        return len(self) > before

    def _of_text(self, scan: ColumnScan, text: str, is_time: bool) -> tuple[Any, ...]:
        """Say what is wrong with a text among numbers, after its code, and what may help."""
        more = f" ({scan.n_texts:,} cells are not)" if scan.n_texts > 1 else ""
        if is_date(text):
            fix = (
                "a spreadsheet may have made it of a number such as 5.1: save the column as numbers"
            )
            fix = "write all times in one way, such as 2016-01-05" if is_time else fix
            return "date", f"is a date or a time, not a number{more}; {fix}"
        if not written_elsewhere(text):
            what = f"is not a number{more}; correct the cells or remove the rows"
            none = "is not a number, and no cell of the column is; name another column"
            return "number", what if scan.n_numbers else none
        mark = "," if scan.decimal != "," and parsed([text], ",")[1][0] else None
        what = two_readings(text) if may_be_thousands(text) else "is not plainly a number"
        fix, *remedies = self._plainly(scan, mark)
        return "decimal", f"{what}{more}; {fix}", *remedies

    def _plainly(self, scan: ColumnScan, mark: str | None) -> tuple[Any, ...]:
        """Say what to do about another notation; `mark` is what may stand before decimals."""
        if not self.source.is_text:
            return ("convert the column to numbers",)
        usual = scan.decimal or "."
        plain = f"write numbers plainly, such as 1234{usual}5, without signs or separators"
        if mark is None:
            return (plain,)
        called = {".": "point", ",": "comma"}[mark]
        return plain, Remedy("decimal", mark, f"if the {called} stands before decimals")
