"""What to ask next: a pure function of a record, whose errors cost evaluations, never certainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Feedback, Selection
from evenhand.search.blocks import Maker, Open, in_span
from evenhand.search.conclude import Aim, Evidence
from evenhand.search.evidence import BAR
from evenhand.search.guess import Guess
from evenhand.search.leads import directions
from evenhand.search.record import Plan, Record, Stop
from evenhand.search.shares import proportions
from evenhand.search.trusted import of_trusted

HOPE, BEYOND = 3.0, 1.5  # give up if even a lead 3 deviations up takes 1.5 times what is left
_LEAST_SIGNAL = 0.1
_EXTRA = 0.7  # evidence that is planned for beyond what is needed
_START = 2.0  # questions of a start, per dimension
_LEAST_LOOKS, _MOST_LOOKED_AT = 4, 64  # evaluations of each of so many options check the model
_CONFIRMED = 4.0  # deviations that a lead is to have by trusted judges alone


@dataclass(frozen=True, eq=False)
class Search:
    """Plans what to ask next."""

    aim: Aim
    evidence: Evidence  # of the record
    record: Record
    limits: Limits
    at_most: int  # evaluations in all
    spent: int  # how many were told
    pending: Counts  # (q,) evaluations that are on their way
    looks: float  # share of the evaluations that look where blocks would not, to check the model
    seed: int

    @cached_property
    def guess(self) -> Guess:
        """What all scores say, as far as plans may know them."""
        aim = self.aim
        return Guess(aim.questions, self.record.known, aim.noise, aim.target.bar or 0.0)

    @cached_property
    def leader(self) -> int:
        """The option that looks best of those that are not out."""
        evidence, aim = self.evidence, self.aim
        if aim.target.top == 1 and evidence.best is not None:
            return evidence.best
        values = self.guess.values[:-1]
        if aim.target.top != 1:
            return self.wanted[0] if self.wanted else self._first(values)
        left = np.flatnonzero(evidence.most[0, :-1] < aim.enough)
        if not len(left):
            left = np.arange(len(values))
        return int(left[self._first(values[left])])

    def _first(self, values: np.ndarray) -> int:
        size = float(np.abs(self.record.known.means).max(initial=0.0))
        return first_largest(values, size)

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Those that look wanted, where several are, the best first."""
        target, values = self.aim.target, self.guess.values[:-1]
        inside, outside = self.evidence.sides
        if target.top is not None:
            rank = np.where(inside, 2, np.where(outside, 0, 1))
            order = np.lexsort((np.arange(len(values)), -values, -rank))
            return tuple(sorted(order[: target.top].tolist(), key=lambda x: -values[x]))
        base = self.aim.base
        assert base is not None
        over = values - self.guess.values[base] > -target.tolerance
        chosen = [x for x in np.flatnonzero((over | inside) & ~outside).tolist() if x != base]
        return tuple(sorted(chosen, key=lambda x: -values[x]))

    @property
    def selection(self) -> Selection:
        """Who looks wanted where several are, and of whom it is certain."""
        inside, outside = self.evidence.sides
        known = tuple(np.flatnonzero(inside).tolist()), tuple(np.flatnonzero(outside).tolist())
        target, wrong = self.aim.target, 0 if self.settled else None
        if target.top is not None:
            wrong = None if target.tolerance else target.top - int(inside[list(self.wanted)].sum())
        return Selection(self.wanted, *known, wrong)

    @property
    def settled(self) -> bool:
        """Whether the choice is certain."""
        target, evidence = self.aim.target, self.evidence
        if target.top == 1:
            return evidence.best is not None
        inside, outside = evidence.sides
        k = len(inside)
        if target.top is not None and target.tolerance:  # by each of all leads
            mine = np.array(self.wanted, dtype=np.intp)
            others = np.setdiff1d(np.arange(k), mine)
            return bool(evidence.beaten[mine][:, others].all())
        if target.top is not None:
            return int(inside.sum()) >= target.top or int(outside.sum()) >= k - target.top
        return int((inside | outside).sum()) == k - (self.aim.base != BAR)

    def _to_tell(self) -> Indices:
        """Return (n, 2) the leads that are to be told."""
        aim, k = self.aim, len(self.aim.questions.options)
        if aim.target.top == 1:
            (rivals,) = np.nonzero(~self.evidence.behind(self.leader))
            return _pairs(self.leader, rivals)
        inside, outside = self.evidence.sides
        if aim.base is not None:
            open_ = ~(inside | outside)
            if aim.base != BAR:
                open_[aim.base] = False
            values = self.guess.values
            above = values[:-1] - values[aim.base] > -0.5 * aim.tolerance  # what is easier to show
            return np.array(
                [(x, aim.base) if above[x] else (aim.base, x) for x in np.flatnonzero(open_)],
                dtype=np.intp,
            ).reshape(-1, 2)
        pairs = _pairs(self.wanted, np.setdiff1d(np.arange(k), self.wanted))
        a, b = pairs.T
        known = inside[a] & outside[b] & (aim.tolerance == 0.0)
        return np.asarray(pairs[~(self.evidence.beaten[a, b] | known)])

    def _open(self, pairs: Indices) -> Open:
        leads = self._signal * self.guess.leads(pairs) + self._slack(pairs)
        deviations = math.sqrt(self._signal) * self.guess.deviations(pairs)
        need = self.evidence.lacking(pairs[:, 0], pairs[:, 1]) + _EXTRA
        return Open(pairs, leads, deviations, np.maximum(need, _EXTRA))

    def _slack(self, pairs: Indices) -> Floats:
        """Return (n,) what leads may lack."""
        tolerance, base = self.aim.tolerance, self.aim.base
        return np.where((pairs[:, 0] == base) & (base is not None), 0.0, tolerance)

    @cached_property
    def _signal(self) -> float:
        """Share of what values differ by that is no noise: who looks best is less so than it looks,
        and leads are guessed by that share of what they seem.
        """
        values, deviations = self.guess.values[:-1], self._deviations_of_all
        known, spread = deviations[np.isfinite(deviations)], float(values.var())
        if not len(known) or spread == 0.0:
            return 1.0
        return max(1.0 - 0.5 * float((known**2).mean()) / spread, _LEAST_SIGNAL)

    def next(self) -> Plan | Stop:
        """Return the next plan, or why there is none."""
        if self.settled:
            checks = self._at_the_end()
            if self._left and len(checks) and self._pays_for(checks):
                return self._plan(Plan("check the model", checks[: self._left]))
            return Stop("certain", (self.leader,))
        if not self._left:
            return Stop("spent")
        maker = self._maker
        known = np.isfinite(self._deviations_of_all)
        open_ = self._open(self._to_tell())
        told = np.isfinite(open_.deviations)
        if not (self.guess.heard and known.all()):
            start = self._start(maker)
            if len(start):
                clear = told & (open_.leads > open_.deviations) & self.record.known.counts.any()
                plan = maker.frozen(start, 1, open_.some(clear)) if clear.any() else None
                return self._plan(plan or Plan("open", start))
        waits = bool(self.record.open)  # for what may tell the others
        if not told.any() or not (told.all() or waits or self.aim.base is not None):
            return Stop("stuck", self._named(open_.some(~told)))
        open_ = open_.some(told)
        looks = self._looks_due()
        if len(looks):
            return self._plan(Plan("check the model", looks))
        plan = maker.made(open_)
        if plan is None:
            return Stop("stuck", self._named(open_))
        if not self._pays_for(plan.order):
            return Stop("broke")
        beyond = self._beyond(open_, plan) & (self.limits.available is None)
        if beyond.all() or (beyond.any() and self.aim.target.top == 1):
            return Stop("hopeless", self._named(open_.some(beyond)))
        if beyond.any():
            plan = maker.made(open_.some(~beyond)) or plan
        return self._plan(plan)

    def _plan(self, plan: Plan) -> Plan:
        number = plan.number
        if number > self._left:  # the last, which tells what it can
            times = max(1, self._left // len(plan.order))
            plan = replace(plan, order=plan.order[: self._left], times=times)
        return replace(plan, at_most=self.at_most, budget=self.limits.money)

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self.record.rounds)])

    @cached_property
    def _maker(self) -> Maker:
        aim = self.aim
        centre = self.leader if aim.target.top == 1 else aim.base
        questions, guess = aim.questions, self.guess
        return Maker(
            questions, self.record, self.limits, self.pending, guess, self._left, self._rng, centre
        )

    def _beyond(self, open_: Open, plan: Plan) -> np.ndarray:
        """Tell (n,) which leads are beyond what is left, if they are as large as can be hoped."""
        tested = {tuple(pair): row for row, pair in enumerate(plan.pairs.tolist())}
        rows = np.array([tested.get(tuple(pair), -1) for pair in open_.pairs.tolist()])
        tau = np.append(plan.hopes[:, 2], 0.0)[rows]
        leads = self.guess.leads(open_.pairs) + self._slack(open_.pairs)
        hoped = np.maximum(leads, 0.0) + HOPE * self.guess.deviations(open_.pairs)
        blocks = open_.blocks(np.where(tau > 0.0, tau, 1.0), hoped)
        prices = self.aim.questions.prices[plan.order]
        room = BEYOND * min(
            (self.at_most - self.spent) / len(plan.order) / plan.times,
            (self.limits.money - self.limits.paid) / float(prices.sum()) / plan.times,
        )
        return np.asarray((tau > 0.0) & (blocks > max(room, 1.0)))

    def _named(self, open_: Open) -> tuple[int, ...]:
        return tuple(dict.fromkeys([self.leader, *open_.pairs.T.reshape(-1).tolist()]))

    @cached_property
    def _deviations_of_all(self) -> np.ndarray:
        """(k,) deviations of what leads take to be known: over the first option, or a bar."""
        k = len(self.aim.questions.options)
        first = np.zeros(k - 1, dtype=np.intp)
        pairs = np.column_stack([first, np.arange(1, k)])
        if self.aim.base == BAR:
            pairs = np.column_stack([np.arange(k), np.full(k, BAR)])
        return self.guess.deviations(pairs)

    def _start(self, maker: Maker) -> Indices:
        """Return what to ask before leads can be tested; nothing where that would not help."""
        none = np.zeros(0, dtype=np.intp)
        if self.guess.heard and not self._after(np.flatnonzero(maker.left > 0))[1]:
            return none
        if self.aim.questions.has_arrow_form:
            ballots = (
                one for one in maker.ballots() if len(self._allowed(one)) and self._pays_for(one)
            )
            heard = self.guess.heard
            order = next((one for one in ballots if not heard or self._after(one)[0]), none)
            return order[: self._left]
        rank = max(1, int(np.linalg.matrix_rank(self.aim.questions.points)))
        have = int(self.record.known.counts.sum())
        length = math.ceil(_START * rank)
        order = maker.start(length if have < length else rank)
        return order[: self._left] if len(order) and self._pays_for(order) else none

    def _after(self, order: Indices) -> tuple[bool, bool]:
        """Tell whether these questions tell what is not known yet, and whether that is a lead."""
        counts, *scores = self.record.known.parts
        told = Feedback(counts + np.bincount(order, minlength=self.record.q), *scores)
        after = replace(self)
        after.__dict__["guess"] = replace(self.guess, told=told)
        known, then = (np.isfinite(one._deviations_of_all) for one in (self, after))
        return after.guess.rank > self.guess.rank, bool((then & ~known).any())

    @property
    def _own(self) -> bool:
        """Whether options are their own questions, with features that are taken to be exact."""
        options = self.aim.questions.options
        return not options.stand_alone and not len(self.aim.questions.evaluators)

    def _looks_due(self) -> Indices:
        """Return options that blocks left out, where looks have had less than their share."""
        if not self.looks or not self._own:
            return np.zeros(0, dtype=np.intp)
        checks = [one for one in self.record.rounds if one.plan.purpose == "check the model"]
        due = self.looks * self.spent - sum(one.plan.number for one in checks)
        if due < 1.0:
            return np.zeros(0, dtype=np.intp)
        counts = self.record.everything.counts + self.pending
        order = np.lexsort((self._rng.random(len(counts)), counts))[: math.ceil(due)]
        return self._allowed(order)[: self._left]

    def _at_the_end(self) -> Indices:
        """Return the questions that are lacking for an answer to be checked, or confirmed."""
        told = self.record.everything.counts
        if not self.looks or not told.any():
            return np.zeros(0, dtype=np.intp)
        if self._own:
            order = np.random.default_rng(self.seed).permutation(len(told))[:_MOST_LOOKED_AT]
            lacking = np.maximum(_LEAST_LOOKS - told[order] - self.pending[order], 0)
            return self._allowed(np.repeat(order, lacking))
        return self._confirming()

    def _confirming(self) -> Indices:
        """Return what to ask trusted judges, so that they confirm what others made certain."""
        # Once, as much as it takes by the leads as they are; nothing if there is no money for half
        # of it, or trusted judges cannot compare all options by themselves. `trusted` says why.
        none, questions, guess = np.zeros(0, dtype=np.intp), self.aim.questions, self.guess
        told = self.record.everything.counts
        checked = any(one.plan.purpose == "check the model" for one in self.record.rounds)
        theirs = None if checked else of_trusted(questions, told)
        pairs = self._settled_pairs()
        pairs = pairs[guess.deviations(pairs) > 0.0]
        if theirs is None or not len(pairs):
            return none
        left = np.where(theirs, self._maker.left, 0)
        (may,) = np.nonzero(left)
        prices = questions.prices[may]
        rows = questions.matrix[may].toarray() / (guess.noise[may] * np.sqrt(prices))[:, None]
        A, U, able = in_span(rows, directions(questions, pairs))
        if not len(may) or not able.all():
            return none
        spread = guess.deviations(pairs)  # who was found to lead leads by less than it seems
        leads = np.maximum(guess.leads(pairs) + self._slack(pairs) - spread, spread)
        shares, variances = proportions(A, U * (_CONFIRMED / leads)[:, None])
        wanted = np.ceil(float(variances.max()) * shares / prices) - told[may]
        counts = np.clip(wanted, 0, np.minimum(left[may], self._left)).astype(np.int64)
        if float(counts @ prices) > 2.0 * self.limits.rest(self.pending):
            return none
        return self._allowed(self._rng.permutation(np.repeat(may, counts)))

    def _settled_pairs(self) -> Indices:
        """Return (n, 2) the leads that a certain answer rests on."""
        everybody, base = np.arange(len(self.aim.questions.options)), self.aim.base
        mine = (self.leader,) if self.aim.target.top == 1 else self.wanted
        if base is None:
            return _pairs(mine, np.setdiff1d(everybody, mine))
        return np.vstack([_pairs(mine, base), _pairs(base, np.setdiff1d(everybody, [*mine, base]))])

    @property
    def _left(self) -> int:
        return max(0, self.at_most - self.spent - int(self.pending.sum()))

    def _allowed(self, order: Indices) -> Indices:
        return self.limits.allowed(order, self.pending)

    def _pays_for(self, order: Indices) -> bool:
        """Tell whether the budget pays for one of these questions, beside what is on its way."""
        counts = np.bincount(order, minlength=self.record.q).astype(np.int64)
        return bool(self.limits.affordable(counts, self.pending).any())


def _pairs(ahead: ArrayLike, behind: ArrayLike) -> Indices:
    """Return (n, 2) each of these over each of those."""
    both = np.meshgrid(np.asarray(ahead, np.intp), np.asarray(behind, np.intp), indexing="ij")
    return np.column_stack([part.reshape(-1) for part in both])
