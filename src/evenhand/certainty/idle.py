"""What to ask evaluators who would be idle while the last scores of a plan are out.

Each is asked what the plan asks others, in the plan's proportions: so that his scores can be
compared with one another, however lenient he is. Which question that is depends on the plan, on
what is on its way and on who is there, and on no score since the plan was frozen: so his scores are
rows of a design that was fixed before them, of this plan or of the next.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.tolerance import first_largest
from evenhand.questions import Questions

_DEAR = 2.0  # times the price of the plan, for what an answer tells: more is not spent


class Idle:
    """The questions that may be asked beyond a plan, by its order."""

    # Questions are of one kind if they are about the same and differ in who is asked. Those that
    # cost much more than the plan does, for what they tell, are left out.

    def __init__(self, questions: Questions, order: Indices) -> None:
        about = questions.about
        code = (about + 1) @ np.array([len(questions.items) + 1, 1])
        code[(about < 0).all(axis=1)] = -1 - np.flatnonzero((about < 0).all(axis=1))  # on their own
        codes, at = np.unique(code[order], return_inverse=True)
        self._shares: Floats = np.bincount(at) / len(order)
        place = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
        noise = 1.0 if questions.noise is None else questions.noise
        cost = questions.prices * noise**2
        alike = (codes[place] == code) & (cost <= _DEAR * cost[order].mean())
        self._kind: Indices = np.where(alike, place, -1)
        self._who, self._n_evaluators = questions.evaluator, len(questions.evaluators)

    def next_ones(self, have: Counts, left: Counts, n: int) -> Indices:
        """Return n questions at most, given (q,) what is there or on its way (``have``) and how
        often each may be asked; of several evaluators, who was asked least comes first.
        """
        who, kind = self._who, self._kind
        (open_,) = np.nonzero((kind >= 0) & (left > 0))
        had, may = have.copy(), left.copy()
        of_plan = kind >= 0
        times = np.bincount(who[of_plan] + 1, had[of_plan], self._n_evaluators + 1)
        chosen: list[int] = []
        while len(chosen) < n and len(open_):
            asked = times[who[open_] + 1]
            least = int(np.argmin(asked))
            own = open_[who[open_] == who[open_[least]]]
            lacking = self._shares[kind[own]] * (asked[least] + 1.0) - had[own]
            x = int(own[first_largest(lacking)])
            chosen.append(x)
            had[x] += 1
            may[x] -= 1
            times[who[x] + 1] += 1
            open_ = open_ if may[x] else open_[open_ != x]
        return np.array(chosen, dtype=np.intp)
