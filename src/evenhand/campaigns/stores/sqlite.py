"""Campaigns in a file: SQLite, for one machine.

Write-ahead log, synchronous=FULL: a commit is on the disk before it is acknowledged. Writers take
the lock when they begin (BEGIN IMMEDIATE), so that two never find out at the end. SQLite lets
processes that wait for the lock try again at random, and some starve; so they stand in line first,
for the lock of a file beside the store, which the system hands on in turn and takes back from the
dead.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.dialects import sqlite as words

from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import Result, Store, Work
from evenhand.errors import StoreError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_WAIT = 10.0  # seconds that SQLite itself waits for another writer, before `patience` counts
_NOW = "((julianday('now') - 2440587.5) * 86400.0)"
_DIALECT = words.dialect(paramstyle="named")
_EXPLAINED = {
    "readonly": "the file or its folder cannot be written; give write permission to both",
    "full": "the disk is full; make room and do the same again",
    "locked": "another process has been writing for too long; do the same again",
    "busy": "another process has been writing for too long; do the same again",
    "unable to open": "it cannot be opened; see that its folder is there and may be written",
    "not a database": "this file is no store of campaigns",
    "malformed": "the file is damaged; go back to a copy",
    "disk i/o": "the disk fails; see whether it is full or was taken out",
}


class SqliteStore(Store):
    """A file of campaigns.

    Parameters
    ----------
    path
        The file. It is made if it is not there, unless ``must_exist``.
    must_exist
        Whether to refuse a path where there is no file.
    patience
        Seconds for which a busy file is tried again.
    """

    errors = sqlite3.Error

    def __init__(
        self, path: str | os.PathLike[str], *, must_exist: bool = False, patience: float = 30.0
    ) -> None:
        super().__init__(patience)
        self.path = Path(path)
        self.name = str(path)
        if must_exist and not self.path.is_file():
            raise StoreError(f"there is no store at {self.name!r}; Campaign.create(...) makes one.")
        if not self.path.parent.is_dir():
            raise StoreError(f"there is no folder {str(self.path.parent)!r} for {self.name!r}.")
        self._forget()

    def _forget(self) -> None:
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []  # that nobody uses just now
        self._line_file: int | None = None
        self._lock = threading.Lock()

    def _transaction(self, work: Callable[[Session], bool]) -> None:
        with self._in_line():
            if self._writer is None:
                self._writer = self._connect()
            cursor = self._writer.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            try:
                keep = work(Session(cursor, _DIALECT, _NOW))
                cursor.execute("COMMIT" if keep else "ROLLBACK")
            except BaseException:
                if self._writer.in_transaction:
                    cursor.execute("ROLLBACK")
                raise

    def _reading(self, work: Work[Result]) -> Result:
        with self._lock:
            connection = self._readers.pop() if self._readers else None
        connection = connection or self._connect()
        try:
            cursor = connection.cursor()
            cursor.execute("BEGIN")
            try:
                return work(Session(cursor, _DIALECT, _NOW))
            finally:
                cursor.execute("ROLLBACK")
        finally:
            with self._lock:
                self._readers.append(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=_WAIT,
            isolation_level=None,  # transactions are begun and ended by us alone
            check_same_thread=False,
            cached_statements=256,
        )
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        """Wait for one's turn among processes."""
        if self._line_file is None:
            try:
                self._line_file = os.open(f"{self.path}-line", os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise StoreError(
                    f"the store {self.name!r} cannot be used: {error.strerror}; give write "
                    "permission to the file and its folder."
                ) from error
        if sys.platform == "win32":
            msvcrt.locking(self._line_file, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(self._line_file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if sys.platform == "win32":
                os.lseek(self._line_file, 0, os.SEEK_SET)
                msvcrt.locking(self._line_file, msvcrt.LK_UNLCK, 1)
            else:
                fcntl.flock(self._line_file, fcntl.LOCK_UN)

    def _passes(self, error: Exception) -> bool:
        said = str(error).lower()
        return "locked" in said or "busy" in said

    def _explained(self, error: Exception) -> str:
        said = str(error).lower()
        why = next((text for sign, text in _EXPLAINED.items() if sign in said), said)
        return f"the store {self.name!r} cannot be used: {why}. What was acknowledged is kept."

    def _let_go(self) -> None:
        for connection in (self._writer, *self._readers):
            if connection is not None:
                connection.close()
        if self._line_file is not None:
            os.close(self._line_file)
        self._forget()
