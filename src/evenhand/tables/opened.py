"""A table of whatever kind, opened: frames, CSV, Parquet and Excel files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.tables.parquet import ParquetFile
from evenhand.tables.sources import CsvFile, Frame, Source
from evenhand.tables.workbooks import Workbook

_PARQUET, _EXCEL, _OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def opened(table: Any, what: str = "the table") -> Source:
    """Return a table as a source of columns, whatever it is kept in.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow; the path of a CSV, Parquet or Excel file; an open
        file with CSV in it; or a source.
    what
        What messages call it where it is nothing of these.

    Examples
    --------
    >>> import pyarrow as pa
    >>> opened(pa.table({"option": ["Ann"], "score": [7.5]})).columns
    ('option', 'score')
    """
    if isinstance(table, CsvFile | Frame | ParquetFile | Workbook):
        return table
    if isinstance(table, str | os.PathLike):
        return _file(Path(table))
    if hasattr(table, "read"):
        return CsvFile(table)
    # Of the type: a lazy frame would work to say its columns.
    if not hasattr(type(table), "columns") or isinstance(table, Mapping):
        raise InputError(
            f"{what} must be a frame of pandas, polars or pyarrow, or the path of a CSV, Parquet "
            f"or Excel file; got {type(table).__name__}."
        )
    return Frame(table)


def _file(path: Path) -> Source:
    """A file by what it begins with, so that its name may end as it likes."""
    start = b""
    # A pipe can be read once, and what cannot be read at all is named by its reader.
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(4)
    if start == _PARQUET:
        return ParquetFile(path)
    if start == _EXCEL:
        return Workbook(path)
    if start == _OLD_EXCEL:
        raise InputError(f"{path} is an old Excel workbook; save it as .xlsx or as CSV UTF-8")
    return CsvFile(path)
