"""Ask and tell over a record: what every search for certainty has in common.

Two things are left to each of them: `next_plan`, which may use any heuristic, and what is concluded
from the record, which is all that a proof or a verifier looks at.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypedDict

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, checked_aim, is_number
from evenhand.certainty.record import Plan, Record, Stop
from evenhand.errors import InputError
from evenhand.numerics.intervals import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.limits import checked_budget, most_evaluations
from evenhand.policies.messages import Certainty, Decision, Feedback
from evenhand.questions import Askable, Column, Questions, Superset, checked_askable
from evenhand.tables import listed

_NAMED = 12  # rivals that a purpose names


class Bound(TypedDict, total=False):
    """What other policies are told, and searches for certainty have no use for."""

    value_bound: float | None


class Choice(Policy):
    """A policy whose whole state is a record: plans in order, each with its scores."""

    plays_questions = True
    spends_all = False
    least_confidence: ClassVar[float] = 0.0
    one_design: ClassVar[bool] = False
    """Whether all its plans are one design, so that it matters for none of them what is in."""

    def __init__(
        self,
        actions: Askable,
        limit: int,
        *,
        confidence: float,
        tolerance: float,
        noise_scale: float | None,
        bounds: Sequence[float] | None = None,
        seed: int = 0,
        budget: float | None = None,
        value_bound: float | None = None,
    ) -> None:
        ends = checked_bounds(bounds)
        if ends is not None:
            noise_scale = _noise_within(ends, noise_scale, Questions.of(checked_askable(actions)))
        super().__init__(
            actions,
            limit,
            noise_scale=noise_scale,
            seed=seed,
            budget=budget,
            value_bound=value_bound,
        )
        self.confidence, self.tolerance = checked_aim(confidence, tolerance, self.least_confidence)
        self.delta, self.bounds = 1.0 - self.confidence, ends
        self.record = Record(len(self.questions))
        self._said: dict[object, Any] = {}  # worked out once for each record and its limits

    # ------------------------------------------------------------------ what each of them says

    @abstractmethod
    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow the one in force, or why there is none; it changes nothing."""

    @property
    def settled(self) -> bool:
        """Whether the plan in force need not be finished."""
        return False

    @abstractmethod
    def stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with intervals, leniencies as deviations from the panel's mean."""
        return []

    def values(self) -> Floats | None:
        """Return (k, 3) the value of every option with its interval: estimate, low, high.

        An option of which nothing is known is NaN, between −∞ and ∞. None if nothing is said.
        """
        return None

    @property
    def neutral(self) -> Floats:
        """(p,) an impartial question to the average of those evaluators who answered plans."""
        counts = sum((one.total.counts for one in self.record.rounds), self._nothing)
        found: Floats = self.once("neutral", lambda: self.questions.neutral_among(counts))
        return found

    # ------------------------------------------------------------------ what is asked

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Hand out the plan in force, beside what is on its way; then more of the same."""
        now = self.record.now
        if now is None or now.whole or self._stop(pending) is not None:
            return self._nothing
        plan, have = now.plan, now.total.counts + pending
        room = self.remaining - int(pending.sum())
        most = min(room, self.batch) if n is None else min(n, room)
        lacking = self.lacking(pending)
        order = self._askable(plan, have, pending)
        counts = self._counted(order[: min(most, lacking)])
        if plan.more and n is not None and pending.any():
            more = most - int(counts.sum())
            counts = counts + self._more(plan, more, have + counts, pending + counts)
        return counts

    def lacking(self, pending: Counts) -> int:
        """Return how many scores the plan in force lacks beside those on their way: any, or, where
        only its own questions will do, of these.
        """
        now = self.record.now
        if now is None or now.whole:
            return 0
        if now.plan.more:
            return max(0, now.plan.number - now.count - int(pending.sum()))
        have = now.total.counts + pending
        return int(np.maximum(now.plan.wanted(len(have)) - have, 0).sum())

    @property
    def batch(self) -> int:
        """How many evaluations are asked for where nobody says how many are wanted."""
        return max(1, self.spent // 128)

    def _more(self, plan: Plan, n: int, have: Counts, pending: Counts) -> Counts:
        """Return (q,) n evaluations at most for those who would have to wait for others."""
        # Which they are depends on the plan, on what is on its way and on who is there; on no score
        # of the plan. So they are rows of a fixed design as others are.
        wanted = self._counted(plan.order) * (self.limits.left(pending) > 0)
        if n <= 0 or not wanted.any():
            return self._nothing
        more = more_of(wanted, have, n)
        return self._counted(self.limits.allowed(np.repeat(np.arange(len(more)), more), pending))

    def _counted(self, order: Indices) -> Counts:
        return np.bincount(order, minlength=len(self.questions)).astype(np.int64)

    def learn(self, feedback: Feedback) -> None:
        """Put scores into the record."""
        self._round += 1
        self.record.tell(feedback)
        self._changed()

    def take_in(self, feedback: Feedback) -> bool:
        """Put scores into the record that nobody asked for: plans are made by them, no more."""
        self.record.observe(feedback)
        self._changed()
        return True

    def _changed(self) -> None:
        super()._changed()
        self._said.clear()

    def once(self, what: object, make: Callable[[], Any]) -> Any:
        """Return what the record says of something, worked out when it is first asked for."""
        if self._answers_of != self.limits.version:
            self._changed()
        if what not in self._said:
            self._said[what] = make()
        return self._said[what]

    # ------------------------------------------------------------------ plans

    def _next_plan(self, pending: Counts) -> Plan | None:
        if self._goes_on(pending):
            return None
        made = self._made(pending)
        return made if isinstance(made, Plan) else None

    def _goes_on(self, pending: Counts) -> bool:
        """Tell whether the plan in force still waits for scores, or has something to ask."""
        now = self.record.now
        if now is None or now.whole or self.settled:
            return False
        if pending.any():
            return True
        return len(self._askable(now.plan, now.total.counts, pending)) > 0

    def _askable(self, plan: Plan, have: Counts, pending: Counts) -> Indices:
        """Return what of a plan is next, as far as it may be asked and the budget pays for it."""
        order = self.limits.allowed(plan.next_ones(have), pending)
        return order[self.questions.prices[order] <= self.limits.rest(pending)]

    def _made(self, pending: Counts) -> Plan | Stop:
        made: Plan | Stop = self.once(("plan", pending.tobytes()), lambda: self.next_plan(pending))
        return made

    def _stop(self, pending: Counts) -> Stop | None:
        """Return why nothing is asked any more; None if something is."""
        if self._goes_on(pending):
            return None
        made = self._made(pending)
        return made if isinstance(made, Stop) else None

    def or_what_waits(self, made: Plan | Stop, pending: Counts) -> Plan | Stop:
        """Return a plan of the scores that came beyond the last one, where no other follows."""
        # They were paid for, and there is no other look at them.
        if isinstance(made, Plan) or pending.any() or not self.record.early:
            return made
        counts = sum((told.counts for told in self.record.early), self._nothing)
        order = np.repeat(np.arange(len(counts)), counts)
        return Plan("explore", order, at_most=self.horizon)

    @property
    def _is_whole(self) -> bool:
        return self.record.now is not None and self.record.now.whole

    def _begin(self, plan: Plan) -> None:
        self.record.begin(plan)
        self._changed()

    def _plan_to_dict(self, plan: Plan) -> dict[str, Any]:
        return plan.to_dict()

    def _plan_from_dict(self, plan: Mapping[str, Any]) -> Plan:
        return Plan.from_dict(plan, len(self.questions), len(self.options))

    @property
    def stopped_because(self) -> str | None:
        """Why nothing more is asked, in plain words; None while something is."""
        if self.remaining == 0:
            made = self._made(self._nothing)
            stop: Stop | None = made if isinstance(made, Stop) else Stop("spent")
        else:
            stop = self._stop(self._nothing)
        return None if stop is None else self.stopped_by(stop)

    def forecast(self) -> float:
        """Return how many evaluations are still expected to come; NaN if nobody can say."""
        now, stop = self.record.now, self._stop(self._nothing)
        if stop is not None or self.remaining == 0:
            return 0.0
        if now is None:
            return math.nan
        left = now.plan.forecast - now.count
        return min(max(left, 1.0), float(self.remaining))

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked, as a plain value for the record.

        Returns
        -------
        dict
            ``what`` is done (`Plan.purpose`); ``stage``, the number of the plan; and of comparisons
            ``for`` whom they are made, the name of the option that leads (where several are wanted,
            of those closest to the line), and ``against`` whom, the names of its rivals, the
            closest first (of more than twelve, the first twelve; ``others`` is how many more there
            are).
        """
        now, names = self.record.now, self.options.labels
        if now is None:
            return {"what": "open", "stage": 0}
        plan = now.plan
        why: dict[str, Any] = {"what": plan.purpose, "stage": len(self.record.rounds) - 1}
        if plan.expected is None:
            return why
        order = np.argsort(plan.expected.leads, kind="stable")
        near = list(dict.fromkeys(plan.rivals[order].tolist()))
        ahead = names[plan.leader]
        if plan.leaders is not None:
            ahead = listed([names[x] for x in dict.fromkeys(plan.leaders[order].tolist())], 3)
        why |= {"for": ahead, "against": [names[x] for x in near[:_NAMED]]}
        return why | ({"others": len(near) - _NAMED} if len(near) > _NAMED else {})

    # ------------------------------------------------------------------ what changes meanwhile

    def may_change(self) -> None:
        """Raise `InputError` where nothing can be added any more."""

    def allow(self, at_most: int | None = None, budget: float | None = None) -> None:
        """Go on with more evaluations, or more money: so much in all.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.CertainChoice(eh.ActionSet([[1.0], [0.5]], ["a", "b"]), at_most=10)
        >>> policy.allow(500)
        >>> policy.remaining
        500
        """
        self.may_change()
        limit, money = self.horizon, self.limits.money
        if at_most is not None:
            limit = most_evaluations(len(self.options), None, at_most)
            if limit < self.horizon:
                raise InputError(
                    f"at_most must be a whole number, and at least the {self.horizon:,} "
                    f"evaluations allowed so far; got {at_most!r}."
                )
        if budget is not None:
            money = checked_budget(budget)
            if money < self.limits.paid:
                raise InputError(
                    f"budget must be a number, and at least the {self.limits.paid:g} that was "
                    f"spent so far; got {budget!r}."
                )
        self.horizon, self.limits.money = limit, money
        self._changed()

    def extended(self, actions: Askable) -> Self:
        """Return the policy with more options, evaluators or capacity, and the same record.

        *Why that holds.* W_x is evidence against 'x is no worse than the leaders it was tested
        against', which the best of all options is not, whoever else there is: what was found
        against old options stands. A new one starts with W = 1 and is tested from there on. So the
        best of all, old or new, is rejected with probability δ at most, if what was added did not
        depend on the scores. If it did, that is δ for the best of the old ones and δ for the best
        of those that were added, each time: after m such extensions (one that comes after an
        answer is such) no more than (m + 1)δ. With a tolerance, (2m + 1)δ. An answer ends its plan
        by its scores, and that plan then adds nothing to W. Without a tolerance it tested all
        but the best, or the best was rejected: W of the best is the same without it. With one, the
        best may be among those that it tested, so that W goes on from before it, a new martingale
        after each answer: δ more for the best of the old ones, each time.

        Parameters
        ----------
        actions
            All options, or questions: the old ones, which must mean the same, and new ones.

        Examples
        --------
        >>> import evenhand as eh
        >>> old = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
        >>> policy = eh.CertainChoice(old)
        >>> policy.tell(eh.Feedback([1, 0, 0, 0], [6.0, 0, 0, 0], [36.0, 0, 0, 0]))
        >>> new = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"], capacity=None)
        >>> more = policy.extended(new)
        >>> more.spent, len(more.options)
        (1, 3)
        """
        self.may_change()
        to = Superset.of(self.actions, actions)
        placed, named = self._arguments
        if placed:
            placed = actions, *placed[1:]
        else:
            named = named | {"actions": actions}
        new = type(self)(*placed, **named)
        q = len(new.questions)
        new.horizon, new.limits.money = max(self.horizon, new.horizon), self.limits.money
        new._round, new._spent, new.observed = self._round, self._spent, self.observed
        new.limits.paid, new.limits.priced = self.limits.paid, self.limits.priced
        new.limits.asked[to.questions] = self.limits.asked
        new.limits.outstanding[to.questions] = self.limits.outstanding
        new.limits.absent = {int(to.evaluators[e]) for e in self.limits.absent}
        new.limits.barred = {int(to.questions[x]) for x in self.limits.barred}
        if self._checks is not None:
            new._checks = self._checks.extended(new.questions, to.questions)
        new.record, new._failure = self.record.moved(to, q), self._failure
        new._changed()
        return new

    # ------------------------------------------------------------------ what is said

    def decided(
        self,
        option: int,
        *,
        loss: float,
        leads: Floats | None,
        certainty: Certainty | None,
        least: Floats | None = None,
    ) -> Decision:
        """Return a decision; after an alarm of the checks nothing in it is certain.

        ``least`` is what (k,) leads are at least, where more is known of that than ``leads`` say.
        """
        warnings = self.findings()
        if any(finding.alarm for finding in warnings):
            loss, certainty = math.inf, None
        sure = loss <= self.tolerance and certainty is not None
        if least is None and leads is not None:
            least = leads[:, 1]
        return Decision(
            option,
            self.options.labels[option],
            loss=loss,
            level=0.0 if any(finding.alarm for finding in warnings) else self.confidence,
            withstands=withstood(self.actions, option, least)
            if sure and least is not None
            else 0.0,
            leads=leads,
            certainty=certainty,
            warnings=warnings,
        )

    # ------------------------------------------------------------------ what is remembered

    def memory(self) -> dict[str, Any]:
        """Return the record, and what is allowed by now."""
        return {
            "record": self.record.to_dict(),
            "at_most": self.horizon,
            "budget": self.limits.money,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        self.horizon = most_evaluations(len(self.options), None, memory["at_most"])
        money = float(memory["budget"])
        self.limits.money = money if math.isinf(money) else checked_budget(money)
        self.record = Record.from_dict(memory["record"], len(self.questions), len(self.options))
        self._changed()


def withstood(actions: Askable, option: int, least: Floats) -> float:
    """Return how large a favour of everybody in a panel for a whole group may be, for the choice to
    stand, given (k,) what its leads are at ``least``.
    """
    # No score can tell such a favour from value. It moves leads over all options of other groups by
    # the same; so it is wrong only if the lead over the best one of these, which is one option, is
    # less than it is said to be at least, and that has the probability that one such bound has.
    groups = None if not isinstance(actions, Questions) else actions.options.groups
    if groups is None:
        return 0.0
    others = np.array([group != groups[option] for group in groups])
    return max(0.0, float(least[others].min())) if others.any() else 0.0


def checked_bounds(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    """Return the lowest and the highest score there is, or say what is wrong with them."""
    if bounds is None:
        return None
    ends = list(bounds) if isinstance(bounds, Sequence | np.ndarray) else []
    if len(ends) != 2 or not all(is_number(end) for end in ends) or not ends[0] < ends[1]:
        raise InputError(
            "bounds must be the lowest and the highest possible score, two numbers such as "
            f"(0, 10); got {bounds!r}."
        )
    return float(ends[0]), float(ends[1])


def _noise_within(
    bounds: tuple[float, float], noise_scale: float | None, questions: Questions
) -> float:
    """Return the scale σ for which scores within bounds are sub-Gaussian, whatever they are."""
    # Bounds know nothing of some questions that are quieter than others: σ times the relative noise
    # is half the range of scores, or more.
    if noise_scale is not None:
        raise InputError(
            "bounds say how large noise can be, so noise_scale must not be given too; got "
            f"{noise_scale!r}."
        )
    quietest = 1.0 if questions.noise is None else min(1.0, float(questions.noise.min()))
    return 0.5 * (bounds[1] - bounds[0]) / quietest


def limit_of(actions: Askable, horizon: int | None, at_most: int | None) -> int:
    """Return how many evaluations there are at most, by either name; else 1,000 per option."""
    return most_evaluations(len(Questions.of(checked_askable(actions)).options), horizon, at_most)


def more_of(wanted: Counts, have: Counts, n: int) -> Counts:
    """Return n evaluations more, such that all there are stay near the proportions wanted."""
    length = int(wanted.sum())
    times, rest = divmod(n, length)
    counts: Counts = times * wanted
    total = int((have + counts)[wanted > 0].sum())
    for i in range(1, rest + 1):
        lacking = wanted / length * (total + i) - have - counts
        counts[np.argmax(np.where(wanted > 0, lacking, -np.inf))] += 1
    return counts
