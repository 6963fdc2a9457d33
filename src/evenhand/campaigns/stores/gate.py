"""A gate that lets one at a time prepare what others wait for.

It saves work and keeps nothing right. Who is in it may be stopped for an hour, so nobody waits for
longer than `LONGEST`, and then goes on as if it were free; who has waited in vain does not wait
again until it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

LONGEST = 2.0  # seconds

Leave = Callable[[], None]


class Enter(Protocol):
    """Keeps other processes out, or waits until those who do are gone."""

    def __call__(self, seconds: float, *, stay: bool) -> tuple[bool, Leave] | None:
        """Try for so many seconds; return None if that was in vain."""
        # If not, whether the others are kept out, and what to call in the end. They are if nobody
        # was there; after somebody else only if it is to `stay`.


class Gate:
    """A gate for the threads of a process, and for the process among others."""

    def __init__(self) -> None:
        self._threads = threading.Lock()
        self._patience = LONGEST

    @contextmanager
    def entered(self, enter: Enter, *, stay: bool) -> Iterator[bool]:
        """Be in the gate; False if somebody else was in and is gone, unless it is to `stay`."""
        end = time.monotonic() + self._patience
        first = self._threads.acquire(blocking=False)
        if not first and not self._threads.acquire(timeout=self._patience):
            yield True
            return
        entered = None
        try:
            if first or stay:
                entered = enter(max(0.0, end - time.monotonic()), stay=stay)
                self._patience = 0.0 if entered is None else LONGEST
                yield entered is None or entered[0]
            else:
                yield False
        finally:
            if entered is not None:
                entered[1]()
            self._threads.release()
