r"""Tables that are written: CSV files that a spreadsheet shows and does not run.

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
from collections.abc import Iterable, Sequence

from evenhand.files import write_atomically

# signs of full width are taken for the others where Japanese is written
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_GUARDED = re.compile("'" + _FORMULA.pattern)
_MARK = "\ufeff"  # by which Excel knows UTF-8


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
    """Write a CSV file whole or not at all, texts guarded, numbers as Python writes them; one with
    letters beyond ASCII begins with a mark by which Excel knows UTF-8.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([guarded(name) for name in header])
    writer.writerows(
        [guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    written = text.getvalue()
    with write_atomically(path, what) as draft:
        draft.write_bytes(((_MARK if not written.isascii() else "") + written).encode())
