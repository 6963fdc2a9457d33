"""An evaluator's seat in a campaign: what he can do, and all that he ever receives.

Pages and programs both sit here. What leaves is made from names of options, declared columns, the
scale, and the evaluator's own counts. Groups, scores, estimates, prices, others' names and work,
and why something is asked do not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeGuard

from fastapi import Request
from pydantic import BaseModel, Field

from evenhand.campaigns import Campaign
from evenhand.campaigns.arguments import checked_reason
from evenhand.campaigns.holdings import due_of
from evenhand.campaigns.ledger import Page, events_after
from evenhand.campaigns.sheets import score_in
from evenhand.campaigns.state import NOTHING, EvaluationState, TicketState
from evenhand.campaigns.tell import ScoreDesk, checked, declined_on, withdraw
from evenhand.campaigns.tickets import Notice, Receipt, Ticket, parsed
from evenhand.errors import ConflictError, EvenhandError, InputError, StoreError
from evenhand.serve.guard import JUDGE, RefusedError, holder

NOTHING_NOW = {
    "waiting": "There is nothing for you just now; more may come.",
    "not now": "There is nothing for you just now; more may come.",
    "paused": "This is paused; come back later.",
    "blocked": "This waits for whoever runs it; come back later.",
    "left": "You are not asked any more. If that is a mistake, tell whoever invited you.",
    "finished": "It is finished. There is nothing more to do.",
}
"""Why there is nothing to judge, as evaluators are told: the campaign's own words name others."""
"""What the record says of a score that was undone."""
_NOT_YOURS = "This question is not yours any more. Open the page again."
_RESTS = (
    "This score cannot be taken back any more: others were asked since. If it was a slip, tell "
    "whoever invited you, who can withdraw it."
)
_FEW = 11  # steps of a scale that are buttons
_MOST_EVENTS = 500  # since a score, that are looked through before it can be taken back


class Thing(BaseModel):
    """What is to be judged: its name, and what was declared to be shown."""

    name: str
    shown: dict[str, str]


class Scale(BaseModel):
    """Which scores can be given, and each of them where they are few."""

    kind: Literal["number", "slider", "buttons", "vote", "verdict", "grade"]
    low: float | None
    high: float | None
    steps: list[int | str] = []
    best: Literal["high", "low"]
    wanted: str


class Asked(BaseModel):
    """A ticket, which try of it this is, what to judge, and for how long it is held."""

    ticket: str = Field(pattern="^[0-9]{1,18}-[0-9a-f]{6}$")
    attempt: int = Field(ge=1)
    evaluator: str
    things: list[Thing] = Field(min_length=1, max_length=2)
    scale: Scale
    until: float = Field(description="Seconds since 1970.")


class NotAsked(BaseModel):
    """Why there is no ticket, and in how many seconds there may be one, if that is known."""

    ticket: None = None
    evaluator: str
    reason: Literal["waiting", "not now", "paused", "blocked", "left", "finished"]
    why: str
    again_in: float | None = Field(ge=0.0)


class Progress(BaseModel):
    """How an evaluator stands: what counts, and what waits."""

    evaluator: str
    done: int = Field(ge=0)
    open: int = Field(ge=0)


class Seat:
    """What one evaluator can do in one campaign."""

    def __init__(self, request: Request) -> None:
        """Take the seat of who makes a request, or refuse."""
        access = holder(request, JUDGE)
        if access.role != "evaluator" or access.campaign is None:
            raise RefusedError(403, "This link is not for judging.")
        self.access, self.name = access, access.evaluator
        self._campaign: Campaign = request.app.state.opened(access.campaign)
        self.follower = self._campaign._follower

    def ask(self, ticket: str = "") -> Asked | NotAsked:
        """Return a ticket that is open, or what is next."""
        row = self._row(ticket) if ticket else None
        if row is not None and row.state in ("open", "leased"):
            return self.asked(self.follower.ticket(row))
        try:
            next_one = self._campaign.ask(self.name)
        except StoreError:
            raise
        except EvenhandError:  # its words are for the owner
            raise RefusedError(
                503, "Nothing can be asked just now. Tell whoever invited you."
            ) from None
        if isinstance(next_one, Ticket):
            return self.asked(next_one)
        again = next_one.again_in
        soon = again if again is not None and again < 1e9 else None
        why: Any = {"reason": next_one.reason, "why": NOTHING_NOW[next_one.reason]}
        return NotAsked(evaluator=self.name, again_in=soon, **why)

    def typed(self, text: str) -> float | str:
        """Return the score that somebody typed: a number, or one of the words of the scale."""
        if not text.strip():
            raise InputError("choose a score first.")
        return score_in(text, self.follower.reading)

    def tell(self, ticket: str, score: float | str, note: str, attempt: int) -> Receipt:
        """Take a score; the same again is the first receipt again."""

        def work(page: Page) -> Receipt:
            row = self._own(page.ticket(_parsed(ticket)[0]), ticket)
            told = replace(self.follower.ticket(row), holder=self.name, attempt=attempt)
            replies = checked(self.follower, [(told, score, None)], note.strip())
            try:
                (receipt,) = ScoreDesk(page).take(replies)
            except ConflictError:
                raise ConflictError(
                    "You gave another score for this before, and that stands. If it was a slip, "
                    "tell whoever invited you, who can withdraw it."
                ) from None
            return receipt

        receipt: Receipt = self.follower.write(work)
        return receipt

    def decline(self, ticket: str, reason: str) -> Notice:
        """Give a ticket back that the evaluator must not judge; others are asked."""
        why = checked_reason(reason)

        def work(page: Page) -> Notice:
            self._own(page.ticket(_parsed(ticket)[0]), ticket)
            return declined_on(page, ticket, why)

        notice: Notice = self.follower.write(work)
        return notice

    def can_undo(self, ticket: str) -> bool:
        """Tell whether a score can be taken back: nothing was decided or asked by it since."""
        if not ticket:
            return False
        row = self._row(ticket)
        if row is None:
            return False
        return self.follower.read(lambda page: self._last(page, row)) is not None

    def undo(self, ticket: str) -> None:
        """Take a score back, so that its ticket can be answered again."""
        number = _parsed(ticket)[0]

        def found(page: Page) -> EvaluationState:
            last = self._last(page, self._own(page.ticket(number), ticket))
            if last is None:
                raise RefusedError(409, _RESTS)
            return last

        def check(page: Page, row: EvaluationState) -> None:
            if found(page).said.number != row.said.number:
                raise RefusedError(409, _RESTS)

        last = self.follower.read(found)
        withdraw(self.follower, last.said.number, "", blind=True, check=check, code="undone")

    @property
    def planned(self) -> bool:
        """Whether it is known beforehand how much each evaluator is asked."""
        return bool(self.follower.known().settings["looks"] == "once")

    def progress(self) -> Progress:
        """Return how many scores of this evaluator count, and how many more are wanted."""
        done = self.follower.state().tally.get(self.name, NOTHING)["evaluations"]
        waits = due_of(self._campaign).get(self.name, 0)
        return Progress(evaluator=self.name, done=done, open=waits)

    def asked(self, ticket: Ticket) -> Asked:
        """Return a ticket as its holder sees it."""
        labels = ticket.question.labels
        shown = [*ticket.shown, *({} for _ in labels)][: len(labels)]
        things = [
            Thing(name=label, shown=dict(columns))
            for label, columns in zip(labels, shown, strict=True)
        ]
        return Asked(
            ticket=ticket.id, attempt=ticket.attempt, evaluator=self.name, things=things,
            scale=self._scale(), until=ticket.until,
        )  # fmt: skip

    def _scale(self) -> Scale:
        """Return the scale as it was declared, and how it is best filled in."""
        reading = self.follower.reading
        words = reading.kind == "verdicts" or bool(reading.grades)
        low, high = (None, None) if words else (reading.cells or (None, None))
        kind, steps = "number", list[Any]()
        if reading.kind == "verdicts":
            kind = "verdict"
        elif reading.grades:
            kind, steps = "grade", list(reading.grades)
        elif reading.kind == "votes":
            kind, steps = "vote", [0, 1]
        elif isinstance(low, float) and isinstance(high, float):
            few = low == int(low) and high == int(high) and high - low < _FEW
            kind, steps = ("buttons", [*range(int(low), int(high) + 1)]) if few else ("slider", [])
        how: Any = {"kind": kind, "low": low, "high": high, "best": reading.best}
        return Scale(steps=steps, wanted=reading.wanted(), **how)

    def _row(self, ticket: str) -> TicketState | None:
        """Return a ticket as it stands; None if it is not this evaluator's."""
        number, token = parsed(ticket)
        row = self.follower.read(lambda page: page.ticket(number))
        return row if self._is_own(row, token) else None

    def _is_own(self, row: TicketState | None, token: str) -> TypeGuard[TicketState]:
        if row is None or row.token != token:
            return False
        return self.name in (row.evaluator, row.holder)

    def _own(self, row: TicketState | None, ticket: str) -> TicketState:
        """Return the row of a ticket, or refuse if it is not this evaluator's."""
        if not self._is_own(row, _parsed(ticket)[1]):
            raise RefusedError(403, _NOT_YOURS)
        return row

    def _last(self, page: Page, row: TicketState) -> EvaluationState | None:
        """Return the evaluation of a ticket if it counts and nothing rests on it."""
        if row.state != "done":
            return None
        found = page.state.evaluations[page.state.answers[row.number]]
        if found.said.evaluator != self.name:
            return None
        since = events_after(page.session, page.id, found.event, _MOST_EVENTS)
        rests = {"planned", "decided"}
        if not self.planned:
            rests.add("proposed")
        if len(since) == _MOST_EVENTS or any(event.kind in rests for event in since):
            return None
        return found


def _parsed(ticket: str) -> tuple[int, str]:
    """Return number and token of a ticket, or refuse what is none."""
    try:
        return parsed(ticket)
    except InputError:
        raise RefusedError(403, _NOT_YOURS) from None
