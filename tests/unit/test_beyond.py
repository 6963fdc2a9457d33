"""Nobody waits for the last answers of a plan: what is asked beyond it, which no score decides."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.policies.base import more_of

OPTIONS = {f"option {i}": "xy"[i % 2] for i in range(5)}
PEOPLE = {f"person {i}": "xyz"[i % 3] for i in range(6)}
PANEL = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None)
ACTIONS = eh.ActionSet(np.eye(4, 2) + 0.5, ["a", "b", "a", "b"])


def as_they_come(
    policy: eh.Policy, questions: eh.Questions, rng: np.random.Generator, most: int
) -> Iterator[tuple[int, Counts, bool]]:
    """Yield who is free, what is pending, and whether there was work; tell all that comes."""
    who, names = questions.evaluator, questions.evaluators
    q, n = len(questions), len(names) or 6
    pending = np.zeros(q, dtype=np.int64)
    out: list[tuple[float, int, int]] = []
    free, now, told = list(range(n)), 0.0, 0
    while told < most and not policy.finished:
        for person in free.copy():
            available = who == person if names else None
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
        score = float(questions.about[x, 0] == 1) + rng.standard_normal()
        policy.tell(feedback(q, x, score))
        pending[x] -= 1
        told += 1
        free.append(person)


def feedback(q: int, x: int, score: float) -> eh.Feedback:
    counts, sums, squares = np.zeros(q, dtype=np.int64), np.zeros(q), np.zeros(q)
    counts[x], sums[x], squares[x] = 1, score, score**2
    return eh.Feedback(counts, sums, squares)


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_everybody_of_a_panel_has_work_until_the_answer(noise_scale: float | None) -> None:
    for seed in range(3):
        policy = eh.CertainChoice(PANEL, at_most=3_000, noise_scale=noise_scale)
        rng = np.random.default_rng(seed)
        for person, pending, has_work in as_they_come(policy, PANEL, rng, 3_000):
            first = not pending.any()  # whom a start does not ask first is asked beside others
            assert has_work or first or policy._answer is not None, (seed, person, policy.spent)
        assert policy.recommend().option == 1
        assert policy.recommend().loss == 0.0


@pytest.mark.parametrize("at_most", [37, 50, 300])
def test_batches_go_on_until_all_is_spent_and_looked_at(at_most: int) -> None:
    policy = eh.CarefulChoice(ACTIONS, at_most=at_most, noise_scale=1.0)
    rng = np.random.default_rng(at_most)
    for _, pending, has_work in as_they_come(policy, policy.questions, rng, at_most):
        assert has_work or policy.spent + pending.sum() == at_most or policy.stopped_because
    rounds = [np.asarray(kept["counts"]).sum() for kept in policy.memory()["rounds"]]
    assert sum(rounds) + policy._gathered.counts.sum() == policy.spent
    assert policy.stopped_because or not policy._gathered.counts.any()
    before = np.cumsum(rounds)
    assert any(more > 0.3 * had + 1 for more, had in zip(rounds[1:], before, strict=False))


def test_what_took_all_that_is_left_is_looked_at_though_the_batch_lacks_something() -> None:
    policy = eh.CarefulChoice(ACTIONS, at_most=37, noise_scale=1.0)
    assert policy.ask().counts.tolist() == [4, 4, 4, 4]
    counts = np.array([12, 12, 12, 1])
    policy.hand_out(counts)
    policy.tell(eh.Feedback(counts, 1.0 * counts, 2.0 * counts))
    assert policy.plan_id == 1
    assert not policy._gathered.counts.any()


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


@pytest.mark.parametrize("kind", ["certain", "careful"])
def test_what_is_asked_beyond_a_plan_does_not_depend_on_its_scores(kind: str) -> None:
    """The same questions, answered at the same times and otherwise: the same is asked."""

    def handed_out(sign: float) -> tuple[list[int], int | None]:
        policy: Any = eh.CertainChoice(PANEL, noise_scale=1.0)
        if kind == "careful":
            policy = eh.CarefulChoice(ACTIONS, at_most=500, noise_scale=1.0)
        rng, asked = np.random.default_rng(4), []
        questions = policy.questions
        names, q = questions.evaluators, len(questions)
        pending, plan = np.zeros(q, dtype=np.int64), policy.plan_id
        for i in range(4 * len(PEOPLE)):  # two whole openings; the first question stays out
            person = i % len(PEOPLE)
            available = questions.evaluator == person if names else None
            counts = policy.ask(1, pending, available).counts
            if not counts.any():
                break
            x = int(np.argmax(counts))
            asked.append(x)
            if i == 0:
                pending[x] += 1
                continue
            policy.hand_out(counts, pending)
            policy.tell(feedback(q, x, sign * float(rng.standard_normal())))
            if policy.plan_id != plan:
                break
        return asked, policy.plan_id

    assert handed_out(1.0) == handed_out(-3.0)


@pytest.mark.parametrize("rules", [1, 2])
def test_by_older_rules_a_stage_waits_for_who_never_comes(rules: int) -> None:
    """Records of then are gone on with, and derived again, by what held then."""
    policy = eh.CertainChoice(PANEL, noise_scale=1.0)
    policy.rules = rules
    rng, q = np.random.default_rng(7), len(PANEL)
    never = policy.ask(1, available=[PANEL.evaluators[0]]).counts  # it stays pending
    assert never.any()
    for i in range(60):
        person = 1 + i % (len(PEOPLE) - 1)
        counts = policy.ask(1, never, PANEL.evaluator == person).counts
        policy.tell(feedback(q, int(np.argmax(counts)), float(rng.standard_normal())))
    assert (policy.plan_id == 0) == (rules == 1)


@pytest.mark.parametrize("rules", [1, 2])
def test_a_record_is_derived_by_the_rules_it_began_with(
    rules: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eh.Policy, "rules", rules)
    made = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, at_most=150, noise_scale=1.0)
    rng = np.random.default_rng(8)
    for turn in range(40):
        for i, name in enumerate(PEOPLE):
            if (i or turn % 8 == 7) and (ticket := made.ask(name)):  # the first is slow
                made.tell(ticket.id, float(rng.standard_normal()))
    assert made.status().evaluations > 90
    assert made.verify()
    made.close()


def test_dear_questions_are_for_plans_only() -> None:
    prices = [1.0] * 5 + [50.0]
    dear = eh.Questions.panel(OPTIONS, PEOPLE, capacity=None, prices=prices)
    policy = eh.CertainChoice(dear, noise_scale=1.0)
    rng = np.random.default_rng(5)
    asked = [0, 0]
    for person, _, has_work in as_they_come(policy, dear, rng, 2_000):
        asked[person == 5] += has_work
    assert asked[1] <= 0.02 * asked[0]


def test_every_plan_is_in_the_log(tmp_path: Path) -> None:
    """However many answers are out when one ends: none comes and goes between two events."""
    two = eh.ActionSet([[1.0], [0.8]], ["a", "b"], ["A", "B"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", two, at_most=200, noise_scale=1.0)
    rng = np.random.default_rng(6)
    out: list[eh.Ticket] = []
    while True:
        for i in range(24 - len(out)):
            ticket = campaign.ask("model", worker=str(rng.integers(2**60)) + str(i))
            if isinstance(ticket, eh.Ticket):
                out.append(ticket)
        if not out:
            break
        for _ in range(min(len(out), 12)):
            ticket = out.pop(int(rng.integers(len(out))))
            campaign.tell(ticket, float(rng.standard_normal()))
    assert campaign.verify()
    (log,) = campaign.export(tmp_path / "log.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    plans = [
        plan["id"]
        for event in events
        if "plan" in event["body"]
        for plan in (*(p for _, p in event["body"].get("passed", ())), event["body"]["plan"])
    ]
    assert plans == list(range(len(plans)))
    campaign.close()
