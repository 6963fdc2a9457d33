"""The numerically delicate primitives: row spaces, passes over all rows, accurate solves."""

from evenhand.numerics._bases import dominant_basis
from evenhand.numerics._passes import rows_beyond
from evenhand.numerics.row_space import DoubtfulRankError, leverages, parts, row_space
from evenhand.numerics.solves import RefinedSolver
from evenhand.numerics.tolerance import TIE, first_largest, rounded_up

__all__ = [
    "TIE",
    "DoubtfulRankError",
    "RefinedSolver",
    "dominant_basis",
    "first_largest",
    "leverages",
    "parts",
    "rounded_up",
    "row_space",
    "rows_beyond",
]
