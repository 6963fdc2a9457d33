"""One look: so many evaluations are made, by some of the evaluators, and then looked at once.

Tables of scores are drawn by values as assumed, and what is made of them is what `decide` does:
least squares, so that it does not matter how lenient evaluators are or by how much they favour
their own; the m of largest estimates are chosen, or those that look better than a bar or than one
option. How many stand at the line, and how often all of it is settled, is concluded from some of
the tables, and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import ArrayValue, Counts, Floats, Indices
from evenhand.inference import Target, conclude, design_of_answers
from evenhand.inference.chances import Drawn
from evenhand.linear import Design, Fit
from evenhand.planning.assumed import Assumed
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.accuracy import Accuracy, accuracy
from evenhand.questions.hand_outs import hand_out

_DRAWS = 300, 1500  # of what may come out: the fewest, and the most,
_DRAWN = 60_000  # and values of all of them
_ROUNDS = 100, 2_000  # tables of which it is counted who is right: the fewest, and the most,
_ROUNDED = 200_000  # and values of all of them
_TABLES = 8, 60  # tables that are concluded from: the fewest, and the most,
_WORK = 30_000  # and pairs of options of all of them
_MOST = 200  # options, up to which there are any
_MORE = 2  # reviews of each more than are wanted, of which it is said what they buy
_FEWEST = 2  # reviews of each from which on
_ROWS = 8  # there are so many rows at most


@dataclass(frozen=True, eq=False)
class ReviewStep(ArrayValue):
    """What comes of so many evaluations of each option.

    Parameters
    ----------
    reviews
        How many evaluations an option has on average.
    evaluations, price
        How many there are in all, and what they cost.
    difference
        Half-width of the interval of a difference of two options, on average; infinite where not
        all can be compared.
    right
        How many of those chosen are expected to be among the m best; of a bar or one option, how
        many options are expected to be on that side of it on which they look.
    lost
        What is expected to be lost per place, in units of value; of a bar or one option, how far
        from the line those are on average who look to be on the wrong side.
    allowed
        Whether workloads allow it; else it is what would come of larger ones.
    at_line
        Of the plan itself: how many options are expected to stand at the line, with a chance
        between 5% and 95%, at a confidence of 95%. NaN where there are very many.
    settled
        Chance that the whole list is certain; NaN likewise.
    sure
        Of a bar or one option, how many options are expected to be surely on one side, of all at
        once; NaN likewise, and of the m best.
    """

    reviews: float
    evaluations: int
    price: float
    difference: float
    right: float
    lost: float
    allowed: bool = True
    at_line: float = math.nan
    settled: float = math.nan
    sure: float = math.nan


@dataclass(frozen=True, eq=False)
class OneLook:
    """What one look at evaluations tells of a target."""

    questions: Questions
    assumed: Assumed
    target: Target  # of which the highest values are the best
    confidence: float
    sigma: float  # the noise: values are assumed in units of it

    @property
    def calls(self) -> int:
        """How many are chosen, or called better or worse than a line."""
        return calls_of(self.target, len(self.questions.options))

    def probability(self, counts: Counts) -> float:
        """Return the probability that the leader is certainly the best, of (q,) evaluations."""
        found = accuracy(self.questions, counts.astype(np.float64))
        return self._certain(found) if found.comparable else 0.0

    def _certain(self, found: Accuracy) -> float:
        rng, k = np.random.default_rng(0), len(found.own)
        n = _clipped(_DRAWN // k, _DRAWS)
        seen = self.assumed.draws(n, rng) + found.errors(n, rng)
        return float(self._sure(seen, found).mean())

    def _sure(self, seen: Floats, found: Accuracy) -> NDArray[np.bool_]:
        """Tell of (n, k) values as they may be seen whether the leader is sure to be the best, by
        the test of `inference.conclude` where the noise is known.
        """
        leaders, sure = seen.argmax(axis=1), np.ones(len(seen), dtype=np.bool_)
        share = (1.0 - self.confidence) / max(2, seen.shape[1] - 1)  # of each rival, by a tolerance
        tolerance = self.target.tolerance / self.sigma
        for leader in np.unique(leaders).tolist():
            mine = leaders == leader
            errors = np.sqrt(found.lead_variances(leader))
            ahead = seen[mine, leader][:, None] - seen[mine]
            ahead[:, leader] = np.inf
            sure[mine] = (ahead > self._quantile * errors).all(axis=1)
            within = ahead + tolerance > special.ndtri(1.0 - share) * errors
            sure[mine] |= bool(tolerance) & within.all(axis=1)
        return sure

    @property
    def _quantile(self) -> float:
        """Standard errors in the half-width of an interval."""
        return float(special.ndtri(0.5 + 0.5 * self.confidence))

    # ------------------------------------------------------------------ hand-outs

    @property
    def most(self) -> int:
        """How many evaluations there can be, within workloads and without conflicts."""
        asked = np.bincount(
            self.questions.evaluator, self.questions.capacity > 0, len(self.questions.evaluators)
        )
        return int(np.minimum(asked, self.questions.workload).sum())

    def counts(self, n: int) -> Counts | None:
        """Return (q,) the hand-out of n evaluations, whatever they cost; None if it is no panel."""
        return hand_out(_plain(self.questions, np.minimum(self.questions.capacity, 1)), n)

    def expected(self, counts: Counts) -> ReviewStep:
        """Return what comes of a hand-out, and how much of it will be certain."""
        step = self.step(counts)
        if math.isinf(step.difference):
            return replace(step, at_line=float(self.calls), settled=0.0)
        if self.target.top == 1:
            return replace(step, settled=self.probability(counts))
        k = len(self.questions.options)
        if k > _MOST:
            return step
        design, _, tables = self._tables(counts, _clipped(_WORK // k**2, _TABLES))
        at_line, settled, sure = self._concluded(design, tables)
        return replace(step, at_line=at_line, settled=settled, sure=sure)

    def step(self, counts: Counts, *, allowed: bool = True) -> ReviewStep:
        """Return what comes of a hand-out."""
        k, n = len(self.questions.options), int(counts.sum())
        found = accuracy(self.questions, counts.astype(np.float64))
        apart = math.sqrt(found.mean_lead_variance()) * self._quantile * self.sigma
        right, lost = self._right(counts) if math.isfinite(apart) else (0.0, 0.0)
        price = float(counts @ self.questions.prices)
        return ReviewStep(n / k, n, price, apart, right, lost, allowed)

    def _tables(self, counts: Counts, n: int) -> tuple[Design, Floats, Floats]:
        """Return the design of so many evaluations, and n tables: values, and scores."""
        on, rng = np.flatnonzero(counts), np.random.default_rng(0)
        design = design_of_answers(self.questions, on, np.zeros(len(on)))
        true = self.assumed.draws(n, rng)
        scores = true[:, self.questions.about[on, 0]] + rng.standard_normal((n, len(on)))
        return design, true, scores

    def _right(self, counts: Counts) -> tuple[float, float]:
        """Return how many are right, and what is lost."""
        n = _clipped(_ROUNDED // len(self.questions.options), _ROUNDS)
        design, true, tables = self._tables(counts, n)
        seen, m = _values(Fit(design), tables), self.target.top
        if m is not None:
            best, chosen = (np.argsort(-values, axis=1)[:, :m] for values in (true, seen))
            right = float((best[:, :, None] == chosen[:, None, :]).sum()) / n
            worth = [np.take_along_axis(true, some, axis=1).sum(axis=1) for some in (best, chosen)]
            return right, self.sigma * float((worth[0] - worth[1]).mean()) / m
        aim, rival = self._aim, self._rival
        away, looks = (
            (values if rival is None else values - values[:, [rival]])[:, self._held]
            - (aim.bar or 0.0)
            + aim.tolerance
            for values in (true, seen)
        )
        wrong = (away > 0.0) != (looks > 0.0)
        lost = float(np.abs(away[wrong]).mean()) if wrong.any() else 0.0
        return float((~wrong).sum()) / n, self.sigma * lost

    def _concluded(self, design: Design, tables: Floats) -> tuple[float, float, float]:
        """Return how many stand at the line, how often all is settled, and how many are surely on
        one side of it.
        """
        m, delta, found = self.target.top, 1.0 - self.confidence, []
        for y in tables:
            fit = Fit(replace(design, y=y))
            if fit.silent:
                return math.nan, 0.0, 0.0 if m is None else math.nan
            if m is None:
                said = conclude(fit, self._aim, delta, rival=self._rival)
                chances = said.chances[self._held]
                settled, sure = said.sure, float(len(self._held) - len(said.undecided))
            else:  # `conclude` asks for all leads, these are those across the line
                chances, settled = _across(fit, m, delta)
                sure = math.nan
            at_line = (chances > delta) & (chances < 1.0 - delta)
            found.append((float(at_line.sum()), float(settled), sure))
        at, settled_share, sure_mean = np.mean(found, axis=0).tolist()
        return at, settled_share, sure_mean

    def curve(self, planned: ReviewStep) -> list[ReviewStep]:
        """Return what fewer and more evaluations of each option come to, beside those planned."""
        k, e = len(self.questions.options), len(self.questions.evaluators)
        last = min(e, math.ceil(planned.reviews) + _MORE)
        first = max(min(_FEWEST, last), last - _ROWS + 1)
        steps = [planned]
        for each in range(first, last + 1):
            if each == planned.reviews:
                continue
            n = round(each * k)
            allowed, here = n <= self.most, self
            if not allowed:  # as if everybody had the time
                work = np.where(self.questions.workload > 0, UNLIMITED, 0)
                here = replace(self, questions=self.questions._changed(workload=work))
            counts = here.counts(n)
            assert counts is not None
            steps.append(here.step(counts, allowed=allowed))
        return sorted(steps, key=lambda step: step.reviews)

    def without_one(self, counts: Counts) -> bool:
        """Whether all options can be compared if any one evaluator stays away."""
        who = self.questions.evaluator
        return all(
            accuracy(self.questions, np.where(who == e, 0.0, counts)).comparable
            for e in range(len(self.questions.evaluators))
        )

    @property
    def _aim(self) -> Target:
        """The target in units of the noise, a bar from where values are measured."""
        target, sigma = self.target, self.sigma
        bar = None if target.bar is None else (target.bar - self.assumed.origin) / sigma
        return replace(target, bar=bar, tolerance=target.tolerance / sigma)

    @property
    def _rival(self) -> int | None:
        """The option that others are held against, if any."""
        return self.target.rival(self.questions.options.labels)

    @property
    def _held(self) -> Indices:
        """Options that are chosen among, or held to the bar, or against one."""
        everybody = np.arange(len(self.questions.options))
        return everybody if self._rival is None else np.delete(everybody, self._rival)


def everything_once(questions: Questions, mask: NDArray[np.bool_]) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once.

    What workloads leave out is as even as it can be, in a panel by a hand-out.
    """
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    busy = np.append(questions.workload, UNLIMITED)[questions.evaluator] < UNLIMITED
    if (busy & mask).any() and counts.max(initial=0) <= 1:
        found = hand_out(_plain(questions, counts), int(counts.sum()))
        if found is not None:
            return found
    for e in np.flatnonzero(questions.workload < UNLIMITED).tolist():
        own = np.where(questions.evaluator == e, counts, 0)
        asked, most = np.repeat(np.arange(len(own)), own), int(questions.workload[e])
        if len(asked) > most:  # evenly spread, everybody beginning with others
            some = asked[(e + np.arange(most) * len(asked) // max(most, 1)) % len(asked)]
            counts += np.bincount(some, minlength=len(own)) - own
    return counts


def _plain(questions: Questions, capacity: Counts) -> Questions:
    """Return the questions as a hand-out takes them: whatever they cost, however loud."""
    return questions._changed(capacity=capacity, prices=None, noise=None)


def _values(fit: Fit, tables: Floats) -> Floats:
    """Return (tables, k) values by (tables, n) scores, in which they are linear."""
    n = tables.shape[1]
    if len(tables) <= n:
        return np.array([fit.values_of(y) for y in tables])
    weights = np.array([fit.values_of(unit) for unit in np.eye(n)])
    return np.asarray(tables @ weights)


def _across(fit: Fit, m: int, delta: float) -> tuple[Floats, bool]:
    """Return (k,) chances to be among the m best, and whether all of them are sure by all leads
    across the line, as if noise were alike.
    """
    C, freedom = fit.covariance(np.arange(fit.design.n_options))
    first, rest = fit.order[:m], fit.order[m:]
    own = C.diagonal()
    errors = np.sqrt(own[first][:, None] + own[rest] - 2.0 * C[np.ix_(first, rest)])
    leads = fit.values[first][:, None] - fit.values[rest]
    sure = bool((leads > special.stdtrit(freedom, 1.0 - 0.5 * delta) * errors).all())
    return Drawn.of(fit.values, C, freedom).among(m), sure


def _clipped(n: int, ends: tuple[int, int]) -> int:
    return max(ends[0], min(n, ends[1]))


def calls_of(target: Target, k: int) -> int:
    """Return how many of k options are chosen, or called better or worse than a line."""
    if target.top is not None:
        return target.top
    return k if target.against is None else k - 1
