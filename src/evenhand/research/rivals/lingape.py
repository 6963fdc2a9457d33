"""LinGapE: evaluate what makes the most doubtful lead more certain.

Xu, Honda and Sugiyama, A Fully Adaptive Algorithm for Pure Exploration in Linear Bandits, AISTATS
2018, on the joint model of values and bias. `identification` has the notation and when to stop.

At every step the option of largest estimated value, x̂, is held against the rival j of largest
w_j − d_j, who may lead by most. Then that option is evaluated that makes ‖h_x̂ − h_j‖ smallest in
the norm of (V + a aᵀ)⁻¹: their greedy rule, which did best in their experiments. With y = h_x̂ − h_j
it has the largest (aᵀV⁻¹y)²/(1 + aᵀV⁻¹a).

The source starts with one evaluation of each option and a ridge; here it is one of each of r
options that span the others, and no ridge. A decision stands for as many evaluations as add 4% to
what is known of the option: to repeat it is ours, and keeps long runs short. Evaluations that are
on their way are taken for made: the estimate stays, the widths shrink.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.numerics.solves import observed
from evenhand.numerics.tolerance import TIE, first_largest
from evenhand.policies.messages import counts_of
from evenhand.policies.registry import registered
from evenhand.research.rivals.identification import IdentificationPolicy, lengths

_REPEAT = 0.04  # share by which a decision may add to what is known of what it evaluates


class PairPolicy(IdentificationPolicy):
    """A policy that evaluates what tells one option best from another, by its choice of the two.

    One of this kind has a ``name`` and writes `pairs`.
    """

    @abstractmethod
    def pairs(self) -> Callable[[Floats], Floats]:
        """Return what finds y, the direction to be told next, from S with SSᵀ = V⁻¹."""

    def allocate(self, n: int | None, pending: Counts) -> Counts:
        """Decide as often as it takes to have n evaluations; once, if n is not given."""
        P, S, pair = self.frame.points, self.fit.root, self.pairs()
        for x in np.flatnonzero(pending).tolist():
            S = observed(S, P[x], int(pending[x]))
        counts = np.zeros(len(P), dtype=np.int64)
        while n is None or counts.sum() < n:
            y = pair(S)
            F = P @ S
            leverage = np.einsum("ij,ij->i", F, F)
            x = first_largest((F @ (S.T @ y)) ** 2 / (1.0 + leverage))
            left = self.remaining if n is None else n - int(counts.sum())
            repeats = max(1.0, _REPEAT / max(leverage[x], 1e-300) * (1.0 + TIE))
            repeats = left if repeats >= left else math.floor(repeats)
            if n is None:
                return counts_of(len(self.actions), {x: repeats})
            counts[x] += repeats
            S = observed(S, P[x], repeats)
        return counts


@registered
class LinGapE(PairPolicy):
    """Evaluates what tells the leader best from whoever may be better by most, until it is sure."""

    name: ClassVar[str] = "lingape"

    def pairs(self) -> Callable[[Floats], Floats]:
        """Return what finds the rival who may lead by most."""
        # half-widths in units of ‖y‖, which stay while evaluations are on their way
        Y = self.apart
        sizes = lengths(Y @ self.fit.root)
        rivals = sizes > 0.0
        factors = np.divide(self.leads.widths, sizes, out=np.zeros(len(Y)), where=rivals)

        def doubtful(S: Floats) -> Floats:
            sizes = lengths(Y @ S)
            doubt = sizes if math.isinf(self.noise) else factors * sizes - self.leads.leads
            return np.asarray(Y[first_largest(np.where(rivals, doubt, -np.inf))])

        return doubtful
