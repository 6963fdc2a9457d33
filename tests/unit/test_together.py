"""Columns that nobody named, by which scores hang together."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.auditing import dependence as module
from evenhand.auditing.dependence import together
from evenhand.scores.read import read_table
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
    """Three options, four judges, five sessions in which all judges see the same."""
    shock = size * rng.normal(size=(5, 3))
    rows = itertools.product(range(5), range(3), range(4))
    return pd.DataFrame(
        [(f"o{o}", f"j{j}", f"s{s}", shock[s, o] + rng.normal()) for s, o, j in rows],
        columns=["option", "evaluator", "session", "score"],
    )


def found_in(table: pd.DataFrame) -> list[tuple[str, str]]:
    scores = read_table(table, repeats=True, beside=True)
    return [(one.column, one.of) for one in together(scores, scores.beside)]


@pytest.mark.parametrize("runs", [40, *nightly([100])])
@pytest.mark.parametrize("make", [on_items, in_sessions])
def test_what_hangs_together_by_nothing_is_seldom_found(make: Make, runs: int) -> None:
    rng = np.random.default_rng(3)
    found = sum(bool(found_in(make(rng, 0.0))) for _ in range(runs))
    assert found <= stats.binom.isf(1e-3, runs, module.LEVEL)


def test_templates_and_sessions_are_found_by_their_names() -> None:
    rng, runs = np.random.default_rng(4), 20
    items = [found_in(on_items(rng, 1.0)) for _ in range(runs)]
    assert items.count([("template", "items")]) >= 16
    sessions = [found_in(in_sessions(rng, 1.5)) for _ in range(runs)]
    assert sessions.count([("session", "scores")]) >= 16


def test_two_options_on_items_of_equal_clusters_have_the_order_of_the_f_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C grows with F between clusters of the leads by item, so the chances are those of F."""
    monkeypatch.setattr(module, "LEVEL", 1.0)
    for seed in range(5):
        table = on_items(np.random.default_rng(seed), 0.4)
        scores = read_table(table, repeats=True, beside=True)
        (one,) = together(scores, scores.beside)
        by_item = table.pivot_table(index=["template", "item"], columns="option", values="score")
        leads = by_item["o0"] - by_item["o1"]
        exact = stats.f_oneway(*(part.to_numpy() for _, part in leads.groupby("template"))).pvalue
        assert one.chance == pytest.approx(exact, abs=0.06)


def test_columns_that_say_nothing_of_clusters_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LEVEL", 10.0)
    table = in_sessions(np.random.default_rng(1), 1.0)
    table["family"] = np.where(table["option"] == "o0", "a", "b")
    table["row"] = np.arange(len(table)).astype(str)
    table["passed"] = np.where(table["score"] > 0, "yes", "no")
    table["same"] = "x"
    table["some"] = np.where(np.arange(len(table)) < 9, None, table["session"])
    assert found_in(table) == [("session", "scores")]


def test_nothing_is_sure_until_the_cluster_is_named() -> None:
    rng = np.random.default_rng(5)
    table = on_items(rng, 1.0)
    table.loc[table["option"] == "o0", "score"] += 1.5
    answer = eh.decide(table)
    assert not answer.sure
    assert [one.assumption for one in answer.alarms] == ["clusters"]
    assert "cluster='template'" in str(answer)
    assert not eh.decide(table, cluster="template").alarms
    assert eh.decide(table, cluster=None).sure
    assert not eh.decide(table.drop(columns="template")).alarms
