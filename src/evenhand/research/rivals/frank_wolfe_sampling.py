"""Frank–Wolfe sampling: steps towards the shares that bring most evidence against any rival.

Wang, Tzeng and Proutiere, Fast Pure Exploration via Frank–Wolfe, NeurIPS 2021, on the joint model
of values and bias. `identification` and `tracking` have the notation, and when to stop.

F(w) = min_x f_x(w) is concave and not smooth. Evaluations so far are at w = g/t, and those that
come next go to the z for which the least of ⟨z, ∇f_x⟩ − f_x is largest, over all rivals with
f_x ≤ (1 + r)F: a game of two players, a linear program. ∇f_x has the entries
(aᵀV_w⁻¹u_x)²/(2‖u_x‖⁴). The source has r = t^(−9/10)/k in units of F, which would depend on those
of the values; here it is 1/√t, relative to F. As there, evaluations numbered k·1², k·2², … go to
all options in turn: of those that come next, that is a share ½√(k/t) for each alike.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.optimize import linprog

from evenhand.arrays import Floats
from evenhand.policies.registry import registered
from evenhand.research.rivals.tracking import TrackingPolicy


@registered
class FrankWolfeSampling(TrackingPolicy):
    """Evaluates where evidence against the strongest rivals grows fastest, until it is sure."""

    name: ClassVar[str] = "frank-wolfe-sampling"

    def next_shares(self, evaluations: int) -> Floats:
        """Return the best step for the rivals that are nearly the strongest."""
        t, P, U = self._evaluations, self.frame.points, self.directions
        inverse = self.inverse(self._goal / t)
        Z = U @ inverse
        sizes = np.einsum("ij,ij->i", Z, U)
        evidence = sizes.max() / sizes  # over the least
        near = evidence <= 1.0 + 1.0 / math.sqrt(t)
        slopes = (Z[near] @ P.T / np.sqrt(sizes[near, None])) ** 2 * evidence[near, None]
        step = _best_mixture(slopes, evidence[near])
        forced = min(1.0, 0.5 * math.sqrt(len(P) / t))
        return np.asarray((1.0 - forced) * step + forced / len(P))


def _best_mixture(slopes: Floats, levels: Floats) -> Floats:
    """Return z ≥ 0, Σ z = 1, with the largest min_x (slopes_x·z − levels_x)."""
    n, q = slopes.shape
    if n == 1:
        return np.asarray(np.eye(q)[int(np.argmax(np.round(slopes[0], 9)))])
    found = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.column_stack([-slopes, np.ones(n)]),
        b_ub=-levels,
        A_eq=np.append(np.ones(q), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * q + [(None, None)],
        method="highs-ds",
    )
    if found.x is None:  # numbers beyond what the solver takes
        return np.asarray(np.eye(q)[int(np.argmax(slopes.min(axis=0)))])
    return np.asarray(np.clip(found.x[:q], 0.0, None))
