"""Second routes to what `certainty` computes: formulas written out, that share no code with it.

`against_equality` has evidence by the trapezoidal rule. docs/research has the formulas.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats

_POINTS, _NOTHING = 161, 36.0  # of the trapezoidal rule, and by how much its integrand falls
_SHOWN, _LEAST = 0.1, 0.5  # when an own variance counts,
_QUIET, _QUIETEST = 0.05, 1e-4  # and as how much at least: of S/t, of s²


# ---------------------------------------------------------------------- evidence (certainty.md)


def log_moment(nu: float, y: Floats) -> Floats:
    """Return log E[exp(ρy)] for ρ of the χ distribution with ν + 1 degrees of freedom."""
    # the integral over u = log ρ of exp((ν + 1)u − e²ᵘ/2 + y eᵘ)
    n, shape = nu + 1.0, y.shape
    y = y.reshape(-1)
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
    terms = n * v - off * ((n / mode)[:, None] + 0.5 * off)
    most = n * np.log(mode) + 0.5 * mode**2 - n
    logs = most + np.log(np.exp(terms).sum(axis=1) * across / (_POINTS - 1))
    return np.asarray(logs - (0.5 * n - 1.0) * math.log(2.0) - math.lgamma(0.5 * n)).reshape(shape)


class Reading(NamedTuple):
    """What the scores of a plan say of directions, and what was expected of them before it."""

    estimates: Floats  # (n,) c·θ̂
    information: Floats  # (n,) 1/variance
    scatter: float
    freedom: float  # infinite where the noise is known
    centre: Floats  # (n,) expected
    spread: Floats  # (n,) its deviation
    unit: float  # the noise that was assumed


def against_equality(plans: list[Reading], null: Floats) -> Floats:
    """Return (n,) log evidence of plans together against c·θ = `null`, on both sides."""
    total = np.zeros(len(null))
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    for beta, J, scatter, freedom, centre, spread, unit in plans:
        if math.isinf(freedom):
            grown = 1.0 + J * spread**2
            off = (beta - centre) ** 2 / grown
            total += 0.5 * (J * ((beta - null) ** 2 - off) - np.log(grown))
        else:
            effects = ((centre - null) / unit)[:, None] + spread[:, None] * nodes
            lead, J_ = (beta - null)[:, None], J[:, None]
            ratio = effects * J_ * lead / np.sqrt(scatter + J_ * lead**2)
            terms = np.log(weights / weights.sum()) - 0.5 * effects**2 * J_
            total += special.logsumexp(terms + log_moment(freedom, ratio), axis=1)
    return total
