"""What every store does: work in transactions, one writer for all threads of a process.

Contract
--------
- `write(work)` runs ``work(session)`` in one transaction and returns what it returned once that
  is durable: it survives a kill of this process, of the database, and a loss of power. If ``work``
  raises, nothing has changed.
- Threads that write at the same time share one commit: the first in line does the work of all
  (group commit), each behind a savepoint of its own.
- A database that is busy, or gone, is tried again for ``patience`` seconds. ``work`` may then run
  twice, though it was done the first time: so it must find its own traces, and say the same again.
- `read(work)` runs in a transaction of its own that sees one state, and writes nothing.
- Time is the database's (`Session.now`), never the caller's.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeVar

from evenhand.campaigns.stores.session import Session
from evenhand.errors import EvenhandError, StoreError

Result = TypeVar("Result")
Work = Callable[[Session], Result]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25  # seconds between two tries


class Store(ABC):
    """A database of campaigns.

    Parameters
    ----------
    patience
        Seconds for which a busy or absent database is tried again.
    """

    name: str
    """How the store is called in messages; no password in it."""

    def __init__(self, patience: float = 30.0) -> None:
        self.patience = patience
        self._queue: list[_Request] = []
        self._line = threading.Lock()
        self._desk = threading.Lock()
        self._process = os.getpid()

    # ------------------------------------------------------------------ what a database has

    errors: type[Exception]
    """What the database's driver raises."""

    @abstractmethod
    def _transaction(self, work: Callable[[Session], bool]) -> None:
        """Run work in one durable transaction; keep it if it returns True, else undo it."""

    @abstractmethod
    def _reading(self, work: Work[Result]) -> Result:
        """Run work in a transaction that sees one state."""

    @abstractmethod
    def _passes(self, error: Exception) -> bool:
        """Tell whether trying again may help."""

    @abstractmethod
    def _explained(self, error: Exception) -> str:
        """Return what an error means, and what to do."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close what is open; it opens again when it is needed."""

    # ------------------------------------------------------------------ what a campaign calls

    def write(self, work: Work[Result]) -> Result:
        """Run work in one durable transaction, perhaps together with other threads' work."""
        self._after_fork()
        request = _Request(work)
        with self._line:
            self._queue.append(request)
        with self._desk:
            if not request.done:
                with self._line:
                    batch, self._queue = self._queue, []
                self._serve(batch)
        return request.outcome()  # type: ignore[no-any-return] # of its own work

    def read(self, work: Work[Result]) -> Result:
        """Run work that writes nothing."""
        self._after_fork()
        return self._patiently(lambda: self._reading(work))

    def close(self) -> None:
        """Let go of the database."""
        with self._desk:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # ------------------------------------------------------------------ how

    def _serve(self, batch: list[_Request]) -> None:
        """Do the work of several threads, and commit it once."""

        def all_of_it(session: Session) -> bool:
            for request in batch:
                request.run(session, alone=len(batch) == 1)
            return any(request.error is None for request in batch)

        try:
            self._patiently(lambda: self._transaction(all_of_it))
        except BaseException as error:
            for request in batch:
                request.error = error
            if not isinstance(error, Exception):  # an interrupt is the caller's own
                raise
        finally:
            for request in batch:
                request.done = True

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """Call until it works, the patience ends, or trying again cannot help."""
        end, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        while True:
            try:
                return call()
            except self.errors as error:
                if not self._passes(error) or time.monotonic() + pause > end:
                    raise StoreError(self._explained(error)) from error
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _after_fork(self) -> None:
        """Begin anew in a process that was forked: connections belong to the parent."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._queue, self._line, self._desk = [], threading.Lock(), threading.Lock()
            self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """Drop connections of a parent process without closing them."""


class _Request:
    """Work of one thread, waiting for its result."""

    def __init__(self, work: Work[Any]) -> None:
        self._work = work
        self._result: Any = None
        self.error: BaseException | None = None
        self.done = False

    def run(self, session: Session, alone: bool) -> None:
        """Do the work; what it refuses is undone, and the others go on."""
        self._result = self.error = None
        try:
            if alone:
                self._result = self._work(session)
            else:
                with session.savepoint():
                    self._result = self._work(session)
        except (EvenhandError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            self.error = error

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self._result
