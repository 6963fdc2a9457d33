"""What is certain after plans that were frozen before their scores, and why.

Whoever wants to know what 'certain' rests on has to read this file only; what is asked, and by
which guesses, is elsewhere (`stage_plans`) and cannot make it wrong.

What there is
-------------
A record has plans in order, each with the scores that count for it (`record`). A plan says who
leads, against which rivals the leader is tested, what is asked, and which leads were expected. It
is frozen before the first of its scores: by scores of earlier plans it may be chosen in any way.

Notation
--------
i, x        the leader of a plan, and a rival;  β, J  the estimate of i's lead over x by least
            squares on the scores of this plan alone, and 1/its variance (σ = 1)
H_x         'x is the best option'; with a tolerance, 'and better than i by more than that'
E_x         evidence of one plan against H_x: the mean of exp(ηJβ − η²J/2) over leads η > 0, by
            weights that were frozen with the plan (`prior`; `e_process` has it for unknown noise)
W_x         the product of E_x over the plans, in order
δ           1 − confidence

The rule
--------
A plan is looked at after fixed shares of its scores. At a look, rivals with W_x E_x ≥ 1/δ are
rejected for good (`Inference._look`). If none is left the leader is the answer. When a plan is
over, W_x becomes W_x E_x (`Inference._closed`). An answer ends its plan by its scores, so that
plan is evidence for that answer only: if more plans follow all the same (options were added, a
score was withdrawn) it adds nothing to W.

Why it holds
------------
1. Given all scores that count for earlier plans, a plan is a fixed design with fresh noise. Then,
   along its scores, Jβ is a sum of independent normal terms of variance J and mean J · (true lead),
   whatever the biases are.
2. If x is the best option, i's lead over it is at most 0, so that exp(ηJβ − η²J/2) falls or stays
   on average for every η > 0: E_x has mean at most one at all looks, whoever leads.
3. So W_x E_x along all plans and scores is at most a martingale that starts at one. It ever reaches
   1/δ with probability at most δ (Ville).
4. A wrong answer needs that of one x, the best. So there is no union over rivals, and no factor for
   the dimension; and it does not matter whether the answer itself was ever rejected. ∎

What is taken for granted: scores follow the linear model of the questions; noise is independent and
normal (bounded scores will do where plans are looked at only when whole); and when answers come,
and who gives them, does not depend on what they are. Plans must be weighed in order: out of it, who
reads the scores of a plan under way could choose what to ask by their noise.
docs/research/certainty.md has every step; `intervals` has losses and intervals from the same
evidence.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.aim import Aim
from evenhand.certainty.e_process import StageReading
from evenhand.certainty.models import Fit, Spread
from evenhand.certainty.record import Expected, Plan, Record
from evenhand.policies.messages import Feedback

ROUNDING = 1e-14
"""Share of all squares below which what is left of them is rounding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What some plans have shown, whatever is wanted of the options."""

    answer: int | None = None  # an option that leads where it is certain what was wanted
    cut: frozenset[int] = frozenset()  # plans that an answer ended


@dataclass(frozen=True, eq=False)
class Evidence(Shown):
    """What some plans have shown of who is the best."""

    wealth: Floats  # (k,) log W without a tolerance
    rejected: NDArray[np.bool_]  # (k,) options that cannot be the best
    # by leader, (k,) what the tolerance adds to it in the plans that option led
    gains: dict[int, Floats] = field(default_factory=dict)
    # by leader, (k,) options that are not better than it by more than the tolerance
    cleared: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    def of(self, leader: int) -> Floats:
        """Return (k,) log W with the tolerance in the plans that this option led."""
        return self.wealth + self.gains.get(leader, 0.0)

    def behind(self, leader: int) -> NDArray[np.bool_]:
        """Return (k,) who is rejected, or not better than the leader by more than the tolerance."""
        return self.rejected | self.cleared.get(leader, np.zeros_like(self.rejected))


S = TypeVar("S", bound=Shown)


class InOrder(ABC, Generic[S]):
    """What a record, which may grow, says; worked out once for every plan that is over."""

    def __init__(self, aim: Aim, record: Record) -> None:
        self.aim, self.record = aim, record
        start = self._start()
        self._after = [start]  # the first plans, as far as they are over
        self._under_way: tuple[int, int, S] = (0, 0, start)  # plan, looks, evidence by then
        self._before: list[Fit] = []

    @abstractmethod
    def _start(self) -> S:
        """Return what there is before the first plan."""

    @abstractmethod
    def _begun(self, r: int, now: S) -> S:
        """Return what plan r, which is for more evidence, begins with."""

    @abstractmethod
    def _look(self, r: int, now: S, told: Feedback, count: int) -> S:
        """Reject what there is enough evidence against after some scores of plan r."""

    @abstractmethod
    def _closed(self, r: int, now: S) -> S:
        """Return the evidence after plan r, which is over: what it has shown counts for good."""

    @abstractmethod
    def is_certain(self, now: S, among: Indices | None = None) -> bool:
        """Tell whether nothing is left to be rejected, of all options or of some."""

    def of_copy(self, aim: Aim, record: Record) -> Self:
        """Return what a copy of the record says, with all that was worked out for this one."""
        new = copy(self)
        new.aim, new.record = aim, record
        new._after, new._before = self._after.copy(), self._before.copy()
        return new

    # ------------------------------------------------------------------ evidence

    def evidence(self) -> S:
        """Return what the plans that are over have shown, and the one under way so far."""
        record, now = self.record, self._after[-1]
        while len(self._after) <= len(record.rounds):
            r = len(self._after) - 1
            now = self._after_looks(r)
            if not record.is_over(r):
                break
            now = self._closed(r, now)
            self._after.append(now)
        if now.answer is not None and not self.is_certain(now):
            return replace(now, answer=None)  # options were added since
        return now

    def _after_looks(self, r: int) -> S:
        """Return the evidence after all looks at plan r so far."""
        at, seen, now = self._under_way
        round_, plan = self.record.rounds[r], self.record.rounds[r].plan
        if at != r or seen == 0:
            seen, now = 0, self._after[r]
            if plan.purpose != "check the model":
                now = self._begun(r, now)
        if plan.leader >= 0:
            for count, told in round_.looks(seen):
                if now.answer is None:
                    now = self._look(r, now, told, count)
        self._under_way = r, len(round_.blocks), now
        return now

    def _prior(self, plan: Plan) -> tuple[Floats, Floats]:
        assert plan.expected is not None
        return prior(plan.expected, -self.aim.slack)

    def _reading(self, r: int, told: Feedback) -> StageReading:
        """Return what scores of plan r say of the leads that it tests."""
        plan, aim = self.record.rounds[r].plan, self.aim
        assert plan.expected is not None
        fit = aim.model.fit(told, aim.noise, self.before(r))
        expected = Spread(plan.expected.leads, plan.expected.variances)
        return reading(fit, aim.leads(fit, plan.ahead, plan.rivals), expected, plan.expected.unit)

    def before(self, r: int) -> Fit:
        """Return the guess from all that was known when plan r was frozen."""
        while len(self._before) <= r:
            n = len(self._before)
            about = self._before[-1] if self._before else None
            among = self.record.rounds[n].plan.among if n < len(self.record.rounds) else None
            guess = self.aim.guess(self.record.known_to(n), about, among)
            if n >= len(self.record.rounds):
                return guess  # of the plan to come: what is known may still become more
            self._before.append(guess)
        return self._before[r]

    def tests(self) -> list[tuple[Plan, Fit, Fit]]:
        """Return plans that tested something, with the guess before and the fit of their scores."""
        # Those that are over, and the last as far as it was looked at. Not one that an answer
        # ended, if another came after it.
        record, cut = self.record, self.evidence().cut
        compared = [r for r, round_ in enumerate(record.rounds) if round_.plan.leader >= 0]
        found: list[tuple[Plan, Fit, Fit]] = []
        for r in compared:
            round_ = record.rounds[r]
            if r in cut and r != compared[-1]:
                continue
            whole = record.is_over(r) and r not in cut
            told = round_.total if whole else round_.last_look[1]
            if not told.counts.any():
                continue
            fit = self.aim.model.fit(told, self.aim.noise, self.before(r))
            found.append((round_.plan, self.before(r), fit))
        return found


class Inference(InOrder[Evidence]):
    """What a record says of which option is the best."""

    def _start(self) -> Evidence:
        k = len(self.aim.questions.options)
        alike = self.aim.same(0).all()  # one option, or all of them alike
        return Evidence(np.zeros(k), np.zeros(k, dtype=np.bool_), answer=0 if alike else None)

    def _begun(self, r: int, now: Evidence) -> Evidence:
        return replace(now, answer=None, gains=dict(now.gains))

    def is_certain(self, now: Evidence, among: Indices | None = None) -> bool:
        """Tell whether all rivals of the answer are rejected."""
        return now.answer is not None and len(self.open(now, now.answer, among)) == 0

    def _look(self, r: int, now: Evidence, told: Feedback, count: int) -> Evidence:
        """Reject rivals of plan r against whom there is enough evidence after some scores."""
        plan = self.record.rounds[r].plan
        leader, rivals = plan.leader, plan.rivals
        evidence = self._reading(r, told).evidence(self._prior(plan), -self.aim.slack)
        behind = now.behind(leader)
        beaten = rivals[(now.of(leader)[rivals] + evidence >= self.aim.enough) & ~behind[rivals]]
        behind[beaten] = True
        if self.aim.slack:
            now = replace(now, cleared=now.cleared | {leader: behind})
        else:
            now = replace(now, rejected=behind)
        if len(self.open(now, leader, plan.among)) == 0:
            whole = count >= plan.number
            return replace(now, answer=leader, cut=now.cut if whole else now.cut | {r})
        return now

    def _closed(self, r: int, now: Evidence) -> Evidence:
        """Return the evidence after plan r, which is over: what it has shown counts for good."""
        round_ = self.record.rounds[r]
        plan = round_.plan
        if plan.leader < 0 or r in now.cut or not round_.count:
            return now
        if now.answer is None:  # it may have been closed between two looks
            now = self._look(r, now, round_.total, round_.count)
        said, prior, rivals = self._reading(r, round_.total), self._prior(plan), plan.rivals
        wealth, plain = now.wealth.copy(), said.evidence(prior)
        wealth[rivals] += plain
        if not self.aim.slack:
            return replace(now, wealth=wealth)
        gains = now.gains.get(plan.leader, np.zeros(len(wealth))).copy()
        gains[rivals] += said.evidence(prior, -self.aim.slack) - plain
        rejected = now.rejected | (wealth >= self.aim.enough)
        return replace(
            now, wealth=wealth, gains=now.gains | {plan.leader: gains}, rejected=rejected
        )

    def open(self, now: Evidence, leader: int, among: Indices | None = None) -> Indices:
        """Return the rivals of a leader that may still be better, of all options or of some."""
        out = now.behind(leader) | self.aim.same(leader)
        if among is not None:
            out[np.setdiff1d(np.arange(len(out)), among)] = True
        return np.flatnonzero(~out)


def prior(expected: Expected, above: Floats | float) -> tuple[Floats, Floats]:
    """Return (n, 30) effects of leads beyond ``above``, and their log weights."""
    n = len(expected.leads)
    known = (expected.variances > 0.0) & np.isfinite(expected.variances)
    spreads, none = np.sqrt(np.where(known, expected.variances, 1.0)), np.zeros(n)
    units = np.full(n, expected.unit)
    plain = StageReading(expected.leads, none, none, none, expected.leads, spreads, units)
    return plain.prior(above, max(1.0, expected.freedom))


def reading(fit: Fit, said: Spread, expected: Spread, unit: float) -> StageReading:
    """Return what the fit of a plan says of directions, beside what was expected before it."""
    # Nothing of a direction of which nothing was expected: there is no prior for it. And nothing
    # where scores are so much alike that both the residuals and the estimate are rounding: with a
    # noise of exactly 0, which rounded scores can have, rounding would be evidence.
    ones = np.ones(len(said.estimates))
    known = (said.variances > 0.0) & np.isfinite(expected.variances)
    information = np.where(known, 1.0 / np.where(known, said.variances, 1.0), 0.0)
    if math.isfinite(fit.freedom):
        left = fit.scatter + information * said.estimates**2
        information[left <= ROUNDING * fit.size] = 0.0
    return StageReading(
        said.estimates,
        information,
        fit.scatter * ones,
        fit.freedom * ones,
        expected.estimates,
        np.sqrt(np.where(known, expected.variances, 1.0)),
        unit * ones,
    )
