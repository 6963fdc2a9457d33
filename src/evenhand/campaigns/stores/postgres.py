"""Campaigns on a server: PostgreSQL, for several machines.

The chain of events makes writers of one campaign take turns: each locks its row first.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from evenhand.campaigns.stores.store import PATIENCE, Store
from evenhand.errors import InputError

try:
    import psycopg
except ImportError as error:
    raise InputError(
        "PostgreSQL needs psycopg; install evenhand[postgres], or give the path of a file."
    ) from error

# a client that stopped in the middle of a transaction loses it while the others still wait;
# a server that acknowledges before it has written anything down is told not to; and as every
# statement has its index, which is found while the tables are empty, the server need not look for
# another way each time, nor when it has old statistics
_MANNERS = """
    SELECT set_config('idle_in_transaction_session_timeout', '20s', false),
           set_config('enable_seqscan', 'off', false),
           set_config('enable_bitmapscan', 'off', false),
           set_config('plan_cache_mode', 'force_generic_plan', false),
           set_config('synchronous_commit',
                      coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false)
"""
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "evenhand",
}
# what goes by: two at once, a server that stops, starts or is full of clients, a line that broke
_PASSING = ("40001", "40P01", "55P03", "23505", "57P", "53300", "25P03", "08")
_COMING_UP = ("too many", "slots", "starting up", "shutting down", "recovery", "not yet accepting")
_ADVICE = {
    "25006": "It can only be read: give the address of the server that is written to",
    "28": "See that user, password and the name of the database are right",
    "42501": "Ask for the right to write there, or give another database",
    "53100": "The server's disk is full: have room made, and do the same again",
    "53300": "The server has too many clients: let some go, and do the same again",
}
_NAME = re.compile(r"(?<!:):(\w+)")  # and not a cast, ::type
_REFUSES = "See that user, password and the name of the database are right"
_USUAL = "See that the server is up, and do the same again"


class PostgresStore(Store):
    """Campaigns in a PostgreSQL database; a lost server is tried again for `patience` seconds."""

    errors = psycopg.Error
    dialect = "postgresql+psycopg://"
    reading = {"isolation_level": "REPEATABLE READ"}  # noqa: RUF012 # nobody changes it

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise InputError(
                f"an address looks like postgresql://user@host/database; got one of which "
                f"PostgreSQL says: {_one_line(error)}."
            ) from error
        self._address = psycopg.conninfo.make_conninfo("", **{**_DEFAULTS, **given})
        self.name = f"{given.get('dbname', '')} at {given.get('host', 'localhost')}"
        super().__init__(patience)

    @staticmethod
    @cache
    def text(statement: str) -> str:
        """Return a statement as psycopg reads it."""
        clock = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
        said = statement.replace("@clock", clock).replace("@for_update", "FOR UPDATE")
        return _NAME.sub(r"%(\1)s", said.replace("%", "%%"))

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._address)
        connection.execute(_MANNERS)
        connection.commit()
        return connection

    def _passes(self, error: BaseException) -> bool:
        code = getattr(error, "sqlstate", None)
        if code is not None:
            return str(code).startswith(_PASSING)
        return isinstance(error, psycopg.OperationalError) and not _refuses(error)

    def _explained(self, error: BaseException) -> str:
        code = str(getattr(error, "sqlstate", None))
        usual = _REFUSES if _refuses(error) else _USUAL
        advice = next((text for sign, text in _ADVICE.items() if code.startswith(sign)), usual)
        return (
            f"the store {self.name!r} cannot be used: {_one_line(error)}. {advice}; what was "
            "acknowledged is kept."
        )


def _refuses(error: BaseException) -> bool:
    """Tell whether a server is there, and lets this user not in, for a reason that stays."""
    said = str(error)
    return "FATAL" in said and not any(sign in said for sign in _COMING_UP)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
