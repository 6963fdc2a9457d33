"""Planned choice: what is asked is fixed before the first answer; what is said is exact."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import evenhand as eh
from evenhand import families
from evenhand.certainty import model_choice
from evenhand.certainty.assignment import even_order, in_turns
from evenhand.certainty.planned_choice import PlannedChoice
from evenhand.certainty.record import Plan
from evenhand.environments.panels import skating_panels
from evenhand.policies.messages import Feedback


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
MODES: list[dict[str, Any]] = [
    {"looks": looks, "noise_scale": noise_scale}
    for looks in ("once", "always")
    for noise_scale in (1.0, None)
]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_what_is_asked_does_not_depend_on_the_answers(mode: dict[str, Any]) -> None:
    asked = []
    for seed in range(4):
        policy = PlannedChoice(PROBLEM.questions, seed=7, give_up=0.0, **mode)
        asked.append(answered(policy, scores_of(PROBLEM, seed), n=1))
    longest = max(asked, key=len)
    assert all(run == longest[: len(run)] for run in asked)
    assert len(set(longest)) == len(longest), "every question once"
    other = PlannedChoice(PROBLEM.questions, seed=8, give_up=0.0, **mode)
    assert answered(other, scores_of(PROBLEM, 0), n=1) != longest


def test_once_all_is_asked_and_the_winner_is_that_of_least_squares() -> None:
    """By an independent route: the chance of the leads from the joint fit with all columns."""
    for seed in range(20):
        scores = scores_of(PROBLEM, seed)
        policy = PlannedChoice(PROBLEM.questions, noise_scale=1.0)
        assert sorted(answered(policy, scores)) == list(range(30))
        A = PROBLEM.questions.points
        theta, *_ = np.linalg.lstsq(A, scores, rcond=None)
        C = np.linalg.inv(A.T @ A)
        b = int(np.argmax(theta[:6]))
        decision = policy.recommend()
        assert decision.option == b
        worst = 0.0
        for j in set(range(6)) - {b}:
            d = np.zeros(A.shape[1])
            d[b], d[j] = 1.0, -1.0
            lead, sd = float(d @ theta), math.sqrt(d @ C @ d)
            lo = 0.0
            hi = math.inf
            for other in set(range(6)) - {b}:
                f = np.zeros(A.shape[1])
                f[b], f[other] = 1.0, -1.0
                c = float(f @ C @ d) / sd**2
                rest = float(f @ theta) - c * lead
                lo, hi = (max(lo, -rest / c), hi) if c > 0 else (lo, min(hi, -rest / c))
            p = stats.truncnorm.sf(lead, lo / sd, hi / sd, scale=sd)
            worst = max(worst, p)
        assert (decision.loss == 0.0) == (worst < 0.05)


def test_without_a_noise_scale_units_do_not_matter() -> None:
    for mode in MODES[1::2]:
        for seed in range(6):
            scores = scores_of(PROBLEM, seed)
            one, other = (PlannedChoice(PROBLEM.questions, **mode) for _ in range(2))
            asked = answered(one, scores)
            assert asked == answered(other, 1e6 * scores + 3e6)
            assert one.recommend().loss == pytest.approx(other.recommend().loss / 1e6, rel=1e-6)
            assert one.bias().value == pytest.approx(other.bias().value / 1e6, rel=1e-6)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_where_nobody_is_best_hardly_anybody_is_certain(mode: dict[str, Any]) -> None:
    tied = families.panel(k=4, e=4, seed=3, gap=0.0, bias=1.0)
    runs = 250
    wrong = 0
    for seed in range(runs):
        policy = PlannedChoice(tied.questions, seed=seed, give_up=0.0, **mode)
        policy.checked = False
        answered(policy, scores_of(tied, seed), n=None if mode["looks"] == "once" else 2)
        wrong += policy.inference.certain is not None
    assert wrong <= stats.binom.isf(1e-4, runs, 0.05)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_losses_and_leads_hold(mode: dict[str, Any]) -> None:
    close = families.panel(k=4, e=5, seed=4, gap=0.3, bias=1.0)
    runs, false_loss, false_lead = 150, 0, 0
    for seed in range(runs):
        policy = PlannedChoice(close.questions, seed=seed, **mode)
        policy.checked = False
        answered(policy, scores_of(close, 1_000 + seed), n=None if mode["looks"] == "once" else 3)
        decision = policy.recommend()
        assert decision.leads is not None
        lead = close.values[decision.option] - close.values[0]
        false_loss += close.gaps[decision.option] > decision.loss
        false_lead += not decision.lead_over(0).covers(lead)
    most = stats.binom.isf(1e-4, runs, 0.05)
    assert max(false_loss, false_lead) <= most


def test_a_sure_choice_is_found_early_and_the_rest_is_not_asked() -> None:
    clear = families.panel(k=6, e=6, seed=1, gap=6.0, bias=2.0)
    for noise_scale in (1.0, None):
        policy = PlannedChoice(clear.questions, looks="always", noise_scale=noise_scale)
        answered(policy, scores_of(clear, 1))
        assert policy.spent < 36
        assert policy.recommend().option == clear.best
        assert policy.recommend().loss == 0.0
        assert policy.stopped_because is not None
        assert "no option is better than" in policy.stopped_because


def test_what_is_hopeless_is_given_up_unless_one_insists() -> None:
    tied = families.panel(k=8, e=6, seed=3, gap=0.0, bias=1.0)
    scores = scores_of(tied, 5)
    policy = PlannedChoice(tied.questions, looks="always")
    answered(policy, scores)
    assert policy.spent < 48
    assert policy.stopped_because is not None
    assert "too close to" in policy.stopped_because
    patient = PlannedChoice(tied.questions, looks="always", give_up=0.0)
    answered(patient, scores)
    assert patient.spent == 48
    assert patient.stopped_because is not None
    assert "all 48 answers are in" in patient.stopped_because


def test_shares_of_the_failure_add_up_to_all_of_it() -> None:
    """However answers come in, singly or by the dozen, the looks use δ once."""
    for n in (1, 5, 17):
        policy = PlannedChoice(PROBLEM.questions, looks="always", give_up=0.0, confidence=1 - 1e-9)
        used = [0.0]
        scores = scores_of(PROBLEM, 3)
        while (counts := policy.ask(n).counts).any():
            policy.tell(Feedback(counts, counts * scores, counts * scores**2))
            used.append(policy.inference.said().used)
        assert np.all(np.diff(used) >= 0.0)
        assert used[-1] == 1.0


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
    policy.leave(gone)
    asked = answered(policy, scores)
    assert all(PROBLEM.questions.evaluator_of(x) != gone for x in asked)
    assert policy.stopped_because is not None
    have = policy.inference.told.counts > 0
    theta, *_ = np.linalg.lstsq(PROBLEM.questions.points[have], scores[have], rcond=None)
    assert policy.recommend().option == int(np.argmax(theta[:6]))
    policy.join(gone)
    assert policy.finished, "there is one look, and it was taken"


def test_too_few_answers_compare_nobody_and_that_is_said() -> None:
    policy = PlannedChoice(PROBLEM.questions, at_most=4, noise_scale=1.0)
    asked = answered(policy, scores_of(PROBLEM, 0))
    assert len(asked) == 4
    assert policy.recommend().loss == np.inf
    assert policy.stopped_because is not None
    assert "do not compare" in policy.stopped_because
    assert policy.forecast() == 0.0


def test_only_who_is_available_is_asked() -> None:
    policy = PlannedChoice(PROBLEM.questions)
    counts = policy.ask(available=["E2"]).counts
    assert {PROBLEM.questions.evaluator_of(x) for x in np.flatnonzero(counts)} == {"E2"}
    assert counts.sum() == 6


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
    # as good as the best of many even plans drawn at random
    variances = np.einsum("ij,ij->j", fit, fit).mean()
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(300):
        some = even_order(PROBLEM.questions, rng)[:18]
        other = np.linalg.lstsq(PROBLEM.questions.points[some].T, D.T, rcond=None)[0]
        if np.allclose(PROBLEM.questions.points[some].T @ other, D.T):
            drawn.append(np.einsum("ij,ij->j", other, other).mean())
    assert variances < min(drawn)


def test_prices_and_workloads_are_kept_to() -> None:
    questions = eh.Questions.panel(
        ["A", "B", "C"], ["P", "Q", "R"], prices=[1.0, 1.0, 5.0], workload=[2, 3, 3]
    )
    policy = PlannedChoice(questions, budget=9.0, noise_scale=1.0)
    asked = answered(policy, np.linspace(0.0, 1.0, 9))
    assert questions.prices[asked].sum() <= 9.0
    assert (np.bincount(questions.evaluator[asked], minlength=3) <= [2, 3, 3]).all()
    assert policy.limits.paid == questions.prices[asked].sum()


def test_turns_are_even_at_any_time() -> None:
    questions = families.panel(k=7, e=5, seed=1).questions
    order = even_order(questions, np.random.default_rng(2))
    assert sorted(order.tolist()) == list(range(35))
    for n in range(1, 36):
        assert np.ptp(np.bincount(questions.about[order[:n], 0], minlength=7)) <= 1


def test_a_plan_is_handed_out_without_gaps() -> None:
    """In any portions, with anything on its way: the same evaluations in the same order."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        q = int(rng.integers(1, 6))
        planned, order, told = rng.integers(0, 5, q), rng.permutation(q), rng.integers(0, 3, q)
        slots = [x for level in range(9) for x in order if told[x] <= level < told[x] + planned[x]]
        plan = Plan("ask what was planned", in_turns(planned, order, told))
        assert plan.order.tolist() == slots
        n = int(rng.integers(0, planned.sum() + 1))
        have = np.bincount(slots[:n], minlength=q)
        assert plan.next_ones(have).tolist() == slots[n:]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_large_panels_are_judged_alike_without_large_matrices(
    mode: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arrow form of a panel, and its dense rows, tell the same of every lead and bias."""
    monkeypatch.setattr(model_choice, "_LARGE", 10**9)
    ways = [PlannedChoice(PROBLEM.questions, **mode)]
    monkeypatch.setattr(model_choice, "_LARGE", 0)
    ways.append(PlannedChoice(PROBLEM.questions, **mode))
    assert [type(policy.model).__name__ for policy in ways] == ["DenseModel", "ArrowModel"]
    scores = scores_of(PROBLEM, 4)
    one, other = (answered(policy, scores) for policy in ways)
    assert one == other
    dense, arrow = (policy.recommend() for policy in ways)
    assert dense.option == arrow.option
    assert dense.loss == pytest.approx(arrow.loss)
    assert dense.leads == pytest.approx(arrow.leads)
    pairs = zip(ways[0].biases(), ways[1].biases(), strict=True)
    assert all(a[1].high == pytest.approx(b[1].high) for a, b in pairs)
    assert ways[0].values() == pytest.approx(ways[1].values())


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_run_goes_on_from_its_state(mode: dict[str, Any]) -> None:
    scores = scores_of(PROBLEM, 2)
    whole = PlannedChoice(PROBLEM.questions, **mode)
    parts: eh.Policy = PlannedChoice(PROBLEM.questions, **mode)
    for _ in range(4):
        for policy in (whole, parts):
            counts = policy.ask(n=4).counts
            policy.tell(Feedback(counts, counts * scores, counts * scores**2))
        parts = eh.restore(json.loads(json.dumps(parts.state())))
    assert answered(whole, scores) == answered(parts, scores)
    assert whole.recommend().leads is not None
    np.testing.assert_array_equal(whole.recommend().leads, parts.recommend().leads)
    assert repr(whole.biases()) == repr(parts.biases())


def test_real_judges_are_asked_once_each_and_leniencies_add_to_zero() -> None:
    panel = next(skating_panels())
    policy = PlannedChoice(panel.questions())
    judges = panel.replay()
    while not policy.finished:
        policy.tell(judges.evaluate(policy.ask(n=5)))
    biases = dict(policy.biases())
    bias = next(value for column, value in biases.items() if column.kind == "bias")
    assert bias.value == pytest.approx(policy.bias().value)
    A = panel.questions().points
    theta, rss, *_ = np.linalg.lstsq(A, panel.scores, rcond=None)
    freedom = len(A) - A.shape[1]
    sd = math.sqrt(float(rss[0]) / freedom * np.linalg.inv(A.T @ A)[6, 6])
    assert bias.value == pytest.approx(theta[6])
    assert bias.high - bias.value == pytest.approx(stats.t.isf(0.025, freedom) * sd)
    lenient = [value.value for column, value in biases.items() if column.kind == "leniency"]
    means = panel.table.mean(axis=0) - theta[6] * panel.partial.mean(axis=0)
    assert lenient == pytest.approx(means - means.mean())
    values = policy.values()
    assert values is not None
    fair = panel.table - theta[6] * panel.partial
    assert values[:, 0] == pytest.approx(fair.mean(axis=1))


def test_it_withstands_what_it_leads_other_groups_by() -> None:
    """Two options: one that leads by L, of sd s, leads by μ where Φ̄((L − μ)/s)/Φ̄(−μ/s) < δ."""
    panel = {"A": "x", "B": "y"}, {"P": "x", "Q": "y", "R": None}
    questions = eh.Questions.panel(*panel)
    scores = np.array([9.0, 8.0, 8.5, 2.0, 4.0, 3.5])
    policy = PlannedChoice(questions, noise_scale=1.0)
    answered(policy, scores)
    A = questions.points
    lead = float(np.diff(np.linalg.lstsq(A, scores, rcond=None)[0][1::-1])[0])
    C = np.linalg.inv(A.T @ A)
    s = math.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])

    def excess(mu: float) -> float:
        return float(stats.norm.sf((lead - mu) / s) / stats.norm.sf(-mu / s)) - 0.05

    least = optimize.brentq(excess, -5.0, lead)
    decision = policy.recommend()
    assert decision.label == "A"
    assert decision.withstands == pytest.approx(least, rel=1e-3)
    assert decision.withstands <= least
    alike = eh.Questions.panel({"A": "x", "B": "x"}, panel[1])
    same = PlannedChoice(alike, noise_scale=1.0)
    answered(same, scores)
    assert same.recommend().withstands == 0.0, "nothing is claimed where there is no other group"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"looks": "twice"}, "looks must be"),
        ({"confidence": 1.0}, "confidence must lie"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"give_up": 1.0}, "give_up must be"),
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
