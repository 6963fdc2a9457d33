"""Levels of what is scored and of who scores, fitted together: y = v_o + s_c + noise.

Notation
--------
o, c        what is scored, and the evaluator at an event
N_o, N_c    how many rows each has;  B: (o, c) how many rows they have together, never written down
a, b        right sides of the normal equations: N_o v + B s = a,  Bᵀ v + N_c s = b

A `Projection` solves them. Least squares have a = Σ y over o and b = Σ y over c; with a = d and
b = 0, d·v is the variance of the estimate d·v̂, in units of that of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.auditing.projections import Projection
from evenhand.scores.factor import Codes, sums_over


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows that are about something scored by someone, to be fitted by levels of both."""

    scored: Codes  # (rows,) o
    chair: Codes  # (rows,) c
    n_scored: int  # with those that no row is about
    n_chairs: int

    @property
    def parts(self) -> NDArray[np.int32]:
        """(scored,) the number of the part that each is in: no row links one part to another."""
        return self._met.parts[1]

    @cached_property
    def _met(self) -> Projection:
        return Projection(self.chair, self.n_chairs, self.scored, self.n_scored)

    def fitted(self, values: Floats) -> Floats:
        """(scored,) v, comparable within a part; NaN for what no row is about."""
        return self._solved(
            sums_over(self.scored, self.n_scored, values),
            sums_over(self.chair, self.n_chairs, values),
        )

    def variances(self, contrasts: Floats, group: Codes, n_groups: int) -> Floats:
        """(groups,) variances, for noise of variance 1, of one contrast of (scored,) levels for
        each group, which adds to 0 over every part; no part has those of two groups.
        """
        levels = self._solved(contrasts, np.zeros(self.n_chairs))
        levels = np.where(contrasts == 0.0, 0.0, levels)
        return sums_over(group, n_groups, contrasts, levels)

    def _solved(self, a: Floats, b: Floats) -> Floats:
        found = self._met.coefs(b, a)[1]
        self._met.forget()
        return np.where(sums_over(self.scored, self.n_scored) > 0.0, found, np.nan)
