"""The ledger: what is written, row by row, inside one transaction of a store.

A `Page` is a campaign's row, locked, with the events that this transaction adds. Nothing here reads
history: every statement finds its rows by a key or by an index of what is waiting, so it costs the
same after a thousand evaluations and after a million.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from evenhand.campaigns.events import START, TURNS, Evaluation, Event, Kind, read, sealed
from evenhand.campaigns.stores import Session
from evenhand.campaigns.tickets import identifier
from evenhand.errors import InputError

BLIND = "withdrawn blind"
"""How an evaluation stands that was withdrawn without regard to its score."""
_GONE = f"('withdrawn', '{BLIND}')"
NOBODY: Mapping[str, Any] = {"holder": "", "worker": "", "until": 0.0}
"""What a ticket says that nobody has."""
SKEW = 5.0  # seconds by which a clock may go back before leases are taken to be of another time


@dataclass(frozen=True)
class TicketRow:
    """A ticket as it stands in the store; see `schema`."""

    number: int
    token: str
    question: int
    turn: int
    evaluator: str
    state: str = "open"
    holder: str = ""
    worker: str = ""
    attempt: int = 0
    failures: int = 0
    leased: float = 0.0
    until: float = 0.0

    @property
    def id(self) -> str:
        """How it is named to who has it."""
        return identifier(self.number, self.token)


@dataclass(frozen=True)
class EvaluationRow:
    """An evaluation as it stands in the store; see `schema`."""

    number: int
    ticket: int | None
    question: int
    score: float
    evaluator: str
    key: str
    standing: str
    event: int

    @property
    def gone(self) -> bool:
        """Whether it was withdrawn."""
        return self.standing in ("withdrawn", BLIND)

    def said(self) -> Evaluation:
        """Return it as an event tells it, without what was said beside it."""
        who = self.evaluator, self.key
        return Evaluation(self.number, self.ticket, self.question, self.score, *who)


@dataclass(frozen=True)
class Waiting:
    """Counts of tickets that wait for an answer, by the evaluator they are for."""

    open: dict[str, int]  # without a lease
    leased: dict[str, int]  # with a lease
    first_until: float | None  # when the first lease expires; None if none is out
    harmful: int  # of the open ones, not to be handed out again: see `Page.harmful`


Row = TypeVar("Row", TicketRow, EvaluationRow)

_CAMPAIGN = ("status", "head", "hash", "version", "tickets", "evaluations", "counted")
_EVENT = ("number", "at", "kind", "body", "hash")
_COLUMNS: dict[Any, tuple[str, ...]] = {
    row: tuple(one.name for one in fields(row)) for row in (TicketRow, EvaluationRow)
}
_SELECT: dict[Any, str] = {
    row: f"SELECT {', '.join(_COLUMNS[row])} FROM {table} WHERE campaign = :id AND"
    for row, table in ((TicketRow, "ticket"), (EvaluationRow, "evaluation"))
}

# a lease has expired when its time is up, and when the clock says that it has not begun
_OVER = f"(until <= :now OR leased > :now + {SKEW})"
_FREE = f"(state = 'open' OR {_OVER})"
# its lease expired, so often that nobody is to have it again
_HARMFUL = f"(state = 'leased' AND {_OVER} AND failures + 1 >= :tries)"
_WAITS = "state IN ('open', 'leased')"
_TO_HAVE = f"{_WAITS} AND (state = 'open' OR ({_OVER} AND failures + 1 < :tries))"
# words that keep a database from the index of all tickets, where that of the few that wait serves
_BY_AGE = "number + 0"
_LEASED = "state = 'leased' AND holder >= ''"

_NEW = """
    INSERT INTO campaign (name, status, head, hash, version, tickets, evaluations, counted)
    VALUES (:name, 'running', 0, :hash, 0, 0, 0, 0) RETURNING id
"""
_LOOK = f"SELECT name, @clock, {', '.join(_CAMPAIGN)} FROM campaign WHERE id = :id"
_TURN = f"UPDATE campaign SET {', '.join(f'{c} = :{c}' for c in _CAMPAIGN)} WHERE id = :id"
_EVENTS = f"SELECT {', '.join(_EVENT)} FROM event WHERE campaign = :id AND"
_VOID = f"UPDATE ticket SET state = 'void', worker = '' WHERE campaign = :id AND {_WAITS}"
_SETTLE = """
    UPDATE ticket SET state = :state, holder = :holder, worker = :worker, attempt = :attempt,
        failures = :failures, leased = :leased, until = :until
    WHERE campaign = :id AND number = :number
"""
_OUT = f"""
    SELECT evaluator, count(*), sum(CASE WHEN {_FREE} THEN 0 ELSE 1 END),
        min(CASE WHEN {_FREE} THEN NULL ELSE until END),
        sum(CASE WHEN {_HARMFUL} THEN 1 ELSE 0 END)
    FROM ticket WHERE campaign = :id AND {_WAITS} GROUP BY evaluator
"""
# what their index holds, and in no order: for more, SQLite would walk through the whole campaign
_WITHDRAWN = f"SELECT number, standing FROM evaluation WHERE campaign = :id AND standing IN {_GONE}"
_MARK = "UPDATE evaluation SET standing = :standing WHERE campaign = :id AND number = :number"
_OLD = "DELETE FROM snapshot WHERE campaign = :id AND event IN (SELECT event FROM snapshot"


def _insert(table: str, columns: Iterable[str]) -> str:
    values = ", ".join(f":{column}" for column in columns)
    return f"INSERT INTO {table} (campaign, {', '.join(columns)}) VALUES (:id, {values})"


def _found(session: Session, kind: type[Row], which: str, **given: Any) -> list[Row]:
    """Return tickets or evaluations of a campaign, by the end of the statement."""
    return [kind(*row) for row in session.rows(f"{_SELECT[kind]} {which}", **given)]


def find(session: Session, name: str) -> int | None:
    """Return the id of the campaign of that name, or None."""
    row = session.row("SELECT id FROM campaign WHERE name = :name", name=name)
    return None if row is None else int(row[0])


def names(session: Session) -> dict[str, str]:
    """Return the campaigns of a store, and their status."""
    return dict(session.rows("SELECT name, status FROM campaign ORDER BY id"))


def events_after(session: Session, id: int, after: int, most: int) -> list[Event]:
    """Return the next events after a number, so many at most."""
    statement = f"{_EVENTS} number > :after ORDER BY number LIMIT :most"
    return [read(*row) for row in session.rows(statement, id=id, after=after, most=most)]


def seal_of(session: Session, id: int, number: int) -> str | None:
    """Return the seal of an event, in hexadecimal digits; None if there is no such event."""
    row = session.row(f"{_EVENTS} number = :number", id=id, number=number)
    return None if row is None else bytes(row[-1]).hex()


def rows_after(session: Session, kind: type[Row], id: int, after: int, most: int) -> list[Row]:
    """Return the next tickets or evaluations after a number, so many at most."""
    which = "number > :after ORDER BY number LIMIT :most"
    return _found(session, kind, which, id=id, after=after, most=most)


def evaluations_before(
    session: Session, id: int, before: int, most: int
) -> tuple[list[EvaluationRow], dict[int, Event]]:
    """Return the newest evaluations with a lower number, and the events that tell them."""
    which = "number < :before ORDER BY number DESC LIMIT :most"
    rows = _found(session, EvaluationRow, which, id=id, before=before, most=most)
    one = f"{_EVENTS} number = :number"
    return rows, {n: read(*session.row(one, id=id, number=n)) for n in {row.event for row in rows}}


def evaluation_of_ticket(session: Session, id: int, ticket: int) -> EvaluationRow | None:
    """Return the evaluation of a ticket that counts; if none does, the last that was withdrawn."""
    which = "ticket = :ticket AND standing = 'counted'"
    found = _found(session, EvaluationRow, which, id=id, ticket=ticket)
    gone = session.rows(f"{_WITHDRAWN} AND ticket = :ticket", id=id, ticket=ticket)
    if gone and not found:
        last = max(number for number, _ in gone)
        found = _found(session, EvaluationRow, "number = :number", id=id, number=last)
    return found[0] if found else None


def withdrawn(session: Session, id: int) -> dict[int, bool]:
    """Return the numbers of the evaluations that were withdrawn, and whether blindly."""
    return {number: standing == BLIND for number, standing in session.rows(_WITHDRAWN, id=id)}


def snapshots(session: Session, id: int) -> list[tuple[int, bytes]]:
    """Return the snapshots by their last event, the newest first."""
    which = "WHERE campaign = :id ORDER BY event DESC"
    rows = session.rows(f"SELECT event, body FROM snapshot {which}", id=id)
    return [(event, bytes(body)) for event, body in rows]


def keep_snapshot(session: Session, id: int, event: int, body: bytes, most: int) -> None:
    """Keep a snapshot, and beside it only the newest, so many in all."""
    session.run("DELETE FROM snapshot WHERE campaign = :id AND event = :event", id=id, event=event)
    session.run("INSERT INTO snapshot VALUES (:id, :event, :body)", id=id, event=event, body=body)
    old = "WHERE campaign = :id ORDER BY event DESC LIMIT 1000 OFFSET :most)"
    session.run(f"{_OLD} {old}", id=id, most=most)


class Page:
    """A campaign's row, and the events that are added to it in this transaction."""

    # Without `lock` it only looks; `now` is the time, by the database's clock.

    status: str
    head: int
    hash: bytes
    version: int
    tickets: int
    evaluations: int
    counted: int

    def __init__(self, session: Session, id: int, *, lock: bool = True) -> None:
        row = session.row(f"{_LOOK} @for_update" if lock else _LOOK, id=id)
        if row is None:
            raise InputError("the campaign is no longer in the store.")
        self.session, self.id = session, id
        self.name, clock, *values = row
        self.now = session.time(clock)
        for name, value in zip(_CAMPAIGN, values, strict=True):
            setattr(self, name, value)
        self._events: list[Event] = []

    @classmethod
    def new(cls, session: Session, name: str) -> Page:
        """Make the row of a new campaign."""
        (id,) = session.row(_NEW, name=name, hash=START)
        return cls(session, int(id))

    def follows(self, version: int, number: int, seal: str) -> bool:
        """Tell whether the campaign is at a version, and its log has an event that was seen."""
        # A server may show what it then loses in a crash: nobody was told that it is kept, but
        # somebody may have looked.
        if self.version != version:
            return False
        if number == self.head:
            return self.hash.hex() == seal
        return seal_of(self.session, self.id, number) == seal

    def append(self, kind: Kind, content: Mapping[str, Any]) -> int:
        """Add an event; return its number."""
        added = sealed(self.hash, self.head + 1, self.now, kind, content)
        self.head, self.hash = added.number, added.hash
        self.version += kind in TURNS
        self._events.append(added)
        return added.number

    def close(self) -> list[Event]:
        """Write the events and the row; return the events."""
        if not self._events:
            return []
        self._add("event", _EVENT, self._events)
        values = {name: getattr(self, name) for name in _CAMPAIGN}
        self.session.run(_TURN, id=self.id, **values)
        return self._events

    def _add(self, table: str, columns: Sequence[str], rows: Iterable[Any]) -> None:
        added = [vars(row) | {"id": self.id} for row in rows]
        self.session.run_many(_insert(table, columns), added)

    # ------------------------------------------------------------------ tickets

    def issue(self, wanted: Sequence[tuple[int, int, str]]) -> list[list[Any]]:
        """Make open tickets for (question, turn, evaluator); return their entries in the log."""
        made = [
            TicketRow(number, secrets.token_hex(3), *one)
            for number, one in enumerate(wanted, self.tickets + 1)
        ]
        self.tickets += len(made)
        self._add("ticket", _COLUMNS[TicketRow], made)
        return [[one.number, one.token, one.question, one.turn] for one in made]

    def _found(self, which: str, **given: Any) -> list[TicketRow]:
        return _found(self.session, TicketRow, which, id=self.id, now=self.now, **given)

    def ticket(self, number: int) -> TicketRow | None:
        """Return a ticket by its number."""
        return next(iter(self._found("number = :number", number=number)), None)

    def held(self, holder: str | None, worker: str, most: int) -> list[TicketRow]:
        """Return the unanswered tickets of a holder, or else of a worker, the oldest first."""
        whose, order = _LEASED, _BY_AGE
        if holder is not None:
            whose, order = "state = 'leased' AND holder = :holder", "number"
        which = f"{whose} AND worker = :worker AND NOT {_OVER} ORDER BY {order} LIMIT :most"
        return self._found(which, holder=holder, worker=worker, most=most)

    def held_by_workers(self, sign: str) -> list[TicketRow]:
        """Return the tickets that were handed out to workers whose names begin so."""
        begins = "substr(worker, 1, length(:sign)) = :sign"
        return self._found(f"{_LEASED} AND {begins} ORDER BY {_BY_AGE}", sign=sign)

    def out(self) -> list[TicketRow]:
        """Return the tickets that somebody has, the longest held first."""
        return self._found(f"{_LEASED} AND NOT {_OVER} ORDER BY leased, {_BY_AGE}")

    def lease(
        self, evaluator: str | None, holder: str, worker: str, until: float, most: int, tries: int
    ) -> list[TicketRow]:
        """Lease the oldest tickets that wait for an evaluator, or for anybody if it is None."""
        # One whose lease expired has failed once more, and is left where it is after so many
        # `tries`.
        which = f"{_TO_HAVE} ORDER BY {_BY_AGE}"
        if evaluator is not None:
            which = f"evaluator = :evaluator AND {_TO_HAVE} ORDER BY number"
        found = self._found(f"{which} LIMIT :most", evaluator=evaluator, most=most, tries=tries)
        leased = [
            replace(
                row,
                state="leased",
                holder=row.evaluator if evaluator is None else holder,
                worker=worker,
                attempt=row.attempt + 1,
                failures=row.failures + (row.state == "leased"),
                leased=self.now,
                until=until,
            )
            for row in found
        ]
        self._change(leased)
        return leased

    def settle(self, row: TicketRow, state: str, **changes: Any) -> None:
        """Change the state of a ticket, and what else is named; nobody has what is given back."""
        if state in ("open", "failed", "void"):
            changes = {**NOBODY, **changes}
        self._change([replace(row, state=state, **changes)])

    def _change(self, rows: Iterable[TicketRow]) -> None:
        self.session.run_many(_SETTLE, [vars(row) | {"id": self.id} for row in rows])

    def void(self, which: str = "", **given: Any) -> list[int]:
        """Take back tickets that were not answered; return their numbers."""
        rows = self.session.rows(f"{_VOID} {which} RETURNING number", id=self.id, **given)
        return sorted(number for (number,) in rows)

    def void_of(self, evaluator: str) -> list[int]:
        """Take back the tickets of an evaluator that were not answered; return their numbers."""
        return self.void("AND evaluator = :evaluator", evaluator=evaluator)

    def void_on(self, question: int) -> list[int]:
        """Take back the tickets of a question that were not answered; return their numbers."""
        return self.void("AND question = :question", question=question)

    def harmful(self, tries: int) -> list[TicketRow]:
        """Return the tickets that failed so often, the last time because their lease expired."""
        # What makes a worker die makes the next one die, too.
        return self._found(f"{_HARMFUL} AND {_LEASED} ORDER BY {_BY_AGE}", tries=tries)

    def waiting(self, tries: int) -> Waiting:
        """Return what waits for an answer; of that, what failed so often."""
        rows = self.session.rows(_OUT, id=self.id, now=self.now, tries=tries)
        return Waiting(
            {who: int(n) - int(leased) for who, n, leased, *_ in rows if n > leased},
            {who: int(leased) for who, _, leased, *_ in rows if leased},
            min((first for *_, first, _ in rows if first is not None), default=None),
            sum(int(harmful) for *_, harmful in rows),
        )

    # ------------------------------------------------------------------ evaluations

    def enter(self, rows: Iterable[EvaluationRow]) -> None:
        """Write evaluations down."""
        self._add("evaluation", _COLUMNS[EvaluationRow], rows)

    def _evaluation(self, which: str, **given: Any) -> EvaluationRow | None:
        return next(iter(_found(self.session, EvaluationRow, which, id=self.id, **given)), None)

    def by_key(self, evaluator: str, key: str) -> EvaluationRow | None:
        """Return the evaluation that somebody told under a key."""
        which = "evaluator = :evaluator AND key = :key"
        return self._evaluation(which, evaluator=evaluator, key=key)

    def evaluation(self, number: int) -> EvaluationRow | None:
        """Return an evaluation by its number."""
        return self._evaluation("number = :number", number=number)

    def mark(self, number: int, standing: str) -> None:
        """Change how an evaluation stands."""
        self.session.run(_MARK, id=self.id, number=number, standing=standing)
