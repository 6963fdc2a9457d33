"""A number with its interval, and what intervals are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import special

from evenhand.arrays import Floats


@dataclass(frozen=True)
class Estimate:
    """A number with an interval that holds it with probability at least ``level``.

    Before anything is known the value is NaN and the interval is everything.

    Examples
    --------
    >>> Estimate(value=1.6, low=1.1, high=2.1, level=0.95).covers(1.585)
    True
    """

    value: float
    low: float
    high: float
    level: float

    def covers(self, truth: float) -> bool:
        """Tell whether the interval holds the given number."""
        return self.low <= truth <= self.high

    def __neg__(self) -> Self:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    @classmethod
    def without_interval(cls, value: float = math.nan, level: float = 0.0) -> Estimate:
        """Return a number that may be anything, or one of which nothing is known."""
        return Estimate(value, -math.inf, math.inf, level)


_WIDENINGS, _ROUNDS = 10, 60  # of a search for the end of an interval, at most
_EXACT = 1e-9  # share of its distance from the start that the end is known to
_TUNED = 0.15  # a mixture of prior precision 0.15 J is narrowest about the information J


def student_quantile(failure: float, freedom: float) -> float:
    """Return what Student's variable exceeds with a chance of ``failure``; see `student_tail`."""
    if math.isinf(freedom):
        return -float(special.ndtri(failure))
    return -float(special.stdtrit(freedom, failure))


def first_beyond(beyond: Callable[[Floats], Floats], start: Floats, step: Floats) -> Floats:
    """Return where ``beyond`` is at least 0, next to the first such place from ``start`` on;
    infinite if it was not reached.
    """
    # What is returned is on the far side, by a share of 1e-9 of the way, or of the first step, at
    # most.
    worth_inside = beyond(start)
    inside, outside = start.copy(), np.where(worth_inside < 0.0, start + step, start)
    worth_outside = beyond(outside)
    size, step = np.abs(step), step.copy()
    for _ in range(_WIDENINGS):
        short = worth_outside < 0.0
        if not short.any():
            break
        inside = np.where(short, outside, inside)
        worth_inside = np.where(short, worth_outside, worth_inside)
        step *= 4.0
        outside = np.where(short, outside + step, outside)
        worth_outside = np.where(short, beyond(outside), worth_outside)
    never = worth_outside < 0.0
    for i in range(_ROUNDS):
        close = np.abs(outside - inside) <= _EXACT * np.maximum(np.abs(outside - start), size)
        if (close | never).all():
            break
        share: Floats = np.full(len(start), 0.5)
        if i % 3:  # between chords, halves: neither end stays where it is for long
            with np.errstate(invalid="ignore"):  # both may be −∞: then halves have to do
                rise = worth_outside - worth_inside
            np.divide(worth_outside, rise, out=share, where=rise > 1e-9 * np.abs(worth_outside))
            share = np.clip(share, 0.01, 0.99)
        place = outside + share * (inside - outside)
        worth = beyond(place)
        far = worth >= 0.0
        inside, worth_inside = np.where(far, inside, place), np.where(far, worth_inside, worth)
        outside, worth_outside = np.where(far, place, outside), np.where(far, worth, worth_outside)
    return np.where(never, np.copysign(np.inf, step), outside)


def planned_interval(
    estimate: float, information: float, scatter: float, freedom: float, plan: float, failure: float
) -> tuple[float, float]:
    """Return the ends of an interval for c·θ from one design that is never changed; it holds at all
    times, and is narrowest about the planned information.
    """
    # `certainty.e_process` has the notation and the proof. With the prior N(0, τ²) for η,
    # τ² = 1/(0.15 plan), and t = Jτ², E is exp(Jβ²t/2(1+t))/√(1+t) where the noise is known, and
    # ((R + Jβ²)/(R + Jβ²/(1+t)))^{(ν+1)/2}/√(1+t) where it is not.
    if information <= 0.0:
        return -math.inf, math.inf
    t = information / (_TUNED * plan)
    odds = 2.0 * math.log(1.0 / failure) + math.log1p(t)
    if math.isinf(freedom):
        square = odds * (1.0 + t) / t
    else:
        grown = math.expm1(odds / (freedom + 1.0))
        room = 1.0 - (1.0 + grown) / (1.0 + t)
        square = math.inf if room <= 0.0 else scatter * grown / room
    width = math.sqrt(square / information)
    return estimate - width, estimate + width
