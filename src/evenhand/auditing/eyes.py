"""What an evaluator sees in an option and keeps to, and noise: how large each is.

Notation
--------
Z           (n, pairs) a 1 for the pair of evaluator and option of the row; in comparisons also a −1
            for the pair with the option that stands second
σ², ω²      variances of noise, and of what an evaluator sees in an option:  y = … + Z w + ε
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import column_of, sums
from evenhand.scores.factor import Codes, crossed

_DRAWN = 200_000  # rows times signs that are drawn
_MOST_DRAWS = 64
_NIL = 1e-9  # of the size of the equations: less tells the two apart no more


def kinds_of(effects: Effects) -> dict[str, tuple[Codes, int]]:
    """Return who comes back: evaluators, if they are known, and options.

    In comparisons the option is the favoured one, and where none is favoured both together.
    """
    scores = effects.scores
    kinds = {"options": (scores.option.codes, len(scores.option))}
    if scores.rival is not None:
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


@dataclass(frozen=True, eq=False)
class Eyes:
    """Z, which nobody writes down.

    Parameters
    ----------
    sides
        A sign, and (n,) the number of a pair, for each side of a score: one, or two where options
        are compared.
    n_pairs
        How many pairs there are.
    """

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
        return self.n_pairs < sum(len(codes) for _, codes in self.sides)


def eyes_of(effects: Effects) -> Eyes:
    """Return whose eyes are on what."""
    scores = effects.scores
    if scores.rival is None or scores.evaluator is None:
        pairs, n_pairs = pairs_of(effects)
        return Eyes([(1.0, pairs)], n_pairs)
    who, n = np.tile(scores.evaluator.codes, 2), len(scores)
    both, n_pairs = crossed(who, np.concatenate([scores.option.codes, scores.rival]))
    return Eyes([(1.0, both[:n]), (-1.0, both[n:])], n_pairs)


class Variances(NamedTuple):
    """σ², ω², and how sure they are, in degrees of freedom."""

    noise: float
    eyes: float
    freedom: float


@dataclass(frozen=True, eq=False)
class Shares:
    """What residuals show of noise, and of what evaluators see in options.

    Squares of residuals, and of their sums over pairs, are linear in σ² and ω². What each of the
    two adds is seen on signs drawn at random, one for each score, or one for each pair.

    Parameters
    ----------
    eyes
        Z.
    freedom
        Degrees of freedom of residuals.
    alone, common
        What noise, and what evaluators see, each of variance 1, adds to both squares.
    whole
        What evaluators see adds to them before anything is taken off.
    """

    eyes: Eyes
    freedom: int
    alone: tuple[float, float] = (0.0, 0.0)
    common: tuple[float, float] = (0.0, 0.0)
    whole: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def seen(cls, eyes: Eyes, n: int, freedom: int, without: Callable[[Floats], Floats]) -> Shares:
        """Return what residuals of n scores show.

        Parameters
        ----------
        eyes, n, freedom
            As above.
        without
            What takes off (n, r) columns all that was taken off the scores.
        """
        if not eyes.again:
            return cls(eyes, freedom)
        rng = np.random.default_rng(0)
        draws = int(np.clip(_DRAWN // n, 2, _MOST_DRAWS))
        signs = eyes.seen(rng.choice([-1.0, 1.0], size=(eyes.n_pairs, draws)))
        noise = without(rng.choice([-1.0, 1.0], size=(n, draws)))
        found = (_squares(eyes, columns) for columns in (noise, without(signs), signs))
        return cls(eyes, freedom, *found)

    def of(self, left: Floats) -> Variances:
        """Return the variances behind (n, 1) residuals."""
        freedom, alone, common, whole = self.freedom, self.alone, self.common, self.whole
        # [freedom, common[0]; alone[1], common[1]] (σ², ω²) = (squares, together)
        determinant = freedom * common[1] - alone[1] * common[0]
        if not determinant > _NIL * freedom * whole[1]:
            return Variances(float(left[:, 0] @ left[:, 0]) / freedom, 0.0, float(freedom))
        squares, together = _squares(self.eyes, left)
        seen = (freedom * together - alone[1] * squares) / determinant
        seen = float(np.clip(seen, 0.0, squares / common[0]))
        sure = max(common[1] / whole[1] * self.eyes.n_pairs, 1.0)
        return Variances(max(squares - seen * common[0], 0.0) / freedom, seen, sure)


def _squares(eyes: Eyes, columns: Floats) -> tuple[float, float]:
    """Return the sums of squares of scores, and of pairs, of a column on average."""
    together = eyes.of(columns)
    return float((columns**2).sum(axis=0).mean()), float((together**2).sum(axis=0).mean())
