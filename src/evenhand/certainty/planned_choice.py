"""Planned choice: all questions fixed before the first answer, for people who can be asked once.

`one_look` says what is certain and why, `one_look_plans` what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Counts, Floats, is_number
from evenhand.certainty.aim import Aim, model_of
from evenhand.certainty.alike import difference
from evenhand.certainty.certain_choice import checked_target
from evenhand.certainty.choice import Bound, Choice, limit_of
from evenhand.certainty.line import Errors, Field, beside, beyond_bar, line_of
from evenhand.certainty.look import guess
from evenhand.certainty.models import Fit
from evenhand.certainty.one_look import OneLook
from evenhand.certainty.one_look_plans import FixedPlans, all_there_is, checked_plan
from evenhand.certainty.record import (
    Plan,
    Stop,
    grounds,
    may_be_chance,
    not_compared,
    nothing_left_over,
    set_may_be_chance,
    sides_may_be_chance,
    stopped,
)
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.numerics.intervals import Estimate
from evenhand.policies.conclusion import Scope
from evenhand.policies.messages import Decision, Feedback, Selection
from evenhand.policies.registry import registered
from evenhand.questions import Askable, Column, Questions, checked_askable
from evenhand.questions.options import named_biases

Looks = Literal["once", "always"]

_COUNTED_ONCE = (
    "That is counted among the errors here: what a judge says of an option again is no further "
    "opinion."
)


@registered
class PlannedChoice(Choice):
    """Asks what was planned, in the order that was planned, and says whether the choice is sure.

    For evaluators who can be asked the same thing once. What is asked does not depend on what
    comes back, and that is what makes a strong test possible: of two rules for the same panel, the
    one that looks once is sure most often, and the one that looks after every answer saves the rest
    of them when it is sure. Which of the two has to be decided before the first answer.

    Noise is taken to be about Gaussian, and each option's as loud as its own scores say; with
    ``bounds``, scores may have any distribution between them. How
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
        How much may be lost, in units of value: at each place, below a ``bar``, or ``against`` an
        option.
    noise_scale
        Standard deviation σ of an answer; None if it is not known.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise, which
        takes about three times the answers, and far more where scores keep to a part of the range.
    planned
        (q,) how often each question is asked, where somebody else decided that without looking at
        any answer; then that is all of the answers, and neither horizon nor at_most are given.
    looks
        "once": when all answers are in. "always": after each of them (of a long plan, at 500 equal
        shares); asking ends when the choice is sure.
    scope
        "these": what is said holds for the judges who answer. "like these": for judges like them,
        so that what one of them says of the same question again is no further opinion.
    grain
        What answers are rounded to: differences below that are none, and no noise.
    top
        How many options are wanted: the best, or the ``top`` best, which are found when all answers
        are in (looks "once") by the test for the m best at one look (`line`).
    bar, against
        Instead: those are wanted that are worth more than the ``bar``, by the average of those who
        answer, or than one option, ``against``, by name; likewise.
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
    >>> policy = eh.certainty.PlannedChoice(problem.questions)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask(n=4)))
    >>> decision = policy.recommend()
    >>> policy.spent, decision.option == problem.best, decision.loss, decision.certainty
    (30, True, 0.0, 'own scores')
    """

    name = "planned-choice"
    one_design = True
    corrects: ClassVar[bool] = False
    """Whether scores of judges who are not trusted are corrected by those who are."""

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
        planned: ArrayLike | None = None,
        looks: Looks = "once",
        scope: Scope = "these",
        grain: float = 0.0,
        top: int = 1,
        bar: float | None = None,
        against: str | None = None,
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
        if looks not in ("once", "always"):
            raise InputError(f"looks must be 'once' or 'always'; got {looks!r}.")
        if not is_number(grain) or not 0.0 <= grain < np.inf:
            raise InputError(f"grain must be a number, 0 or more; got {grain!r}.")
        if scope not in ("these", "like these"):
            raise InputError(f"scope must be 'these' or 'like these'; got {scope!r}.")
        self.judges_too = scope == "like these"
        self._planned: Counts | None = None
        if planned is not None:
            self._planned = checked_plan(planned, Questions.of(checked_askable(actions)))
            if horizon is not None or at_most is not None:
                raise InputError(
                    f"planned has {int(self._planned.sum())} answers in all; leave out horizon and "
                    "at_most, which say how many there are to be."
                )
            limit = int(self._planned.sum())
        elif horizon is None and at_most is None:
            limit = all_there_is(Questions.of(checked_askable(actions)))
        else:
            limit = limit_of(actions, horizon, at_most)
        super().__init__(
            actions,
            limit,
            confidence=confidence,
            tolerance=tolerance,
            noise_scale=noise_scale,
            bounds=bounds,
            seed=seed,
            budget=budget,
            **bound,
        )
        self.looks = looks
        self.target = checked_target(top, bar, against, self.tolerance, self.options.labels)
        if self.target.top != 1 and (looks == "always" or self.bounds is not None):
            raise InputError(
                f"which are {self.target.words} is found by one look at all answers, whose noise "
                "is heard from them: looks='once', and no bounds."
            )
        if self.target.bar is not None:
            model_of(self.actions, bar=True)  # raises where no score tells values by themselves
        self.aim = Aim(
            model_of(self.actions),
            self.confidence,
            self.tolerance,
            self.stated_noise,
            grain=grain,
            bounded=self.bounds is not None,
        )
        self._inference = OneLook(self.aim, self.record, self.judges_too, self.corrects)

    @property
    def inference(self) -> OneLook:
        """What the record says."""
        if self._inference.record is not self.record:
            self._inference = OneLook(self.aim, self.record, self.judges_too, self.corrects)
        return self._inference

    @property
    def scope(self) -> Scope:
        """Whom it is about; where nobody was asked the same twice, judges like these in any case.

        What a judge thinks of an option is then part of the noise.
        """
        once = bool((self.inference.told.counts <= 1).all())
        return "like these" if self.judges_too or once else "these"

    # ------------------------------------------------------------------ what is asked

    def _plans(self, pending: Counts) -> FixedPlans:
        return FixedPlans(
            self.inference,
            self.limits,
            self.horizon,
            self.spent,
            pending,
            self.looks == "once",
            self._planned,
            self.seed,
        )

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow the one in force, or why there is none."""
        return self._plans(pending).next()

    @property
    def settled(self) -> bool:
        """Whether the choice is certain, or more may be asked than was planned."""
        return self.inference.certain is not None or self._plans(self._nothing).outdated

    @property
    def batch(self) -> int:
        """How many answers are asked for where nobody says how many are wanted."""
        return self.horizon if self.looks == "once" else super().batch

    def take_in(self, feedback: Feedback) -> bool:
        """Leave out of the plan what was answered before; nothing else is made of it.

        The winner test is about answers whose questions were fixed before, without a look at any
        of them. Of logged scores nobody knows that, so they are no part of it, and it does not
        matter who chose them: the plan is made after them, and its answers have noise of their
        own. What may be asked once and was answered is not asked again. The checks see them.
        Refused once something was told, and where the rest cannot compare all options by itself.
        """
        if self.spent or not self._plans(self._nothing).comparable:
            return False
        return super().take_in(feedback)

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
        """Return how many answers are still to come: all, or until it is expected to be sure."""
        if self._stop(self._nothing) is not None:
            return 0.0
        return self._plans(self._nothing).forecast()

    def extended(self, actions: Askable) -> PlannedChoice:
        """Return the policy with more options, evaluators or capacity, and the same record.

        While nothing was decided by what is in, the plan just becomes longer: it is still one that
        was fixed without looking, if what was added does not depend on the scores. The share of δ
        that was used stays used, and looks go on by the share of the longer plan.

        Once it is over, what comes after does depend on the scores. If the choice was certain, and
        options are added, what is in counts as logged: the new plan is of other answers alone, and
        its looks have what is left of δ. Each answer is then wrong with probability δ at most, so
        that any of m + 1 of them is with (m + 1)δ at most. If it was not certain in the end,
        nothing is left of δ, and ``stopped_because`` says so; likewise where new answers alone
        cannot compare all options. Refused where somebody else made the plan.

        Examples
        --------
        >>> import evenhand as eh
        >>> old = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> new = eh.Questions.panel(["Ann", "Bo"], ["P", "Q", "R"])
        >>> eh.certainty.PlannedChoice(old).extended(new).ask().total
        6
        """
        self._refuse_to_change()
        return super().extended(actions)

    def allow(self, at_most: int | None = None, budget: float | None = None) -> None:
        """Plan more answers, or for more money: so much in all; see `extended` for certainty.

        Examples
        --------
        >>> import evenhand as eh
        >>> questions = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> policy = eh.certainty.PlannedChoice(questions, at_most=2)
        >>> policy.allow(4)
        >>> policy.ask().total
        4
        """
        self._refuse_to_change()
        super().allow(at_most, budget)

    def _refuse_to_change(self) -> None:
        if self._planned is not None:
            raise InputError(
                "this plan was made by somebody else (planned=), who would have to extend it; make "
                "a new policy."
            )

    # ------------------------------------------------------------------ what is said

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        What it loses, and its leads, are said of the looks so far. All losses that were ever said
        where nothing was certain hold at once; the interval of each lead by itself (`look`).
        """
        selection = self._selection
        if selection is not None:
            return self._several(*selection)
        said, certain = self.inference, self.inference.certain
        option = said.leader if certain is None else certain
        if option is None:
            option = guess(self.questions, said.told, self.aim.grain)
        leads, least = self.once(("leads", option), lambda: said.leads(option))
        loss = max(0.0, -float(least.min(initial=0.0)))
        if certain is not None:
            loss = min(loss, self.tolerance)
        rests_on = grounds(self.options) if np.isfinite(loss) else None
        return self.decided(option, loss=loss, leads=leads, certainty=rests_on, least=least)

    @property
    def fit(self) -> Fit | None:
        """Least squares on all answers, once they have been looked at."""
        return self.inference.fit if self.inference.said().used >= 1.0 else None

    @property
    def _selection(self) -> tuple[Selection, float] | None:
        """Who looks wanted, who is in and out, and what is lost; None if one is wanted."""
        if self.target.top == 1:
            return None
        found: tuple[Selection, float] = self.once("selection", lambda: self._selected(self.fit))
        return found

    def _confirms(self, fit: Fit) -> bool:
        """Tell whether what was found follows from another fit as well."""
        assert self._selection is not None
        found, loss = self._selected(fit)
        same = set(found.chosen) == set(self._selection[0].chosen)
        return same and loss * self._unit <= self.tolerance

    def _selected(self, fit: Fit | None) -> tuple[Selection, float]:
        m, k = self.target.top or 1, len(self.options)
        field = None if fit is None else Field.of(fit, k)
        if self.target.top is None:
            return self._on_sides(None if field is None else fit)
        if field is None:
            leads = self.inference.fit.leads(0, np.arange(k)).estimates
            return Selection(tuple(np.argsort(leads, kind="stable")[:m].tolist())), math.inf
        line = line_of(field, m, self.delta)
        inside, outside = (
            tuple(x for x in field.order.tolist() if some[x])
            for some in (line.inside, line.outside)
        )
        wrong = 0 if line.loss == 0.0 else None
        return Selection(tuple(line.chosen.tolist()), inside, outside, wrong), line.loss

    def _on_sides(self, fit: Fit | None) -> tuple[Selection, float]:
        """Return who looks above a bar or an option, who is certainly, and 0 if that is all."""
        rival, k, unit = self.target.rival(self.options.labels), len(self.options), self._unit
        order, slack = self._by_value, self.target.tolerance
        now = self.inference.fit if fit is None else fit
        inside, outside = np.zeros((2, k), dtype=np.bool_)
        if rival is None:
            away = now.values(self.neutral).estimates * unit - (self.target.bar or 0.0)
            if fit is not None:
                errors = Errors.of(fit, self.neutral, like=self.judges_too).times(unit)
                inside, outside = beyond_bar(away, errors, slack, self.delta)
        else:
            away = -now.leads(rival, np.arange(k)).estimates * unit
            others = np.flatnonzero(~self.aim.same(rival))
            if fit is not None and len(others):
                better, worse, close, _ = beside(fit, rival, others, slack / unit, self.delta)
                inside[others] = close if slack else better
                outside[others] = worse & ~inside[others]  # worse, and no matter within the slack
        wanted = away > -slack
        if rival is not None:
            wanted[self.aim.same(rival)] = False
        chosen, sure, out = (
            tuple(x for x in order if some[x]) for some in (wanted, inside & ~outside, outside)
        )
        settled = len(sure) + len(out) == (k if rival is None else len(others))
        wrong = 0 if settled else None
        return Selection(chosen, sure, out, wrong), 0.0 if settled else math.inf

    @property
    def _by_value(self) -> list[int]:
        """The options, those that look best first."""
        leads = self.inference.fit.leads(0, np.arange(len(self.options))).estimates
        found: list[int] = np.argsort(leads, kind="stable").tolist()
        return found

    @property
    def _unit(self) -> float:
        return self.inference.unit

    def _several(self, selection: Selection, loss: float) -> Decision:
        """Return the decision where several are wanted."""
        option, loss = self._by_value[0], loss * self.inference.unit
        if self.target.top is not None:
            option = selection.chosen[0]
        leads, _ = self.once(("leads", option), lambda: self.inference.leads(option))
        says = np.isfinite(loss) or selection.says_something
        rests_on = grounds(self.options) if says else None
        said = self.decided(option, loss=loss, leads=leads, certainty=rests_on)
        if said.level == 0.0:  # an alarm
            selection = Selection(selection.chosen)
        return replace(said, withstands=0.0, selection=selection)

    def bias(self) -> Estimate:
        """Return the (first) bias, with its interval."""
        return self._estimates(np.eye(1, self.questions.n_attributes))[0]

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with their intervals; leniencies against the mean of who answered."""
        columns, rows = named_biases(self.questions, self.neutral)
        return list(zip(columns, self._estimates(rows), strict=True))

    def _estimates(self, rows: Floats) -> list[Estimate]:
        """Return combinations, (n, p), of what attributes add."""
        said = self.inference.intervals(lambda fit: fit.attributes(rows), self.looks == "once")
        return [Estimate(value, low, high, self.confidence) for value, low, high in said.tolist()]

    def values(self) -> Floats | None:
        """Return (k, 3) values with their intervals, each by itself."""
        return self.inference.values(self.neutral, self.looks == "once")

    def difference(self, a: int, b: int) -> Floats:
        """Return (4,) by how much option a is better than b, an interval, and what it is at least.

        For options that were named without looking at the scores.
        """
        return self.inference.difference(a, b, self.looks == "once")

    def findings(self) -> tuple[Finding, ...]:
        """Return what the answers say about the assumptions, alarms first.

        In the end also whether evaluators favour their own by as much as each other, where that is
        taken for granted.
        """
        found, said = tuple(map(self._of_tastes, super().findings())), self.inference.said()
        over = said.used >= 1.0 or self.inference.certain is not None
        if self.checked and over and self.inference.told.counts.any():
            confirms = None if self.target.top == 1 else self._confirms
            alike = self.once("alike", lambda: difference(self.inference, confirms))
            found = found if alike is None else (*found, alike)
        return tuple(sorted(found, key=lambda finding: not finding.alarm))

    def _of_tastes(self, finding: Finding) -> Finding:
        """Return a finding; effects of pairs are no alarm where it is about judges like these."""
        # What a judge says of an option counts once then, and the scatter has such effects in it.
        if finding.assumption != "fit" or not self.judges_too or not self.options.stand_alone:
            return finding
        return replace(finding, alarm=False, message=f"{finding.message} {_COUNTED_ONCE}")

    def stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        options, n = self.options, int(self.inference.told.counts.sum())
        if stop.why:
            return stop.why
        looked = self.fit is not None and not self.inference.silent
        if self._selection is not None and self.fit is not None and self.inference.silent:
            return nothing_left_over(options, self._by_value[0], n, self.inference.agree)
        if self._selection is not None and stop.reason in ("certain", "spent") and looked:
            selection, loss = self._selection
            if loss * self._unit <= self.tolerance:
                return stopped(self, Stop("certain"), self.target, selection)
            if self.target.top is None:
                return sides_may_be_chance(options, self.target, selection, n, self.confidence)
            return set_may_be_chance(options, selection, n, self.confidence)
        if stop.reason == "spent" and not stop.options:
            return (
                f"the chance of {self.delta:g} to be wrong is used up, since there was a look: "
                "whatever comes now cannot make it certain. Begin anew, with other scores than "
                "these."
            )
        if stop.reason == "spent" and self.inference.silent:
            return nothing_left_over(options, stop.options[0], n, self.inference.agree)
        if stop.reason == "spent":
            return may_be_chance(
                options, stop, n, self.confidence, "more evaluators from the start"
            )
        if stop.reason == "stuck":
            return (
                f"{not_compared(options, stop, n)}, and no others can come. Plan more of them, or "
                "ask other evaluators."
            )
        return stopped(self, stop)
