"""Phased elimination with G-optimal exploration, which takes evaluations for values.

The algorithm of Lattimore and Szepesvári, Bandit Algorithms (2020), chapter 22, for linear bandits
with finitely many options. It knows of no bias: to it, an evaluation is x·γ and noise. Where the
book plays a phase that it cannot finish, the rest goes to what looks best, as in the paper.

Notation, in units of the value bound B and with noise of scale σ
------------------------------------------------------------------
l           phase, with precision ε_l = B 2^{−l}
X_l         (n, d) rows of the options that are left: features, or the whole points; rank r_l
γ̂_l         least squares on the rows, from the evaluations of phase l alone
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, Settings, checked_failure
from evenhand.policies.frame import per_action_set
from evenhand.policies.messages import Decision, Estimate
from evenhand.policies.phase_designs import PhaseDesigns
from evenhand.policies.registry import registered
from evenhand.policies.rounds import Play


@registered
class PhasedElimination(Policy):
    """Evaluates in phases that halve the precision, and drops what looks worse; knows no bias.

    Where evaluations are fair its regret is of order √(d T log(k T)). Where they favour the wrong
    group it is linear in T.

    Parameters
    ----------
    actions
        The options.
    horizon
        Number of evaluations T.
    delta
        Probability that the best option is dropped, if evaluations are fair; 1/T if not given,
        since it never comes back.
    with_attributes
        Whether groups or attributes count as features. Without them the model is wrong where there
        is bias, and the policy settles on what looks best by features alone; with them, on the
        option of the highest evaluation.
    noise_scale, value_bound, seed
        As for every `Policy`.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
    >>> policy = eh.policy("phased-elimination", actions, horizon=1000)
    >>> policy.ask().counts                     # one feature: the longer row shows more of it
    array([67,  0])
    """

    name = "phased-elimination"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        delta: float | None = None,
        with_attributes: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        delta = 1.0 / self.horizon if delta is None else delta
        self.delta = checked_failure(delta, sure=True)
        self._active = np.arange(len(actions))
        self._best = 0  # the first, before there is any estimate
        self._rows = actions.points if with_attributes else actions.features
        self._designs = _designs(actions, with_attributes)

    def play(self) -> Play:
        """Run the phases; when the next cannot be paid, play what looks best."""
        rows, k = self._rows, len(self.actions)
        phase = 0
        while len(self._active) > 1 and rows[self._active].any():  # rows of zeros are all alike
            phase += 1
            eps = self.value_bound * 2.0**-phase
            odds = k * phase * (phase + 1) / self.delta
            n = 2.0 * (self.noise_scale / eps) ** 2 * float(np.log(odds))
            # every option that is left is then known with variance σ²/n
            plan = self._designs.plan(self._active, self._designs.rank(self._active) * n)
            if plan.counts.sum() > self.remaining:
                break
            feedback = yield plan.counts.copy()
            estimates = plan.fit.estimates(feedback.means)
            self._best = int(self._active[first_largest(estimates)])
            self._active = self._active[estimates.max() - estimates <= 2.0 * eps]
        if self.remaining:
            yield {self._best: self.remaining}

    def recommend(self) -> Decision:
        """Return the option that looked best in the last phase."""
        return Decision.of(self, self._best)

    def bias(self) -> Estimate:
        """Return nothing: to this policy there is no bias."""
        return Estimate.without_interval(level=1.0 - self.delta)


@per_action_set
def _designs(actions: ActionSet, with_attributes: bool) -> PhaseDesigns:
    """Return the designs of these options, kept as long as they are."""
    return PhaseDesigns(actions.points if with_attributes else actions.features)
