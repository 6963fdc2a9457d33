"""Campaigns in a file: SQLite, for one machine.

Write-ahead log, synchronous=FULL: a commit is on the disk before it is acknowledged. Writers take
the lock when they begin (BEGIN IMMEDIATE), so that two never find out at the end; processes that
write stand in a `Line` for it.

What is written into a file that was removed or replaced goes nowhere. So the place is looked at
after every commit, before it is acknowledged.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from evenhand.campaigns.stores import copies
from evenhand.campaigns.stores.line import Leave, Line
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import PATIENCE, Result, Store, Work
from evenhand.errors import StoreError

_WAIT = 10.0  # seconds at most that SQLite itself waits for another writer, in one try
_NO_LOCKS = (
    "the file system of its folder has no locks, without which processes spoil each other's work; "
    "put it on a disk of this machine, or use PostgreSQL"
)
_EXPLAINED = {
    "readonly": "the file or its folder cannot be written; give write permission to both",
    "full": "the disk is full; make room and do the same again",
    "locked": "another process has been writing for too long; do the same again",
    "busy": "another process has been writing for too long; do the same again",
    "unable to open": "it cannot be opened; see that its folder is there and may be written",
    "not a database": "this file is no store of campaigns",
    "malformed": "the file is damaged; go back to a copy",
    "locking protocol": _NO_LOCKS,
    "disk i/o": "the disk fails; see whether it is full or was taken out",
}


class SqliteStore(Store):
    """A file of campaigns, made unless it `must_exist`; if busy, tried for `patience` seconds."""

    errors = sqlite3.Error

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
        self._writer: sqlite3.Connection | None = None
        self._log: tuple[int, int] | None = None  # the place of its write-ahead log
        self._in_line: Line | None = None

    def _transaction(self, work: Callable[[Session], bool]) -> None:
        leave = self._turn()
        try:
            writer = self._writer or self._new_writer()
            try:
                cursor = writer.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                keep = work(_SqliteSession(cursor, self.clock_offset))
                cursor.execute("COMMIT" if keep else "ROLLBACK")
            except BaseException:
                with suppress(sqlite3.Error):
                    writer.rollback()
                raise
            if keep:
                self._check_place()
        finally:
            leave()

    def _new_writer(self) -> sqlite3.Connection:
        writer = self._connect()
        # so it is since the file was made, unless somebody changed it, or the place allows no such
        (mode,) = writer.execute("PRAGMA journal_mode = WAL").fetchone()
        self._writer, self._has_log, self._log = writer, mode == "wal", None
        return writer

    def _read_with(self, connection: sqlite3.Connection, work: Work[Result]) -> Result:
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        result = work(_SqliteSession(cursor, self.clock_offset))
        cursor.execute("ROLLBACK")
        return result

    def _connect(self) -> sqlite3.Connection:
        if self._place is not None:
            self._check_file()  # and do not make an empty one where there was a full one
        connection = sqlite3.connect(
            self._file,
            timeout=min(_WAIT, self.patience),
            isolation_level=None,  # transactions are begun and ended by us alone
            check_same_thread=False,
            cached_statements=256,
        )
        for pragma in ("synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if self._place is None:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # it is opened only now
            self._place = _place(self._file)
        return connection

    def _turn(self) -> Leave:
        """Wait for the turn of this process; return what ends it."""
        try:
            if self._in_line is None:
                self._in_line = Line(f"{self._file}-line")
        except OSError as error:
            raise StoreError(
                f"the store {self.name!r} cannot be used: {error.strerror}; its folder must "
                "be there, with write permission and room. What was acknowledged is kept."
            ) from error
        try:
            return self._in_line.enter(self.patience)
        except TimeoutError as error:
            raise StoreError(
                f"the store {self.name!r} cannot be used: for {self.patience:g} seconds another "
                f"process has been writing, or was stopped while it wrote. Look who has "
                f"'{self.name}-line' open, let that process go on or end it, and do the same "
                "again. What was acknowledged is kept."
            ) from error
        except OSError as error:
            raise StoreError(
                f"the store {self.name!r} cannot be used: {_NO_LOCKS} ({error.strerror}). What was "
                "acknowledged is kept."
            ) from error

    # ------------------------------------------------------------------ where it is

    def examine(self) -> None:
        """Refuse a copy that was made while the file was in use, and is not whole."""
        file = os.stat(self.path)
        if not self.read(lambda session: copies.is_copy(session, file)):
            return
        try:
            whole = self.read(copies.is_whole)
        except StoreError:
            whole = False
        if not whole:
            raise StoreError(
                f"the file {self.name!r} is damaged, or was copied while it was in use, and what "
                "it holds is not of one moment. Copy it again when nobody writes, or with "
                f'sqlite3 FILE ".backup COPY".'
            )
        with suppress(StoreError):  # what cannot be written is looked at every time
            self.write(lambda session: copies.sign(session, file))

    def _check_file(self) -> None:
        now = _place(self._file)
        if now != self._place:
            what = "is gone" if now is None else "was replaced by another"
            raise StoreError(
                f"the file {self.name!r} {what} while it was in use; what was just to be written "
                "is not acknowledged. Put the file back, or open the campaign again."
            )

    def _check_place(self) -> None:
        """See that what was written can be found by the next who opens the file."""
        self._check_file()
        if not self._has_log:
            return
        log = _place(f"{self._file}-wal")
        if self._log is None:
            self._log = log
        if log is None or log != self._log:
            raise StoreError(
                f"the file '{self.name}-wal' was removed while it was in use; what was just to be "
                "written is not acknowledged. Open the campaign again, and see what is there."
            )

    # ------------------------------------------------------------------ errors

    def _passes(self, error: Exception) -> bool:
        said = str(error).lower()
        return "locked" in said or "busy" in said

    def _explained(self, error: Exception) -> str:
        said = str(error).lower()
        why = next((text for sign, text in _EXPLAINED.items() if sign in said), said)
        return f"the store {self.name!r} cannot be used: {why}. What was acknowledged is kept."

    def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._in_line is not None:
            self._in_line.close()
        self._writer = self._log = self._in_line = None


class _SqliteSession(Session):
    fragments: ClassVar[Mapping[str, str]] = {
        "clock": "((julianday('now') - 2440587.5) * 86400.0)",
        "for_update": "",  # who writes a file is alone
        "bytes": "BLOB",
        "identity": "INTEGER",
        "without_rowid": "WITHOUT ROWID",
    }
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    may_be_shared = False

    def __init__(self, cursor: sqlite3.Cursor, clock_offset: float) -> None:
        super().__init__(clock_offset)
        self._cursor = cursor

    def execute(self, statement: str, parameters: Mapping[str, Any] = {}) -> Any:
        return self._cursor.execute(self.text(statement), parameters)

    def run_many(self, statement: str, many: Sequence[Mapping[str, Any]]) -> None:
        self._cursor.executemany(self.text(statement), many)


def _place(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another that has the same name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
