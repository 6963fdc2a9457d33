"""What is run to reproduce the paper, as immutable data: the full programme, and a quick one.

Phases have precisions 2, 1, 1/2, …, so the regret of Fair Phased Elimination climbs a staircase:
a factor of 8 in T/(κ log T) is one step. Grids take three points to a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit


@dataclass(frozen=True)
class RateInHorizon:
    """Regret against T on the worst-case pair, another one for every T (Theorems 1, 3)."""

    shapes: tuple[tuple[int, float], ...]  # (d, κ_*) of the pairs
    scales: tuple[float, ...]  # the c of the gap c(κ_*/T)^{1/3}
    horizons: tuple[int, ...]  # T, three to a factor of 8 in T/log T
    replications: int  # per problem


@dataclass(frozen=True)
class RateInKappa:
    """Regret against κ_* on the worst-case pair (Theorems 1, 3)."""

    d: int
    scales: tuple[float, ...]
    kappas: tuple[float, ...]
    horizon: int
    replications: int


@dataclass(frozen=True)
class GrowthInHorizon:
    """Regret against T on one gap-dependent family: the logarithm of T (Theorems 2, 4)."""

    d: int
    kappa: float
    delta_min: float
    delta_neq: float
    horizons: tuple[int, ...]
    settled: int  # T from which the group of the best option is found in time
    replications: int


@dataclass(frozen=True)
class Transition:
    """Regret against Δ_≠, from the price of the bias to that of a linear bandit (Theorem 2)."""

    d: int
    kappa: float
    delta_min: float
    delta_neqs: tuple[float, ...]
    horizon: int
    replications: int


@dataclass(frozen=True)
class Blindness:
    """Fair and blind elimination where evaluations favour the wrong group."""

    k: int
    d: int
    problem_seed: int
    horizons: tuple[int, ...]
    replications: int


@dataclass(frozen=True)
class Played:
    """One problem of a family, and how long it is played."""

    family: str
    arguments: tuple[tuple[str, float], ...]
    number: int
    horizon: int

    def problem(self) -> BiasedLinearBandit:
        """Make the problem."""
        arguments = {
            name: int(value) if name in ("d", "k", "seed") else value
            for name, value in self.arguments
        }
        made = getattr(families, self.family)(**arguments)
        problem: BiasedLinearBandit = made if self.family == "random" else made[self.number - 1]
        return problem

    @property
    def words(self) -> str:
        """What is played, for people: family, number of the problem, shape."""
        given = dict(self.arguments)
        if self.family == "random":
            return f"random (k = {given['k']:g}, d = {given['d']:g})"
        shape = f"d = {given['d']:g}, κ* = {given['kappa']:g}"
        if self.family == "worst_case":
            gap = given["c"] * (given["kappa"] / given["horizon"]) ** (1 / 3)
            return f"worst-case {self.number} ({shape}, gap {gap:.2g})"
        gaps = f"Δ_min = {given['delta_min']:g}, Δ_≠ = {given['delta_neq']:g}"
        return f"gap-dependent {self.number} ({shape}, {gaps})"


@dataclass(frozen=True)
class Audits:
    """Runs that are looked into, step by step: the lemmas of the proofs."""

    cases: tuple[Played, ...]  # what is played to check the lemmas
    delta: float  # large, so that phases are short, estimates wild, and the lemmas tried
    replications: int
    # what is played to count failures, for each of `deltas`; short, so that they happen
    frail: Played
    deltas: tuple[float, ...]
    frail_replications: int


@dataclass(frozen=True)
class Sets:
    """Sets of options on which the lemmas on designs are tried."""

    number: int  # random and hostile ones
    dimensions: tuple[int, ...]  # d and κ_* of the families of the lower bounds
    kappas: tuple[float, ...]


@dataclass(frozen=True)
class Programme:
    """All experiments of a reproduction."""

    rate_in_horizon: RateInHorizon
    rate_in_kappa: RateInKappa
    growth: GrowthInHorizon
    transition: Transition
    blindness: Blindness
    audits: Audits
    sets: Sets


def _horizons(first: int, last: int) -> tuple[int, ...]:
    """Return the T with T/log T a power of two, from one power to another."""
    horizons = []
    for power in range(first, last + 1):
        T = 2.0**power
        for _ in range(60):  # T = 2^p log T, by iteration
            T = 2.0**power * math.log(T)
        horizons.append(round(T))
    return tuple(horizons)


def _octaves(first: int, last: int) -> tuple[int, ...]:
    """Return the powers of two from one to another."""
    return tuple(2**power for power in range(first, last + 1))


def _geometric(first: float, last: float, n: int) -> tuple[float, ...]:
    return tuple(first * (last / first) ** (i / (n - 1)) for i in range(n))


_CASES = (
    # Gaps that are found in time …
    Played("worst_case", (("d", 2), ("kappa", 1.0), ("horizon", 1e4), ("c", 9.0)), 1, 10**6),
    Played("worst_case", (("d", 3), ("kappa", 4.0), ("horizon", 1e4), ("c", 6.0)), 2, 10**6),
    Played("gap_dependent", (("d", 4), ("kappa", 2.0), ("delta_min", 0.1), ("delta_neq", 0.4)), 2,
        10**7),
    Played("gap_dependent", (("d", 6), ("kappa", 4.0), ("delta_min", 0.1), ("delta_neq", 0.2)), 4,
        10**8),
    Played("random", (("k", 20), ("d", 3), ("seed", 1)), 1, 10**7),
    # … and gaps that are not
    Played("worst_case", (("d", 3), ("kappa", 4.0), ("horizon", 1e6), ("c", 1.0)), 1, 10**6),
)  # fmt: skip
_FRAIL = Played("worst_case", (("d", 2), ("kappa", 1.0), ("horizon", 400), ("c", 2.0)), 1, 400)

FULL = Programme(
    RateInHorizon(((2, 1.0), (5, 4.0)), (1.0, 3.0), _horizons(14, 43), 200),
    RateInKappa(2, (1.0, 3.0), tuple(map(float, _octaves(0, 17))), 2**40, 200),
    GrowthInHorizon(
        4, 2.0, 0.1, 0.1, tuple(10**e for e in (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18)), 10**8, 500
    ),
    Transition(4, 2.0, 0.001, _geometric(0.001, 0.4, 53), 10**17, 100),
    Blindness(20, 3, 1, tuple(10**e for e in range(3, 13)), 500),
    Audits(_CASES, 0.2, 3000, _FRAIL, (0.02, 0.05, 0.1, 0.2, 0.4), 30_000),
    Sets(900, (2, 3, 4, 5, 8, 13), (1.0, 1.5, 4.0, 100.0, 1e4, 1e6)),
)
"""Everything, in under 20 minutes on two processors."""

QUICK = Programme(
    RateInHorizon(((2, 1.0), (5, 4.0)), (1.0, 3.0), _horizons(14, 37), 30),
    RateInKappa(2, (1.0, 3.0), tuple(map(float, _octaves(0, 14))), 2**36, 30),
    GrowthInHorizon(4, 2.0, 0.1, 0.1, tuple(10**e for e in (4, 6, 7, 8, 10, 14, 18)), 10**8, 100),
    Transition(4, 2.0, 0.001, _geometric(0.001, 0.4, 27), 10**17, 10),
    Blindness(20, 3, 1, tuple(10**e for e in range(3, 11)), 100),
    Audits(_CASES, 0.2, 300, _FRAIL, (0.05, 0.1, 0.2), 5000),
    Sets(90, (2, 3, 4, 7), (1.0, 4.0, 1e4)),
)
"""The same statements on fewer and shorter runs, in about a minute."""
