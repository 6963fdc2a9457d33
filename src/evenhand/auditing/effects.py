"""Two-way effects: scores less what is scored and who scores explain.

Notation
--------
o, c        what is scored (`Scores.scored`), and the evaluator at an event (`Scores.chairs`)
p           (n,) partiality;  S̃, ỹ: partiality and scores less the effects of o and c
β           S̃·ỹ/S̃·S̃, by how much scores rise with partiality;  e = ỹ − β S̃

Least squares with a column for every o and c gives the same β (Frisch, Waugh, Lovell), and nobody
writes these columns down: means of o and of c are taken off in turn until none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores import Scores
from evenhand.scores.factor import Codes

_MOST_PASSES = 10_000
_LEFT = 1e-12  # of the largest value, when nothing is left of means


@dataclass(frozen=True, eq=False)
class Effects:
    """Scores and partiality less what options and evaluators explain, and the bias in them.

    Parameters
    ----------
    scores
        The scores.
    own
        (n,) S̃.
    residual
        (n,) e.
    bias
        β.
    information
        S̃·S̃.
    freedom
        Degrees of freedom of the residuals.
    """

    scores: Scores
    own: Floats
    residual: Floats
    bias: float
    information: float
    freedom: int

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals."""
        return float(np.sqrt(self.residual @ self.residual / self.freedom))


def two_way(scores: Scores) -> Effects:
    """Return the effects of options and evaluators, and the bias beside them."""
    if scores.partial is None:
        raise InputError("who is partial to what is not known")
    (scored, n_scored), (chairs, n_chairs) = scores.scored, scores.chairs
    own, y = (_without(x, scored, chairs) for x in (scores.partial, scores.score))
    information = float(own @ own)
    bias = float(own @ y) / information
    meetings = sparse.coo_array(
        (np.ones(len(scores), dtype=np.bool_), (scored, n_scored + chairs)),
        shape=(n_scored + n_chairs,) * 2,
    )
    parts = sparse.csgraph.connected_components(meetings, directed=False)[0]
    freedom = len(scores) - (n_scored + n_chairs - parts) - 1
    return Effects(scores, own, y - bias * own, bias, information, freedom)


def _without(values: Floats, *factors: Codes) -> Floats:
    """Return values less the means of all factors."""
    left = values - values.mean()
    enough = _LEFT * np.abs(left).max()
    sizes = [np.maximum(np.bincount(codes), 1) for codes in factors]
    for _ in range(_MOST_PASSES):
        most = 0.0
        for codes, size in zip(factors, sizes, strict=True):
            means = np.bincount(codes, left) / size
            left -= means[codes]
            most = max(most, float(np.abs(means).max()))
        if most <= enough:
            return left
    raise InputError("the effects of options and evaluators did not settle")
