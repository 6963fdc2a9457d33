"""Judges who are not trusted, corrected by those who are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.questions import Questions
from score_tables import scored

K, PEOPLE = 6, ("P", "Q", "R", "S")
JUDGES = ("model", *PEOPLE)
PANEL = Questions.panel(
    [f"o{o}" for o in range(K)], ["model", *PEOPLE], capacity=None, trusted=PEOPLE
)


@pytest.mark.parametrize("likes", [0.0, 0.5])
def test_shift_scale_and_leniency_change_nothing(likes: float) -> None:
    """Nor does who is not trusted, where likings are of any size: what people say is left."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(K, 1))
    people = values + rng.normal(size=4) + rng.normal(size=(K, 4))
    model = values + likes * rng.normal(size=(K, 1))

    def decided(y: np.ndarray, judges: tuple[str, ...]) -> eh.Answer:
        trusted = {"trusted": PEOPLE} if "model" in judges else {}
        return eh.decide(scored(y, judges), next_n=0, **trusted)  # type: ignore[arg-type] # two kinds of call

    y = np.hstack([model, people])
    first, moved = decided(y, JUDGES), decided(10.0 * y + 100.0 + 7.0 * np.eye(1, 5), JUDGES)
    y[:, 0] += 1e4 * np.arange(K) ** 2
    liked, alone = decided(y, JUDGES), decided(people, PEOPLE)
    for rival in range(1, K):
        one, ten, big, own = (a.compare(0, rival) for a in (first, moved, liked, alone))
        assert (ten.value, ten.low) == pytest.approx((10.0 * one.value, 10.0 * one.low), rel=1e-5)
        assert (big.value, big.low) == pytest.approx((own.value, own.low), rel=0.05, abs=0.05)


def test_a_choice_that_is_not_confirmed_is_not_sure() -> None:
    """Whatever the model says, and however often."""
    rng, rows = np.random.default_rng(8), []
    for judge in ("model", *PEOPLE):
        for o in range(K):
            for _ in range(20 if judge == "model" else 1):
                liked = 4.0 * (o == 0) if judge == "model" else 0.0
                rows.append((f"o{o}", judge, liked - 2.0 * (o > 1) + 0.3 * rng.normal()))
    frame = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    assert not eh.decide(frame, trusted=PEOPLE, repeats=True).sure


def labelled(seed: int, n: int, likes: float, k: int = 4, G: int = 60) -> pd.DataFrame:
    """Return scores of a model on all items and of a person on the first n."""
    rng = np.random.default_rng(seed)
    good = rng.normal(size=(k, 1)) + rng.normal(size=(k, G))
    rows = []
    liked = likes * rng.normal(size=k)
    for o in range(k):
        for g in range(G):
            rows.append((f"o{o}", "model", g, good[o, g] + liked[o] + 0.3 * rng.normal()))
            if g < n:
                rows.append((f"o{o}", "person", g, good[o, g] + 0.3 * rng.normal()))
    return pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])


def test_on_items_the_model_makes_leads_better_known() -> None:
    frame = labelled(10, 20, 0.1)
    people = frame[frame["evaluator"] == "person"]
    both, alone = eh.decide(frame, trusted=["person"]), eh.decide(people)
    wide, narrow = (np.ptp(one.conclusion.leads[:, 1:], axis=1) for one in (alone, both))
    rivals = np.delete(np.arange(4), both.option)
    assert both.option == alone.option
    assert (narrow[rivals] < wide[rivals]).all()


def test_who_is_trusted_must_be_an_evaluator() -> None:
    frame = labelled(1, 20, 0.0)
    with pytest.raises(eh.errors.InputError, match="'Zoe' is none of the evaluators"):
        eh.decide(frame, trusted=["Zoe"])
    with pytest.raises(eh.errors.InputError, match="nobody is named"):
        Questions.panel(["a", "b"], ["P"], trusted=[])


def test_who_is_trusted_is_kept() -> None:
    assert PANEL.trusted == PEOPLE
    assert Questions.from_dict(PANEL.to_dict()) == PANEL
    assert Questions.from_dict(PANEL.to_dict()).trusted == PEOPLE
    forged = PANEL.to_dict() | {"trusted": ["Zoe"]}
    with pytest.raises(eh.errors.InputError, match="trusted contradict"):
        Questions.from_dict(forged)
