"""The state of a campaign: what its log says. `State.fold` is the only interpreter of events.

A state holds numbers and words alone: tickets and evaluations, who has left, what was given up. It
knows no policy. What a policy must be told of it are its `steps`, in order; what it makes of them
says `evenhand.campaigns.course`. A score that is withdrawn stays in its step and is marked.

A state is folded once in a process and kept; threads that look at it for longer than an instant
take a `view`.
"""

from __future__ import annotations

import copy
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.question import Failure, Question, ReplyScale, compares, question_of
from evenhand.arrays import Indices
from evenhand.campaigns.events import KINDS, START, TURNS, Evaluation, Event, evaluations_in
from evenhand.campaigns.tickets import identifier
from evenhand.errors import EvenhandError, InputError, StoreError
from evenhand.findings import Attempts
from evenhand.plain import shown
from evenhand.policies.registry import restore
from evenhand.questions import Askable, Questions

NOTHING = {"evaluations": 0, "late": 0, "withdrawn": 0, "given_up": 0, "declined": 0}
"""What came from an evaluator before anything did."""
SKEW = 5.0  # seconds by which a clock may go back before leases are taken to be of another time
_NOBODY: Mapping[str, Any] = {"holder": "", "worker": "", "until": 0.0}
_WAITS = ("open", "leased")
_FAILED = "failed again and again"
_LAST = ", last with: {last}"
_REASONS = {
    "": "{reason}",
    "lapsed": "{times} tries came to nothing; in the last its lease ran out",
    "undone": "taken back by the evaluator at once",
    "away": "said to be away: {reason}",
    "failing": _FAILED + _LAST,
    "alone": f"evaluations {_FAILED}: nobody but {{about!r}} is there" + _LAST,
    "option": f"evaluations {_FAILED}: {{about!r}} was given up {{times}} times in a row" + _LAST,
    "all": f"evaluations {_FAILED}: {{times}} questions were given up in a row" + _LAST,
}  # by the codes of those that nobody said, in words
_PATIENCE = 5  # questions given up in a row before somebody, or something, is taken to be broken


class TicketState(NamedTuple):
    """A ticket as it stands."""

    number: int
    token: str  # so that nobody hits a foreign ticket by a slip
    question: int
    turn: int
    evaluator: str  # whom it is for, empty if anybody
    state: str = "open"  # or leased, done, failed, void
    holder: str = ""  # who has it
    worker: str = ""  # and for which of the holder's tickets at once
    attempt: int = 0  # leases so far
    failures: int = 0  # tries that failed, or of which nobody heard
    leased: float = 0.0  # when, by the database's clock
    until: float = 0.0

    @property
    def id(self) -> str:
        """How it is named to who has it."""
        return identifier(self.number, self.token)

    def is_over(self, now: float) -> bool:
        """Tell whether its lease has expired, or the clock says that it has not begun."""
        return self.until <= now or self.leased > now + SKEW

    def is_harmful(self, now: float, tries: int) -> bool:
        """Tell whether its lease expired so often that nobody is to have it again."""
        # What makes a worker die makes the next one die, too.
        return self.state == "leased" and self.failures + 1 >= tries and self.is_over(now)


class EvaluationState(NamedTuple):
    """An evaluation as it stands."""

    said: Evaluation
    standing: str  # counted, late, withdrawn, withdrawn blind
    event: int  # that told it,
    at: float  # and when

    @property
    def gone(self) -> bool:
        """Whether it was withdrawn."""
        return self.standing.startswith("withdrawn")


@dataclass(frozen=True)
class Waiting:
    """Counts of tickets that wait for an answer, by the evaluator they are for."""

    open: Counter[str]  # without a lease
    leased: Counter[str]  # with a lease
    first_until: float | None  # when the first lease expires; None if none is out
    harmful: bool  # whether some of the open ones are not to be handed out again


class State:
    """What a campaign has come to, by the events that were folded in."""

    policy: dict[str, Any]  # as it was before the first step
    settings: dict[str, Any]  # how the campaign was made
    display: dict[str, dict[str, str]]  # what evaluators are shown of an option, by its name
    questions: Questions  # what can be asked
    numbers: Indices  # (q,) of questions, by their places
    reading: ReplyScale  # which scores are possible
    has_anybodys: bool  # whether some questions are nobody's in particular
    length: int  # of a view: how many steps there were
    length_of_scores: int  # likewise: evaluations, late ones included

    def __init__(self) -> None:
        self.name = self.made_by = ""  # and by which version of evenhand it was begun
        self.origin = object()  # another one after events were lost that had been folded in
        self.head, self.seal, self.at = 0, START, 0.0  # of the last event
        self.version = 0  # how many of the events a proposal must know of
        self.status, self.why = "running", ""  # or "paused", and why; "finished"
        self.tickets: dict[int, TicketState] = {}
        self.evaluations: dict[int, EvaluationState] = {}
        self.keys: dict[tuple[str, str], int] = {}  # evaluations by evaluator and key
        self.answers: dict[int, int] = {}  # the last evaluation of a ticket that came on time
        self.counted = 0
        self.states: Counter[str] = Counter()  # of tickets
        self.wrong: list[str] = []  # what does not fit what was there before
        self.steps: list[tuple[Any, ...]] = []  # what policies do, and with what
        self.alarms: tuple[str, ...] = ()
        self.withdrawn: dict[int, bool] = {}  # evaluations, and whether blindly
        self.given_up: tuple[tuple[int, int, str], ...] = ()  # question, ticket and reason
        self.left: dict[str, str] = {}  # who, and why
        self.mended: frozenset[str] = frozenset()  # who of them by a code; "": it paused by one
        self.reasons: dict[int, str] = {}  # in words, by the numbers of events
        self.added_late = 0  # how often questions were added after it had been decided
        self.tally: dict[str, dict[str, int]] = {}  # by evaluator; see `NOTHING`
        self.last: dict[str, float] = {}  # when an evaluator's last score came
        self.attempts = Attempts()  # by numbers of questions
        self._reasons: dict[int, str] = {}  # why evaluations were withdrawn, in order
        self._wait: dict[str, set[int]] = {}  # tickets that wait, by the evaluator they are for
        self._held: dict[str, set[int]] = {}  # tickets with a lease, by holder
        self._in_row: dict[str, int] = {}  # given up since the last answer, by evaluator
        self._in_row_on: dict[str, int] = {}  # likewise, by what the question is about

    def fold(self, events: Iterable[Event]) -> State:
        """Take in the next events."""
        for event in events:
            content, before = _content(event, self.head + 1), len(self.wrong)
            self.at = event.at
            try:
                getattr(self, f"_{event.kind}")(content)
            except Exception as error:
                raise StoreError(
                    f"event {event.number} ({event.kind}) of the record cannot be followed: "
                    f"{_why(error)}. Verify the campaign; it may have been changed."
                ) from error
            if len(self.wrong) > before:
                self.wrong[before:] = [f"event {event.number}: {x}" for x in self.wrong[before:]]
            self.head, self.seal = event.number, event.hash
            self.version += event.kind in TURNS
        return self

    def _created(self, content: Any) -> None:
        self.name, self.made_by = content["name"], content["evenhand"]
        self.policy, self.settings = content["policy"], content["settings"]
        self.display = content["display"]
        self._ask(restore(self.policy).questions)

    def _planned(self, content: Any) -> None:
        self.steps.append(("begin", content["plan"]))

    def _proposed(self, content: Any) -> None:
        for number, token, question, turn in content["tickets"]:
            self._expect(number not in self.tickets, f"ticket {number} is made twice")
            self._put(TicketState(number, token, question, turn, self.evaluator_of(question) or ""))
        self.steps.append(("hand_out", [(x, turn) for _, _, x, turn in content["tickets"]]))

    def _told(self, content: Any) -> None:
        for one in evaluations_in(content):
            ticket = self._enter(one, "counted")
            if ticket is None:
                raise ValueError("what was imported is told")
            waited = ticket.state in _WAITS
            self._expect(waited, f"ticket {ticket.number} is answered, and waits no more")
            self._put(ticket, state="done", holder=one.evaluator)
            self._in_row.pop(one.evaluator, None)
            if self._in_row_on:
                self._in_row_on.pop(self.question(one.question).label, None)
            self.answers[ticket.number] = one.number
            self.attempts.answer(one.question)
            self.steps.append(("tell", one))

    def _late(self, content: Any) -> None:
        for one in evaluations_in(content):
            self._enter(one, "late")

    def _imported(self, content: Any) -> None:
        said = evaluations_in(content)
        for one in said:
            self._enter(one, "counted")
        self.steps.append(("observe", said))

    def _enter(self, one: Evaluation, standing: str) -> TicketState | None:
        """Take an evaluation down; return its ticket, if it has one."""
        key = one.evaluator, one.key
        known = one.number in self.evaluations
        self._expect(not known, f"evaluation {one.number} is entered twice")
        self._expect(key not in self.keys, f"evaluation {one.number} has the key of another one")
        self.keys[key] = one.number
        self.evaluations[one.number] = EvaluationState(one, standing, self.head + 1, self.at)
        self.last[one.evaluator] = self.at
        self._count(one.evaluator, "late" if standing == "late" else "evaluations")
        self.counted += standing == "counted"
        ticket = None if one.ticket is None else self.tickets[one.ticket]
        right = ticket is None or ticket.question == one.question
        answers = f"evaluation {one.number} answers what ticket {one.ticket} did not ask"
        self._expect(right, answers)
        return ticket

    def _withdrawn(self, content: Any) -> None:
        number, blind = content["evaluation"], content["blind"]
        there = self.evaluations[number]
        if there.standing != "counted" or there.said.ticket != content["ticket"]:
            self.wrong.append(f"evaluation {number} is withdrawn, which does not count")
            return
        standing = "withdrawn blind" if blind else "withdrawn"
        self.evaluations[number] = there._replace(standing=standing)
        self.withdrawn = self.withdrawn | {number: blind}
        self._reasons[number] = self._why(content)
        self.counted -= 1
        self._count(there.said.evaluator, "withdrawn")
        self._count(there.said.evaluator, "evaluations", -1)
        if there.said.ticket is not None:
            ticket, again = self.tickets[there.said.ticket], content["reopened"]
            self.attempts.answered -= Counter([ticket.question])
            state, attempt = "open" if again else "void", ticket.attempt + 1
            self._put(ticket, state=state, attempt=attempt, **_NOBODY)
            self.steps.append(("reopen" if again else "give_back", ticket.question, ticket.turn))
        self._reopen()

    def _failed(self, content: Any) -> None:
        ticket, given_up = self.tickets[content["ticket"]], content["given_up"]
        why = self._why(content)
        self.attempts.fail(ticket.question)
        state, failures = "failed" if given_up else "open", ticket.failures + 1
        self._put(ticket, state=state, failures=failures, **_NOBODY)
        if given_up:
            self.steps.append(("take_back", ticket.question, ticket.turn))
            self.given_up = *self.given_up, (ticket.question, ticket.number, why)
            who = ticket.evaluator or content["holder"]
            self._count(who, "given_up")
            about = self.question(ticket.question).label
            self._in_row[who] = self._in_row.get(who, 0) + 1
            self._in_row_on[about] = self._in_row_on.get(about, 0) + 1

    def _declined(self, content: Any) -> None:
        question = content["question"]
        self._why(content)
        self._count(self.evaluator_of(question) or content["holder"], "declined")
        self._void(content["tickets"])
        self.steps.append(("bar", question))

    def _left(self, content: Any) -> None:
        name = content["evaluator"]
        self.left = self.left | {name: self._why(content)}
        self.mended |= {name} if "code" in content else set()
        self._in_row_on.clear()  # what was given up may have been so for him, and not for itself
        self._void(content["tickets"])
        self.steps.append(("leave", name))

    def _joined(self, content: Any) -> None:
        name = content["evaluator"]
        self.left = {who: why for who, why in self.left.items() if who != name}
        self.mended -= {name}
        self._in_row.pop(name, None)
        self._reopen()
        self.steps.append(("join", name))

    def _paused(self, content: Any) -> None:
        self.status, self.why = "paused", self._why(content)
        self.mended |= {""} if "code" in content else set()

    def _resumed(self, content: Any) -> None:
        self._in_row.clear()
        self._in_row_on.clear()
        self.mended -= {""}
        self.status, self.why = "running", ""

    def _extended(self, content: Any) -> None:
        self.display = self.display | content["display"]
        self.added_late += self.status == "finished" and content["questions"] is not None
        self._reopen()
        if content["questions"] is not None:
            self._ask(Questions.of(asked_from(content["questions"])), content["numbers"])
        self.steps.append(("extend", content))

    def _alarmed(self, content: Any) -> None:
        self.alarms = *self.alarms, content["assumption"]

    def _decided(self, content: Any) -> None:
        n = content["evaluations"]
        right = n == self.counted
        self._expect(right, f"it is decided by {n} evaluations, but {self.counted} count")
        self.status, self.why = "finished", ""  # in words: `status.ended`
        self._void(sorted(x for some in self._wait.values() for x in some))

    def _leased(self, content: Any) -> None:
        holder = {name: content[name] for name in ("holder", "worker", "until")}
        for number in content["tickets"]:
            ticket = self.tickets[number]
            lost = ticket.state == "leased"  # with who had it
            free = ticket.state == "open" or (lost and ticket.is_over(self.at))
            self._expect(free, f"ticket {number} goes out, and is not free")
            self._note_if_over(ticket)
            tries = {"attempt": ticket.attempt + 1, "failures": ticket.failures + lost}
            self._put(ticket, state="leased", leased=self.at, **tries, **holder)

    def _renewed(self, content: Any) -> None:
        ticket = self.tickets[content["ticket"]]
        self._put(ticket, leased=self.at, until=content["until"])

    def _released(self, content: Any) -> None:
        self._put(self.tickets[content["ticket"]], state="open", **_NOBODY)

    def _why(self, content: Mapping[str, Any]) -> str:
        """Return why something happened, in words, and keep it."""
        last = self.given_up[-1][2] if self.given_up else ""
        words = _REASONS.get(content.get("code", ""), _REASONS[""])
        self.reasons[self.head + 1] = why = words.format_map({**content, "last": last})
        return why

    def _expect(self, right: bool, otherwise: str) -> None:
        if not right:
            self.wrong.append(otherwise)

    def _ask(self, questions: Questions, numbers: Sequence[int] | None = None) -> None:
        """Take note of what can be asked; of the place of a question by its number."""
        places = range(len(questions)) if numbers is None else numbers
        self.numbers = np.asarray(places, dtype=np.intp)
        # at once, for other threads that look something up while this one adds questions
        self._catalogue = questions, np.argsort(self.numbers)
        self.questions, bounds = questions, self.settings["bounds"]
        self.has_anybodys = bool((questions.evaluator < 0).any())
        self.reading = ReplyScale(
            self.settings["scores"],
            None if bounds is None else tuple(bounds),
            comparing=compares(questions),
            grades=self.settings["grades"],
            best=self.settings["best"],
        )

    def _put(self, ticket: TicketState, **changes: Any) -> None:
        """Put a ticket down, and have it found by who waits for it and who has it."""
        before, ticket = self.tickets.get(ticket.number), ticket._replace(**changes)
        number = ticket.number
        if before is not None:
            self.states[before.state] -= 1
            self._held.get(before.holder, set()).discard(number)
        self.tickets[number] = ticket
        self.states[ticket.state] += 1
        waits = self._wait.setdefault(ticket.evaluator, set())
        (waits.add if ticket.state in _WAITS else waits.discard)(number)
        if ticket.state == "leased":
            self._held.setdefault(ticket.holder, set()).add(number)

    def _void(self, numbers: Iterable[int]) -> None:
        for ticket in [self.tickets[number] for number in numbers]:
            self._note_if_over(ticket)
            self._put(ticket, state="void", worker="")
            self.steps.append(("take_back", ticket.question, ticket.turn))

    def _note_if_over(self, ticket: TicketState) -> None:
        """Take note that somebody has had a ticket for longer than its lease."""
        if ticket.state == "leased" and self.at >= ticket.until:
            self.attempts.fail(ticket.question)

    def _count(self, evaluator: str, what: str, n: int = 1) -> None:
        self.tally.setdefault(evaluator, dict(NOTHING))[what] += n

    def _reopen(self) -> None:
        """Let a campaign that was decided run again."""
        if self.status == "finished":
            self.status, self.why = "running", ""

    def view(self) -> State:
        """Return the state as it is now, whatever is folded in afterwards.

        Tickets, evaluations and steps go on in it: they are to be found by their numbers.
        """
        view = copy.copy(self)
        view.tally = {who: dict(counts) for who, counts in self.tally.items()}
        view.last, view._in_row = dict(self.last), dict(self._in_row)
        view._in_row_on, view._reasons = dict(self._in_row_on), dict(self._reasons)
        # A ticket whose lease expired has failed, though nobody asked for it since: an answer that
        # stays away may do so for what it would have been.
        view.attempts = Attempts(self.attempts.answered.copy(), self.attempts.failed.copy())
        for number in (x for some in self._held.values() for x in some):
            view._note_if_over(self.tickets[number])
        view.length, view.length_of_scores = len(self.steps), len(self.evaluations)
        return view

    def knows(self, number: int) -> bool:
        """Tell whether there is a question of that number."""
        return 0 <= number < len(self._catalogue[1])

    def question(self, number: int, ticket: int = 0, turn: int = 0) -> Question:
        """Return the question of a number, as an evaluator is asked it."""
        questions, places = self._catalogue
        return question_of(questions, int(places[number]), ticket, turn)

    def asked(self, ticket: TicketState) -> Question:
        """Return what a ticket asks."""
        return self.question(ticket.question, ticket.number, ticket.turn)

    def evaluator_of(self, number: int) -> str | None:
        """Return who is to answer the question of a number; None if anybody."""
        questions, places = self._catalogue
        return questions.evaluator_of(int(places[number]))

    @property
    def tried(self) -> Attempts:
        """How often questions were tried, by their places; of a view, expired leases included."""
        places = self._catalogue[1]
        return self.attempts.moved(lambda number: int(places[number]))

    @property
    def failures(self) -> list[Failure]:
        """What was given up."""
        tries = self.settings["retries"] + 1
        return [Failure(self.question(x, of), why, tries) for x, of, why in self.given_up]

    @property
    def withdrawals(self) -> list[tuple[Evaluation, str, bool]]:
        """What was withdrawn, why, and whether blindly, in that order."""
        return [
            (self.evaluations[n].said, why, self.withdrawn[n]) for n, why in self._reasons.items()
        ]

    def broken(self) -> str | None:
        """Return the evaluator whose questions are given up again and again; None if nobody."""
        for who, times in self._in_row.items():
            if times >= _PATIENCE and who in self.questions.evaluators and who not in self.left:
                return who
        return None

    def hopeless(self) -> dict[str, Any] | None:
        """Return what is given up again and again, as the code of a reason; None if nothing is."""
        for about, times in self._in_row_on.items():
            if times >= _PATIENCE:
                return {"code": "option", "about": about, "times": times}
        if not self.questions.evaluators and sum(self._in_row.values()) >= _PATIENCE:
            return {"code": "all", "times": _PATIENCE}
        return None

    def held(self, holder: str | None, worker: str, now: float) -> list[TicketState]:
        """Return the tickets of a holder's worker, or of a worker whoever holds them."""
        there = self.leased(now) if holder is None else self._leased_of(holder, now)
        return [ticket for ticket in there if ticket.worker == worker]

    def leased(self, now: float) -> list[TicketState]:
        """Return the tickets whose lease has not expired, by number."""
        every = (ticket for holder in self._held for ticket in self._leased_of(holder, now))
        return sorted(every)

    def _leased_of(self, holder: str, now: float) -> list[TicketState]:
        there = (self.tickets[number] for number in sorted(self._held.get(holder, ())))
        return [ticket for ticket in there if not ticket.is_over(now)]

    def free(self, evaluator: str | None, now: float, most: int, tries: int) -> list[TicketState]:
        """Return the oldest tickets to be had for an evaluator, or for anybody if it is None."""
        found = (
            ticket.number
            for ticket in self.waiting_for(evaluator)
            if ticket.state == "open" or (ticket.is_over(now) and not ticket.is_harmful(now, tries))
        )
        return [self.tickets[number] for number in heapq.nsmallest(most, found)]

    def waiting_for(self, evaluator: str | None = None) -> Iterator[TicketState]:
        """Give the tickets that wait for an answer of somebody, or of anybody."""
        some = self._wait.values() if evaluator is None else [self._wait.get(evaluator, set())]
        return (self.tickets[number] for numbers in some for number in numbers)

    def waiting(self, now: float, tries: int) -> Waiting:
        """Return what waits for an answer."""
        found = Waiting(Counter(), Counter(), None, harmful=False)
        first, harmful = [], False
        for ticket in self.waiting_for():
            out = ticket.state == "leased" and not ticket.is_over(now)
            (found.leased if out else found.open)[ticket.evaluator] += 1
            first += [ticket.until] if out else []
            harmful = harmful or ticket.is_harmful(now, tries)
        return Waiting(found.open, found.leased, min(first, default=None), harmful)


def asked_from(content: Mapping[str, Any]) -> Askable:
    """Return options or questions from what an event holds of them."""
    if "actions" in content:
        return ActionSet.from_dict(content["actions"])
    return Questions.from_dict(content["questions"])


def asked_to(asked: Askable) -> dict[str, Any]:
    """Return options or questions as an event holds them."""
    return {"actions" if isinstance(asked, ActionSet) else "questions": asked.to_dict()}


def _content(event: Event, number: int) -> Any:
    """Return what the event of a number says, or raise `StoreError`."""
    if event.number != number:
        raise StoreError(
            f"event {number} is missing in the record, which goes on with {event.number}. "
            "Something was taken out; go back to a copy."
        )
    if event.kind not in KINDS:
        raise StoreError(
            f"event {event.number} is of the kind {shown(event.kind)}, which this evenhand does "
            "not know; use a newer one."
        )
    try:
        return event.content
    except InputError as error:
        raise StoreError(f"{error} Verify the campaign.") from error


def _why(error: Exception) -> str:
    """Return in words why an event could not be taken in."""
    if isinstance(error, EvenhandError):
        return str(error).rstrip(".")
    if isinstance(error, LookupError):
        return f"it refers to something that is not there ({error})"
    return f"{type(error).__name__}, {error}"


def said(error: BaseException) -> str:
    """Return an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__
