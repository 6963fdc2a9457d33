"""Experiments run: curves of measured regret beside what the theorems say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats
from evenhand.geometry import kappa as price_of_bias
from evenhand.policies import FairPhasedElimination
from evenhand.research import limits
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.audit import AuditedRuns, audit_runs
from evenhand.research.reproduction.experiments import (
    Audits,
    Blindness,
    GrowthInHorizon,
    Played,
    Programme,
    RateInHorizon,
    RateInKappa,
    Sets,
    Transition,
)
from evenhand.research.reproduction.geometry import Geometries, measure_geometry
from evenhand.research.rivals.phased_elimination import PhasedElimination
from evenhand.research.simulation import Runs, simulate
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
    lemmas: tuple[tuple[Played, AuditedRuns], ...]
    failures: tuple[tuple[float, AuditedRuns], ...]
    geometry: Geometries


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
    return Measurements(
        programme,
        seed,
        tuple(_pairs_in_horizon(programme.rate_in_horizon, seed, executor, done)),
        tuple(_pairs_in_kappa(programme.rate_in_kappa, seed, executor, done)),
        _growth(programme.growth, seed, executor, done),
        _transition(programme.transition, seed, executor, done),
        _blindness(programme.blindness, seed, executor, done),
        tuple(_lemmas(programme.audits, seed, executor, done)),
        tuple(_failures(programme.audits, seed, executor, done)),
        _geometry(programme.sets, seed, executor, done),
    )


def steps(programme: Programme) -> int:
    """Return how often `measure` tells that something is done."""
    in_horizon, in_kappa = programme.rate_in_horizon, programme.rate_in_kappa
    return (
        len(in_horizon.shapes) * len(in_horizon.scales) * len(in_horizon.horizons)
        + len(in_kappa.scales) * len(in_kappa.kappas)
        + 1
        + len(programme.transition.delta_neqs)
        + 1
        + len(programme.audits.cases)
        + len(programme.audits.deltas)
        + 1
    )


def _pairs_in_horizon(
    plan: RateInHorizon, seed: int, executor: Executor | None, done: Done
) -> Iterator[PairCurve]:
    for d, kappa in plan.shapes:
        for c in plan.scales:
            grid = [(kappa, horizon) for horizon in plan.horizons]
            x = np.array(plan.horizons, dtype=np.float64)
            yield _pair_curve(d, c, kappa, x, grid, plan.replications, seed, executor, done)


def _pairs_in_kappa(
    plan: RateInKappa, seed: int, executor: Executor | None, done: Done
) -> Iterator[PairCurve]:
    for c in plan.scales:
        grid = [(kappa, plan.horizon) for kappa in plan.kappas]
        x = np.array(plan.kappas)
        yield _pair_curve(plan.d, c, plan.horizon, x, grid, plan.replications, seed, executor, done)


def _pair_curve(
    d: int,
    c: float,
    fixed: float,
    x: Floats,
    grid: Sequence[tuple[float, int]],
    replications: int,
    seed: int,
    executor: Executor | None,
    done: Done,
) -> PairCurve:
    rows = []
    for kappa, horizon in grid:
        pair = families.worst_case(d, kappa, horizon, c)
        fair, blind = [], []
        for problem in pair:
            runs = _runs(problem, (FAIR, BLIND), horizon, replications, seed, executor)
            fair.append(_mean(runs[0]))
            blind.append(_mean(runs[1]))
        done()
        (first, second), blinds = fair, [mean for mean, _ in blind]
        rows.append(
            (
                (first[0] + second[0]) / 2,
                np.hypot(first[1], second[1]) / 2,
                max(first[0], second[0]),
                sum(blinds) / 2,
                max(blinds),
                limits.two_point(*pair, horizon),
                limits.worst_case_lower(kappa, horizon),
                limits.worst_case_upper(pair[0].actions, horizon),
                np.cbrt(kappa * horizon**2 * np.log(horizon)),
            )
        )
    return PairCurve(d, c, fixed, x, *np.array(rows, dtype=np.float64).T)


def _growth(plan: GrowthInHorizon, seed: int, executor: Executor | None, done: Done) -> GrowthCurve:
    arguments = (plan.d, plan.kappa, plan.delta_min, plan.delta_neq)
    problems = families.gap_dependent(*arguments)
    runs = [
        _runs(problem, (FAIR,), list(plan.horizons), plan.replications, seed, executor)
        for problem in problems
    ]
    horizons = np.array(plan.horizons, dtype=np.float64)
    worst = [max(map(_mean, each)) for each in zip(*runs, strict=True)]
    upper = [[limits.gap_dependent_upper(p, T) for p in problems] for T in plan.horizons]
    done()
    return GrowthCurve(
        horizons,
        np.array([mean for mean, _ in worst]),
        np.array([error for _, error in worst]),
        np.array([limits.gap_dependent_lower(*arguments, T) for T in plan.horizons]),
        np.array(upper).max(axis=1),
        max(plan.d / (10 * plan.delta_min), (plan.kappa + 1) / (4 * plan.delta_neq**2)),
        max(limits.graves_lai(problem).value for problem in problems),
        horizons >= plan.settled,
    )


def _transition(
    plan: Transition, seed: int, executor: Executor | None, done: Done
) -> TransitionCurve:
    log_t = float(np.log(plan.horizon))
    rows = []
    for delta_neq in plan.delta_neqs:
        arguments = (plan.d, plan.kappa, plan.delta_min, delta_neq)
        problems = families.gap_dependent(*arguments)
        regrets = [
            _mean(_runs(problem, (FAIR,), plan.horizon, plan.replications, seed, executor)[0])[0]
            for problem in problems
        ]
        prices = [price_of_bias(p.actions, np.maximum(p.gaps, p.delta_neq)) for p in problems]
        lower = limits.gap_dependent_lower(*arguments, plan.horizon)
        rows.append(
            (
                delta_neq,
                max(regrets) / log_t,
                plan.d / plan.delta_min,
                max(prices) / delta_neq**2,
                lower / log_t,
            )
        )
        done()
    return TransitionCurve(*np.array(rows, dtype=np.float64).T)


def _blindness(plan: Blindness, seed: int, executor: Executor | None, done: Done) -> BlindCurve:
    problem = families.random(plan.k, plan.d, plan.problem_seed)
    n = len(plan.horizons)
    runs = _runs(problem, (FAIR, BLIND), list(plan.horizons), plan.replications, seed, executor)
    fair, blind = (np.array([_mean(each) for each in part]) for part in (runs[:n], runs[n:]))
    done()
    horizons = np.array(plan.horizons, dtype=np.float64)
    return BlindCurve(problem, horizons, fair[:, 0], fair[:, 1], blind[:, 0], blind[:, 1])


def _lemmas(
    plan: Audits, seed: int, executor: Executor | None, done: Done
) -> Iterator[tuple[Played, AuditedRuns]]:
    for case in plan.cases:
        problem, n = case.problem(), plan.replications
        yield case, audit_runs(problem, case.horizon, plan.delta, n, seed, executor)
        done()


def _failures(
    plan: Audits, seed: int, executor: Executor | None, done: Done
) -> Iterator[tuple[float, AuditedRuns]]:
    problem, horizon = plan.frail.problem(), plan.frail.horizon
    for delta in plan.deltas:
        yield delta, audit_runs(problem, horizon, delta, plan.frail_replications, seed, executor)
        done()


def _geometry(plan: Sets, seed: int, executor: Executor | None, done: Done) -> Geometries:
    found = measure_geometry(plan, seed, executor)
    done()
    return found


def _runs(
    problem: BiasedLinearBandit,
    names: Sequence[str],
    horizon: int | list[int],
    replications: int,
    seed: int,
    executor: Executor | None,
) -> tuple[Runs, ...]:
    policies = [_POLICIES[name] for name in names]
    results = simulate(
        problem, policies, horizon, replications, seed, executor, checkpoints=(), progress=False
    )
    return results.runs


def _mean(runs: Runs) -> tuple[float, float]:
    """Return the mean regret at the horizon, and its standard error."""
    regret = runs.final_regret
    error = regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else 0.0
    return float(regret.mean()), float(error)
