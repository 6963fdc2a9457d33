"""Plans: closed forms, dense algebra beside the arrow form, levels, advice that is followed."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.certainty.e_process import certainty_entropy
from evenhand.certainty.models import Shared
from evenhand.certainty.winner import Winner, leader_is_certain
from evenhand.numerics.least_squares import Svd
from evenhand.planning.assumed import assumed, normal_ranks
from evenhand.planning.capped import _program, capped_counts
from evenhand.planning.curve import order_of_evaluators
from evenhand.planning.figure import plan_picture
from evenhand.planning.panels import alike, asked_of, everything_once
from evenhand.planning.sections import widths
from evenhand.planning.until_certain import Asked, UntilCertain
from evenhand.planning.ways import OneLookWay, Terms
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.accuracy import Accuracy, accuracy
from evenhand.questions.advice import with_neutral

SKATERS = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr", "Eva": "jp"}
JUDGES = {"P": "fr", "Q": "it", "R": "us", "S": "ca"}
Z = float(stats.norm.ppf(0.975))


def panel(**more: Any) -> Questions:
    return Questions.panel(SKATERS, JUDGES, **more)


def covariance(found: Accuracy) -> Floats:
    """(k, k) of the values, but for what all options share."""
    return np.diag(found.own**2) + found.shared @ found.shared.T


def taken_apart(C: Floats) -> tuple[Floats, Floats]:
    """A half of the least variance as the options' own, and a root of the rest."""
    own = 0.5 * np.linalg.eigvalsh(C)[0] * np.ones(len(C))
    return np.sqrt(own), np.linalg.cholesky(C - np.diag(own))


def lead_rows(questions: Questions, leader: int) -> Floats:
    """(k, m) directions of the leads of one option."""
    X = np.zeros((len(questions.options), questions.rows.shape[1]))
    X[:, : questions.n_features] = questions.options.features
    return np.asarray(X[leader] - X)


# ---------------------------------------------------------------- what evaluations would tell


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
    e = np.zeros(questions.n_attributes)
    e[0] = 1.0
    own = inverse[questions.n_features, questions.n_features]
    identified = np.allclose((A.T @ A) @ np.linalg.pinv(A.T @ A)[:, questions.n_features],
                             np.eye(A.shape[1])[questions.n_features])  # fmt: skip
    assert found.variance_of(e) == (pytest.approx(own, rel=1e-9) if identified else math.inf)


def test_comparisons_are_dense_and_agree() -> None:
    """'a against b' is a difference: three options, all pairs, a position bias."""
    X = np.eye(3)
    F = np.array([X[a] - X[b] for a in range(3) for b in range(3) if a != b])
    questions = Questions(X, F, np.ones((6, 1)))
    found = accuracy(questions, np.ones(6))
    # each lead is (y_ab − y_ba)/2 twice, and by way of the third: VᵀV of leads is 2(3I − J)
    np.testing.assert_allclose(found.lead_variances(0), [0.0, 1 / 3, 1 / 3], rtol=1e-9)
    assert found.variance_of(np.ones(1)) == pytest.approx(1 / 6)


def test_what_cannot_be_compared_is_seen() -> None:
    one = Questions.panel(SKATERS, {"P": "fr"})
    classes = accuracy(one, np.ones(len(one))).classes().tolist()
    assert classes == [0, 1, 1, 0, 1]  # French and others
    counts = np.ones(len(panel()))
    counts[panel().about[:, 0] == 1] = 0.0  # nobody is asked about Bo
    found = accuracy(panel(), counts)
    assert not found.comparable
    assert found.mean_lead_variance() == math.inf
    assert (found.classes() == found.classes()[1]).sum() == 1


def test_absent_evaluators_lose_nothing() -> None:
    """Of any part of a panel, leads are known just where they are combinations of its rows."""
    nations = ["fr", "it", "us", "ca", "jp", "ge", "fr", "us", "jp", "kr", "ch"]
    questions = Questions.panel(
        {f"skater {i}": nation for i, nation in enumerate(nations)},
        {f"judge {nation}": nation for nation in [*nations[:5], "de", "fi", "se", "pl"]},
    )
    D = lead_rows(questions, 0)
    for part in range(1, 2**9):
        mask = asked_of(questions, np.array([part >> e & 1 for e in range(9)], dtype=bool))
        A = questions.points[mask]
        known = np.allclose(D @ np.linalg.pinv(A) @ A, D, atol=1e-9)
        assert accuracy(questions, mask.astype(float)).comparable == known


def test_errors_have_the_covariance() -> None:
    found = accuracy(panel(), np.ones(len(panel())))
    errors = found.errors(40_000, np.random.default_rng(1))
    leads = errors[:, [0]] - errors[:, 1:]
    sd = found.lead_variances(0)[1:]
    np.testing.assert_allclose(leads.var(axis=0), sd, rtol=6 * math.sqrt(2 / 40_000))


# ---------------------------------------------------------------- the winner of one look


def test_under_a_null_few_leaders_are_certain() -> None:
    """All options are as good: whoever leads is certified in at most 5%, with any covariance."""
    n = 4000
    rng = np.random.default_rng(5)
    B = rng.standard_normal((6, 6))
    for C in (np.eye(6), B @ B.T, covariance(accuracy(panel(), np.ones(20)))):
        draws = rng.multivariate_normal(np.zeros(len(C)), C, size=n, method="cholesky")
        share = leader_is_certain(draws, *taken_apart(C), 0.05).mean()
        assert share <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / n)


def test_two_options_are_a_two_sided_test() -> None:
    C = np.array([[2.0, 0.3], [0.3, 1.0]])
    sd = math.sqrt(2.0 + 1.0 - 0.6)
    estimates = np.array([[0.0, -1.0001 * Z * sd], [0.0, -0.9999 * Z * sd], [-3.2, 0.0]])
    certain = leader_is_certain(estimates, *taken_apart(C), 0.05)
    assert certain.tolist() == [True, False, Z * sd < 3.2]
    # with a tolerance: P(T ≥ t | T ≥ 0) where T has mean −ε
    t, eps = 2.5, 0.7
    p = stats.norm.sf((t + eps) / sd) / stats.norm.sf(eps / sd)
    one = np.array([[t, 0.0]])
    assert leader_is_certain(one, *taken_apart(C), 1.001 * p, eps)[0]
    assert not leader_is_certain(one, *taken_apart(C), 0.999 * p, eps)[0]


def test_the_runner_up_of_independent_options_decides() -> None:
    """For equal variances T_j given the rest lies above max(x_j, second): a closed form."""
    x = np.array([3.0, 1.0, 0.2])
    # x_0 − x_j given x_0 + x_j and the rest: x_0 ≥ both means T_j ≥ 0 and T_j ≥ 2·x_l − (x_0 + x_j)
    p = []
    for j, rest in ((1, 2), (2, 1)):
        low = max(0.0, 2 * x[rest] - x[0] - x[j])
        p.append(stats.norm.sf((x[0] - x[j]) / math.sqrt(2)) / stats.norm.sf(low / math.sqrt(2)))
    worst = max(p)
    assert leader_is_certain(x[None], *taken_apart(np.eye(3)), 1.0001 * worst)[0]
    assert not leader_is_certain(x[None], *taken_apart(np.eye(3)), 0.9999 * worst)[0]


def test_it_is_the_test_that_policies_make() -> None:
    """Two routes: one draw at a time, by leads and their covariance."""
    C = covariance(accuracy(panel(), np.ones(20)))
    rng = np.random.default_rng(2)
    draws = rng.multivariate_normal(0.8 * rng.standard_normal(5), C, size=300, method="cholesky")
    for tolerance in (0.0, 0.4):
        apart = []
        for row in draws:
            i = int(np.argmax(row))
            D = np.delete(np.eye(5)[i] - np.eye(5), i, axis=0)
            shared = Shared(D @ np.linalg.cholesky(C), np.zeros(len(D)))
            chances = Winner.of(D @ row, shared).chances(-tolerance)
            apart.append(float(chances.max()) <= 0.05)
        together = leader_is_certain(draws, *taken_apart(C), 0.05, tolerance)
        assert 30 < together.sum() < 270
        assert together.tolist() == apart


def test_the_probability_of_two_is_a_normal_power() -> None:
    """One neutral judge, two options: certain if |N(lead, 2)| > 1.96·√2 the right way, or wrong."""
    questions = Questions.panel(["a", "b"], ["P"], partial=None)
    terms = Terms(0.95, 0.0, 1.0, ())
    found = OneLookWay(questions, terms, assumed(2, 4.0, None, 0.0, 1.0), 0.8).outcome()
    power = stats.norm.sf(Z - 4.0 / math.sqrt(2)) + stats.norm.cdf(-Z - 4.0 / math.sqrt(2))
    assert found.probability == pytest.approx(power, abs=4 * math.sqrt(power * (1 - power) / 1500))


# ---------------------------------------------------------------- a bias of given precision


def test_two_crossed_judges_have_kappa_four() -> None:
    questions = Questions.panel({"a": "fr", "b": "it"}, {"P": "fr", "Q": "it"}, capacity=None)
    plan = eh.plan(questions, precision=0.5, noise_scale=2.0)
    needed = 4 * (Z * 2.0 / 0.5) ** 2
    assert plan.kind == "fixed"
    assert needed <= plan.evaluations < needed + 4
    assert set(plan.by_pair.values()) == {math.ceil(needed / 4)}
    assert plan.precision <= 0.5
    assert plan.precision == pytest.approx(Z * 2.0 * math.sqrt(4 / plan.evaluations), rel=1e-9)


def test_several_biases_are_all_known() -> None:
    questions = panel(bias="evaluator", capacity=None)
    names = [column.name for column in questions.columns if column.kind == "bias"]
    wanted = {names[0]: 1.0, names[1]: 2.0}
    plan = eh.plan(questions, precision=wanted)
    found = accuracy(questions, plan.counts.astype(float))
    for name, width in wanted.items():
        e = (np.array(questions.attribute_names) == name).astype(float)
        assert Z * math.sqrt(found.variance_of(e)) <= width * (1 + 1e-6)
    assert eh.plan(questions, precision={names[0]: 1.0}).evaluations <= plan.evaluations


@pytest.mark.parametrize("seed", range(3))
def test_a_capped_design_is_feasible_and_near_the_best(seed: int) -> None:
    """Beside all subsets of ten rows: within caps, good enough, at most an evaluation dearer."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, 2, size=(10, 3)).astype(float)
    rows[:3] = np.eye(3)
    prices = rng.integers(1, 4, 10).astype(float)
    one = np.ones(10, dtype=np.int64)
    u = np.array([[1.0, 1.0, 0.0]])

    def variance(used: Floats) -> float:
        V = rows.T @ (used[:, None] * rows)
        x = np.linalg.lstsq(V, u[0], rcond=None)[0]
        return float(u[0] @ x) if np.allclose(V @ x, u[0], atol=1e-9) else math.inf

    u *= math.sqrt(1.0 / (2.0 * variance(np.ones(10))))  # all of them give half of it
    counts = capped_counts(rows, u, prices, one, np.zeros(10, dtype=np.intp), np.array([UNLIMITED]))
    assert set(counts.tolist()) <= {0.0, 1.0}
    assert variance(counts) <= 1.0 + 1e-6
    subsets = np.array([[n >> i & 1 for i in range(10)] for n in range(1, 1024)], dtype=float)
    good = [float(s @ prices) for s in subsets if variance(s) <= 1.0 + 1e-9]
    assert min(good) <= counts @ prices <= min(good) + prices.max() + 1.0


def test_workloads_are_kept() -> None:
    questions = panel(workload=[2, 3, 5, 1], noise=[0.5, 1.0, 1.0, 1.0])
    plan = eh.plan(questions, precision=30.0)
    assert plan.enough
    for who, n in plan.by_evaluator.items():
        assert n <= {"P": 2, "Q": 3, "R": 5, "S": 1}[who]
    everything = everything_once(questions, np.ones(20, dtype=bool))
    assert np.bincount(questions.evaluator, everything).tolist() == [2, 3, 5, 1]


# ---------------------------------------------------------------- until certain


def test_the_limit_is_that_of_limits() -> None:
    """Averaged over which option is best; the plan's search for shares is within a percent."""
    questions = panel(capacity=None)
    way = UntilCertain(questions, Terms(0.95, 0.0, 2.0, ()), assumed(5, 1.5, None, 0.0, 2.0))
    times = []
    for best in range(5):
        problem = eh.BiasedLinearBandit(
            questions, 1.5 * np.eye(5)[best], np.zeros(questions.n_attributes), 2.0
        )
        times.append(eh.limits.characteristic_time(problem).evaluations(0.95))
    assert np.mean(times) <= way.limit() * (1 + 1e-6)
    assert way.limit() <= 1.015 * np.mean(times)


def test_two_means_until_certain() -> None:
    """ξ is one normal: E max(√(2L) − ξ, 0)² / a² with a = Δ/2 per root of an evaluation, plus 2."""
    questions = Questions.panel(["a", "b"], ["P"], partial=None, capacity=None)
    plan = eh.plan(questions, leads=0.5)
    L = math.sqrt(2 * math.log(20))
    mean = (L * L + 1) * stats.norm.cdf(L) + L * stats.norm.pdf(L)
    error = 4 * math.sqrt(2 + 4 * L * L) / math.sqrt(1024)  # of (L − ξ)²
    assert plan.evaluations == pytest.approx(mean / 0.25**2 + 2, abs=error / 0.25**2 + 1)
    assert plan.limit == pytest.approx(8 / 0.25 * certainty_entropy(0.95), rel=0.01)
    assert plan.by_evaluator == {"P": plan.evaluations}


def test_units_do_not_matter() -> None:
    questions = panel(capacity=None)
    plain = eh.plan(questions, leads=1.0, precision=0.7, tolerance=0.1)
    scaled = eh.plan(questions, leads=3.0, precision=2.1, tolerance=0.3, noise_scale=3.0)
    np.testing.assert_array_equal(plain.counts, scaled.counts)
    assert scaled.precision == pytest.approx(3 * plain.precision)
    once = eh.plan(panel(), leads=1.0)
    assert eh.plan(panel(), leads=10.0, noise_scale=10.0).probability == once.probability


def test_smaller_leads_take_more_and_a_tolerance_less() -> None:
    questions = panel(capacity=None)
    few, many = (eh.plan(questions, leads=lead).evaluations for lead in (1.0, 0.5))
    assert many > 3 * few  # four times, but for the start
    assert eh.plan(questions, leads=0.5, tolerance=0.5).evaluations == pytest.approx(few, rel=0.02)
    assert eh.plan(questions, leads=0.0, tolerance=1.0).evaluations == pytest.approx(few, rel=0.02)
    # a spread's leads are those of the ranks
    gaps = normal_ranks(5)[0] - normal_ranks(5)[1:]
    assert eh.plan(questions, values=2.0).evaluations == (
        eh.plan(questions, leads=2.0 * gaps).evaluations
    )


def test_normal_ranks_are_expected_order_statistics() -> None:
    draws = np.sort(np.random.default_rng(0).standard_normal((100_000, 9)), axis=1)[:, ::-1]
    np.testing.assert_allclose(normal_ranks(9), draws.mean(axis=0), atol=0.02)


def test_prices_move_questions() -> None:
    """A judge who costs a hundred times as much is not asked where others will do."""
    cheap = Questions.panel(["a", "b", "c"], ["P", "Q"], partial=None, capacity=None,
                            prices=[1.0, 100.0])  # fmt: skip
    plan = eh.plan(cheap, leads=1.0)
    assert plan.by_evaluator["Q"] <= 0.02 * plan.evaluations
    assert plan.price == pytest.approx(plan.counts @ cheap.prices)
    assert plan.evaluators_curve[0].added == "P"


# ---------------------------------------------------------------- evaluators, one by one


def test_a_neutral_judge_comes_first_and_two_are_crossed() -> None:
    terms = Terms(0.95, 0.0, 1.0, ())
    way = OneLookWay(panel(), terms, assumed(5, 3.0, None, 0.0, 1.0), 0.8)
    assert panel().evaluators[order_of_evaluators(way, 4)[0]] == "S"
    two = Questions.panel({"a": "fr", "b": "it"}, {"P": "fr", "Q": "it"}, capacity=None)
    steps = eh.plan(two, leads=1.0).evaluators_curve
    assert steps[0].evaluations == math.inf
    assert math.isfinite(steps[1].evaluations)


def test_each_more_evaluator_helps() -> None:
    plan = eh.plan(panel(), leads=4.0, noise_scale=2.0)
    chances = [step.probability for step in plan.evaluators_curve]
    assert all(b >= a - 0.03 for a, b in itertools.pairwise(chances))
    assert chances[-1] > chances[3] + 0.1
    widths = [step.precision for step in plan.evaluators_curve]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(widths))
    assert [step.hypothetical for step in plan.evaluators_curve] == [False] * 4 + [True] * 4


def test_who_is_added_is_neutral() -> None:
    more = with_neutral(panel(prices=[1.0, 2.0, 3.0, 2.0], noise=[1.0, 2.0, 1.0, 1.0]), 2)
    new = more.evaluator >= 4
    assert new.sum() == 10
    assert (more.prices[new] == 2.0).all()
    assert (more.points[new, 5] == 0.0).all()  # no favour
    assert more.points[new][:, -2:].sum() == 10  # leniencies of their own
    old = with_neutral(panel(), 2)
    np.testing.assert_array_equal(old.points[:20, : panel().rows.shape[1]], panel().points)


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
    with pytest.raises(eh.NotIdentifiableError, match="bias 'own group' is not told"):
        eh.plan(one, precision=1.0)


def test_the_fewest_will_do() -> None:
    plan = eh.plan(panel(), leads=9.0, noise_scale=2.0)
    assert plan.enough
    assert plan.evaluators_needed == len(plan.chosen) < 4
    assert plan.evaluations == 5 * len(plan.chosen)
    assert any(f"{len(plan.chosen)} of the 4 evaluators will do" in text for text in plan.advice)
    again = Questions.panel(SKATERS, {name: JUDGES[name] for name in plan.chosen})
    assert eh.plan(again, leads=9.0, noise_scale=2.0).enough


# ---------------------------------------------------------------- budgets and refusals


def test_budgets() -> None:
    questions = panel(capacity=None)
    whole = eh.plan(questions, precision=1.0)
    half = eh.plan(questions, precision=1.0, budget=whole.price / 2)
    assert not half.enough
    assert half.price <= whole.price / 2
    assert half.precision == pytest.approx(math.sqrt(2), rel=0.1)
    assert eh.plan(questions, precision=1.0, budget=whole.price).enough
    tiny = eh.plan(questions, precision=1.0, budget=2.0)
    assert tiny.evaluations == 0
    assert "too small to estimate the bias at all" in tiny.advice[0]
    certain = eh.plan(questions, leads=1.0)
    less = eh.plan(questions, leads=1.0, budget=certain.price / 4)
    assert not less.enough
    assert "leads are 2 times" in less.advice[0]
    look = eh.plan(panel(), leads=9.0, budget=11.0)
    assert look.price <= 10.0
    nothing = eh.plan(panel(), leads=9.0, budget=3.0)
    assert nothing.evaluations == 0
    assert "does not pay for one evaluator" in nothing.advice[0]
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
        ({"precision": 0.0}, "precision must be a number > 0"),
        ({"precision": {"nothing": 1.0}}, "no bias 'nothing'"),
        ({"leads": 1.0, "confidence": 0.4}, "confidence must lie between 0.5"),
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


def test_nobody_is_partial_or_there_is_one_option() -> None:
    none = Questions.panel(list(SKATERS), list(JUDGES), partial=None)
    with pytest.raises(eh.InputError, match="nobody is partial"):
        eh.plan(none, precision=1.0)
    assert math.isnan(eh.plan(none, leads=5.0).precision)
    alone = eh.plan(eh.ActionSet([[1.0]], attributes=[[1.0]]), leads=1.0)
    assert (alone.evaluations, alone.enough) == (0, True)
    assert "no other option" in str(alone)


def test_options_that_are_their_own_questions() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    plan = eh.plan(actions, precision=0.5)
    kappa = eh.bias_geometry(actions).kappa_star
    assert kappa * (Z / 0.5) ** 2 <= plan.evaluations <= kappa * (Z / 0.5) ** 2 + 3
    assert plan.evaluators_curve == ()
    certain = eh.plan(actions, values=[0.5, 0.0, -0.1])
    problem = eh.BiasedLinearBandit(actions, [0.5, 0.0], 0.0)
    limit = eh.limits.characteristic_time(problem).evaluations()
    assert certain.limit == pytest.approx(limit, rel=0.015)
    assert certain.evaluations > limit
    assert "What to ask about" in str(certain)


# ---------------------------------------------------------------- what it says


@pytest.fixture(scope="module")
def plans() -> dict[str, eh.Plan]:
    free = panel(capacity=None, prices=[1.0, 2.0, 1.0, 3.0])
    return {
        "look": eh.plan(panel(), leads=4.0, noise_scale=2.0),
        "certain": eh.plan(free, leads=1.0, tolerance=0.1),
        "fixed": eh.plan(panel(), precision=3.0),
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


def test_the_picture_shows_the_plan(plans: dict[str, eh.Plan], tmp_path: Any) -> None:
    for name, plan in plans.items():
        picture = plan_picture(plan)
        assert picture.counts.sum() == plan.evaluations
        plan.plot(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    look = plan_picture(plans["look"])
    ann, p = look.rows.index("Ann"), look.columns.index("P")
    assert look.partial[ann, p] == 1
    assert look.partial.sum() == 4  # Ann and Di by P, Bo by Q, Cy by R
    assert look.goal == 0.8
    with pytest.raises(eh.InputError, match="must end in"):
        plans["look"].plot(tmp_path / "picture.doc")


def test_names_are_escaped_in_notebooks() -> None:
    questions = Questions.panel({"<b>a": "x", "b": "y"}, {"<i>P": "x", "Q": "y"}, capacity=None)
    page = eh.plan(questions, leads=1.0)._repr_html_()
    assert "<i>P" not in page
    assert "&lt;i&gt;P" in page


def test_masks() -> None:
    there = np.array([True, False, True, False])
    assert set(panel().evaluator[asked_of(panel(), there)].tolist()) == {0, 2}


# ---------------------------------------------------------------- large panels


@pytest.mark.parametrize("seed", range(6))
def test_shares_of_a_panel_are_those_of_its_dense_rows(seed: int) -> None:
    """With prices, noise and biases, by its structure and by the rows of all options."""
    rng = np.random.default_rng(seed)
    k, e = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    questions = Questions.panel(
        {f"o{x}": f"g{x % 3}" for x in range(k)},
        {f"j{x}": f"g{x % 4}" for x in range(e)},
        capacity=None,
        prices=rng.uniform(1.0, 4.0, e).tolist(),
        noise=rng.uniform(0.5, 2.0, e).tolist(),
    )
    mask = np.ones(len(questions), dtype=bool)
    asked, need = Asked.of(questions, mask), rng.uniform(0.5, 2.0, k - 1)
    assert asked.panel is not None
    assert asked.rank == np.linalg.matrix_rank(questions.points) == asked.coordinates.shape[1]
    H = questions.options.features @ asked.coordinates[: questions.n_features]
    dense = asked.shares((H[0] - H[1:]) * np.sqrt(need)[:, None])
    np.testing.assert_allclose(asked.panel.known_best(0, np.arange(1, k), need), dense, atol=1e-5)


def test_evaluators_who_are_alike_are_worth_the_same() -> None:
    """Those whom `alike` gives a number: the order of all of them is as if each were tried."""
    judges = {f"j{x}": f"g{x % 3}" for x in range(7)}
    prices = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0]
    questions = Questions.panel({f"o{x}": f"g{x % 2}" for x in range(5)}, judges, prices=prices)
    kinds = alike(questions)
    assert kinds == [0, 1, 2, 3, 1, 4, 3]  # the first has no leniency, and one costs more
    worth = []
    for x in range(7):
        there = np.isin(np.arange(7), [0, 1, x])
        counts = everything_once(questions, asked_of(questions, there)).astype(float)
        worth.append(accuracy(questions, counts).mean_lead_variance() * counts.sum())
    assert worth[3] == pytest.approx(worth[6], rel=1e-9)
    assert alike(questions._changed(workload=np.full(7, 3))) == list(range(7))  # busy elsewhere


# ---------------------------------------------------------------- figures that agree


@pytest.fixture(scope="module")
def grants() -> tuple[dict[str, str], dict[str, str]]:
    rng = np.random.default_rng(1)
    applications = {f"a{i}": f"u{g}" for i, g in enumerate(rng.integers(7, size=48))}
    return applications, {f"r{i}": f"u{g}" for i, g in enumerate(rng.permutation(14) % 7)}


def test_all_evaluators_take_no_more_than_some_of_them(grants: Any) -> None:
    """Of 48 × 14; a program without whole numbers says how few it could be."""
    questions = Questions.panel(*grants)
    plan = eh.plan(questions, precision=0.5, noise_scale=1.2)
    steps = [step for step in plan.evaluators_curve if step.enough]
    prices = [step.price for step in steps]
    assert prices == sorted(prices, reverse=True)
    assert plan.evaluations == next(s.evaluations for s in steps if s.evaluators == 14)
    found = accuracy(questions, plan.counts.astype(float))
    e = np.eye(questions.n_attributes)[0]
    assert Z * 1.2 * math.sqrt(found.variance_of(e)) <= 0.5 * (1 + 1e-6)
    rows, u = questions.points, np.zeros((1, questions.rows.shape[1]))
    u[0, questions.n_features] = Z * 1.2 / 0.5
    C = Svd.of(rows).coordinates
    caps = np.ones(len(questions))
    least = _program(
        rows @ C, u @ C, questions.prices, caps, questions.evaluator, questions.workload
    )
    assert least.sum() <= plan.evaluations <= 1.1 * least.sum()
    (said,) = [text for text in plan.advice if "would do" in text]
    n, names = int(said.split()[0]), said.split("(")[1].split(")")[0].split(", ")
    assert len(names) == min(n, 7)
    assert len({*names} & {*questions.evaluators}) == min(n, 6)


def test_a_budget_buys_as_many_evaluators_as_it_pays_for(grants: Any) -> None:
    plan = eh.plan(Questions.panel(*grants), values=1.3, noise_scale=1.2, budget=168)
    assert sorted(plan.by_evaluator.values())[-4:] == [0, 48, 48, 48]
    assert {3, 4} <= {step.evaluators for step in plan.evaluators_curve}


def test_what_a_campaign_can_ask_can_be_planned(grants: Any) -> None:
    questions = Questions.panel(*grants, workload=12)
    plan = eh.plan(questions, leads=3.0, noise_scale=1.2)
    assert set(plan.by_evaluator.values()) == {12}
    assert questions.check().spare == 168 - questions.check().rank


def test_widths_of_a_column_have_the_same_decimals() -> None:
    assert widths([2.1, math.inf, 2.113, 0.5]) == ["±2.100", None, "±2.113", "±0.500"]
    assert widths([21.0, 150.0]) == ["±21.0", "±150.0"]
