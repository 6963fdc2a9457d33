"""Ask and tell over a record: what every search for certainty has in common.

Two things are left to each of them: `next_plan`, which may use any heuristic, and what is concluded
from the record, which is all that a proof or a verifier looks at.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypedDict, TypeVar

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, checked_aim
from evenhand.best import oriented
from evenhand.errors import InputError
from evenhand.inference import Conclusion, Target, design_of_feedback
from evenhand.inference.designs import Scope
from evenhand.linear import Fit
from evenhand.policies.base import Policy
from evenhand.policies.frame import OptionFrame
from evenhand.policies.limits import checked_budget, most_evaluations
from evenhand.policies.messages import Certainty, Decision, Estimate, Feedback, Selection
from evenhand.questions import Askable, Column, Questions, Superset, checked_askable, panel_form
from evenhand.questions.identifiable import refuse_incomparable
from evenhand.search.evidence import BAR
from evenhand.search.record import Plan, Record, Round, Stop

_MOST_ROWS = 200_000  # answers of a fit
_NAMED, _SHOWN = 12, 5  # options, and rivals, that are named

Made = TypeVar("Made")


class Aims(TypedDict, total=False):
    """What every search is told beside its options; see `Choice`."""

    at_most: int | None
    confidence: float
    tolerance: float
    noise_scale: float | None
    top: int
    bar: float | None
    against: str | None
    seed: int
    budget: float | None
    value_bound: float | None


class of_record(Generic[Made]):  # noqa: N801 # a decorator
    """A property of a search that is worked out once for each record and its limits."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __get__(self, choice: Choice, of: type[Choice]) -> Made:
        return choice._once(self, lambda: self._make(choice))


class Choice(Policy):
    """A policy whose whole state is a record: plans in order, each with its scores.

    Parameters
    ----------
    actions
        The options: two groups, or any attributes. Or the questions that can be asked about them.
    horizon, at_most
        Two names for the number of evaluations at which to give up; 1,000 per option if neither is
        given.
    confidence
        Probability of not being wrong.
    tolerance
        How much may be lost, in units of value: no option is better by more than that; of the
        ``top`` best, than any of them. Who is worse than a ``bar``, or than whom it is ``against``,
        by no more is good enough.
    noise_scale
        Standard deviation σ of an evaluation; None if it is not known.
    bounds
        (lowest, highest) score there is.
    top
        How many options are wanted: the best, or the ``top`` best.
    bar, against
        Instead: those are wanted that are worth more than the ``bar``, by the average evaluator,
        or than one option, ``against``, by name.
    seed
        Where the search's own randomness starts.
    budget
        How much money may be spent, at the questions' prices; as much as it takes if not given.
    value_bound
        As for every policy: not used.
    """

    plays_questions = True
    spends_all = False
    _least_confidence: ClassVar[float] = 0.0
    _waits: ClassVar[bool] = True  # whether nothing is planned while a plan lacks scores

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
        bounds: Sequence[float] | None = None,
        top: int = 1,
        bar: float | None = None,
        against: str | None = None,
        seed: int = 0,
        budget: float | None = None,
        value_bound: float | None = None,
    ) -> None:
        ends = oriented(bounds, "high", "bounds")[0]
        if ends is not None:
            noise_scale = _noise_within(ends, noise_scale, Questions.of(checked_askable(actions)))
        super().__init__(
            actions,
            limit_of(actions, horizon, at_most),
            noise_scale=noise_scale,
            seed=seed,
            budget=budget,
            value_bound=value_bound,
        )
        self.confidence, self.tolerance = checked_aim(confidence, tolerance, self._least_confidence)
        self.delta, self.bounds = 1.0 - self.confidence, ends
        self.target = target_of(top, bar, against, self.tolerance)
        if self.target.top != 1:  # one option alone is the best, whatever is wanted
            self.target = self.target.among(self.options.labels)
        if self.target.bar is not None and (self.questions.about[:, 1] >= 0).all():
            raise InputError(
                "bar needs scores that tell values by themselves; these questions tell differences "
                "of options only: say against, the name of an option."
            )
        _refuse_unfit(self.actions)
        self.record = Record(len(self.questions), alone=self._waits)
        self._said: dict[object, Any] = {}  # worked out once for each record and its limits

    @abstractmethod
    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow the one in force, or why there is none; it changes nothing."""

    @property
    def _settled(self) -> bool:
        """Whether the plan in force need not be finished."""
        return False

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with intervals, leniencies as deviations from the panel's mean."""
        return []

    def values(self) -> Floats | None:
        """Return (k, 3) the value of every option with its interval: estimate, low, high.

        An option of which nothing is known is NaN, between −∞ and ∞. None if nothing is said.
        """
        return None

    @property
    def one_look(self) -> Conclusion | None:
        """What one look at all scores would say; None if nothing."""
        return None

    def _hook(self, name: str) -> Any:
        return getattr(self, f"_{name}", None)  # no search has a policy's hooks in public

    def _propose(self, n: int | None, pending: Counts) -> Counts:
        """Hand out the first open plan that has something to ask, beside what is on its way."""
        if self._settled or not self.record.open or self._stop(pending) is not None:
            return self._nothing
        room = self.remaining - int(pending.sum())
        most = room if n is None else min(n, room)
        for round_, order in self._to_hand_out(pending):
            counts = np.bincount(order[:most], minlength=len(self.questions)).astype(np.int64)
            if not (self._waits or pending.any() or self.limits.restricted):
                counts[round_.asked] = round_.lacks  # all of a plan that is repeated
            return counts if counts.sum() <= most else _cut(counts, most)
        return self._nothing

    def _to_hand_out(self, pending: Counts) -> Iterator[tuple[Round, Indices]]:
        """Yield the open plans that have something to ask, and what is next of each: as far as it
        may be asked and the budget pays for it.
        """
        away = pending.copy()
        for round_ in self.record.open:
            own = np.minimum(away[round_.asked], round_.lacks)  # of what is on its way
            away[round_.asked] -= own
            order = self.limits.allowed(round_.plan.next_ones(round_.counts + own), pending)
            order = order[self.questions.prices[order] <= self.limits.rest(pending)]
            if len(order):
                yield round_, order

    def _learn(self, feedback: Feedback) -> None:
        """Put scores into the record."""
        self._round += 1
        self.record.tell(feedback)
        self._changed()

    def _take_in(self, feedback: Feedback) -> bool:
        """Put scores into the record that nobody asked for: plans are made by them, no more."""
        self.record.observe(feedback)
        self._changed()
        return True

    def _changed(self) -> None:
        super()._changed()
        self._said.clear()

    def _once(self, what: object, make: Callable[[], Made]) -> Made:
        """Return what the record says of something, worked out when it is first asked for."""
        if self._answers_of != self.limits.version:
            self._changed()
        if what not in self._said:
            self._said[what] = make()
        found: Made = self._said[what]
        return found

    def _next_plan(self, pending: Counts) -> Plan | None:
        made = None if self._goes_on(pending) else self._made(pending)
        return made if isinstance(made, Plan) else None

    def _goes_on(self, pending: Counts) -> bool:
        """Tell whether plans in force still wait for scores, or have something to ask."""
        if self._settled or not self.record.open:
            return False
        if self._waits and pending.any():
            return True
        return any(True for _ in self._to_hand_out(pending))

    def _made(self, pending: Counts) -> Plan | Stop:
        there = self.limits.available
        if there is not None:  # whether there is anything more to ask does not depend on that
            self.limits.available = None
            try:
                of_all = self._made(pending)
            finally:
                self.limits.available = there
            if isinstance(of_all, Stop):
                return of_all
        key = pending.tobytes(), None if there is None else there.tobytes()
        return self._once(key, lambda: self.next_plan(pending))

    def _stop(self, pending: Counts) -> Stop | None:
        """Return why nothing is asked any more; None if something is."""
        made = None if self._goes_on(pending) else self._made(pending)
        return made if isinstance(made, Stop) else None

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
    def stop(self) -> Stop | None:
        """Why nothing more is asked; None while something is."""
        if self.remaining:
            return self._stop(self._nothing)
        made = self._made(self._nothing)
        return made if isinstance(made, Stop) else Stop("spent")

    @property
    def stopped_because(self) -> str | None:
        """Why nothing more is asked, in plain words; None while something is."""
        stop = self.stop
        return None if stop is None else self._stopped_by(stop)

    @property
    def _selection(self) -> Selection | None:
        """Who looks wanted where several are, and who is in and out; None if one is wanted."""
        return None

    def _stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        return self._why(stop, self._selection)

    def _why(self, stop: Stop, said: Selection | None) -> str:
        """Return why nothing more is asked, where several are wanted by what is said of them."""
        if stop.why:
            return stop.why
        limits, rivals = self.limits, self._rivals(stop)
        about = self._called(stop.options[0]) if stop.options else ""
        if stop.reason == "certain":
            alarms = {finding.assumption for finding in self.findings() if finding.alarm}
            if alarms == {"kinds"}:
                return (
                    "it would be certain if no judge liked single options, which nobody confirms."
                )
            if alarms:
                return (
                    "it would be certain if the model were right, but an alarm says that it is not."
                )
            own = self._grounds == "own scores"
            rests = "." if own else " and if the features tell values exactly."
            return f"{self._certain(stop.options[0], said)} {self._sure}{rests}"
        if stop.reason == "hopeless":
            rest = f"{self.remaining} evaluations"
            if math.isfinite(limits.money):
                rest += f" and the {limits.money - limits.paid:g} of the budget"
            or_less = "" if self.tolerance else ", or state a tolerance: how much may be lost"
            return (
                f"{about} and {rivals} cannot be told apart with the {rest} that are left. Call "
                f"allow() with more{or_less}."
            )
        if stop.reason == "stuck" and limits.absent:
            gone = ", ".join(repr(name) for name in limits.absent_names)
            return f"{about} and {rivals} cannot be compared while {gone} cannot be asked."
        if stop.reason == "stuck":
            return (
                f"{about} and {rivals} cannot be compared any more: the questions that would do it "
                "were asked as often as they may be. Allow more of them, or ask further evaluators."
            )
        if stop.reason == "broke":
            return f"the budget of {limits.money:g} is spent: {limits.paid:g} of it."
        return f"all {self.horizon} evaluations are spent; allow() goes on with more."

    def _certain(self, option: int, said: Selection | None) -> str:
        """Return what is certain, without how much."""
        labels, less = self.options.labels, f" by more than {self.tolerance:g}"
        if said is None:
            return (
                f"no option is better than {labels[option]!r}{less if self.tolerance else ''}, with"
            )
        if self.target.top is None:
            n = len(said.inside)
            are = "is" if n == 1 else "are"
            return f"{n:,} of {len(labels):,} options {are} {self.target.words}, with"
        m = len(said.chosen)
        names = ", ".join(repr(labels[x]) for x in said.chosen[:_NAMED])
        names += "" if m <= _NAMED else f" and {m - _NAMED:,} more"
        exact = said.wrong_at_most == 0 or not self.tolerance
        what = f"the {m:,} best, {names}" if exact else f"{names}{less}"
        return f"no other option is better than any of {what}, with"

    @property
    def _sure(self) -> str:
        return f"{100 * self.confidence:g}% confidence"

    def _called(self, x: int) -> str:
        return f"the bar of {self.target.bar:g}" if x == BAR else repr(self.options.labels[x])

    def _rivals(self, stop: Stop) -> str:
        """Return the names of those that a leader is not certain to be better than, or some."""
        rivals = [self._called(x) for x in stop.options[1 : _SHOWN + 1]]
        return ", ".join(rivals) + (", …" if len(stop.options) > _SHOWN + 1 else "")

    def forecast(self) -> float:
        """Return how many evaluations are still expected to come; NaN if nobody can say."""
        now, stop = self.record.now, self._stop(self._nothing)
        if stop is not None or self.remaining == 0:
            return 0.0
        if now is None or math.isnan(now.plan.forecast):
            return math.nan
        return min(max(now.plan.forecast - now.count, 1.0), float(self.remaining))

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked, as a plain value for the record.

        Returns
        -------
        dict
            ``what`` is done (`Plan.purpose`); ``stage``, the number of the plan; and of comparisons
            ``for`` whom they are made, the name of the option that leads (where several do, of the
            one in the closest lead), and ``against`` whom, the names of its rivals, the closest
            first (of more than twelve, the first twelve; ``others`` is how many more there are).
        """
        now = self.record.now
        if now is None:
            return {"what": "open", "stage": 0}
        plan = now.plan
        why: dict[str, Any] = {"what": plan.purpose, "stage": len(self.record.rounds) - 1}
        if not len(plan.pairs):
            return why
        names = [*self.options.labels, "the bar"]  # `BAR` is the last
        order = np.argsort(plan.hopes[:, 0], kind="stable")
        ahead, behind = plan.pairs[order].T
        near = list(dict.fromkeys(behind.tolist()))
        why |= {"for": names[ahead[0]], "against": [names[x] for x in near[:_NAMED]]}
        return why | ({"others": len(near) - _NAMED} if len(near) > _NAMED else {})

    def _refuse_change(self) -> None:
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
        self._refuse_change()
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

        *Why that holds.* Evidence that an option is no worse than those it was tested against
        stands, whoever else there is: the best of all options, old or new, is rejected with
        probability δ at most if what was added did not depend on scores. If it did, that is δ for
        the best of the old ones, and δ for the best of those that were added, each time.

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
        self._refuse_change()
        to = Superset.of(self.actions, actions)
        placed, named = self._arguments
        if placed:
            placed = actions, *placed[1:]
        else:
            named = named | {"actions": actions}
        new = type(self)(*placed, **named)
        new.horizon = max(self.horizon, new.horizon)
        new._round, new._spent, new.observed = self._round, self._spent, self.observed
        new.limits.follow(self.limits, to)
        if self._checks is not None:
            new._checks = self._checks.extended(new.questions, to.questions)
        new.record, new._failure = self.record.moved(to, len(new.questions)), self._failure
        new._changed()
        return new

    def _fit(self, told: Feedback, scope: Scope) -> tuple[Fit, Indices]:
        """Return a fit of scores, and the question of each answer in it."""
        design, which = design_of_feedback(self.questions, _thinned(told), scope)
        return Fit(design, self.stated_noise if self.questions.noise is None else None), which

    def _decided(
        self, option: int, loss: float, leads: Floats, selection: Selection | None
    ) -> Decision:
        """Return a decision; after an alarm of the checks nothing in it is certain."""
        warnings, certainty = self.findings(), None
        if math.isfinite(loss) or (selection is not None and selection.inside + selection.outside):
            certainty = self._grounds
        alarm = any(finding.alarm for finding in warnings)
        if alarm:
            loss, certainty = math.inf, None
            selection = None if selection is None else Selection(selection.chosen)
        sure = loss <= self.tolerance and certainty is not None and selection is None
        return Decision(
            option,
            self.options.labels[option],
            loss=loss,
            level=0.0 if alarm else self.confidence,
            withstands=withstood(self.actions, option, leads[:, 1]) if sure else 0.0,
            leads=leads,
            certainty=certainty,
            warnings=warnings,
            selection=selection,
        )

    @property
    def _grounds(self) -> Certainty:
        return grounds(self.options)

    def _memory(self) -> dict[str, Any]:
        """Return the record, and what is allowed by now."""
        return {
            "record": self.record.to_dict(),
            "at_most": self.horizon,
            "budget": self.limits.money,
        }

    def _recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `_memory` returned."""
        self.horizon = most_evaluations(len(self.options), None, memory["at_most"])
        money = float(memory["budget"])
        self.limits.money = money if math.isinf(money) else checked_budget(money)
        sizes = len(self.questions), len(self.options)
        self.record = Record.from_dict(memory["record"], *sizes, alone=self._waits)
        self._changed()


def grounds(options: Any) -> Certainty:
    """Return what certainty rests on: options that stand for themselves need no model of value."""
    return "own scores" if options.stand_alone else "features exact"


def nothing_left_over(options: Any, option: int, n: int, agree: bool) -> str:
    """Return that n scores cannot tell how sure the leader is: they agree, or none is spare."""
    seen = "agree to the last digit" if agree else "are no more than the model has parameters"
    return (
        f"all {n} answers are in, and {options.labels[option]!r} leads; but they {seen}, and "
        "without any scatter scores cannot tell how sure that is. Ask further evaluators, or, if "
        "it is known, say how large noise is (noise_scale)."
    )


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


def _refuse_unfit(actions: Askable) -> None:
    """Raise `NotIdentifiableError` where no number of scores could compare all options."""
    questions = Questions.of(actions)
    if questions.has_arrow_form:
        everything = np.arange(len(questions)), np.ones(len(questions))
        refuse_incomparable(questions, panel_form(questions, *everything))
    else:
        OptionFrame.of(actions)


def target_of(top: object, bar: object, against: object, tolerance: float = 0.0) -> Target:
    """Return what is wanted of options, or say what is wrong with it."""
    # a top of 1 is what nobody said
    given = None if top == 1 and not (bar is None and against is None) else top
    return Target.of(given, bar, against, tolerance) or Target(top=1, tolerance=tolerance)


def _cut(counts: Counts, most: int) -> Counts:
    """Return counts of no more than ``most`` in all, in the same proportions."""
    fewer = counts * most // int(counts.sum())
    lacking = np.flatnonzero(counts > fewer)[: most - int(fewer.sum())]
    fewer[lacking] += 1
    return np.asarray(fewer, dtype=np.int64)


def _thinned(told: Feedback) -> Feedback:
    """Return scores whose fit is that of all of them, of no more than some number of answers."""
    # Of a question that was asked very often, the mean and the scatter are all that matters.
    n, most = int(told.counts.sum()), max(_MOST_ROWS, 2 * int(np.count_nonzero(told.counts)))
    if n <= most:
        return told
    share = most / n
    fewer = np.where(told.counts > 0, np.maximum(np.round(told.counts * share), 2), 0)
    fewer = np.minimum(fewer, told.counts).astype(np.int64)
    part = fewer / np.maximum(told.counts, 1)
    about = told.sums_of_squares - told.sums * told.means
    # the scatter of means is to stay what it is: each row is a mean of several scores
    squares = fewer * told.means**2 + about * part**2
    return Feedback(fewer, told.sums * part, np.maximum(squares, fewer * told.means**2))
