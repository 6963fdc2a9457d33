"""Residuals of one fit, in equal units, and the effects that the fit took off.

Notation
--------
e, h        residuals of least squares, and hat values: var e = (1 − h) σ²
x           |e|/√(1 − h), which are equally noisy
d           residual of a row by the fit without it: e/(1 − h), so that x = |d| √(1 − h)

A factor is among the effects of the fit just if residuals sum to 0 over each of its names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, sums_over

_ROUNDS = 50  # of taking effects off, one after another
_NOTHING = 1e-5  # of what a sum could be, at which it is rounding
_FREE = 1e-6  # 1 − h below which a score has an effect of its own


@dataclass(frozen=True, eq=False)
class Residuals:
    """(n,) residuals and hat values of scores, and degrees of freedom."""

    scores: Scores
    e: Floats
    h: Floats
    freedom: float

    @cached_property
    def x(self) -> Floats:
        """(n,) sizes of residuals in equal units; 0 where the fit leaves nothing."""
        free = 1.0 - self.h
        x = np.zeros(len(self.e))
        np.divide(np.abs(self.e), np.sqrt(np.maximum(free, _FREE)), out=x, where=free > _FREE)
        return x

    @cached_property
    def noise(self) -> float:
        """The standard deviation; 0 where that is rounding, or there are no degrees of freedom."""
        size = float(np.abs(self.scores.centred).max(initial=0.0))
        s = float(np.sqrt(self.e @ self.e / self.freedom)) if self.freedom >= 1.0 else 0.0
        return s if s > 1e-9 * size else 0.0

    @cached_property
    def two_valued(self) -> bool:
        """Whether there are but two scores, as in votes: their noise follows from their mean."""
        y = self.scores.score
        return bool(((y == y.min()) | (y == y.max())).all())

    @cached_property
    def effects(self) -> list[Codes]:
        """The factors, as codes, that the fit took off."""
        s, total = self.scores, float(np.abs(self.e).sum())
        parts = [one.codes for one in (s.option, s.item, s.evaluator) if one is not None]

        def absorbed(codes: Codes) -> bool:
            sums = sums_over(codes, int(codes.max()) + 1, self.e)
            return float(np.abs(sums).sum()) <= _NOTHING * total

        cells = [codes for codes in (s.scored[0], s.chairs[0]) if absorbed(codes)]
        return cells if len(cells) == 2 else [codes for codes in parts if absorbed(codes)]

    def without(self, rows: Indices) -> Residuals:
        """Return the residuals of a fit that leaves some rows out; theirs, too, by that fit."""
        kept = np.ones(len(self.e))
        kept[rows] = 0.0
        found = Residuals(self.scores, swept(self.e, self.effects, kept), self.h, self.freedom)
        found.x[rows] *= 1.0 - self.h[rows]  # there, e is d
        return found


def swept(values: Floats, factors: list[Codes], weight: Floats | None = None) -> Floats:
    """Return (n,) values less additive effects of some factors, by weighted least squares."""
    left = np.array(values, dtype=np.float64)
    weight = np.ones(len(left)) if weight is None else weight
    counts = [np.maximum(np.bincount(codes, weight), 1e-300) for codes in factors]
    size = float(np.abs(left).max(initial=0.0))
    for _ in range(_ROUNDS):
        moved = 0.0
        for codes, n in zip(factors, counts, strict=True):
            means = np.bincount(codes, weight * left) / n
            left -= means[codes]
            moved = max(moved, float(np.abs(means).max()))
        if moved <= _NOTHING * size:
            break
    return left
