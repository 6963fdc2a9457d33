"""Certain choice: evaluations until it is known with the confidence asked for which option is best,
which are the m best, or which are above a bar or better than one of them.

`evidence` and `conclude` say what is certain and why; `planner` and `blocks` what is asked.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, is_number
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.inference import Conclusion, Target, biases_by, design_of_feedback
from evenhand.inference.designs import Scope
from evenhand.linear import Fit
from evenhand.numerics.intervals import Estimate
from evenhand.policies.messages import Decision, Feedback, Selection
from evenhand.policies.registry import registered
from evenhand.policies.state import revived, snapshot_of
from evenhand.questions import Askable, Column, Questions
from evenhand.questions.options import named_biases
from evenhand.search.choice import (
    Bound,
    Choice,
    checked_target,
    limit_of,
    refuse_no_values,
    refuse_unfit,
    thinned,
)
from evenhand.search.conclude import Aim, Evidence
from evenhand.search.planner import Search
from evenhand.search.record import Plan, Stop
from evenhand.search.trusted import look_at, unconfirmed
from evenhand.search.words import stopped

_WIDER = 1.55  # intervals that are looked at at any time, beside those of one look


@registered
class CertainChoice(Choice):
    """Asks until it is sure which option is best, if values are x·γ exactly.

    It asks by blocks. What was learnt decides which option leads, and which questions tell its
    leads soonest; then the block is frozen, so that what comes of it is evidence of known strength,
    and the evidence of all blocks is multiplied (`evidence`). With probability at least
    ``confidence`` it is never wrong: neither in the end nor in any loss it states before. Blocks
    may be out side by side, and come back in any order or never.

    Noise may be of any size, for every option and evaluator another one, as long as it is
    symmetric; with ``bounds``, scores may have any distribution between them; with ``noise_scale``
    it is normal, or lighter, and of that size. Answers to a question that may be asked again and
    again are taken to be independent; of others, one of each counts. How long an answer takes must
    not depend on what it is. What was not asked for may be observed, and helps to plan; it is no
    evidence, since the proof rests on the choice of the questions.

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
        Standard deviation σ of an evaluation; None if it is not known.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise.
    looks
        Share of the evaluations that goes to options which would otherwise be left out, so that a
        wrong model can show; in the end every option (of more than 64, a sample) has had four
        evaluations. 0: none.
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
    waits = False

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
        top: int = 1,
        bar: float | None = None,
        against: str | None = None,
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
        if not is_number(looks) or not 0.0 <= looks <= 0.5:
            raise InputError(f"looks must be a share from 0 to 0.5; got {looks!r}.")
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
            self.questions,
            self.target,
            self.delta,
            self.stated_noise if bounds is None else None,
            self.bounds,
        )
        if self.target.bar is not None:
            refuse_no_values(self.questions)
        refuse_unfit(self.actions)
        self._evidence = self.record, Evidence(self.aim)

    @property
    def evidence(self) -> Evidence:
        """What the record has shown by now."""
        if self._evidence[0] is not self.record:
            self._evidence = self.record, Evidence(self.aim)
        return self._evidence[1].follow(self.record)

    # The evidence is worked out block by block, of which there are thousands: who copies a policy,
    # to ask the copy for an answer, need not wait for that again.

    def __copy__(self) -> Self:
        return self._with_evidence(snapshot_of(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._with_evidence(copy.deepcopy(snapshot_of(self), memo))

    def _with_evidence(self, snapshot: tuple[dict[str, Any], dict[str, Any]]) -> Self:
        new = revived(type(self), *snapshot)
        assert isinstance(new, type(self))
        new._evidence = new.record, self.evidence.copied(new.aim)
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
        """Whether the choice is certain, so that the plans in force need not be finished."""
        checks = any(one.plan.purpose == "check the model" for one in self.record.open)
        settled: bool = self.once("settled", lambda: self._search.settled)
        return settled and not checks

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow those in force, or why there is none."""
        return self._planner(pending).next()

    @property
    def neutral(self) -> Floats:
        """(p,) an impartial question to the average evaluator: of all, where there is a bar."""
        return self.questions.neutral if self.target.bar is not None else super().neutral

    @property
    def _search(self) -> Search:
        found: Search = self.once("search", lambda: self._planner(self._nothing))
        return found

    def _planner(self, pending: Counts) -> Search:
        return Search(
            self.aim,
            self.evidence,
            self.record,
            self.limits,
            self.horizon,
            self.spent,
            pending,
            self.looks,
            self.seed,
        )

    def stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        return stopped(self, stop, self.target, self._selection)

    # ------------------------------------------------------------------ what is said

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        The loss holds with all losses ever stated, at all times at once: that is proved. The
        intervals of leads hold at any time by measurement.
        """
        option, selection = self._option, self._selection
        lost: float = self.once("loss", lambda: self._loss(option))
        leads: Floats = self.once("leads", lambda: self._leads(option))
        rests_on = self.rests_on(lost, selection)
        return self.decided(option, loss=lost, leads=leads, certainty=rests_on, selection=selection)

    @property
    def _option(self) -> int:
        return self._search.leader

    @property
    def _selection(self) -> Selection | None:
        """Those that look wanted, and who is certainly in or out; None where one is wanted."""
        if self.target.top == 1:
            return None
        said: Selection = self.once("selection", lambda: self._search.selection)
        return said

    def _loss(self, option: int) -> float:
        """Return what the option, or any that is chosen, is worse than any other at most."""
        selection = self._selection
        if selection is None:
            return self.evidence.loss(option)
        if self._search.settled and (self.target.top is None or not self.tolerance):
            return 0.0
        if self.target.top is None:
            return math.inf
        return self.evidence.loss_of(np.array(selection.chosen, dtype=np.intp))

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

    # Values, biases and leads are those of one look at all scores, with intervals that are wider by
    # what it may cost to look at any time. They say what is known; nothing certain rests on them.

    @property
    def _fitted(self) -> tuple[Fit, np.ndarray] | None:
        """One fit of all scores, and the question of each; None where there is none."""

        def made() -> tuple[Fit, np.ndarray] | None:
            told = thinned(self.record.everything)
            if int(np.count_nonzero(told.counts)) < 2:
                return None
            scope: Scope = "like these" if self._once else "these"
            design, which = design_of_feedback(self.questions, told, scope)
            fit = Fit(design, self.stated_noise if self.questions.noise is None else None)
            return fit, which

        found: tuple[Fit, np.ndarray] | None = self.once("fit", made)
        return found

    @property
    def _once(self) -> bool:
        """Whether nobody was asked the same twice, so that tastes are a part of the noise."""
        return bool((self.record.everything.counts <= 1).all())

    def _lead(self, option: int, others: np.ndarray) -> Floats:
        """Return (n, 3) leads of an option, with intervals."""
        found = np.tile([np.nan, -np.inf, np.inf], (len(others), 1))
        if self._fitted is not None:
            fit = self._fitted[0]
            told = fit.part[others] == fit.part[option]
            leads = fit.leads(np.full(int(told.sum()), option), others[told])
            found[told] = _widened(leads.ends(self.delta))
        return found

    def _leads(self, option: int) -> Floats:
        """Return (k, 3) the leads of an option, with intervals that agree with what is certain."""
        leads = self._lead(option, np.arange(len(self.options)))
        if self.target.top == 1:
            behind = self.evidence.behind(option)
            leads[behind, 1] = np.maximum(leads[behind, 1], -self.tolerance)
            leads[:, 2] = np.maximum(leads[:, 1], leads[:, 2])
            leads[:, 0] = np.clip(leads[:, 0], leads[:, 1], leads[:, 2])
        leads[self.options.same_as(option)] = 0.0
        return leads

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, alarms first.

        In the end also whether a choice that rests on other judges is confirmed by trusted ones.
        """
        found = super().findings()
        checking = self.checked and self.looks > 0.0 and self.questions.options.stand_alone
        if not checking or not self._search.settled or self._stop(self._nothing) is None:
            return found
        kinds: Finding | None = self.once(
            "kinds",
            lambda: unconfirmed(*self._looked_at, *self._to_confirm),
        )
        return found if kinds is None else (kinds, *found)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval for any time, by measurement."""
        for column, estimate in self.biases():
            return (
                estimate
                if column.kind != "leniency"
                else Estimate.without_interval(level=self.confidence)
            )
        return Estimate.without_interval(level=self.confidence)

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return what attributes add to evaluations, with intervals for any time, by measurement.

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
        unknown = np.array([np.nan, -np.inf, np.inf])
        if self._fitted is None:
            columns, _ = named_biases(self.questions, self.neutral)
            found = [(column, unknown) for column in columns]
        else:
            fit, which = self._fitted
            found = biases_by(self.questions, which, fit, self.delta)
        return [(column, self._estimate(ends)) for column, ends in found]

    def _estimate(self, ends: Floats) -> Estimate:
        value, low, high = _widened(np.atleast_2d(ends))[0].tolist()
        return Estimate(value, low, high, self.confidence)

    def values(self) -> Floats | None:
        """Return (k, 3) values with intervals for any time, each by itself, by measurement."""
        k = len(self.options)
        if self._fitted is None:
            return np.tile([np.nan, -np.inf, np.inf], (k, 1))
        fit = self._fitted[0]
        found = _widened(fit.level(self._once).ends(self.delta)[:k])
        found[~np.isfinite(found).all(axis=1)] = np.nan, -np.inf, np.inf
        return found

    def difference(self, a: int, b: int) -> Floats:
        """Return (4,) by how much option a is better than b, an interval, and what it is at least.

        For any time, by measurement.
        """
        found = self._lead(a, np.array([b]))[0]
        return np.append(found, found[1])


def _widened(ends: Floats) -> Floats:
    """Return (n, 3) estimates with intervals that are wider."""
    found = np.array(ends, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        found[:, 1:] = found[:, :1] + _WIDER * (found[:, 1:] - found[:, :1])
    found[np.isnan(found).any(axis=1)] = np.nan, -np.inf, np.inf
    return found
