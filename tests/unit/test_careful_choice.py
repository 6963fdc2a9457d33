"""Careful choice: what it is sure of, what it refuses to be sure of, and when it stops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binom, norm, t

import evenhand as eh
from asking import judged
from evenhand.arrays import Floats


def groups_of(k: int) -> Floats:
    return np.where(np.arange(k) % 3 == 0, 1, -1)


def options(k: int, d: int = 1, seed: int = 1) -> eh.ActionSet:
    x = np.random.default_rng([seed, k]).standard_normal((k, d))
    return eh.ActionSet(np.column_stack([np.ones(k), x]), groups_of(k))


def test_a_plain_leader_is_sure_by_own_scores() -> None:
    """The features are noise, and one option is far ahead of all others."""
    actions = options(12)
    u = np.random.default_rng(3).normal(0.0, 0.3, 12)
    u[5] = 6.0
    policy = judged(eh.search.CarefulChoice(actions, at_most=3_000), u + 0.4 * groups_of(12))
    decision = policy.recommend()
    assert (decision.option, decision.certainty, decision.loss) == (5, "own scores", 0.0)
    assert decision.leads[:, 1].min() >= 0.0
    assert policy.forecast() == 0.0
    assert policy.bias().covers(0.4)
    values = policy.values()
    assert ((values[:, 1] <= u) & (u <= values[:, 2])).all()


def test_exact_features_are_not_taken_for_exact_but_tell_the_bias() -> None:
    """A slope of 1, and a bias of 0.5: the best by far is sure by its own scores."""
    actions = options(10, seed=2)
    values = actions.features @ np.array([0.0, 1.0])
    policy = judged(eh.search.CarefulChoice(actions, at_most=20_000), values + 0.5 * groups_of(10))
    decision = policy.recommend()
    assert (decision.certainty, decision.loss) == ("own scores", 0.0)
    assert decision.option == int(values.argmax())
    assert all(finding.assumption != "fit" for finding in decision.warnings)


@pytest.mark.parametrize("deviation", [None, 0.5])
def test_a_bias_is_told_as_the_textbook_tells_it(deviation: float | None) -> None:
    """Without noise to speak of: least squares on the options' means, and Student's interval."""
    k, confidence = 9, 0.9
    actions = options(k, d=2)
    means = np.random.default_rng(5).normal(0.0, 2.0, k)
    policy = eh.search.CarefulChoice(actions, confidence=confidence, deviation=deviation)
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, counts * means, counts * (means**2 + 1e-10)))
    A = np.column_stack([actions.features, groups_of(k)])
    theta, inverse = np.linalg.lstsq(A, means, rcond=None)[0], np.linalg.inv(A.T @ A)
    left = means - A @ theta
    sd = math.sqrt(left @ left / (k - 4) * inverse[3, 3])
    width = t.isf(0.05, k - 4) * sd
    if deviation is not None:
        width = norm.isf(0.05) * deviation * math.sqrt(inverse[3, 3])
    found = policy.bias()
    expected = [theta[3], theta[3] - width, theta[3] + width]
    assert [found.value, found.low, found.high] == pytest.approx(expected, rel=1e-4)


def test_a_bias_by_noise_alone_is_told_as_the_textbook_tells_it() -> None:
    """With τ = 0 and noise of 1, at the second of all looks that there are: 1/6 of δ."""
    k, actions = 9, options(9, d=2)
    policy = eh.search.CarefulChoice(actions, deviation=0.0, noise_scale=1.0)
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, 0.0 * counts, 1.0 * counts))
    A = np.column_stack([actions.features, groups_of(k)])
    width = norm.isf(0.025 / 6.0) * math.sqrt(np.linalg.inv(4.0 * A.T @ A)[3, 3])
    assert [policy.bias().low, policy.bias().high] == pytest.approx([-width, width], rel=1e-6)


def test_a_lack_of_fit_is_a_note() -> None:
    k = 14
    u = np.random.default_rng(4).normal(0.0, 2.0, k)
    policy = judged(eh.search.CarefulChoice(options(k), at_most=2_000), u + 0.5 * groups_of(k))
    decision = policy.recommend()
    (fit,) = [finding for finding in decision.warnings if finding.assumption == "fit"]
    assert not fit.alarm
    assert fit.p_value < 0.02


def test_asserting_exact_features_against_the_scores_is_an_alarm() -> None:
    k = 14
    u = np.random.default_rng(4).normal(0.0, 2.0, k)
    policy = judged(eh.search.CarefulChoice(options(k), at_most=2_000, deviation=0.0), u)
    decision = policy.recommend()
    assert decision.certainty is None
    assert math.isinf(decision.loss)
    assert [finding.assumption for finding in decision.warnings if finding.alarm] == ["fit"]


def test_what_no_number_of_evaluations_can_settle_is_told_early() -> None:
    """One option per side leads, 1 apart; the floor t·2τ√(1/n₊ + 1/n₋)/2 is far above that.

    Without features but a constant, h is ±1/n per group: M₀ = τ²(1/n₊ + 1/n₋) for the lead.
    """
    k = 10
    actions = eh.ActionSet(np.ones((k, 1)), groups_of(k))
    u = 3.0 * np.array([1.1, 1.0, -1.0, 0.1, 0.5, -0.4, -1.2, 0.3, -0.8, 0.6])
    u[0] = u[1] + 1.0
    tau = math.sqrt(sum(((u[s] - u[s].mean()) ** 2).sum() for s in sides(k)) / (k - 2))
    n_plus, n_minus = (len(s) for s in sides(k))
    floor = t.isf(0.05, k - 2) * tau * math.sqrt(1 / n_plus + 1 / n_minus)
    assert floor > 3.0  # beside a lead of 1
    policy = judged(eh.search.CarefulChoice(actions, at_most=100_000), u)
    assert policy.recommend().certainty is None
    assert "No number of evaluations" in str(policy.stopped_because)
    assert "outside the groups" in str(policy.stopped_because)
    assert policy.spent < 1_000


def sides(k: int) -> list[np.ndarray]:
    return [np.flatnonzero(groups_of(k) == side) for side in (1, -1)]


def test_a_known_deviation_is_believed() -> None:
    """The same scores: sure if the deviation is stated to be small, and not if large."""
    k = 12
    u = np.zeros(k)
    u[5] = 2.0
    small, large = (
        judged(eh.search.CarefulChoice(options(k), at_most=4_000, deviation=tau), u)
        for tau in (0.1, 5.0)
    )
    assert small.recommend().certainty == "own scores"
    assert large.recommend().certainty is None
    assert small.bias().high - small.bias().low < large.bias().high - large.bias().low


def test_with_as_many_parameters_as_options_nothing_is_checked_and_nothing_sure() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    policy = judged(eh.search.CarefulChoice(actions, at_most=5_000), np.array([2.0, 0.0, -0.6]))
    decision = policy.recommend()
    assert decision.certainty is None
    assert "Nothing is known of the bias" in str(policy.stopped_because)
    assert policy.bias().high == math.inf
    # within the group, own scores still compare
    assert decision.leads is not None
    assert eh.search.CarefulChoice(actions, at_most=5_000).recommend().certainty is None


def test_a_tie_is_told_as_one_and_a_tolerance_settles_it() -> None:
    k = 12
    u = np.random.default_rng(9).normal(0.0, 0.2, k)
    u[4] = u[7] = 5.0  # the same group
    policy = judged(eh.search.CarefulChoice(options(k), at_most=1_500), u)
    assert policy.recommend().loss > 0.0
    assert "cannot be told apart" in str(policy.stopped_because)
    for label in (policy.actions.labels[4], policy.actions.labels[7]):
        assert label in str(policy.stopped_because)
    near = judged(eh.search.CarefulChoice(options(k), at_most=1_500, tolerance=1.5), u)
    assert near.recommend().certainty == "own scores"
    assert near.recommend().option in (4, 7)
    assert 0.0 < near.recommend().loss <= 1.5


def test_of_too_many_options_nothing_is_sure() -> None:
    k = 5_000
    actions = options(k, d=2)
    values = actions.features @ np.array([1.0, 2.0, -1.0])
    policy = judged(eh.search.CarefulChoice(actions, at_most=4_000), values + 0.5 * groups_of(k))
    assert policy.spent == 4_000
    assert policy.recommend().certainty is None


def test_the_lucky_that_fall_behind_are_no_drift() -> None:
    """Of 400 options the best by four scores each are asked again, and score less: no alarm."""
    k = 400
    u = 0.5 * np.random.default_rng(2).standard_normal(k)
    policy = judged(eh.search.CarefulChoice(options(k), at_most=50_000), u)
    assert not any(finding.alarm for finding in policy.findings())


def test_several_attributes() -> None:
    rng = np.random.default_rng(6)
    z = np.eye(3)[np.arange(18) % 3][:, 1:]
    x = np.column_stack([np.ones(18), rng.standard_normal(18)])
    actions = eh.ActionSet(x, attributes=z)
    u = rng.normal(0.0, 0.2, 18)
    u[10] = 7.0
    policy = judged(eh.search.CarefulChoice(actions, at_most=3_000), u + z @ np.array([1.0, -2.0]))
    assert (policy.recommend().option, policy.recommend().certainty) == (10, "own scores")


def test_what_no_scores_can_show_is_always_said() -> None:
    policy = eh.search.CarefulChoice(options(9))
    (note,) = policy.findings()
    assert not note.alarm
    assert "outside the groups" in str(note)
    assert policy.horizon == 9_000


def test_more_may_be_allowed_and_settles_what_was_too_close() -> None:
    """It goes on from what it knows; so does a copy made in between."""
    k = 12
    u = np.random.default_rng(9).normal(0.0, 0.2, k)
    u[4], u[7] = 5.0, 4.5
    policy = judged(eh.search.CarefulChoice(options(k), at_most=100), u)
    assert policy.recommend().loss > 0.0
    before = policy.spent
    policy.allow(20_000)  # type: ignore[attr-defined]
    copy = eh.restore(json.loads(json.dumps(policy.state())))
    for each in (policy, copy):
        judged(each, u, seed=3)
        assert each.spent > before
        assert (each.recommend().option, each.recommend().loss) == (4, 0.0)
    assert policy.spent == copy.spent
    with pytest.raises(eh.InputError, match="at_most"):
        policy.allow(before)  # type: ignore[attr-defined]


def test_certificates_are_true_as_often_as_they_say() -> None:
    """Twenty-five draws of options and values each; a share of 5% may be false, but for chance."""
    runs, sure, false = 25, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 17])
        x = np.column_stack([np.ones(12), rng.standard_normal((12, 2))])
        z = groups_of(12)
        values = x @ rng.normal(0.0, 2.0, 3) + 0.3 * rng.standard_normal(12)
        policy = judged(
            eh.search.CarefulChoice(eh.ActionSet(x, z), at_most=400), values + 0.5 * z, seed
        )
        decision = policy.recommend()
        if decision.loss == 0.0:
            sure += 1
            false += values[decision.option] < values.max()
    assert sure >= runs / 6  # it is not sure of nothing
    assert false <= binom.isf(1e-4, runs, 0.05)
