"""Text with a header, its cells separated by commas, semicolons, tabs or bars; perhaps packed.

Files whose lines are rows are read at once by pyarrow. All others are read by Python's reader of
CSV, line by line: so every row knows its line, and what is wrong with a line can be said.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from evenhand.errors import InputError
from evenhand.files import chunks_of, limits, most_unpacked, packing, refuse_cells
from evenhand.tables.columns import Table
from evenhand.tables.office import LOOKED_AT, MOST_TITLES, Line, tidied
from evenhand.tables.texts import listed

_CELLS_AT_ONCE = 1 << 17  # that are Python's own before they are packed
_SMALL = 8 << 20  # bytes of a text that is looked through to suggest something
_SEPARATORS = ",;\t|"
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def read_delimited(file: IO[bytes], name: str, most: int | None) -> Table:
    """Return the table in a file that can be read twice, of so many bytes at most."""
    start = file.read(4)
    if (packed := packing(start)) is not None:
        most = most_unpacked(file.seek(0, io.SEEK_END))
    try:
        n_lines, content = 0, bytearray()
        for chunk in chunks_of(_unpacked(file, packed), name, most):
            n_lines += chunk.count(b"\n")
        content = _unpacked(file, packed).read()
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    text, notes = _in_utf8(content, name)
    del content
    head = [line for line in islice(_lines_of(text), LOOKED_AT) if line.strip()]
    if not head:
        raise _empty(name)
    mark = _separator(head)
    refuse_cells(name, n_lines, 1 + max(line.count(mark) for line in head))
    return _Delimited(name, text, mark, n_lines, notes).table()


def _unpacked(file: IO[bytes], packed: str | None) -> Any:
    file.seek(0)
    if packed is None:
        return file
    return pa.input_stream(pa.BufferReader(file.read()), compression=packed)


def _in_utf8(content: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a text in UTF-8, and what is to be said of its encoding."""
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        text = content.decode("utf-16", errors="replace")
        return text.encode(), (f"{name} is in UTF-16, and was read as that.",)
    content = content.removeprefix(codecs.BOM_UTF8)
    if len(content) > _SMALL:  # whoever reads it finds what is not UTF-8
        return content, ()
    try:
        content.decode()
        return content, ()
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    if "\ufffd" in text or _CONTROL.search(text):
        raise _not_utf8(content, name)
    word = next((word for word in re.findall(r"\S+", text) if not word.isascii()), "")
    said = f"{name} is not in UTF-8; it was read as Windows-1252 (Latin-1), with words such as"
    return text.encode(), (f"{said} {word!r}. If they look wrong, save it as UTF-8.",)


def _not_utf8(content: bytes, name: str) -> InputError:
    """Say which line is not UTF-8."""
    try:
        content.decode()
        at = 0
    except UnicodeDecodeError as error:
        at = error.start
    line = content.count(b"\n", 0, at) + 1
    return InputError(
        f"{name}: line {line} is not text in UTF-8; save the file as UTF-8 (in a spreadsheet: 'CSV "
        "UTF-8')"
    )


def _lines_of(text: bytes) -> Iterator[str]:
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", errors="replace", newline="")


def _empty(name: str) -> InputError:
    return InputError(f"{name} is empty; it needs a header line and lines below it")


def _separator(head: Sequence[str]) -> str:
    """Return what separates cells: what stands as often on most lines."""

    def often(mark: str) -> tuple[int, int]:
        times = Counter(line.count(mark) for line in head if mark in line)
        return max(((lines, n) for n, lines in times.items()), default=(0, 0))

    return max(_SEPARATORS, key=often)


class _Delimited(NamedTuple):
    name: str
    text: bytes  # in UTF-8
    mark: str  # between cells
    n_lines: int
    notes: tuple[str, ...]  # on the encoding

    def table(self) -> Table:
        """Return the table in it."""
        lines = self.lines()
        first = list(islice(lines, LOOKED_AT + MOST_TITLES))
        if not first:  # lines that are empty but for quotation marks
            raise _empty(self.name)
        tidy = tidied(first, "line")
        names, width = tidy.names, max(len(first[0][1]), len(tidy.names))
        least = min((len(cells) for _, cells in tidy.lines), default=0)
        if least > width and not tidy.notes:
            raise InputError(
                f"{self.name}: the header names {len(names)} columns ({listed(names, 6)}), and the "
                f"lines below it have {least} cells; give every column a name"
            )
        plain = not tidy.notes and [place for place, _ in first[:2]] == [1, 2][: len(first)]
        if plain and len(first[0][1]) == len(names) and (found := self._at_once(names)) is not None:
            return self._made(names, found, range(2, self.n_lines + 3), ())
        # A cell may be lacking anywhere in a short line; titles are from where they do not.
        short = 0 if tidy.notes else len(names)
        places, pieces = array("q"), [[pa.array([], pa.string())] for _ in names]
        rest = chain(tidy.lines, lines)
        while some := list(islice(rest, 1 + _CELLS_AT_ONCE // width)):
            places.extend(place for place, _ in some)
            rows = [
                cells if len(cells) == width else self._fitted(place, cells, short, width)
                for place, cells in some
            ]
            for own, column in zip(pieces, zip(*rows, strict=True), strict=False):
                own.append(pa.array(column, pa.string()))
        return self._made(names, [*map(pa.chunked_array, pieces)], places, tidy.notes)

    def _made(
        self,
        names: Sequence[str],
        columns: Sequence[pa.ChunkedArray],
        places: Sequence[int],
        notes: Sequence[str],
    ) -> Table:
        found = {name: whole(cells) for name, cells in zip(names, columns, strict=True)}
        table = Table(
            self.name, names, found.__getitem__, lambda rows: [f"line {places[r]}" for r in rows]
        )
        table.is_text, table.is_large = True, len(self.text) > _SMALL
        table.commas_are_free = self.mark != ","
        table.notes = (*self.notes, *notes)
        return table

    def _at_once(self, names: Sequence[str]) -> list[pa.ChunkedArray] | None:
        """Return the columns where each line is a row, with no doubt about quotes; else None."""
        quoted, places = b'"' in self.text, [str(place) for place in range(len(names))]
        if quoted and re.search(rb'[^%b\r\n"]"[^%b\r\n"]' % (2 * (self.mark.encode(),)), self.text):
            return None
        try:
            found = pa_csv.read_csv(
                pa.BufferReader(self.text),
                pa_csv.ReadOptions(skip_rows=1, column_names=places),
                pa_csv.ParseOptions(
                    delimiter=self.mark,
                    quote_char=quoted and '"',
                    newlines_in_values=quoted,
                    ignore_empty_lines=False,
                ),
                pa_csv.ConvertOptions(column_types=dict.fromkeys(places, pa.string())),
            )
        except pa.ArrowInvalid:  # whatever it is: the lines are read one by one, and it is named
            return None
        blank: Any = True
        for column in found.columns:
            blank = pc.and_(blank, pc.equal(pc.utf8_trim_whitespace(column), ""))
            if not pc.any(blank).as_py():
                break
        else:
            if found.num_rows:
                return None
        lines = self.n_lines + (not self.text.endswith(b"\n"))
        return found.columns if found.num_rows == lines - 1 else None

    def lines(self) -> Iterator[Line]:
        """Yield the lines with something in them."""
        csv.field_size_limit(max(csv.field_size_limit(), limits().line))
        quoted, taken = b'"' in self.text, list[str]()
        text = io.TextIOWrapper(io.BytesIO(self.text), encoding="utf-8", newline="")
        reader = csv.reader(
            _noted(text, taken) if quoted else text, delimiter=self.mark, strict=quoted
        )
        start, width = 1, 0
        try:
            for cells in reader:
                # a mark without its partner makes one row of lines that are whole rows
                if len(taken) > 1 and {one.count(self.mark) for one in taken} == {width - 1}:
                    raise self._stray_quote(start, taken)
                taken.clear()
                if "".join(cells).strip():
                    width = width or len(cells)
                    yield start, cells
                start = reader.line_num + 1
        except csv.Error as error:
            if taken and "limit" not in str(error):
                raise self._stray_quote(start, taken) from None
            raise InputError(f"{self.name}: line {start}: {error}") from None
        except UnicodeDecodeError:
            raise _not_utf8(self.text, self.name) from None

    def _fitted(
        self, line: int, cells: Sequence[str], short: int, width: int
    ) -> Sequence[str | None]:
        """Return a line's cells, so many; an error if it has too few, or something beyond them."""
        if len(cells) < short or any(map(str.strip, cells[width:])):
            raise InputError(
                f"{self.name}: line {line} has {len(cells)} cells, the header has "
                f"{short or width}; fix the line (text with {self.mark!r} stands in double quotes)"
            )
        return [*cells[:width], *[None] * (width - len(cells))]

    def _stray_quote(self, start: int, lines: Sequence[str]) -> InputError:
        rows = f", so that {len(lines)} lines would become one row" * (len(lines) > 1)
        return InputError(
            f"{self.name}: line {start} has a quotation mark without its partner{rows}; close it, "
            'remove it, or, if it belongs to the text, write it twice ("")'
        )


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put into a list as somebody takes it."""
    for line in lines:
        taken.append(line)
        yield line


def whole(cells: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return cells in one piece."""
    found = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    # text beyond 2 GB stays in pieces, unless its type can hold it
    return found if isinstance(found, pa.Array) else cells.cast(pa.large_string()).combine_chunks()
