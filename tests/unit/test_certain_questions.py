"""CertainChoice on questions: leads are identified cheaply, limits and absences are heeded."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from asking import evaluated, judged
from evenhand.questions import Questions

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr", "Ed": "it"}
JUDGES = {"P": "fr", "Q": "it", "R": "us", "S": None}


def panel(**settings: object) -> Questions:
    return Questions.panel(OPTIONS, JUDGES, **{"capacity": None, **settings})  # type: ignore[arg-type]


def problem_on(questions: Questions, gap: float = 1.0, bias: float = 0.7) -> eh.BiasedLinearBandit:
    """Bo is the best by ``gap``; leniencies grow from judge to judge."""
    values = np.where(np.arange(questions.n_features) == 1, gap, 0.0)
    added = [
        bias if column.kind != "leniency" else 0.5 * i for i, column in enumerate(questions.columns)
    ]
    return eh.BiasedLinearBandit(questions, values, added)


def answers(
    problem: eh.BiasedLinearBandit, counts: np.ndarray, rng: np.random.Generator
) -> eh.Feedback:
    return evaluated(counts, problem.evaluations, rng, problem.noise)


def played(
    policy: eh.CertainChoice, problem: eh.BiasedLinearBandit, seed: int = 1
) -> eh.CertainChoice:
    return judged(policy, problem.evaluations, seed, problem.noise, n=1)


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_it_is_certain_of_the_best_option_by_its_own_scores(noise_scale: float | None) -> None:
    problem = problem_on(panel())
    policy = played(eh.CertainChoice(problem.actions, noise_scale=noise_scale), problem)
    decision = policy.recommend()
    assert (decision.label, decision.loss, decision.certainty) == ("Bo", 0.0, "own scores")
    truth = problem.values[1] - problem.values
    assert (decision.leads[:, 1] <= truth).all()
    assert (truth <= decision.leads[:, 2]).all()
    others = [0, 2, 3]  # not of Bo's group
    assert decision.withstands == max(0.0, decision.leads[others, 1].min())
    values = policy.values()
    neutral = problem.values + problem.questions.neutral @ np.atleast_1d(problem.omega)
    assert ((values[:, 1] <= neutral) & (neutral <= values[:, 2])).all()
    levels = np.array([0.0, 0.5, 1.0, 1.5])
    truths = [0.7, *(levels - levels.mean())]
    assert [c.name for c, _ in policy.biases()] == ["own group", "P", "Q", "R", "S"]
    assert all(said.covers(t) for (_, said), t in zip(policy.biases(), truths, strict=True))


def test_capacity_is_kept_and_its_end_is_said() -> None:
    problem = problem_on(panel(capacity=2), gap=0.05)
    policy = played(eh.CertainChoice(problem.actions), problem)
    assert policy.limits.asked.max() <= 2
    assert "as often as they may be" in str(policy.stopped_because)
    assert policy.recommend().certainty is None


def test_nobody_left_who_could_compare_is_said() -> None:
    problem = problem_on(panel())
    policy, rng = eh.CertainChoice(problem.actions), np.random.default_rng(6)
    for _ in range(6):
        policy.tell(answers(problem, policy.ask(1).counts, rng))
    for name in JUDGES:
        policy.limits.leave(name)
    assert policy.finished
    assert "cannot be asked" in str(policy.stopped_because)
    for name in JUDGES:
        policy.limits.join(name)
    assert policy.stopped_because is None
    assert played(policy, problem).recommend().label == "Bo"


@pytest.mark.parametrize("told", [2, 3])
def test_who_leaves_before_the_noise_was_heard_spoils_no_evidence(told: int) -> None:
    """Two answers to two questions leave no residual, so no unit to measure leads in."""
    questions = Questions.panel(["Ann", "Bo"], ["here", "gone"], capacity=None)
    problem = eh.BiasedLinearBandit(questions, [1.0, 3.0], [0.0], noise_scale=0.1)
    policy, rng = eh.CertainChoice(questions), np.random.default_rng(told)
    while policy.spent < told:
        policy.tell(answers(problem, policy.ask(1, available=["here"]).counts, rng))
    policy.limits.leave("gone")
    while not policy.finished:
        policy.tell(answers(problem, policy.ask(1).counts, rng))
    assert policy.recommend().label == "Bo"
    assert policy.recommend().loss == 0.0


def test_comparisons_are_settled_whoever_is_named_first() -> None:
    questions = Questions.comparisons(["A", "B", "C", "D"], ["model"])
    problem = eh.BiasedLinearBandit(questions, [0.0, 0.0, 0.4, 0.1], 0.2, noise_scale=0.5)
    policy = played(eh.CertainChoice(questions), problem, seed=3)
    assert policy.recommend().label == "C"
    ((column, said),) = policy.biases()
    assert column.kind == "position"
    assert said.covers(0.2)


def test_two_partial_judges_crossed_on_two_options_are_asked_all_four_questions() -> None:
    """A lead of ten deviations: v₁ − v₂ needs both judges about both, in every stage.

    Two stages of the least length do, with the noise known: each tells the lead.
    """
    panel = eh.Questions.panel({"Ann": "a", "Bo": "b"}, {"P": "a", "Q": "b"}, capacity=None)
    problem = eh.BiasedLinearBandit(panel, gamma=[1.0, 0.0], omega=[0.5, 0.25], noise_scale=0.1)
    policy = eh.CertainChoice(panel, noise_scale=0.1)
    evaluations = eh.SimulatedEvaluations(problem, seed=1)
    while not policy.finished:
        policy.tell(evaluations.evaluate(policy.ask()))
    assert (policy.recommend().option, policy.recommend().loss) == (0, 0.0)
    assert policy.spent <= 3 * 4


def test_loud_answers_count_for_less() -> None:
    noise = np.array([1.0, 2.0, 0.5, 4.0])
    questions = panel(noise=noise)
    told = answers(problem_on(questions), np.full(len(questions), 2), np.random.default_rng(4))
    policy = eh.policy("uniform", questions, horizon=10 * len(questions))
    policy.observe(told)
    weights = 1.0 / noise[questions.evaluator] ** 2
    rows = questions.points
    V = (rows * (2 * weights)[:, None]).T @ rows
    theta = np.linalg.solve(V, rows.T @ (weights * told.sums))
    assert policy.bias().value == pytest.approx(theta[questions.n_features])


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_what_the_budget_does_not_pay_for_keeps_nobody_from_cheaper_questions(seed: int) -> None:
    """What is dear may come first in a plan; who cannot pay for it is asked the rest, or told."""
    questions = Questions.panel(
        {"a": "x", "b": "y", "c": "x"},
        {"cheap": "x", "dear": "y"},
        prices=[0.1, 10.0],
        capacity=None,
    )
    problem = eh.BiasedLinearBandit(questions, [0.6, 0.0, 0.0], [0.5, 0.0])
    policy = eh.CertainChoice(questions, budget=150.0, noise_scale=1.0, seed=seed)
    answers = eh.SimulatedEvaluations(problem, seed=seed)
    while (asked := policy.ask(1)).total:
        policy.tell(answers.evaluate(asked))
    assert policy.stopped_because is not None
    assert policy.limits.paid <= 150.0 + 1e-9


def test_bounds_hold_for_questions_that_are_said_to_be_quiet() -> None:
    """Scores in [0, 1] are sub-Gaussian with σ = ½, whatever their relative noise is said to be."""
    panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None, noise={"P": 0.2, "Q": 3.0})
    policy = eh.CertainChoice(panel, bounds=(0.0, 1.0))
    assert (policy.noise_scale * panel.noise).min() == pytest.approx(0.5)


def test_trusted_judges_confirm_though_they_are_dear() -> None:
    """A model likes B for itself, and a search would ask nobody else: that makes nothing sure."""
    questions = eh.Questions.panel(
        ["A", "B", "C"],
        ["model", "Rosa", "Sven"],
        capacity=None,
        prices={"model": 1.0, "Rosa": 500.0, "Sven": 500.0},
        trusted=["Rosa", "Sven"],
    )
    liked = np.where((questions.about[:, 0] == 1) & (questions.evaluator == 0), 1.5, 0.0)
    means = np.array([1.0, 0.5, 0.0])[questions.about[:, 0]] + liked
    policy, rng = eh.CertainChoice(questions, looks=0.1, at_most=4_000), np.random.default_rng(0)
    while not policy.finished:
        policy.tell(evaluated(policy.ask().counts, means, rng))
    assert "check the model" in {one.plan.purpose for one in policy.record.rounds}
    assert policy.limits.asked[questions.evaluator > 0].sum() > 3
    decision = policy.recommend()
    assert decision.certainty is None or decision.label == "A"
