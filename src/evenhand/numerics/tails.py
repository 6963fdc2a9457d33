"""Probabilities far out in the tails, as logarithms.

Notation
--------
sf      probability of more than so much;  a mass is that of an interval, sf(a) − sf(b)
T, ν    Student's variable with ν degrees of freedom;  f = ν/(ν + T²), so that sf(T) = ½ I_f(ν/2, ½)
        for T ≥ 0, I the incomplete beta function

A lead of thirty deviations has a probability of 10⁻¹⁹⁸, one of forty none that a float can hold.
What is wanted are ratios of such numbers, and these have logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from evenhand.arrays import Floats

_LEAST = 1e-290  # below, an incomplete beta function is worked out by its series


def log_normal_tail(x: Floats) -> Floats:
    """Return log sf(x) of the standard normal distribution.

    Examples
    --------
    >>> float(log_normal_tail(np.array([40.0]))[0]).__round__(3)          # sf itself is 0
    -804.608
    """
    return np.asarray(special.log_ndtr(-x))


def log_student_tail(f: Floats, freedom: Floats | float) -> Floats:
    """Return log sf(T) of Student's distribution for T ≥ 0, given f = ν/(ν + T²).

    Examples
    --------
    >>> float(log_student_tail(np.array([0.5]), 1.0)[0]).__round__(6)      # T = 1, ν = 1: ¼
    -1.386294
    """
    a = np.broadcast_to(0.5 * np.asarray(freedom), f.shape)
    plain = special.betainc(a, 0.5, f)
    with np.errstate(divide="ignore"):
        tail = np.log(0.5 * plain)
        far = (plain < _LEAST) & (f > 0.0)
        if far.any():
            # I_f(a, ½) = f^a ₂F₁(a, ½; a + 1; f)/(a B(a, ½))
            a = a[far]
            series = np.log(special.hyp2f1(a, 0.5, a + 1.0, f[far]))
            scale = np.log(2.0 * a) + special.betaln(a, 0.5)
            tail[far] = a * np.log(f[far]) + series - scale
    return np.asarray(tail)


def student_tail(t: Floats, freedom: float) -> Floats:
    """Return sf(t) of Student's distribution, or of the normal one with infinite ``freedom``.

    Examples
    --------
    >>> student_tail(np.array([1.0]), 1.0)
    array([0.25])
    """
    if math.isinf(freedom):
        return np.asarray(special.ndtr(-t))
    return np.asarray(special.stdtr(freedom, -t))


def student_quantile(failure: float, freedom: float) -> float:
    """Return what Student's variable exceeds with a chance of ``failure``; see `student_tail`.

    Examples
    --------
    >>> round(student_quantile(0.025, np.inf), 2), round(student_quantile(0.25, 1.0), 2)
    (1.96, 1.0)
    """
    if math.isinf(freedom):
        return -float(special.ndtri(failure))
    return -float(special.stdtrit(freedom, failure))


def log_mass(tail: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the log of the probability between ``low`` and ``high`` of a symmetric distribution.

    Parameters
    ----------
    tail
        log sf(x) for x ≥ 0.
    low, high
        (n,) ends, ``low`` ≤ ``high``; −∞ where there is nothing between them.

    Examples
    --------
    >>> ends = np.array([-1.0]), np.array([1.0])
    >>> round(float(np.exp(log_mass(log_normal_tail, *ends))[0]), 4)
    0.6827
    """
    across = (low < 0.0) & (high > 0.0)
    # to the left of 0 the same as to its right
    near = np.where(high <= 0.0, -high, low)
    far = np.where(high <= 0.0, -low, high)
    near_tail, far_tail = tail(np.abs(near)), tail(np.abs(far))
    with np.errstate(invalid="ignore", divide="ignore"):
        beside = near_tail + np.log1p(-np.exp(np.minimum(far_tail - near_tail, 0.0)))
        both = np.log1p(-np.minimum(np.exp(near_tail) + np.exp(far_tail), 1.0))
    return np.where(across, both, np.where(near_tail == -np.inf, -np.inf, beside))
