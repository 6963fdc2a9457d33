"""A table of whatever kind, opened: frames, rows, files of text, Parquet or workbooks, pipes.

A file is told by its first bytes, read whole and then left alone. Of a workbook, the first sheet
with a table is read, or the one that ``book.xlsx#name`` names. Everything that is passed over, or
taken for something, is said (`Table.notes`).
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenhand.errors import InputError
from evenhand.files import (
    OLD_EXCEL,
    PARQUET,
    ZIP,
    chunks_of,
    limits,
    most_unpacked,
    refuse_bomb,
    refuse_cells,
)
from evenhand.tables.books import read_workbook
from evenhand.tables.cells import as_text, is_text
from evenhand.tables.columns import Table, Where, by_number
from evenhand.tables.delimited import read_delimited, whole
from evenhand.tables.office import tidied, with_commas_read
from evenhand.tables.texts import listed, repeated, text_of

_NOT_ARROW = (
    pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError,
    UnicodeEncodeError,
)  # fmt: skip


def open_table(table: Any, what: str = "the table", name: str | None = None) -> Table:
    """Return a table, whatever it is kept in; messages call it ``name``, or ``what``."""
    if isinstance(table, Table):
        return table
    if isinstance(table, str | os.PathLike):
        return _file(Path(table), name or str(table))
    if hasattr(table, "read"):
        return _piped(table, name or "the file given")
    if isinstance(table, Mapping) and table and all(map(_is_list, table.values())):
        columns = {str(column): _listed(cells) for column, cells in table.items()}
        if len({*map(len, columns.values())}) > 1:
            said = ", ".join(f"{column!r} has {len(own)}" for column, own in columns.items())
            raise InputError(f"{name or 'the table given'}: columns must be of one length; {said}")
        return _in_memory(name or "the table given", columns)
    if _is_list(table) and len(table) and all(isinstance(row, Mapping) for row in table):
        return of_rows(table, name or "the rows given")
    if hasattr(table, "collect") or hasattr(type(table), "columns"):
        return _frame(table, name or "the frame")
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "schema"):
        return _frame(pa.table(table), name or "the frame")
    if hasattr(table, "to_pandas") and hasattr(table, "column_names"):  # as of Hugging Face
        return _frame(table.to_pandas(), name or "the frame")
    arrays = "; arrays go to ActionSet(features, groups)" if hasattr(table, "__array__") else ""
    raise InputError(
        f"{what} must be a frame of pandas, polars or pyarrow, a list of rows that are mappings, a "
        "path or an open file (CSV, Parquet, a workbook); got "
        f"{type(table).__name__}{arrays}"
    )


def _is_list(values: Any) -> bool:
    if hasattr(values, "tolist"):
        return getattr(values, "ndim", 0) == 1
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def _listed(values: Any) -> Sequence[Any]:
    found: Sequence[Any] = values.tolist() if hasattr(values, "tolist") else values
    return found


def of_rows(rows: Sequence[Mapping[Any, Any]], name: str, what: str | None = None) -> Table:
    """Return the table of rows that name their cells; `what` they are, counted from 1."""
    texts = [{str(key): cell for key, cell in row.items()} for row in rows]
    columns = dict.fromkeys(key for row in texts for key in row)
    where: Where = lambda rows: [f"{what} {row + 1}" for row in rows]  # noqa: E731
    cells = {column: [row.get(column) for row in texts] for column in columns}
    return _in_memory(name, cells, where if what else by_number)


def _in_memory(name: str, cells: Mapping[str, Sequence[Any]], where: Where = by_number) -> Table:
    """Return a table of columns of Python's own values, with where its rows stand."""
    return Table(name, [*cells], lambda c: _of_values(cells[c], name, where, c), where)


def _frame(frame: Any, name: str) -> Table:
    """Return a data frame of pandas, polars or pyarrow as a table."""
    try:
        known = frame.collect() if hasattr(frame, "collect") else frame
        is_pandas = hasattr(known, "iloc")
        known = known if is_pandas or isinstance(known, pa.Table) else pa.table(known)
    except Exception as error:  # a lazy frame finds only now what is wrong, and has its own errors
        raise InputError(f"{name}: {' '.join(str(error).split())[:300]}") from None
    keys = list(known.columns if is_pandas else known.column_names)
    texts = {str(key): key for key in keys}  # pandas allows numbers as names of columns
    if twice := repeated(map(str, keys)):
        both = "names more than one column, perhaps as a number, too; give each its own name"
        raise InputError(f"{name}: {listed(twice)} {both}")

    def cells(column: str) -> pa.Array:
        own = known[texts[column]]
        with suppress(*_NOT_ARROW):
            found = whole(pa.array(own, from_pandas=True) if is_pandas else own)
            coded = pa.types.is_dictionary(found.type)
            values = found.dictionary if coded else found
            if pa.types.is_string_view(values.type):  # of which pyarrow can do little
                values = values.cast(pa.large_string())
                found = pa.DictionaryArray.from_arrays(found.indices, values) if coded else values
            if not isinstance(values.type, pa.BaseExtensionType):  # such as pandas' periods
                return found
        # An object column of mixed kinds, such as numbers with 'n/a' among them.
        gone = own.isna() if is_pandas else own.is_null().to_pylist()
        both = zip(gone, own.tolist() if is_pandas else own.to_pylist(), strict=True)
        return _of_values([None if lost else one for lost, one in both], name, by_number, column)

    return Table(name, list(texts), cells)


def stacked(tables: Sequence[Table]) -> Table:
    """Return several tables, one below the other; what one has no column for is empty there."""
    columns = list(dict.fromkeys(c for table in tables for c in table.columns if c))
    sizes = [table.n_rows for table in tables]
    ends = np.cumsum(sizes)

    def cells(column: str) -> pa.Array:
        pieces = [
            table.cells(column) if column in table.columns else pa.nulls(n)
            for table, n in zip(tables, sizes, strict=True)
        ]
        kinds = {own.type for own in pieces if not pa.types.is_null(own.type)}
        if len(kinds) > 1:
            return pa.concat_arrays([as_text(own) for own in pieces])
        return pa.concat_arrays([own.cast(*kinds) if kinds else own for own in pieces])

    def where(rows: Sequence[int]) -> list[str]:
        of = np.searchsorted(ends, rows, side="right").tolist()
        return [
            f"{tables[i].name}, {tables[i].where([row - int(ends[i]) + sizes[i]])[0]}"
            for i, row in zip(of, rows, strict=True)
        ]

    whole = Table(f"{tables[0].name} and {len(tables) - 1} more", columns, cells, where)
    whole.is_text = any(table.is_text for table in tables)
    whole.commas_are_free = all(table.commas_are_free for table in tables)
    whole.notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return whole


def _of_values(cells: Sequence[Any], name: str, where: Where, column: str) -> pa.Array:
    """Return numbers, dates or truths where all cells are, else texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if kinds <= {int, float}:
            return pa.array(cells, pa.int64() if kinds == {int} else pa.float64())
    except (OverflowError, pa.ArrowInvalid):
        pass  # whole numbers beyond all sizes are texts
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {datetime, date}:
        return pa.array(cells, pa.timestamp("us"))
    nested = next((row for row, c in enumerate(cells) if isinstance(c, list | dict | tuple)), None)
    if nested is not None:
        raise InputError(
            f"{name}: {where([nested])[0]}, column {column!r}: {str(cells[nested])[:40]} is no "
            "name and no number; put a text or a number there, such as the first of several"
        )
    try:
        return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: column {column!r} has {error.object!r}, with half of a character "
            f"({error.object[error.start]!r}), which is no text; read it again in its encoding"
        ) from None


def _text(cell: Any) -> str:
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day):
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date) else text_of(cell)


def _file(path: Path, name: str) -> Table:
    """A file by what it begins with, so that its name may end as it likes."""
    sheet = None
    if "#" in path.name and not path.exists():
        book, named = str(path).rsplit("#", 1)
        if Path(book).is_file():
            path, name, sheet = Path(book), book, named
    try:
        with path.open("rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _stored(file, name, sheet, None)
            return _piped(file, name)
    except FileNotFoundError:
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise InputError(f"there is no file {name}{where}; check the path") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    except (UnicodeEncodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name!r} cannot be opened: its name is no text") from None


def _piped(stream: Any, name: str) -> Table:
    """Return the table in what can be read only once."""
    content, most = io.BytesIO(), limits().unpacked
    try:
        for chunk in chunks_of(stream, name, most):
            content.write(chunk)
    except UnicodeError:
        said = f"{name} was opened as text that it is not"
        raise InputError(f"{said}; open it in binary mode, or give its path") from None
    content.seek(0)
    return _stored(content, name, None, most)


def _stored(file: IO[bytes], name: str, sheet: str | None, most: int | None) -> Table:
    """Return the table in a file that can be read again, of so many bytes at most."""
    start = file.read(4)
    file.seek(0)
    if start == ZIP:
        return _workbook(file, name, sheet)
    if sheet is not None:
        raise InputError(f"{name} is no workbook, so that it has no sheet {sheet!r}")
    if start == PARQUET:
        return _parquet(file, name)
    if start == OLD_EXCEL:
        raise InputError(
            f"{name} is an old Excel workbook, or has a password; save it as .xlsx or CSV UTF-8"
        )
    return read_delimited(file, name, most)


def _parquet(source: IO[bytes], name: str) -> Table:
    """Return the table in a Parquet file, whose declared sizes are looked at first; nested columns
    are not read, as no name and no number is in them.
    """
    most = most_unpacked(source.seek(0, io.SEEK_END))
    try:
        with pq.ParquetFile(source) as file:
            said, schema = file.metadata, file.schema_arrow
        groups = [said.row_group(i).total_byte_size for i in range(said.num_row_groups)]
        refuse_cells(name, said.num_rows, said.num_columns)
        refuse_bomb(name, max(sum(groups), said.num_rows * said.num_columns), most)
        # One long text in a dictionary can be the text of all rows.
        nested = {field.name: field.type for field in schema if not _is_flat(field.type)}
        flat = [field.name for field in schema if field.name not in nested]
        texts = [field.name for field in schema if _has_length(field.type)]
        with pq.ParquetFile(source, read_dictionary=texts) as file:
            table = file.read(flat, use_threads=False)
        table.validate(full=True)  # indices and texts may be damaged
        for place, (column, cells) in enumerate(zip(flat, table.columns, strict=True)):
            refuse_bomb(name, _length(cells), most)
            try:
                own = cells.cast(pa.string()) if column in texts else cells
                table = table.set_column(place, column, whole(own))
            except pa.ArrowInvalid:  # bytes that are no text
                nested[column] = schema.field(column).type
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}") from None
    frame = _frame(table, name)

    def read(column: str) -> pa.Array:
        if column in nested:
            what = f"holds {str(nested[column])[:60]}, no names and no numbers"
            raise InputError(f"{name}: column {column!r} {what}; name another")
        return frame.cells(column)

    columns = schema.names if nested and flat else frame.columns
    return Table(name, columns, read, n_rows=table.num_rows)


def _is_flat(kind: pa.DataType) -> bool:
    """Whether there is one number, text or moment in each cell, and not many or any bytes."""
    kind = getattr(kind, "storage_type", kind)
    return not pa.types.is_nested(kind) and not pa.types.is_fixed_size_binary(kind)


def _has_length(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _length(cells: pa.ChunkedArray) -> int:
    """Return how many bytes texts behind dictionaries have."""
    if not (pa.types.is_dictionary(cells.type) and _has_length(cells.type.value_type)):
        return 0
    sizes = (pc.binary_length(c.dictionary).take(c.indices) for c in cells.iterchunks())
    return sum(pc.sum(own).as_py() or 0 for own in sizes)


def _workbook(file: IO[bytes], name: str, sheet: str | None) -> Table:
    """Return the table in a workbook."""
    names, one, lines = read_workbook(file, name, sheet)
    if not lines:
        which = "the first sheet" if sheet is None else f"the sheet {sheet!r}"
        raise InputError(f"{name}: {which} is empty; it needs a header and rows")
    tidy = tidied(lines, "row")
    places, columns = [place for place, _ in tidy.lines], tidy.names
    cells = {
        column: with_commas_read([own[j] if j < len(own) else None for _, own in tidy.lines])
        for j, column in enumerate(columns)
    }
    where: Where = lambda rows: [f"row {places[r]}" for r in rows]  # noqa: E731
    found = Table(name, columns, lambda c: _of_values(cells[c], name, where, c), where)
    found.notes, found.commas_are_free = tuple(tidy.notes), True
    found.sheets = chosen, *others = *names[one:], *names[:one]
    if sheet is None and others:
        found.notes = (
            f"{name} has {len(names)} sheets ({listed(names)}), of which {chosen!r} was read; "
            "say which if it is another.",
            *found.notes,
        )
    return found
