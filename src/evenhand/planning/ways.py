"""Ways to spend evaluations, what is wanted of them, and what comes of them.

There are two: one look at everything, after which the leader is tested once; and `until_certain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Floats
from evenhand.certainty.winner import leader_is_certain
from evenhand.planning.assumed import Assumed
from evenhand.planning.panels import asked_of, everything_once
from evenhand.questions import Questions
from evenhand.questions.accuracy import Accuracy, accuracy

Evaluators = NDArray[np.bool_] | None

_DRAWS = 1500  # of what may come out; fewer where there are many options
_DRAWN = 60_000  # values drawn, but for the fewest draws
_FEWEST = 300


@dataclass(frozen=True, eq=False)
class Terms:
    """What ways have in common."""

    confidence: float  # of the choice, or of an interval
    tolerance: float  # what may be lost, in standard deviations of one evaluation
    sigma: float  # that standard deviation, in the user's units
    bias: Floats | None = None  # direction of the first bias, whose interval is reported

    @property
    def quantile(self) -> float:
        """Standard errors in the half-width of an interval."""
        return float(ndtri(0.5 + 0.5 * self.confidence))

    def half_width(self, found: Accuracy) -> float:
        """Return the half-width of the interval of the first bias; NaN if there is none."""
        if self.bias is None:
            return math.nan
        return self.quantile * self.sigma * math.sqrt(found.variance_of(self.bias))


@dataclass(frozen=True, eq=False)
class WayOutcome:
    """What some evaluators are asked, and what comes of it."""

    counts: Floats  # (q,) evaluations of each question: a mean, until certain
    probability: float = math.nan  # of certainty after one look


@dataclass(frozen=True, eq=False)
class OneLookWay:
    """Everything is asked as often as it may be, and then looked at once."""

    questions: Questions
    terms: Terms
    assumed: Assumed

    def outcome(self, evaluators: Evaluators = None) -> WayOutcome:
        """Return the probability that the leader is certainly the best, with these evaluators."""
        counts = everything_once(self.questions, asked_of(self.questions, evaluators))
        found = accuracy(self.questions, counts.astype(float))
        if not found.comparable:
            return WayOutcome(counts.astype(float), 0.0)
        rng = np.random.default_rng(0)
        n = min(_DRAWS, max(_FEWEST, _DRAWN // len(found.own)))
        estimates = self.assumed.draws(n, rng) + found.errors(n, rng)
        delta, slack = 1.0 - self.terms.confidence, self.terms.tolerance
        certain = leader_is_certain(estimates, found.own, found.shared, delta, slack)
        return WayOutcome(counts.astype(float), float(certain.mean()))
