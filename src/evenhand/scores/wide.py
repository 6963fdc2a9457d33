"""Wide tables: a row for each option and a column for each evaluator, or for each item.

They are read as long ones, with a row for each cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.errors import InputError
from evenhand.scores.parts import BY_NAME
from evenhand.tables.cells import as_text, is_number, plain_numbers
from evenhand.tables.names import listed
from evenhand.tables.recipe import no_such_column
from evenhand.tables.sources import Cells, Table

_ACROSS = ("evaluator", "option", "item")  # what columns may be: the first that has none


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

    def column_of(self, row: int, column: str) -> str:
        """The column of the wide table that holds a cell of the long one."""
        return (
            self.turned[row % len(self.turned)] if column in (self.score, self.across) else column
        )


def turned(source: Table, wide: bool | Sequence[str], given: dict[str, Any]) -> Wide:
    """Return a wide table as a long one, and put its new columns among those that were named."""
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
    if isinstance(wide, bool):
        columns = [c for c in source.columns if c and c not in named_columns]
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
    return table


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
