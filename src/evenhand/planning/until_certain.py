"""Until certain: searches by `CertainChoice` are played on values as assumed, and counted.

Biases and leniencies are 0, which changes nothing: a search takes them out whatever they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.errors import InputError
from evenhand.planning.assumed import Assumed
from evenhand.policies import Feedback
from evenhand.questions import Options, Questions
from evenhand.search import CertainChoice

_SEARCHES = 8, 16  # that are played: the fewest, and the most,
_WORK = 1_200  # and questions of all of them
_AT_ONCE = 50  # they ask for a fiftieth of what they have: for speed
_MOST = 10**7  # evaluations of one
_CLOSE = 0.3  # noises that the closest rival is behind at least


class Searches(NamedTuple):
    """What searches until certain take."""

    counts: Floats  # (q,) how often one in the middle of them asks each question
    between: tuple[int, int]  # how many evaluations eight of ten take


def until_certain(
    questions: Questions, assumed: Assumed, confidence: float, tolerance: float
) -> Searches:
    """Return what it takes until the best option is certain; the unit is a noise of 1."""
    # smaller leads take as many more as their square says: those are played at a larger scale
    scale = max(1.0, _CLOSE / (assumed.closest + tolerance))
    low, high = _SEARCHES
    asked = []
    for number in range(max(low, min(high, _WORK // len(questions)))):
        rng = np.random.default_rng(number)
        gamma = scale * _parameters(questions.options, assumed, rng)
        policy = CertainChoice(
            questions,
            at_most=_MOST,
            confidence=confidence,
            tolerance=scale * tolerance,
            noise_scale=1.0,
        )
        asked.append(_played(policy, questions, gamma, rng))
    totals = np.array([counts.sum() for counts in asked])
    few, middle, many = scale**2 * np.quantile(totals, [0.1, 0.5, 0.9], method="weibull")
    shares = np.mean([counts / counts.sum() for counts in asked], axis=0)
    return Searches(middle * shares, (round(few), round(many)))


def _played(
    policy: CertainChoice, questions: Questions, gamma: Floats, rng: np.random.Generator
) -> Counts:
    """Return (q,) how often a search asks each question."""
    means = questions.matrix[:, : questions.n_features] @ gamma
    noise = np.ones(len(questions)) if questions.noise is None else questions.noise
    while (counts := policy.ask(n=1 + policy.spent // _AT_ONCE).counts).any():
        sums = counts * means + noise * np.sqrt(counts) * rng.standard_normal(len(counts))
        around = noise**2 * np.where(counts > 1, rng.chisquare(np.maximum(counts - 1, 1)), 0.0)
        policy.tell(Feedback(counts, sums, sums**2 / np.maximum(counts, 1) + around))
    return policy.limits.asked


def _parameters(options: Options, assumed: Assumed, rng: np.random.Generator) -> Floats:
    """Return (d,) γ by which values are as assumed."""
    if options.stand_alone:
        return assumed.one(rng)
    X = options.features
    if assumed.values is not None:  # met as nearly as values that are linear in features can be
        values = assumed.values
        gamma = np.linalg.lstsq(X[values.argmax()] - X, values.max() - values, rcond=None)[0]
        if assumed.closest > 0.0 >= _least_lead(options, X @ gamma):
            raise InputError("values= are not linear in the options' features, not even nearly.")
        return np.asarray(gamma)
    # of some such values: the closest rival is as close as assumed, others are farther
    gamma = rng.standard_normal(X.shape[1])
    return np.asarray(gamma * (assumed.closest / _least_lead(options, X @ gamma)))


def _least_lead(options: Options, values: Floats) -> float:
    """Return the lead of the best over the closest option with other features."""
    best = int(values.argmax())
    return float((values[best] - values[~options.same_as(best)]).min(initial=np.inf))
