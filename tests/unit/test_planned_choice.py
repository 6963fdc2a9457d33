"""Planned choice: what is asked is fixed before the first answer; what is said is exact."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import evenhand as eh
import oracles
from evenhand import families
from evenhand.cases.panels import skating_panels
from evenhand.certainty import PlannedChoice
from evenhand.policies import Feedback
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
MODES: list[dict[str, Any]] = [
    {"looks": looks, "noise_scale": noise_scale}
    for looks in ("once", "always")
    for noise_scale in (1.0, None)
]


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


@pytest.mark.parametrize("runs", [100, *nightly([250])])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_where_nobody_is_best_hardly_anybody_is_certain(mode: dict[str, Any], runs: int) -> None:
    tied = families.panel(k=4, e=4, seed=3, gap=0.0, bias=1.0)
    wrong = 0
    for seed in range(runs):
        policy = PlannedChoice(tied.questions, seed=seed, **mode)
        policy.checked = False
        answered(policy, scores_of(tied, seed), n=None if mode["looks"] == "once" else 2)
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


def test_prices_and_workloads_are_kept_to() -> None:
    questions = eh.Questions.panel(
        ["A", "B", "C"], ["P", "Q", "R"], prices=[1.0, 1.0, 5.0], workload=[2, 3, 3]
    )
    policy = PlannedChoice(questions, budget=9.0, noise_scale=1.0)
    asked = answered(policy, np.linspace(0.0, 1.0, 9))
    assert questions.prices[asked].sum() <= 9.0
    assert (np.bincount(questions.evaluator[asked], minlength=3) <= [2, 3, 3]).all()
    assert policy.limits.paid == questions.prices[asked].sum()


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
    theta = np.linalg.lstsq(A, panel.scores, rcond=None)[0]
    told = np.ones(len(A)), panel.scores, np.zeros(len(A))
    fit = oracles.with_own_noise(A, *told, panel.questions().about[:, 0])
    sd = math.sqrt(fit.of_rows(np.eye(A.shape[1])[6:7]).variances[0])
    assert bias.value == pytest.approx(theta[6])
    assert bias.high - bias.value == pytest.approx(stats.t.isf(0.025, fit.freedom) * sd)
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


# ---------------------------------------------------------------------- what was there, and more


OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us"}
JUDGES = {"P": "fr", "Q": "it", "R": "us"}
MORE_OPTIONS = {"Zoë": "it", "Cy": "us", "Ann": "fr", "Bo": "it"}
MORE_JUDGES = JUDGES | {"S": "fr"}
VALUES = {"Ann": 1.0, "Bo": 0.6, "Cy": 0.0, "Zoë": 0.9}


def panel(options: Any = OPTIONS, judges: Any = JUDGES, capacity: int = 1) -> eh.Questions:
    return eh.Questions.panel(options, judges, capacity=capacity)


def drawn(
    questions: eh.Questions, counts: Any, rng: np.random.Generator, times: float = 1.0
) -> Feedback:
    """Answers: value, 0.5 for the own group, and noise."""
    asked = np.repeat(np.arange(len(questions)), counts)
    items = [questions.items[x] for x in questions.about[asked, 0].tolist()]
    means = times * np.array([VALUES[name] for name in items])
    means += 0.5 * questions.attributes[asked, 0]
    return Feedback.from_scores(questions, asked, means + rng.standard_normal(len(asked)))


def test_a_plan_leaves_out_what_was_scored() -> None:
    """The rest is the plan, and what it says is what the rest says by itself."""
    questions, rng = panel(judges=MORE_JUDGES), np.random.default_rng(7)
    logged = np.array([questions.evaluator_of(x) == "S" for x in range(len(questions))])
    policy = PlannedChoice(questions, looks="always")
    policy.ask()  # all of it, which nobody acts on
    policy.observe(drawn(questions, logged.astype(np.int64), rng))
    alone = PlannedChoice(questions, planned=~logged * 1, looks="always")
    for n in (2, 3, 4):  # in parts: looks are at shares of the nine, not of all
        told = drawn(questions, policy.ask(n).counts, rng)
        assert told.counts.sum() == n
        policy.tell(told)
        alone.tell(Feedback(*(part * (alone.ask(n).counts > 0) for part in told.parts)))
        assert repr(policy.recommend()) == repr(alone.recommend())
    assert policy.finished
    with pytest.raises(eh.InputError, match="before the first answer"):
        policy.observe(drawn(questions, logged.astype(np.int64), rng))


def test_a_plan_that_cannot_compare_without_logged_scores_is_refused() -> None:
    questions, rng = panel(), np.random.default_rng(8)
    policy = PlannedChoice(questions)
    about_ann = (questions.about[:, 0] == 0).astype(np.int64)
    before = json.dumps(policy.state())
    with pytest.raises(eh.InputError, match="do not compare all options"):
        policy.observe(drawn(questions, about_ann, rng))
    assert json.dumps(policy.state()) == before
    assert policy.ask().total == 9


@pytest.mark.parametrize("looks", ["once", "always"])
def test_a_longer_plan_is_one_plan(looks: Any) -> None:
    """Extended in the midst, it ends as the plan of all answers does, with all of δ."""
    small, wide = panel(), panel(MORE_OPTIONS, MORE_JUDGES)
    rng = np.random.default_rng(9)
    policy = PlannedChoice(small, looks=looks)
    first = drawn(small, policy.ask(5).counts, rng)
    policy.tell(first)
    new = policy.extended(wide)
    assert (new.spent, new.ask(99).total) == (5, 11)
    second = drawn(wide, new.ask(99).counts, rng)
    new.tell(second)
    parts = [part.copy() for part in second.parts]
    at = [wide.labels.index(label) for label in small.labels]
    for part, earlier in zip(parts, first.parts, strict=True):
        part[at] += earlier
    whole = PlannedChoice(wide)
    whole.ask()
    whole.tell(Feedback(*parts))
    if looks == "once":
        assert repr(new.recommend()) == repr(whole.recommend())
    assert new.recommend().loss > 0.0 or whole.recommend().loss == 0.0
    assert new.extended(panel(MORE_OPTIONS, MORE_JUDGES | {"T": "it"})).finished


def test_after_an_answer_a_plan_is_of_other_answers_and_of_what_is_left() -> None:
    small, rng = panel(capacity=3), np.random.default_rng(10)
    policy = PlannedChoice(small, looks="always")
    while not policy.finished:
        policy.tell(drawn(small, policy.ask(3).counts, rng, times=9.0))
    assert policy.recommend().label == "Ann"
    assert policy.extended(panel(judges=MORE_JUDGES, capacity=3)).recommend().label == "Ann"
    new = policy.extended(panel(MORE_OPTIONS, MORE_JUDGES, capacity=3))
    assert new.recommend().loss > 0.0
    plan = new.plan()
    assert plan is not None
    assert plan["purpose"] == "ask what was planned"
    asked = new.ask(99).counts
    assert (asked + new.limits.asked <= 3).all()
    new.tell(drawn(new.questions, new.ask(20).counts, rng, times=9.0))
    again = eh.restore(json.loads(json.dumps(new.state())))
    assert np.array_equal(again.ask(4).counts, new.ask(4).counts)
    assert again.recommend().loss == new.recommend().loss


def test_a_plan_of_more_answers_has_those_that_are_in() -> None:
    questions, rng = panel(capacity=4), np.random.default_rng(12)
    policy = PlannedChoice(questions, at_most=12, confidence=0.9999)
    policy.tell(drawn(questions, policy.ask(7).counts, rng))
    policy.allow(30)
    assert policy.ask().total == 23
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert again.ask().total == 23
    policy.tell(drawn(questions, policy.ask(3).counts, rng))
    policy.allow(30, budget=25.0)  # more than before is planned only where more is allowed
    policy.tell(drawn(questions, policy.ask().counts, rng))
    assert (policy.spent, policy.finished) == (25, True)
    policy.allow(36, budget=36.0)
    assert policy.finished


@pytest.mark.parametrize(("noise_scale", "runs"), [(1.0, 40), *nightly([(1.0, 100), (None, 100)])])
def test_whoever_goes_on_after_every_end_is_wrong_no_more_often(
    noise_scale: float | None, runs: int
) -> None:
    """Nobody is best; whenever it is over, or in the midst, more judges and another are asked."""
    judges = {f"J{i}": "xyz"[i % 3] for i in range(12)}
    sizes = [("ABC", 4), ("ABC", 6), ("ABCD", 8), ("ABCDE", 12)]
    panels = [
        eh.Questions.panel({o: "xy"[ord(o) % 2] for o in names}, dict(list(judges.items())[:n]))
        for names, n in sizes
    ]
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        policy = PlannedChoice(panels[0], looks="always", noise_scale=noise_scale)
        certain = False
        for n, questions in enumerate(panels):
            policy = policy.extended(questions)
            policy.checked = False
            most = 3 if n == 0 and seed % 2 else 99
            while policy.spent < most and (counts := policy.ask(1).counts).any():
                far = 8.0 * (questions.about[int(np.argmax(counts)), 0] == 2)  # C is far behind
                y = counts * (rng.standard_normal() - far)
                policy.tell(Feedback(counts, y, y**2))
            certain |= policy.recommend().loss == 0.0
        wrong += certain
    assert wrong <= stats.binom.isf(1e-4, runs, 0.05)


def test_when_nobody_can_come_any_more_the_record_says_so() -> None:
    """The look at a plan that is cut short is a plan of its own, the same on every machine."""
    scores = scores_of(PROBLEM, 0)
    for looks in ("once", "always"):
        policy = PlannedChoice(PROBLEM.questions, looks=looks, confidence=1 - 1e-9)
        there = PlannedChoice(PROBLEM.questions, looks=looks, confidence=1 - 1e-9)
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


def test_somebody_elses_plan_is_not_extended() -> None:
    policy = PlannedChoice(panel(), planned=np.ones(9))
    with pytest.raises(eh.InputError, match="made by somebody else"):
        policy.extended(panel(MORE_OPTIONS))
    with pytest.raises(eh.InputError, match="made by somebody else"):
        policy.allow(20)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"looks": "twice"}, "looks must be"),
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


# ------------------------------------------------------------------ scores between bounds


def bounded(scores: np.ndarray, **settings: Any) -> eh.certainty.PlannedChoice:
    """Return what a panel of these scores, (options, judges), comes to."""
    k, n = scores.shape
    panel = eh.Questions.panel([f"o{x}" for x in range(k)], [f"j{x}" for x in range(n)])
    policy = PlannedChoice(panel, looks="once", **settings)
    counts = policy.ask().counts
    flat = scores.reshape(-1)
    policy.tell(Feedback(counts, counts * flat, counts * flat**2))
    return policy


def test_between_bounds_a_lead_is_certain_by_hoeffdings_inequality() -> None:
    """Of k options and n judges, if lead² > (b − a)² ln(k/δ)/n: Σ c² of a lead is 2/n."""
    k, n = 4, 30
    enough = 10.0 * math.sqrt(math.log(k / 0.05) / n)
    for lead, certain in ((enough - 0.01, False), (enough + 0.01, True)):
        scores = np.full((k, n), 2.0) + 0.5 * (np.arange(n) % 2)
        scores[0] += lead
        said = bounded(scores, bounds=(0, 10)).recommend()
        assert (said.loss == 0.0) == certain
        assert said.leads is not None
        width = 10.0 * math.sqrt(math.log(k / 0.025) / n)  # two-sided
        low = 0.0 if certain else lead - width  # what is certain leads
        assert said.leads[1] == pytest.approx([lead, low, lead + width])
        if not certain:
            assert said.loss == pytest.approx(0.01)


def test_a_rare_score_that_was_not_seen_makes_nothing_certain_between_bounds() -> None:
    """B has 100 with a chance of 15%, and 0 else; A has about 10, and is worse."""
    rng = np.random.default_rng(5)
    sure = {"heard": 0, "bounded": 0}
    for _ in range(60):
        a, b = 10.0 + rng.normal(size=8), np.where(rng.random(8) < 0.15, 100.0, 0.0)
        scores = np.stack([np.clip(a, 0.0, 100.0), b])
        for name, settings in (("heard", {}), ("bounded", {"bounds": (0, 100)})):
            said = bounded(scores, **settings).recommend()
            sure[name] += said.option == 0 and said.loss == 0.0
    assert sure["bounded"] == 0
    assert sure["heard"] > 6  # why bounds are there to be stated


def test_bounds_say_how_loud_noise_can_be_and_values_are_within_hoeffdings_interval() -> None:
    policy = bounded(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), bounds=(0, 1))
    assert (policy.bounds, policy.stated_noise) == ((0.0, 1.0), 0.5)
    values = policy.values()
    assert values is not None
    width = math.sqrt(math.log(2 / 0.05) / (2 * 3))  # of a mean of three
    assert values[0] == pytest.approx([2 / 3, 2 / 3 - width, 2 / 3 + width])
    with pytest.raises(eh.InputError, match="noise_scale must not be given too"):
        bounded(np.ones((2, 2)), bounds=(0, 1), noise_scale=1.0)
    with pytest.raises(eh.InputError, match="outside the bounds"):
        bounded(np.array([[1.0, 2.0], [0.0, 0.0]]), bounds=(0, 1))
