"""Thompson sampling: draw a parameter from the posterior, play what is best under it.

Agrawal and Goyal, Thompson Sampling for Contextual Bandits with Linear Payoffs, ICML 2013, on the
joint model of values and bias: evaluations show a_x·θ, a_x = (x; z_x), and the value is h_x·θ,
h_x = (x; 0).

Notation
--------
V = λI + Σ n_x a_x a_xᵀ = (S Sᵀ)⁻¹,  θ̂ = V⁻¹ Σ (sum of evaluations of x) a_x
θ̃ = θ̂ + v S ξ with ξ standard normal, so θ̃ ~ N(θ̂, v²V⁻¹);  v = scale · σ

With v = σ this is the posterior of θ under the prior N(0, (σ²/λ) I), which in the coordinates of
`ridge.py` gives values a variance of about B². The source has a v that grows like √(m log T), for
the sake of its proof; that costs regret, so the posterior's own is the default.

The source draws at every step: ``switching = 0``. To repeat a decision until det V has grown by
1 + C is ours, for long horizons. No decision lasts longer than a share C of the time before it,
since the next draw may decide otherwise even if nothing was learnt.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.policies.registry import registered
from evenhand.research.rivals._oful import PosteriorSampling
from evenhand.research.rivals.ridge import RidgePolicy, RidgeSettings, feature_coordinates


@registered
class ThompsonSampling(RidgePolicy):
    """Plays each option as often as it is the best one, as far as is known.

    Parameters
    ----------
    scale
        v/σ: how far draws scatter, in units of the posterior.
    bias_bound
        Scale Ω of the bias; 100 times the value bound if not given.
    """

    name: ClassVar[str] = "thompson-sampling"
    stepper: PosteriorSampling

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        scale: float = 1.0,
        bias_bound: float | None = None,
        **settings: Unpack[RidgeSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        if not is_number(scale) or scale < 0.0:
            raise InputError(f"scale must be a number ≥ 0; got {scale!r}.")
        rows = self.joint_rows(bias_bound)
        self.stepper = PosteriorSampling(
            rows,
            feature_coordinates(actions),
            np.zeros(len(rows)),
            self.penalty(rows.shape[1])[0],
            self.switching,
            scale * self.noise_scale,
            self.seed,
        )
