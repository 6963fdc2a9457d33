"""Ridge regression whose λ and S know no units: what OFUL and Thompson sampling have in common.

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

Of questions the same holds for their features and attributes, over their relative noise. An option
is then worth h_x·γ, h_x = x − x̄ with x̄ the mean of all options: what it is worth beyond the average
one. That is identified wherever options can be compared, as by comparisons, which say nothing of a
value they all share; and no evaluator's leniency is part of it.

λ counts evaluations. If not given it is (σ/B)²/m, so that √λ S = σ: the penalty weighs as much as
the noise of one evaluation. Neither other units of features, attributes or evaluations nor
features that are combinations of others change what a policy asks.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from evenhand.arrays import Floats
from evenhand.designs import g_optimal_design
from evenhand.errors import InputError
from evenhand.numerics.ties import first_largest
from evenhand.policies._inquiry import Inquiry
from evenhand.policies.base import Settings, checked_failure
from evenhand.policies.kept import per_action_set
from evenhand.policies.limits import is_number
from evenhand.policies.messages import Decision
from evenhand.policies.opening import inquiry_of
from evenhand.policies.sequential import SequentialPolicy
from evenhand.questions import Askable, Questions
from evenhand.rivals._oful import Ridge

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

    plays_questions: ClassVar[bool] = True
    stepper: Ridge

    def __init__(
        self,
        actions: Askable,
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

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        h = value_coordinates(self.actions)
        estimate = self.stepper.regression.estimate[: h.shape[1]]
        return Decision.of(self, first_largest(h @ estimate))

    def inquiry(self, rows: Floats, targets: Floats) -> Inquiry | None:
        """Return what to ask about options; None where every option is its own question."""
        return inquiry_of(self.actions, rows, targets, self.seed)


def feature_coordinates(actions: Askable) -> Floats:
    """Return the features in coordinates in which they just fit into the unit ball; (q, r)."""
    return _coordinates(actions)[0]


def joint_coordinates(actions: Askable, ratio: float) -> Floats:
    """Return the features' coordinates followed by the attributes', these times Ω/B; (q, r + p)."""
    c, q, _ = _coordinates(actions)
    return np.hstack([c, ratio * q])


def value_coordinates(actions: Askable) -> Floats:
    """Return what options are worth, in the features' coordinates; (k, r)."""
    return _coordinates(actions)[2]


def bias_ratio(bias_bound: float | None, value_bound: float) -> float:
    """Return Ω/B."""
    if bias_bound is None:
        return LARGE_BIAS
    if not is_number(bias_bound) or bias_bound <= 0.0:
        raise InputError(f"bias_bound must be a positive number; got {bias_bound!r}.")
    return bias_bound / value_bound


@per_action_set
def _coordinates(actions: Askable) -> tuple[Floats, Floats, Floats]:
    """Return all three, kept as long as the options are."""
    points = Questions.of(actions).weighted_points
    features, attributes = points[:, : actions.n_features], points[:, actions.n_features :]
    if not features.any():
        raise InputError("all features are zero: there is no value to learn about.")
    W = _to_unit_ball(features)
    c = np.asarray(features @ W.T)
    q = np.asarray(attributes @ _to_unit_ball(attributes).T)
    if not isinstance(actions, Questions):
        return c, q, c
    X = actions.options.features
    return c, q, np.asarray((X - X.mean(axis=0)) @ W.T)


def _to_unit_ball(rows: Floats) -> Floats:
    if not rows.any():
        return np.zeros((0, rows.shape[1]))
    return g_optimal_design(rows).certificate.dual
