"""Who works on the questions: the caller itself, threads, or tasks of an event loop.

A crew takes single attempts. `start` hands out a question and returns at once; `wait` returns what
came back next, a score or the error that took its place, or None if nothing did in time; `close`
lets go of what is still on its way, without waiting for it. A crew knows nothing of policies,
retries or what a score may be.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from evenhand.answers.question import Question, Reply
from evenhand.errors import InputError

Score = float | str | Reply  # a verdict may be a word
Evaluate = Callable[[Question], Score | Awaitable[Score]]

_FAREWELL = 1.0  # seconds that tasks have to put things away when they are cancelled


@dataclass(frozen=True)
class CrewReply:
    """What came back of a question: a score, or the error that took its place."""

    question: Question
    score: object = None
    error: BaseException | None = None


def checked_functions(evaluate: object, available: object) -> None:
    """See that what evaluates, and what says who is there, are functions."""
    if not callable(evaluate):
        raise InputError(f"evaluate must be a function of a question; got {evaluate!r}.")
    if available is not None and not callable(available):
        raise InputError(
            f"available must be a function that returns names of evaluators; got {available!r}."
        )


def crew_for(evaluate: Evaluate, parallel: int) -> Crew:
    """Return who calls `evaluate`: a loop if it is async, threads if parallel, or the caller."""
    called = getattr(evaluate, "__call__", None)  # noqa: B004 # not whether, but what is called
    if inspect.iscoroutinefunction(evaluate) or inspect.iscoroutinefunction(called):
        return Tasks(evaluate)
    return Crew(evaluate) if parallel == 1 else Threads(evaluate, parallel)


class Crew:
    """Takes single attempts, and knows nothing of policies, retries or what a score may be: here
    one question at a time, in the caller's own thread.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._questions: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[CrewReply] = queue.SimpleQueue()

    def start(self, question: Question) -> None:
        """Hand out a question, and return at once."""
        self._questions.put(question)

    def wait(self, seconds: float) -> CrewReply | None:
        """Return what comes back next, None if nothing does in time; of the caller's own thread,
        however long that takes.
        """
        question = self._questions.get()
        assert question is not None
        return _attempt(self._evaluate, question)

    def close(self) -> None:
        """Let go of what is not done, without waiting for it."""
        while not self._questions.empty():
            with suppress(queue.Empty):
                self._questions.get_nowait()


class Threads(Crew):
    """Several questions at once, each in a daemon thread, so that a stuck one delays no exit."""

    def __init__(self, evaluate: Evaluate, size: int) -> None:
        super().__init__(evaluate)
        self._size, self._started = size, 0

    def start(self, question: Question) -> None:
        """Hand the question to whoever is free."""
        if self._started < self._size:
            self._started += 1
            threading.Thread(target=self._work, name="evaluator", daemon=True).start()
        super().start(question)

    def wait(self, seconds: float) -> CrewReply | None:
        """Return what comes back next."""
        return _next(self._replies, seconds)

    def close(self) -> None:
        """Send everybody home after the question that each is at."""
        super().close()
        for _ in range(self._started):
            self._questions.put(None)

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            self._replies.put(_attempt(self._evaluate, question))


class Tasks(Crew):
    """Several questions at once, as tasks of an event loop in a thread of its own."""

    # So `choose` may be called where a loop is running already, as in a notebook.

    def __init__(self, evaluate: Evaluate) -> None:
        super().__init__(evaluate)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="evaluators", daemon=True)
        self._thread.start()

    def start(self, question: Question) -> None:
        """Start a task for the question."""
        self._loop.call_soon_threadsafe(self._begin, question)

    def wait(self, seconds: float) -> CrewReply | None:
        """Return what comes back next."""
        return _next(self._replies, seconds)

    def close(self) -> None:
        """Cancel the tasks; wait only for what they put away at once."""
        self._closing = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2.0 * _FAREWELL)

    def _begin(self, question: Question) -> None:
        if self._closing:
            return
        task = self._loop.create_task(self._ask(question))
        self._tasks.add(task)  # a loop alone does not keep its tasks alive
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, question: Question) -> None:
        try:
            coming = self._evaluate(question)
            reply = CrewReply(question, await coming if isinstance(coming, Awaitable) else coming)
        except asyncio.CancelledError:
            if self._closing:
                raise
            reply = CrewReply(question, error=RuntimeError("the evaluator's task was cancelled"))
        except BaseException as error:  # whoever waits decides what it means
            reply = CrewReply(question, error=error)
        self._replies.put(reply)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            self._loop.run_until_complete(asyncio.wait(self._tasks, timeout=_FAREWELL))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def _attempt(evaluate: Evaluate, question: Question) -> CrewReply:
    try:
        score = evaluate(question)
    except BaseException as error:  # whoever waits decides what it means
        return CrewReply(question, error=error)
    if isinstance(score, Awaitable):
        if inspect.iscoroutine(score):
            score.close()
        return CrewReply(
            question,
            error=_MisuseError(
                "evaluate returned something to await, but is no async function; wrap it: "
                "async def evaluate(question): return await …"
            ),
        )
    return CrewReply(question, score)


class _MisuseError(InputError):
    """The evaluator is written wrongly: to try again would not help."""


def is_hopeless(error: BaseException) -> bool:
    """Tell whether an error is none of an evaluation, but ends everything."""
    return isinstance(error, _MisuseError) or not isinstance(error, Exception)


def _next(replies: queue.SimpleQueue[CrewReply], seconds: float) -> CrewReply | None:
    try:
        return replies.get(timeout=seconds)
    except queue.Empty:
        return None
