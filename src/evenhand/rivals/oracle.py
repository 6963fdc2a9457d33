"""The oracle: OFUL that is told the bias; what could be had if it were known.

It is no rival of the others, who must learn the bias, but a line to compare them with.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet
from evenhand.arrays import as_vector
from evenhand.policies.messages import Estimate
from evenhand.policies.registry import registered
from evenhand.rivals.oful import OptimisticPolicy
from evenhand.rivals.ridge import RidgeSettings, feature_coordinates


@registered
class Oracle(OptimisticPolicy):
    """Optimistic linear bandit on evaluations from which the true bias z·ω has been taken.

    Parameters
    ----------
    actions, horizon
        The options, and the number of evaluations in all.
    omega
        The bias: a number, or one for each attribute.
    delta, ridge, switching
        As for `RidgePolicy`.
    settings
        ``noise_scale``, ``value_bound`` and ``seed``, as for every policy.

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
