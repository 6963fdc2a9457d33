"""What a policy makes of a campaign's state, and what it asks next.

The policy is told the steps of the state, one after another: scores, plans as they were written,
what was handed out and came back. Nothing that was planned is ever derived again. A score that was
withdrawn is left out; if it had been told already, a new policy is told the steps from the first.

*The record as it was given* is the same with another filter: withdrawn scores are in it. Who
withdraws a score after looking at it, and has it asked again, chooses among scores. Then the record
without it claims more than it may: where the two best options tie and the three lowest scores of
one are asked again, it is 'sure' in a fifth of all cases. So a decision has to follow from the
record as it was given, too, unless the withdrawal was decided without the score (blind), and then
no choice among scores was made.

Every ticket has one score there, the first (of those that were not withdrawn blindly). Whether it
is withdrawn, and what is asked instead, changes nothing about it. Plans are those of the log, each
frozen before its scores; so each is a fixed design with fresh noise, as the proofs need
(docs/research/certainty.md), whatever else was known when it was made. Whatever the campaign is
ever sure of, this record was sure of. So all that is ever said is wrong with probability δ at most,
whoever withdraws what, and when.

A policy of a user's may raise while it learns. The state stays readable: the policy is told no
more, and `Course.trouble` says what is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from evenhand.answers.question import Turns
from evenhand.arrays import Counts, Indices
from evenhand.best import sign
from evenhand.campaigns.events import Evaluation
from evenhand.campaigns.state import State, asked_from, said
from evenhand.policies.base import Policy, checks_of
from evenhand.policies.messages import Feedback
from evenhand.policies.registry import restore
from evenhand.questions import Questions
from evenhand.scores.scores import Level
from evenhand.search.choice import Choice

_LEAST_SQUARE = 1e-300  # of what is not 0; smaller ones lose digits, and then contradict the sum


class _Told:
    """A policy that is told the steps of a state, but for some scores."""

    state: State  # a view
    policy: Policy  # told all that counts; only the log puts a plan of it in force
    pending: Counts  # (q,) evaluations in tickets that were not answered
    numbers: Indices  # (q,) the numbers of the policy's questions
    places: Indices  # (q,) where the policy has the question of a number
    _at: int  # so many steps were taken
    _newest: int  # score that was told
    _without: frozenset[int]  # scores that are left out

    def __init__(self, *, put_back: bool = False) -> None:
        self._put_back = put_back  # whether this is the record as it was given
        self.begun = False

    def take(self, state: State, without: frozenset[int]) -> None:
        """Take in all steps of a state; from the first, if scores are left out that were told."""
        if (
            not self.begun
            or state.origin is not self.state.origin
            or any(number <= self._newest for number in without ^ self._without)
        ):
            self._start(state)
        self.state, self._without, self.begun = state, without, True
        for what, *given in state.steps[self._at : state.length]:
            getattr(self, f"_{what}")(*given)
        self._at = state.length

    def _start(self, state: State) -> None:
        self.policy = restore(state.policy)
        self.pending = np.zeros(len(self.policy.questions), dtype=np.int64)
        self.numbers = self.places = np.arange(len(self.pending))
        self._turns = Turns()
        self._at = self._newest = 0
        self._answered: set[int] = set()  # tickets, of the record as it was given
        # policies, which maximise, speak of scores as they were given
        checks_of(self.policy).level = Level(sign=sign(state.settings["best"]))

    def aside(self) -> Self:
        """Return a copy, to look at for long while others go on."""
        other = copy.copy(self)
        if self.begun:
            other.policy, other.pending = copy.deepcopy(self.policy), self.pending.copy()
        return other

    def _let(self, take: Callable[..., None], *given: Any) -> None:
        """Have the policy take something in; what it breaks on it says when it is asked."""
        try:
            take(*given)
        except Exception as error:
            if self._put_back or error is not self.policy._failure:
                raise

    def _begin(self, plan: Mapping[str, Any]) -> None:
        self._let(self.policy.begin, plan)

    def _hand_out(self, asked: Sequence[tuple[int, int]]) -> None:
        counts = np.zeros_like(self.pending)
        for question, turn in asked:
            counts[self.places[question]] += 1
            self._turns.take(question, turn)
        self._on_its_way(counts)

    def _reopen(self, question: int, turn: int) -> None:
        counts = np.zeros_like(self.pending)
        counts[self.places[question]] = 1
        self._on_its_way(counts)

    def _on_its_way(self, counts: Counts) -> None:
        self.policy.limits.hand_out(counts, self.pending)
        self.pending += counts

    def _take_back(self, question: int, turn: int) -> None:
        self.pending[self.places[question]] -= 1
        self._turns.give_back(question, turn)

    def _give_back(self, question: int, turn: int) -> None:
        self._turns.give_back(question, turn)

    def _tell(self, one: Evaluation) -> None:
        self.pending[self.places[one.question]] -= 1
        self._newest = one.number
        if one.number in self._without or one.ticket in self._answered:
            return
        if self._put_back:
            self._answered.add(one.ticket or 0)
            if self.policy.remaining == 0:
                self.policy.horizon += 1  # the campaign may ask as much without what was withdrawn
        self._let(self.policy.tell, self.feedback([one.question], [one.score], one.cost))

    def _observe(self, scores: Sequence[Evaluation]) -> None:
        self._newest = scores[-1].number
        kept = [one for one in scores if one.number not in self._without]
        if kept:
            told = self.feedback([one.question for one in kept], [one.score for one in kept])
            self._let(self.policy.observe, told)

    def feedback(
        self, questions: Sequence[int], scores: Sequence[float], cost: float | None = None
    ) -> Feedback:
        """Return scores as the policy takes them, and their cost; questions by their numbers."""
        q, at = len(self.pending), self.places[list(questions)]
        values = np.array([self.state.reading.told(score) for score in scores])
        squares = np.maximum(values**2, _LEAST_SQUARE * (values != 0.0))
        sums = np.bincount(at, values, q), np.bincount(at, squares, q)
        return Feedback(np.bincount(at, minlength=q), *sums, cost=cost)

    def _bar(self, question: int) -> None:
        self.policy.limits.bar(int(self.places[question]))

    def _leave(self, name: str) -> None:
        self.policy.limits.leave(name)

    def _join(self, name: str) -> None:
        self.policy.limits.join(name)

    def _extend(self, content: Any) -> None:
        policy: Any = self.policy  # a search for certainty: others were refused
        if content["questions"] is not None:
            by_number = self.pending[self.places]
            self.policy = policy = policy.extended(asked_from(content["questions"]))
            self.numbers = np.asarray(content["numbers"], dtype=np.intp)
            self.places = np.argsort(self.numbers)
            self.pending = np.zeros(len(self.numbers), dtype=np.int64)
            self.pending[self.places[: len(by_number)]] = by_number
        if content["at_most"] is not None or content["budget"] is not None:
            self._let(policy.allow, content["at_most"], content["budget"])


class Course(_Told):
    """The policy of a campaign at a state of it: to be used by one thread at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._given = _Told(put_back=True)
        self._broken: frozenset[int] | None = None  # what was left out of that when it broke
        self.ended: tuple[object, str] = None, ""  # where, and why in words: `status.ended`

    def follow(self, state: State) -> Course:
        """Go on to a state."""
        withdrawn = frozenset(state.withdrawn)
        self.take(state, withdrawn)
        blindly = frozenset(number for number in withdrawn if state.withdrawn[number])
        if blindly in (withdrawn, self._broken):
            self._given.begun = False
            return self
        try:
            self._given.take(state, blindly)
        except Exception:  # whatever broke: then nothing is sure with the scores put back
            self._given.begun, self._broken = False, blindly
        return self

    def aside(self) -> Self:
        """Return a copy, to look at for long while others go on."""
        other = super().aside()
        other._given = self._given.aside()
        return other

    def extended(self, content: Any) -> Course:
        """Return a copy that was extended, with everybody back who left."""
        after = self.aside()
        for one in (after, after._given):
            if one.begun:
                one._extend(content)
                for name in after.state.left:
                    one._join(name)
        return after

    @property
    def as_given(self) -> Policy | None:
        """The policy that is told scores as they were first given, where that is another record and
        it can say something.
        """
        return self._given.policy if self._given.begun else None

    @property
    def questions(self) -> Questions:
        """What can be asked."""
        return self.policy.questions

    @property
    def known(self) -> tuple[object, int]:
        """What a proposal made now rests on: see `Page.follows`."""
        return self.state.origin, self.state.version

    @property
    def asks(self) -> Policy:
        """What asks: the policy; where only that is certain, that of the record as it was given."""
        given = self.as_given
        if given is None or not is_certain(self.policy) or is_certain(given):
            return self.policy
        return self.policy if any(found.alarm for found in given.findings()) else given

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to plan or to ask, whatever is on its way."""
        if len(self.policy.options) == 1:
            return True
        return self.due_plan(np.zeros_like(self.pending)) is None and self.asks.finished

    @property
    def trouble(self) -> str:
        """What keeps the policy from going on, if something does; else ""."""
        if self.state.status == "finished":
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

    def wanted(
        self, evaluators: Sequence[str] | None, n: int, ahead: int, room: int
    ) -> list[tuple[int, int]]:
        """Return question and turn of what to ask next; no plan may be due."""
        # First n at most for these evaluators, then what anybody may be asked `ahead`; each in a
        # random order. Where there is nothing for these, others are asked as much ahead as there is
        # `room` for. Nothing is asked ahead beyond the policy's plan: that is for those who would
        # have to wait.
        if evaluators is not None and all(name in self.state.left for name in evaluators):
            return []
        own = self._asked(n, self.pending, evaluators)
        there = self.pending + own
        ahead = min(ahead, room) if own.any() else room
        if isinstance(asks := self.asks, Choice):
            ahead = min(ahead, asks.record.lacking(there))
        more = self._asked(ahead, there, None)
        if more.any() and not own.any():
            own = self._asked(n, self.pending + more, evaluators)
        rng = np.random.default_rng([self.state.settings["seed"], self.state.version])
        turns, wanted = Turns(self._turns.issued, self._turns.returned), []
        for counts in (own, more):
            (chosen,) = np.nonzero(counts)
            order = np.repeat(chosen, counts[chosen])
            rng.shuffle(order)
            for x in order.tolist():
                number = int(self.numbers[x])
                wanted.append((number, turns.next(number, int(self.questions.capacity[x]))))
        return wanted

    def _asked(self, n: int, pending: Counts, evaluators: Sequence[str] | None) -> Counts:
        """Return (q,) what the policy wants beside what is pending, n at most."""
        nothing = n < 1 or len(self.policy.options) == 1
        if nothing or self.due_plan(pending, evaluators) is not None:  # which only the log begins
            return np.zeros_like(pending)
        return self.asks.ask(n, pending, evaluators).counts


def is_certain(policy: Policy) -> bool:
    """Tell whether a search for certainty has found it."""
    if not isinstance(policy, Choice):
        return False
    said = policy.recommend()
    return said.certainty is not None and said.loss <= policy.tolerance
