"""The wire to a server: values go and come as they are, in whatever number, and errors are said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from evenhand.campaigns.stores.wire import Wire


@pytest.fixture
def wire(postgres_address: str) -> Iterator[Wire]:
    made = Wire(psycopg.connect(postgres_address, autocommit=True))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("bigint", [0, -1, 2**63 - 1, -(2**63), np.int64(7), np.intp(8), None]),
        ("double precision", [0.1, -0.0, 5e-324, 1.7976931348623157e308, np.float64(0.3), 1e22]),
        ("double precision", [float("inf"), float("-inf"), 7]),
        ("text", ["", "Ö 🏆 ’'\"; --", "%s %(a)s $1 :a \\x00", "a\nb\t\\", "x" * 300_000, None]),
        ("bytea", [b"", b"\0\xff", bytes(range(256)) * 1000, None]),
        ("boolean", [None]),
    ],
)
def test_values_come_back_as_they_went(wire: Wire, type_: str, values: list[Any]) -> None:
    for value in [*values, *reversed(values)]:  # in either order: a statement is prepared once
        answer = wire.send(f"SELECT :value::{type_}, :value::{type_}", {"value": value})
        found = answer.fetchone()
        assert found is not None
        assert found[0] == found[1] == value
        assert repr(found[0]) == repr(value.item() if isinstance(value, np.generic) else found[0])


def test_more_than_fits_into_a_line_goes_and_comes(wire: Wire) -> None:
    """Who sent all before reading anything would wait for a server that waits for him."""
    text = "y" * 50_000
    answers = [
        wire.send("SELECT repeat('x', 100000), :i::bigint, :text", {"i": i, "text": text})
        for i in range(200)
    ]
    wire.wait()
    assert [answer.fetchall()[0][1] for answer in answers] == list(range(200))
    assert {len(answer.fetchall()[0][0]) for answer in answers} == {100_000}


def test_an_error_is_raised_and_what_is_sent_after_it_is_not_done(wire: Wire) -> None:
    wire.send("CREATE TEMPORARY TABLE note (number bigint PRIMARY KEY)")
    wire.wait()
    wire.send("INSERT INTO note VALUES (1)")
    wire.send("INSERT INTO note VALUES (1)")
    wire.send("INSERT INTO note VALUES (2)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        wire.wait()
    assert wire.send("SELECT number FROM note").fetchall() == []  # one transaction, to the wait
    assert wire.send("SELECT 1").fetchone() == (1,)
    assert wire.send("SELECT 1 WHERE false").fetchone() is None


def test_a_server_that_hangs_up_is_an_error_that_passes(wire: Wire) -> None:
    with pytest.raises(psycopg.OperationalError):
        wire.send("SELECT pg_terminate_backend(pg_backend_pid())").fetchall()
    with pytest.raises(psycopg.OperationalError):
        wire.send("SELECT 1").fetchall()
    assert wire.closed
