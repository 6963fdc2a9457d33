"""A linear model of the questions: to fit it, and to plan what to ask next.

There are two algebras: `dense`, for any questions, and `arrow`, for large panels, where nothing has
the size of questions × options. All numbers are in units of the noise where that is
known. A direction that evaluations say nothing of has variance ∞, and then its estimate is 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.policies.limits import nth
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

BAR = -1
"""Stands for a bar among options: a value that is stated, and no option's."""


class Spread(NamedTuple):
    """Estimates, (n,), and their variances per unit of noise variance, (n,)."""

    estimates: Floats
    variances: Floats


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

    @property
    def questions(self) -> Questions:
        """What was asked."""

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals, or of (n,) options, each over its own."""

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option: its mean answer to `Questions.neutral`, or to
        another impartial question (`Questions.neutral_among`).
        """

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to evaluations."""


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

    groups: Indices  # (q,) a number for what each question is about

    # ------------------------------------------------------------------ the algebra

    @abstractmethod
    def fit(self, told: Feedback, noise_scale: float | None, about: Any = None) -> Fit:
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
