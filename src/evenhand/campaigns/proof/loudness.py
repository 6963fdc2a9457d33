"""How loud scores are by what they are about, by the definition (`docs/research/one_look.md`).

Notation
--------
H, M        (s, s)  hat matrix of the questions that were answered, M = 1 − H;  n (s,) their scores
S, t, q     (g,)    of the scores about the same: Σ e², Σ M_ii, Σ M_ij² over single scores
s², ν               Σ S/ν and Σ t
d, d₀, s₀²          t²/q; ψ'(d₀/2) is by what the variance of log s_o² exceeds the mean of ψ'(d/2)
D           (g,)    degrees of freedom of σ̃²: d, and the others' as far as s_o² may be like theirs
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import optimize, special

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.squares import Fit

_SHOWN, _LEAST = 0.1, 0.5  # when an own variance counts,
_QUIET, _QUIETEST = 0.05, 1e-4  # and as how much at least: of S/t, of s²


def heard(
    fit: Fit, rows: Floats, counts: Floats, means: Floats, within: Floats, about: Indices
) -> Fit:
    """Return a fit with the noise of each group, in variances of the estimates themselves."""
    # `about` is (q,) what questions are about, from 0.
    (used,) = np.nonzero(counts)
    n, groups = counts[used], np.eye(int(about.max()) + 1)[about[used]]  # (s, g)
    reach = np.sqrt(n)[:, None] * fit.factor(rows[used])
    H = reach @ reach.T
    left = np.sqrt(n) * (means[used] - (rows[used] / fit.scales) @ fit.theta)
    S = groups.T @ (left**2 + within[used])
    t = groups.T @ (n - np.diagonal(H))
    q = np.einsum("ig,ij,jg->g", groups, H**2, groups) + groups.T @ (n - 2.0 * np.diagonal(H))
    variances, known, freedom = _variances(S, t, np.maximum(q, 0.0))
    noise = reach.T @ ((groups @ variances)[:, None] * reach)
    size, axes = np.linalg.eigh(noise)
    root = fit.root @ (axes * np.sqrt(np.maximum(size, 0.0)))
    noisy = variances**2 / known
    return replace(
        fit,
        root=root,
        scatter=freedom,
        freedom=freedom,
        vague=noisy,
        most=float(round(t.sum())),
        pooled=fit,
    )


def _variances(S: Floats, t: Floats, q: Floats) -> tuple[Floats, Floats, float]:
    """Return (g,) σ̃² and D, and how many degrees of freedom the least known has."""
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
        return np.full(len(t), pooled), np.full(len(t), nu), nu
    d = np.where(shown, t**2 / np.maximum(q, 1e-300), 0.0)
    least = np.maximum(_QUIET * S[shown] / t[shown], _QUIETEST * pooled)
    x = np.log(np.maximum(own[shown], least)) - special.digamma(d[shown] / 2)
    x = x + np.log(d[shown] / 2)
    excess = float(np.var(x, ddof=1) - special.polygamma(1, d[shown] / 2).mean())
    own = np.where(shown, own, 0.0)
    shape = np.maximum(d, _LEAST) / 2
    if excess <= 0.0:
        like = np.where(shown, special.gammaincc(shape, d * np.maximum(own, 0) / pooled / 2), 1.0)
        return np.maximum(own, pooled), d + like * (nu - d), nu
    log_half = optimize.brentq(
        lambda u: math.log(special.polygamma(1, math.exp(u)) / excess), -350.0, 350.0, xtol=1e-13
    )
    half = math.exp(log_half)
    general = math.exp(float(x.mean()) + special.digamma(half) - log_half)
    drawn = (2.0 * half * general + d * np.maximum(own, 0.0)) / (2.0 * half + d)
    # P(F > x) of d and d₀ degrees of freedom is I of d₀/(d₀ + d x), an incomplete beta function
    x = 2.0 * half / (2.0 * half + 2.0 * shape * np.maximum(own, 0.0) / general)
    like = np.where(shown, special.betainc(half, shape, x), 1.0)
    known = d + like * np.maximum(np.minimum(2.0 * half + d, nu) - d, 0.0)
    return np.maximum(own, drawn), known, min(nu, 2.0 * half + float(d.min()))
