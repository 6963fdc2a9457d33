"""Campaigns on a server: PostgreSQL, for several machines.

The chain of events makes writers of one campaign take turns. So that they do not also wait for each
other's disk, a transaction is committed without waiting (synchronous_commit off), which lets the
next in; then an empty one is committed with waiting. The server's log is written in order, so when
the second is on the disk, the first is; and many of these share one write to the disk. Where nobody
else has written since, there is nobody to let in, and one commit will do.

Nor do they wait for each other's network: statements are sent without waiting for what the ones
before come to (`Wire`), up to a statement whose rows are needed. What is written at the end goes
together with the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import PATIENCE, Result, Store, Work
from evenhand.errors import InputError

try:
    import psycopg

    from evenhand.campaigns.stores.wire import Wire
except ImportError as error:
    raise InputError(
        "PostgreSQL needs psycopg; install evenhand[postgres], or give the path of a file."
    ) from error

_LATER = "SET LOCAL synchronous_commit TO OFF"
_FLUSH = "SELECT pg_logical_emit_message(true, 'evenhand', '')"
_ONE_STATE = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
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


class _RefusedError(psycopg.OperationalError):
    """The server is there, and does not let this user in."""

    sqlstate = "28000"


class _Connection(psycopg.Connection[Any]):
    """A connection that is closed without a word when nobody has it any more."""

    def __del__(self, *_: Any) -> None:
        with suppress(Exception):
            self.close()


class PostgresStore(Store):
    """Campaigns in a PostgreSQL database; a lost server is tried again for `patience` seconds."""

    errors = psycopg.Error

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
        self._writer: Wire | None = None
        self._heads: dict[int, int] = {}  # where campaigns were left by this process

    def _transaction(self, work: Callable[[Session], bool]) -> None:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        writer = self._writer
        try:
            session = _PostgresSession(writer, self.clock_offset, self._heads)
            writer.send("BEGIN")
            if work(session):
                session.commit()
            else:
                writer.send("ROLLBACK")
            writer.wait()
        except BaseException:
            self._writer = None  # whatever state it is in, the next one is a new one
            writer.close()
            raise

    def _read_with(self, connection: Wire, work: Work[Result]) -> Result:
        session = _PostgresSession(connection, self.clock_offset, {})
        connection.send(_ONE_STATE)
        result = work(session)
        connection.send("COMMIT")  # of nothing
        connection.wait()
        return result

    def _connect(self) -> Wire:
        try:
            connection = _Connection.connect(self._address, autocommit=True)
        except psycopg.OperationalError as error:
            raise self._why_not(error) from error
        connection.execute(_MANNERS)
        return Wire(connection)

    def _why_not(self, error: psycopg.OperationalError) -> psycopg.OperationalError:
        """Tell a server that is not there, where it helps to wait, from one that refuses."""
        # A server that was killed is up, down and up again within moments: only one that was there
        # before and after a second try, and gave no reason that passes, refuses.
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
    fragments: ClassVar[Mapping[str, str]] = {
        "clock": "extract(epoch FROM clock_timestamp())::float8",
        "for_update": "FOR UPDATE",
        "bytes": "BYTEA",
        "identity": "SERIAL",
        "without_rowid": "",
    }
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    may_be_shared = True

    def __init__(self, wire: Wire, clock_offset: float, heads: dict[int, int]) -> None:
        super().__init__(clock_offset)
        self._wire, self._heads, self._has_company = wire, heads, False
        self._soon: list[tuple[str, dict[str, Any]]] = []  # foreseen, and not asked yet
        self._asked: dict[tuple[str, frozenset[Any]], Any] = {}  # foreseen, and asked

    def foresee(self, statement: str, **parameters: Any) -> None:
        self._soon.append((statement, parameters))

    def execute(self, statement: str, parameters: Mapping[str, Any] = {}) -> Any:
        if self._asked:
            found = self._asked.pop((statement, frozenset(parameters.items())), None)
            if found is not None:
                return found
        answer = self._wire.send(self.text(statement), parameters)
        soon, self._soon = self._soon, []
        for one, given in soon:
            self._asked[one, frozenset(given.items())] = self._wire.send(self.text(one), given)
        return answer

    def run(self, statement: str, **parameters: Any) -> None:
        super().run(statement, **parameters)
        self._asked.clear()  # it may have changed

    def run_many(self, statement: str, many: Sequence[Mapping[str, Any]]) -> None:
        for one in many:
            self.run(statement, **one)

    def found(self, campaign: int, head: int) -> None:
        self._has_company |= self._heads.get(campaign) != head

    def left(self, campaign: int, head: int) -> None:
        self._heads[campaign] = head

    def commit(self) -> None:
        """End the transaction so that it is on the disk when that is answered."""
        if self._has_company:
            self.execute(_LATER)
        self.execute("COMMIT")
        if self._has_company:
            self.execute(_FLUSH)

    def be_alone(self) -> None:
        self.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
