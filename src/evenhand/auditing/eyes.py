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
from evenhand.auditing.clusters import pairs_of
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import sums
from evenhand.scores.factor import Codes, crossed

_DRAWN = 200_000  # rows times signs that are drawn
_MOST_DRAWS = 64
_NIL = 1e-9  # of the size of the equations: less tells the two apart no more


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


def variances(
    eyes: Eyes, left: Floats, freedom: int, without: Callable[[Floats], Floats]
) -> Variances:
    """Return the variances of noise, and of what evaluators see in options.

    Squares of residuals, and of their sums over pairs, are linear in σ² and ω². What each of the
    two adds is seen on signs drawn at random, one for each score, or one for each pair.

    Parameters
    ----------
    eyes
        Z.
    left
        (n, 1) residuals.
    freedom
        Their degrees of freedom.
    without
        What takes off (n, r) columns all that was taken off the scores.
    """
    total = float(left[:, 0] @ left[:, 0]) / freedom
    if not eyes.again:
        return Variances(total, 0.0, float(freedom))
    rng = np.random.default_rng(0)
    draws = int(np.clip(_DRAWN // len(left), 2, _MOST_DRAWS))
    signs = eyes.seen(rng.choice([-1.0, 1.0], size=(eyes.n_pairs, draws)))
    common, whole = _squares(eyes, without(signs)), _squares(eyes, signs)
    alone = _squares(eyes, without(rng.choice([-1.0, 1.0], size=(len(left), draws))))
    squares, together = _squares(eyes, left)
    # [freedom, common[0]; alone[1], common[1]] (σ², ω²) = (squares, together)
    determinant = freedom * common[1] - alone[1] * common[0]
    if not determinant > _NIL * freedom * whole[1]:
        return Variances(total, 0.0, float(freedom))
    seen = (freedom * together - alone[1] * squares) / determinant
    seen = float(np.clip(seen, 0.0, squares / common[0]))
    sure = max(common[1] / whole[1] * eyes.n_pairs, 1.0)
    return Variances(max(squares - seen * common[0], 0.0) / freedom, seen, sure)


def _squares(eyes: Eyes, columns: Floats) -> tuple[float, float]:
    """Return the sums of squares of scores, and of pairs, of a column on average."""
    together = eyes.of(columns)
    return float((columns**2).sum(axis=0).mean()), float((together**2).sum(axis=0).mean())
