"""The wire to a PostgreSQL server: statements go out together, what they come to comes back.

psycopg makes the connection and explains errors. Statements go by libpq's own pipeline, since a
cursor for each takes longer than the server does. Every statement is prepared once; its values are
sent as texts.
"""

from __future__ import annotations

import numbers
import re
import select
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Any

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

_NAME = re.compile(r"(?<!:):(\w+)")  # and not a cast, ::type
_TYPES = {int: 20, float: 701, bytes: 17, str: 0, NoneType: 0}
"""Types as the server numbers them; 0 where it finds out by itself."""
_WRITE: Mapping[type, Callable[[Any], bytes | None]] = {
    int: lambda value: b"%d" % value,
    float: lambda value: float.__repr__(value).encode(),
    bytes: lambda value: b"\\x%b" % value.hex().encode(),
    str: str.encode,
    NoneType: lambda _: None,
}
_READ: Mapping[int, Callable[[bytes], Any]] = {
    **dict.fromkeys((20, 21, 23), int),
    **dict.fromkeys((700, 701), float),
    17: lambda text: bytes.fromhex(text[2:].decode()),
    16: lambda text: text == b"t",
}


class StatementRows:
    """What a statement comes to: its rows, once they are there."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rows: list[tuple[Any, ...]] | None = None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows, and wait for them if need be."""
        if self._rows is None:
            self._wire.wait()
        return self._rows or []

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row; None if there is none."""
        return next(iter(self.fetchall()), None)

    def take(self, result: pq.abc.PGresult) -> None:
        """Read the rows of a result."""
        readers = [_READ.get(result.ftype(i), bytes.decode) for i in range(result.nfields)]
        self._rows = [
            tuple(
                None if (value := result.get_value(row, place)) is None else read(value)
                for place, read in enumerate(readers)
            )
            for row in range(result.ntuples)
        ]


class Wire:
    """A psycopg connection, used by nobody else, that is in a pipeline for good."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection, self._pg = connection, connection.pgconn
        self._pg.enter_pipeline_mode()
        self._known: dict[tuple[Any, ...], bytes] = {}  # names of what is prepared
        self._sent: list[StatementRows | None] = []  # what is not answered yet, in order

    @property
    def closed(self) -> bool:
        """Whether it is of no use any more."""
        return self._connection.closed

    def send(self, words: str, values: Mapping[str, Any] = {}) -> StatementRows:
        """Send a statement, and do not wait; names of values stand in it as ``:name``."""
        text, names = _numbered(words)
        given = [_plain(values[name]) for name in names]
        key = words, *map(type, given)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = f"s{len(self._known)}".encode()
            self._pg.send_prepare(known, text, [_TYPES[type(value)] for value in given])
            self._sent.append(None)
        self._pg.send_query_prepared(known, [_WRITE[type(value)](value) for value in given])
        answer = StatementRows(self)
        self._sent.append(answer)
        return answer

    def wait(self) -> None:
        """Wait for all that was sent; raise the first error of it."""
        self._pg.pipeline_sync()
        sent, self._sent = iter(self._sent), []
        error: psycopg.Error | None = None
        while True:
            while self._pg.flush() or self._pg.is_busy():
                self._move()
            result = self._pg.get_result()
            if result is None:
                continue  # the end of one statement
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                break
            answer = next(sent)
            if result.status == pq.ExecStatus.TUPLES_OK and answer is not None:
                answer.take(result)
            elif result.status == pq.ExecStatus.FATAL_ERROR:
                error = error or error_from_result(result)
        if error is not None:
            raise error

    def _move(self) -> None:
        """Wait until something comes, or more can be sent."""
        unsent = self._pg.flush()
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._pg.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            poll.poll()
        else:
            select.select([self._pg.socket], [self._pg.socket] if unsent else [], [])
        self._pg.consume_input()

    def close(self) -> None:
        """Take leave of the server."""
        self._connection.close()


@cache
def _numbered(words: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with numbers where it has names of values, and these names."""
    names = tuple(dict.fromkeys(_NAME.findall(words)))
    places = {name: f"${place}" for place, name in enumerate(names, 1)}
    return _NAME.sub(lambda found: places[found[1]], words).encode(), names


def _plain(value: Any) -> Any:
    """Return a value of a plain type; numbers of arrays are not."""
    if type(value) in _TYPES:
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else str(value)
