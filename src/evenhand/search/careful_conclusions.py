"""What a careful choice is sure of, and why: what is concluded from a record of batches.

An option's value is x·γ + u_o: what its features explain and what they do not, of deviation τ that
nobody knows (`own_scores` has the notation). There are two kinds of certainty, never mixed.

own scores      Options are compared by their own scores; the features only carry the bias, and
                the interval of a lead holds what τ, and not knowing it, may do to that.
features exact  Values are taken to be x·γ. Said only while no lack of fit was seen, after looks
                that could have seen it: 16(1 + 1/(k − r)) evaluations of every option,
                fewer where k − r is above 100.

A batch is a plan of the record. When it is over all scores by then are looked at (`CarefulLook`):
1. Scores too far from the linear fit (an F test, whenever the scores have doubled) end the linear
   mode for good.
2. An option that leads all others by its own scores is certain.
3. In linear mode, an option that leads all others on the model is certain once every option has had
   its looks and the test was made again.

What holds
----------
Let δ = 1 − confidence. Leads within a group are proved for Gaussian noise of known scale, at all
times at once, at δ/5 for all rivals (`DuelScores`). An unknown scale is estimated by the scatter of
options about their own means, the largest of that of all, of the group and of the option, and made
up for by Student's quantiles: approximate. Leads across groups are a posterior under exchangeable
Gaussian u_o, δ on the side that matters, with the noise at δ/5 for all looks and rivals: exactly
Student's with k − r degrees of freedom when noise is small beside τ, approximate before; counts
that earlier scores decided are treated as fixed. Features exact: pooled least squares at 3δ/5 for
all looks and rivals, with the same remark; `CertainChoice` has a proof instead. All lack-of-fit
tests together raise a false alarm with a probability of at most 3%.

Levels are shared out among the looks that there can be within what was allowed when the batch was
planned (`Plan.at_most`); so what is concluded follows from the record alone. Where more is allowed
again and again there are more looks than that: one whose share is more than what is left has a
tenth of it, so that all looks together never have more than there is. Options that came
later (`Plan.among`) are no rivals at earlier looks, and nothing is certain before they were scored.

Leads within a group come from `DuelScores`, those across groups from contrasts with the bias taken
out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Certainty, nothing
from evenhand.search.own_scores import (
    Contrasts,
    Deviations,
    DuelScores,
    LinearFit,
    OwnScores,
    deviations,
)
from evenhand.search.record import Plan, Record

FIRST = 4
"""Evaluations of each option before anything is decided."""

GROWTH = 0.3
"""A batch, as a share of what was spent."""

_LOOKS = 16  # evaluations of each option that see a lack of fit, where many are to spare
_SPARE = 100.0  # options beyond the parameters, from which on fewer looks at each will do
_ALARM = 0.03  # probability of seeing a lack of fit where there is none, in all tests
_REST = 0.1  # of what is left, to a look that there should not have been
_MOST_PAIRED = 1_000  # options that are compared in pairs; memory grows with the square
MOST_GROUPS = 8
"""More distinct attributes than that are no groups."""

_USUAL_BIAS = 0.25  # in units of the noise: what an unsure choice reckons a bias to be


class FailureProbabilities(NamedTuple):
    """Probabilities of failure, each for one statement."""

    unexplained: float  # what the features do not explain misleads about a lead across groups
    noise: float  # noise does, at one look
    duel: float  # noise does about a lead within a group, at any time
    linear: float  # noise misleads about a lead of the linear model, at one look


@dataclass(frozen=True, eq=False)
class CarefulLook:
    """All scores by the end of a batch, and what they say."""

    frame: OptionFrame
    scores: OwnScores
    duels: DuelScores | None  # comparisons within groups; None where there are too many options
    levels: FailureProbabilities
    deviation: float | None  # τ where it is known

    @cached_property
    def known(self) -> Deviations | None:
        """What is known of τ; None if nothing is."""
        s = self.scores
        return deviations(self.frame.points, s.means, s.variances, self.deviation)

    @cached_property
    def fit(self) -> LinearFit | None:
        """The linear fit; None while the options with scores do not show all parameters."""
        return LinearFit.of(self.frame.points, self.scores)

    @cached_property
    def bias_part(self) -> Floats:
        """B, (k, r)."""
        return np.asarray(self.frame.points - self.frame.values)

    @cached_property
    def guesses(self) -> Floats:
        """(k,) own scores, less the bias as far as it is known; −∞ without scores."""
        # A bias of which the scores leave the variance s² is taken off by the share b²/(b² + s²),
        # with b what a bias usually is, as if its law were Gaussian; or by 1 − 4s²/bias² if that is
        # more, for then it is plainly there. So scores that tell little of it stay as they are.
        seen = self.scores.counts > 0
        values = np.where(seen, self.scores.means, -np.inf)
        if self.known is None:
            return values
        parts = Contrasts.of(self.scores, self.known, None, -self.bias_part)
        usual = (_USUAL_BIAS * self.scores.scales) ** 2
        bias, variance = parts.middle, np.maximum(parts.spread, 1e-300)
        share = np.maximum(
            usual / (usual + variance), 1.0 - 4.0 * variance / np.maximum(bias**2, 1e-300)
        )
        return np.asarray(values - share * bias)

    @cached_property
    def contenders(self) -> list[int]:
        """What may be the best: the best guess, and the best of every group by its own scores."""
        seen = np.where(self.scores.counts > 0, self.scores.means, -np.inf)
        found = [first_largest(self.guesses)]
        if len(self.frame.cells) <= MOST_GROUPS:
            for g in range(len(self.frame.cells)):
                (members,) = np.nonzero(self.frame.cell == g)
                found.append(int(members[first_largest(seen[members])]))
        return [x for x in dict.fromkeys(found) if self.scores.counts[x] > 0]

    def same(self, i: int) -> NDArray[np.bool_]:
        """Tell (k,) which options have the attributes of option i."""
        return np.asarray(self.frame.cell == self.frame.cell[i])

    def leads_of(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option by own scores, with intervals."""
        if i not in self._leads:
            self._leads[i] = self._own_leads(i)
        return self._leads[i]

    @cached_property
    def _leads(self) -> dict[int, Floats]:
        return {}

    def _own_leads(self, i: int) -> Floats:
        k, scores = len(self.scores.counts), self.scores
        leads = np.tile([np.nan, -np.inf, np.inf], (k, 1))
        if self.duels is not None:
            same = self.same(i)
            stretch = scores.quantile(self.levels.duel) / -float(ndtri(self.levels.duel))
            if math.isfinite(stretch):
                leads[same] = self.duels.leads(i, scores.scales, self.levels.duel, stretch)[same]
            if self.known is not None and not same.all():
                across = self._contrasts(i, self.known)
                noise = scores.quantile(self.levels.noise)
                leads[~same] = across.interval(noise, self.levels.unexplained)[~same]
        leads[scores.counts == 0] = (np.nan, -np.inf, np.inf)
        leads[i] = 0.0
        return leads

    def _contrasts(self, i: int, known: Deviations) -> Contrasts:
        own = -np.eye(len(self.scores.counts))
        own[:, i] += 1.0
        return Contrasts.of(self.scores, known, own, self.bias_part[i] - self.bias_part)

    def linear_leads(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option if the features are exact, with intervals."""
        assert self.fit is not None
        directions = self.frame.values[i] - self.frame.values
        leads = directions @ self.fit.parameters
        width = self.scores.quantile(self.levels.linear) * self.fit.deviations(directions)
        return np.column_stack([leads, leads - width, leads + width])


@dataclass(frozen=True, eq=False)
class CarefulAim:
    """What is to be known, and what is taken for granted."""

    frame: OptionFrame
    confidence: float
    tolerance: float  # what the choice may lose
    noise: float | None  # standard deviation σ of a score; None if it is not known
    deviation: float | None
    looks: bool

    @cached_property
    def groups(self) -> Indices:
        """(k,) the group of each option; attributes of more than a few kinds are no groups."""
        cells = self.frame.cell
        return cells if len(self.frame.cells) <= MOST_GROUPS else np.zeros_like(cells)

    def shares(self, k: int, at_most: int, spent: int) -> Floats:
        """Return (2,) what share one look has of the noise of all looks; and in linear mode."""
        # Looks take equal shares of the noise; in linear mode half of it is shared out by what was
        # spent, since close leads are settled late: Σ spent ≤ T (1 + 1/growth) over all looks.
        looks = 3.0 + math.log(at_most / min(FIRST * k, at_most)) / math.log1p(GROWTH)
        late = spent / (at_most * (1.0 + 1.0 / GROWTH))
        return np.array([1.0 / looks, 0.5 / looks + 0.5 * late])

    def levels(self, k: int, shares: Floats) -> FailureProbabilities:
        """Share δ out among what is said of k options at a look that has these shares of noise."""
        (cells, attributes), delta = self.frame.cells.shape, 1.0 - self.confidence
        # two groups can mislead in one direction, one attribute in two, more in any
        directions = min(cells - 1, 2) if attributes == 1 else cells - 1
        return FailureProbabilities(
            unexplained=delta / max(directions, 1),
            noise=0.2 * delta / k * float(shares[0]),
            duel=min(0.2 * delta / max(k - 1, 1), 0.06),
            linear=0.6 * delta / k * float(shares[1]),
        )

    def lacking(self, counts: Counts) -> Counts:
        """Return (k,) evaluations that are lacking for a lack of fit to be seen."""
        # The test sees τ²n/σ² in units of √(2/spare), with so many options to spare beyond the
        # parameters: where they are many, fewer looks at each see as much.
        if not self.looks:
            return np.zeros_like(counts)
        spare = max(int((counts > 0).sum()) - self.frame.rank, 1)
        fewer = min(1.0, math.sqrt(_SPARE / spare))
        wanted = max(FIRST, math.ceil(_LOOKS * (1.0 + 1.0 / spare) * fewer))
        return np.where(counts > 0, np.maximum(wanted - counts, 0), 0)


@dataclass(frozen=True, eq=False)
class CarefulConclusion:
    """What is known after a batch."""

    look: CarefulLook  # all scores by then
    option: int = 0
    # on what it rests that no option is better by more than the tolerance
    certainty: Certainty | None = None
    # whether values are taken to be x·γ: no lack of fit seen, no deviation stated
    linear: bool = True
    refuted: float = math.nan  # p-value of the fit that was refuted; else NaN
    tests: int = 0  # F tests so far
    next_test: int = 0  # number of scores at which the next one is made

    @property
    def spent(self) -> int:
        """Scores by then."""
        return int(self.look.scores.counts.sum())

    def tested(self, misfit: float, level: float) -> CarefulConclusion:
        """Return it after a test of the fit."""
        return self if misfit >= level else replace(self, linear=False, refuted=misfit)


class Conclusions:
    """What a record, which may grow, says; worked out once for every plan that is over."""

    def __init__(self, aim: CarefulAim, record: Record) -> None:
        self.aim, self.record = aim, record
        self._over, self._told = 0, nothing(record.q)  # plans that are over, and their scores
        self._duels: DuelScores | None = None
        self._now: CarefulConclusion | None = None
        self._left = np.ones(2)  # of the noise of all looks; see `CarefulAim.shares`

    def now(self) -> CarefulConclusion | None:
        """Return what is known after the plans that are over; None before there are scores."""
        record = self.record
        while self._over < len(record.rounds) and not record.rounds[self._over].open:
            round_ = record.rounds[self._over]
            self._over += 1
            if not round_.count:
                continue
            total = round_.total(record.q)
            self._told = self._told + total
            if by_own_scores(record):
                duels = self._duels or DuelScores.none(record.q)
                self._duels = duels.after(total.counts, total.means)
            self._now = self._after(round_.plan)
        return self._now

    def _after(self, plan: Plan) -> CarefulConclusion:
        """Conclude from all scores by the end of a plan."""
        aim, now = self.aim, self._looked(plan)
        look, fit, there = now.look, now.look.fit, _there(plan, self.record.q)
        everybody = len(there) == self.record.q
        least = np.array([look.leads_of(i)[there, 1].min() for i in look.contenders])
        if everybody and float(least.max()) >= -aim.tolerance:
            ahead = look.contenders[first_largest(least)]
            return replace(now, option=ahead, certainty="own scores")
        if now.linear and fit is not None and look.scores.differ:
            best = int(there[first_largest(aim.frame.values[there] @ fit.parameters)])
            leads = (look.linear_leads(best)[there, 1] >= -aim.tolerance).all()
            checked = not math.isnan(fit.misfit) and not aim.lacking(look.scores.counts).any()
            if not (leads and checked):
                return replace(now, option=best)
            now = now.tested(fit.misfit, 0.5 * _ALARM)
            if now.linear:
                return replace(now, option=best, certainty="features exact" if everybody else None)
        return replace(now, option=look.contenders[0])

    def _looked(self, plan: Plan) -> CarefulConclusion:
        """Return all scores by the end of a plan, with what was concluded before; test the fit."""
        # All tests at doublings have half of the level, the test before something is said the
        # other.
        aim, before, k = self.aim, self._now, len(_there(plan, self.record.q))
        linear = not aim.deviation if before is None else before.linear
        spent = int(self._told.counts.sum())
        shares = aim.shares(k, max(plan.at_most, spent), spent)
        shares = np.where(shares <= self._left, shares, _REST * self._left)
        self._left = self._left - shares
        look = CarefulLook(
            aim.frame,
            OwnScores.of(self._told, aim.groups, aim.noise),
            self._duels,
            aim.levels(k, shares),
            None if aim.deviation == 0.0 and not linear else aim.deviation,
        )
        if before is None:
            now = CarefulConclusion(look, linear=linear)
        else:
            now = replace(before, look=look, certainty=None)
        fit = look.fit
        if not linear or fit is None or math.isnan(fit.misfit) or spent < now.next_test:
            return now
        tests = now.tests + 1
        now = replace(now, tests=tests, next_test=2 * spent)
        return now.tested(fit.misfit, 0.5 * _ALARM / (tests * (tests + 1)))


def _there(plan: Plan, k: int) -> Indices:
    """Return the options that there were when a plan was made."""
    return np.arange(k) if plan.among is None else plan.among


def by_own_scores(record: Record, at_most: int = 0) -> bool:
    """Tell whether there are few enough options to compare each by its own scores, by what was
    allowed when the first plan was made; before that, by ``at_most``.
    """
    if not record.rounds:
        return record.q <= _MOST_PAIRED and at_most >= 2 * record.q
    first = record.rounds[0].plan
    return record.q <= _MOST_PAIRED and first.at_most >= 2 * len(_there(first, record.q))
