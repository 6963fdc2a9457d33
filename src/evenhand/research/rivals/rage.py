"""RAGE: rounds of twice the accuracy, each with the design that tells apart who is left.

Fiez, Jain, Jamieson and Ratliff, Sequential Experimental Design for Transductive Linear Bandits,
NeurIPS 2019, on the joint model of values and bias. `identification` and `tracking` have the
notation, and when to stop.

Notation
--------
Z       options that are left;  ρ  the largest ‖h_x − h_y‖² over x, y ∈ Z, in the norm of V_w⁻¹
ε_t     B/2^(t + 2) in round t, B the bound of the values

Round t takes 2σ²ρ/ε_t² · log(t²k²/δ) evaluations in the shares w of least ρ. Then those of Z go
whom another leads by ε_t or more, by least squares on this round alone. The source stops when one
option is left; here the threshold that all rivals share stops, as a rule long before that. With one
left, it is told from all others. Shares are exact to 2%.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.policies.frame import OptionFrame, per_action_set
from evenhand.policies.registry import registered
from evenhand.questions import Askable
from evenhand.research.rivals.tracking import TrackingPolicy
from evenhand.search.shares import proportions

_LONGEST = 2.0**60


@registered
class RAGE(TrackingPolicy):
    """Evaluates by rounds of doubled accuracy among the options that are left, until it is sure."""

    name: ClassVar[str] = "rage"

    def prepare(self) -> None:
        """Have everybody in the first round."""
        self._left: NDArray[np.bool_] = np.ones(len(self.options), dtype=np.bool_)
        self._number = 0  # of the round
        self._ends = 0.0  # evaluations in all at which it is over
        self._before = self.counts, self.sums

    @property
    def _accuracy(self) -> float:
        return self.value_bound / 2.0 ** (min(self._number, 500) + 2)

    def _length(self, spread: float) -> float:
        """Return what takes all leads among those left to the accuracy of the round."""
        odds = (self._number * len(self.options)) ** 2 / (1.0 - self.confidence)
        return 2.0 * (self.noise / self._accuracy) ** 2 * spread * math.log(odds)

    def _unbeaten(self) -> NDArray[np.bool_]:
        """Tell whom nobody leads by the accuracy of the round, by its own scores."""
        counts, sums = self._before
        fit = self._ellipsoid.fit(self.counts - counts, self.sums - sums)
        value = self.frame.values @ (fit if fit.identified else self.fit).parameter
        return np.asarray(value > value[self._left].max() - self._accuracy)

    def next_shares(self, evaluations: int) -> Floats:
        """Return the same shares until a round is over; then those for who is left."""
        if self._evaluations < self._ends:
            return self._shares
        if self._number:
            self._left = self._left & self._unbeaten()
            if not self._left.any():  # none of them leads all others
                self._left = np.ones(len(self._left), dtype=np.bool_)
        self._number += 1
        some = np.flatnonzero(self._left)
        if len(some) == len(self._left):
            shares, spread = _all_apart(self.actions)
        else:
            shares, spread = _shares_apart(self.frame, some)
        n = min(max(1.0, math.ceil(self._length(spread))), _LONGEST)
        self._ends = self._evaluations + n
        self._before = self.counts, self.sums
        return shares


@per_action_set
def _all_apart(actions: Askable) -> tuple[Floats, float]:
    """Return the shares that tell all options apart, kept as long as these are."""
    frame = OptionFrame.of(actions)
    return _shares_apart(frame, np.arange(len(frame.values)))


def _shares_apart(frame: OptionFrame, some: Indices) -> tuple[Floats, float]:
    """Return the shares of least ρ among some options, and ρ; one is told from all others."""
    H = frame.values
    if len(some) == 1:
        rows = H[some[0]] - np.delete(H, some[0], axis=0)
    else:
        one, other = np.triu_indices(len(some), 1)
        rows = H[some[one]] - H[some[other]]
    rows = rows[rows.any(axis=1)]
    if not len(rows):
        return frame.weights, 1.0
    shares, f = proportions(frame.points, rows)
    return shares, float(f.max())
