"""Whether what `CertainChoice` states of the m best follows from (plan, scores) alone.

Notation
--------
places      options in an order, of each plan its own, the first m inside
p, q        of a set T of m options: the first inside place that it leaves out, and the last outside
            place that it takes in
w[p, q]     log W_T or less for all such T (docs/research/certainty.md); ∞ once they are rejected

By its places a set with p and q has all inside before p and the one at q, and has neither the one
at p nor any beyond q: there is such a set if no option is in both lists, and the first are m at
most, the second k − m at most. So where places change, the new w[p, q] is the least of the old
ones that a set of the new p and q may have had: those for which both pairs of lists together leave
a set. That is worked out for all of them at once, and not by neighbours that change places as the
policy does it: no bound is lower than the policy's, and what it claims is confirmed.

With a tolerance ε half of δ is for these, and half for pairs: that b is not better than a by more
than ε is shown once the product of the evidence for it, over plans with a inside and b outside,
suffices for m(k − m) pairs. The chosen lose no more if it is shown for all of them, a, and others,
b, of which a set that is left has b and not a.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.campaigns.proof.certain import Certain

_MOST = 400  # pairs of places up to which all of them are compared with each other
_NEAR = 1e-5  # share of a loss that rounding may take


class Kind(NamedTuple):
    """Sets of m options, as bits: those that have all of one list and none of another."""

    has: int
    lacks: int
    wealth: float  # log W of all of them, or less

    def exists(self, m: int, k: int) -> bool:
        """Tell whether there is such a set."""
        apart = not self.has & self.lacks
        return apart and self.has.bit_count() <= m and self.lacks.bit_count() <= k - m

    def and_of(self, has: int, lacks: int) -> Kind:
        """Return those of them that have and lack more."""
        return Kind(self.has | has, self.lacks | lacks, self.wealth)

    def without(self, chosen: int, m: int, k: int) -> int:
        """Return how many of the chosen a set of this kind lacks at most."""
        others = ((1 << k) - 1) & ~(self.has | self.lacks | chosen)
        room = m - self.has.bit_count()
        return m - (self.has & chosen).bit_count() - max(0, room - others.bit_count())


class Placed(Certain):
    """What the plans of a record show of which are the m best."""

    def prepare(self) -> None:
        """Find the sets that the plans leave, by kinds."""
        super().prepare()
        self.m, self.k = self.record.policy.target.top, len(self.record.labels)
        if self.m * (self.k - self.m) > _MOST:
            self.confirms, self.leaves = self.confirms[1:], ("which are the best", *self.leaves)
            self.left: list[Kind] = []
            return
        self.confirms = ("which are the best", *self.confirms)
        options = self.record.questions.options
        self._alike = [int(np.argmax(options.same_as(x))) for x in range(self.k)]
        self.left = self._left()

    def _left(self) -> list[Kind]:
        """Return the kinds of sets that are not rejected, the first m of the last plan included."""
        order = list(range(self.k))
        cells = self._cells(order, [Kind(0, 0, 0.0)])
        self.close = np.zeros((self.k, self.k))  # log of the evidence of pairs; ∞: shown
        enough = self._enough(0.5 if self.slack else 1.0)
        of_pairs = self._enough(0.5 / (self.m * (self.k - self.m)))
        for r, one, whole in self.tests:
            plan, end = one.plan, self._end(one, whole)
            assert plan.places is not None
            assert plan.leaders is not None
            places = plan.places.tolist()
            new = places + [x for x in range(self.k) if x not in places]
            if new != order:
                order, cells = new, self._cells(new, list(cells.values()))
            pairs = zip(plan.leaders.tolist(), plan.rivals.tolist(), strict=True)
            at = [(order.index(x), order.index(y)) for x, y in pairs]
            both = plan.leaders, plan.rivals
            for n in sorted(self.looks.get(r, set()) | {end}):
                for pair, log_e in zip(at, self.evidence(r, n, 0.0, 0.0).tolist(), strict=True):
                    if cells[pair].wealth + log_e >= enough:
                        cells[pair] = cells[pair]._replace(wealth=math.inf)
                shown = self.close[both] + self.evidence(r, n, -self.slack) >= of_pairs
                self.close[both] = np.where(shown, np.inf, self.close[both])
            if whole:
                self.close[both] += self.evidence(r, end, -self.slack)
                for pair, log_e in zip(at, self.evidence(r, end, 0.0, 0.0).tolist(), strict=True):
                    cells[pair] = cells[pair]._replace(wealth=cells[pair].wealth + log_e)
        return [one for pair, one in cells.items() if pair is None or one.wealth < math.inf]

    def _cells(self, order: Sequence[int], before: Sequence[Kind]) -> dict[Any, Kind]:
        """Return the kinds of sets by p and q, from 0, in an order; the first m by None."""
        m, bits = self.m, [1 << x for x in order]
        found: dict[Any, Kind] = {None: Kind(sum(bits[:m]), sum(bits[m:]), 0.0)}
        for p in range(m):
            for q in range(m, self.k):
                has, lacks = sum(bits[:p]) + bits[q], bits[p] + sum(bits[q + 1 :])
                found[p, q] = Kind(has, lacks, 0.0)
        for pair, new in found.items():
            may = (one for one in before if one.and_of(new.has, new.lacks).exists(m, self.k))
            least = min((one.wealth for one in may), default=math.inf)
            alike = pair is not None and self._later_of_two(order[pair[0]], order[pair[1]])
            found[pair] = new._replace(wealth=math.inf if alike else least)
        return found

    def _later_of_two(self, x: int, y: int) -> bool:
        """Tell whether the second option has the features of the first: sets take that first."""
        return self._alike[x] == self._alike[y] and x < y

    def unconfirmed_target(self, answer: Mapping[str, Any], most: float) -> Iterator[str]:
        """Say what an answer states of the m best that the plans do not show."""
        number, said = {label: x for x, label in enumerate(self.record.labels)}, answer["target"]
        chosen, inside, outside = (
            [number[label] for label in said[name]] for name in ("chosen", "inside", "outside")
        )
        if len(set(chosen)) != self.m:
            raise ValueError(f"{len(chosen)} are chosen where {self.m} are wanted")
        bits, (m, k) = sum(1 << x for x in chosen), (self.m, self.k)
        for x in inside:
            if any(one.and_of(0, 1 << x).exists(m, k) for one in self.left):
                yield f"that {self.record.labels[x]!r} is among the best {m}"
        for x in outside:
            if any(one.and_of(1 << x, 0).exists(m, k) for one in self.left):
                yield f"that {self.record.labels[x]!r} is not among the best {m}"
        wrong = max(one.without(bits, m, k) for one in self.left)
        stated = said["wrong_at_most"]
        if stated is not None and not wrong <= stated:
            yield f"that at most {stated} of those chosen are wrong"
        loss = math.inf if answer["loses_at_most"] is None else float(answer["loses_at_most"])
        if not (loss >= most or self._loses(chosen, loss, wrong)):
            yield f"that any of them is worse than any other by at most {loss:.6g}"

    def _loses(self, chosen: Sequence[int], loss: float, wrong: int) -> bool:
        """Tell whether no other option is better than any that is chosen by more than a loss."""
        if loss == 0.0:
            return wrong == 0
        others = [x for x in range(self.k) if x not in chosen]
        if self.slack and loss >= self.slack * self.unit * (1.0 - _NEAR):
            open_ = ((a, b) for a in chosen for b in others if self.close[a, b] < math.inf)
            open_ = ((a, b) for a, b in open_ if self._alike[a] != self._alike[b])
            sets = [one for one in self.left if one.exists(self.m, self.k)]
            if not any(
                one.and_of(1 << b, 1 << a).exists(self.m, self.k) for a, b in open_ for one in sets
            ):
                return True
        pairs = [(x, y) for x in chosen for y in others if self._alike[x] != self._alike[y]]
        rows = np.array([self.record.options[x] - self.record.options[y] for x, y in pairs])
        share = 2.0 / (self.k * (self.k - 1))
        refuted = self.refuted(rows, np.full(len(rows), -loss * (1.0 + _NEAR)), share=share)
        return loss > 0.0 and bool((refuted == -1.0).all())
