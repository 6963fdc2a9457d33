"""Until certain: questions are asked, as often as it takes, until the best option is certain.

Notation
--------
w       (q,)  shares of the price;  w/price are evaluations per unit of price
Δ_j     assumed lead of the best over a rival j (and the tolerance), in units of the noise
s_j²    variance of its estimate, at a price of 1 in the shares w
a_j     Δ_j/s_j: evidence against j grows to about ½(a_j √n + ξ_j)² at the price n
L       log(1/δ), the evidence that rejects a rival;  ξ_j standard normal, correlated as the leads

The stages of `CertainChoice` end about when the last rival is rejected, at the price
max_j ((√(2L) − ξ_j)/a_j)², beside a first stage of one evaluation per dimension (two where options
are their own questions), which tests nothing. Shares are those of the limit T*, but that far rivals
are planned for as if they were nearer: a search rejects them on its way. benchmarks/plan.py
measures how far off that is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.certainty.e_process import certainty_entropy
from evenhand.certainty.shares import proportions
from evenhand.numerics.least_squares import Svd
from evenhand.planning.assumed import Assumed
from evenhand.planning.ways import Terms, WayOutcome
from evenhand.questions import Questions
from evenhand.questions.accuracy import Accuracy, accuracy

_FIRST, _FIRST_OF_OWN = 1.0, 2.0  # evaluations per dimension in the first stage of CertainChoice
_FAR = 3.0  # a rival is planned for as if it were at most so many times as far as the closest
_LARGEST = 1e6  # lead, in units of the noise; a larger one takes no fewer evaluations
_LUCKS = 1024  # of how lucky a search is, in all cases together
_DENSE = 1_000_000  # numbers in a matrix of rows, beyond which shares are a rule of thumb
_WORK = 2_000_000  # such numbers, in all cases together


@dataclass(frozen=True, eq=False)
class UntilCertain:
    """Questions are asked, as often as it takes, until the best option is certain."""

    questions: Questions
    terms: Terms
    assumed: Assumed

    def outcome(self) -> WayOutcome:
        """Return the mean price of certainty, over which option is best and how lucky one is."""
        questions = self.questions
        even, asked = 1.0 / questions.prices, Asked(questions)
        cases = self.assumed.cases(asked.most_cases)
        lucks = max(16, _LUCKS // len(cases))
        start = _FIRST_OF_OWN if _are_their_own(questions) else _FIRST
        counts = start * asked.rank * even / even.sum()
        for number, values in enumerate(cases):
            shares = self._shares(asked, values, _FAR)
            found = accuracy(questions, shares / questions.prices)
            prices = self._prices(found, values, lucks, np.random.default_rng(number))
            counts += prices.mean() * shares / questions.prices / len(cases)
        return WayOutcome(counts)

    def limit(self) -> float:
        """Return T*·kl(δ, 1 − δ), averaged over which option is best; NaN where that takes long."""
        questions = self.questions
        asked = Asked(questions)
        if asked.large:
            return math.nan
        times = []
        for values in self.assumed.cases(asked.most_cases):
            shares = self._shares(asked, values, math.inf)
            speeds, _ = self._speeds(accuracy(questions, shares / questions.prices), values)
            times.append(float((2.0 / speeds**2).max(initial=0.0)))
        return float(np.mean(times)) * certainty_entropy(self.terms.confidence)

    def _leads(self, values: Floats) -> Floats:
        """Return (k,) Δ: leads of the best, and the tolerance."""
        return np.asarray(np.minimum(values.max() - values + self.terms.tolerance, _LARGEST))

    def _speeds(self, found: Accuracy, values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return a_j of the rivals, and (k,) which they are: of other features than the best."""
        s = np.sqrt(found.lead_variances(int(np.argmax(values))))
        rivals = s > 1e-9 * s.max()
        return self._leads(values)[rivals] / s[rivals], rivals

    def _prices(self, found: Accuracy, values: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return (n,) prices at which the last rival is rejected, with more and less luck."""
        speeds, rivals = self._speeds(found, values)
        best = int(np.argmax(values))
        errors = found.errors(n, rng)
        s = np.sqrt(found.lead_variances(best)[rivals])
        xi = (errors[:, [best]] - errors)[:, rivals] / s
        lacking = np.maximum(self._level - xi, 0.0) / speeds
        return np.asarray((lacking**2).max(axis=1, initial=0.0))

    @property
    def _level(self) -> float:
        """√(2L)."""
        return math.sqrt(2.0 * math.log(1.0 / (1.0 - self.terms.confidence)))

    def _shares(self, asked: Asked, values: Floats, far: float) -> Floats:
        """Return w, (q,), for rivals that are at most ``far`` times as far as the closest."""
        questions, best = self.questions, int(np.argmax(values))
        gaps = self._leads(values)
        others = np.arange(len(gaps)) != best
        gaps = np.minimum(gaps, far * gaps[others].min(initial=math.inf))
        if asked.large:
            return _thumb(questions, gaps, best)
        H = questions.options.features @ asked.coordinates[: questions.n_features]
        rows = (H[best] - H[others]) * (self._level / gaps[others, None])
        return proportions(asked.points, rows[np.abs(rows).max(axis=1) > 0.0])[0]


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions that can be asked."""

    questions: Questions

    @property
    def large(self) -> bool:
        """Whether there are so many numbers in their rows that shares are a rule of thumb."""
        return bool(len(self.questions) * self.questions.rows.shape[1] > _DENSE)

    @property
    def most_cases(self) -> int:
        """How many options can be taken to be the best in turn without much ado."""
        if self.large:
            return 8
        return max(3, _WORK // max(1, len(self.questions) * self.rank))

    @cached_property
    def rank(self) -> int:
        """Dimension of their span; the number of columns where that takes long."""
        if self.large:
            return int(self.questions.rows.shape[1])
        if self.questions.has_arrow_form:
            every = np.arange(len(self.questions))
            return self.questions.panel_form(every, np.ones(len(every))).rank
        return int(self.coordinates.shape[1])

    @cached_property
    def coordinates(self) -> Floats:
        """(m, r) what makes the rows over the root of their price, (n, r), a unit Gram matrix."""
        return Svd.of(self._rows).coordinates

    @cached_property
    def points(self) -> Floats:
        """(n, r) the rows in these coordinates."""
        return np.ascontiguousarray(self._rows @ self.coordinates)

    @property
    def _rows(self) -> Floats:
        questions = self.questions
        return np.asarray(questions.weighted_points / np.sqrt(questions.prices)[:, None])


def _are_their_own(questions: Questions) -> bool:
    """Whether every option is its own question."""
    return not questions.options.stand_alone and np.array_equal(
        questions.about[:, 0], np.arange(len(questions.options))
    )


def _thumb(questions: Questions, gaps: Floats, best: int) -> Floats:
    """Return shares that are best for means: ∝ 1/Δ_j², the root of their squares for the best."""
    # Within an option evenly; what can only be asked about gets the least share.
    with np.errstate(divide="ignore"):
        weights = np.minimum(1.0 / gaps**2, 1.0 / np.delete(gaps, best).min(initial=np.inf) ** 2)
    weights[best] = math.sqrt(float((np.delete(weights, best) ** 2).sum())) or 1.0
    every = np.append(weights, np.full(len(questions.items) - len(weights) + 1, weights.min()))
    first, second = questions.about.T
    shares = np.maximum(every[first], np.where(second < 0, 0.0, every[second]))
    return np.asarray(shares / shares.sum())
