"""What certainty costs: closed forms, another solver, optimality conditions, forged proofs."""

from __future__ import annotations

import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr

import evenhand as eh
from evenhand import families
from evenhand.arrays import Floats
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.limits import characteristic_time


def leads_of(problem: BiasedLinearBandit) -> Floats:
    """(x* − x; 0)√2 σ/Δ_x for all x of positive gap, in the problem's own units."""
    A, others = problem.actions.points, problem.gaps > 0
    leads = A[problem.best] - A[others]
    leads[:, problem.actions.n_features :] = 0.0
    scaled = leads * (math.sqrt(2) * problem.noise_scale / problem.gaps[others, None])
    return np.asarray(scaled)


def needed(problem: BiasedLinearBandit, shares: Floats) -> float:
    """Evaluations in these shares per unit of kl: max_x 2σ²‖(x* − x; 0)‖²/Δ_x²."""
    A, leads = problem.actions.points, leads_of(problem)
    inverse = np.linalg.inv(A.T @ (shares[:, None] * A))
    return float(np.einsum("ij,jk,ik->i", leads, inverse, leads).max())


@pytest.mark.parametrize(("sigma", "gap"), [(1.0, 0.5), (3.7, 1.25), (0.01, 2.0)])
def test_two_means(sigma: float, gap: float) -> None:
    """Half the evaluations on each: the lead has variance 4σ²/n, and T* = 8σ²/Δ²."""
    actions = eh.ActionSet(np.eye(2), attributes=[[1.0], [1.0]])
    time = characteristic_time(BiasedLinearBandit(actions, [gap, 0.0], 0.7, sigma))
    assert time.value == pytest.approx(8 * sigma**2 / gap**2, rel=1e-6)
    np.testing.assert_allclose(time.proportions, 0.5, atol=1e-5)


@pytest.mark.parametrize(("x", "y"), [(2.0, 1.0), (1.0, -0.5), (3.0, 2.9)])
def test_one_option_in_each_group(x: float, y: float) -> None:
    """Two points are a basis: (x − y; 0) = (x−y)/(x+y) (a_x + a_y), at Elfving's price."""
    problem = BiasedLinearBandit(eh.ActionSet([[x], [y]], [1, -1]), [0.4], 0.3)
    price = (2 * (x - y) / (x + y)) ** 2
    time = characteristic_time(problem)
    assert time.value == pytest.approx(2 * price / (0.4 * (x - y)) ** 2, rel=1e-6)


def test_evaluations_are_a_relative_entropy() -> None:
    time = characteristic_time(families.random(8, 2, 3))
    for confidence in (0.51, 0.9, 0.95, 0.999):
        delta = 1 - confidence
        entropy = sum(rel_entr([delta, 1 - delta], [1 - delta, delta]))
        assert time.evaluations(confidence) == pytest.approx(time.value * entropy)
    assert time.evaluations(0.5) == time.evaluations(0.3) == 0.0
    for nonsense in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(eh.InputError, match="confidence must lie in"):
            time.evaluations(nonsense)


def semidefinite(problem: BiasedLinearBandit) -> float:
    """The least mass of pulls with uᵀV⁻¹u ≤ 1 for all u, as matrix fractions."""
    A, leads = problem.actions.points, leads_of(problem)
    unit = np.linalg.norm(leads)
    mu = cp.Variable(len(A), nonneg=True)
    V = A.T @ cp.diag(mu) @ A
    within = [cp.matrix_frac(lead / unit, V) <= 1 for lead in leads]
    program = cp.Problem(cp.Minimize(cp.sum(mu)), within)
    return float(program.solve(solver=cp.CLARABEL)) * unit**2


@pytest.mark.parametrize("seed", range(5))
def test_a_semidefinite_program_agrees(seed: int) -> None:
    problem = families.random(6 + seed, 2 + seed % 3, seed, noise_scale=0.5 + 0.25 * seed)
    time = characteristic_time(problem)
    assert time.value == pytest.approx(semidefinite(problem), rel=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 8))
@settings(max_examples=30)
def test_the_proportions_attain_it_and_no_others_do_better(seed: int, d: int, extra: int) -> None:
    problem = families.random(d + 1 + extra, d, seed)
    time = characteristic_time(problem)
    assert time.verify()
    assert time.gap <= 1e-6
    # a trace of everything makes the inverse exist and costs no more than its share
    evenly = np.full(len(problem.actions), 1 / len(problem.actions))
    own = 0.999 * time.proportions + 0.001 * evenly
    assert needed(problem, own) <= time.value * (1 + 1e-5) / 0.999
    rng = np.random.default_rng(seed)
    for _ in range(20):
        other = rng.exponential(size=len(evenly)) ** 3 + 1e-3
        mixed = rng.choice([0.0, 1.0]) * own + rng.choice([0.1, 1.0]) * other / other.sum()
        assert needed(problem, mixed / mixed.sum()) >= time.bound * (1 - 1e-9)


def test_ties_take_for_ever_and_are_named() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [1, 1, -1], labels=["A", "B", "C"])
    time = characteristic_time(BiasedLinearBandit(actions, [0.5, 0.5], 0.1))
    assert (time.value, time.bound, time.evaluations(0.6)) == (math.inf, math.inf, math.inf)
    assert time.ties == ("B",)
    assert np.isnan(time.proportions).all()
    assert time.verify()
    other = BiasedLinearBandit(actions, [0.5, 0.4], 0.1)
    assert not replace(time, problem=other).verify()
    found = characteristic_time(other)
    assert found.verify()
    assert not replace(found, problem=time.problem).verify()
    assert not replace(found, design=None).verify()


def test_twins_need_not_be_told_apart() -> None:
    """A twin of the best in the other group is as good for every γ: it can only help."""
    alone = BiasedLinearBandit(eh.ActionSet([[2.0], [1.0]], [1, -1]), [0.4], 0.3)
    twin = BiasedLinearBandit(eh.ActionSet([[2.0], [1.0], [2.0]], [1, -1, -1]), [0.4], 0.3)
    time = characteristic_time(twin)
    assert time.verify()
    assert time.ties == ()
    # (1; 0) is a third of both points without the twin, and a quarter of it and the best with it
    assert characteristic_time(alone).value == pytest.approx(2 * (2 / 3) ** 2 / 0.4**2, rel=1e-6)
    assert time.value == pytest.approx(2 * (1 / 2) ** 2 / 0.4**2, rel=1e-6)


def test_what_cannot_be_found_is_refused() -> None:
    same = BiasedLinearBandit(eh.ActionSet([[1.0], [1.0]], [1, -1]), [1.0], 0.2)
    with pytest.raises(eh.InputError, match="same features"):
        characteristic_time(same)
    features = [[1.0, 1.0], [1.0, 2.0], [-1.0, 0.5]]  # the first feature is the group
    confounded = BiasedLinearBandit(eh.ActionSet(features, [1, 1, -1]), [0.1, 0.3], 0.1)
    with pytest.raises(eh.NotIdentifiableError, match="from the best, 'option 2'"):
        characteristic_time(confounded)


def panel_problem(
    questions: eh.Questions, values: list[float], sigma: float = 1.0
) -> BiasedLinearBandit:
    return BiasedLinearBandit(questions, values, np.full(questions.n_attributes, 0.3), sigma)


@pytest.mark.parametrize("gap", [0.5, 2.0])
def test_two_crossed_judges(gap: float) -> None:
    """Each partial to one of two: a lead is (y_aP + y_aQ − y_bP − y_bQ)/2, with |w| = ½ four times.

    Elfving: (Σ|w|)² = 4, so T* = 2·4σ²/Δ² = 8σ²/Δ², as for two means without a bias.
    """
    panel = eh.Questions.panel({"a": "fr", "b": "it"}, {"P": "fr", "Q": "it"})
    time = characteristic_time(panel_problem(panel, [gap, 0.0]))
    assert time.verify()
    assert time.value == pytest.approx(8 / gap**2, rel=1e-6)
    np.testing.assert_allclose(time.proportions, 0.25, atol=1e-5)


def test_one_judge_who_favours_one_of_them_tells_nothing() -> None:
    panel = eh.Questions.panel({"a": "fr", "b": "it"}, {"P": "fr"})
    with pytest.raises(eh.NotIdentifiableError, match="partial to neither"):
        characteristic_time(panel_problem(panel, [1.0, 0.0]))


def test_prices_noise_and_order() -> None:
    """A judge at 4× the price or twice the noise is worth a quarter; rows may come in any order."""
    names = {"a": "fr", "b": "it", "c": "us"}
    judges = {"P": "fr", "Q": "it", "R": "us"}
    values = [0.7, 0.2, 0.0]
    plain = characteristic_time(panel_problem(eh.Questions.panel(names, judges), values))
    dear = characteristic_time(panel_problem(eh.Questions.panel(names, judges, prices=3.0), values))
    assert dear.verify()
    assert dear.value == pytest.approx(3 * plain.value, rel=1e-5)
    assert dear.evaluations() == pytest.approx(plain.evaluations(), rel=1e-5)
    priced = eh.Questions.panel(names, judges, prices=[4.0, 1.0, 1.0])
    loud = eh.Questions.panel(names, judges, noise=[2.0, 1.0, 1.0])
    by_price, by_noise = (characteristic_time(panel_problem(q, values)) for q in (priced, loud))
    assert by_price.value == pytest.approx(by_noise.value, rel=1e-5)
    assert by_price.value > 1.01 * plain.value
    assert not replace(
        by_price, problem=panel_problem(eh.Questions.panel(names, judges), values)
    ).verify()
    turned = eh.Questions.panel(dict(reversed(names.items())), dict(reversed(judges.items())))
    backwards = characteristic_time(panel_problem(turned, values[::-1]))
    assert backwards.value == pytest.approx(plain.value, rel=1e-5)


def test_limits_of_regret_are_not_about_questions() -> None:
    panel = eh.Questions.panel({"a": "fr", "b": "it"}, {"P": "fr", "Q": "it"})
    problem = panel_problem(panel, [1.0, 0.0])
    for limit in (
        lambda: eh.limits.graves_lai(problem),
        lambda: eh.limits.two_point(problem, problem, 100),
        lambda: eh.limits.gap_dependent_upper(problem, 100),
    ):
        with pytest.raises(eh.InputError, match="characteristic_time takes them"):
            limit()
