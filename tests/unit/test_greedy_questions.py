"""Greedy questions: what is asked lowers the expected loss most, checked along another way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.certainty import aim as aims
from evenhand.certainty.greedy_questions import GreedyQuestions
from evenhand.certainty.posteriors import posterior_of


def panel(**more: Any) -> eh.Questions:
    options = {"Ann": "fr", "Bo": "it", "Cy": "fr", "Di": "us"}
    judges = {"P": "fr", "Q": "it", "R": "us"}
    return eh.Questions.panel(options, judges, **({"capacity": None} | more))


def comparisons(k: int) -> eh.Questions:
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    rows = [np.eye(k)[a] - np.eye(k)[b] for a, b in pairs]
    return eh.Questions(options=np.eye(k), features=rows, attributes=np.ones((len(pairs), 1)))


def scores_of_all(questions: eh.Questions, n: int, rng: np.random.Generator) -> eh.Feedback:
    """n scores of every question, about random means."""
    q = len(questions)
    scores = rng.normal(size=q) + rng.normal(size=(n, q))
    return eh.Feedback(np.full(q, n), scores.sum(axis=0), (scores**2).sum(axis=0))


def expected_loss(theta: Floats, covariance: Floats, leads: Floats) -> float:
    """What the rivals of the leader are better by on average, under N(theta, covariance)."""
    d, s = leads @ theta, np.sqrt(np.einsum("ij,jk,ik->i", leads, covariance, leads))
    return float((s * norm.pdf(d / s) - d * norm.sf(d / s)).sum())


@pytest.fixture(params=["dense", "panels"])
def algebra(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions as they are for small and for large panels."""
    monkeypatch.setattr(aims, "_LARGE", 0 if request.param == "panels" else 10**9)


@pytest.mark.parametrize("n_judges", [2, 5, 30])
@pytest.mark.parametrize("noisy", [False, True])
def test_both_algebras_know_the_same(
    n_judges: int, noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever side is the larger, with biases, noise that differs, and questions on their way."""
    rng = np.random.default_rng(n_judges)
    options = {f"o{x}": f"g{x % 3}" for x in range(6)}
    judges = {f"j{x}": f"g{x % 3}" for x in range(n_judges)}
    noise = rng.uniform(0.5, 2.0, n_judges).tolist() if noisy else None
    questions = eh.Questions.panel(options, judges, capacity=None, noise=noise)
    q = len(questions)
    counts = rng.integers(0, 3, q) + (np.arange(q) % n_judges == 0)  # all are compared
    y = rng.normal(size=q) * counts
    told, more = eh.Feedback(counts, y, y**2 + 1.0), rng.integers(0, 2, q)
    found = []
    for large in (10**9, 0):
        monkeypatch.setattr(aims, "_LARGE", large)
        found.append(posterior_of(questions).told(told).expecting(more))
    one, other = found
    assert [type(x).__name__ for x in found] == ["RootPosterior", "PanelPosterior"]
    assert (one.rank, one.scatter) == pytest.approx((other.rank, other.scatter), rel=1e-6)
    leads = [x.values[1] - x.values for x in found]
    np.testing.assert_allclose(*leads, atol=1e-6)
    rivals, pairs = np.array([0, 3, 5]), np.random.default_rng(1).integers(0, q, (2, 9))
    reached = one.leverages < 1e4
    np.testing.assert_array_equal(reached, other.leverages < 1e4)
    np.testing.assert_allclose(one.leverages[reached], other.leverages[reached], rtol=1e-5)
    np.testing.assert_allclose(
        one.along(1, rivals)[reached], other.along(1, rivals)[reached], atol=1e-5
    )
    np.testing.assert_allclose(one.spreads(1), other.spreads(1), atol=1e-6)
    pairs = pairs[:, reached[pairs].all(axis=0)]
    np.testing.assert_allclose(one.between(*pairs), other.between(*pairs), atol=1e-5)


@pytest.mark.usefixtures("algebra")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_asked_lowers_the_expected_loss_fastest(seed: int) -> None:
    """By explicit inverses and differences of the loss itself, on rows nobody has transformed."""
    rng = np.random.default_rng(seed)
    questions = panel(prices=[1.0, 2.0, 0.5], noise=[1.0, 0.5, 2.0])
    policy = GreedyQuestions(questions, 1000, noise_scale=1.0, seed=seed)
    told = scores_of_all(questions, 3, rng)
    policy.observe(told)
    rows = questions.points / questions.noise[:, None]
    V = 3 * rows.T @ rows
    theta = np.linalg.solve(V, rows.T @ (told.sums / questions.noise))
    leader = policy.recommend().option
    assert leader == int(np.argmax(theta[:4]))
    leads = np.zeros((3, rows.shape[1]))
    leads[:, :4] = np.eye(4)[leader] - np.delete(np.eye(4), leader, axis=0)
    tiny = 1e-6  # of an evaluation: the derivative, before the variance has moved
    now = expected_loss(theta, np.linalg.inv(V), leads)
    speeds = []
    for a, price in zip(rows, questions.prices, strict=True):
        later = expected_loss(theta, np.linalg.inv(V + tiny * np.outer(a, a)), leads)
        # the whole evaluation lowers variances by 1/(1 + aᵀV⁻¹a) of what its first bit promises
        speeds.append((now - later) / tiny / (1.0 + a @ np.linalg.solve(V, a)) / price)
    asked = int(np.argmax(policy.ask(1).counts))
    assert speeds[asked] == pytest.approx(max(speeds), rel=1e-4)


@pytest.mark.usefixtures("algebra")
def test_learning_one_by_one_is_least_squares_on_all() -> None:
    rng = np.random.default_rng(0)
    questions = panel(noise=[1.0, 0.5, 2.0])
    policy = GreedyQuestions(questions, 1000)
    told = scores_of_all(questions, 2, rng) + scores_of_all(questions, 5, rng)
    policy.observe(told)
    rows, w = questions.points, 7 / questions.noise**2
    fitted = np.linalg.solve(rows.T @ (w[:, None] * rows), rows.T @ (w * told.sums / 7))
    values = policy._known.values
    np.testing.assert_allclose(values - values[0], fitted[:4] - fitted[0], atol=1e-7)
    assert policy.bias().value == pytest.approx(fitted[4], abs=1e-7)
    left = (told.sums_of_squares / questions.noise**2).sum() - 7 * (w / 7) @ (rows @ fitted) ** 2
    assert policy._known.scatter == pytest.approx(left, rel=1e-6)


@pytest.mark.usefixtures("algebra")
def test_an_evaluator_not_yet_asked_is_opened_with_a_pair() -> None:
    """By itself no first question to it says anything about a lead; two do, if it is quiet.

    With five of each by P the lead has variance .4. One more by P takes .2²/1.2 = .033 off; two by
    Q of noise s take .4²/(.4 + 2s²): .38 for s = .1, and for s = 10 much less than two by P.
    """
    counts = np.array([5, 0, 5, 0])
    for noise, asked in ((0.1, [0, 1, 0, 1]), (10.0, [1, 0, 1, 0])):
        questions = eh.Questions.panel(
            ["Ann", "Bo"], ["P", "Q"], capacity=None, noise=[1.0, noise], partial=None
        )
        policy = GreedyQuestions(questions, 100, noise_scale=1.0)
        policy.observe(eh.Feedback(counts, counts * 1.0, counts * 2.0))
        assert policy.ask(2).counts.tolist() == asked


def test_nothing_is_known_after_the_first_question_and_the_lead_after_the_second() -> None:
    for seed in range(6):
        policy = GreedyQuestions(panel(partial=None), 100, noise_scale=1.0, seed=seed)
        (one, other) = np.flatnonzero(policy.ask(2).counts).tolist()
        about, who = policy.questions.about[:, 0], policy.questions.evaluator
        assert who[one] == who[other]
        assert about[one] != about[other]


def test_chance_decides_what_nothing_else_does() -> None:
    first = {
        int(np.argmax(GreedyQuestions(panel(partial=None), 10, seed=seed).ask(1).counts))
        for seed in range(20)
    }
    assert len(first) > 3


def test_a_panel_asked_once_each_is_asked_once_each() -> None:
    questions = panel(capacity=1)
    policy, evaluations = GreedyQuestions(questions, 1000), _evaluations(questions)
    total = np.zeros(len(questions), dtype=np.int64)
    while not policy.finished:
        feedback = evaluations.evaluate(policy.ask(5))
        total += feedback.counts
        policy.tell(feedback)
    assert (total == 1).all()


def test_a_budget_goes_to_what_it_can_still_pay() -> None:
    questions = panel(prices=[1.0, 1.0, 7.0])
    policy, evaluations = GreedyQuestions(questions, 1000, budget=30.5), _evaluations(questions)
    while not policy.finished:
        policy.tell(evaluations.evaluate(policy.ask(3)))
    assert policy.limits.paid == 30.0


def test_who_is_away_is_not_asked_and_may_come_back() -> None:
    questions = panel()
    policy = GreedyQuestions(questions, 1000)
    who = questions.evaluator
    policy.limits.leave("P")
    counts = policy.ask(50).counts
    assert counts.sum() == 50
    assert counts[who == 0].sum() == 0
    assert policy.ask(50, available=["Q"]).counts[who != 1].sum() == 0
    assert policy.ask(5, available=["P"]).total == 0
    policy.limits.join("P")
    assert policy.ask(5, available=["P"]).total == 5


def test_what_is_on_its_way_counts_as_made() -> None:
    """Asked one after the other with the others pending, or all at once: the same questions."""
    questions = comparisons(4)
    policy = GreedyQuestions(questions, 1000, noise_scale=1.0)
    rng = np.random.default_rng(1)
    for n in (1, 3):  # some more often than others, so that nothing is left to chance
        some = scores_of_all(questions, n, rng)
        keep = rng.random(len(questions)) < 0.6
        policy.observe(eh.Feedback(*(part * keep for part in some.parts)))
    pending = np.zeros(len(questions), dtype=np.int64)
    for _ in range(12):
        pending += policy.ask(1, pending).counts
    assert np.array_equal(policy.ask(12).counts, pending)


@pytest.mark.parametrize("first", [0.0, 0.8, -0.8])
def test_comparisons_are_asked_in_both_orders_whoever_is_favoured(first: float) -> None:
    """Verdicts without noise: the best is found, though the first named looks better by .8."""
    questions = comparisons(5)
    values = np.array([0.1, 0.0, 0.3, -0.2, 0.2])
    policy = GreedyQuestions(questions, 60, noise_scale=0.5)
    a, b = questions.about.T
    while not policy.finished:
        n = policy.ask(1).counts
        y = n * (values[a] - values[b] + first)
        policy.tell(eh.Feedback(n, y, y**2))
    assert policy.recommend().option == 2
    assert policy.bias().value == pytest.approx(first, abs=1e-7)


def test_its_state_goes_through_json_on_questions() -> None:
    questions = panel(capacity=3, workload=[5, 9, 9])
    policy, evaluations = GreedyQuestions(questions, 100, seed=3), _evaluations(questions)
    for _ in range(6):
        policy.tell(evaluations.evaluate(policy.ask(2)))
    policy.limits.leave("Q")
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert np.array_equal(again.ask(4).counts, policy.ask(4).counts)
    assert again.recommend() == policy.recommend()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(eh.NotIdentifiableError, match="cannot be compared"):
        GreedyQuestions(eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"}), 10)


def _evaluations(questions: eh.Questions) -> eh.SimulatedEvaluations:
    gamma = np.arange(questions.n_features) / 4
    omega = np.full(questions.n_attributes, 0.5)
    return eh.SimulatedEvaluations(eh.BiasedLinearBandit(questions, gamma, omega), seed=1)


def test_a_pair_is_cut_short_where_only_one_may_be_asked() -> None:
    """Q has time for one question; a pair by Q would be the best there is."""
    questions = eh.Questions.panel(
        ["Ann", "Bo"], ["P", "Q"], capacity=None, noise=[1.0, 0.1], partial=None, workload=[99, 1]
    )
    policy = GreedyQuestions(questions, 100, noise_scale=1.0)
    counts = np.array([5, 0, 5, 0])
    policy.observe(eh.Feedback(counts, counts * 1.0, counts * 2.0))
    for n in (2, None):
        assert policy.ask(n).counts[[1, 3]].sum() <= 1
