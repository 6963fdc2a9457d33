"""Multiple comparisons with the best: what the option that leads may lose (after Hsu, 1981).

Notation
--------
b, j        the option that leads, and one of its n rivals
L_bj, s_bj  its lead over j and the standard error of that, by the noise that is known or estimated
Z, q        normal noise, and an independent estimate of σ over σ: νq² is χ² of ν degrees of freedom
c           what the largest of n such Z/q exceeds with a chance of δ at most, whatever they have in
            common: E min(1, n·P(Z > cq)) = δ
ε           the tolerance: how much may be lost

Let j be a best option. Whoever leads, b is one of at most n others, and the noise of nobody's lead
over j is more than c·s_bj, with a chance of 1 − δ. Then b is worse than j by no more than
c·s_bj − L_bj, and what it loses is at most the largest of these numbers over its rivals. That b was
looked for is paid for by n, and nothing explodes where two options are all but tied, as it does
given that b leads (`winner`).

With z₀ = Φ⁻¹(1 − 1/n) and F the distribution of q, by parts,

    E min(1, n·P(Z > tq)) = n ∫_{z₀}^∞ F(z/t) φ(z) dz = n (P(T > t) − ∫_0^{z₀} F(z/t) φ(z) dz):

Bonferroni's n·P(T > t) less what it counts beyond 1 where the noise is underestimated. For one or
two rivals, and where the noise is known, it is n·P(T > t).

Which test
----------
Both hold for an ε that was fixed in advance. With T Student's variable and s the error of leads,
the winner test finds the closest rival no better by ε if P(T > (L + ε)/s) < δ·P(T > ε/s), and this
one if it is at most P(T > c). So this one is the stronger where δ·P(T > ε/s) ≤ P(T > c), and one of
the two is taken, by ε, n and the smallest error of all differences between options. None of these
depends on who leads or by how much, so the chance of being wrong stays δ. Where the winner test is
taken, it finds all that this one would. docs/one_look.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from evenhand.arrays import Floats
from evenhand.certainty.models import Shared
from evenhand.numerics.tails import student_quantile, student_tail

_CHUNK = 256  # rivals at once: nothing has the size of options × options
_SAME = 1e-12  # share of the largest variance below which two options are the same
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def largest_tail(t: Floats, n: int, freedom: float) -> Floats:
    """Return how probable it is at most that the largest of n of Student's variables, which share
    the estimate of the noise, exceeds t.
    """
    tails = n * student_tail(t, freedom)
    if n > 2 and math.isfinite(freedom):
        reach = float(special.ndtri(1.0 - 1.0 / n))
        z = 0.5 * reach * (1.0 + _NODES)
        weights = 0.5 * reach * _WEIGHTS * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        with np.errstate(divide="ignore"):
            below = special.chdtr(freedom, freedom * (z / np.maximum(t, 0.0)[..., None]) ** 2)
        tails = tails - n * (below @ weights)
    return np.asarray(np.minimum(np.where(t > 0.0, tails, n * student_tail(t, freedom)), 1.0))


def largest(failure: float, n: int, freedom: float) -> float:
    """Return c, which the largest of n exceeds with a chance of ``failure`` at most."""
    most = student_quantile(failure / n, freedom)
    if n <= 2 or math.isinf(freedom):
        return most

    def beyond(t: float) -> float:
        return float(largest_tail(np.array([t]), n, freedom)[0]) - failure

    least = student_quantile(failure, freedom)
    if most <= 0.0 or beyond(most) >= 0.0:  # no more than rounding
        return most
    return float(optimize.brentq(beyond, max(least, 1e-6 * most), most, rtol=1e-12))


def stronger(slack: float, error: float, n: int, freedom: float, failure: float) -> bool:
    """Tell whether this test is stronger than the winner test, for leads of such an error."""
    # With the noise unknown the winner test is given Q = R + (L + ε)²/S; where (L + ε)/s is c, ε
    # has Student's variable e/√(1 + (c² − e²)/ν), e = ε/s.
    if slack <= 0.0:
        return False  # of tied options none is to be called the only best: the winner test
    c, e = largest(failure, n, freedom), slack / error
    if n <= 2 or e >= c:
        return True
    t = e if math.isinf(freedom) else e / math.sqrt(1.0 + (c**2 - e**2) / freedom)
    near, far = student_tail(np.array([t, c]), freedom).tolist()
    return bool(failure * near <= far)


def smallest_variance(shared: Shared) -> float:
    """Return the least variance of all differences between two options; of the same ones none."""
    variances, n = shared.variances, len(shared.own)
    least = float(variances.min())
    for start in range(0, n, _CHUNK):
        which = np.arange(start, min(start + _CHUNK, n))
        apart = variances[:, None] + variances[which] - 2.0 * shared.some(which).T
        least = min(least, float(apart.min(initial=np.inf, where=apart > _SAME * variances.max())))
    return least
