"""Phased elimination: its phases by closed forms, and what it believes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import evenhand as eh
from asking import played
from evenhand.research.rivals.phased_elimination import PhasedElimination

Floats = np.ndarray


def basis(d: int) -> eh.ActionSet:
    """The unit vectors: a G-design on some of them weighs them alike, estimates are means."""
    return eh.ActionSet(np.eye(d), [1, -1] * (d // 2) + [1] * (d % 2))


def answer(policy: eh.Policy, means: Floats) -> None:
    """Tell evaluations without noise."""
    n = policy.ask().counts
    policy.tell(eh.Feedback(n, n * means, n * means**2))


def transcribed(means: list[Floats], k: int, T: int, B: float, sigma: float) -> Iterator[list[int]]:
    """The book's algorithm on unit vectors, δ = 1/T; ``means`` are those that come back."""
    left, spent, best, l = list(range(k)), 0, 0, 0  # noqa: E741 # the book's letter
    while len(left) > 1:
        l += 1  # noqa: E741
        eps = B / 2**l
        each = math.ceil(2 * sigma**2 / eps**2 * math.log(k * l * (l + 1) * T))
        if spent + each * len(left) > T:
            break
        yield [each if x in left else 0 for x in range(k)]
        spent += each * len(left)
        seen = means[l - 1]
        best = max(left, key=lambda x: seen[x])
        left = [x for x in left if seen[best] - seen[x] <= 2 * eps]
    yield [T - spent if x == best else 0 for x in range(k)]


@pytest.mark.parametrize(("B", "sigma"), [(1.0, 1.0), (2.0, 0.5), (0.25, 1.0)])
@pytest.mark.parametrize("seed", range(4))
def test_phases_are_those_of_the_book(B: float, sigma: float, seed: int) -> None:
    k, T = 6, 10**7
    rng = np.random.default_rng(seed)
    value = B * rng.uniform(-0.5, 0.5, k)
    # estimates that close in on the values, so that options are dropped one after another
    means = [value + B * rng.uniform(-0.5, 0.5, k) / 2**l for l in range(1, 40)]  # noqa: E741
    policy = PhasedElimination(basis(k), T, noise_scale=sigma, value_bound=B)
    asked = 0
    for asked, counts in enumerate(transcribed(means, k, T, B, sigma)):
        assert policy.ask().counts.tolist() == counts
        answer(policy, means[asked])
    assert policy.finished
    assert policy.spent == T
    assert asked >= 3


def test_the_first_phase_in_closed_form() -> None:
    """ε = B/2: 8 (σ/B)² log(2k/δ) evaluations of each of k unit vectors."""
    policy = PhasedElimination(basis(5), 10**6, delta=0.01, noise_scale=3.0, value_bound=2.0)
    assert policy.ask().counts.tolist() == [math.ceil(8 * (3 / 2) ** 2 * math.log(10 / 0.01))] * 5


def test_precision_of_a_phase_is_what_it_asks_for() -> None:
    """Σ w²/n of every option's estimate, by dense algebra, is at most ε²/(2σ² log(k l(l+1)/δ))."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 4)) @ np.diag([1.0, 3.0, 0.1, 1.0])
    policy = PhasedElimination(eh.ActionSet(X, rng.permutation([1, -1] * 20)), 10**6, delta=0.1)
    n = policy.ask().counts
    V = (X * n[:, None]).T @ X
    variance = np.einsum("ij,ij->i", X @ np.linalg.inv(V), X)
    assert variance.max() <= 0.5**2 / (2 * math.log(40 * 2 / 0.1)) * (1 + 2e-6)
    # and no more is spent than the rank and the support of the design call for
    assert n.sum() <= 4 * 8 * math.log(40 * 2 / 0.1) + (n > 0).sum()


def test_groups_are_not_looked_at() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((10, 3))
    mean = X @ [0.3, 0.2, -0.1] + rng.standard_normal(10)
    policies = [
        PhasedElimination(eh.ActionSet(X, groups), 10**5)
        for groups in ([1, -1] * 5, [1] * 9 + [-1])
    ]
    policies.append(PhasedElimination(eh.ActionSet(X, attributes=rng.random((10, 2))), 10**5))
    while not policies[0].finished:
        asks = [policy.ask().counts.tolist() for policy in policies]
        assert asks[0] == asks[1] == asks[2]
        for policy in policies:
            answer(policy, mean)


def test_where_evaluations_are_fair_the_best_is_dropped_as_rarely_as_promised() -> None:
    """With probability δ at most: no more than four standard errors above it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 2))
    gamma = np.array([0.6, 0.8]) / np.abs(X @ [0.6, 0.8]).max()
    problem = eh.BiasedLinearBandit(eh.ActionSet(X, [1, -1] * 4), gamma, 0.0)
    delta, n, dropped = 0.1, 300, 0
    for seed in range(n):
        policy = PhasedElimination(problem.actions, 10**5, delta=delta)
        played(policy, problem, seed)
        dropped += policy.recommend().option != problem.best
    assert dropped <= n * delta + 4 * math.sqrt(n * delta * (1 - delta))


def test_bias_makes_its_regret_linear() -> None:
    """Two options: evaluations put the second first by .4, its value is .2 less."""
    problem = eh.BiasedLinearBandit(eh.ActionSet(np.eye(2), [-1, 1]), [0.1, -0.1], 0.3)
    regret = eh.simulate(problem, "phased-elimination", [10**6, 10**9], 20).summary()
    np.testing.assert_allclose(regret["mean_regret"], [0.2e6, 0.2e9], rtol=0.01)
    assert regret["wrong"].tolist() == [1.0, 1.0]
