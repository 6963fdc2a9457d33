"""Zip files with JSON in them, such as Inspect's logs, read one member at a time.

Inspect compresses by Zstandard, which Python's own reader of zip files knows from 3.14 on only. So
members are found by Python and unpacked here.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.readers.nested import parsed
from evenhand.tables.limits import MOST_IN_LOG, size

_ZSTANDARD = 93  # the number of the method in zip files
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # ends with the lengths of a name and of extras


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
            raise InputError(
                f"{where} cannot be read: {error}. The file is damaged; copy it again."
            ) from None

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        if member.file_size > MOST_IN_LOG:
            raise InputError(
                f"{self.path.as_posix()}, {member.filename} unpacks to {size(member.file_size)}, "
                f"and no more than {size(MOST_IN_LOG)} are read of a part of a log."
            )
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
    except zipfile.BadZipFile:
        raise InputError(
            f"{path.as_posix()} is a zip file without its end: it was cut off while it was "
            "written or copied. Copy it again; for a log of Inspect, run the evaluation to its end "
            "(`inspect eval-retry`)."
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
