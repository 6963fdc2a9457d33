"""What becomes of tickets: answered, failed, given back, or held for longer.

A ticket says how often it was handed out. Once its lease expired and it went to somebody else, the
first holder can no longer give it back; his score still counts if it is the first. Every operation
is idempotent: repeated, it returns what the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.answers.question import Question, Reply
from evenhand.arrays import whole_number
from evenhand.campaigns.arguments import checked_name, checked_reason, checked_seconds
from evenhand.campaigns.events import Evaluation, Kind, evaluations_to
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.lifecycle import mend
from evenhand.campaigns.state import EvaluationState, TicketState
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
    return follower.write(lambda page: ScoreDesk(page).take(replies))


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

    def __init__(self, page: Page) -> None:
        self.page = page
        self._new: dict[Kind, list[Evaluation]] = {"told": [], "late": []}
        self._keys: dict[tuple[str, str], tuple[Evaluation, str]] = {}  # in this transaction
        self._done: set[int] = set()  # tickets, likewise

    def take(self, replies: list[TicketReply]) -> list[Receipt]:
        """Take scores; a refused one undoes all."""
        receipts = [self.one(reply) for reply in replies]
        self.close()
        return receipts

    def close(self) -> None:
        """Write down what was taken."""
        # on time first, as they were numbered
        for kind, some in self._new.items():
            if some:
                self.page.append(kind, evaluations_to(some))

    def one(self, reply: TicketReply) -> Receipt:
        """Take a score, as `close` will write it down."""
        state, row = self.page.state, row_of(self.page, reply.id)
        who = reply.ticket.holder if reply.ticket else row.holder or row.evaluator
        for key in _keys(reply, row):
            before = self._known(who, key)
            if before is None:
                continue
            if key in (reply.key, _key(reply, row.attempt)) or before[0].score == reply.score:
                return _again(*before, reply, key)
        finished, done = state.status == "finished", row.number in self._done
        late = finished or done or row.state not in ("open", "leased")
        number = len(state.evaluations) + sum(map(len, self._new.values())) + 1
        key = _key(reply, row.attempt)
        asked = row.number, row.question, reply.score
        said = Evaluation(number, *asked, who, key, reply.note, reply.cost)
        self._new["late" if late else "told"].append(said)
        self._keys[who, key] = said, "late" if late else "counted"
        if not late:
            self._done.add(row.number)
            return Receipt(number, True)
        why = "the campaign was finished" if finished else _LATE["done" if done else row.state]
        return Receipt(number, False, why=why)

    def note_of(self, number: int) -> str:
        """Return the note that an evaluation has; "" if none."""
        there = self.page.state.evaluations.get(number)
        new = [one for some in self._new.values() for one in some if one.number == number]
        return there.said.note if there else new[0].note

    def _known(self, who: str, key: str) -> tuple[Evaluation, str] | None:
        """Return the evaluation that somebody told under a key, and how it stands."""
        number = self.page.state.keys.get((who, key))
        if number is None:
            return self._keys.get((who, key))
        there = self.page.state.evaluations[number]
        return there.said, there.standing


def _again(before: Evaluation, standing: str, reply: TicketReply, key: str) -> Receipt:
    """Return the first receipt again, or say that this is something else."""
    if before.ticket != reply.number or before.score != reply.score:
        was = ", and was withdrawn" if standing.startswith("withdrawn") else ""
        raise ConflictError(
            f"{key!r} was told before, as evaluation {before.number} of ticket {before.ticket} "
            f"with score {before.score!r}{was}; now it is ticket {reply.number} with "
            f"{reply.score!r}. Nothing was changed. Where the first was a slip, withdraw it, ask "
            "again, and tell that."
        )
    why = {"counted": "", "late": "it came late"}.get(standing, "it was withdrawn")
    return Receipt(before.number, standing == "counted", repeated=True, why=why)


def _key(reply: TicketReply, attempt: int) -> str:
    """Return what a score is told under: if nothing is said, its ticket and which try that is."""
    if reply.key is not None:
        return reply.key
    return key_of(reply.id, reply.ticket.attempt if reply.ticket else attempt)


def key_of(id: str, attempt: int) -> str:
    """Return under what the score of a ticket is told, by which try that is."""
    return id if attempt <= 1 else f"{id}.{attempt}"


def _keys(reply: TicketReply, row: TicketState) -> list[str]:
    """Return under what a score may have been told before."""
    # Who names a ticket by its id alone does not say which try it was: any of them.
    if reply.key is not None or reply.ticket is not None or row.attempt <= 1:
        return [_key(reply, row.attempt)]
    return [key_of(reply.id, attempt) for attempt in range(1, row.attempt + 1)]


def row_of(page: Page, id: str) -> TicketState:
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
    check: Callable[[Page, EvaluationState], None] | None = None,
    **code: str,
) -> Receipt:
    """Have an evaluation count no more; its ticket waits for another score."""
    # `check` may refuse by raising, in the transaction in which it is withdrawn.
    if not isinstance(blind, bool):
        raise InputError(f"blind must be True or False; got {blind!r}.")
    number = evaluation.evaluation if isinstance(evaluation, Receipt) else evaluation
    number = whole_number("evaluation", number, 1, 2**62)
    reason = checked_reason(reason)

    def change(page: Page) -> Receipt:
        state = page.state
        there = state.evaluations.get(number)
        if there is None:
            raise InputError(
                f"there is no evaluation {number} in campaign {follower.name!r}; there are "
                f"{len(state.evaluations)} so far."
            )
        if check is not None:
            check(page, there)
        if there.gone:
            return Receipt(number, False, repeated=True, why="it was withdrawn")
        if there.standing == "late":
            raise InputError(f"evaluation {number} came late and does not count; it can stay.")
        ticket = there.said.ticket
        reopened = ticket is not None and state.tickets[ticket].evaluator not in state.left
        why = {"reason": reason, "blind": blind, "reopened": reopened}
        page.append("withdrawn", {"evaluation": number, "ticket": ticket} | why | code)
        waits = "; its ticket waits for another score" if reopened else ""
        return Receipt(number, False, why=f"it was withdrawn{waits}")

    return follower.write(change)


def fail(follower: Follower, ticket: Ticket | str, reason: Any) -> Notice:
    """Give a ticket back that could not be answered; after some tries it is given up."""
    reason = checked_reason(reason)
    retries = follower.known().settings["retries"]

    def work(page: Page, row: TicketState) -> Notice:
        given_up = row.failures + 1 > retries
        why = {"reason": reason, "given_up": given_up}
        page.append("failed", {"ticket": row.number, "holder": row.holder} | why)
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
    waiting = page.state.waiting_for(row.evaluator)
    tickets = sorted(one.number for one in waiting if one.question == row.question)
    declined = {"question": row.question, "holder": row.holder, "reason": reason}
    page.append("declined", declined | {"tickets": tickets})
    return Notice(True, _DECLINED.format(who=row.evaluator))


def release(follower: Follower, *tickets: Ticket | str) -> list[Notice]:
    """Give tickets back for somebody else, or for later."""

    def work(page: Page, row: TicketState) -> Notice:
        page.append("released", {"ticket": row.number, "holder": row.holder})
        return Notice(True, _AGAIN)

    return _given_back(follower, tickets, work)


def end_lease(follower: Follower, ticket: Ticket) -> None:
    """Let the lease of a ticket expire now: its holder is known to be dead."""

    def work(page: Page, row: TicketState) -> Notice:
        _prolong(page, row, page.now)
        return Notice(True, _AGAIN)

    _given_back(follower, [ticket], work)


def renew(follower: Follower, ticket: Ticket | str, lease: Any) -> Ticket | NoTicket:
    """Hold a ticket for a further lease, from now on."""
    span = follower.known().settings["lease"] if lease is None else checked_seconds(lease)

    def work(page: Page) -> TicketState | NoTicket:
        row, gone = _found(page, ticket)
        if gone or row.state != "leased":
            return NoTicket("not now", gone or "the ticket was given back", None)
        return _prolong(page, row, page.now + span)

    kept = follower.write(work)
    return kept if isinstance(kept, NoTicket) else follower.ticket(kept)


def _prolong(page: Page, row: TicketState, until: float) -> TicketState:
    """Have a lease end at another time."""
    page.append("renewed", {"ticket": row.number, "holder": row.holder, "until": until})
    return page.state.tickets[row.number]


def _given_back(
    follower: Follower,
    tickets: Iterable[Ticket | str],
    work: Callable[[Page, TicketState], Notice],
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


def _found(page: Page, ticket: Ticket | str) -> tuple[TicketState, str]:
    """Return a ticket's row, and why the ticket is no longer the caller's, if it is not."""
    row = row_of(page, ticket.id if isinstance(ticket, Ticket) else str(ticket))
    if row.state == "done":
        return row, "the ticket was answered"
    if row.state == "void":
        return row, "the ticket is no longer wanted"
    if isinstance(ticket, Ticket) and ticket.attempt != row.attempt:
        return row, "the lease was over, and the ticket was handed out again"
    return row, ""
