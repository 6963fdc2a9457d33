"""Excel workbooks, as streams of columns."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from evenhand.errors import InputError
from evenhand.tables.names import listed, repeated
from evenhand.tables.numerals import text_of
from evenhand.tables.sources import FRAME_BLOCK_ROWS, placed


class Workbook:
    """The first sheet of an Excel workbook (.xlsx): a header, and rows below it.

    Empty rows are passed over; formulas are read as what they last came to.
    """

    commas_are_free = False  # its numbers are numbers

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.name = str(path)
        header = next(self._rows(), None)
        if header is None:
            raise InputError(f"{self.name}: the first sheet is empty; it needs a header and rows")
        names = ["" if cell is None else text_of(cell).strip() for cell in header[1]]
        while names and not names[-1]:
            names.pop()
        self.columns = tuple(names)
        twice = repeated(name for name in names if name)
        if twice:
            raise InputError(
                f"{self.name}: the header names {listed(twice)} more than once; "
                "give every column a name of its own"
            )

    def _rows(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """The rows that are not empty, the header too, with their numbers in the sheet."""
        openpyxl = _openpyxl()
        with ExitStack() as opened:
            try:
                # not by its path: its name may end as it likes
                file = opened.enter_context(self._path.open("rb"))
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                opened.callback(book.close)
                rows = book.worksheets[0].iter_rows(values_only=True)
            except FileNotFoundError:
                raise InputError(f"there is no file {self.name}; check the path") from None
            except (OSError, KeyError, ValueError, IndexError, zipfile.BadZipFile) as error:
                raise InputError(
                    f"{self.name} cannot be read as an Excel workbook: {error}; save it anew as "
                    ".xlsx, or as CSV UTF-8"
                ) from None
            for number, row in enumerate(rows, start=1):
                if any(cell is not None for cell in row):
                    yield number, row

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block."""
        at = [self.columns.index(column) for column in columns]
        rows = (row for _, row in islice(self._rows(), 1, None))
        while block := list(islice(rows, FRAME_BLOCK_ROWS)):
            yield [_arrow([row[j] if j < len(row) else None for row in block]) for j in at]

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The rows of the sheet where these rows stand, with the names of the options."""
        wanted = set(rows)
        found: dict[int, str] = {}
        column = None if label is None else self.columns.index(label)
        for row, (number, cells) in enumerate(self._rows(), start=-1):
            if row in wanted:
                cell = None if column is None or column >= len(cells) else cells[column]
                found[row] = placed(f"row {number}", None if cell is None else text_of(cell))
            if len(found) == len(wanted):
                break
        return [found[row] for row in rows]


def _openpyxl() -> Any:
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            'Excel workbooks need openpyxl: pip install "evenhand[excel]", or save the sheet as '
            "CSV UTF-8"
        ) from None
    return openpyxl


def _arrow(cells: list[Any]) -> pa.Array:
    """Cells of one column: numbers, dates or truths where all are, else texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pa.array(cells, pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {datetime, date}:
        return pa.array(cells, pa.timestamp("us"))
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day):
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date) else text_of(cell)
