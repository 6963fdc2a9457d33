"""LinGame: two players, one who chooses shares and one who chooses what else could be true.

Degenne, Ménard, Shang and Valko, Gamification of Pure Exploration for Linear Bandits, ICML 2020, on
the joint model of values and bias. `identification` and `tracking` have the notation, and when to
stop.

The second player answers w by the closest λ at which another option is the best: with j the rival
of least f_j(w), θ̂ − λ = V_w⁻¹u_j/‖u_j‖². The first gains ½(|a·(θ̂ − λ)| + b_a)² by an evaluation of
a, b_a² = log t · aᵀV⁻¹a for what the estimate may be off, and mixes evaluations by AdaHedge
(de Rooij, van Erven, Grünwald and Koolen 2014), whose rate is set by what it lost so far. The
source has a learner for every answer; here it starts anew when x̂ is another option. All
evaluations that come in at once are one step, weighed by their number.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from evenhand.arrays import Floats
from evenhand.policies.registry import registered
from evenhand.research.rivals.tracking import TrackingPolicy


@registered
class LinGame(TrackingPolicy):
    """Evaluates by no-regret learning against the closest alternative, until it is sure."""

    name: ClassVar[str] = "lingame"

    def prepare(self) -> None:
        """Start a learner, for the option that leads."""
        self._gained: Floats = np.zeros(len(self.actions))
        self._mixed = 0.0  # what mixing has lost, which sets the rate
        self._answer = self.leads.option  # x̂ of the learner

    def gains(self, shares: Floats) -> Floats:
        """Return (q,) what evaluations show of the closest alternative, and what they may show."""
        U, P = self.directions, self.frame.points
        Z = U @ self.inverse(shares)
        sizes = np.einsum("ij,ij->i", Z, U)
        j = int(np.argmax(np.round(sizes / sizes.max(), 9)))
        leverage = np.einsum("ij,ij->i", P @ self.fit.root, P @ self.fit.root)
        bonus = np.sqrt(math.log(max(self._evaluations, 2)) * leverage)
        return np.asarray(0.5 * (np.abs(P @ Z[j]) / sizes[j] + bonus) ** 2)

    def next_shares(self, evaluations: int) -> Floats:
        """Return the learner's shares after one more step."""
        if self._answer != self.leads.option:
            self.prepare()
        gain = evaluations * self.gains(self._hedge())
        w = self._hedge()
        after = self._gained + gain
        if self._mixed > 0.0:
            rate = math.log(len(w)) / self._mixed
            top = float(gain.max())
            mix = top + math.log(float(w @ np.exp(rate * (gain - top)))) / rate
        else:
            mix = float(after.max() - self._gained.max())
        self._gained, self._mixed = after, self._mixed + max(0.0, mix - float(w @ gain))
        return self._hedge()

    def _hedge(self) -> Floats:
        ahead = self._gained - self._gained.max()
        if self._mixed > 0.0:
            w = np.exp(math.log(len(ahead)) / self._mixed * ahead)
        else:
            w = (ahead >= 0.0).astype(np.float64)
        return np.asarray(w / w.sum())
