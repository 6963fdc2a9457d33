"""Campaigns on a server: PostgreSQL, for several machines.

The chain of events makes writers of one campaign take turns. So that they do not also wait for each
other's disk, a transaction is committed without waiting (synchronous_commit off), which lets the
next in; then an empty one is committed with waiting. The server's log is written in order, so when
the second is on the disk, the first is; and many of these share one write to the disk.

Nor do they wait for each other's network: statements are sent without waiting for what the ones
before come to (psycopg's pipeline), up to a statement whose rows are needed. What is written at the
end goes together with the commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from sqlalchemy.dialects.postgresql import psycopg as words

from evenhand.campaigns.stores.gate import Leave
from evenhand.campaigns.stores.session import Session, Statement
from evenhand.campaigns.stores.store import PATIENCE, Result, Store, Work
from evenhand.errors import InputError

try:
    import psycopg
except ImportError as error:
    raise InputError(
        "PostgreSQL needs psycopg; install evenhand[postgres], or give the path of a file."
    ) from error

_LATER = "SET LOCAL synchronous_commit TO OFF"
_FLUSH = "SELECT pg_logical_emit_message(true, 'evenhand', '')"
_ONE_STATE = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# a client that stopped in the middle of a transaction loses it while the others still wait;
# a server that acknowledges before it has written anything down is told not to; and as every
# statement has its index, neither old statistics nor a plan that was made while the tables were
# empty must lead the server to another way
_MANNERS = """
    SELECT set_config('idle_in_transaction_session_timeout', '20s', false),
           set_config('enable_seqscan', 'off', false),
           set_config('enable_bitmapscan', 'off', false),
           set_config('plan_cache_mode', 'force_custom_plan', false),
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
_CROWDED = ("too many", "connection slots")
_COMING_UP = (
    "starting up",
    "shutting down",
    "recovery",
    "not yet accepting",
    "closed the connection",
)
_ADVICE = {
    "25006": "It can only be read: give the address of the server that is written to",
    "28": "See that user, password and the name of the database are right",
    "42501": "Ask for the right to write there, or give another database",
    "53100": "The server's disk is full: have room made, and do the same again",
    "53300": "The server has too many clients: let some go, and do the same again",
}
_USUAL = "See that the server is up, and do the same again"
_LOCK = 0x6576656E68616E64  # "evenhand", for those who make the tables
_GATE = 0x6576656E  # "even", for those who prepare something for a campaign
_AT_MOST = "SELECT set_config('lock_timeout', %s, false)"
_IN = f"SELECT pg_advisory_lock({_GATE}, %(campaign)s) IS NOT NULL"
_IN_OR_WAIT = f"""
    SELECT CASE WHEN pg_try_advisory_lock({_GATE}, %(campaign)s) THEN true
                ELSE pg_advisory_lock_shared({_GATE}, %(campaign)s) IS NULL END
"""


class _RefusedError(psycopg.OperationalError):
    """The server is there, and does not let this user in."""

    sqlstate = "28000"


class _Connection(psycopg.Connection[Any]):
    """A connection that is closed without a word when nobody has it any more."""

    def __del__(self, *_: Any) -> None:
        with suppress(Exception):
            self.close()


def _is_news(record: logging.LogRecord) -> bool:
    """Tell what psycopg has to say of connections that are not ours.

    Of ours it says, as a warning, that it could not take leave of a server that is gone; that is
    raised, or tried again, already.
    """
    about = record.args[0] if isinstance(record.args, tuple) and record.args else None
    return not isinstance(getattr(about, "_conn", None), _Connection)


logging.getLogger("psycopg").addFilter(_is_news)


class PostgresStore(Store):
    """Campaigns in a PostgreSQL database.

    Parameters
    ----------
    url
        Where it is, such as "postgresql://user@host/database".
    patience
        Seconds for which a server that is busy or gone is tried again.
    """

    errors = psycopg.Error
    _worth_waiting = 0.005  # who waits asks the server several times

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

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._writer: _Connection | None = None

    def _transaction(self, work: Callable[[Session], bool]) -> None:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        writer = self._writer
        try:
            with writer.pipeline():
                session = _PostgresSession(writer, self.clock_offset)
                session.execute("BEGIN")
                session.execute(_LATER)
                keep = work(session)
                if keep:
                    session.execute("COMMIT")
                    session.execute(_FLUSH)
            if not keep:  # not in the pipeline: psycopg forgets what it prepared at a ROLLBACK
                writer.execute("ROLLBACK")
        except BaseException:
            self._writer = None  # whatever state it is in, the next one is a new one
            writer.close()
            raise

    def _read_with(self, connection: psycopg.Connection[Any], work: Work[Result]) -> Result:
        with connection.pipeline():
            session = _PostgresSession(connection, self.clock_offset)
            session.execute(_ONE_STATE)
            result = work(session)
            session.execute("COMMIT")  # of nothing
        return result

    def _enter(self, campaign: int, seconds: float, *, stay: bool) -> tuple[bool, Leave] | None:
        """Have a lock of the server's, which it takes back when the client is gone.

        It belongs to the connection that this thread reads with meanwhile: a server that is full of
        clients need not let another in.
        """
        with self._line:
            connection = self._readers.pop() if self._readers else None
        try:
            connection = connection or self._connect()
            with connection.pipeline():
                connection.execute(_AT_MOST, [f"{max(1, round(1e3 * seconds))}ms"])
                words = _IN if stay else _IN_OR_WAIT
                mine = connection.execute(words, {"campaign": campaign}).fetchone()
        except psycopg.errors.LockNotAvailable:
            self._leave(connection)
            return None
        except psycopg.Error:
            if connection is not None:
                connection.close()
            return None
        self._own.reader = connection
        return mine == (True,), partial(self._leave, connection)

    def _leave(self, connection: Any) -> None:
        self._own.reader = None
        try:
            connection.execute("SELECT pg_advisory_unlock_all()")
        except psycopg.Error:
            connection.close()
            return
        with self._line:
            self._readers.append(connection)

    def _connect(self) -> _Connection:
        try:
            connection = _Connection.connect(self._address, autocommit=True)
        except psycopg.OperationalError as error:
            raise self._why_not(error) from error
        connection.prepare_threshold = 0
        connection.execute(_MANNERS)
        return connection

    def _why_not(self, error: psycopg.OperationalError) -> psycopg.OperationalError:
        """Tell a server that is not there, where it helps to wait, from one that refuses.

        A server that was killed is up, down and up again within moments: only one that was there
        before and after a second try, and gave no reason that passes, refuses.
        """
        if not self._is_up():
            return error
        try:
            psycopg.connect(self._address).close()
        except psycopg.OperationalError as again:
            passes = any(sign in str(again) for sign in (*_CROWDED, *_COMING_UP))
            if not passes and self._is_up():
                return _RefusedError(_one_line(again))
        return error

    def _is_up(self) -> bool:
        return psycopg.pq.PGconn.ping(self._address.encode()) == psycopg.pq.Ping.OK

    # ------------------------------------------------------------------ errors

    def _passes(self, error: Exception) -> bool:
        code = getattr(error, "sqlstate", None)
        if code is None:
            return isinstance(error, psycopg.OperationalError)
        return str(code).startswith(_PASSING)

    def _explained(self, error: Exception) -> str:
        code = str(getattr(error, "sqlstate", None))
        advice = next((text for sign, text in _ADVICE.items() if code.startswith(sign)), _USUAL)
        return (
            f"the store {self.name!r} cannot be used: {_one_line(error)}. {advice}; what was "
            "acknowledged is kept."
        )

    def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None


class _PostgresSession(Session):
    dialect = words.dialect()  # type: ignore[no-untyped-call] # SQLAlchemy's
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    may_be_shared = True

    def __init__(self, connection: psycopg.Connection[Any], clock_offset: float) -> None:
        super().__init__(clock_offset)
        self._connection = connection
        self._soon: list[tuple[Statement, dict[str, Any]]] = []  # foreseen, and not asked yet
        self._asked: dict[tuple[Statement, frozenset[Any]], Any] = {}  # foreseen, and asked

    def foresee(self, statement: Statement, **parameters: Any) -> None:
        self._soon.append((statement, parameters))

    def _run(self, statement: Statement, parameters: dict[str, Any]) -> Any:
        if self._asked:
            found = self._asked.pop((statement, frozenset(parameters.items())), None)
            if found is not None:
                return found
        cursor = super()._run(statement, parameters)
        soon, self._soon = self._soon, []
        for one, given in soon:
            self._asked[one, frozenset(given.items())] = super()._run(one, given)
        return cursor

    def run(self, statement: Statement, **parameters: Any) -> None:
        super().run(statement, **parameters)
        self._asked.clear()  # it may have changed

    def be_alone(self) -> None:
        self.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")

    def execute(self, words: str, parameters: Mapping[str, Any] | None = None) -> Any:
        return self._connection.execute(words, parameters)

    def _execute_many(self, words: str, many: Sequence[Mapping[str, Any]]) -> None:
        for one in many:
            self.execute(words, one)
        self._asked.clear()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
