"""A bias, and how sure it is: cluster-robust variances with their small-sample corrections.

Notation
--------
V_e, V_o    variance of β from sums of S̃_i e_i over evaluators, over options
V_p         the same over pairs of both: noise, and what an evaluator sees in an option
b_e, b_o    what an evaluator's bias, or that towards an option, is beside the mean
M           takes off the effects of what is scored and of chairs; M_x takes off S̃ as well
g, h        clusters: evaluators, options, or pairs of both;  1_g picks the rows of g
z_g         Σ_{i in g} S̃_i e_i = (S̃1_g)·M_x u, where u is the noise, and e its residual
λ_g         S̃1_g·S̃, the cluster's share of the information;  a_g = S̃1_g·p, its weight in β
K_gh        (S̃1_g)·M_x(S̃1_h): the covariance of z under noise of variance 1
L_gh        (S̃1_g)·M_x(p1_h): what a cluster's own bias b_h does to z_g, so z = L b

The same evaluators and options come back: residuals of one evaluator have b_e in common, those of
one option b_o. The variance of β is V_e + V_o − V_p (Cameron, Gelbach and Miller), where each part
is at least V_p: a pair is in both.

Each of V_e and V_o is as good as its clusters are many and equal. `leverage` says by how much
residuals are too small, and as how many degrees of freedom a sum of squares counts. What exceeds
V_p is owed to b. Differences between evaluators' biases are partly absorbed by the fixed effects:
the excess is divided by the share that is not. Degrees of freedom of the sum are Welch's, with V_p
as the least weight: a sum over three evaluators may happen to be small, and is not the surer for
it. They are never below those of the least sure part, so that many evaluators and options give the
usual interval.

On 24 shapes of tables and 8 ways of scoring (`docs/research/audits.md`) it holds in 93% to
100% where 95% is asked for; the plain G/(G − 1) with min G − 1 degrees in 81% to 100%.

One partial evaluator, or two who are partial to each other's favourites only, don't show b_e: the
interval is then about these evaluators only, and says so. Likewise with one favourite. Where
neither shows, noise is taken to be alike in all pairs, since the partial ones are too few to tell.

Small-sample corrections (Bell–McCaffrey, Satterthwaite): sums of residuals are smaller than sums of
noise, since the effects have been fitted to them: z_g² has the mean K_gg where λ_g is asked for. So
z_g² is multiplied by λ_g/K_gg. A bias that differs from cluster to cluster is hidden more than
noise is: it moves β by Σ a_g b_g, with the variance Σ a_g², and of that only Σ (λ_g/K_gg)(LLᵀ)_gg
is seen. With three evaluators who share all options that is a half.

A weighted sum of squares Σ c_g z_g² is as sure as χ² with (Σ c_g C_gg)²/Σ c_g c_h C_gh² degrees of
freedom, C the covariance of z (Satterthwaite; Bell and McCaffrey for C = K; Imbens and Kolesár).
Equal clusters give G − 1.

Exact matrices need one projection for each cluster. Where that is too much, M is taken to remove
means of one kind at a time, and clusters to meet in S̃ alone. There are many of them then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import Effects, column_of, without
from evenhand.auditing.pairs import Components, Pairs, components_of, kinds_of, pairs_of
from evenhand.linear.projection import ENOUGH
from evenhand.numerics.intervals import Estimate
from evenhand.numerics.tolerance import PROJECTED
from evenhand.scores.scores import Codes, chunks, crossed, sums, sums_over

_CELLS = 6_000_000  # rows times clusters up to which matrices are exact
_MANY = 12  # options or judges by which an attribute's effect on others can be told
_BLOCK = 64  # clusters projected in one go


@dataclass(frozen=True)
class BiasEstimate(Estimate):
    """How much evaluators add to what they are partial to.

    Parameters
    ----------
    value, low, high
        The estimate, and an interval that holds the bias with probability ``level``.
    level
        Confidence of the interval.
    se, freedom
        Standard error, and the degrees of freedom of Student's distribution that goes with it.
    clusters
        Who comes back in several scores, and how many of them have partial scores. The interval is
        about others like them too.
    only
        Of whom it holds only for those who are here: partiality is one evaluator's alone, say, and
        nothing tells how another would be.

    Examples
    --------
    >>> bias = BiasEstimate.by_student(3.0, 1.0, freedom=30, level=0.95)
    >>> round(bias.low, 2), round(bias.high, 2), round(bias.chance, 4)
    (0.96, 5.04, 0.0054)
    >>> BiasEstimate.unknown(3.0, level=0.95).covers(1e9)
    True
    """

    se: float
    freedom: float
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    @classmethod
    def by_student(
        cls,
        value: float,
        se: float,
        freedom: float,
        level: float,
        clusters: Mapping[str, int] | None = None,
        only: tuple[str, ...] = (),
    ) -> BiasEstimate:
        """Return the estimate with a standard error, by Student's distribution."""
        width = -se * float(special.stdtrit(freedom, 0.5 * (1.0 - level))) if se > 0.0 else 0.0
        found = dict(clusters or {})
        return cls(value, value - width, value + width, level, se, freedom, found, only)

    @classmethod
    def unknown(cls, value: float, level: float, only: tuple[str, ...] = ()) -> BiasEstimate:
        """Return an estimate that nothing is known about: no scores are left to tell from."""
        return cls(value, -math.inf, math.inf, level, math.inf, 0.0, {}, only)

    def times(self, unit: float) -> BiasEstimate:
        """Return the same of so many units."""
        ends = (unit * self.value, unit * self.low, unit * self.high)
        return BiasEstimate(
            *ends, self.level, unit * self.se, self.freedom, self.clusters, self.only
        )

    @property
    def chance(self) -> float:
        """How probable an estimate as far from 0 would be without a bias."""
        if math.isnan(self.value) or math.isinf(self.se):
            return 1.0
        if self.se == 0.0:
            return float(self.value == 0.0)
        return 2.0 * float(special.stdtr(self.freedom, -abs(self.value) / self.se))


@dataclass(frozen=True)
class _Part:
    """A variance of β with how sure it is."""

    variance: float
    freedom: float


def plain(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias as if scores were independent of one another."""
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    variance = float(effects.residual @ effects.residual) / effects.freedom / effects.information
    return _estimate(effects, _Part(variance, effects.freedom), level, {}, ())


def clustered(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias, where evaluators and options come back."""
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    return Clusters.of(effects).estimate(effects, level)


def here(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias of these evaluators towards these options: only noise, and what evaluators
    see in options, makes it unsure.
    """
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    return _alone(effects, components_of(effects, Pairs.of(effects)), level)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Who comes back in a table of scores, and what residuals show of that, whatever the scores."""

    # evaluators and options: the cluster of each row, and what residuals show
    kinds: Mapping[str, tuple[Codes, Leverage]]
    pairs: Codes  # (n,) the pair of evaluator and option in each row
    n_pairs: int
    partial: Mapping[str, int]  # by kind, how many have partial scores
    design: Effects  # effects of any scores in these rows

    @cached_property
    def components(self) -> Components:
        """What residuals show of noise, and of what evaluators see in options."""
        return components_of(self.design, Pairs.of(self.design))

    @classmethod
    def of(cls, effects: Effects) -> Clusters:
        """Return the clusters of evaluators and options."""
        kinds = kinds_of(effects)
        own = np.flatnonzero(column_of(effects))
        scores = effects.scores
        # items are many, and a handful of options or judges says nothing about others
        least = _MANY if scores.baseline is not None and effects.name in scores.attributes else 0
        return cls(
            {
                kind: (codes, leverage(effects, codes, n) if n >= least else Leverage.none(n))
                for kind, (codes, n) in kinds.items()
            },
            *pairs_of(effects),
            {kind: len(np.unique(codes[own])) for kind, (codes, _) in kinds.items()},
            effects,
        )

    def estimate(self, effects: Effects, level: float) -> BiasEstimate:
        """Return the bias with its interval."""
        least = pair_variance(effects, self.pairs, self.n_pairs)
        parts = {
            kind: _one_way(effects, codes, lever, least)
            for kind, (codes, lever) in self.kinds.items()
            if lever.shown > 0.0
        }
        only = tuple(kind for kind in self.kinds if kind not in parts)
        if not parts:
            return self.here(effects, level)
        part = _together(list(parts.values()), least)
        return _estimate(effects, part, level, {kind: self.partial[kind] for kind in parts}, only)

    def here(self, effects: Effects, level: float) -> BiasEstimate:
        """Return the bias of these evaluators towards these options."""
        return _alone(effects, self.components, level)


def pair_variance(effects: Effects, pairs: Codes, size: int) -> float:
    """Return V_p, from the residuals of pairs."""
    shrunk = effects.freedom / len(pairs)
    S, e = effects.own, effects.residual
    if size == len(pairs):  # nobody comes back
        return float(np.einsum("i,i,i,i->", S, S, e, e)) / effects.information**2 / shrunk
    return _squares(effects, pairs, np.ones(size)) / shrunk


def _one_way(effects: Effects, codes: Codes, lever: Leverage, least: float) -> _Part:
    """Return the variance by clusters of one kind."""
    variance = _squares(effects, codes, lever.factors)
    if variance <= least:
        return _Part(variance, lever.freedom)
    excess = (variance - least) / lever.shown
    share = excess / (least + excess)
    fewest = min(lever.own_freedom, lever.freedom)
    return _Part(least + excess, 1.0 / (share / fewest + (1.0 - share) / lever.freedom))


def _together(parts: list[_Part], least: float) -> _Part:
    """Return the variance by clusters of all kinds."""
    variance = sum(part.variance for part in parts) - (len(parts) - 1) * least
    variance = max(variance, *(part.variance for part in parts), 0.0)
    fewest = min(part.freedom for part in parts)
    if variance == 0.0:
        return _Part(0.0, fewest)
    spread = sum((max(part.variance, least) / variance) ** 2 / part.freedom for part in parts)
    return _Part(variance, max(1.0 / spread, fewest))


def _alone(effects: Effects, components: Components, level: float) -> BiasEstimate:
    """Return the bias where noise, and what evaluators see, is alike everywhere."""
    found, info = components.of(effects.residual[:, None]), effects.information
    variance = found.noise / info
    if found.pair:
        seen = components.pairs.sums(effects.own[:, None]) / info
        variance += found.pair * float((seen**2).sum())
    return _estimate(effects, _Part(variance, found.freedom), level, {}, tuple(kinds_of(effects)))


def _squares(effects: Effects, clusters: Codes, factors: Floats) -> float:
    z = sums_over(clusters, len(factors), effects.own, effects.residual)
    return float(factors @ (z * z)) / effects.information**2


def _estimate(
    effects: Effects, part: _Part, level: float, clusters: dict[str, int], only: tuple[str, ...]
) -> BiasEstimate:
    score, lies = effects.scores.score, effects.scores.level
    size = max(float(score.max()) - lies.origin, lies.origin - float(score.min()))
    nil = max(ENOUGH * size, lies.grain)
    value = effects.bias if abs(effects.bias) > nil else 0.0
    se = math.sqrt(part.variance)
    return BiasEstimate.by_student(value, se, part.freedom, level, clusters, only)


@dataclass(frozen=True, eq=False)
class Leverage:
    """What the residuals of clusters show of noise, and of biases of their own."""

    factors: Floats  # (G,) by what z_g² is multiplied
    freedom: float  # degrees of freedom of the sum, under noise
    own_freedom: float  # the same, where clusters have biases of their own
    # the share of the variance by such biases that the sum shows; 0 where they can't be seen
    shown: float

    @classmethod
    def none(cls, size: int) -> Leverage:
        """Return that of clusters whose residuals show nothing."""
        return cls(np.zeros(size), 0.0, 0.0, 0.0)


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
        return Leverage.none(size)
    some = np.divide(lam[seen], k, out=np.zeros(len(seen)), where=shows)
    some *= info / lam[seen][shows].sum()  # a cluster that shows nothing is as loud as others
    shown = min(float(some @ own) / float(a @ a), 1.0)
    factors = np.zeros(size)
    factors[seen] = some
    return Leverage(factors, *freedoms(some), shown if shown > PROJECTED else 0.0)


def blocks(n: int) -> Iterator[Indices]:
    """Return the numbers below n, a few at a time."""
    return (np.arange(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK))


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
        return []  # options stand on both sides: nothing is for granted
    return [scores.chairs] if scores.reference is not None else [scores.scored, scores.chairs]


def _freedom(factors: Floats, C: Floats) -> float:
    weighted = factors[:, None] * C
    square = float(np.sum(weighted * weighted.T))
    return float(np.trace(weighted)) ** 2 / square if square > 0.0 else 0.0
