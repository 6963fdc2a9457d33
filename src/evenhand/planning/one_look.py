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
from evenhand.errors import InputError
from evenhand.inference import Target, conclude, design_of_answers
from evenhand.linear import Design, Fit
from evenhand.planning.assumed import Assumed
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.hand_outs import hand_out
from evenhand.questions.identifiable import accuracy
from evenhand.search.one_look_plans import planned_counts

_DRAWS = 300, 1500  # of what may come out: the fewest, and the most,
_DRAWN = 60_000  # and values of all of them
_ROUNDS = 100, 2_000  # tables of which it is counted who is right: the fewest, and the most,
_ROUNDED = 200_000  # and values of all of them
_TABLES = 3, 60  # tables that are concluded from: the fewest, and the most,
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
    def k(self) -> int:
        """How many options there are."""
        return len(self.questions.options)

    def probability(self, counts: Counts) -> float:
        """Return the probability that (q,) evaluations make it certain which option is the best."""
        # The test of `inference.conclude`, where the noise is known.
        found = accuracy(self.questions, counts.astype(np.float64))
        if not found.comparable:
            return 0.0
        rng, n = np.random.default_rng(0), _clipped(_DRAWN // self.k, _DRAWS)
        seen = self.assumed.draws(n, rng) + found.errors(n, rng)
        leaders, sure = seen.argmax(axis=1), np.ones(n, dtype=np.bool_)
        share = (1.0 - self.confidence) / max(2, self.k - 1)  # of each rival, by a tolerance
        tolerance = self.target.tolerance / self.sigma
        for leader in np.unique(leaders).tolist():
            mine = leaders == leader
            errors = np.sqrt(found.lead_variances(leader))
            ahead = seen[mine, leader][:, None] - seen[mine]
            ahead[:, leader] = np.inf
            sure[mine] = (ahead > self._quantile * errors).all(axis=1)
            within = ahead + tolerance > special.ndtri(1.0 - share) * errors
            sure[mine] |= bool(tolerance) & within.all(axis=1)
        return float(sure.mean())

    @property
    def _quantile(self) -> float:
        """Standard errors in the half-width of an interval."""
        return float(special.ndtri(0.5 + 0.5 * self.confidence))

    @property
    def most(self) -> int:
        """How many evaluations there can be, within workloads and without conflicts."""
        asked = np.bincount(
            self.questions.evaluator, self.questions.capacity > 0, len(self.questions.evaluators)
        )
        return int(np.minimum(asked, self.questions.workload).sum())

    def counts(self, n: int) -> Counts:
        """Return (q,) the hand-out of n evaluations, whatever they cost."""
        found = hand_out(_plain(self.questions, np.minimum(self.questions.capacity, 1)), n)
        if found is None:
            raise InputError(
                "reviews=, top=, bar= and against= plan hand-outs of a panel (Questions.panel); "
                "these are other questions, or more than can be handed out."
            )
        return found

    def step(self, counts: Counts, *, allowed: bool = True, concluded: bool = False) -> ReviewStep:
        """Return what comes of a hand-out; ``concluded``: and how much of it is certain."""
        n = int(counts.sum())
        found = accuracy(self.questions, counts.astype(np.float64))
        apart = math.sqrt(found.mean_lead_variance()) * self._quantile * self.sigma
        price = float(counts @ self.questions.prices)
        step = ReviewStep(n / self.k, n, price, apart, 0.0, 0.0, allowed)
        if math.isinf(apart):
            calls = float(calls_of(self.target, self.k))
            return replace(step, at_line=calls, settled=0.0) if concluded else step
        right, lost = self._right(*self._tables(counts, _clipped(_ROUNDED // self.k, _ROUNDS)))
        step = replace(step, right=right, lost=lost)
        if concluded and self.target.top == 1:
            return replace(step, settled=self.probability(counts))
        if concluded and self.k <= _MOST:
            tables = self._tables(counts, _clipped(_WORK // self.k**2, _TABLES))
            at_line, settled, sure = self._concluded(*tables)
            return replace(step, at_line=at_line, settled=settled, sure=sure)
        return step

    def _tables(self, counts: Counts, n: int) -> tuple[Design, Floats, Floats]:
        """Return the design of so many evaluations, and n tables: values, and scores."""
        on, rng = np.flatnonzero(counts), np.random.default_rng(0)
        design = design_of_answers(self.questions, on, np.zeros(len(on)))
        true = self.assumed.draws(n, rng)
        scores = true[:, self.questions.about[on, 0]] + rng.standard_normal((n, len(on)))
        return design, true, scores

    def _right(self, design: Design, true: Floats, tables: Floats) -> tuple[float, float]:
        """Return how many are right, and what is lost."""
        n, seen, m = len(true), _values(Fit(design), tables), self.target.top
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

    def _concluded(self, design: Design, _: Floats, tables: Floats) -> tuple[float, float, float]:
        """Return how many stand at the line, how often all is settled, and how many are surely on
        one side of a bar, or of one option.
        """
        delta, found = 1.0 - self.confidence, []
        for y in tables:
            fit = Fit(replace(design, y=y))
            if fit.silent:
                return math.nan, 0.0, 0.0
            said = conclude(fit, self._aim, delta, rival=self._rival)
            chances = said.chances[self._held]
            at_line = (chances > delta) & (chances < 1.0 - delta)
            found.append((at_line.sum(), said.sure, len(chances) - len(said.undecided)))
        at, settled, sure = np.mean(found, axis=0).tolist()
        return at, settled, sure if self.target.top is None else math.nan

    def curve(self, planned: ReviewStep) -> list[ReviewStep]:
        """Return what fewer and more evaluations of each option come to, beside those planned."""
        last = min(len(self.questions.evaluators), math.ceil(planned.reviews) + _MORE)
        first = max(min(_FEWEST, last), last - _ROWS + 1)
        work = np.where(self.questions.workload > 0, UNLIMITED, 0)  # as if everybody had the time
        beyond = replace(self, questions=self.questions._changed(workload=work))
        steps = [planned]
        for each in range(first, last + 1):
            if each != planned.reviews:
                n = each * self.k
                here = self if n <= self.most else beyond
                steps.append(here.step(here.counts(n), allowed=here is self))
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
        return np.setdiff1d(np.arange(self.k), [-1 if self._rival is None else self._rival])


def everything_once(questions: Questions, mask: NDArray[np.bool_]) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once, and of
    what workloads do not allow as much, as a policy that looks once asks it.
    """
    often = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    return planned_counts(_plain(questions, often), int(often.sum()), math.inf)


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


def _clipped(n: int, ends: tuple[int, int]) -> int:
    return max(ends[0], min(n, ends[1]))


def calls_of(target: Target, k: int) -> int:
    """Return how many of k options are chosen, or called better or worse than a line."""
    if target.top is not None:
        return target.top
    return k if target.against is None else k - 1
