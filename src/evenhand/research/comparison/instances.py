"""What policies are compared on, as immutable data: full benchmarks, and quick ones.

`suites.toml` has it. A `Shape` says which problems, a `Suite` has shapes and horizons, and an
`Instance` is one shape played over one horizon. An instance may be several problems: the worst-case
pair, of which every policy finds one hard, or all problems of a gap-dependent family. Its regret is
their mean.

c = 1 is the worst case of the paper: there, never to learn the bias is nearly optimal. c = 3 is
where learning pays.

Two things are counted. Most suites count regret. The suites of certainty count the evaluations
until a policy is sure which option is the best; their horizon is where it has to give up. The
classical ones have the problems of the literature on linear bandits, without a bias and with one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from evenhand.errors import InputError
from evenhand.research import limits
from evenhand.research.environments import classical, families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.skating import skate_canada

Problems = tuple[BiasedLinearBandit, ...]
Counted = Literal["regret", "evaluations"]

_SURE = 0.95  # how sure a policy has to be
_WORDS = {
    "worst-case": "c = {:g}, d = {}, κ = {:g}",
    "gaps": "d = {}, κ = {:g}, Δ_min = {:g}, Δ_≠ = {:g}",
    "random": "k = {}, d = {}, seed {}",
    "four groups": "four groups, k = {}, d = {}, seed {}",
    "continuous": "continuous, k = {}, d = {}, seed {}",
    "skating": "Skate Canada 2016",
    "soare": "Soare, d = {}",
    "sphere": "sphere, {} options, d = {} ({})",
    "many_arms": "many arms, {} options ({})",
    "factorial": "2^{} factorial ({})",
    "transductive": "transductive, d = {}",
}


@dataclass(frozen=True)
class Shape:
    """Which problems are played, for a horizon; and what no policy can beat on them.

    Parameters
    ----------
    kind, numbers
        A family of problems, and its arguments: the pair of Theorem 3 with leaders c(κ_*/T)^{1/3}
        apart, another for every T ("worst-case"); all problems of Theorem 4 ("gaps"); two groups,
        four, or a number that evaluations react to, at random, to the disadvantage of the best
        option; the skating event of the package; or a function of `environments.classical`.
    biased
        Whether a classical problem has a bias.
    certain
        Whether it is played until a policy is sure which option is the best.
    """

    kind: str
    numbers: tuple[Any, ...] = ()
    biased: bool = False
    certain: bool = False

    @property
    def words(self) -> str:
        """What tells this shape from others of its suite."""
        return _WORDS[self.kind].format(*self.numbers) + (", biased" if self.biased else "")

    @property
    def value_bound(self) -> float:
        """What policies are told: no value is farther from 0 than this."""
        if self.kind == "skating":
            return skate_canada().value_bound  # what is known before anybody skates, in points
        if hasattr(classical, self.kind):
            return float(np.abs(self._classical().values).max())
        return 1.0

    def problems(self, horizon: int) -> Problems:
        """Make the problems; all but the worst case are the same for every horizon."""
        if self.kind == "worst-case":
            c, d, kappa = self.numbers
            return families.worst_case(d, kappa, horizon, c)
        if self.kind == "gaps":
            return tuple(families.gap_dependent(*self.numbers))
        if self.kind == "random":
            return (families.random(*self.numbers),)
        if self.kind == "four groups":
            return (families.random_groups(*self.numbers, n_groups=4),)
        if self.kind == "continuous":
            return (families.random_attribute(*self.numbers),)
        return (_from_a_hundred() if self.kind == "skating" else self._classical(),)

    def _classical(self) -> BiasedLinearBandit:
        made: BiasedLinearBandit = getattr(classical, self.kind)(*self.numbers, biased=self.biased)
        return made

    @property
    def limit_name(self) -> str:
        """What ``limit`` is called."""
        if self.certain:
            return "T* · kl(δ, 1 − δ)"
        return "two-point bound" if self.binding else "Graves–Lai · log T (T → ∞)"

    @property
    def binding(self) -> bool:
        """Whether the limit holds at every horizon."""
        return self.certain or self.kind == "worst-case"

    def limit(self, horizon: int) -> float:
        """Return the limit of what is counted, mean over the problems."""
        problems = self.problems(horizon)
        if self.certain:
            times = [limits.characteristic_time(problem) for problem in problems]
            return float(np.mean([time.evaluations(_SURE) for time in times]))
        if self.kind == "worst-case":
            first, second = problems
            return limits.two_point(first, second, horizon)
        values = [limits.graves_lai(problem).value for problem in problems]
        return float(np.mean(values)) * math.log(horizon)


def _from_a_hundred() -> BiasedLinearBandit:
    """Return the event that comes with the package; its unit is a judge's point, less 100.

    Some policies shrink their estimates towards 0 and are right only if values lie within ±B. Who
    knows that totals lie between 85 and 115 tells them so by taking 100 off.
    """
    problem = skate_canada().problem
    gamma = problem.gamma.copy()
    gamma[problem.actions.feature_names.index("intercept")] -= 100.0
    return BiasedLinearBandit(problem.actions, gamma, problem.omega, problem.noise_scale)


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


CERTAIN = "certain"
"""Stands for all suites of certainty."""
CLASSICAL = "classical"
"""Stands for all classical ones."""


def _benchmark(name: str, size: Literal["full", "quick"]) -> Benchmark:
    """Return a benchmark of `suites.toml`."""
    certain = name != "regret"
    suites = [
        Suite(one["name"], one["title"], _shapes(one[size], certain), tuple(one[size]["horizons"]))
        for one in _SUITES[name]["suites"]
    ]
    if name == CLASSICAL:  # the same problems in two groups
        shapes = [shape for suite in suites for shape in suite.shapes]
        biased = tuple(dataclasses.replace(shape, biased=True) for shape in shapes)
        title = "Until sure: the same problems in two groups, with a bias"
        suites.append(Suite("classical-biased", title, biased, suites[0].horizons))
    return Benchmark(
        tuple(suites),
        _SUITES[name]["replications"][size],
        counted="evaluations" if certain else "regret",
        classical=name == CLASSICAL,
    )


def _shapes(given: dict[str, Any], certain: bool) -> tuple[Shape, ...]:
    def each(numbers: Sequence[Any]) -> itertools.product[tuple[Any, ...]]:
        return itertools.product(*(one if isinstance(one, list) else [one] for one in numbers))

    return tuple(
        Shape(kind, numbers, certain=certain)
        for kind, *listed in given["shapes"]
        for numbers in each(listed)
    )


_SUITES = tomllib.loads((files(__package__) / "suites.toml").read_text(encoding="utf-8"))
FULL, QUICK = _benchmark("regret", "full"), _benchmark("regret", "quick")
"""What policies lose; all of it, and on fewer problems and shorter horizons, in two minutes."""
FULL_CERTAIN, QUICK_CERTAIN = _benchmark(CERTAIN, "full"), _benchmark(CERTAIN, "quick")
"""How many evaluations certainty takes."""
FULL_CLASSICAL, QUICK_CLASSICAL = _benchmark(CLASSICAL, "full"), _benchmark(CLASSICAL, "quick")
"""The same on the problems of the literature."""
