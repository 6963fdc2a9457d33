"""The first schema: campaigns, tickets, evaluations, events, snapshots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("head", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("tickets", sa.BigInteger, nullable=False),
        sa.Column("evaluations", sa.BigInteger, nullable=False),
        sa.Column("counted", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ticket",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("question", sa.Integer, nullable=False),
        sa.Column("turn", sa.BigInteger, nullable=False),
        sa.Column("evaluator", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("leased", sa.Double, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number"),
    )
    _index("ticket_waiting", "ticket", "evaluator", "number", where="state IN ('open', 'leased')")
    _index("ticket_held", "ticket", "holder", "worker", "number", where="state = 'leased'")
    op.create_table(
        "evaluation",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("ticket", sa.BigInteger),
        sa.Column("question", sa.Integer, nullable=False),
        sa.Column("score", sa.Double, nullable=False),
        sa.Column("evaluator", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("event", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number"),
        sa.UniqueConstraint("campaign", "evaluator", "key"),
    )
    _index(
        "evaluation_of_ticket",
        "evaluation",
        "ticket",
        where="ticket IS NOT NULL AND standing = 'counted'",
        unique=True,
    )
    _index("evaluation_withdrawn", "evaluation", "number", where="standing = 'withdrawn'")
    op.create_table(
        "event",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("event", sa.BigInteger, nullable=False),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "event"),
    )


def _index(name: str, table: str, *columns: str, where: str, unique: bool = False) -> None:
    """Make an index of some of a campaign's rows."""
    op.create_index(
        name,
        table,
        ["campaign", *columns],
        unique=unique,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(where),
    )
