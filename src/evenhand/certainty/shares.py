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

On dense rows
-------------
P       (q, r)  points of the questions, U (n, r) directions: leads, each scaled by its need
c, n    (q,)    prices, and how often a question is asked;  V = Σ n p pᵀ
f       (n,)    variances uᵀV⁻¹u of the directions
h       (q,)    how often a question was asked beyond its share of what its peers were, rounded
                down: the same question to other evaluators

An order takes one question after the other: the next is the one that lessens Σ f^(1 + lean) most
for its price. The power leans on the largest f, and yet goes on where two of them are tied, which
no single question lessens.

Of peers that are as good, those that were asked least are next. For that the gain of a question is
weighed by 1/(1 + ρh)(1 + ρ(h + 1)): what one more answer is worth after h of them if each pair of
evaluator and option had an effect of its own, with ρ times the variance of the noise, that stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty import _stages
from evenhand.numerics.least_squares import Gram, gram

_STEPS, _TOL = 200, 0.02  # of the search for shares
_POWER = 0.7  # of its steps: ½ never overshoots, 1 may swing
_NEGLIGIBLE = 1e-7  # of the largest share

Look = Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]
"""Returns f, (n,), under shares s, (q,), and what returns Σ λ_j κ_j (aᵀV⁻¹u_j)²/c, (q,), for λ."""
WORST, ALL = 2.0, 0.0
"""How much an order leans on the largest variance: Σ f³ is lessened, or Σ f."""
_CRITICAL = 64  # rivals that an order is made for
_HEAD = 0.1  # of an evaluation, in the proportions, that an order starts from
_LIGHT = 1e-3  # of an equal share: weights below it are left out where they are not needed
_STAYS = 0.35  # ρ, about that of skating judges
_GREEDY = 256  # questions after which an order only follows its shares
_RIDGE = 1e-9  # that V is enlarged by, relatively: so it has an inverse, hardly another one
_SMALL_DUAL = 1e-6  # λ, as shares of the largest, below which directions are left out of gains


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
        most = float(gain.max())
        if most == 0.0:  # beyond what numbers can tell apart
            break
        bound = max(bound, mean**2 / most)
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


def proportions(points: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Return w, (q,), for which the largest f of a unit of evaluations is least, and f, (n,)."""

    def look(w: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        (used,) = np.nonzero(w)
        P = points[used]
        Y = directions @ np.linalg.inv(_ridged(gram(P, w[used])))

        def gains(dual: Floats) -> Floats:
            found = np.zeros(len(w))
            (worst,) = np.nonzero(dual > _SMALL_DUAL * dual.max())
            found[used] = np.einsum("ij,ij->i", P @ ((Y[worst].T * dual[worst]) @ Y[worst]), P)
            return found

        return np.einsum("ij,ij->i", Y, directions), gains

    return balanced(look, np.full(len(points), 1.0 / len(points)))


def dealt(
    points: Floats,
    directions: Floats,
    shares: Floats,
    head: Floats,
    length: int,
    prices: Floats,
    asked: Counts,
    left: Counts,
    peers: Indices,
    lean: float = WORST,
) -> Indices:
    """Return (length,) questions, or fewer if there are no more, by their shares, in an order that
    is good early on.
    """
    # head: (r, r) what V is before the first of them; peers: (q,) the same number for questions
    # that are peers; lean: how much the largest variance counts beside the others.
    U = directions[np.argsort(-(directions**2).sum(axis=1), kind="stable")[:_CRITICAL]]
    if lean == ALL and len(directions) > directions.shape[1]:  # as many as there are dimensions do
        U = np.asarray(np.linalg.qr(directions, mode="r"))
    (used,) = np.nonzero((shares > 0.0) & (left > 0))
    P, share, room = np.ascontiguousarray(points[used]), shares[used], left[used]
    inverse: Floats = np.asarray(np.linalg.inv(_ridged(head)), dtype=np.float64)
    Z = P @ inverse
    order = _stages.dealt(
        P,
        inverse,
        np.ascontiguousarray(Z @ U.T),
        np.einsum("ij,ij->i", U @ inverse, U),
        1.0 + np.einsum("ij,ij->i", Z, P),
        share,
        prices[used],
        asked[used],
        room,
        peers[used],
        min(length, _GREEDY),
        lean,
        _STAYS,
    )
    made = np.bincount(order, minlength=len(used))
    phase = np.full(len(used), 0.5)
    rest = in_turn(share, phase, made, room - made, length - len(order))
    return np.asarray(used[np.concatenate([order, rest])])


def head_start(points: Floats, shares: Floats) -> Floats:
    """Return V of a tenth of an evaluation in these proportions."""
    return _HEAD * gram(points, shares / shares.sum())


def needed(points: Floats, directions: Floats, weights: Floats) -> Floats:
    """Return the weights, negligible ones as 0 if the others do for the directions."""
    # A point may be rare and needed all the same.
    heavy = np.where(weights > _LIGHT / len(weights), weights, 0.0)
    worst, without = (
        float(Gram.of(points, some).variances(directions).max()) for some in (weights, heavy)
    )
    return heavy if without < 1.02 * worst else weights


def _ridged(V: Floats) -> Floats:
    return V + _RIDGE * (np.diag(np.diag(V)) + np.eye(len(V)))
