"""An evaluator who copies another's scores, and evaluators who agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.auditing.dependence import copies
from evenhand.scores import Factor, Scores


def table(scores: np.ndarray) -> Scores:
    e, k = scores.shape
    who, what = np.indices((e, k)).reshape(2, -1)
    names = [[f"{x}{n}" for n in column] for x, column in zip("eo", (who, what), strict=True)]
    return Scores(scores.reshape(-1), Factor.of(names[1]), Factor.of(names[0]))


@pytest.mark.parametrize("shift", [0.0, 3.5])
def test_who_copies_is_named(shift: float) -> None:
    scores = np.random.default_rng(1).normal(size=(5, 6))
    assert not copies(table(scores))
    scores[3] = scores[1] + shift
    (found,) = copies(table(scores))
    assert found.alarm
    assert "e1 and e3" in found.message


def test_marks_may_agree_by_chance_and_juries_in_earnest() -> None:
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(300):
        alarms += bool(copies(table(rng.integers(0, 2, size=(3, 6)).astype(float))))
        alarms += bool(copies(table(rng.integers(1, 4, size=(8, 6)).astype(float))))
    for _ in range(300):
        order = np.argsort(1.5 * np.arange(6) + rng.normal(size=(8, 6)), axis=1)
        alarms += bool(copies(table(np.argsort(order, axis=1).astype(float))))
    assert not copies(table(np.tile([7.1, 5.2, 6.4, 3.3, 8.0], (4, 1))))
    assert not alarms


def test_scale_changes_nothing() -> None:
    scores = np.random.default_rng(3).normal(size=(5, 6))
    scores[4] = scores[0]
    for size in (1e-200, 1.0, 1e12):
        assert len(copies(table(scores * size))) == 1


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
