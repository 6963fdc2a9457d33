"""The run: ask a policy, have it evaluated, tell what came back, as it comes.

Up to ``parallel`` questions are out at once. What is told is told one score at a time, in the order
of arrival. Within what the policy asks for, the order of the questions is drawn at random, so that
a drift of the evaluator favours nobody. Of several evaluators one who fails again and again is
taken to have left, and the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evenhand.answers.attendance import Attendance
from evenhand.answers.crews import Crew, Reply, is_hopeless
from evenhand.answers.interrupts import Interrupts
from evenhand.answers.question import Failure, Question, question_of
from evenhand.arrays import Counts
from evenhand.errors import AbsentError, EvenhandError, InputError, NotIdentifiableError
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback

TICK = 0.2  # seconds between two looks at the clock, for a progress bar
_INTERRUPTED = "it was interrupted"
_NOBODY = (
    "those who are to be asked now are not available; policy=answer.policy goes on when they are"
)
LEAST_PATIENCE = 5  # questions given up in a row before the evaluator is taken to be broken


@dataclass
class Run:
    """What came of asking.

    Parameters
    ----------
    stopped_because
        Why the asking ended, if not because the policy was done.
    failures
        The questions that were given up.
    left
        The evaluators who left, and why.
    """

    stopped_because: str | None = None
    failures: list[Failure] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


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
    """Ask until the policy is done, the evaluator is broken, or somebody interrupts.

    Parameters
    ----------
    policy
        What decides; it is told every score.
    crew
        Who evaluates. It is closed at the end: what is still on its way then is let go.
    parallel
        How many questions may be out at once.
    retries
        How often a failed question is tried again.
    read
        Returns the score in what came back, or raises `InputError`.
    seed
        Where the order of the questions comes from.
    watch
        Is called after every reply, and now and then while nothing comes back.
    attendance
        Who can be asked when; everybody, if not given.
    """
    there = Attendance(policy) if attendance is None else attendance
    return _Desk(policy, crew, parallel, retries, read, seed, watch, there).work()


class _Desk:
    """Keeps track of what is out and what came of it."""

    def __init__(
        self,
        policy: Policy,
        crew: Crew,
        parallel: int,
        retries: int,
        read: Callable[[Question, object], float],
        seed: int,
        watch: Callable[[Run], None],
        attendance: Attendance,
    ) -> None:
        self._policy, self._crew, self._attendance = policy, crew, attendance
        self._parallel, self._retries = parallel, retries
        self._read, self._watch = read, watch
        self._order = np.random.default_rng([seed, policy.spent])
        self._number = policy.spent
        self._pending: Counts = np.zeros(len(policy.questions), dtype=np.int64)
        self._attempts: dict[int, int] = {}  # of the questions that are out, by their number
        self._indices: dict[int, int] = {}  # likewise: which question of the policy's it is
        self._turns: dict[int, int] = {}  # by question: the next turn
        self._returned: dict[int, list[int]] = {}  # likewise: turns that nobody answered
        self._patience = max(LEAST_PATIENCE, 2 * parallel)
        self._given_up = 0  # questions in a row, of whatever option
        self._given_up_on: Counter[str] = Counter()  # questions in a row, of this option
        self._run = Run(left=attendance.left)

    def work(self) -> Run:
        try:
            with Interrupts() as interrupts:
                while not interrupts.seen and self._hand_out():
                    reply = None
                    with interrupts.allowed():
                        reply = self._crew.wait(TICK)
                    if reply is not None:
                        self._take(reply)
                    self._watch(self._run)
                    if self._run.stopped_because is not None:
                        return self._run
                if interrupts.seen:
                    self._run.stopped_because = _INTERRUPTED
        except NotIdentifiableError as error:
            if not self._policy.limits.absent:
                raise
            self._run.stopped_because = f"without those who left, {error}"
        finally:
            self._crew.close()
        return self._run

    def _hand_out(self) -> bool:
        """Hand out what the policy wants; return whether there is anything to wait for."""
        while len(self._attempts) < self._parallel:
            self._attendance.look()
            free = self._attendance.free()
            wanted = self._policy.ask(pending=self._pending, available=free).counts
            chosen = np.cumsum(wanted if free is None else np.where(free, wanted, 0))
            if chosen[-1] == 0:
                return self._may_come()
            together = 1 if self._attendance.one_by_one else int(chosen[-1])
            for _ in range(min(together, self._parallel - len(self._attempts))):
                x = int(np.searchsorted(chosen, self._order.integers(chosen[-1]), side="right"))
                chosen[x:] -= 1
                self._hand(x)
        return True

    def _may_come(self) -> bool:
        """Return whether to wait: with something on its way, unless the policy is done."""
        if self._policy.finished:
            return False
        if not self._attempts:
            self._run.stopped_because = _NOBODY
        return bool(self._attempts)

    def _hand(self, index: int) -> None:
        self._number += 1
        self._pending[index] += 1
        self._attempts[self._number] = 1
        self._indices[self._number] = index
        self._attendance.begin(index)
        self._crew.start(
            question_of(self._policy.questions, index, self._number, self._turn(index))
        )

    def _turn(self, index: int) -> int:
        """Return a turn that no other question of its kind has, answered or on its way.

        Turns that were given up come again when there are no others.
        """
        policy = self._policy
        if index not in self._turns:
            earlier = policy.spent + policy.observed > 0
            self._turns[index] = int(policy.checks.counts[index]) if earlier else 0
        turn = self._turns[index]
        if turn >= policy.questions.capacity[index] and self._returned.get(index):
            return self._returned[index].pop(0)
        self._turns[index] = turn + 1
        return turn

    def _take(self, reply: Reply) -> None:
        """Tell a score; try a question again, or give it up."""
        question, error = reply.question, reply.error
        if isinstance(error, KeyboardInterrupt):
            self._run.stopped_because = _INTERRUPTED
            return
        if error is not None and is_hopeless(error):
            raise error
        if isinstance(error, AbsentError):
            self._unanswered(question)
            self._part_with(question, in_one_line(error) or "not available")
            return
        if error is None:
            try:
                score = self._read(question, reply.score)
                self._policy.tell(self._feedback(self._indices[question.number], score))
            except InputError as refused:  # nothing has changed
                error = refused
            else:
                self._close(question)
                self._given_up = self._given_up_on[question.label] = 0
                self._attendance.answered(question.evaluator)
                return
        gone = question.evaluator in self._run.left
        if self._attempts[question.number] <= self._retries and not gone:
            self._attempts[question.number] += 1
            self._crew.start(question)
            return
        self._give_up(question, error)

    def _part_with(self, question: Question, why: str) -> None:
        """Go on without an evaluator, if there are others."""
        self._close(question)
        if question.evaluator is None:
            self._run.stopped_because = f"the evaluator left: {why}"
            return
        self._attendance.leave(question.evaluator, why)

    def _give_up(self, question: Question, error: BaseException) -> None:
        said, name, patience = in_one_line(error), question.evaluator, self._patience
        self._run.failures.append(Failure(question, said, self._attempts[question.number]))
        self._unanswered(question)
        if name in self._run.left:
            self._close(question)
            return
        self._given_up += 1
        self._given_up_on[question.label] += 1
        if name is not None and self._attendance.failed(name) >= patience:
            self._given_up = 0
            self._part_with(question, f"failed {patience} times in a row, last with: {said}")
            return
        self._close(question)
        # several evaluators who all fail are one broken line to them
        enough = patience if name is None else 2 * patience
        if self._given_up_on[question.label] >= patience > self._given_up:
            whom = f"on {question.label} "
        elif self._given_up >= enough:
            whom, patience = "", enough
        else:
            return
        who = "the evaluator" if name is None else "evaluators"
        self._run.stopped_because = (
            f"{who} failed {whom}{patience} times in a row, last with: {said}"
        )

    def _unanswered(self, question: Question) -> None:
        """Have another take the turn of a question that is given up."""
        self._returned.setdefault(question.index, []).append(question.turn)

    def _close(self, question: Question) -> None:
        """Take a question off the list of those that are out."""
        del self._attempts[question.number]
        index = self._indices.pop(question.number)
        self._pending[index] -= 1
        self._attendance.end(index)

    def _feedback(self, index: int, score: float) -> Feedback:
        counts = self._policy.single(index, 1)
        return Feedback(counts, counts * score, counts * score**2)


def in_one_line(error: BaseException) -> str:
    """Return an error in one line, after its kind; ours speak for themselves."""
    kind = "" if isinstance(error, EvenhandError) else type(error).__name__
    return " ".join(": ".join(part for part in (kind, str(error)) if part).split())
