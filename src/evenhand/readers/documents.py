"""Files as documents: what is in them, by their first bytes, whatever they are called."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_ZSTANDARD = 93  # the number of the method in zip files; Python reads it from 3.14 on
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


@dataclass(frozen=True)
class Document:
    """A file that was read.

    Parameters
    ----------
    path
        Where it is.
    content
        What JSON holds (objects and lists; lines of JSON as one list), an `Archive`, or a data
        frame for tables.
    """

    path: Path
    content: Any

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.path.as_posix()


@dataclass(frozen=True)
class Archive:
    """A zip file with JSON in it, read one member at a time."""

    path: Path
    members: tuple[zipfile.ZipInfo, ...]

    def names(self) -> list[str]:
        """Return the names of the members."""
        return [member.filename for member in self.members]

    def json(self, name: str) -> Any:
        """Return what a member holds."""
        member = next(m for m in self.members if m.filename == name)
        where = f"{self.path.as_posix()}, {name}"
        try:
            return parsed(self._bytes(member).decode("utf-8"), where)
        except (zipfile.BadZipFile, OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
            raise InputError(
                f"{where} cannot be read: {error}. The file is damaged; copy it again."
            ) from None

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type != _ZSTANDARD:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(member)
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            header = file.read(_LOCAL_HEADER.size)
            if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
                raise zipfile.BadZipFile("no member where the list of members says one is")
            name_and_extra = sum(_LOCAL_HEADER.unpack(header)[-2:])
            file.seek(name_and_extra, io.SEEK_CUR)
            packed = file.read(member.compress_size)
        content = _unpacked(packed)
        if zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("its checksum is wrong")
        return content


def _unpacked(packed: bytes) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 # slow to load

    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        content: bytes = stream.read()
    return content


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
    try:
        with path.open("rb") as file:
            start = file.read(4)
            if start == b"PK\x03\x04":
                return Document(path, _archive_or_sheet(path))
            if start == b"PAR1":
                return Document(path, _parquet(path))
            if start == b"PK\x05\x06":
                raise InputError(
                    f"{path.as_posix()} is an empty archive: there are no scores in it."
                )
            content = start + file.read()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path.as_posix()} is damaged: {error}. Copy it again.") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.as_posix()} is neither text in UTF-8 (byte {error.start}) nor an archive, "
            "Excel or Parquet file; save it as one of these."
        ) from None
    return Document(path, _text(text, path))


def _archive_or_sheet(path: Path) -> Archive | pd.DataFrame:
    try:
        with zipfile.ZipFile(path) as archive:
            members = tuple(archive.infolist())
    except zipfile.BadZipFile:
        raise InputError(
            f"{path.as_posix()} is a zip file without its end: it was cut off while it was "
            "written or copied. Copy it again; for a log of Inspect, run the evaluation to its end "
            "(`inspect eval-retry`)."
        ) from None
    if any(member.filename == "xl/workbook.xml" for member in members):
        return _sheet(path)
    return Archive(path, members)


def _sheet(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    try:
        return pd.read_excel(path, engine="openpyxl")
    except ImportError:
        raise InputError(
            f"{path.as_posix()} is an Excel file, which takes openpyxl to read: pip "
            "install openpyxl, or save it as CSV."
        ) from None


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path.as_posix()} is a damaged Parquet file: {error}. Copy it again."
        ) from None


def _text(text: str, path: Path) -> Any:
    if not text.strip():
        raise InputError(f"{path.as_posix()} is empty: there are no scores in it.")
    if text.lstrip()[0] not in "{[":
        return _separated(text, path)
    try:
        return parsed(text, path.as_posix())
    except InputError as error:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise error from None
        return list(_lines(lines, path.as_posix()))


def parsed(text: str, where: str) -> Any:
    """Return what JSON holds; an error says where it breaks off.

    Examples
    --------
    >>> parsed('{"a": [1, 2', "log.json")
    Traceback (most recent call last):
    evenhand.errors.InputError: log.json: the JSON breaks off in line 1, column 12...
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            said = "the JSON breaks off"
        else:
            said = "this is no JSON"
        raise InputError(
            f"{where}: {said} in line {error.lineno}, column {error.colno} ({error.msg}). Was it "
            "cut off while it was written? Write or copy it again."
        ) from None
    except RecursionError:
        raise InputError(f"{where}: the JSON is nested too deeply; this is no log.") from None


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


def _separated(text: str, path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    first = text.lstrip().partition("\n")[0]
    separator = max("\t;,|", key=lambda sign: (first.count(sign), sign == ","))
    try:
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal="," if separator == ";" and re.search(r"\d,\d", text) else ".",
            skipinitialspace=True,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path.as_posix()} is no table: {short_of(error)}.") from None


def short_of(error: Exception) -> str:
    """Return what an error says, on one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
