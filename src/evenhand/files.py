"""Files: written whole or not at all; what others begin with, and how much is read of them.

A full disk or a kill keeps what was there before. A table is read whole, so what it takes is
memory: five million scores are 0.3 GB of CSV.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import InputError


@contextmanager
def write_atomically(path: str | os.PathLike[str], what: str = "the file") -> Iterator[Path]:
    """Give the path of a draft that takes the file's name once it is complete and on the disk; the
    draft goes if the block fails, and `InputError` says that ``what`` cannot be written.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if path.exists() and not path.is_file():  # a pipe or /dev/null keeps nothing
            yield path
            return
        target = path.resolve()  # a link stays a link, to the new file
        draft = _new_draft(target)  # ends as the file does: some write by the ending
        try:
            yield draft
            # Windows flushes only what is open for writing
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise InputError(
            f"{what} cannot be written to {str(path)!r}: {error.strerror or error}; choose another "
            "place. What was there before is kept."
        ) from error


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder last; Windows does so by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_draft(target: Path) -> Path:
    """Make an empty file beside another one, with its permissions; refuse a protected one."""
    if target.exists() and not os.access(target, os.W_OK):
        # renaming asks the folder only, and would go over the file's own protection
        raise PermissionError(None, "the file is write-protected")
    ending = "".join(target.suffixes[-2:])
    draft = target.with_name(f".evenhand-{secrets.token_hex(6)}{ending}")
    draft.open("xb").close()
    if target.exists():
        shutil.copymode(target, draft)
    return draft


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder, or say why that is not possible."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {os.fspath(folder)!r} cannot be made: {error.strerror or error}; choose "
            "another."
        ) from None


@dataclass(frozen=True)
class Limits:
    """How much of a table is read: far beyond what people have, and below what stops a machine.
    Plain files may have any number of bytes: they are as large as they look.
    """

    unpacked: int = 1 << 30  # bytes that come out of a file, or through a pipe; of JSON
    line: int = 64 << 20  # bytes of a line, and so of a cell
    columns: int = 100_000
    cells: int = 200_000_000
    rows_of_sheet: int = 1 << 20  # as Excel has
    cells_of_sheet: int = 10_000_000  # from the first column to the last that is filled in


UPLOADED = Limits(64 << 20, 1 << 20, 20_000, 20_000_000, cells_of_sheet=2_000_000)
"""Of what is sent by strangers."""

_USUAL = Limits()
_limits: ContextVar[Limits] = ContextVar("limits", default=_USUAL)


def limits() -> Limits:
    """Return how much of a table is read here."""
    return _limits.get()


@contextmanager
def limited(to: Limits) -> Iterator[None]:
    """Read no more of a table than this."""
    before = _limits.set(to)
    try:
        yield
    finally:
        _limits.reset(before)


PARQUET, ZIP, OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""What files of these kinds begin with."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_SMALL, _MOST_TIMES = 16 << 20, 100  # tables unpack to 10 or 30 times their size


def packing(start: bytes) -> str | None:
    """Return what a file is compressed by, by its first bytes; None if it is not."""
    return next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)


def size(n: int) -> str:
    """Return a number of bytes in words."""
    return f"{n / 2**30:.2g} GB" if n >= 1 << 30 else f"{n / 2**20:.3g} MB"


def most_unpacked(packed: int) -> int:
    """Return how many bytes may come out of a file of so many: a bomb has a thousand times more."""
    return min(limits().unpacked, max(_SMALL, _MOST_TIMES * packed))


def refuse_bomb(name: str, unpacked: int, most: int) -> None:
    """Refuse what unpacks to more than is read."""
    if unpacked > most:
        raise InputError(
            f"{name}: more than {size(most)} come out of it, and no table of that size is read; is "
            "it what you meant to give? If it is, save it as CSV that is not packed"
        )


def refuse_cells(name: str, rows: int, columns: int) -> None:
    """Refuse a table of more columns or cells than are read."""
    most = limits()
    if columns > most.columns or rows * columns > most.cells:
        raise InputError(
            f"{name} has {columns:,} columns and {rows:,} rows; no more than {most.columns:,} "
            f"columns and {most.cells:,} cells are read: leave out what is not needed"
        )


def chunks_of(stream: Any, name: str, most: int | None) -> Iterator[bytes]:
    """Yield what comes out of a stream, text as UTF-8; refuse what does not end, and a text with a
    line that does not.
    """
    total, line, lines = 0, 0, True
    while chunk := stream.read(1 << 20):
        chunk = chunk.encode() if isinstance(chunk, str) else bytes(chunk)
        if not total:
            lines = packing(chunk) is None and chunk[:4] not in (PARQUET, ZIP, OLD_EXCEL)
        total += len(chunk)
        if most is not None:
            refuse_bomb(name, total, most)
        end = chunk.rfind(b"\n")
        line = line + len(chunk) if end < 0 else len(chunk) - end - 1
        if lines and line > limits().line:
            raise InputError(
                f"{name}: a line has more than {size(limits().line)}, and no line of that size is "
                "read; is it a text with lines?"
            )
        yield chunk
