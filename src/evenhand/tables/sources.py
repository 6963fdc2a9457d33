"""Tables that somebody has: named columns of cells, read whole, and where each row stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.tables.cells import as_text, read_numbers, repeated_name
from evenhand.tables.columns import no_such_column
from evenhand.tables.texts import listed, may_be_thousands, repeated, text_of, two_readings

Cells: TypeAlias = "pa.Array | pa.ChunkedArray"
"""The cells of a column, in one piece or several."""


class SourceTable:
    """A table: its name in messages, its columns (one may have an empty name), read when they are
    asked for, and where its rows stand.
    """

    is_text = False  # cells are written out, as in CSV, so that numbers are written in some way
    commas_are_free = False  # no comma separates cells, so that it may well stand before decimals
    is_large = False  # so that it is not read again only to look at it
    notes: tuple[str, ...] = ()  # what was passed over, or taken for something
    sheets: tuple[str, ...] = ()  # of a workbook, the one that this is first

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.name, self.columns = name, tuple(columns)
        if not any(self.columns):
            raise InputError(f"{name} has no columns, and a table needs some")
        twice = repeated(column for column in self.columns if column)
        if twice:
            raise InputError(
                f"{name}: the header names {listed(twice)} more than once; give every column a "
                "name of its own"
            )

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns; those of `names` come again and again, perhaps in
        pieces, each with a dictionary of its own.
        """
        raise NotImplementedError

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where rows, counted from 0, stand in what the user has."""
        return [f"row {row}" for row in rows]

    def origin(self, row: int) -> int:
        """Return which row of the table as it was opened this is, or is made of."""
        return row

    def column_of(self, row: int, column: str) -> str:
        """Return the column of what the user has that holds a cell."""
        return column

    def places(self, rows: Sequence[int], label: str | None = None) -> list[str]:
        """Return where rows stand, with the names in a column."""
        found = self.where(rows)
        if label is None:
            return found
        texts = as_text(self.read([label])[label].take(pa.array(rows, pa.int64())))
        return [
            f"{place} ({name!r})" if name else place
            for place, name in zip(found, texts.to_pylist(), strict=True)
        ]

    def cells(self, column: str, said: str = "") -> pa.Array:
        """Return the cells of a column; an error, with what named it, if it is not there."""
        if not column or column not in self.columns:
            raise InputError(no_such_column(self, column, said))
        return self.read([column])[column]

    def names(self, column: str, said: str = "") -> pa.Array:
        """Return the cells of a column as names; an error where one is empty, or stands twice."""
        names = as_text(self.cells(column, said))
        if names.null_count:
            row = int(np.argmax(names.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"{self.name}: {self.where([row])[0]}, column {column!r} is empty; everything "
                "needs a name: fill it in, or name another column"
            )
        if (twice := repeated_name(names)) is not None:
            name, rows = twice
            places = ", ".join(self.where(rows[:5])) + (", …" if len(rows) > 5 else "")
            raise InputError(
                f"{self.name}: the name {name!r} in column {column!r} stands in {len(rows)} rows "
                f"({places}); names must differ: keep one row of each, or name another column"
            )
        return names

    def texts(self, column: str, said: str = "") -> list[str | None]:
        """Return the cells of a column as trimmed texts; None where one is empty."""
        found: list[str | None] = as_text(self.cells(column, said)).to_pylist()
        return found

    def numbers(
        self, column: str, said: str = "", *, above: float = -np.inf, decimal: str | None = None
    ) -> Floats:
        """Return the cells of a column as finite numbers above a limit; an error names another."""
        cells = self.cells(column, said)
        found = read_numbers(cells, decimal or ".")
        if decimal is None and self.commas_are_free and not np.isfinite(found).all():
            found = read_numbers(cells, ",")
            commas = [text for text in self.texts(column) if text and "," in text]
            if commas and all(map(may_be_thousands, commas)):
                said = f"{commas[0]!r} {two_readings(commas[0])}"
                raise InputError(f"{self.name}: column {column!r}: {said}")
        wrong = np.flatnonzero(~((found > above) & (found < np.inf)))
        if wrong.size:
            limit = "" if above == -np.inf else f" larger than {above:g}"
            more = f" ({wrong.size:,} of {len(found):,} rows are not)" if wrong.size > 1 else ""
            raise InputError(
                f"{self.name}: {self.where([int(wrong[0])])[0]}, column {column!r} is not a finite "
                f"number{limit}{more}; correct the cell or leave the row out"
            )
        return found


class FrameTable(SourceTable):
    """A data frame of pandas, polars or pyarrow, read through narwhals."""

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        try:
            native = nw.from_native(frame)
            frame = native.collect() if isinstance(native, nw.LazyFrame) else native
            keys = list(frame.columns)
        except TypeError:
            raise InputError(
                f"a data frame of pandas, polars or pyarrow is needed, not {type(frame).__name__}; "
                "arrays go to ActionSet(features, groups)"
            ) from None
        except nw.exceptions.DuplicateError as error:
            message = " ".join(str(error).split())
            raise InputError(f"{name}: {message}; give every column its own name") from None
        # pandas allows numbers as names of columns
        texts = [str(key) for key in keys]
        if twice := repeated(texts):
            raise InputError(
                f"{name}: {listed(twice)} names more than one column, as a number and as text; "
                "give every column its own name"
            )
        super().__init__(name, texts)
        self._frame: nw.DataFrame[Any] = frame
        self._keys = dict(zip(self.columns, keys, strict=True))

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        return {c: _of_series(self._frame.get_column(self._keys[c]), self, c) for c in columns}


class ParquetFile(SourceTable):
    """A Parquet file."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        try:
            columns = pq.read_schema(path).names
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{name} cannot be read as Parquet: {error}") from None
        super().__init__(name, columns)

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        try:
            with pq.ParquetFile(self._path, read_dictionary=list(names)) as file:
                return combined(file.read(columns=list(columns), use_threads=False), columns, names)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None


class Rows(SourceTable):
    """Rows that are in memory: of a workbook, objects of JSON, mappings."""

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        cells: Sequence[Sequence[Any]],
        places: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, columns)
        self._cells, self._places = dict(zip(columns, cells, strict=True)), places

    @classmethod
    def of(cls, rows: Sequence[Mapping[Any, Any]], name: str, what: str | None = None) -> Rows:
        """Return the table of rows that name their cells; `what` they are, counted from 1."""
        texts = [{str(key): cell for key, cell in row.items()} for row in rows]
        columns = list(dict.fromkeys(key for row in texts for key in row))
        places = None if what is None else [f"{what} {n}" for n in range(1, len(rows) + 1)]
        return cls(name, columns, [[row.get(c) for row in texts] for c in columns], places)

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        return {column: _of_cells(self._cells[column], self, column) for column in columns}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where rows, counted from 0, stand in what the user has."""
        return super().where(rows) if self._places is None else [self._places[row] for row in rows]


class StackedTables(SourceTable):
    """Several tables, one below the other; what one has no column for is empty there."""

    def __init__(self, tables: Sequence[SourceTable]) -> None:
        columns = dict.fromkeys(c for table in tables for c in table.columns if c)
        super().__init__(f"{tables[0].name} and {len(tables) - 1} more", list(columns))
        self._tables = tables
        self._sizes = [len(table.cells(next(filter(None, table.columns)))) for table in tables]
        self.is_text = any(table.is_text for table in tables)
        self.commas_are_free = all(table.commas_are_free for table in tables)
        self.notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        found: dict[str, list[pa.Array]] = {column: [] for column in columns}
        for table, n in zip(self._tables, self._sizes, strict=True):
            cells = table.read([column for column in columns if column in table.columns])
            for column, pieces in found.items():
                pieces.append(cells.get(column, pa.nulls(n)))
        return {column: _below(pieces) for column, pieces in found.items()}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return in which table rows stand, and where there."""
        ends = np.cumsum(self._sizes)
        places = []
        for row in rows:
            which = int(np.searchsorted(ends, row, side="right"))
            table = self._tables[which]
            places.append(
                f"{table.name}, {table.where([row - int(ends[which]) + self._sizes[which]])[0]}"
            )
        return places


def _below(pieces: Sequence[pa.Array]) -> pa.Array:
    kinds = {cells.type for cells in pieces if not pa.types.is_null(cells.type)}
    if len(kinds) > 1:
        return pa.concat_arrays([as_text(cells) for cells in pieces])
    return pa.concat_arrays([cells.cast(*kinds) if kinds else cells for cells in pieces])


def combined(table: pa.Table, columns: Sequence[str], names: Collection[str]) -> dict[str, Cells]:
    """Return columns of an Arrow table, but for names each in one piece; pieces are given back."""
    pieces = {column: table.column(place) for place, column in enumerate(columns)}
    del table
    return {c: pieces.pop(c) if c in names else _whole(pieces.pop(c)) for c in columns}


def _whole(cells: pa.ChunkedArray) -> pa.Array:
    whole = cells.combine_chunks()
    # text beyond 2 GB stays in pieces, unless its type can hold it
    return whole if isinstance(whole, pa.Array) else cells.cast(pa.large_string()).combine_chunks()


def _of_cells(cells: Sequence[Any], table: SourceTable, column: str) -> pa.Array:
    """Return numbers, dates or truths where all cells are, else texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if kinds == {int}:
            return pa.array(cells, pa.int64())
        if kinds <= {int, float}:
            return pa.array(cells, pa.float64())
    except (OverflowError, pa.ArrowInvalid):
        pass  # whole numbers beyond all sizes are texts
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {datetime, date}:
        return pa.array(cells, pa.timestamp("us"))
    nested = next((row for row, c in enumerate(cells) if isinstance(c, list | dict | tuple)), None)
    if nested is not None:
        raise InputError(
            f"{table.name}: {table.where([nested])[0]}, column {column!r}: "
            f"{str(cells[nested])[:40]} is no name and no number; put a text or a number there"
        )
    return _of_texts([None if cell is None else _text(cell) for cell in cells], table, column)


def _text(cell: Any) -> str:
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day):
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date) else text_of(cell)


def _of_series(series: nw.Series[Any], table: SourceTable, column: str) -> pa.Array:
    try:
        cells = series.to_arrow()
        cells = _whole(cells) if isinstance(cells, pa.ChunkedArray) else cells
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if not isinstance(kind, pa.BaseExtensionType):  # such as pandas' periods
            return cells
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    except UnicodeEncodeError as error:
        raise _no_text(table, column, error) from None
    # An object column of mixed kinds, such as numbers with 'n/a' among them, whole numbers beyond
    # all sizes, complex ones: as text, the scan finds the cell that does not belong.
    missing = series.is_null().to_list()
    return _of_texts(
        [None if gone else str(cell) for gone, cell in zip(missing, series.to_list(), strict=True)],
        table,
        column,
    )


def _of_texts(texts: list[str | None], table: SourceTable, column: str) -> pa.Array:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        raise _no_text(table, column, error) from None


def _no_text(table: SourceTable, column: str, error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"{table.name}: column {column!r} has {error.object!r}, with half of a character "
        f"({error.object[error.start]!r}), which is no text; read the table again with its encoding"
    )
