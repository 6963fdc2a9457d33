"""Files as documents: what is in them, by their first bytes, whatever they are called.

Zip files with JSON in them, such as Inspect's logs, are read one member at a time. Inspect
compresses by Zstandard, which Python's own reader of zip files knows from 3.14 on only. So members
are found by Python and unpacked here. In JSON, nested, anything may be missing or different.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.errors import InputError
from evenhand.files import ZIP, most_unpacked, packing, size
from evenhand.readers.frame import LoggedScore
from evenhand.tables.books import is_workbook

_EMPTY_ZIP = b"PK\x05\x06"
_ZSTANDARD = 93  # the number of the method in zip files
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # ends with the lengths of a name and of extras


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    path: Path
    content: Any  # None for a table that is not yet read: CSV, Parquet or Excel

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.path.as_posix()


class Format(NamedTuple):
    """How the log of a tool looks, and how its scores are read."""

    recognises: Callable[[Any], bool]  # whether a document's content is one
    # what it scored; what is to be said about the run goes on the list
    records: Callable[[Document, list[str]], Iterator[LoggedScore]]


def opened(path: Path) -> Document:
    """Return a file's content; an `InputError` says what is wrong with one that cannot be read."""
    return Document(path, _content(path, path.as_posix()))


def is_log(path: Path) -> bool:
    """Whether it is a folder, an archive or JSON, by its first bytes, and no table."""
    return isdir(path) or _kind(path, path.as_posix()) is not None


def _kind(path: Path, name: str) -> str | None:
    """Return "zip" for an archive, the encoding of JSON, or None for a table."""
    if not isfile(path):  # a pipe can be read once only, and whoever reads it says what is absent
        return None
    head = _bytes(path, name, 1 << 16)
    if head.startswith(ZIP):
        return None if is_workbook(archive_of(path).members) else "zip"
    if not head or head.startswith(_EMPTY_ZIP):
        raise InputError(f"{name} is empty: there are no scores in it.")
    encoding = json.detect_encoding(head)
    return encoding if head.decode(encoding, "ignore").lstrip()[:1] in ("{", "[") else None


def _bytes(path: Path, name: str, most: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with path.open("rb") as file:
            opener = gzip.open if packing(file.read(4)) == "gzip" else open
        with opener(path, "rb") as file:
            content: bytes = file.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is damaged: {error}. Copy it again.") from None
    return content


def _content(path: Path, name: str) -> Any:
    encoding = _kind(path, name)
    if encoding in (None, "zip"):
        return None if encoding is None else archive_of(path)
    most = most_unpacked(path.stat().st_size)
    content = _bytes(path, name, most + 1)
    if len(content) > most:
        raise InputError(f"{name}: more than {size(most)} of JSON are not read; split it.")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}: line {line} has the byte 0x{content[error.start]:02x}, which is no "
            f"{error.encoding}. Write or save it as UTF-8."
        ) from None
    del content
    try:
        found = parsed(text, name)
        return [found] if ".jsonl" in path.suffixes and isinstance(found, dict) else found
    except InputError:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        try:
            json.loads(lines[0][1])
        except (ValueError, RecursionError):
            lines = []
        if len(lines) < 2:
            raise
        return [parsed(line, name, n) for n, line in lines]


@dataclass(frozen=True)
class Archive:
    """A zip file."""

    path: Path
    members: Mapping[str, zipfile.ZipInfo]

    def json(self, name: str) -> Any:
        """Return what a member holds."""
        where = f"{self.path.as_posix()}, {name}"
        try:
            return parsed(self._bytes(self.members[name]).decode("utf-8"), where)
        except (zipfile.BadZipFile, OSError, UnicodeDecodeError, zlib.error) as error:
            raise InputError(f"{where} is damaged: {error}. Copy it again.") from None

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        if member.file_size > (most := most_unpacked(member.compress_size)):
            where = f"{self.path.as_posix()}, {member.filename}"
            said = f"unpacks to {size(member.file_size)}; more than {size(most)} are not read"
            raise InputError(f"{where} {said}.")
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            header = file.read(_LOCAL_HEADER.size)
            if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
                raise zipfile.BadZipFile("no member where the list of members says one is")
            file.seek(sum(_LOCAL_HEADER.unpack(header)[-2:]), io.SEEK_CUR)
            packed = file.read(member.compress_size)
        content = _unpacked(packed, member.compress_type, member.file_size)
        if zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("its checksum is wrong")
        return content


def archive_of(path: Path) -> Archive:
    """Return the archive in a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return Archive(path, {member.filename: member for member in archive.infolist()})
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error):
        raise InputError(
            f"{path.as_posix()} is a zip file without its end. Copy it again; for a log of "
            "Inspect, run the evaluation to its end (`inspect eval-retry`)."
        ) from None


def _unpacked(packed: bytes, method: int, announced: int) -> bytes:
    """Return what was packed, and no more than was announced and a byte."""
    if method == zipfile.ZIP_STORED:
        return packed
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, announced + 1)
    if method != _ZSTANDARD:
        raise zipfile.BadZipFile(f"it is compressed by method {method}, which is not known")
    import pyarrow as pa  # noqa: PLC0415 # slow to load

    try:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            content: bytes = stream.read(announced + 1)
    except (OSError, ValueError) as error:  # as pyarrow has it
        raise zipfile.BadZipFile(str(error)) from None
    return content


def parsed(text: str, where: str, line: int | None = None) -> Any:
    """Return what JSON holds, or one line of many; an error says where it breaks off."""
    at = where if line is None else f"{where}: line {line}"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        said = f"({error.msg} in column {error.colno})"
        if line is not None:
            raise InputError(f"{at} is no JSON {said}.") from None
        cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "the JSON breaks off" if cut else "this is no JSON"
        raise InputError(
            f"{at}: {what} in line {error.lineno} {said}. Write or copy it again."
        ) from None
    except ValueError:  # from Python's own limit
        raise InputError(f"{at}: a number in it has more than 4,300 digits.") from None
    except RecursionError:
        raise too_deep(at) from None


def too_deep(where: str) -> InputError:
    """Return what is said of JSON that is nested without an end."""
    return InputError(f"{where}: the JSON is nested too deeply; this is no log.")


def reach(thing: Any, *path: str) -> Any:
    """Return what stands at the end of a path of names; None where it breaks off."""
    for name in path:
        thing = thing.get(name) if isinstance(thing, dict) else None
    return thing


def entries(thing: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at the end of a path; an empty one where there is none."""
    found = reach(thing, *path)
    return found if isinstance(found, dict) else {}


def members(thing: Any, *path: str) -> list[Any]:
    """Return the list at the end of a path; an empty one where there is none."""
    found = reach(thing, *path)
    return found if isinstance(found, list) else []


def name_of(thing: Any) -> str | None:
    """Return a name, which is a text or a number; None for anything else and for no text."""
    if isinstance(thing, (str, int)) and not isinstance(thing, bool):
        return str(thing) or None
    return None


def has(rows: Any, *keys: str) -> bool:
    """Whether these are objects, of which the first have all these keys."""
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(row, dict) and row.keys() >= {*keys} for row in rows[:3])
    )
