"""The ledger: what is written, row by row, inside one transaction of a store.

A `Page` is a campaign's row, locked, with the events that this transaction adds. Nothing here reads
history: every statement finds its rows by a key or by an index of what is waiting, so it costs the
same after a thousand evaluations and after a million.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, case, func, insert, literal_column, or_, select, update

from evenhand.campaigns.events import START, TURNS, Evaluation, Event, Kind, read, sealed
from evenhand.campaigns.stores.session import Clock, OneOf, Session, Statement
from evenhand.campaigns.stores.tables import campaign, evaluation, event, snapshot, ticket
from evenhand.errors import InputError

_SKEW = 5.0  # seconds by which a clock may go back before leases are taken to be of another time


def _p(name: str) -> Any:
    return bindparam(name)


_T, _E = ticket.c, evaluation.c
# as words and not as parameters, so that a database sees that an index of the waiting ones serves
_OPEN: Any = literal_column("'open'")
_LEASED: Any = literal_column("'leased'")
_OF = _T.campaign == _p("id")


def _over(now: Any) -> Any:
    """A lease is over when its time is up, and when the clock says that it has not begun."""
    return or_(_T.until <= now, _T.leased > now + _SKEW)


_OVER = _over(_p("now"))
_LIVE = ~_over(Clock() + _p("offset"))  # by the clock itself: it can be asked before a page is open
_FREE = or_(_T.state == _OPEN, and_(_T.state == _LEASED, _OVER))
# whoever had it was lost, so often that nobody is to have it again
_HARMFUL = and_(_T.state == _LEASED, _OVER, _T.failures + 1 >= _p("tries"))

# so that the indexes of the few that wait are used, and not the one of all
_BY_AGE = _T.number + literal_column("0")
_ANYBODY = _T.holder >= literal_column("''")

_FIND = Statement(select(campaign.c.id).where(campaign.c.name == _p("name")))
_NAMES = Statement(select(campaign.c.name, campaign.c.status).order_by(campaign.c.id))
_NEW = Statement(
    insert(campaign)
    .values(
        name=_p("name"),
        status="running",
        head=0,
        hash=_p("hash"),
        version=0,
        tickets=0,
        evaluations=0,
        counted=0,
    )
    .returning(campaign.c.id)
)
_COLUMNS = (
    campaign.c.name,
    campaign.c.status,
    campaign.c.head,
    campaign.c.hash,
    campaign.c.version,
    campaign.c.tickets,
    campaign.c.evaluations,
    campaign.c.counted,
    Clock(),
)
_LOCK = Statement(select(*_COLUMNS).where(campaign.c.id == _p("id")).with_for_update())
_LOOK = Statement(select(*_COLUMNS).where(campaign.c.id == _p("id")))
_TURN = Statement(
    update(campaign)
    .where(campaign.c.id == _p("id"))
    .values(
        {
            name: _p(f"new_{name}")
            for name in ("status", "head", "hash", "version", "tickets", "evaluations", "counted")
        }
    )
)
_APPEND = Statement(
    insert(event).values(
        campaign=_p("id"),
        number=_p("number"),
        at=_p("at"),
        kind=_p("kind"),
        body=_p("body"),
        hash=_p("hash"),
    )
)
_EVENTS = Statement(
    select(event.c.number, event.c.at, event.c.kind, event.c.body, event.c.hash)
    .where(event.c.campaign == _p("id"), event.c.number > _p("after"))
    .order_by(event.c.number)
    .limit(_p("most"))
)
_SEAL = Statement(
    select(event.c.hash).where(event.c.campaign == _p("id"), event.c.number == _p("number"))
)

_TICKET = (
    _T.number,
    _T.token,
    _T.question,
    _T.turn,
    _T.evaluator,
    _T.state,
    _T.holder,
    _T.worker,
    _T.attempt,
    _T.failures,
    _T.leased,
    _T.until,
)
_ISSUE = Statement(
    insert(ticket).values(
        campaign=_p("id"),
        state="open",
        holder="",
        worker="",
        attempt=0,
        failures=0,
        leased=0.0,
        until=0.0,
        **{name: _p(name) for name in ("number", "token", "question", "turn", "evaluator")},
    )
)
_GET = Statement(select(*_TICKET).where(_OF, _T.number == _p("number")))
_HELD = Statement(
    select(*_TICKET)
    .where(_OF, _T.state == _LEASED, _T.holder == _p("holder"), _T.worker == _p("worker"), _LIVE)
    .order_by(_T.number)
    .limit(_p("most"))
)
_HELD_BY = Statement(
    select(*_TICKET)
    .where(_OF, _T.state == _LEASED, _ANYBODY, _T.worker == _p("worker"), _LIVE)
    .order_by(_BY_AGE)
    .limit(_p("most"))
)
_OF_RUNS = Statement(
    select(*_TICKET)
    .where(_OF, _T.state == _LEASED, _ANYBODY, _T.worker.startswith(_p("sign")))
    .order_by(_BY_AGE)
)


def _leasing(holder: Any, order: Any, *whose: Any) -> Statement:
    """Return the statement that hands out the oldest tickets that wait, to a holder."""
    oldest = (
        select(_T.number)
        .where(_OF, *whose, _T.state.in_([_OPEN, _LEASED]), _FREE, ~_HARMFUL)
        .order_by(order)
        .limit(_p("most"))
        .with_for_update(skip_locked=True)
        .correlate(None)
        .scalar_subquery()
    )
    return Statement(
        update(ticket)
        .where(_OF, OneOf(_T.number, oldest))
        .values(
            state="leased",
            holder=holder,
            worker=_p("worker"),
            attempt=_T.attempt + 1,
            failures=_T.failures + case((_T.state == _LEASED, 1), else_=0),
            leased=_p("now"),
            until=_p("end"),
        )
        .returning(*_TICKET)
    )


_LEASE = _leasing(_p("holder"), _T.number, _T.evaluator == _p("evaluator"))
_LEASE_ANY = _leasing(_T.evaluator, _BY_AGE)
_SETTLE = Statement(
    update(ticket)
    .where(_OF, _T.number == _p("number"))
    .values(
        {
            name: _p(f"new_{name}")
            for name in ("state", "holder", "worker", "attempt", "failures", "leased", "until")
        }
    )
)
_WAITS = _T.state.in_([_OPEN, _LEASED])
_VOID = Statement(update(ticket).where(_OF, _WAITS).values(state="void", worker=""))
_VOID_OF = Statement(
    update(ticket)
    .where(_OF, _T.evaluator == _p("of_evaluator"), _WAITS)
    .values(state="void", worker="")
    .returning(_T.number)
)
_OUT = Statement(
    select(
        _T.evaluator,
        func.count(),
        func.coalesce(func.sum(case((_FREE, 0), else_=1)), 0),
        func.min(case((_FREE, None), else_=_T.until)),
        func.coalesce(func.sum(case((_HARMFUL, 1), else_=0)), 0),
    )
    .where(_OF, _WAITS)
    .group_by(_T.evaluator)
)
_LOST = Statement(select(*_TICKET).where(_OF, _HARMFUL, _ANYBODY).order_by(_BY_AGE))

_EVALUATION = (
    _E.number,
    _E.ticket,
    _E.question,
    _E.score,
    _E.evaluator,
    _E.key,
    _E.standing,
    _E.event,
)
_ENTER = Statement(
    insert(evaluation).values(
        campaign=_p("id"),
        **{
            name: _p(name)
            for name in (
                "number",
                "ticket",
                "question",
                "score",
                "evaluator",
                "key",
                "standing",
                "event",
            )
        },
    )
)
_BY_KEY = Statement(
    select(*_EVALUATION).where(
        _E.campaign == _p("id"), _E.evaluator == _p("evaluator"), _E.key == _p("key")
    )
)
_BY_NUMBER = Statement(
    select(*_EVALUATION).where(_E.campaign == _p("id"), _E.number == _p("number"))
)
_MARK = Statement(
    update(evaluation)
    .where(_E.campaign == _p("id"), _E.number == _p("number"))
    .values(standing=_p("new_standing"))
)
_WITHDRAWN = Statement(
    select(_E.number).where(_E.campaign == _p("id"), _E.standing == literal_column("'withdrawn'"))
)
_ALL = Statement(
    select(*_EVALUATION)
    .where(_E.campaign == _p("id"), _E.number > _p("after"))
    .order_by(_E.number)
    .limit(_p("most"))
)

_S = snapshot.c
_KEEP = Statement(
    insert(snapshot).values(
        campaign=_p("id"),
        event=_p("event"),
        format=_p("format"),
        body=_p("body"),
        digest=_p("digest"),
    )
)
_DROP = Statement(snapshot.delete().where(_S.campaign == _p("id"), _S.event == _p("event")))
_SNAPSHOTS = Statement(
    select(_S.event, _S.format).where(_S.campaign == _p("id")).order_by(_S.event.desc())
)
_SNAPSHOT = Statement(
    select(_S.body, _S.digest).where(_S.campaign == _p("id"), _S.event == _p("event"))
)


@dataclass(frozen=True)
class TicketRow:
    """A ticket as it stands in the store; see `tables.ticket`."""

    number: int
    token: str
    question: int
    turn: int
    evaluator: str
    state: str
    holder: str
    worker: str
    attempt: int
    failures: int
    leased: float
    until: float

    def live(self, now: float) -> bool:
        """Tell whether somebody has it."""
        return self.state == "leased" and self.until > now and self.leased <= now + _SKEW


@dataclass(frozen=True)
class EvaluationRow:
    """An evaluation as it stands in the store; see `tables.evaluation`."""

    number: int
    ticket: int | None
    question: int
    score: float
    evaluator: str
    key: str
    standing: str
    event: int

    def said(self, note: str = "") -> Evaluation:
        """Return it as an event tells it."""
        who = self.evaluator, self.key
        return Evaluation(self.number, self.ticket, self.question, self.score, *who, note)


@dataclass(frozen=True)
class Waiting:
    """Tickets that wait for an answer.

    Parameters
    ----------
    open, leased
        How many nobody has, and how many are out, by the evaluator they are for.
    first_until
        When the first of the latter is over; None if none is out.
    harmful
        How many of the former nobody is to have again: see `Page.harmful`.
    """

    open: dict[str, int]
    leased: dict[str, int]
    first_until: float | None
    harmful: int


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


def withdrawn(session: Session, id: int) -> frozenset[int]:
    """Return the numbers of the evaluations that were withdrawn."""
    return frozenset(int(number) for (number,) in session.rows(_WITHDRAWN, id=id))


def snapshots(session: Session, id: int) -> list[tuple[int, int]]:
    """Return event and format of the snapshots, the newest first."""
    return [(int(at), int(format)) for at, format in session.rows(_SNAPSHOTS, id=id)]


def snapshot_at(session: Session, id: int, event: int) -> tuple[bytes, bytes] | None:
    """Return body and digest of the snapshot at an event, if it is still there."""
    row = session.row(_SNAPSHOT, id=id, event=event)
    return None if row is None else (bytes(row[0]), bytes(row[1]))


def keep_snapshot(
    session: Session, id: int, event: int, format: int, body: bytes, digest: bytes, most: int
) -> None:
    """Keep a snapshot, and only the newest ``most``."""
    kept = [at for at, _ in snapshots(session, id)]
    for at in {event, *kept[most - 1 :]}:
        session.run(_DROP, id=id, event=at)
    session.run(_KEEP, id=id, event=event, format=format, body=body, digest=digest)


def _held(
    session: Session, id: int, holder: str | None, worker: str, most: int
) -> tuple[Statement, dict[str, Any]]:
    given = {"id": id, "worker": worker, "offset": session.clock_offset, "most": most}
    return (_HELD_BY, given) if holder is None else (_HELD, given | {"holder": holder})


def foresee_held(session: Session, id: int, holder: str | None, worker: str, most: int) -> None:
    """Say that `Page.held` will be asked when the page is open."""
    statement, given = _held(session, id, holder, worker, most)
    session.foresee(statement, **given)


def foresee_told(session: Session, id: int, number: int, evaluator: str, key: str) -> None:
    """Say that `Page.ticket` and `Page.by_key` will be asked when the page is open."""
    session.foresee(_GET, id=id, number=number)
    session.foresee(_BY_KEY, id=id, evaluator=evaluator, key=key)


class Page:
    """A campaign's row, and the events that are added to it in this transaction.

    Parameters
    ----------
    session
        The transaction.
    id
        The campaign.
    lock
        Whether to keep others from writing until the transaction ends; if not, only look.

    Attributes
    ----------
    now
        The time, by the database's clock.
    """

    def __init__(self, session: Session, id: int, *, lock: bool = True) -> None:
        row = session.row(_LOCK if lock else _LOOK, id=id)
        if row is None:
            raise InputError("the campaign is no longer in the store.")
        self.session, self.id = session, id
        self.name, self.status, self.head, self.hash = row[0], row[1], int(row[2]), bytes(row[3])
        self.version, self.tickets, self.evaluations = int(row[4]), int(row[5]), int(row[6])
        self.counted = int(row[7])
        self.now = session.time(row[8])
        if lock:
            session.found(id, self.head)
        self._events: list[Event] = []

    @classmethod
    def new(cls, session: Session, name: str) -> Page:
        """Make the row of a new campaign."""
        (id,) = session.row(_NEW, name=name, hash=START)
        return cls(session, int(id))

    def follows(self, version: int, number: int, seal: str) -> bool:
        """Tell whether the campaign is at a version, and its log has an event that was seen.

        A server may show what it then loses in a crash: nobody was told that it is kept, but
        somebody may have looked.
        """
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
        self.session.run_many(
            _APPEND,
            [
                {
                    "id": self.id,
                    "number": e.number,
                    "at": e.at,
                    "kind": e.kind,
                    "body": e.body,
                    "hash": e.hash,
                }
                for e in self._events
            ],
        )
        self.session.run(
            _TURN,
            id=self.id,
            new_status=self.status,
            new_head=self.head,
            new_hash=self.hash,
            new_version=self.version,
            new_tickets=self.tickets,
            new_evaluations=self.evaluations,
            new_counted=self.counted,
        )
        self.session.left(self.id, self.head)
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

    def held(self, holder: str | None, worker: str, most: int) -> list[TicketRow]:
        """Return the tickets that somebody has and has not answered, the oldest first.

        Without a holder, those of a worker, whoever they are for.
        """
        statement, given = _held(self.session, self.id, holder, worker, most)
        return [TicketRow(*row) for row in self.session.rows(statement, **given)]

    def held_by_workers(self, sign: str) -> list[TicketRow]:
        """Return the tickets that were handed out to workers whose names begin so."""
        return [TicketRow(*row) for row in self.session.rows(_OF_RUNS, id=self.id, sign=sign)]

    def lease(
        self, evaluator: str | None, holder: str, worker: str, until: float, most: int, tries: int
    ) -> list[TicketRow]:
        """Hand out the oldest tickets that wait for an evaluator, so many at most.

        Without an evaluator, those that wait for anybody, each under the name of whom it is for.
        One whose lease ran out has come to nothing once more, and is left where it is after so many
        ``tries``.
        """
        given = {
            "id": self.id,
            "worker": worker,
            "now": self.now,
            "end": until,
            "most": most,
            "tries": tries,
        }
        if evaluator is None:
            rows = self.session.rows(_LEASE_ANY, **given)
        else:
            rows = self.session.rows(_LEASE, evaluator=evaluator, holder=holder, **given)
        return sorted((TicketRow(*row) for row in rows), key=lambda row: row.number)

    def settle(self, row: TicketRow, state: str, **changes: Any) -> None:
        """Change the state of a ticket, and what else is named; nobody has what is given back."""
        new = {
            "new_holder": row.holder,
            "new_worker": row.worker,
            "new_attempt": row.attempt,
            "new_failures": row.failures,
            "new_leased": row.leased,
            "new_until": row.until,
        }
        if state in ("open", "failed", "void"):
            new |= {"new_holder": "", "new_worker": "", "new_until": 0.0}
        new |= {f"new_{name}": value for name, value in changes.items()}
        self.session.run(_SETTLE, id=self.id, number=row.number, new_state=state, **new)

    def void(self) -> None:
        """Take back all tickets that were not answered."""
        self.session.run(_VOID, id=self.id)

    def void_of(self, evaluator: str) -> list[int]:
        """Take back the tickets of an evaluator that were not answered; return their numbers."""
        rows = self.session.rows(_VOID_OF, id=self.id, of_evaluator=evaluator)
        return sorted(int(number) for (number,) in rows)

    def harmful(self, tries: int) -> list[TicketRow]:
        """Return the tickets that came to nothing so often, and were lost by the last who had one.

        What makes a worker die makes the next one die, too.
        """
        rows = self.session.rows(_LOST, id=self.id, now=self.now, tries=tries)
        return [TicketRow(*row) for row in rows]

    def waiting(self, tries: int) -> Waiting:
        """Return what waits for an answer; of that, what came to nothing so often."""
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
        self.session.run(_MARK, id=self.id, number=number, new_standing=standing)
