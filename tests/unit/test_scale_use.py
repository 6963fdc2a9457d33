"""Unequal use of the scale: where it looks like a favour or a lead, nothing is called sure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from score_tables import scored

Draw = Callable[[np.random.Generator], pd.DataFrame]


def _table(scores: np.ndarray, of: np.ndarray, by: np.ndarray) -> pd.DataFrame:
    """Return (options, judges) scores as a table, with groups of both; NaN is no score."""
    option, judge = np.nonzero(np.isfinite(scores))
    groups = {"option_group": of[option].astype(str), "evaluator_group": by[judge].astype(str)}
    return scored(scores).assign(**groups)


def _two_groups(rng: np.random.Generator, apart: float, lenient: float) -> tuple[np.ndarray, ...]:
    """Return groups of 20 options and 8 judges, values that differ by group, and leniencies."""
    of, by = rng.permutation(np.arange(20) % 2), rng.permutation(np.arange(8) % 2)
    values = apart * (2 * of - 1) + rng.normal(size=20)
    return of, by, values[:, None], lenient * (2 * by - 1)


def _at_the_ceiling(rng: np.random.Generator) -> pd.DataFrame:
    of, by, v, s = _two_groups(rng, -1.2, 1.0)
    return _table(np.clip(np.rint(8.0 + v + s + rng.normal(size=(20, 8))), 1.0, 10.0), of, by)


def _multiplied(rng: np.random.Generator) -> pd.DataFrame:
    of, by, v, s = _two_groups(rng, 0.5, 0.4)
    return _table(np.exp(v + s + 0.3 * rng.normal(size=(20, 8))), of, by)


def _stretched(rng: np.random.Generator) -> pd.DataFrame:
    of, by, v, _ = _two_groups(rng, 1.0, 0.0)
    return _table(np.where(by > 0, 1.4, 0.7) * v + rng.normal(size=(20, 8)), of, by)


@pytest.mark.parametrize("draw", [_at_the_ceiling, _multiplied, _stretched])
def test_a_bent_scale_is_no_favour(draw: Draw) -> None:
    n, seen, additive = 40, 0, 0
    for seed in range(n):
        audit = eh.audit(draw(np.random.default_rng([17, seed])))
        seen += not audit.bias.covers(0.0)
        additive += not audit.naive.covers(0.0)
    # nobody favours anybody: 2 of 40 are allowed, and 1.4 is the standard error of that
    assert seen <= 2 + 2 * 1.4
    assert additive > 2 + 2 * 1.4  # it is a trap


def test_a_favour_is_seen_where_groups_are_worth_the_same() -> None:
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng([18, seed])
        of, by, v, s = _two_groups(rng, 0.0, 0.5)
        favour = 0.8 * (of[:, None] == by)
        bias = eh.audit(_table(v + s + favour + rng.normal(size=(20, 8)), of, by)).bias
        assert bias.covers(0.0) == (bias.chance > 0.05)
        seen += bias.low > 0.0
    assert seen >= 26


def _committees(rng: np.random.Generator, stretched: float) -> pd.DataFrame:
    """Two committees with four options in common; the best two have one committee each."""
    scores = np.where(np.arange(16) < 2, 3.0, 2.0 - 2.0 * rng.random(16))
    steps = np.where(np.arange(10) < 5, stretched, 1.0 / stretched)
    y = steps * scores[:, None] + rng.normal(size=10) + 0.7 * rng.normal(size=(16, 10))
    y[:12:2, 5:] = y[1:12:2, :5] = np.nan
    none = np.zeros(16)
    return _table(y, none, none[:10]).drop(columns=["option_group", "evaluator_group"])


def test_two_committees_that_stretch_the_scale_differently_make_nobody_best() -> None:
    sure = 0
    for seed in range(24):
        sure += eh.decide(_committees(np.random.default_rng([6, seed]), 1.3), next_n=0).sure
    assert sure <= 1.2 + 2 * 1.07  # of 24: the best two are worth the same


def test_an_audit_calls_no_winner_safe_whom_another_committee_would_not_have_made_one() -> None:
    safe = 0
    for seed in range(16):
        rng = np.random.default_rng([6, seed])
        table = _committees(rng, 1.3)
        for whose in ("option", "evaluator"):
            names = table[whose].unique()
            groups = rng.permutation(np.arange(len(names)) % 2).astype(str)
            table[f"{whose}_group"] = table[whose].map(dict(zip(names, groups, strict=True)))
        safe += eh.audit(table).decisions["verdict"].tolist() == ["safe"]
    assert safe <= 0.8 + 2 * 0.87


def test_a_clear_lead_stays_sure_where_each_judge_scored_a_half() -> None:
    sure = 0
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        values = np.append(2.5, -2.0 * rng.random(11))
        y = values[:, None] + 0.7 * rng.normal(size=10) + 0.7 * rng.normal(size=(12, 10))
        y[rng.permuted(np.tile(np.arange(10) < 5, (12, 1)), axis=1)] = np.nan
        none = np.zeros(12)
        answer = eh.decide(_table(y, none, none[:10]), columns={"option_group": None}, next_n=0)
        sure += answer.sure and answer.label == "o0"
    assert sure >= 8


def test_options_that_the_same_judges_scored_are_not_held_to_the_use_of_the_scale() -> None:
    rng = np.random.default_rng(8)
    values = np.array([3.0, 0.0, -1.0, -2.0])[:, None] * np.array([1.6, 0.6, 1.0, 0.8, 1.2])
    none = np.zeros(5)
    table = _table(values + 0.3 * rng.normal(size=(4, 5)), none[:4], none)
    answer = eh.decide(table, columns={"option_group": None}, next_n=0)
    assert answer.sure
    assert not answer.alarms
