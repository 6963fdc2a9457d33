"""A transaction that is open: statements are run in it.

Statements are SQL that both databases read. ``:name`` stands for a value, and ``@name`` for one of
the few words in which they differ (`Session.fragments`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

_FRAGMENT = re.compile(r"@(\w+)")


class Session(ABC):
    """What work does in its transaction; `clock_offset` is not 0 only in tests."""

    fragments: ClassVar[Mapping[str, str]]
    """What this database says for ``@name``:

    - ``clock``: its time, in seconds since 1970
    - ``for_update``: after a query, to lock what it finds until the transaction ends
    - ``bytes``, ``identity``: types of columns, the latter of a key that counts by itself
    - ``without_rowid``: after a table that is only ever searched by its key
    """

    tables: str
    """How to ask for the names of all tables."""

    may_be_shared: bool
    """Whether tables of other programs may be in the same database."""

    def __init__(self, clock_offset: float) -> None:
        self.clock_offset = clock_offset

    @classmethod
    @cache
    def text(cls, statement: str) -> str:
        """Return a statement as this database reads it."""
        return _FRAGMENT.sub(lambda found: cls.fragments[found[1]], statement)

    @abstractmethod
    def execute(self, statement: str, parameters: Mapping[str, Any] = {}) -> Any:
        """Run a statement; return a cursor for its rows."""

    @abstractmethod
    def run_many(self, statement: str, many: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement that returns nothing, once for each set of parameters."""

    def foresee(self, statement: str, **parameters: Any) -> None:
        """Say what will be asked after the next statement, if nothing is written between."""
        # A database that is far away is then asked both at once.
        return  # a file is not far away

    def rows(self, statement: str, **parameters: Any) -> list[Any]:
        """Run a statement and return its rows."""
        return self.execute(statement, parameters).fetchall()  # type: ignore[no-any-return] # DB-API

    def row(self, statement: str, **parameters: Any) -> Any:
        """Run a statement and return its only row, or None."""
        return self.execute(statement, parameters).fetchone()

    def run(self, statement: str, **parameters: Any) -> None:
        """Run a statement that returns nothing; what it has to say comes with the next rows."""
        self.execute(statement, parameters)

    def found(self, campaign: int, head: int) -> None:
        """Say at which event a campaign was found, to be written to."""
        return  # who writes a file is alone

    def left(self, campaign: int, head: int) -> None:
        """Say at which event a campaign was left."""
        return

    def now(self) -> float:
        """Return the time, in seconds since 1970, by the database's clock."""
        return self.time(self.row("SELECT @clock")[0])

    def time(self, clock: float) -> float:
        """Return the time that ``@clock`` showed in a statement."""
        return float(clock) + self.clock_offset

    def be_alone(self) -> None:
        """Keep others from making tables until the transaction ends."""
        return  # who writes a file is alone

    def table_names(self) -> set[str]:
        """Return the names of the tables that there are."""
        return {name for (name,) in self.rows(self.tables)}
