"""Progress: a bar where somebody looks, or a call of one's own."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenhand.answers.run import Run
from evenhand.errors import InputError
from evenhand.policies.conclusion import forecast_of
from evenhand.policies.messages import Decision
from evenhand.report.words import counted, short

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

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


class Watched(Protocol):
    """What is watched: a policy, or what stands for one."""

    @property
    def spent(self) -> int:
        """Evaluations told so far."""

    @property
    def horizon(self) -> int:
        """Evaluations that there may be in all."""

    def recommend(self) -> Decision:
        """Return the option to choose by what is known now."""


Watch = Callable[[Run], None]


@contextmanager
def watching(
    policy: Watched, progress: bool | Callable[[Progress], object] | None
) -> Iterator[Watch]:
    """Give what is called as evaluations come in: a bar, lines, nothing, or the user's function."""
    if callable(progress):
        yield _told(policy, progress)
    elif sys.stderr.isatty() and progress in (None, True):
        bar = _LateBar(policy)
        try:
            yield bar
        finally:
            bar.close()
    elif progress is True:
        yield _lines(policy)
    elif progress is None or progress is False:
        yield lambda run: None
    else:
        raise InputError(
            f"progress must be True, False, None or a function of a Progress; got {progress!r}."
        )


def progress_of(policy: Watched, run: Run) -> Progress:
    """Return how far a run has come."""
    return Progress(
        policy.spent,
        forecast_of(policy),
        policy.horizon,
        policy.recommend().label,
        len(run.failures),
    )


def _told(policy: Watched, progress: Callable[[Progress], object]) -> Watch:
    """Call a function whenever a score was told or a question given up."""
    last = (policy.spent, 0)

    def watch(run: Run) -> None:
        nonlocal last
        now = (policy.spent, len(run.failures))
        if now != last:
            last = now
            progress(progress_of(policy, run))

    return watch


def _lines(policy: Watched) -> Watch:
    """Write a line now and then, where no bar can be drawn: in a notebook, in a log."""
    following = time.monotonic() + _PATIENCE

    def watch(run: Run) -> None:
        nonlocal following
        if time.monotonic() >= following:
            print(progress_of(policy, run), file=sys.stderr)
            following = time.monotonic() + _SLOW_PACE

    return watch


class _LateBar:
    """A bar that appears when something takes longer than a second."""

    def __init__(self, policy: Watched) -> None:
        self._policy = policy
        self._next = time.monotonic() + _PATIENCE
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, run: Run) -> None:
        if time.monotonic() < self._next:
            return
        if self._bar is None:
            self._open()
        assert self._bar is not None
        assert self._task is not None
        now = progress_of(self._policy, run)
        self._bar.update(
            self._task, completed=now.spent, total=max(now.total, 1), description=str(now)
        )
        self._bar.refresh()
        self._next = time.monotonic() + _PACE

    def _open(self) -> None:
        from rich.console import Console  # noqa: PLC0415 # only where somebody looks
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
