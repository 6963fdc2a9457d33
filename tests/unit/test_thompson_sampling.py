"""Thompson sampling: draws have the posterior's law, and depend on what was told only.

Statistical tests have fixed seeds and allow five standard errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.policies import ThompsonSampling
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.rivals.ridge import joint_coordinates
from rotation import nightly

RNG = np.random.default_rng(2)
X = RNG.uniform(-0.7, 0.7, (9, 2))
PROBLEMS = {
    "two groups": BiasedLinearBandit(
        eh.ActionSet(X, np.where(X[:, 0] > 0, 1, -1)), [0.6, 0.4], 0.5, 0.5
    ),
    "two attributes": BiasedLinearBandit(
        eh.ActionSet(X, attributes=RNG.normal(size=(9, 2))), [0.6, 0.4], [0.5, 0.1], 0.5
    ),
}
COUNTS = np.array([3, 0, 1, 7, 0, 2, 1, 1, 4])


def told(problem: BiasedLinearBandit, seed: int, **options: Any) -> ThompsonSampling:
    """A policy that has seen the same evaluations whatever its own seed."""
    policy = ThompsonSampling(problem.actions, 10**6, noise_scale=0.5, seed=seed, **options)
    policy.observe(SimulatedEvaluations(problem, 5).evaluate(eh.Allocation(COUNTS, 0)))
    return policy


@pytest.mark.parametrize("n", [1_500, *nightly([4_000])])
@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_draws_have_the_law_of_the_posterior(
    problem: BiasedLinearBandit, scale: float, n: int
) -> None:
    draws = np.array([told(problem, seed, scale=scale).stepper.drawn for seed in range(n)])
    a = joint_coordinates(problem.actions, 100.0)
    m = a.shape[1]
    V = 0.5**2 / m * np.eye(m) + (a.T * COUNTS) @ a
    sums = SimulatedEvaluations(problem, 5).evaluate(eh.Allocation(COUNTS, 0)).sums
    root = np.linalg.cholesky(V)
    standard = (draws - np.linalg.solve(V, a.T @ sums)) @ root / (0.5 * scale)
    assert np.abs(standard.mean(axis=0)).max() < 5 / np.sqrt(n)
    error = np.where(np.eye(m) > 0, np.sqrt(2), 1.0) / np.sqrt(n)
    assert (np.abs(standard.T @ standard / n - np.eye(m)) < 5 * error).all()


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_it_plays_the_best_option_of_its_draw(problem: BiasedLinearBandit) -> None:
    a = joint_coordinates(problem.actions, 100.0)
    a[:, 2:] = 0.0  # the coordinates of the two features are left
    options = set()
    for seed in range(50):
        policy = told(problem, seed, switching=0.0)
        counts = policy.ask().counts
        assert counts.sum() == 1
        assert np.argmax(counts) == np.argmax(a @ policy.stepper.drawn)
        options.add(int(np.argmax(counts)))
    assert len(options) > 1
