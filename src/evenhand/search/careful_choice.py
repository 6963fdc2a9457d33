"""Careful choice: asks until sure, without taking the features at their word.

`careful_conclusions` says what is certain and why, `careful_plans` what is asked.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, is_number
from evenhand.best import oriented
from evenhand.errors import InputError
from evenhand.numerics.intervals import Estimate
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Decision, Feedback, Finding
from evenhand.policies.registry import registered
from evenhand.search.careful_conclusions import (
    CarefulAim,
    CarefulConclusion,
    CarefulLook,
    Conclusions,
    by_own_scores,
)
from evenhand.search.careful_plans import CarefulPlanner
from evenhand.search.choice import Choice
from evenhand.search.own_scores import Contrasts
from evenhand.search.record import Plan, Stop

_MOST_WATCHED = 100  # options of which drift is an alarm

UNSEEN = Finding(
    "unseen",
    "No evaluations of this kind can show a difference in value between the groups that the "
    "features miss: it looks like bias. Evaluators from outside the groups, or evaluations that "
    "are known to be fair, would show it.",
    alarm=False,
)


@registered
class CarefulChoice(Choice):
    """Asks until one option is ahead of all others by own scores; features only carry the bias.

    Where the features explain the values as far as can be seen it may stop earlier, and is then
    sure only if they do. It ends before ``at_most`` if no number of evaluations, or not those that
    are left, can settle the choice, and after an alarm; `stopped_because` says which. It asks by
    batches, and looks at scores when a batch is whole.

    Parameters
    ----------
    actions
        The options.
    horizon, at_most
        Most evaluations in all, under either name; 1,000 per option if neither is given.
    confidence
        Probability that what is said holds.
    tolerance
        What the choice may lose.
    noise_scale
        Standard deviation of one evaluation; estimated from the scatter if not given. If it is
        given and the scatter is larger, the scatter counts.
    bounds
        Smallest and largest score there can be; others are refused.
    deviation
        How far values are from what the features explain (τ), where that is known; 0 asserts
        that the features explain them.
    looks
        Whether options that the design would leave out are evaluated, too, before it says what
        holds if the features are exact. Without, a lack of fit can hardly be seen.
    value_bound
        As for every policy; nothing here depends on it.
    seed
        Decides which options are looked at where there are too many to look at all.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["home", "away", "away"])
    >>> policy = eh.search.CarefulChoice(actions, at_most=600)
    >>> policy.ask().counts
    array([4, 4, 4])
    >>> policy.tell(eh.Feedback([4, 4, 4], [12.0, 20.0, 4.0], [37.0, 101.0, 5.0]))
    >>> policy.recommend().label, policy.recommend().certainty
    ('option 2', None)
    >>> print(policy.stopped_because)         # two options of one group, 4 apart: what is the bias?
    No number of evaluations can settle the choice between the groups: what the features do not
    explain is too large beside the leads. Evaluators from outside the groups, evaluations that are
    known to be fair, or more options would settle it.
    """

    name = "careful-choice"
    plays_questions = False
    _least_confidence = 0.5

    def __init__(
        self,
        actions: ActionSet,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
        bounds: tuple[float, float] | None = None,
        deviation: float | None = None,
        looks: bool = True,
        value_bound: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            actions,
            horizon,
            at_most=at_most,
            confidence=confidence,
            tolerance=tolerance,
            noise_scale=noise_scale,
            value_bound=value_bound,
            seed=seed,
        )
        if deviation is not None and (not is_number(deviation) or deviation < 0.0):
            raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
        self.deviation = None if deviation is None else float(deviation)
        self.bounds = oriented(bounds, "high", "bounds")[0]
        self._aim = CarefulAim(
            OptionFrame.of(self.actions),
            self.confidence,
            self.tolerance,
            self.stated_noise,
            self.deviation,
            bool(looks),
        )
        self._conclusions = Conclusions(self._aim, self.record)

    @property
    def conclusion(self) -> CarefulConclusion | None:
        """What the record says; None before the first batch is whole."""
        if self._conclusions.record is not self.record:
            self._conclusions = Conclusions(self._aim, self.record)
        return self._conclusions.now()

    @property
    def own_scores_within_reach(self) -> bool:
        """Whether there are few enough options to compare each by its own scores."""
        return by_own_scores(self.record, self.horizon)

    # ------------------------------------------------------------------ what is asked

    def next_plan(self, pending: Counts) -> Plan | Stop:
        """Return the next batch, or why there is none: none after an alarm."""
        alarm, now = self._alarm, self.conclusion
        if alarm is not None:
            return Stop("alarm", why=f"An assumption failed. {alarm}")
        return CarefulPlanner(
            self.actions, self._aim, self.record, now, self.horizon, self.seed
        ).next()

    def _take_in(self, feedback: Feedback) -> bool:
        """Leave aside what was not asked for."""
        return False

    def _stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        return stop.why or f"All {self.horizon} evaluations are spent; allow() goes on with more."

    # ------------------------------------------------------------------ what it says

    def recommend(self) -> Decision:
        """Return the option to choose, with its leads; sure if ``certainty`` is not None.

        ``loss`` is what the option loses at most, by own scores unless the certainty is "features
        exact"; infinite while nothing can be said.
        """
        now = self.conclusion
        if now is None or self._alarm is not None:
            return Decision.of(self, 0 if now is None else now.option)
        leads = now.look.leads_of(now.option)
        if now.certainty == "features exact":
            leads = now.look.linear_leads(now.option)
        loss = max(0.0, -float(leads[:, 1].min()))
        return self._decided(now.option, loss=loss, leads=leads, certainty=now.certainty)

    def bias(self) -> Estimate:
        """Return the (first) bias; its interval allows for what the features do not explain.

        After an alarm it is everything, at level 0.
        """
        direction = self._aim.frame.bias
        said = None if direction is None else self._corrected(None, -direction[None, :])
        if said is None:
            return Estimate.without_interval(level=self.confidence)
        value, low, high = said[0].tolist()
        return Estimate(value, low, high, self.confidence if self._alarm is None else 0.0)

    def values(self) -> Floats | None:
        """Return (k, 3) own scores less the bias, with intervals; each holds by itself."""
        look, k, found = self._look, len(self.actions), None
        if look is not None and self.own_scores_within_reach:
            found = self._corrected(np.eye(k), look.bias_part)
        if look is None or found is None:
            return np.tile([np.nan, -np.inf, np.inf], (k, 1))
        found[look.scores.counts == 0] = np.nan, -np.inf, np.inf
        return found

    @property
    def _look(self) -> CarefulLook | None:
        return None if self.conclusion is None else self.conclusion.look

    def _corrected(self, own: Floats | None, bias: Floats) -> Floats | None:
        """Return (q, 3) contrasts with intervals, everything after an alarm; None if unknown."""
        look = self._look
        if look is None or look.known is None:
            return None
        noise = look.scores.quantile(0.5 * look.levels.noise)
        contrasts = Contrasts.of(look.scores, look.known, own, bias)
        said = contrasts.interval(noise, 0.5 * look.levels.unexplained)
        if self._alarm is not None:
            said[:, 1:] = -np.inf, np.inf
        return said

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, and what no scores can say.

        A lack of fit is a note: nothing said by own scores rests on the fit. With more than 100
        options so is drift: those that were lucky at first are asked again, and seem to fall.
        """
        found = [finding for finding in super().findings() if finding.assumption != "fit"]
        if len(self.actions) > _MOST_WATCHED:  # the best by luck are asked again, and fall
            found = [replace(f, alarm=f.alarm and f.assumption != "drift") for f in found]
        refuted = math.nan if self.conclusion is None else self.conclusion.refuted
        if not math.isnan(refuted) and all(one.assumption != "intercept" for one in found):
            found.append(self._lack_of_fit(refuted))
        if not self.own_scores_within_reach:
            found.append(self._sampled())
        if self.actions.n_attributes:
            found.append(UNSEEN)
        return tuple(sorted(found, key=lambda finding: not finding.alarm))

    @property
    def _alarm(self) -> Finding | None:
        return next((finding for finding in self.findings() if finding.alarm), None)

    def _lack_of_fit(self, p: float) -> Finding:
        asserted = self.deviation == 0.0
        what = "Options are compared by their own scores instead."
        if asserted:
            what = "deviation=0 asserts that they do: leave it out, or add features."
        said = f"The features do not explain the scores (p = {p:.2g}). {what}"
        return Finding("fit", said, alarm=asserted, p_value=p)

    def _sampled(self) -> Finding:
        return Finding(
            "looks",
            f"{len(self.actions)} options are too many, for {self.horizon} evaluations or at all, "
            "to compare each by its own scores: some are sampled, and what can be sure is what "
            "holds if the features are exact.",
            alarm=False,
        )
