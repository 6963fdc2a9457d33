"""A table of whatever kind, opened: frames, rows, CSV, Parquet and Excel files, pipes.

CSV files are text with a header, cells separated by commas, semicolons, tabs or bars. Of Excel
workbooks, the first sheet with a table is read, or the one that ``book.xlsx#name`` names. A file is
read whole and then left alone; a pipe is copied to the disk first.

Offices keep tables with titles above the header, headers of two lines, blank lines, totals. What is
a header is told by how many cells are filled: a title has fewer, a header as many as the lines
below it, and it names columns: a line with marks in it, or with cells that come again below, is
data. Everything that is passed over is said (`Table.notes`), and so is an old encoding.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import os
import re
import tempfile
import zipfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from evenhand.errors import InputError
from evenhand.files import (
    MOST_CELLS_IN_SHEET,
    MOST_IN_LINE,
    MOST_IN_WORKBOOK,
    MOST_ROWS_IN_SHEET,
    OLD_EXCEL,
    PARQUET,
    ZIP,
    Watch,
    most_unpacked,
    packing,
    refuse_bomb,
    refuse_cells,
)
from evenhand.tables.cells import as_text, is_text
from evenhand.tables.columns import Table, Where, by_number
from evenhand.tables.texts import listed, parsed, repeated, text_of
from evenhand.tables.written import openpyxl_module

_READ_AT_ONCE = 1 << 20
_CELLS_AT_ONCE = 1 << 17  # that are Python's own before they are packed
_SMALL = 8 << 20  # bytes by which an encoding is told, and up to which a text is looked through
_LOOKED_AT = 50  # lines by which a header is found
_MOST_TITLES = 10
_SEPARATORS = ",;\t|"
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")

ABOVE = "Above the header stands"
"""How a note on titles begins."""

Line: TypeAlias = tuple[int, Sequence[Any]]
"""Which line it is, and its cells; None or a blank text for an empty one."""


def open_table(table: Any, what: str = "the table", name: str | None = None) -> Table:
    """Return a table, whatever it is kept in; messages call it ``name``, or ``what``."""
    if isinstance(table, Table):
        return table
    if isinstance(table, str | os.PathLike):
        return _file(Path(table), name or str(table))
    if hasattr(table, "read"):
        return _copied(table, name or "the file given")
    if isinstance(table, Mapping) and table and all(map(_is_list, table.values())):
        sizes = {str(column): len(cells) for column, cells in table.items()}
        if len(set(sizes.values())) > 1:
            said = ", ".join(f"{column!r} has {n}" for column, n in sizes.items())
            raise InputError(f"{name or 'the table given'}: columns must be of one length; {said}")
        return _in_memory(name or "the table given", list(sizes), list(table.values()))
    if _is_list(table) and len(table) and all(isinstance(row, Mapping) for row in table):
        return of_rows(table, name or "the rows given")
    # Of the type: a lazy frame would work to say its columns.
    if hasattr(type(table), "columns") and not isinstance(table, Mapping):
        return _frame(table, name or "the frame")
    arrays = "; arrays go to ActionSet(features, groups)" if hasattr(table, "__array__") else ""
    raise InputError(
        f"{what} must be a frame of pandas, polars or pyarrow, a list of rows that are mappings, a "
        f"path or an open file (CSV, Parquet, Excel); got {type(table).__name__}{arrays}"
    )


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def of_rows(rows: Sequence[Mapping[Any, Any]], name: str, what: str | None = None) -> Table:
    """Return the table of rows that name their cells; `what` they are, counted from 1."""
    texts = [{str(key): cell for key, cell in row.items()} for row in rows]
    columns = list(dict.fromkeys(key for row in texts for key in row))
    cells = [[row.get(c) for row in texts] for c in columns]
    if what is None:
        return _in_memory(name, columns, cells)
    return _in_memory(name, columns, cells, lambda rows: [f"{what} {row + 1}" for row in rows])


def _in_memory(
    name: str, columns: Sequence[str], cells: Sequence[Sequence[Any]], where: Where = by_number
) -> Table:
    """Return a table of columns of Python's own values, with where its rows stand."""
    known = dict(zip(columns, cells, strict=True))
    return Table(name, columns, lambda c: _of_values(known[c], name, where, c), where)


def _frame(frame: Any, name: str) -> Table:
    """Return a data frame of pandas, polars or pyarrow as a table."""
    try:
        native = nw.from_native(frame)
        known = native.collect() if isinstance(native, nw.LazyFrame) else native
        keys = list(known.columns)
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"a frame of pandas, polars or pyarrow is needed, not {kind}") from None
    except nw.exceptions.DuplicateError as error:
        message = " ".join(str(error).split())
        raise InputError(f"{name}: {message}; give every column its own name") from None
    texts = {str(key): key for key in keys}  # pandas allows numbers as names of columns
    if twice := repeated(map(str, keys)):
        both = "names more than one column, as a number and as text; rename one"
        raise InputError(f"{name}: {listed(twice)} {both}")

    def cells(column: str) -> pa.Array:
        series = known.get_column(texts[column])
        with suppress(
            pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError,
            UnicodeEncodeError,
        ):  # fmt: skip
            found = _whole(series.to_arrow())
            kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
            if not isinstance(kind, pa.BaseExtensionType):  # such as pandas' periods
                return found
        # An object column of mixed kinds, such as numbers with 'n/a' among them.
        both = zip(series.is_null().to_list(), series.to_list(), strict=True)
        return _of_values([None if gone else one for gone, one in both], name, by_number, column)

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


def _whole(cells: pa.ChunkedArray) -> pa.Array:
    """Return cells in one piece."""
    whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    # text beyond 2 GB stays in pieces, unless its type can hold it
    return whole if isinstance(whole, pa.Array) else cells.cast(pa.large_string()).combine_chunks()


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
    if not _is_text(name):
        raise InputError(f"{name!r} cannot be opened: its name is no text")
    start, sheet = b"", None
    if "#" in path.name and not path.exists():
        book, named = str(path).rsplit("#", 1)
        if Path(book).is_file():
            path, name, sheet = Path(book), book, named
    with suppress(OSError):  # whoever reads it says what is the matter
        if path.is_fifo() or path.is_char_device():
            with path.open("rb") as pipe:
                return _copied(pipe, name)
        with path.open("rb") as file:
            start = file.read(4)
    if start == ZIP:
        return _workbook(path, name, sheet)
    if sheet is not None:
        raise InputError(f"{name} is no workbook, so that it has no sheet {sheet!r}")
    if start == PARQUET:
        return _parquet(path, name)
    if start == OLD_EXCEL:
        raise InputError(f"{name} is an old Excel workbook; save it as .xlsx or as CSV UTF-8")
    return _CsvFile(path, name).table()


def _is_text(name: str) -> bool:
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


def _copied(stream: Any, name: str) -> Table:
    """Return the table in what can be read only once, by way of the disk."""
    descriptor, place = tempfile.mkstemp(prefix="evenhand-")
    try:
        with os.fdopen(descriptor, "wb") as copy:
            _copy(stream, copy, name)
        return _file(Path(place), name)
    finally:
        Path(place).unlink(missing_ok=True)


def _copy(stream: Any, copy: Any, name: str) -> None:
    watch: Watch | None = None
    try:
        while chunk := stream.read(_READ_AT_ONCE):
            chunk = chunk.encode() if isinstance(chunk, str) else chunk
            if watch is None:
                start = chunk[:4]
                lines = packing(start) is None and start not in (PARQUET, ZIP, OLD_EXCEL)
                watch = Watch(name, lines=lines)
            watch.take(chunk)
            copy.write(chunk)
    except UnicodeError:
        said = f"{name} was opened as text that it is not"
        raise InputError(f"{said}; open it in binary mode, or give its path") from None
    except OSError as error:
        said = f"{name} cannot be copied to {tempfile.gettempdir()}: {error.strerror or error}"
        raise InputError(f"{said}; save it as a file and give its path") from None


def _parquet(path: Path, name: str) -> Table:
    """Return the table in a Parquet file, whose declared sizes are looked at first."""
    most = most_unpacked(path.stat().st_size)
    try:
        with pq.ParquetFile(path) as file:
            said, schema = file.metadata, file.schema_arrow
        groups = [said.row_group(i).total_byte_size for i in range(said.num_row_groups)]
        refuse_cells(name, said.num_rows, said.num_columns)
        refuse_bomb(name, max(sum(groups), said.num_rows * said.num_columns), most)
        # One long text in a dictionary can be the text of all rows.
        texts = {i: field.name for i, field in enumerate(schema) if is_text(field.type)}
        with pq.ParquetFile(path, read_dictionary=[*texts.values()]) as file:
            table = file.read(use_threads=False)
        table.validate(full=True)  # indices and texts may be damaged
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}") from None
    for place, cells in enumerate(table.columns):
        refuse_bomb(name, _length(cells), most)
        if place in texts:
            table = table.set_column(place, texts[place], cells.cast(pa.string()))
    return _frame(table, name)


def _length(cells: pa.ChunkedArray) -> int:
    """Return how many bytes texts behind dictionaries have."""
    if not (pa.types.is_dictionary(cells.type) and is_text(cells.type.value_type)):
        return 0
    sizes = (pc.binary_length(c.dictionary).take(c.indices) for c in cells.iterchunks())
    return sum(pc.sum(own).as_py() or 0 for own in sizes)


def _workbook(path: Path, name: str, sheet: str | None) -> Table:
    """Return a sheet of a workbook, by default the first with a table; formulas as their values."""
    openpyxl = openpyxl_module()
    try:
        with zipfile.ZipFile(path) as archive:  # which unpacks no more than is announced
            unpacked = sum(member.file_size for member in archive.infolist())
        refuse_bomb(name, unpacked, most_unpacked(path.stat().st_size, MOST_IN_WORKBOOK))
        # not by its path: its name may end as it likes
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names = [one.title for one in book.worksheets]
            for one in (
                [*range(len(names)), 0] if sheet is None else [_place_of(sheet, names, name)]
            ):
                lines = _lines_of_sheet(book.worksheets[one], name)
                if sheet is not None or sum(len(_filled(cells)) > 1 for _, cells in lines) > 2:
                    break
            book.close()
    except (InputError, MemoryError):
        raise
    # A damaged workbook makes openpyxl, zipfile, zlib and expat fail in ways that nobody listed.
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        said = f"{name} cannot be read as an Excel workbook: {said}"
        raise InputError(f"{said}; save it anew as .xlsx, or as CSV UTF-8") from None
    if not lines:
        which = "the first sheet" if sheet is None else f"the sheet {sheet!r}"
        raise InputError(f"{name}: {which} is empty; it needs a header and rows")
    tidy = tidied(lines, "row")
    columns = [
        [cells[j] if j < len(cells) else None for _, cells in tidy.lines]
        for j in range(len(tidy.names))
    ]
    places = [place for place, _ in tidy.lines]
    found = _in_memory(name, tidy.names, columns, lambda rows: [f"row {places[r]}" for r in rows])
    found.notes = tuple(tidy.notes)
    found.sheets = chosen, *others = *names[one:], *names[:one]
    if sheet is None and others:
        found.notes = (
            f"{name} has {len(names)} sheets ({listed(names)}), of which {chosen!r} was read. "
            f"Another is named after #: '{name}#{others[0]}'.",
            *found.notes,
        )
    return found


def _place_of(sheet: str, names: Sequence[str], name: str) -> int:
    alike = [one.strip().casefold() for one in names]
    if sheet.strip().casefold() not in alike:
        raise InputError(f"{name} has no sheet {sheet!r}; its sheets are {listed(names, 30)}")
    return alike.index(sheet.strip().casefold())


def _lines_of_sheet(sheet: Any, name: str) -> list[Line]:
    """Return the rows of a sheet with something in them, each up to its last cell that has."""
    sheet.reset_dimensions()  # what a sheet says of its size may be all that Excel can hold
    lines: list[Line] = []
    n = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        filled = _filled(cells)
        n += filled[-1] + 1 if filled else 0
        if number > MOST_ROWS_IN_SHEET or n > MOST_CELLS_IN_SHEET:
            most = f"{MOST_ROWS_IN_SHEET:,} rows or {MOST_CELLS_IN_SHEET:,} cells"
            raise InputError(f"{name}: the sheet {sheet.title!r} goes beyond {most}: too many")
        if filled:
            lines.append((number, cells[: filled[-1] + 1]))
    return lines


class _CsvFile:
    """A CSV file with a header, which may be packed: looked through once, and then read."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name, self._encoding = path, name, "utf-8-sig"
        self._quoted = False  # whether some cell may be in quotation marks
        head, self._size, self._n_lines = self._surveyed()
        self._notes = self._decided(head)
        with self._text() as text:
            first = list(islice((line for line in text if line.strip()), _LOOKED_AT))
        if not first:
            raise self._empty()
        self._mark = _separator(first)
        refuse_cells(name, self._n_lines, 1 + max(line.count(self._mark) for line in first))

    def table(self) -> Table:
        """Return the table in it."""
        with self._text() as text:
            lines = self._lines(text)
            first = list(islice(lines, _LOOKED_AT + _MOST_TITLES))
            if not first:  # lines that are empty but for quotation marks
                raise self._empty()
            tidy = tidied(first, "line")
            names, width = tidy.names, max(len(first[0][1]), len(tidy.names))
            least = min((len(cells) for _, cells in tidy.lines), default=0)
            if least > width and not tidy.notes:
                said = f"{self._name}: the header names {len(names)} columns ({listed(names, 6)})"
                below = f"and the lines below it have {least} cells"
                raise InputError(f"{said}, {below}; give every column a name")
            plain = first[0][0] == 1 and not tidy.notes and len(first[0][1]) == len(names)
            if plain and (at_once := self._at_once(names)) is not None:
                return self._made(names, at_once, lambda rows: [f"line {r + 2}" for r in rows], ())
            # A cell may be lacking anywhere in a short line; titles are from where they do not.
            short = 0 if tidy.notes else len(names)
            places, pieces = array("q"), [[pa.array([], pa.string())] for _ in names]
            rest = chain(tidy.lines, lines)
            while some := list(islice(rest, 1 + _CELLS_AT_ONCE // width)):
                places.extend(place for place, _ in some)
                rows = [
                    cells if len(cells) == width else self._fitted(place, cells, short, width)
                    for place, cells in some
                ]
                for own, column in zip(pieces, zip(*rows, strict=True), strict=False):
                    own.append(pa.array(column, pa.string()))
        found = {c: _whole(pa.chunked_array(own)) for c, own in zip(names, pieces, strict=True)}
        where: Where = lambda rows: [f"line {places[r]}" for r in rows]  # noqa: E731
        return self._made(names, found, where, tidy.notes)

    def _made(
        self, names: list[str], found: dict[str, pa.Array], where: Where, notes: Sequence[str]
    ) -> Table:
        table = Table(self._name, names, found.__getitem__, where)
        table.is_text, table.is_large = True, self._size > _SMALL
        table.commas_are_free = self._mark != ","
        table.notes = (*self._notes, *notes)
        return table

    def _at_once(self, names: Sequence[str]) -> dict[str, pa.Array] | None:
        """Return columns where each line is a row, and nothing is quoted; else None."""
        if self._quoted or self._encoding != "utf-8-sig":
            return None
        places = [str(place) for place in range(len(names))]
        try:
            with self._bytes() as stream:
                found = pa_csv.read_csv(
                    stream,
                    pa_csv.ReadOptions(skip_rows=1, column_names=places, block_size=_READ_AT_ONCE),
                    pa_csv.ParseOptions(
                        delimiter=self._mark, quote_char=False, ignore_empty_lines=False
                    ),
                    pa_csv.ConvertOptions(column_types=dict.fromkeys(places, pa.string())),
                )
        except pa.ArrowInvalid:  # whatever it is: the lines are read one by one, and it is named
            return None
        columns = [_whole(found[place]) for place in places]
        empty = [pc.equal(pc.utf8_trim_whitespace(column), "") for column in columns]
        blank = functools.reduce(pc.and_, empty)
        if found.num_rows not in (self._n_lines - 1, self._n_lines) or pc.any(blank).as_py():
            return None
        return dict(zip(names, columns, strict=True))

    def _lines(self, text: Iterable[str]) -> Iterator[Line]:
        """The lines with something in them."""
        csv.field_size_limit(max(csv.field_size_limit(), MOST_IN_LINE))
        taken: list[str] = []
        noted = _noted(text, taken) if self._quoted else text
        reader = csv.reader(noted, delimiter=self._mark, strict=self._quoted)
        start, width = 1, 0
        try:
            for cells in reader:
                # a mark without its partner makes one row of lines that are whole rows
                if len(taken) > 1 and {one.count(self._mark) for one in taken} == {width - 1}:
                    raise self._stray_quote(start, taken)
                taken.clear()
                if "".join(cells).strip():
                    width = width or len(cells)
                    yield start, cells
                start = reader.line_num + 1
        except csv.Error as error:
            if taken and "limit" not in str(error):
                raise self._stray_quote(start, taken) from None
            raise InputError(f"{self._name}: line {start}: {error}") from None

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The content of the file, unpacked."""
        try:
            with self._path.open("rb") as file:
                packed = packing(file.read(4))
            with pa.input_stream(str(self._path), compression=packed) as stream:
                yield stream
        except FileNotFoundError:
            where = "" if self._path.is_absolute() else f" in {Path.cwd()}"
            raise InputError(f"there is no file {self._name}{where}; check the path") from None
        except OSError as error:
            raise InputError(f"{self._name} cannot be read: {error}") from None

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        with self._bytes() as stream:
            try:
                yield io.TextIOWrapper(stream, encoding=self._encoding, newline="")
            except UnicodeDecodeError:
                raise self._not_utf8() from None

    def _surveyed(self) -> tuple[bytes, int, int]:
        """Look at all bytes; return the first, how many there are, and how many lines."""
        with self._bytes() as stream:
            size, head, n = self._path.stat().st_size, bytearray(), 0
            with self._path.open("rb") as file:
                most = most_unpacked(size) if packing(file.read(4)) else None
            watch = Watch(self._name, most)
            while chunk := stream.read(_READ_AT_ONCE):
                watch.take(chunk)
                self._quoted = self._quoted or b'"' in chunk
                n += chunk.count(b"\n")
                if watch.total <= _SMALL:
                    head += chunk
        return bytes(head), watch.total, n

    def _decided(self, head: bytes) -> tuple[str, ...]:
        """Settle the encoding, and return what is to be said of it."""
        if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            self._encoding = "utf-16"
            return (f"{self._name} is in UTF-16, and was read as that.",)
        if self._size > _SMALL:  # whoever reads it finds what is not UTF-8
            return ()
        try:
            head.decode("utf-8-sig")
            return ()
        except UnicodeDecodeError:
            text = head.decode("cp1252", errors="replace")
        if "\ufffd" in text or _CONTROL.search(text):
            raise self._not_utf8()
        self._encoding = "cp1252"
        word = next((word for word in re.findall(r"\w+", text) if not word.isascii()), "")
        said = f"{self._name} is not in UTF-8; it was read as Windows-1252 (Latin-1), with words"
        return (f"{said} such as {word!r}. If they look wrong, save it as UTF-8.",)

    def _not_utf8(self) -> InputError:
        """Say which line is not UTF-8."""
        with self._bytes() as stream:
            for line, raw in enumerate(io.BufferedReader(stream), start=1):
                if "\ufffd" in raw.decode(errors="replace"):
                    return InputError(
                        f"{self._name}: line {line} is not text in UTF-8; save the file as UTF-8 "
                        "(in a spreadsheet: 'CSV UTF-8')"
                    )
        return InputError(f"{self._name} is not text in UTF-8; save it as UTF-8")

    def _empty(self) -> InputError:
        return InputError(f"{self._name} is empty; it needs a header line and lines below it")

    def _fitted(
        self, line: int, cells: Sequence[str], short: int, width: int
    ) -> Sequence[str | None]:
        """Return a line's cells, so many; an error if it has too few, or something beyond them."""
        if len(cells) < short or any(map(str.strip, cells[width:])):
            raise InputError(
                f"{self._name}: line {line} has {len(cells)} cells, the header has "
                f"{short or width}; fix the line (text with {self._mark!r} stands in double quotes)"
            )
        return [*cells[:width], *[None] * (width - len(cells))]

    def _stray_quote(self, start: int, lines: Sequence[str]) -> InputError:
        rows = f", so that {len(lines)} lines would become one row" * (len(lines) > 1)
        return InputError(
            f"{self._name}: line {start} has a quotation mark without its partner{rows}; close it, "
            'remove it, or, if it belongs to the text, write it twice ("")'
        )


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put into a list as somebody takes it."""
    for line in lines:
        taken.append(line)
        yield line


def _separator(head: Sequence[str]) -> str:
    """Return what separates cells: what stands as often on most lines."""

    def often(mark: str) -> tuple[int, int]:
        times = Counter(line.count(mark) for line in head if mark in line)
        return max(((lines, n) for n, lines in times.items()), default=(0, 0))

    return max(_SEPARATORS, key=often)


class Tidy(NamedTuple):
    """A table: names of columns, lines below them, and what was passed over."""

    names: list[str]
    lines: list[Line]
    notes: list[str]


def tidied(lines: Sequence[Line], word: str) -> Tidy:
    """Return lines without titles above the header, and with one header; a line is called so."""
    notes = []
    widest = max((len(_filled(cells)) for _, cells in lines[:_LOOKED_AT]), default=0)
    start = 0
    while start < min(_MOST_TITLES, len(lines) - 2) and _is_title(lines[start][1], widest):
        start += 1
    if start and holds_marks(_texts(lines[start][1])):
        start = 0  # what looked like a title is the header of a table with fewer names than cells
    header, body = lines[start] if lines else (0, ()), list(lines[start + 1 :])
    names = _texts(header[1])
    both = _two_lines(names, body) if body else None
    if both is not None and both == _texts(body[0][1]):  # nothing is left of the first line
        start, names, both, body = start + 1, both, None, body[1:]
    if start:
        titles = [", ".join(filter(None, _texts(cells))) for _, cells in lines[:start]]
        notes.append(f"{ABOVE} {listed(titles, 3)}, which is no part of the table.")
    if both is not None:
        names, body = both, body[1:]
        where = f"{word} {header[0]} and the next"
        notes.append(f"The header is on two lines, {where}: {listed(names, 12)}.")
    while names and not names[-1]:
        names.pop()
    return Tidy(names, body, notes)


def _filled(cells: Sequence[Any]) -> list[int]:
    return [
        i
        for i, cell in enumerate(cells)
        if cell is not None and (cell == cell and str(cell).strip())  # noqa: PLR0124 # NaN
    ]


def _texts(cells: Sequence[Any]) -> list[str]:
    return ["" if cell is None else text_of(cell).strip() for cell in cells]


def holds_marks(names: Sequence[str]) -> bool:
    """Whether names of columns hold numbers that name nothing: neither 1, 2, 3, … nor years."""
    filled = [name for name in names if name]
    point, comma = (parsed(filled, mark)[0] for mark in ".,")
    both = np.where(np.isnan(point), comma, point)
    found = both[np.isfinite(both)].tolist()
    counts = found == list(range(1, len(found) + 1))
    years = all(1900 <= n <= 2100 and n == int(n) for n in found) and len({*found}) == len(found)
    return bool(found) and not counts and not years


def _is_title(cells: Sequence[Any], widest: int) -> bool:
    return len(_filled(cells)) <= max(1, widest // 3) and widest > 1


def _two_lines(names: Sequence[str], body: Sequence[Line]) -> list[str] | None:
    """Return the names of a header on two lines, where cells were merged; None if it has one."""
    second = _texts(body[0][1])
    below = {i for _, cells in body[1:_LOOKED_AT] for i in _filled(cells)}
    width = max(below, default=-1) + 1
    names = [*names, *[""] * (width - len(names))]
    second += [""] * (len(names) - len(second))
    gaps = [i for i in below if not names[i]]
    if not gaps or not all(second[i] for i in gaps):
        return None
    if parsed([text for text in second if text])[1].any():
        return None
    for _, cells in body[1:_LOOKED_AT]:  # where names of columns do not come again, as cells do
        if any(name and name == text for name, text in zip(second, _texts(cells), strict=False)):
            return None
    return [own or above for above, own in zip(names, second, strict=False)]
