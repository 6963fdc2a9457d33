"""No bias is a case, too; the problems of the literature, and its policies' rules."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from asking import played
from evenhand.designs import joint_design
from evenhand.policies import policy_class
from evenhand.research.comparison import Comparison, chosen, entrants, measure
from evenhand.research.environments import classical
from evenhand.research.rivals.lingame import LinGame
from evenhand.research.rivals.rage import RAGE
from rotation import nightly

IN_PAPERS = (
    "lingape",
    "track-and-stop",
    "lingame",
    "rage",
    "top-two",
)


def test_no_bias_is_the_same_as_an_attribute_that_nobody_has() -> None:
    X = np.random.default_rng(3).standard_normal((9, 3))
    gamma = np.array([0.4, -0.2, 0.3])
    plain = eh.BiasedLinearBandit(eh.ActionSet(X), gamma)
    zero = eh.BiasedLinearBandit(eh.ActionSet(X, attributes=np.zeros((9, 1))), gamma, [0.0])
    asked: list[list[int]] = []
    for problem in (plain, zero):
        policy = eh.CertainChoice(problem.actions, at_most=10_000, noise_scale=1.0)
        played(policy, problem, 1)
        assert policy.recommend().option == problem.best
        asked.append(policy.limits.asked.tolist())
    assert asked[0] == asked[1]
    assert eh.limits.characteristic_time(plain).value == pytest.approx(
        eh.limits.characteristic_time(zero).value, rel=1e-5
    )


@pytest.mark.parametrize("name", sorted({*eh.registered_policies()} - {"oracle"}))
def test_every_policy_plays_without_a_bias_or_says_that_it_needs_one(name: str) -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.1]])
    problem = eh.BiasedLinearBandit(actions, gamma=[0.9, 0.1])
    if name == "fair-phased-elimination":
        with pytest.raises(eh.EvenhandError, match=r"bias|two groups"):
            eh.policy(name, actions, 400)
        return
    policy = eh.policy(name, actions, 400)
    played(policy, problem, 1)
    assert policy.recommend().option in range(4)
    assert not np.isfinite([policy.bias().low, policy.bias().high]).any()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (eh.bias_optimal_design, "no bias to estimate"),
        (eh.bias_geometry, "no bias to estimate"),
        (lambda actions: actions.groups, "no bias, not two groups"),
        (lambda actions: eh.BiasedLinearBandit(actions, [1.0, 0.0], 0.5), "leave it out"),
    ],
)
def test_who_asks_for_the_bias_is_told_that_there_is_none(asked: Any, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        asked(eh.ActionSet(np.eye(2)))


def test_a_bias_that_is_there_must_be_given() -> None:
    with pytest.raises(eh.InputError, match="omega is missing"):
        eh.BiasedLinearBandit(eh.ActionSet(np.eye(2), [1, -1]), [1.0, 0.0])


def test_options_without_a_bias_go_through_json() -> None:
    actions = eh.ActionSet(np.eye(3), labels=["a", "b", "c"], intercept=True)
    assert eh.ActionSet.from_dict(actions.to_dict()) == actions
    asked = eh.Questions(options=np.eye(3)[:2], features=np.eye(3))
    assert eh.Questions.from_dict(asked.to_dict()) == asked


def test_the_limit_of_a_transductive_problem_is_a_joint_design() -> None:
    problem = classical.transductive(4)
    Z, best = problem.questions.options.features, problem.best
    rivals = np.delete(np.arange(len(Z)), best)
    directions = (Z[best] - Z[rivals]) / problem.gaps[rivals, None]
    design = joint_design(np.eye(4), directions)
    assert design.verify(np.eye(4))
    assert eh.limits.characteristic_time(problem).value == pytest.approx(
        2.0 * design.value, rel=1e-5
    )


@pytest.mark.parametrize("biased", [True, *nightly([False])])
@pytest.mark.parametrize("name", ["certain-choice", *IN_PAPERS])
def test_what_is_measured_need_not_be_what_is_chosen(name: str, biased: bool) -> None:
    problem = classical.transductive(4, angle=0.6, biased=biased)
    policy = eh.policy(name, problem.actions, 50_000, noise_scale=1.0)
    played(policy, problem, 1)
    decision = policy.recommend()
    assert (decision.option, decision.loss, policy.spent < 50_000) == (0, 0.0, True)


@pytest.mark.parametrize("biased", [False, True])
def test_the_problems_are_those_of_the_papers(biased: bool) -> None:
    soare = classical.soare(5, biased=biased)
    assert soare.delta_min == pytest.approx(2.0 * (1.0 - np.cos(0.1)))
    sphere = classical.sphere(30, 5, 2, biased=biased)
    X = sphere.actions.features
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    near = X @ X.T - 2.0 * np.eye(30)
    assert {*np.argsort(sphere.gaps)[:2]} == {*np.unravel_index(near.argmax(), near.shape)}
    arms = classical.many_arms(20, 1, biased=biased)
    np.testing.assert_allclose(arms.actions.features[1], [-np.sqrt(0.5), np.sqrt(0.5)])
    factorial = classical.factorial(4, 1, biased=biased)
    F = factorial.actions.points
    np.testing.assert_allclose(F.T @ F, 16.0 * np.eye(F.shape[1]), atol=1e-12)
    assert factorial.actions.n_features == 11
    for problem in (soare, sphere, arms, factorial, classical.transductive(4, biased=biased)):
        assert (problem.questions.n_attributes == 1) is biased
        assert np.isfinite(eh.limits.characteristic_time(problem, tol=1e-3).value)


class Fixed(LinGame):
    """Gains that do not depend on anything."""

    name = "fixed-gains"

    def gains(self, shares: Any) -> Any:
        """Return the same gains always, but for turns of the first."""
        return np.array([1.0 + 0.5 * np.cos(self._evaluations), 0.2, 0.4])


def test_a_learner_of_shares_comes_to_have_no_regret() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6]])
    policy = Fixed(actions, 10_000, noise_scale=1.0)
    problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.5])
    evaluations = eh.SimulatedEvaluations(problem, seed=1)
    for _ in range(60):
        policy.tell(evaluations.evaluate(policy.ask(5)))
    assert policy._shares[0] > 0.99
    assert policy._mixed < 5 * 2.0 * np.log(3) + 5 * 1.5  # its regret, of gains up to 7.5 a step


def test_rage_drops_whom_another_leads_by_more_than_the_rounds_accuracy() -> None:
    problem = classical.soare(3)
    policy = RAGE(problem.actions, 10**7, noise_scale=1.0, value_bound=2.0, confidence=1 - 1e-12)
    evaluations = eh.SimulatedEvaluations(problem, seed=1)
    while policy._number < 4:
        policy.tell(evaluations.evaluate(policy.ask()))
    # by then ε is 1/8: those at 0 are gone, the one 0.01 behind cannot be
    np.testing.assert_array_equal(policy._left, [True, False, False, True])


def test_the_suite_has_all_problems_twice_and_all_rivals_with_two_thresholds() -> None:
    benchmark = chosen(["classical"])
    without = [(one.kind, one.numbers) for one in benchmark.instances if not one.biased]
    assert without == [(one.kind, one.numbers) for one in benchmark.instances if one.biased]
    assert {numbers for kind, numbers in without if kind == "soare"} >= {(20,), (40,)}
    names = [entrant.name for entrant in entrants(benchmark=benchmark)]
    assert names == ["certain-choice", *IN_PAPERS, *(f"{name}-usual" for name in IN_PAPERS)]
    assert all(not policy_class(name).spends_all for name in IN_PAPERS)
    with pytest.raises(eh.InputError, match="cannot be played at once"):
        chosen(["classical", "gaps"])
    with pytest.raises(eh.InputError, match="cannot be played at once"):
        chosen(["certain", "classical-soare"])


def test_a_short_run_of_the_suite() -> None:
    whole = chosen(["classical-soare"])
    benchmark = dataclasses.replace(whole, instances=whole.instances[:1], replications=3)
    players = entrants(["certain-choice", "top-two", "top-two-usual"])
    rows = Comparison(benchmark, 5, measure(benchmark, players, 5)).instances()
    over = rows.set_index(["instance", "policy"])["over_limit"].unstack()
    assert len(over) == 1
    assert (over["top-two-usual"] < over["top-two"]).all()  # what is proved costs more
    assert (over["certain-choice"] < over["top-two"]).all()
    sure = rows.set_index(["instance", "policy"])["certified"].unstack()
    assert (sure["certain-choice"] == 1.0).all()
    assert (sure["top-two-usual"] == 0.0).all()  # it says nothing
