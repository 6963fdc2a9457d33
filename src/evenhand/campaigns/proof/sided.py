"""Whether what `CertainChoice` states of a bar, or of one option, follows from (plan, scores) alone.

Notation
--------
c_x         what option x is worth beyond the bar or the option that all are held against
T           a label for every option: c > 0, c < 0 or c = 0; with a tolerance ε c ≥ 0, c < −ε or
            between
p           the first place of a plan at which T denies where the plan has the option there
w           log W_T or less for all T of one p and one label there (docs/certainty.md); ∞ once they
            are rejected

All T of one p and label are those that deny nothing before p, have that label at p, and any behind
it: of every option a list of labels that it may have. So where places or guesses change, the new w
is the least of the old ones of lists that have some T in common with it. That is worked out for all
of them at once, and not by neighbours that change places as the policy does it: no bound is lower
than the policy's, and what it claims is confirmed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.certain import Certain
from evenhand.certainty.models import BAR
from evenhand.certainty.record import Plan

_MOST = 300  # options up to which all lists are compared with each other
_ABOVE, _BELOW, _BETWEEN = range(3)


class Lists(NamedTuple):
    """All T that have one of some labels for each option: of each label, who may have it, as
    bits.
    """

    may: tuple[int, int, int]
    wealth: float = 0.0  # log W of all of them, or less

    def meets(self, other: Lists, everybody: int) -> bool:
        """Tell whether some T is in both."""
        both = [mine & theirs for mine, theirs in zip(self.may, other.may, strict=True)]
        return both[0] | both[1] | both[2] == everybody


class Sided(Certain):
    """What the plans of a record show of who is above a bar, or better than one option."""

    def prepare(self) -> None:
        """Find the labels that the plans leave."""
        target, labels = self.record.policy.target, self.record.labels
        self.bar = 0.0 if target.bar is None else target.bar / (self.record.noise or 1.0)
        self.base = BAR if target.bar is not None else labels.index(target.against)
        super().prepare()
        others = np.arange(len(labels))
        if self.base != BAR:
            others = others[~self.same(self.base)]
        self.others = others.tolist()
        if len(others) > _MOST:
            self.confirms, self.leaves = self.confirms[1:], ("which are the best", *self.leaves)
            self.left: list[Lists] = []
            return
        self.confirms = ("which are the best", *self.confirms)
        self.left = self._left()

    def lead_rows(self, option: int | Indices, others: Indices | slice = slice(None)) -> Floats:
        """Return (n, m) the rows of leads; those of a bar, or over it, are of values."""
        rows = np.vstack([self.record.options, -self.record.neutral])
        if isinstance(others, slice):
            others = np.arange(len(self.record.labels))[others]
        return np.asarray(rows[option] - rows[others])

    def offsets(self, plan: Plan) -> Floats | float:
        """Return (n,) the bar, or less that, in leads over it, or of it."""
        over = (plan.rivals == BAR).astype(np.float64) - (np.asarray(plan.ahead) == BAR)
        return over * self.bar

    def _left(self) -> list[Lists]:
        """Return the lists of labels that are not rejected."""
        order, guess = list(self.others), dict.fromkeys(self.others, _ABOVE)
        cells = self._cells(order, guess, [Lists((self._all, self._all, self._all))])
        for r, one, whole in self.tests:
            plan, end = one.plan, self._end(one, whole)
            assert plan.places is not None
            assert plan.leaders is not None
            above = plan.leaders != self.base
            if ((plan.rivals == self.base) != above).any():
                raise ValueError(f"plan {r + 1} compares options with something else")
            options = np.where(above, plan.leaders, plan.rivals).tolist()
            places = plan.places.tolist()
            order = places + [x for x in self.others if x not in places]
            guess |= dict(zip(options, np.where(above, _ABOVE, _BELOW).tolist(), strict=True))
            if sorted(order) != self.others or not set(options) <= set(order):
                raise ValueError(f"plan {r + 1} has no places of these options")
            cells = self._cells(order, guess, list(cells.values()))
            null = np.where(above, -self.slack, 0.0)
            for n in sorted(self.looks.get(r, set()) | {end}):
                self._add(cells, options, self.evidence(r, n, null, null), self._enough())
            if whole:
                self._add(cells, options, self.evidence(r, end, null, null))
        return [one for one in cells.values() if one.wealth < math.inf]

    @staticmethod
    def _add(
        cells: dict[Any, Lists], options: Sequence[int], evidence: Floats, enough: float = math.nan
    ) -> None:
        """Add evidence to lists, or reject those where it suffices, if it is said what does."""
        for x, log_e in zip(options, evidence.tolist(), strict=True):
            for key in [key for key in cells if key is not None and key[0] == x]:
                total = cells[key].wealth + log_e
                if math.isnan(enough):
                    cells[key] = cells[key]._replace(wealth=total)
                elif total >= enough:
                    cells[key] = cells[key]._replace(wealth=math.inf)

    @property
    def _all(self) -> int:
        return sum(1 << x for x in self.others)

    def _denies(self, guess: int) -> tuple[int, ...]:
        """Return the labels that deny a guess."""
        opposite = _BELOW if guess == _ABOVE else _ABOVE
        return (opposite,) if self.slack else (opposite, _BETWEEN)

    def _cells(
        self, order: Sequence[int], guess: Mapping[int, int], before: Sequence[Lists]
    ) -> dict[Any, Lists]:
        """Return lists by the option and its label at which T denies a guess; None: nowhere."""
        agree, free = [0, 0, 0], self._all
        found: dict[Any, Lists] = {}
        for x in order:
            bit, denied = 1 << x, self._denies(guess[x])
            free &= ~bit
            for label in denied:
                may = [one | free | (bit if i == label else 0) for i, one in enumerate(agree)]
                found[x, label] = Lists((may[0], may[1], may[2]))
            for label in range(3):
                agree[label] |= 0 if label in denied else bit
        found[None] = Lists((agree[0], agree[1], agree[2]))
        for key, new in found.items():
            met = (one.wealth for one in before if one.meets(new, self._all))
            found[key] = new._replace(wealth=min(met, default=math.inf))
        return found

    def unconfirmed_target(self, answer: Mapping[str, Any], most: float) -> Iterator[str]:
        """Say what an answer states of sides that the plans do not show."""
        number, said = {label: x for x, label in enumerate(self.record.labels)}, answer["target"]
        words = self.record.policy.target.words
        claimed = [number[label] for name in ("inside", "outside") for label in said[name]]
        for name, guess, no in (("inside", _ABOVE, ""), ("outside", _BELOW, "not ")):
            for x in (number[label] for label in said[name]):
                may = (one.may[label] for one in self.left for label in self._denies(guess))
                if x not in self.others or any(bits >> x & 1 for bits in may):
                    yield f"that {self.record.labels[x]!r} is {no}{words}"
        settled = sorted(claimed) == self.others
        if not settled and (said["wrong_at_most"] is not None or answer["loses_at_most"] is not None):
            yield f"that it is certain of every option whether it is {words}"
