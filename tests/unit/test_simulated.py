"""Simulated evaluations: the exact law of n evaluations, drawn at once; the same for every policy.

Statistical tests have fixed seeds. They allow five standard errors, or a p-value of 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import evenhand as eh
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit

Floats = NDArray[np.float64]

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3]], [1, -1, -1])
PROBLEM = BiasedLinearBandit(ACTIONS, gamma=[0.5, -0.25], omega=0.125, noise_scale=0.5)
MEANS = np.array([0.5 + 0.125, -0.25 - 0.125, -0.1 - 0.075 - 0.125])
N_SEEDS = 20_000


def asked(*counts: int) -> eh.Allocation:
    return eh.Allocation(np.array(counts, dtype=np.int64), 0)


def noise_of_batches(batches: list[int], n_seeds: int = N_SEEDS) -> tuple[Floats, Floats]:
    """Standardised sums, and scatters in units of σ², of batches of option 0; (seeds, batches)."""
    sums, scatters = np.empty((2, n_seeds, len(batches)))
    for seed in range(n_seeds):
        evaluations = SimulatedEvaluations(PROBLEM, seed)
        for j, n in enumerate(batches):
            feedback = evaluations.evaluate(asked(n, 0, 0))
            sums[seed, j] = (feedback.sums[0] - n * MEANS[0]) / (0.5 * np.sqrt(n))
            scatter = feedback.sums_of_squares[0] - feedback.sums[0] ** 2 / n
            scatters[seed, j] = scatter / 0.25
    return sums, scatters


def test_batches_have_the_law_of_independent_evaluations() -> None:
    # ends at 3, 4, 5, 14, 16, 1016: inside, on and across the powers of two
    batches = [3, 1, 1, 9, 2, 1000]
    sums, scatters = noise_of_batches(batches)
    assert np.abs(sums.mean(axis=0)).max() < 5 / np.sqrt(N_SEEDS)
    covariance = np.cov(sums.T)
    error = np.where(np.eye(len(batches)) > 0, np.sqrt(2), 1.0) / np.sqrt(N_SEEDS)
    assert (np.abs(covariance - np.eye(len(batches))) < 5 * error).all()
    spread = scatters[:, [j for j, n in enumerate(batches) if n > 1]]
    together = np.corrcoef(np.hstack([sums, spread]).T)
    np.fill_diagonal(together, 0.0)
    assert np.abs(together).max() < 5 / np.sqrt(N_SEEDS)
    for j, n in enumerate(batches):
        assert stats.kstest(sums[:, j], "norm").pvalue > 1e-5
        if n == 1:
            assert np.abs(scatters[:, j]).max() < 1e-12
        else:
            assert stats.kstest(scatters[:, j], "chi2", args=(n - 1,)).pvalue > 1e-5


def test_every_option_has_its_mean_and_noise_of_its_own() -> None:
    n = 100
    totals = np.array(
        [SimulatedEvaluations(PROBLEM, s).evaluate(asked(n, n, n)).sums for s in range(4000)]
    )
    error = 0.5 / np.sqrt(n * len(totals))
    assert np.abs(totals.mean(axis=0) / n - MEANS).max() < 5 * error
    correlations = np.corrcoef(totals.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(len(totals))


def test_a_trillion_evaluations_are_one_draw() -> None:
    T = 10**12
    standard = []
    for seed in range(400):
        evaluations = SimulatedEvaluations(PROBLEM, seed)
        evaluations.evaluate(asked(1, 0, 0))
        feedback = evaluations.evaluate(asked(T, 0, 0))
        standard.append((feedback.sums[0] - T * MEANS[0]) / (0.5 * np.sqrt(T)))
        variance = feedback.sums_of_squares[0] / T - (feedback.sums[0] / T) ** 2
        assert variance == pytest.approx(0.25, rel=6 * np.sqrt(2 / T))
        assert not feedback.sums[1:].any()
        assert not feedback.sums_of_squares[1:].any()
    assert stats.kstest(standard, "norm").pvalue > 1e-5


def test_a_seed_sequence_and_a_generator_will_do() -> None:
    allocation = asked(3, 1, 4)
    number, sequence = (
        SimulatedEvaluations(PROBLEM, seed).evaluate(allocation).sums
        for seed in (5, np.random.SeedSequence(5))
    )
    np.testing.assert_array_equal(number, sequence)
    rng = np.random.default_rng(5)
    one, two = (SimulatedEvaluations(PROBLEM, rng).evaluate(allocation).sums for _ in range(2))
    assert (one != two).all()
    again = SimulatedEvaluations(PROBLEM, np.random.default_rng(5)).evaluate(allocation).sums
    np.testing.assert_array_equal(one, again)


def test_allocations_of_something_else_are_refused() -> None:
    evaluations = SimulatedEvaluations(PROBLEM, 0)
    with pytest.raises(eh.InputError, match="3 options"):
        evaluations.evaluate(asked(1, 1))
    with pytest.raises(eh.InputError, match="-2 evaluations of option 1"):
        evaluations.evaluate(asked(1, -2, 0))
