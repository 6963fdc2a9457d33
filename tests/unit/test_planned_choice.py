"""Planned choice: what is asked is fixed before the first answer; what is said is exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand import families
from evenhand.cases.panels import skating_panels
from evenhand.inference import Conclusion, Target, conclude
from evenhand.linear import Design, Fit
from evenhand.policies import Feedback
from evenhand.questions import of_kind
from evenhand.search import PlannedChoice
from rotation import nightly


def answered(policy: eh.Policy, scores: np.ndarray, n: int | None = None) -> list[int]:
    """Answer with these scores until the policy asks no more; return what was asked, in order."""
    asked = []
    while (counts := policy.ask(n).counts).any():
        asked += np.repeat(np.arange(len(counts)), counts).tolist()
        policy.tell(Feedback(counts, counts * scores, counts * scores**2))
    return asked


def scores_of(problem: eh.BiasedLinearBandit, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(len(problem.questions))
    return np.asarray(problem.evaluations + problem.noise * noise)


PROBLEM = families.panel(k=6, e=5, seed=2, gap=1.5, bias=2.0)
MODES: list[dict[str, Any]] = [{"noise_scale": 1.0}, {"noise_scale": None}]


def concluded(
    questions: eh.Questions, scores: np.ndarray, target: Target, noise: float | None = None
) -> Conclusion:
    """Return one look at answers to all questions of a panel, by a design made by hand."""
    who, k = questions.evaluator, len(questions.options)
    d, lenient = questions.n_features, of_kind(questions.columns, "leniency")
    design = Design(
        scores,
        questions.about[:, 0].astype(np.int32),
        k,
        who.astype(np.int32),
        len(questions.evaluators),
        x=questions.points[:, d:][:, ~lenient],
        clusters={"evaluator": who.astype(np.int32)},
    )
    rival = target.rival(questions.options.labels)
    return conclude(Fit(design, noise), target, 0.05, rival=rival)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_what_is_asked_does_not_depend_on_the_answers(mode: dict[str, Any]) -> None:
    asked = []
    for seed in range(4):
        policy = PlannedChoice(PROBLEM.questions, seed=7, **mode)
        asked.append(answered(policy, scores_of(PROBLEM, seed), n=1))
    longest = max(asked, key=len)
    assert all(run == longest[: len(run)] for run in asked)
    assert len(set(longest)) == len(longest), "every question once"
    other = PlannedChoice(PROBLEM.questions, seed=8, **mode)
    assert answered(other, scores_of(PROBLEM, 0), n=1) != longest


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"tolerance": 0.8},
        {"top": 2},
        {"bar": 0.5},
        {"against": "O2"},
        {"against": "O2", "tolerance": 0.5},
    ],
    ids=str,
)
def test_all_is_asked_and_concluded_from_once(mode: dict[str, Any], wanted: dict[str, Any]) -> None:
    """By an independent route: the same conclusion from a design made by hand."""
    tolerance = wanted.get("tolerance", 0.0)
    given = {name: one for name, one in wanted.items() if name != "tolerance"} or {"top": 1}
    target = Target(**given, tolerance=tolerance)
    for seed in range(6):
        scores = scores_of(PROBLEM, seed)
        policy = PlannedChoice(PROBLEM.questions, **mode, **wanted)
        first = policy.ask(n=20).counts
        policy.tell(Feedback(first, first * scores, first * scores**2))
        before = policy.recommend()
        assert (before.loss, before.certainty) == (np.inf, None)
        assert policy.one_look is None
        assert np.isinf(policy.values()[:, 1:]).all()  # type: ignore[index]
        assert sorted([*np.flatnonzero(first), *answered(policy, scores)]) == list(range(30))
        said = concluded(PROBLEM.questions, scores, target, mode["noise_scale"])
        decision = policy.recommend()
        assert policy.one_look is not None
        assert policy.one_look.verdicts == said.verdicts
        assert policy.values() == pytest.approx(said.values)
        assert decision.leads == pytest.approx(said.leads)
        if target.top is not None:
            assert decision.loss == pytest.approx(said.loss)
        assert (decision.loss <= tolerance) == said.sure
        if target.top == 1:
            assert decision.option == said.leader
        else:
            assert decision.selection is not None
            assert decision.selection.chosen == said.chosen
            assert decision.selection.inside == said.inside
            assert decision.selection.outside == said.outside


def test_without_a_noise_scale_units_do_not_matter() -> None:
    for mode in MODES[1:]:
        for seed in range(6):
            scores = scores_of(PROBLEM, seed)
            one, other = (PlannedChoice(PROBLEM.questions, **mode) for _ in range(2))
            asked = answered(one, scores)
            assert asked == answered(other, 1e6 * scores + 3e6)
            assert one.recommend().loss == pytest.approx(other.recommend().loss / 1e6, rel=1e-6)
            assert one.bias().value == pytest.approx(other.bias().value / 1e6, rel=1e-6)


@pytest.mark.parametrize("runs", [100, *nightly([250])])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_where_nobody_is_best_hardly_anybody_is_certain(mode: dict[str, Any], runs: int) -> None:
    tied = families.panel(k=4, e=4, seed=3, gap=0.0, bias=1.0)
    wrong = 0
    for seed in range(runs):
        policy = PlannedChoice(tied.questions, seed=seed, **mode)
        policy.checked = False
        answered(policy, scores_of(tied, seed))
        wrong += policy.recommend().loss == 0.0
    assert wrong <= stats.binom.isf(1e-4, runs, 0.05)


@pytest.mark.parametrize("runs", [60, *nightly([150])])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_losses_and_leads_hold(mode: dict[str, Any], runs: int) -> None:
    close = families.panel(k=4, e=5, seed=4, gap=0.3, bias=1.0)
    false_loss, false_lead = 0, 0
    for seed in range(runs):
        policy = PlannedChoice(close.questions, seed=seed, **mode)
        policy.checked = False
        answered(policy, scores_of(close, 1_000 + seed))
        decision = policy.recommend()
        assert decision.leads is not None
        lead = close.values[decision.option] - close.values[0]
        false_loss += close.gaps[decision.option] > decision.loss
        false_lead += not decision.lead_over(0).covers(lead)
    most = stats.binom.isf(1e-4, runs, 0.05)
    assert max(false_loss, false_lead) <= most


def test_a_tolerance_is_what_may_be_lost() -> None:
    close = families.panel(k=4, e=6, seed=4, gap=0.3, bias=1.0)
    found = []
    for tolerance in (0.0, 1.5):
        runs = [
            PlannedChoice(close.questions, tolerance=tolerance, noise_scale=1.0) for _ in range(40)
        ]
        for seed, policy in enumerate(runs):
            answered(policy, scores_of(close, seed))
        found.append([policy.recommend().loss <= tolerance for policy in runs])
    strict, lax = found
    assert sum(lax) > sum(strict)
    assert all(b for a, b in zip(strict, lax, strict=True) if a), "what is sure stays sure"


def test_who_leaves_is_not_waited_for() -> None:
    """The look comes when all that can come has come, and is that of least squares on it."""
    scores = scores_of(PROBLEM, 0)
    policy = PlannedChoice(PROBLEM.questions)
    gone = PROBLEM.questions.evaluators[2]
    while policy.spent < 12:
        counts = policy.ask(n=1).counts
        policy.tell(Feedback(counts, counts * scores, counts * scores**2))
    policy.limits.leave(gone)
    asked = answered(policy, scores)
    assert all(PROBLEM.questions.evaluator_of(x) != gone for x in asked)
    assert policy.stopped_because is not None
    have = policy.limits.asked > 0
    theta, *_ = np.linalg.lstsq(PROBLEM.questions.points[have], scores[have], rcond=None)
    assert policy.recommend().option == int(np.argmax(theta[:6]))
    policy.limits.join(gone)
    assert policy.finished, "there is one look, and it was taken"


def test_too_few_answers_compare_nobody_and_that_is_said() -> None:
    policy = PlannedChoice(PROBLEM.questions, at_most=4, noise_scale=1.0)
    asked = answered(policy, scores_of(PROBLEM, 0))
    assert len(asked) == 4
    assert policy.recommend().loss == np.inf
    assert policy.stopped_because is not None
    assert "do not compare" in policy.stopped_because
    assert policy.forecast() == 0.0


@pytest.mark.parametrize("limit", [{"at_most": 18}, {"budget": 18.0}], ids=str)
def test_fewer_questions_are_even_and_tell_all_leads(limit: dict[str, Any]) -> None:
    policy = PlannedChoice(PROBLEM.questions, noise_scale=1.0, **limit)
    asked = answered(policy, scores_of(PROBLEM, 0))
    assert len(set(asked)) == len(asked) == 18
    per_option = np.bincount(PROBLEM.questions.about[asked, 0], minlength=6)
    assert np.ptp(per_option) <= 1
    A = PROBLEM.questions.points[asked]
    D = np.eye(6, A.shape[1])[0] - np.eye(6, A.shape[1])[1:]
    fit = np.linalg.lstsq(A.T, D.T, rcond=None)[0]
    assert np.allclose(A.T @ fit, D.T), "leads are combinations of what is asked"


def test_real_judges_are_asked_once_each_and_leniencies_add_to_zero() -> None:
    panel = next(skating_panels())
    policy = PlannedChoice(panel.questions())
    answered(policy, panel.scores, n=5)
    assert (policy.limits.asked == 1).all()
    biases = dict(policy.biases())
    bias = next(value for column, value in biases.items() if column.kind == "bias")
    assert bias.value == pytest.approx(policy.bias().value)
    A = panel.questions().points
    theta = np.linalg.lstsq(A, panel.scores, rcond=None)[0]
    assert bias.low < bias.value < bias.high
    assert bias.value == pytest.approx(theta[6], abs=0.5)  # less unequal use of the scale
    lenient = [value.value for column, value in biases.items() if column.kind == "leniency"]
    means = panel.table.mean(axis=0) - theta[6] * panel.partial.mean(axis=0)
    assert lenient == pytest.approx(means - means.mean())
    values = policy.values()
    assert values is not None
    fair = panel.table - theta[6] * panel.partial
    assert values[:, 0] == pytest.approx(fair.mean(axis=1))


def test_it_withstands_what_it_leads_other_groups_by() -> None:
    panel = {"A": "x", "B": "y"}, {"P": "x", "Q": "y", "R": None}
    questions = eh.Questions.panel(*panel)
    scores = np.array([9.0, 8.0, 8.5, 2.0, 4.0, 3.5])
    policy = PlannedChoice(questions, noise_scale=1.0)
    answered(policy, scores)
    A = questions.points
    lead = float(np.diff(np.linalg.lstsq(A, scores, rcond=None)[0][1::-1])[0])
    C = np.linalg.inv(A.T @ A)
    s = math.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])
    decision = policy.recommend()
    assert decision.label == "A"
    assert decision.withstands == pytest.approx(lead - stats.norm.isf(0.025) * s, abs=0.05)
    alike = eh.Questions.panel({"A": "x", "B": "x"}, panel[1])
    same = PlannedChoice(alike, noise_scale=1.0)
    answered(same, scores)
    assert same.recommend().withstands == 0.0, "nothing is claimed where there is no other group"


def test_when_nobody_can_come_any_more_the_record_says_so() -> None:
    """The look at a plan that is cut short is a plan of its own, the same on every machine."""
    scores = scores_of(PROBLEM, 0)
    policy = PlannedChoice(PROBLEM.questions, confidence=1 - 1e-9)
    there = PlannedChoice(PROBLEM.questions, confidence=1 - 1e-9)
    there.begin(policy.plan() or {})
    counts = policy.ask(n=21).counts
    lost = np.zeros_like(counts)
    lost[np.argmax(counts)] = 1
    for one in (policy, there):
        one.limits.hand_out(counts, 0 * counts)
        one.tell(Feedback(counts - lost, (counts - lost) * scores, (counts - lost) * scores**2))
    before = policy.recommend()
    for name in PROBLEM.questions.evaluators:
        policy.limits.leave(name)
    plan = policy.plan()
    assert plan is not None
    assert (plan["purpose"], len(plan["order"])) == ("ask more", 0)
    assert policy.plan(pending=lost) is None, "one is on its way"
    assert policy.ask().total == 0
    there.begin(plan)
    assert policy.finished
    assert policy.recommend().loss <= before.loss
    assert repr(policy.recommend()) == repr(there.recommend())
    policy.limits.join(PROBLEM.questions.evaluators[0])
    assert policy.finished


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"confidence": 1.0}, "confidence must lie"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"horizon": 5, "at_most": 6}, "two names"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        PlannedChoice(PROBLEM.questions, **wrong)


def test_options_that_cannot_be_compared_are_refused() -> None:
    apart = eh.Questions.panel({"A": "x", "B": "y"}, ["P"], partial=[[1.0], [0.0]])
    with pytest.raises(eh.NotIdentifiableError):
        PlannedChoice(apart)


def test_scores_without_noise_are_not_called_too_close() -> None:
    """Of noise nothing is known then, so nothing is sure; but nobody is close to anybody."""
    options, judges = ["Ann", "Bo", "Cy", "Di", "Ed"], ["P", "Q", "R", "S"]

    def exact(question: eh.Question) -> float:
        return 5.0 - question.option + 0.5 * judges.index(str(question.evaluator))

    answer = eh.choose(eh.Questions.panel(options, judges), exact)
    assert (answer.label, answer.spent) == ("Ann", 20)
    assert "too close" not in answer.stopped_because
