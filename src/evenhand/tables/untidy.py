"""Tables as offices keep them: titles above the header, headers of two lines, blank lines, totals.

What is a header is told by how many cells are filled: a title has fewer, a header as many as the
lines below it, and it names columns: a line with marks in it, or with cells that come again below,
is data. Everything that is passed over is said (`SourceTable.notes`). CSV files in the encoding of
an old Windows are read as that, if they are text.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import InputError
from evenhand.tables.sources import Rows
from evenhand.tables.texts import listed, parsed, text_of

LOOKED_THROUGH = 8 << 20
"""Bytes of a file that is looked through line by line, at most."""

_LOOKED_AT = 50  # lines by which a header is found
_MOST_TITLES = 10
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_OLD = "cp1252"
_SEPARATORS = ",;\t|"
_BLANK = re.compile(r"(?m)^[ \t,;|]*[\t,;|][ \t,;|]*\r?$")  # separators, and nothing between them

ABOVE = "Above the header stands"
"""How a note on titles begins."""

Line = tuple[str, Sequence[Any]]
"""Where a line stands, and its cells; None for an empty one."""


class Tidy(NamedTuple):
    """A table: names of columns, lines below them, and what was passed over."""

    names: list[str]
    lines: list[Line]
    notes: list[str]


def tidied(lines: Sequence[Line]) -> Tidy:
    """Return lines without titles above the header, with one header, and without empty lines."""
    kept = [(place, cells) for place, cells in lines if _filled(cells)]
    notes = []
    widest = max((len(_filled(cells)) for _, cells in kept[:_LOOKED_AT]), default=0)
    start = 0
    while start < min(_MOST_TITLES, len(kept) - 2) and _is_title(kept[start][1], widest):
        start += 1
    if start and holds_marks(_texts(kept[start][1])):
        start = 0  # what looked like a title is the header of a table with fewer names than cells
    header, body = kept[start] if kept else ("", ()), kept[start + 1 :]
    names = _texts(header[1])
    both = _two_lines(names, body) if body else None
    if both is not None and both == _texts(body[0][1]):  # nothing is left of the first line
        start, names, both, body = start + 1, both, None, body[1:]
    if start:
        titles = [", ".join(filter(None, _texts(cells))) for _, cells in kept[:start]]
        notes.append(f"{ABOVE} {listed(titles, 3)}, which is no part of the table.")
    if both is not None:
        names, body = both, body[1:]
        notes.append(f"The header is on two lines, {header[0]} and the next: {listed(names, 12)}.")
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
    texts = [text for text in second if text]
    if parsed(texts)[1].any() or _comes_again(second, body[1:_LOOKED_AT]):
        return None
    return [own or above for above, own in zip(names, second, strict=False)]


def _comes_again(names: Sequence[str], body: Sequence[Line]) -> bool:
    """Whether a name stands in its own column again, as cells do and names of columns do not."""
    return any(
        name and name == below
        for _, cells in body
        for name, below in zip(names, _texts(cells), strict=False)
    )


def rows_of(name: str, lines: Sequence[Line]) -> Rows:
    """Return the table in lines."""
    names, body, notes = tidied(lines)
    found = Rows(
        name,
        names,
        [[cells[j] if j < len(cells) else None for _, cells in body] for j in range(len(names))],
        [place for place, _ in body],
    )
    found.notes = tuple(notes)
    return found


def untidy_csv(path: Path, name: str) -> Rows | None:
    """Return the table in a CSV file with titles, blank lines, a header of two lines, or in an old
    encoding; None for one that has none of it, or is too large to be looked through.
    """
    try:
        if not path.is_file() or path.stat().st_size > LOOKED_THROUGH:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    text, notes = _text(content, name)
    if text is None:
        return None
    head = list(islice(io.StringIO(text), _LOOKED_AT))
    mark = _separator(head)
    if not (notes or _BLANK.search(text)):  # most are as they should be, and read elsewhere
        try:
            found = _lines(csv.reader(head, delimiter=mark))
        except csv.Error:
            return None
        tidy = tidied(found)
        if not tidy.notes:
            _refuse_few_names(tidy, name)
            return None
    try:
        found = _lines(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    except csv.Error:
        return None
    tidy = tidied(found)
    widest = len(tidy.names)
    for place, cells in tidy.lines:
        if any(i >= widest for i in _filled(cells)):
            raise InputError(
                f"{name}: {place} has {len(cells)} cells, the header has {widest}; fix the line "
                f"(text that contains {mark!r} stands in double quotes)"
            )
    table = rows_of(name, found)
    table.is_text, table.commas_are_free = True, mark != ","
    table.notes = (*notes, *table.notes)
    return table


def _refuse_few_names(tidy: Tidy, name: str) -> None:
    """Refuse a header that names fewer columns than every line below it has: whose is which?"""
    widths = {len(cells) for _, cells in tidy.lines if _filled(cells)}
    if widths and min(widths) > len(tidy.names):
        raise InputError(
            f"{name}: the header names {len(tidy.names)} columns ({listed(tidy.names, 6)}), and "
            f"the lines below it have {min(widths)} cells; give every column a name"
        )


def _separator(head: Sequence[str]) -> str:
    """Return what separates cells: what stands as often on most lines."""

    def often(mark: str) -> tuple[int, int]:
        times = Counter(line.count(mark) for line in head if mark in line)
        return max(((lines, n) for n, lines in times.items()), default=(0, 0))

    return max(_SEPARATORS, key=often)


def _lines(reader: Any) -> list[Line]:
    """Return the lines of a CSV file, but for those without anything."""
    found: list[Line] = []
    start = 1
    for record in reader:
        if record:
            found.append((f"line {start}", [cell if cell.strip() else None for cell in record]))
        start = reader.line_num + 1
    return found


def _text(content: bytes, name: str) -> tuple[str | None, list[str]]:
    """Return the text of a file, with what is to be said of its encoding; None for what is none."""
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            return content.decode("utf-16"), [f"{name} is in UTF-16, and was read as that."]
        except UnicodeDecodeError:
            return None, []
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        pass
    try:
        text = content.decode(_OLD)
    except UnicodeDecodeError:
        return None, []
    if _CONTROL.search(text):
        return None, []
    word = next((word for word in re.findall(r"\w+", text) if not word.isascii()), "")
    return text, [
        f"{name} is not in UTF-8; it was read as Windows-1252 (Latin-1), with words such as "
        f"{word!r}. If they look wrong, save it as UTF-8."
    ]


_TOTALS = {
    *("mean", "average", "avg", "total", "totals", "sum", "median", "overall", "grand total"),
    *("mittelwert", "mittel", "durchschnitt", "summe", "gesamt", "schnitt"),
    *("moyenne", "somme", "promedio", "media", "suma", "totale", "somma", "gemiddelde", "totaal"),
}


def is_total(text: str) -> bool:
    """Whether a name is that of a line or a column with totals or means."""
    return text.strip().rstrip(":.").casefold() in _TOTALS


_BESIDE = {
    *("id", "no", "nr", "number", "#", "rank", "place", "position", "year", "age", "date", "row"),
    *("budget", "amount", "cost", "costs", "sum requested", "requested", "weight", "lfd. nr"),
    *("alter", "jahr", "rang", "platz", "betrag", "summe", "datum", "année", "âge", "montant"),
}


def is_beside(text: str) -> bool:
    """Whether a column of this name holds numbers that are no scores."""
    return is_total(text) or text.strip().rstrip(":.").casefold() in _BESIDE
