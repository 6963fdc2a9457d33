"""No default says what nobody said: scales are given, estimated, or nothing rests on them."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import evenhand as eh
from asking import rounds
from evenhand.policies import BoundaryExploration, policy_class
from evenhand.policies.phase_designs import fixed_design_width, gaussian_width
from evenhand.research.environments import SimulatedEvaluations
from rotation import nightly

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.5, 0.5]], [1, -1, -1, 1])
PROBLEM = eh.BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.4], omega=0.25)
NAMES = sorted({*eh.registered_policies()} - {"oracle"})
ESTIMATES_NOISE = {
    "careful-choice",
    "certain-choice",
    "lingame",
    "lingape",
    "priced-exploration",
    "rage",
    "top-two",
    "track-and-stop",
}


def play(policy: eh.Policy, n: int = 40) -> list[list[int]]:
    """Return what a policy asks in its first rounds."""
    return [counts.tolist() for counts, _ in rounds(policy, PROBLEM, n)]


@pytest.mark.parametrize("name", [*NAMES, "oracle"])
def test_no_policy_has_a_scale_of_its_own(name: str) -> None:
    more = {"omega": 0.25} if name == "oracle" else {}
    policy = eh.policy(name, ACTIONS, 100, **more)
    assert policy.stated_noise is None
    assert policy.stated_bound == math.inf
    told = eh.policy(name, ACTIONS, 100, noise_scale=2.0, value_bound=3.0, **more)
    assert (told.stated_noise, told.stated_bound) == (2.0, 3.0)
    for parameter in inspect.signature(policy_class(name)).parameters.values():
        if parameter.name in ("noise_scale", "value_bound"):
            assert parameter.default is None


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ESTIMATES_NOISE])
def test_without_scales_a_policy_asks_as_in_the_papers_units(name: str) -> None:
    """The unit shapes what is asked and nothing else; regret in simulations is as it was."""
    plain = eh.policy(name, ACTIONS, 3_000, seed=5)
    told = eh.policy(name, ACTIONS, 3_000, seed=5, noise_scale=1.0, value_bound=1.0)
    assert play(plain) == play(told)
    assert plain.recommend() == told.recommend()


def test_policies_that_can_estimate_the_noise_do() -> None:
    assert play(eh.PricedExploration(ACTIONS, 3_000)) == play(
        eh.PricedExploration(ACTIONS, 3_000, noise_scale=None, value_bound=1.0)
    )
    known = BoundaryExploration(ACTIONS, 3_000, noise_scale=1.0)
    assert play(BoundaryExploration(ACTIONS, 3_000)) != play(known)


@pytest.mark.parametrize("name", NAMES)
def test_an_interval_without_a_noise_scale_scales_with_the_evaluations(name: str) -> None:
    """Nobody said what a unit is: told the same in other units, it says the same in other units.

    The asks are those of a run in the first units, so that both learn from the same evaluations.
    """
    unit = 2.0**10
    small, large = (eh.policy(name, ACTIONS, 2_000, seed=1) for _ in range(2))
    evaluations = SimulatedEvaluations(PROBLEM, 4)
    for _ in range(30):
        allocation = small.ask()
        if allocation.total == 0 or (allocation.counts != large.ask().counts).any():
            break
        feedback = evaluations.evaluate(allocation)
        small.tell(feedback)
        large.tell(
            eh.Feedback(feedback.counts, unit * feedback.sums, unit**2 * feedback.sums_of_squares)
        )
    assert small.spent > 0
    for said in ("value", "low", "high"):
        one, other = (getattr(policy.bias(), said) for policy in (small, large))
        assert other == pytest.approx(unit * one, rel=1e-9, nan_ok=True)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.floats(0.01, 100.0),
    st.floats(1e-12, 0.9),
    st.integers(0, 2**32),
)
def test_the_width_without_a_noise_scale_is_students(counts, deviation, failure, seed) -> None:
    rng = np.random.default_rng(seed)
    scores = [rng.standard_normal(n) for n in counts]
    parts = (
        np.array(counts),
        np.array([y.sum() for y in scores]),
        np.array([(y**2).sum() for y in scores]),
    )
    width = fixed_design_width(deviation, failure, *parts)
    freedom = sum(max(n - 1, 0) for n in counts)
    if freedom == 0:
        assert width == math.inf
    else:
        variance = sum(((y - y.mean()) ** 2).sum() for y in scores if len(y)) / freedom
        expected = deviation * math.sqrt(variance) * stats.t.isf(failure / 2, freedom)
        assert width == pytest.approx(expected, rel=1e-6)
    known = fixed_design_width(deviation, failure, *parts, 3.0)
    assert known == gaussian_width(3.0 * deviation, failure)


def test_an_evaluator_who_repeats_himself_shows_no_noise() -> None:
    same = np.array([3, 2]), np.array([6.0, 14.0]), np.array([12.0, 98.0])
    assert fixed_design_width(1.0, 0.05, *same) == math.inf


@pytest.mark.parametrize("runs", [150, *nightly([400])])
@pytest.mark.parametrize("name", ["uniform", "explore-then-commit", "fair-phased-elimination"])
def test_intervals_from_scatter_hold_as_often_as_they_say(name: str, runs: int) -> None:
    """At level 1 − δ = 0.5, where all are close; noise of scale 5, not told.

    Misses beyond what a binomial variable exceeds once in 10⁶ times fail.
    """
    loud = eh.BiasedLinearBandit(ACTIONS, [0.5, 0.4], 0.25, noise_scale=5.0)
    misses, finite = 0, 0
    for seed in range(runs):
        policy = eh.policy(name, ACTIONS, 200, delta=0.5)
        evaluations = SimulatedEvaluations(loud, seed)
        while not policy.finished:
            policy.tell(evaluations.evaluate(policy.ask()))
        bias = policy.bias()
        assert bias.level == 0.5
        finite += math.isfinite(bias.high)
        misses += not bias.covers(0.25)
    assert finite == runs
    assert misses <= stats.binom.isf(1e-6, runs, 0.5)


def test_a_loss_is_cut_only_at_a_bound_that_was_given() -> None:
    def decided(**scales: float) -> eh.Decision:
        policy = eh.policies.Certified(
            eh.policy("uniform", ACTIONS, 5_000, noise_scale=50.0, **scales)
        )
        play(policy, 4)
        return policy.recommend()

    free, cut = decided(), decided(value_bound=0.5)
    assert free.loss == -free.leads[:, 1].min() > 1.0
    assert cut.loss == 1.0
    assert (free.certainty, cut.certainty) == ("features exact", None)  # 2B says nothing
    assert np.array_equal(cut.leads, free.leads)


def test_nothing_is_certain_before_there_are_scores() -> None:
    policy = eh.policies.Certified(eh.policy("uniform", ACTIONS, 5_000))
    assert policy.recommend().loss == math.inf
    assert policy.recommend().certainty is None
    play(policy, 12)
    assert 0.0 < policy.recommend().loss < math.inf
