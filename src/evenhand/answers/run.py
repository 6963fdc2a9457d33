"""The run: ask a policy, have it evaluated, tell what came back, as it comes.

Up to ``parallel`` questions are out at once. What is told is told one score at a time, in the order
of arrival. Within what the policy asks for, the order of the questions is drawn at random, so that
a drift of the evaluator favours nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evenhand.answers.crews import Crew, Reply, is_hopeless
from evenhand.answers.interrupts import Interrupts
from evenhand.answers.question import Failure, Question
from evenhand.arrays import Counts
from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback

_TICK = 0.2  # seconds between two looks at the clock, for a progress bar
_INTERRUPTED = "it was interrupted"
_LEAST_PATIENCE = 5  # questions given up in a row before the evaluator is taken to be broken


@dataclass
class Run:
    """What came of asking.

    Parameters
    ----------
    stopped_because
        Why the asking ended, if not because the policy was done.
    failures
        The questions that were given up.
    """

    stopped_because: str | None = None
    failures: list[Failure] = field(default_factory=list)


def run(
    policy: Policy,
    crew: Crew,
    *,
    parallel: int,
    retries: int,
    read: Callable[[Question, object], float],
    seed: int,
    watch: Callable[[Run], None],
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
    """
    return _Desk(policy, crew, parallel, retries, read, seed, watch).work()


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
    ) -> None:
        self._policy, self._crew = policy, crew
        self._parallel, self._retries = parallel, retries
        self._read, self._watch = read, watch
        self._order = np.random.default_rng([seed, policy.spent])
        self._number = policy.spent
        self._pending: Counts = np.zeros(len(policy.actions), dtype=np.int64)
        self._attempts: dict[int, int] = {}  # of the questions that are out, by their number
        self._patience = max(_LEAST_PATIENCE, 2 * parallel)
        self._given_up = 0  # questions in a row, of whatever option
        self._given_up_on: Counter[int] = Counter()  # questions in a row, of this option
        self._run = Run()

    def work(self) -> Run:
        try:
            with Interrupts() as interrupts:
                while not interrupts.seen and self._hand_out():
                    reply = None
                    with interrupts.allowed():
                        reply = self._crew.wait(_TICK)
                    if reply is not None:
                        self._take(reply)
                    self._watch(self._run)
                    if self._run.stopped_because is not None:
                        return self._run
                if interrupts.seen:
                    self._run.stopped_because = _INTERRUPTED
        finally:
            self._crew.close()
        return self._run

    def _hand_out(self) -> bool:
        """Hand out what the policy wants; return whether there is anything to wait for."""
        while len(self._attempts) < self._parallel:
            wanted = self._policy.ask(pending=self._pending)
            if wanted.total == 0:
                # with something on its way, that may mean to wait for it, or to be done
                return bool(self._attempts) and not self._policy.finished
            chosen = np.cumsum(wanted.counts)
            for _ in range(min(wanted.total, self._parallel - len(self._attempts))):
                x = int(np.searchsorted(chosen, self._order.integers(chosen[-1]), side="right"))
                chosen[x:] -= 1
                self._hand(x)
        return True

    def _hand(self, option: int) -> None:
        self._number += 1
        self._pending[option] += 1
        self._attempts[self._number] = 1
        self._crew.start(Question(option, self._policy.actions.labels[option], self._number))

    def _take(self, reply: Reply) -> None:
        """Tell a score; try a question again, or give it up."""
        question, error = reply.question, reply.error
        if isinstance(error, KeyboardInterrupt):
            self._run.stopped_because = _INTERRUPTED
            return
        if error is not None and is_hopeless(error):
            raise error
        if error is None:
            try:
                score = self._read(question, reply.score)
                self._policy.tell(self._feedback(question.option, score))
            except InputError as refused:  # nothing has changed
                error = refused
            else:
                self._close(question)
                self._given_up = self._given_up_on[question.option] = 0
                return
        if self._attempts[question.number] <= self._retries:
            self._attempts[question.number] += 1
            self._crew.start(question)
            return
        self._give_up(question, error)

    def _give_up(self, question: Question, error: BaseException) -> None:
        said = " ".join(f"{_kind(error)}{error}".split())
        self._run.failures.append(Failure(question, said, self._attempts[question.number]))
        self._close(question)
        self._given_up += 1
        self._given_up_on[question.option] += 1
        if self._given_up_on[question.option] >= self._patience > self._given_up:
            whom = f"on {question.label} "
        elif self._given_up >= self._patience:
            whom = ""
        else:
            return
        self._run.stopped_because = (
            f"the evaluator failed {whom}{self._patience} times in a row, last with: {said}"
        )

    def _close(self, question: Question) -> None:
        """Take a question off the list of those that are out."""
        del self._attempts[question.number]
        self._pending[question.option] -= 1

    def _feedback(self, option: int, score: float) -> Feedback:
        counts = self._policy.single(option, 1)
        return Feedback(counts, counts * score, counts * score**2)


def _kind(error: BaseException) -> str:
    """Return what to call an error before its message; ours speak for themselves."""
    if isinstance(error, InputError):
        return ""
    return f"{type(error).__name__}{': ' if str(error) else ''}"
