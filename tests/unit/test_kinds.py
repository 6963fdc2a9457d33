"""Judges in kinds, by price: what cheap ones make certain has to be confirmed by dear ones."""

from __future__ import annotations

import numpy as np

import evenhand as eh

PEOPLE = ("P", "Q", "R")
PANEL = eh.Questions.panel(
    ["Ann", "Bo"], ["model", *PEOPLE], capacity=None, prices=dict.fromkeys(PEOPLE, 20.0)
)


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

    assert sum(chosen(0.0, 1.0, seed).sure for seed in range(6)) >= 3
