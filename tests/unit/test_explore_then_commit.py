"""Explore-then-commit: its designs, how much it explores and why, and what it concludes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.policies import AttributePlan
from evenhand.research.rivals.explore_then_commit import ExploreThenCommit

# The points are a basis. Σ w a = e: w = −1/4 and −5/4 on the first and the last, κ_* = (3/2)².
ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])


def four_groups(seed: int = 1) -> eh.ActionSet:
    """Four groups as dummies, beside an intercept: their effects are known up to a constant."""
    rng = np.random.default_rng(seed)
    group = np.arange(24) % 4
    X = np.column_stack([np.ones(24), rng.standard_normal((24, 2)) + group[:, None] / 2])
    return eh.ActionSet(X, attributes=np.eye(4)[group])


def a_number(seed: int = 1) -> eh.ActionSet:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 2))
    return eh.ActionSet(X, attributes=X @ [[1.0], [0.5]] + rng.standard_normal((15, 1)))


def test_attributes_that_do_not_vary_cost_nothing() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0]], attributes=[[2.0, 1.0], [2.0, 1.0]])
    assert AttributePlan.of(actions).pulls(np.ones(2))[0].tolist() == [0.0, 0.0]
    policy = ExploreThenCommit(actions, 10**4)
    n = policy.ask().counts
    policy.tell(eh.Feedback(n, n * [0.1, 0.5], n * [0.1, 0.5]))
    assert policy.recommend().option == 1


def test_what_cannot_be_told_is_refused_at_the_start() -> None:
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    groups = eh.ActionSet(np.c_[X, [1, 1, -1, -1]], [1, 1, -1, -1])
    with pytest.raises(eh.NotIdentifiableError, match="the bias cannot be estimated"):
        ExploreThenCommit(groups, 100)
    several = eh.ActionSet(X, attributes=np.c_[X[:, 1], [0, 1, 0, 1]])
    with pytest.raises(eh.NotIdentifiableError, match="cannot be compared, however many"):
        ExploreThenCommit(several, 100)


def test_how_much_is_explored_in_closed_form() -> None:
    """N = (price σ²T²/16B²)^{1/3}: 3·2 log 3 for evaluations (1/3 each), κ_*·2/π for the bias."""
    T, sigma, B = 10**8, 2.0, 0.5
    scale = (sigma * T / (4 * B)) ** (2 / 3)
    evaluations = scale * (6 * math.log(3)) ** (1 / 3)
    bias = scale * (2.25 * 2 / math.pi) ** (1 / 3)
    policy = ExploreThenCommit(ACTIONS, T, noise_scale=sigma, value_bound=B)
    assert policy.exploration == pytest.approx(evaluations + bias, rel=1e-5)
    expected = evaluations / 3 + bias * np.array([1 / 6, 0, 5 / 6])
    np.testing.assert_allclose(policy.ask().counts, expected, rtol=1e-4)


def test_the_bound_on_the_regret_is_least_there() -> None:
    """2B(N_1 + N_2) + Tσ(c_1 √(r/N_1) + c_2 √(κ/N_2)), minimised numerically, is 6B(N_1 + N_2)."""
    T, r, kappa = 10**7, 3, 2.25
    c_1, c_2 = math.sqrt(2 * math.log(3)), math.sqrt(2 / math.pi)

    def bound(part: float, price: float) -> float:
        return 2 * part + T * math.sqrt(price / part)

    grid = np.geomspace(1e2, 1e7, 5001)
    least = sum(min(bound(n, price) for n in grid) for price in (r * c_1**2, kappa * c_2**2))
    assert least == pytest.approx(6 * ExploreThenCommit(ACTIONS, T).exploration, rel=1e-4)


def explored(policy: eh.Policy, evaluations: np.ndarray, seed: int) -> eh.Feedback:
    """Let a policy explore, with unit noise; return what it was told."""
    rng = np.random.default_rng(seed)
    n = policy.ask().counts
    sums = n * evaluations + np.sqrt(n) * rng.standard_normal(len(n))
    told = eh.Feedback(n, sums, sums**2 / np.maximum(n, 1) + n)
    policy.tell(told)
    return told


def test_estimates_are_least_squares_evaluation_by_evaluation() -> None:
    problem = eh.families.random(10, 2, 3)
    policy = ExploreThenCommit(problem.actions, 10**5, exploration=300, delta=0.1, noise_scale=1.0)
    told = explored(policy, problem.evaluations, seed=8)
    rows = np.repeat(problem.actions.points, told.counts, axis=0)
    theta, *_ = np.linalg.lstsq(rows, np.repeat(told.means, told.counts), rcond=None)
    variance = np.linalg.inv(rows.T @ rows)[-1, -1]
    bias = policy.bias()
    assert bias.value == pytest.approx(theta[-1], rel=1e-9)
    half = math.sqrt(2 * math.log(10) * variance)
    assert (bias.high - bias.low) / 2 == pytest.approx(half, rel=1e-9)
    best = int((problem.actions.features @ theta[:-1]).argmax())
    assert policy.recommend().option == best
    assert policy.ask().counts.tolist() == [policy.remaining if x == best else 0 for x in range(10)]


PROBLEMS = {
    "worst case": eh.families.worst_case(3, 4.0, 10**5, 3.0)[1],
    "gaps": eh.families.gap_dependent(4, 2.0, 0.1, 0.2)[0],
    "random": eh.families.random(20, 3, 1),
    "four groups": eh.BiasedLinearBandit(four_groups(), [0.0, 0.1, -0.2], [0.9, -0.3, 0.4, -2.0]),
    "a number": eh.BiasedLinearBandit(a_number(), [0.2, -0.3], -0.5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_mean_regret_keeps_its_bound(name: str) -> None:
    """6B(N_1 + N_2), and 2B for each option by which counts are rounded up."""
    problem, T = PROBLEMS[name], 10**5
    assert np.abs(problem.values).max() <= 1.0
    bound = 6 * ExploreThenCommit(problem.actions, T).exploration + 2 * len(problem.actions)
    row = eh.simulate(problem, "explore-then-commit", T, 200).summary().iloc[0]
    assert row["mean_regret"] - 4 * row["se_regret"] <= bound
