"""Plans of hand-outs: what is expected comes about, what cannot be handed out is said."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import evenhand as eh
from evenhand.planning import ReviewStep
from evenhand.questions import Questions
from evenhand.search import PlannedChoice


def grants(k: int = 24, e: int = 8, **more: Any) -> Questions:
    rng = np.random.default_rng(2)
    options = {f"a{i}": f"u{g}" for i, g in enumerate(rng.integers(4, size=k))}
    return Questions.panel(options, {f"r{i}": f"u{i % 4}" for i in range(e)}, **more)


@pytest.fixture(scope="module")
def plan() -> eh.Plan:
    return eh.plan(grants(workload=10), reviews=3, top=5, values=1.3, noise_scale=1.2)


def test_what_is_expected_comes_about_whatever_evaluators_are_like(plan: eh.Plan) -> None:
    """Scores with leniency and favour, by least squares of all rows."""
    questions, rng, n = plan.questions, np.random.default_rng(7), 400
    on = np.flatnonzero(plan.counts)
    A = questions.points[on]
    G = np.linalg.pinv(A)[:24]
    right, lost = np.empty((2, n))
    for i in range(n):
        worth = rng.normal(0.0, 1.3, 24)
        omega = np.append(0.8, rng.normal(0.0, 1.0, questions.n_attributes - 1))
        y = A @ np.concatenate([worth, omega]) + rng.normal(0.0, 1.2, len(on))
        chosen, best = np.argsort(-(G @ y))[:5], np.argsort(-worth)[:5]
        right[i] = len({*chosen.tolist()} & {*best.tolist()})
        lost[i] = (worth[best].sum() - worth[chosen].sum()) / 5
    assert plan.expected is not None
    for said, seen in ((plan.expected.right, right), (plan.expected.lost, lost)):
        assert abs(said - seen.mean()) < 4 * seen.std() / math.sqrt(n)
    C = np.linalg.inv(A.T @ A)[:24, :24]
    pairs = [C[i, i] + C[j, j] - 2 * C[i, j] for i in range(24) for j in range(i)]
    assert plan.expected.difference == pytest.approx(1.96 * 1.2 * math.sqrt(np.mean(pairs)), 1e-3)


def test_a_campaign_of_as_many_hands_out_the_same(plan: eh.Plan) -> None:
    policy = PlannedChoice(grants(workload=10), at_most=72, top=5)
    assert (policy.ask(n=72).counts == plan.counts).all()
    assert plan.evaluations == 72
    assert plan.hand_out.words in str(plan).replace("\n", " ")


def test_more_reviews_make_more_right_and_lose_less(plan: eh.Plan) -> None:
    steps = plan.reviews_curve
    assert [step.reviews for step in steps] == [2.0, 3.0, 4.0, 5.0]
    assert [step.allowed for step in steps] == [True, True, False, False]
    for fewer, more in itertools.pairwise(steps):
        assert fewer.right < more.right
        assert fewer.lost > more.lost
        assert fewer.difference > more.difference
    assert plan.expected in steps


def test_quiet_scores_settle_a_list_and_loud_ones_do_not() -> None:
    worth = np.arange(12.0)
    quiet, loud = (
        eh.plan(grants(12, 6), reviews=4, top=3, values=worth, noise_scale=noise).expected
        for noise in (0.1, 3.0)
    )
    assert quiet is not None
    assert loud is not None
    assert (quiet.settled, quiet.right, quiet.at_line, quiet.lost) == (1.0, 3.0, 0.0, 0.0)
    assert loud.settled < 0.1
    assert loud.at_line > 3


def test_one_best_is_found_by_the_winner_test() -> None:
    leads = eh.plan(grants(6, 5), reviews=5, leads=1.5, top=1)
    look = eh.plan(grants(6, 5), leads=1.5, chance=0.999)
    assert leads.evaluations == look.evaluations == 30
    assert leads.probability == pytest.approx(look.probability, abs=0.05)
    assert "looks best is the best with a chance of" in " ".join(str(leads).split())


def test_workloads_conflicts_and_budgets_are_kept_to() -> None:
    short = eh.plan(grants(), reviews=4, workload=10, top=5)
    assert not short.enough
    assert short.evaluations == 80
    assert "allow 80 evaluations, 3.33 of each option; 4 of each would take 96" in short.advice[0]
    whole = eh.plan(grants(), workload=10, top=5)
    assert whole.enough
    assert (whole.counts == short.counts).all()
    poor = eh.plan(grants(), reviews=3, top=5, budget=60)
    assert not poor.enough
    assert poor.evaluations == 60
    barred = grants().barring([("a0", "r1"), ("a1", "r1")])
    plan = eh.plan(barred, reviews=3, top=5)
    assert ("a0", "r1") not in plan.by_pair
    assert set(plan.hand_out.reviews.tolist()) == {3}


def everybody(k: int, e: int) -> Questions:
    return Questions.panel([f"a{i}" for i in range(k)], [f"r{i}" for i in range(e)], partial=None)


def expected(questions: Questions, **more: Any) -> ReviewStep:
    step = eh.plan(questions, reviews=len(questions.evaluators), **more).expected
    assert step is not None
    return step


@pytest.mark.parametrize("kind", ["bar", "against"])
def test_in_a_complete_panel_it_is_the_normal_distribution(kind: str) -> None:
    """All options are d noises beyond the line, each of e evaluations: d√e standard errors."""
    k, e, noise, d = 12, 30, 2.0, 0.5
    worth, errors, calls, tests = np.full(k, 50.0 + noise * d), math.sqrt(1 / e), k, 2 * k
    severe = math.sqrt(1 + 1 / k)  # how severe evaluators look, by the noise of k scores each
    target: dict[str, Any] = {"bar": 50.0}
    if kind == "against":  # by differences, and on both sides
        worth[3], errors, calls, tests = 50.0, math.sqrt(2 / e), k - 1, 2 * (k - 1)
        severe = 1.0
        target = {"against": "a3"}
    step = expected(everybody(k, e), values=worth, noise_scale=noise, **target)
    assert step.right / calls == pytest.approx(ndtr(d / errors), abs=0.01)
    assert step.lost == pytest.approx(noise * d)
    sure = ndtr(d / (errors * severe) + ndtri(0.05 / tests))
    most = sure
    if kind == "bar":  # step by step: the last is tested by itself
        most = ndtr(d / (errors * severe) + ndtri(0.05 / 2))
    assert sure - 0.1 < step.sure / calls < most + 0.03  # the noise, of each option, is heard
    slack = expected(everybody(k, e), values=worth, noise_scale=noise, tolerance=noise, **target)
    assert slack.right / calls == pytest.approx(ndtr((d + 1) / errors), abs=0.01)
    assert slack.sure > 0.9 * calls > step.sure


def test_decide_says_as_much_of_such_scores_as_was_planned() -> None:
    questions, n, rng = everybody(8, 6), 40, np.random.default_rng(5)
    step = expected(questions, values=2.0, bar=0.5, tolerance=0.2)
    table = eh.plan(questions, reviews=6, bar=0.5).to_frame()[["option", "evaluator"]]
    place = table["option"].map(list(questions.options.labels).index)
    sure = np.empty(n)
    for i in range(n):
        worth = rng.normal(0.0, 2.0, 8)
        scores = table.assign(score=worth[place] + rng.normal(size=len(table)))
        said = eh.decide(scores, bar=0.5, tolerance=0.2).conclusion
        sure[i] = 8 - len(said.where("open"))
    assert abs(step.sure - sure.mean()) < 4 * sure.std() * math.sqrt(1 / n + 1 / 60)


@pytest.mark.parametrize("target", [{"bar": 0.5}, {"against": "a4", "tolerance": 0.3}])
def test_more_reviews_call_more_right_and_more_of_it_surely(target: dict[str, Any]) -> None:
    plan = eh.plan(grants(), reviews=6, values=2.0, **target)
    assert plan.target.to_dict() == {"tolerance": 0.0} | target
    for fewer, more in itertools.pairwise(step for step in plan.reviews_curve if step.reviews > 3):
        assert fewer.right < more.right <= plan.calls
        assert fewer.lost > more.lost
    assert plan.expected is not None
    fewer_sure = eh.plan(grants(), reviews=2, values=2.0, **target).expected
    assert fewer_sure is not None
    assert fewer_sure.sure + 1.0 < plan.expected.sure <= plan.calls
    said = " ".join(str(plan).split())
    assert f"Of {plan.calls} options" in said
    assert plan.target.words in said
    where = "the bar is 0.5 above the average option" if "bar" in target else "'a4' is one like"
    assert where in said
    assert plan.to_dict()["target"] == plan.target.to_dict()


def test_what_is_far_from_the_line_is_settled() -> None:
    worth = np.repeat([0.0, 10.0], 6)
    for target in ({"bar": 5.0}, {"against": "a0", "tolerance": 5.0}):
        step = expected(everybody(12, 8), values=worth, noise_scale=0.1, **target)
        calls = 12 if "bar" in target else 11
        assert (step.right, step.sure, step.settled) == (calls, calls, 1.0)
        assert (step.lost, step.at_line) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reviews": 9}, "reviews must be a number up to 8"),
        ({"reviews": 0}, "reviews must be a number"),
        ({"reviews": 2, "top": 24}, "top must be less than the number of options"),
        ({"reviews": 2, "workload": -1}, "workload"),
        ({"top": 2, "bar": 1.0}, "say one of top .* got top and bar"),
        ({"bar": 1.0, "against": "a1"}, "got bar and against"),
        ({"bar": math.nan}, "bar must be a number"),
        ({"bar": 1.0, "leads": 2.0}, "leads= says by how much the best is ahead"),
        ({"against": "Nobody"}, "against must be the name of an option"),
        ({"bar": 1.0, "tolerance": -1.0}, "tolerance must be a number"),
    ],
)
def test_nonsense_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(eh.InputError, match=words):
        eh.plan(grants(), **more)


def test_comparisons_are_not_handed_out() -> None:
    with pytest.raises(eh.InputError, match="plan hand-outs of a panel"):
        eh.plan(Questions.comparisons(["Ann", "Bo", "Cy"], ["P", "Q"]), reviews=1)
