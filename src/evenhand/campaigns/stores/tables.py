"""The tables of a store, the same on every database.

``event`` is the truth: an append-only log, chained by hashes. ``ticket`` and ``evaluation`` are
what the log says, in a form that can be looked up; ``snapshot`` is a cache of what a fold over the
log comes to. `schema` makes these tables; a change of them is a new version there.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

version = Table("evenhand_schema", metadata, Column("version", Integer, nullable=False))

campaign = Table(
    "campaign",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("status", Text, nullable=False),  # running, paused, finished
    Column("head", BigInteger, nullable=False),  # number of the last event
    Column("hash", LargeBinary, nullable=False),  # of the last event
    Column("version", BigInteger, nullable=False),  # counts what a proposal has to know of
    Column("tickets", BigInteger, nullable=False),  # so many were made
    Column("evaluations", BigInteger, nullable=False),  # so many came, late ones included
    Column("counted", BigInteger, nullable=False),  # so many of them count
)

ticket = Table(
    "ticket",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.id"), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("token", Text, nullable=False),  # so that nobody hits a foreign ticket by a slip
    Column("question", Integer, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("evaluator", Text, nullable=False),  # whom it is for; "" if anybody
    Column("state", Text, nullable=False),  # open, leased, done, failed, void
    Column("holder", Text, nullable=False),  # who has it; "" if nobody
    Column("worker", Text, nullable=False),  # and for which of the holder's tickets at once
    Column("attempt", Integer, nullable=False),  # leases so far
    Column("failures", Integer, nullable=False),  # tries that failed, or of which nobody heard
    Column("leased", Double, nullable=False),  # seconds since 1970, by the database's clock
    Column("until", Double, nullable=False),
    PrimaryKeyConstraint("campaign", "number"),
)

_WAITS = text("state IN ('open', 'leased')")  # few of all, however long a campaign runs
Index(
    "ticket_waiting",
    ticket.c.campaign,
    ticket.c.evaluator,
    ticket.c.number,
    sqlite_where=_WAITS,
    postgresql_where=_WAITS,
)
_IS_LEASED = text("state = 'leased'")
Index(
    "ticket_held",
    ticket.c.campaign,
    ticket.c.holder,
    ticket.c.worker,
    ticket.c.number,  # else SQLite goes through all tickets, for their order
    sqlite_where=_IS_LEASED,
    postgresql_where=_IS_LEASED,
)

evaluation = Table(
    "evaluation",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.id"), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("ticket", BigInteger),  # none if it was imported
    Column("question", Integer, nullable=False),
    Column("score", Double, nullable=False),
    Column("evaluator", Text, nullable=False),  # who gave it
    Column("key", Text, nullable=False),
    Column("standing", Text, nullable=False),  # counted, late, withdrawn
    Column("event", BigInteger, nullable=False),  # that says so
    PrimaryKeyConstraint("campaign", "number"),
    UniqueConstraint("campaign", "evaluator", "key"),
)
_ON_TIME = text("ticket IS NOT NULL AND standing = 'counted'")
Index(
    "evaluation_of_ticket",
    evaluation.c.campaign,
    evaluation.c.ticket,
    unique=True,
    sqlite_where=_ON_TIME,
    postgresql_where=_ON_TIME,
)

_IS_WITHDRAWN = text("standing = 'withdrawn'")
Index(
    "evaluation_withdrawn",
    evaluation.c.campaign,
    evaluation.c.number,
    sqlite_where=_IS_WITHDRAWN,
    postgresql_where=_IS_WITHDRAWN,
)

event = Table(
    "event",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.id"), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    PrimaryKeyConstraint("campaign", "number"),
    sqlite_with_rowid=False,  # it is only ever found by its key
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("campaign", Integer, ForeignKey("campaign.id"), nullable=False),
    Column("event", BigInteger, nullable=False),  # the last one that it knows of
    Column("format", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    PrimaryKeyConstraint("campaign", "event"),
)
