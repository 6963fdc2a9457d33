"""What an evaluator sees in an option alone, and keeps to, against noise, which comes anew.

Notation
--------
e = M y     residuals: what M leaves of scores, once effects and the bias are taken off
u_g, ε      effects of pairs g of evaluator and option, and noise: y = … + u_g + ε
c(e)        Σ_g Σ_{i≠j in g} e_i e_j, over scores of one pair on other items or at other events

The means of c(e) and of e·e are linear in the two variances, that of u and that of ε. What each
adds where it is 1 is seen by drawing u, or ε, as ±1 and putting it through M; then two equations
have two unknowns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.effects import Effects
from evenhand.auditing.levels import sums
from evenhand.auditing.leverage import without
from evenhand.scores import Scores
from evenhand.scores.factor import Codes, crossed

_ROWS = 200_000  # that draws go over together
_MOST_DRAWS = 64
_ALIKE = 1e-6  # of the size of the equations: less tells pairs and noise apart no more


@dataclass(frozen=True)
class PairEffect:
    """How much of what is left over stays with a pair of evaluator and option.

    Parameters
    ----------
    pair, noise
        Standard deviations of what stays with a pair, and of what comes anew with every score; NaN
        where nobody scored the same option twice.
    pairs
        How many pairs there is more than one score of.
    """

    pair: float
    noise: float
    pairs: int

    @property
    def share(self) -> float:
        """What share of the variance stays; NaN where that is not known."""
        total = self.pair**2 + self.noise**2
        return self.pair**2 / total if total > 0.0 else math.nan


def pair_effect(effects: Effects, seed: int = 0) -> PairEffect:
    """Return what stays with pairs and what is noise, from pairs with several scores.

    Examples
    --------
    An evaluator who gives an option the same each time has no noise:

    >>> from evenhand.auditing.effects import two_way
    >>> from evenhand.scores import Factor
    >>> scores = Scores(
    ...     np.tile(np.random.default_rng(0).normal(size=30), 2),
    ...     Factor.of(list("abcde") * 12),
    ...     Factor.of([who for who in "PQRSTU" for _ in range(5)] * 2),
    ...     event=Factor.of(["one"] * 30 + ["two"] * 30), stated=np.zeros(60),
    ... )
    >>> found = pair_effect(two_way(scores))
    >>> found.pairs, round(found.noise, 6)
    (30, 0.0)
    """
    scores = effects.scores
    pair, n, sign = _pairs(scores)
    again = 0 if n == len(scores) else int((np.bincount(pair, minlength=n) > 1).sum())
    if again == 0 or effects.freedom <= 0 or scores.evaluator is None:
        return PairEffect(math.nan, math.nan, again)

    def cross(e: Floats) -> float:
        together = sums(pair, sign * e, n)
        return float(together @ together - e @ e)

    def moments(e: Floats) -> Floats:
        return np.array([cross(e), float(e @ e)])

    def left_of(rows: Floats) -> Floats:
        columns = without(effects, np.ascontiguousarray(rows.T))
        S = effects.regressors if effects.regressors.size else np.zeros((len(columns), 0))
        return np.asarray((columns - S @ (np.linalg.pinv(S.T @ S) @ (S.T @ columns))).T)

    def of_variance_one(cluster: Codes, n: int) -> Floats:
        exact = n <= _MOST_DRAWS  # then each is drawn alone, and cross terms are nil
        drawn = np.eye(n) if exact else rng.choice([-1.0, 1.0], (draws, n))
        left = (e for some in _blocks(drawn, len(sign)) for e in left_of(sign * some[:, cluster]))
        return np.asarray(sum(map(moments, left)) / (1 if exact else draws))

    rng = np.random.default_rng(seed)
    draws = min(_MOST_DRAWS, math.ceil(_ROWS / len(scores)))
    rows = np.arange(len(scores), dtype=np.int32)
    system = np.column_stack([of_variance_one(pair, n), of_variance_one(rows, len(rows))])
    system[1, 1] = effects.freedom  # the mean of |M ε|², which needs no draws
    if abs(np.linalg.det(system)) <= _ALIKE * np.abs(system).max() ** 2:
        return PairEffect(math.nan, math.nan, again)
    stays, noise = np.maximum(np.linalg.solve(system, moments(effects.residual)), 0.0)
    return PairEffect(math.sqrt(stays), math.sqrt(noise), again)


def _pairs(scores: Scores) -> tuple[Codes, int, Floats]:
    """(n,) the pair of each row, how many there are, and −1 where it is turned round."""
    who = [] if scores.evaluator is None else [scores.evaluator.codes]
    if scores.rival is None:
        pair, n = crossed(*who, scores.option.codes)
        return pair, n, np.ones(len(scores))
    first, second = scores.option.codes, scores.rival
    pair, n = crossed(*who, np.minimum(first, second), np.maximum(first, second))
    return pair, n, np.where(first <= second, 1.0, -1.0)


def _blocks(drawn: Floats, n: int) -> list[Floats]:
    """Return some draws at a time, for so many rows of scores."""
    return np.array_split(drawn, min(math.ceil(len(drawn) * n / _ROWS), len(drawn)))
