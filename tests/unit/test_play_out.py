"""One way to make a policy for a problem, and one to play it out, watched or not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.policies import checks_of
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.rivals.uniform import Uniform
from evenhand.research.simulation import simulate
from evenhand.research.simulation.experiment import Contender, play_out, policy_for

PROBLEM = eh.families.random(12, 2, 3, noise_scale=0.5)


@pytest.mark.parametrize("name", eh.registered_policies())
def test_watching_changes_nothing_and_sees_every_turn(name: str) -> None:
    horizon, stops = 3_011, [1, 10, 500, 3_011]
    alone = policy_for(PROBLEM, name, horizon, seed=2)
    curve = play_out(alone, SimulatedEvaluations(PROBLEM, 4), PROBLEM.gaps, stops).curve()
    watched = policy_for(PROBLEM, name, horizon, seed=2)
    counts, sums, turns = np.zeros(12, dtype=np.int64), np.zeros(12), []

    def watch(policy: eh.Policy, allocation: eh.Allocation, feedback: eh.Feedback) -> None:
        nonlocal counts, sums
        assert policy is watched
        assert allocation.counts.tolist() == feedback.counts.tolist()
        counts, sums = counts + feedback.counts, sums + feedback.sums
        assert policy.spent == counts.sum(), "called after the policy was told"
        turns.append(allocation.round)

    evaluations = SimulatedEvaluations(PROBLEM, 4)
    regret = play_out(watched, evaluations, PROBLEM.gaps, stops, watch=watch)
    assert regret.curve().tolist() == curve.tolist()
    assert regret.spent == counts.sum() == alone.spent == watched.spent
    assert turns == list(range(len(turns)))
    assert regret.lost == pytest.approx(float(counts @ PROBLEM.gaps))
    assert repr((watched.recommend(), watched.bias())) == repr((alone.recommend(), alone.bias()))


@pytest.mark.parametrize(("name", "looked"), [("uniform", 0), ("careful-choice", 1)])
def test_a_simulation_is_checked_only_where_that_changes_what_is_asked(
    name: str, looked: int
) -> None:
    policy = policy_for(PROBLEM, name, 200, seed=1)
    play_out(policy, SimulatedEvaluations(PROBLEM, 4), PROBLEM.gaps)
    assert checks_of(policy).counts.sum() == looked * policy.spent


def noisy(actions: eh.ActionSet, horizon: int, **settings: Any) -> eh.Policy:
    return Uniform(actions, horizon, **settings)


@pytest.mark.parametrize(
    ("source", "options", "told"),
    [
        ("uniform", {}, (0.5, 0.05)),
        ("uniform", {"delta": 0.2}, (0.5, 0.2)),
        ("uniform", {"noise_scale": 2.0}, (2.0, 0.05)),
        (Uniform, {"delta": 0.2}, (0.5, 0.2)),
        (partial(Uniform, delta=0.3), {}, (0.5, 0.3)),
        (partial(Uniform, delta=0.3), {"delta": 0.4}, (0.5, 0.4)),
        (partial(Uniform, noise_scale=3.0), {}, (3.0, 0.05)),
        (partial(partial(Uniform, noise_scale=3.0), delta=0.3), {}, (3.0, 0.3)),
        (noisy, {}, (1.0, 0.05)),  # a function is told what it is given, and nothing else
        (noisy, {"noise_scale": 4.0}, (4.0, 0.05)),
    ],
)
def test_a_policy_is_told_what_its_class_names_unless_one_says_otherwise(
    source: Any, options: dict[str, Any], told: tuple[float, float]
) -> None:
    direct = policy_for(PROBLEM, source, 100, seed=7, **options)
    through = Contender("me", source).with_options(**options).policy(PROBLEM, 100, seed=7)
    for policy in (direct, through):
        assert isinstance(policy, Uniform)
        assert (policy.noise_scale, policy.delta) == told
        assert (policy.seed, policy.horizon) == (7, 100)


def test_a_contender_is_simulated_and_stored_with_its_options(tmp_path: Any) -> None:
    bold = Contender("bold", "uniform").with_options(delta=0.5)
    first = simulate(PROBLEM, [bold, "uniform"], 100, 3, store=tmp_path)
    by_hand = simulate(PROBLEM, {"bold": partial(Uniform, delta=0.5)}, 100, 3)
    assert first.runs[0].bias_low.tolist() == by_hand.runs[0].bias_low.tolist()
    assert first.runs[0].bias_low.tolist() != first.runs[1].bias_low.tolist()
    plain = simulate(PROBLEM, [Contender("bold", "uniform")], 100, 3, store=tmp_path)
    assert plain.runs[0].bias_low.tolist() == first.runs[1].bias_low.tolist()


@pytest.mark.parametrize("name", eh.registered_policies())
def test_scales_are_played_as_far_as_they_are_taken_and_refused_beyond(name: str) -> None:
    for noise in (1e-60, 1e60):
        for bound in (1e-60, 1e60):
            problem = eh.BiasedLinearBandit(
                PROBLEM.actions, PROBLEM.gamma * bound, PROBLEM.omega * bound, noise
            )
            player = Contender(name, name).with_options(value_bound=bound)
            (runs,) = simulate(problem, [player], 100, 2).runs
            assert (runs.final_regret <= 100 * problem.gaps.max() * (1 + 1e-12)).all()
    for label in ("noise_scale", "value_bound"):
        for scale in (1e300, 1e-300, 1e61):
            with pytest.raises(eh.InputError, match=f"{label} must be a positive number, from"):
                policy_for(PROBLEM, name, 100, **{label: scale})
