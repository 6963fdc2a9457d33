"""Intervals of an audit: as wide as estimates scatter over many tables, or without an end."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.scores import Factor, Scores
from rotation import nightly


def crossed(n_evaluators: int, n_options: int) -> Scores:
    """Return a full table; who is partial favours every n-th option."""
    e, o = (x.ravel().astype(np.int32) for x in np.indices((n_evaluators, n_options)))
    option, evaluator = (
        Factor(codes, tuple(map(str, range(n)))) for codes, n in ((o, n_options), (e, n_evaluators))
    )
    score = np.random.default_rng(0).random(len(o))
    return Scores(score, option, evaluator, stated=(o % n_evaluators == e).astype(np.float64))


def test_nothing_is_known_where_no_score_is_left_to_tell_from() -> None:
    bias = eh.audit(crossed(2, 2)).bias
    assert (bias.low, bias.high) == (-math.inf, math.inf)
    assert bias.chance == 1.0


def test_what_is_here_is_surer_than_what_others_would_do() -> None:
    scores = crossed(4, 40)
    favours = np.array([0.0, 2.0, 4.0, 6.0])[scores.evaluator.codes]
    differing = scores.score + scores.partial * favours
    found = eh.audit(replace(scores, score=differing))
    assert 0.9 * found.naive.se <= found.here.se < 0.5 * found.bias.se


@pytest.mark.parametrize("n", [200, *nightly([400])])
@pytest.mark.parametrize(("evaluators", "options", "differ"), [(3, 18, 3.0), (12, 24, 0.0)])
def test_the_variance_is_that_of_the_estimate(
    evaluators: int, options: int, differ: float, n: int
) -> None:
    """Over many tables: where three evaluators differ much, and where there is noise alone.

    Both variances scatter by a tenth at most, so that a third either way is three of these.
    """
    rng, scores = np.random.default_rng(5), crossed(evaluators, options)
    own, evaluator = scores.partial, scores.evaluator
    found = []
    for _ in range(n):
        favours = differ * rng.normal(size=evaluators)
        y = rng.normal(size=len(scores)) + own * favours[evaluator.codes]
        found.append(eh.audit(replace(scores, score=y)).bias)
    ratio = np.mean([one.se**2 for one in found]) / np.var([one.value for one in found])
    assert 0.75 < ratio < 1.45
