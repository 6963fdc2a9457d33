"""What policies are compared on, as immutable data: full benchmarks, and quick ones.

A `Shape` says which problems, a `Suite` has shapes and horizons, and an `Instance` is one shape
played over one horizon. An instance may be several problems: the worst-case pair, of which every
policy finds one hard, or all problems of a gap-dependent family. Its regret is their mean.

c = 1 is the worst case of the paper: there, never to learn the bias is nearly optimal. c = 3 is
where learning pays.

Two things are counted. Most suites count regret. The suites of certainty count the evaluations
until a policy is sure which option is the best; their horizon is where it has to give up. The
classical ones have the problems of the literature on linear bandits, without a bias and with one.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.errors import InputError
from evenhand.research import limits
from evenhand.research.environments import classical, families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.skating import skate_canada
from evenhand.research.simulation import Parallel

Problems = tuple[BiasedLinearBandit, ...]
Counted = Literal["regret", "evaluations"]


class Shape(ABC):
    """Which problems are played, for a horizon; and what no policy can beat on them."""

    limit_name: ClassVar[str] = "Graves–Lai · log T (T → ∞)"
    """What ``limit`` is called; this one binds as T → ∞ only."""
    binding: ClassVar[bool] = False
    """Whether the limit holds at every horizon."""

    @property
    def value_bound(self) -> float:
        """What policies are told: no value is farther from 0 than this."""
        return 1.0

    @property
    @abstractmethod
    def words(self) -> str:
        """What tells this shape from others of its suite."""

    @abstractmethod
    def problems(self, horizon: int) -> Problems:
        """Make the problems."""

    def limit(self, horizon: int) -> float:
        """Return the limit of what is counted, mean over the problems."""
        values = [limits.graves_lai(problem).value for problem in self.problems(horizon)]
        return float(np.mean(values)) * math.log(horizon)


@dataclass(frozen=True)
class WorstCase(Shape):
    """The pair of Theorem 3 with leaders c(κ_*/T)^{1/3} apart: another pair for every T."""

    c: float
    d: int
    kappa: float
    limit_name: ClassVar[str] = "two-point bound"
    binding: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """The arguments of the family."""
        return f"c = {self.c:g}, d = {self.d}, κ = {self.kappa:g}"

    def problems(self, horizon: int) -> Problems:
        """Make the pair."""
        return families.worst_case(self.d, self.kappa, horizon, self.c)

    def limit(self, horizon: int) -> float:
        """Return what no policy's mean regret over the pair can be below, at this horizon."""
        first, second = families.worst_case(self.d, self.kappa, horizon, self.c)
        return limits.two_point(first, second, horizon)


@dataclass(frozen=True)
class GapDependent(Shape):
    """All problems of the family of Theorem 4."""

    d: int
    kappa: float
    delta_min: float
    delta_neq: float

    @property
    def words(self) -> str:
        """The arguments of the family."""
        gaps = f"Δ_min = {self.delta_min:g}, Δ_≠ = {self.delta_neq:g}"
        return f"d = {self.d}, κ = {self.kappa:g}, {gaps}"

    def problems(self, horizon: int) -> Problems:
        """Make the problems, the same for every horizon."""
        return tuple(families.gap_dependent(self.d, self.kappa, self.delta_min, self.delta_neq))


@dataclass(frozen=True)
class Random(Shape):
    """Two groups at random, the best option in the disfavoured one."""

    k: int
    d: int
    seed: int

    @property
    def words(self) -> str:
        """Size and seed."""
        return f"k = {self.k}, d = {self.d}, seed {self.seed}"

    def problems(self, horizon: int) -> Problems:
        """Make the problem, the same for every horizon."""
        return (families.random(self.k, self.d, self.seed),)


@dataclass(frozen=True)
class FourGroups(Random):
    """Four groups at random, the best option in the one that all others are favoured over."""

    @property
    def words(self) -> str:
        """Kind, size and seed."""
        return f"four groups, {super().words}"

    def problems(self, horizon: int) -> Problems:
        """Make the problem, the same for every horizon."""
        return (families.random_groups(self.k, self.d, self.seed, n_groups=4),)


@dataclass(frozen=True)
class Continuous(Random):
    """A number that evaluations react to, at random; its effect is against the best option."""

    @property
    def words(self) -> str:
        """Kind, size and seed."""
        return f"continuous, {super().words}"

    def problems(self, horizon: int) -> Problems:
        """Make the problem, the same for every horizon."""
        return (families.random_attribute(self.k, self.d, self.seed),)


@dataclass(frozen=True)
class Skating(Shape):
    """The event that comes with the package; its unit is a judge's point, counted from 100.

    Some policies shrink their estimates towards 0 and are right only if values lie within ±B. Who
    knows that totals lie between 85 and 115 tells them so by taking 100 off.
    """

    @property
    def value_bound(self) -> float:
        """What is known before anybody skates, in points."""
        return skate_canada().value_bound

    @property
    def words(self) -> str:
        """Which event."""
        return "Skate Canada 2016"

    def problems(self, horizon: int) -> Problems:
        """Make the problem, the same for every horizon."""
        problem = skate_canada().problem
        gamma = problem.gamma.copy()
        gamma[problem.actions.feature_names.index("intercept")] -= 100.0
        return (BiasedLinearBandit(problem.actions, gamma, problem.omega, problem.noise_scale),)


@dataclass(frozen=True)
class Classical(Shape):
    """A problem of the literature on linear bandits, by the name of its function in
    `environments.classical`, with its numbers; perhaps with a bias.
    """

    kind: Literal["soare", "sphere", "many_arms", "factorial", "transductive"]
    numbers: tuple[int, ...]
    biased: bool = False

    @property
    def value_bound(self) -> float:
        """The largest value there is."""
        return float(np.abs(self._problem.values).max())

    @property
    def words(self) -> str:
        """Its name and numbers."""
        names = {
            "soare": "Soare, d = {}",
            "sphere": "sphere, {} options, d = {} ({})",
            "many_arms": "many arms, {} options ({})",
            "factorial": "2^{} factorial ({})",
            "transductive": "transductive, d = {}",
        }
        return names[self.kind].format(*self.numbers) + (", biased" if self.biased else "")

    @property
    def _problem(self) -> BiasedLinearBandit:
        problem: BiasedLinearBandit = getattr(classical, self.kind)(
            *self.numbers, biased=self.biased
        )
        return problem

    def problems(self, horizon: int) -> Problems:
        """Make the problem, the same for every horizon."""
        return (self._problem,)


@dataclass(frozen=True)
class FixedConfidence(Shape):
    """The problems of another shape, played until a policy is sure which option is the best."""

    shape: Shape
    confidence: float = 0.95
    limit_name: ClassVar[str] = "T* · kl(δ, 1 − δ)"
    binding: ClassVar[bool] = True

    @property
    def value_bound(self) -> float:
        """What policies are told."""
        return self.shape.value_bound

    @property
    def words(self) -> str:
        """The words of the shape."""
        return self.shape.words

    def problems(self, horizon: int) -> Problems:
        """Make the problems of the shape."""
        return self.shape.problems(horizon)

    def limit(self, horizon: int) -> float:
        """Return the least mean number of evaluations that certainty takes."""
        times = [limits.characteristic_time(problem) for problem in self.problems(horizon)]
        return float(np.mean([time.evaluations(self.confidence) for time in times]))


@dataclass(frozen=True)
class Instance:
    """One shape, played over one horizon, as part of a suite."""

    suite: str
    shape: Shape
    horizon: int

    @property
    def words(self) -> str:
        """What is played, for people."""
        return f"{self.shape.words}, T = {short_power(self.horizon)}"


@dataclass(frozen=True)
class Suite:
    """Shapes that are alike, so that a mean over them says something."""

    name: str
    title: str
    shapes: tuple[Shape, ...]
    horizons: tuple[int, ...]

    @property
    def instances(self) -> tuple[Instance, ...]:
        """What is played."""
        return tuple(
            Instance(self.name, shape, horizon)
            for horizon in self.horizons
            for shape in self.shapes
        )

    @property
    def bounded(self) -> bool:
        """Whether the limit holds at the horizons that are played, not just as T → ∞."""
        return all(shape.binding for shape in self.shapes)


@dataclass(frozen=True)
class Benchmark:
    """The suites, and how often every problem is played.

    Examples
    --------
    >>> small = QUICK.only(["gaps"]).over([1000])
    >>> [instance.words for instance in small.instances][0]
    'd = 4, κ = 2, Δ_min = 0.1, Δ_≠ = 0.1, T = 1e3'
    """

    suites: tuple[Suite, ...]
    replications: int
    parallel: Parallel | None = None
    counted: Counted = "regret"
    classical: bool = False  # whether everybody known by name in the literature takes part

    @property
    def instances(self) -> tuple[Instance, ...]:
        """What is played, suite by suite."""
        return tuple(instance for suite in self.suites for instance in suite.instances)

    def only(self, names: list[str]) -> Benchmark:
        """Keep some of the suites."""
        if not names:
            raise InputError("no suites to play; name at least one.")
        known = [suite.name for suite in self.suites]
        for name in names:
            if name not in known:
                raise InputError(f"there is no suite {name!r}; there are {', '.join(known)}.")
        return dataclasses.replace(
            self, suites=tuple(suite for suite in self.suites if suite.name in names)
        )

    def over(self, horizons: list[int]) -> Benchmark:
        """Play other horizons, the same in all suites."""
        chosen = tuple(sorted(set(horizons)))
        if not chosen or chosen[0] < 1:
            raise InputError(f"a horizon must be at least 1; got {min(horizons, default=None)}.")
        return dataclasses.replace(
            self,
            suites=tuple(dataclasses.replace(suite, horizons=chosen) for suite in self.suites),
        )


def chosen(names: list[str] | None, *, full: bool = False) -> Benchmark:
    """Return the suites that are named, out of the benchmark that has them.

    Without names those of regret; "certain" stands for all suites of certainty, "classical" for all
    classical ones. Suites that count different things cannot be played at once.

    Examples
    --------
    >>> chosen(None).counted, chosen(["gaps"]).counted, chosen(["certain"]).counted
    ('regret', 'regret', 'evaluations')
    """
    regret, *certainty = (
        (FULL, FULL_CERTAIN, FULL_CLASSICAL) if full else (QUICK, QUICK_CERTAIN, QUICK_CLASSICAL)
    )
    if names is None:
        return regret
    for all_of_it, benchmark in zip((CERTAIN, CLASSICAL), certainty, strict=True):
        own = [suite.name for suite in benchmark.suites]
        others = [name for name in names if name not in (all_of_it, *own)]
        if len(others) == len(names):
            continue
        if others:
            raise InputError(
                f"{others[0]!r} and {all_of_it!r} cannot be played at once: {all_of_it!r} counts "
                f"evaluations, and has players of its own. With it go {', '.join(own)}."
            )
        return benchmark if all_of_it in names else benchmark.only(names)
    return regret.only(names)


def short_power(number: int) -> str:
    """Return a number as short as it can be written."""
    exponent = len(str(number)) - 1
    return str(number) if number < 1000 else f"{number / 10**exponent:g}e{exponent}"


_KAPPAS = (1.0, 4.0, 16.0)
_LONG = (10**5, 10**6, 10**7)
_TITLES = {
    "worst-case": "Worst case: the pair that no policy masters",
    "dimension": "Worst case with 20 features",
    "gaps": "Gap-dependent families",
    "random": "Random, the best option in the disfavoured group",
    "attributes": "Four groups; a continuous attribute",
    "skating": "A skating event, judged with a home bias",
    "certain-skating": "Until sure: a skating event",
    "certain-20": "Until sure: random, 20 options, 3 features",
    "certain-50": "Until sure: random, 50 options, 5 features",
    "certain-200": "Until sure: random, 200 options, 10 features",
    "certain-gaps": "Until sure: a gap-dependent family",
    "certain-few": "Until sure: random, 2 to 5 options",
    "classical-soare": "Until sure: Soare's problem",
    "classical-sphere": "Until sure: the unit sphere, two near-best options",
    "classical-others": "Until sure: many arms, a factorial, a transductive problem",
    "classical-biased": "Until sure: the same problems in two groups, with a bias",
}
CERTAIN = "certain"
"""Stands for all suites of certainty."""
CLASSICAL = "classical"
"""Stands for all classical ones."""


def _suite(name: str, shapes: tuple[Shape, ...], horizons: tuple[int, ...]) -> Suite:
    return Suite(name, _TITLES[name], shapes, horizons)


FULL = Benchmark(
    (
        _suite(
            "worst-case",
            tuple(WorstCase(c, d, kappa) for c in (1.0, 3.0) for d in (2, 5) for kappa in _KAPPAS),
            _LONG,
        ),
        _suite("dimension", tuple(WorstCase(1.0, 20, kappa) for kappa in _KAPPAS), _LONG[:2]),
        _suite(
            "gaps",
            (
                GapDependent(2, 4.0, 0.05, 0.2),
                GapDependent(4, 2.0, 0.1, 0.1),
                GapDependent(4, 4.0, 0.05, 0.1),
                GapDependent(8, 16.0, 0.05, 0.12),
            ),
            _LONG,
        ),
        _suite(
            "random",
            tuple(
                Random(k, d, seed) for k in (20, 50, 100) for d in (3, 5, 10) for seed in (1, 2, 3)
            ),
            _LONG,
        ),
        _suite(
            "attributes",
            tuple(
                kind(k, d, seed)
                for kind in (FourGroups, Continuous)
                for k, d in ((20, 3), (50, 5))
                for seed in (1, 2, 3)
            ),
            _LONG,
        ),
        _suite("skating", (Skating(),), _LONG),
    ),
    replications=500,
)
"""Everything."""

QUICK = Benchmark(
    (
        _suite(
            "worst-case",
            tuple(WorstCase(c, d, kappa) for c in (1.0, 3.0) for d, kappa in ((2, 1.0), (5, 4.0))),
            (10**6,),
        ),
        _suite("dimension", (WorstCase(1.0, 20, 1.0),), (10**5,)),
        _suite("gaps", (GapDependent(4, 2.0, 0.1, 0.1), GapDependent(4, 4.0, 0.05, 0.1)), (10**6,)),
        _suite("random", (Random(20, 3, 1), Random(50, 5, 1), Random(100, 10, 2)), (10**6,)),
        _suite("attributes", (FourGroups(20, 3, 1), Continuous(20, 3, 1)), (10**6,)),
        _suite("skating", (Skating(),), (10**6,)),
    ),
    replications=200,
)
"""The same suites on fewer problems and shorter horizons, in under two minutes."""


def _certain(name: str, horizon: int, *shapes: Shape) -> Suite:
    return _suite(name, tuple(FixedConfidence(shape) for shape in shapes), (horizon,))


def _certain_benchmark(n_seeds: int, replications: int) -> Benchmark:
    """Return the suites of certainty, with so many problems of each random kind, over horizons far
    beyond what is needed: 400,000 evaluations at least for the hardest.
    """
    seeds = range(101, 101 + n_seeds)
    few = tuple(Random(k, d, seed) for k, d in ((2, 1), (3, 2), (4, 2), (5, 3)) for seed in seeds)
    return Benchmark(
        (
            _certain("certain-skating", 10**5, Skating()),
            _certain("certain-20", 10**7, *(Random(20, 3, seed) for seed in seeds)),
            _certain("certain-50", 10**7, *(Random(50, 5, seed) for seed in seeds)),
            _certain("certain-200", 10**7, *(Random(200, 10, seed) for seed in seeds)),
            _certain("certain-gaps", 10**6, GapDependent(4, 4.0, 0.05, 0.1)),
            _certain("certain-few", 10**6, *few),
        ),
        replications,
        counted="evaluations",
    )


FULL_CERTAIN = _certain_benchmark(n_seeds=5, replications=100)
"""How many evaluations certainty takes; all of it."""

QUICK_CERTAIN = _certain_benchmark(n_seeds=1, replications=20)
"""The same on fewer problems, in a few minutes."""


def _classical_benchmark(n_seeds: int, dimensions: tuple[int, ...], replications: int) -> Benchmark:
    """Return the classical suites, with so many problems of each random kind."""
    seeds = range(101, 101 + n_seeds)
    soare = [Classical("soare", (d,)) for d in dimensions]
    sizes = ((50, 6), (100, 10), (100, 20), (60, 30))
    spheres = [Classical("sphere", (k, d, seed)) for k, d in sizes for seed in seeds]
    others = [
        *(Classical("many_arms", (50, seed)) for seed in seeds),
        *(Classical("factorial", (4, seed)) for seed in seeds),
        Classical("transductive", (8,)),
    ]
    biased = [dataclasses.replace(one, biased=True) for one in (*soare, *spheres, *others)]
    return Benchmark(
        (
            _certain("classical-soare", 10**7, *soare),
            _certain("classical-sphere", 10**7, *spheres),
            _certain("classical-others", 10**7, *others),
            _certain("classical-biased", 10**7, *biased),
        ),
        replications,
        counted="evaluations",
        classical=True,
    )


FULL_CLASSICAL = _classical_benchmark(3, (2, 5, 10, 20, 40), replications=100)
"""The problems of the literature; all of it."""

QUICK_CLASSICAL = _classical_benchmark(1, (2, 5, 10, 20, 40), replications=20)
"""The same with one problem of each random kind, and fewer runs."""
