"""All scores by the end of a batch, and what they say: leads by own scores, and by the features.

`own_scores` has the notation. Leads within a group come from `duels`, those across groups from
contrasts with the bias taken out. `careful_conclusions` says what is certain by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Floats
from evenhand.certainty.duels import DuelScores
from evenhand.certainty.own_scores import Contrasts, Deviations, LinearFit, OwnScores, deviations
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.frame import OptionFrame

MOST_GROUPS = 8
"""More distinct attributes than that are no groups."""

_USUAL_BIAS = 0.25  # in units of the noise: what an unsure choice reckons a bias to be


class FailureProbabilities(NamedTuple):
    """Probabilities of failure, each for one statement."""

    unexplained: float  # what the features do not explain misleads about a lead across groups
    noise: float  # noise does, at one look
    duel: float  # noise does about a lead within a group, at any time
    linear: float  # noise misleads about a lead of the linear model, at one look


@dataclass(frozen=True, eq=False)
class CarefulLook:
    """All scores by the end of a batch, and what they say."""

    frame: OptionFrame
    scores: OwnScores
    duels: DuelScores | None  # comparisons within groups; None where there are too many options
    levels: FailureProbabilities
    deviation: float | None  # τ where it is known

    @cached_property
    def known(self) -> Deviations | None:
        """What is known of τ; None if nothing is."""
        s = self.scores
        return deviations(self.frame.points, s.means, s.variances, self.deviation)

    @cached_property
    def fit(self) -> LinearFit | None:
        """The linear fit; None while the options with scores do not show all parameters."""
        return LinearFit.of(self.frame.points, self.scores)

    @cached_property
    def bias_part(self) -> Floats:
        """B, (k, r)."""
        return np.asarray(self.frame.points - self.frame.values)

    @cached_property
    def guesses(self) -> Floats:
        """(k,) own scores, less the bias as far as it is known; −∞ without scores."""
        # A bias of which the scores leave the variance s² is taken off by the share b²/(b² + s²),
        # with b what a bias usually is, as if its law were Gaussian; or by 1 − 4s²/bias² if that is
        # more, for then it is plainly there. So scores that tell little of it stay as they are.
        seen = self.scores.counts > 0
        values = np.where(seen, self.scores.means, -np.inf)
        if self.known is None:
            return values
        parts = Contrasts.of(self.scores, self.known, None, -self.bias_part)
        usual = (_USUAL_BIAS * self.scores.scales) ** 2
        bias, variance = parts.middle, np.maximum(parts.spread, 1e-300)
        share = np.maximum(
            usual / (usual + variance), 1.0 - 4.0 * variance / np.maximum(bias**2, 1e-300)
        )
        return np.asarray(values - share * bias)

    @cached_property
    def contenders(self) -> list[int]:
        """What may be the best: the best guess, and the best of every group by its own scores."""
        seen = np.where(self.scores.counts > 0, self.scores.means, -np.inf)
        found = [first_largest(self.guesses)]
        if len(self.frame.cells) <= MOST_GROUPS:
            for g in range(len(self.frame.cells)):
                (members,) = np.nonzero(self.frame.cell == g)
                found.append(int(members[first_largest(seen[members])]))
        return [x for x in dict.fromkeys(found) if self.scores.counts[x] > 0]

    def same(self, i: int) -> NDArray[np.bool_]:
        """Tell (k,) which options have the attributes of option i."""
        return np.asarray(self.frame.cell == self.frame.cell[i])

    def leads_of(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option by own scores, with intervals."""
        if i not in self._leads:
            self._leads[i] = self._own_leads(i)
        return self._leads[i]

    @cached_property
    def _leads(self) -> dict[int, Floats]:
        return {}

    def _own_leads(self, i: int) -> Floats:
        k, scores = len(self.scores.counts), self.scores
        leads = np.tile([np.nan, -np.inf, np.inf], (k, 1))
        if self.duels is not None:
            same = self.same(i)
            stretch = scores.quantile(self.levels.duel) / -float(ndtri(self.levels.duel))
            if math.isfinite(stretch):
                leads[same] = self.duels.leads(i, scores.scales, self.levels.duel, stretch)[same]
            if self.known is not None and not same.all():
                across = self._contrasts(i, self.known)
                noise = scores.quantile(self.levels.noise)
                leads[~same] = across.interval(noise, self.levels.unexplained)[~same]
        leads[scores.counts == 0] = (np.nan, -np.inf, np.inf)
        leads[i] = 0.0
        return leads

    def _contrasts(self, i: int, known: Deviations) -> Contrasts:
        own = -np.eye(len(self.scores.counts))
        own[:, i] += 1.0
        return Contrasts.of(self.scores, known, own, self.bias_part[i] - self.bias_part)

    def linear_leads(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option if the features are exact, with intervals."""
        assert self.fit is not None
        directions = self.frame.values[i] - self.frame.values
        leads = directions @ self.fit.parameters
        width = self.scores.quantile(self.levels.linear) * self.fit.deviations(directions)
        return np.column_stack([leads, leads - width, leads + width])
