"""The replica: a policy as the log makes it, the same in every process.

A replica is a fold over the events. What was handed out is taken from the log and never derived
again; what was told is learnt in the order of the log. To learn is work, so a policy learns from
several evaluations at once where there are many already: when the share `_SHARE` of those before
has come, or of the options, which all have to be asked about. Where that falls depends on the log
alone.

What is withdrawn was learnt before: then the fold begins anew, without it, and goes over from plan
to plan where the campaign did, so that what was found by a plan stays evidence.

A policy that cannot take an event in (nobody is left who could compare two options, say) must not
make the log unreadable: the fold begins anew, without that step, and says what is wrong
(`Replica.trouble`). From there on the policy learns nothing, until an event comes that may mend it.

Questions have numbers that stay theirs for good. When more are added the policy may have them at
other places; `Replica.places` knows where.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.question import Question, question_of
from evenhand.answers.scores import Scores, compares
from evenhand.arrays import Counts, Indices
from evenhand.campaigns.events import TURNS, Event
from evenhand.certainty.terms import afford_more
from evenhand.errors import InputError, StoreError
from evenhand.plain import canonical
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback
from evenhand.policies.state import restore
from evenhand.questions import Askable, Questions

FORMAT = 2
_SHARE = 1 / 32  # evaluations that are learnt together, of those learnt before or of options
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
    "trouble",
    "evaluations",
    "counted",
    "late",
    "done",
    "voided",
    "alarms",
    "given_up",
    "left",
    "tally",
    "plan_id",
    "taken_back",
    "_plan_seen",
    "_plan_since",
    "_unwritten",
    "_in_row",
    "_in_row_on",
    "_new",
    "_held",
    "_learnt",
    "_deferred",
)


class OutdatedError(Exception):
    """What was learnt is taken back: the fold must begin anew.

    Parameters
    ----------
    evaluation
        What was withdrawn; None if a server went down with events that it had shown.
    """

    def __init__(self, evaluation: int | None = None) -> None:
        super().__init__(evaluation)
        self.evaluation = evaluation


class BrokenError(Exception):
    """A policy could not take an event in: the fold must begin anew, without that step.

    Parameters
    ----------
    event
        Which one.
    why
        What the policy said.
    """

    def __init__(self, event: int, why: str) -> None:
        super().__init__(f"event {event}: {why}")
        self.event, self.why = event, why


class Replica:
    """What a campaign has come to.

    Parameters
    ----------
    withdrawn
        Numbers of the evaluations that do not count, though the log will tell them.
    skipped
        Events that the policy could not take in, and why.
    closings
        Plans that came into force when something counted that is withdrawn now, by the events
        that closed what was before them.

    Attributes
    ----------
    policy
        What asks.
    settings
        How the campaign was made.
    display
        What evaluators are shown of an option, by its name.
    head, seal
        The last event that was folded in, and its seal, in hexadecimal digits.
    version
        How many of the events were such that a proposal must know of them.
    status, why
        "running", "paused" or "finished", and why, if it is not running.
    trouble
        What is wrong, if the policy cannot go on; else "".
    pending
        (q,) evaluations on their way: in tickets, or told and not learnt yet.
    places
        (q,) where the policy has the question of a number.
    has_anybodys
        Whether some questions are nobody's in particular.
    reading
        Which scores are possible.
    evaluations, counted, late
        How many evaluations came in all, how many of them count, and how many came late.
    done, voided
        How many tickets were answered, and how many were taken back.
    alarms
        Assumptions and texts of the alarms in the log.
    given_up
        Question, ticket and reason of what was given up.
    left
        Who left, and why.
    tally
        By evaluator: how many evaluations count, came late, were withdrawn or given up.
    plan_id
        Which plan of the policy is in the log.
    taken_back
        How many withdrawals were folded in.
    """

    policy: Policy
    settings: dict[str, Any]
    display: dict[str, dict[str, str]]
    pending: Counts
    places: Indices
    has_anybodys: bool
    reading: Scores

    def __init__(
        self,
        withdrawn: Iterable[int] = (),
        skipped: Mapping[int, str] | None = None,
        closings: Mapping[int, list[Any]] | None = None,
    ) -> None:
        self.withdrawn, self.skipped = set(withdrawn), dict(skipped or {})
        self.closings: Mapping[int, Sequence[Any]] = dict(closings or {})
        self.head = self.version = 0
        self.seal = ""
        self.status, self.why, self.trouble = "running", "", ""
        self.evaluations = self.counted = self.late = self.done = self.voided = 0
        self.alarms: list[list[str]] = []
        self.given_up: list[list[Any]] = []
        self.left: dict[str, str] = {}
        self.tally: dict[str, list[int]] = {}
        self.plan_id: int | None = None
        self.taken_back = 0
        self._plan_seen: int | None = None
        self._at = 0  # the event that is being folded in
        self._plan_since = 1  # the event that closed what was before the plan in force
        self._unwritten: list[list[Any]] = []  # since when plans were in force that are not written
        self._in_row: dict[str, int] = {}  # given up since the last answer, by evaluator
        self._in_row_on: dict[str, int] = {}  # likewise, by what the question is about
        self._out: dict[int, tuple[int, int]] = {}  # question and turn of unanswered tickets
        self._spoilt: dict[int, tuple[int, int, int]] = {}  # ticket, question, turn of withdrawn
        self._issued: dict[int, int] = {}  # turns that were handed out, by question
        self._returned: dict[int, list[int]] = {}  # turns that nobody answered, by question
        self._new: list[list[Any]] = []  # event, question (none: withdrawn), score: not learnt
        self._held: list[list[Any]] = []  # likewise, learnt when the policy expects them
        self._learnt = 0
        self._deferred: list[list[Any]] = []  # changes that the policy could not take in

    # ------------------------------------------------------------------ the fold

    def fold(self, events: Iterable[Event]) -> None:
        """Take in the next events of the log."""
        for event in events:
            if event.number != self.head + 1:
                raise StoreError(
                    f"event {self.head + 1} is missing in the record, which goes on with "
                    f"{event.number}. Something was taken out; go back to a copy."
                )
            take = getattr(self, f"_{event.kind}", None)
            if take is None:
                raise StoreError(
                    f"event {event.number} is of the kind {event.kind!r}, which this evenhand does "
                    "not know; use a newer one."
                )
            self._at = event.number
            try:
                if self.closings and event.number > 1:
                    self._guard(event.number, self._hold)
                take(event.number, event.content)
            except (OutdatedError, BrokenError, StoreError):
                raise
            except Exception as error:
                raise StoreError(
                    f"event {event.number} ({event.kind}) of the record cannot be followed: "
                    f"{error!r}. Verify the campaign; it may have been changed."
                ) from error
            if event.number in self.closings:
                self._close(event.number, event.kind == "extended")
            self._note_plan()
            self.head, self.seal = event.number, event.hash.hex()
            self.version += event.kind in TURNS

    def _created(self, event: int, content: Any) -> None:
        self.policy = restore(content["policy"])
        self.settings, self.display = content["settings"], content["display"]
        self._go_by_its_rules()
        q = len(self.policy.questions)
        self.pending = np.zeros(q, dtype=np.int64)
        self.numbers = np.arange(q)

    def _proposed(self, event: int, content: Any) -> None:
        self._adopt(content.get("plan"))
        counts = np.zeros_like(self.pending)
        for number, _, question, turn in content["tickets"]:
            self._out[number] = question, turn
            counts[self.places[question]] += 1
            if turn == self._issued.get(question, 0):
                self._issued[question] = turn + 1
            else:
                self._returned[question].remove(turn)
        self._hand_out(counts)

    def _told(self, event: int, content: Any) -> None:
        for number, ticket, question, score, evaluator, *_ in content["evaluations"]:
            self.evaluations = number
            asked, turn = self._out.pop(ticket)
            tally = self._tally(evaluator)
            self._answered(evaluator, question)
            self.done += 1
            if number in self.withdrawn:
                self._spoilt[number] = ticket, asked, turn
                self.pending[self.places[asked]] -= 1
                tally[2] += 1
                self._new.append([event, None, 0.0])  # it was learnt in its time
                continue
            self.counted += 1
            tally[0] += 1
            self._new.append([event, question, score])
        if len(self._new) >= 1 + int(_SHARE * max(self._learnt, len(self.policy.options))):
            self._guard(event, self._learn)

    def _late(self, event: int, content: Any) -> None:
        for number, _, _, _, evaluator, *_ in content["evaluations"]:
            self.evaluations = number
            self.late += 1
            self._tally(evaluator)[1] += 1

    def _imported(self, event: int, content: Any) -> None:
        kept = []
        for number, _, question, score, evaluator, *_ in content["evaluations"]:
            self.evaluations = number
            self._tally(evaluator)[2 if number in self.withdrawn else 0] += 1
            if number not in self.withdrawn:
                self.counted += 1
                kept.append([question, score])
        self._change(event, "imported", kept)

    def _withdrawn(self, event: int, content: Any) -> None:
        if content["evaluation"] not in self.withdrawn:
            raise OutdatedError(content["evaluation"])
        self.taken_back += 1
        spoilt = self._spoilt.pop(content["evaluation"], None)
        if spoilt is not None:
            ticket, question, turn = spoilt
            self.done -= 1
            if content["reopened"]:
                self._out[ticket] = question, turn
                counts = np.zeros_like(self.pending)
                counts[self.places[question]] = 1
                self._hand_out(counts)
            else:
                self._returned.setdefault(question, []).append(turn)
        self._reopen()
        self._change(event)

    def _failed(self, event: int, content: Any) -> None:
        if not content["given_up"]:
            return
        question, turn = self._out.pop(content["ticket"])
        self._return(question, turn)
        self.given_up.append([question, content["ticket"], content["reason"]])
        who = self.evaluator_of(question) or content["holder"]
        self._tally(who)[3] += 1
        about = self.question(question).label
        self._in_row[who] = self._in_row.get(who, 0) + 1
        self._in_row_on[about] = self._in_row_on.get(about, 0) + 1

    def _left(self, event: int, content: Any) -> None:
        name = content["evaluator"]
        self.left[name] = content["reason"]
        self._in_row_on.clear()  # what was given up may have been so for him, and not for itself
        for ticket in content["tickets"]:
            self._return(*self._out.pop(ticket))
        self.voided += len(content["tickets"])
        self._change(event, "left", name)

    def _joined(self, event: int, content: Any) -> None:
        name = content["evaluator"]
        self.left.pop(name, None)
        self._in_row.pop(name, None)
        self._reopen()
        if ["left", name] in self._deferred:
            self._deferred.remove(["left", name])
            self._change(event)
        else:
            self._change(event, "joined", name)

    def _looked(self, event: int, content: Any) -> None:
        self._guard(event, lambda: self._learn(content["seen"]))

    def _paused(self, event: int, content: Any) -> None:
        self.status, self.why = "paused", content["reason"]

    def _resumed(self, event: int, content: Any) -> None:
        self._in_row.clear()
        self._in_row_on.clear()
        self.status, self.why = "running", ""
        self._change(event)

    def _extended(self, event: int, content: Any) -> None:
        self.display |= content["display"]
        self._reopen()
        self._change(event, "extended", content)

    def _alarmed(self, event: int, content: Any) -> None:
        self.alarms.append([content["assumption"], content["text"]])

    def _decided(self, event: int, content: Any) -> None:
        self._guard(event, self._learn)
        self._adopt(content.get("plan"))
        self.status, self.why = "finished", content["because"]
        for question, turn in self._out.values():
            self._return(question, turn)
        self.voided += len(self._out)
        self._out.clear()

    def _leased(self, event: int, content: Any) -> None:
        pass

    _released = _renewed = _leased

    # ------------------------------------------------------------------ parts of it

    def _go_by_its_rules(self) -> None:
        """Have the policy do as it did when the campaign began; the first records don't say how."""
        self.policy.rules = int(self.settings.get("rules", 1))

    def _tally(self, evaluator: str) -> list[int]:
        return self.tally.setdefault(evaluator, [0, 0, 0, 0])

    def _answered(self, evaluator: str, question: int) -> None:
        """Take note that somebody, and something, is not broken."""
        if self._in_row:
            self._in_row.pop(evaluator, None)
        if self._in_row_on:
            self._in_row_on.pop(self.question(question).label, None)

    def _return(self, question: int, turn: int) -> None:
        """Take note that a ticket will not be answered."""
        self.pending[self.places[question]] -= 1
        self._returned.setdefault(question, []).append(turn)

    def _hand_out(self, counts: Counts) -> None:
        """Take note of what is on its way by the record."""
        self.policy.hand_out(counts, self.pending)
        self.pending += counts

    def _hold(self) -> None:
        self.policy.hold(self._at <= max(self.closings))

    def _note_plan(self) -> None:
        """Take note of a plan that came into force with this event."""
        if self.policy.plan_id != self._plan_seen:
            self._plan_seen, self._plan_since = self.policy.plan_id, self._at
            self._unwritten.append([self._at, self.policy.plan()])

    def _adopt(self, plan: Any) -> None:
        """Go by the plan in the record, which another machine may have rounded otherwise.

        A plan that was made when something still counted that is withdrawn now was another one;
        the policy keeps its own.
        """
        if plan is None:
            return
        self.plan_id = plan["id"]
        self._unwritten = [one for one in self._unwritten if one[1]["id"] > plan["id"]]
        told = sum(number <= self.evaluations for number in self.withdrawn)
        if plan["id"] == self.policy.plan_id and self.taken_back == told:
            with contextlib.suppress(InputError):
                self.policy.adopt(plan)

    def _reopen(self) -> None:
        """Let a campaign that was decided run again."""
        if self.status == "finished":
            self.status, self.why = "running", ""

    def _change(self, event: int, *change: Any) -> None:
        """Have the policy learn what came, and take in a change, after those that it could not."""
        self._deferred += [list(change)] if change else []
        self.trouble = ""
        self._guard(event, lambda: self._take_changes(event))

    def _take_changes(self, event: int) -> None:
        self._learn()
        for kind, given in self._deferred:
            self._note_plan()  # there may be another with every change
            if kind == "left":
                self.policy.leave(given)
            elif kind == "joined":
                self.policy.join(given)
            elif kind == "imported" and given:
                self.policy.observe(self._feedback([x for x, _ in given], [s for _, s in given]))
            elif kind == "extended":
                self._extend(given)
        self._deferred = []
        if event not in self.closings:  # else by the plan of the log
            self._learn_held()

    def _guard(self, event: int, step: Any) -> None:
        """Have the policy do something, unless it is known that it cannot, or there is trouble."""
        if self.trouble:
            return
        if event in self.skipped:
            self.trouble = self.skipped[event]
            return
        try:
            step()
        except Exception as error:
            raise BrokenError(event, said(error)) from error

    def _extend(self, content: Any) -> None:
        """Give the policy more to ask, or more to spend."""
        if content["questions"] is not None:
            self._add(asked_from(content["questions"]), content["numbers"])
        if content["at_most"] is not None:
            self.policy.allow(content["at_most"])
        if content["budget"] is not None:
            afford_more(self.policy, content["budget"])

    def _add(self, asked: Askable, numbers: list[int]) -> None:
        """Go on with more questions, of which those before keep their numbers."""
        before = self.pending[self.places]  # by number
        self.policy = self.policy.extended(asked)
        self.numbers = np.asarray(numbers, dtype=np.intp)
        self.pending = np.zeros(len(numbers), dtype=np.int64)
        self.pending[self.places[: len(before)]] = before

    # ------------------------------------------------------------------ learning

    def _learn(self, seen: int | None = None) -> None:
        """Have the policy learn what came, up to some event."""
        ready = [row for row in self._new if seen is None or row[0] <= seen]
        self._new = self._new[len(ready) :]
        if not ready:
            return
        self._learnt += len(ready)
        ready = [row for row in ready if row[1] is not None]
        if not ready:
            return
        feedback = self._feedback([row[1] for row in ready], [row[2] for row in ready])
        if not self._held and self.policy.expects(feedback):
            self.policy.tell(feedback)
            self.pending -= feedback.counts
            return
        self._held += ready
        self._learn_held()

    def _learn_held(self) -> None:
        """Offer what the policy did not expect, as long as it takes some of it."""
        taken = True
        while taken and self._held:
            self._note_plan()  # by which some of it may be taken
            taken, rest = False, []
            for i, row in enumerate(self._held, start=1):
                one = self._feedback([row[1]], [row[2]])
                if not self.policy.expects(one):
                    rest.append(row)
                    continue
                self.policy.tell(one)
                self.pending -= one.counts
                taken = True
                if self.policy.plan_id != self._plan_seen:  # it may expect those before, too
                    rest += self._held[i:]
                    break
            self._held = rest

    def _feedback(self, questions: list[int], scores: list[float]) -> Feedback:
        q, values = len(self.pending), np.asarray(scores, dtype=np.float64)
        at = self.places[questions]
        squares = np.maximum(values**2, _LEAST_SQUARE * (values != 0.0))
        return Feedback(
            np.bincount(at, minlength=q),
            np.bincount(at, values, minlength=q),
            np.bincount(at, squares, minlength=q),
        )

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
        self.reading = Scores(
            self.settings["scores"],
            None if bounds is None else tuple(bounds),
            comparing=compares(self.questions),
        )

    @property
    def has_news(self) -> bool:
        """Whether there are evaluations that the policy has not learnt, and could."""
        return bool(self._new) and not self.trouble

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask."""
        if self.trouble or self.has_news:
            return False
        return len(self.policy.options) == 1 or self.policy.finished

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
        """Return question, turn and evaluator of what to ask next.

        First n at most for these evaluators, then what anybody may be asked ``ahead``; each in a
        random order. Where there is nothing for these, others are asked as much ahead as there is
        ``room`` for: beside that there may be. Nothing is asked ahead beyond the policy's plan:
        that is for those who would have to wait.
        """
        gone = evaluators is not None and all(name in self.left for name in evaluators)
        if self.trouble or gone or len(self.policy.options) == 1:
            return []
        own = self._asked(n, self.pending, evaluators)
        ahead = min(ahead, room) if own.any() else room
        more = self._asked(ahead, self.pending + own, None, beyond=False)
        if more.any() and not own.any():
            own = self._asked(n, self.pending + more, evaluators)
        rng = np.random.default_rng([self.settings["seed"], self.version])
        issued: dict[int, int] = {}
        returned: dict[int, list[int]] = {}
        wanted = []
        for counts in (own, more):
            (chosen,) = np.nonzero(counts)
            order = np.repeat(chosen, counts[chosen])
            rng.shuffle(order)
            for x in order.tolist():
                number = int(self.numbers[x])
                turn = issued.get(number, self._issued.get(number, 0))
                spare = returned.setdefault(number, list(self._returned.get(number, ())))
                if turn >= self.questions.capacity[x] and spare:
                    turn = spare.pop(0)
                else:
                    issued[number] = turn + 1
                wanted.append((number, turn, self.questions.evaluator_of(x) or ""))
        return wanted

    def _asked(
        self,
        n: int,
        pending: Counts,
        evaluators: Sequence[str] | None,
        *,
        beyond: bool | None = None,
    ) -> Counts:
        """Return (q,) what the policy wants beside what is pending, n at most."""
        if n < 1:
            return np.zeros_like(pending)
        if evaluators is None:
            return self.policy.ask(n, pending, beyond=beyond).counts
        who = self.questions.evaluator
        theirs = [self.questions.evaluators.index(name) for name in evaluators]
        there = (who < 0) | np.isin(who, theirs)
        return self.policy.ask(n, pending, there, beyond=beyond).counts

    def new_plan(self) -> dict[str, Any]:
        """Return the plan in force, if the log does not have it, as a part of an event.

        Beside it those before that are not in the log either: what came meanwhile is their
        evidence.
        """
        if self.policy.plan_id is None or self.policy.plan_id == self.plan_id:
            return {}
        new = {"plan": self.policy.plan(), "since": self._plan_since}
        return new | ({"passed": passed} if (passed := self._unwritten[:-1]) else {})

    def _close(self, event: int, goes_on: bool) -> None:
        """Go over to the next plan where the campaign did, though something was withdrawn since.

        What was evaluated by a plan stays evidence for what that plan tested.
        """

        def go_over() -> None:
            for plan in self.closings[event]:
                self.policy.go_over(plan, goes_on=goes_on)
                self._learn_held()

        self._guard(event, go_over)

    def broken(self) -> str | None:
        """Return the evaluator whose questions are given up again and again; None if nobody."""
        if not self.policy.heeds_limits:
            return None  # it cannot do without
        names = self.questions.evaluators
        for who, times in self._in_row.items():
            if times >= _PATIENCE and who in names and who not in self.left:
                return who
        return None

    def hopeless(self) -> str | None:
        """Return what is given up again and again, in words; None if nothing is."""
        reason = self.given_up[-1][2] if self.given_up else ""
        for about, times in self._in_row_on.items():
            if times >= _PATIENCE:
                return f"{about!r} was given up {times} times in a row, last with: {reason}"
        alone = not (self.questions.evaluators and self.policy.heeds_limits)
        if alone and sum(self._in_row.values()) >= _PATIENCE:
            return f"{_PATIENCE} questions were given up in a row, last with: {reason}"
        return None

    # ------------------------------------------------------------------ copies and snapshots

    def up_to_date(self) -> Policy:
        """Return a copy of the policy, with all that came learnt."""
        if self._new and not self.trouble:
            kept = Replica.from_snapshot(*self.snapshot())
            kept._learn()
            return kept.policy
        return copy.copy(self.policy)

    def snapshot(self) -> tuple[bytes, bytes]:
        """Return the replica as bytes, and their digest."""
        policy = self.policy.state()
        policy["run"]["answers"] = []  # what was asked for is in the log
        content = {name: getattr(self, name) for name in _PLAIN} | {
            "policy": policy,
            "withdrawn": sorted(self.withdrawn),
            "out": [[number, *out] for number, out in self._out.items()],
            "spoilt": [[number, *out] for number, out in self._spoilt.items()],
            "issued": list(self._issued.items()),
            "returned": [[x, turns] for x, turns in self._returned.items() if turns],
            "pending": _sparse(self.pending),
            "numbers": self.numbers.tolist(),
        }
        body = zlib.compress(canonical(content).encode(), 1)
        return body, hashlib.sha256(body).digest()

    @classmethod
    def from_snapshot(cls, body: bytes, digest: bytes) -> Replica:
        """Return the replica that a snapshot was taken of; ValueError if it was changed."""
        if hashlib.sha256(body).digest() != digest:
            raise ValueError("the snapshot was changed")
        content = json.loads(zlib.decompress(body))
        replica = cls(content["withdrawn"])
        replica.policy = restore(content["policy"])
        for name in _PLAIN:
            setattr(replica, name, content[name])
        replica._go_by_its_rules()
        replica._out = {number: (question, turn) for number, question, turn in content["out"]}
        replica._spoilt = {number: (t, x, turn) for number, t, x, turn in content["spoilt"]}
        replica._issued = dict(content["issued"])
        replica._returned = dict(content["returned"])
        replica.pending = _dense(content["pending"], len(replica.policy.questions))
        replica.numbers = np.asarray(content["numbers"], dtype=np.intp)
        return replica


def asked_from(content: Mapping[str, Any]) -> Askable:
    """Return options or questions from what an event holds of them."""
    if "actions" in content:
        return ActionSet.from_dict(content["actions"])
    return Questions.from_dict(content["questions"])


def asked_to(asked: Askable) -> dict[str, Any]:
    """Return options or questions as an event holds them."""
    return {"actions" if isinstance(asked, ActionSet) else "questions": asked.to_dict()}


def said(error: BaseException) -> str:
    """Return an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _sparse(counts: Counts) -> list[list[int]]:
    (where,) = np.nonzero(counts)
    return [where.tolist(), counts[where].tolist()]


def _dense(kept: list[list[int]], q: int) -> Counts:
    counts: Counts = np.zeros(q, dtype=np.int64)
    counts[kept[0]] = kept[1]
    return counts
