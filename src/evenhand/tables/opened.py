"""A table of whatever kind, opened: frames, rows, CSV, Parquet and Excel files, pipes.

CSV files are text with a header line, cells separated by commas, semicolons, tabs or bars. Of Excel
workbooks, the first sheet with a table is read, or the one that ``book.xlsx#name`` names.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import weakref
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from evenhand.errors import InputError
from evenhand.files import (
    MOST_BYTES,
    MOST_IN_LINE,
    MOST_IN_WORKBOOK,
    OLD_EXCEL,
    PARQUET,
    ZIP,
    Watch,
    packing,
    size,
)
from evenhand.tables.excel import openpyxl_module
from evenhand.tables.sources import Cells, FrameTable, ParquetFile, Rows, SourceTable, combined
from evenhand.tables.texts import listed
from evenhand.tables.untidy import LOOKED_THROUGH, Line, rows_of, untidy_csv

_READ_AT_ONCE = 1 << 20
# Lines longer than the first are rare; the second holds the longest that is read.
_BLOCKS = 8 << 20, 2 * MOST_IN_LINE


class CsvFile(SourceTable):
    """A CSV file with a header line, in UTF-8, which may be compressed."""

    is_text = True

    def __init__(self, path: Path, name: str) -> None:
        self._path, self.name = path, name
        with self._failures_named(), path.open("rb") as file:
            self._packed = packing(file.read(4))
            self.is_large = self._packed is not None or file.seek(0, os.SEEK_END) > LOOKED_THROUGH
        closed = self._surveyed()
        with self._text() as text:
            first = next((line for line in text if line.strip()), None)
        if first is None:
            raise InputError(f"{name} is empty; it needs a header line and lines below it")
        self._delimiter = max(",;\t|", key=first.count)
        self.commas_are_free = self._delimiter != ","
        try:
            self._header = next(self._records())[1]
        except csv.Error as error:
            raise InputError(f"{name}: the header cannot be read: {error}") from None
        # A name keeps no blanks around it: ' age' in a header is 'age' to everybody who reads it.
        super().__init__(name, [column.strip() for column in self._header])
        if not closed:
            self._refuse_stray_quotes()

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The content of the file, unpacked."""
        with (
            self._failures_named(),
            pa.input_stream(str(self._path), compression=self._packed) as stream,
        ):
            yield stream

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        """Turn what fails while the file is read into an InputError."""
        try:
            yield
        except FileNotFoundError:
            where = "" if self._path.is_absolute() else f" in {Path.cwd()}"
            raise InputError(f"there is no file {self.name}{where}; check the path") from None
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None

    @contextmanager
    def _text(self) -> Iterator[IO[str]]:
        with self._bytes() as stream:
            try:
                yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            except UnicodeDecodeError:
                raise self._not_utf8() from None

    def _not_utf8(self) -> InputError:
        """Say which byte of which line is not UTF-8."""
        with self._bytes() as stream:
            for line, raw in enumerate(io.BufferedReader(stream), start=1):
                try:
                    raw.decode()
                except UnicodeDecodeError as error:
                    return InputError(
                        f"{self.name}: line {line} has the byte 0x{raw[error.start]:02x} at "
                        f"position {error.start + 1}, which is not UTF-8; save the file as UTF-8 "
                        "(in a spreadsheet: 'CSV UTF-8')"
                    )
        return InputError(f"{self.name} is not text in UTF-8; save it as UTF-8")

    def _records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The non-empty records with the line they start on; slow, for the header and messages."""
        with self._text() as text:
            reader = csv.reader(text, delimiter=self._delimiter, strict=strict)
            start = 1
            for record in reader:
                if record:
                    yield start, record
                start = reader.line_num + 1

    def _surveyed(self) -> bool:
        """Look at all bytes: refuse what does not end; whether quotation marks close on lines."""
        watch = Watch(self.name, None if self._packed is None else MOST_BYTES)
        odd, closed = False, True
        with self._bytes() as stream:
            while chunk := stream.read(_READ_AT_ONCE):
                watch.take(chunk)
                if not closed or (not odd and b'"' not in chunk):
                    continue
                characters = np.frombuffer(chunk, dtype=np.uint8)
                inside = np.logical_xor.accumulate(characters == ord('"')) ^ odd
                closed = not inside[(characters == ord("\n")) | (characters == ord("\r"))].any()
                odd = bool(inside[-1])
        return closed and not odd

    def _refuse_stray_quotes(self) -> None:
        """A quotation mark without its partner swallows lines without a word: find it.

        A cell over several lines begins on a line with an odd number of marks. It is refused if
        its mark never closes, if something other than the end of a cell follows the closing one,
        or if every line that it makes one row of is a whole row by itself.
        """
        with self._text() as text:
            lines = iter(enumerate(text, start=1))
            for number, line in lines:
                if line.count('"') % 2 == 0:
                    continue
                row: list[str] = []
                read = _noted(chain([line], (more for _, more in lines)), row)
                try:
                    next(csv.reader(read, delimiter=self._delimiter, strict=True))
                except csv.Error:
                    raise self._stray_quote(number, len(row)) from None
                whole = (part.count(self._delimiter) == len(self._header) - 1 for part in row)
                if len(row) > 1 and all(whole):
                    raise self._stray_quote(number, len(row))

    def _stray_quote(self, line: int, n_lines: int) -> InputError:
        remedy = 'remove it, or, if it belongs to the text, write it twice ("")'
        if n_lines == 1:
            return InputError(
                f"{self.name}: line {line} has a quotation mark that neither opens nor closes a "
                f"cell; {remedy}"
            )
        return InputError(
            f"{self.name}: a quotation mark opens a cell on line {line} and is not closed there, "
            f"so that {n_lines} lines would become one row; close it, {remedy}"
        )

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns as texts."""
        if not columns:
            return {}
        header = [self._header[self.columns.index(column)] for column in columns]
        # Text throughout: what is a number is decided where a cell can be named that is none.
        kinds = [_NAMES if column in names else pa.string() for column in columns]
        for block in _BLOCKS:
            try:
                return combined(self._parsed(header, kinds, block), columns, names)
            except pa.ArrowInvalid as error:
                reason = str(error)
                if "cannot infer number of columns" not in reason and "straddling" not in reason:
                    break
        if "cannot infer number of columns" in reason:  # a header without a line end: no rows
            return {column: pa.array([], pa.string()) for column in columns}
        raise self._malformed(reason)

    def _parsed(self, header: list[str], kinds: list[pa.DataType], block: int) -> pa.Table:
        with self._bytes() as stream:
            return pacsv.read_csv(
                stream,
                read_options=pacsv.ReadOptions(block_size=block, use_threads=False),
                parse_options=pacsv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict(zip(header, kinds, strict=True)),
                    include_columns=header,
                    strings_can_be_null=False,
                ),
            )

    def _malformed(self, reason: str) -> InputError:
        """Say which line made the file unreadable."""
        line = 0
        try:
            for line, record in self._records():
                if len(record) != len(self._header):
                    return InputError(
                        f"{self.name}: line {line} has {len(record)} cells, the header has "
                        f"{len(self._header)}; fix the line (text that contains "
                        f"{self._delimiter!r} stands in double quotes)"
                    )
        except csv.Error as error:
            return InputError(f"{self.name}: after line {line}: {error}")
        return InputError(f"{self.name} cannot be read: {reason}")

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return the lines of the file where rows stand."""
        found: dict[int, str] = {}
        wanted = set(rows)
        # A cell may be too long for this reader: then the row's number has to do.
        with suppress(csv.Error):
            for row, (line, _) in enumerate(self._records(), start=-1):
                if row in wanted:
                    found[row] = f"line {line}"
                    if len(found) == len(wanted):
                        break
        return [found.get(row, f"row {row}") for row in rows]


# Names come again and again: numbers of them take less than the texts.
_NAMES = pa.dictionary(pa.int32(), pa.string())


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put into a list as somebody takes it."""
    for line in lines:
        taken.append(line)
        yield line


def opened(
    table: Any, what: str = "the table", name: str | None = None, *, untidy: bool = False
) -> SourceTable:
    """Return a table, whatever it is kept in; ``untidy``: also one with titles, blank lines, or in
    an old encoding.
    """
    if isinstance(table, SourceTable):
        return table
    if isinstance(table, str | os.PathLike):
        return _file(Path(table), name or str(table), untidy)
    if hasattr(table, "read"):
        return _copied(table, name or "the file given", untidy)
    if isinstance(table, Mapping) and table and all(map(_is_list, table.values())):
        return _columns(table, name or "the table given")
    if _is_list(table) and len(table) and all(isinstance(row, Mapping) for row in table):
        return Rows.of(table, name or "the rows given")
    # Of the type: a lazy frame would work to say its columns.
    if hasattr(type(table), "columns") and not isinstance(table, Mapping):
        return FrameTable(table, name or "the frame")
    arrays = "; arrays go to ActionSet(features, groups)" if hasattr(table, "__array__") else ""
    raise InputError(
        f"{what} must be a frame of pandas, polars or pyarrow, a list of rows that are mappings, a "
        f"path or an open file (CSV, Parquet, Excel); got {type(table).__name__}{arrays}"
    )


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def _columns(columns: Mapping[Any, Any], name: str) -> SourceTable:
    sizes = {str(column): len(cells) for column, cells in columns.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{column!r} has {n}" for column, n in sizes.items())
        raise InputError(f"{name}: columns must be of one length; {said}")
    return Rows(name, list(sizes), list(columns.values()))


def _file(path: Path, name: str, untidy: bool = False) -> SourceTable:
    """A file by what it begins with, so that its name may end as it likes."""
    if not _is_text(name):
        raise InputError(f"{name!r} cannot be opened: its name is no text")
    if "#" in path.name and not path.exists():
        book, sheet = str(path).rsplit("#", 1)
        if Path(book).is_file():
            return _sheet(Path(book), book, sheet)
    try:
        if path.is_fifo() or path.is_char_device():
            with path.open("rb") as pipe:
                return _copied(pipe, name, untidy)
        with path.open("rb") as file:
            start = file.read(4)
    except OSError:
        start = b""  # whoever reads it says what is the matter
    if start == PARQUET:
        return ParquetFile(path, name)
    if start == ZIP:
        return workbook(path, name)
    if start == OLD_EXCEL:
        raise InputError(f"{name} is an old Excel workbook; save it as .xlsx or as CSV UTF-8")
    plain = untidy and packing(start) is None
    return (untidy_csv(path, name) if plain else None) or CsvFile(path, name)


def _copied(stream: Any, name: str, untidy: bool = False) -> SourceTable:
    """What can be read only once, copied to the disk for as long as the table lives."""
    with tempfile.NamedTemporaryFile(prefix="evenhand-", delete=False) as copy:
        path = Path(copy.name)
        try:
            _copy(stream, copy, name)
            copy.flush()
            table = _file(path, name, untidy)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    weakref.finalize(table, path.unlink, missing_ok=True)
    return table


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
        raise InputError(
            f"{name} was opened as text that it is not; open it in binary mode, or give its path"
        ) from None
    except OSError as error:
        raise InputError(
            f"{name} cannot be copied to {tempfile.gettempdir()} to be read: "
            f"{error.strerror or error}; save it as a file and give its path"
        ) from None


def _is_text(name: str) -> bool:
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


def _sheet(path: Path, name: str, sheet: str) -> SourceTable:
    with path.open("rb") as file:
        if file.read(4) != ZIP:
            raise InputError(f"{name} is no workbook, so that it has no sheet {sheet!r}")
    return workbook(path, name, sheet)


def workbook(path: Path, name: str, sheet: str | None = None) -> Rows:
    """Return a sheet of a workbook (.xlsx), the first with a table if none is named; without empty
    rows and titles, formulas as what they came to.
    """
    openpyxl = openpyxl_module()
    try:
        _refuse_bombs(path, name)
        # not by its path: its name may end as it likes
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names = [one.title for one in book.worksheets]
            at = _place_of(sheet, names, name)
            lines: list[Line] = []
            for one in range(len(names)) if at is None else [at]:
                rows = book.worksheets[one].iter_rows(values_only=True)
                lines = [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
                at = one
                if sheet is not None or _holds_table(lines):
                    break
            else:
                at = 0
                rows = book.worksheets[0].iter_rows(values_only=True)
                lines = [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
            book.close()
    except (InputError, MemoryError):
        raise
    # A damaged workbook makes openpyxl, zipfile, zlib and expat fail in ways that nobody listed.
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{name} cannot be read as an Excel workbook: {said}; save it anew as .xlsx, or as CSV "
            "UTF-8"
        ) from None
    which = "the first sheet" if sheet is None else f"the sheet {sheet!r}"
    if not any(cell is not None for _, cells in lines for cell in cells):
        raise InputError(f"{name}: {which} is empty; it needs a header and rows")
    found = rows_of(name, lines)
    found.sheets = chosen, *others = *names[at or 0 :], *names[: at or 0]
    if sheet is None and others:
        found.notes = (
            f"{name} has {len(names)} sheets ({listed(names)}), of which {chosen!r} was read. "
            f"Another is named after #: '{name}#{others[0]}'.",
            *found.notes,
        )
    return found


def _place_of(sheet: str | None, names: Sequence[str], name: str) -> int | None:
    if sheet is None:
        return None
    alike = {one.strip().casefold(): place for place, one in enumerate(names)}
    if sheet.strip().casefold() not in alike:
        raise InputError(f"{name} has no sheet {sheet!r}; its sheets are {listed(names, 30)}")
    return alike[sheet.strip().casefold()]


def _holds_table(lines: Sequence[Line]) -> bool:
    """Whether there are two columns or more, with two lines below the header."""
    wide = [cells for _, cells in lines if sum(cell is not None for cell in cells) > 1]
    return len(wide) > 2


def _refuse_bombs(path: Path, name: str) -> None:
    """Refuse what unpacks to more than is read: zipfile unpacks no more than is announced."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_IN_WORKBOOK:
        raise InputError(
            f"{name} unpacks to {size(unpacked)}, and of a workbook no more than "
            f"{size(MOST_IN_WORKBOOK)} are read; save the sheet as CSV UTF-8"
        )
