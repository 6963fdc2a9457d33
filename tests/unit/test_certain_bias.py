"""CertainBias: one design that no score changes; what it says of the bias holds at all times."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh

THREE = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3]], [1, -1, -1], labels=["A", "B", "C"])


def problem_of(omega: float, noise_scale: float = 1.0) -> eh.BiasedLinearBandit:
    return eh.BiasedLinearBandit(THREE, gamma=[0.6, 0.5], omega=omega, noise_scale=noise_scale)


def played(
    policy: eh.certainty.CertainBias,
    problem: eh.BiasedLinearBandit,
    seed: int,
    n: int | None = None,
) -> eh.certainty.CertainBias:
    evaluations = eh.SimulatedEvaluations(problem, seed=seed)
    while not policy.finished:
        policy.tell(evaluations.evaluate(policy.ask(n)))
    return policy


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_is_there_a_bias(noise_scale: float | None) -> None:
    for omega, tolerance, words in ((0.9, 0.3, "larger than 0.3"), (0.1, 0.8, "no larger than")):
        policy = eh.certainty.CertainBias(
            THREE, at_most=4_000, tolerance=tolerance, noise_scale=noise_scale
        )
        played(policy, problem_of(omega), seed=2)
        assert policy.spent < 2_000
        assert words in str(policy.stopped_because)
        assert policy.bias().covers(omega)
        assert [column.kind for column, _ in policy.biases()] == ["bias"]
        assert policy.recommend().certainty is None


def test_a_bias_by_a_fixed_design_is_as_narrow_as_planned() -> None:
    """3.04 standard deviations at the budget: σ√(κ*/T) is one."""
    policy = eh.certainty.CertainBias(THREE, at_most=400, noise_scale=2.0, tolerance=0.0)
    played(policy, problem_of(0.0, 2.0), seed=1, n=50)
    bias = policy.bias()
    sd = 2.0 * math.sqrt(eh.bias_optimal_design(THREE).value / 400)
    assert (bias.high - bias.value) / sd == pytest.approx(3.04, abs=0.05)
    assert str(policy.stopped_because).startswith("all 400 evaluations are spent")


@pytest.mark.parametrize("runs", [20, pytest.param(60, marks=pytest.mark.nightly)])
def test_where_there_is_no_bias_it_is_seldom_found(runs: int) -> None:
    """At all looks at once, and told 7 at a time in any order."""
    found = 0
    for seed in range(runs):
        policy = eh.certainty.CertainBias(THREE, at_most=600, confidence=0.9)
        found += not played(policy, problem_of(0.0), seed=seed, n=7).bias().covers(0.0)
    assert found <= binom.isf(1e-4, runs, 0.1)


def test_no_score_decides_what_is_asked() -> None:
    asked = []
    for sign in (1.0, -1.0):
        policy, rng = eh.certainty.CertainBias(THREE, at_most=300), np.random.default_rng(1)
        counts = []
        while not policy.finished:
            counts.append(policy.ask(3).counts)
            n = counts[-1]
            sums = sign * n + np.sqrt(n) * rng.standard_normal(3)
            policy.tell(eh.Feedback(n, sums, sums**2 + n))
        asked.append(np.array(counts))
    both = min(len(counts) for counts in asked)
    assert np.array_equal(asked[0][:both], asked[1][:both])
    design, shares = eh.bias_optimal_design(THREE), asked[0].sum(axis=0) / asked[0].sum()
    assert shares == pytest.approx(design.weights, abs=0.03)


def test_logged_scores_tell_nothing() -> None:
    plain, heard = (eh.certainty.CertainBias(THREE, at_most=40, tolerance=0.5) for _ in range(2))
    heard.observe(eh.Feedback([50, 50, 50], [50.0, 0.0, 0.0], [60.0, 9.0, 9.0]))
    evaluations = eh.SimulatedEvaluations(problem_of(0.3), seed=1)
    while not plain.finished:
        allocation = plain.ask(8)
        assert np.array_equal(heard.ask(8).counts, allocation.counts)
        told = evaluations.evaluate(allocation)
        plain.tell(told)
        heard.tell(told)
    assert heard.bias() == plain.bias()


def test_bounded_scores_are_fitted_plan_by_plan() -> None:
    """By hand: each plan's least squares, weighed by information; looked at when it is whole."""
    bounds = (-4.0, 4.0)
    policy = eh.certainty.CertainBias(THREE, at_most=1_000, bounds=bounds)
    evaluations = eh.SimulatedEvaluations(problem_of(0.2, 0.3), seed=3)
    while len(policy.record.rounds) < 4:
        policy.tell(evaluations.evaluate(policy.ask(9)))
    estimates, information = [], []
    for round_ in policy.record.rounds[:3]:
        rows = np.repeat(THREE.points, round_.total.counts, axis=0)
        covariance = np.linalg.inv(rows.T @ rows)
        estimates.append((covariance @ THREE.points.T @ round_.total.sums)[2])
        information.append(1.0 / covariance[2, 2])
    bias = policy.bias()
    assert bias.value == pytest.approx(np.average(estimates, weights=information))
    one = policy.ask(1).counts
    with pytest.raises(eh.InputError, match="bounds"):
        policy.tell(eh.Feedback(one, 5.0 * one, 25.0 * one))


def test_more_may_be_allowed_and_a_copy_goes_on() -> None:
    policy = played(eh.certainty.CertainBias(THREE, at_most=30), problem_of(0.3), seed=4)
    assert policy.spent == 30
    policy.allow(4_000)
    copy = eh.restore(json.loads(json.dumps(policy.state())))
    assert isinstance(copy, eh.certainty.CertainBias)
    for each in (policy, copy):
        played(each, problem_of(0.3), seed=5)
        assert str(each.stopped_because).startswith("the bias is larger than 0")
    assert repr(copy.bias()) == repr(policy.bias())


def test_a_panel_with_little_time_is_asked_what_it_may_be() -> None:
    panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"}, capacity=3)
    policy = eh.certainty.CertainBias(panel, noise_scale=1.0)
    problem = eh.BiasedLinearBandit(panel, gamma=[1.0, 0.0], omega=[0.0, 2.0])
    evaluations = eh.SimulatedEvaluations(problem, seed=1)
    while not policy.finished:
        policy.tell(evaluations.evaluate(policy.ask()))
    assert policy.limits.asked.tolist() == [3, 3, 3, 3]
    assert "cannot be asked any more" in str(policy.stopped_because)
    assert policy.bias().covers(0.0)


def test_a_bias_that_no_scores_show_is_refused() -> None:
    same = eh.ActionSet(np.ones((3, 1)), attributes=np.full((3, 1), 2.0))
    with pytest.raises(eh.NotIdentifiableError, match="cannot be estimated"):
        eh.certainty.CertainBias(same)
