"""Ctrl-C, so that it ends the asking and loses nothing that was told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Lets Ctrl-C through only while evaluations are waited for, never while a policy learns."""

    # A second Ctrl-C always gets through. Where interrupts are somebody else's business (not the
    # main thread, a handler of the program's own) nothing is changed.

    def __init__(self) -> None:
        self.seen = False
        self._open = False
        self._ours = False

    def __enter__(self) -> Interrupts:
        self._ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Wait here: an interrupt ends the block, and is remembered."""
        try:
            self._open = True
            yield
        except KeyboardInterrupt:
            self.seen = True
        finally:
            self._open = False

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        again, self.seen = self.seen, True
        if self._open or again:
            raise KeyboardInterrupt
