"""Progress: a bar where somebody looks, or a call of one's own."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.answers.run import Run
from evenhand.errors import InputError
from evenhand.policies.base import Policy, forecast_of
from evenhand.report.words import counted, short

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE = 1.0  # seconds before a bar appears
_PACE = 0.2  # seconds between two drawings of it
_SLOW_PACE = 5.0  # seconds between two lines


@dataclass(frozen=True)
class Progress:
    """How far a choice has come.

    Parameters
    ----------
    spent
        Evaluations told so far.
    forecast
        Evaluations that are still expected to come; NaN if the policy cannot say.
    at_most
        Evaluations that there may be in all.
    leader
        The option that would be chosen now.
    failures
        Questions given up so far.

    Examples
    --------
    >>> print(Progress(spent=120, forecast=80.0, at_most=2_000, leader="Bo", failures=0))
    120 evaluations, about 80 to come; Bo leads
    >>> print(Progress(spent=1, forecast=float("nan"), at_most=2_000, leader="Bo", failures=2))
    1 evaluation of at most 2,000; Bo leads; 2 failed
    """

    spent: int
    forecast: float
    at_most: int
    leader: str
    failures: int

    @property
    def total(self) -> int:
        """Evaluations that there will be in all, as far as is known."""
        if math.isfinite(self.forecast):
            return min(self.at_most, self.spent + math.ceil(self.forecast))
        return self.at_most

    def __str__(self) -> str:
        spent = counted(self.spent, "evaluation")
        if math.isfinite(self.forecast):
            spent += f", about {self.total - self.spent:,} to come"
        else:
            spent += f" of at most {self.at_most:,}"
        failed = f"; {self.failures:,} failed" if self.failures else ""
        return f"{spent}; {short(self.leader)} leads{failed}"


Watch = Callable[[Run], None]
Look = Callable[[], AbstractContextManager[Policy]]
"""Lends the policy as it stands to whoever watches its progress."""


@contextmanager
def watching(look: Look, progress: bool | Callable[[Progress], object] | None) -> Iterator[Watch]:
    """Give what is called as evaluations come in: a bar, lines, nothing, or the user's function."""
    if callable(progress):
        yield _told(look, progress)
    elif progress not in (None, True, False):
        raise InputError(
            f"progress must be True, False, None or a function of a Progress; got {progress!r}."
        )
    elif progress is not False and sys.stderr.isatty():
        with _late_bar() as show:
            yield _paced(look, lambda now: show(now.spent, max(now.total, 1), str(now)), _PACE)
    elif progress:  # where no bar can be drawn: in a notebook, in a log
        yield _paced(look, lambda now: print(now, file=sys.stderr), _SLOW_PACE)
    else:
        yield lambda run: None


def _progress(look: Look, run: Run) -> Progress:
    """Return how far a run has come."""
    with look() as policy:
        leader, failures = policy.recommend().label, len(run.failures)
        return Progress(policy.spent, forecast_of(policy), policy.horizon, leader, failures)


def _told(look: Look, progress: Callable[[Progress], object]) -> Watch:
    """Call a function whenever a score was told or a question given up."""

    def spent() -> int:
        with look() as policy:
            return policy.spent

    last = (spent(), 0)

    def watch(run: Run) -> None:
        nonlocal last
        now = (spent(), len(run.failures))
        if now != last:
            last = now
            progress(_progress(look, run))

    return watch


def _paced(look: Look, show: Callable[[Progress], object], pace: float) -> Watch:
    """Show progress from the first second on, every so many seconds."""
    following = time.monotonic() + _PATIENCE

    def watch(run: Run) -> None:
        nonlocal following
        if time.monotonic() >= following:
            show(_progress(look, run))
            following = time.monotonic() + pace

    return watch


@contextmanager
def _late_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Give a function that draws a bar, which is there from its first call on."""
    bars: list[Bar] = []

    def show(done: int, total: int, said: str) -> None:
        bar = bars[0] if bars else _begun()
        bars[:] = [bar]
        bar.update(bar.task_ids[0], completed=done, total=total, description=said, refresh=True)

    try:
        yield show
    finally:
        for bar in bars:
            bar.stop()


@contextmanager
def steps(*names: str) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of several steps: where somebody looks, a bar says from
    the first second on which of them is taken.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    lock, done, late = threading.Lock(), 0, False

    def look(step: int, begin: bool = False) -> None:
        nonlocal done, late
        with lock:
            done, late = done + step, late or begin
            if late:
                show(done, len(names), names[min(done, len(names) - 1)])

    first = threading.Timer(_PATIENCE, look, [0, True])
    first.daemon = True
    with _late_bar() as show:
        first.start()
        try:
            yield lambda: look(1)
        finally:
            first.cancel()
            first.join()


def _begun() -> Bar:
    from rich.console import Console  # noqa: PLC0415 # only where somebody looks
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    columns = BarColumn(bar_width=24), TextColumn("{task.description}", markup=False)
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    bar.add_task("", total=None)
    bar.start()
    return bar
