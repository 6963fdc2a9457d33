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

from evenhand.policies import FairPhasedElimination
from evenhand.policies.fair_phased_elimination import Phase
from evenhand.policies.messages import Feedback
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation.experiment import Contender, Experiment, play_out

_SAME_GROUP, _OTHER_GROUP = 10.0, 42.0  # gaps of survivors, in ε_{l+1} (Lemma 11)
_SMALLEST_GAP = 8.0  # Δ_≠ / ε_l from which the groups are told apart (Lemma 14)
_PIECE = 250  # runs that a worker takes at a time


@dataclass(frozen=True)
class LemmaCheck:
    """How often a statement was checked, how often it failed, and how close it came."""

    n: int = 0
    violations: int = 0
    closest: float = 0.0  # largest ratio of what was found to what is allowed; up to 1 it holds

    def __add__(self, other: LemmaCheck) -> LemmaCheck:
        return LemmaCheck(
            self.n + other.n,
            self.violations + other.violations,
            max(self.closest, other.closest),
        )

    @staticmethod
    def of(found: float, allowed: float, *, strict: bool = False) -> LemmaCheck:
        """Check that a number is at most another; below it, if strict."""
        fails = found >= allowed if strict else found > allowed * (1 + 1e-9)
        return LemmaCheck(1, int(fails), found / allowed)


@dataclass(frozen=True)
class AuditedRuns:
    """What came out of audited runs; audits add up."""

    runs: int = 0
    failures: int = 0  # runs in which F happened
    estimated: int = 0  # runs that ended with an interval for the bias
    missed: int = 0  # those whose last interval does not hold the bias
    ever_missed: int = 0  # those of which any interval does not
    settled: int = 0  # runs that found the group of the best option, without F
    dropped: int = 0  # options, without F
    samples: LemmaCheck = LemmaCheck()  # Lemma 12, first claim: evaluations of a G-phase
    # Lemma 12, second claim: regret of a bias phase by Δ̂, at least the true one
    price: LemmaCheck = LemmaCheck()
    kept: LemmaCheck = LemmaCheck()  # Lemma 20: the best option, and its group, stay
    survivors: LemmaCheck = LemmaCheck()  # Lemma 11: gaps of the options that stay
    # Lemma 14: the group of the best option is found while ε_l is large
    decided: LemmaCheck = LemmaCheck()

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
    total = AuditedRuns()
    for replication in range(*piece):
        policy = experiment.policy(0, horizon, replication)
        assert isinstance(policy, FairPhasedElimination)
        total += audit_run(problem, policy, experiment.evaluations(replication))
    return total


def audit_run(
    problem: BiasedLinearBandit, policy: FairPhasedElimination, judge: SimulatedEvaluations
) -> AuditedRuns:
    """Play one run to its end and check every step of it."""
    watcher = _Watcher(problem, policy)
    told: list[Feedback] = []
    play_out(policy, judge, problem.gaps, watch=lambda _, __, feedback: told.append(feedback))
    steps = (step for step in policy.history if step.counts.any())
    for step, feedback in zip(steps, told, strict=True):
        watcher.see(step, feedback)
    return watcher.audit()


class _Watcher:
    """Follows one run: what is still in play, what was estimated, whether F has happened."""

    def __init__(self, problem: BiasedLinearBandit, policy: FairPhasedElimination) -> None:
        self._problem, self._policy = problem, policy
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
        self._checks = {f.name: LemmaCheck() for f in fields(AuditedRuns) if f.name in _CHECKED}

    def audit(self) -> AuditedRuns:
        """Return what was seen."""
        seen = self._intervals
        return AuditedRuns(
            runs=1,
            failures=int(not self._good),
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
        self._good = self._good and bool((errors < eps).all())
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
        omega = float(_least_squares(problem, feedback)[-1])
        truth = float(np.ravel(problem.omega)[0])
        self._intervals.append(step.bias.covers(truth))
        self._good = self._good and abs(omega - truth) < eps
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
        self._note("kept", LemmaCheck.of(2.0 if self._found == -z_best else 0.0, 1.0))
        # The last phase for it has the largest ε_l = B 2^{2−l} that is at most Δ_≠/8
        unit = policy.value_bound
        last = unit * 2.0 ** math.floor(math.log2(problem.delta_neq / unit / _SMALLEST_GAP))
        if self._settled:
            self._note("decided", LemmaCheck.of(last, eps))
        elif eps <= last:
            self._note("decided", LemmaCheck(1, 1, 2.0))


_CHECKED = ("samples", "price", "kept", "survivors", "decided")


def _least_squares(problem: BiasedLinearBandit, feedback: Feedback) -> NDArray[np.float64]:
    """Return θ̂ from one step's feedback, by the textbook."""
    (used,) = np.nonzero(feedback.counts)
    root = np.sqrt(feedback.counts[used].astype(np.float64))
    rows = problem.actions.points[used] * root[:, None]
    theta, *_ = np.linalg.lstsq(rows, feedback.sums[used] / root, rcond=1e-12)
    return np.asarray(theta)
