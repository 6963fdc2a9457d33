"""A bias to a given width: the cheapest evaluations, fixed beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.designs.c_optimal import c_optimal_design
from evenhand.designs.joint import joint_design
from evenhand.planning.capped import capped_counts
from evenhand.planning.panels import asked_of, everything_once, price_of
from evenhand.planning.ways import Evaluators, Terms, WayOutcome, impossible
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.accuracy import Accuracy, accuracy


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
        found = accuracy(questions, counts)
        return WayOutcome(
            counts,
            float(counts.sum()),
            price_of(questions, counts),
            terms.first_half_width(found),
            math.nan,
            terms.precise(found),
        )

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
