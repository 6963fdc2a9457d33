"""Evidence of a stage whose design was frozen before its answers, by direct formulas.

Notation
--------
β, J, R, ν      of one direction: estimate less what it is compared with, 1/variance, scatter and
                its degrees of freedom by the stage alone;  q = R + Jβ²
η, π            effects (c·θ − μ)/σ and their prior probabilities, frozen with the stage
M(η)            exp(ηJβ − η²J/2) where σ = 1 is known; else exp(−η²J/2) E[exp(ρ ηJβ/√q)], ρ of the χ
                distribution with ν + 1 degrees of freedom

docs/certainty.md proves that Σ π(η) M(η) is evidence. E[exp(ρy)] is an integral over u = log ρ of
exp((ν + 1)u − e²ᵘ/2 + y eᵘ), worked out by the trapezoidal rule, which is as good as exact for
integrands that fall off so fast. The policies have a lower bound of it instead, which is close but
where y < 0 and ν ≤ 1: there it is Jensen's exp(y E[ρ]), and so it is here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.campaigns.proof.asked import Floats, Truths
from evenhand.campaigns.proof.squares import Fit, Spread

_POINTS, _FEWER = 161, 81  # of the trapezoidal rule; where the integrand has no long tail
_LIGHT = 20.0  # degrees of freedom from which on it has none
_ROUNDING = 1e-14  # share of all squares below which what is left of them is rounding
_NOTHING = 36.0  # by how many powers of e the integrand falls before it is left out
_EFFECTS, _MOST = 30, 1e4  # of a one-sided prior, and the largest effect of any
_TERMS = 2_000_000  # numbers at once
_EXACT, _SETTLED = 1e-11, 1e-9  # share of a place, or evidence, to which an end is worked out
_MANY = 10_000  # rows of which a two-sided prior has five points instead of fifteen
_TUNED = (
    0.15  # precision of a mixture that is narrowest about the planned information, in its units
)


def log_moment(nu: Floats, y: Floats) -> Floats:
    """Return log E[exp(ρy)] for ρ of the χ distribution with ν + 1 degrees of freedom.

    Examples
    --------
    With one degree of freedom it is exp(y²/2)·2Φ(y).

    >>> float(np.exp(log_moment(np.array([0.0]), np.array([1.0]))[0])).__round__(6)
    2.774286
    >>> round(math.exp(0.5) * 2.0 * float(special.ndtr(1.0)), 6)
    2.774286
    """
    nu, y = np.broadcast_arrays(np.asarray(nu, dtype=np.float64), np.asarray(y, dtype=np.float64))
    n, x, out = nu.reshape(-1) + 1.0, y.reshape(-1), np.empty(y.size)
    heavy = n < _LIGHT
    for which, points in ((np.flatnonzero(heavy), _POINTS), (np.flatnonzero(~heavy), _FEWER)):
        for some in np.array_split(which, len(which) * points // _TERMS + 1):
            out[some] = _log_integral(n[some], x[some], points)
    out -= (0.5 * n - 1.0) * math.log(2.0) + special.gammaln(0.5 * n)
    return out.reshape(y.shape)


def _log_integral(n: Floats, y: Floats, points: int) -> Floats:
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
    v = across[:, None] * np.linspace(0.0, 1.0, points) - left[:, None]  # u less its mode
    off = mode[:, None] * np.expm1(v)  # ρ less its mode, which is y + n/mode
    terms = n[:, None] * v - off * ((n / mode)[:, None] + 0.5 * off)
    most = n * np.log(mode) + 0.5 * mode**2 - n
    return np.asarray(most + np.log(np.exp(terms).sum(axis=1) * across / (points - 1)))


@dataclass(frozen=True, eq=False)
class Reading:
    """What a stage says of directions, (n,) each, and what was expected of them before it.

    Parameters
    ----------
    estimates, information
        c·θ̂ and J; J = 0 where the stage, or all before it, says nothing of a direction.
    scatter, freedom
        R and ν; infinite ν where the noise is known.
    centres, spreads
        What was expected of c·θ, and its standard deviation over that of the noise.
    unit, heard
        What the noise was taken to be, and the degrees of freedom that this rests on.
    """

    estimates: Floats
    information: Floats
    scatter: float
    freedom: float
    centres: Floats
    spreads: Floats
    unit: float
    heard: float

    @classmethod
    def of(cls, stage: Fit, said: Spread, before: Fit, expected: Spread) -> Reading:
        """Return what the fit of a stage says, beside that of all before it."""
        known = np.isfinite(said.variances) & (said.variances > 0.0)
        J = np.where(known, 1.0 / np.where(known, said.variances, 1.0), 0.0)
        known &= np.isfinite(expected.variances)
        if math.isfinite(stage.freedom):
            known &= ~are_rounding(said.estimates, J, stage.scatter, stage.size)
        return cls(
            said.estimates,
            np.where(known, J, 0.0),
            stage.scatter,
            stage.freedom,
            expected.estimates,
            np.sqrt(np.where(known, expected.variances, 1.0)),
            before.unit,
            max(1.0, before.freedom),
        )


def are_rounding(
    estimates: Floats, information: Floats, scatter: Floats | float, size: Floats | float
) -> Truths:
    """Tell where scores are so much alike that estimate and residuals are rounding.

    Such a stage says nothing: with a noise of exactly 0, rounding would be evidence.

    Examples
    --------
    >>> are_rounding(np.array([1e-16, 0.5]), np.array([2.0, 2.0]), 0.0, 45.0)
    array([ True, False])
    """
    return np.asarray(scatter + information * estimates**2 <= _ROUNDING * np.asarray(size))


def one_sided(
    centres: Floats, spreads: Floats, unit: float, heard: float, above: float
) -> tuple[Floats, Floats]:
    """Return (n, 30) effects > 0 and their log probabilities: the prior of `CertainChoice`.

    Normal about what was expected (of c·θ − ``above``, over the noise), times 1/η: thirty effects
    from the larger of 0.05 deviations and 4 below the centre to 3 above it, evenly in log η. The
    deviation allows for a noise that was heard on few degrees of freedom. Neither is more than 10⁴.

    Examples
    --------
    >>> effects, logs = one_sided(np.array([2.0]), np.array([0.5]), 1.0, math.inf, 0.0)
    >>> effects[0, [0, -1]].round(6).tolist(), round(float(np.exp(logs).sum()), 9)
    ([0.025, 3.5], 1.0)
    """
    g = (centres - above) / unit
    s = np.sqrt(spreads**2 + 2.0 * g**2 / heard)
    g, s = np.clip(g, -_MOST, _MOST), np.minimum(np.where(s > 0.0, s, 1.0), _MOST)
    low = np.maximum(0.05 * s, g - 4.0 * s)
    high = np.maximum(np.maximum(g, 0.0) + 3.0 * s, 2.0 * low)
    share = np.arange(_EFFECTS) / (_EFFECTS - 1.0)
    effects = np.exp(np.log(low)[:, None] + np.log(high / low)[:, None] * share)
    logs = -0.5 * ((effects - g[:, None]) / s[:, None]) ** 2
    return effects, logs - special.logsumexp(logs, axis=1, keepdims=True)


def log_evidence(
    beta: Floats,
    information: Floats,
    scatter: Floats | float,
    freedom: Floats | float,
    effects: Floats,
    logs: Floats,
) -> Floats:
    """Return (n,) log Σ π(η) M(η); 0 where a stage says nothing."""
    n = len(beta)
    R, nu = np.broadcast_to(scatter, n), np.broadcast_to(freedom, n)
    J, out = information, np.zeros(n)
    known = np.isinf(nu)
    S = (J * beta)[:, None]
    terms = logs - 0.5 * effects**2 * J[:, None]
    if known.any():
        terms[known] += (effects * S)[known]
    if not known.all():
        q = (R + J * beta**2)[:, None]
        y = np.where(q > 0.0, effects * S / np.sqrt(np.where(q > 0.0, q, 1.0)), 0.0)
        heard = ~known & (J > 0.0)
        terms[heard] += _at_least(nu[heard, None], y[heard])
    some = J > 0.0
    out[some] = _log_sum(terms[some])
    return out


def _at_least(nu: Floats, y: Floats) -> Floats:
    few = (nu < 2.0) & (y < 0.0)
    mean = math.sqrt(2.0) * np.exp(
        special.gammaln(0.5 * nu + 1.0) - special.gammaln(0.5 * nu + 0.5)
    )
    return np.where(few, y * mean, log_moment(nu, y))


def _log_sum(terms: Floats) -> Floats:
    most = terms.max(axis=1)
    return np.asarray(most + np.log(np.exp(terms - most[:, None]).sum(axis=1)))


def most_evidence(
    beta: Floats, information: Floats, scatter: Floats | float, freedom: Floats | float
) -> Floats:
    """Return (n,) more than any prior of effects > 0 can have: S²/2J, or (ν + 1)/2 · log(q/R).

    For the exponent in M, before σ is integrated out, is at most −R/2σ², whatever η is.
    """
    jump = information * np.maximum(beta, 0.0) ** 2
    R, nu = np.broadcast_to(scatter, len(beta)), np.broadcast_to(freedom, len(beta))
    with np.errstate(divide="ignore", invalid="ignore"):
        heard = 0.5 * (nu + 1.0) * np.log1p(jump / R)
    return np.where(np.isinf(nu), 0.5 * jump, np.where(jump > 0.0, heard, 0.0))


def interval(stages: list[Reading], failure: float) -> tuple[Floats, Floats]:
    """Return (n,) ends of intervals: where the product of all stages' evidence is below 1/failure.

    Against c·θ = μ, with the normal prior about what was expected. Where the noise is known that is
    Σ J(ĉ − μ)² ≤ 2 log(1/failure) + Σ [log(1 + Js²) + J(ĉ − g)²/(1 + Js²)], a quadratic; else the
    prior has fifteen points (five where there are ten thousand rows), those of Gauss and Hermite.
    """
    n = len(stages[0].estimates)
    J = np.array([stage.information for stage in stages])
    total = J.sum(axis=0)
    known = total > 0.0
    safe = np.where(known, total, 1.0)
    estimates = np.array([stage.estimates for stage in stages])
    middle = (J * estimates).sum(axis=0) / safe
    level = math.log(1.0 / failure)
    if all(math.isinf(stage.freedom) for stage in stages):
        bound, about = np.full(n, 2.0 * level), (J * (estimates - middle) ** 2).sum(axis=0)
        for stage in stages:
            grown = 1.0 + stage.information * stage.spreads**2
            off = (stage.estimates - stage.centres) ** 2
            bound += np.log(grown) + stage.information * off / grown
        width = np.sqrt(np.maximum(bound - about, 0.0) / safe)
    else:
        points = 15 if n * len(stages) < _MANY else 5

        nodes, logs = _normal(points)
        centres, spreads = (
            np.array([getattr(s, n) for s in stages]) for n in ("centres", "spreads")
        )
        scatter, freedom, units = (
            np.array([getattr(stage, name) for stage in stages]).repeat(n)
            for name in ("scatter", "freedom", "unit")
        )
        about = (
            (np.minimum(spreads, _MOST).reshape(-1, 1) * nodes),
            np.tile(logs, (n * len(stages), 1)),
        )

        def beyond(null: Floats) -> Floats:
            middle_of = np.clip((centres - null).reshape(-1) / units, -_MOST, _MOST)
            effects = middle_of[:, None] + about[0]
            beta = (estimates - null).reshape(-1)
            had = log_evidence(beta, J.reshape(-1), scatter, freedom, effects, about[1])
            return np.asarray(had.reshape(-1, n).sum(axis=0) - level)

        unit = max(stage.unit for stage in stages)
        step = math.sqrt(2.0 * level) * unit / np.sqrt(safe)
        low, high = (first_beyond(beyond, middle, side * step) for side in (-1.0, 1.0))
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)
    return np.where(known, middle - width, -np.inf), np.where(known, middle + width, np.inf)


@functools.cache
def _normal(points: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, np.log(weights / weights.sum())


def first_beyond(beyond: Callable[[Floats], Floats], start: Floats, step: Floats) -> Floats:
    """Return where ``beyond`` first reaches 0 from ``start`` on; infinite if it does not.

    Steps grow fourfold until it is passed, ten times at most; then the place is closed in on.
    """
    near, at_near = start.copy(), beyond(start)
    far = np.where(at_near < 0.0, start + step, start)
    at_far, size = beyond(far), step.copy()
    for _ in range(10):
        short = at_far < 0.0
        if not short.any():
            break
        near, at_near = np.where(short, far, near), np.where(short, at_far, at_near)
        size = 4.0 * size
        far = np.where(short, far + size, far)
        at_far = np.where(short, beyond(far), at_far)
    never = at_far < 0.0
    end, done = far.copy(), never | (far == start)
    for i in range(80):
        if done.all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = far - at_far * (far - near) / (at_far - at_near)
        middle = 0.5 * (near + far)
        place = np.where(np.isfinite(chord) & (i % 4 < 3), chord, middle)
        found = beyond(place)
        inside = found < 0.0
        # Illinois: an end that stays counts by half, so that the next chord passes the root
        at_near, at_far = (
            np.where(inside, found, 0.5 * at_near),
            np.where(inside, 0.5 * at_far, found),
        )
        near, far = np.where(inside, place, near), np.where(inside, far, place)
        end = np.where(done, end, place)
        exact = _EXACT * np.maximum(np.abs(far), np.abs(step))
        done |= (np.abs(found) <= _SETTLED) | (np.abs(far - near) <= exact)
    return np.where(never, np.copysign(np.inf, step), end)


def planned_interval(
    estimate: float, information: float, scatter: float, freedom: float, plan: float, failure: float
) -> tuple[float, float]:
    """Return the ends of an interval from one design that is never changed, held at all times.

    The prior of η is normal with precision 0.15 of the planned information, and t = J over that:
    log E = ½Jβ²t/(1 + t) − ½log(1 + t), or ½(ν + 1) log((R + Jβ²)/(R + Jβ²/(1 + t))) − ½log(1 + t).

    Examples
    --------
    >>> round(10.0 * planned_interval(0.0, 100.0, 0.0, math.inf, 100.0, 0.05)[1], 2)
    3.04
    """
    if not information > 0.0:
        return -math.inf, math.inf
    t = information / (_TUNED * plan)
    need = 2.0 * math.log(1.0 / failure) + math.log1p(t)
    if math.isinf(freedom):
        square = need * (1.0 + t) / t
    else:
        # (R + x)/(R + x/(1 + t)) = g, solved for x = Jβ²
        g = math.exp(need / (freedom + 1.0))
        room = 1.0 - g / (1.0 + t)
        square = math.inf if room <= 0.0 else scatter * (g - 1.0) / room
    half = math.sqrt(square / information)
    return estimate - half, estimate + half
