"""Second routes to what `certainty` computes: formulas written out, that share no code with it.

`Fit` is least squares by a singular value decomposition; `with_own_noise` gives each option its own
noise by a hat matrix that is written out; `largest` integrates over the estimated noise;
`against_equality` has evidence by the trapezoidal rule. docs/research has the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import integrate, optimize, special

from evenhand.arrays import Floats, Indices

_RANK = 1e-10  # singular values above this share of the largest count
_POINTS, _NOTHING = 161, 36.0  # of the trapezoidal rule, and by how much its integrand falls
_SHOWN, _LEAST = 0.1, 0.5  # when an own variance counts,
_QUIET, _QUIETEST = 0.05, 1e-4  # and as how much at least: of S/t, of s²


class Spread(NamedTuple):
    """Estimates and variances per unit of noise, (n,) each."""

    estimates: Floats
    variances: Floats


# ---------------------------------------------------------------------- least squares

# A (s, m) rows of the questions that were answered, n, ȳ, w (s,) how often, the mean score and the
# squares about it:  √N A = U S Wᵀ,  R = W S⁻¹,  θ̂ = R Uᵀ √N ȳ,  scatter = Σ w + Σ n (ȳ − Aθ̂)²


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares on scores whose noise is not known."""

    theta: Floats  # (m,) θ̂
    root: Floats  # (m, r) R
    scatter: float
    freedom: float

    @classmethod
    def of(cls, rows: Floats, counts: Floats, means: Floats, within: Floats) -> Fit:
        """Fit scores of questions with rows, (q, m)."""
        (used,) = np.nonzero(counts)
        n, y, A = counts[used], means[used], rows[used]
        U, S, Wt = np.linalg.svd(np.sqrt(n)[:, None] * A, full_matrices=False)
        kept = S.max(initial=0.0) * _RANK < S
        root = Wt[kept].T / S[kept]
        theta = root @ (U[:, kept].T @ (np.sqrt(n) * y))
        scatter = float(n @ (y - A @ theta) ** 2) + float(within.sum())
        return cls(theta, root, scatter, float(counts.sum() - root.shape[1]))

    def factor(self, rows: Floats) -> Floats:
        """Return (n, r) B with BBᵀ the covariance of what rows, (n, m), come to."""
        return np.asarray(rows @ self.root)

    def of_rows(self, rows: Floats) -> Spread:
        """Return what rows, (n, m), come to."""
        return Spread(rows @ self.theta, (self.factor(rows) ** 2).sum(axis=1))


# ---------------------------------------------------------------------- own noise (one_look.md)

# H, M = 1 − H: the hat matrix of what was answered;  S, t, q (g,) of the scores about
# the same: Σ e², Σ M_ii, Σ M_ij² over single scores;  d = t²/q;  D (g,) degrees of freedom of σ̃²


def with_own_noise(
    rows: Floats, counts: Floats, means: Floats, within: Floats, about: Indices
) -> Fit:
    """Return a fit with the noise of what questions are about, (q,), in variances of estimates."""
    fit = Fit.of(rows, counts, means, within)
    (used,) = np.nonzero(counts)
    n, groups = counts[used], np.eye(int(about.max()) + 1)[about[used]]  # (s, g)
    reach = np.sqrt(n)[:, None] * fit.factor(rows[used])
    H = reach @ reach.T
    left = np.sqrt(n) * (means[used] - rows[used] @ fit.theta)
    S = groups.T @ (left**2 + within[used])
    t = groups.T @ (n - np.diagonal(H))
    q = np.einsum("ig,ij,jg->g", groups, H**2, groups) + groups.T @ (n - 2.0 * np.diagonal(H))
    variances, freedom = _variances(S, t, np.maximum(q, 0.0))
    size, axes = np.linalg.eigh(reach.T @ ((groups @ variances)[:, None] * reach))
    root = fit.root @ (axes * np.sqrt(np.maximum(size, 0.0)))
    return replace(fit, root=root, scatter=freedom, freedom=freedom)


def _variances(S: Floats, t: Floats, q: Floats) -> tuple[Floats, float]:
    """Return (g,) σ̃², and how many degrees of freedom the least known has."""
    nu = float(round(t.sum()))  # scores less parameters
    pooled, own = float(S.sum()) / nu, np.full(len(t), math.nan)
    for o in range(len(t)):
        rest = nu - t[o]
        if t[o] < _LEAST or rest < _LEAST:
            continue
        # S_o = q x + (t − q)(ν s² − t x)/(ν − t), solved for the variance x
        slope = q[o] - max(t[o] - q[o], 0.0) * t[o] / rest
        if slope > _SHOWN * q[o]:
            own[o] = (S[o] - max(t[o] - q[o], 0.0) * nu * pooled / rest) / slope
    shown = ~np.isnan(own)
    if shown.sum() < 2:
        return np.full(len(t), pooled), nu
    d = np.where(shown, t**2 / np.maximum(q, 1e-300), 0.0)
    least = np.maximum(_QUIET * S[shown] / t[shown], _QUIETEST * pooled)
    x = np.log(np.maximum(own[shown], least)) - special.digamma(d[shown] / 2)
    x = x + np.log(d[shown] / 2)
    excess = float(np.var(x, ddof=1) - special.polygamma(1, d[shown] / 2).mean())
    own = np.where(shown, own, 0.0)
    if excess <= 0.0:
        return np.maximum(own, pooled), nu
    log_half = optimize.brentq(
        lambda u: math.log(special.polygamma(1, math.exp(u)) / excess), -350.0, 350.0, xtol=1e-13
    )
    half = math.exp(log_half)
    general = math.exp(float(x.mean()) + special.digamma(half) - log_half)
    drawn = (2.0 * half * general + d * np.maximum(own, 0.0)) / (2.0 * half + d)
    return np.maximum(own, drawn), min(nu, 2.0 * half + float(d.min()))


# ---------------------------------------------------------------------- leads over one option


def largest(n: int, nu: float, failure: float) -> float:
    """Return what the noise of n leads over one option, in errors, exceeds so rarely."""
    # E min(1, n·P(Z > cq)) = `failure`, by integration over q, where νq² is χ² of ν.
    ends = [-float(special.ndtri(x)) for x in (failure / n, min(1.0 / n, 0.5))]
    if math.isinf(nu):
        return ends[0]
    log_scale = 0.5 * nu * math.log(0.5 * nu) - math.lgamma(0.5 * nu) + math.log(2.0)

    def density(q: float) -> float:
        return math.exp(log_scale + (nu - 1.0) * math.log(q) - 0.5 * nu * q * q) if q else 0.0

    def chance(c: float) -> float:
        edge, far = ends[1] / c, 1.0 + 12.0 / math.sqrt(nu)
        sure = float(special.chdtr(nu, nu * edge * edge))
        rest = integrate.quad(
            lambda q: n * float(special.ndtr(-c * q)) * density(q),
            min(edge, far), far, epsabs=1e-12, epsrel=1e-9, limit=200,
        )[0]  # fmt: skip
        return sure + rest - failure

    student = [-float(special.stdtrit(nu, x)) for x in (failure, failure / n)]
    if n <= 2 or chance(student[1]) >= 0.0:
        return student[1]
    return float(optimize.brentq(chance, student[0], student[1], xtol=1e-10))


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
