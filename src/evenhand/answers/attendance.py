"""Who can be asked just now: who is there, and not busy with as much as one can do at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.tables.texts import listed

Available = Callable[[], Iterable[str]]


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


class Attendance:
    """Keeps the attendance of evaluators, and tells the policy when one joins or leaves."""

    # `at_once` limits the open questions of an evaluator; `available` names who is there, None: all
    # who have not left; `left` says who left during the run, and why.

    def __init__(
        self, policy: Policy, at_once: int | None = None, available: Available | None = None
    ) -> None:
        self._policy, self._at_once, self._available = policy, at_once, available
        names, self._who = policy.questions.evaluators, policy.questions.evaluator
        self._names = tuple(names)
        self._busy = np.zeros(len(names), dtype=np.int64)
        self._failed: Counter[str] = Counter()  # questions given up in a row
        self.left: dict[str, str] = {}

    @property
    def one_by_one(self) -> bool:
        """Whether what is free may change with every question that is handed out."""
        return self._at_once is not None

    def look(self) -> None:
        """Ask who is there, if somebody says, and tell the policy who joined and who left."""
        if self._available is None:
            return
        there = those_available(self._available, self._names) - self.left.keys()
        absent = set(self._policy.limits.absent_names)
        for name in self._names:
            if name in there and name in absent:
                self._policy.limits.join(name)
            elif name not in there and name not in absent:
                self._policy.limits.leave(name)

    def free(self) -> NDArray[np.bool_] | None:
        """Return (q,) which questions may be asked now; None if all."""
        can = np.ones(len(self._names) + 1, dtype=np.bool_)  # the last: nobody in particular
        for name in self._policy.limits.absent_names:
            can[self._names.index(name)] = False
        if self._at_once is not None:
            can[:-1] &= self._busy < self._at_once
        return None if can.all() else can[self._who]

    def begin(self, question: int) -> None:
        """Take note that a question was handed out, by its index."""
        if self._who[question] >= 0:
            self._busy[self._who[question]] += 1

    def end(self, question: int) -> None:
        """Take note that a question came back, or was given up."""
        if self._who[question] >= 0:
            self._busy[self._who[question]] -= 1

    def answered(self, name: str | None) -> None:
        """Take note that an evaluator answered."""
        if name is not None:
            self._failed[name] = 0

    def failed(self, name: str) -> int:
        """Take note that a question to an evaluator was given up; return how many in a row."""
        self._failed[name] += 1
        return self._failed[name]

    def leave(self, name: str, why: str) -> None:
        """Take note that an evaluator is not to be asked again in this run."""
        self.left.setdefault(name, why)
        if name not in self._policy.limits.absent_names:
            self._policy.limits.leave(name)
