"""The tables of a store: made when it is new, and refused when they are of another version.

``event`` is the truth: an append-only log, chained by hashes. ``ticket`` and ``evaluation`` are
what the log says, in a form that can be looked up; ``snapshot`` is a cache of what a fold over the
log comes to. ``access`` and ``upload`` belong to `evenhand serve`.
"""

from __future__ import annotations

import re

from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import Store
from evenhand.errors import StoreError

VERSION = 3
"""Which tables and which record this evenhand reads and writes; a change of either is a new one."""

# tickets that wait are few of all, however long a campaign runs: they have indexes of their own
_MAKE = """
CREATE TABLE evenhand_schema (version INTEGER NOT NULL);

CREATE TABLE campaign (
    id @identity PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,           -- running, paused, finished
    head BIGINT NOT NULL,           -- number of the last event
    hash @bytes NOT NULL,           -- of the last event
    version BIGINT NOT NULL,        -- counts what a proposal has to know of
    tickets BIGINT NOT NULL,        -- so many were made
    evaluations BIGINT NOT NULL,    -- so many came, late ones included
    counted BIGINT NOT NULL         -- so many of them count
);

CREATE TABLE ticket (
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    number BIGINT NOT NULL,
    token TEXT NOT NULL,            -- so that nobody hits a foreign ticket by a slip
    question INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    evaluator TEXT NOT NULL,        -- whom it is for, empty if anybody
    state TEXT NOT NULL,            -- open, leased, done, failed, void
    holder TEXT NOT NULL,           -- who has it, empty if nobody
    worker TEXT NOT NULL,           -- and for which of the holder's tickets at once
    attempt INTEGER NOT NULL,       -- leases so far
    failures INTEGER NOT NULL,      -- tries that failed, or of which nobody heard
    leased DOUBLE PRECISION NOT NULL, -- seconds since 1970, by the database's clock
    until DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (campaign, number)
);
CREATE INDEX ticket_waiting ON ticket (campaign, evaluator, number)
    WHERE state IN ('open', 'leased');
CREATE INDEX ticket_held ON ticket (campaign, holder, worker, number) WHERE state = 'leased';

CREATE TABLE evaluation (
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    number BIGINT NOT NULL,
    ticket BIGINT,                  -- none if it was imported
    question INTEGER NOT NULL,
    score DOUBLE PRECISION NOT NULL,
    evaluator TEXT NOT NULL,        -- who gave it
    key TEXT NOT NULL,
    standing TEXT NOT NULL,         -- counted, late, withdrawn, withdrawn blind
    event BIGINT NOT NULL,          -- that says so
    PRIMARY KEY (campaign, number),
    UNIQUE (campaign, evaluator, key)
) @without_rowid;
CREATE UNIQUE INDEX evaluation_of_ticket ON evaluation (campaign, ticket)
    WHERE ticket IS NOT NULL AND standing = 'counted';
CREATE INDEX evaluation_withdrawn ON evaluation (campaign, ticket, standing, number)
    WHERE standing IN ('withdrawn', 'withdrawn blind');

CREATE TABLE event (
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    number BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    hash @bytes NOT NULL,
    PRIMARY KEY (campaign, number)
) @without_rowid;

CREATE TABLE snapshot (
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    event BIGINT NOT NULL,          -- the last one that it knows of
    format INTEGER NOT NULL,
    body @bytes NOT NULL,
    digest @bytes NOT NULL,
    PRIMARY KEY (campaign, event)
);

CREATE TABLE access (
    hash @bytes PRIMARY KEY,        -- of a token, which nobody keeps
    role TEXT NOT NULL,             -- owner, viewer, evaluator
    campaign INTEGER REFERENCES campaign (id), -- none: all of them
    evaluator TEXT NOT NULL,        -- who judges by it, else empty
    made DOUBLE PRECISION NOT NULL,
    until DOUBLE PRECISION NOT NULL -- revoked is: until now
);

CREATE TABLE upload (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    body @bytes NOT NULL,
    until DOUBLE PRECISION NOT NULL
);
"""
_SAY = "INSERT INTO evenhand_schema VALUES (:version)"

TABLES = tuple(re.findall(r"CREATE TABLE (\w+)", _MAKE))
"""The names of all tables; a row refers to tables before its own."""


def prepare(store: Store) -> None:
    """Make the tables of a store that is new; refuse one that this evenhand does not read."""
    # All tables are made in one transaction, by one of those who open the store at the same time.
    if not store.read(lambda session: _is_ready(store.name, session)):
        store.write(lambda session: _make(store.name, session))


def _is_ready(name: str, session: Session) -> bool:
    """Tell whether the tables are there; refuse those of something else, or of another version."""
    there = session.table_names()
    if "evenhand_schema" in there:
        found = [version for (version,) in session.rows("SELECT version FROM evenhand_schema")]
        if found == [VERSION]:
            return True
        said = f"version {found[0]}" if found else "no version"
        raise StoreError(
            f"the store {name!r} has tables of {said}, and this evenhand reads version {VERSION}. "
            "Open it with the evenhand that made it, or begin a new store; nothing was changed."
        )
    in_the_way = sorted(there.intersection(TABLES) if session.may_be_shared else there)
    if in_the_way:
        raise StoreError(
            f"{name!r} is a database of something else: it has a table {in_the_way[0]!r} and "
            "no campaigns. Give another place; nothing was changed."
        )
    return False


def _make(name: str, session: Session) -> None:
    session.be_alone()
    if _is_ready(name, session):
        return  # somebody else was faster
    for statement in _MAKE.split(";")[:-1]:
        session.execute(statement)
    session.run(_SAY, version=VERSION)
