"""Policies that go on with more options, evaluators or capacity; and plans that are adopted."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.certainty.stages import Expected
from evenhand.questions import Questions, Superset

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


def told_until(policy: eh.Policy, n: int, seed: int = 1) -> eh.Policy:
    rng = np.random.default_rng(seed)
    while policy.spent < n:
        policy.tell(scores(policy.questions, policy.ask(3).counts, rng))
    return policy


def by_hand(
    questions: Questions, told: eh.Feedback, leader: int, rivals: Any, expected: Expected
) -> np.ndarray:
    """log E of a stage of known noise 1, from the rows of its own evaluations."""
    A = np.repeat(questions.points, told.counts, axis=0)
    cov = np.linalg.pinv(A.T @ A)
    theta = cov @ (questions.points.T @ told.sums)
    effects, weights = expected.prior(0.0)
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
    with pytest.raises(eh.InputError, match="cannot go on with others"):
        eh.policy("uniform", old, 10).extended(old)


# ---------------------------------------------------------------------- certain choice


def test_an_order_of_questions_means_nothing() -> None:
    """The same questions in another order: the same evidence, intervals and losses, by name."""
    old = told_until(eh.CertainChoice(panel(), noise_scale=1.0), 90)
    other = {name: OPTIONS[name] for name in ("Cy", "Ann", "Bo")}
    new = old.extended(panel(other))
    at = [new.options.labels.index(name) for name in OPTIONS]
    assert new._wealth[at] == pytest.approx(old._wealth)
    assert len(old._history) > 2
    assert old.recommend().label == new.recommend().label
    leads = new.recommend().leads[at]
    assert leads == pytest.approx(old.recommend().leads, abs=1e-7)
    assert new.values()[at] == pytest.approx(old.values(), abs=1e-7)
    for (_, one), (_, two) in zip(old.biases(), new.biases(), strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))
    assert new._loss(at[0]) == pytest.approx(old._loss(0), abs=1e-7)


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_the_stage_under_way_is_not_cut(noise_scale: float | None) -> None:
    """Old and extended policy are told the same rest of a stage, and have the same evidence."""
    old, rng = eh.CertainChoice(panel(), noise_scale=noise_scale), np.random.default_rng(2)
    while old._stage.leader < 0 or old._of_stage.counts.sum() != 4:
        old.tell(scores(old.questions, old.ask(1).counts, rng))
    new = old.extended(panel(MORE_OPTIONS, MORE_JUDGES))
    to, number = Superset.of(old.questions, new.questions), old.plan_id
    while old.plan_id == number:
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
    assert new._wealth[to.options] == pytest.approx(old._wealth, abs=1e-8)
    assert new._wealth[new.options.labels.index("Zoë")] == 0.0
    first = {new.questions.items[x] for x in new.questions.about[new._stage.order, 0]}
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
    assert {names[x] for x in np.flatnonzero(more._rejected)} == {"Bo", "Cy"}
    while not more.finished:
        more.tell(scores(more.questions, more.ask(20).counts, rng))
    assert more.recommend().label == "Ann"
    again = eh.restore(json.loads(json.dumps(more.state())))
    assert repr(again.recommend()) == repr(more.recommend())
    assert again.purpose() == more.purpose()


def test_known_features_help_old_stages_as_they_did() -> None:
    """Of a stage before the extension, what was expected of old options does not change."""
    X = {"Ann": [1.0], "Bo": [0.5], "Cy": [0.2], "Zoë": [0.9]}
    few, many = list(OPTIONS), ["Zoë", *OPTIONS]
    old = eh.CertainChoice(panel(OPTIONS, features=[X[n] for n in few]), noise_scale=1.0)
    told_until(old, 60)
    wide = {name: MORE_OPTIONS[name] for name in many}
    new = old.extended(panel(wide, MORE_JUDGES, features=[X[n] for n in many]))
    for (stage, _), (moved, _) in zip(old._history, new._history, strict=True):
        if stage.before is not None and stage.leader >= 0:
            now = moved.before.leads(moved.leader, moved.rivals)
            assert now.estimates == pytest.approx(stage.expected.leads, abs=1e-7)
            assert now.variances == pytest.approx(stage.expected.variances, rel=1e-6)


# ---------------------------------------------------------------------- logged scores


def test_logged_scores_are_no_evidence() -> None:
    """They say who leads and what is expected; the evidence is that of the stage alone."""
    questions, rng = panel(), np.random.default_rng(4)
    policy = eh.CertainChoice(questions, noise_scale=1.0)
    logged = scores(questions, np.full(len(questions), 20), rng)
    policy.observe(logged)
    stage = policy._stage
    assert stage.leader == int(np.argmax(logged.sums.reshape(3, 3).sum(axis=1)))
    assert policy.purpose()["what"] == "compare"
    assert not policy._wealth.any()
    assert policy.recommend().loss == math.inf
    while policy._stage is stage:
        told = policy._of_stage
        now = scores(questions, policy.ask(1).counts, rng)
        policy.tell(now)
        told = told + now
        if policy._answer is not None:
            break
    E = by_hand(questions, told, stage.leader, stage.rivals, stage.expected)
    assert policy._wealth[stage.rivals] == pytest.approx(E, abs=1e-9)
    A = questions.points * math.sqrt(20)
    cov = np.linalg.pinv(A.T @ A)
    c = np.eye(A.shape[1])[stage.leader] - np.eye(A.shape[1])[stage.rivals]
    assert stage.expected.variances == pytest.approx(np.einsum("ij,jk,ik->i", c, cov, c))


def test_logged_scores_in_the_midst_change_the_next_stage_only() -> None:
    questions, rng = panel(), np.random.default_rng(5)
    plain, heard = (eh.CertainChoice(questions, noise_scale=1.0) for _ in range(2))
    while plain._stage.leader < 0 or not plain._of_stage.counts.any():
        told = scores(questions, plain.ask(1).counts, rng)
        for policy in (plain, heard):
            policy.ask(1)
            policy.tell(told)
    plan = heard.plan()
    heard.observe(scores(questions, np.full(len(questions), 50), rng))
    assert heard.plan() == plan
    number = plain.plan_id
    while plain.plan_id == number:
        told = scores(questions, plain.ask(1).counts, rng)
        for policy in (plain, heard):
            policy.ask(1)
            policy.tell(told)
    assert np.array_equal(plain._wealth, heard._wealth)
    fits = [policy._stage.before.leads(0, np.array([1])).variances[0] for policy in (plain, heard)]
    assert fits[1] < 0.2 * fits[0]


def test_a_bias_is_measured_by_its_own_design_alone() -> None:
    questions, rng = panel(), np.random.default_rng(6)
    plain, heard = (eh.CertainChoice(questions, 40, target="bias") for _ in range(2))
    heard.observe(scores(questions, np.full(len(questions), 50), rng))
    while not plain.finished:
        counts = plain.ask(8).counts
        assert np.array_equal(heard.ask(8).counts, counts)
        told = scores(questions, counts, rng)
        plain.tell(told)
        heard.tell(told)
    assert heard.bias() == plain.bias()


# ---------------------------------------------------------------------- careful choice


def test_careful_choice_asks_about_new_options_in_the_batch_under_way() -> None:
    X, groups = [[1.0], [0.5], [0.2], [0.1]], ["a", "b", "a", "b"]
    old = eh.ActionSet(X, groups, ["Ann", "Bo", "Cy", "Di"])
    wide = eh.ActionSet([[0.9], *X], ["a", *groups], ["Zoë", "Ann", "Bo", "Cy", "Di"])
    problem = eh.BiasedLinearBandit(old, gamma=[3.0], omega=0.5)
    judge = eh.SimulatedEvaluations(problem, seed=1)
    policy = eh.CarefulChoice(old, at_most=2_000)
    policy.tell(judge.evaluate(policy.ask()))
    part = policy.ask(3)
    policy.tell(judge.evaluate(part))
    rest = policy.ask().counts
    new = policy.extended(wide)
    assert new.ask().counts.tolist() == [4, *rest.tolist()]
    assert (new.spent, new.plan_id) == (policy.spent, policy.plan_id + 1)
    more = eh.SimulatedEvaluations(eh.BiasedLinearBandit(wide, gamma=[3.0], omega=0.5), seed=2)
    twin = eh.restore(json.loads(json.dumps(new.state())))
    told = more.evaluate(new.ask())
    for each in (new, twin):
        each.tell(told)
    assert repr(new.recommend()) == repr(twin.recommend())
    assert np.array_equal(new._all.counts, np.append(0, policy._all.counts) + told.counts
                          + np.append(0, part.counts))  # fmt: skip
    while not new.finished:
        new.tell(more.evaluate(new.ask()))
    assert new.recommend().label == "Ann"


# ---------------------------------------------------------------------- plans


def test_an_adopted_stage_is_asked_and_weighed_as_it_says() -> None:
    """Another machine may expect something else, and ask in another order: so be it."""
    questions, rng = panel(), np.random.default_rng(11)
    policy = told_until(eh.CertainChoice(questions, noise_scale=1.0), 40)
    while policy._stage.leader < 0 or policy._of_stage.counts.any():
        policy.tell(scores(questions, policy.ask(1).counts, rng))
    plan = json.loads(json.dumps(policy.plan()))
    plan["order"] = plan["order"][::-1]
    plan["expected"]["leads"] = [2.0 * lead + 0.1 for lead in plan["expected"]["leads"]]
    wealth = policy._wealth.copy()
    policy.adopt(plan)
    assert policy.plan() == plan
    stage, asked, told = policy._stage, [], None
    while policy._stage is stage and policy._answer is None:
        counts = policy.ask(1).counts
        asked.append(int(np.argmax(counts)))
        now = scores(questions, counts, rng)
        told = now if told is None else told + now
        policy.tell(now)
    assert asked == plan["order"][: len(asked)]
    assert told is not None
    if policy._answer is None:
        E = by_hand(questions, told, stage.leader, stage.rivals, stage.expected)
        assert policy._wealth[stage.rivals] == pytest.approx(wealth[stage.rivals] + E, abs=1e-9)


@pytest.mark.parametrize("name", ["careful-choice", "explore-then-commit"])
def test_a_round_is_the_one_of_the_plan(name: str) -> None:
    actions = eh.ActionSet([[1.0], [0.5], [0.2]], ["a", "b", "a"])
    policy = eh.policy(name, actions, 600)
    policy.adopt({"id": 0, "questions": [0, 2], "counts": [5, 1]})
    assert policy.ask().counts.tolist() == [5, 0, 1]
    policy.hand_out([0, 4, 0])
    other = eh.Feedback([0, 1, 0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    if policy.goes_beyond:
        policy.tell(other)
    else:
        with pytest.raises(eh.InputError, match="does not ask for these evaluations now"):
            policy.tell(other)
    assert policy.spent == policy.goes_beyond
    assert policy.plan_id == 0
    policy.tell(eh.Feedback([5, 0, 1], [5.0, 0.0, 1.0], [6.0, 0.0, 1.0]))
    assert policy.plan_id == 1


def test_what_is_handed_out_adds_up_unless_it_was_lost() -> None:
    policy = eh.policy("uniform", eh.ActionSet([[1.0], [0.5]], ["a", "b"]), 50)
    policy.hand_out([2, 0])
    policy.hand_out([1, 1])
    assert policy.outstanding.tolist() == [3, 1]
    policy.hand_out([1, 0], pending=[0, 0])  # all before were lost
    assert policy.outstanding.tolist() == [3, 1]
    assert policy.ask(2, pending=[3, 1]).total == 2
