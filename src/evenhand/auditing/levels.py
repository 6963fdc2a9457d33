"""Levels of what is scored and of who scores, fitted together: y = v_o + s_c + noise.

Notation
--------
o, c        what is scored, and the evaluator at an event
N_o, N_c    how many rows each has;  B: (o, c) how many rows they have together, never written down
a, b        right sides of the normal equations: N_o v + B s = a,  Bᵀ v + N_c s = b

With v left out, (N_c − Bᵀ N_o⁻¹ B) s = b − Bᵀ N_o⁻¹ a: conjugate gradients find s in a few passes
over the rows. Where those who link one half of the table with the other are few, as in a chain,
they need many; then all equations are factorised, with a little added on the diagonal, and what
that leaves is solved for again. What does not settle is not known: NaN.

Least squares have a = Σ y over o and b = Σ y over c; with a = d and b = 0, d·v is the variance of
the estimate d·v̂, in units of that of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.scores.factor import Codes

_MOST_STEPS = 500
_LEFT = 1e-12  # of the size of the levels, when equations hold
_RIDGE = 1e-10  # of the diagonal
_ROUNDS = 60
_ROUGHLY = 1e-9  # as `_LEFT`, for factors


def sums(codes: Codes, values: Floats | NDArray[np.bool_], n: int) -> Floats:
    """(n,) the sum of the values that have each number."""
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows that are about something scored by someone, to be fitted by levels of both.

    Parameters
    ----------
    scored, chair
        (rows,) o and c.
    n_scored, n_chairs
        How many there are of each, with those that no row is about.

    Examples
    --------
    >>> rows = Levels(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2, 2)
    >>> rows.fitted(np.array([5.0, 6.0, 7.0, 8.0])) - 5.0
    array([0.5, 2.5])
    >>> rows.variances(np.array([-1.0, 1.0]), np.array([0, 0]), 1)      # 1/2 + 1/2
    array([1.])
    """

    scored: Codes
    chair: Codes
    n_scored: int
    n_chairs: int

    @cached_property
    def parts(self) -> NDArray[np.int32]:
        """(scored,) the number of the part that each is in: no row links one part to another."""
        size = self.n_scored + self.n_chairs
        links = np.ones(len(self.scored), dtype=np.int8)
        meetings = sparse.coo_array(
            (links, (self.scored, self.n_scored + self.chair)), shape=(size, size)
        )
        parts = sparse.csgraph.connected_components(meetings, directed=False)[1]
        return np.asarray(parts[: self.n_scored], dtype=np.int32)

    def fitted(self, values: Floats) -> Floats:
        """(scored,) v, comparable within a part; NaN for what no row is about."""
        return self._solved(
            sums(self.scored, values, self.n_scored),
            sums(self.chair, values, self.n_chairs),
        )

    def variances(self, contrasts: Floats, group: Codes, n_groups: int) -> Floats:
        """(groups,) variances of contrasts of levels, for noise of variance 1.

        Each group has one, (scored,) the numbers that belong to it: they add to 0 over every part,
        and no part has those of two groups.
        """
        levels = self._solved(contrasts, np.zeros(self.n_chairs))
        return sums(group, contrasts * np.where(contrasts == 0.0, 0.0, levels), n_groups)

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats]:
        of_scored = np.bincount(self.scored, minlength=self.n_scored).astype(np.float64)
        of_chairs = np.bincount(self.chair, minlength=self.n_chairs).astype(np.float64)
        return of_scored, of_chairs

    def _solved(self, a: Floats, b: Floats) -> Floats:
        N_o, N_c = self._sizes
        seen, N_o, N_c = N_o > 0.0, np.maximum(N_o, 1.0), np.maximum(N_c, 1.0)

        def to_scored(s: Floats) -> Floats:
            return sums(self.scored, s[self.chair], self.n_scored)

        def to_chairs(v: Floats) -> Floats:
            return sums(self.chair, v[self.scored], self.n_chairs)

        r = b - to_chairs(a / N_o)
        s = np.zeros(self.n_chairs)
        enough = _LEFT * max(float(np.abs(a / N_o).max()), float(np.abs(b / N_c).max()))
        z = r / N_c
        d, rz = z, float(r @ z)
        for _ in range(_MOST_STEPS):
            if np.abs(z).max() <= enough:
                v = (a - to_scored(s)) / N_o
                return np.where(seen, v, np.nan)
            step = N_c * d - to_chairs(to_scored(d) / N_o)
            rate = rz / float(d @ step)
            s, r = s + rate * d, r - rate * step
            z = r / N_c
            rz, before = float(r @ z), rz
            d = z + rz / before * d
        return np.where(seen, self._by_factors(a, b, N_o, N_c), np.nan)

    def _by_factors(self, a: Floats, b: Floats, N_o: Floats, N_c: Floats) -> Floats:
        from scipy.sparse.linalg import splu  # noqa: PLC0415 # seldom needed

        ones = np.ones(len(self.scored))
        B = sparse.coo_array((ones, (self.scored, self.chair)), (self.n_scored, self.n_chairs))
        diagonal, sides = np.concatenate([N_o, N_c]), np.concatenate([a, b])
        corners = [[sparse.diags_array(N_o), B], [B.T, sparse.diags_array(N_c)]]
        whole = sparse.csc_array(sparse.block_array(corners))
        factors = splu(
            sparse.csc_array(whole + sparse.diags_array(_RIDGE * diagonal)),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        found = np.zeros(len(sides))
        for _ in range(_ROUNDS):
            left = sides - whole @ found
            if np.abs(left / diagonal).max() <= _ROUGHLY * np.abs(sides / diagonal).max():
                return np.asarray(found[: self.n_scored])
            found += factors.solve(left)
        return np.full(self.n_scored, np.nan)
