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
from concurrent.futures import Executor
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evenhand.geometry import kappa
from evenhand.policies import FairPhasedElimination
from evenhand.policies.fair_phased_elimination import Phase
from evenhand.policies.messages import Feedback
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.tally import UNTRIED, LemmaCheck
from evenhand.research.simulation.experiment import Contender, Experiment, play_out

_SAME_GROUP, _OTHER_GROUP = 10.0, 42.0  # gaps of survivors, in ε_{l+1} (Lemma 11)
_SMALLEST_GAP = 8.0  # Δ_≠ / ε_l from which the groups are told apart (Lemma 14)
_ABOVE, _OUT = 16.0, 21.0  # of Δ̂ above Δ, and of gaps that are out of play, in ε_l (Lemma 21)
_PAPERS, _OURS = 513.0, 17.0  # how much Δ̂ may exceed Δ ∨ ε_l: Lemma 13, and `limits`
_SOLVED = 1e-6  # to which designs are solved
_PIECE = 250  # runs that a worker takes at a time


@dataclass(frozen=True)
class AuditedRuns:
    """What came out of audited runs; audits add up."""

    runs: int = 0
    failures: int = 0  # runs in which F happened
    # runs in which an evaluation, or the bias, was ever off by ε_l or more (Lemmas 18, 19)
    off_values: int = 0
    off_bias: int = 0
    estimated: int = 0  # runs that ended with an interval for the bias
    missed: int = 0  # those whose last interval does not hold the bias
    ever_missed: int = 0  # those of which any interval does not
    settled: int = 0  # runs that found the group of the best option, without F
    dropped: int = 0  # options, without F
    samples: LemmaCheck = UNTRIED  # Lemma 12, first claim: evaluations of a G-phase
    # Lemma 12, second claim: regret of a bias phase by Δ̂, at least the true one
    price: LemmaCheck = UNTRIED
    kept: LemmaCheck = UNTRIED  # Lemma 20: the best option, and its group, stay
    survivors: LemmaCheck = UNTRIED  # Lemma 11: gaps of the options that stay
    # Lemma 14: the group of the best option is found while ε_l is large
    decided: LemmaCheck = UNTRIED
    estimated_price: LemmaCheck = UNTRIED  # Lemma 13: κ(Δ̂) beside κ(Δ ∨ τ)
    sharper_price: LemmaCheck = UNTRIED  # the same with 17 for 513
    upper_gaps: LemmaCheck = UNTRIED  # Lemma 21: Δ̂ ≤ Δ + 16ε_l for what is in play
    gone: LemmaCheck = UNTRIED  # Lemma 21: gaps of 21ε_l and more are out of play
    dropped_late: LemmaCheck = UNTRIED  # Lemma 21: ε_l < Δ for what is dropped in phase l

    def __add__(self, other: AuditedRuns) -> AuditedRuns:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return AuditedRuns(**sums)


def audit_runs(
    problem: BiasedLinearBandit,
    horizon: int,
    delta: float,
    replications: int,
    seed: int,
    executor: Executor | None = None,
) -> AuditedRuns:
    """Run Fair Phased Elimination many times and check the lemmas on every run."""
    starts = range(0, replications, _PIECE)
    pieces = [(first, min(first + _PIECE, replications)) for first in starts]
    if executor is None:
        parts = [_audit_piece(problem, horizon, delta, seed, piece) for piece in pieces]
    else:
        futures = [
            executor.submit(_audit_piece, problem, horizon, delta, seed, piece) for piece in pieces
        ]
        parts = [future.result() for future in futures]
    return sum(parts, AuditedRuns())


def _audit_piece(
    problem: BiasedLinearBandit, horizon: int, delta: float, seed: int, piece: tuple[int, int]
) -> AuditedRuns:
    audited = Contender("audited", FairPhasedElimination.name, (("delta", delta),))
    experiment = Experiment(problem, (audited,), seed)
    total, prices = AuditedRuns(), _Prices(problem)
    for replication in range(*piece):
        policy = experiment.policy(0, horizon, replication)
        assert isinstance(policy, FairPhasedElimination)
        total += audit_run(problem, policy, experiment.evaluations(replication), prices)
    return total


def audit_run(
    problem: BiasedLinearBandit,
    policy: FairPhasedElimination,
    judge: SimulatedEvaluations,
    prices: _Prices | None = None,
) -> AuditedRuns:
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
        self._found = 0  # the group said to be the best
        self._intervals: list[bool] = []
        self._settled = False
        self._dropped = 0
        self._checks = dict.fromkeys(_CHECKED, UNTRIED)

    def audit(self) -> AuditedRuns:
        """Return what was seen."""
        seen = self._intervals
        return AuditedRuns(
            runs=1,
            failures=int(not self._good),
            off_values=int(self._off_values),
            off_bias=int(self._off_bias),
            estimated=int(bool(seen)),
            missed=int(bool(seen) and not seen[-1]),
            ever_missed=int(not all(seen)),
            settled=int(self._settled),
            dropped=self._dropped,
            **self._checks,
        )

    def see(self, step: Phase, feedback: Feedback) -> None:
        """Check one step."""
        if step.step == "evaluate group":
            self._see_evaluations(step, feedback)
        elif step.step == "estimate bias":
            self._see_bias(step, feedback)

    def _note(self, name: str, check: LemmaCheck) -> None:
        self._checks[name] += check

    def _see_evaluations(self, step: Phase, feedback: Feedback) -> None:
        problem, policy = self._problem, self._policy
        k, m = problem.actions.points.shape
        z, eps, odds = self._signs[step.group or ""], step.precision, step.phase * (step.phase + 1)
        size = 2 * m * (policy.noise_scale / eps) ** 2 * math.log(k * odds / policy.delta)
        self._note("samples", LemmaCheck.of(float(step.counts.sum()), size + m * (m + 1) / 2))
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
        self._dropped += len(step.eliminated)
        same = z == self._z[problem.best]
        if same:
            self._note("kept", LemmaCheck.of(0.0 if active[problem.best] else 2.0, 1.0))
        # 10ε_{l+1} = 5ε_l and 42ε_{l+1} = 21ε_l
        allowed = (_SAME_GROUP if same else _OTHER_GROUP) * eps / 2
        worst = float(problem.gaps[active].max(initial=0.0))
        self._note("survivors", LemmaCheck.of(worst, allowed, strict=True))
        self._note("gone", LemmaCheck.of(worst, _OUT * eps, strict=True))
        for x in step.eliminated:
            self._note("dropped_late", LemmaCheck.of(eps, float(problem.gaps[x]), strict=True))

    def _see_bias(self, step: Phase, feedback: Feedback) -> None:
        problem, policy = self._problem, self._policy
        assert step.bias is not None
        assert step.kappa is not None
        z_best, eps, odds = (
            int(self._z[problem.best]),
            step.precision,
            step.phase * (step.phase + 1),
        )
        if self._good:
            log_odds = math.log(odds / policy.delta)
            price = 2 * step.kappa * (policy.noise_scale / eps) ** 2 * log_odds
            price += 2 * policy.value_bound * problem.actions.points.shape[1]
            self._note("price", LemmaCheck.of(float(step.counts @ self._upper), price))
            true_cost = float(step.counts @ problem.gaps)
            self._note("price", LemmaCheck.of(true_cost, float(step.counts @ self._upper)))
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
        self._found = int(math.copysign(1, lead)) if abs(lead) >= 4 * eps else 0
        if not self._good:
            return
        self._settled = self._found == z_best
        # Δ̂^{l+1} ≤ Δ + 16ε_{l+1}
        above = (self._upper[both] / (problem.gaps[both] + _ABOVE * eps / 2)).max()
        self._note("upper_gaps", LemmaCheck.of(float(above), 1.0))
        self._note("kept", LemmaCheck.of(2.0 if self._found == -z_best else 0.0, 1.0))
        # The last phase for it has the largest ε_l = B 2^{2−l} that is at most Δ_≠/8
        unit = policy.value_bound
        last = unit * 2.0 ** math.floor(math.log2(problem.delta_neq / unit / _SMALLEST_GAP))
        if self._settled:
            self._note("decided", LemmaCheck.of(last, eps))
        elif eps <= last:
            self._note("decided", LemmaCheck(1, 1, 2.0))

    def _see_price(self, price: float, eps: float) -> None:
        """Check κ(Δ ∨ ε_l) ≤ κ(Δ̂^l) ≤ 513(1 + ε_l/τ)κ(Δ ∨ τ), for τ below, at and above ε_l."""
        self._note("estimated_price", LemmaCheck.of(self._prices[eps], price, _SOLVED))
        for tau in (eps / 8, eps, 8 * eps):
            bound = (1 + eps / tau) * self._prices[tau]
            self._note("estimated_price", LemmaCheck.of(price, _PAPERS * bound))
            self._note("sharper_price", LemmaCheck.of(price, _OURS * bound))


_CHECKED = tuple(f.name for f in fields(AuditedRuns) if isinstance(f.default, LemmaCheck))


def _least_squares(problem: BiasedLinearBandit, feedback: Feedback) -> NDArray[np.float64]:
    """Return θ̂ from one step's feedback, by the textbook."""
    (used,) = np.nonzero(feedback.counts)
    root = np.sqrt(feedback.counts[used].astype(np.float64))
    rows = problem.actions.points[used] * root[:, None]
    theta, *_ = np.linalg.lstsq(rows, feedback.sums[used] / root, rcond=1e-12)
    return np.asarray(theta)
