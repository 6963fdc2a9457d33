"""A transaction that is open: statements are run in it.

Statements are written once, with SQLAlchemy, and put into words once for each kind of database;
then they go to the driver as they are. That is what makes a small transaction cost little more than
its commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy.sql import ClauseElement


class Statement:
    """An SQL statement, in the words of every database that it was run on.

    Parameters
    ----------
    core
        The statement; what changes from run to run is a ``bindparam``.
    """

    def __init__(self, core: ClauseElement) -> None:
        self._core = core
        self._words: dict[str, tuple[str, dict[str, Any]]] = {}

    def words(self, dialect: Any) -> tuple[str, dict[str, Any]]:
        """Return the statement for a database, and what is the same in every run."""
        found = self._words.get(dialect.name)
        if found is None:
            compiled = self._core.compile(
                dialect=dialect, compile_kwargs={"render_postcompile": True}
            )
            constant = {k: v for k, v in (compiled.params or {}).items() if v is not None}
            found = self._words[dialect.name] = str(compiled), constant
        return found


class Session:
    """What work does in its transaction.

    Parameters
    ----------
    cursor
        The driver's cursor.
    dialect
        How to put statements into words.
    now
        The expression for the time, in seconds since 1970, by the database's clock.
    """

    def __init__(self, cursor: Any, dialect: Any, now: str) -> None:
        self._cursor, self._dialect, self._now = cursor, dialect, now

    def rows(self, statement: Statement, **parameters: Any) -> list[Any]:
        """Run a statement and return its rows."""
        words, constant = statement.words(self._dialect)
        self._cursor.execute(words, constant | parameters if constant else parameters)
        return self._cursor.fetchall()  # type: ignore[no-any-return] # a list by DB-API

    def row(self, statement: Statement, **parameters: Any) -> Any:
        """Run a statement and return its only row, or None."""
        words, constant = statement.words(self._dialect)
        self._cursor.execute(words, constant | parameters if constant else parameters)
        return self._cursor.fetchone()

    def run(self, statement: Statement, **parameters: Any) -> int:
        """Run a statement that returns nothing; return how many rows it changed."""
        words, constant = statement.words(self._dialect)
        self._cursor.execute(words, constant | parameters if constant else parameters)
        return int(self._cursor.rowcount)

    def run_many(self, statement: Statement, many: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of parameters."""
        words, constant = statement.words(self._dialect)
        self._cursor.executemany(words, [constant | dict(one) for one in many])

    def now(self) -> float:
        """Return the time, in seconds since 1970."""
        self._cursor.execute(f"SELECT {self._now}")
        return float(self._cursor.fetchone()[0])

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what is done in the block if it fails, and nothing else."""
        self._cursor.execute("SAVEPOINT work")
        try:
            yield
        except BaseException:
            self._cursor.execute("ROLLBACK TO SAVEPOINT work")
            raise
        finally:
            self._cursor.execute("RELEASE SAVEPOINT work")
