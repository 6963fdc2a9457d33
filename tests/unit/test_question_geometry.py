"""The geometry of questions: κ_* and α of panels in closed form, prices, noise, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

import evenhand as eh
from evenhand import families
from panels import panels
from reference import elfving_value

TWO = {"Ann": "fr", "Bo": "it"}
CROSSED = {"P": "fr", "Q": "it"}


def variance(questions: eh.Questions, counts: np.ndarray, direction: np.ndarray) -> float:
    A = questions.weighted_points
    V = A.T @ (counts[:, None] * A)
    return float(direction @ np.linalg.pinv(V, hermitian=True, rcond=1e-10) @ direction)


def test_two_crossed_judges_tell_the_favour_at_four() -> None:
    """β = ½(y_AP − y_BP − y_AQ + y_BQ): a quarter of the answers each, variance ¼·4·4 = 4."""
    questions = eh.Questions.panel(TWO, CROSSED)
    geometry = eh.bias_geometry(questions)
    assert geometry.kappa_star == pytest.approx(4.0)
    assert geometry.alpha() == pytest.approx(4.0)  # the lead is half of two differences
    assert geometry.design.weights == pytest.approx([0.25] * 4)
    assert not geometry.separable
    e = np.zeros(questions.points.shape[1])
    e[2] = 1.0
    assert variance(questions, geometry.design.weights, e) == pytest.approx(4.0)


def test_one_judge_alone_is_refused_and_told_whom_to_add() -> None:
    questions = eh.Questions.panel(TWO, {"P": "fr"})
    with pytest.raises(
        eh.NotIdentifiableError, match="no number of answers tells 'own group'"
    ) as e:
        eh.bias_geometry(questions)
    assert "a difference in value between 'Ann' and 'Bo'" in str(e.value)
    assert "Add a neutral evaluator" in str(e.value)
    better = questions.adding(questions.check().advice)
    # β = (y_AP − y_AN) − (y_BP − y_BN): (Σ|w|)² = 16
    assert eh.bias_geometry(better).kappa_star == pytest.approx(16.0)


@settings(max_examples=40)
@given(panels())
def test_the_price_of_a_bias_is_that_of_a_linear_program(questions: eh.Questions) -> None:
    """√κ = min Σ|w| √price with Σ w a = e (Elfving), whatever capacities, noise and prices are."""
    told = questions.check().identified
    d = questions.n_features
    A = questions.weighted_points * questions.may_ask[:, None]
    for name in told:
        design = eh.bias_geometry(questions, name).design
        e = np.zeros(A.shape[1])
        e[d + questions.attribute_names.index(name)] = 1.0
        assert design.value == pytest.approx(elfving_value(A, e, questions.prices).kappa, rel=1e-6)
        spent = design.mass * design.weights
        assert float(questions.prices @ spent) == pytest.approx(design.value, rel=1e-6)
        assert variance(questions, spent, e) == pytest.approx(1.0, rel=1e-6)


def test_alpha_is_the_dearest_lead() -> None:
    questions = eh.Questions.panel(
        {"Ann": "fr", "Bo": "it", "Cy": "fr"}, {**CROSSED, "N": None}, prices={"N": 3.0}
    )
    A = questions.weighted_points
    leads = []
    for x, y in itertools.combinations(range(3), 2):
        v = np.zeros(A.shape[1])
        v[[x, y]] = 1.0, -1.0
        leads.append(elfving_value(A, v, questions.prices).kappa)
    assert eh.bias_geometry(questions).alpha() == pytest.approx(max(leads))


def test_where_options_cannot_be_compared_alpha_is_refused() -> None:
    blocks = np.kron(np.eye(2, dtype=int), np.ones((2, 2), dtype=int))
    questions = eh.Questions.panel(
        {"a": "x", "b": "y", "c": "x", "d": "y"},
        {"P": "x", "Q": "y", "R": "x", "S": "y"},
        capacity=blocks,
    )
    geometry = eh.bias_geometry(questions)
    assert geometry.kappa_star == pytest.approx(4.0)
    with pytest.raises(
        eh.NotIdentifiableError, match=r"cannot be compared .* They fall into 2 parts"
    ):
        geometry.alpha()


def test_which_bias_is_asked_for_is_said_or_clear() -> None:
    several = eh.Questions.panel(TWO, {**CROSSED, "N": None}, bias="evaluator")
    with pytest.raises(
        eh.InputError, match=r"there are 2 biases \(own group of P, own group of Q\)"
    ):
        eh.bias_geometry(several)
    assert eh.bias_geometry(several, "own group of P").attribute == "own group of P"
    with pytest.raises(eh.InputError, match="nobody favours anybody"):
        eh.bias_geometry(eh.Questions.panel(["a", "b"], ["P", "Q"]))
    with pytest.raises(eh.InputError, match="use bias_optimal_design"):
        eh.minimax_design(eh.Questions.panel(TWO, CROSSED))


def test_given_gaps_replace_prices() -> None:
    questions = eh.Questions.panel(TWO, CROSSED, prices={"P": 7.0})
    assert eh.kappa(questions, gaps=[1.0] * 4) == pytest.approx(4.0)
    with pytest.raises(eh.InputError, match=r"gaps must have shape \(4,\)"):
        eh.kappa(questions, gaps=[1.0, 1.0])


def test_a_problem_has_the_price_of_its_bias() -> None:
    problem = families.panel(4, 3, seed=2, bias=1.0)
    assert problem.kappa_star == eh.bias_geometry(problem.questions, "own group").kappa_star
    with pytest.raises(eh.InputError, match="here questions are asked"):
        _ = problem.kappa
    questions = eh.Questions.panel(TWO, CROSSED, bias="evaluator")
    several = eh.BiasedLinearBandit(questions, [0.0, 1.0], [0.5] * questions.n_attributes)
    with pytest.raises(eh.InputError, match="the bias of each has a price of its own"):
        _ = several.kappa_star
