"""The bias of each: of every evaluator, and towards every favoured party.

Notation
--------
g, h        evaluators, or favoured parties (groups), that have partial scores
b_g         bias of g;  p1_g its partial scores;  Q_gh = (p1_g)·M(p1_h), see `leverage`
r_g         p1_g·e, what the common bias leaves of g's partial scores

Least squares with a bias for each has b = β + Q⁻¹r. Its noise has the covariance σ²Q⁻¹; and where a
pair of evaluator and option comes back in m scores, what the one sees in the other (ω²) counts m
times: var b_g = (Q⁻¹)_gg (σ² + ω² Σ m²/Σ m), sums over the partial pairs of g.

A direction in which Q is 0 can't be told from leniencies and values: two evaluators who score each
other's favourites, say. Whoever has a part in one has no bias of his own that could be known.
Beyond `_CELLS`, Q is taken to be diagonal: there are many then, and few of them meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.clusters import pairs_of
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import _CELLS, blocks, column_of, sums, taken_off, without
from evenhand.scores.factor import Codes, crossed, sums_over

_NIL = 1e-9  # of the partial scores of one: directions in which nothing is known
_PART = 1e-6  # of a direction: having no part in it
_DRAWN = 200_000  # rows times signs that are drawn


@dataclass(frozen=True, eq=False)
class OwnBiases:
    """The bias of each of some evaluators or groups, with the variance of its noise.

    Parameters
    ----------
    who
        (m,) their numbers: those who have partial scores.
    bias
        (m,) the bias of each; NaN where it can't be known.
    variance
        (m,) of the noise in it; infinite where nothing is known.
    freedom
        How sure the variance is, in degrees of freedom.
    """

    who: Indices
    bias: Floats
    variance: Floats
    freedom: float

    def widths(self, level: float) -> Floats:
        """(m,) half the length of an interval for each."""
        t = -float(special.stdtrit(max(self.freedom, 1.0), 0.5 * (1.0 - level)))
        return np.asarray(t * np.sqrt(self.variance))


def own_biases(effects: Effects, codes: Codes, size: int) -> OwnBiases:
    """Return the bias of each.

    Parameters
    ----------
    effects
        Scores less what options and evaluators explain.
    codes, size
        (n,) whose partiality it is, in each row, −1 for nobody; how many there are.
    """
    pairs, n_pairs = pairs_of(effects)
    p, e = column_of(effects), effects.residual
    rows = np.flatnonzero((p != 0.0) & (codes >= 0))
    found, number = np.unique(codes[rows], return_inverse=True)
    who, mine = found.astype(np.intp), number.reshape(-1).astype(np.int32)
    m = len(who)
    if m == 0:
        return OwnBiases(who, np.zeros(0), np.zeros(0), 0.0)
    p = p[rows]  # all others are 0
    inverse, known = _inverse(effects, rows, mine, m, p)
    excess = inverse @ sums_over(mine, m, p, e[rows])
    bias = np.where(known, effects.bias + excess, np.nan)
    freedom = effects.freedom - (m - 1)
    if freedom < 1:
        return OwnBiases(who, bias, np.full(m, np.inf), 0.0)
    if n_pairs == len(e):  # nobody comes back: the squares that are left are all there is to know
        assert effects.met is not None
        moved = p * excess[mine]
        left_over = effects.met.left_over(lambda some: _spread_out(rows, moved, some))
        left_over += float(e @ e - 2.0 * (e[rows] @ moved))
        effects.met.forget()
        variance = np.where(known, inverse.diagonal() * left_over / freedom, np.inf)
        return OwnBiases(who, bias, variance, float(freedom))

    def rest(columns: Floats) -> Floats:
        """Return columns less effects and biases."""
        left = without(effects, columns)
        moved = np.zeros_like(left)
        moved[rows] = p[:, None] * (inverse @ sums(mine, m, p[:, None] * left[rows]))[mine]
        return left - without(effects, moved)

    again = _Again(pairs, n_pairs, rest)
    noise, seen, sure = again.variances(rest(e[:, None])[:, 0], freedom)
    often = _often(pairs[rows], mine, m)
    variance = np.where(known, inverse.diagonal() * (noise + seen * often), np.inf)
    return OwnBiases(who, bias, variance, sure)


def _spread_out(rows: Indices, values: Floats, some: slice) -> Floats:
    """Return the values that stand in some of all rows; 0 in others."""
    first, last = np.searchsorted(rows, [some.start, some.stop])
    column = np.zeros(some.stop - some.start)
    column[rows[first:last] - some.start] = values[first:last]
    return column


@dataclass(frozen=True, eq=False)
class _Again:
    """Pairs of evaluator and option that come back, and what takes off effects and biases."""

    pairs: Codes
    n_pairs: int
    without: Callable[[Floats], Floats]

    def variances(self, left: Floats, freedom: int) -> tuple[float, float, float]:
        """Return σ², ω², and how sure they are, in degrees of freedom.

        Squares of residuals, and of their sums over pairs, are linear in σ² and ω². What each of
        the two adds is seen on signs drawn at random, one for each score, or one for each pair.
        """
        n, most = len(self.pairs), np.bincount(self.pairs).max()
        total = float(left @ left) / freedom
        if most == 1:
            return total, 0.0, float(freedom)
        rng = np.random.default_rng(0)
        shape = (n, int(np.clip(_DRAWN // n, 2, 64)))
        alone = self._squares(self.without(rng.choice([-1.0, 1.0], size=shape)))
        signs = rng.choice([-1.0, 1.0], size=(self.n_pairs, shape[1]))
        common = self._squares(self.without(signs[self.pairs]))
        squares, together = self._squares(left[:, None])
        # [freedom, common_0; alone_1, common_1] (σ², ω²) = (squares, together)
        determinant = freedom * common[1] - alone[1] * common[0]
        if determinant <= _NIL * freedom * common[1]:  # effects take up all that pairs have
            return total, 0.0, float(freedom)
        seen = (freedom * together - alone[1] * squares) / determinant
        seen = float(np.clip(seen, 0.0, total * freedom / common[0]))
        of_pairs = common[1] / float((np.bincount(self.pairs) ** 2.0).sum())
        return (squares - seen * common[0]) / freedom, seen, max(of_pairs * self.n_pairs, 1.0)

    def _squares(self, columns: Floats) -> tuple[float, float]:
        """Return the sums of squares of scores, and of pairs, of a column on average."""
        together = sums(self.pairs, self.n_pairs, columns)
        return float((columns**2).sum(axis=0).mean()), float((together**2).sum(axis=0).mean())


def _often(pairs: Codes, mine: Codes, m: int) -> Floats:
    """Return (m,) how often a partial pair of each comes back: Σ m²/Σ m."""
    met, n_met = crossed(mine, pairs)
    rows = np.bincount(met, minlength=n_met)
    whose = np.zeros(n_met, dtype=np.intp)
    whose[met] = mine
    return np.asarray(np.bincount(whose, rows * rows, m) / np.bincount(whose, rows, m))


def _inverse(
    effects: Effects, rows: Indices, mine: Codes, m: int, p: Floats
) -> tuple[Any, NDArray[np.bool_]]:
    """Return Q⁻¹ without the directions in which Q is 0, and (m,) who has no part in these.

    Parameters
    ----------
    effects
        Scores less what options and evaluators explain.
    rows, mine, m
        Rows of partial scores, and whose each is, a number below m.
    p
        Partiality in these rows.
    """
    n = len(effects.residual)
    squares = sums_over(mine, m, p, p)
    if m * n > _CELLS:
        diagonal = squares - taken_off(effects, mine, m, p, p, among=rows)[0]
        known = diagonal > _NIL * squares
        return sparse.diags_array(np.divide(1.0, diagonal, out=np.zeros(m), where=known)), known
    Q = np.zeros((m, m))
    for block in blocks(m):
        columns = np.zeros((n, len(block)))
        columns[rows] = np.where(mine[:, None] == block, p[:, None], 0.0)
        Q[block] = sums(mine, m, without(effects, columns)[rows] * p[:, None]).T
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
    told = values > _NIL * squares.max()
    known = (vectors[:, ~told] ** 2).sum(axis=1) < _PART
    return (vectors[:, told] / values[told]) @ vectors[:, told].T, known
