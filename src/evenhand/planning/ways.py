"""Ways to spend evaluations, what is wanted of them, and what comes of them.

There are two: one look at everything, after which the leader is tested once; and `until_certain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenhand.arrays import Counts, Floats
from evenhand.planning.assumed import Assumed
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.accuracy import Accuracy, accuracy
from evenhand.questions.hand_outs import hand_out

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

    def certain(self, seen: Floats, found: Accuracy) -> NDArray[np.bool_]:
        """Tell of (n, k) values as they may be seen whether the leader is sure to be the best, by
        the test of `inference.conclude` where the noise is known.
        """
        leaders, sure = seen.argmax(axis=1), np.ones(len(seen), dtype=np.bool_)
        share = (1.0 - self.confidence) / max(2, seen.shape[1] - 1)  # of each rival, by a tolerance
        for leader in np.unique(leaders).tolist():
            mine = leaders == leader
            errors = np.sqrt(found.lead_variances(leader))
            ahead = seen[mine, leader][:, None] - seen[mine]
            ahead[:, leader] = np.inf
            sure[mine] = (ahead > self.quantile * errors).all(axis=1)
            within = ahead + self.tolerance > ndtri(1.0 - share) * errors
            sure[mine] |= bool(self.tolerance) & within.all(axis=1)
        return sure


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
        return WayOutcome(counts.astype(float), float(self.terms.certain(estimates, found).mean()))


def asked_of(questions: Questions, evaluators: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return (q,) which questions go to these evaluators, or to nobody in particular."""
    if evaluators is None or not len(questions.evaluators):
        return np.ones(len(questions), dtype=bool)
    return np.asarray(np.append(evaluators, True)[questions.evaluator])


def everything_once(questions: Questions, mask: NDArray[np.bool_]) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once.

    What workloads leave out is as even as it can be, in a panel by a hand-out.
    """
    # Else an evaluator who may not be asked everything is asked about all options as evenly as can
    # be, beginning with another option than the evaluator before.
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    busy = np.append(questions.workload, UNLIMITED)[questions.evaluator] < UNLIMITED
    if (busy & mask).any() and counts.max(initial=0) <= 1:
        found = hand_out(questions, int(counts.sum()), left=counts)
        if found is not None:
            return found
    for e in np.flatnonzero(questions.workload < UNLIMITED).tolist():
        most = int(questions.workload[e])
        (own,) = np.nonzero(mask & (questions.evaluator == e))
        if not len(own):
            continue
        shift = (e * max(1, len(own) // max(len(questions.evaluators), 1))) % len(own)
        own = np.roll(own, -shift)
        caps = questions.capacity[own]
        if int(np.minimum(caps, most).sum()) > most:
            counts[own] = _evenly(np.minimum(caps, most), most)
    return counts


def _evenly(caps: Counts, most: int) -> Counts:
    """Return counts that add to ``most``, as equal as caps allow, earlier ones first."""
    level = most // len(caps)
    counts = np.minimum(caps, level)
    while (left := most - int(counts.sum())) > 0:
        (room,) = np.nonzero(counts < caps)
        if not len(room):
            break
        counts[room[:left]] += 1
    return counts


def price_of(questions: Questions, counts: Floats | Counts) -> float:
    """Return what so many evaluations of each question, (q,), cost."""
    return float(counts @ questions.prices)
