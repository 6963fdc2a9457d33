"""Ways to spend evaluations, what is wanted of them, and what comes of them.

There are three: one look at everything, after which the leader is tested once; `until_certain`; and
a bias to a given width, by the cheapest evaluations, fixed beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Floats
from evenhand.certainty.winner import leader_is_certain
from evenhand.designs.elfving import c_optimal_design
from evenhand.designs.joint import joint_design
from evenhand.planning.assumed import Assumed
from evenhand.planning.capped import capped_counts
from evenhand.planning.panels import asked_of, everything_once, price_of
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.accuracy import Accuracy, accuracy

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

    def outcome_of(self, questions: Questions, counts: Floats) -> WayOutcome:
        """Return what comes of evaluations whose chance of being certain is not the point."""
        found = accuracy(questions, counts)
        return WayOutcome(
            counts,
            float(counts.sum()),
            price_of(questions, counts),
            self.first_half_width(found),
            math.nan,
            self.precise(found),
        )

    def wanted(self) -> list[Bias]:
        """Return the biases that are to be known to a width."""
        return [bias for bias in self.biases if math.isfinite(bias.half_width)]


def impossible(questions: Questions) -> WayOutcome:
    """Return the outcome where no number of evaluations will do."""
    nothing = np.zeros(len(questions))
    return WayOutcome(nothing, math.inf, math.inf, math.inf, 0.0, False)


_DRAWS = 1500  # of what may come out; fewer where there are many options
_DRAWN = 60_000  # values drawn, but for the fewest draws
_FEWEST = 300


@dataclass(frozen=True, eq=False)
class OneLookWay:
    """Everything is asked as often as it may be, and then looked at once."""

    questions: Questions
    terms: Terms
    assumed: Assumed
    chance: float

    def outcome(self, evaluators: Evaluators = None) -> WayOutcome:
        """Return the probability that the leader is certainly the best."""
        counts = everything_once(self.questions, asked_of(self.questions, evaluators))
        found = accuracy(self.questions, counts.astype(float))
        terms = self.terms
        probability = 0.0
        if found.comparable:
            rng = np.random.default_rng(0)
            n = min(_DRAWS, max(_FEWEST, _DRAWN // len(found.own)))
            estimates = self.assumed.draws(n, rng) + found.errors(n, rng)
            certain = leader_is_certain(
                estimates, found.own, found.shared, 1.0 - terms.confidence, terms.tolerance
            )
            probability = float(certain.mean())
        return WayOutcome(
            counts.astype(float),
            float(counts.sum()),
            price_of(self.questions, counts),
            terms.first_half_width(found),
            probability,
            probability >= self.chance and terms.precise(found),
        )

    def roughly(self, found: Accuracy) -> float:
        """Return the mean variance of a lead; infinite where one, or a wanted bias, is lost."""
        return math.inf if self.terms.lost(found) else found.mean_lead_variance()


@dataclass(frozen=True, eq=False)
class Precise:
    """Evaluations, fixed beforehand, that know biases to given widths at the least price."""

    questions: Questions
    terms: Terms

    def outcome(self, evaluators: Evaluators = None) -> WayOutcome:
        """Return the cheapest evaluations; all there are where these are too few."""
        questions, terms = self.questions, self.terms
        mask = asked_of(questions, evaluators)
        if terms.lost(accuracy(questions, mask / 1.0)) is not None:
            return impossible(questions)
        counts = self._counts(mask)
        return terms.outcome_of(questions, counts)

    def roughly(self, found: Accuracy) -> float:
        """Return the largest variance of a bias in units of what is wanted."""
        return max(
            found.variance_of(bias.direction) / bias.half_width**2 for bias in self.terms.wanted()
        )

    def _counts(self, mask: NDArray[np.bool_]) -> Floats:
        questions, terms = self.questions, self.terms
        directions = np.zeros((len(terms.wanted()), questions.rows.shape[1]))
        for row, bias in zip(directions, terms.wanted(), strict=True):
            scale = terms.quantile * terms.sigma / bias.half_width
            row[questions.n_features :] = bias.direction * scale
        counts = np.zeros(len(questions))
        rows, prices = questions.weighted_points[mask], questions.prices[mask]
        if (questions.capacity[mask] < UNLIMITED).any() or (questions.workload < UNLIMITED).any():
            everything = everything_once(questions, mask).astype(float)
            if not terms.precise(accuracy(questions, everything)):
                return everything
            counts[mask] = capped_counts(
                rows,
                directions,
                prices,
                questions.capacity[mask],
                questions.evaluator[mask],
                questions.workload,
            )
            return counts
        if len(directions) == 1:
            design = c_optimal_design(rows, directions[0], prices)
        else:
            design = joint_design(rows, directions, prices)
        wanted = design.mass * design.weights
        counts[mask] = np.ceil(wanted * (1.0 - 1e-9))  # the last digits buy no evaluation
        return counts
