"""The ledger: what is written, row by row, inside one transaction of a store.

A `Page` is a campaign's row, locked, with the events that this transaction adds. Nothing here reads
history: every statement finds its rows by a key or by an index of what is waiting, so it costs the
same after a thousand evaluations and after a million.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

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


def _named(row: type, prefix: str = "") -> str:
    return ", ".join(prefix + column.name for column in fields(row))


def _over(now: str) -> str:
    """A lease has expired when its time is up, and when the clock says that it has not begun."""
    return f"(until <= {now} OR leased > {now} + {SKEW})"


_FREE = f"(state = 'open' OR {_over(':now')})"
# its lease expired, so often that nobody is to have it again
_HARMFUL = f"(state = 'leased' AND {_over(':now')} AND failures + 1 >= :tries)"
# words that keep a database from the index of all tickets, where that of the few that wait serves
_BY_AGE = "number + 0"
_ANYBODY = "holder >= ''"

_FIND = "SELECT id FROM campaign WHERE name = :name"
_NAMES = "SELECT name, status FROM campaign ORDER BY id"
_NEW = """
    INSERT INTO campaign (name, status, head, hash, version, tickets, evaluations, counted)
    VALUES (:name, 'running', 0, :hash, 0, 0, 0, 0) RETURNING id
"""
_LOOK = """
    SELECT name, status, head, hash, version, tickets, evaluations, counted, @clock
    FROM campaign WHERE id = :id
"""
_LOCK = f"{_LOOK} @for_update"
_TURN = """
    UPDATE campaign SET status = :status, head = :head, hash = :hash, version = :version,
        tickets = :tickets, evaluations = :evaluations, counted = :counted
    WHERE id = :id
"""

_APPEND = """
    INSERT INTO event (campaign, number, at, kind, body, hash)
    VALUES (:id, :number, :at, :kind, :body, :hash)
"""
_EVENTS = """
    SELECT number, at, kind, body, hash FROM event WHERE campaign = :id AND number > :after
    ORDER BY number LIMIT :most
"""
_SEAL = "SELECT hash FROM event WHERE campaign = :id AND number = :number"

_TICKET = f"{_named(TicketRow)} FROM ticket WHERE campaign = :id"
_ISSUE = f"""
    INSERT INTO ticket (campaign, {_named(TicketRow)})
    VALUES (:id, :number, :token, :question, :turn, :evaluator, 'open', '', '', 0, 0, 0.0, 0.0)
"""
_GET = f"SELECT {_TICKET} AND number = :number"
_TICKETS = f"SELECT {_TICKET} AND number > :after ORDER BY number LIMIT :most"
_HELD = f"""
    SELECT {_TICKET} AND state = 'leased' AND holder = :holder AND worker = :worker
    AND NOT {_over(":now")} ORDER BY number LIMIT :most
"""
_HELD_BY = f"""
    SELECT {_TICKET} AND state = 'leased' AND {_ANYBODY} AND worker = :worker
    AND NOT {_over(":now")} ORDER BY {_BY_AGE} LIMIT :most
"""
_OF_RUNS = f"""
    SELECT {_TICKET} AND state = 'leased' AND {_ANYBODY}
    AND substr(worker, 1, length(:sign)) = :sign ORDER BY {_BY_AGE}
"""
_ALL_HELD = f"""
    SELECT {_TICKET} AND state = 'leased' AND {_ANYBODY} AND NOT {_over(":now")}
    ORDER BY leased, {_BY_AGE}
"""
_WAITS = "state IN ('open', 'leased')"
_TO_HAVE = f"""
    {_WAITS} AND (state = 'open' OR ({_over(":now")} AND failures + 1 < :tries))
"""
_OLDEST = f"SELECT {_TICKET} AND evaluator = :evaluator AND {_TO_HAVE} ORDER BY number LIMIT :most"
_OLDEST_OF_ALL = f"SELECT {_TICKET} AND {_TO_HAVE} ORDER BY {_BY_AGE} LIMIT :most"
_SETTLE = """
    UPDATE ticket SET state = :state, holder = :holder, worker = :worker, attempt = :attempt,
        failures = :failures, leased = :leased, until = :until
    WHERE campaign = :id AND number = :number
"""
_VOID = f"UPDATE ticket SET state = 'void', worker = '' WHERE campaign = :id AND {_WAITS}"
_VOID_OF = f"{_VOID} AND evaluator = :evaluator RETURNING number"
_VOID_ON = f"{_VOID} AND question = :question RETURNING number"
_OUT = f"""
    SELECT evaluator, count(*), sum(CASE WHEN {_FREE} THEN 0 ELSE 1 END),
        min(CASE WHEN {_FREE} THEN NULL ELSE until END),
        sum(CASE WHEN {_HARMFUL} THEN 1 ELSE 0 END)
    FROM ticket WHERE campaign = :id AND {_WAITS} GROUP BY evaluator
"""
_LOST = f"SELECT {_TICKET} AND {_HARMFUL} AND {_ANYBODY} ORDER BY {_BY_AGE}"

_EVALUATION = f"{_named(EvaluationRow)} FROM evaluation WHERE campaign = :id"
_ENTER = f"""
    INSERT INTO evaluation (campaign, {_named(EvaluationRow)})
    VALUES (:id, {_named(EvaluationRow, ":")})
"""
_BY_KEY = f"SELECT {_EVALUATION} AND evaluator = :evaluator AND key = :key"
_BY_NUMBER = f"SELECT {_EVALUATION} AND number = :number"
_ALL = f"SELECT {_EVALUATION} AND number > :after ORDER BY number LIMIT :most"
_NEWEST = f"SELECT {_EVALUATION} AND number < :before ORDER BY number DESC LIMIT :most"
_EVENT = "SELECT number, at, kind, body, hash FROM event WHERE campaign = :id AND number = :number"
_COUNTED = f"SELECT {_EVALUATION} AND ticket = :ticket AND standing = 'counted'"
# what their index holds, and in no order: for more, SQLite would walk through the whole campaign
_WITHDRAWN = f"SELECT number, standing FROM evaluation WHERE campaign = :id AND standing IN {_GONE}"
_WITHDRAWN_OF = f"{_WITHDRAWN} AND ticket = :ticket"
_MARK = "UPDATE evaluation SET standing = :standing WHERE campaign = :id AND number = :number"

_KEEP = "INSERT INTO snapshot VALUES (:id, :event, :format, :body)"
_DROP = "DELETE FROM snapshot WHERE campaign = :id AND event = :event"
_SNAPSHOTS = "SELECT event, format FROM snapshot WHERE campaign = :id ORDER BY event DESC"
_SNAPSHOT = "SELECT body FROM snapshot WHERE campaign = :id AND event = :event"


def find(session: Session, name: str) -> int | None:
    """Return the id of the campaign of that name, or None."""
    row = session.row(_FIND, name=name)
    return None if row is None else int(row[0])


def names(session: Session) -> dict[str, str]:
    """Return the campaigns of a store, and their status."""
    return dict(session.rows(_NAMES))


def events_after(session: Session, id: int, after: int, most: int) -> list[Event]:
    """Return the next events after a number, so many at most."""
    return [read(*row) for row in session.rows(_EVENTS, id=id, after=after, most=most)]


def seal_of(session: Session, id: int, number: int) -> str | None:
    """Return the seal of an event, in hexadecimal digits; None if there is no such event."""
    row = session.row(_SEAL, id=id, number=number)
    return None if row is None else bytes(row[0]).hex()


def evaluations_after(session: Session, id: int, after: int, most: int) -> list[EvaluationRow]:
    """Return the next evaluations after a number, so many at most."""
    return [EvaluationRow(*row) for row in session.rows(_ALL, id=id, after=after, most=most)]


def evaluations_before(
    session: Session, id: int, before: int, most: int
) -> tuple[list[EvaluationRow], dict[int, Event]]:
    """Return the newest evaluations with a lower number, and the events that tell them."""
    rows = [EvaluationRow(*row) for row in session.rows(_NEWEST, id=id, before=before, most=most)]
    numbers = {row.event for row in rows}
    return rows, {n: read(*session.row(_EVENT, id=id, number=n)) for n in numbers}


def tickets_after(session: Session, id: int, after: int, most: int) -> list[TicketRow]:
    """Return the next tickets after a number, so many at most."""
    return [TicketRow(*row) for row in session.rows(_TICKETS, id=id, after=after, most=most)]


def evaluation_of_ticket(session: Session, id: int, ticket: int) -> EvaluationRow | None:
    """Return the evaluation of a ticket that counts; if none does, the last that was withdrawn."""
    row = session.row(_COUNTED, id=id, ticket=ticket)
    if row is None and (gone := session.rows(_WITHDRAWN_OF, id=id, ticket=ticket)):
        row = session.row(_BY_NUMBER, id=id, number=max(number for number, _ in gone))
    return None if row is None else EvaluationRow(*row)


def withdrawn(session: Session, id: int) -> dict[int, bool]:
    """Return the numbers of the evaluations that were withdrawn, and whether blindly."""
    rows = session.rows(_WITHDRAWN, id=id)
    return {int(number): standing == BLIND for number, standing in rows}


def snapshots(session: Session, id: int) -> list[tuple[int, int]]:
    """Return event and format of the snapshots, the newest first."""
    return [(int(at), int(format)) for at, format in session.rows(_SNAPSHOTS, id=id)]


def snapshot_at(session: Session, id: int, event: int) -> bytes | None:
    """Return the body of the snapshot at an event, if it is still there."""
    row = session.row(_SNAPSHOT, id=id, event=event)
    return None if row is None else bytes(row[0])


def keep_snapshot(
    session: Session, id: int, event: int, format: int, body: bytes, most: int
) -> None:
    """Keep a snapshot, and only the newest ``most``."""
    kept = [at for at, _ in snapshots(session, id)]
    for at in {event, *kept[most - 1 :]}:
        session.run(_DROP, id=id, event=at)
    session.run(_KEEP, id=id, event=event, format=format, body=body)


class Page:
    """A campaign's row, and the events that are added to it in this transaction."""

    # Without `lock` it only looks; `now` is the time, by the database's clock.

    def __init__(self, session: Session, id: int, *, lock: bool = True) -> None:
        row = session.row(_LOCK if lock else _LOOK, id=id)
        if row is None:
            raise InputError("the campaign is no longer in the store.")
        self.session, self.id = session, id
        self.name, self.status, self.head, self.hash = row[0], row[1], int(row[2]), bytes(row[3])
        self.version, self.tickets, self.evaluations = int(row[4]), int(row[5]), int(row[6])
        self.counted = int(row[7])
        self.now = session.time(row[8])
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
        self.session.run_many(_APPEND, [vars(event) | {"id": self.id} for event in self._events])
        self.session.run(
            _TURN,
            id=self.id,
            status=self.status,
            head=self.head,
            hash=self.hash,
            version=self.version,
            tickets=self.tickets,
            evaluations=self.evaluations,
            counted=self.counted,
        )
        return self._events

    # ------------------------------------------------------------------ tickets

    def issue(self, wanted: Sequence[tuple[int, int, str]]) -> list[list[Any]]:
        """Make open tickets for (question, turn, evaluator); return their entries in the log."""
        made = []
        for question, turn, evaluator in wanted:
            self.tickets += 1
            made.append(
                {
                    "id": self.id,
                    "number": self.tickets,
                    "token": secrets.token_hex(3),
                    "question": question,
                    "turn": turn,
                    "evaluator": evaluator,
                }
            )
        self.session.run_many(_ISSUE, made)
        return [[one["number"], one["token"], one["question"], one["turn"]] for one in made]

    def ticket(self, number: int) -> TicketRow | None:
        """Return a ticket by its number."""
        row = self.session.row(_GET, id=self.id, number=number)
        return None if row is None else TicketRow(*row)

    def _rows(self, statement: str, **given: Any) -> list[TicketRow]:
        return [TicketRow(*row) for row in self.session.rows(statement, id=self.id, **given)]

    def held(self, holder: str | None, worker: str, most: int) -> list[TicketRow]:
        """Return the unanswered tickets of a holder, or else of a worker, the oldest first."""
        given = {"worker": worker, "now": self.now, "most": most}
        if holder is None:
            return self._rows(_HELD_BY, **given)
        return self._rows(_HELD, holder=holder, **given)

    def held_by_workers(self, sign: str) -> list[TicketRow]:
        """Return the tickets that were handed out to workers whose names begin so."""
        return self._rows(_OF_RUNS, sign=sign)

    def out(self) -> list[TicketRow]:
        """Return the tickets that somebody has, the longest held first."""
        return self._rows(_ALL_HELD, now=self.now)

    def lease(
        self, evaluator: str | None, holder: str, worker: str, until: float, most: int, tries: int
    ) -> list[TicketRow]:
        """Lease the oldest tickets that wait for an evaluator, or for anybody if it is None."""
        # One whose lease expired has failed once more, and is left where it is after so many
        # `tries`.
        given = {"now": self.now, "most": most, "tries": tries}
        if evaluator is None:
            found = self._rows(_OLDEST_OF_ALL, **given)
        else:
            found = self._rows(_OLDEST, evaluator=evaluator, **given)
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

    def void(self) -> None:
        """Take back all tickets that were not answered."""
        self.session.run(_VOID, id=self.id)

    def void_of(self, evaluator: str) -> list[int]:
        """Take back the tickets of an evaluator that were not answered; return their numbers."""
        rows = self.session.rows(_VOID_OF, id=self.id, evaluator=evaluator)
        return sorted(int(number) for (number,) in rows)

    def void_on(self, question: int) -> list[int]:
        """Take back the tickets of a question that were not answered; return their numbers."""
        rows = self.session.rows(_VOID_ON, id=self.id, question=question)
        return sorted(int(number) for (number,) in rows)

    def harmful(self, tries: int) -> list[TicketRow]:
        """Return the tickets that failed so often, the last time because their lease expired."""
        # What makes a worker die makes the next one die, too.
        return self._rows(_LOST, now=self.now, tries=tries)

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
        self.session.run_many(_ENTER, [vars(row) | {"id": self.id} for row in rows])

    def by_key(self, evaluator: str, key: str) -> EvaluationRow | None:
        """Return the evaluation that somebody told under a key."""
        row = self.session.row(_BY_KEY, id=self.id, evaluator=evaluator, key=key)
        return None if row is None else EvaluationRow(*row)

    def evaluation(self, number: int) -> EvaluationRow | None:
        """Return an evaluation by its number."""
        row = self.session.row(_BY_NUMBER, id=self.id, number=number)
        return None if row is None else EvaluationRow(*row)

    def mark(self, number: int, standing: str) -> None:
        """Change how an evaluation stands."""
        self.session.run(_MARK, id=self.id, number=number, standing=standing)
