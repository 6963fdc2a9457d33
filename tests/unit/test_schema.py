"""The tables of a store: all made or none, and refused if they are of another version."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import children
import evenhand as eh
from evenhand.campaigns.stores import open_store, schema
from postgres_server import Postgres


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "new.db")
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        url = postgres.empty()
        yield url
        postgres.drop(url)


TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
}


def said(address: str, *statements: str) -> list[Any]:
    """Run statements as anybody could; return the rows of the last."""
    on_a_server = "://" in address
    connection: Any = (psycopg if on_a_server else sqlite3).connect(address)
    for statement in statements:
        cursor = connection.execute(statement)
    rows = cursor.fetchall() if cursor.description else []
    connection.commit()
    connection.close()
    return rows


def tables(address: str) -> set[str]:
    return {name for (name,) in said(address, TABLES["postgres" if "://" in address else "sqlite"])}


def a_campaign(address: str) -> eh.Campaign:
    panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=None)
    return eh.Campaign.create(address, "prize", panel, noise_scale=1.0)


def open_when_told(address: str, go: Any) -> None:
    go.wait()
    open_store(address).close()


def test_of_several_who_open_at_once_one_makes_the_tables(empty_address: str) -> None:
    go = children.Event()
    processes = [children.start(open_when_told, empty_address, go) for _ in range(4)]
    go.set()
    assert [children.ended(process) for process in processes] == [0] * 4
    assert said(empty_address, "SELECT version FROM evenhand_schema") == [(schema.VERSION,)]
    assert tables(empty_address) == set(schema.TABLES)


def die_while_tables_are_made(address: str) -> None:
    def die(*_: Any, **__: Any) -> None:  # when all tables are there, before the commit
        os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(schema._META, "after_create", die)  # in this process alone
    open_store(address)


def test_who_dies_while_tables_are_made_leaves_none(empty_address: str) -> None:
    died = children.ended(children.start(die_while_tables_are_made, empty_address))
    assert died == -signal.SIGKILL
    assert tables(empty_address) == set()
    assert a_campaign(empty_address).ask("Paul")


@pytest.mark.parametrize("found", [schema.VERSION - 1, schema.VERSION + 1, None])
def test_another_version_is_refused_and_not_changed(store_address: str, found: int | None) -> None:
    a_campaign(store_address).close()
    said(store_address, "DELETE FROM evenhand_schema")
    if found is not None:
        said(store_address, f"INSERT INTO evenhand_schema VALUES ({found})")
    words = "no version" if found is None else f"version {found}"
    with pytest.raises(
        eh.StoreError,
        match=f"tables of {words}, and this evenhand reads version {schema.VERSION}. Open it with",
    ):
        eh.Campaign.open(store_address, "prize")
    rows = said(store_address, "SELECT version FROM evenhand_schema")
    assert rows == [(found,)] * (found is not None)
    right = f"INSERT INTO evenhand_schema VALUES ({schema.VERSION})"
    said(store_address, "DELETE FROM evenhand_schema", right)
    assert eh.Campaign.open(store_address, "prize").ask("Paul")


def test_a_database_of_something_else_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.commit()
    connection.close()
    before = hashlib.sha256(path.read_bytes()).digest()
    for _ in range(2):
        with pytest.raises(eh.StoreError, match=r"'invoices'.*nothing was changed"):
            open_store(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before


@pytest.mark.parametrize("content", [b"name,score\nAnn,1\n", b"x" * 5000, b"SQLite format 3\0"])
def test_what_is_no_database_is_refused_and_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(eh.StoreError, match=r"scores\.csv"):
        open_store(path)
    assert path.read_bytes() == content


def test_tables_of_the_same_name_are_left_alone(empty_address: str) -> None:
    said(empty_address, "CREATE TABLE event (guest TEXT)", "INSERT INTO event VALUES ('Ann')")
    with pytest.raises(eh.StoreError, match="'event'"):
        open_store(empty_address)
    assert said(empty_address, "SELECT guest FROM event") == [("Ann",)]


def test_a_server_may_have_other_tables_beside(postgres: Postgres) -> None:
    url = postgres.empty()
    said(url, "CREATE TABLE invoices (id INTEGER)")
    assert a_campaign(url).ask("Paul")
    postgres.drop(url)
