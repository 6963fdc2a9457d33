"""Certain choice: evaluations until it is known with the confidence asked for which option is best,
which are the m best, or which are above a bar or better than one of them.

`evidence` and `conclude` say what is certain and why; `planner` and `blocks` what is asked.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, is_number
from evenhand.errors import InputError
from evenhand.inference import Conclusion, Target, biases_by
from evenhand.linear import Fit
from evenhand.policies.messages import Decision, Estimate, Feedback, Selection
from evenhand.policies.registry import registered, revived, snapshot_of
from evenhand.questions import Askable, Column, Questions
from evenhand.questions.inputs import named_biases
from evenhand.scores import Finding
from evenhand.search.choice import Aims, Choice, of_record
from evenhand.search.conclude import Aim, Evidence
from evenhand.search.planner import Search
from evenhand.search.record import Plan, Record, Stop
from evenhand.search.trusted import look_at, unconfirmed

_WIDER = 1.55  # intervals that are looked at at any time, beside those of one look
_UNKNOWN = np.array([np.nan, -np.inf, np.inf])


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

    Of an option that is worth exactly as much as a ``bar``, or as who it is held ``against``, it is
    never certain on which side it is, except with probability 1 − ``confidence``.

    Parameters
    ----------
    actions, horizon
        As for every search.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise.
    looks
        Share of the evaluations that goes to options which would otherwise be left out, so that a
        wrong model can show; in the end every option (of more than 64, a sample) has had four
        evaluations. 0: none. Their order is by ``seed``.
    aims
        ``at_most``, ``confidence``, ``tolerance``, ``noise_scale``, ``top``, ``bar``, ``against``,
        ``seed`` and ``budget``, as for every search (`search.Choice`).

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
    _waits = False
    _kind_of_evidence: ClassVar[type[Evidence]] = Evidence
    _kind_of_search: ClassVar[type[Search]] = Search
    _followed: tuple[Record, Evidence] | None = None

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        *,
        bounds: Sequence[float] | None = None,
        looks: float = 0.0,
        **aims: Unpack[Aims],
    ) -> None:
        if not is_number(looks) or not 0.0 <= looks <= 0.5:
            raise InputError(f"looks must be a share from 0 to 0.5; got {looks!r}.")
        super().__init__(actions, horizon, bounds=bounds, **aims)
        self.looks = float(looks)
        known = self.stated_noise if bounds is None else None
        self.aim = Aim(self.questions, self.target, self.delta, known, self.bounds)

    @property
    def _evidence(self) -> Evidence:
        """What the record has shown by now."""
        if self._followed is None or self._followed[0] is not self.record:
            self._followed = self.record, self._kind_of_evidence(self.aim)
        return self._followed[1].follow(self.record)

    # The evidence is worked out block by block, of which there are thousands: who copies a policy,
    # to ask the copy for an answer, need not wait for that again.

    def __copy__(self) -> Self:
        return self._with_evidence(snapshot_of(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._with_evidence(copy.deepcopy(snapshot_of(self), memo))

    def _with_evidence(self, snapshot: tuple[dict[str, Any], dict[str, Any]]) -> Self:
        new = revived(type(self), *snapshot)
        assert isinstance(new, type(self))
        new._followed = new.record, self._evidence.copied(new.aim)
        return new

    @of_record
    def _settled(self) -> bool:
        """Whether the choice is certain, so that the plans in force need not be finished."""
        checks = any(one.plan.purpose == "check the model" for one in self.record.open)
        return self._search.settled and not checks

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the plan to follow those in force, or why there is none."""
        return self._planner(pending).next()

    @of_record
    def _search(self) -> Search:
        return self._planner(self._nothing)

    def _planner(self, pending: Counts) -> Search:
        return self._kind_of_search(
            self.aim,
            self._evidence,
            self.record,
            self.limits,
            self.horizon,
            self.spent,
            pending,
            self.looks,
            self.seed,
        )

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        The loss holds with all losses ever stated, at all times at once: that is proved. The
        intervals of leads hold at any time by measurement.
        """
        return self._decided(self._option, self._lost, self._leads, self._selection)

    @property
    def _option(self) -> int:
        return self._search.leader

    @of_record
    def _selection(self) -> Selection | None:
        """Those that look wanted, and who is certainly in or out; None where one is wanted."""
        return None if self.target.top == 1 else self._search.selection

    @of_record
    def _lost(self) -> float:
        """What the leader, or any that is chosen, is worse than any other at most."""
        search, selection, top = self._search, self._selection, self.target.top
        if selection is None:
            return self._evidence.loss(self._option)
        if search.settled and (top is None or not self.tolerance):
            return 0.0
        if top is None:
            return math.inf
        return self._evidence.loss_of(np.array(selection.chosen, dtype=np.intp))

    @of_record
    def one_look(self) -> Conclusion | None:
        """What one look at all scores would say: chances are from it, and no certainty."""
        return look_at(*self._looked_at) if self.options.stand_alone else None

    @property
    def _looked_at(self) -> tuple[Questions, Feedback, Target, float, float | None]:
        known = self.bounds is None and self.questions.noise is None
        noise = self.stated_noise if known else None
        return self.questions, self.record.everything, self.target, self.delta, noise

    # Values, biases and leads are those of one look at all scores, with intervals that are wider by
    # what it may cost to look at any time. They say what is known; nothing certain rests on them.

    @of_record
    def _fitted(self) -> tuple[Fit, Indices] | None:
        """One fit of all scores, and the question of each; None where there is none."""
        told = self.record.everything
        if int(np.count_nonzero(told.counts)) < 2:
            return None
        return self._fit(told, "like these" if self._asked_once else "these")

    @property
    def _asked_once(self) -> bool:
        """Whether nobody was asked the same twice, so that tastes are a part of the noise."""
        return bool((self.record.everything.counts <= 1).all())

    def _lead(self, option: int, others: Indices) -> Floats:
        """Return (n, 3) leads of an option, with intervals."""
        found = np.tile(_UNKNOWN, (len(others), 1))
        if self._fitted is not None:
            fit = self._fitted[0]
            told = fit.part[others] == fit.part[option]
            leads = fit.leads(np.full(int(told.sum()), option), others[told])
            found[told] = _widened(leads.ends(self.delta))
        return found

    @of_record
    def _leads(self) -> Floats:
        """(k, 3) the leads of the leader, with intervals that agree with what is certain."""
        option = self._option
        leads = self._lead(option, np.arange(len(self.options)))
        if self.target.top == 1:
            behind = self._evidence.behind(option)
            leads[behind, 1] = np.maximum(leads[behind, 1], -self.tolerance)
            leads[:, 2] = np.maximum(leads[:, 1], leads[:, 2])
            leads[:, 0] = np.clip(leads[:, 0], leads[:, 1], leads[:, 2])
        leads[self.aim.questions.options.same_as(option)] = 0.0
        return leads

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, alarms first.

        In the end also whether a choice that rests on other judges is confirmed by trusted ones.
        """
        found = super().findings()
        checking = self.checked and self.looks > 0.0 and self.options.stand_alone
        if not checking or not self._search.settled or self._stop(self._nothing) is None:
            return found
        return found if self._unconfirmed is None else (self._unconfirmed, *found)

    @of_record
    def _unconfirmed(self) -> Finding | None:
        """What is to be said of a choice that trusted judges do not confirm."""
        selection = self._selection
        if selection is None:
            return unconfirmed(*self._looked_at, (self._search.leader,))
        if self.target.top is not None:
            return unconfirmed(*self._looked_at, selection.chosen)
        return unconfirmed(*self._looked_at, selection.inside, selection.outside)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval for any time, by measurement."""
        known = [found for column, found in self.biases()[:1] if column.kind != "leniency"]
        return known[0] if known else Estimate.without_interval(level=self.confidence)

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
        if self._fitted is not None:
            fit, which = self._fitted
            found = biases_by(self.questions, which, fit, self.delta)
        else:
            found = [(column, _UNKNOWN) for column in named_biases(self.questions)]
        wide = _widened(np.array([ends for _, ends in found]).reshape(-1, 3))
        return [
            (column, Estimate(float(value), float(low), float(high), self.confidence))
            for (column, _), (value, low, high) in zip(found, wide, strict=True)
        ]

    def values(self) -> Floats | None:
        """Return (k, 3) values with intervals for any time, each by itself, by measurement."""
        k = len(self.options)
        if self._fitted is None:
            return np.tile(_UNKNOWN, (k, 1))
        found = _widened(self._fitted[0].level(self._asked_once).ends(self.delta)[:k])
        found[~np.isfinite(found).all(axis=1)] = _UNKNOWN
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
    found[np.isnan(found).any(axis=1)] = _UNKNOWN
    return found
