"""Variance components: what an evaluator sees in an option and keeps to, and noise.

Notation
--------
Z           (n, pairs) a 1 for the pair of evaluator and option of the row; in comparisons also a −1
            for the pair with the option that stands second
σ², ω²      variances of noise, and of what stays with a pair:  y = … + Z w + ε
M           takes off a model of the scores;  f = tr M its degrees of freedom;  e = M y

The means of |e|² and of |Zᵀe|² are linear in the two variances: f σ² + t ω² and t σ² + q ω², with
t = tr ZᵀMZ and q = |ZᵀMZ|². Both are means over signs drawn for the pairs, of |MZs|² and |ZᵀMZs|²;
of few pairs, sums over each alone. Then two equations have two unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.effects import Effects, column_of, without
from evenhand.numerics.tolerance import PROJECTED
from evenhand.scores.scores import Codes, crossed, sums, sums_over

_DRAWN = 200_000  # rows times signs that are drawn
_MOST_DRAWS = 64


def kinds_of(effects: Effects) -> dict[str, tuple[Codes, int]]:
    """Return who comes back: evaluators, if they are known, and options; in comparisons the
    favoured one, and where none is favoured both together; against a baseline, options and items.
    """
    scores = effects.scores
    kinds = {"options": (scores.option.codes, len(scores.option))}
    if scores.baseline is not None and scores.item is not None:
        kinds["items"] = scores.item.codes, len(scores.item)
    elif scores.rival is not None:
        first, second, p = scores.option.codes, scores.rival, column_of(effects)
        favoured = np.where(p > 0.0, first, second)
        one = np.where(p == 0.0, np.minimum(first, second), favoured).astype(np.int32)
        other = np.where(p == 0.0, 1 + np.maximum(first, second), 0).astype(np.int32)
        kinds = {"options": crossed(one, other)}
    if scores.evaluator is not None:
        kinds = {"evaluators": (scores.evaluator.codes, len(scores.evaluator)), **kinds}
    return kinds


def pairs_of(effects: Effects) -> tuple[Codes, int]:
    """Return (n,) the pair of evaluator and option in each row, and how many there are."""
    scores = effects.scores
    once = scores.event is None and scores.item is None and scores.evaluator is not None
    if once and effects.met is not None and effects.met.alone:
        return np.arange(len(scores), dtype=np.int32), len(scores)
    return crossed(*(codes for codes, _ in kinds_of(effects).values()))


class Variances(NamedTuple):
    """σ², ω², how sure they are, in degrees of freedom, and whether scores tell them apart."""

    noise: float
    pair: float
    freedom: float
    apart: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """Z, which nobody writes down."""

    # a sign, and (n,) the number of a pair, for each side of a score (two in comparisons)
    sides: Sequence[tuple[float, Codes]]
    n_pairs: int

    @classmethod
    def of(cls, effects: Effects) -> Pairs:
        """Return who scored what."""
        scores = effects.scores
        if scores.rival is None or scores.evaluator is None:
            pairs, n_pairs = pairs_of(effects)
            return cls([(1.0, pairs)], n_pairs)
        who, n = np.tile(scores.evaluator.codes, 2), len(scores)
        both, n_pairs = crossed(who, np.concatenate([scores.option.codes, scores.rival]))
        return cls([(1.0, both[:n]), (-1.0, both[n:])], n_pairs)

    def sums(self, columns: Floats) -> Floats:
        """Return (pairs, r) Zᵀ columns."""
        return np.asarray(sum(sign * sums(c, self.n_pairs, columns) for sign, c in self.sides))

    def rows(self, pairs: Floats) -> Floats:
        """Return (n, r) Z pairs."""
        return np.asarray(sum(sign * pairs[codes] for sign, codes in self.sides))

    @property
    def scored(self) -> int:
        """How many scores are about a pair, both sides of a comparison counted."""
        return sum(len(codes) for _, codes in self.sides)

    @property
    def repeated(self) -> int:
        """How many pairs there is more than one score of."""
        if self.n_pairs == self.scored:
            return 0
        times = np.asarray(sum(sums_over(codes, self.n_pairs) for _, codes in self.sides))
        return int(np.count_nonzero(times > 1.0))

    def components(self, freedom: int, without: Callable[[Floats], Floats]) -> Components:
        """Return what residuals show, where ``without`` takes off (n, r) columns the model."""
        if self.n_pairs == self.scored:
            return Components(self, freedom)
        n = len(self.sides[0][1])
        draws = int(np.clip(_DRAWN // n, 2, _MOST_DRAWS))
        if self.n_pairs <= draws:
            signs, times = self.rows(np.eye(self.n_pairs)), self.n_pairs
        else:
            rng = np.random.default_rng(0)
            signs, times = self.rows(rng.choice([-1.0, 1.0], size=(self.n_pairs, draws))), 1
        (t, q), (_, whole) = (
            tuple(times * part for part in _squares(self, columns))
            for columns in (without(signs), signs)
        )
        return Components(self, freedom, t, q, whole)


@dataclass(frozen=True, eq=False)
class Components:
    """What residuals show of noise, and of what stays with pairs."""

    pairs: Pairs  # Z
    freedom: int  # f
    once: float = 0.0  # t
    twice: float = 0.0  # q
    whole: float = 0.0  # |ZᵀZ|², which q would be if nothing had been taken off

    def of(self, left: Floats) -> Variances:
        """Return the variances behind (n, 1) residuals."""
        f, t, q = self.freedom, self.once, self.twice
        determinant = f * q - t * t
        if not determinant > PROJECTED * f * self.whole:
            return Variances(float(left[:, 0] @ left[:, 0]) / f, 0.0, float(f), False)
        squares, together = _squares(self.pairs, left)
        pair = float(np.clip((f * together - t * squares) / determinant, 0.0, squares / t))
        sure = max(q / self.whole * self.pairs.n_pairs, 1.0)
        return Variances(max(squares - t * pair, 0.0) / f, pair, sure, True)


def _squares(pairs: Pairs, columns: Floats) -> tuple[float, float]:
    """Return the sums of squares of scores, and of pairs, of a column on average."""
    together = pairs.sums(columns)
    return float((columns**2).sum(axis=0).mean()), float((together**2).sum(axis=0).mean())


def components_of(effects: Effects, pairs: Pairs) -> Components:
    """Return what the residuals of effects show: bias and attributes are taken off, too."""
    S = effects.regressors.reshape(len(effects.residual), -1)
    S = S[:, np.einsum("ij,ij->j", S, S) > 0.0]  # of these none is a combination of others
    inverse = np.linalg.inv(S.T @ S)

    def rest(columns: Floats) -> Floats:
        left = without(effects, columns)
        return left - S @ (inverse @ (S.T @ left))

    return pairs.components(effects.freedom, rest)


@dataclass(frozen=True)
class PairEffect:
    """How much of what is left over stays with a pair of evaluator and option."""

    # standard deviation of what stays with a pair; NaN where nobody scored anything twice
    pair: float
    noise: float  # standard deviation of what comes anew with every score
    pairs: int  # how many pairs there is more than one score of

    @property
    def share(self) -> float:
        """What share of the variance stays; NaN where that is not known."""
        total = self.pair**2 + self.noise**2
        return self.pair**2 / total if total > 0.0 else math.nan


def pair_effect(effects: Effects) -> PairEffect:
    """Return what stays with pairs and what is noise, from pairs with several scores."""
    if effects.scores.evaluator is None:
        return PairEffect(math.nan, math.nan, 0)
    pairs = Pairs.of(effects)
    if not pairs.repeated or effects.freedom <= 0:
        return PairEffect(math.nan, math.nan, pairs.repeated)
    found = components_of(effects, pairs).of(effects.residual[:, None])
    if not found.apart:
        return PairEffect(math.nan, math.nan, pairs.repeated)
    return PairEffect(math.sqrt(found.pair), math.sqrt(found.noise), pairs.repeated)
