"""The winner test, by its definition (docs/people.md has the proof).

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
from scipy import special

from evenhand.arrays import Floats

_TOGETHER = 1e-12  # correlation from which on one lead bounds another
_LEAST = 1e-280  # of a probability, below which its logarithm comes from a series


@dataclass(frozen=True, eq=False)
class Winner:
    """An option that leads, and by how much.

    Parameters
    ----------
    leads, factor
        (n,) L, and (n, r) B with S = BBᵀ.
    scatter, freedom
        R and ν.

    Examples
    --------
    Of two options one leads anyway: a lead of two deviations has the chance 2·Φ(−2).

    >>> round(float(Winner(np.array([2.0]), np.eye(1), 0.0, math.inf).chances(0.0)[0]), 4)
    0.0455
    """

    leads: Floats
    factor: Floats
    scatter: float
    freedom: float

    @property
    def silent(self) -> bool:
        """Whether nothing is known of the noise."""
        return self.freedom < 1.0 or (math.isfinite(self.freedom) and self.scatter <= 0.0)

    @cached_property
    def variances(self) -> Floats:
        """(n,) the diagonal of S."""
        return np.asarray((self.factor**2).sum(axis=1))

    def chances(self, null: Floats | float, *, upper: bool = False) -> Floats:
        """Return (n,) p_j(``null``), or 1 − p_j; 1 where nothing is known of the noise."""
        if self.silent:
            return np.ones(len(self.leads))
        return np.exp(self._logs(np.broadcast_to(null, self.leads.shape), upper))

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

    def _logs(self, null: Floats, upper: bool) -> Floats:
        """Return the log of p_j, or of 1 − p_j."""
        roots = np.sqrt(np.maximum(self.variances, 1e-300))
        x, a, b = ((end - null) / roots for end in (self.leads, *self._rooms))
        if math.isfinite(self.freedom):
            x, a, b = (_student(z, x, self.scatter, self.freedom) for z in (x, a, b))
        whole = _log_mass(a, b, self.freedom)
        part = _log_mass(a, x, self.freedom) if upper else _log_mass(x, b, self.freedom)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(whole), np.minimum(part - whole, 0.0), 0.0)


def _student(z: Floats, x: Floats, scatter: float, freedom: float) -> Floats:
    """Return Student's variable at z, where Q = R + x²: √ν z/√(Q − z²), infinite beyond √Q."""
    far = np.isinf(z)
    safe = np.where(far, 0.0, z)
    rest = scatter + (np.abs(x) - np.abs(safe)) * (np.abs(x) + np.abs(safe))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = math.sqrt(freedom) * safe / np.sqrt(np.maximum(rest, 0.0))
    beyond = far | (rest <= 0.0)
    return np.where(beyond, np.copysign(np.inf, z), t)


def _log_mass(a: Floats, b: Floats, freedom: float) -> Floats:
    """Return the log of the probability between a and b, normal or Student's."""
    left = b <= 0.0  # to the left of 0 the same as to its right
    near, far = np.where(left, -b, a), np.where(left, -a, b)
    tails = [_log_tail(np.abs(end), freedom) for end in (near, far)]
    with np.errstate(divide="ignore", invalid="ignore"):
        beside = tails[0] + np.log1p(-np.exp(np.minimum(tails[1] - tails[0], 0.0)))
        across = np.log1p(-np.minimum(np.exp(tails[0]) + np.exp(tails[1]), 1.0))
    beside = np.where(np.isneginf(tails[0]), -np.inf, beside)
    return np.where((near < 0.0) & (far > 0.0), across, beside)


def _log_tail(t: Floats, freedom: float) -> Floats:
    """Return the log of the probability of more than t ≥ 0."""
    if math.isinf(freedom):
        return np.asarray(special.log_ndtr(-t))
    tail = special.stdtr(freedom, -t)
    with np.errstate(divide="ignore"):
        logs = np.log(tail)
        # I_f(a, ½) = f^a √(1 − f) ₂F₁(a + ½, 1; a + 1; f)/(a B(a, ½)) with f = ν/(ν + t²), a = ν/2
        small = (tail < _LEAST) & np.isfinite(t)
        f, half = freedom / (freedom + t[small] ** 2), 0.5 * freedom
        series = np.log(special.hyp2f1(half + 0.5, 1.0, half + 1.0, f)) + 0.5 * np.log1p(-f)
        scale = math.log(2.0 * half) + float(special.betaln(half, 0.5))
        logs[small] = half * np.log(f) + series - scale
    return np.asarray(logs)
