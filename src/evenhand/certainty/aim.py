"""What a search is to find out, what is taken for granted in it, and which model it works with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Indices
from evenhand.certainty.arrow import ArrowModel
from evenhand.certainty.dense import DenseFit, DenseModel
from evenhand.certainty.models import BAR, Fit, Model, Spread
from evenhand.errors import InputError
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions

_LARGE = 200_000  # numbers in a dense matrix of rows, from which on panels keep their structure
_LARGEST = 10_000_000  # numbers that it may have where they cannot


@dataclass(frozen=True, eq=False)
class Aim:
    """What is to be known, and what is taken for granted."""

    model: Model
    confidence: float
    tolerance: float = 0.0  # what the choice may lose
    noise: float | None = None  # standard deviation σ of a score; None if it is not known
    deviation: float | None = None  # of what features leave of values, for guesses; None: not known
    top: int = 1  # how many options are wanted, unless
    bar: float | None = None  # those are that are worth more than this,
    against: int | None = None  # or more than this option

    @property
    def questions(self) -> Questions:
        """What can be asked."""
        return self.model.questions

    @property
    def delta(self) -> float:
        """δ, the probability of being wrong."""
        return 1.0 - self.confidence

    @property
    def enough(self) -> float:
        """Log 1/δ: evidence that rejects an option."""
        return math.log(1.0 / self.delta)

    @property
    def slack(self) -> float:
        """The tolerance in units of the evidence."""
        return self.tolerance / (self.noise or 1.0)

    @property
    def base(self) -> int | None:
        """What options are held against: one of them, or a bar; None where the best are wanted."""
        return BAR if self.bar is not None else self.against

    def leads(self, fit: Fit, leader: int | Indices, rivals: Indices) -> Spread:
        """Return leads by a fit, those over a bar (or of it) from the bar on."""
        said = fit.leads(leader, rivals)
        if self.bar is None:
            return said
        side = (rivals == BAR).astype(np.float64) - (np.asarray(leader) == BAR)
        known = np.isfinite(said.variances)
        off = np.where(known, side * self.bar / (self.noise or 1.0), 0.0)
        return said._replace(estimates=said.estimates - off)

    def same(self, option: int) -> NDArray[np.bool_]:
        """Tell (k,) which options have the same features as one, and so the same value."""
        return self.questions.options.same_as(option)

    @property
    def kinds(self) -> Indices:
        """(k,) the first option that has the same features as each, and so the same value."""
        k = len(self.questions.options)
        return np.array([int(np.argmax(self.same(x))) for x in range(k)], dtype=np.intp)

    def guess(self, told: Feedback, about: Fit | None = None, among: Indices | None = None) -> Fit:
        """Return least squares for plans and priors; features may help, which proves nothing."""
        fit = self.model.fit(told, self.noise, about)
        options = self.questions.options
        if options.known_features is None or not options.stand_alone:
            return fit
        if not isinstance(fit, DenseFit):
            return fit
        deviation = self.deviation
        if deviation is not None:
            deviation = max(deviation, 1e-6 * fit.unit) / (self.noise or 1.0)
        return fit.helped(options.known_features, deviation, among)


def model_of(actions: Askable, bar: bool = False) -> Model:
    """Return the model for these options, or for the questions that can be asked about them; with a
    ``bar`` that they are held against.
    """
    if bar:
        questions = Questions.of(actions)
        if questions.rows.shape[0] * questions.rows.shape[1] > _LARGEST:
            raise InputError(
                f"bar is for panels of up to {_LARGEST:,} numbers, questions times parameters; "
                f"here are {len(questions):,} questions with {questions.rows.shape[1]:,}. Say "
                "against, the name of an option."
            )
        return DenseModel(actions, bar=True)
    if isinstance(actions, Questions) and keeps_structure(actions):
        return ArrowModel(actions)
    return DenseModel(actions)


def keeps_structure(questions: Questions) -> bool:
    """Tell whether these questions are a panel that is large enough for the arrow form."""
    q, m = questions.rows.shape
    return bool(q * m > _LARGE) and questions.has_arrow_form
