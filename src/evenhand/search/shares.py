"""Shares of evaluations that tell leads soonest.

Notation
--------
P, a        (q, r) rows of what can be asked, over the root of its price
U, u_j      (n, r) leads, each scaled by what it needs
s           (q,) shares of the money, Σ s = 1;  V = Σ s a aᵀ
f_j         u_jᵀV⁻¹u_j, the variance of a lead for a unit of money

The largest f is least, over s, by multiplicative steps on both sides of the saddle:

    g = Σ λ_j (aᵀV⁻¹u_j)²,    s ← s g^0.7,    λ_j ← λ_j f_j,

each then divided by its sum. The first is the step for a design that is optimal on average over λ,
the second leans on the worst lead. With A = Σ λ_j u_j u_jᵀ and the V′ of any other shares s′,
(tr AV⁻¹)² ≤ tr AV′⁻¹ · tr AV⁻¹V′V⁻¹ = Σ λ f′ · Σ s′ g by Cauchy and Schwarz: so no shares have a
maximum below (Σ λ f)²/max g, and it is seen when nothing can be gained.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.numerics.least_squares import gram

_STEPS, _TOL = 200, 0.02  # of the search for shares
_POWER = 0.7  # of its steps: ½ never overshoots, 1 may swing
_NEGLIGIBLE = 1e-7  # of the largest share
_RIDGE = 1e-9  # that V is enlarged by, relatively: so it has an inverse, hardly another one
_SMALL_DUAL = 1e-6  # λ, as shares of the largest, below which directions are left out of gains


def proportions(points: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Return s, (q,), for which the largest f is least, and f, (n,).

    Examples
    --------
    Two means that differ by as much as possible are told best by as many scores of each:

    >>> proportions(np.eye(2), np.array([[1.0, -1.0]]))[0]
    array([0.5, 0.5])
    """
    n = len(directions)
    s = best = np.full(len(points), 1.0 / len(points))
    dual = np.full(n, 1.0 / n)
    of_best, least, bound = np.full(1, np.inf), np.inf, 0.0
    for step in range(_STEPS + 1):
        (used,) = np.nonzero(s)
        P = points[used]
        V = gram(P, s[used])
        Y = directions @ np.linalg.inv(V + _RIDGE * (np.diag(np.diag(V)) + np.eye(len(V))))
        f = np.einsum("ij,ij->i", Y, directions)
        worst, mean = float(f.max()), float(dual @ f)
        if worst < least or step == 0:
            best, of_best, least = s, f, worst
        if step == _STEPS or not np.isfinite(worst):
            break
        (lead,) = np.nonzero(dual > _SMALL_DUAL * dual.max())
        gain = np.einsum("ij,ij->i", P @ ((Y[lead].T * dual[lead]) @ Y[lead]), P)
        gain = np.maximum(gain, 0.0)
        most = float(gain.max())
        if most == 0.0:  # beyond what numbers can tell apart
            break
        bound = max(bound, mean**2 / most)
        if least <= bound * (1.0 + _TOL):
            break
        s = s.copy()
        s[used] *= gain**_POWER
        s = np.where(s < _NEGLIGIBLE * s.max(), 0.0, s)
        s = s / s.sum()
        dual = np.maximum(dual * f / worst, 1e-12)
        dual = dual / dual.sum()
    return best, of_best
