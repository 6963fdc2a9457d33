"""A transaction that is open: statements are run in it.

Statements are written once, with SQLAlchemy, and put into words once for each kind of database;
then they go to the driver as they are. That is what makes a small transaction cost little more than
its commit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Double, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.expression import ColumnElement
from sqlalchemy.sql.functions import FunctionElement


class Clock(ColumnElement[float]):
    """The database's time, in seconds since 1970, as a column of a statement."""

    inherit_cache = True
    type = Double()


@compiles(Clock, "sqlite")
def _clock_of_sqlite(clock: Clock, compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Clock, "postgresql")
def _clock_of_postgres(clock: Clock, compiler: Any, **_: Any) -> str:
    return "extract(epoch from clock_timestamp())::float8"


class OneOf(FunctionElement[bool]):
    """Whether a column (the first argument) is one of what a query (the second) finds.

    PostgreSQL runs the query once, and looks each up by its key. Of a plain ``IN`` it may go
    through all rows, and run the query for each.
    """

    inherit_cache = True


@compiles(OneOf, "sqlite")
def _one_of_in_sqlite(one: OneOf, compiler: Any, **_: Any) -> str:
    column, query = map(compiler.process, one.clauses)
    return f"{column} IN {query}"


@compiles(OneOf, "postgresql")
def _one_of_in_postgres(one: OneOf, compiler: Any, **_: Any) -> str:
    column, query = map(compiler.process, one.clauses)
    return f"{column} = ANY (ARRAY{query})"


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


class Session(ABC):
    """What work does in its transaction.

    Parameters
    ----------
    clock_offset
        Seconds that are added to the database's clock; not 0 only in tests.
    """

    dialect: Any
    """How to put statements into words."""

    tables: str
    """How to ask for the names of all tables."""

    may_be_shared: bool
    """Whether tables of other programs may be in the same database."""

    _NOW = Statement(select(Clock()))

    def __init__(self, clock_offset: float) -> None:
        self.clock_offset = clock_offset

    @abstractmethod
    def execute(self, words: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Run a statement that is in words already; return a cursor for its rows."""

    def _run(self, statement: Statement, parameters: dict[str, Any]) -> Any:
        words, constant = statement.words(self.dialect)
        return self.execute(words, constant | parameters if constant else parameters)

    def foresee(self, statement: Statement, **parameters: Any) -> None:
        """Say what will be asked after the next statement, if nothing is written between.

        A database that is far away is then asked both at once.
        """
        return  # a file is not far away

    def rows(self, statement: Statement, **parameters: Any) -> list[Any]:
        """Run a statement and return its rows."""
        return self._run(statement, parameters).fetchall()  # type: ignore[no-any-return] # DB-API

    def row(self, statement: Statement, **parameters: Any) -> Any:
        """Run a statement and return its only row, or None."""
        return self._run(statement, parameters).fetchone()

    def run(self, statement: Statement, **parameters: Any) -> None:
        """Run a statement that returns nothing; what it has to say comes with the next rows."""
        self._run(statement, parameters)

    @abstractmethod
    def run_many(self, statement: Statement, many: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement that returns nothing, once for each set of parameters."""

    def found(self, campaign: int, head: int) -> None:
        """Say at which event a campaign was found, to be written to."""
        return  # who writes a file is alone

    def left(self, campaign: int, head: int) -> None:
        """Say at which event a campaign was left."""
        return

    def now(self) -> float:
        """Return the time, in seconds since 1970, by the database's clock."""
        return self.time(self.row(self._NOW)[0])

    def time(self, clock: float) -> float:
        """Return the time that a `Clock` in a statement showed."""
        return float(clock) + self.clock_offset

    def be_alone(self) -> None:
        """Keep others from making tables until the transaction ends."""
        return  # who writes a file is alone

    def table_names(self) -> set[str]:
        """Return the names of the tables that there are."""
        return {name for (name,) in self.execute(self.tables).fetchall()}
