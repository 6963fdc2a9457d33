"""An evaluator who copies another's scores, and evaluators who agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh


def copies(scores: np.ndarray) -> list[str]:
    """Return what `decide` says of evaluators who copy; a row of scores for each evaluator."""
    e, k = scores.shape
    rows = [(f"o{o}", f"e{j}", scores[j, o]) for j in range(e) for o in range(k)]
    frame = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    found = eh.decide(frame, next_n=0).alarms
    return [one.message for one in found if one.assumption == "copies"]


@pytest.mark.parametrize("shift", [0.0, 3.5])
def test_who_copies_is_named(shift: float) -> None:
    scores = np.random.default_rng(1).normal(size=(5, 6))
    assert not copies(scores)
    scores[3] = scores[1] + shift
    (found,) = copies(scores)
    assert "e1 and e3" in found


def test_marks_may_agree_by_chance_and_juries_in_earnest() -> None:
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(60):
        alarms += bool(copies(rng.integers(0, 2, size=(3, 6)).astype(float)))
        alarms += bool(copies(rng.integers(1, 4, size=(8, 6)).astype(float)))
    for _ in range(60):
        order = np.argsort(1.5 * np.arange(6) + rng.normal(size=(8, 6)), axis=1)
        alarms += bool(copies(np.argsort(order, axis=1).astype(float)))
    assert not copies(np.tile([7.1, 5.2, 6.4, 3.3, 8.0], (4, 1)))
    assert not alarms


def test_scale_changes_nothing() -> None:
    scores = np.random.default_rng(3).normal(size=(5, 6))
    scores[4] = scores[0]
    for size in (1e-90, 1.0, 1e12):
        assert len(copies(scores * size)) == 1


def test_decide_is_not_sure_where_a_judge_is_anothers_copy() -> None:
    rng = np.random.default_rng(5)
    scores = 3.0 * np.arange(6)[:, None] + rng.normal(scale=0.5, size=(6, 4))
    options, judges = [f"o{i}" for i in range(6)], ["P", "Q", "R", "S"]

    def decided(y: np.ndarray) -> eh.Answer:
        rows = [(o, j, y[a, b]) for a, o in enumerate(options) for b, j in enumerate(judges)]
        frame = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
        return eh.decide(scores=frame)

    honest = decided(scores)
    assert honest.sure
    assert not honest.alarms
    scores[:, 3] = scores[:, 0] + 1.0
    copied = decided(scores)
    assert not copied.sure
    assert any("P" in one.message and "S" in one.message for one in copied.alarms)
