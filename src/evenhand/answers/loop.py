"""The loop of every run: hand questions out, wait for what comes back, tell it or give it up.

Up to ``parallel`` questions are out at once, and scores are told one at a time, in the order of
arrival. Where questions come from, and what a failure means, a `Desk` knows: of a policy in memory
(`answers.run`), or of a campaign in a store (`campaigns.run`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from evenhand.answers.attempts import Attempts
from evenhand.answers.crews import Crew, Reply, is_hopeless
from evenhand.answers.interrupts import Interrupts
from evenhand.answers.question import Failure, Question
from evenhand.errors import AbsentError, EvenhandError, InputError

TICK = 0.2  # seconds between two looks at the clock, for a progress bar
LEAST_PATIENCE = 5  # questions given up in a row before the evaluator is taken to be broken
_INTERRUPTED = "it was interrupted"


@dataclass
class Run:
    """What came of asking."""

    stopped_because: str | None = None  # if not because the policy was done
    failures: list[Failure] = field(default_factory=list)
    attempts: Attempts = field(default_factory=Attempts)
    left: dict[str, str] = field(default_factory=dict)


class Desk(Protocol):
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


def work(desk: Desk, crew: Crew, parallel: int, watch: Callable[[Run], None]) -> Run:
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
                run.stopped_because = _INTERRUPTED
    finally:
        crew.close()
        desk.close()
    return run


def _hand_out(desk: Desk, crew: Crew, out: set[int], parallel: int) -> bool:
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


def _taken(desk: Desk, reply: Reply) -> bool:
    """Tell a score, or that there is none; return whether the question is done with."""
    question, error = reply.question, reply.error
    if isinstance(error, KeyboardInterrupt):
        desk.run.stopped_because = _INTERRUPTED
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
