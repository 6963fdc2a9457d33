"""Evidence of a plan that was frozen before its scores, by direct formulas.

Notation
--------
β, J, R, ν      of one direction: estimate less what it is compared with, 1/variance, scatter and
                its degrees of freedom by the scores of the plan alone;  q = R + Jβ²
η, π            effects (c·θ − μ)/σ and their prior probabilities, frozen with the plan
M(η)            exp(ηJβ − η²J/2) where σ = 1 is known; else exp(−η²J/2) E[exp(ρ ηJβ/√q)], ρ of the χ
                distribution with ν + 1 degrees of freedom

docs/research/certainty.md proves that Σ π(η) M(η) is evidence. E[exp(ρy)] is an integral over
u = log ρ of exp((ν + 1)u − e²ᵘ/2 + y eᵘ), worked out by the trapezoidal rule, which is as good as
exact for integrands that fall off so fast. The policies have a lower bound of it instead: what
they state must hold by the evidence here, and does so with a little to spare.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.campaigns.proof.squares import Fit, Spread, Truths

_POINTS = 161  # of the trapezoidal rule
_NOTHING = 36.0  # by how many powers of e the integrand falls before it is left out
_TERMS = 2_000_000  # numbers at once
_ROUNDING = 1e-14  # share of all squares below which what is left of them is rounding
_EFFECTS, _MOST = 30, 1e4  # of a one-sided prior, and the largest effect of any
_MANY = 10_000  # rows of which a two-sided prior has five points instead of fifteen
_TUNED = 0.15  # precision of a mixture that is narrowest about the planned information, over it


def log_moment(nu: Floats, y: Floats) -> Floats:
    """Return log E[exp(ρy)] for ρ of the χ distribution with ν + 1 degrees of freedom."""
    nu, y = np.broadcast_arrays(np.asarray(nu, dtype=np.float64), np.asarray(y, dtype=np.float64))
    n, x, out = nu.reshape(-1) + 1.0, y.reshape(-1), np.empty(y.size)
    for some in np.array_split(np.arange(x.size), x.size * _POINTS // _TERMS + 1):
        out[some] = _log_integral(n[some], x[some])
    out -= (0.5 * n - 1.0) * math.log(2.0) + special.gammaln(0.5 * n)
    return out.reshape(y.shape)


def _log_integral(n: Floats, y: Floats) -> Floats:
    """Return log ∫ρⁿ⁻¹ exp(−ρ²/2 + ρy)dρ."""
    root = np.sqrt(y * y + 4.0 * n)
    mode = np.where(y >= 0.0, 0.5 * (y + root), 2.0 * n / (root - np.minimum(y, 0.0)))
    width = 1.0 / np.sqrt(mode**2 + n)  # of the integrand about its mode, in u
    left = 9.0 * width
    for _ in range(4):  # its left tail may be as long as that of exp(nu)
        off = mode * np.expm1(-left)
        fall = n * left + off * (n / mode + 0.5 * off)
        left = np.where(fall < _NOTHING, 1.5 * left, left)
    across = left + 9.0 * width
    v = across[:, None] * np.linspace(0.0, 1.0, _POINTS) - left[:, None]  # u less its mode
    off = mode[:, None] * np.expm1(v)  # ρ less its mode, which is y + n/mode
    terms = n[:, None] * v - off * ((n / mode)[:, None] + 0.5 * off)
    most = n * np.log(mode) + 0.5 * mode**2 - n
    return np.asarray(most + np.log(np.exp(terms).sum(axis=1) * across / (_POINTS - 1)))


class Reading(NamedTuple):
    """What the scores of a plan say of directions."""

    estimates: Floats  # (n,) c·θ̂
    information: Floats  # (n,) J; 0 where they say nothing
    scatter: float  # R
    freedom: float  # ν; infinite where the noise is known

    @classmethod
    def of(cls, fit: Fit, said: Spread, heard: Truths) -> Reading:
        """Return what a fit says of directions, of those that were `heard` of before it."""
        # Nothing where scores are so much alike that estimate and residuals are rounding: with a
        # noise of exactly 0, rounding would be evidence.
        known = np.isfinite(said.variances) & (said.variances > 0.0) & heard
        J = np.where(known, 1.0 / np.where(known, said.variances, 1.0), 0.0)
        if math.isfinite(fit.freedom):
            J[fit.scatter + J * said.estimates**2 <= _ROUNDING * fit.size] = 0.0
        return cls(said.estimates, J, fit.scatter, fit.freedom)

    def evidence(self, null: Floats | float, effects: Floats, logs: Floats) -> Floats:
        """Return (n,) log Σ π(η) M(η) against c·θ = ``null``; 0 where nothing is said."""
        some = self.information > 0.0
        out, J = np.zeros(len(some)), self.information[some, None]
        beta = (self.estimates - null)[some, None]
        effects, terms = effects[some], logs[some] - 0.5 * effects[some] ** 2 * J
        if math.isinf(self.freedom):
            terms += effects * J * beta
        else:
            q = np.maximum(self.scatter + J * beta**2, 1e-300)
            terms += log_moment(np.full((1, 1), self.freedom), effects * J * beta / np.sqrt(q))
        out[some] = special.logsumexp(terms, axis=1)
        return out

    def mixed(self, null: Floats, planned: Floats) -> Floats:
        """Return (n,) log evidence against c·θ = `null` by a design that is never changed."""
        # The prior of η is normal about 0 with precision 0.15 of the planned information; t = J
        # over that. It is ½Jβ²t/(1 + t) − ½log(1 + t), or with unknown noise
        # ½(ν + 1) log((R + Jβ²)/(R + Jβ²/(1 + t))) − ½log(1 + t).
        t, square = self.information / (_TUNED * planned), (self.estimates - null) ** 2
        square = self.information * square
        if math.isinf(self.freedom):
            return np.asarray(0.5 * square * t / (1.0 + t) - 0.5 * np.log1p(t))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log((self.scatter + square) / (self.scatter + square / (1.0 + t)))
        return np.asarray(0.5 * (self.freedom + 1.0) * np.nan_to_num(ratio) - 0.5 * np.log1p(t))


def one_sided(
    centres: Floats, variances: Floats, unit: float, heard: float, above: Floats | float
) -> tuple[Floats, Floats]:
    """Return (n, 30) effects > 0 and their log probabilities: the prior of `CertainChoice`."""
    # Normal about what was expected (of c·θ − `above`, over the noise), times 1/η: thirty effects
    # from the larger of 0.05 deviations and 4 below the centre to 3 above it, evenly in log η. The
    # deviation allows for a noise that was heard on few degrees of freedom. Neither is more than
    # 10⁴.
    g = (centres - above) / unit
    known = (variances > 0.0) & np.isfinite(variances)
    s = np.sqrt(np.where(known, variances, 1.0) + 2.0 * g**2 / max(1.0, heard))
    g, s = np.clip(g, -_MOST, _MOST), np.minimum(s, _MOST)
    low = np.maximum(0.05 * s, g - 4.0 * s)
    high = np.maximum(np.maximum(g, 0.0) + 3.0 * s, 2.0 * low)
    share = np.arange(_EFFECTS) / (_EFFECTS - 1.0)
    effects = np.exp(np.log(low)[:, None] + np.log(high / low)[:, None] * share)
    logs = -0.5 * ((effects - g[:, None]) / s[:, None]) ** 2
    return effects, logs - special.logsumexp(logs, axis=1, keepdims=True)


def against_equality(plans: list[tuple[Reading, Spread, float]], null: Floats) -> Floats:
    """Return (n,) log evidence of plans together against c·θ = `null`, on both sides."""
    # A plan is what its scores say, what was expected of c·θ before it, and the noise that was
    # assumed. The prior is normal about what was expected: as it is where the noise is known, else
    # in fifteen points (five where there are ten thousand rows), those of Gauss and Hermite.
    total = np.zeros(len(null))
    nodes, weights = np.polynomial.hermite_e.hermegauss(15 if len(plans) * len(null) < _MANY else 5)
    for said, expected, unit in plans:
        J, centre = said.information, expected.estimates
        square = np.where(J > 0.0, expected.variances, 1.0)
        if math.isinf(said.freedom):
            grown = 1.0 + J * square
            off = (said.estimates - centre) ** 2 / grown
            total += 0.5 * (J * ((said.estimates - null) ** 2 - off) - np.log(grown))
        else:
            middle = np.clip((centre - null) / unit, -_MOST, _MOST)
            effects = middle[:, None] + np.minimum(np.sqrt(square), _MOST)[:, None] * nodes
            logs = np.broadcast_to(np.log(weights / weights.sum()), effects.shape)
            total += said.evidence(null, effects, logs)
    return total
