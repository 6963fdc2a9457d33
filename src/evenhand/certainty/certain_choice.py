"""Certain choice: evaluations until it is known with the confidence asked for which option is best,
which are the m best, or which are above a bar or better than one of them.

`stages` says what is certain and why, of the m best `places`, of a bar or one option `sides`;
`stage_plans` what is asked.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, is_number
from evenhand.certainty.aim import Aim, model_of
from evenhand.certainty.choice import Bound, Choice, limit_of
from evenhand.certainty.intervals import bias_ends, interval, loss, loss_across
from evenhand.certainty.models import Fit
from evenhand.certainty.places import SetInference
from evenhand.certainty.record import Plan, Stop, grounds, stopped
from evenhand.certainty.sides import SideInference
from evenhand.certainty.stage_plans import SetPlanner, SidePlanner, StagePlanner
from evenhand.certainty.stages import Inference
from evenhand.certainty.trusted import look_at, unconfirmed
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.inference import Conclusion, Target
from evenhand.numerics.intervals import Estimate
from evenhand.policies.messages import Decision, Feedback, Selection
from evenhand.policies.registry import registered
from evenhand.policies.state import revived, snapshot_of
from evenhand.questions import Askable, Column, Questions
from evenhand.questions.options import named_biases

_LITTLE = float(np.finfo(np.float64).tiny)


@registered
class CertainChoice(Choice):
    """Asks until it is sure which option is best, if values are x·γ exactly.

    It asks by plans. What was learnt decides which option leads, which questions are asked next and
    how many; then these are frozen, so that what comes of them is evidence of known strength, and
    the evidence of all plans is multiplied (`stages`). With probability at least ``confidence`` it
    is never wrong: neither in the end nor in any loss it states before. Evaluations may come in any
    order.

    Noise is taken to be Gaussian and as loud for all options; with ``bounds``, scores may have any
    distribution between them. How long an answer takes must not depend on what it is. What was
    not asked for may be observed, and helps to plan; it is no evidence, since the proof rests on
    the choice of the questions.

    Parameters
    ----------
    actions
        The options: two groups, or any attributes. Or the questions that can be asked about them:
        of a panel, of comparisons.
    horizon, at_most
        Two names for the number of evaluations at which to give up; 1,000 per option if neither is
        given.
    confidence
        Probability of never being wrong.
    tolerance
        How much may be lost, in units of value: it stops when no option is better by more than
        that; of the ``top`` best, than any of them. Who is worse than a ``bar``, or than whom it is
        ``against``, by no more is good enough.
    noise_scale
        Standard deviation σ of an evaluation; None if it is not known, which costs about a tenth
        more.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise, but
        evaluations are looked at only when a plan is whole.
    looks
        Share of the evaluations that goes to options which would otherwise be left out, so that a
        wrong model can show; in the end every option (of more than 64, a sample) has had four
        evaluations. 0: none.
    deviation
        Standard deviation of what features do not explain of values, where options stand for
        themselves and features are known (`Questions.panel` with features); None if it is not
        known. Features then help to guess who leads by how much, and so what to ask. What is
        certain does not rest on them.
    top
        How many options are wanted: the best, or the ``top`` best. It then asks until that set is
        certain, and says before who is certainly among them, and who is not.
    bar, against
        Instead: those are wanted that are worth more than the ``bar``, by the average evaluator of
        all there are, or than one option, ``against``, by name. It asks until it is certain of
        every option on which side it is. Of one that is worth exactly as much neither is ever
        certain, except with probability 1 − ``confidence``.
    seed
        Where the randomness of ``looks`` starts.
    budget
        How much money may be spent, at the questions' prices; as much as it takes if not given.
    bound
        ``value_bound``, as for every policy: not used.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.5)
    >>> policy = eh.CertainChoice(actions, at_most=10_000)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> decision = policy.recommend()
    >>> decision.option == problem.best, decision.loss, decision.level, decision.certainty
    (True, 0.0, 0.95, 'features exact')
    >>> policy.bias().covers(-0.5)
    True

    The two best of four:

    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.5, 0.2], [-0.2, 0.0]], [1, -1, 1, -1])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.5)
    >>> policy = eh.CertainChoice(actions, at_most=10_000, top=2)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.recommend().selection
    Selection(chosen=(1, 2), inside=(1, 2), outside=(0, 3), wrong_at_most=0)
    """

    name = "certain-choice"
    planner: ClassVar[type[StagePlanner]] = StagePlanner
    set_planner: ClassVar[type[SetPlanner]] = SetPlanner
    """What makes the plans; certainty does not rest on it."""

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
        looks: float = 0.0,
        deviation: float | None = None,
        top: int = 1,
        bar: float | None = None,
        against: str | None = None,
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
        if not is_number(looks) or not 0.0 <= looks <= 0.5:
            raise InputError(f"looks must be a share from 0 to 0.5; got {looks!r}.")
        if deviation is not None and (not is_number(deviation) or deviation < 0.0):
            raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
        super().__init__(
            actions,
            limit_of(actions, horizon, at_most),
            confidence=confidence,
            tolerance=tolerance,
            noise_scale=noise_scale,
            bounds=bounds,
            seed=seed,
            budget=budget,
            **bound,
        )
        self.looks = float(looks)
        self.target = checked_target(top, bar, against, self.tolerance, self.options.labels)
        self.aim = Aim(
            model_of(self.actions, self.target.bar is not None),
            self.confidence,
            self.tolerance,
            self.stated_noise,
            deviation,
            top=self.target.top or 1,
            bar=self.target.bar,
            against=self.target.rival(self.options.labels),
        )
        self._inference = self._new_inference()

    def _new_inference(self) -> Inference | SetInference | SideInference:
        if self.aim.base is not None:
            return SideInference(self.aim, self.record)
        kind = Inference if self.aim.top == 1 else SetInference
        return kind(self.aim, self.record)

    @property
    def inference(self) -> Inference | SetInference | SideInference:
        """What the record says."""
        if self._inference.record is not self.record:
            self._inference = self._new_inference()
        return self._inference

    # What the record says is worked out look by look, of which there are thousands: who copies a
    # policy, to ask the copy for an answer, need not wait for that again.

    def __copy__(self) -> Self:
        return self._with_evidence(snapshot_of(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._with_evidence(copy.deepcopy(snapshot_of(self), memo))

    def _with_evidence(self, snapshot: tuple[dict[str, Any], dict[str, Any]]) -> Self:
        new = revived(type(self), *snapshot)
        assert isinstance(new, type(self))
        new._inference = self.inference.of_copy(new.aim, new.record)
        return new

    @property
    def _chosen(self) -> tuple[int, ...]:
        selection = self._selection
        return (self._option,) if selection is None else selection.chosen

    @property
    def _to_confirm(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Who is chosen; held against a bar or an option, who is above, and who below."""
        selection = self._selection
        if selection is None or self.target.top is not None:
            return self._chosen, ()
        return selection.inside, selection.outside

    @property
    def settled(self) -> bool:
        """Whether the choice is certain, so that the plan in force need not be finished."""
        now = self.record.now
        checks = now is not None and now.plan.purpose == "check the model"
        return self.inference.evidence().answer is not None and not checks

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow the one in force, or why there is none."""
        return self._planner(pending).next()

    @property
    def neutral(self) -> Floats:
        """(p,) an impartial question to the average evaluator: of all, where there is a bar."""
        return self.questions.neutral if self.target.bar is not None else super().neutral

    def _planner(self, pending: Counts) -> StagePlanner | SetPlanner | SidePlanner:
        inference = self.inference
        given = (
            self.limits,
            self.horizon,
            self.spent,
            pending,
            self.actions is not self.questions,
            self.looks,
            self.bounds is not None,
            self.seed,
        )
        if isinstance(inference, SideInference):
            return SidePlanner(inference, *given)
        if isinstance(inference, SetInference):
            return self.set_planner(inference, *given)
        return self.planner(inference, *given)

    def stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        return stopped(self, stop, self.target, self._selection)

    # ------------------------------------------------------------------ what is said

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        The loss holds with all losses ever stated, at all times at once; the interval of each lead
        at all times, each by itself.
        """
        option, selection = self._option, self._selection
        lost: float = self.once("loss", lambda: self._loss(option))
        leads: Floats = self.once("leads", lambda: self._leads(option))
        says = np.isfinite(lost) or (selection is not None and selection.says_something)
        rests_on = grounds(self.options) if says else None
        said = self.decided(option, loss=lost, leads=leads, certainty=rests_on)
        if selection is None:
            return said
        if said.level == 0.0:  # an alarm
            selection = Selection(selection.chosen)
        return replace(said, withstands=0.0, selection=selection)

    @property
    def _option(self) -> int:
        selection, planner = self._selection, self._planner(self._nothing)
        if isinstance(planner, SetPlanner) and selection is not None:
            return selection.chosen[0]
        if not isinstance(planner, StagePlanner):
            return planner.first(self._fit)
        now = planner.inference.evidence()
        return planner.leading(self._fit, now) if now.answer is None else now.answer

    @property
    def _selection(self) -> Selection | None:
        """Those that look wanted, and who is certainly in or out; None where one is wanted."""
        planner = self._planner(self._nothing)
        if isinstance(planner, StagePlanner):
            return None
        said: Selection = self.once("selection", lambda: planner.selection(self._fit))
        return said

    def _loss(self, option: int) -> float:
        """Return what the option, or any that is chosen, is worse than any other at most."""
        inference, selection = self.inference, self._selection
        if selection is None:
            assert isinstance(inference, Inference)
            return loss(inference, option)
        if selection.wrong_at_most == 0:
            return 0.0
        if isinstance(inference, SideInference):
            return math.inf
        lost = loss_across(inference, np.array(selection.chosen), self.aim.kinds) * self._unit
        if inference.evidence().answer is not None:
            lost = min(lost, self.tolerance)
        return max(lost, _LITTLE)  # nothing is lost for certain once the set is, and not before

    def one_look(self) -> Conclusion | None:
        """Return what one look at all scores would say: chances are from it, and no certainty."""
        if not self.options.stand_alone:
            return None
        found: Conclusion | None = self.once("look", lambda: look_at(*self._looked_at))
        return found

    @property
    def _looked_at(self) -> tuple[Questions, Feedback, Target, float, float | None]:
        known = self.bounds is None and self.questions.noise is None
        noise = self.stated_noise if known else None
        return self.questions, self.record.everything, self.target, self.delta, noise

    @property
    def _fit(self) -> Fit:
        """Least squares on all scores, about a fit that is the same when a plan has just begun."""
        told = [r for r, round_ in enumerate(self.record.rounds) if round_.count]
        about = self.inference.before(told[-1] if told else 0)
        fit: Fit = self.once(
            "fit", lambda: self.aim.model.fit(self.record.everything, self.aim.noise, about)
        )
        return fit

    @property
    def _unit(self) -> float:
        return self.aim.noise or 1.0

    def _leads(self, option: int) -> Floats:
        """Return (k, 3) the leads of an option, with intervals from the plans that it led."""
        everybody = np.arange(len(self.options))
        # where several are wanted all plans test leads of one or another
        led = option if isinstance(self.inference, Inference) else None
        low, high = interval(self.inference, lambda fit: fit.leads(option, everybody), led)
        middle = np.clip(self._fit.leads(option, everybody).estimates, low, high)
        leads = np.column_stack([middle, low, high]) * self._unit
        leads[self.aim.same(option)] = 0.0
        return leads

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, alarms first.

        In the end also whether a choice that rests on other judges is confirmed by trusted ones.
        """
        found, answer = super().findings(), self.inference.evidence().answer
        checking = self.checked and self.looks > 0.0 and self.questions.options.stand_alone
        if not checking or answer is None or self._stop(self._nothing) is None:
            return found
        kinds: Finding | None = self.once(
            "kinds",
            lambda: unconfirmed(*self._looked_at, *self._to_confirm),
        )
        return found if kinds is None else (kinds, *found)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval that holds at all times."""
        if not self.questions.n_attributes:
            return Estimate.without_interval(level=self.confidence)
        said = self._attributes("bias", np.eye(1, self.questions.n_attributes))
        if not np.isfinite(said).all():
            return Estimate.without_interval(level=self.confidence)
        value, low, high = said[0].tolist()
        return Estimate(value, low, high, self.confidence)

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return what attributes add to evaluations, with intervals that hold at all times.

        Each by itself. Leniencies are how far an evaluator is from the mean of all who answered.

        Examples
        --------
        >>> import evenhand as eh
        >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"},
        ...     capacity=None)
        >>> problem = eh.BiasedLinearBandit(panel, gamma=[1.0, 0.0], omega=[0.5, 2.0])
        >>> policy = eh.CertainChoice(panel, at_most=2_000)
        >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
        >>> while not policy.finished:
        ...     policy.tell(evaluations.evaluate(policy.ask()))
        >>> for (column, estimate), truth in zip(policy.biases(), [0.5, -1.0, 1.0]):
        ...     print(column.kind, column.name, estimate.covers(truth))
        bias own group True
        leniency P True
        leniency Q True
        """
        columns, rows = named_biases(self.questions, self.neutral)
        if not columns:
            return []
        return [
            (column, Estimate(value, low, high, self.confidence))
            for column, (value, low, high) in zip(
                columns, self._attributes("biases", rows).tolist(), strict=True
            )
        ]

    def _attributes(self, what: str, rows: Floats) -> Floats:
        """Return (n, 3) combinations of attributes, with intervals."""
        low, high = self.once(what, lambda: bias_ends(self.inference, rows))
        middle = _clipped(self._fit.attributes(rows).estimates, low, high)
        return np.column_stack([middle, low, high]) * self._unit

    def values(self) -> Floats | None:
        """Return (k, 3) values with intervals that hold at all times, each by itself."""
        neutral = self.neutral
        low, high = self.once(
            "values", lambda: interval(self.inference, lambda fit: fit.values(neutral))
        )
        middle = _clipped(self._fit.values(neutral).estimates, low, high)
        return np.column_stack([middle, low, high]) * self._unit

    def difference(self, a: int, b: int) -> Floats:
        """Return (4,) by how much option a is better than b, an interval, and what it is at least.

        At all times.
        """
        rival = np.array([b])
        (low,), (high,) = interval(self.inference, lambda fit: fit.leads(a, rival))
        (middle,) = np.clip(self._fit.leads(a, rival).estimates, low, high)
        return np.array([middle, low, high, low]) * self._unit


def checked_target(
    top: object, bar: object, against: object, tolerance: float, labels: Sequence[str]
) -> Target:
    """Return what is wanted of options, or say what is wrong with it."""
    # One option alone is the best, whatever is wanted; and a top of 1 is what nobody said.
    given = None if top == 1 and not (bar is None and against is None) else top
    target = Target.of(given, bar, against, tolerance) or Target(top=1, tolerance=tolerance)
    return target if target.top == 1 else target.among(labels)


def _clipped(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return estimates within their intervals; NaN where there is no interval."""
    return np.where(np.isinf(low) | np.isinf(high), np.nan, np.clip(values, low, high))
