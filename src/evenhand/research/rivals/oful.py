"""OFUL: optimism in the face of uncertainty, for linear values.

Abbasi-Yadkori, Pál and Szepesvári, Improved Algorithms for Linear Stochastic Bandits, NIPS 2011.

Notation
--------
a_x     (m,)  what evaluations are regressed on       h_x  (m,)  what is maximised
V = λI + Σ n_x a_x a_xᵀ                               θ̂ = V⁻¹ Σ (sum of evaluations of x) a_x
β = σ √(2 log(1/δ) + log(det V / det λI)) + √λ S      their Theorem 2: ‖θ̂ − θ‖_V ≤ β for all times
                                                      at once, with probability at least 1 − δ

Every step evaluates the option of largest h_x·θ̂ + β ‖h_x‖_{V⁻¹}, the largest h_x·θ of any θ in the
ellipsoid. With ``switching`` C > 0 it decides anew only when det V has grown by more than 1 + C
(their Section 5.1). Until then the option is the same, so the number of its evaluations is known
beforehand: the least n with 1 + n ‖a_x‖²_{V⁻¹} > 1 + C. `ridge.py` has λ and S.

Two readings of what OFUL would do about a bias:
- `OFUL` knows of none: a_x = h_x = x, and evaluations are taken for values.
- `OFULDebiased` regresses on a_x = (x; z) and is optimistic about values, h_x = (x; 0).

`Oracle` is told the bias. It is no rival of the others, who must learn it, but a line to compare
them with: what could be had if it were known.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, as_vector
from evenhand.policies.messages import Estimate
from evenhand.policies.registry import registered
from evenhand.research.rivals._oful import Optimism
from evenhand.research.rivals.ridge import RidgePolicy, RidgeSettings, feature_coordinates


class OptimisticPolicy(RidgePolicy):
    """A policy that plays the option of largest upper confidence bound."""

    stepper: Optimism

    def optimism(self, rows: Floats, targets: Floats, offsets: Floats | None = None) -> Optimism:
        """Return the steps for rows a_x and targets h_x; offsets are taken off evaluations."""
        ridge, penalty = self.penalty(rows.shape[1])
        return Optimism(
            rows,
            targets,
            np.zeros(len(rows)) if offsets is None else offsets,
            ridge,
            self.switching,
            self.noise_scale,
            self.delta,
            penalty,
        )


@registered
class OFUL(OptimisticPolicy):
    """Optimistic linear bandit that takes evaluations for values: blind to bias.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> policy = OFUL(actions, horizon=10_000, switching=0.0)
    >>> policy.tell(eh.Feedback(policy.ask().counts, [0.9, 0.0, 0.0], [0.81, 0.0, 0.0]))
    >>> policy.ask().counts             # nothing is known of the second yet
    array([0, 1, 0])
    """

    name: ClassVar[str] = "oful"

    def __init__(self, actions: ActionSet, horizon: int, **settings: Unpack[RidgeSettings]) -> None:
        super().__init__(actions, horizon, **settings)
        c = feature_coordinates(actions)
        self.stepper = self.optimism(c, c)

    def bias(self) -> Estimate:
        """Return that nothing is known: it does not look for a bias."""
        return Estimate.without_interval(level=1.0 - self.delta)


@registered
class OFULDebiased(OptimisticPolicy):
    """Optimistic about values, with the bias estimated along with them.

    It evaluates what may be the best. Where no such option shows the bias, it never learns it:
    optimism pays nothing for information.

    Parameters
    ----------
    bias_bound
        Bound Ω of the bias in evaluations; 100 times the value bound if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    >>> policy = OFULDebiased(actions, horizon=100)
    >>> while not policy.finished:
    ...     policy.tell(eh.Feedback(n := policy.ask().counts, n * [0.1, 0.7], n * [0.01, 0.49]))
    >>> policy.bias().covers(0.3)
    True
    """

    name: ClassVar[str] = "oful-debiased"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        bias_bound: float | None = None,
        **settings: Unpack[RidgeSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.stepper = self.optimism(self.joint_rows(bias_bound), feature_coordinates(actions))


@registered
class Oracle(OptimisticPolicy):
    """Optimistic linear bandit on evaluations from which the true bias z·ω has been taken.

    Parameters
    ----------
    omega
        The bias: a number, or one for each attribute.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> eh.policy("oracle", actions, horizon=100, omega=0.25).bias()
    Estimate(value=0.25, low=0.25, high=0.25, level=1.0)
    """

    name: ClassVar[str] = "oracle"
    told: ClassVar[tuple[str, ...]] = ("noise_scale", "omega")

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        omega: ArrayLike,
        **settings: Unpack[RidgeSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.omega = as_vector(np.atleast_1d(omega), actions.n_attributes, "omega")
        x = feature_coordinates(actions)
        self.stepper = self.optimism(x, x, actions.attributes @ self.omega)

    def bias(self) -> Estimate:
        """Return the bias that it was told."""
        omega = float(self.omega[0])
        return Estimate(omega, omega, omega, 1.0)
