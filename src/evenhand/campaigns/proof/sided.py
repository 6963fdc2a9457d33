"""Whether what `CertainChoice` states of a bar, or one option, follows from (plan, scores) alone.

Notation
--------
x           an option;  n  how many are held against the bar, or against one of them
W           of x and a side, 'above' or 'below': the product of the evidence of all plans that have
            x on that side, from their own scores and the numbers frozen with them alone

That x is on a side is confirmed if there was a look with W ≥ 2n/δ (with a tolerance, n/δ).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.certain import Certain
from evenhand.campaigns.proof.record import Round

_BAR = -1  # what stands for the bar among options, in a plan


class Sided(Certain):
    """What the plans of a record show of who is above a bar, or better than one option."""

    def prepare(self) -> None:
        """Find on which sides the plans show options to be."""
        target, labels = self.record.policy.target, self.record.labels
        self.bar = 0.0 if target.bar is None else target.bar / self.unit
        self.base = _BAR if target.bar is not None else labels.index(target.against)
        super().prepare()
        self.confirms = ("which are wanted", *self.confirms[1:])
        same = np.zeros(len(labels), dtype=np.bool_) if self.base == _BAR else self.same(self.base)
        self.others = set(np.flatnonzero(~same).tolist())
        self.shown = self._shown()

    def lead_rows(self, option: int | Indices, others: Indices | slice = slice(None)) -> Floats:
        """Return (n, m) the rows of leads; those of a bar, or over it, are of values."""
        rows = np.vstack([self.record.options, -self.record.neutral])
        if isinstance(others, slice):
            others = np.arange(len(self.record.labels))[others]
        return np.asarray(rows[option] - rows[others])

    def offsets(self, one: Round) -> Floats | float:
        """Return (n,) the bar in leads over it, and less than nothing in leads of it."""
        over = (one.plan.rivals == _BAR).astype(np.float64) - (one.plan.ahead == _BAR)
        return np.asarray(over * self.bar)

    def _shown(self) -> set[tuple[int, bool]]:
        """Return options with a side, True for above, on which they are shown to be."""
        wealth: dict[tuple[int, bool], float] = defaultdict(float)
        enough = self._enough(1.0 / ((1 if self.slack else 2) * max(len(self.others), 1)))
        found = set()
        for r, one, whole in self.tests:
            plan, end = one.plan, self._end(one, whole)
            assert plan.leaders is not None
            above = plan.leaders != self.base
            if ((plan.rivals == self.base) != above).any():
                raise ValueError(f"plan {r + 1} compares options with something else")
            options = np.where(above, plan.leaders, plan.rivals).tolist()
            sides = list(zip(options, above.tolist(), strict=True))
            null = np.where(above, -self.slack, 0.0)
            for n in sorted(self.looks.get(r, set()) | {end}):
                both = zip(sides, self.evidence(r, n, null, null).tolist(), strict=True)
                found |= {side for side, log_e in both if wealth[side] + log_e >= enough}
            if whole:
                for side, log_e in zip(sides, self.evidence(r, end, null, null), strict=True):
                    wealth[side] += float(log_e)
        return found

    def unconfirmed_target(self, answer: Mapping[str, Any], most: float) -> Iterator[str]:
        """Say what an answer states of sides that the plans do not show."""
        number, said = {label: x for x, label in enumerate(self.record.labels)}, answer["target"]
        words = self.record.policy.target.words
        claimed = {name: {number[x] for x in said[name]} for name in ("inside", "outside")}
        for name, some in claimed.items():
            for x in sorted(some):
                if x not in self.others or (x, name == "inside") not in self.shown:
                    no = "" if name == "inside" else "not "
                    yield f"that {self.record.labels[x]!r} is {no}{words}"
        settled = claimed["inside"] | claimed["outside"] == self.others
        if not settled and not said["wrong_at_most"] is answer["loses_at_most"] is None:
            yield f"that it is certain of every option whether it is {words}"
