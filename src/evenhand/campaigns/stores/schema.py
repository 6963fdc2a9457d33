"""The tables of a store: made when it is new, and refused when they are of another version.

``event`` is the truth: an append-only log, chained by hashes. ``ticket`` and ``evaluation`` are
what the log says, in a form that can be looked up; ``snapshot`` is a cache of what a fold over the
log comes to. ``access`` and ``upload`` belong to `evenhand serve`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa

from evenhand.campaigns.stores.store import Session, Store
from evenhand.errors import StoreError

VERSION = 4
"""Which tables and which record this evenhand reads and writes; a change of either is a new one."""
_LOCK = 0x6576656E68616E64  # "evenhand", for those who make the tables of a server

_COUNTS = "ticket IS NOT NULL AND standing = 'counted'"
_GONE = "standing IN ('withdrawn', 'withdrawn blind')"
_META = sa.MetaData()
_BIG, _REAL, _TEXT, _BYTES = sa.BigInteger, sa.Double, sa.Text, sa.LargeBinary
_given = partial(sa.Column, nullable=False)
_key = partial(sa.Column, primary_key=True, autoincrement=False)


def _of_campaign(name: str, *parts: Any, **how: Any) -> sa.Table:
    whose = sa.ForeignKey("campaign.id")
    return sa.Table(name, _META, _key("campaign", sa.Integer, whose), *parts, **how)


def _index(name: str, columns: str, where: str, *, unique: bool = False) -> sa.Index:
    """Tickets that wait are few of all, however long a campaign runs: they have their own."""
    only = sa.text(where)
    return sa.Index(name, *columns.split(), unique=unique, sqlite_where=only, postgresql_where=only)


_VERSION = sa.Table("evenhand_schema", _META, _given("version", sa.Integer))
sa.Table(
    "campaign",
    _META,
    sa.Column("id", sa.Integer, primary_key=True),
    _given("name", _TEXT, unique=True),
    _given("status", _TEXT),  # running, paused, finished
    _given("head", _BIG),  # number of the last event
    _given("hash", _BYTES),  # of the last event
    _given("version", _BIG),  # counts what a proposal has to know of
    _given("tickets", _BIG),  # so many were made
    _given("evaluations", _BIG),  # so many came, late ones included
    _given("counted", _BIG),  # so many of them count
)
_of_campaign(
    "ticket",
    _key("number", _BIG),
    _given("token", _TEXT),  # so that nobody hits a foreign ticket by a slip
    _given("question", sa.Integer),
    _given("turn", _BIG),
    _given("evaluator", _TEXT),  # whom it is for, empty if anybody
    _given("state", _TEXT),  # open, leased, done, failed, void
    _given("holder", _TEXT),  # who has it, empty if nobody
    _given("worker", _TEXT),  # and for which of the holder's tickets at once
    _given("attempt", sa.Integer),  # leases so far
    _given("failures", sa.Integer),  # tries that failed, or of which nobody heard
    _given("leased", _REAL),  # seconds since 1970, by the database's clock
    _given("until", _REAL),
    _index("ticket_waiting", "campaign evaluator number", "state IN ('open', 'leased')"),
    _index("ticket_held", "campaign holder worker number", "state = 'leased'"),
)
_of_campaign(
    "evaluation",
    _key("number", _BIG),
    sa.Column("ticket", _BIG),  # none if it was imported
    _given("question", sa.Integer),
    _given("score", _REAL),
    _given("evaluator", _TEXT),  # who gave it
    _given("key", _TEXT),
    _given("standing", _TEXT),  # counted, late, withdrawn, withdrawn blind
    _given("event", _BIG),  # that says so
    sa.UniqueConstraint("campaign", "evaluator", "key"),
    _index("evaluation_of_ticket", "campaign ticket", _COUNTS, unique=True),
    _index("evaluation_withdrawn", "campaign ticket standing number", _GONE),
    sqlite_with_rowid=False,
)
_of_campaign(
    "event",
    _key("number", _BIG),
    _given("at", _REAL),
    _given("kind", _TEXT),
    _given("body", _TEXT),
    _given("hash", _BYTES),
    sqlite_with_rowid=False,
)
_of_campaign(
    "snapshot",
    _key("event", _BIG),  # the last one that it knows of
    _given("body", _BYTES),
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
