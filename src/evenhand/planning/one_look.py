"""One look: everything is asked as often as it may be, and the leader is then tested once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.certainty.winner import leader_is_certain
from evenhand.planning.assumed import Assumed
from evenhand.planning.panels import asked_of, everything_once, price_of
from evenhand.planning.ways import Evaluators, Terms, WayOutcome
from evenhand.questions import Questions
from evenhand.questions.accuracy import Accuracy, accuracy

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
