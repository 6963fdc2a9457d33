"""How often to evaluate each option in a phase, by a G-optimal design on those that are left."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.designs import Design, g_optimal_design
from evenhand.estimation import LeastSquares, least_squares
from evenhand.numerics.tolerance import rounded_up

REMEMBERED = 4096
"""Designs and plans that are remembered: most runs on the same options go the same way at first."""


class PhasePlan(NamedTuple):
    """Counts of evaluations, and how estimates follow from the means that come back."""

    counts: Counts
    fit: LeastSquares
    kappa: float = math.nan  # what it costs, where that was worked out


class PhaseDesigns:
    """G-optimal designs on some of the rows, (k, n), of a matrix; each is remembered."""

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._designs = functools.lru_cache(REMEMBERED)(self._new_design)
        self._plans = functools.lru_cache(REMEMBERED)(self._new_plan)

    def design(self, active: Indices) -> Design:
        """Return the G-optimal design on the active rows, which are not all zero."""
        return self._designs(active.tobytes())

    def rank(self, active: Indices) -> int:
        """Return the rank of the active rows, which is the value of their design."""
        return round(self.design(active).value)

    def counts(self, active: Indices, n: float) -> Counts:
        """Return ⌈n π(x)⌉ evaluations of the active options, of all k."""
        counts = np.zeros(len(self._rows), dtype=np.int64)
        counts[active] = whole(n * self.design(active).weights)
        return counts

    def plan(self, active: Indices, n: float) -> PhasePlan:
        """Return ⌈n π(x)⌉ evaluations of the active options, and their estimates."""
        return self._plans(active.tobytes(), n)

    def _new_design(self, active: bytes) -> Design:
        return g_optimal_design(self._rows[np.frombuffer(active, dtype=np.intp)])

    def _new_plan(self, active: bytes, n: float) -> PhasePlan:
        options = np.frombuffer(active, dtype=np.intp)
        counts = self.counts(options, n)
        return PhasePlan(counts, least_squares(self._rows, counts, self._rows[options]))


def whole(pulls: Floats) -> Counts:
    """Round up; what no horizon can hold is cut off before it overflows, and stays too much."""
    return np.minimum(rounded_up(pulls), 2.0**60 / len(pulls)).astype(np.int64)
