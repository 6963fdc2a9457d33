"""What comes of a hand-out, in which every option is evaluated by some of the evaluators.

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
from scipy import special

from evenhand.arrays import ArrayValue, Counts, Floats, Indices
from evenhand.inference import Target, conclude, design_of_answers
from evenhand.inference.chances import Drawn
from evenhand.linear import Design, Fit
from evenhand.planning.assumed import Assumed
from evenhand.planning.ways import Terms, price_of
from evenhand.questions import UNLIMITED, HandOut, Questions
from evenhand.questions.accuracy import Accuracy, accuracy
from evenhand.questions.hand_outs import hand_out, own_pairs

_ROUNDS = 2_000  # rounds that are drawn, of estimates
_TABLES = 8, 60  # tables of scores that are drawn: the fewest, and the most,
_WORK = 30_000  # and pairs of options of all of them
_MOST = 200  # options, up to which there are rounds of scores
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
    load
        The least and the most that an evaluator has.
    own
        The least and the most of the own group among these.
    difference
        Half-width of the interval of a difference of two options, on average; infinite where not
        all can be compared.
    precision
        Half-width of the interval of the (first) bias; NaN without one.
    right
        How many of those chosen are expected to be among the m best; of a bar or one option, how
        many options are expected to be on that side of it on which they look.
    lost
        What is expected to be lost per place, in units of value; of a bar or one option, how far
        from the line those are on average who look to be on the wrong side.
    at_line
        How many options are expected to stand at the line: with a chance between 5% and 95%, at a
        confidence of 95%. NaN where there are very many.
    settled
        Chance that the whole list is certain; NaN likewise.
    sure
        Of a bar or one option, how many options are expected to be surely on one side, of all at
        once; NaN likewise, and of the m best.
    allowed
        Whether workloads allow it; else it is what would come of larger ones.
    """

    reviews: float
    evaluations: int
    price: float
    load: tuple[int, int]
    own: tuple[int, int]
    difference: float
    precision: float
    right: float
    lost: float
    at_line: float
    settled: float
    sure: float = math.nan
    allowed: bool = True


@dataclass(frozen=True, eq=False)
class Reviews:
    """Hand-outs of a panel, and what comes of them."""

    questions: Questions
    terms: Terms
    assumed: Assumed
    target: Target

    @property
    def calls(self) -> int:
        """How many are chosen, or called better or worse than a line."""
        return calls_of(self.target, len(self.questions.options))

    @property
    def most(self) -> int:
        """How many evaluations there can be, within workloads and without conflicts."""
        asked = np.bincount(
            self.questions.evaluator, self.questions.capacity > 0, len(self.questions.evaluators)
        )
        return int(np.minimum(asked, self.questions.workload).sum())

    def counts(self, n: int) -> Counts | None:
        """Return (q,) the hand-out of n evaluations, whatever they cost; None if it is no panel."""
        once = np.minimum(self.questions.capacity, 1)
        return hand_out(self.questions._changed(capacity=once, prices=None, noise=None), n)

    def step(self, counts: Counts) -> ReviewStep:
        """Return what comes of a hand-out."""
        given, terms = HandOut(self.questions, counts), self.terms
        found = accuracy(self.questions, counts.astype(np.float64))
        apart = math.sqrt(found.mean_lead_variance()) * terms.quantile * terms.sigma
        said = 0.0, 0.0, float(self.calls), 0.0, math.nan if self.target.top else 0.0
        if math.isfinite(apart):
            said = self._drawn(counts, found)
        own = given.own if own_pairs(self.questions).any() else np.zeros(1, dtype=np.int64)
        return ReviewStep(
            float(given.reviews.mean()),
            int(counts.sum()),
            price_of(self.questions, counts),
            (int(given.loads.min()), int(given.loads.max())),
            (int(own.min()), int(own.max())),
            apart,
            terms.half_width(found),
            *said,
        )

    def _drawn(self, counts: Counts, found: Accuracy) -> tuple[float, float, float, float, float]:
        """Return how many are right, what is lost, how many stand at the line, how often all of it
        is certain, and how many are surely on one side of a line: by tables that are drawn.
        """
        questions, target, rival = self.questions, self.target, self._rival
        k, m, rng = len(questions.options), target.top, np.random.default_rng(0)
        on, bar = np.flatnonzero(counts), ((target.bar or 0.0) - self.assumed.origin)
        aim = replace(target, tolerance=self.terms.tolerance)
        if target.bar is not None:
            aim = replace(aim, bar=bar / self.terms.sigma)
        design = design_of_answers(questions, on, np.zeros(len(on)))
        n = max(100, min(_ROUNDS, _ROUNDS * 100 // k))  # fewer of many options
        true = self.assumed.draws(n, rng)
        tables = true[:, questions.about[on, 0]] + rng.standard_normal((n, len(on)))
        seen = _values(Fit(design), tables)
        if m is not None:
            best, chosen = (np.argsort(-values, axis=1)[:, :m] for values in (true, seen))
            right = float((best[:, :, None] == chosen[:, None, :]).sum()) / n
            worth = [np.take_along_axis(true, some, axis=1).sum(axis=1) for some in (best, chosen)]
            lost = float((worth[0] - worth[1]).mean()) / m
        else:
            held = self._held
            away, looks = (
                (values if rival is None else values - values[:, [rival]])[:, held]
                - (aim.bar or 0.0)
                + aim.tolerance
                for values in (true, seen)
            )
            wrong = (away > 0.0) != (looks > 0.0)
            right = float((~wrong).sum()) / n
            lost = float(np.abs(away[wrong]).mean()) if wrong.any() else 0.0
        lost *= self.terms.sigma
        if m == 1:
            certain = self.terms.certain(true + found.errors(n, rng), found)
            return right, lost, math.nan, float(certain.mean()), math.nan
        most = min(max(_WORK // (k * k), _TABLES[0]), _TABLES[1])
        return right, lost, *self._concluded(design, aim, tables[:most])

    def _concluded(self, design: Design, aim: Target, tables: Floats) -> tuple[float, float, float]:
        """Return how many stand at the line, how often all is settled, and how many are surely on
        one side of it, by some tables; NaN of very many options.
        """
        k, m, delta = design.n_options, aim.top, 1.0 - self.terms.confidence
        if k > _MOST:
            return math.nan, math.nan, math.nan
        found = []
        for y in tables:
            fit = Fit(replace(design, y=y))
            if fit.silent:
                return math.nan, 0.0, 0.0 if m is None else math.nan
            if m is None:
                said = conclude(fit, aim, delta, rival=self._rival)
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
        reviews, steps = planned.reviews, [planned]
        k, e = len(self.questions.options), len(self.questions.evaluators)
        last = min(e, math.ceil(reviews) + _MORE)
        first = max(min(_FEWEST, last), last - _ROWS + 1)
        for each in range(first, last + 1):
            if each == reviews:
                continue
            n = round(each * k)
            allowed, here = n <= self.most, self
            if not allowed:  # as if everybody had the time
                work = np.where(self.questions.workload > 0, UNLIMITED, 0)
                here = replace(self, questions=self.questions._changed(workload=work))
            counts = here.counts(n)
            assert counts is not None
            steps.append(replace(here.step(counts), allowed=allowed))
        return sorted(steps, key=lambda step: step.reviews)

    def without_one(self, counts: Counts) -> bool:
        """Whether all options can be compared if any one evaluator stays away."""
        who = self.questions.evaluator
        return all(
            accuracy(self.questions, np.where(who == e, 0.0, counts)).comparable
            for e in range(len(self.questions.evaluators))
        )

    @property
    def _rival(self) -> int | None:
        """The option that others are held against, if any."""
        return self.target.rival(self.questions.options.labels)

    @property
    def _held(self) -> Indices:
        """Options that are chosen among, or held to the bar, or against one."""
        everybody = np.arange(len(self.questions.options))
        return everybody if self._rival is None else np.delete(everybody, self._rival)


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


def calls_of(target: Target, k: int) -> int:
    """Return how many of k options are chosen, or called better or worse than a line."""
    if target.top is not None:
        return target.top
    return k if target.against is None else k - 1
