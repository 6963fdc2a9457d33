"""Planned choice: all questions fixed before the first answer, for people who can be asked once.

What is asked does not depend on what comes back (`one_look_plans`), and the answers are looked at
once, when all are in: least squares (`linear`), and one conclusion from them (`inference`), which
is wrong with a probability of δ at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.errors import InputError
from evenhand.inference import Conclusion, biases_by, conclude
from evenhand.inference.conclusion import unbounded
from evenhand.inference.designs import Scope
from evenhand.linear import Fit
from evenhand.policies.messages import Decision, Estimate, Feedback, Selection, nothing
from evenhand.policies.registry import registered
from evenhand.questions import Askable, Column, Questions, checked_askable
from evenhand.search.choice import Aims, Choice, nothing_left_over, of_record
from evenhand.search.guess import first_guess
from evenhand.search.one_look_plans import (
    all_there_is,
    even_order,
    fits,
    in_turns,
    lead_variances,
    planned_counts,
)
from evenhand.search.record import Plan, Stop

_LONGEST = 2**16  # answers after which the order of a plan is repeated, if it can be
_MOST_LISTED = 2**24  # answers of a plan whose order cannot
_LOOKED_AT = (
    "the scores were looked at once, and it is decided: what comes now could make nothing surer. "
    "Begin a new campaign or policy, with these options and people."
)


@registered
class PlannedChoice(Choice):
    """Asks what was planned, in the order that was planned, and says whether the choice is sure.

    For evaluators who can be asked the same thing once. What is asked does not depend on what
    comes back, and all of it is looked at once, when it is in: that is what makes a strong test
    possible. Until then there are estimates, and nothing is certain. How long an answer takes, and
    who leaves, must not depend on what the answers are. Logged scores may be observed before the
    first answer: they are no part of the test, and not asked again. It may be extended, and allowed
    more, before the look, if that does not depend on the answers: the plan just becomes longer.

    Parameters
    ----------
    actions
        The questions, or options that are their own.
    horizon
        The number of answers, as ``at_most``; all that can be asked (four of each question that can
        be asked as often as one likes) if neither is given. Where it is less, those questions are
        planned that tell most of the leads.
    aims
        ``at_most``, ``confidence``, ``tolerance``, ``noise_scale``, ``top``, ``bar``, ``against``,
        ``seed`` and ``budget``, as for every search (`search.Choice`); a ``bar`` is held against
        values by the average of those who answer.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem = eh.families.panel(k=5, e=6, seed=1, gap=4.0, bias=2.0)
    >>> policy = eh.search.PlannedChoice(problem.questions)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask(n=4)))
    >>> decision = policy.recommend()
    >>> policy.spent, decision.option == problem.best, decision.loss, decision.certainty
    (30, True, 0.0, 'own scores')
    """

    name = "planned-choice"

    def __init__(self, actions: Askable, horizon: int | None = None, **aims: Unpack[Aims]) -> None:
        if horizon is None and aims.get("at_most") is None:
            horizon = all_there_is(Questions.of(checked_askable(actions)))
        super().__init__(actions, horizon, **aims)
        self.looks = "once"

    @of_record
    def _answered(self) -> Feedback:
        """All answers to the plan, and to those that it goes on with."""
        told = nothing(len(self.questions))
        for round_ in self.record.rounds:
            told = told + round_.total(len(self.questions))
        return told

    @property
    def scope(self) -> Scope:
        """Whom it is about: where nobody was asked the same twice, judges like these; what a judge
        thinks of an option is then part of the noise.
        """
        return "like these" if (self._answered.counts <= 1).all() else "these"

    @of_record
    def _apart(self) -> Indices:
        """Options that the answers do not compare with the first one."""
        (asked,) = np.nonzero(self._answered.counts)
        return np.flatnonzero(np.isinf(lead_variances(self.questions, asked)))

    @property
    def _compared(self) -> bool:
        return bool(self._answered.counts.any()) and not len(self._apart)

    @of_record
    def _fitted(self) -> tuple[Fit, Indices]:
        """The fit of the answers so far, and the question of each answer in it; of use where they
        compare all options, and looked at once, when all are in.
        """
        return self._fit(self._answered, self.scope)

    @property
    def _estimates(self) -> Floats:
        """(k,) values by the answers so far; NaN while they do not compare all options."""
        k = len(self.options)
        return self._fitted[0].values[:k] if self._compared else np.full(k, np.nan)

    @of_record
    def one_look(self) -> Conclusion | None:
        """What the one look at all answers says; None before they are in."""
        now = self.record.now
        if now is None or not now.whole or len(self._apart) or self._alone:
            return None
        # options of the same features are one, and what is only asked about is none
        k, n = len(self.options), self._fitted[0].design.n_options
        kinds = np.unique([np.argmax(self.options.same_as(x)) for x in range(k)])
        best = self.target.top == 1 and len(kinds) < n
        return conclude(
            self._fitted[0],
            self.target,
            self.delta,
            rival=self.target.rival(self.options.labels),
            like=self.scope == "like these",
            parts=[kinds] if best else None if n == k else [np.arange(k)],
        )

    @property
    def _alone(self) -> bool:
        """Whether there is one option, or all of them are alike."""
        return bool(self.options.same_as(0).all())

    @property
    def _settled(self) -> bool:
        """Whether more may be asked than was planned, or less, so that the plan need not be
        finished.
        """
        now, record = self.record.now, self.record
        if self._alone or now is None:
            return self._alone
        observed = not now.count and record.observed == len(record.rounds)
        more = now.plan.at_most < self.horizon or now.plan.budget < self.limits.money
        return observed or more or now.plan.among is not None

    def _plan(self, told: Counts, more: Counts, times: int = 1) -> Plan:
        order = even_order(self.questions, np.random.default_rng(self.seed))
        return Plan(
            "ask more" if told.any() else "ask what was planned",
            in_turns(more // times, order, told),
            times,
            at_most=self.horizon,
            forecast=float(more.sum()),
            budget=self.limits.money,
        )

    def _wanted(self, told: Counts, pending: Counts, most: int) -> Counts:
        """Return (q,) how often questions are asked, with what is in and, if it fits, under way."""
        # What was answered otherwise, in logged scores or an earlier plan, may not be asked again.
        # Who left may come back, and is planned for.
        questions, limits = self.questions, self.limits
        capacity, work = limits.capacity_left(-told), limits.workload_left(-told)
        left = questions._changed(capacity=capacity, workload=work)
        n = int(told.sum()) + most
        # by prices: what a question really cost may hang on its answer, which no plan may know
        money = limits.money - limits.priced + float(told @ questions.prices)
        have = told + np.minimum(pending, np.maximum(capacity - told, 0))
        have = have if fits(left, have, n, money) else told
        return planned_counts(left, n, money, have, self.seed)

    def _to_ask(self, pending: Counts) -> Plan:
        """Return a plan of all that may be asked, beside answers that are a part of it already."""
        told, left = self._answered.counts, self.horizon - self.spent
        more = self._wanted(told, pending, left) - told
        each = int(more[more > 0].min(initial=1))
        times = min(max(1, math.ceil(int(more.sum()) / _LONGEST)), each)
        if int(more.sum()) > _MOST_LISTED * times:  # some may be asked but few times
            more, times = self._wanted(told, pending, _MOST_LISTED) - told, 1
        return self._plan(told, more - more % times, times)

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow the one in force, or why there is none."""
        if self._alone:
            return Stop("certain", (0,))
        said = self.one_look
        if said is not None:
            leader = self._order[0]
            others = tuple(x for x in said.undecided if x != leader and x < len(self.options))
            return Stop("certain", (leader,)) if said.sure else Stop("spent", (leader, *others))
        if self.record.now is None or self._settled:
            plan = self._to_ask(pending)
            if plan.number:
                return plan
        if len(self._apart):
            return Stop("stuck", (0, *self._apart.tolist()))
        return self._plan(self._answered.counts, self._nothing)  # no more can come

    def _take_in(self, feedback: Feedback) -> bool:
        """Leave out of the plan what was answered before; nothing else is made of it.

        The look is at answers whose questions were fixed before, without a look at any
        of them. Of logged scores nobody knows that, so they are no part of it, and it does not
        matter who chose them: the plan is made after them, and its answers have noise of their
        own. What may be asked once and was answered is not asked again. The checks see them.
        Refused once something was told, and where the rest cannot compare all options by itself.
        """
        if self.spent:
            return False
        (left,) = np.nonzero(self._wanted(self._nothing, self._nothing, self.horizon))
        compared = bool(np.isfinite(lead_variances(self.questions, left)).all())
        return compared and super()._take_in(feedback)

    @property
    def _why_not_observed(self) -> str:
        """Why scores that were not asked for are refused, and what to do instead."""
        if self.spent:
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

    def forecast(self) -> float:
        """Return how many answers are still to come."""
        if self._stop(self._nothing) is not None:
            return 0.0
        now = self.record.now
        if now is None:
            plan = self.next_plan(self._nothing)
            return float(plan.number) if isinstance(plan, Plan) else 0.0
        lacking = np.zeros(len(self.questions), dtype=np.int64)
        lacking[now.asked] = now.lacks
        gone = np.isin(self.questions.evaluator, list(self.limits.absent))
        gone[list(self.limits.barred)] = True
        return float(min(int(lacking[~gone].sum()), now.plan.number - now.count))

    def _refuse_change(self) -> None:
        """Refuse more answers or options after the look."""
        if self.one_look is not None:
            raise InputError(_LOOKED_AT)

    @of_record
    def _order(self) -> list[int]:
        """The options by value; while not all are compared, first a guess by their own scores."""
        k = len(self.options)
        if self._compared:
            order = [x for x in self._fitted[0].order.tolist() if x < k]
            first = order[0] if self.one_look is None else self.one_look.leader
            first = first if first < k else order[0]
            return [first, *(x for x in order if x != first)]
        first = first_guess(self.questions, self._answered)
        return [first, *(x for x in range(k) if x != first)]

    def recommend(self) -> Decision:
        """Return the option that leads; after the look, what it loses at most, and its leads.

        That the choice loses no more, and any of its leads by itself, has the confidence stated.
        """
        said, option, k = self.one_look, self._order[0], len(self.options)
        leads = unbounded(self._estimates[option] - self._estimates)
        if said is not None:
            leads = self._fitted[0].leads(np.full(k, option), np.arange(k)).ends(self.delta)
        leads[self.options.same_as(option)] = 0.0
        loss = math.inf
        if said is not None:
            loss = said.loss if self.target.top is not None else 0.0 if said.sure else math.inf
        elif self._alone:
            loss = 0.0
        return self._decided(option, loss, leads, self._selection)

    @of_record
    def _selection(self) -> Selection | None:
        """Who looks wanted, and who is in and out; None if one is wanted."""
        if self.target.top == 1:
            return None
        look, k = self.one_look, len(self.options)
        if look is None:
            return Selection(self._looks_wanted)

        def own(some: Sequence[int]) -> tuple[int, ...]:
            return tuple(x for x in some if x < k)

        all_in = look.loss == 0.0 if self.target.top is not None else look.sure
        wrong = 0 if all_in else None
        return Selection(own(look.chosen), own(look.inside), own(look.outside), wrong)

    @property
    def _looks_wanted(self) -> tuple[int, ...]:
        """Those that look wanted before the look, the best first."""
        target, rival = self.target, self.target.rival(self.options.labels)
        if target.top is not None or not self._compared:
            return tuple(self._order[: target.top or 0])
        values = self._fitted[0].values
        line = values[rival] if rival is not None else target.bar or 0.0
        return tuple(x for x in self._order if x != rival and values[x] - line > -target.tolerance)

    def bias(self) -> Estimate:
        """Return the (first) bias, with its interval."""
        return next((found for _, found in self.biases()), Estimate.without_interval())

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with their intervals; leniencies against the mean of who answered."""
        if not self._compared:
            nothing = Estimate.without_interval(level=self.confidence)
            return [(column, nothing) for column in self.questions.columns]
        fit, which = self._fitted
        wide = 0.0 if self.one_look is not None else math.inf
        found = biases_by(self.questions, which, fit, self.delta)
        return [
            (column, Estimate(float(value), float(low) - wide, float(high) + wide, self.confidence))
            for column, (value, low, high) in found
        ]

    def values(self) -> Floats | None:
        """Return (k, 3) values with their intervals, each by itself."""
        said, k = self.one_look, len(self.options)
        return unbounded(self._estimates) if said is None else said.values[:k].copy()

    def difference(self, a: int, b: int) -> Floats:
        """Return (4,) by how much option a is better than b, an interval, and what it is at least.

        For options that were named without looking at the scores.
        """
        if self.one_look is not None:
            found = self._fitted[0].leads([a], [b])
            return np.append(found.ends(self.delta)[0], found.ends(2.0 * self.delta)[0, 1])
        return np.array([self._estimates[a] - self._estimates[b], -np.inf, np.inf, -np.inf])

    def _stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        n, said, selection = int(self._answered.counts.sum()), self.one_look, self._selection
        labels, target = self.options.labels, self.target
        if said is None and stop.reason == "stuck":
            return (
                f"the {n} answers that are in do not compare {labels[0]!r} with "
                f"{self._rivals(stop)}, and no others can come. Plan more of them, or ask other "
                "evaluators."
            )
        if said is None or said.fit is None:
            return self._why(stop, None)
        if said.fit.silent:
            return nothing_left_over(self.options, self._order[0], n, said.fit.freedom >= 1)
        if said.sure:
            return self._why(stop, selection)
        if selection is None:
            return (
                f"all {n} answers are in, and that {labels[stop.options[0]]!r} leads "
                f"{self._rivals(stop)} may be chance, at {self._sure}. A tolerance would help (how "
                "much may be lost), or more evaluators from the start."
            )
        inside = len(selection.inside)
        if target.top is not None:
            return (
                f"all {n} answers are in, and of the {len(selection.chosen):,} that look best "
                f"{inside:,} certainly are, at {self._sure}. More evaluators from the start would "
                "help."
            )
        k, known = len(labels) - (target.against is not None), inside + len(selection.outside)
        return (
            f"all {n} answers are in, and of {known:,} of {k:,} options it is certain whether they "
            f"are {target.words}, at {self._sure}. More evaluators from the start would help, or a "
            "tolerance."
        )
