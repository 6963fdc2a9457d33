"""Certain bias: evaluations until it is known whether there is a bias that matters.

One design is asked, optimal for the bias, in an order that no score decides. So the error of least
squares on all scores is a walk of known variances, and one mixture that is tuned to the information
at the last evaluation bounds it at all times at once (`planned_interval`). Plans are
short, and looked at when they are whole. Where scores are only known to be bounded, each plan is
estimated from alone, with coefficients that later scores do not change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple, Unpack

import numpy as np

from evenhand.arrays import Counts, Indices
from evenhand.certainty.aim import model_of
from evenhand.certainty.choice import Bound, Choice, limit_of
from evenhand.certainty.record import Plan, Record, Stop, stopped
from evenhand.certainty.shares import spread_out_by
from evenhand.errors import NotIdentifiableError
from evenhand.geometry import bias_optimal_design
from evenhand.numerics.intervals import Estimate, planned_interval
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Decision, Feedback
from evenhand.policies.registry import registered
from evenhand.questions import Askable, Column

_CYCLE, _SHORT_CYCLE = 1_000, 100  # evaluations until the order is repeated; of bounded scores
_GROWTH = 1.0 / 24.0  # a plan as a share of what was told


class Ends(NamedTuple):
    """An estimate with its interval."""

    value: float
    low: float
    high: float

    def within(self, size: float) -> bool:
        """Tell whether it is certain that the size is not exceeded."""
        return -size <= self.low and self.high <= size

    def beyond(self, size: float) -> bool:
        """Tell whether it is certain that the size is exceeded."""
        return self.low > size or self.high < -size


@registered
class CertainBias(Choice):
    """Asks until it is sure whether the (first) bias is larger than a tolerance.

    With probability at least ``confidence`` the interval of the bias holds at all times. It stops
    when the interval lies within ± tolerance or beyond, or when the evaluations are spent.

    Parameters
    ----------
    actions
        The options: two groups, or any attributes. Or the questions that can be asked about them.
    horizon, at_most
        Two names for the number of evaluations at which to give up; 1,000 per option if neither is
        given.
    confidence
        Probability of never being wrong.
    tolerance
        The size of a bias that matters.
    noise_scale
        Standard deviation σ of an evaluation; None if it is not known.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise.
    seed
        As for every policy: nothing here is random.
    budget
        How much money may be spent, at the questions' prices; as much as it takes if not given.
    bound
        ``value_bound``, as for every policy: not used.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.9)
    >>> policy = eh.certainty.CertainBias(actions, at_most=10_000, tolerance=0.25)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.stopped_because
    'the bias is larger than 0.25, with 95% confidence.'
    >>> policy.bias().covers(-0.9)
    True
    """

    name = "certain-bias"

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
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
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
        self._frame, self._model = OptionFrame.of(self.actions), model_of(self.actions)
        if self._frame.bias is None:
            raise NotIdentifiableError(
                "the (first) bias cannot be estimated from these options, by any number of "
                "evaluations: it needs an attribute that is no combination of others."
            )
        self._design = bias_optimal_design(self.actions, self.actions.attribute_names[0])
        self._looked: tuple[Record, list[Ends]] = self.record, []

    # ------------------------------------------------------------------ what is concluded

    def _looks(self) -> list[Ends]:
        """Return the bias after every plan that is over, worked out once."""
        record = self.record
        if self._looked[0] is not record:
            self._looked = record, []
        said = self._looked[1]
        while len(said) < len(record.rounds) and record.is_over(len(said)):
            told = [round_.total for round_ in record.rounds[: len(said) + 1]]
            said.append(self._measured([reduce(add, told)] if self.bounds is None else told))
        return said

    def _measured(self, parts: list[Feedback]) -> Ends:
        """Return the bias by scores, each part of which is fitted alone."""
        row, unit = np.eye(1, self.questions.n_attributes), self.stated_noise or 1.0
        fits = [self._model.fit(told, self.stated_noise) for told in parts]
        said = [fit.attributes(row) for fit in fits]
        J = sum(1.0 / float(one.variances[0]) for one in said)
        if J == 0.0:
            return Ends(math.nan, -math.inf, math.inf)
        value = sum(float(one.estimates[0] / one.variances[0]) for one in said) / J
        planned = self.record.rounds[0].plan.at_most / self._design.value
        noise = fits[0].scatter, fits[0].freedom
        low, high = planned_interval(value, J, *noise, planned, self.delta)
        return Ends(unit * value, unit * low, unit * high)

    @property
    def _answer(self) -> Ends | None:
        """The first look that settles whether the bias is larger than the tolerance."""
        size = self.tolerance
        return next((s for s in self._looks() if s.within(size) or s.beyond(size)), None)

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return what comes next in the order, or why there is nothing."""
        if self._answer is not None:
            return Stop("certain")
        return self.or_what_waits(self._next_in_order(pending), pending)

    def _next_in_order(self, pending: Counts) -> Plan | Stop:
        told = sum(round_.count for round_ in self.record.rounds)
        left = self.horizon - told
        if left == 0:
            return Stop("spent")
        n = math.ceil(_GROWTH * told) if told else 2 * self._frame.rank + 6
        n = min(n if self.bounds is None else max(n, _SHORT_CYCLE), left)
        order = self._order[(told + np.arange(min(n, len(self._order)))) % len(self._order)]
        order = self.limits.allowed(order, pending)
        if not len(order):
            return Stop("stuck")
        if not self.limits.pays_for(np.bincount(order, minlength=len(self.questions)) > 0):
            return Stop("broke")
        times = 1 if self.questions.limited else max(1, n // len(order))
        return Plan("measure the bias", order, times, 1, True, self.horizon, float(left))

    @cached_property
    def _order(self) -> Indices:
        """The order that is repeated, in which the shares of the design come early."""
        assert self._frame.bias is not None
        direction, length = (
            self._frame.bias[None, :],
            _CYCLE if self.bounds is None else _SHORT_CYCLE,
        )
        return spread_out_by(self._frame.points, direction, self._design.weights, length)

    def stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        if stop.reason == "stuck":
            return "the questions that measure the bias cannot be asked any more."
        answer = self._answer
        if answer is None or any(finding.alarm for finding in self.findings()):
            return stopped(self, stop)
        side = "no larger" if answer.within(self.tolerance) else "larger"
        level = f"{100 * self.confidence:g}%"
        return f"the bias is {side} than {self.tolerance:g}, with {level} confidence."

    # ------------------------------------------------------------------ what is said

    def recommend(self) -> Decision:
        """Return the option that leads by least squares on all scores; nothing of it is certain."""
        told, everybody = self.record.everything, np.arange(len(self.options))
        leads = self._model.fit(told, self.stated_noise).leads(0, everybody).estimates
        option = first_largest(-leads, float(np.abs(told.means).max(initial=0.0)))
        return self.decided(option, loss=math.inf, leads=None, certainty=None)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval that holds at all times."""
        looks = self._looks()
        said = self._answer or (looks[-1] if looks else None)
        if said is None or not np.isfinite(said).all():
            return Estimate.without_interval(level=self.confidence)
        return Estimate(*said, self.confidence)

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return the first bias: the design is made for no other."""
        return [(self.questions.columns[0], self.bias())]
