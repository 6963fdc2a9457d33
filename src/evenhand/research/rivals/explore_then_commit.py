"""Explore, then commit: learn evaluations and bias by fixed designs, then play what looks best.

Notation, with value bound B and noise of scale σ
-------------------------------------------------
a_x = (x; z_x)     points, of rank r; the distinct attribute vectors z_g, with mean c
v_g = (0; z_g − c) what takes the bias out of an evaluation, (x; c) = a_x − v_g; of rank q
G-design           N_1 evaluations estimate every a_x·θ with variance at most σ² r / N_1
attribute design   μ, of `AttributePlan` for unit costs: κ_A = Σμ evaluations estimate every v_g·θ
                   with variance at most σ², and N_2 do with variance at most σ² κ_A / N_2

How many evaluations
--------------------
Commit to x̂, the largest of the estimates (x; c)·θ̂. With errors u_x, Δ_x̂ ≤ u_x̂ − u_{x*}, and
E u_{x*} = 0, so E Δ_x̂ ≤ E max_x u_x. Take the two parts of u apart, a_x·(θ̂ − θ) from the G-design
and v_g·(θ̂ − θ) from the attribute design. The largest of n centred Gaussians of variance at most
s² in j dimensions has mean at most c s, c = min(E χ_j, √(2 log n)) (`expected_maximum`). So

    E R_T ≤ 2B (N_1 + N_2) + T σ c_1 √(r / N_1) + T σ c_2 √(κ_A / N_2),

which is least at N = (price σ² T² / 16B²)^{1/3}, with the prices r c_1² and κ_A c_2², where it is
6B (N_1 + N_2). Least squares on all evaluations together does at least as well: it makes no
difference u_x − u_{x'} larger in mean square, nor then E max u (Sudakov–Fernique). For two groups
N_2 = (κ_* σ² T² / 8πB²)^{1/3}. This is the worst-case rate κ_*^{1/3} T^{2/3}; the log T that a
bound in probability would put into N is not needed for the mean.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from scipy.special import gammaln

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, is_number
from evenhand.errors import InputError
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, Settings, checked_failure
from evenhand.policies.frame import per_action_set
from evenhand.policies.messages import Decision, Estimate, Feedback
from evenhand.policies.phase_designs import AttributePlan, fixed_design_width, least_squares, whole
from evenhand.policies.registry import registered
from evenhand.policies.rounds import Play


@registered
class ExploreThenCommit(Policy):
    """Explores by fixed designs for about κ_*^{1/3} T^{2/3} evaluations, then plays the best.

    Its mean regret is at most 6B times the number of evaluations that it explores (but for
    rounding), which has the worst-case rate. It cannot do better where the problem is easy.

    Parameters
    ----------
    actions
        The options, with groups or any number of attributes.
    horizon
        Number of evaluations T.
    exploration
        How many evaluations to explore with, up to rounding; if not given, what makes the bound on
        the mean regret least (see the module's notes), but never more than T/2.
    delta
        Probability that the interval for the bias misses it.
    noise_scale, value_bound, seed
        As for every `Policy`.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> policy = eh.policy("explore-then-commit", actions, horizon=10**6, exploration=3000)
    >>> policy.ask().counts                     # the bias is read off the first and the last
    array([ 813,  625, 1564])
    """

    name = "explore-then-commit"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        exploration: float | None = None,
        delta: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.delta = checked_failure(delta)
        self._weights, prices = _designs(actions)
        shares = prices ** (1 / 3)
        if exploration is None:
            scale = self.noise_scale * self.horizon / (4.0 * self.value_bound)
            # beyond T/2 the bound on the regret is above 2BT, which is no bound
            exploration = min(float(shares.sum()) * scale ** (2 / 3), self.horizon / 2)
        elif not is_number(exploration) or not 0.0 < exploration <= self.horizon:
            raise InputError(
                f"exploration must be a number of evaluations, above 0 and at most the horizon, "
                f"{self.horizon}; got {exploration!r}."
            )
        self.exploration = float(exploration)
        self._split = self.exploration * shares / max(float(shares.sum()), 1e-300)
        self._best = 0  # the first, before anything is known
        self._bias = Estimate.without_interval(level=1.0 - self.delta)

    def play(self) -> Play:
        """Explore in one go; then play what looks best."""
        counts = whole(self._split @ self._weights)
        if counts.any():
            # a horizon shorter than the exploration, rounded up, takes the first of it
            end = np.minimum(np.cumsum(counts), self.remaining)
            self._learn((yield np.diff(end, prepend=0)))
        if self.remaining:
            yield {self._best: self.remaining}

    def _learn(self, feedback: Feedback) -> None:
        """Estimate by least squares; the counts were fixed, so one interval will do."""
        points, d = self.actions.points, self.actions.n_features
        fit = least_squares(points, feedback.counts, np.eye(points.shape[1]))
        theta = fit.estimates(feedback.means)
        self._best = first_largest(self.actions.features @ theta[:d])
        if self.actions.n_attributes == 0 or np.isinf(fit.deviations[d]):
            return  # no bias, or differences between attributes only, not the first one's effect
        value, deviation = float(theta[d]), float(fit.deviations[d])
        width = fixed_design_width(deviation, self.delta, *feedback.parts, self.stated_noise)
        self._bias = Estimate(value, value - width, value + width, 1.0 - self.delta)

    def recommend(self) -> Decision:
        """Return the option of the largest debiased estimate."""
        return Decision.of(self, self._best)

    def bias(self) -> Estimate:
        """Return the estimate from the exploration; of several attributes, of the first."""
        return self._bias


@per_action_set
def _designs(actions: ActionSet) -> tuple[Floats, Floats]:
    """Return (2, k) shares, for the evaluations and for the attributes, and (2,) their prices r
    c_1² and κ_A c_2², kept as long as the options are.
    """
    plan = AttributePlan.of(actions)
    pulls, kappa = plan.pulls(np.ones(len(actions)))
    rank, cells = plan.frame.rank, len(plan.frame.cells)
    prices = (
        rank * expected_maximum(len(actions), rank) ** 2,
        kappa * expected_maximum(cells, plan.rank) ** 2,
    )
    return np.array([plan.frame.weights, pulls / max(kappa, 1e-300)]), np.array(prices)


def expected_maximum(n: int, dimension: int) -> float:
    """Bound the mean of the largest of n centred Gaussians of variance ≤ 1 in few dimensions by the
    least of E χ_j, for the length of the vector that they are linear in, and √(2 log n).
    """
    if dimension == 0:
        return 0.0
    log_ratio = gammaln((dimension + 1) / 2) - gammaln(dimension / 2)
    return float(min(np.sqrt(2.0) * np.exp(log_ratio), np.sqrt(2.0 * np.log(n))))
