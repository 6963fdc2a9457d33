"""Settings shared by all tests; its place puts `reference` and `instances` on the import path."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from postgres_server import Postgres

# The runner makes all commands anew for every call, 60 times the work of the call itself. They are
# values that no call changes.
typer.testing._get_command = cache(typer.testing._get_command)

# The same examples on every machine and run; solves vary in time, so no deadline.
settings.register_profile(
    "evenhand",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

# Other examples in every run, and many, with nothing remembered from the last one: `make fuzz`,
# or pytest's `--hypothesis-profile=fuzz`. A failure prints the line that repeats it.
settings.register_profile(
    "fuzz",
    settings.get_profile("evenhand"),
    derandomize=False,
    database=None,
    max_examples=2000,
    print_blob=True,
)

settings.load_profile("evenhand")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Databases on a real PostgreSQL: one server for each process of tests."""
    from postgres_server import some_server  # noqa: PLC0415 # only where a test needs it

    with some_server() as server:
        yield server


@pytest.fixture
def postgres_address(postgres: Postgres) -> Iterator[str]:
    """The address of a database of one's own, with the tables of a store in it."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is: a file that is not there yet, then a database of a real PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    address: str = request.getfixturevalue("postgres_address")
    return address


@pytest.fixture(scope="module")
def hasty() -> Iterator[None]:
    """Have SQLite not wait for the disk, where a test is about something else than durability."""
    from evenhand.campaigns.stores import SqliteStore  # noqa: PLC0415 # as above

    connect = SqliteStore._connect

    def at_once(store: SqliteStore) -> sqlite3.Connection:
        connection = connect(store)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "_connect", at_once)
        yield
