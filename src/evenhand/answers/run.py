"""A run: hand questions out, wait for what comes back, tell it or give it up.

Up to ``parallel`` questions are out at once, and scores are told one at a time, in the order of
arrival. Where questions come from, and what a failure means, a `QuestionDesk` knows: of a policy in
memory (`run`), or of a campaign in a store (`campaigns.run`). Ctrl-C ends the asking, and loses
nothing that was told.

Of a policy in memory: within what the policy asks for, the order of the questions is drawn at
random, so that a drift of the evaluator favours nobody. Of several evaluators one who fails again
and again is taken to have left, and the others go on.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

import numpy as np

from evenhand.answers.crews import Crew, CrewReply, is_hopeless
from evenhand.answers.question import Failure, Question, Reply, Turns, question_of
from evenhand.arrays import Counts
from evenhand.errors import AbsentError, EvenhandError, InputError, NotIdentifiableError
from evenhand.findings import Attempts
from evenhand.policies.base import Policy, checks_of
from evenhand.policies.messages import Feedback, counts_of
from evenhand.tables.texts import listed

_NOBODY = (
    "those who are to be asked now are not available; policy=answer.policy goes on when they are"
)
TICK = 0.2  # seconds between two looks at the clock, for a progress bar
LEAST_PATIENCE = 5  # questions given up in a row before the evaluator is taken to be broken
INTERRUPTED = "it was interrupted"
Available = Callable[[], Iterable[str]]


class Interrupts:
    """Lets Ctrl-C through only while evaluations are waited for, never while a policy learns."""

    # A second Ctrl-C always gets through. Where interrupts are somebody else's business (not the
    # main thread, a handler of the program's own) nothing is changed.

    def __init__(self) -> None:
        self.seen = False
        self._open = False
        self._ours = False

    def __enter__(self) -> Interrupts:
        self._ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Wait here: an interrupt ends the block, and is remembered."""
        try:
            self._open = True
            yield
        except KeyboardInterrupt:
            self.seen = True
        finally:
            self._open = False

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        again, self.seen = self.seen, True
        if self._open or again:
            raise KeyboardInterrupt


def those_available(available: Available, names: Sequence[str]) -> set[str]:
    """Return who is there, by the function that says so; they must be among the evaluators."""
    said = available()
    there = {said} if isinstance(said, str) else set(said)
    unknown = there.difference(names)
    if unknown:
        raise InputError(
            f"available returned {min(map(str, unknown))!r}, who is no evaluator; there are "
            f"{listed(list(names))}."
        )
    return there


@dataclass
class Run:
    """What came of asking."""

    stopped_because: str | None = None  # if not because the policy was done
    failures: list[Failure] = field(default_factory=list)
    attempts: Attempts = field(default_factory=Attempts)
    left: dict[str, str] = field(default_factory=dict)


class QuestionDesk(Protocol):
    """Where questions come from and replies go; the loop ends when its run says it stopped."""

    run: Run

    def next(self, room: int) -> Sequence[Question] | None:
        """Return up to ``room`` questions to be asked now; none: to wait; None: that is all."""

    def tell(self, question: Question, score: object) -> None:
        """Take a score; `InputError` if it is none."""

    def fail(self, question: Question, said: str) -> bool:
        """Take note that a question was not answered; return whether to try it again at once."""

    def part_with(self, question: Question, why: str) -> None:
        """Go on without whom a question was for, if there are others."""

    def close(self) -> None:
        """Let go of the questions that are out."""


def work(desk: QuestionDesk, crew: Crew, parallel: int, watch: Callable[[Run], None]) -> Run:
    """Ask until the desk says that it is over, or somebody interrupts; then close the crew."""
    # `watch` is called after every reply, and now and then while nothing comes back.
    run, out = desk.run, set[int]()
    try:
        with Interrupts() as interrupts:
            while run.stopped_because is None and not interrupts.seen:
                if not _hand_out(desk, crew, out, parallel):
                    break
                reply = None
                with interrupts.allowed():
                    if out:
                        reply = crew.wait(TICK)
                    else:
                        time.sleep(TICK)
                if reply is not None and not _taken(desk, reply):
                    crew.start(reply.question)
                elif reply is not None:
                    out.discard(reply.question.number)
                watch(run)
            if interrupts.seen:
                run.stopped_because = INTERRUPTED
    finally:
        crew.close()
        desk.close()
    return run


def _hand_out(desk: QuestionDesk, crew: Crew, out: set[int], parallel: int) -> bool:
    """Hand out what there is; return whether there is anything to wait for."""
    while len(out) < parallel:
        new = desk.next(parallel - len(out))
        if new is None:
            return False
        for question in new:
            out.add(question.number)
            crew.start(question)
        if not new:
            break
    return True


def _taken(desk: QuestionDesk, reply: CrewReply) -> bool:
    """Tell a score, or that there is none; return whether the question is done with."""
    question, error = reply.question, reply.error
    if isinstance(error, KeyboardInterrupt):
        desk.run.stopped_because = INTERRUPTED
        return True
    if error is not None and is_hopeless(error):
        raise error
    if isinstance(error, AbsentError):
        desk.part_with(question, in_one_line(error) or "not available")
        return True
    if error is None:
        try:
            desk.tell(question, reply.score)
        except InputError as refused:  # nothing has changed
            error = refused
        else:
            return True
    return not desk.fail(question, in_one_line(error))


def in_one_line(error: BaseException) -> str:
    """Return an error in one line, after its kind; ours speak for themselves."""
    kind = "" if isinstance(error, EvenhandError) else type(error).__name__
    return " ".join(": ".join(part for part in (kind, str(error)) if part).split())


def run(
    policy: Policy,
    crew: Crew,
    *,
    parallel: int,
    retries: int,
    read: Callable[[Question, object], float],
    seed: int,
    watch: Callable[[Run], None],
    available: Available | None = None,
) -> Run:
    """Ask until the policy is done, the evaluator is broken, or somebody interrupts."""
    # `read` returns the score in a reply, or raises `InputError`; `seed` orders the questions.
    patience = max(LEAST_PATIENCE, 2 * parallel)
    desk = _PolicyDesk(policy, retries, patience, read, seed, available)
    try:
        return work(desk, crew, parallel, watch)
    except NotIdentifiableError as error:
        if not policy.limits.absent:
            raise
        desk.run.stopped_because = f"without those who left, {error}"
        return desk.run


class _PolicyDesk:
    """Keeps track of what a policy has asked and what came of it, and of who is there."""

    # `available` names who is there, None: all who have not left. The policy is told when somebody
    # joins or leaves; who left during the run, and why, is in `run.left`.

    def __init__(
        self,
        policy: Policy,
        retries: int,
        patience: int,
        read: Callable[[Question, object], float],
        seed: int,
        available: Available | None,
    ) -> None:
        self._policy, self._available, self._read = policy, available, read
        self._retries, self._patience = retries, patience
        self._order = np.random.default_rng([seed, policy.spent])
        self._number = policy.spent
        self._pending: Counts = np.zeros(len(policy.questions), dtype=np.int64)
        self._attempts: dict[int, int] = {}  # of the questions that are out, by their number
        earlier = checks_of(policy).counts.tolist() if policy.spent + policy.observed > 0 else ()
        self._turns = Turns({x: n for x, n in enumerate(earlier) if n})
        self._given_up = 0  # questions in a row, of whatever option
        self._given_up_on: Counter[str] = Counter()  # questions in a row, of this option
        self._given_up_by: Counter[str] = Counter()  # and of this evaluator
        self.run = Run()

    def next(self, room: int) -> Sequence[Question] | None:
        """Return what the policy wants, in a random order."""
        free = self._free()
        wanted = self._policy.ask(pending=self._pending, available=free).counts
        if free is not None:  # whatever a policy of one's own asks for
            there = [-1, *(self._policy.limits.place(name) for name in free)]
            wanted = np.where(np.isin(self._policy.questions.evaluator, there), wanted, 0)
        chosen = np.cumsum(wanted)
        if chosen[-1] == 0:
            return self._none()
        questions = []
        for _ in range(min(int(chosen[-1]), room)):
            x = int(np.searchsorted(chosen, self._order.integers(chosen[-1]), side="right"))
            chosen[x:] -= 1
            questions.append(self._question(x))
        return questions

    def _free(self) -> list[str] | None:
        """Return the names of those who can be asked now, None if all; the policy knows them."""
        limits, names = self._policy.limits, tuple(self._policy.questions.evaluators)
        if self._available is not None:
            there = those_available(self._available, names) - self.run.left.keys()
            absent = set(limits.absent_names)
            for name in names:
                if name in there and name in absent:
                    limits.join(name)
                elif name not in there and name not in absent:
                    limits.leave(name)
        absent = set(limits.absent_names)
        return [name for name in names if name not in absent] if absent else None

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
        turn = self._turns.next(index, int(questions.capacity[index]))
        return question_of(questions, index, self._number, turn)

    def tell(self, question: Question, score: object) -> None:
        """Tell the policy a score."""
        reply = Reply.of(score)
        value = self._read(question, reply.score)
        counts = counts_of(len(self._policy.actions), {question.index: 1})
        self._policy.tell(Feedback(counts, counts * value, counts * value**2, cost=reply.cost))
        self.run.attempts.answer(question.index)
        self._close(question)
        self._given_up = self._given_up_on[question.label] = 0
        if question.evaluator is not None:
            self._given_up_by[question.evaluator] = 0

    def fail(self, question: Question, said: str) -> bool:
        """Try a question again, or give it up; where too many were given up, stop."""
        self.run.attempts.fail(question.index)
        name, patience, tries = question.evaluator, self._patience, self._attempts[question.number]
        if tries <= self._retries and name not in self.run.left:
            self._attempts[question.number] += 1
            return True
        self.run.failures.append(Failure(question, said, tries))
        self._unanswered(question)
        if name in self.run.left:
            return False
        self._given_up += 1
        self._given_up_on[question.label] += 1
        if name is not None:
            self._given_up_by[name] += 1
            if self._given_up_by[name] >= patience:
                self._given_up = 0
                self._leave(name, f"failed {patience} times in a row, last with: {said}")
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
            self._leave(question.evaluator, why)

    def _leave(self, name: str, why: str) -> None:
        """Take note that an evaluator is not to be asked again in this run."""
        self.run.left.setdefault(name, why)
        if name not in self._policy.limits.absent_names:
            self._policy.limits.leave(name)

    def close(self) -> None:
        """Forget what is out: the policy may ask it again."""

    def _unanswered(self, question: Question) -> None:
        """Have another take the turn of a question that nobody answers."""
        self._turns.give_back(question.index, question.turn)
        self._close(question)

    def _close(self, question: Question) -> None:
        """Take a question off the list of those that are out."""
        del self._attempts[question.number]
        self._pending[question.index] -= 1
