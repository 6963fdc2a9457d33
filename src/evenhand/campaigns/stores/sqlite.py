"""Campaigns in a file: SQLite, for one machine.

Write-ahead log, synchronous=FULL: a commit is on the disk before it is acknowledged. Writers take
the lock when they begin (BEGIN IMMEDIATE), so that two never find out at the end.

What is written into a file that was removed or replaced goes nowhere. So the place is looked at
after every commit, before it is acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from evenhand.campaigns.stores.store import PATIENCE, Store
from evenhand.errors import StoreError

_WAIT = 1.0  # seconds at most that SQLite itself waits for another writer, in one try
_BUSY = (
    "another process has been writing for too long, or was stopped while it wrote; let it go on or "
    "end it, and do the same again"
)
_EXPLAINED = {
    "readonly": "the file or its folder cannot be written; give write permission to both",
    "full": "the disk is full; make room and do the same again",
    "locked": _BUSY,
    "busy": _BUSY,
    "unable to open": "it cannot be opened; see that its folder is there and may be written",
    "not a database": "this file is no store of campaigns",
    "malformed": "the file is damaged; go back to a copy",
    "locking protocol": "the file system of its folder has no locks, without which processes spoil "
    "each other's work; put it on a disk of this machine, or use PostgreSQL",
    "disk i/o": "the disk fails; see whether it is full or was taken out",
}


class SqliteStore(Store):
    """A file of campaigns, made unless it `must_exist`; if busy, tried for `patience` seconds."""

    errors = sqlite3.Error
    dialect = "sqlite://"
    reading = {"begin": "BEGIN"}  # noqa: RUF012 # nobody changes it

    def __init__(
        self, path: str | os.PathLike[str], *, must_exist: bool = False, patience: float = PATIENCE
    ) -> None:
        self.name = str(path)
        self._file = os.path.realpath(path)  # wherever this process goes, and links lead
        self.path = Path(self._file)
        try:
            there, folder = self.path.is_file(), self.path.parent.is_dir()
        except OSError as error:  # a folder on the way that may not be entered
            raise StoreError(
                f"the store {self.name!r} cannot be used: {error.strerror}; ask for permission to "
                "enter its folder and those above."
            ) from error
        if must_exist and not there:
            raise StoreError(
                f"there is no store at {self.name!r}; create one with a campaign in it, or check "
                "the path."
            )
        if not folder:
            raise StoreError(f"there is no folder {str(self.path.parent)!r} for {self.name!r}.")
        self._place: tuple[int, int] | None = None  # of the file, once it was opened
        super().__init__(patience)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._log: tuple[int, int] | None = None  # the place of the write-ahead log
        sa.event.listen(self.engine, "begin", _begin)

    def close(self) -> None:
        """Let go of the file."""
        super().close()
        self._log = None

    @staticmethod
    @cache
    def text(statement: str) -> str:
        """Return a statement as SQLite reads it; who writes a file is alone."""
        clock = "((julianday('now') - 2440587.5) * 86400.0)"
        return statement.replace("@clock", clock).replace("@for_update", "")

    def _connect(self) -> sqlite3.Connection:
        if self._place is not None:
            self._check_file()  # and do not make an empty one where there was a full one
        else:
            with suppress(OSError):  # what is wrong SQLite says
                os.close(os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(
            self._file,
            timeout=min(_WAIT, self.patience),
            isolation_level=None,  # transactions are begun and ended by us alone
            check_same_thread=False,
            cached_statements=256,
        )
        for pragma in ("synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:  # a new file
            connection.execute("PRAGMA journal_mode = WAL")
        self._place = self._place or _place(self._file)
        return connection

    def _check_file(self) -> None:
        now = _place(self._file)
        if now != self._place:
            what = "is gone" if now is None else "was replaced by another"
            raise StoreError(
                f"the file {self.name!r} {what} while it was in use; what was just to be written "
                "is not acknowledged. Put the file back, or open the campaign again."
            )

    def _check(self) -> None:
        self._check_file()
        log = _place(f"{self._file}-wal")
        self._log = self._log or log
        if log != self._log:
            raise StoreError(
                f"the file '{self.name}-wal' was removed while it was in use; what was just to be "
                "written is not acknowledged. Open the campaign again, and see what is there."
            )

    def _passes(self, error: BaseException) -> bool:
        said = str(error).lower()
        return "locked" in said or "busy" in said

    def _explained(self, error: BaseException) -> str:
        said = str(error).lower()
        why = next((text for sign, text in _EXPLAINED.items() if sign in said), said)
        return f"the store {self.name!r} cannot be used: {why}. What was acknowledged is kept."


def _begin(connection: sa.Connection) -> None:
    how = connection.get_execution_options().get("begin", "BEGIN IMMEDIATE")
    connection.connection.cursor().execute(how)


def _place(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another that has the same name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
