"""Evidence that one option is not better than another, from blocks of questions.

Notation
--------
i, x        two options; the null hypothesis says that x is at least as good as i
X = w·ȳ     the lead of i over x by the scores of one block alone; its mean is v_i − v_x
λ_g, π_g    bets λ_g ≥ 0 on that lead, and their shares: frozen with the block, before its scores
τ           standard deviation of X, guessed, or known where that of a score is stated

A block says e about the pair, as much as is known of the noise of its scores, where [z] is z, but
3 or −3 where it is further from 0, so that no score, however far off, takes six off log W:

    e = Σ π_g φ(λ_g X),  φ(z) = 2/(1 + exp(−2[z]))      noise that is symmetric, of any size,
    e = Σ π_g (1 + λ_g X),  λ_g ≤ 0.9/|least X|         scores within bounds, noise anything,
    e = Σ π_g exp(λ_g X − λ_g² τ²/2)                    Gaussian noise of a stated deviation.

Why E[e | past] ≤ 1 if v_x ≥ v_i
-------------------------------
The weights w cancel everything but the lead, so X = μ + ε with μ = v_i − v_x ≤ 0, and given all
that was known when the block was frozen ε is a sum of independent noises.

- φ never falls, and φ(z) + φ(−z) = 2. If each noise is symmetric about 0, so is ε, whatever the
  sizes of the noises of options and evaluators: E φ(λX) ≤ E φ(λε) = ½ E[φ(λε) + φ(−λε)] = 1.
- With bounds 1 + λX > 0 always, and E[1 + λX] = 1 + λμ ≤ 1.
- With noise N(0, τ²) or lighter E exp(λX − λ²τ²/2) ≤ exp(λμ) ≤ 1.

So the product W of e over blocks is a nonnegative supermartingale that starts at 1, and exceeds 1/δ
with probability δ at most, ever (Ville). Blocks share nothing: no σ, no degrees of freedom, no
nuisance parameter; leader, rivals, evaluators and bets may be chosen anew for each. ∎

The bets are guesses about the lead, and cost evaluations where they are wrong, never validity. φ is
2 at most, so one block multiplies W by 2 at most; `growth` is what that makes of an effect μ/τ.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError

BAR = -1
"""Stands for a bar among options: a value that is stated, and no option's."""

_LOG2 = math.log(2.0)
_NODES = np.linspace(-2.0, 2.0, 9)  # of a bet: so many deviations off what is expected of a lead
_SHARES = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_FAR = 3.0  # deviations beyond which a lead says no more
_LEAST = 0.1  # deviations of the lead that a bet is on at least
_STAKE = 0.9  # of what could be lost, with bounds


def growth(effect: Floats) -> Floats:
    """Return about how fast log W grows, per block, at leads of so many τ: η²/2, log 2 at most."""
    return np.asarray(_LOG2 * -np.expm1(-(effect**2) / (2.0 * _LOG2)))


def bets(leads: Floats, deviations: Floats, tau: Floats, *, bounded: bool = True) -> Floats:
    """Return (n, g) bets λ on leads that are expected to be so large, with these deviations, if X
    has the deviation τ. ``bounded``: effects of more than 1 are not bet on, as φ gains little.
    """
    on = leads[:, None] + deviations[:, None] * _NODES
    most = tau[:, None] if bounded else np.inf
    return np.asarray(np.clip(on, _LEAST * deviations[:, None], most) / tau[:, None] ** 2)


def symmetric(X: Floats, bets: Floats) -> Floats:
    """Return (n,) log e for noise that is symmetric."""
    z = np.clip(bets * X[:, None], -_FAR, _FAR)
    return np.asarray(np.log(2.0 / (1.0 + np.exp(-2.0 * z)) @ _SHARES))


def bounded(X: Floats, bets: Floats, least: Floats) -> Floats:
    """Return (n,) log e for scores within bounds; ``least`` is the least that each X can be."""
    most = _STAKE / np.maximum(-least, 1e-300)
    return np.asarray(np.log1p((np.minimum(bets, most[:, None]) * X[:, None]) @ _SHARES))


def gaussian(X: Floats, bets: Floats, tau: Floats) -> Floats:
    """Return (n,) log e where X is known to have no more than the deviation τ."""
    logs = bets * X[:, None] - 0.5 * (bets * tau[:, None]) ** 2
    return np.asarray(np.logaddexp.reduce(logs + np.log(_SHARES), axis=1))


def certainty_entropy(confidence: float) -> float:
    """Return kl(δ, 1 − δ) for δ = 1 − ``confidence``: what certainty takes, in units of T*."""
    delta = 1.0 - confidence
    if not 0.0 < delta < 1.0:
        raise InputError(f"confidence must lie in (0, 1); got {confidence!r}.")
    return 0.0 if delta >= 0.5 else (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
