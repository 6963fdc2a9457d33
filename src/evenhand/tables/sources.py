"""Sources: CSV files and data frames, both as streams of columns that can be read twice."""

from __future__ import annotations

import csv
import io
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from evenhand.errors import InputError
from evenhand.tables.cells import as_text
from evenhand.tables.names import listed, repeated

# The reader keeps some forty blocks in flight.
CSV_BLOCK_BYTES = 1 << 20
FRAME_BLOCK_ROWS = 1 << 16


class Source(Protocol):
    """A table that can be read twice, block by block, and that can say where a row stands."""

    @property
    def name(self) -> str:
        """What the messages call the table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; an empty name is a column without one."""

    @property
    def commas_are_free(self) -> bool:
        """Whether a comma does not separate cells, so that it may well stand before decimals."""

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block, in the order asked for."""

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """Where these rows (counted from 0) stand, in the user's words."""


class CsvFile:
    r"""A CSV file with a header line, in UTF-8, separated by commas, semicolons, tabs or bars.

    Parameters
    ----------
    file : path, or an open file
        A path (also of a compressed `.csv.gz`), or a file object. A file object or a pipe can be
        read only once, so it is copied to a temporary file.
    name : str, optional
        What messages call the file; its path if not given.

    Examples
    --------
    >>> table = CsvFile(io.StringIO("name;age\nAnn;31\nBo;45\n"))
    >>> table.columns
    ('name', 'age')
    >>> [block[0].to_pylist() for block in table.blocks(["age"])]
    [['31', '45']]
    >>> table.places([1], "name")
    ["line 3 ('Bo')"]
    """

    def __init__(
        self, file: str | os.PathLike[str] | IO[str] | IO[bytes], name: str | None = None
    ) -> None:
        if isinstance(file, (str, os.PathLike)):
            self._path = Path(file)
            self.name = name or str(self._path)
            if not _is_text(self.name):
                raise InputError(f"{self.name!r} cannot be opened: its name is no text")
            with self._failures_named():  # a name can be too long to ask anything of
                once = self._path.is_fifo() or self._path.is_char_device()
            if once:
                with self._failures_named(), self._path.open("rb") as pipe:
                    self._spool(pipe)
        elif hasattr(file, "read"):
            self.name = name or "the file given"
            self._spool(file)
        else:
            raise InputError(
                f"a path or an open file is needed, not {type(file).__name__}; data frames go to "
                "ActionSet.from_frame, arrays to ActionSet(features, groups)"
            )
        with self._text() as text:
            first = next((line for line in text if line.strip()), None)
        if first is None:
            raise InputError(f"{self.name} is empty; it needs a header line and lines below it")
        self._delimiter = max(",;\t|", key=first.count)
        self.commas_are_free = self._delimiter != ","
        try:
            self._header = next(self._records())[1]
        except csv.Error as error:
            raise InputError(f"{self.name}: the header cannot be read: {error}") from None
        # A name keeps no blanks around it: ' age' in a header is 'age' to everybody who reads it.
        self.columns = tuple(name.strip() for name in self._header)
        twice = repeated(name for name in self.columns if name)
        if twice:
            raise InputError(
                f"{self.name}: the header names {listed(twice)} more than once; "
                "give every column a name of its own"
            )
        self._refuse_stray_quotes()

    def _spool(self, stream: Any) -> None:
        """Copy to the disk what can be read only once, for as long as this object lives."""
        with tempfile.NamedTemporaryFile(prefix="evenhand-", delete=False) as copy:
            self._path = Path(copy.name)
            weakref.finalize(self, self._path.unlink, missing_ok=True)
            try:
                while chunk := stream.read(CSV_BLOCK_BYTES):
                    copy.write(chunk.encode() if isinstance(chunk, str) else chunk)
            except UnicodeError:
                raise InputError(
                    f"{self.name} was opened as text that it is not; open it in binary mode, or "
                    "give its path"
                ) from None
            except OSError as error:
                raise InputError(
                    f"{self.name} cannot be copied to {self._path.parent} to be read twice: "
                    f"{error.strerror or error}; save it as a file and give its path"
                ) from None

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The content of the file, unpacked."""
        with (
            self._failures_named(),
            pa.input_stream(str(self._path), compression="detect") as stream,
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

    def _refuse_stray_quotes(self) -> None:
        """A quotation mark without its partner swallows lines without a word: find it.

        A cell over several lines begins on a line with an odd number of marks. It is refused if
        its mark never closes, if something other than the end of a cell follows the closing one,
        or if every line that it makes one row of is a whole row by itself.
        """
        if self._quotes_close_on_their_lines():
            return
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

    def _quotes_close_on_their_lines(self) -> bool:
        """Whether every line has an even number of quotation marks; quick, for whole files."""
        odd = False
        with self._bytes() as stream:
            while chunk := stream.read(1 << 20):
                if not odd and b'"' not in chunk:
                    continue
                characters = np.frombuffer(chunk, dtype=np.uint8)
                inside = np.logical_xor.accumulate(characters == ord('"')) ^ odd
                if inside[(characters == ord("\n")) | (characters == ord("\r"))].any():
                    return False
                odd = bool(inside[-1])
        return not odd

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

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns as text, block by block."""
        wanted = [self._header[self.columns.index(column)] for column in columns]
        try:
            with self._bytes() as stream:
                reader = pacsv.open_csv(
                    stream,
                    read_options=pacsv.ReadOptions(block_size=CSV_BLOCK_BYTES),
                    parse_options=pacsv.ParseOptions(
                        delimiter=self._delimiter, newlines_in_values=True
                    ),
                    convert_options=pacsv.ConvertOptions(
                        # Text throughout: guessing types from the first block would reject what
                        # the later ones hold, without saying where.
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        strings_can_be_null=False,
                    ),
                )
                for batch in reader:
                    yield batch.columns
        except pa.ArrowInvalid as error:
            if "cannot infer number of columns" in str(error):
                return  # a header without a line end: no rows
            raise self._malformed(str(error)) from None

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

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The lines of the file where these rows stand, with the names of the options."""
        found: dict[int, str] = {}
        wanted = set(rows)
        # A cell may be too long for this reader: then the row's number has to do.
        with suppress(csv.Error):
            for row, (line, record) in enumerate(self._records(), start=-1):
                if row in wanted:
                    name = "" if label is None else record[self.columns.index(label)].strip()
                    found[row] = placed(f"line {line}", name)
                    if len(found) == len(wanted):
                        break
        return [found.get(row, f"row {row}") for row in rows]


class Frame:
    """A data frame of pandas, polars or pyarrow, read through narwhals.

    Examples
    --------
    >>> table = Frame(pa.table({"name": ["Ann", "Bo"], "age": [31, 45]}))
    >>> table.columns
    ('name', 'age')
    >>> table.places([1], "name")
    ["row 1 ('Bo')"]
    """

    name = "the frame"
    commas_are_free = False  # texts in a frame are no file that a spreadsheet wrote

    def __init__(self, frame: Any) -> None:
        try:
            native = nw.from_native(frame)
            frame = native.collect() if isinstance(native, nw.LazyFrame) else native
            keys = list(frame.columns)
        except TypeError:
            raise InputError(
                "a data frame of pandas, polars or pyarrow is needed, not "
                f"{type(frame).__name__}; arrays go to ActionSet(features, groups)"
            ) from None
        except nw.exceptions.DuplicateError as error:
            message = " ".join(str(error).split())
            raise InputError(f"{self.name}: {message}; give every column its own name") from None
        self._frame: nw.DataFrame[Any] = frame
        # pandas allows numbers as column names.
        self.columns = tuple(str(key) for key in keys)
        twice = repeated(self.columns)
        if twice:
            raise InputError(
                f"{self.name}: {listed(twice)} names more than one column, as a number and as "
                "text; give every column its own name"
            )
        self._keys = dict(zip(self.columns, keys, strict=True))
        if not self.columns:
            raise InputError(f"{self.name} has no columns, and a table needs some")

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block."""
        for start in range(0, len(self._frame), FRAME_BLOCK_ROWS):
            block = self._frame[start : start + FRAME_BLOCK_ROWS]
            yield [_arrow(block.get_column(self._keys[column]), column) for column in columns]

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The positions of these rows in the frame, counted from 0, with the options' names."""
        if label is None:
            return [f"row {row}" for row in rows]
        names = as_text(_arrow(self._frame.get_column(self._keys[label])[list(rows)], label))
        return [
            placed(f"row {row}", name) for row, name in zip(rows, names.to_pylist(), strict=True)
        ]


def _is_text(name: str) -> bool:
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put into a list as somebody takes it."""
    for line in lines:
        taken.append(line)
        yield line


def placed(where: str, name: str | None) -> str:
    """Where something stands, with the option's name if it has one."""
    return f"{where} ({name!r})" if name else where


def _arrow(series: nw.Series[Any], column: str) -> pa.Array:
    try:
        cells = series.to_arrow()
        cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if not isinstance(kind, pa.BaseExtensionType):  # such as pandas' periods
            return cells
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    except UnicodeEncodeError as error:
        raise _no_text(column, error) from None
    # An object column of mixed kinds, such as numbers with 'n/a' among them, whole numbers beyond
    # all sizes, complex ones: as text, the scan finds the cell that does not belong.
    missing = series.is_null().to_list()
    texts = [
        None if gone else str(value) for gone, value in zip(missing, series.to_list(), strict=True)
    ]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        raise _no_text(column, error) from None


def _no_text(column: str, error: UnicodeEncodeError) -> InputError:
    return InputError(
        f"the frame: column {column!r} has {error.object!r}, with half of a character "
        f"({error.object[error.start]!r}), which is no text; read the table again with its encoding"
    )
