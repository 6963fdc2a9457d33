"""The replica: what a campaign has come to, the same in every process.

A replica is a fold over the log: every event is taken in once, in order. Scores are told to the
policy one by one, plans are put in force as they were written, and what is pending is what the
tickets say. Nothing that was handed out or planned is derived again.

A score that is withdrawn after it was folded in takes a new fold, without that score
(`Replica.fold` returns False). From its first score that is withdrawn, unless blindly, a replica
also follows the record as it was given (`as_given`).

A policy of a user's may raise while it learns. The log stays readable: the policy is told no more,
and `Replica.trouble` says what is wrong.

Questions have numbers that stay theirs for good. When more are added the policy may have them at
other places; `Replica.places` knows where.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.question import Failure, Question, ReplyScale, Turns, compares, question_of
from evenhand.arrays import Counts, Indices
from evenhand.best import sign
from evenhand.campaigns.as_given import AsGiven, is_certain
from evenhand.campaigns.events import KINDS, TURNS, Evaluation, Event, evaluations_in
from evenhand.errors import EvenhandError, InputError, StoreError
from evenhand.findings import Attempts
from evenhand.plain import canonical, shown
from evenhand.policies.base import Policy, checks_of
from evenhand.policies.messages import Feedback
from evenhand.policies.registry import restore
from evenhand.questions import Askable, Questions
from evenhand.scores.scores import Level
from evenhand.search.choice import Choice

_FORMAT = 11  # of snapshots
NOTHING = {"evaluations": 0, "late": 0, "withdrawn": 0, "given_up": 0, "declined": 0}
"""What came from an evaluator before anything did."""
_LEAST_SQUARE = 1e-300  # of what is not 0; smaller ones lose digits, and then contradict the sum
_PATIENCE = 5  # questions given up in a row before somebody, or something, is taken to be broken

_PLAIN = (  # what a snapshot keeps as it is
    "settings",
    "display",
    "head",
    "seal",
    "version",
    "status",
    "why",
    "evaluations",
    "done",
    "voided",
    "alarms",
    "given_up",
    "declined",
    "left",
    "tally",
    "last",
    "_in_row",
    "_in_row_on",
    "added_late",
    "_at",
)


@dataclass
class _Out:
    """A ticket that is not answered: what it asks, and its lease, if it has one."""

    question: int
    turn: int
    until: float | None = None


class Replica:
    """What a campaign has come to, by the events that were folded in."""

    policy: Policy  # only the log puts a plan of it in force: not to be asked while one is due
    settings: dict[str, Any]  # how the campaign was made
    display: dict[str, dict[str, str]]  # what evaluators are shown of an option, by its name
    pending: Counts  # (q,) evaluations in tickets that were not answered
    places: Indices  # (q,) where the policy has the question of a number
    has_anybodys: bool  # whether some questions are nobody's in particular
    reading: ReplyScale  # which scores are possible

    def __init__(self, withdrawn: Mapping[int, bool] | None = None) -> None:
        self.withdrawn = dict(withdrawn or {})  # now or later in the log: whether blindly
        self.given: AsGiven | None = None  # the record as it was given, if that is another
        self.withdrawals: list[tuple[int, int, float, str, str, bool]] = []
        self._scores_of: dict[int, tuple[int, float, str]] = {}  # that are to be withdrawn
        self._back: set[int] = set()  # tickets whose first score is put back
        self.head = 0  # the last event that was folded in
        self.version = 0  # how many of the events a proposal must know of
        self.seal = ""  # of the last event, in hexadecimal digits
        self.status, self.why = "running", ""  # or "paused", "finished", and why
        self.evaluations = self.added_late = 0  # questions added after it had been decided
        self.done = self.voided = 0  # tickets answered, and taken back
        self.alarms: list[str] = []
        self.given_up: list[tuple[int, int, str]] = []  # question, ticket and reason
        self.declined: list[tuple[int, str]] = []  # question and reason
        self.left: dict[str, str] = {}  # who, and why
        self.tally: dict[str, dict[str, int]] = {}  # by evaluator; see `NOTHING`
        self.last: dict[str, float] = {}  # when an evaluator's last score came
        self._in_row: dict[str, int] = {}  # given up since the last answer, by evaluator
        self._in_row_on: dict[str, int] = {}  # likewise, by what the question is about
        self._out: dict[int, _Out] = {}  # by ticket
        self._of_withdrawn: dict[int, tuple[int, _Out]] = {}  # tickets, by evaluation
        self._turns = Turns()
        self.attempts = Attempts()
        self._at = 0.0  # of the event that is taken in

    # ------------------------------------------------------------------ the fold

    def fold(self, events: Sequence[Event]) -> bool:
        """Take in the next events; False, and none taken, if one withdraws what was folded in."""
        # The fold must then begin anew, from where it did not have that score, without all that are
        # withdrawn.
        read = [(event, _content(event, n)) for n, event in enumerate(events, self.head + 1)]
        new = {
            content["evaluation"]: content["blind"]
            for event, content in read
            if event.kind == "withdrawn" and content["evaluation"] not in self.withdrawn
        }
        self.withdrawn |= new
        if any(evaluation <= self.evaluations for evaluation in new):
            return False
        for event, content in read:
            self._at = event.at
            try:
                getattr(self, f"_{event.kind}")(content)
            except Exception as error:
                raise StoreError(
                    f"event {event.number} ({event.kind}) of the record cannot be followed: "
                    f"{_why(error)}. Verify the campaign; it may have been changed."
                ) from error
            self.head, self.seal = event.number, event.hash.hex()
            self.version += event.kind in TURNS
        return True

    @property
    def known(self) -> tuple[int, int, str]:
        """Version, last event and its seal: what a proposal made from this replica rests on."""
        return self.version, self.head, self.seal

    def _created(self, content: Any) -> None:
        self.policy = restore(content["policy"])
        self.settings, self.display = content["settings"], content["display"]
        self._turn_words()
        q = len(self.policy.questions)
        self.pending = np.zeros(q, dtype=np.int64)
        self.numbers = np.arange(q)

    def _planned(self, content: Any) -> None:
        if self.given is not None:
            self.given.take("begin", content["plan"])
        self._let(self.policy.begin, content["plan"])

    def _proposed(self, content: Any) -> None:
        counts = np.zeros_like(self.pending)
        for number, _, question, turn in content["tickets"]:
            self._out[number] = _Out(question, turn)
            counts[self.places[question]] += 1
            self._turns.take(question, turn)
        self._hand_out(counts)

    def _told(self, content: Any) -> None:
        for one in evaluations_in(content):
            assert one.ticket is not None  # only what is imported has none
            out = self._out.pop(one.ticket)
            self.pending[self.places[out.question]] -= 1
            self._answered(one.evaluator, out.question)
            self.done += 1
            told = self.feedback([one.question], [one.score], one.cost)
            first = one.ticket not in self._back
            if self._counts(one):
                self.attempts.answer(one.question)
                if first and self.given is not None:
                    self.given.tell(told)
                self._let(self.policy.tell, told)
            else:
                self._of_withdrawn[one.number] = one.ticket, out
                if first and not self.withdrawn[one.number]:
                    self._back.add(one.ticket)
                    self._as_given().tell(told)

    def _late(self, content: Any) -> None:
        for one in evaluations_in(content):
            self.evaluations, self.last[one.evaluator] = one.number, self._at
            self._count(one.evaluator, "late")

    def _imported(self, content: Any) -> None:
        said = evaluations_in(content)
        kept = [one for one in said if self._counts(one)]
        back = [one for one in said if not self.withdrawn.get(one.number, False)]
        if len(back) > len(kept):
            self._as_given()
        if self.given is not None and back:
            self.given.take("observe", self._feedback_of(back))
        if kept:
            self._let(self.policy.observe, self._feedback_of(kept))

    def _withdrawn(self, content: Any) -> None:
        number, blind = content["evaluation"], content["blind"]
        said = self._scores_of.pop(number)
        self.withdrawals.append((number, *said, content["reason"], blind))
        if number in self._of_withdrawn:  # else it was imported
            ticket, out = self._of_withdrawn.pop(number)
            self.done -= 1
            if content["reopened"]:
                self._out[ticket] = _Out(out.question, out.turn)
                counts = np.zeros_like(self.pending)
                counts[self.places[out.question]] = 1
                self._hand_out(counts)
            else:
                self.voided += 1
                self._turns.give_back(out.question, out.turn)
        self._reopen()

    def _failed(self, content: Any) -> None:
        self._released(content)
        question = self._out[content["ticket"]].question
        self.attempts.fail(question)
        if not content["given_up"]:
            return
        self._return(content["ticket"])
        self.given_up.append((question, content["ticket"], content["reason"]))
        who = self.evaluator_of(question) or content["holder"]
        self._count(who, "given_up")
        about = self.question(question).label
        self._in_row[who] = self._in_row.get(who, 0) + 1
        self._in_row_on[about] = self._in_row_on.get(about, 0) + 1

    def _declined(self, content: Any) -> None:
        question = content["question"]
        self.declined.append((question, content["reason"]))
        self._count(self.evaluator_of(question) or content["holder"], "declined")
        for ticket in content["tickets"]:
            self._return(ticket)
        self.voided += len(content["tickets"])
        for policy in self._policies:
            policy.limits.bar(int(self.places[question]))

    def _left(self, content: Any) -> None:
        name = content["evaluator"]
        self.left[name] = content["reason"]
        self._in_row_on.clear()  # what was given up may have been so for him, and not for itself
        for ticket in content["tickets"]:
            self._return(ticket)
        self.voided += len(content["tickets"])
        for policy in self._policies:
            policy.limits.leave(name)

    def _joined(self, content: Any) -> None:
        name = content["evaluator"]
        self.left.pop(name, None)
        self._in_row.pop(name, None)
        self._reopen()
        for policy in self._policies:
            policy.limits.join(name)

    def _paused(self, content: Any) -> None:
        self.status, self.why = "paused", content["reason"]

    def _resumed(self, content: Any) -> None:
        self._in_row.clear()
        self._in_row_on.clear()
        self.status, self.why = "running", ""

    def _extended(self, content: Any) -> None:
        self.display |= content["display"]
        self.added_late += self.status == "finished" and content["questions"] is not None
        self._reopen()
        policy: Any = self.policy  # a search for certainty: others were refused
        if content["questions"] is not None:
            before, asked = self.pending[self.places], asked_from(content["questions"])
            self.policy = policy = policy.extended(asked)
            if self.given is not None:
                self.given.extend(asked)
            self.numbers = np.asarray(content["numbers"], dtype=np.intp)
            self.pending = np.zeros(len(self.numbers), dtype=np.int64)
            self.pending[self.places[: len(before)]] = before
        if content["at_most"] is not None or content["budget"] is not None:
            self._let(policy.allow, content["at_most"], content["budget"])
            if self.given is not None:
                self.given.take("allow", content["at_most"], content["budget"])

    def extended(self, content: Any) -> Replica:
        """Return a copy that was extended, with everybody back who left."""
        after = copy.deepcopy(self)
        after._extended(content)
        for name in list(after.left):
            after._joined({"evaluator": name})
        return after

    def _alarmed(self, content: Any) -> None:
        self.alarms.append(content["assumption"])

    def _decided(self, content: Any) -> None:
        self.status, self.why = "finished", content["because"]
        self.voided += len(self._out)
        for ticket in list(self._out):
            self._return(ticket)

    def _leased(self, content: Any) -> None:
        for ticket in content["tickets"]:
            out = self._out[ticket]
            if self._is_over(out):
                self.attempts.fail(out.question)  # the lease before expired
            out.until = content["until"]

    def _renewed(self, content: Any) -> None:
        self._out[content["ticket"]].until = content["until"]

    def _released(self, content: Any) -> None:
        self._out[content["ticket"]].until = None

    # ------------------------------------------------------------------ parts of it

    def _let(self, take: Callable[..., None], *given: Any) -> None:
        """Have the policy take something in; what it breaks on it says when it is asked."""
        try:
            take(*given)
        except Exception as error:
            if error is not self.policy._failure:
                raise

    def _counts(self, one: Evaluation) -> bool:
        """Take note of a score on time; return whether it counts."""
        self.evaluations, counts = one.number, one.number not in self.withdrawn
        self.last[one.evaluator] = self._at
        self._count(one.evaluator, "evaluations" if counts else "withdrawn")
        if not counts:
            self._scores_of[one.number] = one.question, one.score, one.evaluator
        return counts

    def _count(self, evaluator: str, what: str) -> None:
        self.tally.setdefault(evaluator, dict(NOTHING))[what] += 1

    def _answered(self, evaluator: str, question: int) -> None:
        """Take note that somebody, and something, is not broken."""
        if self._in_row:
            self._in_row.pop(evaluator, None)
        if self._in_row_on:
            self._in_row_on.pop(self.question(question).label, None)

    def _return(self, ticket: int) -> None:
        """Take note that a ticket will not be answered."""
        out = self._out.pop(ticket)
        if self._is_over(out):
            self.attempts.fail(out.question)
        self.pending[self.places[out.question]] -= 1
        self._turns.give_back(out.question, out.turn)

    def _is_over(self, out: _Out) -> bool:
        """Tell whether somebody has had a ticket for longer than its lease."""
        return out.until is not None and self._at >= out.until

    @property
    def tried(self) -> Attempts:
        """How often the policy's questions were tried by now, by their places."""
        # A ticket whose lease expired has failed, though nobody asked for it since: an answer that
        # stays away may do so for what it would have been.
        tried = self.attempts.moved(lambda number: int(self.places[number]))
        for out in self._out.values():
            if self._is_over(out):
                tried.fail(int(self.places[out.question]))
        return tried

    def _hand_out(self, counts: Counts) -> None:
        """Take note of what is on its way by the record."""
        for policy in self._policies:
            policy.limits.hand_out(counts, self.pending)
        self.pending += counts

    @property
    def _policies(self) -> list[Policy]:
        """The policy, and that of the record as it was given, if that is another."""
        given = None if self.given is None else self.given.policy
        return [self.policy] if given is None else [self.policy, given]

    def _as_given(self) -> AsGiven:
        """Return the record as it was given, which is another from now on."""
        if self.given is None:
            self.given = AsGiven(self.policy.state())
            self._turn_words()
        return self.given

    def _reopen(self) -> None:
        """Let a campaign that was decided run again."""
        if self.status == "finished":
            self.status, self.why = "running", ""

    def _feedback_of(self, scores: Sequence[Evaluation]) -> Feedback:
        return self.feedback([one.question for one in scores], [one.score for one in scores])

    def _turn_words(self) -> None:
        """Have policies, which maximise, speak of scores as they were given."""
        for policy in self._policies:
            checks_of(policy).level = Level(sign=sign(self.settings["best"]))

    def feedback(
        self, questions: Sequence[int], scores: Sequence[float], cost: float | None = None
    ) -> Feedback:
        """Return scores as the policy takes them, and their cost; questions by their numbers."""
        q, values = len(self.pending), np.array([self.reading.told(score) for score in scores])
        at = self.places[list(questions)]
        squares = np.maximum(values**2, _LEAST_SQUARE * (values != 0.0))
        return Feedback(
            np.bincount(at, minlength=q),
            np.bincount(at, values, minlength=q),
            np.bincount(at, squares, minlength=q),
            cost=cost,
        )

    @property
    def failures(self) -> list[Failure]:
        """What was given up."""
        tries = self.settings["retries"] + 1
        return [Failure(self.question(x, of), why, tries) for x, of, why in self.given_up]

    @property
    def last_failure(self) -> str:
        """Why a question was given up last; "" if none was."""
        return self.given_up[-1][2] if self.given_up else ""

    @property
    def counted(self) -> int:
        """How many evaluations count."""
        return sum(counts["evaluations"] for counts in self.tally.values())

    # ------------------------------------------------------------------ what to ask

    @property
    def questions(self) -> Questions:
        """What can be asked."""
        return self.policy.questions

    @property
    def numbers(self) -> Indices:
        """(q,) the numbers of the policy's questions."""
        return self._numbers

    @numbers.setter
    def numbers(self, numbers: Indices) -> None:
        self._numbers, self.places = numbers, np.argsort(numbers)
        # at once, for other threads that look something up while this one adds questions
        self._catalogue = self.questions, self.places
        self.has_anybodys = bool((self.questions.evaluator < 0).any())
        bounds = self.settings["bounds"]
        self.reading = ReplyScale(
            self.settings["scores"],
            None if bounds is None else tuple(bounds),
            comparing=compares(self.questions),
            grades=self.settings["grades"],
            best=self.settings["best"],
        )

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to plan or to ask, whatever is on its way."""
        if len(self.policy.options) == 1:
            return True
        return self.due_plan(np.zeros_like(self.pending)) is None and self.asks.finished

    @property
    def asks(self) -> Policy:
        """What asks: the policy; where only that is certain, that of the record as it was given."""
        on = self.given.asks_on() if self.given is not None and is_certain(self.policy) else None
        return on or self.policy

    @property
    def trouble(self) -> str:
        """What keeps the policy from going on, if something does; else ""."""
        if self.status == "finished":
            return ""
        try:
            if self.due_plan(self.pending) is None:
                self._asked(1, self.pending, None)
        except Exception as error:
            return said(error)
        return ""

    def due_plan(
        self, pending: Counts, evaluators: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        """Return the plan that the log must have before these are asked more; None if none is
        due.
        """
        return None if len(self.policy.options) == 1 else self.asks.plan(pending, evaluators)

    def knows(self, number: int) -> bool:
        """Tell whether there is a question of that number."""
        return 0 <= number < len(self._catalogue[1])

    def question(self, number: int, ticket: int = 0, turn: int = 0) -> Question:
        """Return the question of a number, as an evaluator is asked it."""
        questions, places = self._catalogue
        return question_of(questions, int(places[number]), ticket, turn)

    def evaluator_of(self, number: int) -> str | None:
        """Return who is to answer the question of a number; None if anybody."""
        questions, places = self._catalogue
        return questions.evaluator_of(int(places[number]))

    def wanted(
        self, evaluators: Sequence[str] | None, n: int, ahead: int, room: int
    ) -> list[tuple[int, int, str]]:
        """Return question, turn and evaluator of what to ask next; no plan may be due."""
        # First n at most for these evaluators, then what anybody may be asked `ahead`; each in a
        # random order. Where there is nothing for these, others are asked as much ahead as there is
        # `room` for. Nothing is asked ahead beyond the policy's plan: that is for those who would
        # have to wait.
        if evaluators is not None and all(name in self.left for name in evaluators):
            return []
        own = self._asked(n, self.pending, evaluators)
        there = self.pending + own
        ahead = min(ahead, room) if own.any() else room
        if isinstance(asks := self.asks, Choice):
            ahead = min(ahead, asks.record.lacking(there))
        more = self._asked(ahead, there, None)
        if more.any() and not own.any():
            own = self._asked(n, self.pending + more, evaluators)
        rng = np.random.default_rng([self.settings["seed"], self.version])
        turns, wanted = Turns(self._turns.issued, self._turns.returned), []
        for counts in (own, more):
            (chosen,) = np.nonzero(counts)
            order = np.repeat(chosen, counts[chosen])
            rng.shuffle(order)
            for x in order.tolist():
                number = int(self.numbers[x])
                turn = turns.next(number, int(self.questions.capacity[x]))
                wanted.append((number, turn, self.questions.evaluator_of(x) or ""))
        return wanted

    def _asked(self, n: int, pending: Counts, evaluators: Sequence[str] | None) -> Counts:
        """Return (q,) what the policy wants beside what is pending, n at most."""
        nothing = n < 1 or len(self.policy.options) == 1
        if nothing or self.due_plan(pending, evaluators) is not None:  # which only the log begins
            return np.zeros_like(pending)
        return self.asks.ask(n, pending, evaluators).counts

    def broken(self) -> str | None:
        """Return the evaluator whose questions are given up again and again; None if nobody."""
        names = self.questions.evaluators
        for who, times in self._in_row.items():
            if times >= _PATIENCE and who in names and who not in self.left:
                return who
        return None

    def hopeless(self) -> str | None:
        """Return what is given up again and again, in words; None if nothing is."""
        reason = self.last_failure
        for about, times in self._in_row_on.items():
            if times >= _PATIENCE:
                return f"{about!r} was given up {times} times in a row, last with: {reason}"
        if not self.questions.evaluators and sum(self._in_row.values()) >= _PATIENCE:
            return f"{_PATIENCE} questions were given up in a row, last with: {reason}"
        return None

    # ------------------------------------------------------------------ snapshots

    def snapshot(self) -> bytes:
        """Return the replica as bytes."""
        content = {name: getattr(self, name) for name in _PLAIN} | {
            "format": _FORMAT,
            "policy": self.policy.state(),
            "withdrawn": sorted(self.withdrawn.items()),
            "withdrawals": self.withdrawals,
            "scores_of": list(self._scores_of.items()),
            "back": sorted(self._back),
            "put_back": self.given is not None,
            "given": None if self.given is None else self.given.memory(),
            "out": [[ticket, *astuple(out)] for ticket, out in self._out.items()],
            "of_withdrawn": [[n, t, *astuple(out)] for n, (t, out) in self._of_withdrawn.items()],
            "issued": list(self._turns.issued.items()),
            "attempts": self.attempts.memory(),
            "returned": [[x, turns] for x, turns in self._turns.returned.items() if turns],
            "numbers": self.numbers.tolist(),
        }
        return zlib.compress(canonical(content).encode(), 1)

    @classmethod
    def from_snapshot(cls, body: bytes) -> Replica:
        """Return the replica that a snapshot was taken of, or raise something."""
        content = json.loads(zlib.decompress(body))
        if content["format"] != _FORMAT:
            raise ValueError("the snapshot is of another version")
        replica = cls(dict(content["withdrawn"]))
        replica.withdrawals = [tuple(one) for one in content["withdrawals"]]
        replica._scores_of = {number: tuple(said) for number, said in content["scores_of"]}
        replica._back = set(content["back"])
        replica.given = AsGiven(content["given"]) if content["put_back"] else None
        replica.policy = restore(content["policy"])
        for name in _PLAIN:
            setattr(replica, name, content[name])
        replica._turn_words()
        replica._out = {ticket: _Out(*out) for ticket, *out in content["out"]}
        replica._of_withdrawn = {n: (t, _Out(*out)) for n, t, *out in content["of_withdrawn"]}
        replica.attempts = Attempts.recall(content["attempts"])
        replica._turns = Turns(dict(content["issued"]), dict(content["returned"]))
        replica.numbers = np.asarray(content["numbers"], dtype=np.intp)
        asked = [out.question for out in replica._out.values()]
        replica.pending = np.bincount(replica.places[asked], minlength=len(replica.numbers))
        return replica


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
