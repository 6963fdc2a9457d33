"""Plans: closed forms, dense algebra beside the arrow form, levels, advice that is followed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from asking import played
from evenhand.questions import Accuracy, Questions, accuracy

SKATERS = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr", "Eva": "jp"}
JUDGES = {"P": "fr", "Q": "it", "R": "us", "S": "ca"}
Z = float(stats.norm.ppf(0.975))


def panel(**more: Any) -> Questions:
    return Questions.panel(SKATERS, JUDGES, **more)


def covariance(found: Accuracy) -> np.ndarray:
    """(k, k) of the values, but for what all options share."""
    return np.diag(found.own**2) + found.shared @ found.shared.T


def lead_rows(questions: Questions, leader: int) -> np.ndarray:
    """(k, m) directions of the leads of one option."""
    X = np.zeros((len(questions.options), questions.rows.shape[1]))
    X[:, : questions.n_features] = questions.options.features
    return np.asarray(X[leader] - X)


@pytest.mark.parametrize("noise", [None, [1.0, 2.0, 0.5, 1.5]])
@pytest.mark.parametrize("bias", ["common", "evaluator", "group"])
def test_the_arrow_form_is_the_dense_one(bias: Any, noise: Any) -> None:
    questions = panel(bias=bias, noise=noise)
    counts = np.random.default_rng(3).integers(1, 5, len(questions)).astype(float)
    A = questions.weighted_points
    inverse = np.linalg.pinv(A.T @ (counts[:, None] * A), hermitian=True)
    found = accuracy(questions, counts)
    assert found.comparable
    for leader in (0, 3):
        D = lead_rows(questions, leader)
        dense = np.einsum("ij,jk,ik->i", D, inverse, D)
        np.testing.assert_allclose(found.lead_variances(leader), dense, rtol=1e-9, atol=1e-12)
    k = len(questions.options)
    C = covariance(found)
    pairs = [C[i, i] + C[j, j] - 2 * C[i, j] for i in range(k) for j in range(k) if i != j]
    assert found.mean_lead_variance() == pytest.approx(np.mean(pairs), rel=1e-9)


def test_comparisons_are_dense_and_agree() -> None:
    """'a against b' is a difference: three options, all pairs, a position bias."""
    X = np.eye(3)
    F = np.array([X[a] - X[b] for a in range(3) for b in range(3) if a != b])
    questions = Questions(X, F, np.ones((6, 1)))
    found = accuracy(questions, np.ones(6))
    # each lead is (y_ab − y_ba)/2 twice, and by way of the third: VᵀV of leads is 2(3I − J)
    np.testing.assert_allclose(found.lead_variances(0), [0.0, 1 / 3, 1 / 3], rtol=1e-9)


def test_what_cannot_be_compared_is_seen() -> None:
    one = Questions.panel(SKATERS, {"P": "fr"})
    leads = accuracy(one, np.ones(len(one))).lead_variances(0)
    assert np.isfinite(leads).tolist() == [True, False, False, True, False]  # French and others
    counts = np.ones(len(panel()))
    counts[panel().about[:, 0] == 1] = 0.0  # nobody is asked about Bo
    found = accuracy(panel(), counts)
    assert not found.comparable
    assert found.mean_lead_variance() == math.inf
    assert np.isfinite(found.lead_variances(1)).sum() == 1


def test_absent_evaluators_lose_nothing() -> None:
    """Of any part of a panel, leads are known just where they are combinations of its rows."""
    nations = ["fr", "it", "us", "ca", "jp", "ge", "fr", "us", "jp", "kr", "ch"]
    questions = Questions.panel(
        {f"skater {i}": nation for i, nation in enumerate(nations)},
        {f"judge {nation}": nation for nation in [*nations[:5], "de", "fi", "se", "pl"]},
    )
    D = lead_rows(questions, 0)
    for part in range(1, 2**9):
        there = np.array([part >> e & 1 for e in range(9)], dtype=bool)
        mask = there[questions.evaluator]
        A = questions.points[mask]
        known = np.allclose(D @ np.linalg.pinv(A) @ A, D, atol=1e-9)
        assert accuracy(questions, mask.astype(float)).comparable == known


def test_errors_have_the_covariance() -> None:
    found = accuracy(panel(), np.ones(len(panel())))
    errors = found.errors(40_000, np.random.default_rng(1))
    leads = errors[:, [0]] - errors[:, 1:]
    sd = found.lead_variances(0)[1:]
    np.testing.assert_allclose(leads.var(axis=0), sd, rtol=6 * math.sqrt(2 / 40_000))


def test_the_probability_of_two_is_a_normal_power() -> None:
    """One neutral judge, two options: certain if |N(lead, 2)| > 1.96·√2 the right way, or wrong."""
    questions = Questions.panel(["a", "b"], ["P"], partial=None)
    found = eh.plan(questions, leads=4.0)
    power = stats.norm.sf(Z - 4.0 / math.sqrt(2)) + stats.norm.cdf(-Z - 4.0 / math.sqrt(2))
    assert found.probability == pytest.approx(power, abs=4 * math.sqrt(power * (1 - power) / 1500))


def test_workloads_are_kept() -> None:
    questions = panel(workload=[2, 3, 5, 1], noise=[0.5, 1.0, 1.0, 1.0])
    assert eh.plan(questions, leads=3.0).by_evaluator == {"P": 2, "Q": 3, "R": 5, "S": 1}


def test_it_takes_what_searches_take() -> None:
    """Of a panel with a bias and leniencies, asked one by one; and more than any way needs."""
    questions = panel(capacity=None)
    plan = eh.plan(questions, leads=1.5, noise_scale=2.0)
    spent, limits = [], []
    for best in range(5):
        omega = np.linspace(-1.0, 1.0, questions.n_attributes)
        problem = eh.BiasedLinearBandit(questions, 1.5 * np.eye(5)[best], omega, 2.0)
        limits.append(eh.limits.characteristic_time(problem).evaluations(0.95))
        policy = eh.CertainChoice(questions, at_most=10**5, noise_scale=2.0)
        played(policy, problem, best)
        spent.append(policy.spent)
    low, high = plan.evaluations_range
    assert np.mean(limits) < plan.evaluations
    assert low < plan.evaluations < high
    assert low < np.median(spent) < high


def test_units_do_not_matter() -> None:
    questions = panel(capacity=None)
    plain = eh.plan(questions, leads=1.0, tolerance=0.1)
    scaled = eh.plan(questions, leads=3.0, tolerance=0.3, noise_scale=3.0)
    np.testing.assert_array_equal(plain.counts, scaled.counts)
    once = eh.plan(panel(), leads=1.0)
    assert eh.plan(panel(), leads=10.0, noise_scale=10.0).probability == once.probability


def test_smaller_leads_take_more_and_a_tolerance_less() -> None:
    questions = panel(capacity=None)
    few, many, tiny, slack = (
        eh.plan(questions, leads=lead, tolerance=tolerance).evaluations
        for lead, tolerance in ((1.0, 0.0), (0.5, 0.0), (1e-4, 0.0), (0.5, 0.5))
    )
    assert 3 * few < many < 6 * few  # four times, but for the start
    assert tiny > 10**7 * many  # of its square
    assert slack < 0.6 * many
    # a spread's leads are those of expected order statistics
    draws = np.sort(np.random.default_rng(0).standard_normal((100_000, 5)), axis=1).mean(axis=0)
    gaps = draws[-1] - draws[-2::-1]
    assert eh.plan(questions, values=2.0).evaluations == pytest.approx(
        eh.plan(questions, leads=2.0 * gaps).evaluations, rel=0.3
    )


def test_prices_move_questions() -> None:
    """A judge who costs a hundred times as much is not asked where others will do."""
    cheap = Questions.panel(["a", "b", "c"], ["P", "Q"], partial=None, capacity=None,
                            prices=[1.0, 100.0])  # fmt: skip
    plan = eh.plan(cheap, leads=1.0)
    assert plan.by_evaluator["Q"] <= 0.02 * plan.evaluations
    assert plan.price == pytest.approx(plan.counts @ cheap.prices)


def test_advice_is_followed() -> None:
    """What is said to be enough is enough, and one fewer is not."""
    questions = Questions.panel(SKATERS, JUDGES)
    plan = eh.plan(questions, leads=3.5, noise_scale=2.0)
    assert not plan.enough
    (said,) = [text for text in plan.advice if text.startswith("All 4 evaluators are not enough")]
    more = int(said.split("with ")[1].split()[0])

    def judged(n: int) -> eh.Plan:
        neutral = {f"N{i}": "nobody" for i in range(n)}
        return eh.plan(Questions.panel(SKATERS, JUDGES | neutral), leads=3.5, noise_scale=2.0)

    assert judged(more).enough
    assert not judged(more - 1).enough
    one = Questions.panel(SKATERS, {"P": "fr"})
    with pytest.raises(eh.NotIdentifiableError, match="Not all options can be compared") as error:
        eh.plan(one, leads=1.0)
    assert "a neutral evaluator" in str(error.value)
    assert eh.plan(one.adding(one.check().advice), leads=9.0).evaluations


def test_the_fewest_will_do() -> None:
    plan = eh.plan(panel(), leads=9.0, noise_scale=2.0)
    assert plan.enough
    assert len(plan.chosen) < 4
    assert plan.evaluations == 5 * len(plan.chosen)
    assert any(f"{len(plan.chosen)} of the 4 evaluators will do" in text for text in plan.advice)
    again = Questions.panel(SKATERS, {name: JUDGES[name] for name in plan.chosen})
    assert eh.plan(again, leads=9.0, noise_scale=2.0).enough


def test_budgets() -> None:
    questions = panel(capacity=None)
    certain = eh.plan(questions, leads=1.0)
    less = eh.plan(questions, leads=1.0, budget=certain.price / 4)
    assert not less.enough
    assert "leads are 2 times" in less.advice[0]
    look = eh.plan(panel(), leads=9.0, budget=11.0)
    assert look.price <= 10.0
    nothing = eh.plan(panel(), leads=9.0, budget=3.0)
    assert nothing.evaluations == 0
    assert not nothing.enough
    assert "pays for nothing" in str(nothing)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "say what the plan is for"),
        ({"leads": 1.0, "values": 1.0}, "not both"),
        ({"leads": 0.0}, "never certain"),
        ({"values": [1.0, 1.0, 0.0, 0.0, 0.0]}, "never certain"),
        ({"leads": -1.0}, "leads must be numbers ≥ 0"),
        ({"leads": [1.0, 2.0]}, "leads"),
        ({"values": -1.0}, "values must be a number > 0"),
        ({"leads": 1.0, "confidence": 0.4}, "confidence must be at least 0.5"),
        ({"leads": 1.0, "chance": 1.0}, "chance must lie between"),
        ({"leads": 1.0, "tolerance": -1.0}, "tolerance must be"),
        ({"leads": 1.0, "budget": 0.0}, "budget must be a number > 0"),
        ({"leads": 1.0, "noise_scale": math.nan}, "noise_scale must be a number > 0"),
        ({"leads": 1e-9}, "more evaluations than can be counted"),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(eh.InputError, match=words):
        eh.plan(panel(capacity=None), **more)


def test_there_is_one_option() -> None:
    alone = eh.plan(eh.ActionSet([[1.0]], attributes=[[1.0]]), leads=1.0)
    assert (alone.evaluations, alone.enough) == (0, True)
    assert "no other option" in str(alone)


def test_options_that_are_their_own_questions() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    certain = eh.plan(actions, values=[0.5, 0.0, -0.1])
    problem = eh.BiasedLinearBandit(actions, [0.5, 0.0], 0.0)
    limit = eh.limits.characteristic_time(problem).evaluations()
    low, high = certain.evaluations_range
    assert low < limit < high
    assert "What to ask about" in str(certain)


@pytest.fixture(scope="module")
def plans() -> dict[str, eh.Plan]:
    free = panel(capacity=None, prices=[1.0, 2.0, 1.0, 3.0])
    return {
        "look": eh.plan(panel(), leads=4.0, noise_scale=2.0),
        "certain": eh.plan(free, leads=1.0, tolerance=0.1),
        "options": eh.plan(eh.ActionSet([[1.0], [2.0]], ["a", "b"]), leads=1.0),
    }


def test_numbers_agree_wherever_they_stand(plans: dict[str, eh.Plan]) -> None:
    for plan in plans.values():
        frame = plan.to_frame()
        assert frame["evaluations"].sum() == plan.evaluations == sum(plan.by_pair.values())
        assert frame["price"].sum() == pytest.approx(plan.price)
        if plan.by_evaluator:
            assert sum(plan.by_evaluator.values()) == plan.evaluations
        assert f"{plan.evaluations:,}" in str(plan)
        assert f"{plan.evaluations:,}" in repr(plan)
        assert "<table" in plan._repr_html_()
        content = plan.to_dict()
        assert content["evaluations"] == plan.evaluations
        json.dumps(content)
        low, high = plan.evaluations_range
        assert low <= plan.evaluations <= high
        assert (low < high) == (plan.kind == "until certain")


@pytest.fixture(scope="module")
def grants() -> tuple[dict[str, str], dict[str, str]]:
    rng = np.random.default_rng(1)
    applications = {f"a{i}": f"u{g}" for i, g in enumerate(rng.integers(7, size=48))}
    return applications, {f"r{i}": f"u{g}" for i, g in enumerate(rng.permutation(14) % 7)}


def test_a_budget_buys_as_many_evaluators_as_it_pays_for(grants: Any) -> None:
    plan = eh.plan(Questions.panel(*grants), values=1.3, noise_scale=1.2, budget=168)
    assert sorted(plan.by_evaluator.values())[-4:] == [0, 48, 48, 48]


def test_what_a_campaign_can_ask_can_be_planned(grants: Any) -> None:
    questions = Questions.panel(*grants, workload=12)
    plan = eh.plan(questions, leads=3.0, noise_scale=1.2)
    assert set(plan.by_evaluator.values()) == {12}
    assert questions.check().spare == 168 - questions.check().rank
