"""Other processes for tests: started quickly, with evenhand loaded, and nothing of the tests' own.

They are copies of a process that has loaded evenhand and does nothing else. A function to be run in
one is at the top of its module.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["evenhand.campaigns.stores", "psycopg"])

Event = _CONTEXT.Event
Queue = _CONTEXT.Queue
Pipe = _CONTEXT.Pipe


def start(function: Callable[..., None], *args: Any) -> Any:
    """Start a process that runs a function; return it.

    Ends of pipes that it is given are its own from then on: who waits for what a dead one would
    have sent is told that it is gone.
    """
    process = _CONTEXT.Process(target=function, args=args, daemon=True)
    process.start()
    for given in args:
        if isinstance(given, Connection):
            given.close()
    return process


def ended(process: Any, within: float = 120.0) -> int:
    """Wait for the end of a process; return its exit code, -9 if it was killed."""
    process.join(within)
    assert process.exitcode is not None, "the process did not end"
    return int(process.exitcode)
