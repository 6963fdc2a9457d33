"""The numerically delicate primitives: row spaces, passes over all rows, accurate solves."""

from importlib import import_module
from typing import TYPE_CHECKING

from evenhand.numerics._bases import dominant_basis
from evenhand.numerics._passes import rows_beyond
from evenhand.numerics.intervals import planned_interval
from evenhand.numerics.row_space import DoubtfulRankError, identifying, leverages, row_space
from evenhand.numerics.solves import RefinedSolver
from evenhand.numerics.tolerance import TIE, first_largest, rounded_up

if TYPE_CHECKING:
    from evenhand.numerics.shrinkage import population

__all__ = [
    "TIE",
    "DoubtfulRankError",
    "RefinedSolver",
    "dominant_basis",
    "first_largest",
    "identifying",
    "leverages",
    "planned_interval",
    "population",
    "rounded_up",
    "row_space",
    "rows_beyond",
]


def __getattr__(name: str) -> object:
    if name != "population":  # which takes scipy.optimize, and is loaded when it is first used
        raise AttributeError(f"module 'evenhand.numerics' has no attribute {name!r}")
    return import_module("evenhand.numerics.shrinkage").population
