"""The bias of each: of every evaluator, and towards every favoured party.

Notation
--------
g, h        evaluators, or favoured parties (groups), that have partial scores
b_g         bias of g;  p1_g its partial scores;  Q_gh = (p1_g)·M(p1_h), see `leverage`
r_g         p1_g·e, what the common bias leaves of g's partial scores

Z           (n, pairs) a 1 for the pair of evaluator and option of the row; in comparisons also a −1
            for the pair with the option that stands second
σ², ω²      variances of noise, and of what an evaluator sees in an option and keeps to

Least squares with a bias for each has b = β + Q⁻¹r = Q⁻¹PᵀMy, P the columns p1_g. So its variance
is σ²Q⁻¹, and ω² times the squares of Q⁻¹PᵀMZ: a pair that comes back in m scores counts m times.

A direction in which Q is 0 can't be told from leniencies and values: two evaluators who score each
other's favourites, say. Whoever has a part in one has no bias of his own that could be known.
Beyond `_CELLS`, Q is taken to be diagonal: there are many then, and few of them meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.clusters import pairs_of
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import _CELLS, blocks, column_of, sums, taken_off, without
from evenhand.scores.factor import Codes, crossed

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
    p = column_of(effects)
    rows = np.flatnonzero((p != 0.0) & (codes >= 0))
    found, mine = np.unique(codes[rows], return_inverse=True)
    who = found.astype(np.intp)
    m = len(who)
    if m == 0:
        return OwnBiases(who, np.zeros(0), np.zeros(0), 0.0)
    number = np.full(len(p), m, dtype=np.int32)  # the last is whoever is not partial
    number[rows] = mine
    eyes = _eyes(effects)
    inverse, seen, known = _solved(effects, number, m, eyes)

    def fitted(left: Floats) -> tuple[Floats, Floats]:
        """Return biases in columns that effects are taken off, and what these leave."""
        excess = inverse @ sums(number, m + 1, p[:, None] * left)[:m]
        moved = p[:, None] * np.vstack([excess, np.zeros(left.shape[1])])[number]
        return excess, left - without(effects, moved)

    excess, left = fitted(effects.residual[:, None])
    bias = np.where(known, effects.bias + excess[:, 0], np.nan)
    freedom = effects.freedom - (m - 1)
    if freedom < 1:
        return OwnBiases(who, bias, np.full(m, np.inf), 0.0)
    scale = _variances(eyes, left, freedom, lambda x: fitted(without(effects, x))[1])
    variance = scale.noise * inverse.diagonal() + scale.eyes * seen
    return OwnBiases(who, bias, np.where(known, variance, np.inf), scale.freedom)


@dataclass(frozen=True, eq=False)
class _Eyes:
    """Z, sparse: which pairs of evaluator and option a score is about."""

    sides: Sequence[tuple[float, Codes]]
    n_pairs: int

    def of(self, columns: Floats) -> Floats:
        """Return (pairs, r) Zᵀ columns."""
        return np.asarray(sum(sign * sums(c, self.n_pairs, columns) for sign, c in self.sides))

    def seen(self, pairs: Floats) -> Floats:
        """Return (n, r) Z pairs."""
        return np.asarray(sum(sign * pairs[codes] for sign, codes in self.sides))

    @property
    def again(self) -> bool:
        """Whether some pair comes back."""
        rows = sum(np.bincount(codes, minlength=self.n_pairs) for _, codes in self.sides)
        return bool(np.max(rows) > 1)


def _eyes(effects: Effects) -> _Eyes:
    scores = effects.scores
    if scores.rival is None or scores.evaluator is None:
        pairs, n_pairs = pairs_of(effects)
        return _Eyes([(1.0, pairs)], n_pairs)
    who, n = np.tile(scores.evaluator.codes, 2), len(scores)
    both, n_pairs = crossed(who, np.concatenate([scores.option.codes, scores.rival]))
    return _Eyes([(1.0, both[:n]), (-1.0, both[n:])], n_pairs)


class _Variances(NamedTuple):
    """σ², ω², and how sure they are, in degrees of freedom."""

    noise: float
    eyes: float
    freedom: float


def _variances(
    eyes: _Eyes, left: Floats, freedom: int, without: Callable[[Floats], Floats]
) -> _Variances:
    """Return the variances of noise, and of what evaluators see in options.

    Squares of residuals, and of their sums over pairs, are linear in σ² and ω². What each of the
    two adds is seen on signs drawn at random, one for each score, or one for each pair.
    """
    total = float(left[:, 0] @ left[:, 0]) / freedom
    if not eyes.again:
        return _Variances(total, 0.0, float(freedom))
    rng = np.random.default_rng(0)
    draws = int(np.clip(_DRAWN // len(left), 2, 64))
    signs = eyes.seen(rng.choice([-1.0, 1.0], size=(eyes.n_pairs, draws)))
    common, whole = _squares(eyes, without(signs)), _squares(eyes, signs)
    alone = _squares(eyes, without(rng.choice([-1.0, 1.0], size=(len(left), draws))))
    squares, together = _squares(eyes, left)
    # [freedom, common[0]; alone[1], common[1]] (σ², ω²) = (squares, together)
    determinant = freedom * common[1] - alone[1] * common[0]
    if not determinant > _NIL * freedom * whole[1]:
        return _Variances(total, 0.0, float(freedom))
    seen = (freedom * together - alone[1] * squares) / determinant
    seen = float(np.clip(seen, 0.0, squares / common[0]))
    sure = max(common[1] / whole[1] * eyes.n_pairs, 1.0)
    return _Variances(max(squares - seen * common[0], 0.0) / freedom, seen, sure)


def _squares(eyes: _Eyes, columns: Floats) -> tuple[float, float]:
    """Return the sums of squares of scores, and of pairs, of a column on average."""
    together = eyes.of(columns)
    return float((columns**2).sum(axis=0).mean()), float((together**2).sum(axis=0).mean())


def _solved(
    effects: Effects, number: Codes, m: int, eyes: _Eyes
) -> tuple[Any, Floats, NDArray[np.bool_]]:
    """Return Q⁻¹, (m,) the squares of Q⁻¹PᵀMZ, and (m,) whose bias can be known.

    Q⁻¹ is without the directions in which Q is 0; known is whoever has no part in these.
    """
    p = column_of(effects)
    squares = sums(number, m + 1, (p * p)[:, None])[:m, 0]
    if m * len(p) > _CELLS:
        diagonal = squares - taken_off(effects, number, m + 1, p, p)[:m]
        known = diagonal > _NIL * squares
        inverse = np.divide(1.0, diagonal, out=np.zeros(m), where=known)
        seen = inverse * _often(eyes, number, p, m) / squares
        return sparse.diags_array(inverse), seen, known
    Q, PZ = np.zeros((m, m)), np.zeros((m, eyes.n_pairs))
    for some in blocks(m):
        left = without(effects, np.where(number[:, None] == some, p[:, None], 0.0))
        Q[some] = sums(number, m + 1, left * p[:, None])[:m].T
        PZ[some] = eyes.of(left).T
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
    told = values > _NIL * squares.max()
    known = (vectors[:, ~told] ** 2).sum(axis=1) < _PART
    inverse = (vectors[:, told] / values[told]) @ vectors[:, told].T
    return inverse, ((inverse @ PZ) ** 2).sum(axis=1), known


def _often(eyes: _Eyes, number: Codes, p: Floats, m: int) -> Floats:
    """Return (m,) the squares of PᵀZ, without a matrix of that size."""
    total = np.zeros(m + 1)
    rows = np.flatnonzero(number < m)
    for sign, codes in eyes.sides:
        met, n_met = crossed(number[rows], codes[rows])
        whose = np.zeros(n_met, dtype=np.intp)
        whose[met] = number[rows]
        each = np.bincount(met, sign * p[rows], n_met)
        total += np.bincount(whose, each * each, m + 1)
    return total[:m]
