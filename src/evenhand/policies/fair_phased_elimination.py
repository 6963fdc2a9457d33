"""Fair Phased Elimination, the detailed algorithm of the paper (its appendix).

Notation, in units of the value bound B and with noise of scale σ
------------------------------------------------------------------
l           phase, with precision ε_l = B 2^{2−l}
X_z         options of group z that may still be the best of their group
θ̂_z         estimate of the parameters from the last G-exploration of group z
ω̂           estimate of the bias from the last Δ-exploration
Δ̂           (k,) upper estimates of the gaps
z*          the group found to hold the best option; 0 while it is not known

The paper takes B = σ = 1. Sample sizes grow by σ², and so does the price of information in the
stopping test: ε_l³ ≤ κ(Δ̂) σ² log(T) / T. Where the paper leaves something open, a comment says
how it is settled here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats
from evenhand.designs.elfving import ElfvingProgram
from evenhand.errors import InputError
from evenhand.geometry import bias_optimal_design
from evenhand.numerics.row_space import space_of
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, checked_failure
from evenhand.policies.frame import per_action_set
from evenhand.policies.messages import Decision, Estimate, Feedback, counts_of
from evenhand.policies.phase_designs import (
    REMEMBERED,
    LeastSquares,
    PhaseDesigns,
    PhasePlan,
    fixed_design_width,
    whole,
)
from evenhand.policies.registry import registered
from evenhand.policies.rounds import Play

Step = Literal["evaluate group", "estimate bias", "recovery", "exploit"]


@dataclass(frozen=True, eq=False)
class Phase:
    """One step of the story: what was sampled and why, and what came of it.

    Parameters
    ----------
    phase, precision
        l and ε_l.
    step
        What the evaluations were for.
    group
        The group concerned; None where both are.
    counts
        (k,) evaluations.
    eliminated
        Options dropped after this step.
    bias
        The bias with its interval, after a step that estimates it.
    kappa
        κ(Δ̂), where it was worked out.
    verdict
        In words: what was decided.
    """

    phase: int
    precision: float
    step: Step
    group: str | None
    counts: Counts
    eliminated: tuple[int, ...] = ()
    bias: Estimate | None = None
    kappa: float | None = None
    verdict: str = ""


@registered
class FairPhasedElimination(Policy):
    """The paper's algorithm: eliminates within groups by evaluations, between groups by the bias.

    Its worst-case regret is of order κ_*^{1/3} T^{2/3} log(T)^{1/3} (Theorem 1), which is optimal
    up to the logarithm; its gap-dependent regret is optimal up to a constant (Theorem 2).

    Parameters
    ----------
    actions
        The options, in two groups.
    horizon
        Number of evaluations T.
    delta
        Probability of failure; 1/T if not given, since what is eliminated by mistake never comes
        back and may cost 2B in every round. Where delta is only the level of what a policy says,
        it is 0.05.
    noise_scale, value_bound
        Standard deviation σ of an evaluation, and bound B on |values|. Its phases and theorems
        need both; where they are not given it works with 1, as the paper does. The interval of
        the bias then comes from the scatter of the evaluations.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> policy = eh.FairPhasedElimination(actions, horizon=10_000)
    >>> policy.ask().counts                     # first: how are group −1's options evaluated?
    array([0, 9, 9])
    """

    name = "fair-phased-elimination"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        delta: float | None = None,
        noise_scale: float | None = None,
        value_bound: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            actions, horizon, noise_scale=noise_scale, value_bound=value_bound, seed=seed
        )
        if actions.group_names is None:
            raise InputError("Fair Phased Elimination needs two groups; these options have none.")
        delta = 1.0 / self.horizon if delta is None else delta
        self.delta = checked_failure(delta, sure=True)
        self.history: list[Phase] = []
        self._z = np.asarray(actions.groups)
        self._active = {z: np.flatnonzero(self._z == z) for z in (-1, 1)}
        self._evaluation = np.full(len(actions), np.nan)  # a_x · θ̂_{z_x}
        self._omega: Estimate | None = None
        self._best_group = 0
        self._plans = _Plans.of(actions)

    def play(self) -> Play:
        """Run the phases of the detailed algorithm; comments name its steps."""
        T, k, d = self.horizon, len(self.actions), self.actions.n_features
        gaps = np.full(k, 2.0 * self.value_bound)  # Δ̂¹
        phase = 0
        while self.remaining > 0:
            phase += 1
            eps = self.value_bound * 2.0 ** (2 - phase)
            # G-optimal exploration and elimination; the loop runs over −1, then +1
            for z in (-1, 1):
                if z == -self._best_group:
                    continue
                n = 2 * (d + 1) * self._sizes(eps, k * phase * (phase + 1) / self.delta)
                plan = self._plans.plan(self._active[z], n)
                if plan.counts.sum() > self.remaining:
                    yield from self._exploit(phase, eps, self._active[z], z)
                    return
                feedback = yield plan.counts.copy()
                self._eliminate(phase, eps, z, plan, feedback)
            if self._best_group != 0:
                continue
            # Δ̂-optimal exploration and elimination, unless it is no longer worth its price
            n = 2 * self._sizes(eps, phase * (phase + 1) / self.delta)
            plan = self._plans.debias(gaps, n)
            too_costly = eps**3 <= plan.kappa * self.noise_scale**2 * np.log(T) / T
            if too_costly or plan.counts.sum() > self.remaining:
                yield from self._exploit(phase, eps, self._candidates(), 0, plan.kappa, too_costly)
                return
            feedback = yield plan.counts.copy()
            self._compare_groups(phase, eps, plan, feedback, gaps)

    def _sizes(self, eps: float, odds: float) -> float:
        """Return (σ/ε)² log(odds): evaluations per unit of variance for precision ε."""
        return (self.noise_scale / eps) ** 2 * float(np.log(odds))

    def _eliminate(
        self, phase: int, eps: float, z: int, plan: PhasePlan, feedback: Feedback
    ) -> None:
        """Estimate evaluations from this step alone; drop what is over 3ε below the best."""
        active = self._active[z]
        estimates = plan.fit.estimates(feedback.means)
        self._evaluation[active] = estimates
        keep = estimates.max() - estimates <= 3.0 * eps
        self._active[z] = active[keep]
        dropped = () if keep.all() else tuple(int(x) for x in active[~keep])
        self._record(phase, eps, "evaluate group", z, feedback.counts, eliminated=dropped)

    def _compare_groups(
        self, phase: int, eps: float, plan: PhasePlan, feedback: Feedback, gaps: Floats
    ) -> None:
        """Estimate the bias from this step alone; new gaps Δ̂, and a verdict on the groups."""
        omega = float(plan.fit.estimates(feedback.means)[0])
        failure = self.delta / (phase * (phase + 1))
        deviation = float(plan.fit.deviations[0])
        width = fixed_design_width(deviation, failure, *feedback.parts, self.stated_noise)
        self._omega = Estimate(omega, omega - width, omega + width, 1.0 - self.delta)
        # debiased values of the candidates; eliminated options keep their last Δ̂
        candidates = self._candidates()
        z = self._z[candidates]
        values = self._evaluation[candidates] - z * omega
        gaps[candidates] = np.minimum(values.max() - values + 4.0 * eps, 2.0 * self.value_bound)
        lead = float(values[z == 1].max() - values[z == -1].max())
        verdict = "the best group is still open"
        if abs(lead) >= 4.0 * eps:
            self._best_group = 1 if lead > 0 else -1
            verdict = f"the best option is in group {self._group_name(self._best_group)}"
        self._record(
            phase,
            eps,
            "estimate bias",
            0,
            feedback.counts,
            bias=self._omega,
            kappa=plan.kappa,
            verdict=verdict,
        )

    def _exploit(
        self,
        phase: int,
        eps: float,
        options: NDArray[np.intp],
        z: int,
        kappa: float | None = None,
        too_costly: bool = False,
    ) -> Play:
        """Play the empirical best of the given options until the horizon."""
        if self.remaining == 0:
            return
        best = self._empirical_best(options)
        counts = counts_of(len(self.actions), {best: self.remaining})
        why = "more about the bias is not worth its price" if too_costly else "the budget ends here"
        self._record(
            phase,
            eps,
            "recovery" if too_costly else "exploit",
            z,
            counts,
            kappa=kappa,
            verdict=f"{self.actions.labels[best]} until the end: {why}",
        )
        yield counts

    def _candidates(self) -> NDArray[np.intp]:
        """Return X_{−1} ∪ X_{+1}, or the options of the best group once it is known."""
        if self._best_group != 0:
            return self._active[self._best_group]
        return np.sort(np.concatenate([self._active[-1], self._active[1]]))

    def _empirical_best(self, options: NDArray[np.intp]) -> int:
        """Return the option of largest debiased estimate; without ω̂, of largest evaluation."""
        # The first of those that tie; before there is any estimate, the first of all.
        omega = self._omega.value if self._omega is not None else 0.0
        values = self._evaluation[options] - self._z[options] * omega
        return int(options[first_largest(np.where(np.isnan(values), -np.inf, values))])

    def recommend(self) -> Decision:
        """Return the empirical best of the options still in play."""
        return Decision.of(self, self._empirical_best(self._candidates()))

    def bias(self) -> Estimate:
        """Return ω̂; its intervals of all phases hold together with probability 1 − δ."""
        if self._omega is None:
            return Estimate.without_interval(level=1.0 - self.delta)
        return self._omega

    def _group_name(self, z: int) -> str:
        assert self.actions.group_names is not None
        return str(self.actions.group_names[0 if z == -1 else 1])

    def _record(
        self, phase: int, eps: float, step: Step, z: int, counts: Counts, **more: Any
    ) -> None:
        group = self._group_name(z) if z else None
        self.history.append(Phase(phase, eps, step, group, counts, **more))


class _Plans(PhaseDesigns):
    """Plans by what they depend on; runs on the same options share them."""

    def __init__(self, actions: ActionSet) -> None:
        bias_optimal_design(actions)  # raises, and says why, where the bias cannot be estimated
        super().__init__(actions.points)
        self._space = space_of(actions.points)
        self._direction = np.zeros(actions.points.shape[1])
        self._direction[-1] = 1.0
        self._bias_plans = functools.lru_cache(REMEMBERED)(self._new_bias_plan)

    @staticmethod
    @per_action_set
    def of(actions: ActionSet) -> _Plans:
        """Return the plans of these options, kept as long as they are."""
        return _Plans(actions)

    def debias(self, gaps: Floats, n: float) -> PhasePlan:
        """Plan ⌈n μ(x)⌉ evaluations for the Δ-optimal design μ of these gaps, all positive."""
        return self._bias_plans(gaps.tobytes(), n)

    def _new_bias_plan(self, gaps: bytes, n: float) -> PhasePlan:
        """Elfving's weights w are the design and the estimator at once: μ_x = |w_x| √κ / √Δ_x, and
        ω̂ = Σ w_x · mean_x is least squares, since the rows of the design are independent.
        """
        roots = np.sqrt(np.frombuffer(gaps))
        lp = ElfvingProgram(self._rows, roots, self._space).solve(self._direction)
        rows, w = lp.support()
        counts = np.zeros(len(roots), dtype=np.int64)
        counts[rows] = whole(n * lp.root * np.abs(w) / roots[rows])
        deviation = np.sqrt((w**2 / counts[rows]).sum(keepdims=True))
        return PhasePlan(counts, LeastSquares(rows, w[None], deviation), lp.root**2)
