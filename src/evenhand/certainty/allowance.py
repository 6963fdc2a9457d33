"""What may still be asked while a batch of questions is put together.

Capacity, workload, attendance and money limit what a policy may ask. `Policy.left` says so for
every question by itself; an evaluator's workload and the money are shared by many, so that every
question taken leaves less for others.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts
from evenhand.policies.base import Policy
from evenhand.questions import UNLIMITED

_ROUNDING = 1.0 + 1e-12  # of prices that add up to the budget


class Allowance:
    """What a policy may ask beside what is on its way; less with everything that is taken.

    Parameters
    ----------
    policy
        Whose limits.
    pending
        (q,) evaluations on their way.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=1, workload=[1, 2])
    >>> policy = eh.policy("greedy-questions", panel, horizon=10)
    >>> allowance = Allowance(policy, np.zeros(4, dtype=np.int64))
    >>> allowance.take(0, 1)                # Ann by P: that is all of P's time
    >>> allowance.open.tolist()
    [False, True, False, True]
    """

    def __init__(self, policy: Policy, pending: Counts) -> None:
        questions = policy.questions
        self._left = policy.left(pending)
        self._evaluator, self._prices = questions.evaluator, questions.prices
        self._workload: Counts | None = None
        if (questions.workload < UNLIMITED).any():
            self._workload = policy.workload_left(pending)
        spent = policy.paid + float(pending @ self._prices)
        self._money = (policy.money - spent) * _ROUNDING

    @property
    def open(self) -> NDArray[np.bool_]:
        """(q,) which questions may be asked once more."""
        may = self._left > 0
        if self._workload is not None:
            named = self._evaluator >= 0
            may[named] &= self._workload[self._evaluator[named]] > 0
        if math.isfinite(self._money):
            may &= self._prices <= self._money
        return np.asarray(may)

    def most(self, question: int) -> int:
        """Return how often a question may be asked."""
        most = int(self._left[question])
        who = int(self._evaluator[question])
        if self._workload is not None and who >= 0:
            most = min(most, int(self._workload[who]))
        if math.isfinite(self._money):
            most = min(most, int(self._money // self._prices[question]))
        return max(most, 0)

    def take(self, question: int, n: int) -> None:
        """Take note that a question is asked n times."""
        if self._left[question] < UNLIMITED:
            self._left[question] -= n
        who = int(self._evaluator[question])
        if self._workload is not None and who >= 0 and self._workload[who] < UNLIMITED:
            self._workload[who] -= n
        self._money -= n * float(self._prices[question])
