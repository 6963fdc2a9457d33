"""The model for any questions: all rows in one matrix.

Notation
--------
P, H    (q, r), (k, r)  points of the questions and h_x = (x; c) of the options, in the coordinates
                        of `OptionFrame`: h_i − h_x is the lead of i over x. With a bar H has one
                        row more, the last (`BAR`), from which h_x is the value of x
n, s    (q,)            counts and sums of evaluations;  V = Σ n p pᵀ, θ̂ least squares
R, N                    V = R⁻ᵀR⁻¹ on its range, so that cᵀV⁻¹c = ‖Rᵀc‖²; N spans the rest
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.models import (
    Goal,
    Model,
    Shares,
    Spread,
    unit_of,
)
from evenhand.certainty.shares import ALL, dealt, head_start, needed, proportions
from evenhand.errors import InputError
from evenhand.numerics.least_squares import Gram, Svd, gram
from evenhand.numerics.row_space import first_independent, identifying, identifying_leads
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.policies.frame import OptionFrame
from evenhand.policies.limits import nth
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions

_UNKNOWN = 1e6  # variance of what nothing is known of, when a start is planned
_SHRUNKEN = 3  # dimensions in which values must differ to be shrunken towards one another
_DRAWS = 512  # by which it is guessed who is the best
_LENIENT = 3.0  # evaluations' worth that leniencies are taken to be known by, to have an order


class DenseModel(Model):
    """Least squares and designs on rows by which all options are comparable; see `models.Model`."""

    def __init__(self, actions: Askable, bar: bool = False) -> None:
        self.frame = OptionFrame.of(actions)
        self.questions = Questions.of(actions)
        self.rank = self.frame.rank
        self.values = self.frame.values
        if bar:
            self.values = np.vstack([self.values, self._from_nothing()])
        about = self.questions.about
        self.groups = np.unique(about, axis=0, return_inverse=True)[1].reshape(-1)
        self._own = isinstance(actions, ActionSet)  # a start then tells the biases, too

    def fit(self, told: Feedback, noise_scale: float | None, about: Any = None) -> DenseFit:
        """Return least squares on these evaluations, worked out about an earlier fit."""
        (used,) = np.nonzero(told.counts)
        counts, scale = told.counts[used].astype(np.float64), noise_scale or 1.0
        rows = self.frame.points[used]
        before = np.zeros(self.rank) if about is None else about.theta
        past = rows @ before
        form = Gram.of(rows, counts)
        shift = form.root.T @ (rows.T @ (told.sums[used] / scale - counts * past))
        theta = before + form.root @ shift
        if noise_scale is not None:
            return DenseFit(self, theta, form)
        squares = told.sums_of_squares[used]
        about_past = squares - 2.0 * past * told.sums[used] + counts * past**2
        return DenseFit(
            self,
            theta,
            form,
            scatter=max(0.0, float(about_past.sum() - shift @ shift)),
            freedom=float(counts.sum() - form.root.shape[1]),
            size=float(squares.sum() + counts @ past**2),
        )

    def _from_nothing(self) -> Floats:
        """Return (r,) what options have their values from, or say that no score tells these."""
        frame, questions = self.frame, self.questions
        neutral, d = questions.neutral, questions.n_features
        rows = np.hstack([questions.options.features, np.tile(neutral, (len(frame.values), 1))])
        if not all(frame.space.contains(row) for row in rows):
            raise InputError(
                "bar needs scores that tell values by themselves; these questions tell differences "
                "of options only: say against, the name of an option."
            )
        return np.asarray(frame.transform[:, d:] @ (frame.centre - neutral))

    # ------------------------------------------------------------------ planning

    def lead_variances(self, leader: int | Indices, rivals: Indices, asked: Indices) -> Floats:
        """Return (n,) the variances of leads after these questions."""
        counts = np.bincount(asked, minlength=len(self.questions)).astype(np.float64)
        return Gram.of(self.frame.points, counts).variances(self._leads(leader, rivals))

    def identifying(self, order: Indices, leads: Indices | None = None) -> Indices:
        """Return the first questions in order that identify leads, by default all they can."""
        points, H = self.frame.points, self.values
        if leads is not None:
            return identifying(points, H[leads[:, 0]] - H[leads[:, 1]], order)
        if self._own:
            return first_independent(lambda some: points[some], order, self.rank)[0]
        return identifying_leads(points, H, order)

    def shares(self, goal: Goal) -> Shares:
        """Return the best shares of all questions that may be asked."""
        cost, (open_,) = self.questions.prices, np.nonzero(goal.left > 0)
        points = self.frame.points[open_] / np.sqrt(cost[open_])[:, None]
        share, f = proportions(points, self._scaled(goal))
        money = np.zeros(len(cost))
        money[open_] = share
        return Shares(money, f / goal.scale)

    def order(self, goal: Goal, money: Floats) -> Indices:
        """Return an order of few questions; of more where these may not be asked often enough."""
        points, prices, U = self.frame.points, self.questions.prices, self._scaled(goal)
        share = needed(points, U, money / prices)
        if np.minimum(goal.left, goal.length)[share > 0.0].sum() < goal.length:
            share = np.maximum(share, 1e-9 * share.max())
        head = head_start(points, share) + self._leniencies
        return dealt(
            points, U, share, head, goal.length, prices, goal.asked, goal.left, self.groups
        )

    def _scaled(self, goal: Goal) -> Floats:
        return self._leads(goal.leader, goal.rivals) * np.sqrt(goal.scale)[:, None]

    def cheapest(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return first what tells most of the leads for its price if nothing is known yet."""
        # A leniency is then no reason to ask, but two questions that have it in common are. One
        # question at a time may see no gain in a pair: so all others follow, the cheapest first.
        head = self._vague + gram(self.frame.points, made.astype(np.float64))
        best = self._all_leads(2 * self.rank, head, made, left)
        others = np.argsort(self.questions.prices, kind="stable")
        order = np.concatenate([best, others[left[others] > 0]])
        return np.asarray(order[nth(order) == 1])

    def further(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return (length,) questions that tell most of all leads beside those that were made."""
        head = self._leniencies + gram(self.frame.points, made.astype(np.float64))
        return self._all_leads(length, head, made, left)

    def _all_leads(self, length: int, head: Floats, made: Counts, left: Counts) -> Indices:
        points, H, prices = self.frame.points, self.values, self.questions.prices
        U, even = H - H.mean(axis=0), np.ones(len(points))
        if self._own:
            U = np.vstack([U, self.frame.transform[:, self.questions.n_features :].T])
        return dealt(points, U, even, head, length, prices, made, left, self.groups, ALL)

    def _leads(self, leader: int | Indices, rivals: Indices) -> Floats:
        return np.asarray(self.values[leader] - self.values[rivals])

    @cached_property
    def apart(self) -> Floats:
        """(m, r) combinations of the options' values, by which they differ, of equal weight."""
        H = self.frame.values
        _, sizes, Wt = np.linalg.svd(H - H.mean(axis=0), full_matrices=False)
        some = sizes > IN_SPAN * sizes.max(initial=0.0)
        return np.asarray(sizes[some, None] * Wt[some])

    @property
    def in_common(self) -> bool:
        """Whether options differ in fewer dimensions than there are differences, but a few."""
        alone = self.questions.options.stand_alone
        return not alone and _SHRUNKEN <= len(self.apart) < len(self.frame.values) - 1

    @cached_property
    def _vague(self) -> Floats:
        """V when nothing is known of the parameters, in units of their columns."""
        scales = np.sqrt((self.questions.weighted_points**2).mean(axis=0))
        root = self.frame.transform * np.where(scales > 0.0, scales, 1.0)
        return np.asarray(root @ root.T / _UNKNOWN)

    @cached_property
    def _leniencies(self) -> Floats:
        """V of leniencies that are known a little."""
        # An evaluator who was not asked yet would else tell nothing by one answer, and the same few
        # would be asked again and again.
        which = [column.kind == "leniency" for column in self.questions.columns]
        W = self.frame.transform[:, self.questions.n_features :][:, which]
        return np.asarray(_LENIENT * W @ W.T)


class DenseFit:
    """Least squares on some evaluations; see `models.Fit`."""

    def __init__(
        self,
        model: DenseModel,
        theta: Floats,
        form: Gram,
        *,
        scatter: float = 0.0,
        freedom: float = math.inf,
        size: float = 0.0,
    ) -> None:
        self.model, self.theta, self.form = model, theta, form
        self.scatter, self.freedom, self.size = scatter, freedom, size
        self.unit = unit_of(scatter, freedom, size)

    @property
    def questions(self) -> Questions:
        """What was asked."""
        return self.model.questions

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals."""
        H = self.model.values
        return self._spread(H[leader] - H[rivals])

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option."""
        questions = self.model.questions
        X, neutral = questions.options.features, questions.neutral if neutral is None else neutral
        return self._of_rows(np.hstack([X, np.tile(neutral, (len(X), 1))]))

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to evaluations."""
        return self._of_rows(
            np.hstack([np.zeros((len(rows), self.model.questions.n_features)), rows])
        )

    def _of_rows(self, rows: Floats) -> Spread:
        """Return what rows of features and attributes come to, unless no question tells."""
        frame = self.model.frame
        said = self._spread(rows @ frame.transform.T)
        if not frame.space.full:
            unknown = np.array([not frame.space.contains(row) for row in rows], dtype=np.bool_)
            said.estimates[unknown], said.variances[unknown] = 0.0, np.inf
        return said

    def _spread(self, directions: Floats) -> Spread:
        variances = self.form.variances(directions)
        return Spread(np.where(np.isinf(variances), 0.0, directions @ self.theta), variances)

    def helped(
        self, features: Floats, deviation: float | None, among: Indices | None = None
    ) -> DenseFit:
        """Return the fit that, for guesses alone, also takes values (of those ``among``) to be
        linear in features, (k, d), with a constant, up to normal deviations.
        """
        # Their standard deviation is estimated where it is None (Paule and Mandel's equation).
        H = self.model.frame.values
        if among is not None:
            H, features = H[among], features[among]
        X = np.column_stack([np.ones(len(features)), features])
        U, sizes, _ = np.linalg.svd(X / np.maximum(np.abs(X).max(axis=0), 1e-300))
        free = U[:, int((sizes > IN_SPAN * sizes[0]).sum()) :]  # (k, f): what features leave open
        if free.shape[1] == 0 or self.form.outside(H[:1] - H[1:]).any():
            return self
        return self._drawn_together(free.T @ H, deviation)

    def shrunken(self) -> DenseFit:
        """Return the fit that, for guesses alone, also takes values to be drawn from one normal
        population, as wide as they look beyond their noise: who leads looks better than it is.
        """
        rows = self.model.apart
        if self.form.outside(rows).any():
            return self
        return self._drawn_together(rows, None)

    def chance_of_best(self, option: int, slack: float) -> float:
        """Return how probable it is that no option is better than one by more than a slack."""
        H = self.model.frame.values
        spread = self.unit * (H @ self.form.root)
        z = np.random.default_rng(1).standard_normal((_DRAWS, spread.shape[1]))
        values = H @ self.theta + z @ spread.T
        return float((values[:, option] + slack >= values.max(axis=1)).mean())

    def _drawn_together(self, rows: Floats, deviation: float | None) -> DenseFit:
        """Return the fit that also takes rows·θ to be normal about 0, with a standard deviation
        that is estimated where it is None.
        """
        sigma, old = self.unit, self.form.root
        if deviation is None:
            deviation = _deviation(rows @ self.theta, sigma * (rows @ old))
        # coordinates in which V is the unit matrix: θ = root·u
        along = rows @ old * (sigma / deviation)
        _, stretch, Wt = np.linalg.svd(along, full_matrices=False)
        shrunk = (Wt.T * (1.0 / np.sqrt(1.0 + stretch**2) - 1.0)) @ Wt  # (1 + alongᵀalong)^−½ − 1
        root = np.ascontiguousarray(old + old @ shrunk)
        u = Svd.of(old).solve(self.theta)
        theta = root @ (u + shrunk @ u)
        numbers = {"scatter": self.scatter, "freedom": self.freedom, "size": self.size}
        return DenseFit(self.model, theta, replace(self.form, root=root), **numbers)


def _deviation(left: Floats, root: Floats) -> float:
    """Return τ with leftᵀ(CCᵀ + τ²)⁻¹left = f, for f numbers of error C; a cautious one if none."""
    errors, axes = np.linalg.eigh(root @ root.T)
    errors, squares = np.maximum(errors, 0.0), (axes.T @ left) ** 2
    f = len(left)
    low = float(errors.mean()) / f + 1e-300  # as little as can be seen at all
    high = low + float(squares.sum())
    if float((squares / (errors + low)).sum()) <= f:
        return math.sqrt(low)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if float((squares / (errors + middle)).sum()) > f:
            low = middle
        else:
            high = middle
    return math.sqrt(high)
