"""The tables of a store: made when it is new, and refused when they are of another version.

``event`` is the truth: an append-only log, chained by hashes; ``campaign`` has where it ends.
``access`` and ``upload`` belong to `evenhand serve`.
"""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa

from evenhand.campaigns.stores.store import Session, Store
from evenhand.errors import StoreError

VERSION = 6
"""Which tables and which record this evenhand reads and writes; a change of either is a new one."""
_LOCK = 0x6576656E68616E64  # "evenhand", for those who make the tables of a server

_META = sa.MetaData()
_BIG, _REAL, _TEXT, _BYTES = sa.BigInteger, sa.Double, sa.Text, sa.LargeBinary
_given = partial(sa.Column, nullable=False)
_key = partial(sa.Column, primary_key=True, autoincrement=False)


_VERSION = sa.Table("evenhand_schema", _META, _given("version", sa.Integer))
sa.Table(
    "campaign",
    _META,
    sa.Column("id", sa.Integer, primary_key=True),
    _given("name", _TEXT, unique=True),
    _given("status", _TEXT),  # running, paused, finished
    _given("head", _BIG),  # number of the last event
    _given("hash", _BYTES),  # of the last event
    _given("counted", _BIG),  # evaluations that count
)
sa.Table(
    "event",
    _META,
    _key("campaign", sa.Integer, sa.ForeignKey("campaign.id")),
    _key("number", _BIG),
    _given("at", _REAL),  # seconds since 1970, by the database's clock
    _given("kind", _TEXT),
    _given("body", _TEXT),
    _given("hash", _BYTES),
    sqlite_with_rowid=False,
)
sa.Table(
    "access",
    _META,
    _key("hash", _BYTES),  # of a token, which nobody keeps
    _given("role", _TEXT),  # owner, viewer, evaluator
    sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id")),  # none: all of them
    _given("evaluator", _TEXT),  # who judges by it, else empty
    _given("made", _REAL),
    _given("until", _REAL),  # revoked is: until now
)
sa.Table(
    "upload",
    _META,
    _key("id", _TEXT),
    _given("name", _TEXT),
    _given("body", _BYTES),
    _given("until", _REAL),
)

TABLES = tuple(table.name for table in _META.sorted_tables)
"""The names of all tables; a row refers to tables before its own."""


def prepare(store: Store) -> None:
    """Make the tables of a store that is new; refuse one that this evenhand does not read."""
    # All tables are made in one transaction, by one of those who open the store at the same time.
    if not store.read(lambda session: _is_ready(store.name, session)):
        store.write(lambda session: _make(store.name, session))


def _is_ready(name: str, session: Session) -> bool:
    """Tell whether the tables are there; refuse those of something else, or of another version."""
    there = set(sa.inspect(session.connection).get_table_names())
    if _VERSION.name in there:
        found = session.row("SELECT version FROM evenhand_schema")
        if found is not None and found[0] == VERSION:
            return True
        said = "no version" if found is None else f"version {found[0]}"
        raise StoreError(
            f"the store {name!r} has tables of {said}, and this evenhand reads version {VERSION}. "
            "Open it with the evenhand that made it, or begin a new store; nothing was changed."
        )
    in_the_way = sorted(there.intersection(TABLES) if _is_shared(session) else there)
    if in_the_way:
        raise StoreError(
            f"{name!r} is a database of something else: it has a table {in_the_way[0]!r} and "
            "no campaigns. Give another place; nothing was changed."
        )
    return False


def _is_shared(session: Session) -> bool:
    """Tell whether tables of other programs may be in the same database: on a server."""
    return session.connection.dialect.name == "postgresql"


def _make(name: str, session: Session) -> None:
    if _is_shared(session):  # who writes a file is alone
        session.run(f"SELECT pg_advisory_xact_lock({_LOCK})")
    if not _is_ready(name, session):  # else somebody else was faster
        _META.create_all(session.connection, checkfirst=False)
        session.connection.execute(_VERSION.insert(), {"version": VERSION})
