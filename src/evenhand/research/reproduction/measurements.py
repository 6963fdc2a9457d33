"""Experiments run: curves of measured regret beside what the theorems say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.geometry import kappa as price_of_bias
from evenhand.policies import FairPhasedElimination
from evenhand.research import limits
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.audit import audit_runs
from evenhand.research.reproduction.experiments import Played, Programme
from evenhand.research.reproduction.geometry import measure_geometry
from evenhand.research.reproduction.tally import Tally
from evenhand.research.rivals.phased_elimination import PhasedElimination
from evenhand.research.simulation import simulate
from evenhand.research.simulation.experiment import Contender

_FAIR = Contender(FairPhasedElimination.name, FairPhasedElimination.name)
# knows how evaluations come about, and takes them at their word: the paper's example
_BLIND = Contender("blind-elimination", PhasedElimination.name, (("with_attributes", True),))
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
class Curve:
    """Columns of numbers measured along x, one entry per point of a grid.

    - along T or κ_*, on worst-case pairs: ``mean`` and ``error``, regret of Fair Phased
      Elimination, mean of the pair, and its standard error; ``worst``, the larger of the pair's two
      regrets, which is what Theorem 3 speaks of; ``blind`` and ``blind_worst``, of blind
      elimination; ``two_point``, a bound of the mean; ``lower`` and ``upper``, Theorems 3 and 1;
      ``form``, κ_*^{1/3} T^{2/3} log(T)^{1/3}. The plan has d, c and what is ``fixed``.
    - growth along T on a gap-dependent family: ``worst`` and ``error``, largest mean regret of its
      problems; ``per_log``, that over log T; ``lower`` and ``upper``, Theorems 6 and 2;
      ``settled``, whether T is long enough for the group of the best option to be found. The plan
      has what R/log T tends to at least: ``limit`` by Theorem 4, ``graves_lai`` on the hardest
      problem.
    - transition along Δ_≠, over log T: ``per_log``; ``within`` and ``between``, d/Δ_min and
      κ(Δ ∨ Δ_≠)/Δ_≠², the two terms of Theorem 2; ``lower``, Theorem 6.
    - blindness along T: ``fair``, ``blind`` and their errors. The plan has the ``trap``: what is
      lost each time by choosing the option of the highest evaluation.
    """

    plan: Mapping[str, Any]
    columns: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    def rate(self, name: str, where: Any = slice(None), step: int = 1) -> Rate:
        """Return how a column grows with x, at some of the points."""
        return growth_rate(self["x"][where], self[name][where], step)

    @property
    def stairs(self) -> Rate:
        """How the mean of a pair grows with x, step by step of the staircase."""
        return self.rate("mean", step=_STEP)


@dataclass(frozen=True, eq=False)
class Measurements:
    """Everything that was measured."""

    programme: Programme
    seed: int
    in_horizon: tuple[Curve, ...]
    in_kappa: tuple[Curve, ...]
    growth: Curve
    transition: Curve
    blind: Curve
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
    along, across, audits = (programme[name] for name in ("in_horizon", "in_kappa", "audits"))
    bench = _Bench(seed, executor, done)
    return Measurements(
        programme,
        seed,
        tuple(
            bench.pairs(d, c, kappa, [(kappa, T) for T in along["horizons"]], along["replications"])
            for d, kappa in along["shapes"]
            for c in along["scales"]
        ),
        tuple(
            bench.pairs(
                across["d"],
                c,
                across["horizon"],
                [(kappa, across["horizon"]) for kappa in across["kappas"]],
                across["replications"],
            )
            for c in across["scales"]
        ),
        bench.growth(programme["growth"]),
        bench.transition(programme["transition"]),
        bench.blindness(programme["blind"]),
        tuple(
            (case, bench.audit(case, audits["delta"], audits["replications"]))
            for case in audits["cases"]
        ),
        tuple(
            (delta, bench.audit(audits["frail"], delta, audits["frail_replications"]))
            for delta in audits["deltas"]
        ),
        bench.told(measure_geometry(programme["sets"], seed, executor)),
    )


def steps(programme: Programme) -> int:
    """Return how often `measure` tells that something is done."""
    along, across, audits = (programme[name] for name in ("in_horizon", "in_kappa", "audits"))
    pairs = len(along["shapes"]) * len(along["scales"]) * len(along["horizons"])
    pairs += len(across["scales"]) * len(across["kappas"])
    runs = len(programme["transition"]["delta_neqs"]) + len(audits["cases"]) + len(audits["deltas"])
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
        players: Sequence[Contender],
        horizons: Sequence[int],
        replications: int,
    ) -> Floats:
        """Return (policies, horizons, 2) mean regrets, and their standard errors."""
        results = simulate(
            problem,
            players,
            horizons,
            replications,
            self.seed,
            self.executor,
            checkpoints=(),
            progress=False,
        )
        found = results.summary()[["mean_regret", "se_regret"]].fillna(0.0).to_numpy()
        return np.asarray(found).reshape(len(players), len(horizons), 2)

    def pairs(
        self, d: int, c: float, fixed: float, grid: Sequence[tuple[float, int]], replications: int
    ) -> Curve:
        """Measure along a grid of κ_* and T, of which one is fixed."""
        rows = []
        for kappa, horizon in grid:
            pair = families.worst_case(d, kappa, horizon, c)
            found = [self.regrets(p, (_FAIR, _BLIND), [horizon], replications) for p in pair]
            self.done()
            first, second = (each[0, 0] for each in found)
            blind = [float(each[1, 0, 0]) for each in found]
            rows.append(
                {
                    "x": horizon if fixed == kappa else kappa,
                    "mean": (first[0] + second[0]) / 2,
                    "error": np.hypot(first[1], second[1]) / 2,
                    "worst": max(first[0], second[0]),
                    "blind": sum(blind) / 2,
                    "blind_worst": max(blind),
                    "two_point": limits.two_point(*pair, horizon),
                    "lower": limits.worst_case_lower(kappa, horizon),
                    "upper": limits.worst_case_upper(pair[0].actions, horizon),
                    "form": np.cbrt(kappa * horizon**2 * np.log(horizon)),
                }
            )
        return Curve({"d": d, "c": c, "fixed": fixed}, _columns(rows))

    def growth(self, plan: Mapping[str, Any]) -> Curve:
        """Measure a gap-dependent family along T."""
        arguments, horizons = _family(plan), plan["horizons"]
        problems = families.gap_dependent(**arguments)
        found = np.array(
            [self.regrets(p, (_FAIR,), horizons, plan["replications"])[0] for p in problems]
        )
        hardest = found[found[:, :, 0].argmax(axis=0), np.arange(found.shape[1])]
        self.done()
        rows = [
            {
                "x": T,
                "worst": worst,
                "error": error,
                "per_log": worst / np.log(T),
                "lower": _lower(arguments, T),
                "upper": max(limits.gap_dependent_upper(p, T) for p in problems),
                "settled": plan["settled"] <= T,
            }
            for T, (worst, error) in zip(horizons, hardest, strict=True)
        ]
        tends_to = {
            "limit": max(
                plan["d"] / (10 * plan["delta_min"]),
                (plan["kappa"] + 1) / (4 * plan["delta_neq"] ** 2),
            ),
            "graves_lai": max(limits.graves_lai(problem).value for problem in problems),
        }
        return Curve({**plan, **tends_to}, _columns(rows))

    def transition(self, plan: Mapping[str, Any]) -> Curve:
        """Measure gap-dependent families along Δ_≠."""
        T, rows = plan["horizon"], []
        log_t = float(np.log(T))
        for delta_neq in plan["delta_neqs"]:
            arguments = _family({**plan, "delta_neq": delta_neq})
            problems = families.gap_dependent(**arguments)
            found = [
                self.regrets(p, (_FAIR,), [T], plan["replications"])[0, 0, 0] for p in problems
            ]
            prices = [price_of_bias(p.actions, np.maximum(p.gaps, p.delta_neq)) for p in problems]
            rows.append(
                {
                    "x": delta_neq,
                    "per_log": max(found) / log_t,
                    "within": plan["d"] / plan["delta_min"],
                    "between": max(prices) / delta_neq**2,
                    "lower": _lower(arguments, T) / log_t,
                }
            )
            self.done()
        return Curve(plan, _columns(rows))

    def blindness(self, plan: Mapping[str, Any]) -> Curve:
        """Measure fair and blind elimination along T."""
        problem = families.random(plan["k"], plan["d"], plan["seed"])
        trap = float(problem.gaps[int(problem.evaluations.argmax())])
        found = self.regrets(problem, (_FAIR, _BLIND), plan["horizons"], plan["replications"])
        self.done()
        names = ("fair", "fair_error", "blind", "blind_error")
        columns = dict(zip(names, (*found[0].T, *found[1].T), strict=True))
        x = np.array(plan["horizons"], dtype=np.float64)
        return Curve({**plan, "trap": trap}, {"x": x, **columns})

    def audit(self, case: Played, delta: float, replications: int) -> Tally:
        """Look into runs of one problem."""
        problem = case.problem()
        found = audit_runs(problem, case.horizon, delta, replications, self.seed, self.executor)
        return self.told(found)


def _family(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a gap-dependent family."""
    return {name: plan[name] for name in ("d", "kappa", "delta_min", "delta_neq")}


def _lower(family: Mapping[str, Any], T: int) -> float:
    d, kappa, delta_min, delta_neq = family.values()
    return limits.gap_dependent_lower(d, kappa, delta_min, delta_neq, T)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    return {
        name: np.array([row[name] for row in rows], dtype=None if name == "settled" else float)
        for name in rows[0]
    }
