"""What every store does: work in transactions, one writer for all threads of a process.

Contract
--------
- `write(work)` runs ``work(session)`` in one transaction and returns what it returned once that
  is durable: it survives a kill of this process, of the database, and a loss of power. If ``work``
  raises, nothing has changed.
- Threads that write at the same time share one commit: the first in line does the work of all
  (group commit). If any of it raises, all of it is undone, and each is done by itself.
- A database that is busy, or gone, is tried again for ``patience`` seconds. ``work`` may then run
  twice, though it was done the first time: so it must find its own traces, and say the same again.
- `read(work)` runs in a transaction of its own that sees one state, and writes nothing.
- Time is the database's (`Session.now`), never the caller's.
- A process that was forked begins anew, with connections of its own.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

from evenhand.campaigns.stores.session import Session
from evenhand.errors import StoreError

Result = TypeVar("Result")
Work = Callable[[Session], Result]

PATIENCE = 30.0  # seconds for which a database that is busy or gone is tried again
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25  # seconds between two tries
_FORK = 10.0  # seconds for which a fork waits until nothing is under way


class Store(ABC):
    """A database of campaigns; a busy or absent one is tried again for `patience` seconds."""

    # `clock_offset` is added to the database's clock, for tests of clocks that jump.

    name: str  # in messages; no password in it
    errors: type[Exception]
    """What the database's driver raises."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.clock_offset = 0.0
        self._begin_anew()
        _STORES.add(self)

    def _begin_anew(self) -> None:
        self._queue: list[_Request] = []
        self._line = threading.Lock()
        self._desk = threading.RLock()
        self._readers: list[Any] = []  # connections that nobody reads from just now
        self._reading = 0  # how many are being read from
        self._serving = False  # whether a transaction is open
        self._nobody_reads = threading.Condition(self._line)

    # ------------------------------------------------------------------ what a database has

    @abstractmethod
    def _transaction(self, work: Callable[[Session], bool]) -> None:
        """Run work in one durable transaction; keep it if it returns True, else undo it."""

    @abstractmethod
    def _read_with(self, connection: Any, work: Work[Result]) -> Result:
        """Run work in a transaction that sees one state."""

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection."""

    @abstractmethod
    def _passes(self, error: Exception) -> bool:
        """Tell whether trying again may help."""

    @abstractmethod
    def _explained(self, error: Exception) -> str:
        """Return what an error means, and what to do."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close what the writer has open; it opens again when it is needed."""

    # ------------------------------------------------------------------ what a campaign calls

    def write(self, work: Work[Result]) -> Result:
        """Run work in one durable transaction, perhaps together with other threads' work."""
        request = _Request(work)
        with self._line:
            self._queue.append(request)
        batch: list[_Request] = []
        try:
            with self._desk:
                if not request.done:
                    with self._line:
                        batch, self._queue = self._queue, []
                    self._serve(batch, self.patience)
        except BaseException:  # an interrupt is for this thread; the others' work is still to do
            with self._line:
                waiting = [*batch, *self._queue]
                self._queue = [r for r in waiting if r is not request and not r.done]
            raise
        return request.outcome()  # type: ignore[no-any-return] # of its own work

    def read(self, work: Work[Result]) -> Result:
        """Run work that writes nothing."""

        def once() -> Result:
            with self._line:
                connection = self._readers.pop() if self._readers else None
                self._reading += 1
            try:
                connection = connection or self._connect()
                result = self._read_with(connection, work)
            except BaseException:
                with self._line:
                    self._reading -= 1
                    self._nobody_reads.notify_all()
                if connection is not None:
                    with suppress(self.errors):
                        connection.close()
                raise
            with self._line:
                self._reading -= 1
                self._readers.append(connection)
                self._nobody_reads.notify_all()
            return result

        return self._patiently(once, self.patience)

    def examine(self) -> None:
        """Refuse a database that is not what it was; called once, when it is opened."""
        return  # a server sees to that itself

    def close(self) -> None:
        """Let go of the database; it is opened again when it is needed."""
        with self._desk:
            self._let_go()
            with self._line:
                idle, self._readers = self._readers, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):  # it may not have come to be
            self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # ------------------------------------------------------------------ how

    def _serve(self, batch: list[_Request], patience: float) -> None:
        """Do the work of several threads, and commit it once."""
        begun = False

        def all_of_it(session: Session) -> bool:
            nonlocal begun
            begun = True
            return all(request.run(session, not_its_own=self.errors) for request in batch)

        fault: Exception | None = None
        self._serving = True
        try:
            self._patiently(lambda: self._transaction(all_of_it), patience)
        except Exception as error:
            fault = error
        finally:
            self._serving = False
        none_refused = all(request.error is None for request in batch)
        if len(batch) == 1 or not begun or (fault is None and none_refused):
            for request in batch:
                request.end(fault)
        else:
            for request in batch:
                self._serve([request], patience if fault is None else 0.0)

    def _patiently(self, call: Callable[[], Result], patience: float) -> Result:
        """Call until it works, the patience ends, or trying again cannot help."""
        end, pause = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            try:
                return call()
            except self.errors as error:
                if not self._passes(error) or time.monotonic() + pause > end:
                    raise StoreError(self._explained(error)) from error
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)

    # ------------------------------------------------------------------ forks

    def _before_fork(self) -> None:
        """Have nothing open while the process is copied."""
        # A copy of a connection is the parent's: to use it, and even to close it, does harm. SQLite
        # would also think in the child that the parent's locks are its own.
        self._desk_is_ours = self._desk.acquire(timeout=_FORK)
        with self._line:
            self._nobody_reads.wait_for(lambda: self._reading == 0, _FORK)
        if self._desk_is_ours and not self._serving:
            self.close()

    def _after_fork_in_parent(self) -> None:
        if self._desk_is_ours:
            self._desk.release()


class _Request:
    """Work of one thread, waiting for its result."""

    def __init__(self, work: Work[Any]) -> None:
        self._work = work
        self.result: Any = None
        self.error: Exception | None = None
        self.done = False

    def run(self, session: Session, not_its_own: type[Exception]) -> bool:
        """Do the work; tell whether it is to be kept."""
        self.result = self.error = None
        try:
            self.result = self._work(session)
        except not_its_own:  # the database's
            raise
        except Exception as error:
            self.error = error
        return self.error is None

    def end(self, fault: Exception | None = None) -> None:
        """Have the outcome: that of the work, or else a fault of the database."""
        self.error = fault or self.error
        self.done = True

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _before_fork() -> None:
    for store in list(_STORES):
        store._before_fork()


def _after_fork_in_parent() -> None:
    for store in list(_STORES):
        store._after_fork_in_parent()


def _after_fork_in_child() -> None:
    for store in list(_STORES):
        store._begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
