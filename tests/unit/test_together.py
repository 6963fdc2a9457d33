"""Columns that nobody named, by which scores hang together."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from rotation import nightly

Make = Callable[[np.random.Generator, float], pd.DataFrame]


def on_items(rng: np.random.Generator, size: float, options: int = 2) -> pd.DataFrame:
    """Options on 60 items from ten templates, each of which suits some of them."""
    template = np.repeat(np.arange(10), 6)
    y = size * rng.normal(size=(10, options))[template] + rng.normal(size=(60, options))
    rows = itertools.product(range(60), range(options))
    return pd.DataFrame(
        [(f"o{o}", f"i{i}", f"t{template[i]}", y[i, o]) for i, o in rows],
        columns=["option", "item", "template", "score"],
    ).assign(evaluator="P")


def in_sessions(rng: np.random.Generator, size: float) -> pd.DataFrame:
    """Three options, four judges, six sessions in which all judges see the same."""
    shock = size * rng.normal(size=(6, 3))
    rows = itertools.product(range(6), range(3), range(4))
    return pd.DataFrame(
        [(f"o{o}", f"j{j}", f"s{s}", shock[s, o] + rng.normal()) for s, o, j in rows],
        columns=["option", "evaluator", "session", "score"],
    )


def found_in(table: pd.DataFrame) -> list[str]:
    """Return the columns that `decide` says scores hang together by."""
    alarms = eh.decide(table, repeats=True, next_n=0).alarms
    said = " ".join(one.message for one in alarms if one.assumption == "clusters")
    return [column for column in table.columns if f"cluster={column!r}" in said]


@pytest.mark.parametrize("runs", [40, *nightly([100])])
@pytest.mark.parametrize("make", [on_items, in_sessions])
def test_what_hangs_together_by_nothing_is_seldom_found(make: Make, runs: int) -> None:
    rng = np.random.default_rng(3)
    found = sum(bool(found_in(make(rng, 0.0))) for _ in range(runs))
    assert found <= stats.binom.isf(1e-3, runs, 0.01)


def test_templates_and_sessions_are_found_by_their_names() -> None:
    rng, runs = np.random.default_rng(4), 20
    items = [found_in(on_items(rng, 1.0)) for _ in range(runs)]
    assert items.count(["template"]) >= 16
    sessions = [found_in(in_sessions(rng, 1.5)) for _ in range(runs)]
    assert sessions.count(["session"]) >= 16


@pytest.mark.parametrize(("sessions", "alarms"), [(3, 0), (4, 20), (5, 20)])
def test_few_sessions_are_a_sample_from_four_on(sessions: int, alarms: int) -> None:
    """Where all judges share the errors of a session, five are no strata."""
    rng, found = np.random.default_rng(8), 0
    for _ in range(20):
        table = in_sessions(rng, 4.0)
        some = table[table["session"].isin([f"s{s}" for s in range(sessions)])]
        found += found_in(some) == ["session"]
    assert found >= alarms - 6 if alarms else found == 0


def test_columns_that_say_nothing_of_clusters_are_passed_over() -> None:
    for seed in range(5):
        table = in_sessions(np.random.default_rng(seed), 3.0)
        table["family"] = np.where(table["option"] == "o0", "a", "b")
        table["row"] = np.arange(len(table)).astype(str)
        table["same"] = "x"
        table["some"] = np.where(np.arange(len(table)) < 9, None, table["session"])
        assert found_in(table) == ["session"]


def test_nothing_is_sure_until_the_cluster_is_named() -> None:
    rng = np.random.default_rng(5)
    table = on_items(rng, 1.0)
    table.loc[table["option"] == "o0", "score"] += 1.5
    answer = eh.decide(table)
    assert not answer.sure
    assert [one.assumption for one in answer.alarms] == ["clusters"]
    assert "cluster='template'" in str(answer)
    assert not eh.decide(table, columns={"cluster": "template"}).alarms
    assert eh.decide(table, columns={"cluster": None}).sure
    assert not eh.decide(table.drop(columns="template")).alarms
