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

import numpy as np
from scipy import special

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
    inverse, known = _inverse(effects, number, m)

    def fitted(left: Floats) -> tuple[Floats, Floats]:
        """Return biases in columns that effects are taken off, and what these leave."""
        excess = inverse @ sums(number, m + 1, p[:, None] * left)[:m]
        moved = p[:, None] * np.vstack([excess, np.zeros(left.shape[1])])[number]
        return excess, left - without(effects, moved)

    excess, left = fitted(effects.residual[:, None])
    bias = np.where(known, effects.bias + excess[:, 0], np.nan)
    pairs, n_pairs = pairs_of(effects)
    again = _Again(pairs, n_pairs, lambda x: fitted(without(effects, x))[1])
    freedom = effects.freedom - (m - 1)
    if freedom < 1:
        return OwnBiases(who, bias, np.full(m, np.inf), 0.0)
    noise, seen, sure = again.variances(left[:, 0], freedom)
    often = _often(pairs[rows], mine, m)
    variance = np.where(known, np.diag(inverse) * (noise + seen * often), np.inf)
    return OwnBiases(who, bias, variance, sure)


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


def _often(pairs: Codes, mine: Indices, m: int) -> Floats:
    """Return (m,) how often a partial pair of each comes back: Σ m²/Σ m."""
    met, n_met = crossed(mine.astype(np.int32), pairs)
    rows = np.bincount(met, minlength=n_met)
    whose = np.zeros(n_met, dtype=np.intp)
    whose[met] = mine
    return np.asarray(np.bincount(whose, rows * rows, m) / np.bincount(whose, rows, m))


def _inverse(effects: Effects, number: Codes, m: int) -> tuple[Floats, np.ndarray]:
    """Return Q⁻¹ without the directions in which Q is 0, and (m,) who has no part in these."""
    p = column_of(effects)
    squares = sums(number, m + 1, (p * p)[:, None])[:m, 0]
    if m * len(p) > _CELLS:
        diagonal = squares - taken_off(effects, number, m + 1, p, p)[:m]
        known = diagonal > _NIL * squares
        return np.diag(np.divide(1.0, diagonal, out=np.zeros(m), where=known)), known
    Q = np.zeros((m, m))
    for some in blocks(m):
        left = without(effects, np.where(number[:, None] == some, p[:, None], 0.0))
        Q[some] = sums(number, m + 1, left * p[:, None])[:m].T
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
    told = values > _NIL * squares.max()
    known = (vectors[:, ~told] ** 2).sum(axis=1) < _PART
    return (vectors[:, told] / values[told]) @ vectors[:, told].T, known
