"""Shares that evaluations follow: what rivals that differ by their shares alone have in common.

Notation, beside that of `identification`
-----------------------------------------
w       (q,)  shares of the evaluations that come next;  V_w = Σ w_a a aᵀ
g       (q,)  goal: the sum of the shares that held when each evaluation came in
u_x     (r,)  (h_x̂ − h_x) over its lead, in units of σ: f_x(w) = 1/(2‖u_x‖²), in the norm of V_w⁻¹,
              is the evidence against a rival x that an evaluation brings on average

Every evaluation goes to what has the largest deficit g_a − n_a. A lead counts as half of its
standard deviation at least: it is known no better, and no rival may draw everything. Until an
unknown noise is known, w is the G-optimal design. A decision stands for a fiftieth of what there
is. Evaluations on their way count in n_a.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.numerics.least_squares import gram
from evenhand.questions import Askable
from evenhand.research.rivals.identification import (
    IdentificationPolicy,
    IdentificationSettings,
    apportioned,
    lengths,
)

_BATCH = 0.02  # evaluations of a decision, as a share of those there are
_RIDGE = 1e-9  # that V_w is enlarged by, relatively: so it has an inverse, hardly another one


class TrackingPolicy(IdentificationPolicy):
    """A policy whose evaluations follow shares that it works out when scores came in.

    One of this kind has a ``name`` and writes `next_shares`, perhaps `prepare`.
    """

    growth: ClassVar[float] = 1.0
    """By how much evaluations must have grown for the shares to be worked out again."""

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        **settings: Unpack[IdentificationSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self._shares: Floats = self.frame.weights
        self._goal: Floats = np.zeros(len(self.actions))
        self._planned = 0  # evaluations when the shares were worked out
        self.prepare()

    def prepare(self) -> None:
        """Set what one of this kind remembers beside these, before its first evaluation."""

    @abstractmethod
    def next_shares(self, evaluations: int) -> Floats:
        """Return w after so many more evaluations came in; asked once leads and noise are known."""

    @property
    def directions(self) -> Floats:
        """(n, r) u_x of all rivals; none where all options are alike."""
        sizes = lengths(self.apart @ self.fit.root)
        rivals = sizes > 0.0
        leads = np.maximum(self.leads.leads + self.tolerance, 0.5 * self.noise * sizes)
        return np.asarray(self.apart[rivals] / (leads[rivals, None] / self.noise))

    def inverse(self, shares: Floats) -> Floats:
        """Return V_w⁻¹."""
        V = gram(self.frame.points, shares)
        return np.asarray(np.linalg.inv(V + _RIDGE * (np.diag(np.diag(V)) + np.eye(len(V)))))

    def allocate(self, n: int | None, pending: Counts) -> Counts:
        """Return what the goal is farthest ahead of."""
        counts = self.counts + pending
        size = max(1, math.floor(_BATCH * int(counts.sum()))) if n is None else n
        ahead = self._goal + (int(pending.sum()) + size) * self._shares - counts
        return apportioned(np.maximum(ahead, 0.0), size)

    def replan(self, evaluations: int) -> None:
        """Move the goal, and work out the shares again where there is enough news."""
        self._goal = self._goal + evaluations * self._shares
        t = self._evaluations
        if self.fit.identified and math.isfinite(self.noise) and t >= self.growth * self._planned:
            self._planned = t
            if self.apart.any():
                shares = np.maximum(self.next_shares(evaluations), 0.0)
                self._shares = shares / shares.sum()
