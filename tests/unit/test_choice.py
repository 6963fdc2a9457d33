"""Ask and tell over a record: no score decides which plan it counts for."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts

OPTIONS = {f"option {i}": "xy"[i % 2] for i in range(5)}
PEOPLE = {f"person {i}": "xyz"[i % 3] for i in range(6)}
PANEL = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None)
ACTIONS = eh.ActionSet(np.eye(4, 2) + 0.5, ["a", "b", "a", "b"])

KINDS: dict[str, Callable[[], Any]] = {
    "certain": lambda: eh.CertainChoice(ACTIONS, at_most=500, noise_scale=1.0),
    "certain, of a panel": lambda: eh.CertainChoice(PANEL, at_most=500, noise_scale=1.0),
    "careful": lambda: eh.search.CarefulChoice(ACTIONS, at_most=500, noise_scale=1.0),
    "planned": lambda: eh.search.PlannedChoice(
        eh.Questions.panel(OPTIONS, PEOPLE, capacity=2), noise_scale=1.0
    ),
}
any_choice = pytest.mark.parametrize("kind", KINDS)


def one(q: int, x: int, score: float) -> eh.Feedback:
    at = np.eye(1, q, x, dtype=np.int64)[0]
    return eh.Feedback(at, score * at, score**2 * at)


def as_they_come(
    policy: Any, rng: np.random.Generator, most: int
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


@pytest.mark.parametrize("at_most", [300, 600])
def test_nobody_is_idle_until_all_is_spent_or_certain(at_most: int) -> None:
    policy = eh.CertainChoice(PANEL, at_most=at_most, noise_scale=1.0)
    rng = np.random.default_rng(at_most)
    for _, pending, has_work in as_they_come(policy, rng, at_most):
        assert has_work or policy.spent + pending.sum() == at_most or policy.stopped_because
    assert policy.finished
    assert policy.stopped_because


def under_way(policy: Any, rng: np.random.Generator, sign: float) -> Iterator[Counts]:
    """Yield what is pending before each request, six at a time, until a plan is whole."""
    pending = np.zeros(len(policy.questions), dtype=np.int64)
    while not policy.record.finished:
        yield pending
        pending += policy.ask(6, pending).counts
        x = int(rng.choice(np.flatnonzero(pending)))
        policy.tell(one(len(pending), x, sign * 0.1 * rng.standard_normal()))
        pending[x] -= 1


@any_choice
def test_what_is_asked_in_a_plan_does_not_depend_on_its_scores(kind: str) -> None:
    """The same questions, answered at the same times and otherwise: the same is asked."""
    asked = []
    for sign in (1.0, -3.0):
        steps = under_way(KINDS[kind](), np.random.default_rng(4), sign)
        asked.append([pending.tolist() for pending in steps])
    assert len(asked[0]) >= 5
    assert asked[0] == asked[1]


def test_who_told_may_reuse_his_arrays() -> None:
    policy = eh.CertainChoice(ACTIONS, at_most=500)
    counts = policy.ask().counts.copy()
    for tell in (policy.tell, policy.observe):
        parts = counts.copy(), 0.5 * counts, 1.0 * counts
        tell(eh.Feedback(*parts))
        before = json.dumps(policy.state())
        for part in parts:
            part.fill(7)
        assert json.dumps(policy.state()) == before


def test_dear_questions_are_for_plans_only() -> None:
    prices = [1.0] * 5 + [50.0]
    dear = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None, prices=prices)
    policy = eh.CertainChoice(dear, noise_scale=1.0)
    asked = [0, 0]
    for person, _, has_work in as_they_come(policy, np.random.default_rng(5), 2_000):
        asked[person == 5] += has_work
    assert asked[1] <= 0.05 * asked[0]
