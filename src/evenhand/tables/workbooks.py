"""Excel workbooks: the first sheet, a header and rows below it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.tables.limits import MOST_IN_WORKBOOK, size
from evenhand.tables.numerals import text_of
from evenhand.tables.sources import Rows


def workbook(path: Path, name: str) -> Rows:
    """Return the first sheet of a workbook (.xlsx), without empty rows, formulas as what they came
    to.
    """
    openpyxl = _openpyxl()
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


def _openpyxl() -> Any:
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            'Excel workbooks need openpyxl: pip install "evenhand[excel]", or save the sheet as '
            "CSV UTF-8"
        ) from None
    return openpyxl
