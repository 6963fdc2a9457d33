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
stopping test: ε_l³ ≤ κ(Δ̂) σ² log(T) / T. Where the paper leaves something open, the comment says how
it is settled here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.designs import g_optimal_design
from evenhand.errors import InputError
from evenhand.estimation import direction_weights, gaussian_width, least_squares
from evenhand.geometry import delta_optimal_design
from evenhand.policies.base import Counts, Decision, Estimate, Feedback, Floats, Play, Policy

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


class FairPhasedElimination(Policy):
    """The paper's algorithm: eliminates within groups by evaluations, between groups by the bias.

    Its worst-case regret is of order κ_*^{1/3} T^{2/3} log(T)^{1/3} (Theorem 1), which is optimal up
    to the logarithm; its gap-dependent regret is optimal up to a constant (Theorem 2).

    Parameters
    ----------
    actions
        The options, in two groups.
    horizon
        Number of evaluations T.
    delta
        Probability of failure; 1/T if not given.
    noise_scale, value_bound
        Standard deviation σ of an evaluation, and bound B on |values|.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> policy = eh.FairPhasedElimination(actions, horizon=10_000)
    >>> policy.ask().counts                     # first: how are group −1's options evaluated?
    array([ 0, 17, 17])
    """

    name = "fair-phased-elimination"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        delta: float | None = None,
        noise_scale: float = 1.0,
        value_bound: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            actions, horizon, noise_scale=noise_scale, value_bound=value_bound, seed=seed
        )
        if actions.group_names is None:
            raise InputError("Fair Phased Elimination needs two groups; these options have none.")
        self.delta = 1.0 / self.horizon if delta is None else float(delta)
        if not 0.0 < self.delta <= 1.0:
            raise InputError(f"delta must lie in (0, 1]; got {delta!r}.")
        self.history: list[Phase] = []
        self._z = np.asarray(actions.groups)
        self._active = {z: np.flatnonzero(self._z == z) for z in (-1, 1)}
        self._evaluation = np.full(len(actions), np.nan)  # a_x · θ̂_{z_x}
        self._omega: Estimate | None = None
        self._best_group = 0
        self._designs = _DesignCache.of(actions)

    def play(self) -> Play:
        """Run the phases of the detailed algorithm; line comments name its steps."""
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
                counts = self._designs.g_optimal(self._active[z], n)
                if counts.sum() > self.remaining:
                    yield from self._exploit(phase, eps, self._active[z], z)
                    return
                feedback = yield counts
                self._estimate_evaluations(phase, eps, z, feedback)
            if self._best_group != 0:
                continue
            # Δ̂-optimal exploration and elimination, unless it is no longer worth its price
            design = delta_optimal_design(self.actions, gaps)
            price = design.value * self.noise_scale**2 * np.log(T) / T
            if eps**3 <= price:
                yield from self._exploit(phase, eps, self._candidates(), 0, design.value)
                return
            n = 2 * self._sizes(eps, phase * (phase + 1) / self.delta)
            counts = design.counts(precision=n)
            if counts.sum() > self.remaining:
                yield from self._exploit(phase, eps, self._candidates(), 0, design.value)
                return
            feedback = yield counts
            self._estimate_bias(phase, eps, feedback, gaps, design.value)

    def _sizes(self, eps: float, odds: float) -> float:
        """Return (σ/ε)² log(odds): evaluations per unit of variance for precision ε."""
        return (self.noise_scale / eps) ** 2 * float(np.log(odds))

    def _estimate_evaluations(self, phase: int, eps: float, z: int, feedback: Feedback) -> None:
        """θ̂_z by least squares on this step alone; drop what is more than 3ε below the best."""
        active = self._active[z]
        theta = least_squares(self.actions.points, feedback.counts, feedback.sums)
        self._evaluation[active] = self.actions.points[active] @ theta
        estimates = self._evaluation[active]
        keep = estimates.max() - estimates <= 3.0 * eps
        self._active[z] = active[keep]
        dropped = tuple(int(x) for x in active[~keep])
        self._record(phase, eps, "evaluate group", z, feedback.counts, eliminated=dropped)

    def _estimate_bias(
        self, phase: int, eps: float, feedback: Feedback, gaps: Floats, kappa: float
    ) -> None:
        """ω̂ by least squares on this step alone; new gaps Δ̂, and a verdict on the groups."""
        e = np.zeros(self.actions.points.shape[1])
        e[-1] = 1.0
        w = direction_weights(self.actions.points, feedback.counts, e)
        omega = float(w @ feedback.means)
        used = feedback.counts > 0
        deviation = self.noise_scale * float(np.sqrt((w[used] ** 2 / feedback.counts[used]).sum()))
        width = gaussian_width(deviation, self.delta / (phase * (phase + 1)))
        self._omega = Estimate(omega, omega - width, omega + width, 1.0 - self.delta)
        # debiased values of the candidates; eliminated options keep their last Δ̂
        candidates = self._candidates()
        values = self._evaluation[candidates] - self._z[candidates] * omega
        gaps[candidates] = np.minimum(
            values.max() - values + 4.0 * eps, 2.0 * self.value_bound
        )
        best = {z: values[self._z[candidates] == z].max() for z in (-1, 1)}
        verdict = "the best group is still open"
        for z in (-1, 1):
            if best[z] - 2.0 * eps >= best[-z] + 2.0 * eps:
                self._best_group = z
                verdict = f"the best option is in group {self._group_name(z)}"
        self._record(
            phase, eps, "estimate bias", 0, feedback.counts, bias=self._omega, kappa=kappa,
            verdict=verdict,
        )

    def _exploit(
        self, phase: int, eps: float, options: NDArray[np.intp], z: int, kappa: float | None = None
    ) -> Play:
        """Play the empirical best of the given options until the horizon."""
        best = self._empirical_best(options)
        counts = self.single(best, self.remaining)
        stopped = kappa is not None
        verdict = f"{self.actions.labels[best]} until the end: " + (
            "more about the bias is not worth its price" if stopped else "the budget ends here"
        )
        self._record(
            phase, eps, "recovery" if stopped else "exploit", z, counts, kappa=kappa,
            verdict=verdict,
        )
        yield counts

    def _candidates(self) -> NDArray[np.intp]:
        """Return X_{−1} ∪ X_{+1}, or the options of the best group once it is known."""
        if self._best_group != 0:
            return self._active[self._best_group]
        return np.sort(np.concatenate([self._active[-1], self._active[1]]))

    def _empirical_best(self, options: NDArray[np.intp]) -> int:
        """Return the option of largest debiased estimate; without ω̂, of largest evaluation.

        Before there is any estimate it is the first option.
        """
        omega = self._omega.value if self._omega is not None else 0.0
        values = self._evaluation[options] - self._z[options] * omega
        if np.isnan(values).all():
            return int(options[0])
        return int(options[np.nanargmax(values)])

    def recommend(self) -> Decision:
        """Return the empirical best of the options still in play."""
        return self.decision(self._empirical_best(self._candidates()))

    def bias(self) -> Estimate:
        """Return ω̂; its intervals of all phases hold together with probability 1 − δ."""
        if self._omega is None:
            return Estimate(np.nan, -np.inf, np.inf, 1.0 - self.delta)
        return self._omega

    def _group_name(self, z: int) -> str:
        assert self.actions.group_names is not None
        return self.actions.group_names[0 if z == -1 else 1]

    def _record(
        self,
        phase: int,
        eps: float,
        step: Step,
        z: int,
        counts: Counts,
        eliminated: tuple[int, ...] = (),
        bias: Estimate | None = None,
        kappa: float | None = None,
        verdict: str = "",
    ) -> None:
        group = self._group_name(z) if z else None
        self.history.append(
            Phase(phase, eps, step, group, counts, eliminated, bias, kappa, verdict)
        )


class _DesignCache:
    """G-optimal designs by active set; runs on the same options share them."""

    def __init__(self, actions: ActionSet) -> None:
        self._points = actions.points
        self._weights: dict[bytes, Floats] = {}

    @staticmethod
    def of(actions: ActionSet) -> _DesignCache:
        """Return the cache of these options, kept as long as they are."""
        if actions not in _CACHES:
            _CACHES[actions] = _DesignCache(actions)
        return _CACHES[actions]

    def g_optimal(self, active: NDArray[np.intp], n: float) -> Counts:
        """Return ⌈n π(x)⌉ for the G-optimal design π on the active options."""
        key = active.tobytes()
        if key not in self._weights:
            weights = np.zeros(len(self._points))
            weights[active] = g_optimal_design(self._points[active]).weights
            self._weights[key] = weights
        return np.ceil(n * self._weights[key]).astype(np.int64)


_CACHES: WeakKeyDictionary[ActionSet, _DesignCache] = WeakKeyDictionary()
