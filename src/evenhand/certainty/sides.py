"""Who is above a bar, or better than one option: what is certain after plans that were frozen
before their scores, and why.

As `stages` for the best one and `places` for the m best, this file says all that 'certain' rests
on.

Notation
--------
c_x         what option x is worth beyond the bar, or its lead over the option it is held against
ε           the tolerance
T           a label for every option: of no tolerance c > 0, c < 0 or c = 0; else c ≥ 0, c < −ε or
            between. The last of the three is called *between* in either case
guess       'above' or 'below' for every option. T denies 'above' if it has c < 0, or c < −ε;
            'below' if it has c > 0, or c ≥ 0; and, without a tolerance, both if it has c = 0
places      the options in an order;  p  the first place at which T denies the guess
E[p]        evidence of one plan that the option at p is where the guess has it (`e_process`):
            against c ≤ 0 (with a tolerance c ≤ −ε) of 'above', against c ≥ 0 of 'below'
W_T         the product over the plans of E[p], each at T's own p by the plan's places and guess; a
            plan whose guess T does not deny anywhere adds nothing to it
w[p, l]     log W_T or less for every T that denies the guess at p first and has the opposite label
            there (l = 0), or (without a tolerance) c = 0 (l = 1);  w₀ the same for those that deny
            nothing; ∞ where all these T are rejected

The rule
--------
A plan freezes places and guess before its first score. At a look, where w[p, l] + log E[p] ≥
log 1/δ all T of that p and l are rejected for good; when the plan is over, w ← w + log E. What all
T have in common that are left is certain: the guess at the first places, up to the first that has
a w < ∞. Where a plan has another guess or other places than the one before:

    p and p + 1 change places   w'[p, l] = min(w[p + 1, l], w[p, ·]),  w'[p + 1, l] = w[p, l]
    the guess at p turns        without a tolerance: w'[p, 0] = min(w[q, ·] of all q > p, w₀),
                                w'[p, 1] stays, w'[q, ·] = w₀' = w[p, 0];
                                with one: w'[p, 0] = min(w[q, 0] of all q > p, w₀),
                                w'[q, 0] = min(w[q, 0], w[p, 0]), w₀' = min(w₀, w[p, 0])

Why it holds
------------
1. If T is true and denies the guess at p, what E[p] is evidence against is true of the option
   there. So E[p] of a fixed design with fresh noise has mean at most one, as in `stages`, and W_T
   is at most a martingale, whatever decided places and guess. One T is true. What is certain is
   true of it, unless W_T ever reached 1/δ: probability δ, with no union over options. Without a
   tolerance neither side is ever true of an option with c = 0.
2. w[p, l] ≤ log W_T survives: who denies at p first after b, at p + 1, came before a, at p, denied
   at p (if it denies a) or else at p + 1, with the same label; who denies at p + 1 first denies a
   alone of the two. If the guess of a, at p, turns, who denies it now and nothing before had no
   denial at p: a later one, or none. Who does not deny it now, but did, had p; without a tolerance
   nobody else is left whose first denial is later; with one, those are who have a between, and
   their first denial is where it was.  ∎

So options that are easily told come first: they are then certain, whatever is open behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.record import Plan
from evenhand.certainty.stages import InOrder, Shown, prior
from evenhand.policies.messages import Feedback


_EASY = 0.2  # share of the evaluations for one option by which another is easily told


@dataclass(frozen=True, eq=False)
class Sides:
    """Options in an order, on which side each is guessed to be, and the evidence for it."""

    order: Indices  # (n,) all that are held against something
    above: NDArray[np.bool_]  # (k,) the guess, by option
    wealth: Floats  # (n, 2) w; with a tolerance (n, 1)
    own: float = 0.0  # w₀

    @classmethod
    def start(cls, order: Indices, k: int, strict: bool) -> Self:
        """Return them without any evidence; ``strict`` where there is no tolerance."""
        return cls(order, np.ones(k, dtype=np.bool_), np.zeros((len(order), 2 if strict else 1)))

    @property
    def open(self) -> NDArray[np.bool_]:
        """(n,) at which places not all T are rejected."""
        return np.asarray((self.wealth < np.inf).any(axis=1))

    @property
    def settled(self) -> Indices:
        """Options of which it is certain where they are."""
        return self.order[: int(np.argmax(np.append(self.open, True)))]

    @property
    def inside(self) -> Indices:
        """Options that are certainly above."""
        return self.settled[self.above[self.settled]]

    @property
    def outside(self) -> Indices:
        """Options that are certainly below."""
        return self.settled[~self.above[self.settled]]

    def places(self, options: Indices) -> Indices:
        """Return (n,) the places of options."""
        place = np.empty(len(self.above), dtype=np.intp)
        place[self.order] = np.arange(len(self.order))
        return place[options]

    def arranged(self, order: Indices, above: NDArray[np.bool_]) -> Self:
        """Return them by another order and guess; options that the order lacks come last."""
        wanted = np.concatenate([order, np.setdiff1d(self.order, order)])
        now, w, own = self.order.copy(), self.wealth.copy(), self.own
        for place, option in enumerate(wanted.tolist()):
            there = int(np.flatnonzero(now == option)[0])
            for at in range(there - 1, place - 1, -1):
                _swap(w, at)
            now[place + 1 : there + 1] = now[place:there]
            now[place] = option
        for at in np.flatnonzero(above[now] != self.above[now])[::-1].tolist():
            own = _turned(w, own, at)
        guess = self.above.copy()
        guess[now] = above[now]
        return replace(self, order=now, above=guess, wealth=w, own=own)

    def with_easy_ones_first(self, far: Floats, enough: float) -> Self:
        """Return them with options before a harder one if they are told for a fraction of what
        that takes, with the evidence that is left to them then; ``far`` is (k,) how far they are.
        """
        order, w = self.order.copy(), self.wealth.copy()
        for end in range(1, len(order)):
            for at in range(end - 1, -1, -1):
                first, least = order[at], float(w[at].min())
                kept = min(float(w[at + 1].min()), least)
                hard = (enough - least) / far[first] ** 2
                if not (enough - kept) / far[order[at + 1]] ** 2 < _EASY * hard:
                    break
                _swap(w, at)
                order[[at, at + 1]] = order[[at + 1, at]]
        return replace(self, order=order, wealth=w)


def _swap(w: Floats, at: int) -> None:
    """Exchange the options at a place, from 0, and the next, in place."""
    first = w[at].copy()
    w[at], w[at + 1] = np.minimum(w[at + 1], first.min()), first


def _turned(w: Floats, own: float, at: int) -> float:
    """Turn the guess at a place, from 0, in place; return w₀."""
    opposite, later = float(w[at, 0]), min(float(w[at + 1 :].min(initial=np.inf)), own)
    w[at, 0] = later
    if w.shape[1] == 2:
        w[at + 1 :] = opposite
        return opposite
    np.minimum(w[at + 1 :], opposite, out=w[at + 1 :])
    return min(own, opposite)


@dataclass(frozen=True, eq=False)
class SideEvidence(Shown):
    """What some plans have shown of who is above."""

    sides: Sides


class SideInference(InOrder[SideEvidence]):
    """What a record says of which options are above a bar, or better than one of them."""

    @property
    def base(self) -> int:
        """What they are held against."""
        assert self.aim.base is not None
        return self.aim.base

    def _start(self) -> SideEvidence:
        k = len(self.aim.questions.options)
        others = np.arange(k)
        if self.aim.against is not None:
            others = others[~self.aim.same(self.aim.against)]
        start = SideEvidence(Sides.start(others, k, strict=not self.aim.slack))
        return start if len(others) else replace(start, answer=self.aim.against)

    def _begun(self, r: int, now: SideEvidence) -> SideEvidence:
        plan, sides = self.record.rounds[r].plan, now.sides
        if plan.places is not None:
            guess = sides.above.copy()
            options, above = self.guessed(plan)
            guess[options] = above
            sides = sides.arranged(plan.places, guess)
        return replace(now, answer=None, sides=sides, where=dict(now.where))

    def guessed(self, plan: Plan) -> tuple[Indices, NDArray[np.bool_]]:
        """Return (n,) the options that a plan tests, and which of them it has above."""
        assert plan.leaders is not None
        above = plan.leaders != self.base
        if ((plan.rivals == self.base) != above).any():
            raise ValueError("a plan compares options with something else than what is asked about")
        return np.where(above, plan.leaders, plan.rivals), above

    def is_certain(self, now: SideEvidence, among: Indices | None = None) -> bool:
        """Tell whether it is certain of all options, or of some, on which side they are."""
        open_ = now.sides.order[now.sides.open]
        return not (open_ if among is None else np.intersect1d(open_, among)).size

    def _nulls(self, plan: Plan) -> Floats:
        """Return (n,) what leads are tested against."""
        return np.where(self.guessed(plan)[1], -self.aim.slack, 0.0)

    def _prior(self, plan: Plan) -> tuple[Floats, Floats]:
        assert plan.expected is not None
        return prior(plan.expected, self._nulls(plan))

    def _evidence(self, r: int, told: Feedback) -> Floats:
        plan = self.record.rounds[r].plan
        return self._reading(r, told).evidence(self._prior(plan), self._nulls(plan))

    def _look(self, r: int, now: SideEvidence, told: Feedback, count: int) -> SideEvidence:
        plan, sides = self.record.rounds[r].plan, now.sides
        assert plan.leaders is not None
        at = sides.places(self.guessed(plan)[0])
        wealth = sides.wealth.copy()
        enough = wealth[at] + self._evidence(r, told)[:, None] >= self.aim.enough
        beaten = enough & (wealth[at] < np.inf)
        wealth[at] = np.where(enough, np.inf, wealth[at])
        for label in range(beaten.shape[1]):
            where = self._noted(now, plan, beaten[:, label], (r, count), label)
            now = replace(now, where=where)
        now = replace(now, sides=replace(sides, wealth=wealth))
        if not self.is_certain(now, plan.among):
            return now
        cut = now.cut if count >= plan.number else now.cut | {r}
        return replace(now, answer=int(sides.order[0]), cut=cut)

    def _closed(self, r: int, now: SideEvidence) -> SideEvidence:
        round_ = self.record.rounds[r]
        plan = round_.plan
        if plan.leaders is None or r in now.cut or not round_.count:
            return now
        if now.answer is None:  # it may have been closed between two looks
            now = self._look(r, now, round_.total, round_.count)
        sides, wealth = now.sides, now.sides.wealth.copy()
        wealth[sides.places(self.guessed(plan)[0])] += self._evidence(r, round_.total)[:, None]
        return replace(now, sides=replace(sides, wealth=wealth))
