"""Campaigns on a server: PostgreSQL, for several machines.

The chain of events makes writers of one campaign take turns. So that they do not also wait for each
other's disk, a transaction is committed without waiting (synchronous_commit off), which lets the
next in; then an empty one is committed with waiting. The server's log is written in order, so when
the second is on the disk, the first is; and many of these share one write to the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from sqlalchemy.dialects.postgresql import psycopg as words

from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import Result, Store, Work
from evenhand.errors import InputError

try:
    import psycopg
except ImportError as error:
    raise InputError(
        "PostgreSQL needs psycopg; install evenhand[postgres], or give the path of a file."
    ) from error

_NOW = "extract(epoch from clock_timestamp())::float8"
_DIALECT = words.dialect()
_LATER = "SET LOCAL synchronous_commit TO OFF"
_FLUSH = "SELECT pg_logical_emit_message(true, 'evenhand', '')"
_PASSING = ("40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300")


class PostgresStore(Store):
    """Campaigns in a PostgreSQL database.

    Parameters
    ----------
    url
        Where it is, such as "postgresql://user@host/database".
    patience
        Seconds for which a server that is busy or gone is tried again.
    """

    errors = psycopg.Error

    def __init__(self, url: str, *, patience: float = 30.0) -> None:
        super().__init__(patience)
        self._url = url
        parts = psycopg.conninfo.conninfo_to_dict(url)
        self.name = f"{parts.get('dbname', '')} at {parts.get('host', 'localhost')}"
        self._forget()

    def _forget(self) -> None:
        self._writer: psycopg.Connection | None = None
        self._readers: list[psycopg.Connection] = []
        self._lock = threading.Lock()

    def _transaction(self, work: Callable[[Session], bool]) -> None:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        cursor = self._writer.cursor()
        try:
            cursor.execute("BEGIN")
            cursor.execute(_LATER)
            keep = work(Session(cursor, _DIALECT, _NOW))
            cursor.execute("COMMIT" if keep else "ROLLBACK")
            if keep:
                cursor.execute(_FLUSH)
        except BaseException:
            self._mend(self._writer)
            raise

    def _reading(self, work: Work[Result]) -> Result:
        with self._lock:
            connection = self._readers.pop() if self._readers else None
        if connection is None or connection.closed:
            connection = self._connect()
        try:
            cursor = connection.cursor()
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            result = work(Session(cursor, _DIALECT, _NOW))
            cursor.execute("ROLLBACK")
        except BaseException:
            self._mend(connection)
            raise
        with self._lock:
            self._readers.append(connection)
        return result

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self._url, autocommit=True)

    def _mend(self, connection: psycopg.Connection) -> None:
        """Let go of a connection in which something failed: the next one is a new one."""
        if connection is self._writer:
            self._writer = None
        connection.close()

    def _passes(self, error: Exception) -> bool:
        code = getattr(error, "sqlstate", None)
        return code in _PASSING or (code is None and isinstance(error, psycopg.OperationalError))

    def _explained(self, error: Exception) -> str:
        said = " ".join(str(error).split())
        return (
            f"the store {self.name!r} cannot be used: {said}. What was acknowledged is kept; see "
            "that the server is up and do the same again."
        )

    def _let_go(self) -> None:
        for connection in (self._writer, *self._readers):
            if connection is not None:
                connection.close()
        self._forget()
