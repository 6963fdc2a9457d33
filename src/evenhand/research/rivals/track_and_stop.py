"""Lazy Track-and-Stop: evaluate in the proportions that would be optimal if the estimate were true.

Jedra and Proutiere, Optimal Best-arm Identification in Linear Bandits, NeurIPS 2020, on the joint
model of values and bias. `identification` has the notation and when to stop.

Notation
--------
w       (k,)  shares that attain T* for the leads as estimated (see `limits.characteristic_time`)
g       (k,)  goal: the sum of the shares that held when each evaluation came in
B             the r options that span the others

Every evaluation goes to the option of largest deficit g_x − n_x. The shares are worked out again
only when there are an eighth more evaluations (that is lazy), and to 2%, not exactly. A lead counts
as half of σ‖h_x̂ − h_x‖, in the norm of V⁻¹, at least: it is known no better, and no rival may draw
everything. As in the source, whenever the least eigenvalue of V is below c √t, with
c = λ_min(Σ_{x∈B} a_x a_xᵀ)/√r, the options of B are evaluated in turns. Until an unknown noise is
known, w is the G-optimal design.

A decision stands for a fiftieth of what there is. Evaluations on their way count in n_x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, recalled
from evenhand.certainty.shares import proportions
from evenhand.numerics.tolerance import TIE
from evenhand.policies.registry import registered
from evenhand.research.rivals.identification import (
    IdentificationPolicy,
    IdentificationSettings,
    apportioned,
    lengths,
)

_LAZY = 1.125  # growth of the evaluations after which shares are worked out again
_ROUNDING = 1e-6  # of sums of shares
_BATCH = 0.02  # evaluations of a decision, as a share of those there are


@registered
class TrackAndStop(IdentificationPolicy):
    """Evaluates in the proportions that are optimal for the estimate, until it is sure.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.5)
    >>> policy = TrackAndStop(actions, at_most=10_000, noise_scale=1.0, threshold="usual")
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.recommend()
    Decision(option=1, label='option 2')
    >>> policy.stopped_because
    'option 2 is the best by the usual threshold, which proves nothing'
    """

    name: ClassVar[str] = "track-and-stop"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int | None = None,
        **settings: Unpack[IdentificationSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        rows = self.frame.points[self.frame.basis]
        least = float(np.linalg.eigvalsh(rows.T @ rows)[0])
        self._exploration = least / math.sqrt(self.frame.rank)
        self._shares: Floats = self.frame.weights
        self._goal: Floats = np.zeros(len(self.actions))
        self._planned = 0  # evaluations when the shares were worked out

    def allocate(self, n: int | None, pending: Counts) -> Counts:
        """Return what the goal is farthest ahead of; or what keeps V from degenerating."""
        counts = self.ledger.counts + pending
        t = int(counts.sum())
        size = max(1, math.floor(_BATCH * t)) if n is None else n
        basis = self.frame.basis
        weakest = float(np.linalg.norm(self.fit.root, 2)) ** -2
        if weakest < self._exploration * math.sqrt(t) * (1.0 - TIE):
            turns = basis[np.argsort(counts[basis], kind="stable")]
            return np.bincount(turns[:size], minlength=len(counts))
        ahead = self._goal + (int(pending.sum()) + size) * self._shares - counts
        return apportioned(np.maximum(ahead, 0.0), size)

    def replan(self, evaluations: int) -> None:
        """Move the goal, and work out the shares again where there is enough news."""
        self._goal = self._goal + evaluations * self._shares
        t = int(self.ledger.counts.sum())
        if self.fit.identified and math.isfinite(self.noise) and t >= _LAZY * self._planned:
            self._planned = t
            self._shares = self._optimal_shares()

    def _optimal_shares(self) -> Floats:
        sizes = lengths(self.apart @ self.fit.root)
        rivals = sizes > 0.0
        if not rivals.any():
            return self._shares
        leads = np.maximum(self.leads.leads + self.tolerance, 0.5 * self.noise * sizes)
        directions = self.apart[rivals] / leads[rivals, None]
        return proportions(self.frame.points, directions)[0]

    def memory(self) -> dict[str, Any]:
        """Return the evaluations so far, the goal and the shares."""
        planned = {"goal": self._goal, "shares": self._shares, "planned": self._planned}
        return super().memory() | planned

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        super().recall(memory)
        k = (len(self.actions),)
        self._goal = recalled(memory, "goal", k, least=0.0)
        self._shares = recalled(memory, "shares", k, least=0.0, most=1.0 + _ROUNDING)
        self._planned = recalled(memory, "planned", (), int, 0)
        told = int(self.ledger.counts.sum())
        sums = float(self._goal.sum()) - told, float(self._shares.sum()) - 1.0
        if abs(sums[0]) > _ROUNDING * max(told, 1) or abs(sums[1]) > _ROUNDING:
            raise ValueError("goal must add up to what was told, and shares to 1")
