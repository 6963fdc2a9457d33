"""CSV files: text with a header line, cells separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from evenhand.errors import InputError
from evenhand.tables.limits import MOST_BYTES, MOST_IN_LINE, Watch, packing
from evenhand.tables.sources import Cells, Table, combined

_CHUNK = 1 << 20
# Lines longer than the first are rare; the second holds the longest that is read.
_BLOCKS = 8 << 20, 2 * MOST_IN_LINE


class CsvFile(Table):
    """A CSV file with a header line, in UTF-8, which may be compressed."""

    is_text = True

    def __init__(self, path: Path, name: str) -> None:
        self._path, self.name = path, name
        with self._failures_named(), path.open("rb") as file:
            self._packed = packing(file.read(4))
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
            while chunk := stream.read(_CHUNK):
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
