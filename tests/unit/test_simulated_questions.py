"""Questions in simulations: who plays them, what they lose, who refuses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.research.comparison import Benchmark, Instance, entrants, measure
from evenhand.research.simulation.experiment import play_out, policy_for


def crossed(values: list[float], **more: Any) -> eh.BiasedLinearBandit:
    """Judges partial to their own by 3, two of them to the same: sums of scores mislead."""
    options = {f"option {x}": ("fr", "it")[x % 2] for x in range(len(values))}
    judges = {"P": "fr", "Q": "it", "R": "us", "S": "fr"}
    questions = eh.Questions.panel(options, judges, **({"capacity": None} | more))
    return eh.BiasedLinearBandit(questions, values, [3.0, 0.5, -2.0, 1.0])


@pytest.mark.parametrize(
    ("values", "bias"),
    [([0.0, 0.5, -0.3, 0.2], 3.0), ([0.5, 0.0, 0.5, 0.0], -3.0)],
    ids=["apart", "tied"],
)
def test_the_best_option_of_a_panel_is_found(values: list[float], bias: float) -> None:
    """Two judges, each partial to half of the options: who does not cross them goes wrong."""
    options = {f"option {x}": ("fr", "it")[x % 2] for x in range(len(values))}
    questions = eh.Questions.panel(options, {"P": "fr", "Q": "it"}, capacity=None)
    problem = eh.BiasedLinearBandit(questions, values, [bias, 0.5], noise_scale=0.5)
    for seed in range(8):
        policy = policy_for(problem, "uniform", 400, seed=seed)
        play_out(policy, eh.SimulatedEvaluations(problem, seed=seed), problem.question_gaps)
        assert policy.recommend().option in problem.best_all, f"seed {seed}"


def test_what_a_question_loses_is_what_its_options_lose() -> None:
    pairs = [(0, 1), (1, 0), (0, 2), (2, 1)]
    rows = [np.eye(4)[a] - np.eye(4)[b] for a, b in pairs] + [np.eye(4)[1], np.eye(4)[3]]
    questions = eh.Questions(options=np.eye(4)[:3], features=rows, attributes=np.ones((6, 1)))
    problem = eh.BiasedLinearBandit(questions, [1.0, 4.0, 2.0, 9.0], 0.5)
    assert problem.gaps.tolist() == [3.0, 0.0, 2.0]
    assert problem.question_gaps.tolist() == [1.5, 1.5, 2.5, 1.0, 0.0, pytest.approx(5 / 3)]
    actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
    own = eh.BiasedLinearBandit(actions, [1.0], 0.5)
    assert own.question_gaps is own.gaps


def test_simulate_plays_questions_and_names_who_cannot() -> None:
    problem = crossed([0.0, 2.0, 0.5, -0.5])
    results = eh.simulate(problem, ["uniform"], 160, 3, seed=1)
    (uniform,) = results.runs
    # ten of each of 16 questions, four about each option
    assert uniform.final_regret.tolist() == [pytest.approx(40 * problem.gaps.sum())] * 3
    assert (uniform.spent == 160).all()
    assert uniform.correct.all()
    assert (problem.gaps[results.outcomes()["option"]] == 0.0).all(), "options, not questions"
    with pytest.raises(eh.InputError, match="takes every option to be its own question"):
        eh.simulate(problem, ["fair-phased-elimination"], 160, 3)


def test_a_budget_ends_a_policy_and_its_simulation() -> None:
    problem = crossed([0.0, 2.0, 0.5, -0.5], prices=[1.0, 2.0, 3.0, 4.0])
    policy = policy_for(problem, "uniform", 500, seed=1, budget=100.0)
    play_out(policy, eh.SimulatedEvaluations(problem, seed=1), problem.question_gaps)
    assert 90.0 < policy.limits.paid <= 100.0
    assert policy.spent < 500


@dataclass(frozen=True)
class Panel(Instance):
    """A panel, for a comparison of policies."""

    @property
    def words(self) -> str:
        return "a panel"

    def problems(self) -> tuple[eh.BiasedLinearBandit, ...]:
        return (crossed([0.0, 2.0, 0.5, -0.5]),)


def test_compare_plays_panels_and_says_who_does_not() -> None:
    benchmark = Benchmark((Panel("panels", "Panels", "panel", horizon=160),), 2)
    names = ["uniform", "thompson-sampling"]
    uniform, refused = measure(benchmark, entrants(names))
    (problem,) = benchmark.instances[0].problems()
    assert uniform.mean == pytest.approx(40 * problem.gaps.sum())
    assert refused.refusal is not None
    assert "its own question" in refused.refusal
