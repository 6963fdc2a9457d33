"""A policy that goes on with more options, evaluators or capacity.

What was told stays told, and what was handed out may still come. Each policy says what becomes of
its evidence (`Policy.extended`); here is what they have in common.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from evenhand.arrays import Counts
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Superset

Extended = TypeVar("Extended", bound=Policy)


class Move:
    """From the places of old questions and options to those of new ones.

    Parameters
    ----------
    to
        Where the old ones are.
    q, k
        How many questions and options there are now.

    Examples
    --------
    >>> from evenhand import Questions
    >>> old, new = (Questions.panel(list(names), ["P"]) for names in ("ab", "bca"))
    >>> Move(Superset.of(old, new), 3, 3).counts(np.array([4, 1]))
    array([1, 0, 4])
    """

    def __init__(self, to: Superset, q: int, k: int) -> None:
        self.questions, self.options, self.evaluators = to.questions, to.options, to.evaluators
        self.q, self.k = q, k

    def counts(self, counts: Counts) -> Counts:
        """Return (q,) counts of the new questions."""
        moved = np.zeros(self.q, dtype=np.int64)
        moved[self.questions] = counts
        return moved

    def feedback(self, told: Feedback) -> Feedback:
        """Return what came of the new questions: nothing but of the old."""
        sums, squares = np.zeros(self.q), np.zeros(self.q)
        sums[self.questions], squares[self.questions] = told.sums, told.sums_of_squares
        return Feedback(self.counts(told.counts), sums, squares)

    def of_options(self, old: Any, fill: float | bool) -> Any:
        """Return (k,) numbers or truth values of the options, with ``fill`` for new ones."""
        moved = np.full(self.k, fill, dtype=old.dtype)
        moved[self.options] = old
        return moved

    @property
    def newcomers(self) -> Any:
        """(k,) whether an option is new."""
        return ~np.isin(np.arange(self.k), self.options)


def grown(policy: Extended, actions: Askable, **changed: Any) -> tuple[Extended, Move]:
    """Return a policy of the same kind for more questions, and where the old ones are.

    It was told and handed out the same, and its checks have seen the same; what it learnt is still
    to come. ``changed`` are arguments that are others now.
    """
    to = Superset.of(policy.actions, actions)
    placed, named = policy._arguments
    if placed:
        placed = actions, *placed[1:]
    else:
        named = named | {"actions": actions}
    new = type(policy)(*placed, **(named | changed))
    move = Move(to, len(new.questions), len(new.options))
    new._round, new._plan_number = policy._round, policy._plan_number + 1
    new._held, new.rules = policy._held, policy.rules
    new._spent, new._observed, new._paid = policy._spent, policy._observed, policy._paid
    new._asked, new._outstanding = move.counts(policy._asked), move.counts(policy._outstanding)
    new._absent = {int(to.evaluators[e]) for e in policy._absent}
    if policy._checks is not None:
        new._checks = policy._checks.extended(new.questions, to.questions)
    return new, move
