"""The bias of each: of every evaluator, and towards every favoured party.

Notation
--------
g, h        evaluators, or favoured parties (groups), that have partial scores
b_g         bias of g;  p1_g its partial scores;  Q_gh = (p1_g)·M(p1_h), see `leverage`
r_g         p1_g·e, what the common bias leaves of g's partial scores

Least squares with a bias for each has b = β + Q⁻¹r. Its noise has the covariance σ²Q⁻¹; and where a
pair of evaluator and option comes back in m scores, what the one sees in the other counts m times:
var b_g = (Q⁻¹)_gg (σ² + ω² Σ m²/Σ m), sums over the partial pairs of g.

A direction in which Q is 0 can't be told from leniencies and values: two evaluators who score each
other's favourites, say. Whoever has a part in one has no bias of his own that could be known.
Beyond `_CELLS`, Q is taken to be diagonal: there are many then, and few of them meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.clusters import pairs_of
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import _CELLS, blocks, column_of, sums, taken_off, without
from evenhand.scores.factor import Codes, crossed

_NIL = 1e-9  # of the largest eigenvalue of Q: directions in which nothing is known
_PART = 1e-6  # of a direction: having no part in it


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
    who, mine = np.unique(codes[rows], return_inverse=True)
    m = len(who)
    if m == 0:
        return OwnBiases(who, np.zeros(0), np.zeros(0), 0.0)
    number = np.full(len(p), m, dtype=np.int32)  # the last is whoever is not partial
    number[rows] = mine
    inverse, known = _inverse(effects, number, m)
    excess = inverse @ sums(number, m + 1, (p * effects.residual)[:, None])[:m, 0]
    moved = np.where(number < m, p * np.append(excess, 0.0)[number], 0.0)
    left = effects.residual - without(effects, moved[:, None])[:, 0]
    freedom = max(effects.freedom - (m - 1), 0)
    variance = np.full(m, np.inf)
    if freedom:
        pairs, n_pairs = pairs_of(effects)
        noise, seen = variances(left, freedom, pairs, n_pairs)
        often = _often(pairs[rows], n_pairs, mine, m)
        variance = np.where(known, np.diag(inverse) * (noise + seen * often), np.inf)
        freedom *= n_pairs / len(p)
    bias = np.where(known, effects.bias + excess, np.nan)
    return OwnBiases(who, bias, variance, float(freedom))


def variances(left: Floats, freedom: float, pairs: Codes, n_pairs: int) -> tuple[float, float]:
    """Return the variances of noise and of what pairs of evaluator and option have in common.

    Where no pair comes back, all of it is called noise.
    """
    rows = np.bincount(pairs, minlength=n_pairs)
    total = float(left @ left) / freedom
    twice = float((rows * (rows - 1.0)).sum())
    together = sums(pairs, n_pairs, left[:, None])[:, 0]
    common = (float(together @ together) - float(left @ left)) / twice if twice else 0.0
    seen = min(max(common * len(left) / freedom, 0.0), total)
    return total - seen, seen


def _often(pairs: Codes, n_pairs: int, mine: Indices, m: int) -> Floats:
    """Return (m,) how often a partial pair of each comes back: Σ m²/Σ m."""
    met, n_met = crossed(mine.astype(np.int32), pairs)
    rows = np.bincount(met, minlength=n_met)
    whose = np.zeros(n_met, dtype=np.intp)
    whose[met] = mine
    return np.asarray(np.bincount(whose, rows * rows, m) / np.bincount(whose, rows, m))


def _inverse(effects: Effects, number: Codes, m: int) -> tuple[Floats, np.ndarray]:
    """Return Q⁻¹ without the directions in which Q is 0, and (m,) who has no part in these."""
    p = column_of(effects)
    if m * len(p) > _CELLS:
        diagonal = sums(number, m + 1, (p * p)[:, None])[:m, 0]
        diagonal -= taken_off(effects, number, m + 1, p, p)[:m]
        known = diagonal > _NIL * diagonal.max()
        return np.diag(np.divide(1.0, diagonal, out=np.zeros(m), where=known)), known
    Q = np.zeros((m, m))
    for some in blocks(m):
        left = without(effects, np.where(number[:, None] == some, p[:, None], 0.0))
        Q[some] = sums(number, m + 1, left * p[:, None])[:m].T
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T))
    told = values > _NIL * values[-1]
    known = (vectors[:, ~told] ** 2).sum(axis=1) < _PART
    return (vectors[:, told] / values[told]) @ vectors[:, told].T, known
