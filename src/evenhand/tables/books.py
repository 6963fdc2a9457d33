"""Workbooks of spreadsheets, Excel's (.xlsx) and OpenDocument's (.ods): sheets as lines of cells.

Both are zip files of XML, which is read as it comes in, rows, cells and texts counted: so a small
file that says it has 99,999,999,999 rows, or repeats a cell a million times, is refused before it
fills the memory. Formulas are read as their values; hidden sheets, too; old workbooks (.xls) not.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import IO, Any
from xml.parsers import expat

from evenhand.errors import InputError
from evenhand.files import limits, most_unpacked, refuse_bomb
from evenhand.tables.office import Line, filled
from evenhand.tables.texts import listed

_MOST_DEEP = 100  # elements in each other
_MOST_SHEETS = 100  # that are looked at for a table
_TEXTS = ("t", "v", "p")  # elements with what stands in cells, but in these:
_ASIDE = ("rPh", "annotation")  # how a text is pronounced, comments
# formats of Excel's own that are of dates and times
_DATES = {*map(str, (*range(14, 23), *range(45, 48)))}
_NO_DATE = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|_.', re.IGNORECASE)
_CELLS, _SPACES = ("table-cell", "covered-table-cell"), {"p": "\n", "s": " ", "tab": "\t"}
_TIMES = re.compile(r"P(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?)")

_Attributes = Mapping[str, str]
_Start = Callable[[str, _Attributes], None]
_End = Callable[[str], None]


def is_workbook(members: Any) -> bool:
    """Whether an archive with these members is a workbook."""
    return "[Content_Types].xml" in members or "content.xml" in members


def read_workbook(
    file: IO[bytes], name: str, sheet: str | None
) -> tuple[list[str], int, list[Line]]:
    """Return the names of the sheets, which one was read, and its lines: by default it is the
    first with a table.
    """
    try:
        with zipfile.ZipFile(file) as archive:  # which unpacks no more than is announced
            packed = sum(member.compress_size for member in archive.infolist())
            most = most_unpacked(packed)
            refuse_bomb(name, sum(member.file_size for member in archive.infolist()), most)
            kind = _OpenDocument if "content.xml" in archive.namelist() else _Excel
            book = kind(archive, name, most)
            names, lines = book.names, list[Line]()
            if not names:
                raise ValueError("it has no sheets")
            some = [*range(min(len(names), _MOST_SHEETS)), 0]
            chosen = some if sheet is None else [_place_of(sheet, names, name)]
            for one in chosen:
                lines = book.lines(one)
                if sheet is not None or sum(len(filled(cells)) > 1 for _, cells in lines) > 2:
                    break
            return names, one, lines
    except (InputError, MemoryError):
        raise
    # A damaged workbook makes zipfile, zlib, expat and what is done here fail in any way.
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        said = f"{name} cannot be read as a workbook: {said[:200]}"
        raise InputError(f"{said}; save it anew as .xlsx, or as CSV UTF-8") from None


def _place_of(sheet: str, names: list[str], name: str) -> int:
    alike = [one.strip().casefold() for one in names]
    if sheet.strip().casefold() not in alike:
        raise InputError(f"{name} has no sheet {sheet!r}; its sheets are {listed(names, 30)}")
    return alike.index(sheet.strip().casefold())


def _read(
    archive: zipfile.ZipFile,
    member: str,
    start: _Start,
    end: _End = lambda tag: None,
    text: list[str] | None = None,
) -> None:
    """Read XML: say what begins, with its attributes, and what ends, by names without what is
    before a colon; and add what stands in cells to a text.
    """
    parser, known = expat.ParserCreate(), dict[str, str]()
    depth = inside = before = 0

    def local(name: str) -> str:
        if name not in known:
            known[name] = name.rpartition(":")[2]
        return known[name]

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, inside, before
        depth += 1
        if depth > _MOST_DEEP:
            raise ValueError(f"elements are nested {_MOST_DEEP} deep")
        start(tag := local(name), {local(key): value for key, value in attributes.items()})
        inside += tag in _TEXTS
        if tag in _ASIDE and text is not None:
            before = len(text)

    def on_end(name: str) -> None:
        nonlocal depth, inside
        depth -= 1
        inside -= (tag := local(name)) in _TEXTS
        if tag in _ASIDE and text is not None:
            del text[before:]
        end(tag)

    def refuse(*_: Any) -> None:
        raise ValueError("its XML declares types of its own")

    parser.StartElementHandler, parser.EndElementHandler = on_start, on_end
    parser.StartDoctypeDeclHandler, parser.buffer_text = refuse, True
    if text is not None:
        parser.CharacterDataHandler = lambda data: text.append(data) if inside else None
    with archive.open(member) as stream:
        while chunk := stream.read(1 << 16):
            parser.Parse(chunk, False)
    parser.Parse(b"", True)


class _Book:
    """A workbook, and the lines of the sheet that is read; an error where they are too many."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most: int) -> None:
        self.names, self.found = list[str](), list[Line]()
        self._archive, self._name, self._left = archive, name, most
        self._n = self._seen = 0  # of all sheets

    def see(self, row: int, column: int, times: int = 1) -> None:
        """Refuse cells, or a row, that are beyond all limits."""
        most = limits()
        self._seen += times
        if row > most.rows_of_sheet or max(self._seen, column) > most.cells_of_sheet:
            raise self._too_many()

    def take(self, text: str) -> str:
        """Count a text; many cells may share a long one."""
        self._left -= len(text)
        if self._left < 0:
            raise self._too_many()
        return text

    def add(self, number: int, cells: Mapping[int, Any], times: int = 1) -> None:
        """Take a row, by its cells that may be filled."""
        row = {column: cell for column, cell in cells.items() if cell not in (None, "")}
        if not row:
            return
        width = max(row) + 1
        self._n += width * times
        self._left -= (times - 1) * sum(len(c) for c in row.values() if isinstance(c, str))
        most = limits()
        beyond = number + times - 1 > most.rows_of_sheet or self._n > most.cells_of_sheet
        if beyond or self._left < 0:
            raise self._too_many()
        own = [row.get(column) for column in range(width)]
        self.found += [(number + more, own) for more in range(times)]

    def _too_many(self) -> InputError:
        most = limits()
        return InputError(
            f"{self._name}: a sheet goes beyond {most.rows_of_sheet:,} rows or "
            f"{most.cells_of_sheet:,} cells, or what they hold is too long"
        )


class _Excel(_Book):
    """A workbook of Excel."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most: int) -> None:
        super().__init__(archive, name, most)
        self._members = list[str]()
        self._shared: list[str] | None = None
        self._zero = datetime(1899, 12, 30)
        self._others = dict[str, str]()  # members that are no sheets, by what they are
        sheets, known = dict[str, str](), {""}

        def related(tag: str, said: _Attributes) -> None:
            if tag == "Relationship":
                kind, member = said["Type"].rpartition("/")[2], posixpath.join(at, said["Target"])
                where = self._others if kind != "worksheet" else sheets
                where[said["Id"] if kind == "worksheet" else kind] = posixpath.normpath(member)[1:]

        def sheet(tag: str, said: _Attributes) -> None:
            if tag == "workbookPr" and said.get("date1904") in ("1", "true"):
                self._zero = datetime(1904, 1, 1)
            if tag == "sheet" and (member := sheets.get(said["id"], "")) not in known:
                known.add(member)
                self.names.append(said["name"])
                self._members.append(member)

        at = "/"
        _read(archive, "_rels/.rels", related)
        book = self._others["officeDocument"]
        if book.endswith(".bin"):
            raise ValueError("it is a binary one (.xlsb)")
        at, file = posixpath.split(f"/{book}")
        _read(archive, posixpath.join(at, "_rels", f"{file}.rels")[1:], related)
        _read(archive, book, sheet)

    def _other(self, kind: str, *how: Any) -> None:
        if (member := self._others.get(kind, "")) in self._archive.namelist():
            _read(self._archive, member, *how)

    def _strings(self) -> list[str]:
        """Return the texts that cells share."""
        found, text = list[str](), list[str]()

        def start(tag: str, _: _Attributes) -> None:
            if tag == "si":
                text.clear()

        def end(tag: str) -> None:
            if tag == "si":
                found.append("".join(text))

        self._other("sharedStrings", start, end, text)
        return found

    def _dated(self) -> list[bool]:
        """Return which styles of cells are of dates or times."""
        own, found = dict[str, bool](), list[bool]()

        def start(tag: str, said: _Attributes) -> None:
            if tag == "numFmt":
                code = _NO_DATE.sub("", said["formatCode"].partition(";")[0])
                own[said["numFmtId"]] = re.search("[dmhysDMHYS]", code) is not None
            elif tag == "cellXfs":
                found.clear()  # those before are of other styles
            elif tag == "xf":
                kind = said.get("numFmtId", "0")
                found.append(own.get(kind, kind in _DATES))

        self._other("styles", start)
        return found

    def lines(self, sheet: int) -> list[Line]:
        """Return the lines of a sheet."""
        if self._shared is None:
            self._shared, self._dates = self._strings(), self._dated()
        self.found = []
        row, column, cells, text = 0, -1, dict[int, Any](), list[str]()
        kind, style = "n", ""

        def start(tag: str, said: _Attributes) -> None:
            nonlocal row, column, kind, style
            if tag == "c":
                at = said.get("r")
                column = column + 1 if at is None else _column(at)
                kind, style = said.get("t", "n"), said.get("s", "")
                self.see(row, column)
                text.clear()
            elif tag == "row":
                row, column = int(said.get("r", row + 1)), -1
                cells.clear()
                self.see(row, 0)

        def end(tag: str) -> None:
            if tag == "c":
                cells[column] = self._cell(kind, style, "".join(text))
            elif tag == "row":
                self.add(row, cells)

        _read(self._archive, self._members[sheet], start, end, text)
        return self.found

    def _cell(self, kind: str, style: str, text: str) -> Any:
        if kind == "s" and self._shared is not None:
            return self.take(self._shared[int(text)]) if text else None
        if kind == "n":
            return self._number(text.strip(), style) if text.strip() else None
        if kind == "b":
            return text.strip() == "1"
        return _moment(text) if kind == "d" else self.take(text)

    def _number(self, text: str, style: str) -> Any:
        number = float(text)
        if not (style.isdigit() and int(style) < len(self._dates) and self._dates[int(style)]):
            return int(number) if number.is_integer() and text.lstrip("-").isdigit() else number
        if not 0 <= number < 2_958_466:  # the end of the year 9999
            return number
        if 1 <= number < 60 and self._zero.year == 1899:
            number += 1  # as Excel has a February 29 in 1900
        moment = self._zero + timedelta(seconds=round(number * 86_400))
        return moment if number >= 1 else moment.time().isoformat()


def _column(at: str) -> int:
    """Return the column of a cell, from 0: 0 for A1, 26 for AA1."""
    number = 0
    for letter in at[:4].upper():
        if not "A" <= letter <= "Z":
            break
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _moment(text: str) -> Any:
    """Return a date in ISO 8601; the text, if it is none."""
    try:
        return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return text


class _OpenDocument(_Book):
    """A spreadsheet of LibreOffice and others, all of whose sheets are in one member."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most: int) -> None:
        super().__init__(archive, name, most)
        self._sheets = list[list[Line]]()
        row, rows, column = 0, 1, 0
        said, cells, text = dict[str, str](), dict[int, Any](), list[str]()

        def start(tag: str, attributes: _Attributes) -> None:
            nonlocal row, rows, column, said
            if tag == "table":
                self.names.append(attributes["name"])
                self.found, row, rows = [], 0, 1
                self._sheets.append(self.found)
            elif tag == "table-row":
                row, rows, column = row + rows, int(attributes.get("number-rows-repeated", 1)), 0
                cells.clear()
            elif tag in _CELLS:
                said = dict(attributes)
                text.clear()
                self.see(1, column)
            elif tag in _SPACES:
                text.append(_SPACES[tag] * int(attributes.get("c", 1)))

        def end(tag: str) -> None:
            nonlocal column
            if tag in _CELLS:
                times = int(said.get("number-columns-repeated", 1))
                cell = _cell(said, "".join(text).strip()) if tag == "table-cell" else None
                if cell not in (None, ""):
                    self.see(1, column, times)
                    for place in range(column, column + times):
                        cells[place] = self.take(cell) if isinstance(cell, str) else cell
                column += times
            elif tag == "table-row":
                self.add(row, cells, rows)

        _read(archive, "content.xml", start, end, text)

    def lines(self, sheet: int) -> list[Line]:
        """Return the lines of a sheet."""
        return self._sheets[sheet]


def _cell(said: _Attributes, text: str) -> Any:
    """Return what a cell of a spreadsheet holds, by its type."""
    kind = said.get("value-type", "string" if text else "")
    if kind in ("float", "percentage", "currency"):
        number = float(said["value"])
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if kind == "boolean":
        return said.get("boolean-value") == "true"
    if kind == "date":
        return _moment(said.get("date-value", text))
    if kind == "time" and (times := _TIMES.fullmatch(said.get("time-value", ""))):
        return "{:02}:{:02}:{:02}".format(*(int(part or 0) for part in times.groups()))
    return said.get("string-value", text) or None
