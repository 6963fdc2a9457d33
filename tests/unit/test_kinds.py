"""Judges in kinds, by price: what cheap ones make certain has to be confirmed by dear ones."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.certainty.aim import Aim, model_of
from evenhand.certainty.alike import trusted_ones, unconfirmed
from evenhand.policies import Feedback

PEOPLE = ("P", "Q", "R")
PANEL = eh.Questions.panel(
    ["Ann", "Bo"], ["model", *PEOPLE], capacity=None, prices=dict.fromkeys(PEOPLE, 20.0)
)


@pytest.mark.parametrize(
    ("prices", "dear"),
    [
        ([1.0, 1.0, 4.9], None),  # nobody costs five times as much as the next
        ([1.0, 1.0, 5.0], [False, False, True]),
        ([1.0, 3.0, 40.0], [False, False, True]),  # where the step is largest
        ([5.0, 0.01, 4.0], [True, False, True]),
    ],
)
def test_kinds_are_told_apart_by_price(prices: list[float], dear: list[bool] | None) -> None:
    asked = eh.Questions.panel(
        ["A", "B"], ["x", "y", "z"], prices=dict(zip("xyz", prices, strict=True))
    )
    found = trusted_ones(asked, np.ones(6, dtype=np.int64))
    assert (None if found is None else found.tolist()) == dear


def test_who_was_not_asked_is_of_no_kind() -> None:
    asked = eh.Questions.panel(["A", "B"], ["x", "y", "z"], prices={"z": 5.0})
    assert trusted_ones(asked, np.array([1, 1, 0] * 2)) is None
    assert trusted_ones(asked, np.zeros(6, dtype=np.int64)) is None


def told(lead_of_model: float, lead_of_people: float, n: int) -> Feedback:
    """Return 400 scores of each by the model, n by each of three people, with noise 1."""
    rng, counts = np.random.default_rng(3), np.array([400, n, n, n] * 2)
    lead = np.array([lead_of_model, *[lead_of_people] * 3, 0.0, 0.0, 0.0, 0.0])
    scores = [lead[x] + rng.normal(size=counts[x]) for x in range(8)]
    return Feedback(counts, [s.sum() for s in scores], [(s**2).sum() for s in scores])


@pytest.mark.parametrize(
    ("by_model", "by_people", "n", "confirmed"),
    [
        (0.5, 0.5, 60, True),  # people alone have 0.5 ± 0.1
        (0.5, 0.0, 60, False),  # the model's liking
        (0.5, 0.0, 3, False),  # theirs is 0 ± 0.5
        (0.5, -0.5, 60, False),
    ],
)
def test_people_confirm_what_their_scores_alone_make_certain(
    by_model: float, by_people: float, n: int, confirmed: bool
) -> None:
    aim = Aim(model_of(PANEL), 0.95)
    found = unconfirmed(aim, told(by_model, by_people, n), [0])
    assert (found is None) == confirmed
    if found is not None:
        assert found.alarm
        assert "'model'" in found.message


def chosen(liking: float, gap: float, seed: int, **settings: object) -> eh.Answer:
    rng = np.random.default_rng(seed)

    def evaluate(question: eh.Question) -> float:
        likes = liking if question.evaluator == "model" else 0.0
        return (gap + likes) * (question.option == 0) + float(rng.normal())

    return eh.choose(PANEL, evaluate, at_most=2_000, seed=seed, progress=False, **settings)


def test_a_liking_of_the_cheap_judge_is_not_certain_and_a_lead_before_all_is() -> None:
    liked = [chosen(0.5, 0.0, seed) for seed in range(6)]
    assert sum(answer.sure for answer in liked) <= 1
    assert sum("kinds" in {found.assumption for found in one.alarms} for one in liked) >= 4
    worded = next(one for one in liked if one.alarms)
    assert "rests on judges who are not trusted" in str(worded)
    assert sum(chosen(0.0, 1.0, seed).sure for seed in range(6)) >= 3


def test_dear_judges_are_asked_once_as_much_as_it_should_take() -> None:
    answer = chosen(0.0, 1.0, 1)
    plans = [one.plan for one in answer.policy.record.rounds]  # type: ignore[attr-defined]
    (last,) = (plan for plan in plans if plan.purpose == "check the model")
    dear = PANEL.evaluator[last.order] > 0
    assert dear.sum() > 18  # 3 deviations of a lead of about 1: 2·9 at least, and more
    assert plans[-1] is last
    poor = chosen(0.0, 1.0, 1, budget=answer.paid / 4)  # no money for half of that
    assert not any(
        (PANEL.evaluator[one.plan.order] > 0).sum() > 18
        for one in poor.policy.record.rounds  # type: ignore[attr-defined]
        if one.plan.purpose == "check the model"
    )
    assert all(
        one.plan.purpose != "check the model"
        for one in chosen(0.0, 1.0, 1, checks=False).policy.record.rounds  # type: ignore[attr-defined]
    )
