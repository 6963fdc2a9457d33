"""What policies are compared on: `suites.toml`, read as immutable data.

An `Instance` is a family of problems with its arguments, played over one horizon. It may be several
problems: the worst-case pair, of which every policy finds one hard, or all problems of a
gap-dependent family. Its regret is their mean. A suite has instances that are alike, so that a mean
over them says something.

c = 1 is the worst case of the paper: there, never to learn the bias is nearly optimal. c = 3 is
where learning pays.

Two things are counted. Most suites count regret. The suites of certainty count the evaluations
until a policy is sure which option is the best; their horizon is where it has to give up. The
classical ones have the problems of the literature on linear bandits, without a bias and with one.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
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
SUITES = tomllib.loads((files(__package__) / "suites.toml").read_text(encoding="utf-8"))


def _from_a_hundred() -> BiasedLinearBandit:
    """Return the event that comes with the package; its unit is a judge's point, less 100.

    Some policies shrink their estimates towards 0 and are right only if values lie within ±B. Who
    knows that totals lie between 85 and 115 tells them so by taking 100 off.
    """
    problem = skate_canada().problem
    gamma = problem.gamma.copy()
    gamma[problem.actions.feature_names.index("intercept")] -= 100.0
    return BiasedLinearBandit(problem.actions, gamma, problem.omega, problem.noise_scale)


# By kind: how its numbers are said, and what makes its problem or problems of them.
_FAMILIES: dict[str, tuple[str, Callable[..., Any]]] = {
    "gaps": ("d = {}, κ = {:g}, Δ_min = {:g}, Δ_≠ = {:g}", families.gap_dependent),
    "random": ("k = {}, d = {}, seed {}", families.random),
    "four groups": (
        "four groups, k = {}, d = {}, seed {}",
        partial(families.random_groups, n_groups=4),
    ),
    "continuous": ("continuous, k = {}, d = {}, seed {}", families.random_attribute),
    "skating": ("Skate Canada 2016", _from_a_hundred),
}
_CLASSICAL: dict[str, tuple[str, Callable[..., BiasedLinearBandit]]] = {
    "soare": ("Soare, d = {}", classical.soare),
    "sphere": ("sphere, {} options, d = {} ({})", classical.sphere),
    "many_arms": ("many arms, {} options ({})", classical.many_arms),
    "factorial": ("2^{} factorial ({})", classical.factorial),
    "transductive": ("transductive, d = {}", classical.transductive),
}


@dataclass(frozen=True)
class Instance:
    """Problems that are played over a horizon, and what no policy can beat on them.

    Parameters
    ----------
    suite, title
        What it is part of, by name and in words.
    kind, numbers
        A family of problems, and its arguments: the pair of Theorem 3 with leaders c(κ_*/T)^{1/3}
        apart, another for every T ("worst-case"); all problems of Theorem 4 ("gaps"); two groups,
        four, or a number that evaluations react to, at random, to the disadvantage of the best
        option; the skating event of the package; or a function of `environments.classical`.
    horizon
        Over how many evaluations.
    biased
        Whether a classical problem has a bias.
    certain
        Whether it is played until a policy is sure which option is the best.
    """

    suite: str
    title: str
    kind: str
    numbers: tuple[Any, ...] = ()
    horizon: int = 1
    biased: bool = False
    certain: bool = False

    @property
    def words(self) -> str:
        """What tells this instance from others of its suite and horizon."""
        if self.kind == "worst-case":
            c, d, kappa = self.numbers
            return f"c = {c:g}, d = {d}, κ = {kappa:g}"
        said, _ = (_FAMILIES | _CLASSICAL)[self.kind]
        biased = ", biased" if self.biased else ""
        return f"{said.format(*self.numbers)}{biased}"

    @property
    def value_bound(self) -> float:
        """What policies are told: no value is farther from 0 than this."""
        if self.kind == "skating":
            return skate_canada().value_bound  # what is known before anybody skates, in points
        return float(np.abs(self.problems()[0].values).max()) if self.kind in _CLASSICAL else 1.0

    def problems(self) -> Problems:
        """Make the problems; all but the worst case are the same for every horizon."""
        if self.kind == "worst-case":
            c, d, kappa = self.numbers
            return families.worst_case(d, kappa, self.horizon, c)
        if self.kind in _CLASSICAL:
            return (_CLASSICAL[self.kind][1](*self.numbers, biased=self.biased),)
        made = _FAMILIES[self.kind][1](*self.numbers)
        return tuple(made) if isinstance(made, list) else (made,)

    @property
    def limit_name(self) -> str:
        """What `limit` is called."""
        if self.certain:
            return "T* · kl(δ, 1 − δ)"
        return "two-point bound" if self.binding else "Graves–Lai · log T (T → ∞)"

    @property
    def binding(self) -> bool:
        """Whether the limit holds at every horizon."""
        return self.certain or self.kind == "worst-case"

    def limit(self) -> float:
        """Return the limit of what is counted, mean over the problems."""
        problems = self.problems()
        if self.certain:
            times = [limits.characteristic_time(problem) for problem in problems]
            return float(np.mean([time.evaluations(_SURE) for time in times]))
        if self.kind == "worst-case":
            first, second = problems
            return limits.two_point(first, second, self.horizon)
        values = [limits.graves_lai(problem).value for problem in problems]
        return float(np.mean(values)) * math.log(self.horizon)


@dataclass(frozen=True)
class Benchmark:
    """The instances of some suites, and how often every problem is played.

    Examples
    --------
    >>> small = chosen(["gaps"]).over([1000])
    >>> small.instances[0].words, small.instances[0].horizon
    ('d = 4, κ = 2, Δ_min = 0.1, Δ_≠ = 0.1', 1000)
    """

    instances: tuple[Instance, ...]
    replications: int
    counted: Counted = "regret"
    players: tuple[str, ...] = ()  # who takes part, if nobody says; none: all who play on

    @property
    def suites(self) -> dict[str, tuple[Instance, ...]]:
        """What is played, by suite."""
        names = dict.fromkeys(one.suite for one in self.instances)
        return {name: tuple(one for one in self.instances if one.suite == name) for name in names}

    def only(self, names: Sequence[str]) -> Benchmark:
        """Keep some of the suites."""
        if not names:
            raise InputError("no suites to play; name at least one.")
        known = list(self.suites)
        for name in names:
            if name not in known:
                raise InputError(f"there is no suite {name!r}; there are {', '.join(known)}.")
        return replace(self, instances=tuple(i for i in self.instances if i.suite in names))

    def over(self, horizons: Sequence[int]) -> Benchmark:
        """Play other horizons, the same in all suites."""
        wanted = sorted(set(horizons))
        if not wanted or wanted[0] < 1:
            raise InputError(f"a horizon must be at least 1; got {min(horizons, default=None)}.")
        played = (
            replace(one, horizon=horizon)
            for suite in self.suites.values()
            for horizon in wanted
            for one in suite
        )
        return replace(self, instances=tuple(dict.fromkeys(played)))


def chosen(names: Sequence[str] | None = None, *, full: bool = False) -> Benchmark:
    """Return the suites that are named, out of the benchmark that has them.

    Without names those of regret; "certain" stands for all suites of certainty, "classical" for all
    classical ones. Suites that count different things cannot be played at once. ``full`` has all
    problems and horizons.

    Examples
    --------
    >>> chosen().counted, chosen(["gaps"]).counted, chosen(["certain"]).counted
    ('regret', 'regret', 'evaluations')
    """
    size = "full" if full else "quick"
    regret = _benchmark("regret", size)
    if names is None:
        return regret
    for whole in ("certain", "classical"):
        benchmark = _benchmark(whole, size)
        own = list(benchmark.suites)
        others = [name for name in names if name not in (whole, *own)]
        if len(others) == len(names):
            continue
        if others:
            raise InputError(
                f"{others[0]!r} and {whole!r} cannot be played at once: {whole!r} counts "
                f"evaluations, and has players of its own. With it go {', '.join(own)}."
            )
        return benchmark if whole in names else benchmark.only(names)
    return regret.only(names)


@cache
def _benchmark(name: str, size: Literal["full", "quick"]) -> Benchmark:
    """Return a benchmark of `suites.toml`."""
    given, played = SUITES[name], list[Instance]()
    certain = name != "regret"
    for suite in given["suites"]:
        if suite.get("biased"):
            of_suite = {"suite": suite["name"], "title": suite["title"]}
            played += [replace(one, biased=True, **of_suite) for one in played]
            continue
        played += [
            Instance(suite["name"], suite["title"], kind, numbers, horizon, certain=certain)
            for horizon in suite[size]["horizons"]
            for kind, numbers in _shapes(suite[size]["shapes"])
        ]
    return Benchmark(
        tuple(played),
        given["replications"][size],
        "evaluations" if certain else "regret",
        tuple(given.get("players", ())),
    )


def _shapes(given: Sequence[Sequence[Any]]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield kinds with their numbers; where a number is a list, with each of it."""
    for kind, *listed in given:
        each = (one if isinstance(one, list) else [one] for one in listed)
        yield from ((kind, numbers) for numbers in itertools.product(*each))


def short_power(number: int) -> str:
    """Return a number as short as it can be written."""
    exponent = len(str(number)) - 1
    return str(number) if number < 1000 else f"{number / 10**exponent:g}e{exponent}"
