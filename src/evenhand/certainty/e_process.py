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
docs/research/certainty.md has the proof, and how stages add up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from evenhand.arrays import Floats
from evenhand.certainty._evidence import log_evidence
from evenhand.errors import InputError
from evenhand.numerics.intervals import first_beyond

_EFFECTS = 30  # points of a prior
_BELOW, _ABOVE = 4.0, 3.0  # spreads that it reaches to both sides of its centre
_LEAST = 0.05  # the least effect that counts, in spreads
_MOST = 1e4  # the largest, in units of the noise: squares of larger ones would be rounding
_MANY = 10_000  # rows of which fewer effects are weighed, for speed; any prior is valid


@dataclass(frozen=True, eq=False)
class StageReading:
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

    def prior(
        self, above: Floats | float = 0.0, freedom: float = math.inf
    ) -> tuple[Floats, Floats]:
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


def interval(stages: Sequence[StageReading], failure: float) -> tuple[Floats, Floats, Floats]:
    """Return (n,) estimates and ends of intervals for the rows of stages, each of which alone holds
    at all times with probability 1 − ``failure``.
    """
    # It has the numbers μ for which the product of E over the stages is below 1/failure.
    n, rows = len(stages[0].estimates), StageReading.joined(stages)
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


def certainty_entropy(confidence: float) -> float:
    """Return kl(δ, 1 − δ) for δ = 1 − ``confidence``: what certainty takes, in units of T*."""
    delta = 1.0 - confidence
    if not 0.0 < delta < 1.0:
        raise InputError(f"confidence must lie in (0, 1); got {confidence!r}.")
    return 0.0 if delta >= 0.5 else (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
