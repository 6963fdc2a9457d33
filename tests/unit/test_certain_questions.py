"""CertainChoice on questions: leads are identified cheaply, limits and absences are heeded."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.shares import dealt
from evenhand.certainty.stages import prior
from evenhand.numerics.least_squares import gram
from evenhand.policies import checks_of
from evenhand.questions import UNLIMITED, Questions, named_biases

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
    places = np.repeat(np.arange(len(counts)), counts)
    noise = np.broadcast_to(problem.noise, counts.shape)
    scores = problem.evaluations[places] + noise[places] * rng.standard_normal(len(places))
    q = len(counts)
    return eh.Feedback(
        counts.copy(),
        np.bincount(places, scores, minlength=q),
        np.bincount(places, scores**2, minlength=q),
    )


def played(
    policy: eh.CertainChoice, problem: eh.BiasedLinearBandit, seed: int = 1
) -> eh.CertainChoice:
    rng = np.random.default_rng(seed)
    while (asked := policy.ask(1)).total:
        policy.tell(answers(problem, asked.counts, rng))
    return policy


def lead_rows(questions: Questions) -> np.ndarray:
    """(k − 1, m) the leads of the first option, in the columns of the rows."""
    k = len(questions.options)
    rows = np.zeros((k - 1, questions.points.shape[1]))
    rows[:, : questions.n_features] = questions.options.features[0] - questions.options.features[1:]
    return rows


def spans(rows: np.ndarray, directions: np.ndarray) -> bool:
    return np.linalg.matrix_rank(np.vstack([rows, directions])) == np.linalg.matrix_rank(rows)


# ---------------------------------------------------------------------- the model


@pytest.mark.parametrize("noise", [1.0, None])
def test_a_fit_is_least_squares_on_the_rows(noise: float | None) -> None:
    questions = panel(noise=[1.0, 2.0, 1.0, 0.5])
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, len(questions))
    scores = rng.standard_normal((2, len(questions)))
    told = eh.Feedback(counts, counts * scores[0], counts * (scores[0] ** 2 + scores[1] ** 2))
    fit = DenseModel(questions).fit(told, noise)
    A = questions.weighted_points * np.sqrt(counts)[:, None]
    y = scores[0] * np.sqrt(counts)
    theta, _, rank, _ = np.linalg.lstsq(A, y, rcond=1e-10)
    covariance = np.linalg.pinv(A.T @ A, rcond=1e-10, hermitian=True)
    D = lead_rows(questions)
    said = fit.leads(0, np.arange(1, 5))
    assert said.estimates == pytest.approx(D @ theta)
    assert said.variances == pytest.approx(np.einsum("ij,jk,ik->i", D, covariance, D))
    _, rows = named_biases(questions)
    attributes = fit.attributes(rows)
    assert attributes.estimates == pytest.approx(rows @ theta[5:])
    neutral = np.hstack([np.eye(5), np.tile(questions.neutral, (5, 1))])
    assert fit.values().estimates == pytest.approx(neutral @ theta)
    if noise is None:
        scatter = (told.sums_of_squares - counts * scores[0] ** 2).sum() + (
            (y - A @ theta) ** 2
        ).sum()
        assert fit.scatter == pytest.approx(scatter)
        assert fit.freedom == counts.sum() - rank


def test_what_evaluations_say_nothing_of_has_no_variance() -> None:
    questions = panel()
    counts = np.zeros(len(questions), dtype=np.int64)
    counts[[0, 4]] = 3  # Ann and Bo by P, who may favour Ann
    counts[[1, 9]] = 2  # Ann and Cy by Q, who favours neither
    fit = DenseModel(questions).fit(eh.Feedback(counts, 1.0 * counts, 1.0 * counts), 1.0)
    assert np.isfinite(fit.leads(0, np.arange(1, 5)).variances).tolist() == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "settings", [{}, {"prices": [1.0, 1.0, 20.0, 30.0]}, {"bias": "evaluator"}]
)
def test_a_start_identifies_all_leads(settings: dict[str, object]) -> None:
    questions = panel(**settings)
    model = DenseModel(questions)
    order = model.start(0, np.full(len(questions), UNLIMITED))
    rows = questions.points[order]
    assert spans(rows, lead_rows(questions))
    assert not spans(rows[:-1], lead_rows(questions))
    assert len(model.start(model.rank + 6, np.full(len(questions), UNLIMITED))) >= model.rank + 6


def test_a_start_does_without_the_dear_evaluators() -> None:
    """P and Q, crossed on their favourites, identify everything: R and S cost 20 times as much."""
    questions = panel(prices=[1.0, 1.0, 20.0, 20.0])
    order = DenseModel(questions).start(0, np.full(len(questions), UNLIMITED))
    assert set(questions.evaluator[order].tolist()) <= {0, 1}
    one_by_one = len(questions.options) + 2  # each option once, and what a bias and Q's level take
    assert questions.prices[order].sum() <= one_by_one


def test_a_start_keeps_within_what_is_left() -> None:
    questions = panel()
    left = np.where(questions.evaluator == 3, 0, 1)
    order = DenseModel(questions).start(30, left)
    assert (np.bincount(order, minlength=len(questions)) <= left).all()
    assert spans(questions.points[order], lead_rows(questions))


def test_money_is_shared_as_the_optimum_of_two_judges_has_it() -> None:
    """Two options, one judge at 1, another at 4, no bias: all money to the cheap one.

    The lead by n answers about each option has variance 2/n, so for 1 of money 2·2/1 = 4.
    """
    questions = Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None, prices=[1.0, 4.0])
    plan = DenseModel(questions).plan(
        0,
        np.array([1]),
        np.ones(1),
        40,
        np.zeros(4, dtype=np.int64),
        np.full(4, UNLIMITED),
    )
    assert plan.variances == pytest.approx([4.0], rel=0.02)
    assert (questions.evaluator[plan.order] == 0).all()


def test_peers_that_are_as_good_are_asked_in_turn() -> None:
    """Nine judges alike: after 18 questions about two options, each was asked once about each."""
    questions = Questions.panel(["Ann", "Bo"], [f"J{i}" for i in range(9)], capacity=None)
    none, free = np.zeros(18, dtype=np.int64), np.full(18, UNLIMITED)
    plan = DenseModel(questions).plan(0, np.array([1]), np.ones(1), 18, none, free)
    assert np.bincount(plan.order, minlength=18).max() == 1
    asked = np.where(questions.evaluator < 5, 1, 0)
    later = DenseModel(questions).plan(0, np.array([1]), np.ones(1), 8, asked, free)
    assert (questions.evaluator[later.order] >= 5).all()


def test_an_order_lessens_variances_as_it_says() -> None:
    """The first question is the one that lessens Σ f³ most, by trying all of them."""
    rng = np.random.default_rng(3)
    P, U = rng.standard_normal((12, 4)), rng.standard_normal((3, 4))
    head = gram(P, np.full(12, 0.1))
    none, free = np.zeros(12, dtype=np.int64), np.full(12, UNLIMITED)
    prices = rng.uniform(1.0, 2.0, 12)
    peers = np.arange(12)  # each its own: none is ahead of others
    order = dealt(P, U, np.full(12, 1 / 12), head, 1, prices, none, free, peers)
    V = head + 1e-9 * (np.diag(np.diag(head)) + np.eye(4))

    def f(extra: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("ij,jk,ik->i", U, np.linalg.inv(V + extra), U))

    before = f(np.zeros((4, 4)))
    gains = [before**2 @ (before - f(np.outer(p, p))) / c for p, c in zip(P, prices, strict=True)]
    assert order[0] == int(np.argmax(gains))


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_it_is_certain_of_the_best_option_by_its_own_scores(noise_scale: float | None) -> None:
    problem = problem_on(panel())
    policy = played(eh.CertainChoice(problem.actions, noise_scale=noise_scale), problem)
    decision = policy.recommend()
    assert (decision.label, decision.loss, decision.certainty) == ("Bo", 0.0, "own scores")
    assert decision.leads is not None
    truth = problem.values[1] - problem.values
    assert (decision.leads[:, 1] <= truth).all()
    assert (truth <= decision.leads[:, 2]).all()
    others = [0, 2, 3]  # not of Bo's group
    assert decision.withstands == max(0.0, decision.leads[others, 1].min())
    values = policy.values()
    assert values is not None
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


def test_a_workload_is_kept_where_evaluators_work_side_by_side() -> None:
    problem = problem_on(panel(workload=[3, 9, 9, 9]), gap=0.05)
    policy = eh.CertainChoice(problem.actions)
    rng, pending = np.random.default_rng(1), np.zeros(len(problem.actions), dtype=np.int64)
    while True:
        pending = pending + policy.ask(4, pending).counts
        if not pending.any():
            break
        one = np.zeros_like(pending)
        one[rng.choice(np.flatnonzero(pending))] = 1
        policy.tell(answers(problem, one, rng))
        pending = pending - one
    work = np.bincount(problem.questions.evaluator, policy.limits.asked)
    assert (work <= [3, 9, 9, 9]).all()
    assert policy.stopped_because is not None


def test_only_those_who_are_available_are_asked() -> None:
    problem = problem_on(panel())
    policy, rng = eh.CertainChoice(problem.actions), np.random.default_rng(4)
    for turn in range(60):
        who = ["P", "Q"] if turn % 2 else ["R", "S"]
        counts = policy.ask(3, available=who).counts
        names = {problem.questions.evaluator_of(x) for x in np.flatnonzero(counts).tolist()}
        assert names <= set(who)
        if counts.any():
            policy.tell(answers(problem, counts, rng))
    assert policy.spent > 60


def test_who_leaves_is_not_waited_for_and_may_come_back() -> None:
    problem = problem_on(panel(), gap=0.3)
    policy, rng = eh.CertainChoice(problem.actions), np.random.default_rng(5)
    pending = np.zeros(len(problem.actions), dtype=np.int64)
    for turn in range(200):
        if turn == 15:
            policy.limits.leave("P")
        if turn == 40:
            policy.limits.leave("R")
            policy = eh.restore(json.loads(json.dumps(policy.state())))  # type: ignore[assignment]
        if turn == 90:
            policy.limits.join("P")
        new = policy.ask(3, pending).counts
        gone = {x for x, left in (("P", 15 <= turn < 90), ("R", turn >= 40)) if left}
        assert not gone & {problem.questions.evaluator_of(x) for x in np.flatnonzero(new).tolist()}
        pending = pending + new
        if not pending.any():
            break
        one = np.zeros_like(pending)
        one[rng.choice(np.flatnonzero(pending))] = 1  # of those who left, too: it comes late
        policy.tell(answers(problem, one, rng))
        pending = pending - one
    assert policy.spent == 200 or policy.stopped_because is not None
    assert len(policy.record.rounds) > 5


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


def test_a_plan_that_is_closed_short_counts_with_what_came_of_it() -> None:
    """All who could answer leave: its evidence is that of the scores it has, and no other's."""
    problem = problem_on(panel(), gap=0.2)
    policy, rng = eh.CertainChoice(problem.actions, noise_scale=1.0), np.random.default_rng(7)
    while (now := policy.record.now) is None or now.plan.leader < 0 or now.count < 6:
        policy.tell(answers(problem, policy.ask(1).counts, rng))
    for name in JUDGES:
        policy.limits.leave(name)
    policy.ask(1)
    assert policy.record.now is now  # there is nobody to plan for
    for name in JUDGES:
        policy.limits.join(name)
    policy._begin(policy.next_plan(policy._nothing))  # as a record may have it
    assert policy.record.rounds[-2] is now
    assert not now.whole
    fit = policy.aim.model.fit(now.total, 1.0)
    said = fit.leads(now.plan.leader, now.plan.rivals)
    assert now.plan.expected is not None
    effects, log_prior = prior(now.plan.expected, 0.0)
    J = 1.0 / said.variances
    S = J * said.estimates
    E = np.exp(log_prior + effects * S[:, None] - effects**2 * J[:, None] / 2).sum(axis=1)
    wealth = policy.inference.evidence().wealth
    assert wealth[now.plan.rivals] == pytest.approx(np.log(E), abs=1e-9)


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


def test_a_budget_is_kept_in_money() -> None:
    problem = problem_on(panel(prices=[1.0, 2.0, 3.0, 5.0]), gap=0.05)
    policy = played(eh.CertainChoice(problem.actions, budget=60.0), problem)
    assert policy.limits.paid <= 60.0
    assert policy.limits.paid == pytest.approx(
        float(policy.limits.asked @ problem.questions.prices)
    )
    assert "budget" in str(policy.stopped_because)


def test_comparisons_are_settled_whoever_is_named_first() -> None:
    questions = Questions.comparisons(["A", "B", "C", "D"], ["model"])
    problem = eh.BiasedLinearBandit(questions, [0.0, 0.0, 0.4, 0.1], 0.2, noise_scale=0.5)
    policy = played(eh.CertainChoice(questions), problem, seed=3)
    assert policy.recommend().label == "C"
    ((column, said),) = policy.biases()
    assert column.kind == "position"
    assert said.covers(0.2)


def test_looks_leave_enough_to_check_the_model_by() -> None:
    problem = problem_on(panel(), gap=3.0)
    policy = played(eh.CertainChoice(problem.actions, looks=0.1), problem)
    counts = policy.record.everything.counts
    kinds = np.count_nonzero(counts)
    assert kinds - np.linalg.matrix_rank(problem.questions.points[counts > 0]) >= 8
    assert counts.sum() - kinds >= 8
    assert checks_of(policy).lack_of_fit().df >= 8


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


def test_features_help_as_far_as_they_are_trusted() -> None:
    rng = np.random.default_rng(5)
    X = np.arange(5.0)[:, None] ** 2
    questions = panel(features=X)
    q = len(questions)
    counts = rng.integers(1, 4, q)
    told = answers(problem_on(questions), counts, rng)
    fit = DenseModel(questions).fit(told, 1.0)
    rivals = np.arange(1, 5)
    plain = fit.leads(0, rivals)
    distrusted = fit.helped(X, 1e6).leads(0, rivals)
    assert distrusted.estimates == pytest.approx(plain.estimates, abs=1e-8)
    assert distrusted.variances == pytest.approx(plain.variances, rel=1e-8)
    # trusted wholly: least squares on features and attributes
    item = questions.about[:, 0]
    rows = np.column_stack([np.ones(q), X[item], questions.attributes])
    V = np.linalg.inv((rows * counts[:, None]).T @ rows)
    theta = V @ (rows.T @ told.sums)
    D = np.zeros((4, rows.shape[1]))
    D[:, 1] = X[0] - X[rivals, 0]
    trusted = fit.helped(X, 1e-6).leads(0, rivals)
    assert trusted.estimates == pytest.approx(D @ theta, rel=1e-5)
    assert trusted.variances == pytest.approx(((D @ V) * D).sum(axis=1), rel=1e-5)
    # of features that leave nothing open there is nothing to learn
    assert fit.helped(np.eye(5), 1.0) is fit


def test_features_are_a_help_and_no_ground_of_certainty() -> None:
    X = np.array([[0.0], [3.0], [0.1], [-0.1], [0.0]])
    for deviation in (None, 0.3):
        questions = panel(features=X)
        policy = eh.CertainChoice(questions, deviation=deviation, noise_scale=1.0)
        decision = played(policy, problem_on(questions, gap=2.0)).recommend()
        assert (decision.label, decision.certainty) == ("Bo", "own scores")
        assert eh.restore(json.loads(json.dumps(policy.state()))).recommend() == decision
    with pytest.raises(eh.InputError, match="deviation must be a number ≥ 0"):
        eh.CertainChoice(panel(), deviation=-1.0)


def test_money_goes_where_it_tells_most() -> None:
    """Half the noise at twice the price: four times the information of an answer for two."""
    questions = Questions.panel(
        ["a", "b"],
        ["loud", "quiet"],
        partial=None,
        leniency=False,
        prices=[1.0, 2.0],
        noise=[1.0, 0.5],
        capacity=None,
    )
    none = np.zeros(4, dtype=np.int64)
    left = np.full(4, UNLIMITED)
    found = DenseModel(questions).plan(0, np.array([1]), np.ones(1), 8, none, left)
    # of a unit of money, half goes to each option: variance 2 · ½² / (½ / 2)
    assert found.variances == pytest.approx([2.0], rel=0.02)
    assert sum(questions.evaluator_of(int(x)) == "quiet" for x in found.order) > 4


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
    assert panel.noise is not None
    assert (policy.noise_scale * panel.noise).min() == pytest.approx(0.5)
