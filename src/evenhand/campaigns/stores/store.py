"""What every store does: work in transactions, one writer for all threads of a process.

Contract
--------
- `write(work)` runs ``work(session)`` in one transaction and returns what it returned once that
  is durable: it survives a kill of this process, of the database, and a loss of power. If ``work``
  raises, nothing has changed.
- Threads that write at the same time share one commit (group commit): whoever comes first does the
  work of all that wait. If any of it raises, all of it is undone, and each is done by itself.
- A database that is busy, or gone, is tried again for ``patience`` seconds. ``work`` may then run
  twice, though it was done the first time: so it must find its own traces, and say the same again.
- `read(work)` runs in a transaction of its own that sees one state, and writes nothing.
- Time is the database's (`Session.now`), never the caller's.
- No connection crosses a fork: what one process does with a connection of another is lost, or
  undoes what that committed. A process that was forked begins anew.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Self, TypeVar

import sqlalchemy as sa

from evenhand.errors import StoreError

PATIENCE = 30.0  # seconds for which a database that is busy or gone is tried again
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25  # seconds between two tries
_FORK = 10.0  # seconds for which a fork waits until nothing is under way

Result = TypeVar("Result")


class Session:
    """A transaction that is open: SQL that both databases read, with ``:name`` for values.

    ``@clock`` stands for the database's time, and ``@for_update`` for what locks the rows found.
    """

    def __init__(self, store: Store, connection: sa.Connection) -> None:
        self.connection, self.clock_offset = connection, store.clock_offset
        self.at_end: list[Callable[[bool], None]] = []  # told whether what was written is there
        self._text = store.text
        # the driver's own: what SQLAlchemy makes of a row takes longer than SQLite does to find it
        self._cursor = connection.connection.cursor()

    def rows(self, statement: str, **parameters: Any) -> list[Any]:
        """Run a statement and return its rows."""
        self.run(statement, **parameters)
        return list(self._cursor.fetchall())

    def row(self, statement: str, **parameters: Any) -> Any:
        """Run a statement and return its first row, or None."""
        return next(iter(self.rows(statement, **parameters)), None)

    def run(self, statement: str, **parameters: Any) -> None:
        """Run a statement."""
        self._cursor.execute(self._text(statement), parameters)

    def run_many(self, statement: str, many: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement that returns nothing, once for each set of parameters."""
        self._cursor.executemany(self._text(statement), many)

    def now(self) -> float:
        """Return the time, in seconds since 1970, by the database's clock."""
        return self.time(self.row("SELECT @clock")[0])

    def time(self, clock: float) -> float:
        """Return the time that ``@clock`` showed in a statement."""
        return float(clock) + self.clock_offset


Work = Callable[[Session], Result]


class Store(ABC):
    """A database of campaigns; a busy or absent one is tried again for `patience` seconds."""

    # `clock_offset` is added to the database's clock, for tests of clocks that jump.

    name: str  # in messages; no password in it
    errors: type[Exception]  # the driver's
    dialect: ClassVar[str]
    reading: ClassVar[Mapping[str, Any]]
    """How a transaction is begun that only reads."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.clock_offset = 0.0
        self._begin_anew()
        _STORES.add(self)

    def _begin_anew(self) -> None:
        self._queue: deque[tuple[Work[Any], Future[Any]]] = deque()
        self._desk = threading.Lock()
        self._idle, self._busy = threading.Condition(), 0  # transactions that are open
        self.engine = sa.create_engine(
            self.dialect, creator=self._connect, poolclass=sa.QueuePool, max_overflow=-1
        )

    @staticmethod
    @abstractmethod
    def text(statement: str) -> str:
        """Return a statement as the driver reads it."""

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection of the driver's."""

    @abstractmethod
    def _passes(self, error: BaseException) -> bool:
        """Tell whether trying again may help."""

    @abstractmethod
    def _explained(self, error: BaseException) -> str:
        """Return what an error means, and what to do."""

    def _check(self) -> None:
        """Raise `StoreError` if what was just committed cannot be found by others."""
        return  # a server sees to that itself

    def write(self, work: Work[Result]) -> Result:
        """Run work in one durable transaction, perhaps together with other threads' work."""
        done: Future[Result] = Future()
        batch = [own := (work, done)]
        self._queue.append(own)
        try:
            with self._desk:
                if not done.done():
                    batch = [self._queue.popleft() for _ in range(len(self._queue))]
                    self._serve(batch)
        except BaseException:  # an interrupt is for this thread; the others' work is still to do
            with suppress(ValueError):
                self._queue.remove(own)
            self._queue.extend(one for one in batch if one is not own and not one[1].done())
            raise
        return done.result()

    def read(self, work: Work[Result]) -> Result:
        """Run work that writes nothing."""

        def once() -> Result:
            with self._connected(**self.reading) as connection, connection.begin() as nothing:
                result = work(Session(self, connection))
                nothing.rollback()
                return result

        return self._patiently(once)

    def close(self) -> None:
        """Let go of the database; it is opened again when it is needed."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):  # it may not have come to be
            self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _serve(self, batch: Sequence[tuple[Work[Any], Future[Any]]]) -> None:
        """Do the work of several threads, and commit it once."""
        try:
            results = self._patiently(lambda: self._committed([work for work, _ in batch]))
        except Exception as error:
            for one in batch:
                if len(batch) > 1 and self._begun:
                    self._serve([one])
                else:
                    one[1].set_exception(error)
        else:
            for (_, done), result in zip(batch, results, strict=True):
                done.set_result(result)

    def _committed(self, works: Sequence[Work[Any]]) -> list[Any]:
        """Return what comes of works in one transaction."""
        self._begun = kept = False
        at_end: list[Callable[[bool], None]] = []
        try:
            with self._connected() as connection, connection.begin():
                self._begun = True
                session = Session(self, connection)
                at_end = session.at_end
                results = [work(session) for work in works]
            self._check()
            kept = True
        finally:
            for tell in at_end:
                tell(kept)
        return results

    @contextmanager
    def _connected(self, **options: Any) -> Iterator[sa.Connection]:
        """Give a connection, which a fork waits for."""
        with self._idle:
            self._busy += 1
        try:
            with self.engine.connect() as connection:
                try:
                    yield connection.execution_options(**options) if options else connection
                except self.errors:
                    connection.invalidate()  # whatever state it is in, the next one is a new one,
                    self.close()  # and so is whatever others are to find as it was
                    raise
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """Call until it works, the patience ends, or trying again cannot help."""
        end, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        while True:
            try:
                return call()
            except (self.errors, sa.exc.DBAPIError) as error:
                why = getattr(error, "orig", None) or error
                if not self._passes(why) or time.monotonic() + pause > end:
                    raise StoreError(self._explained(why)) from error
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _before_fork(self) -> None:
        """Have nothing open while the process is copied, and nothing opened."""
        self._idle.acquire()
        if self._idle.wait_for(lambda: self._busy == 0, _FORK):
            self.close()


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _for_all(act: Callable[[Store], Any]) -> Callable[[], None]:
    def all_of_them() -> None:
        for store in list(_STORES):
            act(store)

    return all_of_them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_for_all(Store._before_fork),
        after_in_parent=_for_all(lambda store: store._idle.release()),
        after_in_child=_for_all(Store._begin_anew),
    )
