"""Careful choice: asks until sure, without taking the features at their word.

It is the search by blocks of `CertainChoice`, where blocks compare options by their own scores: a
lead is a difference of means, which holds the bias b_ix that one option has beside another. Who has
the same attributes has none. For others the features tell it, with an error that goes with what
they miss (`own_scores`); so a lead counts by what it is over the most that this bias can be.

What holds
----------
Let δ = 1 − confidence; a share of it is for the bias, the rest for blocks. Were the true biases
known, W_x of the best option x, with e(X − b_ix) in the blocks of leaders i, would exceed 1/δ' with
probability δ' at most, ever (`evidence`, `conclude`). W_x falls as b_ix grows. So at a look at
which no bias towards x is larger than it is said to be at most, W_x is no larger than that, and x
is ruled out with probability δ' at most. Looks are made after openings and when scores are 30%
more; at each the most that biases can be is found anew, from all scores, and counts for all blocks.

Within a group that is proved, for symmetric noise of any size. Across groups it is a posterior for
what the features miss, if that has nothing to do with the group: `Bias` says how far it is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, Indices, is_number
from evenhand.best import oriented
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Certainty, Estimate, Feedback, Selection, nothing
from evenhand.policies.registry import registered
from evenhand.questions import Column, Questions
from evenhand.search.certain_choice import CertainChoice
from evenhand.search.choice import of_record
from evenhand.search.conclude import Aim, Evidence, Tested
from evenhand.search.guess import Guess
from evenhand.search.own_scores import Bias
from evenhand.search.planner import Search
from evenhand.search.record import Plan, Record, Stop

_SHARE = 0.8  # of δ, for the bias
_FIRST = 4  # evaluations of each option before anything is compared
_GROWTH = 0.3  # scores until the next look, and evaluations for the bias, as a share of all so far
_PRECISE = 0.6  # share of a lead that what evaluations can tell of the bias may take
_HOPE, _BEYOND = 3.0, 1.5  # give up if even leads 3 deviations up take 1.5 times what is left
_MOST_WATCHED = 100  # options of which drift is an alarm

UNSEEN = Finding(
    "unseen",
    "No evaluations of this kind can show a difference in value between the groups that the "
    "features miss: it looks like bias. Evaluators from outside the groups, or evaluations that "
    "are known to be fair, would show it.",
    alarm=False,
)
_TOO_LARGE = (
    "No number of evaluations can settle the choice between the groups: what the features do not "
    "explain is too large beside the leads. Evaluators from outside the groups, evaluations that "
    "are known to be fair, or more options would settle it."
)
_UNKNOWN = (
    "Nothing is known of the bias: {} options leave nothing to see by how far the features explain "
    "the values. Add options, or leave out features."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnAim(Aim):
    """What is to be known by own scores, and by features that miss something."""

    frame: OptionFrame
    scale: float | None  # standard deviation of a score; None if it is not stated
    deviation: float | None  # τ where it is known

    def bias(self, told: Feedback, look: int, failure: float | None = None) -> Bias:
        """Return what scores say of the bias at a look; without a ``failure``, of one side, of all
        options beside the best, with their share of δ.
        """
        if failure is None:
            # Of one attribute those who have more of it, or less, can mislead; else each other kind
            kinds, attributes = self.frame.cells.shape
            ways = min(kinds - 1, 2) if attributes == 1 else kinds - 1
            failure = _SHARE / (1.0 - _SHARE) * self.delta / max(1, ways)
        scores = Guess(self.questions, told, self.scale)
        return Bias.of(self.frame, scores, self.deviation, failure, look)


class OwnEvidence(Evidence):
    """What blocks have shown by own scores, over the most that the bias can be at the last look."""

    aim: OwnAim

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bias: Bias | None = None
        self.looks = 0
        self._tested: list[Tested] = []  # with the bias in their leads
        self._told, self._seen = nothing(len(self.aim.questions)), 0  # scores, and at the last look

    def follow(self, record: Record) -> Evidence:
        """Take in the blocks that became whole since."""
        for r in record.finished[self.read :]:
            round_ = record.rounds[r]
            self._told = self._told + round_.total(record.q)
            new = [Tested.by(round_, self.aim)] if len(round_.plan.pairs) else []
            self._tested += new
            n = int(self._told.counts.sum())
            if not new or n >= (1.0 + _GROWTH) * self._seen:
                self.looks, self._seen = self.looks + 1, n
                self.bias, new = self.aim.bias(self._told, self.looks), self._tested
                self.blocks = []
                super().__post_init__()
            for block in new:
                self._take(self._less_bias(block))
        self.read = len(record.finished)
        return self

    def _less_bias(self, block: Tested) -> Tested:
        assert self.bias is not None
        most = self.bias.most(block.pairs)
        some = np.isfinite(most)
        kept = replace(block, X=block.X - most)
        return replace(kept, **{name: part[some] for name, part in vars(kept).items()})

    def copied(self, aim: Aim) -> Evidence:
        """Return the same of an equal aim, to be worked out again."""
        return OwnEvidence(aim)


@dataclass(frozen=True, eq=False)
class OwnSearch(Search):
    """Plans what to ask next by own scores."""

    evidence: OwnEvidence

    @property
    def bias(self) -> Bias | None:
        """What is known of the bias; None before the first look."""
        return self.evidence.bias

    @cached_property
    def guess(self) -> Guess:
        """What all scores say, less the bias as it seems."""
        n, sums, squares = self.record.known.parts
        b = self.bias.of_options if self.bias else np.zeros(len(n))
        told = Feedback(n, sums - n * b, np.maximum(squares - 2.0 * b * sums + n * b**2, 0.0))
        return Guess(self.aim.questions, told)

    def _slack(self, pairs: Indices) -> Floats:
        assert self.bias is not None
        return np.asarray(super()._slack(pairs) - self.bias.errors(self.bias.between(pairs))[0])

    def next(self) -> Plan | Stop:
        """Return the next plan, or why there is none."""
        if self.bias is None and self._left:
            k = len(self.aim.questions)
            times = max(1, min(_FIRST, self._left // k))
            return self._plan(Plan("open", np.arange(k), times))
        if self.bias is None or self.settled or not self._left:
            return super().next()
        pairs = self._to_tell()
        pairs = pairs[self.bias.between(pairs).any(axis=1)]
        return (self._on_the_bias(self.bias, pairs) if len(pairs) else None) or super().next()

    def _on_the_bias(self, bias: Bias, pairs: Indices) -> Plan | Stop | None:
        """Return what tells the bias, or that it cannot be told well enough; None if it is."""
        if bias.told is None:
            return Stop("stuck", why=_UNKNOWN.format(len(bias.means)))
        beyond, least, noise = bias.errors(bias.between(pairs))
        sd = np.sqrt(self.guess.deviations(pairs) ** 2 + noise**2)
        leads = self.guess.leads(pairs) + self.aim.tolerance
        hoped = leads + _HOPE * sd - least
        if (hoped < 0.0).any():
            return Stop("stuck", why=_TOO_LARGE)
        margin = np.where(leads > least, np.maximum(leads, sd) - least, hoped)
        due = (beyond - least) / (_PRECISE * np.maximum(margin, 1e-300))
        at = int(np.argmax(due))
        if due[at] <= 1.0:
            return None
        # what can be told shrinks with the root of the number of evaluations
        counts = self.record.everything.counts
        spent = float(counts.sum())
        fewest = spent * ((due * margin / np.maximum(hoped, 1e-300))[at] ** 2 - 1.0)
        if fewest > _BEYOND * self._left:
            return Stop("hopeless", tuple(pairs[at].tolist()))
        n = min(self._left, math.ceil(_GROWTH * spent))
        lacking = np.maximum(bias.shares(pairs[at]) * (spent + n) - counts, 0.0)
        batch = np.ceil(lacking * (n / lacking.sum())).astype(np.int64)
        rng = np.random.default_rng([self.seed, len(self.record.rounds)])
        order = rng.permutation(np.repeat(np.arange(len(batch)), batch))
        return self._plan(Plan("open", order, forecast=spent * (due[at] ** 2 - 1.0)))


@registered
class CarefulChoice(CertainChoice):
    """Asks until one option is ahead of all others by own scores; features only carry the bias.

    It ends earlier if no number of evaluations, or not those that are left, can settle the choice.

    Parameters
    ----------
    actions
        The options.
    horizon, at_most, confidence, tolerance, noise_scale, seed, value_bound
        As for every search; only what is said of the bias rests on the noise.
    bounds
        Smallest and largest score there can be; others are refused.
    deviation
        How far values are from what the features explain (τ), where that is known; 0 asserts
        that the features explain them.

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
    aim: OwnAim
    _kind_of_evidence = OwnEvidence
    _kind_of_search = OwnSearch

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
        seed: int = 0,
        value_bound: float | None = None,
    ) -> None:
        if deviation is not None and (not is_number(deviation) or deviation < 0.0):
            raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
        super().__init__(
            actions,
            horizon,
            at_most=at_most,
            confidence=confidence,
            tolerance=tolerance,
            noise_scale=noise_scale,
            seed=seed,
            value_bound=value_bound,
        )
        self.deviation = None if deviation is None else float(deviation)
        self.bounds = oriented(bounds, "high", "bounds")[0]
        names = list(self.options.labels)
        own = Questions.panel(names, ["the evaluator"], capacity=None) if len(names) > 1 else None
        self.aim = OwnAim(
            own or self.questions,
            self.target,
            (1.0 - _SHARE) * self.delta,
            frame=OptionFrame.of(self.actions),
            scale=self.stated_noise,
            deviation=self.deviation,
        )
        self._followed = self.record, OwnEvidence(self.aim)

    def _stopped_by(self, stop: Stop) -> str:
        """Return in words why nothing more is asked."""
        if stop.reason == "certain" and not any(one.alarm for one in self.findings()):
            return f"{self._certain(stop.options[0], None)} {self._sure}."
        return stop.why or super()._stopped_by(stop)

    # ------------------------------------------------------------------ what it says

    @of_record
    def _bias(self) -> Bias:
        """What all scores say of the bias."""
        evidence = self._evidence
        assert isinstance(evidence, OwnEvidence)
        return self.aim.bias(self.record.everything, evidence.looks + 1, 0.5 * self.delta)

    @property
    def _option(self) -> int:
        if self._evidence.best is not None or not self.record.everything.counts.any():
            return self._search.leader
        return first_largest(self._bias.guesses())

    def _rests_on(self, loss: float, selection: Selection | None) -> Certainty | None:
        """Return what rests on scores, where a loss is known."""
        return "own scores" if math.isfinite(loss) else None

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return what attributes add; intervals allow for what the features do not explain."""
        bias, frame, d = self._bias, self.aim.frame, self.questions.n_features
        D, units = frame.transform[:, d:].T, np.eye(frame.transform.shape[1])[d:]
        told = np.array([frame.space.contains(unit) for unit in units], dtype=np.bool_)
        spans = _spans(D @ bias.theta, np.where(told, bias.errors(D)[0], np.inf)).tolist()
        return [
            (column, Estimate(value, low, high, self.confidence))
            for column, (value, low, high) in zip(self.questions.columns, spans, strict=True)
        ]

    def values(self) -> Floats | None:
        """Return (k, 3) own scores less the bias, with intervals; each holds by itself."""
        bias = self._bias
        return _spans(bias.means - bias.of_options, bias.errors(bias.parts, bias.variances)[0])

    def _lead(self, option: int, others: Indices) -> Floats:
        """Return (n, 3) leads of an option, with intervals."""
        bias = self._bias
        own, V = bias.means - bias.of_options, bias.variances
        off = bias.errors(bias.parts[option] - bias.parts[others], V[option] + V[others])[0]
        return _spans(own[option] - own[others], off)

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, and what no scores can say.

        A lack of fit is a note: nothing said by own scores rests on the fit. With more than 100
        options so is drift: those that were lucky at first are asked again, and seem to fall.
        """
        notes = {"fit"} if self.deviation != 0.0 else set()
        notes |= {"drift"} if len(self.options) > _MOST_WATCHED else set()
        found = [
            replace(f, alarm=f.alarm and f.assumption not in notes) for f in super().findings()
        ]
        found += [UNSEEN] if self.actions.n_attributes else []
        return tuple(sorted(found, key=lambda finding: not finding.alarm))


def _spans(values: Floats, off: Floats) -> Floats:
    """Return (n, 3) values that may be off by so much."""
    return np.column_stack([np.where(np.isinf(off), np.nan, values), values - off, values + off])
