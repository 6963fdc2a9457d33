"""A policy that takes evaluations at their word: the paper's example of what not to do."""

from __future__ import annotations

import math

import numpy as np

from evenhand.actions import ActionSet
from evenhand.designs import g_optimal_design
from evenhand.estimation import least_squares_estimator
from evenhand.policies.base import Decision, Estimate, Play, Policy


class BlindElimination(Policy):
    """Phased elimination by raw evaluations: a linear bandit algorithm that knows of no bias.

    It learns which option has the highest *evaluation*, and plays it. Phase l evaluates by a
    G-optimal design to the precision ε_l = B 2^{2−l} and drops what is over 2ε_l below the leader.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
    >>> BlindElimination(actions, horizon=1000).ask().counts
    array([5, 5])
    """

    name = "blind-elimination"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        noise_scale: float = 1.0,
        value_bound: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            actions, horizon, noise_scale=noise_scale, value_bound=value_bound, seed=seed
        )
        self._evaluation = np.full(len(actions), -np.inf)
        self._active = np.arange(len(actions))

    def play(self) -> Play:
        """Evaluate in phases, drop what looks worse, then play what looks best."""
        points = self.actions.points
        k, m = points.shape
        phase = 0
        while len(self._active) > 1:
            phase += 1
            eps = self.value_bound * 2.0 ** (2 - phase)
            odds = k * phase * (phase + 1) * self.horizon
            n = 2 * m * (self.noise_scale / eps) ** 2 * math.log(odds)
            counts = np.zeros(k, dtype=np.int64)
            counts[self._active] = np.ceil(n * g_optimal_design(points[self._active]).weights)
            if counts.sum() > self.remaining:
                break
            feedback = yield counts
            targets = points[self._active]
            estimates = least_squares_estimator(points, feedback.counts, targets) @ feedback.means
            self._evaluation[:] = -np.inf
            self._evaluation[self._active] = estimates
            self._active = self._active[estimates.max() - estimates <= 2 * eps]
        if self.remaining:
            yield self.single(self.recommend().option, self.remaining)

    def recommend(self) -> Decision:
        """Return the option of the highest evaluation."""
        return self.decision(int(np.argmax(self._evaluation)))

    def bias(self) -> Estimate:
        """Return nothing: to this policy there is no bias."""
        return Estimate(math.nan, -math.inf, math.inf, 1.0)
