"""The winner test, by its definition (docs/research/one_look.md has the proof).

Notation
--------
L, S    (n,), (n, n)  leads ≥ 0 of the option that leads over all others, their covariance over σ²
lo, hi  (n,)    between what L_j must lie for the option to lead, given L_l − (S_lj/S_jj) L_j
R, ν            residual sum of squares and its degrees of freedom; infinite ν where σ = 1 is known
p_j(μ)          P(L_j ≤ X ≤ hi)/P(lo ≤ X ≤ hi), X normal of mean μ; or such that z = (X − μ)/√S_jj
                has a density proportional to (Q − z²)^(ν/2 − 1), Q = R + (L_j − μ)²/S_jj
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import integrate, optimize, special

from evenhand.arrays import Floats

_TOGETHER = 1e-12  # correlation from which on one lead bounds another
_LEAST = 1e-280  # of a probability, below which its logarithm comes from a series


@dataclass(frozen=True, eq=False)
class Winner:
    """An option that leads, and by how much."""

    leads: Floats  # (n,) L
    factor: Floats  # (n, r) B with S = BBᵀ
    scatter: Floats | float  # R, of all leads or (n,) of each
    freedom: Floats | float  # ν, likewise

    @property
    def silent(self) -> bool:
        """Whether nothing is known of the noise."""
        heard = np.isfinite(self.freedom) & (np.asarray(self.scatter) <= 0.0)
        return bool(np.any(np.asarray(self.freedom) < 1.0) or np.any(heard))

    @cached_property
    def variances(self) -> Floats:
        """(n,) the diagonal of S."""
        return np.asarray((self.factor**2).sum(axis=1))

    def chances(self, null: Floats | float) -> Floats:
        """Return (n,) p_j(``null``); 1 where nothing is known of the noise."""
        if self.silent:
            return np.ones(len(self.leads))
        return np.exp(self._logs(np.broadcast_to(null, self.leads.shape)))

    def away(self, null: Floats | float) -> Floats:
        """Return (n,) by how many errors leads are above ``null``."""
        return np.asarray((self.leads - null) / self.errors)

    def largest(self, failure: float) -> float:
        """Return what the noise of n leads over one option, in errors, exceeds so rarely."""
        # E min(1, n·P(Z > cq)) = `failure`, by integration over q, where νq² is χ² of ν.
        n, nu = len(self.leads), float(np.min(self.freedom))
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

    @cached_property
    def errors(self) -> Floats:
        """(n,) standard errors of the leads; infinite where nothing is known of the noise."""
        if self.silent:
            return np.full(len(self.leads), np.inf)
        unit = 1.0 if np.isinf(self.freedom).all() else self.scatter / self.freedom
        return np.sqrt(unit * np.maximum(self.variances, 1e-300))

    @cached_property
    def _rooms(self) -> tuple[Floats, Floats]:
        """(n,) lo and hi."""
        roots = np.sqrt(self.variances)
        down, up = np.full(len(roots), np.inf), np.full(len(roots), np.inf)
        for j, row in enumerate(self.factor):
            S = self.factor @ row
            like = S / np.maximum(roots * roots[j], 1e-300)
            with np.errstate(divide="ignore", invalid="ignore"):
                room = self.leads * self.variances[j] / np.abs(S)
            down[j] = room[like > _TOGETHER].min(initial=np.inf)
            up[j] = room[like < -_TOGETHER].min(initial=np.inf)
        return self.leads - down, self.leads + up

    def _logs(self, null: Floats) -> Floats:
        """Return the log of p_j."""
        roots = np.sqrt(np.maximum(self.variances, 1e-300))
        x, a, b = ((end - null) / roots for end in (self.leads, *self._rooms))
        nu = np.broadcast_to(self.freedom, x.shape)
        if np.isfinite(nu).all():
            x, a, b = (_student(z, x, self.scatter, nu) for z in (x, a, b))
        whole, part = _log_mass(a, b, nu), _log_mass(x, b, nu)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(whole), np.minimum(part - whole, 0.0), 0.0)


def _student(z: Floats, x: Floats, scatter: Floats | float, freedom: Floats) -> Floats:
    """Return Student's variable at z, where Q = R + x²: √ν z/√(Q − z²), infinite beyond √Q."""
    far = np.isinf(z)
    safe = np.where(far, 0.0, z)
    rest = scatter + (np.abs(x) - np.abs(safe)) * (np.abs(x) + np.abs(safe))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.sqrt(freedom) * safe / np.sqrt(np.maximum(rest, 0.0))
    beyond = far | (rest <= 0.0)
    return np.where(beyond, np.copysign(np.inf, z), t)


def _log_mass(a: Floats, b: Floats, freedom: Floats) -> Floats:
    """Return the log of the probability between a and b, normal or Student's."""
    left = b <= 0.0  # to the left of 0 the same as to its right
    near, far = np.where(left, -b, a), np.where(left, -a, b)
    tails = [_log_tail(np.abs(end), freedom) for end in (near, far)]
    with np.errstate(divide="ignore", invalid="ignore"):
        beside = tails[0] + np.log1p(-np.exp(np.minimum(tails[1] - tails[0], 0.0)))
        across = np.log1p(-np.minimum(np.exp(tails[0]) + np.exp(tails[1]), 1.0))
    beside = np.where(np.isneginf(tails[0]), -np.inf, beside)
    return np.where((near < 0.0) & (far > 0.0), across, beside)


def _log_tail(t: Floats, freedom: Floats) -> Floats:
    """Return the log of the probability of more than t ≥ 0."""
    if np.isinf(freedom).all():
        return np.asarray(special.log_ndtr(-t))
    tail = special.stdtr(freedom, -t)
    with np.errstate(divide="ignore"):
        logs = np.log(tail)
        # I_f(a, ½) = f^a √(1 − f) ₂F₁(a + ½, 1; a + 1; f)/(a B(a, ½)) with f = ν/(ν + t²), a = ν/2
        small = (tail < _LEAST) & np.isfinite(t)
        f, half = freedom[small] / (freedom[small] + t[small] ** 2), 0.5 * freedom[small]
        series = np.log(special.hyp2f1(half + 0.5, 1.0, half + 1.0, f)) + 0.5 * np.log1p(-f)
        scale = np.log(2.0 * half) + special.betaln(half, 0.5)
        logs[small] = half * np.log(f) + series - scale
    return np.asarray(logs)
