"""The bias of each: of every evaluator, and towards every favoured party.

Notation
--------
g, h        evaluators, or favoured parties (groups), that have partial scores
b_g         bias of g;  P the columns p1_g, its partial scores;  Q = PᵀMP, see `leverage`
r           Pᵀe, what the common bias leaves of partial scores
σ², ω², Z   noise, and what evaluators see in options (`pairs`)
f_e         by how much the residuals of evaluator e vary more than those of all

Least squares with a bias for each has b = β + Q⁻¹r = Q⁻¹PᵀMy. So its variance is σ²Q⁻¹, and ω²
times the squares of Q⁻¹PᵀMZ: a pair that comes back in m scores counts m times. Both are multiplied
by f, each evaluator's as far as his scores are in MP: who is noisy is not taken for partial.

A direction in which Q is 0 can't be told from leniencies and values: two evaluators who score each
other's favourites, say. Whoever has a part in one has no bias of his own that could be known.
Beyond `_CELLS` or `_MOST`, Q is taken to be diagonal: there are many then, and few of them meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import _CELLS, blocks, column_of, sums, taken_off, without
from evenhand.auditing.pairs import Pairs, Variances
from evenhand.numerics.gram import Gram
from evenhand.numerics.tolerance import IN_SPAN, PROJECTED
from evenhand.scores.factor import Codes, crossed, sums_over

_MOST = 600  # of those whose Q is looked at as a whole


@dataclass(frozen=True, eq=False)
class OwnBiases:
    """The bias of each of some evaluators or groups, with the variance of its noise."""

    who: Indices  # (m,) numbers of those who have partial scores
    bias: Floats  # (m,); NaN where it is not identified
    variance: Floats  # (m,) of the noise in it; infinite where nothing is known
    freedom: float  # of the variance

    def widths(self, level: float) -> Floats:
        """(m,) half the length of an interval for each."""
        t = -float(special.stdtrit(max(self.freedom, 1.0), 0.5 * (1.0 - level)))
        return np.asarray(t * np.sqrt(self.variance))


def own_biases(effects: Effects, codes: Codes, size: int) -> OwnBiases:
    """Return the bias of each; ``codes``: (n,) whose partiality is in each row, −1 for nobody's."""
    p, e = column_of(effects), effects.residual
    rows = np.flatnonzero((p != 0.0) & (codes >= 0))
    found, number = np.unique(codes[rows], return_inverse=True)
    partial = _Partial(rows, number.reshape(-1).astype(np.int32), len(found), p)
    who = found.astype(np.intp)
    if not len(who):
        return OwnBiases(who, np.zeros(0), np.zeros(0), 0.0)
    pairs = Pairs.of(effects)
    solved = _solved(effects, partial, pairs)
    excess = solved.inverse @ sums_over(partial.mine, partial.m, p[rows], e[rows])
    bias = np.where(solved.known, effects.bias + excess, np.nan)
    freedom = effects.freedom - (len(who) - 1)
    if freedom < 1:
        return OwnBiases(who, bias, np.full(len(who), np.inf), 0.0)
    if pairs.n_pairs < pairs.scored:

        def rest(columns: Floats) -> Floats:
            columns = without(effects, columns)
            return columns - without(effects, solved.fitted(partial, columns)[1])

        scale = pairs.components(freedom, rest).of(rest(e[:, None]))
    else:  # the squares that are left are all there is to know
        assert effects.met is not None
        moved = p[rows] * excess[partial.mine]
        squares = effects.met.left_over(lambda some: _spread_out(rows, moved, some))
        squares += float(e @ e - 2.0 * (e[rows] @ moved))
        effects.met.forget()
        scale = Variances(squares / freedom, 0.0, float(freedom), False)
    variance = scale.noise * solved.inverse.diagonal() + scale.pair * solved.seen
    variance = np.where(solved.known, variance * solved.loud, np.inf)
    return OwnBiases(who, bias, variance, scale.freedom)


def _spread_out(rows: Indices, values: Floats, some: slice) -> Floats:
    """Return the values that stand in some of all rows; 0 in others."""
    first, last = np.searchsorted(rows, [some.start, some.stop])
    column = np.zeros(some.stop - some.start)
    column[rows[first:last] - some.start] = values[first:last]
    return column


class _Partial(NamedTuple):
    """P: the rows of partial scores, whose each is (a number below m), and (n,) p."""

    rows: Indices
    mine: Codes
    m: int
    p: Floats


class _Solved(NamedTuple):
    """Q⁻¹, (m,) the squares of Q⁻¹PᵀMZ, (m,) f, and (m,) whose bias can be known.

    Q⁻¹ is without the directions in which Q is 0; known is whoever has no part in these.
    """

    inverse: Any
    seen: Floats
    loud: Floats
    known: NDArray[np.bool_]

    def fitted(self, partial: _Partial, left: Floats) -> tuple[Floats, Floats]:
        """Return biases in columns that effects are taken off, and what they move scores by."""
        rows, mine, m, p = partial
        excess = self.inverse @ sums(mine, m, p[rows, None] * left[rows])
        moved = np.zeros_like(left)
        moved[rows] = p[rows, None] * excess[mine]
        return excess, moved


def _solved(effects: Effects, partial: _Partial, pairs: Pairs) -> _Solved:
    rows, mine, m, p = partial
    some = p[rows]
    squares = sums_over(mine, m, some, some)
    evaluators, loud = _loudness(effects, p, pairs.n_pairs)
    if m * len(p) > _CELLS or m > _MOST:
        diagonal = squares - taken_off(effects, mine, m, some, some, among=rows)[0]
        known = diagonal > PROJECTED * squares
        inverse = np.divide(1.0, diagonal, out=np.zeros(m), where=known)
        seen = inverse * _often(pairs, partial) / squares
        theirs = np.bincount(mine, some * some * loud[evaluators[rows]], m) / squares
        return _Solved(sparse.diags_array(inverse), seen, theirs, known)
    Q, PZ, theirs = np.zeros((m, m)), np.zeros((m, pairs.n_pairs)), np.zeros(m)
    for block in blocks(m):
        columns = np.zeros((len(p), len(block)))
        columns[rows] = np.where(mine[:, None] == block, some[:, None], 0.0)
        left = without(effects, columns)
        Q[block] = sums(mine, m, left[rows] * some[:, None]).T
        PZ[block] = pairs.sums(left).T
        theirs[block] = loud @ sums(evaluators, len(loud), left**2)
    theirs = np.divide(
        theirs, Q.diagonal(), out=np.ones(m), where=Q.diagonal() > PROJECTED * squares
    )
    form = Gram.of_matrix(0.5 * (Q + Q.T), squares, PROJECTED)
    known = ((form.lost * form.scales[:, None]) ** 2).sum(axis=1) < IN_SPAN
    return _Solved(form.inverse, ((form.inverse @ PZ) ** 2).sum(axis=1), theirs, known)


def _loudness(effects: Effects, p: Floats, n_pairs: int) -> tuple[Codes, Floats]:
    """Return (n,) the evaluator of each row, and f of each, from scores that are not partial.

    An f from ν pairs has the variance 2/ν; what the f of all differ by more, φ, is their own. Each
    is drawn to 1 as if 2/φ pairs more had said so.
    """
    evaluator = effects.scores.evaluator
    if evaluator is None:
        return np.zeros(len(p), dtype=np.int32), np.ones(1)
    fair, e = p == 0.0, effects.residual
    n = sums_over(evaluator.codes, len(evaluator), fair)
    squares = sums_over(evaluator.codes, len(evaluator), fair, e, e)
    if effects.freedom < 1 or not squares.any():
        return evaluator.codes, np.ones(len(evaluator))
    freedom = n * effects.freedom / len(p) * min(n_pairs / len(p), 1.0)
    sure = freedom > 1.0
    f = np.divide(squares, n, out=np.ones(len(n)), where=sure) * n.sum() / squares.sum()
    f[~sure] = 1.0
    noise = np.divide(2.0, freedom, out=np.ones(len(n)), where=sure)
    excess = float(freedom[sure] @ ((f - 1.0) ** 2 - noise)[sure])
    if not excess > 0.0:
        return evaluator.codes, np.ones(len(evaluator))
    prior = 2.0 * float(freedom[sure].sum()) / excess
    return evaluator.codes, (prior + freedom * f) / (prior + freedom)


def _often(pairs: Pairs, partial: _Partial) -> Floats:
    """Return (m,) the squares of PᵀZ, without a matrix of that size."""
    rows, mine, m, p = partial
    total = np.zeros(m)
    for sign, codes in pairs.sides:
        met, n_met = crossed(mine, codes[rows])
        whose = np.zeros(n_met, dtype=np.intp)
        whose[met] = mine
        each = np.bincount(met, sign * p[rows], n_met)
        total += np.bincount(whose, each * each, m)
    return total
