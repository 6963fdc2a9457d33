"""Stores: where campaigns are kept. SQLite by default, PostgreSQL for several machines."""

from __future__ import annotations

import os
import re

from evenhand.campaigns.stores import schema
from evenhand.campaigns.stores.sqlite import SqliteStore
from evenhand.campaigns.stores.store import Session, Store
from evenhand.errors import InputError

__all__ = ["Session", "SqliteStore", "Store", "open_store"]

_NO_FILES = ("", ":memory:")  # what is kept nowhere is no store
_SERVER = re.compile(r"^postgres(ql)?(\+psycopg)?://")


def open_store(where: str | os.PathLike[str] | Store, *, must_exist: bool = False) -> Store:
    """Return the store of a file or "postgresql://…" address, with its tables made."""
    if isinstance(where, Store):
        store = where
    elif isinstance(where, str) and _SERVER.match(where):
        from evenhand.campaigns.stores.postgres import PostgresStore  # noqa: PLC0415 # optional

        store = PostgresStore(_SERVER.sub("postgresql://", where))
    elif isinstance(where, str | os.PathLike):
        if isinstance(where, str) and ("://" in where or where in _NO_FILES or "\0" in where):
            raise InputError(f"a store is a file or postgresql://…; got {where!r}.")
        store = SqliteStore(where, must_exist=must_exist)
    else:
        raise InputError(f"a store is a path, an address or a Store; got {where!r}.")
    schema.prepare(store)
    return store
