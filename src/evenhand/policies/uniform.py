"""Uniform evaluation: every option equally often, whatever comes back."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.estimation import gaussian_width, least_squares_estimator
from evenhand.policies.base import Decision, Estimate, Play, Policy, Settings, checked_failure
from evenhand.policies.registry import registered


@registered
class Uniform(Policy):
    """Evaluates all options equally often, in rounds that double; a baseline.

    Recommends by pooled least squares, with the bias taken out.

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

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        delta: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.delta = checked_failure(delta)
        self._counts = np.zeros(len(actions), dtype=np.int64)
        self._sums = np.zeros(len(actions))

    def play(self) -> Play:
        """Ask 1, 1, 2, 4, … evaluations of every option; what is left at the end goes around."""
        k, each = len(self.actions), 1
        while self.remaining > 0:
            counts = np.full(k, min(each, self.remaining // k), dtype=np.int64)
            if each > self.remaining // k:
                counts[: self.remaining - int(counts.sum())] += 1
            feedback = yield counts
            self._counts += feedback.counts
            self._sums += feedback.sums
            each = max(1, int(self._counts.max()))

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        targets = self.actions.points.copy()
        targets[:, self.actions.n_features :] = 0.0
        return self.decision(int(np.argmax(self._estimator(targets) @ self._means)))

    def bias(self) -> Estimate:
        """Return the least squares estimate; the interval holds for all rounds at once."""
        e = np.zeros((1, self.actions.points.shape[1]))
        e[0, self.actions.n_features] = 1.0
        w = self._estimator(e)[0]
        if not self._counts.all() or not np.allclose(w @ self.actions.points, e[0]):
            return Estimate(np.nan, -np.inf, np.inf, 1.0 - self.delta)  # nothing shows the bias
        value = float(w @ self._means)
        deviation = self.noise_scale * float(np.sqrt((w**2 / self._counts).sum()))
        rounds = self._round
        width = gaussian_width(deviation, self.delta / (rounds * (rounds + 1)))
        return Estimate(value, value - width, value + width, 1.0 - self.delta)

    @property
    def _means(self) -> Floats:
        return np.asarray(self._sums / np.maximum(self._counts, 1))

    def _estimator(self, targets: Floats) -> Floats:
        return least_squares_estimator(self.actions.points, self._counts, targets)
