"""The run of a policy in memory: ask it, have it evaluated, tell what came back, as it comes.

Within what the policy asks for, the order of the questions is drawn at random, so that a drift of
the evaluator favours nobody. Of several evaluators one who fails again and again is taken to have
left, and the others go on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from evenhand.answers.attendance import Attendance
from evenhand.answers.crews import Crew
from evenhand.answers.loop import LEAST_PATIENCE, Run, work
from evenhand.answers.question import Failure, Question, Turns, question_of
from evenhand.arrays import Counts
from evenhand.errors import NotIdentifiableError
from evenhand.policies.base import Policy
from evenhand.policies.conclusion import checks_of
from evenhand.policies.messages import Feedback, counts_of

_NOBODY = (
    "those who are to be asked now are not available; policy=answer.policy goes on when they are"
)


def run(
    policy: Policy,
    crew: Crew,
    *,
    parallel: int,
    retries: int,
    read: Callable[[Question, object], float],
    seed: int,
    watch: Callable[[Run], None],
    attendance: Attendance | None = None,
) -> Run:
    """Ask until the policy is done, the evaluator is broken, or somebody interrupts."""
    # `read` returns the score in a reply, or raises `InputError`; `seed` orders the questions.
    there = Attendance(policy) if attendance is None else attendance
    desk = _Desk(policy, retries, max(LEAST_PATIENCE, 2 * parallel), read, seed, there)
    try:
        return work(desk, crew, parallel, watch)
    except NotIdentifiableError as error:
        if not policy.limits.absent:
            raise
        desk.run.stopped_because = f"without those who left, {error}"
        return desk.run


class _Desk:
    """Keeps track of what a policy has asked and what came of it."""

    def __init__(
        self,
        policy: Policy,
        retries: int,
        patience: int,
        read: Callable[[Question, object], float],
        seed: int,
        attendance: Attendance,
    ) -> None:
        self._policy, self._attendance, self._read = policy, attendance, read
        self._retries, self._patience = retries, patience
        self._order = np.random.default_rng([seed, policy.spent])
        self._number = policy.spent
        self._pending: Counts = np.zeros(len(policy.questions), dtype=np.int64)
        self._attempts: dict[int, int] = {}  # of the questions that are out, by their number
        self._since: dict[int, float] = {}  # when they were last tried
        earlier = checks_of(policy).counts.tolist() if policy.spent + policy.observed > 0 else ()
        self._turns = Turns({x: n for x, n in enumerate(earlier) if n})
        self._given_up = 0  # questions in a row, of whatever option
        self._given_up_on: Counter[str] = Counter()  # questions in a row, of this option
        self.run = Run(left=attendance.left)

    def next(self, room: int) -> Sequence[Question] | None:
        """Return what the policy wants, in a random order."""
        self._attendance.look()
        free = self._attendance.free()
        wanted = self._policy.ask(pending=self._pending, available=free).counts
        chosen = np.cumsum(wanted if free is None else np.where(free, wanted, 0))
        if chosen[-1] == 0:
            return self._none()
        questions = []
        for _ in range(min(1 if self._attendance.one_by_one else int(chosen[-1]), room)):
            x = int(np.searchsorted(chosen, self._order.integers(chosen[-1]), side="right"))
            chosen[x:] -= 1
            questions.append(self._question(x))
        return questions

    def _none(self) -> Sequence[Question] | None:
        """Return whether to wait: with something on its way, unless the policy is done."""
        if self._policy.finished:
            return None
        if not self._attempts:
            self.run.stopped_because = _NOBODY
        return [] if self._attempts else None

    def _question(self, index: int) -> Question:
        questions = self._policy.questions
        self._number += 1
        self._pending[index] += 1
        self._attempts[self._number] = 1
        self._since[self._number] = time.monotonic()
        self._attendance.begin(index)
        turn = self._turns.next(index, int(questions.capacity[index]))
        return question_of(questions, index, self._number, turn)

    def tell(self, question: Question, score: object) -> None:
        """Tell the policy a score."""
        value = self._read(question, score)
        counts = counts_of(len(self._policy.actions), {question.index: 1})
        self._policy.tell(Feedback(counts, counts * value, counts * value**2))
        took = time.monotonic() - self._since[question.number]
        self.run.attempts.answer(question.index, value, took)
        self._close(question)
        self._given_up = self._given_up_on[question.label] = 0
        self._attendance.answered(question.evaluator)

    def fail(self, question: Question, said: str) -> bool:
        """Try a question again, or give it up; where too many were given up, stop."""
        self.run.attempts.fail(question.index)
        name, patience, tries = question.evaluator, self._patience, self._attempts[question.number]
        if tries <= self._retries and name not in self.run.left:
            self._attempts[question.number] += 1
            self._since[question.number] = time.monotonic()
            return True
        self.run.failures.append(Failure(question, said, tries))
        self._unanswered(question)
        if name in self.run.left:
            return False
        self._given_up += 1
        self._given_up_on[question.label] += 1
        if name is not None and self._attendance.failed(name) >= patience:
            self._given_up = 0
            self._attendance.leave(name, f"failed {patience} times in a row, last with: {said}")
            return False
        # several evaluators who all fail are one broken line to them
        enough, who = (patience, "the evaluator") if name is None else (2 * patience, "evaluators")
        on_this = self._given_up_on[question.label] >= patience > self._given_up
        if on_this or self._given_up >= enough:
            whom = f"on {question.label} {patience}" if on_this else f"{enough}"
            self.run.stopped_because = f"{who} failed {whom} times in a row, last with: {said}"
        return False

    def part_with(self, question: Question, why: str) -> None:
        """Go on without an evaluator, if there are others."""
        self._unanswered(question)
        if question.evaluator is None:
            self.run.stopped_because = f"the evaluator left: {why}"
        else:
            self._attendance.leave(question.evaluator, why)

    def close(self) -> None:
        """Forget what is out: the policy may ask it again."""

    def _unanswered(self, question: Question) -> None:
        """Have another take the turn of a question that nobody answers."""
        self._turns.give_back(question.index, question.turn)
        self._close(question)

    def _close(self, question: Question) -> None:
        """Take a question off the list of those that are out."""
        del self._attempts[question.number], self._since[question.number]
        self._pending[question.index] -= 1
        self._attendance.end(question.index)
