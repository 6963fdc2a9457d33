"""Ridge regression whose λ and S know no units: what OFUL, Thompson sampling and IDS share.

Notation
--------
c_x     (r,)  features of x in coordinates in which the least ellipsoid around all of them is the
              unit ball (its certificate of the G-optimal design); so ‖c_x‖ ≤ 1
q_x     (q,)  attributes of x, likewise
B, Ω          bounds of the values |x·γ| and of the bias |z·ω|
λ, S          ridge, and a bound of the parameters' length: the penalty costs √λ S

The G-optimal design π has Σ π_x c_x c_xᵀ = I/r. A parameter γ with values |c_x·γ| ≤ B therefore has
‖γ‖² = r Σ π_x (c_x·γ)² ≤ r B²: in these coordinates the value bound bounds the length. Attributes
are measured in units of B/Ω: a row is (c_x; (Ω/B) q_x), and the same argument gives
‖θ‖² ≤ (r + q) B². With m = r or m = r + q columns, S = √m B.

λ counts evaluations. If not given it is (σ/B)²/m, so that √λ S = σ: the penalty weighs as much as
the noise of one evaluation. Neither other units of features, attributes or evaluations nor
features that are combinations of others change what a policy asks.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, is_number
from evenhand.designs import g_optimal_design
from evenhand.errors import InputError
from evenhand.numerics.tolerance import first_largest
from evenhand.policies._sequential import RegressionStepper
from evenhand.policies.base import Settings, checked_failure
from evenhand.policies.confidence import Ellipsoid
from evenhand.policies.frame import OptionFrame, per_action_set
from evenhand.policies.messages import Decision, Estimate
from evenhand.policies.sequential import SequentialPolicy

LARGE_BIAS = 100.0
"""Bound Ω of the bias in units of the value bound, where none is given."""


class RidgeSettings(Settings, total=False):
    """What a policy on ridge regression can be told; see `RidgePolicy`."""

    delta: float
    ridge: float | None
    switching: float


class RidgePolicy(SequentialPolicy):
    """A policy that decides by ridge regression on all evaluations so far.

    Parameters
    ----------
    actions, horizon
        The options, and the number of evaluations in all.
    delta
        Confidence sets hold with probability 1 − delta, at all times at once. Not 1/T as where
        options are eliminated: who was wrong for a while can still find the best option.
    ridge
        λ, in evaluations; if not given, (σ/B)²/m.
    switching
        C: an option is evaluated until the determinant of V has grown by more than 1 + C before
        the next decision; 0 for a decision at every step.
    settings
        ``noise_scale``, ``value_bound`` and ``seed``, as for every policy.
    """

    stepper: RegressionStepper

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        delta: float = 0.05,
        ridge: float | None = None,
        switching: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        if ridge is not None and (not is_number(ridge) or ridge <= 0.0):
            raise InputError(f"ridge must be a positive number; got {ridge!r}.")
        if not is_number(switching) or switching < 0.0:
            raise InputError(f"switching must be a number ≥ 0; got {switching!r}.")
        self.delta = checked_failure(delta)
        self.switching = float(switching)
        self._ridge = ridge

    def penalty(self, m: int) -> tuple[float, float]:
        """Return λ and √λ S for rows of m columns."""
        ridge = (
            (self.noise_scale / self.value_bound) ** 2 / m if self._ridge is None else self._ridge
        )
        return ridge, float(np.sqrt(ridge * m)) * self.value_bound

    def joint_rows(self, bias_bound: float | None) -> Floats:
        """Return (k, r + q) rows of features and attributes for a bias of up to so much (None:
        `LARGE_BIAS` value bounds); `NotIdentifiableError` where options cannot be compared.
        """
        if bias_bound is not None and (not is_number(bias_bound) or bias_bound <= 0.0):
            raise InputError(f"bias_bound must be a positive number; got {bias_bound!r}.")
        OptionFrame.of(self.actions)  # raises
        ratio = LARGE_BIAS if bias_bound is None else bias_bound / self.value_bound
        return joint_coordinates(self.actions, ratio)

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        c = feature_coordinates(self.actions)
        estimate = self.stepper.regression.estimate[: c.shape[1]]
        return Decision.of(self, first_largest(c @ estimate))

    def bias(self) -> Estimate:
        """Return the least squares estimate; the interval holds at all times at once.

        It rests on no bound of the parameters, unlike the confidence sets of the decisions, but on
        the noise scale: where that was not given there is none.
        """
        fit = Ellipsoid(self.actions, self.horizon).fit(self.stepper.counts, self.stepper.sums)
        return fit.bias(self.delta, self.stated_noise)


def feature_coordinates(actions: ActionSet) -> Floats:
    """Return the features in coordinates in which they just fit into the unit ball; (k, r)."""
    return _coordinates(actions)[0]


def joint_coordinates(actions: ActionSet, ratio: float) -> Floats:
    """Return the features' coordinates followed by the attributes', these times Ω/B; (k, r + q)."""
    c, q = _coordinates(actions)
    return np.hstack([c, ratio * q])


@per_action_set
def _coordinates(actions: ActionSet) -> tuple[Floats, Floats]:
    """Return those of features and of attributes, kept as long as the options are."""
    if not actions.features.any():
        raise InputError("all features are zero: there is no value to learn about.")
    return _in_unit_ball(actions.features), _in_unit_ball(actions.attributes)


def _in_unit_ball(rows: Floats) -> Floats:
    if not rows.any():
        return np.zeros((len(rows), 0))
    return np.asarray(rows @ g_optimal_design(rows).certificate.dual.T)
