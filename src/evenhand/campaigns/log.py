"""What the log says of tickets and evaluations: the fold over events that exports, reports and
verification share. (`Replica` is what it comes to for the policy.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evenhand.campaigns import ledger
from evenhand.campaigns.events import TURNS, Evaluation, Event, evaluations_in
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import BLIND, NOBODY, SKEW, EvaluationRow, TicketRow

_PIECE = 4096  # events that are read at once
_BECOMES = {"paused": "paused", "resumed": "running", "decided": "finished"}
_REOPENS = ("extended", "withdrawn", "joined")
_WAITS = ("open", "leased")


def events_of(follower: Follower) -> Iterator[Event]:
    """Give all events of a campaign, a piece at a time."""
    after = 0
    while True:
        piece = partial(ledger.events_after, id=follower.id, after=after, most=_PIECE)
        events = follower.store.read(piece)
        yield from events
        if len(events) < _PIECE:
            return
        after = events[-1].number


class Log:
    """Tickets and evaluations by their numbers, as rows of the tables, and what does not fit.

    ``said`` has when an evaluation came, and what its event says of it.
    """

    def __init__(self) -> None:
        self.status, self.version = "running", 0
        self.tickets: dict[int, TicketRow] = {}
        self.evaluations: dict[int, EvaluationRow] = {}
        self.said: dict[int, tuple[float, Evaluation]] = {}
        self.wrong: list[str] = []
        self._keys: set[tuple[str, str]] = set()
        self._whose: dict[int, str] = {}  # evaluators, by the numbers of their questions

    @classmethod
    def of(cls, follower: Follower) -> Log:
        """Return what the log of a campaign says now."""
        log = cls()
        for event in events_of(follower):
            log.take(event)
        return log

    @property
    def counted(self) -> int:
        """How many evaluations count."""
        return sum(row.standing == "counted" for row in self.evaluations.values())

    def take(self, event: Event) -> Any:
        """Take in the next event; return what it says."""
        content, kind, before = event.content, event.kind, len(self.wrong)
        reopens = kind in _REOPENS and self.status == "finished"
        self.status = "running" if reopens else _BECOMES.get(kind, self.status)
        self.version += kind in TURNS
        match kind:
            case "created":
                arguments = content["policy"].get("arguments", {})
                placed = arguments.get("placed")
                self._ask(placed[0] if placed else arguments.get("named", {}).get("actions"))
            case "extended" if content["questions"] is not None:
                self._ask(content["questions"], content["numbers"])
            case "proposed":
                for number, token, question, turn in content["tickets"]:
                    self._expect(number not in self.tickets, f"ticket {number} is made twice")
                    whose = self._whose.get(question, "")
                    self.tickets[number] = TicketRow(number, token, question, turn, whose)
            case "leased":
                for number in content["tickets"]:
                    self._lease(number, event.at, content)
            case "told" | "late" | "imported":
                for one in evaluations_in(content):
                    self._enter(event, one)
            case "withdrawn":
                self._withdraw(**content)
            case "failed":
                state = "failed" if content["given_up"] else "open"
                self._change(content["ticket"], state=state, failures=1, **NOBODY)
            case "released":
                self._change(content["ticket"], state="open", **NOBODY)
            case "renewed":
                self._change(content["ticket"], leased=event.at, until=content["until"])
            case "left" | "declined":
                self._void(content["tickets"])
            case "decided":
                self._void([n for n, row in self.tickets.items() if row.state in _WAITS])
                n, counted = content["evaluations"], self.counted
                self._expect(n == counted, f"it is decided by {n} evaluations, but {counted} count")
        self.wrong[before:] = [f"event {event.number}: {text}" for text in self.wrong[before:]]
        return content

    def _expect(self, right: bool, otherwise: str) -> None:
        if not right:
            self.wrong.append(otherwise)

    def _ask(self, given: Any, numbers: Sequence[int] | None = None) -> None:
        """Take note of who is to answer what."""
        questions = given.get("questions") if isinstance(given, dict) else None
        if questions is not None:
            names, whose = questions["evaluators"], questions["evaluator"]
            by_number = zip(range(len(whose)) if numbers is None else numbers, whose, strict=True)
            self._whose = {number: names[who] for number, who in by_number if who >= 0}

    def _lease(self, number: int, at: float, content: Any) -> None:
        row = self.tickets.get(number)
        lost = row is not None and row.state == "leased"  # with who had it
        over = row is None or not row.leased - SKEW <= at < row.until
        free = row is not None and (row.state == "open" or (lost and over))
        self._expect(free, f"ticket {number} goes out, and is not free")
        holder = {name: content[name] for name in ("holder", "worker", "until")}
        self._change(number, state="leased", attempt=1, failures=int(lost), leased=at, **holder)

    def _enter(self, event: Event, one: Evaluation) -> None:
        known, standing = one.number in self.evaluations, "counted"
        self._expect(not known, f"evaluation {one.number} is entered twice")
        new = (one.evaluator, one.key) not in self._keys
        self._expect(new, f"evaluation {one.number} has the key of another one")
        self._keys.add((one.evaluator, one.key))
        if event.kind != "imported":
            asked = self.tickets.get(one.ticket or 0)
            right = asked is not None and asked.question == one.question
            answers = f"evaluation {one.number} answers what ticket {one.ticket} did"
            self._expect(right, f"{answers} not ask")
            waits = event.kind == "late" or asked is None or asked.state in _WAITS
            self._expect(waits, f"ticket {one.ticket} is answered, and waits no more")
        if event.kind == "late":
            standing = "late"
        elif one.ticket is not None and event.kind == "told":
            self._change(one.ticket, state="done", holder=one.evaluator)
        self.said[one.number] = event.at, one
        self.evaluations[one.number] = EvaluationRow(*one[:6], standing, event.number)

    def _withdraw(
        self, *, evaluation: int, ticket: int | None, reason: str, blind: bool, reopened: bool
    ) -> None:
        row = self.evaluations.get(evaluation)
        if row is None or row.standing != "counted" or row.ticket != ticket:
            self.wrong.append(f"evaluation {evaluation} is withdrawn, which does not count")
            return
        standing = BLIND if blind else "withdrawn"
        self.evaluations[evaluation] = replace(row, standing=standing)
        if ticket is not None:
            self._change(ticket, state="open" if reopened else "void", attempt=1, **NOBODY)

    def _void(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._change(number, state="void", worker="")

    def _change(self, number: int, attempt: int = 0, failures: int = 0, **changes: Any) -> None:
        """Change a ticket; so many attempts and failures come on top of those before."""
        row = self.tickets.get(number)
        if row is None:
            self.wrong.append(f"there is no ticket {number}")
        else:
            changes |= {"attempt": row.attempt + attempt, "failures": row.failures + failures}
            self.tickets[number] = replace(row, **changes)
