"""What a record says was asked, answered and planned; and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.campaigns.proof.asked import Asked, Counts, Floats, Indices, Named, Truths
from evenhand.campaigns.proof.squares import Fit, Sums

TIE = 1e-9
"""Numbers that differ by a smaller share of the largest are equal: the first is taken."""

ROUNDING = 1e-12
"""What is left of a difference of equal numbers is a smaller share of them."""


class Plan(NamedTuple):
    """A plan of what to ask.

    Parameters
    ----------
    at
        How many evaluations were in when it came into force.
    content
        What was frozen, by name.
    since, event
        The event that put it in force, and the one that wrote it down; 0 where there is no log.
    """

    at: int
    content: Mapping[str, Any]
    since: int = 0
    event: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it goes on with the stage of the plan before, since more was allowed."""
        return bool(self.content.get("began", -1) not in (-1, self.content.get("id")))


class Change(NamedTuple):
    """Something that changed.

    Parameters
    ----------
    at, event
        How many evaluations were in, and which event it was.
    absent
        Who could not be asked from then on; of an extension, what could not be chosen before.
    moved
        Whether options have other places since an extension.
    """

    at: int
    absent: tuple[str, ...]
    event: int = 0
    moved: bool = False


class Allowed(NamedTuple):
    """More evaluations, or more money.

    Parameters
    ----------
    at, event
        How many evaluations were in, and which event it was.
    most
        How many evaluations in all from then on; −1 if as many as before.
    """

    at: int
    most: int
    event: int = 0


@dataclass(frozen=True, eq=False)
class Record:
    """Evaluations, in the order in which they were told, and all that was fixed before them.

    Parameters
    ----------
    content
        The questions, or the options, as `to_dict` writes them.
    policy, settings
        What asked: its name, and what it was told by name.
    questions, scores
        (n,) which question each evaluation answers, and what came back.
    observed
        (n,) which of them nobody asked for: they may be planned by, and are no evidence.
    withdrawn
        (n,) the event that withdrew this one; −1 if none did.
    plans
        What was frozen, in order.
    absences
        Who was absent from when on.
    imports, extensions
        When scores were observed, and when there was more to ask.
    allowed
        When more evaluations were allowed, or more money.
    learnt, learning
        (b,) how many evaluations were in each time that the policy learnt from new ones, after
        every single one if nothing is said; and the events that it did so at.
    ends
        When all was looked at out of turn, as at the end of a run: how many evaluations were in.
        At the end, if nothing is said.
    stated
        What the campaign was asked for, where that is not what the policy was told: a tolerance,
        and whether features are exact (``deviation``).
    """

    content: Mapping[str, Any]
    policy: str
    settings: Mapping[str, Any]
    questions: Indices
    scores: Floats
    observed: Truths
    withdrawn: Counts
    plans: Sequence[Plan] = ()
    absences: Sequence[Change] = ()
    imports: Sequence[Change] = ()
    extensions: Sequence[Change] = ()
    allowed: Sequence[Allowed] = ()
    learnt: Counts | None = None
    learning: Counts | None = None
    ends: Sequence[int] | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def looks(self) -> Counts:
        """(b,) how many evaluations were in at each look."""
        return np.arange(1, self.total + 1) if self.learnt is None else np.asarray(self.learnt)

    def look_after(self, place: int) -> int:
        """Return the first look at which so many evaluations were in; −1 if there is none."""
        at = int(np.searchsorted(self.looks, place))
        return int(self.looks[at]) if at < len(self.looks) else -1

    @cached_property
    def asked(self) -> Asked:
        """The questions."""
        return Asked.of(self.content)

    @property
    def total(self) -> int:
        """How many evaluations there are, those withdrawn included."""
        return len(self.questions)

    def setting(self, name: str, otherwise: Any = None) -> Any:
        """Return what the policy was told; ``otherwise`` if nothing, or None."""
        value = self.settings.get(name)
        return otherwise if value is None else value

    @property
    def delta(self) -> float:
        """Probability of being wrong that was allowed."""
        return 1.0 - float(self.setting("confidence", 0.95))

    @cached_property
    def noise_scale(self) -> float | None:
        """The noise where it is stated, or follows from bounds; else None."""
        stated, bounds = self.settings.get("noise_scale"), self.settings.get("bounds")
        if stated is not None:
            return float(stated)
        if bounds is not None and self.policy == "certain-choice":
            return 0.5 * (float(bounds[1]) - float(bounds[0]))
        return None

    @cached_property
    def units(self) -> Floats:
        """(n,) scores in units of their questions' noise, and of the stated one."""
        return np.asarray(
            self.scores / self.asked.noise[self.questions] / (self.noise_scale or 1.0)
        )

    def counted(self, begin: int, end: int, as_of: int | None = None) -> Indices:
        """Return which of some evaluations count: those not withdrawn, by now or by an event."""
        gone = self.withdrawn[begin:end]
        out = gone >= 0 if as_of is None else (gone >= 0) & (gone <= as_of)
        return begin + np.flatnonzero(~out)

    def told(self, begin: int, end: int, as_of: int | None = None) -> Indices:
        """Return which of some evaluations count, now or by an event, and were asked for."""
        some = self.counted(begin, end, as_of)
        return some[~self.observed[some]]

    def sums_of(self, some: Indices) -> Sums:
        """Add up some evaluations."""
        return Sums.of(self.questions[some], self.units[some], self.asked.rows.shape[0])

    def fit_of(self, some: Indices) -> Fit:
        """Return least squares on some evaluations."""
        return Fit.of(self.asked, self.sums_of(some), self.noise_scale is not None)

    def at_most(self, place: int) -> int:
        """Return how many evaluations were allowed in all when so many were in."""
        most = self.setting("at_most", self.settings.get("horizon"))
        most = 1_000 * len(self.asked.labels) if most is None else int(most)
        for change in self.allowed:
            most = change.most if change.at <= place and change.most >= 0 else most
        return most

    def allowed_by(self, event: float) -> int:
        """Return how many evaluations were allowed in all before an event."""
        last = [change.most for change in self.allowed if change.most >= 0 and change.event < event]
        return last[-1] if last else self.at_most(-1)

    def absent(self, place: int) -> frozenset[str]:
        """Return who was absent when so many evaluations were in."""
        last: tuple[str, ...] = ()
        for change in self.absences:
            last = change.absent if change.at <= place else last
        return frozenset(last)


@dataclass(frozen=True, eq=False)
class Derived:
    """What follows from a record.

    Parameters
    ----------
    option
        The choice.
    loss, certainty, withstands
        What it loses at most, what that rests on, and what favour for a group it withstands.
    leads, values
        (k, 3) its leads and all values: estimate, low, high. None where nothing is derived.
    biases
        Estimates with their intervals, by what they are of.
    alarms
        The assumptions that are contradicted.
    close
        What is so close to a bound that rounding could decide it: then either is right.
    wrong
        What the record states and does not follow from its evaluations.
    followed
        Whether the choice and how sure it is was derived; if not, only what was counted.
    waiting
        Evaluations that no plan has, so that nothing is made of them.
    derived, taken
        In words, what was derived again, and what was only taken from the record.
    """

    option: int
    loss: float = math.inf
    certainty: str | None = None
    withstands: float = 0.0
    leads: Floats | None = None
    values: Floats | None = None
    biases: Sequence[tuple[Named, float, float, float]] = ()
    alarms: Sequence[str] = ()
    close: Sequence[str] = ()
    wrong: Sequence[str] = ()
    followed: bool = True
    waiting: Sequence[int] = ()
    derived: Sequence[str] = field(default_factory=tuple)
    taken: Sequence[str] = field(default_factory=tuple)


def first_largest(values: Floats, allowed: Truths | None = None, made_of: float = 0.0) -> int:
    """Return the place of the largest value that is allowed; of those that tie, the first.

    Differences of numbers ``made_of`` such a size tie by their rounding, too.
    """
    worth = values if allowed is None else np.where(allowed, values, -np.inf)
    finite = np.abs(worth[np.isfinite(worth)])
    slack = max(TIE * finite.max(initial=0.0), ROUNDING * made_of)
    return int(np.flatnonzero(worth >= worth.max() - slack)[0])
