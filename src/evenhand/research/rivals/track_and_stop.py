"""Lazy Track-and-Stop: evaluate in the proportions that would be optimal if the estimate were true.

Jedra and Proutiere, Optimal Best-arm Identification in Linear Bandits, NeurIPS 2020, on the joint
model of values and bias. `identification` and `tracking` have the notation, and when to stop.

The shares attain T* for the leads as estimated (see `limits.characteristic_time`). They are worked
out again only when there are an eighth more evaluations (that is lazy), and to 2%, not exactly. As
in the source, whenever the least eigenvalue of V is below c √t, with c = λ_min(Σ_{x∈B} a_x a_xᵀ)/√r
and B the r options that span the others, the options of B are evaluated in turns.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.numerics.tolerance import TIE
from evenhand.policies.registry import registered
from evenhand.research.rivals.tracking import TrackingPolicy
from evenhand.search.shares import proportions


@registered
class TrackAndStop(TrackingPolicy):
    """Evaluates in the proportions that are optimal for the estimate, until it is sure."""

    name: ClassVar[str] = "track-and-stop"
    growth = 1.125

    def prepare(self) -> None:
        """Work out how little may be known of any option."""
        rows = self.frame.points[self.frame.basis]
        least = float(np.linalg.eigvalsh(rows.T @ rows)[0])
        self._exploration = least / math.sqrt(self.frame.rank)

    def allocate(self, n: int | None, pending: Counts) -> Counts:
        """Return what the goal is farthest ahead of; or what keeps V from degenerating."""
        wanted = super().allocate(n, pending)
        counts, basis = self.counts + pending, self.frame.basis
        weakest = float(np.linalg.norm(self.fit.root, 2)) ** -2
        if weakest >= self._exploration * math.sqrt(int(counts.sum())) * (1.0 - TIE):
            return wanted
        turns = basis[np.argsort(counts[basis], kind="stable")]
        return np.bincount(turns[: int(wanted.sum())], minlength=len(counts))

    def next_shares(self, evaluations: int) -> Floats:
        """Return the shares that are optimal for the estimate."""
        return proportions(self.frame.points, self.directions)[0]
