"""Who is above a bar, or better than one option: what is certain after plans that were frozen
before their scores, and why.

As `stages` for the best one and `places` for the m best, this file says all that 'certain' rests
on.

Notation
--------
c_x         what option x is worth beyond the bar, or its lead over the option it is held against
n, ε        how many options there are (beside that one), and the tolerance
sides       'above': c > 0, with a tolerance c ≥ −ε; 'below': c < 0
E           evidence of one plan that an option is on the side where the plan has it (`e_process`):
            against c ≤ 0 (c < −ε) of 'above', against c ≥ 0 of 'below'
W[x, side]  the product of E over the plans that have x on that side

The rule
--------
A plan freezes on which side it has each option that it tests before its first score. At a look, x
is certainly on a side if W[x, side] E ≥ 2n/δ; with a tolerance if it is n/δ or more. What is
certain is so for good, and the option is not tested any more. When a plan is over, W ← W E.

Why it holds
------------
1. If x is not on a side, E for that side has mean at most one, for a fixed design with fresh noise,
   as in `stages`. So W[x, side] is at most a martingale, whatever decided what plans test.
2. Anything certain is false only if W of some x reached that for a side on which x is not. Without
   a tolerance these are one side of x, or both where c = 0 exactly: 2n at most. With one they are
   one at most, since x is above or below (or both): n. A union over them is δ.  ∎

No option waits for another here: who is far from the line is certain after a few scores, whatever
is open at it. `places`, which has no union, would make all of them certain with fewer scores where
no one is at the line, and far fewer certain where somebody is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.models import BAR
from evenhand.certainty.record import Plan
from evenhand.certainty.stages import InOrder, Shown, prior
from evenhand.policies.messages import Feedback

_ABOVE, _BELOW = 0, 1


@dataclass(frozen=True, eq=False)
class Sides:
    """The evidence that options are above, and below."""

    wealth: Floats  # (k, 2) log W of above and below; ∞ where it is certain

    @property
    def certain(self) -> NDArray[np.bool_]:
        """(k,) of whom it is certain on which side it is."""
        return np.asarray((self.wealth == np.inf).any(axis=1))

    @property
    def inside(self) -> Indices:
        """Options that are certainly above."""
        return np.flatnonzero(self.wealth[:, _ABOVE] == np.inf)

    @property
    def outside(self) -> Indices:
        """Options that are certainly below."""
        return np.flatnonzero(self.wealth[:, _BELOW] == np.inf)


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

    @property
    def options(self) -> Indices:
        """(n,) those that are held against it."""
        everybody = np.arange(len(self.aim.questions.options))
        return everybody if self.base == BAR else everybody[~self.aim.same(self.base)]

    @property
    def enough(self) -> float:
        """Evidence that makes a side certain."""
        sides = 1 if self.aim.slack else 2
        return self.aim.enough + math.log(sides * max(len(self.options), 1))

    def _start(self) -> SideEvidence:
        start = SideEvidence(Sides(np.zeros((len(self.aim.questions.options), 2))))
        return start if len(self.options) else replace(start, answer=self.aim.against)

    def _begun(self, r: int, now: SideEvidence) -> SideEvidence:
        return replace(now, answer=None)

    def guessed(self, plan: Plan) -> tuple[Indices, Indices]:
        """Return (n,) the options that a plan tests, and on which side it has them."""
        assert plan.leaders is not None
        above = plan.leaders != self.base
        if ((plan.rivals == self.base) != above).any():
            raise ValueError("a plan compares options with something else than what is asked about")
        return np.where(above, plan.leaders, plan.rivals), np.where(above, _ABOVE, _BELOW)

    def open(self, now: SideEvidence, among: Indices | None = None) -> Indices:
        """Return those options, of all or of some, of which it is not certain where they are."""
        left = self.options[~now.sides.certain[self.options]]
        return left if among is None else np.intersect1d(left, among)

    def is_certain(self, now: SideEvidence, among: Indices | None = None) -> bool:
        """Tell whether it is certain of all options, or of some, on which side they are."""
        return not len(self.open(now, among))

    def _evidence(self, r: int, told: Feedback) -> Floats:
        """Return (n,) log E of the sides that plan r tests."""
        plan = self.record.rounds[r].plan
        assert plan.expected is not None
        null = np.where(self.guessed(plan)[1] == _ABOVE, -self.aim.slack, 0.0)
        return self._reading(r, told).evidence(prior(plan.expected, null), null)

    def _look(self, r: int, now: SideEvidence, told: Feedback, count: int) -> SideEvidence:
        plan, wealth = self.record.rounds[r].plan, now.sides.wealth.copy()
        at = self.guessed(plan)
        found = (wealth[at] + self._evidence(r, told) >= self.enough) & ~now.sides.certain[at[0]]
        wealth[at] = np.where(found, np.inf, wealth[at])
        now = replace(now, sides=Sides(wealth))
        if not self.is_certain(now, plan.among):
            return now
        cut = now.cut if count >= plan.number else now.cut | {r}
        return replace(now, answer=int(at[0][0]), cut=cut)

    def _closed(self, r: int, now: SideEvidence) -> SideEvidence:
        round_ = self.record.rounds[r]
        plan = round_.plan
        if plan.leaders is None or r in now.cut or not round_.count:
            return now
        if now.answer is None:  # it may have been closed between two looks
            now = self._look(r, now, round_.total, round_.count)
        wealth = now.sides.wealth.copy()
        wealth[self.guessed(plan)] += self._evidence(r, round_.total)
        return replace(now, sides=Sides(wealth))
