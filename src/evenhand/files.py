"""Files that are written whole or not at all: a full disk or a kill keeps what was there before."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
