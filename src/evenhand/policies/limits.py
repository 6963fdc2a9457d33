"""What may be asked, for how much money, of whom and how often; and what was asked so far.

Capacities and workloads belong to the questions; a budget and who is there to a run. Evaluations on
their way (``pending``) count as asked.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Counts, Indices, is_number, whole_number
from evenhand.errors import InputError
from evenhand.questions import UNLIMITED, Questions, Superset, limited

_ROUNDING = 1.0 + 1e-12  # of prices that add up to the budget
_PER_OPTION = 1_000  # evaluations of a search for certainty, where nobody says how many
MOST = 10**18  # evaluations


class Limits:
    """What of the questions may still be asked in a run, for no more than the budget.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"], workload=[1, 2])
    >>> limits = Limits(panel)
    >>> limits.left(np.array([1, 0, 0, 0]))                # Ann by P is on its way: P has no time
    array([0, 1, 0, 1])
    """

    def __init__(self, questions: Questions, budget: float = math.inf) -> None:
        self.questions = questions
        self.money, self.paid = budget, 0.0  # in all, and what evaluations so far have cost
        self.priced = 0.0  # what they cost by their prices
        # (q,) evaluations so far, asked for or not, and those that have not come back
        self.asked: Counts = np.zeros(len(questions), dtype=np.int64)
        self.outstanding: Counts = np.zeros(len(questions), dtype=np.int64)
        self.absent: set[int] = set()  # places of the evaluators who left
        self.barred: set[int] = set()  # questions that their evaluators declined
        self.version = 0  # how often somebody left or joined
        self.available: NDArray[np.bool_] | None = None  # (q,) what may be asked just now; all

    def hand_out(self, counts: ArrayLike, pending: ArrayLike) -> None:
        """Take note that (q,) evaluations were asked for, with (q,) others on their way then."""
        # where some were lost and asked for again, no more may come than that
        q = len(self.questions)
        more, there = whole_counts(counts, q, "counts"), whole_counts(pending, q, "pending")
        np.maximum(self.outstanding, there + more, out=self.outstanding)

    def pay(self, counts: Counts, cost: float | None = None) -> None:
        """Pay for (q,) evaluations: what they really cost, or their prices if nobody says.

        Examples
        --------
        >>> limits = Limits(Questions.panel(["Ann", "Bo"], ["P", "Q"]), budget=10.0)
        >>> limits.pay(np.array([1, 1, 0, 0]), cost=2.5)
        >>> limits.paid, limits.priced
        (2.5, 2.0)
        """
        priced = float(counts @ self.questions.prices)
        self.priced += priced
        self.paid += priced if cost is None else cost

    def leave(self, evaluator: str) -> None:
        """Take note that an evaluator cannot be asked any more, until `join`."""
        self.absent.add(self.place(evaluator))
        self.version += 1

    def join(self, evaluator: str) -> None:
        """Take note that an evaluator can be asked, again or from now on."""
        self.absent.discard(self.place(evaluator))
        self.version += 1

    def bar(self, question: int) -> None:
        """Take note that a question must not be asked any more: its evaluator declined it.

        Examples
        --------
        >>> limits = Limits(Questions.panel(["Ann", "Bo"], ["P", "Q"]))
        >>> limits.bar(1)                                  # Q supervised Ann
        >>> limits.left(np.zeros(4, dtype=np.int64))
        array([1, 0, 1, 1])
        """
        self.barred.add(question)
        self.version += 1

    def follow(self, before: Limits, to: Superset) -> None:
        """Take over what there was of fewer questions, which are a part of these."""
        self.money, self.paid, self.priced = before.money, before.paid, before.priced
        self.asked[to.questions] = before.asked
        self.outstanding[to.questions] = before.outstanding
        self.absent = {int(to.evaluators[e]) for e in before.absent}
        self.barred = {int(to.questions[x]) for x in before.barred}

    @property
    def restricted(self) -> bool:
        """Whether anything but the number of evaluations limits what may be asked."""
        some = limited(self.questions) or math.isfinite(self.money)
        return some or bool(self.absent or self.barred) or self.available is not None

    def left(self, pending: Counts, *, later: bool = False) -> Counts:
        """Return (q,) how often every question may still be asked; `UNLIMITED` if nothing says.
        ``later``: of those, too, who are not available just now.
        """
        questions = self.questions
        left = np.full(len(questions), UNLIMITED, dtype=np.int64)
        if limited(questions):
            left = self.capacity_left(pending)
            who = questions.evaluator
            if (questions.workload < UNLIMITED).any():
                free = self.workload_left(pending)
                left[who >= 0] = np.minimum(left[who >= 0], free[who[who >= 0]])
        if self.absent:
            left[np.isin(questions.evaluator, list(self.absent))] = 0
        if self.barred:
            left[list(self.barred)] = 0
        if self.available is not None and not later:
            left[~self.available] = 0
        return left

    def open(self, pending: Counts) -> NDArray[np.bool_]:
        """Return (q,) which questions may be asked once more beside those pending."""
        return (self.left(pending) > 0) & (self.questions.prices <= self.rest(pending))

    def capacity_left(self, pending: Counts) -> Counts:
        """Return (q,) how often every question may still be asked by its own capacity alone."""
        return _rest(self.questions.capacity, self.asked + pending)

    def workload_left(self, pending: Counts) -> Counts:
        """Return (e,) how much every evaluator may still be asked; `UNLIMITED` if nothing says."""
        return _rest(self.questions.workload, done_by(self.questions, self.asked + pending))

    def allowed(self, order: Indices, pending: Counts) -> Indices:
        """Return what of an order of questions may be asked now, from its beginning on."""
        questions = self.questions
        free = not (limited(questions) or self.absent or self.barred)
        if free and self.available is None:
            return order
        order = order[nth(order) <= self.left(pending)[order]]
        if (questions.workload < UNLIMITED).any():
            who = questions.evaluator[order]
            order = order[(who < 0) | (nth(who) <= self.workload_left(pending)[who])]
        return order

    def rest(self, pending: Counts) -> float:
        """Return the money that is left beside what those pending cost, at least 0."""
        if math.isinf(self.money):
            return math.inf
        spent = self.paid + float(pending @ self.questions.prices)
        return max(self.money - spent, 0.0) * _ROUNDING

    def affordable(self, counts: Counts, pending: Counts) -> Counts:
        """Return the cheapest of these that the budget pays for, beside those pending."""
        prices, money = self.questions.prices, self.rest(pending)
        if math.isinf(money) or float(counts @ prices) <= money:
            return counts
        (wanted,) = np.nonzero(counts)
        within = np.zeros_like(counts)
        for x in wanted[np.argsort(prices[wanted], kind="stable")]:
            within[x] = min(int(counts[x]), int(money // prices[x]))
            money -= within[x] * prices[x]
        return within

    def place(self, evaluator: object) -> int:
        """Return the place of an evaluator by name, or say who there is."""
        names = self.questions.evaluators
        if evaluator not in names:
            raise InputError(f"there is no evaluator {evaluator!r}; there are {names!r}.")
        return names.index(str(evaluator))

    @property
    def absent_names(self) -> tuple[str, ...]:
        """Names of the evaluators who left."""
        return tuple(self.questions.evaluators[e] for e in sorted(self.absent))


def done_by(questions: Questions, counts: Counts) -> Counts:
    """Return (e,) how many of these evaluations are every evaluator's."""
    who = questions.evaluator
    done = np.bincount(who[who >= 0], counts[who >= 0], len(questions.evaluators))
    return done.astype(np.int64)


def _rest(most: Counts, done: Counts) -> Counts:
    return np.where(most == UNLIMITED, UNLIMITED, np.maximum(most - done, 0))


def nth(values: Indices) -> Counts:
    """Return (n,) how often each value has come up to its place, itself included."""
    by_value = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[by_value], values[by_value])
    times = np.empty(len(values), dtype=np.int64)
    times[by_value] = np.arange(len(values)) - starts + 1
    return times


def whole_counts(given: ArrayLike, q: int, name: str) -> Counts:
    """Return (q,) counts that a user gave, or say what is wrong with them."""
    counts = np.asarray(given)
    if counts.shape != (q,) or counts.dtype.kind not in "iuf":
        raise InputError(f"{name} must be {q} counts, one for each option; got {given!r}.")
    if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
        raise InputError(f"{name} must be whole numbers ≥ 0; got {given!r}.")
    if counts.max(initial=0) > MOST:
        raise InputError(f"{name} must be counts of at most 10¹⁸; got {given!r}.")
    return np.ascontiguousarray(counts, dtype=np.int64)


def most_evaluations(n_options: int, horizon: int | None, at_most: int | None) -> int:
    """Return how many evaluations there are at most, by either name; else 1,000 per option."""
    if horizon is not None and at_most is not None:
        raise InputError(
            f"horizon and at_most are two names for the same number; got {horizon!r} and "
            f"{at_most!r}. Give one."
        )
    if horizon is not None:
        return horizon  # `Policy` checks it
    if at_most is None:
        return _PER_OPTION * n_options
    return whole_number("at_most", at_most, 1, MOST)


def checked_budget(budget: float | None) -> float:
    """Return how much money there is; infinite if nobody says."""
    if budget is None:
        return math.inf
    if not is_number(budget) or budget <= 0.0:
        raise InputError(f"budget must be a number larger than 0, or None; got {budget!r}.")
    return float(budget)
