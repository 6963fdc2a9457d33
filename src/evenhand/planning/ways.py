"""Ways to spend evaluations: until certain, one look at everything, a bias to a given precision.

Notation
--------
w       (q,)  shares of the price;  w/price are evaluations per unit of price
Δ_j     assumed lead of the best over a rival j (and the tolerance);  s_j² variance of its estimate
a_j     Δ_j/(σ s_j) at w: evidence against j grows to about ½(a_j √n + ξ_j)² at the price n
L       log(1/δ), the evidence that rejects a rival;  ξ_j standard normal, correlated as the leads

Until certain: the stages of `CertainChoice` end about when the last rival is rejected, at the price
max_j ((√(2L) − ξ_j)/a_j)², beside a first stage of two evaluations per dimension, which tests
nothing. Nothing in that is fitted; benchmarks/plan.py measures how far off it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Floats
from evenhand.designs.c_optimal import c_optimal_design
from evenhand.designs.joint import joint_design
from evenhand.errors import NotIdentifiableError
from evenhand.limits import certainty_entropy
from evenhand.planning.accuracy import Accuracy, accuracy
from evenhand.planning.assumed import Assumed
from evenhand.planning.capped import capped_counts
from evenhand.planning.panels import asked_of, everything_once, price_of
from evenhand.planning.winner import leader_is_certain
from evenhand.policies._stages import minimax_weights
from evenhand.questions import UNLIMITED, Questions

Evaluators = NDArray[np.bool_] | None

_FIRST = 2.0  # evaluations per dimension in the first stage of CertainChoice
_DRAWS = 1500  # of what may come out of one look
_LUCKS = 512  # of how lucky a search is, in all cases together
_DENSE = 4_000_000  # numbers in a matrix of rows, beyond which proportions are a rule of thumb
_STEPS, _TOL = 300, 0.005  # of the search for proportions


@dataclass(frozen=True, eq=False)
class Outcome:
    """What some evaluators are asked, and what comes of it.

    Parameters
    ----------
    counts
        (q,) evaluations of each question: a mean, until certain.
    evaluations, price
        How many, and what they cost; infinite where no number of them will do.
    precision
        Half-width of the interval of the (first) bias; NaN if there is none.
    probability
        Of being certain after one look; NaN where one asks until certain.
    limit
        The price below which no policy is certain, in the mean; NaN if it was not asked for.
    enough
        Whether that is what was wanted.
    """

    counts: Floats
    evaluations: float
    price: float
    precision: float
    probability: float
    limit: float
    enough: bool


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

    def outcome(self, evaluators: Evaluators = None) -> Outcome:
        """Return what these evaluators are asked, (e,) marks; all of them if not given."""

    def roughly(self, found: Accuracy) -> float:
        """Return the variance that matters, to put evaluators in order."""


@dataclass(frozen=True, eq=False)
class Terms:
    """What ways have in common.

    Parameters
    ----------
    confidence, tolerance, sigma
        As in `plan`; the noise σ is in the unit of values.
    biases
        Those to be known; the first is the one reported.
    """

    confidence: float
    tolerance: float
    sigma: float
    biases: tuple[Bias, ...]

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

    def wanted(self) -> list[Bias]:
        """Return the biases that are to be known to a width."""
        return [bias for bias in self.biases if math.isfinite(bias.half_width)]


def impossible(questions: Questions) -> Outcome:
    """Return the outcome where no number of evaluations will do."""
    nothing = np.zeros(len(questions))
    return Outcome(nothing, math.inf, math.inf, math.inf, 0.0, math.inf, False)


@dataclass(frozen=True, eq=False)
class OneLook:
    """Everything is asked as often as it may be, and then looked at once."""

    questions: Questions
    terms: Terms
    assumed: Assumed
    chance: float

    def outcome(self, evaluators: Evaluators = None) -> Outcome:
        """Return the probability that the leader is certainly the best."""
        counts = everything_once(self.questions, asked_of(self.questions, evaluators))
        found = accuracy(self.questions, counts.astype(float))
        terms = self.terms
        probability = 0.0
        if found.comparable:
            rng = np.random.default_rng(0)
            values = self.assumed.draws(_DRAWS, rng)
            estimates = values + terms.sigma * found.errors(_DRAWS, rng)
            certain = leader_is_certain(
                estimates,
                terms.sigma**2 * found.covariance(),
                1.0 - terms.confidence,
                terms.tolerance,
            )
            probability = float(certain.mean())
        return Outcome(
            counts.astype(float),
            float(counts.sum()),
            price_of(self.questions, counts),
            terms.first_half_width(found),
            probability,
            math.nan,
            probability >= self.chance and terms.precise(found),
        )

    def roughly(self, found: Accuracy) -> float:
        """Return the mean variance of a lead."""
        return found.mean_lead_variance()


@dataclass(frozen=True, eq=False)
class UntilCertain:
    """Questions are asked, as often as it takes, until the best option is certain."""

    questions: Questions
    terms: Terms
    assumed: Assumed

    def outcome(self, evaluators: Evaluators = None) -> Outcome:
        """Return the mean price of certainty, over which option is best and how lucky one is."""
        questions, terms = self.questions, self.terms
        mask = asked_of(questions, evaluators)
        even = mask / questions.prices
        if not accuracy(questions, even).comparable:
            return impossible(questions)
        asked = Asked.of(questions, mask)
        cases = self.assumed.cases()
        lucks = max(16, _LUCKS // len(cases))
        counts, limits = np.zeros(len(questions)), 0.0
        for number, values in enumerate(cases):
            shares, found = self._proportions(asked, values)
            prices = self._prices(found, values, lucks, np.random.default_rng(number))
            for bias in terms.wanted():
                need = terms.half_width(found, bias) / bias.half_width
                prices = np.maximum(prices, need**2)
            counts += prices.mean() * shares / questions.prices / len(cases)
            slowest = float((2.0 / self._speeds(found, values) ** 2).max(initial=0.0))
            limits += slowest * certainty_entropy(terms.confidence) / len(cases)
        start = _FIRST * asked.rank
        counts *= 1.0 + start / max(float(counts.sum()), 1e-300)
        found = accuracy(questions, counts)
        return Outcome(
            counts,
            float(counts.sum()),
            price_of(questions, counts),
            terms.first_half_width(found),
            math.nan,
            limits,
            terms.precise(found),
        )

    def roughly(self, found: Accuracy) -> float:
        """Return the mean variance of a lead."""
        return found.mean_lead_variance()

    def _speeds(self, found: Accuracy, values: Floats) -> Floats:
        """Return a_j of the rivals at a price of 1; of options of other features than the best."""
        best = int(np.argmax(values))
        s = np.sqrt(found.lead_variances(best))
        rivals = s > 1e-9 * s.max()
        leads = values[best] - values + self.terms.tolerance
        return np.asarray(leads[rivals] / (self.terms.sigma * s[rivals]))

    def _prices(self, found: Accuracy, values: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Return (n,) prices at which the last rival is rejected, with more and less luck."""
        best = int(np.argmax(values))
        s = np.sqrt(found.lead_variances(best))
        rivals = s > 1e-9 * s.max()
        errors = found.errors(n, rng)
        xi = (errors[:, [best]] - errors)[:, rivals] / s[rivals]
        level = math.sqrt(2.0 * math.log(1.0 / (1.0 - self.terms.confidence)))
        lacking = np.maximum(level - xi, 0.0) / self._speeds(found, values)
        return np.asarray((lacking**2).max(axis=1, initial=0.0))

    def _proportions(self, asked: Asked, values: Floats) -> tuple[Floats, Accuracy]:
        """Return w, (q,), and what a price of 1 in these shares tells."""
        questions, terms = self.questions, self.terms
        best = int(np.argmax(values))
        gaps = (values[best] - values + terms.tolerance) / terms.sigma
        if asked.coordinates is None:
            shares = _thumb(questions, asked.mask, gaps, best)
        else:
            H = asked.coordinates[: questions.n_features].T @ questions.options.features.T
            U = (H[:, [best]] - H).T
            level = 2.0 * math.log(1.0 / (1.0 - terms.confidence))
            scaled = U * math.sqrt(level) / np.where(gaps > 0, gaps, 1.0)[:, None]
            wanted = [
                asked.coordinates[questions.n_features :].T
                @ bias.direction
                * (terms.quantile * terms.sigma / bias.half_width)
                for bias in terms.wanted()
            ]
            rows = np.vstack([scaled[np.arange(len(U)) != best], *wanted])
            rows = rows[np.abs(rows).max(axis=1) > 0.0]
            shares = asked.shares(rows)
        return shares, accuracy(questions, shares / questions.prices)


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions that some evaluators can be asked, in coordinates of their span.

    ``coordinates``, (m, r), makes the rows over the root of their price, (n, r), a unit Gram
    matrix; None where there are too many numbers.
    """

    mask: NDArray[np.bool_]
    rank: int
    points: Floats | None
    coordinates: Floats | None

    @classmethod
    def of(cls, questions: Questions, mask: NDArray[np.bool_]) -> Asked:
        """Return the coordinates of the questions that are marked."""
        m = questions.rows.shape[1]
        if int(mask.sum()) * m > _DENSE:
            return cls(mask, m, None, None)
        A = questions.weighted_points[mask] / np.sqrt(questions.prices[mask])[:, None]
        scales = np.abs(A).max(axis=0)
        scales[scales == 0.0] = 1.0
        _, singular, V = np.linalg.svd(A / scales, full_matrices=False)
        kept = singular > 1e-10 * singular[0]
        C = (V[kept].T / singular[kept]) / scales[:, None]
        return cls(mask, int(kept.sum()), np.ascontiguousarray(A @ C), C)

    def shares(self, directions: Floats) -> Floats:
        """Return (q,) the shares of the price at which the largest variance is least."""
        assert self.points is not None
        w = np.full(len(self.points), 1.0 / len(self.points))
        minimax_weights(self.points, np.ascontiguousarray(directions), w, _STEPS, _TOL)
        shares = np.zeros(len(self.mask))
        shares[self.mask] = w / w.sum()
        return shares


def _thumb(questions: Questions, mask: NDArray[np.bool_], gaps: Floats, best: int) -> Floats:
    """Return shares that are best for means: ∝ 1/Δ_j², and the root of their squares for the best.

    Within an option evenly; what can only be asked about gets the least share.
    """
    with np.errstate(divide="ignore"):
        weights = np.minimum(1.0 / gaps**2, 1.0 / np.delete(gaps, best).min(initial=np.inf) ** 2)
    weights[best] = math.sqrt(float((np.delete(weights, best) ** 2).sum())) or 1.0
    every = np.append(weights, np.full(len(questions.items) - len(weights) + 1, weights.min()))
    first, second = questions.about.T
    shares = np.where(mask, np.maximum(every[first], np.where(second < 0, 0.0, every[second])), 0.0)
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True, eq=False)
class Precise:
    """Evaluations, fixed beforehand, that know biases to given widths at the least price."""

    questions: Questions
    terms: Terms

    def outcome(self, evaluators: Evaluators = None) -> Outcome:
        """Return the cheapest evaluations; all there are where these are too few."""
        questions, terms = self.questions, self.terms
        mask = asked_of(questions, evaluators)
        most = accuracy(questions, mask / 1.0)
        if any(math.isinf(terms.half_width(most, bias)) for bias in terms.wanted()):
            return impossible(questions)
        counts = self._counts(mask)
        found = accuracy(questions, counts)
        return Outcome(
            counts,
            float(counts.sum()),
            price_of(questions, counts),
            terms.first_half_width(found),
            math.nan,
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
        try:
            if len(directions) == 1:
                design = c_optimal_design(rows, directions[0], prices)
            else:
                design = joint_design(rows, directions, prices)
        except NotIdentifiableError:
            return counts
        wanted = design.mass * design.weights
        counts[mask] = np.ceil(wanted * (1.0 - 1e-9))  # the last digits buy no evaluation
        return counts
