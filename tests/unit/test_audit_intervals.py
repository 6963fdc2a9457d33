"""Intervals of an audit: against dense least squares, closed forms, and what can't be known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import evenhand as eh
from evenhand.scores import Factor, Scores
from rotation import nightly

Array = NDArray[np.float64]


def table(
    option: NDArray[np.intp],
    evaluator: NDArray[np.intp],
    partial: NDArray[np.bool_],
    score: Array | None = None,
    **more: NDArray[np.intp],
) -> Scores:
    def factor(codes: NDArray[np.intp]) -> Factor:
        return Factor(codes.astype(np.int32), tuple(str(i) for i in range(int(codes.max()) + 1)))

    if score is None:
        score = np.random.default_rng(0).random(len(option))
    parts = {name: factor(codes) for name, codes in more.items()}
    return Scores(
        score, factor(option), factor(evaluator), stated=partial.astype(np.float64), **parts
    )


def grid(n_evaluators: int, n_options: int, items: int = 1) -> Scores:
    e, o, item = (x.ravel() for x in np.indices((n_evaluators, n_options, items)))
    return table(o, e, o % n_evaluators == e, item=item)


def scattered(seed: int, n: int = 60) -> Scores:
    rng = np.random.default_rng(seed)
    e, o, event = rng.integers(5, size=n), rng.integers(7, size=n), rng.integers(2, size=n)
    e[:5], o[:7] = np.arange(5), np.arange(7)
    return table(o, e, o % 5 == e, rng.normal(size=n), event=event)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_units_are_the_users(factor: float) -> None:
    scores = scattered(3)
    one, other = (
        eh.audit(x).bias
        for x in (scores, replace(scores, score=factor * scores.score + 7 * factor))
    )
    assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high))
    assert other.chance == pytest.approx(one.chance)


def test_nothing_is_known_where_no_score_is_left_to_tell_from() -> None:
    e, o = (x.ravel() for x in np.indices((2, 2)))
    bias = eh.audit(table(o, e, o == e)).bias
    assert (bias.low, bias.high) == (-math.inf, math.inf)
    assert bias.chance == 1.0


def test_what_is_here_is_surer_than_what_others_would_do() -> None:
    e, o = (x.ravel() for x in np.indices((4, 40)))
    scores = table(o, e, o % 4 == e)
    differing = scores.score + scores.partial * np.array([0.0, 2.0, 4.0, 6.0])[e]
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
    rng, scores = np.random.default_rng(5), grid(evaluators, options)
    own, evaluator = scores.partial, scores.evaluator
    found = []
    for _ in range(n):
        favours = differ * rng.normal(size=evaluators)
        y = rng.normal(size=len(scores)) + own * favours[evaluator.codes]
        found.append(eh.audit(replace(scores, score=y)).bias)
    ratio = np.mean([one.se**2 for one in found]) / np.var([one.value for one in found])
    assert 0.75 < ratio < 1.45
