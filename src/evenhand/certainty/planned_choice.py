"""Planned choice: all questions fixed before the first answer, for people who can be asked once.

Notation
--------
N, n        answers that are planned, and that are in
b           the option that leads by all of them;  p_j the chances of `Winner` for its rivals j
δ           1 − confidence;  α(n/N) the share of δ that is used up by then

What is asked, and in which order, depends on the seed alone. When one looks at what is in, p_j < δ
for all j makes b certain (`winner`). Who looks more than once has to share δ out between the looks,
and they too are fixed before the first answer: α grows in steps to t² at t = 0.4, 0.6, 0.8 and 1,
for nine tenths of δ, and with every answer for the last tenth. Nothing else is asked of the looks,
so the noise may be known or not, and no factor for the number of options is paid. docs/people.md
has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.alike import chance_of_difference, difference_found, own_fit
from evenhand.certainty.assignment import (
    all_there_is,
    checked_plan,
    even_order,
    fits,
    next_ones,
    planned_counts,
)
from evenhand.certainty.biases import named_biases
from evenhand.certainty.dense import DenseFit
from evenhand.certainty.e_process import planned_interval
from evenhand.certainty.extension import Move, grown
from evenhand.certainty.model_choice import model_of
from evenhand.certainty.models import Fit, Spread
from evenhand.certainty.terms import allow_more, most_evaluations
from evenhand.certainty.winner import Winner
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.numerics.ties import first_largest
from evenhand.policies.base import Policy
from evenhand.policies.limits import is_number
from evenhand.policies.messages import (
    Certainty,
    Decision,
    Estimate,
    Feedback,
    counts_in,
    dense,
    nothing,
    sparse,
)
from evenhand.policies.registry import registered
from evenhand.questions import UNLIMITED, Askable, Column, Questions, checked_askable

Looks = Literal["once", "always"]

_TIMES = (0.4, 0.6, 0.8, 1.0)  # shares of the answers at which most of δ is used
_HEARD = 5  # degrees of freedom from which on an unknown noise is known well enough to give up
_STEADY = 0.1  # share of δ that is used answer by answer
_MOST_LOOKS = 500  # that these are taken at, in a long plan
_SAME = 1e-12  # share of the largest answer below which a difference is rounding
_REPEATS = 1e-24  # a scatter below this share of all squares is rounding, and no noise


class Bound(TypedDict, total=False):
    """What other policies are told, and this one has no use for."""

    value_bound: float


@registered
class PlannedChoice(Policy):
    """Asks what was planned, in the order that was planned, and says whether the choice is sure.

    For evaluators who can be asked the same thing once. What is asked does not depend on what
    comes back, and that is what makes a strong test possible: of two rules for the same panel, the
    one that looks once is sure most often, and the one that looks after every answer saves the rest
    of them when it is sure. Which of the two has to be decided before the first answer.

    Noise is taken to be Gaussian, and as loud for all questions but for their relative noise. How
    long an answer takes, and who leaves, must not depend on what the answers are. Logged scores may
    be observed before the first answer: they are no part of the test, and not asked again.

    Parameters
    ----------
    actions
        The questions, or options that are their own.
    horizon, at_most
        Two names for the number of answers; all that can be asked (four of each question that can
        be asked as often as one likes) if neither is given. Where it is less, those questions are
        planned that tell most of the leads.
    confidence
        Probability of not being wrong.
    tolerance
        How much may be lost, in units of value.
    noise_scale
        Standard deviation σ of an answer; None if it is not known.
    planned
        (q,) how often each question is asked, where somebody else decided that without looking at
        any answer; then that is all of the answers, and neither horizon nor at_most are given.
    looks
        "once": when all answers are in. "always": after each of them; asking ends when the choice
        is sure.
    give_up
        With looks "always": asking ends, too, when the chance to become sure by what is left seems
        to be less than that. 0: all is asked.
    seed
        Where the order comes from.
    budget
        How much money may be spent, at the questions' prices.
    bound
        ``value_bound``, as for every policy: not used.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem = eh.families.panel(k=5, e=6, seed=1, gap=4.0, bias=2.0)
    >>> policy = eh.PlannedChoice(problem.questions)
    >>> evaluations = eh.environments.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask(n=4)))
    >>> decision = policy.recommend()
    >>> policy.spent, decision.option == problem.best, decision.loss, decision.certainty
    (30, True, 0.0, 'own scores')
    """

    name = "planned-choice"
    _would_help = "more evaluators from the start"
    plays_questions = True
    heeds_limits = True
    spends_all = False

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
        planned: ArrayLike | None = None,
        looks: Looks = "once",
        give_up: float = 0.05,
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
        if not is_number(confidence) or not 0.0 < confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        if not is_number(tolerance) or tolerance < 0.0:
            raise InputError(
                f"tolerance must be a number ≥ 0, in units of value; got {tolerance!r}."
            )
        if looks not in ("once", "always"):
            raise InputError(f"looks must be 'once' or 'always'; got {looks!r}.")
        if not is_number(give_up) or not 0.0 <= give_up < 1.0:
            raise InputError(f"give_up must be a chance from 0 to less than 1; got {give_up!r}.")
        wanted = None
        if planned is not None:
            wanted = checked_plan(planned, Questions.of(checked_askable(actions)))
            if horizon is not None or at_most is not None:
                raise InputError(
                    f"planned has {int(wanted.sum())} answers in all; leave out horizon and "
                    "at_most, which say how many there are to be."
                )
            limit = int(wanted.sum())
        elif horizon is None and at_most is None:
            limit = all_there_is(Questions.of(checked_askable(actions)))
        else:
            limit = most_evaluations(actions, horizon, at_most)
        super().__init__(actions, limit, noise_scale=noise_scale, seed=seed, budget=budget, **bound)
        self.confidence, self.delta = float(confidence), 1.0 - float(confidence)
        self.tolerance, self.looks, self.give_up = float(tolerance), looks, float(give_up)
        self.model = model_of(self.actions)
        self._by_others = wanted is not None
        if wanted is None:
            wanted = planned_counts(self.questions, self.model, self.horizon, self.money)
        self._planned = wanted
        self._order: Indices = even_order(self.questions, np.random.default_rng(seed))
        self._told = nothing(len(self.questions))
        self._used = self._gone = 0.0  # share of δ; that of plans before this one
        self._answer: int | None = 0 if len(self._rivals(0)) == 0 else None
        self._gave_up = False
        self._seen: list[tuple[int, Winner, float]] = []  # who led at a look, and its share of δ
        self._kept: dict[tuple[int, int], Floats] = {}
        self._fitted: Fit | None = None
        self._alike: list[Finding] | None = None  # what was found of evaluators who differ

    # ------------------------------------------------------------------ what is asked

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Hand out the next questions of the plan that may be asked."""
        if self._over:
            return self._nothing
        if n is None:
            n = self.horizon if self.looks == "once" else max(1, self.spent // 128)
        have = self._told.counts + pending
        most = min(n, self.room(pending))
        return next_ones(self._planned, have, self._order, self.left(pending), most)

    def expects(self, feedback: Feedback) -> bool:
        """Tell whether these answers are planned, and not in yet."""
        return bool((self._told.counts + feedback.counts <= self._planned).all())

    def take_in(self, feedback: Feedback) -> bool:
        """Leave out of the plan what was answered before; nothing else is made of it.

        The winner test is about answers whose questions were fixed before, without a look at any
        of them. Of logged scores nobody knows that, so they are no part of it, and it does not
        matter who chose them: the plan is made after them, and its answers have noise of their
        own. What may be asked once and was answered is not asked again. The checks see them.
        Refused once something was told, and where the rest cannot compare all options by itself.
        """
        if self._told.counts.any() or self._over:
            return False
        plan = self._made_plan()
        if not self._compares(plan):
            return False
        self._put_in_force(plan)
        self._plan_number += 1
        return True

    def _made_plan(self) -> Counts:
        """Return (q,) how often questions are asked, with what is in and, if it fits, on its way.

        What was answered otherwise, in logged scores or an earlier plan, may not be asked again.
        """
        questions, told = self.questions, self._told.counts
        others = self._asked - told
        capacity = np.where(
            questions.capacity == UNLIMITED, UNLIMITED, np.maximum(questions.capacity - others, 0)
        )
        if self._by_others:
            return np.asarray(np.maximum(np.minimum(self._planned, capacity), told))
        who = questions.evaluator
        done = np.bincount(who[who >= 0], others[who >= 0], len(questions.evaluators))
        work = np.maximum(questions.workload - done.astype(np.int64), 0)
        work = np.where(questions.workload == UNLIMITED, UNLIMITED, work)
        most = self.remaining + int(told.sum())
        money = self.money - self._paid + float(told @ questions.prices)
        left = questions._changed(capacity=capacity, workload=work)
        have = told + np.minimum(self._outstanding, np.maximum(capacity - told, 0))
        have = have if fits(left, have, most, money) else told
        return planned_counts(left, self.model, most, money, have)

    def _compares(self, planned: Counts) -> bool:
        """Tell whether all options can be compared by these answers."""
        zeros = np.zeros(len(planned))
        fit = self.model.fit(Feedback(planned, zeros, zeros), 1.0)
        return bool(np.isfinite(fit.leads(0, np.arange(len(self.options))).variances).all())

    def _put_in_force(self, planned: Counts) -> None:
        self._planned = planned
        vars(self).pop("_whole", None)

    @property
    def why_not_observed(self) -> str:
        """Why scores that were not asked for are refused, and what to do instead."""
        if self._told.counts.any():
            return (
                f"{self.name!r} has a plan, of which {self.spent} answers are in; scores that were "
                "not asked for come before the first answer, or not at all. decide() says what all "
                "scores tell, where what was scored was decided without looking at any."
            )
        return (
            "with these scores, the questions that may still be asked do not compare all options "
            "with one another, and scores that were not asked for cannot: nobody knows how they "
            "were chosen. Allow more (capacity, evaluators), or, where what was scored was decided "
            "without looking at any score, use decide() on all of them."
        )

    def learn(self, feedback: Feedback) -> None:
        """Take in what came back, and look at it if that is due."""
        self._round += 1
        self._told = self._told + feedback
        self._fitted = self._alike = None
        self._look()

    def attendance_changed(self) -> None:
        """Look, if nothing can come any more that would be waited for."""
        if self._told.counts.any():
            self._look()

    @property
    def _over(self) -> bool:
        """Whether there is nothing to ask any more: it is sure, has used up δ, or gave up."""
        return self._answer is not None or self._used >= 1.0 or self._gave_up

    @property
    def _to_come(self) -> Counts:
        """(q,) answers that are planned and can still come."""
        lacking: Counts = np.maximum(self._planned - self._told.counts, 0)
        if self._absent:
            lacking[np.isin(self.questions.evaluator, list(self._absent))] = 0
        return lacking

    def _share(self) -> tuple[float, bool]:
        """Return α by now, and whether a step of it was reached since the last look."""
        if not self._to_come.any():
            return 1.0, True
        if self.looks == "once":
            return self._gone, False
        N = int(self._planned.sum())
        t = int(self._told.counts.sum()) / N
        step = max((time for time in _TIMES if time <= t + 1e-9), default=0.0) ** 2
        steady = math.floor(t * _MOST_LOOKS) / _MOST_LOOKS if N > _MOST_LOOKS else t
        share = (1.0 - _STEADY) * step + _STEADY * steady
        left = 1.0 - self._gone
        return self._gone + left * share, self._used < self._gone + left * (1.0 - _STEADY) * step

    # ------------------------------------------------------------------ a look

    @property
    def _chance(self) -> float:
        """What of δ was not used up by plans before this one."""
        return self.delta * (1.0 - self._gone)

    def _look(self) -> None:
        """Use the share of δ that is due to see whether the leader is certain."""
        share, planned = self._share()
        failure = self.delta * (share - self._used)
        if self._over or failure <= 0.0:
            return
        fit = self._fit
        leader = self._leader(fit)
        if leader is None:
            return
        self._used = share
        winner = self._winner(fit, leader)
        worst = float(winner.chances(-self._slack).max(initial=0.0))
        if worst < failure:
            self._answer = leader
        if worst < failure or planned:
            self._seen.append((leader, winner, failure))
        if planned and share < 1.0 and self._hope(worst) < self.give_up:
            self._gave_up = self._answer is None

    def _ends(self, option: int) -> Floats:
        """Return (k, 3) what leads are at least (one-sided), and their lows and highs (two-sided).

        By all looks at which the option led: what was said before holds as well.
        """
        key = option, len(self._seen)
        if key not in self._kept:
            ends = np.tile([-np.inf, -np.inf, np.inf], (len(self.options), 1))
            rivals = self._rivals(option)
            for leader, winner, failure in self._seen:
                if leader == option:
                    sides = winner.at_least(failure), winner.at_least(0.5 * failure)
                    ends[rivals, :2] = np.maximum(ends[rivals, :2], np.column_stack(sides))
                    ends[rivals, 2] = np.minimum(ends[rivals, 2], winner.at_most(0.5 * failure))
            self._kept = {key: ends}
        return self._kept[key]

    def _hope(self, worst: float) -> float:
        """Return the chance that the last look will make it sure, if things go on as they are.

        By what is in, a lead of z deviations at the share t of the answers will be normal at the
        end, of mean z/√t and variance (1 − t)/t. While hardly anything is known of the noise, p
        says nothing about z, and all may still come.
        """
        if not self.noise_known and self._noise_by(self._fit)[1] < _HEARD:
            return 1.0
        t = int(self._told.counts.sum()) / int(self._planned.sum())
        last = (1.0 - _TIMES[-2] ** 2) * (1.0 - _STEADY) * self._chance
        z, enough = (-float(special.ndtri(0.5 * p)) for p in (max(worst, 1e-300), last))
        return float(special.ndtr((z / math.sqrt(t) - enough) / math.sqrt((1.0 - t) / t)))

    @property
    def _fit(self) -> Fit:
        """Least squares on all that is in."""
        if self._fitted is None:
            self._fitted = self.model.fit(self._told, self.stated_noise)
        return self._fitted

    @cached_property
    def _whole(self) -> Fit:
        """Least squares on the whole plan, of which only variances are known before it is in."""
        zeros = np.zeros(len(self._planned))
        return self.model.fit(Feedback(self._planned, zeros, zeros), 1.0)

    def _leader(self, fit: Fit) -> int | None:
        """Return the option that leads; None while not all can be compared."""
        behind, variances = fit.leads(0, np.arange(len(self.options)))
        return first_largest(-self._told_apart(behind)) if np.isfinite(variances).all() else None

    def _told_apart(self, estimates: Floats) -> Floats:
        """Return estimates, 0 where they are no more than rounding of the answers."""
        counts, _, squares = self._told.parts
        size = math.sqrt(float((squares / np.maximum(counts, 1)).max(initial=0.0))) / self._unit
        return np.where(np.abs(estimates) <= _SAME * size, 0.0, estimates)

    def _rivals(self, option: int) -> Indices:
        """Return the options that are not the same as this one in all features."""
        if self.options.stand_alone:
            return np.delete(np.arange(len(self.options)), option)
        X = self.options.features
        return np.flatnonzero((np.abs(X[option] - X) > 1e-12 * np.abs(X).max(axis=0)).any(axis=1))

    def _winner(self, fit: Fit, leader: int) -> Winner:
        rivals = self._rivals(leader)
        leads = np.maximum(fit.leads(leader, rivals).estimates, 0.0)
        scatter, freedom = self._noise_by(fit)
        return Winner.of(leads, fit.shared(leader, rivals), scatter, freedom)

    def _noise_by(self, fit: Fit) -> tuple[float, float]:
        """Return the residual sum of squares and its degrees of freedom; 0 and ∞ if σ is known.

        Where the residuals are rounding, nothing is known of the noise: then both are 0.
        """
        if self.noise_known:
            return 0.0, math.inf
        scatter, squares = fit.scatter, float(self._told.sums_of_squares.sum())
        if isinstance(fit, DenseFit):  # by the residuals themselves, of which fewer digits cancel
            counts, sums, each = self._told.parts
            within = np.maximum(each - sums * self._told.means, 0.0).sum()
            left = self._told.means - fit.model.frame.points @ fit.theta
            scatter = float(within + counts @ left**2)
        return (scatter, fit.freedom) if scatter > _REPEATS * squares else (0.0, 0.0)

    # ------------------------------------------------------------------ what is said

    @property
    def _unit(self) -> float:
        return self.noise_scale if self.noise_known else 1.0

    @property
    def _slack(self) -> float:
        """The tolerance in the units of the leads."""
        return self.tolerance / self._unit

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        What it loses, and its leads, are said of the looks so far. All losses ever said hold at
        once; the interval of each lead by itself.
        """
        fit = self._fit
        leader = self._leader(fit)
        option = leader if self._answer is None else self._answer
        if option is None:
            option = self._guess()
        k = len(self.options)
        ends = self._ends(option)
        leads = np.column_stack([np.full(k, np.nan), ends[:, 1:]])
        if leader is not None:
            estimates = self._told_apart(fit.leads(option, np.arange(k)).estimates)
            leads[:, 0] = np.clip(estimates, ends[:, 1], ends[:, 2])
        rivals = self._rivals(option)
        leads[np.setdiff1d(np.arange(k), rivals)] = 0.0
        loss = max(0.0, -float(ends[rivals, 0].min(initial=0.0))) * self._unit
        if self._answer is not None:
            loss = min(loss, self.tolerance)
        decision = Decision(
            option,
            self.options.labels[option],
            loss=loss,
            level=self.confidence,
            withstands=self._withstands(option, ends[:, 0]),
            leads=leads * self._unit,
            certainty=self._grounds if np.isfinite(loss) else None,
        )
        warnings = self.findings()
        if any(finding.alarm for finding in warnings):
            decision = replace(decision, loss=np.inf, level=0.0, withstands=0.0, certainty=None)
        return replace(decision, warnings=warnings) if warnings else decision

    def _withstands(self, option: int, least: Floats) -> float:
        """Return how much the whole panel may favour the option's group for it to remain best.

        No score can tell such a favour from value. It is what the option leads all options of
        other groups by, at least.
        """
        groups = self.options.groups
        if groups is None or self.actions is not self.questions:
            return 0.0
        others = np.array([group != groups[option] for group in groups])
        return max(0.0, float(least[others].min())) * self._unit if others.any() else 0.0

    @property
    def _grounds(self) -> Certainty:
        """What certainty rests on: options that stand for themselves need no model of value."""
        return "own scores" if self.options.stand_alone else "features exact"

    def _guess(self) -> int:
        """Return an option while not all can be compared: by its own scores, drawn to the mean."""
        counts, sums, _ = self._told.parts
        beyond = sums - counts * (sums.sum() / max(int(counts.sum()), 1))
        first, second = self.questions.about.T
        n, k = len(self.questions.items) + 1, len(self.options)  # the last: none
        total = np.bincount(first % n, beyond, n) - np.bincount(second % n, beyond, n)
        often = np.bincount(first % n, counts, n) + np.bincount(second % n, counts, n)
        size = float(np.abs(self._told.means).max(initial=0.0))
        return first_largest((total / (often + 1.0))[:k], size)

    def bias(self) -> Estimate:
        """Return the (first) bias, with its interval."""
        return self._estimates(np.eye(1, self.questions.n_attributes))[0]

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with their intervals; leniencies against the mean of the panel."""
        columns, rows = named_biases(self.questions)
        return list(zip(columns, self._estimates(rows), strict=True))

    def _estimates(self, rows: Floats) -> list[Estimate]:
        """Return combinations, (n, p), of what attributes add."""
        said = self._said(self._fit.attributes(rows), self._whole.attributes(rows))
        return [Estimate(value, low, high, self.confidence) for value, low, high in said.tolist()]

    def values(self) -> Floats | None:
        """Return (k, 3) values with their intervals, each by itself."""
        return self._said(self._fit.values(), self._whole.values())

    def _said(self, found: Spread, planned: Spread) -> Floats:
        """Return (n, 3) estimates with intervals, of combinations that nothing was selected by.

        Plain ones where one looks once; else they hold at all times.
        """
        ends = []
        scatter, freedom = self._noise_by(self._fit)
        values = self._told_apart(found.estimates)
        for value, variance, plan in zip(values, found.variances, planned.variances, strict=True):
            if not 0.0 < variance < math.inf:
                ends.append((math.nan, -math.inf, math.inf))
            elif freedom < 1.0 or (self.looks == "once" and self._used < 1.0):
                ends.append((value, -math.inf, math.inf))
            elif self.looks == "once":
                width = -_quantile(0.5 * self._chance, freedom) * math.sqrt(variance)
                width *= 1.0 if math.isinf(freedom) else math.sqrt(scatter / freedom)
                ends.append((value, value - width, value + width))
            else:
                J = 1.0 / variance
                plan_J = 1.0 / plan if plan > 0.0 else J
                ends.append(
                    (value, *planned_interval(value, J, scatter, freedom, plan_J, self._chance))
                )
        return np.array(ends).reshape(-1, 3) * self._unit

    def findings(self) -> tuple[Finding, ...]:
        """Return what the answers say about the assumptions, alarms first.

        In the end also whether evaluators favour their own by as much as each other, where that is
        taken for granted.
        """
        found = super().findings()
        if self.checked and self._over and self._told.counts.any():
            if self._alike is None:
                self._alike = [entry for entry in [self._difference()] if entry is not None]
            found = (*found, *self._alike)
        return tuple(sorted(found, key=lambda finding: not finding.alarm))

    def _difference(self) -> Finding | None:
        """Return what is to be said of evaluators who differ in their biases."""
        noise_scale = self.stated_noise
        chance = chance_of_difference(self.questions, self._told, noise_scale)
        fit = own_fit(self.questions, self._told, noise_scale) if chance < 1.0 else None
        confirmed = False
        if fit is not None and self._answer is not None and self._leader(fit) == self._answer:
            winner = self._winner(fit, self._answer)
            confirmed = float(winner.chances(-self._slack).max(initial=0.0)) < self._chance
        return difference_found(chance, confirmed, fit is not None)

    def forecast(self) -> float:
        """Return how many answers are still to come: all that are planned, or until it is sure."""
        if self._over:
            return 0.0
        left, N = float(self._to_come.sum()), int(self._planned.sum())
        n = int(self._told.counts.sum())
        leader = self._leader(self._fit) if n else None
        if self.looks == "once" or leader is None:
            return left
        worst = float(self._winner(self._fit, leader).chances(-self._slack).max(initial=0.0))
        z, before = -float(special.ndtri(0.5 * max(worst, 1e-300))), 0.0
        for time in _TIMES:
            due, before = (1.0 - _STEADY) * self._chance * (time**2 - before), time**2
            if time * N > n and z * math.sqrt(time * N / n) > -float(special.ndtri(0.5 * due)):
                return min(left, math.ceil(time * N) - n)
        return left

    @property
    def stopped_because(self) -> str | None:
        """Why the policy is done, in plain words; None while it is not."""
        names, level = self.options.labels, f"{100 * self.confidence:g}%"
        if not self._over:
            return None if self._to_come.any() else self._cannot_compare()
        if self._answer is not None and any(finding.alarm for finding in self.findings()):
            return "it would be certain if the model were right, but an alarm says that it is not."
        more = f" by more than {self.tolerance:g}" if self.tolerance else ""
        if self._answer is not None:
            return (
                f"no option is better than {names[self._answer]!r}{more}, with {level} confidence"
                + ("." if self.options.stand_alone else " and if the features tell values exactly.")
            )
        if not self._seen:  # options came since, and by now something is withdrawn
            return (
                f"the chance of {self.delta:g} to be wrong is used up: whatever comes now cannot "
                "make it certain."
            )
        leader, winner, failure = self._seen[-1]
        near = np.argsort(winner.leads, kind="stable")  # the closest first
        open_ = self._rivals(leader)[near[winner.chances(-self._slack)[near] >= failure]]
        shown = ", ".join(repr(names[x]) for x in open_[:5]) + (", …" if len(open_) > 5 else "")
        if self._gave_up:
            return (
                f"{names[leader]!r} leads, but it is too close to {shown} for the "
                f"{int(self._to_come.sum())} answers that are left to settle it: they would with a "
                f"chance of less than {100 * self.give_up:g}%. State a tolerance, or give_up=0."
            )
        return (
            f"all {int(self._told.counts.sum())} answers are in, and that {names[leader]!r} leads "
            f"{shown} may be chance, at {level} confidence. A tolerance would help (how much may "
            f"be lost), or {self._would_help}."
        )

    def _cannot_compare(self) -> str:
        """Return which options remain apart when nothing more can come."""
        leads = self._fit.leads(0, np.arange(len(self.options)))
        apart = np.flatnonzero(np.isinf(leads.variances))
        names = self.options.labels
        shown = ", ".join(repr(names[x]) for x in apart[:5]) + (", …" if len(apart) > 5 else "")
        return (
            f"the {self.spent} answers that are in do not compare {names[0]!r} with {shown}, and "
            "no others can come. Plan more of them, or ask other evaluators."
        )

    # ------------------------------------------------------------------ what is frozen

    @property
    def plan_id(self) -> int | None:
        """The number of the plan in force."""
        return self._plan_number

    def frozen(self) -> dict[str, Any]:
        """Return all that was fixed before the first answer, by name.

        Returns
        -------
        dict
            ``questions`` and ``counts``: how often each is asked. ``order``: all questions in the
            order in which they are asked, round by round. ``gone``: the share of δ that plans
            before this one have used up.
        """
        (used,) = np.nonzero(self._planned)
        return {
            "questions": used,
            "counts": self._planned[used],
            "order": self._order,
            "gone": self._gone,
        }

    def freeze(self, plan: Mapping[str, Any]) -> None:
        """Put a plan in force that `frozen` returned."""
        q = len(self.questions)
        counts, order = counts_in(plan, q), np.asarray(plan["order"], dtype=np.intp)
        if not np.array_equal(np.sort(order), np.arange(q)):
            raise ValueError("the order does not have every question once")
        if (counts < self._told.counts).any() or plan["gone"] != self._gone:
            raise ValueError("it is the plan of other answers")
        self._put_in_force(counts)
        self._order = order

    def follow(self, plan: Mapping[str, Any], goes_on: bool) -> None:
        """Ask what a record says was planned, beside what is in.

        Where that plan was of new answers alone, and this policy has not looked as often, those
        that are in count as well.
        """
        self._plan_number, told = int(plan["id"]), self._told.counts
        counts, order = counts_in(plan, len(told)), np.asarray(plan["order"], dtype=np.intp)
        if self._answer is None:
            anew = plan["gone"] > self._gone
            self._put_in_force(counts + told if anew else np.maximum(counts, told))
            self._order = order

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked: since it was planned before the first answer."""
        return {"what": "ask what was planned", "stage": self._plan_number}

    def extended(self, actions: Askable) -> PlannedChoice:
        """Return the policy with more options, evaluators or capacity, and a plan that has them.

        While nothing was decided by what is in, the plan just becomes longer: it is still one that
        was fixed without looking, if what was added does not depend on the scores. The share of δ
        that was used stays used, and looks go on by the share of the longer plan.

        Once it is over, what comes after does depend on the scores. Then what is in counts as
        logged, the new plan is of other answers alone, and its looks have what is left of δ: so all
        that is ever called certain is wrong with probability δ at most. Where one has looked at all
        answers nothing is left, and it is refused; likewise where new answers alone cannot compare
        all options, and where somebody else made the plan.

        Examples
        --------
        >>> import evenhand as eh
        >>> old = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> new = eh.Questions.panel(["Ann", "Bo"], ["P", "Q", "R"])
        >>> eh.PlannedChoice(old).extended(new).ask().total
        6
        """
        if self._by_others:
            raise InputError(
                "this plan was made by somebody else (planned=), who would have to extend it; make "
                "a new policy."
            )
        new, move = grown(self, actions)
        if self._answer is not None and not move.newcomers.any():
            new._recall_answer(self, move)
            return new
        new._used, new._gone = self._used, self._gone
        if self._over and not self._used_up():
            new._gone = new._used
        else:
            new._told = move.feedback(self._told)
        new._put_in_force(new._made_plan())
        if not self._held and not new._compares(new._planned):
            since = "this was decided, so what comes now has to rest on new answers alone; and "
            raise InputError(
                f"{since if self._over else ''}the answers that can still come do not compare all "
                "options with one another. Add evaluators (of several groups, if they are partial "
                "to them), or allow more answers (capacity, at_most)."
            )
        return new

    def _used_up(self) -> bool:
        """Tell whether nothing is left of δ; refuse to go on, unless a record says so."""
        if self._used >= 1.0 and not self._held:
            raise InputError(
                f"all {self.spent} answers were looked at, which has used up the chance of "
                f"{self.delta:g} to be wrong: whatever comes now cannot make it certain. Make a "
                "new policy, for which these are logged scores (observe), and say that you did."
            )
        return self._used >= 1.0

    def allow(self, at_most: int) -> None:
        """Plan more answers, so many in all; `extended` says what that does to certainty.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.PlannedChoice(eh.Questions.panel(["Ann", "Bo"], ["P", "Q"]), at_most=2)
        >>> policy.allow(4)
        >>> policy.ask().total
        4
        """
        if self._by_others:
            super().allow(at_most)
        anew = self._answer is None and not self._used_up() and self._over
        allow_more(self, at_most)
        if self._answer is None:
            if anew:
                self._told, self._gone = nothing(len(self.questions)), self._used
                self._gave_up, self._fitted = False, None
            self._put_in_force(self._made_plan())
            self._plan_number += 1

    def _recall_answer(self, old: PlannedChoice, move: Move) -> None:
        """Stay with the answer of a policy that had the same options."""
        assert old._answer is not None
        self._told, self._used, self._gone = move.feedback(old._told), old._used, old._gone
        self._answer = int(move.options[old._answer])
        self._put_in_force(move.counts(old._planned))
        if np.array_equal(move.options, np.arange(move.k)):
            self._seen = list(old._seen)

    # ------------------------------------------------------------------ what is remembered

    def memory(self) -> dict[str, Any]:
        """Return the plan, what was told of it, and what the looks have said."""
        return {
            "planned": self._planned,
            "order": self._order,
            "told": sparse(self._told),
            "used": self._used,
            "gone": self._gone,
            "answer": self._answer,
            "gave_up": self._gave_up,
            "seen": [
                winner.memory() | {"leader": leader, "failure": failure}
                for leader, winner, failure in self._seen
            ],
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        self._planned = np.array(memory["planned"], dtype=np.int64)
        self._order = np.array(memory["order"], dtype=np.intp)
        self._told = dense(memory["told"], len(self.questions))
        self._fitted = self._alike = None
        self._used, self._answer = memory["used"], memory["answer"]
        self._gone = memory.get("gone", 0.0)
        vars(self).pop("_whole", None)
        self._gave_up = memory["gave_up"]
        self._seen = [
            (entry["leader"], Winner.recalled(entry), entry["failure"]) for entry in memory["seen"]
        ]
        self._kept = {}


def _quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's distribution; the normal one for infinite freedom."""
    if math.isinf(freedom):
        return float(special.ndtri(probability))
    return float(special.stdtrit(freedom, probability))
