"""Experiments run: curves of measured regret beside what the theorems say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats
from evenhand.geometry import kappa as price_of_bias
from evenhand.policies import FairPhasedElimination
from evenhand.research import limits
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.audit import audit_runs
from evenhand.research.reproduction.experiments import (
    Blindness,
    GrowthInHorizon,
    Played,
    Programme,
    Transition,
)
from evenhand.research.reproduction.geometry import measure_geometry
from evenhand.research.reproduction.tally import Tally
from evenhand.research.rivals.phased_elimination import PhasedElimination
from evenhand.research.simulation import simulate
from evenhand.research.simulation.experiment import Contender

FAIR, BLIND = FairPhasedElimination.name, "blind-elimination"
_POLICIES = {
    FAIR: Contender(FAIR, FAIR),
    # knows how evaluations come about, and takes them at their word: the paper's example
    BLIND: Contender(BLIND, PhasedElimination.name, (("with_attributes", True),)),
}
_STEP = 3  # points of a grid to one step of the staircase, a factor of 8

Done = Callable[[], None]


@dataclass(frozen=True)
class Rate:
    """The exponent b of a power law x^b, with its standard error."""

    exponent: float
    error: float

    def __str__(self) -> str:
        return f"{self.exponent:.3f} ± {self.error:.3f}"


@dataclass(frozen=True, eq=False)
class PairCurve:
    """Regret on worst-case pairs, along T or κ_*."""

    d: int  # features
    c: float  # scale of the gap
    fixed: float  # κ_* where T varies, T where κ_* varies
    x: Floats  # (n,) T or κ_*
    mean: Floats  # (n,) regret of Fair Phased Elimination, mean of the pair
    error: Floats  # (n,) its standard error
    worst: Floats  # (n,) the larger of the pair's two regrets, which is what Theorem 3 speaks of
    blind: Floats  # (n,) mean of blind elimination
    blind_worst: Floats  # (n,)
    two_point: Floats  # (n,) the two-point bound of the mean
    lower: Floats  # (n,) Theorem 3
    upper: Floats  # (n,) Theorem 1
    form: Floats  # (n,) κ_*^{1/3} T^{2/3} log(T)^{1/3}

    @property
    def rate(self) -> Rate:
        """How the mean grows with x."""
        return growth_rate(self.x, self.mean)


@dataclass(frozen=True, eq=False)
class GrowthCurve:
    """Regret on a gap-dependent family, along T."""

    horizons: Floats  # (n,) T
    worst: Floats  # (n,) largest mean regret of the family's problems
    error: Floats  # (n,) its standard error
    lower: Floats  # (n,) Theorem 6
    upper: Floats  # (n,) Theorem 2
    limit: float  # what R/log T tends to at least, by Theorem 4
    # what R/log T of a consistent policy tends to at least, on the hardest problem
    graves_lai: float
    # (n,) whether T is long enough for the group of the best option to be found
    settled: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    @property
    def per_log(self) -> Floats:
        """(n,) R / log T."""
        return np.asarray(self.worst / np.log(self.horizons))

    @property
    def rate(self) -> Rate:
        """How the regret grows with T, once settled; a logarithm has exponent next to 0."""
        return growth_rate(self.horizons[self.settled], self.worst[self.settled], step=1)


@dataclass(frozen=True, eq=False)
class TransitionCurve:
    """Regret on gap-dependent families, along Δ_≠, per log T."""

    delta_neqs: Floats  # (n,) Δ_≠
    per_log: Floats  # (n,) largest mean regret of a family's problems, over log T
    within: Floats  # (n,) d/Δ_min, the first term of Theorem 2
    between: Floats  # (n,) κ(Δ ∨ Δ_≠)/Δ_≠², the second
    lower: Floats  # (n,) Theorem 6, over log T

    @property
    def ratio(self) -> Floats:
        """(n,) regret over the larger of the two terms."""
        return np.asarray(self.per_log / np.maximum(self.within, self.between))

    def rate(self, side: str) -> Rate:
        """How the regret changes with Δ_≠ where the bias rules, or where the bandit does."""
        ruled = self.between >= 4 * self.within
        if side == "bandit":
            ruled = self.within >= 16 * self.between
        return growth_rate(self.delta_neqs[ruled], self.per_log[ruled], step=1)


@dataclass(frozen=True, eq=False)
class BlindCurve:
    """Fair and blind elimination on one problem, along T."""

    problem: BiasedLinearBandit  # evaluations favour the wrong group
    horizons: Floats  # (n,) T, as the mean regrets and their standard errors
    fair: Floats
    fair_error: Floats
    blind: Floats
    blind_error: Floats

    @property
    def trap(self) -> float:
        """What is lost each time by choosing the option of the highest evaluation."""
        return float(self.problem.gaps[int(self.problem.evaluations.argmax())])

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """Growth of fair and blind regret over the second half of the grid."""
        half = len(self.horizons) // 2
        T = self.horizons[half:]
        return (
            growth_rate(T, self.fair[half:], step=1),
            growth_rate(T, self.blind[half:], step=1),
        )


@dataclass(frozen=True, eq=False)
class Measurements:
    """Everything that was measured."""

    programme: Programme
    seed: int
    in_horizon: tuple[PairCurve, ...]
    in_kappa: tuple[PairCurve, ...]
    growth: GrowthCurve
    transition: TransitionCurve
    blind: BlindCurve
    lemmas: tuple[tuple[Played, Tally], ...]
    failures: tuple[tuple[float, Tally], ...]
    geometry: Tally

    @property
    def tally(self) -> Tally:
        """All checks; of runs that fail by intention, that of the lemma about all runs."""
        about = "lemma 12, evaluations"
        frail = [Tally(checks={about: audit.checks[about]}) for _, audit in self.failures]
        return sum([*(audit for _, audit in self.lemmas), *frail], self.geometry)


def growth_rate(x: Floats, y: Floats, step: int = _STEP) -> Rate:
    """Return the exponent of a power law, fitted to like points of a staircase.

    log y = a_i + b log x, with one a_i for each place on a step: only points that are whole steps
    apart are compared, so that where a grid begins and ends does not matter.

    Examples
    --------
    >>> x = 2.0 ** np.arange(9)
    >>> stairs = np.tile([1.0, 1.3, 1.6], 3)
    >>> round(growth_rate(x, 5 * x**0.5 * stairs).exponent, 6)
    0.5
    """
    places = np.arange(len(x)) % step
    columns = np.column_stack([np.log(x), *(places == place for place in range(step))])
    found, *_ = np.linalg.lstsq(columns, np.log(y), rcond=None)
    residuals = np.log(y) - columns @ found
    spread = np.linalg.inv(columns.T @ columns)[0, 0]
    freedom = max(1, len(x) - columns.shape[1])
    return Rate(float(found[0]), float(np.sqrt(residuals @ residuals / freedom * spread)))


def measure(
    programme: Programme, seed: int, executor: Executor | None, done: Done = lambda: None
) -> Measurements:
    """Run a programme; ``done`` is told after each of its `steps`."""
    along, across, audits = programme.rate_in_horizon, programme.rate_in_kappa, programme.audits
    bench = _Bench(seed, executor, done)
    return Measurements(
        programme,
        seed,
        tuple(
            bench.pairs(d, c, kappa, [(kappa, T) for T in along.horizons], along.replications)
            for d, kappa in along.shapes
            for c in along.scales
        ),
        tuple(
            bench.pairs(
                across.d,
                c,
                across.horizon,
                [(kappa, across.horizon) for kappa in across.kappas],
                across.replications,
            )
            for c in across.scales
        ),
        bench.growth(programme.growth),
        bench.transition(programme.transition),
        bench.blindness(programme.blindness),
        tuple(
            (case, bench.audit(case, audits.delta, audits.replications)) for case in audits.cases
        ),
        tuple(
            (delta, bench.audit(audits.frail, delta, audits.frail_replications))
            for delta in audits.deltas
        ),
        bench.told(measure_geometry(programme.sets, seed, executor)),
    )


def steps(programme: Programme) -> int:
    """Return how often `measure` tells that something is done."""
    along, across, audits = programme.rate_in_horizon, programme.rate_in_kappa, programme.audits
    pairs = len(along.shapes) * len(along.scales) * len(along.horizons)
    pairs += len(across.scales) * len(across.kappas)
    runs = len(programme.transition.delta_neqs) + len(audits.cases) + len(audits.deltas)
    return pairs + runs + 3  # growth, blindness, geometry


@dataclass(frozen=True)
class _Bench:
    """Who runs experiments, with which randomness."""

    seed: int
    executor: Executor | None
    done: Done

    def told(self, found: Tally) -> Tally:
        """Return what was found, and tell that something is done."""
        self.done()
        return found

    def regrets(
        self,
        problem: BiasedLinearBandit,
        names: Sequence[str],
        horizons: Sequence[int],
        replications: int,
    ) -> Floats:
        """Return (policies, horizons, 2) mean regrets, and their standard errors."""
        results = simulate(
            problem,
            [_POLICIES[name] for name in names],
            horizons,
            replications,
            self.seed,
            self.executor,
            checkpoints=(),
            progress=False,
        )
        regrets = [runs.final_regret for runs in results.runs]
        error = [r.std(ddof=1) / np.sqrt(len(r)) if len(r) > 1 else 0.0 for r in regrets]
        found = np.column_stack([[r.mean() for r in regrets], error])
        return found.reshape(len(names), len(horizons), 2)

    def pairs(
        self, d: int, c: float, fixed: float, grid: Sequence[tuple[float, int]], replications: int
    ) -> PairCurve:
        """Measure along a grid of κ_* and T, of which one is fixed."""
        rows = []
        for kappa, horizon in grid:
            pair = families.worst_case(d, kappa, horizon, c)
            found = [self.regrets(p, (FAIR, BLIND), [horizon], replications) for p in pair]
            self.done()
            first, second = (each[0, 0] for each in found)
            blind = [float(each[1, 0, 0]) for each in found]
            rows.append(
                (
                    horizon if fixed == kappa else kappa,
                    (first[0] + second[0]) / 2,
                    np.hypot(first[1], second[1]) / 2,
                    max(first[0], second[0]),
                    sum(blind) / 2,
                    max(blind),
                    limits.two_point(*pair, horizon),
                    limits.worst_case_lower(kappa, horizon),
                    limits.worst_case_upper(pair[0].actions, horizon),
                    np.cbrt(kappa * horizon**2 * np.log(horizon)),
                )
            )
        return PairCurve(d, c, fixed, *np.array(rows, dtype=np.float64).T)

    def growth(self, plan: GrowthInHorizon) -> GrowthCurve:
        """Measure a gap-dependent family along T."""
        arguments = (plan.d, plan.kappa, plan.delta_min, plan.delta_neq)
        problems = families.gap_dependent(*arguments)
        found = np.array(
            [self.regrets(p, (FAIR,), plan.horizons, plan.replications)[0] for p in problems]
        )
        hardest = found[found[:, :, 0].argmax(axis=0), np.arange(found.shape[1])]
        upper = [[limits.gap_dependent_upper(p, T) for p in problems] for T in plan.horizons]
        self.done()
        horizons = np.array(plan.horizons, dtype=np.float64)
        return GrowthCurve(
            horizons,
            hardest[:, 0],
            hardest[:, 1],
            np.array([limits.gap_dependent_lower(*arguments, T) for T in plan.horizons]),
            np.array(upper).max(axis=1),
            max(plan.d / (10 * plan.delta_min), (plan.kappa + 1) / (4 * plan.delta_neq**2)),
            max(limits.graves_lai(problem).value for problem in problems),
            horizons >= plan.settled,
        )

    def transition(self, plan: Transition) -> TransitionCurve:
        """Measure gap-dependent families along Δ_≠."""
        log_t = float(np.log(plan.horizon))
        rows = []
        for delta_neq in plan.delta_neqs:
            arguments = (plan.d, plan.kappa, plan.delta_min, delta_neq)
            problems = families.gap_dependent(*arguments)
            found = [
                self.regrets(p, (FAIR,), [plan.horizon], plan.replications)[0, 0, 0]
                for p in problems
            ]
            prices = [price_of_bias(p.actions, np.maximum(p.gaps, p.delta_neq)) for p in problems]
            lower = limits.gap_dependent_lower(*arguments, plan.horizon)
            within, between = plan.d / plan.delta_min, max(prices) / delta_neq**2
            rows.append((delta_neq, max(found) / log_t, within, between, lower / log_t))
            self.done()
        return TransitionCurve(*np.array(rows, dtype=np.float64).T)

    def blindness(self, plan: Blindness) -> BlindCurve:
        """Measure fair and blind elimination along T."""
        problem = families.random(plan.k, plan.d, plan.problem_seed)
        fair, blind = self.regrets(problem, (FAIR, BLIND), plan.horizons, plan.replications)
        self.done()
        return BlindCurve(problem, np.array(plan.horizons, dtype=np.float64), *fair.T, *blind.T)

    def audit(self, case: Played, delta: float, replications: int) -> Tally:
        """Look into runs of one problem."""
        problem = case.problem()
        found = audit_runs(problem, case.horizon, delta, replications, self.seed, self.executor)
        return self.told(found)
