"""OSSB: explore at the rates that are optimal as T → ∞ if the estimate is true.

Combes, Magureanu and Proutiere, Minimal Exploration in Structured Stochastic Bandits, NeurIPS 2017,
on the joint model of values and bias.

Notation
--------
n_x, θ̂      evaluations of x so far, t in all, and pooled least squares
c_x         rates of exploration that are optimal for θ̂: least Σ c_x Δ_x with
            ‖h_x̂ − h_y‖² ≤ Δ_y²/(2σ²) for all rivals y, in the norm of V(c)⁻¹ (`limits.graves_lai`)
s           rounds in which it explored

If n_x ≥ (1 + γ) c_x log t for all x it plays x̂. Otherwise it explores: an option that has had less
than γ s evaluations, and else the one of least n_x/c_x; γ = 0.01, as in the source's experiments.

The rates are worked out again when evaluations are a quarter more. A decision stands for as many
evaluations as are lacking, at most an eighth of what there is: that is ours. A lead counts as half
of its standard deviation at least. At practical horizons log t is small beside what it takes to
know θ̂ at all, and the theorem says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, recalled, recalled_counts
from evenhand.certainty.shares import proportions
from evenhand.numerics.intervals import Estimate
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, Settings
from evenhand.policies.confidence import BoundedFit, Ellipsoid
from evenhand.policies.messages import Decision, Feedback, counts_of
from evenhand.policies.registry import registered
from evenhand.research.rivals.identification import lengths, within

_SPARE = 0.01  # γ
_LAZY = 1.25  # growth of the evaluations after which rates are worked out again
_SHARE = 0.125  # of what there is that a decision stands for at most
_LEVEL = 0.95  # of the interval of the bias


@registered
class OSSB(Policy):
    """Explores at asymptotically optimal rates for the estimate, and plays what looks best.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.5)
    >>> policy = OSSB(actions, horizon=5_000, noise_scale=1.0)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.recommend().label
    'option 2'
    """

    name: ClassVar[str] = "ossb"

    def __init__(self, actions: ActionSet, horizon: int, **settings: Unpack[Settings]) -> None:
        super().__init__(actions, horizon, **settings)
        k = len(self.actions)
        self._ellipsoid = Ellipsoid(self.actions, self.horizon)
        self._counts: Counts = np.zeros(k, dtype=np.int64)
        self._sums: Floats = np.zeros(k)
        self._rates: Floats = np.zeros(k)  # c
        self._explored = 0  # s
        self._planned = 0  # evaluations when the rates were worked out
        self._fit: BoundedFit = self._ellipsoid.fit(self._counts, self._sums)

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Play what looks best if all was explored enough; otherwise explore."""
        room = self.remaining - int(pending.sum())
        most = room if n is None else min(n, room)
        if most <= 0:
            return self._nothing
        counts, k = self._counts + pending, len(self._counts)
        basis = self._ellipsoid.frame.basis
        new = basis[counts[basis] == 0]
        if len(new):
            return within(np.bincount(new, minlength=k), most)
        t = int(counts.sum())
        size = min(most, max(1, math.floor(_SHARE * t))) if n is None else most
        if not self._fit.identified:  # what would is on its way
            return counts_of(k, {int(basis[np.argmin(counts[basis])]): size})
        lacking = (1.0 + _SPARE) * self._rates * math.log(max(t, 2)) - counts
        if not (lacking > 0.0).any():
            return counts_of(k, {self._best: size})
        x = int(np.argmin(counts))
        if counts[x] <= _SPARE * self._explored:
            return counts_of(k, {x: 1})
        open_ = np.flatnonzero(lacking > 0.0)
        x = int(open_[np.argmin(counts[open_] / self._rates[open_])])
        return counts_of(k, {x: max(1, min(size, math.ceil(min(lacking[x], size))))})

    def learn(self, feedback: Feedback) -> None:
        """Estimate anew, and work out the rates where there is enough news."""
        told = feedback.counts
        self._explored += int(told.sum() - told[self._best])
        self.take_in(feedback)
        self._round += 1

    def take_in(self, feedback: Feedback) -> bool:
        """Learn from what was not asked for as well."""
        self._counts = self._counts + feedback.counts
        self._sums = self._sums + feedback.sums
        self._fit = self._ellipsoid.fit(self._counts, self._sums)
        t = int(self._counts.sum())
        if self._fit.identified and t >= _LAZY * self._planned:
            self._planned, self._rates = t, self._optimal_rates()
        return True

    def _optimal_rates(self) -> Floats:
        """Return c for the estimate, to 2%."""
        frame, best = self._ellipsoid.frame, self._best
        Y = frame.values[best] - frame.values
        sizes = lengths(Y @ self._fit.root)
        rivals = sizes > 0.0
        if not rivals.any():
            return np.zeros(len(Y))
        gaps = (
            np.maximum(Y @ self._fit.parameter, 0.5 * self.noise_scale * sizes) / self.noise_scale
        )
        # the best option costs nothing: next to nothing, so that there is an answer
        costs = np.where(rivals, gaps, 1e-3 * gaps[rivals].min())
        U = math.sqrt(2.0) * Y[rivals] / gaps[rivals, None]
        money, f = proportions(frame.points / np.sqrt(costs)[:, None], U)
        return np.asarray(np.where(rivals, money * float(f.max()) / costs, 0.0))

    @property
    def _best(self) -> int:
        if not self._fit.identified:
            return 0
        return first_largest(self._ellipsoid.frame.values @ self._fit.parameter)

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        return Decision.of(self, self._best)

    def bias(self) -> Estimate:
        """Return the (first) bias by least squares; the interval holds at all times at once.

        Where no noise scale was given there is none.
        """
        return self._fit.bias(1.0 - _LEVEL, self.stated_noise)

    def memory(self) -> dict[str, Any]:
        """Return the evaluations so far and the rates."""
        return {
            "counts": self._counts,
            "sums": self._sums,
            "rates": self._rates,
            "explored": self._explored,
            "planned": self._planned,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        k = len(self.actions)
        self._counts = recalled_counts(memory, "counts", k)
        self._sums = recalled(memory, "sums", (k,))
        self._rates = recalled(memory, "rates", (k,), least=0.0)
        self._explored = recalled(memory, "explored", (), int, 0)
        self._planned = recalled(memory, "planned", (), int, 0)
        self._fit = self._ellipsoid.fit(self._counts, self._sums)
