"""Answers to questions as designs: the same least squares as on the rows of the questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.inference import Target, biases_by, conclude, design_of_answers, design_of_feedback
from evenhand.linear import Fit
from evenhand.questions import of_kind, with_exact_features

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "fr", "Di": None}
JUDGES = {"P": "fr", "Q": "it", "R": None, "S": "it"}


def custom() -> eh.Questions:
    """Options by features, and questions about none of them, or about a difference."""
    X = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 3.0]])
    F = np.vstack([X, X[0] - X[1], [[0.0, 1.5]]])
    return eh.Questions(X, F, [[1.0], [0.0], [0.5], [0.0], [2.0]])


QUESTIONS: dict[str, Callable[[], eh.Questions]] = {
    "panel": lambda: eh.Questions.panel(OPTIONS, JUDGES),
    "no leniency": lambda: eh.Questions.panel(OPTIONS, JUDGES, leniency=False),
    "a bias each": lambda: eh.Questions.panel(OPTIONS, JUDGES, bias="evaluator"),
    "comparisons": lambda: eh.Questions.comparisons(OPTIONS, JUDGES, bias="common"),
    "one judge compares": lambda: eh.Questions.comparisons(list(OPTIONS), ["P"]),
    "no position": lambda: eh.Questions.comparisons(list(OPTIONS), ["P", "Q"], position=False),
    "exact features": lambda: with_exact_features(
        eh.Questions.panel(OPTIONS, JUDGES), [[1.0], [2.0], [4.0], [5.0]]
    ),
    "an action set": lambda: eh.Questions.of(
        eh.ActionSet([[1.0, 5.0], [1.0, 2.0], [1.0, 4.0]], ["a", "a", "b"])
    ),
    "custom": custom,
}


def drawn(questions: eh.Questions, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    which = np.concatenate([np.arange(len(questions)), rng.integers(len(questions), size=n)])
    truth = rng.normal(size=questions.matrix.shape[1])
    return which, questions.matrix[which] @ truth + rng.normal(size=len(which))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_fit_is_that_of_plain_least_squares(kind: str) -> None:
    questions = QUESTIONS[kind]()
    which, y = drawn(questions, 30, seed=1)
    A = questions.matrix[which].toarray()
    theta, *_ = np.linalg.lstsq(A, y, rcond=None)
    fit = Fit(design_of_answers(questions, which, y, scope="these"))
    assert fit.freedom == len(y) - np.linalg.matrix_rank(A)
    assert fit.residual == pytest.approx(y - A @ theta, abs=1e-9)
    k, d = len(questions.options), questions.n_features
    values = questions.options.features @ theta[:d]
    found = fit.values[:k]
    assert found[0] - found == pytest.approx(values[0] - values, abs=1e-9)
    leads = fit.leads(np.zeros(k - 1, dtype=int), np.arange(1, k))
    assert np.isfinite(leads.variance).all()


@pytest.mark.parametrize("kind", ["panel", "no leniency", "exact features"])
def test_values_are_those_before_the_average_of_who_answered(kind: str) -> None:
    questions = QUESTIONS[kind]()
    which, y = drawn(questions, 30, seed=2)
    kept = questions.evaluator[which] != 1  # Q never answered
    which, y = which[kept], y[kept]
    theta, *_ = np.linalg.lstsq(questions.matrix[which].toarray(), y, rcond=None)
    others = [column.evaluator != "Q" for column in questions.columns]
    neutral = of_kind(questions.columns, "leniency") * others / (len(JUDGES) - 1)
    d = questions.n_features
    values = questions.options.features @ theta[:d] + neutral @ theta[d:]
    fit = Fit(design_of_answers(questions, which, y, scope="these"))
    assert fit.values == pytest.approx(values, abs=1e-9)
    said = {(c.kind, c.name): ends for c, ends in biases_by(questions, which, fit, 0.05)}
    shift = 0.4 if kind == "panel" else 1e-9  # judges' unequal use of the scale is taken off
    assert said["bias", "own group"][0] == pytest.approx(theta[d], abs=shift)
    if kind != "no leniency":
        assert np.isnan(said["leniency", "Q"][0])
        lenient = np.array([0.0, theta[-2], theta[-1]])  # of P, R and S; the first is the zero
        found = [said["leniency", name] for name in "PRS"]
        assert [x[0] for x in found] == pytest.approx(lenient - lenient.mean(), abs=1e-9)
        assert all(low < value < high for value, low, high in found)


@pytest.mark.parametrize("kind", ["panel", "comparisons", "custom"])
def test_sums_and_squares_say_the_same_as_single_answers(kind: str) -> None:
    questions = QUESTIONS[kind]()
    which, y = drawn(questions, 60, seed=3)
    told = eh.Feedback.from_scores(questions, which, y)
    single = Fit(design_of_answers(questions, which, y, scope="these"))
    summed = Fit(design_of_feedback(questions, told, "these")[0])
    assert summed.noise == pytest.approx(single.noise)
    k = len(questions.options)
    one, other = (fit.leads(np.zeros(k, dtype=int), np.arange(k)) for fit in (single, summed))
    assert other.estimate == pytest.approx(one.estimate, abs=1e-9)
    if kind == "custom":  # nobody shares an error
        assert other.variance[1:] == pytest.approx(one.variance[1:], rel=1e-6)
        assert other.freedom == pytest.approx(one.freedom, rel=1e-6)


def test_what_a_judge_says_again_is_one_opinion() -> None:
    questions = eh.Questions.panel(list(OPTIONS), list(JUDGES), capacity=None)
    which, y = drawn(questions, 50, seed=4)
    design = design_of_answers(questions, which, y)
    assert len(design) == len(questions) == 16
    assert sorted(design.clusters) == ["evaluator"]
    means = np.bincount(which, y) / np.bincount(which)
    found = {(o, e): v for o, e, v in zip(design.option, design.evaluator, design.y, strict=True)}
    assert found == pytest.approx(
        {
            (o, e): means[questions.find([a], p)[0]]
            for o, a in enumerate(OPTIONS)
            for e, p in enumerate(JUDGES)
        }
    )
    summed, _ = design_of_feedback(questions, eh.Feedback.from_scores(questions, which, y))
    assert np.sort(summed.y) == pytest.approx(np.sort(design.y))


def test_one_judge_has_single_answers_that_share_nothing() -> None:
    questions = eh.Questions.panel(list(OPTIONS), ["P"], capacity=None)
    design = design_of_answers(questions, [0, 0, 1, 1, 2, 3], np.arange(6.0))
    assert len(design) == 6
    assert not design.clusters


def test_a_favour_that_several_share_may_differ_between_them() -> None:
    panel: Any = eh.Questions.panel(OPTIONS, JUDGES)
    which, y = drawn(panel, 0, seed=6)
    assert "evaluator" in design_of_answers(panel, which, y, scope="these").clusters
    plain = eh.Questions.panel(list(OPTIONS), list(JUDGES))
    assert not design_of_answers(plain, which, y, scope="these").clusters


def test_a_tie_is_sure_no_more_often_than_stated() -> None:
    questions = eh.Questions.panel([f"o{x}" for x in range(6)], [f"e{x}" for x in range(6)])
    rng, every, sure = np.random.default_rng(7), np.arange(36), 0
    for _ in range(120):
        fit = Fit(design_of_answers(questions, every, rng.normal(size=36)))
        sure += conclude(fit, Target(top=1), 0.05).sure
    assert sure <= 13  # 5% of 120 is 6; 13 has a chance below 1% by then
