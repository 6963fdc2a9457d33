"""CertainChoice: blocks are read right, false answers are rare, and it ends in plain words."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from asking import evaluated, judged
from evenhand.research.environments import classical
from evenhand.research.environments.skating import skate_canada

THREE = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3]], [1, -1, -1], labels=["A", "B", "C"])


def played(
    policy: eh.Policy, problem: eh.BiasedLinearBandit, seed: int, n: int | None = None
) -> eh.Policy:
    return judged(policy, problem.evaluations, seed, problem.noise_scale, n)


def problem_of(gap: float, omega: float = 0.4) -> eh.BiasedLinearBandit:
    return eh.BiasedLinearBandit(THREE, gamma=[0.5 + gap, 0.5], omega=omega)


def test_a_plan_of_a_record_is_not_derived_again() -> None:
    """Two policies go by one plan, though one of them would have made another."""
    here, there = (eh.CertainChoice(THREE, at_most=500, noise_scale=1.0) for _ in range(2))
    plan = json.loads(json.dumps(here.plan()))
    plan["order"] = plan["order"][::-1][:4]
    for policy in (here, there):
        policy.begin(plan)
        assert policy.plan() is None
        assert policy.ask(10).counts.sum() == 4
    rng = np.random.default_rng(1)
    told = evaluated(here.ask(10).counts, np.ones(3), rng)
    for policy in (here, there):
        policy.tell(told)
    assert here.plan() == there.plan()
    assert here.plan() is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": [0, 3]},
        {"order": [0.5]},
        {"times": 0},
        {"pairs": [0, 3]},
        {"pairs": [0, 1]},
        {"hopes": [1.0, 1.0, 1.0]},
    ],
)
def test_a_plan_that_is_none_is_refused_and_changes_nothing(wrong: dict[str, object]) -> None:
    policy = eh.CertainChoice(THREE)
    plan = policy.plan()
    with pytest.raises(eh.InputError, match="no plan of 'certain-choice'"):
        policy.begin(plan | wrong)
    assert policy.plan() == plan


def test_it_answers_rightly_and_says_how_sure_it_is() -> None:
    problem = problem_of(0.6)
    policy = played(eh.CertainChoice(THREE, at_most=5_000, noise_scale=1.0), problem, seed=1)
    decision = policy.recommend()
    assert decision.label == "A"
    assert (decision.loss, decision.level) == (0.0, 0.95)
    assert decision.certainty == "features exact"
    assert policy.spent < 5_000
    assert "'A'" in str(policy.stopped_because)
    assert policy.forecast() == 0.0
    truth = problem.values[0] - problem.values
    assert (decision.leads[:, 1] <= truth).all()
    assert (truth <= decision.leads[:, 2]).all()
    values = policy.values()
    assert (values[:, 1] <= problem.values).all()
    assert (problem.values <= values[:, 2]).all()


@pytest.mark.parametrize("seed", range(6))
def test_it_is_certain_when_the_evidence_of_its_blocks_is_enough(seed: int) -> None:
    """By least squares on the scores of each block, and what the plan said that it hoped for."""
    policy, rng = eh.CertainChoice(THREE), np.random.default_rng(seed)
    policy.checked = False  # an alarm would withdraw what is certain
    means, needed = problem_of(1.5).evaluations, math.log(1.0 / 0.05)
    wealth, most = np.zeros(3), np.zeros(3)
    nodes = np.linspace(-2.0, 2.0, 9)
    shares = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    last = 0.0
    while (plan := policy.plan()) is not None:
        policy.begin(plan)
        scores = evaluated(policy.ask().counts, means, rng)
        policy.tell(scores)
        last = float(most[1:].min())
        pairs, hopes = np.reshape(plan["pairs"], (-1, 2)), np.reshape(plan["hopes"], (-1, 3))
        P, n = THREE.points, scores.counts
        parameter = np.linalg.pinv((P.T * n) @ P) @ (P.T @ scores.sums)
        for (i, x), (lead, off, tau) in zip(pairs, hopes, strict=True):
            X = (THREE.features[i] - THREE.features[x]) @ parameter[:2]
            bets = np.clip(lead + off * nodes, 0.1 * off, tau) / tau**2
            wealth[x] += math.log((shares * (1.0 + np.tanh(bets * X))).sum())
        most = np.maximum(most, wealth)
    answer = policy.recommend()
    assert (answer.label, answer.loss) == ("A", 0.0)
    assert most[1:].min() >= needed - 1e-9
    assert last < needed  # and no later than it must be


@pytest.mark.parametrize("runs", [20, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_answers_are_rare_in_a_tie(noise_scale: float | None, runs: int) -> None:
    """The worse of two that are almost equal is certain with probability δ at most; δ = 0.2."""
    false, problem = 0, problem_of(1e-9)
    for seed in range(runs):
        policy = eh.CertainChoice(THREE, at_most=90, confidence=0.8, noise_scale=noise_scale)
        decision = played(policy, problem, seed).recommend()
        false += decision.loss == 0.0 and decision.label != "A"
    assert false <= int(binom.isf(1e-4, runs, 0.2))


@pytest.mark.parametrize("runs", [10, pytest.param(30, marks=pytest.mark.nightly)])
def test_losses_that_are_stated_hold(runs: int) -> None:
    """At every stage of every run: one loss below the truth in all of them is a false one."""
    false = 0
    problem = eh.BiasedLinearBandit(THREE, gamma=[0.5, 0.7], omega=-0.3)
    for seed in range(runs):
        policy = eh.CertainChoice(THREE, at_most=90, confidence=0.8, tolerance=0.1)
        rng, wrong = np.random.default_rng(seed), False
        while not policy.finished:
            policy.tell(evaluated(policy.ask(5).counts, problem.evaluations, rng))
            decision = policy.recommend()
            wrong |= bool(decision.loss < problem.gaps[decision.option] - 1e-9)
        false += wrong
    assert false <= int(binom.isf(1e-4, runs, 0.2))


@pytest.mark.parametrize(("k", "judges"), [(6, 4), (12, 5), (30, 9)])
def test_quiet_scores_take_little_more_than_any_noise_costs(k: int, judges: int) -> None:
    """Nobody is out by fewer than log₂((1 − δ)/δ) scores of it; we take 5, and one or two."""
    questions = eh.Questions.panel(
        [f"o{x}" for x in range(k)], [f"e{j}" for j in range(judges)], capacity=None
    )
    values = 10.0 * np.random.default_rng(k).normal(size=k)
    problem = eh.BiasedLinearBandit(questions, values, np.zeros(questions.n_attributes), 0.5)
    policy = played(eh.CertainChoice(questions, at_most=10_000), problem, 0)
    assert policy.recommend().label == questions.options.labels[int(values.argmax())]
    often = np.bincount(questions.about[:, 0], policy.record.everything.counts)
    assert np.delete(often, values.argmax()).min() >= math.log2(0.95 / 0.05)
    assert policy.spent <= 7 * k + 10
    assert len(policy.record.rounds[1].plan.pairs)  # a start bets where a lead is clear


def test_a_bundle_tells_what_lies_almost_in_fewer_dimensions() -> None:
    """20 questions told these leads but for a millionth, and no bundle had the 21st."""
    problem = classical.sphere(100, 20, 101, biased=True)
    policy = eh.CertainChoice(problem.actions, at_most=10_000, noise_scale=1.0, seed=3)
    decision = played(policy, problem, 3).recommend()
    assert decision.loss == 0.0, policy.stopped_because
    assert decision.option == problem.best


def test_a_tolerance_ends_sooner_and_is_what_may_be_lost() -> None:
    problem = problem_of(0.15)
    strict, easy = (
        played(eh.CertainChoice(THREE, at_most=20_000, tolerance=tolerance), problem, seed=3)
        for tolerance in (0.0, 0.4)
    )
    assert easy.spent < 0.5 * strict.spent
    assert easy.recommend().loss <= 0.4
    assert "by more than 0.4" in str(easy.stopped_because)


def test_what_cannot_be_told_apart_is_said_and_more_may_be_allowed() -> None:
    problem = problem_of(0.0)
    policy = eh.CertainChoice(THREE, at_most=2_000, noise_scale=1.0)
    played(policy, problem, seed=3)
    assert policy.spent < 2_000
    reason = str(policy.stopped_because)
    assert "'A'" in reason
    assert "'B'" in reason
    spent = policy.spent
    policy.allow(10_000)
    assert policy.stopped_because is None
    assert not policy.finished
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert again.horizon == 10_000
    assert (again.ask().counts == policy.ask().counts).all()
    played(policy, problem, seed=4)
    assert policy.spent > spent


def test_options_with_equal_features_are_the_same_choice() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1, -1, 1, -1])
    problem = eh.BiasedLinearBandit(actions, gamma=[1.0, 0.0], omega=0.5)
    policy = played(eh.CertainChoice(actions, at_most=2_000), problem, seed=1)
    decision = policy.recommend()
    assert decision.option in (0, 1)
    assert decision.loss == 0.0
    assert (decision.leads[:2] == 0.0).all()


def test_nothing_is_asked_where_all_options_are_alike() -> None:
    policy = eh.CertainChoice(eh.ActionSet([[1.0], [1.0]], ["a", "b"]))
    assert policy.finished
    assert policy.recommend().loss == 0.0


def test_the_order_in_which_a_stage_comes_back_does_not_matter() -> None:
    """Whoever is told first: what is said when the stage is whole is the same."""
    problem, leads = problem_of(0.2), []
    for reverse in (False, True):
        policy = eh.CertainChoice(THREE, at_most=500, noise_scale=1.0)
        rng = np.random.default_rng(5)
        for _ in range(4):
            counts = policy.ask(1_000).counts
            scores = evaluated(counts, problem.evaluations, rng)
            for x in np.flatnonzero(counts)[:: -1 if reverse else 1]:
                at = np.arange(3) == x
                policy.tell(eh.Feedback(*(np.where(at, part, 0) for part in scores.parts)))
        leads.append(policy.recommend().leads)
    assert leads[0] == pytest.approx(leads[1], rel=1e-6)


def test_scores_beyond_the_bounds_are_refused_and_change_nothing() -> None:
    with pytest.raises(eh.InputError, match="noise_scale"):
        eh.CertainChoice(THREE, bounds=(0.0, 1.0), noise_scale=1.0)
    with pytest.raises(eh.InputError, match="at_most"):
        eh.CertainChoice(THREE, at_most=0)
    policy = eh.CertainChoice(THREE, at_most=500, bounds=(0.0, 1.0))
    counts = policy.ask(1).counts
    x = int(np.argmax(counts))
    before = json.dumps(policy.state())
    for score in (1.5, -0.1):
        for take in (policy.tell, policy.observe):
            with pytest.raises(eh.InputError, match="bounds, from 0 to 1"):
                take(eh.Feedback.from_scores(THREE, [x], [score]))
    often = np.arange(3) == np.argmax(policy.ask(6).counts)
    with pytest.raises(eh.InputError, match="bounds"):  # −1 and 2, say: the sum alone is possible
        policy.tell(eh.Feedback(2 * often, 1.0 * often, 5.0 * often))
    assert policy.spent == 0
    fresh = json.loads(before)["run"]["memory"]
    assert json.loads(json.dumps(policy.state()))["run"]["memory"] == fresh


def test_votes_are_looked_at_when_a_stage_is_whole() -> None:
    problem = eh.BiasedLinearBandit(THREE, gamma=[0.75, 0.2], omega=0.1)
    policy, rng = (
        eh.CertainChoice(THREE, at_most=5_000, bounds=(-1.0, 1.0)),
        np.random.default_rng(1),
    )
    while not policy.finished:
        counts = policy.ask(7).counts
        options = np.repeat(np.arange(3), counts)
        votes = np.where(rng.random(len(options)) < 0.5 + 0.5 * problem.evaluations[options], 1, -1)
        policy.tell(eh.Feedback.from_scores(THREE, options.tolist(), votes))
    assert policy.recommend().option == problem.best


def test_a_thousand_evaluations_per_option_if_nothing_is_said() -> None:
    assert eh.CertainChoice(THREE).horizon == 3_000


def test_looks_reach_every_option() -> None:
    problem = skate_canada().problem
    policy = eh.CertainChoice(problem.actions, at_most=400, looks=0.2, seed=3)
    played(policy, problem, seed=1, n=4)
    assert policy.limits.asked.min() >= 2
