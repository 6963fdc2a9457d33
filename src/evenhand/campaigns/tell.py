"""What becomes of tickets: answered, failed, given back, or held for longer.

A ticket says how often it was handed out. Once its lease expired and it went to somebody else, the
first holder can no longer give it back; his score still counts if it is the first. Every operation
is idempotent: repeated, it returns what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.answers.question import Question, Reply
from evenhand.arrays import whole_number
from evenhand.campaigns.arguments import (
    checked_name,
    checked_reason,
    checked_seconds,
)
from evenhand.campaigns.events import Evaluation, Kind, evaluations_in, evaluations_to
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import (
    BLIND,
    EvaluationRow,
    Page,
    TicketRow,
    events_after,
)
from evenhand.campaigns.lifecycle import changed, mend, reopen
from evenhand.campaigns.replica import Replica
from evenhand.campaigns.stores import Session
from evenhand.campaigns.tickets import Notice, NoTicket, Receipt, Ticket, identifier, parsed
from evenhand.errors import ConflictError, InputError

_LATE = {
    "done": "another score for the ticket came first",
    "failed": "the ticket had been given up",
    "void": "the ticket was no longer wanted",
}
_AGAIN = "it waits for the next try"
_GIVEN_UP = "it is given up"
_DECLINED = "{who} is never asked it again"


@dataclass(frozen=True)
class TicketReply:
    """A score for a ticket, checked as far as it can be without the store."""

    id: str
    score: float
    ticket: Ticket | None = None  # None if the caller knows only its id
    key: str | None = None
    note: str = ""
    cost: float | None = None  # what it really cost; None: its price

    @property
    def number(self) -> int:
        """Number of the ticket."""
        return parsed(self.id)[0]


def tell(follower: Follower, told: Iterable[tuple[Any, Any, Any]], note: Any = "") -> list[Receipt]:
    """Take (ticket, score, key), all or none; a note goes with all of them."""
    replies = checked(follower, told, note)
    return follower.store.write(lambda session: ScoreDesk(session, follower).take(replies))


def checked(
    follower: Follower, told: Iterable[tuple[Any, Any, Any]], note: Any = ""
) -> list[TicketReply]:
    """Return (ticket, score, key) as they can be taken, or say what is wrong with them."""
    # A score may be a `Reply`: then what was said is the note, unless there is another.
    reading, note = follower.reading, checked_reason(note, "note")
    replies = []
    for given, score, key in _triples(told):
        if isinstance(given, NoTicket):
            raise InputError(f"this is no ticket; there was none, since {given.why}.")
        ticket = given if isinstance(given, Ticket) else None
        id = identifier(*parsed(ticket.id if ticket else given))
        question = ticket.question if ticket else Question(0, f"ticket {given}", parsed(id)[0])
        reply = Reply.of(score)
        value = reading.replied(question, reply.score)
        if key is not None:
            checked_name(key, "key")
        beside = note or checked_reason(reply.said, "said")
        replies.append(TicketReply(id, value, ticket, key, beside, reply.cost))
    return replies


def _triples(told: Iterable[Any]) -> list[tuple[Any, Any, Any]]:
    """Return what is told, or say that it is not three things each."""
    if isinstance(told, str | Mapping) or not isinstance(told, Iterable):
        raise InputError(f"scores are told as a list of (ticket, score, key); got {told!r}.")
    triples = []
    for place, one in enumerate(told):
        if isinstance(one, str) or not isinstance(one, Sequence) or len(one) != 3:
            raise InputError(
                f"scores are told as (ticket, score, key), and None for a key that is of no "
                f"matter; number {place} is {one!r}. Nothing was changed."
            )
        triples.append(tuple(one))
    return triples


class ScoreDesk:
    """Takes scores in one transaction."""

    def __init__(self, session: Session, follower: Follower) -> None:
        self.page = Page(session, follower.id)
        self._entered: dict[tuple[str, str], EvaluationRow] = {}  # in this transaction
        self._beside: dict[int, TicketReply] = {}  # likewise, by evaluation

    def take(self, replies: list[TicketReply]) -> list[Receipt]:
        """Take scores; a refused one undoes all."""
        receipts = [self.one(reply) for reply in replies]
        self.close()
        return receipts

    def close(self) -> None:
        """Write down what was taken."""
        self._write("told", "counted")
        self._write("late", "late")
        self.page.close()

    def _write(self, kind: Kind, standing: str) -> None:
        rows = [row for row in self._entered.values() if row.standing == standing]
        if rows:
            said = [self._said(row) for row in rows]
            at = self.page.append(kind, evaluations_to(said))
            self.page.enter(replace(row, event=at) for row in rows)

    def _said(self, row: EvaluationRow) -> Evaluation:
        """Return an evaluation of this transaction as its event tells it."""
        beside = self._beside[row.number]
        return row.said()._replace(note=beside.note, cost=beside.cost)

    def one(self, reply: TicketReply) -> Receipt:
        """Take a score, as `close` will write it down."""
        page, row = self.page, row_of(self.page, reply.id)
        who = reply.ticket.holder if reply.ticket else row.holder or row.evaluator
        for key in _keys(reply, row):
            before = self._entered.get((who, key)) or page.by_key(who, key)
            if before is not None and (key == reply.key or key == _key(reply, row.attempt)):
                return self._again(before, reply, key)
            if before is not None and before.score == reply.score:
                return self._again(before, reply, key)
        late = row.state not in ("open", "leased") or page.status == "finished"
        page.evaluations += 1
        self._beside[page.evaluations] = reply
        key = _key(reply, row.attempt)
        standing = "late" if late else "counted"
        self._entered[who, key] = EvaluationRow(
            page.evaluations, row.number, row.question, reply.score, who, key, standing, 0
        )
        if late:
            finished = page.status == "finished"
            why = "the campaign was finished" if finished else _LATE[row.state]
            return Receipt(page.evaluations, False, why=why)
        page.counted += 1
        page.settle(row, "done", holder=who)
        return Receipt(page.evaluations, True)

    def note_of(self, evaluation: int) -> str:
        """Return the note that an evaluation has; "" if none."""
        row = self.page.evaluation(evaluation)
        if row is None:  # it is of this transaction
            return self._beside[evaluation].note if evaluation in self._beside else ""
        (event,) = events_after(self.page.session, self.page.id, row.event - 1, 1)
        (note,) = (e.note for e in evaluations_in(event.content) if e.number == evaluation)
        return note

    def _again(self, before: EvaluationRow, reply: TicketReply, key: str) -> Receipt:
        """Return the first receipt again, or say that this is something else."""
        if before.ticket != reply.number or before.score != reply.score:
            was = ", and was withdrawn" if before.gone else ""
            raise ConflictError(
                f"{key!r} was told before, as evaluation {before.number} of ticket {before.ticket} "
                f"with score {before.score!r}{was}; now it is ticket {reply.number} with "
                f"{reply.score!r}. Nothing was changed. Where the first was a slip, withdraw it, "
                "ask again, and tell that."
            )
        why = {"counted": "", "late": "it came late"}.get(before.standing, "it was withdrawn")
        return Receipt(before.number, before.standing == "counted", repeated=True, why=why)


def _key(reply: TicketReply, attempt: int) -> str:
    """Return what a score is told under: if nothing is said, its ticket and which try that is."""
    if reply.key is not None:
        return reply.key
    return key_of(reply.id, reply.ticket.attempt if reply.ticket else attempt)


def key_of(id: str, attempt: int) -> str:
    """Return under what the score of a ticket is told, by which try that is."""
    return id if attempt <= 1 else f"{id}.{attempt}"


def _keys(reply: TicketReply, row: TicketRow) -> list[str]:
    """Return under what a score may have been told before."""
    # Who names a ticket by its id alone does not say which try it was: any of them.
    if reply.key is not None or reply.ticket is not None or row.attempt <= 1:
        return [_key(reply, row.attempt)]
    return [key_of(reply.id, attempt) for attempt in range(1, row.attempt + 1)]


def row_of(page: Page, id: str) -> TicketRow:
    """Return the row of a ticket by its id, or say that there is none."""
    number, token = parsed(id)
    row = page.ticket(number)
    if row is None or row.token != token:
        raise InputError(
            f"there is no ticket {id!r} in campaign {page.name!r}; give what `ask` said."
        )
    return row


def withdraw(
    follower: Follower,
    evaluation: Any,
    reason: Any,
    blind: Any = False,
    check: Callable[[Page, EvaluationRow], None] | None = None,
) -> Receipt:
    """Have an evaluation count no more; its ticket waits for another score."""
    # `check` may refuse by raising, in the transaction in which it is withdrawn.
    if not isinstance(blind, bool):
        raise InputError(f"blind must be True or False; got {blind!r}.")
    number = evaluation.evaluation if isinstance(evaluation, Receipt) else evaluation
    number = whole_number("evaluation", number, 1, 2**62)
    reason = checked_reason(reason)

    def change(replica: Replica, page: Page) -> Receipt:
        row = page.evaluation(number)
        if row is None:
            raise InputError(
                f"there is no evaluation {number} in campaign {follower.name!r}; there are "
                f"{page.evaluations} so far."
            )
        if check is not None:
            check(page, row)
        if row.gone:
            return Receipt(number, False, repeated=True, why="it was withdrawn")
        if row.standing == "late":
            raise InputError(f"evaluation {number} came late and does not count; it can stay.")
        ticket = None if row.ticket is None else page.ticket(row.ticket)
        reopened = ticket is not None and ticket.evaluator not in replica.left
        if ticket is not None:
            state = "open" if reopened else "void"
            page.settle(ticket, state, attempt=ticket.attempt + 1)
        page.mark(number, BLIND if blind else "withdrawn")
        page.counted -= 1
        page.append(
            "withdrawn",
            {
                "evaluation": number,
                "ticket": row.ticket,
                "reason": reason,
                "blind": blind,
                "reopened": reopened,
            },
        )
        reopen(page)
        waits = "; its ticket waits for another score" if reopened else ""
        return Receipt(number, False, why=f"it was withdrawn{waits}")

    return changed(follower, change)


# ---------------------------------------------------------------------- without a score


def fail(follower: Follower, ticket: Ticket | str, reason: Any) -> Notice:
    """Give a ticket back that could not be answered; after some tries it is given up."""
    reason = checked_reason(reason)
    retries = follower.known().settings["retries"]

    def work(page: Page, row: TicketRow) -> Notice:
        given_up = row.failures + 1 > retries
        page.append(
            "failed",
            {"ticket": row.number, "holder": row.holder, "reason": reason, "given_up": given_up},
        )
        page.settle(row, "failed" if given_up else "open", failures=row.failures + 1)
        return Notice(True, _GIVEN_UP if given_up else _AGAIN)

    (notice,) = _given_back(follower, [ticket], work)
    if notice.why == _GIVEN_UP:
        mend(follower)
    return notice


def decline(follower: Follower, ticket: Ticket | str, reason: Any) -> Notice:
    """Never ask an evaluator a question again, such as for a conflict of interest."""
    reason = checked_reason(reason)
    return follower.write(lambda page: declined_on(page, ticket, reason))


def declined_on(page: Page, ticket: Ticket | str, reason: str) -> Notice:
    """Write down that an evaluator declines, in a transaction."""
    row, gone = _found(page, ticket)
    if gone:
        return Notice(False, gone)
    if not row.evaluator:
        raise InputError(
            f"ticket {row.id} is for anybody, so nobody in "
            "particular can decline it; release gives it back to whoever asks next."
        )
    declined = {"question": row.question, "holder": row.holder, "reason": reason}
    page.append("declined", declined | {"tickets": page.void_on(row.question)})
    return Notice(True, _DECLINED.format(who=row.evaluator))


def release(follower: Follower, *tickets: Ticket | str) -> list[Notice]:
    """Give tickets back for somebody else, or for later."""

    def work(page: Page, row: TicketRow) -> Notice:
        page.append("released", {"ticket": row.number, "holder": row.holder})
        page.settle(row, "open")
        return Notice(True, _AGAIN)

    return _given_back(follower, tickets, work)


def end_lease(follower: Follower, ticket: Ticket) -> None:
    """Let the lease of a ticket expire now: its holder is known to be dead."""

    def work(page: Page, row: TicketRow) -> Notice:
        _prolong(page, row, page.now)
        return Notice(True, _AGAIN)

    _given_back(follower, [ticket], work)


def renew(follower: Follower, ticket: Ticket | str, lease: Any) -> Ticket | NoTicket:
    """Hold a ticket for a further lease, from now on."""
    span = follower.known().settings["lease"] if lease is None else checked_seconds(lease)

    def work(page: Page) -> TicketRow | NoTicket:
        row, gone = _found(page, ticket)
        if gone or row.state != "leased":
            return NoTicket("not now", gone or "the ticket was given back", None)
        return _prolong(page, row, page.now + span)

    kept = follower.write(work)
    return kept if isinstance(kept, NoTicket) else follower.ticket(kept)


def _prolong(page: Page, row: TicketRow, until: float) -> TicketRow:
    """Have a lease end at another time."""
    page.append("renewed", {"ticket": row.number, "holder": row.holder, "until": until})
    page.settle(row, "leased", leased=page.now, until=until)
    return replace(row, leased=page.now, until=until)


def _given_back(
    follower: Follower,
    tickets: Iterable[Ticket | str],
    work: Callable[[Page, TicketRow], Notice],
) -> list[Notice]:
    """Do something with each ticket that is leased to the caller; say what became of the others."""

    def one(page: Page, ticket: Ticket | str) -> Notice:
        row, gone = _found(page, ticket)
        if gone:
            return Notice(False, gone)
        if row.state == "leased":
            return work(page, row)
        return Notice(True, _GIVEN_UP if row.state == "failed" else _AGAIN)

    given = list(tickets)
    return follower.write(lambda page: [one(page, ticket) for ticket in given]) if given else []


def _found(page: Page, ticket: Ticket | str) -> tuple[TicketRow, str]:
    """Return a ticket's row, and why the ticket is no longer the caller's, if it is not."""
    row = row_of(page, ticket.id if isinstance(ticket, Ticket) else str(ticket))
    if row.state == "done":
        return row, "the ticket was answered"
    if row.state == "void":
        return row, "the ticket is no longer wanted"
    if isinstance(ticket, Ticket) and ticket.attempt != row.attempt:
        return row, "the lease was over, and the ticket was handed out again"
    return row, ""
