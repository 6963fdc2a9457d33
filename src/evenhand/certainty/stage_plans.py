"""What to ask next to be certain: heuristics, whose errors cost evaluations and never certainty.

Notation
--------
g, s    the lead of the leader over a rival is g ± s by all that is known, both in units of σ
need    log(1/δ) − log W + 1: evidence still lacking against a rival, and some more

A plan makes max need · variance of the lead / max(g, s)² small for its price (`Model.plan`). Who
leads, the proportions, the length and what is expected are guessed by pooled least squares, where
options have features shrunken towards one another (`DenseFit.shrunken`): of many options in many
dimensions the one that leads owes much of it to luck. Then all of it is frozen, and nothing of it
is ever derived again. Where it is anybody's guess who leads, short plans with the same questions
explore, and test nothing: most of them would be led by another. Where the m best are wanted, the
leads are those of options inside over options outside, for all pairs of places that are open
(`places`); options change places only if the m that look best are others than the first m, since
each change costs evidence. Where options are held against a bar or one of them, the leads are those
over it, or of it, of all options that are open (`sides`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.dense import DenseFit
from evenhand.certainty.models import Fit, Spread
from evenhand.certainty.places import Places, SetEvidence, SetInference
from evenhand.certainty.record import Expected, Plan, Purpose, Stop
from evenhand.certainty.sides import SideEvidence, SideInference
from evenhand.certainty.stages import Evidence, Inference, InOrder, S
from evenhand.certainty.trusted import of_trusted
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.limits import Limits, nth
from evenhand.policies.messages import Feedback, Selection

_LONGEST = 4096  # evaluations after which the order of a plan is repeated
_MOST_LOOKS = 64  # shares of its scores at which a plan is looked at
_GROWTH, _LAST = 0.2, 0.3  # a plan as a share of what was spent; at most, to end with it
_EXTRA = 1.0  # evidence that is planned for beyond what is needed
_TAKEN_BACK = 1.2  # of what the prior of a lead is cautious by, where guesses are sober,
_FEW_DIMENSIONS = 5.0  # and values differ in many more dimensions than this
_ANYBODY = 0.25  # chance to be the best below which a leader is not tested yet,
_GLANCE, _GLANCES = 0.25, 0.1  # and what is asked instead, per dimension or of what was spent
_LONG_ENOUGH = 10.0  # evaluations per dimension after which whoever leads is tested
_CAUTION = 1.0  # a lead is planned for as if it were at least so many spreads
_HOPE, _BEYOND = 3.0, 1.5  # give up if even a lead 3 spreads up takes 1.5 times what is left
_LEAST_LOOKS, _MOST_LOOKED_AT = 4, 64  # evaluations of each of so many options check the model
_MORE_KINDS, _MORE_REPEATS = 8, 8  # questions beyond the rank, and repeats, that check a panel
_HARDER = 10.0  # times what the easiest option takes that others may take to be asked about with it
_CONFIRMED = 3.0  # deviations that a lead is to have by trusted judges alone
_FEW = 4  # evaluations of each option that looks see to, where there are so many


class Pace(NamedTuple):
    """How long plans are, by the dimension r of what is asked.

    Where options are their own questions all dimensions matter to all leads. Of a panel, most are
    those of options that are soon out of the question.
    """

    start: float  # evaluations per dimension of the start,
    later: float  # and of any later plan at least
    spare: int  # evaluations of a start beyond r, at least, to hear an unknown noise


OPTIONS, PANEL = Pace(2.0, 3.0, 6), Pace(1.0, 1.5, 2)


class Tested(NamedTuple):
    """Leads that a plan tests."""

    leader: int | Indices  # who leads them, or (n,) for each rival who leads it
    rivals: Indices  # (n,)
    places: Indices | None = None  # (k,) all options by their places, where these have some

    def some(self, which: NDArray[np.bool_]) -> Tested:
        """Return some of them."""
        leader = self.leader[which] if isinstance(self.leader, np.ndarray) else self.leader
        return self._replace(leader=leader, rivals=self.rivals[which])

    @property
    def options(self) -> tuple[int, ...]:
        """The options that they are of, the first leader before all others."""
        both = [*np.atleast_1d(self.leader).tolist(), *self.rivals.tolist()]
        return tuple(dict.fromkeys(both))

    @property
    def parts(self) -> dict[str, Any]:
        """What a plan says of them."""
        if isinstance(self.leader, int):
            return {"leader": self.leader, "rivals": self.rivals}
        assert self.places is not None  # of several, whose first stands for all
        return {
            "leader": int(self.places[0]),
            "rivals": self.rivals,
            "leaders": self.leader,
            "places": self.places,
        }


@dataclass(frozen=True, eq=False)
class AnyPlanner(ABC, Generic[S]):
    """Plans what to ask next, whatever is wanted of the options."""

    of_the_best: ClassVar[bool] = False  # whether the one best option is wanted

    inference: InOrder[S]
    limits: Limits
    at_most: int  # evaluations in all
    spent: int  # how many were told
    pending: Counts  # (q,) evaluations that are on their way
    own_questions: bool  # whether options are their own questions
    # share of the evaluations that look where the design would not, to check the model
    looks: float
    whole: bool  # whether scores, of any distribution, are looked at only when a plan is whole
    seed: int

    @abstractmethod
    def tested(self, guess: Fit, now: S) -> Tested:
        """Return the leads that are to be tested next."""

    @abstractmethod
    def lacking(self, guess: Fit, now: S, tested: Tested) -> Floats:
        """Return (n,) the evidence, a logarithm, that leads which are tested lack."""

    def slacks(self, tested: Tested) -> Floats:
        """Return (n,) what leads are tested to be more than, less than 0."""
        return np.full(len(tested.rivals), self.inference.aim.slack)

    def is_anybodys_guess(self, guess: Fit, tested: Tested) -> bool:
        """Tell whether a test would be of a leader that is hardly more probable than others."""
        return False

    def all_or_nothing(self) -> bool:
        """Tell whether it is of no use to settle some leads where others cannot be."""
        return True

    def more_to_come(self, guess: Fit, now: S, tested: Tested) -> float:
        """Return how many times what a plan's leads take all that are open are guessed to take."""
        return 1.0

    def named(self, tested: Tested) -> tuple[int, ...]:
        """Return the options that leads are of, as a stop names them."""
        return tested.options

    @abstractmethod
    def settled(self, now: S) -> Tested:
        """Return the leads that a certain answer rests on."""

    def next(self) -> Plan | Stop:
        """Return the next plan, or why there is none."""
        now, record = self.inference.evidence(), self.inference.record
        if now.answer is not None:
            lacking = np.repeat(np.arange(record.q), self._lacking())
            lacking = self._allowed(np.concatenate([lacking, self._confirming(self.settled(now))]))
            if self._remaining and self._pays_for(lacking):
                return self._plan("check the model", lacking[: self._remaining])
            return Stop("certain", (now.answer,))
        if not self._remaining:
            return Stop("spent")
        guess = self._sober(self.inference.before(len(record.rounds)))
        tested = self.tested(guess, now)
        known = np.isfinite(self._leads(guess, tested).variances)
        heard = guess.freedom >= 1.0  # not if a start was cut short: then there is no unit yet
        if not (heard and known.all()):
            start = self._start(tested, known, heard)
            if len(start):
                return self._plan("open", start) if self._pays_for(start) else Stop("broke")
        return self._test(guess, now, tested.some(known))

    def _sober(self, guess: Fit) -> Fit:
        """Return a guess that does not take the luck of who leads for merit."""
        return guess.shrunken() if self._shrinks(guess) else guess

    def _shrinks(self, guess: Fit) -> TypeGuard[DenseFit]:
        """Tell whether features say what options have in common, so that few numbers are all."""
        # Only where the best option is wanted: others are compared with a line, not with the lucky.
        return self.of_the_best and isinstance(guess, DenseFit) and guess.model.in_common

    def _leads(self, fit: Fit, tested: Tested) -> Spread:
        return self.inference.aim.leads(fit, tested.leader, tested.rivals)

    def first(self, guess: Fit) -> int:
        """Return the option that is best by a guess."""
        size = float(np.abs(self._pool.means).max(initial=0.0))
        return first_largest(self._values(guess), size)

    def _values(self, guess: Fit) -> Floats:
        """Return (k,) how much better options are than the first, by a guess."""
        options = np.arange(len(self.inference.aim.questions.options))
        return np.asarray(-guess.leads(0, options).estimates)

    # ------------------------------------------------------------------ a start

    def opening(self) -> Indices:
        """Return the questions that a search starts with: as far as possible, all leads."""
        model, pace = self.inference.aim.model, self._pace
        length = math.ceil(pace.start * model.rank)
        if self.inference.aim.noise is None:
            length = max(length, model.rank + pace.spare)
        return self._allowed(model.start(length, self._left))

    def _start(self, tested: Tested, known: NDArray[np.bool_], heard: bool) -> Indices:
        """Return what to ask before leads can be tested: none where that would not help."""
        start = self.opening()
        if self._pool.counts.any():
            start = self._rest_of(start, tested, heard)
        more = (self._reached(start, tested) & ~known).any()
        return start[: self._remaining] if more or not heard else start[:0]

    def _rest_of(self, start: Indices, tested: Tested, heard: bool) -> Indices:
        """Return what of a start is lacking; what is on its way, if that will do."""
        # Questions about options that nobody was asked about come first, and no more than it takes
        # to know all leads. Where the noise is not heard yet, all that is lacking.
        on_its_way = np.repeat(np.arange(len(self.pending)), self.pending)
        if len(on_its_way) and self._reached(start[:0], tested).all():
            return on_its_way
        counts, about = self._pool.counts + self.pending, self.inference.aim.questions.about
        rest = start[nth(start) > counts[start]]
        rest = rest if len(rest) else start
        if not heard:
            return rest
        unknown = np.setdiff1d(np.append(tested.rivals, tested.leader), about[counts > 0])
        new = np.isin(about[rest], unknown).any(axis=1)
        rest = np.concatenate([rest[new], rest[~new]])
        all_of_it = self._reached(rest, tested)
        low, high = 1, len(rest)
        while low < high:
            middle = (low + high) // 2
            enough = (self._reached(rest[:middle], tested) == all_of_it).all()
            low, high = (low, middle) if enough else (middle + 1, high)
        return rest[:low]

    def _reached(self, order: Indices, tested: Tested) -> NDArray[np.bool_]:
        """Tell which leads are identified once these questions are answered, too."""
        more = np.bincount(order, minlength=self.inference.record.q)
        none = np.zeros(len(more))
        answered = Feedback(self._pool.counts + self.pending + more, none, none)
        fit = self.inference.aim.model.fit(answered, 1.0)
        return np.isfinite(fit.leads(tested.leader, tested.rivals).variances)

    # ------------------------------------------------------------------ a test

    def _test(self, guess: Fit, now: S, tested: Tested) -> Plan | Stop:
        """Return a plan that tests leads which are known somehow."""
        aim, limits, (leader, rivals, _) = self.inference.aim, self.limits, tested
        expected, prices = self._leads(guess, tested), aim.questions.prices
        spread = np.sqrt(expected.variances)
        leads = (expected.estimates + self.slacks(tested)) / guess.unit
        need = np.sqrt(self.lacking(guess, now, tested) + _EXTRA)
        weights = need / np.maximum(leads, _CAUTION * spread)
        shortest = self._pace.later * aim.model.rank
        most = math.ceil(min(max(shortest, _LAST * limits.paid / prices.min()), _LONGEST))
        left, pool = self._left, self._pool.counts
        design = aim.model.plan(leader, rivals, weights, most, pool, left)
        able = np.isfinite(design.variances)
        if not able.any():
            return Stop("stuck", self.named(self.tested(guess, now)))
        price = float(prices[design.order].mean())
        money = 2.0 * float((weights**2 * design.variances)[able].max())
        share = max(_GROWTH * limits.paid, min(_LAST * limits.paid, money))
        length = math.ceil(max(shortest, share / price))
        times = 1 if aim.questions.limited else math.ceil(length / _LONGEST)
        order = self._allowed(design.order[: math.ceil(length / times)])
        if self.looks:
            rng = np.random.default_rng([self.seed, len(self.inference.record.rounds)])
            order = self._allowed(with_looks(order, self.looks, pool, left, rng))
        if times == 1:
            order = order[: self._remaining]
        if not self._pays_for(order):
            return Stop("broke")
        hope = need / (np.maximum(leads, 0.0) + _HOPE * spread)
        least = 2.0 * hope**2 * design.variances
        rest = _BEYOND * min(limits.money - limits.paid, price * self._remaining)
        beyond = able & (least > rest)
        if beyond.any() and np.count_nonzero(able) > 1 and not self.all_or_nothing():
            hardest = np.argmax(np.where(able, least, -np.inf))  # it took most of this design
            return self._test(guess, now, tested.some(np.arange(len(able)) != hardest))
        if beyond.any():
            return Stop("hopeless", self.named(tested.some(beyond)))
        tested = tested.some(able)
        forecast = self.more_to_come(guess, now, tested) * money / price
        if self.is_anybodys_guess(guess, tested):
            few = math.ceil(max(_GLANCE * aim.model.rank, _GLANCES * limits.paid / price))
            return self._plan("explore", order[:few], forecast=forecast)
        return self._plan(
            "compare",
            order,
            times=times,
            looks=1 if self.whole else min(_MOST_LOOKS, len(order) * times),
            forecast=forecast,
            expected=self._expected(guess, self._leads(guess, tested)),
            **tested.parts,
        )

    def _expected(self, guess: Fit, leads: Spread) -> Expected:
        """Return what is expected of leads, from which their prior is made."""
        # A prior weighs its effects by one over their size, which does for guesses that are too
        # good. Of a sober guess that is taken back, the more dimensions its population is known by:
        # the centre goes to where 1/η leaves the mode that it should have.
        centres, (found, variances) = leads.estimates, leads
        if self._shrinks(guess):
            taken = _TAKEN_BACK * max(0.0, 1.0 - _FEW_DIMENSIONS / len(guess.model.apart))
            errors = guess.unit * np.sqrt(variances)
            larger = np.maximum(found + self.inference.aim.slack, errors)
            centres = found + taken * errors**2 / np.where(larger > 0.0, larger, 1.0)
        return Expected(centres, variances, guess.unit, guess.freedom)

    def _plan(self, purpose: Purpose, order: Indices, **parts: Any) -> Plan:
        helped = self._helped_by_others(purpose)
        return Plan(purpose, order, more=helped, at_most=self.at_most, **parts)

    def _helped_by_others(self, purpose: Purpose) -> bool:
        """Tell whether evaluators who would be idle are asked more of the same as a plan asks."""
        # Not to check the model, which takes these very questions. Nor where the last plan told
        # nothing, since those had filled it who cannot compare by themselves: a start that had no
        # answer to a new question, or a test without information.
        record = self.inference.record
        last = record.now
        if last is None or purpose == "check the model":
            return last is None
        if last.plan.leader < 0:
            before = record.known_to(len(record.rounds) - 1).counts
            return purpose == "compare" or bool(((last.total.counts > 0) & (before == 0)).any())
        fit = self.inference.aim.model.fit(last.total, 1.0)
        return bool(np.isfinite(fit.leads(last.plan.ahead, last.plan.rivals).variances).any())

    # ------------------------------------------------------------------ looks at the model

    def _lacking(self) -> Counts:
        """Return (q,) evaluations that are lacking for the model to have been checked."""
        # What they say comes after the answer, and so changes neither it nor its proof. Of options
        # that are their own questions, a few of each, or of some where there are many. Of others,
        # enough different ones for what the model leaves over, and enough repeats for the noise.
        told = self.inference.record.everything.counts
        wanted = np.zeros_like(told)
        if not self.looks or not told.any():
            return wanted
        order = np.random.default_rng(self.seed).permutation(len(told))
        if self.own_questions:
            wanted[order[:_MOST_LOOKED_AT] if len(told) > _MOST_LOOKED_AT else order] = _LEAST_LOOKS
            return np.asarray(np.maximum(wanted - told, 0))
        order = order[(self._left > 0)[order]]
        new, again = order[told[order] == 0], order[told[order] > 0]
        again = again[np.argsort(told[again], kind="stable")]
        n, kinds = int(told.sum()), int(np.count_nonzero(told))
        rank = self.inference.aim.model.rank
        wanted[new[: max(0, rank + _MORE_KINDS - kinds)]] = 1
        wanted[again[: max(0, _MORE_REPEATS - (n - kinds))]] = 1
        return wanted

    def _confirming(self, settled: Tested) -> Indices:
        """Return what to ask trusted judges, so that they confirm what others made certain."""
        # Once, as much as it takes by the leads as they are; nothing if there is no money for half
        # of it, or if trusted judges cannot compare all options by themselves. `trusted` says why.
        aim, record, none = self.inference.aim, self.inference.record, np.zeros(0, dtype=np.intp)
        told = record.everything.counts
        checked = any(one.plan.purpose == "check the model" for one in record.rounds)
        theirs = None if checked or not self.looks else of_trusted(aim.questions, told)
        if theirs is None:
            return none
        guess, (leader, rivals, _) = self.inference.before(len(record.rounds)), settled
        leads, variances = self._leads(guess, settled)
        spread = np.sqrt(variances)  # who was found to lead leads by less than it seems
        leads = (leads + self.slacks(settled)) / guess.unit - 0.5 * spread
        weights = _CONFIRMED / np.maximum(leads, _CAUTION * spread)
        left = np.where(theirs, self._left, 0)
        most = int(min(_LONGEST, self._remaining))
        design = aim.model.plan(leader, rivals, weights, most, told, left)
        if not np.isfinite(design.variances).all() or not len(design.order):
            return none
        prices = aim.questions.prices[design.order]
        money = float((weights**2 * design.variances).max())
        money -= float((told * aim.questions.prices)[theirs].sum())
        wanted = math.ceil(money / prices.mean())
        there = self.limits.money - self.limits.paid
        able = int(np.searchsorted(np.cumsum(prices), there, side="right"))
        return design.order[:wanted] if 2 * able >= wanted > 0 else none

    # ------------------------------------------------------------------ what there is

    @property
    def _remaining(self) -> int:
        return max(0, self.at_most - self.spent)

    @property
    def _pace(self) -> Pace:
        return OPTIONS if self.own_questions else PANEL

    @property
    def _pool(self) -> Feedback:
        """All that is known and is no evidence to come."""
        return self.inference.record.known_to(len(self.inference.record.rounds))

    @property
    def _left(self) -> Counts:
        return self.limits.left(self.pending)

    def _allowed(self, order: Indices) -> Indices:
        return self.limits.allowed(order, self.pending)

    def _pays_for(self, order: Indices) -> bool:
        """Tell whether the budget pays for one of these questions, beside what is on its way."""
        counts = np.bincount(order, minlength=self.inference.record.q).astype(np.int64)
        return bool(self.limits.affordable(counts, self.pending).any())


@dataclass(frozen=True, eq=False)
class StagePlanner(AnyPlanner[Evidence]):
    """Plans what to ask next to find the best option."""

    of_the_best: ClassVar[bool] = True

    inference: Inference

    def tested(self, guess: Fit, now: Evidence) -> Tested:
        """Return the leads of the one that looks best over all that were not rejected."""
        leader = self.leading(guess, now)
        rivals = self.inference.open(now, leader)
        if len(rivals) == 0:  # others led when all were rejected: its own next look will say so
            rivals = np.flatnonzero(~self.inference.aim.same(leader))
        return Tested(leader, rivals)

    def lacking(self, guess: Fit, now: Evidence, tested: Tested) -> Floats:
        """Return (n,) the evidence that is lacking against rivals of a leader."""
        assert isinstance(tested.leader, int)
        return self.inference.aim.enough - now.of(tested.leader)[tested.rivals]

    def is_anybodys_guess(self, guess: Fit, tested: Tested) -> bool:
        """Tell whether the leader is hardly more probable to be the best than others are."""
        # What a test shows of a leader's rivals is of little use once another one leads. Where many
        # tie nobody ever is: so that is for a beginning only.
        assert isinstance(tested.leader, int)
        aim = self.inference.aim
        if self.spent >= _LONG_ENOUGH * aim.model.rank or not self._shrinks(guess):
            return False
        return guess.chance_of_best(tested.leader, aim.slack) < _ANYBODY

    def settled(self, now: Evidence) -> Tested:
        """Return the leads of the answer."""
        assert now.answer is not None
        return Tested(now.answer, np.flatnonzero(~self.inference.aim.same(now.answer)))

    def leading(self, guess: Fit, now: Evidence) -> int:
        """Return the option that is best by a guess, rejected or not."""
        # A best option may have been rejected, with probability δ. If it comes to lead all the
        # same, it is tested against those that were not: an answer is wrong only if the best was
        # rejected, whoever the answer is. Else the search would go on among options that are worse,
        # and may be much closer to one another.
        return self.first(guess)


@dataclass(frozen=True, eq=False)
class SetPlanner(AnyPlanner[SetEvidence]):
    """Plans what to ask next to find the m best options."""

    inference: SetInference

    def tested(self, guess: Fit, now: SetEvidence) -> Tested:
        """Return the leads across the line of all places that are open."""
        places = self.arranged(guess, now)
        open_ = self.inference.doubtful(places, now.within)
        # all: if others were inside when the last were rejected, the next look will say so
        return _across(places, open_ if open_.any() else _unlike(places))

    def lacking(self, guess: Fit, now: SetEvidence, tested: Tested) -> Floats:
        """Return (n,) the evidence that is lacking for leads across the line."""
        # With a tolerance by the shorter of two ways, in units of the one that makes use of it.
        assert isinstance(tested.leader, np.ndarray)
        assert tested.places is not None
        places, (enough, of_pairs) = now.places.arranged(tested.places), self.inference.needed
        found = enough - places.wealth[places.cells(tested.leader, tested.rivals)]
        if now.within is not None:
            leads, variances = self._leads(guess, tested)
            least = np.maximum(leads, _CAUTION * np.sqrt(variances) * guess.unit)
            found = found * ((leads + self.inference.aim.slack) / least) ** 2
            found = np.minimum(found, of_pairs - now.within[tested.leader, tested.rivals])
        return np.maximum(found, 0.0)

    def settled(self, now: SetEvidence) -> Tested:
        """Return all leads across the line, but those over options that are alike."""
        return _across(now.places, _unlike(now.places))

    def arranged(self, guess: Fit, now: SetEvidence) -> Places:
        """Return the places, others if the m that look best are others than the first m."""
        # Every change of places may cost evidence. So those that stay on their side of the line
        # keep their order, and who crosses it goes no further than where it seems to belong.
        places, m = now.places, now.places.top
        order, value = self._by_value(guess, places), self._values(guess)[places.kinds]
        inside, outside = places.order[:m], places.order[m:]
        come, go = np.isin(outside, order[:m]), ~np.isin(inside, order[:m])
        if not come.any():
            return places
        if not places.wealth[places.open].any():  # nothing to lose yet
            return places.arranged(order)
        new = _inserted(inside[~go], outside[come], value)
        old = _inserted(outside[~come][::-1], inside[go][::-1], -value)[::-1]
        return places.arranged(np.concatenate([new, old]))

    def _by_value(self, guess: Fit, places: Places) -> Indices:
        """Return (k,) the options, those that look best first; of those alike the first."""
        value = self._values(guess)[places.kinds]
        return np.lexsort((np.arange(len(value)), -value))

    def selection(self, guess: Fit) -> Selection:
        """Return which m look best by a guess, beside those of whom it is certain."""
        now = self.inference.evidence()
        places, order = now.places, self._by_value(guess, now.places)
        inside, outside = (np.isin(order, some) for some in (places.inside, places.outside))
        exact = now.answer is not None and not places.open.any()
        first = np.isin(order, places.order[: places.top])
        if exact:  # for good, whatever it looks like since
            inside, outside = first, ~first
        kept = first if now.answer is not None else np.zeros_like(first)
        rank = np.where(inside, 0, np.where(kept, 1, np.where(outside, 3, 2)))
        order = order[np.argsort(rank, kind="stable")]
        chosen = order[: places.top]
        if not np.isin(chosen, places.order[: places.top]).all():
            places = places.arranged(order)
        return Selection(
            tuple(chosen.tolist()),
            tuple(order[: inside.sum()].tolist()),
            tuple(order[len(order) - outside.sum() :].tolist()),
            0 if exact else places.wrong_at_most,
        )


@dataclass(frozen=True, eq=False)
class SidePlanner(AnyPlanner[SideEvidence]):
    """Plans what to ask next to find who is above a bar, or better than one option."""

    inference: SideInference

    def tested(self, guess: Fit, now: SideEvidence) -> Tested:
        """Return the leads of all that are open over what they are held against, or of that."""
        # Those that are easily told come first: who stands at the line may take all there is.
        everybody = self._held(self.above(guess, now), self.inference.open(now))
        cost = self._cost(guess, now, everybody)
        return everybody.some((cost <= _HARDER * cost.min(initial=np.inf)) | ~np.isfinite(cost))

    def _cost(self, guess: Fit, now: SideEvidence, tested: Tested) -> Floats:
        """Return (n,) what it takes to tell leads, but for a factor; ∞ where nothing is known."""
        leads, variances = self._leads(guess, tested)
        far = np.maximum(leads + self.slacks(tested), _CAUTION * np.sqrt(variances) * guess.unit)
        cost = (self.lacking(guess, now, tested) + _EXTRA) / far**2
        return np.where(np.isfinite(variances), cost, np.inf)

    def more_to_come(self, guess: Fit, now: SideEvidence, tested: Tested) -> float:
        """Return how many times what a plan's leads take all that are open are guessed to take."""
        everybody = self._held(self.above(guess, now), self.inference.open(now))
        some, all_of_them = (self._cost(guess, now, one).sum() for one in (tested, everybody))
        return float(max(all_of_them / some, 1.0)) if np.isfinite(all_of_them) else math.nan

    def _held(self, above: NDArray[np.bool_], options: Indices) -> Tested:
        base, up = self.inference.base, above[options]
        leaders, rivals = (np.where(side, options, base) for side in (up, ~up))
        return Tested(leaders, rivals, self.inference.options)

    def lacking(self, guess: Fit, now: SideEvidence, tested: Tested) -> Floats:
        """Return (n,) the evidence that is lacking for the sides of options."""
        below = (np.asarray(tested.leader) == self.inference.base).astype(np.intp)
        found = now.sides.wealth[self._options(tested), below]
        return np.asarray(np.maximum(self.inference.enough - found, 0.0))

    def slacks(self, tested: Tested) -> Floats:
        """Return (n,) the tolerance of those that are guessed to be above."""
        above = np.asarray(tested.leader) != self.inference.base
        return np.where(above, self.inference.aim.slack, 0.0)

    def _options(self, tested: Tested) -> Indices:
        leaders = np.asarray(tested.leader)
        return np.where(leaders != self.inference.base, leaders, tested.rivals)

    def all_or_nothing(self) -> bool:
        """Tell that some options may be told where others cannot."""
        return False

    def named(self, tested: Tested) -> tuple[int, ...]:
        """Return what options are held against, and all that are open: others are no easier."""
        open_ = self.inference.open(self.inference.evidence())
        return (self.inference.base, *open_.tolist())

    def settled(self, now: SideEvidence) -> Tested:
        """Return the leads that a certain answer rests on."""
        above = np.zeros(len(now.sides.wealth), dtype=np.bool_)
        above[now.sides.inside] = True
        return self._held(above, self.inference.options)

    def above(self, guess: Fit, now: SideEvidence) -> NDArray[np.bool_]:
        """Return (k,) who looks above by a guess, or certainly is."""
        options, slack = self.inference.options, self.inference.aim.slack
        base = np.full(len(options), self.inference.base)
        above = np.zeros(len(now.sides.wealth), dtype=np.bool_)
        # the way up is c + ε, the way down −c
        leads = self.inference.aim.leads(guess, options, base).estimates
        above[options] = leads > -0.5 * slack
        above[now.sides.inside], above[now.sides.outside] = True, False
        return above

    def selection(self, guess: Fit) -> Selection:
        """Return who looks above by a guess, beside those of whom it is certain."""
        now, order = self.inference.evidence(), np.argsort(-self._values(guess), kind="stable")
        chosen, inside, outside = (
            tuple(x for x in order.tolist() if x in some)
            for some in (
                np.flatnonzero(self.above(guess, now)),
                now.sides.inside,
                now.sides.outside,
            )
        )
        return Selection(chosen, inside, outside, 0 if self.inference.is_certain(now) else None)


def _inserted(there: Indices, others: Indices, value: Floats) -> Indices:
    """Return options with others among them, each as far from the end as its value takes it."""
    found = there.tolist()
    for x in others.tolist():
        place = len(found)
        while place and value[found[place - 1]] < value[x]:
            place -= 1
        found.insert(place, x)
    return np.array(found, dtype=np.intp)


def _unlike(places: Places) -> NDArray[np.bool_]:
    """Tell (m, k − m) which options inside have other features than those outside."""
    kinds = places.kinds[places.order]
    return np.asarray(kinds[: places.top, None] != kinds[places.top :])


def _across(places: Places, which: NDArray[np.bool_]) -> Tested:
    """Return the leads of some places inside over others outside."""
    p, q = np.nonzero(which)
    return Tested(places.order[p], places.order[places.top + q], places.order)


def with_looks(
    order: Indices, share: float, told: Counts, left: Counts, rng: np.random.Generator
) -> Indices:
    """Return an order of the same length with a share of looks at what was asked least so far."""
    # They come in random order at random places, as far as there is something ``left`` to ask. Of
    # questions that were asked equally seldom, chance decides; so early ones are looked at again,
    # and where there are many a sample of them. Where there are few, up to twice the share goes to
    # those with less than four evaluations.
    n, q = max(1, round(share * len(order))), len(told)
    if _FEW * q <= told.sum() + len(order):
        lacking = np.maximum(_FEW - told - np.bincount(order, minlength=q), 0).sum()
        n = min(max(n, int(lacking)), 2 * n, len(order))
    kept = order[: len(order) - n]
    made = np.bincount(kept, minlength=q)
    have, room = told + made, left - made
    looks: list[int] = []
    while len(looks) < n and (room > 0).any():
        (least,) = np.nonzero((room > 0) & (have == have[room > 0].min()))
        looks.append(int(rng.choice(least)))
        have[looks[-1]] += 1
        room[looks[-1]] -= 1
    mixed = np.empty(len(kept) + len(looks), dtype=np.intp)
    at = np.zeros(len(mixed), dtype=np.bool_)
    at[rng.choice(len(mixed), len(looks), replace=False)] = True
    mixed[at], mixed[~at] = looks, kept
    return mixed
