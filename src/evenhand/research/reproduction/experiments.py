"""What is run to reproduce the paper, as data: `programme.toml`, in full and quick.

Phases have precisions 2, 1, 1/2, …, so the regret of Fair Phased Elimination climbs a staircase:
a factor of 8 in T/(κ log T) is one step. Grids take three points to a step.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit

Programme = dict[str, dict[str, Any]]
"""All experiments of a reproduction, by name: their arguments."""

_DATA = tomllib.loads((files(__package__) / "programme.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Played:
    """One problem of a family, by its number from 1, and how long it is played."""

    family: str
    arguments: dict[str, Any]
    number: int
    horizon: int

    @classmethod
    def of(cls, given: dict[str, Any]) -> Played:
        """Read a case of `programme.toml`; ``for`` is the horizon that a pair is made for."""
        arguments = dict(given)
        family, number, horizon = (arguments.pop(one) for one in ("family", "number", "horizon"))
        if "for" in arguments:
            arguments["horizon"] = arguments.pop("for")
        return cls(family, arguments, number, horizon)

    def problem(self) -> BiasedLinearBandit:
        """Make the problem."""
        made = getattr(families, self.family)(**self.arguments)
        problem: BiasedLinearBandit = made if self.family == "random" else made[self.number - 1]
        return problem

    @property
    def words(self) -> str:
        """What is played, for people: family, number of the problem, shape."""
        given = self.arguments
        if self.family == "random":
            return f"random (k = {given['k']:g}, d = {given['d']:g})"
        shape = f"d = {given['d']:g}, κ* = {given['kappa']:g}"
        if self.family == "worst_case":
            gap = given["c"] * (given["kappa"] / given["horizon"]) ** (1 / 3)
            return f"worst-case {self.number} ({shape}, gap {gap:.2g})"
        gaps = f"Δ_min = {given['delta_min']:g}, Δ_≠ = {given['delta_neq']:g}"
        return f"gap-dependent {self.number} ({shape}, {gaps})"


CASES = tuple(map(Played.of, _DATA["cases"]["lemmas"]))
FRAIL = Played.of(_DATA["cases"]["frail"])


def programme(size: Literal["full", "quick"]) -> Programme:
    """Return a programme, with all grids worked out."""
    found: Programme = {name: dict(plan) for name, plan in _DATA[size].items()}
    for name in ("growth", "blind"):
        found[name]["horizons"] = [10**power for power in found[name].pop("powers")]
    found["in_horizon"]["horizons"] = _horizons(*found["in_horizon"].pop("powers"))
    first, last = found["in_kappa"].pop("powers")
    found["in_kappa"]["kappas"] = [2.0**power for power in range(first, last + 1)]
    low, high, n = found["transition"]["delta_neqs"]
    found["transition"]["delta_neqs"] = [low * (high / low) ** (i / (n - 1)) for i in range(n)]
    found["audits"] |= {"cases": CASES, "frail": FRAIL}
    return found


def _horizons(first: int, last: int) -> list[int]:
    """Return the T with T/log T a power of two, from one power to another."""
    horizons = []
    for power in range(first, last + 1):
        T = 2.0**power
        for _ in range(60):  # T = 2^p log T, by iteration
            T = 2.0**power * math.log(T)
        horizons.append(round(T))
    return horizons
