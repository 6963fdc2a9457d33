"""The bias of each: of every evaluator, and towards every favoured party.

Notation
--------
g, h        evaluators, or favoured parties (groups), that have partial scores
b_g         bias of g;  P the columns p1_g, its partial scores;  Q = PᵀMP, see `bias`
r           Pᵀe, what the common bias leaves of partial scores
σ², ω², Z   noise, and what evaluators see in options (`pairs`)
f_e         by how much the residuals of evaluator e vary more than those of all

Least squares with a bias for each has b = β + Q⁻¹r = Q⁻¹PᵀMy. So its variance is σ²Q⁻¹, and ω²
times the squares of Q⁻¹PᵀMZ: a pair that comes back in m scores counts m times. Both are multiplied
by f, each evaluator's as far as his scores are in MP: who is noisy is not taken for partial.

A direction in which Q is 0 can't be told from leniencies and values: two evaluators who score each
other's favourites, say. Whoever has a part in one has no bias of his own that could be known.
Beyond `_CELLS` or `_MOST`, Q is taken to be diagonal: there are many then, and few of them meet.

How much true biases differ, and by how much each is shrunken, is `numerics.shrinkage`, the same as
in an answer of `decide`. Which differ from 0 is said so that of those named no more than a given
share are named falsely (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import _CELLS, blocks, taken_off
from evenhand.auditing.effects import Effects, column_of, without
from evenhand.auditing.pairs import Pairs, Variances
from evenhand.numerics.intervals import student_quantile
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.shrinkage import population
from evenhand.numerics.tolerance import IN_SPAN, PROJECTED
from evenhand.scores.scores import Codes, crossed, sums, sums_over

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True)
class BiasSpread:
    """How much the biases of evaluators, or towards groups, differ.

    Parameters
    ----------
    n
        How many have a bias that is known.
    mean, low, high
        Their mean, each counted by how well it is known, and an interval of ``level``.
    sd
        Standard deviation of true biases.
    next_low, next_high
        Between what the bias of one more would lie with probability ``level``.
    level
        Confidence of both intervals.
    chance
        How probable as much would be if all were alike.

    Examples
    --------
    >>> own = OwnBiases(np.arange(4), np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, 0.5), 100.0)
    >>> found = spread(own, 0.95)
    >>> found.n, round(found.mean, 6), round(found.sd**2, 6)
    (4, 3.0, 2.833333)
    """

    n: int
    mean: float
    low: float
    high: float
    sd: float
    next_low: float
    next_high: float
    level: float
    chance: float


@dataclass(frozen=True)
class Spreads:
    """How much biases differ: among evaluators, and among groups that are favoured (options,
    without any).
    """

    evaluators: BiasSpread
    groups: BiasSpread


def spread(own: OwnBiases, level: float) -> BiasSpread:
    """Return how much biases differ; intervals are infinite where too few are known."""
    found = population(own.bias, own.variance)
    if found is None:
        b = own.bias[np.isfinite(own.variance)]
        mean = float(b.mean()) if len(b) else math.nan
        nowhere = (-math.inf, math.inf)
        return BiasSpread(len(b), mean, *nowhere, math.nan, *nowhere, level, math.nan)
    failure = 0.5 * (1.0 - level)
    width = student_quantile(failure, found.n - 1) * math.sqrt(found.mean_variance)
    further = math.inf
    if found.n > 2:
        ahead = math.sqrt(found.between + found.mean_variance)
        further = student_quantile(failure, found.next_freedom) * ahead
    return BiasSpread(
        found.n,
        found.mean,
        found.mean - width,
        found.mean + width,
        math.sqrt(found.between),
        found.mean - further,
        found.mean + further,
        level,
        found.chance,
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Biases shrunken to their mean, and which of them differ from 0."""

    bias: Floats  # (m,) shrunken, with its interval
    low: Floats
    high: Floats
    # (m,) how probable a bias as far from 0 would be for somebody fair, not shrunken
    chance: Floats
    q: Floats  # (m,) the share of falsely named at which this one would still be named


def drawn(own: OwnBiases, level: float) -> Drawn:
    """Return the biases drawn to their mean, with intervals of a level."""
    v, among = own.variance, population(own.bias, own.variance)
    bias, variance = own.bias, v
    if among is not None:
        noise = among.noise(v)
        bias = among.shrunken(own.bias, v)
        variance = noise * among.between + noise**2 * among.mean_variance
    freedom = max(own.freedom, 1.0)
    width = student_quantile(0.5 * (1.0 - level), freedom) * np.sqrt(variance)
    ratio = np.divide(own.bias, np.sqrt(v), out=np.zeros(len(v)), where=np.isfinite(v) & (v > 0.0))
    chance = np.asarray(2.0 * special.stdtr(freedom, -np.abs(ratio)), dtype=np.float64)
    return Drawn(bias, bias - width, bias + width, chance, false_discovery(chance))


def false_discovery(chances: Floats) -> Floats:
    """Return q-values: the share of falsely named, were all with a chance as small named."""
    m = len(chances)
    order = np.argsort(chances)
    scaled = chances[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q, 1.0)


@dataclass(frozen=True, eq=False)
class Each:
    """Biases one by one: of evaluators, or towards groups."""

    effects: Effects
    kind: str  # evaluator, group or option
    codes: Codes  # (n,) whose bias it is in each row, −1 for nobody's
    names: Sequence[str]
    about: Mapping[str, object]  # further columns of `frame`, after the names
    level: float  # of intervals; whoever has a q-value of at most 1 − level is flagged

    @cached_property
    def own(self) -> OwnBiases:
        """Biases of those who have partial scores."""
        return own_biases(self.effects, self.codes, len(self.names))

    @cached_property
    def spread(self) -> BiasSpread:
        """How much they differ."""
        return spread(self.own, self.level)

    @cached_property
    def drawn(self) -> Drawn:
        """Biases drawn to their mean."""
        return drawn(self.own, self.level)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each; whoever has no partial scores has no bias of his own.

        Columns: the name; what else is known about them; ``scores``, and how many of these are
        ``own`` (partial); ``bias`` from ``low`` to ``high``; ``shrunk`` to the mean, from
        ``shrunk_low`` to ``shrunk_high``; ``p`` and ``q`` for a bias of 0; ``flagged``.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        size, there, mine = len(self.names), self.codes >= 0, self.own
        partial = there & (column_of(self.effects) != 0.0)
        width = mine.widths(self.level)

        def of_all(values: Floats) -> Floats:
            column = np.full(size, np.nan)
            column[mine.who] = values
            return column

        return pd.DataFrame(
            {
                self.kind: list(self.names),
                **self.about,
                "scores": np.bincount(self.codes[there], minlength=size),
                "own": np.bincount(self.codes[partial], minlength=size),
                "bias": of_all(mine.bias),
                "low": of_all(mine.bias - width),
                "high": of_all(mine.bias + width),
                "shrunk": of_all(self.drawn.bias),
                "shrunk_low": of_all(self.drawn.low),
                "shrunk_high": of_all(self.drawn.high),
                "p": of_all(self.drawn.chance),
                "q": of_all(self.drawn.q),
                "flagged": of_all(self.drawn.q) <= 1.0 - self.level,
            }
        )


def of_evaluators(effects: Effects, level: float) -> Each:
    """Return the biases of evaluators, with their groups and leniencies."""
    scores = effects.scores
    if scores.evaluator is None:
        return Each(effects, "evaluator", np.full(len(scores), -1, dtype=np.int32), (), {}, level)
    codes, names = scores.evaluator.codes, scores.evaluator.names
    about: dict[str, object] = {}
    if scores.evaluator_group is not None:
        about["group"] = [scores.groups[g] if g >= 0 else None for g in scores.evaluator_group]
    lenient = np.full(len(names), np.nan)
    if len(effects.leniencies()):
        rows = np.bincount(codes, minlength=len(names))
        given = np.bincount(codes, effects.leniencies()[scores.chairs[0]], len(names))
        lenient = np.divide(given, rows, out=lenient, where=rows > 0)
    return Each(effects, "evaluator", codes, names, about | {"leniency": lenient}, level)


def of_favoured(effects: Effects, level: float) -> Each:
    """Return the biases towards groups; where none are given, towards options."""
    scores, p = effects.scores, column_of(effects)
    if scores.option_group is None:
        codes = scores.option.codes
        if scores.rival is not None:
            codes = np.where(p < 0.0, scores.rival, codes)
        return Each(effects, "option", codes, scores.option.names, {}, level)
    codes = scores.option_group[scores.option.codes]
    if scores.rival is not None:
        codes = np.where(p < 0.0, scores.option_group[scores.rival], codes)
    return Each(effects, "group", codes, scores.groups, {}, level)
