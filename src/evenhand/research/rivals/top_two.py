"""Top two: a leader drawn by Thompson sampling, and the rival that is hardest to tell from it.

Russo, Simple Bayesian Algorithms for Best Arm Identification, COLT 2016; Shang, de Heide, Kaufmann,
Ménard and Valko, Fixed-Confidence Guarantees for Bayesian Best-Arm Identification, AISTATS 2020
(its T3C rule), on the joint model of values and bias. `identification` has the notation, and when
to stop.

θ̃ is drawn from N(θ̂, σ²V⁻¹) and i is the best option by it; j is the other option of least
(d⁺)²/‖h_i − h_j‖², d the lead of i over j as estimated, in the norm of V⁻¹. Then that is evaluated
which makes ‖h_i − h_j‖ smallest, as in `lingape`: in a linear model that need be neither of the
two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from evenhand.arrays import Floats
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.registry import registered
from evenhand.research.rivals.identification import lengths
from evenhand.research.rivals.lingape import PairPolicy


@registered
class TopTwo(PairPolicy):
    """Evaluates what tells a drawn leader from its closest challenger, until it is sure."""

    name: ClassVar[str] = "top-two"

    def pairs(self) -> Callable[[Floats], Floats]:
        """Return what draws a leader and finds its challenger."""
        H, theta, rng = self.frame.values, self.fit.parameter, self._rng()
        noise = 0.0 if self.stated_noise is None else self.noise

        def drawn(S: Floats) -> Floats:
            draw = theta + noise * (_triangular(S) @ rng.standard_normal(len(S)))
            i = first_largest(H @ draw)
            Y = H[i] - H
            sizes = lengths(Y @ S)
            others = sizes > 0.0
            cost = np.maximum(Y @ theta, 0.0) ** 2 / np.where(others, sizes, 1.0) ** 2
            # of those that are as good by now, who is known least
            best = float(np.where(others, cost, np.inf).min())
            tied = others & (cost <= best * (1.0 + 1e-9))
            return np.asarray(Y[first_largest(np.where(tied, sizes, -np.inf))])

        return drawn


def _triangular(root: Floats) -> Floats:
    """Return the lower triangular root of the same matrix, which is unique: what is drawn with it
    is the same on every machine.
    """
    upper = np.asarray(np.linalg.qr(root.T, mode="r"))
    return np.asarray((upper * np.where(np.diagonal(upper) < 0.0, -1.0, 1.0)[:, None]).T)
