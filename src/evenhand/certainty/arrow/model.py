"""The model of panels whose options stand for themselves, in arrow form (`numerics.least_squares`).

It keeps the promises of `models` with nothing of the size of questions × options: rows are sparse,
items have a diagonal block, and what is inverted has the size of evaluators + biases, or of items +
biases where these are fewer (`numerics.panels`). Where the noise of questions differs, weights are
counts over its square; what is told is in its units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.arrow.orders import further, planned
from evenhand.certainty.arrow.shares import ArrowPanel, across, form_of, proportions, turns
from evenhand.certainty.models import (
    Goal,
    Model,
    Shares,
    Spread,
    unit_of,
)
from evenhand.numerics.panels import PanelForm
from evenhand.policies.messages import Feedback
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.identifiable import identified_by, refuse_incomparable


@dataclass(eq=False)
class ArrowFit:
    """Least squares on evaluations of a panel; see `models.Fit`."""

    form: PanelForm
    items: Floats  # (i,) what items add to an answer, where that is estimable
    omega: Floats  # (p,) what attributes add
    scatter: float
    freedom: float
    unit: float
    questions: Questions
    size: float = 0.0

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals."""
        return _known(
            self.items[leader] - self.items[rivals], self.form.lead_variances(leader, rivals)
        )

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option: its mean answer to `Questions.neutral`."""
        options = np.arange(len(self.questions.options))
        neutral = self.questions.neutral if neutral is None else neutral
        return _known(
            self.items[options] + self.omega @ neutral, self.form.value_variances(options, neutral)
        )

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to evaluations."""
        return _known(rows @ self.omega, self.form.variances(rows))


class ArrowModel(Model):
    """The linear model of a panel of items that stand for themselves; see `models.Model`."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self.item: Indices = questions.about[:, 0]
        self.groups = self.item
        self.n_items = len(questions.items)
        self.Z = sparse.csr_array(questions.matrix[:, questions.n_features :])
        self.panel = ArrowPanel.of(questions, self.Z)
        form = questions.panel_form(np.arange(len(questions)), np.ones(len(questions)))
        refuse_incomparable(questions, form)
        self.rank = form.rank

    def fit(self, told: Feedback, noise_scale: float | None, about: Any = None) -> ArrowFit:
        """Return least squares on these evaluations, of which `about` predicts a part."""
        (used,) = np.nonzero(told.counts)
        scale, noise = noise_scale or 1.0, self.questions.noise
        loud = np.ones(len(used)) if noise is None else noise[used]
        item, Z, counts = self.item[used], self.Z[used], told.counts[used].astype(np.float64)
        weights = counts / loud**2
        form = self.questions.panel_form(used, counts)
        sums, expected = told.sums[used] / scale, np.zeros(len(used))
        if about is not None:
            expected = about.items[item] + Z @ about.omega
        means = sums / counts * loud - expected
        v, omega = form.solve(weights * means)
        scatter, freedom, size = 0.0, math.inf, 0.0
        if noise_scale is None:
            squares = told.sums_of_squares[used]
            within = float(np.maximum(squares - sums**2 / counts, 0.0).sum())
            scatter = within + float(weights @ (means - v[item] - Z @ omega) ** 2)
            freedom = float(counts.sum() - form.rank)
            size = float(squares.sum() + counts @ expected**2)
        if about is not None:
            v, omega = v + about.items, omega + about.omega
        unit = unit_of(scatter, freedom, size)
        return ArrowFit(form, v, omega, scatter, freedom, unit, self.questions, size)

    # ------------------------------------------------------------------ planning

    def lead_variances(self, leader: int | Indices, rivals: Indices, asked: Indices) -> Floats:
        """Return (n,) the variances of leads after these questions."""
        return form_of(self.panel, asked).lead_variances(leader, rivals)

    def identifying(self, order: Indices, leads: Indices | None = None) -> Indices:
        """Return the first questions in order that identify leads, by default all they can."""
        found = identified_by(self.questions, order)
        return found.start() if leads is None else found.used(leads, order[:0])

    def shares(self, goal: Goal) -> Shares:
        """Return shares of questions to few evaluators, where these will do."""
        return (
            proportions(self.panel, goal)
            if isinstance(goal.leader, int)
            else across(self.panel, goal)
        )

    def order(self, goal: Goal, money: Floats) -> Indices:
        """Return an order in which items, and their evaluators, have their turns."""
        return planned(self.panel, goal, money)

    def cheapest(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return questions by their price, those about options before those about other items."""
        panel, (open_,) = self.panel, np.nonzero(left > 0)
        turn, _ = self._turns(length + int(made.sum()))
        other = panel.item[open_] >= panel.n_options
        return open_[np.lexsort((panel.item[open_], turn[open_], panel.cost[open_], other))]

    def further(self, length: int, made: Counts, left: Counts) -> Indices:
        """Return (length,) questions beside those made, as many of every option as can be."""
        turn, thin = self._turns(length + int(made.sum()))
        return further(self.panel, turn, length, made, left, mend=thin)

    def _turns(self, length: int) -> tuple[Counts, bool]:
        """Return (q,) whose turn it is, and whether what connects evaluators would be thin."""
        # Of questions that are as cheap, evaluators take turns if there are two for every option.
        # With fewer, an option is asked of the first who is not partial to it, unless nobody may be
        # asked that often.
        panel, busy = self.panel, bool((self.questions.workload < UNLIMITED).any())
        if busy or length >= 2 * panel.n_options:
            return turns(panel), False
        return panel.evaluator + panel.n_evaluators * panel.partial, True


def _known(estimates: Floats, variances: Floats) -> Spread:
    return Spread(np.where(np.isfinite(variances), estimates, 0.0), variances)
