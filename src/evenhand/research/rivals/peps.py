"""PEPS: Thompson sampling of what else could be true, and shares learnt against it.

Li, Jamieson and Jain, Optimal Exploration is no harder than Thompson Sampling, AISTATS 2024, on the
joint model of values and bias. `identification` and `tracking` have the notation, and when to stop.

θ̃ is drawn from the posterior N(θ̂, V⁻¹), given that some rival is as good as x̂ or better; an
evaluation of a gains (a·(θ̃ − θ̂))², and the shares are learnt from that, with a share t^(−1/4) of
the G-optimal design. The source draws until a draw is such a one. Here a rival j is drawn with
probability in proportion to Φ(−1/‖u_j‖), in the norm of V⁻¹, and then θ̃ given that j is as good:
the same but for draws at which several rivals are, which count once for each. The learner is that
of `lingame`, where the source has exponential weights with a rate for a horizon.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.policies.registry import registered
from evenhand.research.rivals.identification import lengths, triangular
from evenhand.research.rivals.lingame import HedgingPolicy

_DRAWS = 8  # θ̃ of a step, whose gains are averaged


@registered
class PEPS(HedgingPolicy):
    """Evaluates what tells draws of an alternative from the estimate, until it is sure."""

    name: ClassVar[str] = "peps"

    def next_shares(self, evaluations: int) -> Floats:
        """Return the learner's shares, and some of the G-optimal design."""
        explored = min(1.0, float(self._evaluations) ** -0.25)
        learnt = super().next_shares(evaluations)
        return np.asarray((1.0 - explored) * learnt + explored * self.frame.weights)

    def gains(self, shares: Floats) -> Floats:
        """Return what evaluations would show of a few alternatives drawn at random."""
        off = self.alternatives(self._rng())
        return np.asarray(((self.frame.points @ off.T) ** 2).mean(axis=1))

    def alternatives(self, rng: np.random.Generator) -> Floats:
        """Return (8, r) draws of θ̃ − θ̂, in units of σ: some rival is then as good as x̂."""
        root = triangular(self.fit.root)
        Y = self.directions @ root
        sizes = lengths(Y)
        tails = special.log_ndtr(-1.0 / sizes)
        chances = np.exp(tails - tails.max())
        off = np.zeros((_DRAWS, root.shape[1]))
        for draw, j in enumerate(rng.choice(len(Y), _DRAWS, p=chances / chances.sum())):
            unit, z = Y[j] / sizes[j], rng.standard_normal(root.shape[1])
            beyond = special.ndtri_exp(tails[j] + np.log(rng.random()))  # at most −1/‖u_j‖
            off[draw] = z + (beyond - unit @ z) * unit
        return np.asarray(off @ root.T)
