"""What is certain of the m best after plans that were frozen before their scores, and why.

As in `stages` for the best one, whoever wants to know what 'certain' rests on has to read this file
and that one only.

Notation
--------
T           a set of m options;  H_T  'nobody outside T is better than anybody inside'
places      the options in an order, the first m of them inside
p, q        of a set T that is not the first m themselves: the first inside place whose option T
            leaves out, and the last outside place whose option it takes in
E[p, q]     evidence of one plan that the option at p is better than the one at q (`e_process`)
W_T         the product over the plans of E[p, q], each at T's own p and q by the places of the
            plan; a plan in which T are the first m adds nothing to it
w[p, q]     log W_T or less for every T with that p and q;  w₀ the same for the first m; ∞ where all
            these T are rejected

The rule
--------
A plan freezes the places before its first score. At a look, where w[p, q] + log E[p, q] ≥ log 1/δ
all sets of that p and q are rejected for good; when the plan is over, w ← w + log E. If all are
rejected the first m are the answer. Before that, what all sets have in common that are left is
certain: the first inside places whose rows are rejected are in, the last outside places whose
columns are rejected are out, and where p ≤ m − r and q ≥ m + r + 1 is rejected, at most r are
wrong.

Neighbours change places, one pair after the other, if a plan has others than the one before:

    inside, p and p + 1     w'[p, ·] = min(w[p, ·], w[p + 1, ·]),  w'[p + 1, ·] = w[p, ·]
    outside, q and q + 1    w'[·, q + 1] = min(w[·, q], w[·, q + 1]),  w'[·, q] = w[·, q + 1]
    m and m + 1             w[m, m + 1] and w₀ are exchanged, the rest stays

without the minimum where T takes in one option only (q = m + 1), or leaves one out only (p = m):
there rows, or columns, are just exchanged.

Why it holds
------------
1. Under H_T the option at q, inside T, is as good as the one at p, outside: its lead over that is
   at most 0, and E[p, q] of a fixed design with fresh noise has mean at most one, as in `stages`.
   So W_T is at most a martingale, whatever decided the places. Let T* be one true set: what is true
   of all sets with W_T < 1/δ is true of T*, unless W_T* ever reached 1/δ: probability δ, with no
   union over sets, pairs or places.
2. w[p, q] ≤ log W_T survives neighbours a at p, b at p + 1 that change places inside: a set whose
   first omission is now p (b's) had it at p, if it omits a as well, or else at p + 1; one whose
   first is now p + 1 (a's) omits a and takes b: it had it at p. If it takes in one option only it
   omits one only, so the first is p + 1. Outside is the mirror image. Across the line the first m
   become the one set with p = m, q = m + 1, and that one becomes the first m. Every other set
   keeps its p and q: they lie before m or beyond m + 1, or it exchanges one option only; then it
   leaves out, or takes in, another option, which is at the same place as before.  ∎

With a tolerance
----------------
ε           the tolerance;  a ⊁ b  'b is better than a by more than ε'
V[a, b]     the product of the evidence against a ⊁ b over those plans that have a inside and b
            outside

Half of δ is for W, the other half for V: a ⊁ b is rejected once V[a, b] ≥ 2m(k − m)/δ. The first m
are the answer, too, if a ⊁ b is rejected for all places a inside and b outside for which some
w[p, q] < ∞ with p ≤ a and q ≥ b: then no other option is better than any of them by more than ε.
For let b be better than a by more. Then some option outside that T* has (the best outside) is
better than some inside that T* has not (the worst inside) by as much, and if T* is not rejected, a
at or behind its p and b at or before its q are such. There are m(k − m) pairs of one that T* has
and one that it has not, a union over which is all it takes.

Options with the same features have the same value. Sets that differ only in such options are as
right as each other, so only those count that take the first of them first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.stages import InOrder, Shown, prior
from evenhand.policies.messages import Feedback


@dataclass(frozen=True, eq=False)
class Places:
    """Options in an order, the first m inside, and the evidence against all other sets of m."""

    order: Indices  # (k,)
    wealth: Floats  # (m, k − m) w
    own: float  # w₀
    kinds: Indices  # (k,) the first option that has the same features

    @classmethod
    def start(cls, order: Indices, top: int, kinds: Indices) -> Self:
        """Return them without any evidence."""
        none = cls(order, np.zeros((top, len(order) - top)), 0.0, kinds)
        return replace(none, wealth=none._without_alike(none.wealth))

    @property
    def top(self) -> int:
        """M, how many are inside."""
        return len(self.wealth)

    @property
    def open(self) -> NDArray[np.bool_]:
        """(m, k − m) where not all sets are rejected."""
        return np.asarray(self.wealth < np.inf)

    def cells(self, leaders: Indices, rivals: Indices) -> tuple[Indices, Indices]:
        """Return (n,) the rows of options that are inside, and the columns of others."""
        place = np.empty(len(self.order), dtype=np.intp)
        place[self.order] = np.arange(len(place))
        return place[leaders], place[rivals] - self.top

    def with_wealth(self, wealth: Floats) -> Self:
        """Return them with other evidence."""
        return replace(self, wealth=wealth)

    # ------------------------------------------------------------------ what is certain

    @property
    def inside(self) -> Indices:
        """Options that are among the m best by all sets that are left."""
        return self.order[: _first(np.any(self.open, axis=1))]

    @property
    def outside(self) -> Indices:
        """Options that are not."""
        k = len(self.order)
        return self.order[k - _first(np.any(self.open, axis=0)[::-1]) :]

    @property
    def wrong_at_most(self) -> int:
        """How many of the first m are not among the m best, at most."""
        m, n = self.wealth.shape
        exchanged = np.minimum(np.arange(m, 0, -1)[:, None], np.arange(1, n + 1))
        return int(exchanged.max(initial=0, where=self.open))

    # ------------------------------------------------------------------ other places

    def arranged(self, order: Indices) -> Self:
        """Return them by another order; options that it lacks come last, by their numbers."""
        k = len(self.order)
        wanted = np.concatenate([order, np.setdiff1d(np.arange(k), order)])
        if (wanted == self.order).all():
            return self
        now, w, own = self.order.copy(), self.wealth.copy(), self.own
        for place, option in enumerate(wanted.tolist()):
            there = int(np.flatnonzero(now == option)[0])
            for at in range(there - 1, place - 1, -1):
                own = _swapped(w, own, at)
            now[place + 1 : there + 1] = now[place:there]
            now[place] = option
        new = replace(self, order=now, own=own)
        return replace(new, wealth=new._without_alike(w))

    def _without_alike(self, wealth: Floats) -> Floats:
        """Return evidence, with nothing left where sets take the later of two that are alike."""
        inside, outside = self.order[: self.top, None], self.order[self.top :]
        alike = (self.kinds[inside] == self.kinds[outside]) & (inside < outside)
        return np.where(alike, np.inf, wealth)


def _swapped(w: Floats, own: float, at: int) -> float:
    """Exchange the options at a place, from 0, and the next, in place; return w₀."""
    m = len(w)
    if at == m - 1:
        own, w[-1, 0] = float(w[-1, 0]), own
    elif at < m - 1:
        first, second = w[at].copy(), w[at + 1].copy()
        w[at], w[at + 1] = np.minimum(first, second), first
        w[at, 0] = second[0]
    else:
        q = at - m
        first, second = w[:, q].copy(), w[:, q + 1].copy()
        w[:, q + 1], w[:, q] = np.minimum(first, second), second
        w[-1, q + 1] = first[-1]
    return own


def _first(true: NDArray[np.bool_]) -> int:
    """Return the place of the first that is true; how many there are if none is."""
    return int(np.argmax(true)) if true.any() else len(true)


@dataclass(frozen=True, eq=False)
class SetEvidence(Shown):
    """What some plans have shown of which are the m best."""

    places: Places
    within: Floats | None = None  # (k, k) log V; ∞ where it is rejected, or both are alike


class SetInference(InOrder[SetEvidence]):
    """What a record says of which options are the m best."""

    def _start(self) -> SetEvidence:
        everybody = np.arange(len(self.aim.questions.options))
        kinds, within = self.aim.kinds, None
        if self.aim.slack:
            within = np.where(kinds[:, None] == kinds, np.inf, 0.0)
        start = SetEvidence(Places.start(everybody, self.aim.top, kinds), within)
        return self._answered(start) if self.is_certain(start) else start

    def _answered(self, now: SetEvidence) -> SetEvidence:
        return replace(now, answer=int(now.places.order[0]))

    def _begun(self, r: int, now: SetEvidence) -> SetEvidence:
        plan = self.record.rounds[r].plan
        places = now.places if plan.places is None else now.places.arranged(plan.places)
        return replace(now, answer=None, places=places)

    @property
    def needed(self) -> tuple[float, float]:
        """What evidence rejects sets, and (with a tolerance) single pairs."""
        if not self.aim.slack:
            return self.aim.enough, np.inf
        m, k = self.aim.top, len(self.aim.questions.options)
        half = self.aim.enough + math.log(2.0)
        return half, half + math.log(m * (k - m))

    def doubtful(self, places: Places, within: Floats | None) -> NDArray[np.bool_]:
        """Return (m, k − m) which leads across the line are still to be told."""
        if within is None:
            return places.open
        reached = np.logical_or.accumulate(places.open, axis=0)[:, ::-1]
        reached = np.logical_or.accumulate(reached, axis=1)[:, ::-1]
        pairs = np.ix_(places.order[: places.top], places.order[places.top :])
        return np.asarray(reached & (within[pairs] < np.inf))

    def is_certain(self, now: SetEvidence, among: Indices | None = None) -> bool:
        """Tell whether all sets but the first m are rejected, or these lose no more than ε."""
        open_, m = self.doubtful(now.places, now.within), now.places.top
        if among is not None:
            there = np.isin(now.places.order, among)
            open_ = open_ & there[:m, None] & there[m:]
        return not open_.any()

    def _look(self, r: int, now: SetEvidence, told: Feedback, count: int) -> SetEvidence:
        plan, places = self.record.rounds[r].plan, now.places
        assert plan.leaders is not None
        cells, (enough, of_pairs) = places.cells(plan.leaders, plan.rivals), self.needed
        evidence, more = self._evidence(r, told)
        wealth, within = places.wealth.copy(), now.within
        beaten = (wealth[cells] + evidence >= enough) & (wealth[cells] < np.inf)
        wealth[cells] = np.where(beaten, np.inf, wealth[cells])
        if within is not None:
            at, within = (plan.leaders, plan.rivals), within.copy()
            close = (within[at] + more >= of_pairs) & (within[at] < np.inf)
            within[at] = np.where(close, np.inf, within[at])
        now = replace(now, places=places.with_wealth(wealth), within=within)
        if not self.is_certain(now, plan.among):
            return now
        whole = count >= plan.number
        return replace(self._answered(now), cut=now.cut if whole else now.cut | {r})

    def _closed(self, r: int, now: SetEvidence) -> SetEvidence:
        round_ = self.record.rounds[r]
        plan = round_.plan
        if plan.leaders is None or r in now.cut or not round_.count:
            return now
        if now.answer is None:  # it may have been closed between two looks
            now = self._look(r, now, round_.total, round_.count)
        wealth, within = now.places.wealth.copy(), now.within
        said, more = self._evidence(r, round_.total)
        wealth[now.places.cells(plan.leaders, plan.rivals)] += said
        if within is not None:
            within = within.copy()
            within[plan.leaders, plan.rivals] += more
        return replace(now, places=now.places.with_wealth(wealth), within=within)

    def _evidence(self, r: int, told: Feedback) -> tuple[Floats, Floats]:
        """Return (n,) log E of leads across the line, and that they are more than −ε."""
        said, plan = self._reading(r, told), self.record.rounds[r].plan
        assert plan.expected is not None
        plain = said.evidence(prior(plan.expected, 0.0))
        if not self.aim.slack:
            return plain, plain
        return plain, said.evidence(self._prior(plan), -self.aim.slack)
