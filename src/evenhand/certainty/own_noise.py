"""How loud the scores of each option are, by their own residuals and by everybody's.

Notation
--------
e           residuals, in units of the questions' relative noise;  M = 1 − hat matrix
S_o         Σ e² over the scores of option o;  t_o = Σ M_ii and q_o = Σ M_ij² over the same scores
s², ν       Σ S_o/ν, the pooled variance, and ν = Σ t_o its degrees of freedom
s_o², d_o   the option's own variance, and its degrees of freedom, t_o²/q_o
s₀², d₀     what variances are in general, and how alike they are: d₀ = ∞ if they may be the same
σ̃_o², D_o   what the option's variance is taken to be, and its degrees of freedom
P_o         how probable an own variance as large as s_o² is, if the option is like the others

Votes for what nearly everybody rejects, and marks at the end of a scale, hardly scatter; those of
the best options do. One variance for all is then too small for just the leads that matter. But an
option's own variance, from a few scores, is a poor guess. So it is drawn towards the others' as far
as these are alike (Smyth 2004, 'limma'), and never below what the option itself shows:

    E S_o = q_o σ_o² + (t_o − q_o) · mean variance of the others,    which gives s_o²,
    σ̃_o² = max{(d₀ s₀² + d_o s_o²)/(d₀ + d_o), s_o²},

s₀² and d₀ are such that log s_o² has the mean and the variance over options that it should have.
The first of the two has d₀ + d_o degrees of freedom, ν at most, the second d_o; where it is larger
the option is perhaps not like the others, and the less probable that it is, the less of theirs
counts:

    D_o = d_o + P_o (min{d₀ + d_o, ν} − d_o).

A lead of b over j has a variance V_j of which a_b = σ̃_b²/n_b and a_j are the two options' own, n_o
the number of their scores; the rest comes by way of all others, and is known well. So it has
V_j²/(a_b²/D_b + a_j²/D_j) degrees of freedom (Satterthwaite), ν at most.

In a whole panel of k options and J evaluators, t_o is (1 − 1/k)(J − 1), d_o is J − 1, and s_o² is
(S_o/(J − 1) − s²/k)/(1 − 2/k). Two options have residuals of equal size, whoever is louder: then
σ̃² is s², by which their lead is as uncertain as the evaluators' differences say.

Questions about the same two options, in comparisons, are such a group; in what follows a group is
what a question is about.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.certainty.models import LeastSquares, Leftovers, OwnNoise, OwnParts
from evenhand.numerics.tolerance import ROUNDING
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_SHOWN = 0.1  # share of S_o that must be the option's own for s_o² to be told from the others',
_LEAST = 0.5  # and degrees of freedom that S_o must have
_QUIET, _QUIETEST = 0.05, 1e-4  # shares of S_o/t_o and of s² that s_o² counts as at least


def own_variances(left: Leftovers) -> OwnNoise:
    """Return σ̃² of the groups, and how well they are known."""
    nu = float(round(left.free.sum()))  # the trace of a projection, which is a whole number
    pooled = float(left.scatter.sum()) / nu
    others = nu - left.free
    foreign = np.maximum(left.free - left.squared, 0.0)
    beside = foreign / np.maximum(others, _LEAST)  # of the others' variance, per its scatter
    own = left.squared - beside * left.free
    shown = (own > _SHOWN * left.squared) & (left.free >= _LEAST) & (others >= _LEAST)
    g = len(shown)
    if np.count_nonzero(shown) < 2:
        return OwnNoise(np.full(g, pooled), np.full(g, nu), nu, nu, np.full(g, pooled))
    variances = np.zeros(g)
    variances[shown] = (left.scatter - beside * pooled * nu)[shown] / own[shown]
    freedom = np.where(shown, left.free**2 / np.maximum(left.squared, 1e-300), 0.0)
    # where an option has few scores s_o² may be 0 or less, which says little of how alike they are
    quiet = np.maximum(_QUIET * left.scatter / np.maximum(left.free, _LEAST), _QUIETEST * pooled)
    s0, d0 = _in_general(np.maximum(variances, quiet)[shown], freedom[shown])
    shows = np.maximum(variances, 0.0)
    if math.isinf(d0):
        drawn, both, least = np.full(g, pooled), np.full(g, nu), nu
        floors = drawn
        chances = special.chdtrc(np.maximum(freedom, _LEAST), freedom * shows / pooled)
    else:
        drawn = (d0 * s0 + freedom * shows) / (d0 + freedom)
        floors = d0 * s0 / (d0 + freedom)
        both, least = np.minimum(d0 + freedom, nu), min(nu, d0 + float(freedom.min()))
        chances = special.fdtrc(np.maximum(freedom, _LEAST), d0, shows / s0)
    known = freedom + np.where(shown, chances, 1.0) * np.maximum(both - freedom, 0.0)
    return OwnNoise(np.maximum(variances, drawn), known, least, nu, floors)


def _in_general(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """Return s₀² and d₀ of own variances: σ_o²/s₀² is taken to be d₀ over a χ² of d₀."""
    # log s_o² then has mean log s₀² + ψ(d_o/2) − log(d_o/2) − ψ(d₀/2) + log(d₀/2) and variance
    # ψ'(d_o/2) + ψ'(d₀/2).
    half = 0.5 * freedom
    level = np.log(variances) - special.digamma(half) + np.log(half)
    spread = float(level.var(ddof=1) - special.polygamma(1, half).mean())
    if spread <= 0.0:
        return math.exp(level.mean()), math.inf
    y = 0.5 + 1.0 / spread  # Newton's steps on 1/ψ', which is convex and nearly linear
    for _ in range(50):
        slope = special.polygamma(1, y)
        step = slope * (1.0 - slope / spread) / special.polygamma(2, y)
        y += step
        if abs(step) < 1e-10 * y:
            break
    d0 = 2.0 * float(y)
    return math.exp(level.mean() + special.digamma(0.5 * d0) - math.log(0.5 * d0)), d0


def in_pairs(questions: Questions, told: Feedback) -> Feedback:
    """Return scores as they count: those an evaluator gave to the same question as their mean."""
    # Who is asked the same thing again has the same taste again: that is one opinion, not several.
    # A single evaluator's are several: what is said is then about this evaluator alone. So are
    # those that nobody in particular gave.
    repeated = (told.counts > 1) & (questions.evaluator >= 0)
    if len(questions.evaluators) < 2 or not repeated.any():
        return told
    means = np.where(repeated, told.means, told.sums)
    return Feedback(
        np.where(repeated, 1, told.counts),
        means,
        np.where(repeated, means**2, told.sums_of_squares),
    )


def with_own_noise(
    questions: Questions, fit: LeastSquares, told: Feedback, grain: float = 0.0
) -> LeastSquares:
    """Return the fit with the noise that its residuals show, of each option by itself, unless noise
    is known; residuals below ``grain`` are rounding.
    """
    # Its variances are those of the estimates; scatter and freedom, which are equal, say how well
    # they are known, and are 0 where nothing is.
    if math.isinf(fit.freedom):
        return fit
    left = fit.left_over(told)
    nil = max(ROUNDING**2 * left.size, float(told.counts.sum()) * grain**2)
    if fit.freedom < 1.0 or not left.scatter.sum() > nil:
        return fit.with_noise(told, np.ones(len(left.scatter)), 0.0)
    noise = own_variances(left)
    heard = fit.with_noise(told, noise.variances, noise.least)
    if questions.has_arrow_form and len(left.scatter) == len(questions.items):
        weights = told.counts if questions.noise is None else told.counts / questions.noise**2
        sizes = np.bincount(questions.about[:, 0], weights, len(left.scatter))
        sizes = np.maximum(sizes, _QUIETEST)
        heard.own = OwnParts(
            noise.variances / sizes, noise.freedom, noise.most, noise.floors / sizes
        )
    return heard
