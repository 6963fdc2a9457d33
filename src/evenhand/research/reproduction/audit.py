"""Runs looked into, step by step: do the lemmas of the proofs hold on every one?

Notation
--------
F        the event that an estimate of some phase is off by ε_l or more; the lemmas are about runs
         without it (Lemma 10: P(F) ≤ 2δ)
X_z      options of group z still in play        Δ̂      upper estimates of the gaps

Nothing is taken from the policy but what it evaluated, what it dropped and what it said: estimates
are worked out again from the feedback. A lemma is checked in every step of a run as long as F
has not happened in it, which is more often than on runs that stay without F to the end.
"""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import Executor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenhand.geometry import kappa
from evenhand.policies import FairPhasedElimination
from evenhand.policies.fair_phased_elimination import Phase
from evenhand.policies.messages import Feedback
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.tally import LemmaCheck, Tally
from evenhand.research.simulation.experiment import Contender, Experiment, play_out

_SAME_GROUP, _OTHER_GROUP = 10.0, 42.0  # gaps of survivors, in ε_{l+1} (Lemma 11)
_SMALLEST_GAP = 8.0  # Δ_≠ / ε_l from which the groups are told apart (Lemma 14)
_ABOVE, _OUT = 16.0, 21.0  # of Δ̂ above Δ, and of gaps that are out of play, in ε_l (Lemma 21)
_PAPERS, _OURS = 513.0, 17.0  # how much Δ̂ may exceed Δ ∨ ε_l: Lemma 13, and `limits`
_SOLVED = 1e-6  # to which designs are solved
_PIECE = 250  # runs that a worker takes at a time


def audit_runs(
    problem: BiasedLinearBandit,
    horizon: int,
    delta: float,
    replications: int,
    seed: int,
    executor: Executor | None = None,
) -> Tally:
    """Run Fair Phased Elimination many times and check the lemmas on every run.

    Counts: runs; failures, runs in which F happened; off_values and off_bias, runs in which an
    evaluation, or the bias, was ever off by ε_l or more (Lemmas 18, 19); estimated, runs that ended
    with an interval for the bias; missed, those whose last interval does not hold the bias;
    ever_missed, those of which any does not; settled, runs that found the group of the best option,
    without F; dropped, options, without F.
    """
    pieces = [
        range(first, min(first + _PIECE, replications)) for first in range(0, replications, _PIECE)
    ]
    audit = partial(_audit_piece, problem, horizon, delta, seed)
    return sum((map if executor is None else executor.map)(audit, pieces), Tally())


def _audit_piece(
    problem: BiasedLinearBandit, horizon: int, delta: float, seed: int, piece: range
) -> Tally:
    audited = Contender("audited", FairPhasedElimination.name, (("delta", delta),))
    experiment = Experiment(problem, (audited,), seed)
    total, prices = Tally(), _Prices(problem)
    for replication in piece:
        policy = experiment.policy(0, horizon, replication)
        assert isinstance(policy, FairPhasedElimination)
        total += audit_run(problem, policy, experiment.evaluations(replication), prices)
    return total


def audit_run(
    problem: BiasedLinearBandit,
    policy: FairPhasedElimination,
    judge: SimulatedEvaluations,
    prices: _Prices | None = None,
) -> Tally:
    """Play one run to its end and check every step of it."""
    watcher = _Watcher(problem, policy, _Prices(problem) if prices is None else prices)
    told: list[Feedback] = []
    play_out(policy, judge, problem.gaps, watch=lambda _, __, feedback: told.append(feedback))
    steps = (step for step in policy.history if step.counts.any())
    for step, feedback in zip(steps, told, strict=True):
        watcher.see(step, feedback)
    return watcher.audit()


class _Prices(dict[float, float]):
    """κ(Δ ∨ τ) of a problem by τ, each worked out once."""

    def __init__(self, problem: BiasedLinearBandit) -> None:
        super().__init__()
        self._problem = problem

    def __missing__(self, tau: float) -> float:
        self[tau] = kappa(self._problem.actions, np.maximum(self._problem.gaps, tau))
        return self[tau]


class _Watcher:
    """Follows one run: what is still in play, what was estimated, whether F has happened."""

    def __init__(
        self, problem: BiasedLinearBandit, policy: FairPhasedElimination, prices: _Prices
    ) -> None:
        self._problem, self._policy, self._prices = problem, policy, prices
        self._off_values = self._off_bias = False
        self._z = problem.actions.groups
        self._signs = dict(zip(problem.actions.group_names or (), (-1, 1), strict=True))
        self._active = {z: self._z == z for z in (-1, 1)}
        self._evaluation = np.full(len(self._z), np.nan)
        self._upper = np.full(len(self._z), 2.0 * policy.value_bound)  # Δ̂
        self._good = True  # F has not happened yet
        self._intervals: list[bool] = []
        self._settled = False
        self._tally = Tally(Counter(runs=1))

    def audit(self) -> Tally:
        """Return what was seen."""
        seen = self._intervals
        self._tally.counts.update(
            failures=not self._good,
            off_values=self._off_values,
            off_bias=self._off_bias,
            estimated=bool(seen),
            missed=bool(seen) and not seen[-1],
            ever_missed=not all(seen),
            settled=self._settled,
        )
        return self._tally

    def see(self, step: Phase, feedback: Feedback) -> None:
        """Check one step."""
        if step.step == "evaluate group":
            self._see_evaluations(step, feedback)
        elif step.step == "estimate bias":
            self._see_bias(step, feedback)

    def _see_evaluations(self, step: Phase, feedback: Feedback) -> None:
        problem, policy, note = self._problem, self._policy, self._tally.note
        k, m = problem.actions.points.shape
        z, eps, odds = self._signs[step.group or ""], step.precision, step.phase * (step.phase + 1)
        size = 2 * m * (policy.noise_scale / eps) ** 2 * math.log(k * odds / policy.delta)
        size += m * (m + 1) / 2
        note("lemma 12, evaluations", LemmaCheck.of(float(step.counts.sum()), size))
        active = self._active[z]
        theta = _least_squares(problem, feedback)
        self._evaluation[active] = problem.actions.points[active] @ theta
        errors = np.abs(self._evaluation - problem.evaluations)[active]
        self._off_values |= bool((errors >= eps).any())
        self._good = not (self._off_values or self._off_bias)
        self._active[z] = active = active.copy()
        active[list(step.eliminated)] = False
        if not self._good:
            return
        self._tally.counts["dropped"] += len(step.eliminated)
        same = z == self._z[problem.best]
        if same:
            note("lemma 20", LemmaCheck.of(0.0 if active[problem.best] else 2.0, 1.0))
        # 10ε_{l+1} = 5ε_l and 42ε_{l+1} = 21ε_l
        allowed = (_SAME_GROUP if same else _OTHER_GROUP) * eps / 2
        worst = float(problem.gaps[active].max(initial=0.0))
        note("lemma 11", LemmaCheck.of(worst, allowed, strict=True))
        note("lemma 21, gone", LemmaCheck.of(worst, _OUT * eps, strict=True))
        for x in step.eliminated:
            note("lemma 21, dropped", LemmaCheck.of(eps, float(problem.gaps[x]), strict=True))

    def _see_bias(self, step: Phase, feedback: Feedback) -> None:
        problem, policy, note = self._problem, self._policy, self._tally.note
        assert step.bias is not None
        assert step.kappa is not None
        z_best, eps, odds = self._z[problem.best], step.precision, step.phase * (step.phase + 1)
        if self._good:
            log_odds = math.log(odds / policy.delta)
            price = 2 * step.kappa * (policy.noise_scale / eps) ** 2 * log_odds
            price += 2 * policy.value_bound * problem.actions.points.shape[1]
            note("lemma 12, regret", LemmaCheck.of(float(step.counts @ self._upper), price))
            true_cost = float(step.counts @ problem.gaps)
            note("lemma 12, regret", LemmaCheck.of(true_cost, float(step.counts @ self._upper)))
            self._see_price(step.kappa, eps)
        omega = float(_least_squares(problem, feedback)[-1])
        truth = float(np.ravel(problem.omega)[0])
        self._intervals.append(step.bias.covers(truth))
        self._off_bias |= abs(omega - truth) >= eps
        self._good = not (self._off_values or self._off_bias)
        both = self._active[-1] | self._active[1]
        values = self._evaluation - self._z * omega
        self._upper[both] = np.minimum(
            values[both].max() - values[both] + 4 * eps, 2 * policy.value_bound
        )
        best = {z: float(values[self._active[z]].max(initial=-np.inf)) for z in (-1, 1)}
        lead = best[1] - best[-1]
        found = int(math.copysign(1, lead)) if abs(lead) >= 4 * eps else 0
        if not self._good:
            return
        self._settled = found == z_best
        # Δ̂^{l+1} ≤ Δ + 16ε_{l+1}
        above = (self._upper[both] / (problem.gaps[both] + _ABOVE * eps / 2)).max()
        note("lemma 21, upper", LemmaCheck.of(float(above), 1.0))
        note("lemma 20", LemmaCheck.of(2.0 if found == -z_best else 0.0, 1.0))
        # The last phase for it has the largest ε_l = B 2^{2−l} that is at most Δ_≠/8
        unit = policy.value_bound
        last = unit * 2.0 ** math.floor(math.log2(problem.delta_neq / unit / _SMALLEST_GAP))
        if self._settled:
            note("lemma 14", LemmaCheck.of(last, eps))
        elif eps <= last:
            note("lemma 14", LemmaCheck(1, 1, 2.0))

    def _see_price(self, price: float, eps: float) -> None:
        """Check κ(Δ ∨ ε_l) ≤ κ(Δ̂^l) ≤ 513(1 + ε_l/τ)κ(Δ ∨ τ), for τ below, at and above ε_l."""
        note = self._tally.note
        note("lemma 13", LemmaCheck.of(self._prices[eps], price, _SOLVED))
        for tau in (eps / 8, eps, 8 * eps):
            bound = (1 + eps / tau) * self._prices[tau]
            note("lemma 13", LemmaCheck.of(price, _PAPERS * bound))
            note("lemma 13, sharper", LemmaCheck.of(price, _OURS * bound))


def _least_squares(problem: BiasedLinearBandit, feedback: Feedback) -> NDArray[np.float64]:
    """Return θ̂ from one step's feedback, by the textbook."""
    (used,) = np.nonzero(feedback.counts)
    root = np.sqrt(feedback.counts[used].astype(np.float64))
    rows = problem.actions.points[used] * root[:, None]
    theta, *_ = np.linalg.lstsq(rows, feedback.sums[used] / root, rcond=1e-12)
    return np.asarray(theta)
