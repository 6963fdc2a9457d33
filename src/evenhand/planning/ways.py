"""Ways to spend evaluations, what is wanted of them, and what comes of them.

There are three: `one_look` at everything, `until_certain`, and a bias to a `precise` width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Floats
from evenhand.questions import Questions
from evenhand.questions.accuracy import Accuracy

Evaluators = NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False)
class WayOutcome:
    """What some evaluators are asked, and what comes of it."""

    counts: Floats  # (q,) evaluations of each question: a mean, until certain
    evaluations: float  # infinite where no number will do
    price: float  # of all, likewise
    precision: float  # half-width of the interval of the (first) bias; NaN if there is none
    probability: float  # of certainty after one look; NaN where one asks until certain
    enough: bool  # for what was wanted


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias that is to be known to ± half_width; an infinite one is only reported."""

    name: str
    direction: Floats
    half_width: float


class Way(Protocol):
    """A way to spend evaluations."""

    @property
    def questions(self) -> Questions:
        """What can be asked."""

    @property
    def terms(self) -> Terms:
        """What is wanted."""

    def outcome(self, evaluators: Evaluators = None) -> WayOutcome:
        """Return what these evaluators are asked, (e,) marks; all of them if not given."""

    def roughly(self, found: Accuracy) -> float:
        """Return the variance that matters, to put evaluators in order."""


@dataclass(frozen=True, eq=False)
class Terms:
    """What ways have in common."""

    confidence: float  # of the choice, or of an interval
    tolerance: float  # what may be lost, in standard deviations of one evaluation
    sigma: float  # that standard deviation, in the user's units
    biases: tuple[Bias, ...]  # to be known; the first is the one reported

    @property
    def quantile(self) -> float:
        """Standard errors in the half-width of an interval."""
        return float(ndtri(0.5 + 0.5 * self.confidence))

    def half_width(self, found: Accuracy, bias: Bias) -> float:
        """Return the half-width of the interval of a bias."""
        return self.quantile * self.sigma * math.sqrt(found.variance_of(bias.direction))

    def first_half_width(self, found: Accuracy) -> float:
        """Return the half-width of the first bias; NaN if there is none."""
        return self.half_width(found, self.biases[0]) if self.biases else math.nan

    def precise(self, found: Accuracy) -> bool:
        """Whether every bias is known as well as wanted."""
        return all(
            self.half_width(found, bias) <= bias.half_width * (1 + 1e-9) for bias in self.biases
        )

    def lost(self, found: Accuracy) -> Bias | None:
        """Return a bias that is wanted and that these evaluations do not tell, if there is one."""
        wanted = (bias for bias in self.wanted() if math.isinf(found.variance_of(bias.direction)))
        return next(wanted, None)

    def wanted(self) -> list[Bias]:
        """Return the biases that are to be known to a width."""
        return [bias for bias in self.biases if math.isfinite(bias.half_width)]


def impossible(questions: Questions) -> WayOutcome:
    """Return the outcome where no number of evaluations will do."""
    nothing = np.zeros(len(questions))
    return WayOutcome(nothing, math.inf, math.inf, math.inf, 0.0, False)
