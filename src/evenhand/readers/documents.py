"""Files as documents: what is in them, by their first bytes, whatever they are called."""

from __future__ import annotations

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

_ZIP, _EMPTY_ZIP, _GZIP = b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b"
_TABLES = (b"PAR1", b"\xd0\xcf\x11\xe0")  # Parquet; Excel of old, which is refused when it is read


@dataclass(frozen=True)
class TableFile:
    """A table in a file, not yet read: CSV, Parquet or Excel."""

    path: Path


@dataclass(frozen=True)
class Document:
    """A file that was read.

    Parameters
    ----------
    path
        Where it is.
    content
        What JSON holds (objects and lists; lines of JSON as one list), an `Archive`, or a
        `TableFile`.
    """

    path: Path
    content: Any

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.path.as_posix()


def opened(path: Path) -> Document:
    r"""Return a file's content; an `InputError` says what is wrong with a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "log.txt"
    ...     _ = file.write_text('{"score": 1}\n{"score": 0}\n')
    ...     opened(file).content
    [{'score': 1}, {'score': 0}]
    """
    return Document(path, _content(path))


def _content(path: Path) -> Any:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    start = content[:4]
    if start == _ZIP:
        archive = archive_of(path)
        return TableFile(path) if "xl/workbook.xml" in archive.members else archive
    if start == _EMPTY_ZIP or not content.strip():
        raise InputError(f"{path.as_posix()} is empty: there are no scores in it.")
    if start in _TABLES:
        return TableFile(path)
    if start[:2] == _GZIP:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path.as_posix()} is damaged: {error}. Copy it again.") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return TableFile(path)  # whose reader says in which line it is no text
    return _json(text, path) if text.lstrip()[:1] in ("{", "[") else TableFile(path)


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
