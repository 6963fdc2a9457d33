"""Policies that go on with more options, evaluators or capacity; and logged scores."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts
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
    items = [questions.options.labels[x] for x in questions.about[asked, 0].tolist()]
    means = np.array([VALUES[name] for name in items])
    means += 0.5 * questions.attributes[asked, 0]
    return eh.Feedback.from_scores(questions, asked, means + rng.standard_normal(len(asked)))


def told_until(
    policy: eh.CertainChoice, n: int = 10**6, by: int = 3, seed: int = 1
) -> eh.CertainChoice:
    rng = np.random.default_rng(seed)
    while policy.spent < n and not policy.finished:
        policy.tell(scores(policy.questions, policy.ask(by).counts, rng))
    return policy


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
    "evaluator 'P' may be asked less than before": panel(workload=[9, 5, 9]),
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


def test_an_order_of_questions_means_nothing() -> None:
    """The same questions in another order: the same evidence, intervals and losses, by name."""
    old = told_until(eh.CertainChoice(panel(), noise_scale=1.0), 90)
    other = {name: OPTIONS[name] for name in ("Cy", "Ann", "Bo")}
    new = old.extended(panel(other))
    at = [new.options.labels.index(name) for name in OPTIONS]
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


def test_an_answer_stands_until_there_is_another_option() -> None:
    policy = told_until(eh.CertainChoice(panel(), at_most=4_000), by=20, seed=3)
    assert policy.recommend().label == "Ann"
    judges = policy.extended(panel(OPTIONS, MORE_JUDGES))
    assert judges.finished
    assert judges.recommend().loss == 0.0
    more = policy.extended(panel(MORE_OPTIONS, MORE_JUDGES))
    assert more.stopped_because is None
    assert more.recommend().loss > 0.0
    told_until(more, by=20, seed=4)
    assert more.recommend().label == "Ann"
    again = eh.restore(json.loads(json.dumps(more.state())))
    assert isinstance(again, eh.CertainChoice)
    assert repr(again.recommend()) == repr(more.recommend())
    assert again.purpose() == more.purpose()


def test_logged_scores_are_no_evidence() -> None:
    """They say who leads; nothing is certain by them, however many there are."""
    questions, rng = panel(), np.random.default_rng(4)
    policy = eh.CertainChoice(questions, noise_scale=1.0)
    policy.observe(scores(questions, np.full(len(questions), 2_000), rng))
    assert policy.ask(1).total == 1
    assert policy.purpose()["what"] == "compare"
    assert (policy.recommend().label, policy.recommend().loss) == ("Ann", math.inf)


def once(options: Any = OPTIONS, judges: Any = JUDGES) -> Questions:
    return panel(options, judges, capacity=1)


def test_a_plan_leaves_out_what_was_scored() -> None:
    """The rest is the plan, and what it says is what the rest says by itself."""
    questions, rng = once(judges=MORE_JUDGES), np.random.default_rng(7)
    logged = np.array([questions.evaluator_of(x) == "S" for x in range(len(questions))])
    policy = eh.search.PlannedChoice(questions)
    policy.ask()  # all of it, which nobody acts on
    policy.observe(scores(questions, logged.astype(np.int64), rng))
    alone = eh.search.PlannedChoice(panel(judges=MORE_JUDGES, capacity=[1, 1, 1, 0]))
    for n in (2, 3, 4):
        told = scores(questions, policy.ask(n).counts, rng)
        assert told.counts.sum() == n
        policy.tell(told)
        alone.tell(eh.Feedback(*(part * (alone.ask(n).counts > 0) for part in told.parts)))
        assert repr(policy.recommend()) == repr(alone.recommend())
    assert policy.finished
    with pytest.raises(eh.InputError, match="before the first answer"):
        policy.observe(scores(questions, logged.astype(np.int64), rng))


def test_a_plan_that_cannot_compare_without_logged_scores_is_refused() -> None:
    questions, rng = once(), np.random.default_rng(8)
    policy = eh.search.PlannedChoice(questions)
    about_ann = (questions.about[:, 0] == 0).astype(np.int64)
    before = json.dumps(policy.state())
    with pytest.raises(eh.InputError, match="do not compare all options"):
        policy.observe(scores(questions, about_ann, rng))
    assert json.dumps(policy.state()) == before
    assert policy.ask().total == 9


def test_a_longer_plan_is_one_plan() -> None:
    """Extended in the midst, it ends as the plan of all answers does, with all of δ."""
    small, wide = once(), once(MORE_OPTIONS, MORE_JUDGES)
    rng = np.random.default_rng(9)
    policy = eh.search.PlannedChoice(small)
    first = scores(small, policy.ask(5).counts, rng)
    policy.tell(first)
    new = policy.extended(wide)
    assert (new.spent, new.ask(99).total) == (5, 11)
    second = scores(wide, new.ask(99).counts, rng)
    new.tell(second)
    parts = [part.copy() for part in second.parts]
    at = [wide.labels.index(label) for label in small.labels]
    for part, earlier in zip(parts, first.parts, strict=True):
        part[at] += earlier
    whole = eh.search.PlannedChoice(wide)
    whole.ask()
    whole.tell(eh.Feedback(*parts))
    assert repr(new.recommend()) == repr(whole.recommend())
    with pytest.raises(eh.InputError, match="looked at"):
        new.extended(once(MORE_OPTIONS, MORE_JUDGES | {"T": "it"}))
    with pytest.raises(eh.InputError, match="looked at"):
        new.allow(99)


def test_a_plan_of_more_answers_has_those_that_are_in() -> None:
    questions, rng = panel(capacity=4), np.random.default_rng(12)
    policy = eh.search.PlannedChoice(questions, at_most=12, confidence=0.9999)
    policy.tell(scores(questions, policy.ask(7).counts, rng))
    policy.allow(30)
    assert policy.ask().total == 23
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert again.ask().total == 23
    policy.tell(scores(questions, policy.ask(3).counts, rng))
    policy.allow(30, budget=25.0)  # more than before is planned only where more is allowed
    policy.tell(scores(questions, policy.ask().counts, rng))
    assert (policy.spent, policy.finished) == (25, True)
    with pytest.raises(eh.InputError, match="looked at"):
        policy.allow(36, budget=36.0)


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
