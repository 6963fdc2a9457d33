"""Small-sample corrections of cluster-robust variances (Bell–McCaffrey, Satterthwaite).

Notation
--------
M           takes off the effects of what is scored and of chairs; M_x takes off S̃ as well
g, h        clusters: evaluators, options, or pairs of both;  1_g picks the rows of g
z_g         Σ_{i in g} S̃_i e_i = (S̃1_g)·M_x u, where u is the noise, and e its residual
λ_g         S̃1_g·S̃, the cluster's share of the information;  a_g = S̃1_g·p, its weight in β
K_gh        (S̃1_g)·M_x(S̃1_h): the covariance of z under noise of variance 1
L_gh        (S̃1_g)·M_x(p1_h): what a cluster's own bias b_h does to z_g, so z = L b

Sums of residuals are smaller than sums of noise, since the effects have been fitted to them: z_g²
has the mean K_gg where λ_g is asked for. So z_g² is multiplied by λ_g/K_gg. A bias that differs
from cluster to cluster is hidden more than noise is: it moves β by Σ a_g b_g, with the variance
Σ a_g², and of that only Σ (λ_g/K_gg)(LLᵀ)_gg is seen. With three evaluators who share all options
that is a half.

A weighted sum of squares Σ c_g z_g² is as sure as χ² with (Σ c_g C_gg)²/Σ c_g c_h C_gh² degrees of
freedom, C the covariance of z (Satterthwaite; Bell and McCaffrey for C = K; Imbens and Kolesár).
Equal clusters give G − 1.

Exact matrices need one projection for each cluster. Where that is too much, M is taken to remove
means of one kind at a time, and clusters to meet in S̃ alone. There are many of them then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import Effects, regressors_of
from evenhand.numerics.tolerance import PROJECTED
from evenhand.scores.factor import Codes, chunks, crossed, sums_over

_CELLS = 6_000_000  # rows times clusters up to which matrices are exact
_BLOCK = 64  # clusters projected in one go


@dataclass(frozen=True, eq=False)
class Leverage:
    """What the residuals of clusters show of noise, and of biases of their own."""

    factors: Floats  # (G,) by what z_g² is multiplied
    freedom: float  # degrees of freedom of the sum, under noise
    own_freedom: float  # the same, where clusters have biases of their own
    # the share of the variance by such biases that the sum shows; 0 where they can't be seen
    shown: float


def leverage(effects: Effects, codes: Codes, size: int) -> Leverage:
    """Return what residuals of clusters show; ``codes``: (n,) the cluster of each row, below
    ``size``.
    """
    S, p, info = effects.own, column_of(effects), effects.information
    lam, a = sums_over(codes, size, S, S), sums_over(codes, size, S, p)
    seen = np.flatnonzero(lam > PROJECTED * info)
    moments = _exact if len(seen) * len(S) <= _CELLS else _near
    k, own, freedoms = moments(effects, codes, lam, a, seen)
    shows = k > PROJECTED * lam[seen]
    if not shows.any():
        return Leverage(np.zeros(size), 0.0, 0.0, 0.0)
    some = np.divide(lam[seen], k, out=np.zeros(len(seen)), where=shows)
    some *= info / lam[seen][shows].sum()  # a cluster that shows nothing is as loud as others
    shown = min(float(some @ own) / float(a @ a), 1.0)
    factors = np.zeros(size)
    factors[seen] = some
    return Leverage(factors, *freedoms(some), shown if shown > PROJECTED else 0.0)


def without(effects: Effects, columns: Floats) -> Floats:
    """Return (n, r) columns less the effects of options and evaluators."""
    assert effects.met is not None
    return effects.met.without(columns)[0]


def column_of(effects: Effects) -> Floats:
    """Return (n,) p: the regressor whose effect is `Effects.bias`, before anything is taken off."""
    found = regressors_of(effects.scores)
    return found.get(effects.name, np.ones(len(effects.own)))


def blocks(n: int) -> Iterator[Indices]:
    """Return the numbers below n, a few at a time."""
    return (np.arange(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK))


def sums(codes: Codes, size: int, columns: Floats) -> Floats:
    """Return (size, r) the sums of columns over clusters."""
    return np.column_stack([sums_over(codes, size, column) for column in columns.T])


_Moments = tuple[Floats, Floats, Callable[[Floats], tuple[float, float]]]
"""The diagonals of K and of LLᵀ of clusters that are seen, and degrees of freedom of both."""


def _exact(effects: Effects, codes: Codes, lam: Floats, a: Floats, seen: Indices) -> _Moments:
    S, p, n = effects.own, column_of(effects), len(seen)
    number = np.full(len(lam), n, dtype=np.int32)  # of those seen; the last is all others
    number[seen] = np.arange(n)
    codes, lam, a = number[codes], lam[seen], a[seen]
    K, L = np.zeros((n, n)), np.zeros((n, n))
    for some in blocks(n):
        left = without(effects, np.where(codes[:, None] == some, S[:, None], 0.0))
        K[some] = sums(codes, n + 1, left * S[:, None])[:n].T
        L[some] = sums(codes, n + 1, left * p[:, None])[:n].T
    K -= np.outer(lam, lam) / effects.information
    L -= np.outer(lam, a) / effects.information
    C = L @ L.T
    return np.diag(K), np.diag(C), lambda factors: (_freedom(factors, K), _freedom(factors, C))


def _near(effects: Effects, codes: Codes, lam: Floats, a: Floats, seen: Indices) -> _Moments:
    S, p, info = effects.own, column_of(effects), effects.information
    of_noise, of_bias = taken_off(effects, codes, len(lam), S, S, p)
    k = lam - lam * lam / info - of_noise
    own = (a - lam * a / info - of_bias) ** 2
    k, own, lam = k[seen], own[seen], lam[seen]

    def freedoms(factors: Floats) -> tuple[float, float]:
        met, alone, biased = factors * lam * lam, factors * k, factors * own
        square = alone @ alone + (met.sum() ** 2 - met @ met) / info**2
        equal = biased.sum() ** 2 / (biased @ biased) if biased.any() else 1.0
        return float(alone.sum() ** 2 / square), float(max(equal - 1.0, PROJECTED))

    return k, own, freedoms


def taken_off(
    effects: Effects,
    codes: Codes,
    size: int,
    one: Floats,
    *others: Floats,
    among: Indices | None = None,
) -> list[Floats]:
    """Return (G,) what means of both kinds take off (one 1_g)·(other 1_g), one kind at a time.

    Σ over cells of g and a level of (Σ one)(Σ other)/m, m the rows of the level: row by row, it is
    one times the sum of other over the row's cell, over m. With ``among``, columns and codes are of
    these rows only, and 0 in all others.
    """
    taken = [np.zeros(size) for _ in others]
    for levels, n_levels in _means(effects):
        rows = sums_over(levels, n_levels)
        some_levels = levels if among is None else levels[among]
        cells = _cells(effects, codes, some_levels, n_levels)
        for j, other in enumerate(others):
            in_cell = _in_cells(cells, other)
            for some in chunks(len(codes)):
                share = one[some] * in_cell(some) / rows[some_levels[some]]
                taken[j] += np.bincount(codes[some], share, size)
    return taken


def _cells(effects: Effects, codes: Codes, levels: Codes, n_levels: int) -> Codes | None:
    """Return (n,) the cell of cluster and level of each row; None if all are alone in theirs."""
    scores = effects.scores
    if effects.met is not None and effects.met.alone:
        by_evaluator = scores.evaluator is not None and codes is scores.evaluator.codes
        by_option = scores.item is None and codes is scores.option.codes
        if (by_evaluator and levels is scores.scored[0]) or (
            by_option and levels is scores.chairs[0]
        ):
            return None
    whose = np.zeros(n_levels, dtype=codes.dtype)
    whose[levels] = codes
    if all((whose[levels[some]] == codes[some]).all() for some in chunks(len(codes))):
        return levels  # each level is of one cluster, as chairs are of one evaluator
    return crossed(codes, levels)[0]


def _in_cells(cells: Codes | None, column: Floats) -> Callable[[slice], Floats]:
    """Return what gives the sum of a column over the cells of some rows."""
    if cells is None:
        return lambda some: column[some]
    total = np.zeros(int(cells.max(initial=-1)) + 1)
    np.add.at(total, cells, column)
    return lambda some: total[cells[some]]


def _means(effects: Effects) -> list[tuple[Codes, int]]:
    """Return the levels whose means the effects take off."""
    scores = effects.scores
    if not len(effects.leniencies()):
        return []  # options stand on both sides, or only features count: nothing is for granted
    return [scores.chairs] if scores.reference is not None else [scores.scored, scores.chairs]


def _freedom(factors: Floats, C: Floats) -> float:
    weighted = factors[:, None] * C
    square = float(np.sum(weighted * weighted.T))
    return float(np.trace(weighted)) ** 2 / square if square > 0.0 else 0.0
