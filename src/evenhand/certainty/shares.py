"""Shares of the money that tell leads soonest, whichever way a model keeps its rows.

Notation
--------
a, c        row of a question, and what it costs per unit of weight: its price, times its squared
            noise where that is not in the row
s           (q,) shares of the money, Σ s = 1: a unit of money gives the weights s/c
b, j        the leader and its rivals, n of them;  u_j the lead of b over j
f_j         κ_j u_jᵀV⁻¹u_j, V = Σ (s/c) a aᵀ: the variance of a lead for a unit of money, times κ_j,
            how much evidence against j a lead without error would need

**Shares.** The largest f is least, over s, by multiplicative steps on both sides of the saddle:

    g = Σ λ_j κ_j (aᵀV⁻¹u_j)²/c,    s ← s g^0.7,    λ_j ← λ_j f_j,

each then divided by its sum. The first is the step for a design that is optimal on average over λ,
the second leans on the worst lead. With A = Σ λ_j κ_j u_j u_jᵀ and the V′ of any other shares s′,
(tr AV⁻¹)² ≤ tr AV′⁻¹ · tr AV⁻¹V′V⁻¹ = Σ λ f′ · Σ s′ g by Cauchy and Schwarz: so no shares have a
maximum below (Σ λ f)²/max g, and it is seen when nothing can be gained.

**An order** has the shares early on, as far as whole numbers can. Nothing that is certain rests on
any of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.arrays import Counts, Floats, Indices

_STEPS, _TOL = 200, 0.02  # of the search for shares
_POWER = 0.7  # of its steps: ½ never overshoots, 1 may swing
_NEGLIGIBLE = 1e-7  # of the largest share

Look = Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]
"""Returns f, (n,), under shares s, (q,), and what returns Σ λ_j κ_j (aᵀV⁻¹u_j)²/c, (q,), for λ."""


def balanced(
    look: Look, start: Floats, dual: Floats | None = None, steps: int = _STEPS
) -> tuple[Floats, Floats]:
    """Return shares s whose largest f is least, and f, from these shares (and λ) on."""
    s = best = start
    of_best, least, bound = np.full(1, np.inf), np.inf, 0.0
    for step in range(steps + 1):
        f, gains = look(s)
        dual = np.full(len(f), 1.0 / len(f)) if dual is None else dual
        worst, mean = float(f.max()), float(dual @ f)
        if worst < least or step == 0:
            best, of_best, least = s, f, worst
        if step == steps or not np.isfinite(worst):
            break
        gain = np.where(s > 0.0, np.maximum(gains(dual), 0.0), 0.0)
        bound = max(bound, mean**2 / float(gain.max()))
        if least <= bound * (1.0 + _TOL):
            break
        s = s * gain**_POWER
        s = np.where(s < _NEGLIGIBLE * s.max(), 0.0, s)
        s = s / s.sum()
        dual = np.maximum(dual * f / worst, 1e-12)
        dual = dual / dual.sum()
    return best, of_best


def in_turn(share: Floats, phase: Floats, have: Counts, room: Counts, length: int) -> Indices:
    """Return (length,) places by their shares, or fewer, none more often than there is room for."""
    # The t-th of a place, of which there are some already, is due at (t + phase)/share; but the
    # first at the latest when one of each is: what was never asked about cannot be told apart.
    rest, due = np.minimum(room, length), np.ceil((length + have.sum()) * share / share.sum())
    most = np.minimum(np.maximum(due.astype(np.int64) - have, 0) + 2, rest)
    while most.sum() < min(length, int(rest.sum())):
        most = np.minimum(2 * np.maximum(most, 1), rest)
    place = np.repeat(np.arange(len(most)), most)
    time = have[place] + np.arange(len(place)) - np.repeat(np.cumsum(most) - most, most)
    pace = share.sum() / share
    wait = np.where(time == 0, np.minimum(pace, float(len(share)))[place], pace[place])
    order = np.argsort((time + phase[place]) * wait, kind="stable")
    return place[order][:length]
