"""Evidence from stages whose design was frozen before their data.

Notation
--------
c       direction of the parameter θ, such as (i − x; 0) for the lead of i over x
n, V    evaluations of a stage so far, and V = Σ a aᵀ over them
μ       a number that c·θ is compared with;  β = c·θ̂ − μ, θ̂ least squares on this stage alone
J = 1/cᵀV⁻¹c (0 while the stage says nothing of c),  S = Jβ
R, ν    sum of squares about the fit, and its degrees of freedom n − rank V
η       an effect (c·θ − μ)/σ, with a prior π that was frozen with the design
ρ       a χ variable with ν + 1 degrees of freedom

In coordinates that take out all of θ but c·θ, the stage is independent z_j ~ N((c·θ − μ)v_j, σ²)
with J = Σv_j², S = Σv_j z_j and q = Σz_j² = R + Jβ²: evaluations add terms to these sums, and
change none. So at c·θ = μ the likelihood ratio of an effect η is a martingale of mean one,

    M = exp(ηS/σ − η²J/2)                       where σ is known, and
    M = exp(−η²J/2) E_ρ[exp(ρ ηS/√q)]           where it is not: σ is integrated out by dσ/σ.

The second is the likelihood ratio of z/|z|, whose distribution does not depend on σ. E = Σ π(η)M is
such a martingale as well. With η ≥ 0 it can only be less where c·θ < μ: adding (μ − c·θ)v to z
turns it towards v at all times, which raises M, and gives it the distribution at c·θ = μ.
docs/certainty.md has the proof, and how stages add up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from evenhand.arrays import Floats
from evenhand.certainty._evidence import log_evidence
from evenhand.errors import InputError

_EFFECTS = 30  # points of a prior
_BELOW, _ABOVE = 4.0, 3.0  # spreads that it reaches to both sides of its centre
_LEAST = 0.05  # the least effect that counts, in spreads
_MOST = 1e4  # the largest, in units of the noise: squares of larger ones would be rounding
_MANY = 10_000  # rows of which fewer effects are weighed, for speed; any prior is valid
_WIDENINGS, _ROUNDS = 10, 60  # of a search for the end of an interval, at most
_EXACT = 1e-9  # share of its distance from the start that the end is known to
_TUNED = 0.15  # a mixture of prior precision 0.15 J is narrowest about the information J


@dataclass(frozen=True, eq=False)
class Reading:
    """What a stage says about directions, (n,) each, and what was expected of them before; in units
    of the noise where that is known.
    """

    estimates: Floats  # c·θ̂
    information: Floats  # J
    scatter: Floats  # R
    freedom: Floats  # ν; infinite where the noise is known
    centres: Floats  # what was expected of c·θ when the stage was frozen,
    spreads: Floats  # and its standard deviation over σ
    units: Floats  # what the noise was taken to be then; 1 where it is known

    @classmethod
    def joined(cls, readings: Sequence[Self]) -> Self:
        """Return one reading with the rows of all of them."""
        return cls(
            *(np.concatenate([getattr(r, part.name) for r in readings]) for part in fields(cls))
        )

    def prior(self, above: float = 0.0, freedom: float = math.inf) -> tuple[Floats, Floats]:
        """Return effects c·θ − ``above`` > 0, in units of the noise, and their log weights."""
        # ``freedom`` are the degrees of freedom that the units were estimated with: with few of
        # them the noise may be much louder, and all effects much smaller.
        effects = (self.centres - above) / self.units
        return one_sided(effects, np.sqrt(self.spreads**2 + 2.0 * effects**2 / freedom))

    def evidence(self, prior: tuple[Floats, Floats], null: Floats | float = 0.0) -> Floats:
        """Return (n,) log E against c·θ = ``null``; or less, if the prior has no effects < 0."""
        beta = self.estimates - null
        out = np.empty(len(beta))
        q = self.scatter + self.information * beta**2
        log_evidence(self.information * beta, self.information, q, self.freedom, *prior, out)
        return out

    def against_equality(self, null: Floats) -> Floats:
        """Return (n,) log E against c·θ = ``null``, for effects on both sides."""
        if np.isinf(self.freedom).all():
            J, grown = self.information, 1.0 + self.information * self.spreads**2
            off = (self.estimates - self.centres) ** 2 / grown
            return np.asarray(0.5 * (J * ((self.estimates - null) ** 2 - off) - np.log(grown)))
        nodes, weights = _normal(15 if len(self.estimates) < _MANY else 5)
        centres = np.clip((self.centres - null) / self.units, -_MOST, _MOST)
        effects = centres[:, None] + np.minimum(self.spreads, _MOST)[:, None] * nodes
        return self.evidence((effects, np.tile(np.log(weights), (len(effects), 1))), null)


@functools.cache
def _normal(n: int) -> tuple[Floats, Floats]:
    """Return n points and weights that stand for the normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def one_sided(centres: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    """Return (n, 30) effects above 0 and their log weights: normal at the centres, times 1/η."""
    spreads = np.where(spreads > 0.0, spreads, 1.0)  # of no direction at all, which tests nothing
    centres, spreads = np.clip(centres, -_MOST, _MOST), np.minimum(spreads, _MOST)
    low = np.maximum(_LEAST * spreads, centres - _BELOW * spreads)
    high = np.maximum(np.maximum(centres, 0.0) + _ABOVE * spreads, 2.0 * low)
    effects = low[:, None] * (high / low)[:, None] ** np.linspace(0.0, 1.0, _EFFECTS)
    squares = ((effects - centres[:, None]) / spreads[:, None]) ** 2  # log-spaced: 1/η is there
    weights = np.exp(-0.5 * (squares - squares.min(axis=1)[:, None])) + 1e-300
    return effects, np.log(weights / weights.sum(axis=1)[:, None])


def interval(stages: Sequence[Reading], failure: float) -> tuple[Floats, Floats, Floats]:
    """Return (n,) estimates and ends of intervals for the rows of stages, each of which alone holds
    at all times with probability 1 − ``failure``.
    """
    # It has the numbers μ for which the product of E over the stages is below 1/failure.
    n, rows = len(stages[0].estimates), Reading.joined(stages)
    J = rows.information.reshape(-1, n)
    total = J.sum(axis=0)
    known = total > 0.0
    middle = (J * rows.estimates.reshape(-1, n)).sum(axis=0) / np.where(known, total, 1.0)
    level = math.log(1.0 / failure)

    def beyond(null: Floats) -> Floats:
        evidence = rows.against_equality(np.tile(null, len(stages))).reshape(-1, n)
        return np.asarray(np.where(known, evidence.sum(axis=0) - level, 0.0))

    step = math.sqrt(2.0 * level) * rows.units.max() / np.sqrt(np.where(known, total, 1.0))
    low, high = (first_beyond(beyond, middle, side * step) for side in (-1.0, 1.0))
    return (
        np.where(known, middle, np.nan),
        np.where(known, low, -np.inf),
        np.where(known, high, np.inf),
    )


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
    # With the prior N(0, τ²) for η, τ² = 1/(0.15 plan), and t = Jτ², E is exp(Jβ²t/2(1+t))/√(1+t)
    # where the noise is known, and ((R + Jβ²)/(R + Jβ²/(1+t)))^{(ν+1)/2}/√(1+t) where it is not.
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


def certainty_entropy(confidence: float) -> float:
    """Return kl(δ, 1 − δ) for δ = 1 − ``confidence``: what certainty takes, in units of T*."""
    delta = 1.0 - confidence
    if not 0.0 < delta < 1.0:
        raise InputError(f"confidence must lie in (0, 1); got {confidence!r}.")
    return 0.0 if delta >= 0.5 else (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
