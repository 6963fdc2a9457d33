"""A linear model of the questions: to fit it, and to plan what to ask next.

There are two algebras: `dense`, for any questions, and `arrow`, for large panels, where nothing has
the size of questions × options. All numbers are in units of the noise where that is
known. A direction that evaluations say nothing of has variance ∞, and then its estimate is 0.

Own noise: how loud the scores of each option are, by their own residuals and by everybody's
-------------------------------------------------------------------------------------------
e           residuals, in units of the questions' relative noise;  M = 1 − hat matrix
S_o         Σ e² over the scores of option o;  t_o = Σ M_ii and q_o = Σ M_ij² over the same scores
s², ν       Σ S_o/ν, the pooled variance, and ν = Σ t_o its degrees of freedom
s_o², d_o   the option's own variance, and its degrees of freedom, t_o²/q_o
s₀², d₀     what variances are in general, and how alike they are: d₀ = ∞ if they may be the same
σ̃_o², D_o   what the option's variance is taken to be, and its degrees of freedom
P_o         how probable an own variance as large as s_o² is, if the option is like the others

Votes for what nearly everybody rejects, and marks at the end of a scale, hardly scatter; those of
the best options do. One variance for all is then too small for just the leads that matter. But an
option's own variance, from a few scores, is a poor guess. So it is drawn towards the others' as far
as these are alike (Smyth 2004, 'limma'), and never below what the option itself shows:

    E S_o = q_o σ_o² + (t_o − q_o) · mean variance of the others,    which gives s_o²,
    σ̃_o² = max{(d₀ s₀² + d_o s_o²)/(d₀ + d_o), s_o²},

s₀² and d₀ are such that log s_o² has the mean and the variance over options that it should have.
The first of the two has d₀ + d_o degrees of freedom, ν at most, the second d_o; where it is larger
the option is perhaps not like the others, and the less probable that it is, the less of theirs
counts:

    D_o = d_o + P_o (min{d₀ + d_o, ν} − d_o).

A lead of b over j has a variance V_j of which a_b = σ̃_b²/n_b and a_j are the two options' own, n_o
the number of their scores; the rest comes by way of all others, and is known well. So it has
V_j²/(a_b²/D_b + a_j²/D_j) degrees of freedom (Satterthwaite), ν at most.

In a whole panel of k options and J evaluators, t_o is (1 − 1/k)(J − 1), d_o is J − 1, and s_o² is
(S_o/(J − 1) − s²/k)/(1 − 2/k). Two options have residuals of equal size, whoever is louder: then
σ̃² is s², by which their lead is as uncertain as the evaluators' differences say.

Questions about the same two options, in comparisons, are such a group; in what follows a group is
what a question is about.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse, special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.tolerance import ROUNDING
from evenhand.policies.limits import nth
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_SHOWN = 0.1  # share of S_o that must be the option's own for s_o² to be told from the others',
_LEAST = 0.5  # and degrees of freedom that S_o must have
_QUIET, _QUIETEST = 0.05, 1e-4  # shares of S_o/t_o and of s² that s_o² counts as at least


BAR = -1
"""Stands for a bar among options: a value that is stated, and no option's."""


class Spread(NamedTuple):
    """Estimates, (n,), and their variances per unit of noise variance, (n,)."""

    estimates: Floats
    variances: Floats


class Shared(NamedTuple):
    """A covariance A Bᵀ + level + diag(own) per unit of noise variance."""

    factor: Floats  # (n, r) B
    own: Floats  # (n,)
    rows: Floats | sparse.csr_array | None = None  # A, which may be sparse; B if None
    level: float = 0.0

    def some(self, which: Indices) -> Floats:
        """Return some rows, (m, n), of the covariance."""
        rows = self.factor if self.rows is None else self.rows
        found = np.asarray(rows[which] @ self.factor.T)
        found += self.level
        found[np.arange(len(which)), which] += self.own[which]
        return found

    @property
    def variances(self) -> Floats:
        """(n,) the diagonal."""
        both = (self.factor if self.rows is None else self.rows) * self.factor
        return np.asarray(both.sum(axis=1)) + self.own + self.level


class Leftovers(NamedTuple):
    """What least squares leave over of scores, by what their questions are about."""

    scatter: Floats  # (g,) sums of squared residuals, in units of the questions' relative noise
    free: Floats  # (g,) Σ M_ii over the scores of a group, M = 1 − hat matrix
    squared: Floats  # (g,) Σ M_ij²
    size: float  # sum of the squares that residuals are differences of

    @classmethod
    def of(
        cls,
        groups: Indices,
        counts: Floats,
        scatter: Floats,
        leverages: Floats,
        within: Floats,
        size: float,
    ) -> Self:
        """Return what questions, (u,), come to by their groups; ``within`` is (g,) the sum of
        squares of the hat matrix inside each.
        """
        g = len(within)
        S, n, h = (
            np.asarray(np.bincount(groups, part, g), dtype=np.float64)
            for part in (scatter, counts, leverages)
        )
        return cls(S, np.maximum(n - h, 0.0), np.maximum(n - 2.0 * h + within, 0.0), size)


class OwnNoise(NamedTuple):
    """Variances of scores by what they are about, and how well they are known."""

    variances: Floats  # (g,) σ̃²
    freedom: Floats  # (g,) D, its degrees of freedom
    least: float  # degrees of freedom of the least known,
    most: float  # and ν, those of all scores
    floors: Floats  # (g,) what σ̃² would be at least, whatever the group's own scores are


class OwnParts(NamedTuple):
    """What options' own scores add to the variances of leads."""

    parts: Floats  # (k,) a
    freedom: Floats  # (k,) D
    most: float  # ν
    floors: Floats  # (k,) what a would be at least, whatever the option's own scores are

    def among(self, some: Indices) -> OwnParts:
        """Return what the scores of some options add."""
        return self._replace(
            parts=self.parts[some], freedom=self.freedom[some], floors=self.floors[some]
        )

    def of_leads(self, leader: int, rivals: Indices, variances: Floats) -> Floats:
        """Return (n,) the degrees of freedom of leads with these variances, V, by Satterthwaite's
        formula: 1/((a_b/V)²/D_b + (a_j/V)²/D_j), ν at most.
        """
        V = np.where(variances > 0.0, variances, np.inf)
        vague = (self.parts[leader] / V) ** 2 / self.freedom[leader]
        vague += (self.parts[rivals] / V) ** 2 / self.freedom[rivals]
        return np.asarray(np.clip(1.0 / np.maximum(vague, 1.0 / self.most), 1.0, self.most))


class Freedoms(Protocol):
    """How well the variances of leads are known."""

    def of_leads(self, leader: int, rivals: Indices, variances: Floats) -> Floats:
        """Return (n,) the degrees of freedom of leads with these variances."""


class QuestionOrder(NamedTuple):
    """What to ask next."""

    order: Indices  # questions, in the order in which they are handed out
    # (n,) of the leads over the rivals, if evaluations for a price of 1 in all were made in the
    # plan's proportions; ∞ for rivals that the questions which may be asked cannot compare
    variances: Floats


class Fit(Protocol):
    """Least squares on some evaluations."""

    scatter: float  # residual sum of squares,
    freedom: float  # and its degrees of freedom; 0 and ∞ where the noise is known
    unit: float  # standard deviation of the noise by them; 1 where it is known
    # sum of squares that residuals are differences (and may be rounding) of; 0: unknown
    size: float
    own: Freedoms | None  # how well the variances of single leads are known, where that differs
    pooled: Fit | None  # the same with one noise for all, where each option has its own

    @property
    def questions(self) -> Questions:
        """What was asked."""

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals, or of (n,) options, each over its own."""

    def shared(self, leader: int, rivals: Indices) -> Shared:
        """Return what leads over rivals have in common: their covariance, taken apart."""

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option: its mean answer to `Questions.neutral`, or to
        another impartial question (`Questions.neutral_among`).
        """

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to evaluations."""


class ResidualFit(Fit, Protocol):
    """Least squares on some evaluations, whose noise may be heard from what they leave over."""

    def left_over(self, told: Feedback) -> Leftovers:
        """Return what it leaves over of the evaluations that it is of."""

    def with_noise(self, told: Feedback, variances: Floats, freedom: float) -> Self:
        """Return it with noise of these variances, (g,), by what questions are about: its variances
        are then those of the estimates, and ``freedom`` says how well they are known.
        """


def freedom_of(fit: Fit, leader: int, rivals: Indices) -> Floats | float:
    """Return the degrees of freedom of leads over rivals, (n,), or of all that is estimated."""
    if fit.own is None:
        return fit.freedom
    return fit.own.of_leads(leader, rivals, fit.leads(leader, rivals).variances)


def unit_of(scatter: float, freedom: float, size: float) -> float:
    """Return the standard deviation of the noise by a fit (see `Fit`); 1 where it is known."""
    # Scores without any scatter leave rounding: an evaluator that repeats itself is no proof.
    if math.isinf(freedom):
        return 1.0
    return math.sqrt(max(scatter, 1e-24 * size, 1e-200) / max(1.0, freedom))


class Goal(NamedTuple):
    """Leads that are to be told, and what may be asked for it."""

    leader: int | Indices  # b; or (n,) one for each rival
    rivals: Indices  # (n,) j
    scale: Floats  # (n,) κ
    length: int  # about how many evaluations there are
    asked: Counts  # (q,) how often each question was asked,
    left: Counts  # (q,) and how often it may be


class Shares(NamedTuple):
    """Shares of the money, (q,), and variances of the leads for a unit of it, (n,)."""

    money: Floats
    variances: Floats


class Model(ABC):
    """A linear model of the questions."""

    # A start begins with the cheapest questions that identify all leads. A plan has shares of the
    # money that tell leads soonest (`shares`), in an order that has them early on. Nothing that is
    # certain rests on either.

    questions: Questions
    rank: int  # dimension of the span of the questions' rows

    groups: Indices  # (q,) a number for what each question is about; see `Leftovers`

    # ------------------------------------------------------------------ the algebra

    @abstractmethod
    def fit(self, told: Feedback, noise_scale: float | None, about: Any = None) -> ResidualFit:
        """Return least squares on these evaluations, less the predictions of an earlier fit
        (``about``), so that fewer digits cancel.
        """

    @abstractmethod
    def lead_variances(self, leader: int | Indices, rivals: Indices, asked: Indices) -> Floats:
        """Return (n,) the variances of leads after these questions; infinite if not identified."""

    @abstractmethod
    def identifying(self, order: Indices, leads: Indices | None = None) -> Indices:
        """Return the first questions in order that identify leads, (n, 2) pairs of options; all
        leads that the questions in order identify, if none are given.
        """

    @abstractmethod
    def shares(self, goal: Goal) -> Shares:
        """Return shares that make max f small."""

    @abstractmethod
    def order(self, goal: Goal, money: Floats) -> Indices:
        """Return questions, as many as wanted or all there are, with these shares early on."""

    @abstractmethod
    def cheapest(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return the questions that may be asked, those that a start is best made of first."""

    @abstractmethod
    def further(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return (length,) questions that tell most of all leads beside those that were made."""

    # ------------------------------------------------------------------ what is asked

    def start(self, length: int, left: Counts, made: Counts | None = None) -> Indices:
        """Return (length,) questions that identify all leads, the cheapest first; beside those that
        were ``made``, no more than what is lacking.
        """
        # ``left`` is how often each may be asked; fewer than ``length`` where that is all there is,
        # more where it takes more.
        made = np.zeros(len(left), dtype=np.int64) if made is None else made
        (known,) = np.nonzero(made)
        first = self.identifying(np.concatenate([known, self.cheapest(length, made, left)]))
        first = first[made[first] == 0]
        more = np.bincount(first, minlength=len(left))
        rest = self.further(max(0, length - len(first)), made + more, left - more)
        return np.concatenate([first, rest])

    def plan(
        self,
        leader: int | Indices,
        rivals: Indices,
        weights: Floats,
        length: int,
        asked: Counts,
        left: Counts,
    ) -> QuestionOrder:
        """Return what to ask next to compare the leader (or each its own) with rivals: an order,
        (length,) or shorter where ``left`` says so, that makes max weights² · variance of a lead
        small for its price.
        """
        # Early on as at its end: a shorter order is the beginning of a longer one. Of questions
        # that are as good, those that were ``asked`` least.
        (open_,) = np.nonzero(left > 0)
        variances, able = np.full(len(rivals), np.inf), np.ones(len(rivals), dtype=np.bool_)
        if len(open_) < len(left):
            able = np.isfinite(self.lead_variances(leader, rivals, open_))
        if not able.any():
            return QuestionOrder(open_[:0], variances)
        if isinstance(leader, np.ndarray):
            leader = leader[able]
        goal = Goal(leader, rivals[able], weights[able] ** 2, length, asked, left)
        found = self.shares(goal)
        variances[able] = found.variances
        order = self.order(goal, found.money)
        if not np.isfinite(self.lead_variances(leader, goal.rivals, order)).all():
            planned = open_[np.argsort(-found.money[open_], kind="stable")]
            leads = np.column_stack([np.full(len(goal.rivals), leader), goal.rivals])
            order = np.concatenate([self.identifying(planned, leads), order])
            order = order[nth(order) <= left[order]][:length]
        return QuestionOrder(order, variances)


def own_variances(left: Leftovers) -> OwnNoise:
    """Return σ̃² of the groups, and how well they are known."""
    nu = float(round(left.free.sum()))  # the trace of a projection, which is a whole number
    pooled = float(left.scatter.sum()) / nu
    others = nu - left.free
    foreign = np.maximum(left.free - left.squared, 0.0)
    beside = foreign / np.maximum(others, _LEAST)  # of the others' variance, per its scatter
    own = left.squared - beside * left.free
    shown = (own > _SHOWN * left.squared) & (left.free >= _LEAST) & (others >= _LEAST)
    g = len(shown)
    if np.count_nonzero(shown) < 2:
        return OwnNoise(np.full(g, pooled), np.full(g, nu), nu, nu, np.full(g, pooled))
    variances = np.zeros(g)
    variances[shown] = (left.scatter - beside * pooled * nu)[shown] / own[shown]
    freedom = np.where(shown, left.free**2 / np.maximum(left.squared, 1e-300), 0.0)
    # where an option has few scores s_o² may be 0 or less, which says little of how alike they are
    quiet = np.maximum(_QUIET * left.scatter / np.maximum(left.free, _LEAST), _QUIETEST * pooled)
    s0, d0 = _in_general(np.maximum(variances, quiet)[shown], freedom[shown])
    shows = np.maximum(variances, 0.0)
    if math.isinf(d0):
        drawn, both, least = np.full(g, pooled), np.full(g, nu), nu
        floors = drawn
        chances = special.chdtrc(np.maximum(freedom, _LEAST), freedom * shows / pooled)
    else:
        drawn = (d0 * s0 + freedom * shows) / (d0 + freedom)
        floors = d0 * s0 / (d0 + freedom)
        both, least = np.minimum(d0 + freedom, nu), min(nu, d0 + float(freedom.min()))
        chances = special.fdtrc(np.maximum(freedom, _LEAST), d0, shows / s0)
    known = freedom + np.where(shown, chances, 1.0) * np.maximum(both - freedom, 0.0)
    return OwnNoise(np.maximum(variances, drawn), known, least, nu, floors)


def _in_general(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """Return s₀² and d₀ of own variances: σ_o²/s₀² is taken to be d₀ over a χ² of d₀."""
    # log s_o² then has mean log s₀² + ψ(d_o/2) − log(d_o/2) − ψ(d₀/2) + log(d₀/2) and variance
    # ψ'(d_o/2) + ψ'(d₀/2).
    half = 0.5 * freedom
    level = np.log(variances) - special.digamma(half) + np.log(half)
    spread = float(level.var(ddof=1) - special.polygamma(1, half).mean())
    if spread <= 0.0:
        return math.exp(level.mean()), math.inf
    y = 0.5 + 1.0 / spread  # Newton's steps on 1/ψ', which is convex and nearly linear
    for _ in range(50):
        slope = special.polygamma(1, y)
        step = slope * (1.0 - slope / spread) / special.polygamma(2, y)
        y += step
        if abs(step) < 1e-10 * y:
            break
    d0 = 2.0 * float(y)
    return math.exp(level.mean() + special.digamma(0.5 * d0) - math.log(0.5 * d0)), d0


def in_pairs(questions: Questions, told: Feedback) -> Feedback:
    """Return scores as they count: those an evaluator gave to the same question as their mean."""
    # Who is asked the same thing again has the same taste again: that is one opinion, not several.
    # A single evaluator's are several: what is said is then about this evaluator alone. So are
    # those that nobody in particular gave.
    repeated = (told.counts > 1) & (questions.evaluator >= 0)
    if len(questions.evaluators) < 2 or not repeated.any():
        return told
    means = np.where(repeated, told.means, told.sums)
    return Feedback(
        np.where(repeated, 1, told.counts),
        means,
        np.where(repeated, means**2, told.sums_of_squares),
    )


def with_own_noise(
    questions: Questions, fit: ResidualFit, told: Feedback, grain: float = 0.0
) -> ResidualFit:
    """Return the fit with the noise that its residuals show, of each option by itself, unless noise
    is known; residuals below ``grain`` are rounding.
    """
    # Its variances are those of the estimates; scatter and freedom, which are equal, say how well
    # they are known, and are 0 where nothing is.
    if math.isinf(fit.freedom):
        return fit
    left = fit.left_over(told)
    nil = max(ROUNDING**2 * left.size, float(told.counts.sum()) * grain**2)
    if fit.freedom < 1.0 or not left.scatter.sum() > nil:
        return fit.with_noise(told, np.ones(len(left.scatter)), 0.0)
    noise = own_variances(left)
    heard = fit.with_noise(told, noise.variances, noise.least)
    heard.pooled = fit
    if questions.has_arrow_form and len(left.scatter) == len(questions.items):
        weights = told.counts if questions.noise is None else told.counts / questions.noise**2
        sizes = np.bincount(questions.about[:, 0], weights, len(left.scatter))
        sizes = np.maximum(sizes, _QUIETEST)
        heard.own = OwnParts(
            noise.variances / sizes, noise.freedom, noise.most, noise.floors / sizes
        )
    return heard
