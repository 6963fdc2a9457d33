"""Intervals of an audit: against dense least squares, closed forms, and what can't be known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import evenhand as eh
from evenhand.auditing import Effects, clustered, leverage, two_way
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


def residual_maker(effects: Effects) -> tuple[Array, Array]:
    """Return M and M_x, with a column for everything."""
    scores = effects.scores
    columns = [np.eye(size)[codes] for codes, size in (scores.scored, scores.chairs)]
    M = np.eye(len(scores)) - (X := np.hstack(columns)) @ np.linalg.pinv(X)
    S = M @ scores.partial
    return M, M - np.outer(S, S) / (S @ S)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", ["evaluator", "option"])
def test_leverage_is_that_of_dense_projections(seed: int, by: str) -> None:
    effects = two_way(scattered(seed))
    factor = getattr(effects.scores, by)
    M, M_x = residual_maker(effects)
    picked = np.eye(len(factor))[factor.codes].T
    S, p = M @ effects.scores.partial, effects.scores.partial
    K = (picked * S) @ M_x @ (picked * S).T
    L = (picked * S) @ M_x @ (picked * p).T
    factors = (picked @ (S * S)) / np.diag(K)

    found = leverage(effects, factor.codes, len(factor))
    assert found.factors == pytest.approx(factors, rel=1e-6)
    for freedom, C in ((found.freedom, K), (found.own_freedom, L @ L.T)):
        # mean²/(½ variance) of Σ c z² with z normal of covariance C
        root = np.diag(np.sqrt(factors))
        eigenvalues = np.linalg.eigvalsh(root @ C @ root)
        assert freedom == pytest.approx(eigenvalues.sum() ** 2 / (eigenvalues**2).sum(), rel=1e-6)
    shown = factors @ np.diag(L @ L.T) / ((picked @ (S * p)) ** 2).sum()
    assert found.shown == pytest.approx(min(shown, 1.0), rel=1e-6)


@pytest.mark.parametrize("n", [3, 5, 9])
def test_equal_evaluators_have_one_degree_of_freedom_less_than_they_are(n: int) -> None:
    scores = grid(n, 2 * n)
    found = leverage(two_way(scores), scores.evaluator.codes, n)
    assert found.freedom == pytest.approx(n - 1)
    assert found.own_freedom == pytest.approx(n - 1)
    # λ = 1/n of the information, of which options' means and the bias leave (n − 2)/n
    assert found.factors == pytest.approx(np.full(n, n / (n - 2)))


def test_the_naive_interval_is_that_of_least_squares() -> None:
    effects = two_way(scattered(5))
    _, M_x = residual_maker(effects)
    y = effects.scores.score
    variance = y @ M_x @ y / np.trace(M_x) / effects.information
    bias = eh.audit(effects.scores).naive
    assert bias.se == pytest.approx(math.sqrt(variance))
    assert bias.freedom == pytest.approx(np.trace(M_x))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_units_are_the_users(factor: float) -> None:
    scores = scattered(3)
    one = clustered(two_way(scores), 0.95)
    other = clustered(two_way(replace(scores, score=factor * scores.score + 7 * factor)), 0.95)
    assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high))
    assert other.chance == pytest.approx(one.chance)


def test_one_partial_evaluator_speaks_for_himself() -> None:
    e, o = (x.ravel() for x in np.indices((5, 12)))
    bias = clustered(two_way(table(o, e, (e == 0) & (o < 4))), 0.95)
    assert bias.only == ("evaluators",)
    assert bias.clusters == {"options": 4}
    assert math.isfinite(bias.high)


def test_two_who_favour_what_the_other_scores_tell_of_themselves_only() -> None:
    bias = clustered(two_way(grid(2, 12)), 0.95)
    assert bias.only == ("evaluators",)
    assert math.isfinite(bias.high)


def test_one_pair_is_as_noisy_as_others() -> None:
    e, o = (x.ravel() for x in np.indices((4, 6)))
    effects = two_way(table(o, e, (e == 0) & (o == 0)))
    bias = clustered(effects, 0.95)
    assert bias.only == ("evaluators", "options")
    assert bias.se == pytest.approx(eh.audit(effects.scores).naive.se)


def test_nothing_is_known_where_no_score_is_left_to_tell_from() -> None:
    e, o = (x.ravel() for x in np.indices((2, 2)))
    bias = clustered(two_way(table(o, e, o == e)), 0.95)
    assert (bias.low, bias.high) == (-math.inf, math.inf)
    assert bias.chance == 1.0


def test_equal_scores_are_no_alarm() -> None:
    scores = replace(grid(3, 6), score=np.full(18, 0.1))
    bias = clustered(two_way(scores), 0.95)
    assert (bias.value, bias.low, bias.high, bias.chance) == (0.0, 0.0, 0.0, 1.0)


def test_what_is_here_is_as_sure_as_noise_lets_it_be() -> None:
    """Where no pair comes back, and noise is alike everywhere, that is least squares."""
    e, o = (x.ravel() for x in np.indices((4, 40)))
    scores = table(o, e, o % 4 == e)
    differing = scores.score + scores.partial * np.array([0.0, 2.0, 4.0, 6.0])[e]
    effects = two_way(replace(scores, score=differing))
    found = eh.audit(effects.scores)
    these = found.here
    assert these.only == ("evaluators", "options")
    assert found.naive.se <= these.se < 0.5 * clustered(effects, 0.95).se
    assert these.freedom == effects.freedom


def test_scores_that_are_the_same_each_time_count_once() -> None:
    once = grid(4, 12)
    often = grid(4, 12, items=5)
    same = once.score.reshape(4, 12)[often.evaluator.codes, often.option.codes]
    one, five = (eh.audit(x).here for x in (once, replace(often, score=same)))
    assert five.value == pytest.approx(one.value)
    assert five.se == pytest.approx(one.se, rel=0.1)
    assert five.freedom < 48


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
    assert own is not None
    assert evaluator is not None
    found = []
    for _ in range(n):
        favours = differ * rng.normal(size=evaluators)
        y = rng.normal(size=len(scores)) + own * favours[evaluator.codes]
        found.append(clustered(two_way(replace(scores, score=y)), 0.95))
    ratio = np.mean([one.se**2 for one in found]) / np.var([one.value for one in found])
    assert 0.75 < ratio < 1.45
