"""Ask and tell over a record: no score decides which plan it counts for."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.certainty.choice import Choice, more_of

OPTIONS = {f"option {i}": "xy"[i % 2] for i in range(5)}
PEOPLE = {f"person {i}": "xyz"[i % 3] for i in range(6)}
PANEL = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None)
ACTIONS = eh.ActionSet(np.eye(4, 2) + 0.5, ["a", "b", "a", "b"])

KINDS: dict[str, Callable[[], Choice]] = {
    "certain": lambda: eh.CertainChoice(ACTIONS, at_most=500, noise_scale=1.0),
    "certain, of a panel": lambda: eh.CertainChoice(PANEL, at_most=500, noise_scale=1.0),
    "careful": lambda: eh.certainty.CarefulChoice(ACTIONS, at_most=500, noise_scale=1.0),
    "planned": lambda: eh.certainty.PlannedChoice(
        eh.Questions.panel(OPTIONS, PEOPLE, capacity=2), noise_scale=1.0
    ),
}
any_choice = pytest.mark.parametrize("kind", KINDS)


def one(q: int, x: int, score: float) -> eh.Feedback:
    at = np.eye(1, q, x, dtype=np.int64)[0]
    return eh.Feedback(at, score * at, score**2 * at)


def as_they_come(
    policy: Choice, rng: np.random.Generator, most: int
) -> Iterator[tuple[int, Counts, bool]]:
    """Yield who is free, what is pending, and whether there was work; tell all that comes."""
    questions = policy.questions
    who, names, q = questions.evaluator, questions.evaluators, len(questions)
    pending = np.zeros(q, dtype=np.int64)
    out: list[tuple[float, int, int]] = []
    free, now, told = list(range(len(names) or 6)), 0.0, 0
    while told < most and not policy.finished:
        for person in free.copy():
            available = [names[person]] if names else None
            counts = policy.ask(1, pending, available).counts
            yield person, pending, bool(counts.any())
            if counts.any():
                x = int(np.argmax(counts))
                assert who[x] in (-1, person)
                pending[x] += 1
                heapq.heappush(out, (now + float(rng.lognormal()), person, x))
                free.remove(person)
        if not out:
            return
        now, person, x = heapq.heappop(out)
        policy.tell(one(q, x, float(questions.about[x, 0] == 1) + rng.standard_normal()))
        pending[x] -= 1
        told += 1
        free.append(person)


@pytest.mark.parametrize("at_most", [37, 50, 300])
def test_nobody_is_idle_until_all_is_spent_and_looked_at(at_most: int) -> None:
    policy = eh.certainty.CarefulChoice(ACTIONS, at_most=at_most, noise_scale=1.0)
    rng = np.random.default_rng(at_most)
    for _, pending, has_work in as_they_come(policy, rng, at_most):
        assert has_work or policy.spent + pending.sum() == at_most or policy.stopped_because
    assert policy.finished
    assert policy.stopped_because
    looked_at = sum(round_.count for round_ in policy.record.rounds)
    assert looked_at == policy.spent or policy.recommend().certainty is not None


@any_choice
def test_a_plan_is_whole_by_counts_alone(kind: str) -> None:
    """Whoever answers first: a late score, or one beyond the plan, is a row of the next plan's."""
    policy, others = KINDS[kind](), 0
    for _ in as_they_come(policy, np.random.default_rng(2), 200):
        pass
    rounds = policy.record.rounds
    assert len(rounds) > 1 or kind == "planned"
    for r, round_ in enumerate(rounds):
        assert round_.count <= round_.plan.number
        assert round_.count == round_.plan.number or r == len(rounds) - 1
        others += int((round_.total.counts > round_.plan.wanted(policy.record.q)).sum())
    assert others or kind == "planned"
    told = sum(round_.count for round_ in rounds) + len(policy.record.early)
    assert told == policy.spent


def filled(policy: Choice, rng: np.random.Generator, sign: float = 1.0, plans: int = 2) -> Counts:
    """Make plans whole, with six evaluations still out; return those."""
    q = policy.record.q
    pending = np.zeros(q, dtype=np.int64)
    while len(policy.record.rounds) < plans or not policy.record.rounds[-1].whole:
        pending += policy.ask(6, pending).counts
        x = int(rng.choice(np.flatnonzero(pending)))
        under_way = len(policy.record.rounds) == plans
        policy.tell(one(q, x, (sign if under_way else 1.0) * rng.standard_normal()))
        pending[x] -= 1
        if under_way and policy.settled:
            break
    return pending


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "planned"])
def test_no_plan_is_made_by_scores_that_count_for_it(kind: str) -> None:
    """What comes after a plan is whole counts for the next, which is the same whatever it says."""
    made = []
    for sign in (1.0, -50.0):
        policy, rng = KINDS[kind](), np.random.default_rng(3)
        pending = filled(policy, rng)
        assert policy.plan(pending) is not None
        for x in np.repeat(np.arange(len(pending)), pending)[:3].tolist():
            policy.tell(one(len(pending), x, sign * rng.standard_normal()))
            pending[x] -= 1
        assert len(policy.record.early) == 3
        plan = policy.plan(pending)
        assert plan is not None
        made.append(plan)
        policy.begin(plan)
        assert policy.record.rounds[-1].count == min(3, policy.record.rounds[-1].plan.number)
    assert made[0] == made[1]


@any_choice
def test_what_is_asked_in_a_plan_does_not_depend_on_its_scores(kind: str) -> None:
    """The same questions, answered at the same times and otherwise: the same is asked."""

    def handed_out(sign: float) -> list[list[int]]:
        policy, rng, asked = KINDS[kind](), np.random.default_rng(4), []
        q = policy.record.q
        pending = np.zeros(q, dtype=np.int64)
        for _ in range(200):
            counts = policy.ask(6, pending).counts
            if len(policy.record.rounds) > 1:
                return asked
            asked.append(counts.tolist())
            pending += counts
            if not pending.any():
                return asked
            x = int(rng.choice(np.flatnonzero(pending)))
            policy.tell(one(q, x, sign * 0.1 * rng.standard_normal()))
            pending[x] -= 1
        return asked

    first, other = handed_out(1.0), handed_out(-3.0)
    both = min(len(first), len(other))
    assert both >= 6
    assert first[:both] == other[:both]


@pytest.mark.parametrize("at_most", [37, 10**6])
def test_what_came_beyond_the_last_plan_is_looked_at(at_most: int) -> None:
    """Where what is left will not do, or there is nothing left."""
    policy = eh.certainty.CarefulChoice(ACTIONS, at_most=at_most, noise_scale=1.0)
    assert policy.ask().counts.tolist() == [4, 4, 4, 4]
    counts = np.array([12, 12, 12, 1])
    policy.limits.hand_out(counts, pending=np.zeros(4, dtype=np.int64))
    for x in np.repeat(np.arange(4), counts).tolist():
        policy.tell(one(4, x, 1.0 if policy.spent % 2 else -1.0))
    policy.ask(1)
    assert sum(round_.count for round_ in policy.record.rounds) == 37
    assert policy.conclusion is not None
    assert policy.conclusion.look.scores.counts.tolist() == counts.tolist()


def test_who_told_may_reuse_his_arrays() -> None:
    for told in ("early", "observed"):
        policy = eh.CertainChoice(ACTIONS, at_most=500)
        policy.ask()
        policy.limits.hand_out([9, 9, 9, 9], pending=[0, 0, 0, 0])
        while not policy.record.rounds[0].whole:
            policy.tell(one(4, int(np.argmax(policy.limits.outstanding)), 0.5))
        parts = np.array([1, 0, 0, 0]), np.array([0.5, 0.0, 0.0, 0.0]), np.array([1.0, 0, 0, 0])
        (policy.tell if told == "early" else policy.observe)(eh.Feedback(*parts))
        before = policy.record.everything
        for part in parts:
            part.fill(7)
        assert np.array_equal(policy.record.everything.counts, before.counts)
        assert np.array_equal(policy.record.everything.sums, before.sums)


def test_more_of_a_plan_keeps_to_its_proportions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        wanted = rng.integers(0, 9, 6)
        wanted[rng.integers(6)] += 1
        n = int(rng.integers(0, 60))
        more = more_of(wanted, wanted, n)
        assert more.sum() == n
        assert not more[wanted == 0].any()
        assert (np.abs(more - n * wanted / wanted.sum()) <= 2.0).all()


def test_dear_questions_are_for_plans_only() -> None:
    prices = [1.0] * 5 + [50.0]
    dear = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None, prices=prices)
    policy = eh.CertainChoice(dear, noise_scale=1.0)
    asked = [0, 0]
    for person, _, has_work in as_they_come(policy, np.random.default_rng(5), 2_000):
        asked[person == 5] += has_work
    assert asked[1] <= 0.02 * asked[0]
