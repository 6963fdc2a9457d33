"""Policies that go on with more options, evaluators or capacity; and logged scores."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.certainty.choice import Choice
from evenhand.certainty.record import Expected
from evenhand.certainty.stages import prior
from evenhand.policies import checks_of, policy_class
from evenhand.questions import Ask, Askable, Questions, Superset
from evenhand.testing import CASES, QUESTION_CASES, Case
from evenhand.testing.cases import drawn

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us"}
JUDGES = {"P": "fr", "Q": "it", "R": "us"}
MORE_OPTIONS = {"Zoë": "it", "Cy": "us", "Ann": "fr", "Bo": "it"}
MORE_JUDGES = JUDGES | {"S": "fr"}


def panel(options: Any = OPTIONS, judges: Any = JUDGES, **more: Any) -> Questions:
    return Questions.panel(options, judges, **({"capacity": None} | more))


VALUES = {"Ann": 1.0, "Bo": 0.6, "Cy": 0.0, "Zoë": 0.9}


def scores(questions: Questions, counts: Counts, rng: np.random.Generator) -> eh.Feedback:
    """Answers: value, 0.5 for the own group, and noise."""
    asked = np.repeat(np.arange(len(questions)), counts)
    items = [questions.items[x] for x in questions.about[asked, 0].tolist()]
    means = np.array([VALUES[name] for name in items])
    means += 0.5 * questions.attributes[asked, 0]
    return eh.Feedback.from_scores(questions, asked, means + rng.standard_normal(len(asked)))


def told_until(policy: eh.CertainChoice, n: int, seed: int = 1) -> eh.CertainChoice:
    rng = np.random.default_rng(seed)
    while policy.spent < n:
        policy.tell(scores(policy.questions, policy.ask(3).counts, rng))
    return policy


def by_hand(
    questions: Questions, told: eh.Feedback, leader: int, rivals: Any, expected: Expected
) -> np.ndarray:
    """log E of a plan of known noise 1, from the rows of its own evaluations."""
    A = np.repeat(questions.points, told.counts, axis=0)
    cov = np.linalg.pinv(A.T @ A)
    theta = cov @ (questions.points.T @ told.sums)
    effects, weights = prior(expected, 0.0)
    found = []
    for n, x in enumerate(rivals.tolist()):
        c = np.zeros(A.shape[1])
        c[leader], c[x] = 1.0, -1.0
        J = 1.0 / (c @ cov @ c)
        S = J * (c @ theta)
        found.append(np.log(np.exp(weights[n] + effects[n] * S - effects[n] ** 2 * J / 2).sum()))
    return np.array(found)


# ---------------------------------------------------------------------- what a superset is


def test_old_questions_are_found_by_what_they_are_about() -> None:
    old, new = panel(), panel(MORE_OPTIONS, MORE_JUDGES)
    to = Superset.of(old, new)
    assert [new.labels[x] for x in to.questions] == list(old.labels)
    assert [new.options.labels[x] for x in to.options] == list(OPTIONS)
    assert [new.evaluators[e] for e in to.evaluators] == list(JUDGES)


WRONG = {
    "option 'Cy' is missing": panel({"Ann": "fr", "Bo": "it"}),
    "evaluator 'R' is missing": panel(judges={"P": "fr", "Q": "it"}),
    "'Ann by P' has another price": panel(prices=[2.0, 1.0, 1.0]),
    "'Ann by Q' has another relative noise": panel(noise=[1.0, 2.0, 1.0]),
    "'Ann by P' has less capacity": panel(capacity=3),
    "evaluator 'P' may be asked 9 times": panel(workload=[9, 5, 9]),
    "has other features or attributes": panel(OPTIONS | {"Bo": "us"}),
    "attribute 'Q' is missing": panel(judges={"Q": "it", "P": "fr", "R": "us"}),
    "cannot have features now": Questions(
        np.eye(3), np.eye(3), np.ones((3, 1)), labels=list(OPTIONS), evaluator=["P", "Q", "R"]
    ),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_is_missing_or_changed_is_named(why: str) -> None:
    policy = told_until(eh.CertainChoice(panel()), 12)
    before = json.dumps(policy.state())
    with pytest.raises(eh.InputError, match=why):
        policy.extended(WRONG[why])
    assert json.dumps(policy.state()) == before


def test_options_with_other_features_are_refused() -> None:
    old = eh.ActionSet([[1.0], [0.5]], ["a", "b"], ["Ann", "Bo"])
    with pytest.raises(eh.InputError, match="'Bo' has other features"):
        eh.CertainChoice(old).extended(eh.ActionSet([[1.0], [0.6]], ["a", "b"], ["Ann", "Bo"]))
    with pytest.raises(eh.InputError, match="cannot become questions"):
        eh.CertainChoice(old).extended(panel())


# ---------------------------------------------------------------------- every choice

CHOICES = ["careful-choice", "certain-choice", "planned-choice"]


def grown(actions: Askable) -> Askable:
    """Return what was there and more: one option before all others, or a further evaluator."""
    if not isinstance(actions, eh.ActionSet):
        return actions.adding([Ask((name,), "somebody new") for name in actions.options.labels])
    return eh.ActionSet(
        np.vstack([actions.features.mean(axis=0), actions.features]),
        actions.groups[[0, *range(len(actions))]],
        ["a new one", *actions.labels],
    )


@pytest.mark.parametrize("case", [CASES[0], CASES[-1], *QUESTION_CASES[:2]], ids=lambda c: c.name)
@pytest.mark.parametrize("name", CHOICES)
def test_what_was_told_is_kept(name: str, case: Case) -> None:
    """And what was handed out may still come; the old policy does not change."""
    cls = policy_class(name)
    if not cls.plays_questions and isinstance(case.actions, Questions):
        return
    policy, rng = eh.policy(name, case.actions, 200), np.random.default_rng(10)
    assert isinstance(policy, Choice)
    more = grown(case.actions)
    to = Superset.of(case.actions, more)
    for i in range(8):
        state = json.dumps(policy.state())
        new = policy.extended(more)
        assert json.dumps(policy.state()) == state, i
        assert (new.spent, new.limits.outstanding[to.questions].tolist()) == (
            policy.spent,
            policy.limits.outstanding.tolist(),
        )
        assert checks_of(new).counts.sum() == checks_of(policy).counts.sum()
        told, kept = policy.record.everything, new.record.everything
        assert np.array_equal(kept.sums[to.questions], told.sums)
        assert json.dumps(eh.restore(new.state()).state()) == json.dumps(new.state())
        with pytest.raises(eh.InputError):
            new.extended(case.actions)
        if policy.finished:
            break
        policy.tell(drawn(policy.ask(9).counts, case, rng))
    while not new.finished and new.spent < 60:
        counts = new.ask(3).counts
        new.tell(eh.Feedback(counts, counts * 0.5, counts * (0.3 + 0.1 * rng.random())))
    assert new.spent > 0


# ---------------------------------------------------------------------- certain choice


def test_an_order_of_questions_means_nothing() -> None:
    """The same questions in another order: the same evidence, intervals and losses, by name."""
    old = told_until(eh.CertainChoice(panel(), noise_scale=1.0), 90)
    other = {name: OPTIONS[name] for name in ("Cy", "Ann", "Bo")}
    new = old.extended(panel(other))
    at = [new.options.labels.index(name) for name in OPTIONS]
    assert len(old.record.rounds) > 2
    wealth = new.inference.evidence().wealth
    assert wealth[at] == pytest.approx(old.inference.evidence().wealth)
    before, after = old.recommend(), new.recommend()
    assert (before.label, before.loss) == (after.label, pytest.approx(after.loss, abs=1e-7))
    assert before.leads is not None
    assert after.leads is not None
    assert after.leads[at] == pytest.approx(before.leads, abs=1e-7)
    values, moved = old.values(), new.values()
    assert values is not None
    assert moved is not None
    assert moved[at] == pytest.approx(values, abs=1e-7)
    for (_, one), (_, two) in zip(old.biases(), new.biases(), strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_the_plan_under_way_is_not_cut(noise_scale: float | None) -> None:
    """Old and extended policy are told the same rest of a plan, and have the same evidence."""
    old, rng = eh.CertainChoice(panel(), noise_scale=noise_scale), np.random.default_rng(2)
    while len(old.record.rounds) < 2 or old.record.rounds[-1].count != 3:
        old.tell(scores(old.questions, old.ask(1).counts, rng))
    new = old.extended(panel(MORE_OPTIONS, MORE_JUDGES))
    to, now = Superset.of(old.questions, new.questions), old.record.rounds[-1]
    assert now.plan.leader >= 0
    while not now.whole:
        counts = old.ask(1).counts
        moved = np.zeros(len(new.questions), dtype=np.int64)
        moved[to.questions] = counts
        assert np.array_equal(new.ask(1).counts, moved)
        told = scores(old.questions, counts, rng)
        old.tell(told)
        parts = [np.zeros(len(moved)) for _ in range(2)]
        for part, given in zip(parts, told.parts[1:], strict=True):
            part[to.questions] = given
        new.tell(eh.Feedback(moved, *parts))
    wealth, before = new.inference.evidence().wealth, old.inference.evidence().wealth
    assert wealth[to.options] == pytest.approx(before, abs=1e-8)
    assert wealth[new.options.labels.index("Zoë")] == 0.0
    new.ask(1)
    order = new.record.rounds[-1].plan.order
    first = {new.questions.items[x] for x in new.questions.about[order, 0]}
    assert first == {"Zoë"}  # the others are known


def test_an_answer_stands_until_there_is_another_option() -> None:
    policy, rng = eh.CertainChoice(panel(), at_most=4_000), np.random.default_rng(3)
    while not policy.finished:
        policy.tell(scores(policy.questions, policy.ask(20).counts, rng))
    assert policy.recommend().label == "Ann"
    judges = policy.extended(panel(OPTIONS, MORE_JUDGES))
    assert judges.finished
    assert judges.recommend().loss == 0.0
    more = policy.extended(panel(MORE_OPTIONS, MORE_JUDGES))
    assert more.stopped_because is None
    assert more.recommend().loss > 0.0
    names = more.options.labels
    rejected = more.inference.evidence().rejected
    assert {names[x] for x in np.flatnonzero(rejected)} == {"Bo", "Cy"}
    while not more.finished:
        more.tell(scores(more.questions, more.ask(20).counts, rng))
    assert more.recommend().label == "Ann"
    again = eh.restore(json.loads(json.dumps(more.state())))
    assert isinstance(again, eh.CertainChoice)
    assert repr(again.recommend()) == repr(more.recommend())
    assert again.purpose() == more.purpose()


def test_known_features_help_old_plans_as_they_did() -> None:
    """Of a plan before the extension, what was guessed of old options does not change."""
    X = {"Ann": [1.0], "Bo": [0.5], "Cy": [0.2], "Zoë": [0.9]}
    few, many = list(OPTIONS), ["Zoë", *OPTIONS]
    old = eh.CertainChoice(panel(OPTIONS, features=[X[n] for n in few]), noise_scale=1.0)
    told_until(old, 60)
    wide = {name: MORE_OPTIONS[name] for name in many}
    new = old.extended(panel(wide, MORE_JUDGES, features=[X[n] for n in many]))
    tested = [r for r, round_ in enumerate(old.record.rounds) if round_.plan.leader >= 0]
    assert tested
    for r in tested:
        plan, moved = old.record.rounds[r].plan, new.record.rounds[r].plan
        guess = new.inference.before(r).leads(moved.leader, moved.rivals)
        assert plan.expected is not None
        assert guess.estimates == pytest.approx(plan.expected.leads, abs=1e-7)
        assert guess.variances == pytest.approx(plan.expected.variances, rel=1e-6)


# ---------------------------------------------------------------------- logged scores


def test_logged_scores_are_no_evidence() -> None:
    """They say who leads and what is expected; the evidence is that of the plan alone."""
    questions, rng = panel(), np.random.default_rng(4)
    policy = eh.CertainChoice(questions, noise_scale=1.0)
    logged = scores(questions, np.full(len(questions), 20), rng)
    policy.observe(logged)
    policy.ask(1)
    round_ = policy.record.rounds[0]
    plan = round_.plan
    assert plan.leader == int(np.argmax(logged.sums.reshape(3, 3).sum(axis=1)))
    assert policy.purpose()["what"] == "compare"
    assert policy.recommend().loss == math.inf
    while not (round_.whole or policy.settled):
        policy.tell(scores(questions, policy.ask(1).counts, rng))
    assert plan.expected is not None
    E = by_hand(questions, round_.total, plan.leader, plan.rivals, plan.expected)
    evidence = policy.inference.evidence()
    if not policy.settled:
        assert evidence.wealth[plan.rivals] == pytest.approx(E, abs=1e-9)
    assert (evidence.rejected[plan.rivals] <= (math.log(20.0) <= E)).all()
    A = questions.points * math.sqrt(20)
    cov = np.linalg.pinv(A.T @ A)
    c = np.eye(A.shape[1])[plan.leader] - np.eye(A.shape[1])[plan.rivals]
    assert plan.expected.variances == pytest.approx(np.einsum("ij,jk,ik->i", c, cov, c))


def test_logged_scores_in_the_midst_change_the_next_plan_only() -> None:
    questions, rng = panel(), np.random.default_rng(5)
    plain, heard = (eh.CertainChoice(questions, noise_scale=1.0) for _ in range(2))

    def tell() -> None:
        told = scores(questions, plain.ask(1).counts, rng)
        for policy in (plain, heard):
            policy.ask(1)
            policy.tell(told)

    while len(plain.record.rounds) < 2 or not plain.record.rounds[-1].count:
        tell()
    heard.observe(scores(questions, np.full(len(questions), 50), rng))
    assert heard.plan() is None
    while not plain.record.rounds[-1].whole:
        tell()
    one, two = (policy.inference for policy in (plain, heard))
    assert one.evidence().wealth == pytest.approx(two.evidence().wealth, abs=1e-9)
    at = len(plain.record.rounds)
    assert at == len(heard.record.rounds)
    fits = [each.before(at).leads(0, np.array([1])).variances[0] for each in (one, two)]
    assert fits[1] < 0.2 * fits[0]


# ---------------------------------------------------------------------- plans


def test_a_plan_of_another_machine_is_asked_and_weighed_as_it_says() -> None:
    """It may expect something else, and ask in another order: so be it."""
    questions, rng = panel(), np.random.default_rng(11)
    policy = told_until(eh.CertainChoice(questions, noise_scale=1.0), 40)
    while (plan := policy.plan()) is None or plan["leader"] < 0:
        policy.tell(scores(questions, policy.ask(1).counts, rng))
    plan = json.loads(json.dumps(plan))
    plan["order"] = plan["order"][::-1]
    plan["expected"]["leads"] = [2.0 * lead + 0.1 for lead in plan["expected"]["leads"]]
    wealth = policy.inference.evidence().wealth.copy()
    policy.begin(plan)
    round_, asked = policy.record.rounds[-1], []
    while not (round_.whole or policy.settled):
        counts = policy.ask(1).counts
        asked.append(int(np.argmax(counts)))
        policy.tell(scores(questions, counts, rng))
    assert asked == plan["order"][: len(asked)]
    assert not policy.settled
    expected, rivals = round_.plan.expected, round_.plan.rivals
    assert expected is not None
    E = by_hand(questions, round_.total, round_.plan.leader, rivals, expected)
    after = policy.inference.evidence().wealth
    assert after[rivals] == pytest.approx(wealth[rivals] + E, abs=1e-9)


def test_a_round_is_the_one_of_the_plan() -> None:
    """What it does not ask for waits for the next."""
    actions = eh.ActionSet([[1.0], [0.5], [0.2]], ["a", "b", "a"])
    policy = eh.policy("explore-then-commit", actions, 600)
    policy.begin({"questions": [0, 2], "counts": [5, 1]})
    assert policy.ask().counts.tolist() == [5, 0, 1]
    policy.limits.hand_out([0, 4, 0], pending=[5, 0, 1])
    policy.tell(eh.Feedback([0, 1, 0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]))
    assert (policy.spent, policy.ask().counts.tolist()) == (1, [5, 0, 1])
    assert policy.plan() is None
    policy.tell(eh.Feedback([5, 0, 1], [5.0, 0.0, 1.0], [6.0, 0.0, 1.0]))
    assert policy.plan() is not None


def test_what_is_handed_out_adds_up_unless_it_was_lost() -> None:
    policy = eh.policy("uniform", eh.ActionSet([[1.0], [0.5]], ["a", "b"]), 50)
    policy.limits.hand_out([2, 0], pending=[0, 0])
    policy.limits.hand_out([1, 1], pending=[2, 0])
    assert policy.limits.outstanding.tolist() == [3, 1]
    policy.limits.hand_out([1, 0], pending=[0, 0])  # all before were lost
    assert policy.limits.outstanding.tolist() == [3, 1]
    assert policy.ask(2, pending=[3, 1]).total == 2
