"""Neutral evaluators who could be found, and what is said of panels before anything is asked."""

from __future__ import annotations

import numpy as np

import evenhand as eh
from evenhand.questions import accuracy, with_neutral

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us"}


def variances(questions: eh.Questions) -> np.ndarray:
    return accuracy(questions, np.ones(len(questions))).lead_variances(0)[1:]


def test_one_more_neutral_evaluator_by_hand() -> None:
    """Ann and Bo, each favoured by one: 1 from the partial two, 2 from the neutral one alone."""
    panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    np.testing.assert_allclose(variances(panel), 1.0)
    np.testing.assert_allclose(variances(with_neutral(panel, 1)), 1.0 / (1.0 + 0.5))
    loud = eh.Questions.panel(["a", "b"], ["P"], partial=None, noise=[2.0])
    np.testing.assert_allclose(variances(with_neutral(loud, 1)), 4.0)  # as loud as others


def test_one_more_is_asked_for_comparisons_too() -> None:
    """Each pair in both orders by one judge: a complete graph, variance 2/(2k) of a lead."""
    questions = eh.Questions.comparisons(["a", "b", "c", "d"], ["J"])
    np.testing.assert_allclose(variances(questions), 2.0 / (2 * 4))
    more = with_neutral(questions, 1)
    assert more.evaluators[1] == "neutral evaluator 1"
    np.testing.assert_allclose(variances(more), 2.0 / (4 * 4))
    assert with_neutral(more, 1).evaluators[2] == "neutral evaluator 2"


def test_one_more_can_be_asked_where_others_cannot() -> None:
    busy = eh.Questions.panel(list(OPTIONS), ["P", "Q", "R"], workload=[0, 0, 2])
    assert with_neutral(busy, 1).workload.tolist() == [0, 0, 2, 2]
    nobody = eh.Questions.of(eh.ActionSet([[1.0], [0.0]], ["x", "y"], ["Ann", "Bo"]))
    assert with_neutral(nobody, 1).evaluator.tolist() == [-1, -1, 0, 0]


def test_what_cannot_be_compared_has_no_price() -> None:
    found = eh.inspect(eh.Questions.panel(OPTIONS, {"P": "fr"}))
    assert found.kappa_star == {"own group": np.inf}
    assert not found.identifiable
    assert found.to_dict()["kappa_star"] == {}
    assert any(sentence.startswith("What helps: add") for sentence in found.to_dict()["words"])
