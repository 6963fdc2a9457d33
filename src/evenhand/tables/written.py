r"""Tables that are written: CSV files and workbooks that a spreadsheet shows and does not run.

A spreadsheet takes a cell that begins with = + - @, a tab or a new line for a formula. Such a
text gets an apostrophe before it, by which spreadsheets know a text. So does a text of apostrophes
before such a sign, so that taking one off gives every text back.

>>> [guarded(text) for text in ("Ann", "=1+1", "-5", "'@you", "'tis")]
['Ann', "'=1+1", "'-5", "''@you", "'tis"]
>>> [unguarded(guarded(text)) for text in ("Ann", "=1+1", "-5", "'@you", "'tis")]
['Ann', '=1+1', '-5', "'@you", "'tis"]
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from evenhand.errors import InputError
from evenhand.files import write_atomically

# signs of full width are taken for the others where Japanese is written
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_GUARDED = re.compile("'" + _FORMULA.pattern)
_MARK = "\ufeff"  # by which Excel knows UTF-8
_TO_FILL_IN = "FFF7E0"
_WIDEST = 60  # letters of a column

Allowed: TypeAlias = tuple[float, float] | Sequence[str] | None
"""What a cell may be filled in with: a number between two, one of some words, or anything."""


def openpyxl_module() -> Any:
    """Return openpyxl with what is used of it, or say how to install it."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
        import openpyxl.styles  # noqa: PLC0415 - an extra
        import openpyxl.worksheet.datavalidation  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            'writing workbooks needs openpyxl: pip install "evenhand[excel]", or use CSV UTF-8'
        ) from None
    return openpyxl


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if _GUARDED.match(text) else text


def write_csv(
    path: str | os.PathLike[str],
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    what: str = "the table",
) -> None:
    """Write a CSV file whole or not at all, texts guarded, in UTF-8 that Excel knows."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([guarded(name) for name in header])
    writer.writerows(
        [guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    written = text.getvalue()
    with write_atomically(path, what) as draft:
        draft.write_bytes(((_MARK if not written.isascii() else "") + written).encode())


def write_workbook(
    path: str | os.PathLike[str],
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    filled_in: Mapping[str, Allowed],
    words: Sequence[str] = (),
    what: str = "the table",
) -> None:
    """Write a workbook whole or not at all, with columns to fill in, and words on a sheet."""
    excel = openpyxl_module()
    book = excel.Workbook()
    sheet = book.active
    sheet.title = "Scores"
    lines = [list(header), *(list(row) for row in rows)]
    for number, line in enumerate(lines, start=1):
        for place, text in enumerate(line, start=1):
            cell = sheet.cell(number, place)
            cell.value = text or None
            if text:
                cell.data_type = "s"  # and no formula, whatever it begins with
            cell.alignment = excel.styles.Alignment(wrap_text=True, vertical="top")
            if number == 1:
                cell.font = excel.styles.Font(bold=True)
            elif header[place - 1] in filled_in:
                cell.fill = excel.styles.PatternFill("solid", fgColor=_TO_FILL_IN)
    for place, name in enumerate(header, start=1):
        letter = excel.utils.get_column_letter(place)
        widest = max(len(text) for line in lines for text in line[place - 1 : place])
        sheet.column_dimensions[letter].width = min(max(widest + 2, 10), _WIDEST)
        if (rule := _validation(excel, filled_in.get(name))) is not None and len(lines) > 1:
            rule.add(f"{letter}2:{letter}{len(lines)}")
            sheet.add_data_validation(rule)
    sheet.freeze_panes = "A2"
    sheet.print_title_rows = "1:1"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr = excel.worksheet.properties.PageSetupProperties(
        fitToPage=True
    )
    if words:
        told = book.create_sheet("Read me")
        told.column_dimensions["A"].width = 90
        for number, text in enumerate(words, start=1):
            cell = told.cell(number, 1)
            cell.value, cell.data_type = text, "s"
            cell.alignment = excel.styles.Alignment(wrap_text=True)
    with write_atomically(path, what) as draft:
        book.save(draft)


def _validation(excel: Any, allowed: Allowed) -> Any:
    """Return the rule of a spreadsheet that lets only such cells be filled in; None for any."""
    if allowed is None:
        return None
    rules = excel.worksheet.datavalidation.DataValidation
    if all(isinstance(one, str) for one in allowed):
        said = ", ".join(map(str, allowed))
        rule = rules(type="list", formula1=f'"{",".join(map(str, allowed))}"', allow_blank=True)
    else:
        low, high = (f"{float(one):.15g}" for one in allowed)
        said = f"a number from {low} to {high}"
        rule = rules(
            type="decimal", operator="between", formula1=low, formula2=high, allow_blank=True
        )
    rule.errorTitle, rule.error = "This cannot be a score", f"Please give {said}."
    rule.promptTitle, rule.prompt = "Score", f"{said[:1].upper()}{said[1:]}"
    rule.showErrorMessage = rule.showInputMessage = True
    return rule
