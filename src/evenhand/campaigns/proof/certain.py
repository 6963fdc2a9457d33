"""Whether what `CertainChoice` states follows from plan and scores (docs/research/certainty.md).

Notation
--------
i           the option that is chosen;  x ≠ i its rivals
E_x         evidence of a plan against x, from its own scores and the numbers frozen with it alone
W_x         product over the plans in order, at some look of the last of them

That i loses at most ε is confirmed if for every x there was a look with W_x ≥ 1/δ, where E_x is
evidence against 'x is better than i by more than ε' in plans that i led, and against 'x is better
than the leader' in others. The certificate says which look it was; else it is the end of a plan.
What an answer ended counts for that answer alone. An interval is confirmed if what it begins and
ends with is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from evenhand.arrays import Floats
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.evidence import Reading, against_equality, one_sided
from evenhand.campaigns.proof.population import Population
from evenhand.campaigns.proof.record import Round
from evenhand.campaigns.proof.squares import Fit, Spread, Truths

_FIRST = 0.1  # share of δ for what the first plan alone says of biases
_SAME = 1e-6  # share by which what a plan expected may differ from what follows


class Certain(Checker):
    """What the plans of a record show that tested something."""

    def prepare(self) -> None:
        """Find these plans, and the looks of the certificate."""
        options = self.record.questions.options
        self.helped = options.stand_alone and options.known_features is not None
        if self.helped:  # features may help to guess what is to come, and so intervals
            self.confirms, self.leaves = self.confirms[:1], self.confirms[1:]
        self.looks: dict[int, set[int]] = {}
        for _, r, n in self.certificate["sufficed"]:
            one = self.round(r)
            at_its_end = one.over and n == len(one.told)
            if self.whole(n, len(one.told), "scores") != one.looked(n) and not at_its_end:
                raise ValueError(f"there was no look after {n} scores of plan {r + 1}")
            self.looks.setdefault(r, set()).add(n)
        ended = [self.round(r) for r in self.certificate["ended"]]
        self.tests = [  # plans, and whether all of their scores count
            (r, one, one.over and one not in ended)
            for r, one in enumerate(self.record.rounds)
            if one.plan.leader >= 0
        ]
        self._fits: dict[tuple[int, int], Fit] = {}

    def _enough(self, share: float = 1.0) -> float:
        """Return log 1/δ, or of a share of δ, but for rounding."""
        return math.log(1.0 / (share * self.delta)) - SLACK

    def _fit(self, r: int, n: int) -> Fit:
        """Return least squares on the first n scores of plan r."""
        if (r, n) not in self._fits:
            self._fits[r, n] = self.record.fit(self.record.rounds[r].scores.first(n))
        return self._fits[r, n]

    def _end(self, one: Round, whole: bool) -> int:
        """Return how many scores of a plan count in the end."""
        return len(one.told) if whole else one.looked(len(one.told))

    # ------------------------------------------------------------------ what is lost at most

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        k = len(self.record.labels)
        wealth, most = np.zeros(k), np.full(k, -np.inf)
        for r, one, whole in self.tests:
            null = -loss / self.unit if one.plan.leader == option else 0.0
            rivals, end = one.plan.rivals, self._end(one, whole)
            for n in self.looks.get(r, set()) | {end}:
                now = wealth[rivals] + self.evidence(r, n, null)
                most[rivals] = np.maximum(most[rivals], now)
            if whole:
                wealth[rivals] += self.evidence(r, end, null)
        return np.asarray((most < self._enough()) & ~self.same(option))

    def evidence(
        self, r: int, n: int, null: Floats | float, above: Floats | float | None = None
    ) -> Floats:
        """Return the logarithm of E after n scores of plan r, against all its rivals; ``above`` is
        what the effects of its prior begin from.
        """
        one, fit = self.record.rounds[r], self._fit(r, n)
        expected = one.plan.expected
        assert expected is not None  # there is a leader
        heard = np.isfinite(expected.variances)
        prior = one_sided(*expected, -self.slack if above is None else above)
        return Reading.of(fit, self._tested(fit, one), heard).evidence(null, *prior)

    def _tested(self, fit: Fit, one: Round) -> Spread:
        """Return what a fit says of the leads that a plan tests."""
        said = fit.of_rows(self.lead_rows(one.plan.ahead, one.plan.rivals))
        known = np.isfinite(said.variances)
        return said._replace(estimates=said.estimates - np.where(known, self.offsets(one), 0.0))

    def guessed(self, fit: Fit, one: Round) -> Spread:
        """Return what a plan was to expect of its leads, by a fit of all that was known before."""
        there = self.record.options[one.there]
        population = Population.of(there, self.record.questions.options.stand_alone)
        if population is None or one.plan.leaders is not None:  # a line, not the lucky
            return self._tested(fit, one)
        sober = population.drawn_together(fit)
        return population.less_cautious(self._tested(sober, one), fit.unit, self.slack)

    def offsets(self, one: Round) -> Floats | float:
        """Return what is taken off the leads that a plan tests."""
        return 0.0

    # ------------------------------------------------------------------ intervals

    def refuted(
        self, rows: Floats, null: Floats, leader: int | None = None, share: float = 1.0
    ) -> Floats:
        """Tell (n,) which numbers rows do not come to, by all plans or by those of a leader."""
        plans: list[tuple[Reading, Spread, float]] = []
        for r, one, whole in self.tests:
            n, last = self._end(one, whole), r == self.tests[-1][0]
            if n and (whole or last) and leader in (None, one.plan.leader):
                before, fit = self._before(r), self._fit(r, n)
                expected = before.of_rows(rows)
                said = Reading.of(fit, fit.of_rows(rows), np.isfinite(expected.variances))
                plans.append((said, expected, before.unit))
        at = null / self.unit
        above = sum((s.information * (at - s.estimates) for s, *_ in plans), np.zeros(len(rows)))
        return np.sign(above) * (against_equality(plans, at) >= self._enough(share))

    def _before(self, r: int) -> Fit:
        return self.record.fit(self.record.before(r))

    def refuted_leads(self, option: int, null: Floats) -> Floats:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        return self.refuted(self.lead_rows(option), null, option)

    def refuted_biases(self, null: Floats) -> Floats:
        """Tell (n,) which numbers the biases are not: by the first plan alone, or by tests."""
        # Plans that settle leads within a group say nothing of a bias; the first mostly does, and a
        # tenth of δ is for it.
        rows, first = self.record.bias_rows, self.record.rounds[0] if self.record.rounds else None
        found = self.refuted(rows, null, share=1.0 - _FIRST)
        if first is None or not first.over or not first.told:
            return found
        fit = self._fit(0, len(first.told))
        said = Reading.of(fit, fit.of_rows(rows), np.ones(len(rows), dtype=np.bool_))
        planned = np.maximum((1.0 if self.record.noise else 0.1) * said.information, 1e-300)
        at = null / self.unit
        beyond = (found == 0.0) & (said.mixed(at, planned) >= self._enough(_FIRST))
        return np.where(beyond, np.sign(at - said.estimates), found)

    def wrong_plans(self) -> Iterator[str]:
        """Say which plans expected something else than what was known before them."""
        # A prior that knew the outcome would make evidence of anything. Where something was
        # withdrawn since, more was known when they were made than is now; where features help to
        # guess, what they expected is no plain least squares.
        if self.record.withdrawn or self.helped:
            return
        everything = self.record.before(len(self.record.rounds)).values
        size = float(np.abs(everything).max(initial=0.0))
        for r, one, _ in self.tests:
            fit, expected = self._before(r), one.plan.expected
            assert expected is not None
            said = self.guessed(fit, one)
            least = 1e-5 * size  # below that, scores that are all alike leave rounding
            sizes = np.maximum(np.sqrt(said.variances) * fit.unit, np.abs(said.estimates))
            # of noise, policies have sums of squares alone: half of the digits may have gone
            off = [np.array([abs(expected.unit - fit.unit) / max(fit.unit, size)])]
            with np.errstate(invalid="ignore", divide="ignore"):
                leads = np.abs(expected.leads - said.estimates)
                off.append(leads / np.maximum(sizes, least))
                off.append(np.abs(expected.variances / said.variances - 1.0))
            if not (np.concatenate(off) <= _SAME).all():
                yield f"what plan {r + 1} expected does not follow from the scores before it"
