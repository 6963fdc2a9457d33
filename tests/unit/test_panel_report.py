"""What is said of a panel before anything is asked, against dense least squares and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings

import evenhand as eh
from evenhand.inspection.examination import worst_lead
from evenhand.questions import with_neutral
from panels import panels

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us"}


def variances(questions: eh.Questions) -> dict[tuple[str, str], float]:
    """The variance of every lead, by a dense pseudo-inverse."""
    A = questions.weighted_points[questions.may_ask]
    inverse = np.linalg.pinv(A.T @ A, hermitian=True, rcond=1e-10)
    labels, d = questions.options.labels, questions.n_features
    X = questions.options.features
    found = {}
    for x, y in itertools.combinations(range(len(labels)), 2):
        v = np.zeros(A.shape[1])
        v[:d] = X[x] - X[y]
        found[labels[x], labels[y]] = float(v @ inverse @ v)
    return found


@settings(max_examples=60)
@given(panels())
def test_the_worst_lead_is_that_of_dense_least_squares(questions: eh.Questions) -> None:
    assume(questions.check().comparable)
    for one in (questions, with_neutral(questions, 1)):
        lead, known = worst_lead(one), variances(one)
        assert lead.variance == pytest.approx(max(known.values()), rel=1e-8)
        pair = lead.options if lead.options in known else lead.options[::-1]
        assert known[pair] == pytest.approx(lead.variance, rel=1e-8)
        assert lead.questions == int(one.may_ask.sum())
    if questions.options.known_features is not None:
        exact = questions.with_exact_features()
        if exact.check().comparable:
            assert worst_lead(exact).variance == pytest.approx(
                max(variances(exact).values()), rel=1e-7
            )


def test_comparisons_have_a_worst_lead_too() -> None:
    """Each pair in both orders by one judge: a complete graph, variance 2/(2k) of a lead."""
    questions = eh.Questions.comparisons(["a", "b", "c", "d"], ["J"])
    assert worst_lead(questions).variance == pytest.approx(2.0 / (2 * 4))
    more = with_neutral(questions, 1)
    assert more.evaluators[1] == "neutral evaluator 1"
    assert worst_lead(more).variance == pytest.approx(2.0 / (4 * 4))
    assert with_neutral(more, 1).evaluators[2] == "neutral evaluator 2"


def test_one_more_neutral_evaluator_by_hand() -> None:
    """Ann and Bo, each favoured by one: 1 from the partial two, 2 from the neutral one alone."""
    found = eh.inspect(eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"}))
    assert found.worst is not None
    assert found.with_neutral is not None
    assert (found.worst.variance, found.worst.questions) == (pytest.approx(1.0), 4)
    assert found.with_neutral.variance == pytest.approx(1.0 / (1.0 + 0.5))
    assert "an answer is worth no more than before" in found.to_dict()["words"][-1]
    assert found.kappa_star == {"own group": pytest.approx(4.0)}


def test_one_more_is_as_loud_as_others_and_asked_what_they_are() -> None:
    """Noise of 2 from each: a lead has the variance 2·4 by one of them, and half of that by two."""
    questions = eh.Questions.panel(["a", "b"], ["P"], partial=None, noise=[2.0])
    found = eh.inspect(questions)
    assert found.worst is not None
    assert found.with_neutral is not None
    assert (found.worst.variance, found.with_neutral.variance) == pytest.approx((8.0, 4.0))


def test_one_more_can_be_asked_where_others_cannot() -> None:
    busy = eh.Questions.panel(list(OPTIONS), ["P", "Q", "R"], workload=[0, 0, 2])
    assert with_neutral(busy, 1).workload.tolist() == [0, 0, 2, 2]
    nobody = eh.Questions.of(eh.ActionSet([[1.0], [0.0]], ["x", "y"], ["Ann", "Bo"]))
    assert with_neutral(nobody, 1).evaluator.tolist() == [-1, -1, 0, 0]


def test_what_cannot_be_compared_has_no_worst_lead() -> None:
    found = eh.inspect(eh.Questions.panel(OPTIONS, {"P": "fr"}))
    assert found.worst is None
    assert found.kappa_star == {"own group": np.inf}
    assert not found.identifiable
    assert found.to_dict()["kappa_star"] == {}
    assert found.to_dict()["worst_lead"] is None
    assert any(sentence.startswith("What helps: add") for sentence in found.to_dict()["words"])
