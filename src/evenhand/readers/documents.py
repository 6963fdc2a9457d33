"""Files as documents: what is in them, by their first bytes, whatever they are called."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.readers.archives import archive_of
from evenhand.readers.nested import parsed
from evenhand.tables.limits import MOST_IN_LOG, OLD_EXCEL, PARQUET, ZIP, packing, size

_EMPTY_ZIP = b"PK\x05\x06"


@dataclass(frozen=True)
class TableFile:
    """A table in a file, not yet read: CSV, Parquet or Excel."""

    path: Path


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    path: Path
    content: Any

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.path.as_posix()


def opened(path: Path) -> Document:
    """Return a file's content; an `InputError` says what is wrong with one that cannot be read."""
    return Document(path, _content(path))


def _content(path: Path) -> Any:
    try:
        if (
            not path.is_file()
        ):  # a pipe can be read once only; whoever reads it says what is not there
            return TableFile(path)
        with path.open("rb") as file:
            start = file.read(4)
    except OSError:
        return TableFile(path)
    if start == ZIP:
        archive = archive_of(path)
        return TableFile(path) if "xl/workbook.xml" in archive.members else archive
    if start == _EMPTY_ZIP or not start:
        raise InputError(f"{path.as_posix()} is empty: there are no scores in it.")
    if start in (PARQUET, OLD_EXCEL):
        return TableFile(path)
    try:
        with (gzip.open if packing(start) == "gzip" else open)(path, "rb") as file:
            head = file.read(1 << 16)
            if head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] not in (b"{", b"["):
                return TableFile(path)
            file.seek(0)
            content = file.read(MOST_IN_LOG + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.as_posix()} is damaged: {error}. Copy it again.") from None
    if len(content) > MOST_IN_LOG:
        raise InputError(
            f"{path.as_posix()}: more than {size(MOST_IN_LOG)} of JSON, and no log of that size is "
            "read; split it."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return TableFile(path)  # whose reader says in which line it is no text
    del content
    return _json(text, path)


def _json(text: str, path: Path) -> Any:
    try:
        return parsed(text, path.as_posix())
    except InputError as error:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise error from None
        return list(_lines(lines, path.as_posix()))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True


def _lines(lines: list[tuple[int, str]], where: str) -> Iterator[Any]:
    for number, line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{where}: line {number} is no JSON ({error.msg} in column {error.colno}); each "
                "line must be a whole object."
            ) from None
