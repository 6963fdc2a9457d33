"""A table of whatever kind, opened: frames, rows, CSV, Parquet and Excel files, pipes.

Of Excel workbooks, the first sheet is read: a header and rows below it.
"""

from __future__ import annotations

import os
import tempfile
import weakref
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.tables.csv_files import CsvFile
from evenhand.tables.excel import openpyxl_module
from evenhand.tables.limits import MOST_IN_WORKBOOK, OLD_EXCEL, PARQUET, ZIP, Watch, packing, size
from evenhand.tables.numerals import text_of
from evenhand.tables.sources import Frame, ParquetFile, Rows, Table

_CHUNK = 1 << 20


def opened(table: Any, what: str = "the table", name: str | None = None) -> Table:
    """Return a table, whatever it is kept in."""
    if isinstance(table, Table):
        return table
    if isinstance(table, str | os.PathLike):
        return _file(Path(table), name or str(table))
    if hasattr(table, "read"):
        return _copied(table, name or "the file given")
    if isinstance(table, Mapping) and table and all(map(_is_list, table.values())):
        return _columns(table, name or "the table given")
    if _is_list(table) and len(table) and all(isinstance(row, Mapping) for row in table):
        return Rows.of(table, name or "the rows given")
    # Of the type: a lazy frame would work to say its columns.
    if hasattr(type(table), "columns") and not isinstance(table, Mapping):
        return Frame(table, name or "the frame")
    arrays = "; arrays go to ActionSet(features, groups)" if hasattr(table, "__array__") else ""
    raise InputError(
        f"{what} must be a frame of pandas, polars or pyarrow, a list of rows that are mappings, a "
        f"path or an open file (CSV, Parquet, Excel); got {type(table).__name__}{arrays}"
    )


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def _columns(columns: Mapping[Any, Any], name: str) -> Table:
    sizes = {str(column): len(cells) for column, cells in columns.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{column!r} has {n}" for column, n in sizes.items())
        raise InputError(f"{name}: columns must be of one length; {said}")
    return Rows(name, list(sizes), list(columns.values()))


def _file(path: Path, name: str) -> Table:
    """A file by what it begins with, so that its name may end as it likes."""
    if not _is_text(name):
        raise InputError(f"{name!r} cannot be opened: its name is no text")
    try:
        if path.is_fifo() or path.is_char_device():
            with path.open("rb") as pipe:
                return _copied(pipe, name)
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
    return CsvFile(path, name)


def _copied(stream: Any, name: str) -> Table:
    """What can be read only once, copied to the disk for as long as the table lives."""
    with tempfile.NamedTemporaryFile(prefix="evenhand-", delete=False) as copy:
        path = Path(copy.name)
        try:
            _copy(stream, copy, name)
            copy.flush()
            table = _file(path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    weakref.finalize(table, path.unlink, missing_ok=True)
    return table


def _copy(stream: Any, copy: Any, name: str) -> None:
    watch: Watch | None = None
    try:
        while chunk := stream.read(_CHUNK):
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


def workbook(path: Path, name: str) -> Rows:
    """Return the first sheet of a workbook (.xlsx), without empty rows, formulas as what they came
    to.
    """
    openpyxl = openpyxl_module()
    try:
        _refuse_bombs(path, name)
        # not by its path: its name may end as it likes
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0].iter_rows(values_only=True)
            rows = [
                (number, row)
                for number, row in enumerate(sheet, start=1)
                if any(cell is not None for cell in row)
            ]
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
    if not rows:
        raise InputError(f"{name}: the first sheet is empty; it needs a header and rows")
    names = ["" if cell is None else text_of(cell).strip() for cell in rows[0][1]]
    while names and not names[-1]:
        names.pop()
    return Rows(
        name,
        names,
        [[row[j] if j < len(row) else None for _, row in rows[1:]] for j in range(len(names))],
        [f"row {number}" for number, _ in rows[1:]],
    )


def _refuse_bombs(path: Path, name: str) -> None:
    """Refuse what unpacks to more than is read: zipfile unpacks no more than is announced."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_IN_WORKBOOK:
        raise InputError(
            f"{name} unpacks to {size(unpacked)}, and of a workbook no more than "
            f"{size(MOST_IN_WORKBOOK)} are read; save the sheet as CSV UTF-8"
        )
