"""The compiled loop of a simulation does what ask, evaluate and tell do, to the bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from asking import course, without_compiled
from evenhand.policies import OFUL, policy_class
from evenhand.policies._sequential import Ledger, Stepper
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation._loop import Regret, advance
from evenhand.research.simulation.experiment import Contender, play_out, policy_for


def two_groups(k: int = 13, d: int = 3) -> BiasedLinearBandit:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((k, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    actions = eh.ActionSet(x, np.where(x[:, 0] > 0.2, 1, -1))
    return BiasedLinearBandit(actions, [-0.6, 0.5, 0.1], 0.3, noise_scale=0.8)


def two_attributes() -> BiasedLinearBandit:
    rng = np.random.default_rng(6)
    actions = eh.ActionSet(rng.uniform(-0.7, 0.7, (9, 2)), attributes=rng.normal(size=(9, 2)))
    return BiasedLinearBandit(actions, [0.6, -0.5], [0.2, -0.4])


PROBLEMS = {"two groups": two_groups(), "two attributes": two_attributes()}
COMPILED = [
    name
    for name in eh.registered_policies()
    if Contender(name, name).policy(PROBLEMS["two groups"], 10, seed=0)._compiled is not None
]


def made(cls: type[eh.Policy], problem: BiasedLinearBandit, horizon: int) -> eh.Policy:
    return policy_for(problem, cls, horizon, seed=3)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_run_is_the_run_that_is_asked_and_told(
    name: str, problem: BiasedLinearBandit
) -> None:
    horizon, stops = 20_011, [1, 2, 3, 50, 1_000, 7_777, 20_011]
    compiled, asked = (
        course(made(cls, problem, horizon), problem, stops)
        for cls in (policy_class(name), without_compiled(policy_class(name)))
    )
    assert compiled == asked


def test_the_loop_goes_on_where_a_run_was_left() -> None:
    """Some rounds asked and told, the rest compiled: as if all had been compiled."""
    problem = PROBLEMS["two groups"]
    whole = made(OFUL, problem, 5_000)
    curve = play_out(whole, SimulatedEvaluations(problem, 1), problem.gaps, [5_000]).curve()
    parted, noise = made(OFUL, problem, 5_000), SimulatedEvaluations(problem, 1)
    regret = Regret(problem.gaps, [5_000])
    for _ in range(37):
        allocation = parted.ask()
        parted.tell(noise.evaluate(allocation))
        regret.pay(allocation.counts)
    parted.ask()
    spent = regret.spent
    rounds = advance(parted.stepper, noise.streams, regret, 5_000)
    parted._catch_up(rounds, regret.spent - spent)
    assert regret.curve().tolist() == curve.tolist()
    assert (parted.spent, parted._round) == (whole.spent, whole._round)
    assert parted.finished


def test_a_ledger_ends_the_loop_before_what_it_does_not_admit() -> None:
    """With bounds of 1 the charge is the number of evaluations: exactly the limit is spent."""
    problem = PROBLEMS["two groups"]
    k = len(problem.actions)
    policy = OFUL(problem.actions, 1_000, noise_scale=problem.noise_scale, switching=0.0)
    ledger = policy.stepper.ledger = Ledger(k, 1.0, limit=250.0)
    regret = Regret(problem.gaps, [1_000])
    noise = SimulatedEvaluations(problem, 1)
    assert advance(policy.stepper, noise.streams, regret, 1_000) == 250
    assert (regret.spent, ledger.spent, ledger.charge) == (250, 250, 250.0)
    np.testing.assert_array_equal(ledger.counts, policy.stepper.counts)
    np.testing.assert_array_equal(ledger.sums, policy.stepper.sums)
    proposal = policy.stepper.ask(750)
    assert advance(policy.stepper, noise.streams, regret, 1_000) == 0
    np.testing.assert_array_equal(policy.stepper.ask(750), proposal)
    ledger.tighten(np.full(k, 0.5))  # now as many again are affordable
    assert advance(policy.stepper, noise.streams, regret, 1_000) == 250


def test_a_failing_step_is_heard_of() -> None:
    problem = PROBLEMS["two groups"]
    k = len(problem.actions)
    with pytest.raises(NotImplementedError):
        advance(Stepper(k), SimulatedEvaluations(problem, 1).streams, Regret(problem.gaps, [9]), 9)


class PathRead:
    """The noise of an option as the notes of `simulated.py` say, in plain Python."""

    def __init__(self, seed: int, option: int) -> None:
        child = np.random.SeedSequence(seed, spawn_key=(option,))
        self.rng = np.random.default_rng(child)
        deviations = np.sqrt(np.concatenate([[1.0], 2.0 ** np.arange(62)]))
        self.fixed = np.cumsum(deviations * self.rng.standard_normal(63)).tolist()
        self.read, self.path = 0, 0.0

    def batch(self, n: int) -> tuple[float, float]:
        before, end = self.path, self.read + n
        j = (end - 1).bit_length()
        self.path = self.fixed[j]
        if end < 2**j:
            start, level = self.read, before
            if start < 2 ** (j - 1):
                start, level = 2 ** (j - 1), self.fixed[j - 1]
            share = (end - start) / (2**j - start)
            bridge = math.sqrt(share * (2**j - end)) * self.rng.standard_normal()
            self.path = level + share * (self.path - level) + bridge
        self.read = end
        return self.path - before, float(self.rng.chisquare(n - 1)) if n > 1 else 0.0


@pytest.mark.parametrize("largest", [3, 100, 10**9, 2**57])
def test_streams_are_the_documented_paths_to_the_bit(largest: int) -> None:
    problem = PROBLEMS["two groups"]
    rng = np.random.default_rng(largest)
    evaluations = SimulatedEvaluations(problem, 11)
    paths = [PathRead(11, x) for x in range(len(problem.actions))]
    for _ in range(30):
        counts = rng.integers(0, largest, len(paths))
        feedback = evaluations.evaluate(eh.Allocation(counts, 0))
        for x, n in enumerate(counts.tolist()):
            if n == 0:
                assert feedback.sums[x] == feedback.sums_of_squares[x] == 0.0
                continue
            noise, scatter = paths[x].batch(n)
            total = n * float(problem.evaluations[x]) + 0.8 * noise
            assert feedback.sums[x] == total
            assert feedback.sums_of_squares[x] == total * total / n + 0.8 * 0.8 * scatter
