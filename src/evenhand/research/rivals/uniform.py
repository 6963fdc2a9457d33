"""Uniform evaluation: every option equally often, whatever comes back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, recalled, recalled_counts
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, Settings, checked_failure
from evenhand.policies.messages import Decision, Estimate, Feedback
from evenhand.policies.phase_designs import LeastSquares, fixed_design_width, least_squares
from evenhand.policies.registry import registered
from evenhand.questions import Askable

_AT_ONCE = 10_000  # most evaluations of one answer where limits are kept, one after the other


@registered
class Uniform(Policy):
    """Evaluates all options equally often, in rounds that double; a baseline.

    Recommends by pooled least squares, with the bias taken out. Of questions it asks all equally
    often, as far as they may be asked.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    >>> policy = Uniform(actions, horizon=100)
    >>> policy.tell(eh.Feedback([1, 1], [0.2, 1.0], [0.04, 1.0]))
    >>> round(policy.bias().value, 6)
    0.4
    """

    name = "uniform"
    plays_questions = True

    def __init__(
        self,
        actions: Askable,
        horizon: int,
        *,
        delta: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.delta = checked_failure(delta)
        self._counts = np.zeros(len(actions), dtype=np.int64)
        self._sums = np.zeros(len(actions))
        self._squares = np.zeros(len(actions))

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Ask 1, 1, 2, 4, … evaluations of every option, those that have the fewest first."""
        have = self._counts + pending
        if n is None:  # twice as many of each
            n = int(np.maximum(max(1, 2 * int(self._counts.max())) - have, 0).sum())
        n = min(n, self.remaining - int(pending.sum()))
        if not self.limits.restricted:
            return _evenly(have, n)
        return self._evenly_within(pending, min(n, _AT_ONCE))

    def learn(self, feedback: Feedback) -> None:
        """Add the evaluations up."""
        self._round += 1
        self._counts += feedback.counts
        self._sums += feedback.sums
        self._squares += feedback.sums_of_squares

    def take_in(self, feedback: Feedback) -> bool:
        """Add up what was not asked for."""
        self.learn(feedback)
        return True

    def memory(self) -> dict[str, Any]:
        """Return counts and sums."""
        parts = {"counts": self._counts, "sums": self._sums, "squares": self._squares}
        return {name: part.copy() for name, part in parts.items()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        k = len(self._counts)
        self._counts = recalled_counts(memory, "counts", k)
        self._sums = recalled(memory, "sums", (k,))
        self._squares = recalled(memory, "squares", (k,), least=0.0, most=math.inf)

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        X = self.options.features
        if self.actions is self.questions:
            X = X - X.mean(axis=0)  # over the average option: identified wherever leads are
        targets = np.hstack([X, np.zeros((len(X), self.questions.n_attributes))])
        return Decision.of(self, first_largest(self._fit(targets).estimates(self._means)))

    def bias(self) -> Estimate:
        """Return the least squares estimate; the interval holds for all rounds at once."""
        unknown = Estimate.without_interval(level=1.0 - self.delta)
        if not (self.questions.n_attributes and self._counts.all()):
            return unknown
        e = np.zeros((1, self.questions.points.shape[1]))
        e[0, self.questions.n_features] = 1.0
        fit = self._fit(e)
        deviation = float(fit.deviations[0])
        if np.isinf(deviation):
            return unknown  # nothing shows the bias
        value = float(fit.estimates(self._means)[0])
        # looks at the estimate, each with evaluations that were not chosen by it
        looks = max(self._round * (self._round + 1), 1)
        evaluations = self._counts, self._sums, self._squares
        width = fixed_design_width(deviation, self.delta / looks, *evaluations, self.stated_noise)
        return Estimate(value, value - width, value + width, 1.0 - self.delta)

    @property
    def _means(self) -> Floats:
        return np.asarray(self._sums / np.maximum(self._counts, 1))

    def _fit(self, targets: Floats) -> LeastSquares:
        return least_squares(self.questions.weighted_points, self._counts, targets)

    def _evenly_within(self, pending: Counts, n: int) -> Counts:
        """Return up to n more evaluations: one at a time, to what has the fewest and may be asked,
        of equals at random, so that with a capacity of one a panel is asked in random order.
        """
        more = np.zeros(len(pending), dtype=np.int64)
        rng = self._rng()
        while more.sum() < n and (open_ := self.limits.open(pending + more)).any():
            (free,) = np.nonzero(open_)
            level = (self._counts + pending + more)[free]
            more[int(rng.choice(free[level == level.min()]))] += 1
        return more


def _evenly(have: Counts, n: int) -> Counts:
    """Return n more evaluations, given to those that have the fewest; of equals, the first."""
    order = np.argsort(have, kind="stable")
    ranked = have[order]
    # raise the first i + 1 to the level of the next, for as long as that takes no more than n
    lifts = np.arange(1, len(ranked)) * np.diff(ranked)
    i = int(np.searchsorted(np.cumsum(lifts), n, side="right"))
    each, rest = divmod(n - int(lifts[:i].sum()), i + 1)
    more = np.zeros(len(have), dtype=np.int64)
    more[order[: i + 1]] = ranked[i] + each - ranked[: i + 1]
    more[np.sort(order[: i + 1])[:rest]] += 1
    return more
