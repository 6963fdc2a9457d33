"""Locks of files, which the system takes back from the dead.

SQLite lets processes that wait for its lock try again at random, and some starve. The system hands
a file's lock on to who has waited longest: that is a `Line`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Thread

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Leave = Callable[[], None]


class Line:
    """A first-come queue for a file lock; the file is made if it is absent, and stays empty."""

    def __init__(self, path: str) -> None:
        self._path, self._file = path, _opened(path)
        self._turns: SimpleQueue[Future[Leave] | None] | None = None  # to be waited for

    def enter(self, seconds: float) -> Leave:
        """Wait for one's turn; TimeoutError if it did not come, OSError without file locks."""
        try:
            _lock(self._file, wait=False)
        except (BlockingIOError, PermissionError):
            return self._wait(seconds)
        return partial(_unlock, self._file)

    def _wait(self, seconds: float) -> Leave:
        """Have a thread stand in the line: the system calls nobody away who stands there."""
        if self._turns is None:
            self._turns = SimpleQueue()
            stands = (_opened(self._path), self._turns)
            Thread(target=_stand, args=stands, daemon=True, name="evenhand-line").start()
        turn: Future[Leave] = Future()
        self._turns.put(turn)
        try:
            return turn.result(seconds)
        except BaseException:
            if not turn.cancel() and turn.exception() is None:  # it came just then
                turn.result()()
            raise

    def close(self) -> None:
        """Leave the line."""
        os.close(self._file)
        if self._turns is not None:
            self._turns.put(None)


def _stand(file: int, turns: SimpleQueue[Future[Leave] | None]) -> None:
    """Stand in the line for one after another; leave it for those who no longer want their turn."""
    while (turn := turns.get()) is not None:
        try:
            _lock(file, wait=True)
        except OSError as error:
            if turn.set_running_or_notify_cancel():
                turn.set_exception(error)
        else:
            if turn.set_running_or_notify_cancel():
                turn.set_result(partial(_unlock, file))
            else:
                _unlock(file)
    os.close(file)


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def _lock(file: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(file: int) -> None:
    if sys.platform == "win32":
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)
