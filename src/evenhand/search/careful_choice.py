"""Careful choice: asks until sure, without taking the features at their word.

It is the search by blocks of `CertainChoice`, where blocks compare options by their own scores. The
features tell the bias that one has beside another of other attributes, with an error that goes with
what they miss; a lead counts by what it is over the most that this bias can be.

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o; its value is v_o = x·γ + u_o
u_o                             what the features miss: exchangeable, N(0, τ²)
P, H    (k, r)  points (x; z) and (x; c) of `OptionFrame`; B = P − H, the bias part
ȳ, V    (k,)    mean scores of the options and their variances σ_o²/n_o
K       (r, k)  (PᵀWP)⁻¹PᵀW with W = 1/(τ² + V): θ̂ = Kȳ by least squares
D               a bias Dθ: what the attributes add to i beside x has D = B_i − B_x; h = DK

What holds
----------
A bias is off by h·(ε̄ + u), of variance N = Σ h²V from noise, which evaluations shrink, and
M = τ² Σ h² from what the features miss, which they do not. τ² is what the k − r residuals have
beyond what noise makes of them, or 0. A bias is said to be off by √(t²M + s²N) at most: t is
Student's quantile with k − r degrees of freedom, exact where noise is small beside τ, and s the
larger of t and the quantile of noise at one of all looks. That takes u_o to be exchangeable: a
feature that nobody recorded and that goes with the group looks like bias.

Of δ = 1 − confidence blocks have δ', the bias the rest. Were the true biases known, W_x of the best
option x, with e(X − b_ix) in the blocks of leaders i, would exceed 1/δ' with probability δ' at
most, ever (`evidence`, `conclude`). W_x falls as b_ix grows: where no bias towards x is more than
it is said to be at most, x is ruled out with probability δ' at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, Indices, is_number
from evenhand.best import oriented
from evenhand.errors import InputError
from evenhand.numerics.least_squares import Svd
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Certainty, Estimate, Feedback, nothing
from evenhand.policies.phase_designs import student_quantile
from evenhand.policies.registry import registered
from evenhand.questions import Column, Questions
from evenhand.scores import Finding
from evenhand.search.certain_choice import CertainChoice
from evenhand.search.choice import of_record
from evenhand.search.conclude import Aim, Evidence, Tested
from evenhand.search.guess import Guess
from evenhand.search.planner import BEYOND, HOPE, Search
from evenhand.search.record import Plan, Round, Stop

_SHARE = 0.8  # of δ, for the bias
_FIRST = 4  # evaluations of each option before anything is compared
_GROWTH = 0.3  # scores until the next look, and evaluations for the bias, as a share of all so far
_PRECISE = 0.6  # share of a lead that what evaluations can tell of the bias may take
_USUAL = 0.25  # in units of the noise: what an unsure choice reckons a bias to be
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


@dataclass(frozen=True, eq=False)
class Bias:
    """What all scores by some time, a look, say of the bias of one option beside another."""

    means: Floats  # (k,) ȳ; 0 where there is none
    loud: Floats  # (k,) σ
    variances: Floats  # (k,) V; infinite where there is no score
    parts: Floats  # (k, r) B
    theta: Floats  # (r,) θ̂; 0 while nothing is known
    told: tuple[Floats, float, float] | None  # K, τ² and a deviation less; None: nothing is known
    t: float  # deviations by which a bias is off, by what features miss,
    s: float  # and by noise

    @classmethod
    def of(cls, aim: OwnAim, told: Feedback, look: int, failure: float | None = None) -> Self:
        """Return what is known at a look, the first or a later one. With probability ``failure``
        a bias is beyond what it is said to be, on one side, at any look; by default δ's share.
        """
        if failure is None:
            # Of one attribute those who have more of it, or less, can mislead; else each other kind
            kinds, attributes = aim.frame.cells.shape
            ways = min(kinds - 1, 2) if attributes == 1 else kinds - 1
            failure = _SHARE / (1.0 - _SHARE) * aim.delta / max(1, ways)
        scores, seen = Guess(aim.questions, told, aim.scale), told.counts > 0
        with np.errstate(divide="ignore"):
            variances = np.asarray(scores.own**2 / told.counts)
        P, y, V = aim.frame.points[seen], told.means[seen], variances[seen]
        span, (n, r) = Svd.of(P), P.shape
        free = n - r if aim.deviation is None else math.inf
        # All looks l have 1/(l(l + 1)) of the noise each, which adds up to 1.
        share = failure / (look * (look + 1))
        s = student_quantile(share, scores.freedom) if scores.heard else math.inf
        known = told.means, scores.own, variances, aim.frame.points - aim.frame.values
        if free < 1 or not scores.heard or span.rank < r:
            return cls(*known, np.zeros(r), None, math.inf, s)
        t = student_quantile(failure, free)
        square = less = (aim.deviation or 0.0) ** 2
        if aim.deviation is None:
            left = y - span.U @ (span.U.T @ y)
            noise = V @ (1.0 - (span.U**2).sum(axis=1))
            square = max(float(left @ left - noise) / (n - r), 0.0)
            error = math.sqrt(2.0 * V.mean() * (2.0 * square + V.mean()) / (n - r))
            less = max(square - error, 0.0)
        root = 1.0 / np.sqrt(square + V)
        Q, R = np.linalg.qr(root[:, None] * P)
        K = np.zeros((r, len(seen)))
        K[:, seen] = np.linalg.solve(R, Q.T * root)
        return cls(*known, K @ told.means, (K, square, less), t, max(t, s))

    @cached_property
    def of_options(self) -> Floats:
        """(k,) what the attributes add to options, beside the centre of all attributes."""
        return np.asarray(self.parts @ self.theta)

    def errors(self, D: Floats, own: Floats | float = 0.0) -> Floats:
        """Return (3, n) by how much biases may be off, about how much will be left of that when
        there is no noise, and the noise √N; ``own`` is further noise, a variance.
        """
        missed = low = noise = np.where(D.any(axis=1), np.inf, 0.0)
        if self.told is not None:
            K, square, less = self.told
            h = (D @ K) ** 2
            missed, low = (self.t**2 * one * h.sum(axis=1) for one in (square, less))
            noise = h @ np.where(np.isinf(self.variances), 0.0, self.variances)
        noise = noise + own
        loud = np.multiply(self.s, np.sqrt(noise), where=noise > 0.0, out=np.zeros(len(D)))
        return np.sqrt([missed + loud**2, low, noise])

    def between(self, pairs: Indices) -> Floats:
        """Return (n, r) D of pairs of options."""
        return np.asarray(self.parts[pairs[:, 0]] - self.parts[pairs[:, 1]])

    def guesses(self) -> Floats:
        """(k,) own scores, less the bias as far as it is known; −∞ without scores."""
        # Where scores leave the variance v, by the share b²/(b² + v), b what a bias usually is;
        # or by 1 − 4v/bias², if that is more, for then it is plainly there.
        seen, bias = np.isfinite(self.variances), self.of_options
        if self.told is not None:
            h = (self.parts @ self.told[0]) ** 2
            v = h @ np.where(seen, self.told[1] + self.variances, 0.0)
            usual, square = (_USUAL * self.loud) ** 2, np.maximum(bias**2, 1e-300)
            bias = bias * np.maximum(usual / (usual + v), 1.0 - 4.0 * v / square)
        return np.where(seen, self.means - bias, -np.inf)


class OwnEvidence(Evidence):
    """What blocks have shown by own scores, over the most that the bias can be at the last look:
    looks are made after openings and when scores are 30% more, and count for all blocks.
    """

    aim: OwnAim
    bias: Bias | None = None
    looks = _seen = 0  # and scores at the last of them

    def __init__(self, aim: OwnAim) -> None:
        super().__init__(aim)
        self._told, self._tested = nothing(len(aim.questions)), list[Tested]()  # bias and all

    def _hear(self, round_: Round) -> None:
        self._told = self._told + round_.total(len(self._told.counts))
        new = [Tested.by(round_, self.aim)] if len(round_.plan.pairs) else []
        self._tested += new
        n = int(self._told.counts.sum())
        if not new or n >= (1.0 + _GROWTH) * self._seen:
            self.looks, self._seen = self.looks + 1, n
            self.bias, new = Bias.of(self.aim, self._told, self.looks), self._tested
            self.blocks = []
            self.__post_init__()
        for block in new:
            self._take(block)

    def _take(self, block: Tested) -> None:
        assert self.bias is not None
        one, other = self.bias.of_options[block.pairs].T
        most = one - other + self.bias.errors(self.bias.between(block.pairs))[0]
        kept, some = replace(block, X=block.X - most), np.isfinite(most)
        super()._take(replace(kept, **{name: part[some] for name, part in vars(kept).items()}))


@dataclass(frozen=True, eq=False)
class OwnSearch(Search):
    """Plans what to ask next by own scores."""

    evidence: OwnEvidence

    @cached_property
    def guess(self) -> Guess:
        """What all scores say, less the bias as it seems."""
        n, sums, squares = self.record.known.parts
        b = self.evidence.bias.of_options if self.evidence.bias else np.zeros(len(n))
        told = Feedback(n, sums - n * b, np.maximum(squares - 2.0 * b * sums + n * b**2, 0.0))
        return Guess(self.aim.questions, told)

    def _slack(self, pairs: Indices) -> Floats:
        bias = self.evidence.bias
        assert bias is not None
        return np.asarray(super()._slack(pairs) - bias.errors(bias.between(pairs))[0])

    def next(self) -> Plan | Stop:
        """Return the next plan, or why there is none."""
        bias, k = self.evidence.bias, len(self.aim.questions)
        if bias is None and self._left:
            return self._plan(Plan("open", np.arange(k), max(1, min(_FIRST, self._left // k))))
        if bias is None or self.settled or not self._left:
            return super().next()
        pairs = self._to_tell()
        pairs = pairs[bias.between(pairs).any(axis=1)]
        return (self._on_the_bias(bias, pairs) if len(pairs) else None) or super().next()

    def _on_the_bias(self, bias: Bias, pairs: Indices) -> Plan | Stop | None:
        """Return what tells the bias, or that it cannot be told well enough; None if it is."""
        if bias.told is None:
            return Stop("stuck", why=_UNKNOWN.format(len(bias.means)))
        beyond, least, noise = bias.errors(bias.between(pairs))
        sd = np.sqrt(self.guess.deviations(pairs) ** 2 + noise**2)
        leads = self.guess.leads(pairs) + self.aim.tolerance
        hoped = leads + HOPE * sd - least
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
        if fewest > BEYOND * self._left:
            return Stop("hopeless", tuple(pairs[at].tolist()))
        n = min(self._left, math.ceil(_GROWTH * spent))
        # a bias is told soonest by evaluations in proportion to |h|σ
        shares = np.abs(bias.between(pairs[[at]]) @ bias.told[0])[0] * bias.loud
        lacking = np.maximum(shares / shares.sum() * (spent + n) - counts, 0.0)
        batch = np.ceil(lacking * (n / lacking.sum())).astype(np.int64)
        order = self._rng.permutation(np.repeat(np.arange(len(batch)), batch))
        return self._plan(Plan("open", order, forecast=spent * (due[at] ** 2 - 1.0)))


@registered
class CarefulChoice(CertainChoice):
    """Asks until one option is ahead of all others by own scores; features only carry the bias.

    It ends earlier if no number of evaluations, or not those that are left, can settle the choice.

    Parameters
    ----------
    actions, horizon, at_most, confidence, tolerance, noise_scale, seed, value_bound
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
    >>> policy.stopped_because.split(":")[0]  # two options of one group, 4 apart: what is the bias?
    'No number of evaluations can settle the choice between the groups'
    """

    name = "careful-choice"
    plays_questions = False
    _least_confidence = 0.5
    aim: OwnAim
    _kind_of_evidence = OwnEvidence
    _kind_of_search = OwnSearch
    _grounds: Certainty = "own scores"

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

    @of_record
    def _bias(self) -> Bias:
        """What all scores say of the bias."""
        evidence = self._evidence
        assert isinstance(evidence, OwnEvidence)
        return Bias.of(self.aim, self.record.everything, evidence.looks + 1, 0.5 * self.delta)

    @property
    def _option(self) -> int:
        if self._evidence.best is not None or not self.record.everything.counts.any():
            return self._search.leader
        return first_largest(self._bias.guesses())

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
        ok = {"fit": self.deviation != 0.0, "drift": len(self.options) > _MOST_WATCHED}
        found = [replace(f, alarm=f.alarm and not ok.get(f.assumption)) for f in super().findings()]
        found += [UNSEEN] if self.actions.n_attributes else []
        return tuple(sorted(found, key=lambda finding: not finding.alarm))


def _spans(values: Floats, off: Floats) -> Floats:
    """Return (n, 3) values that may be off by so much."""
    return np.column_stack([np.where(np.isinf(off), np.nan, values), values - off, values + off])
