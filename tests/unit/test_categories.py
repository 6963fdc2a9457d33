"""Options that are compared only inside their category, by one fit of all scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import InputError
from rotation import nightly

NAMES = [f"app {x}" for x in range(12)]
KIND = {name: ("art", "law", "sea")[x % 3] for x, name in enumerate(NAMES)}


def reviews(worth: np.ndarray, seed: int, each: int = 5, people: int = 9) -> pd.DataFrame:
    """Return reviews of all applications, each by some reviewers, of every category."""
    rng = np.random.default_rng(seed)
    lenient = 2.0 * rng.normal(size=people)
    rows = [
        (name, f"rev {who}", worth[x] + lenient[who] + 0.7 * rng.normal(), KIND[name])
        for x, name in enumerate(NAMES)
        for who in rng.choice(people, each, replace=False).tolist()
    ]
    return pd.DataFrame(rows, columns=["option", "evaluator", "score", "kind"])


APART = np.array([9, 9, 9, 6, 6, 6, 3, 3, 3, 0, 0, 0], dtype=float)


def test_the_line_is_drawn_in_every_category() -> None:
    table = reviews(APART + np.tile([0.0, 20.0, -20.0], 4), 1)  # categories are far apart
    answer = eh.decide(table, top=2, within="kind")
    assert answer.sure
    assert set(answer.chosen) == set(answer.inside) == set(NAMES[:6])
    frame = answer.standings.set_index("option")
    assert frame["category"].to_dict() == KIND
    assert frame["rank_high"].max() <= 4
    assert frame.groupby("category")["chance"].sum().to_numpy() == pytest.approx([2.0] * 3)
    assert "kind" in str(answer)
    best = eh.decide(table, within="kind")
    assert best.chosen == ("app 1", "app 0", "app 2")
    assert best.sure
    assert set(best.outside) == set(NAMES[3:])
    record = best.to_dict()
    assert record["target"]["within"] == "kind"
    assert {one["option"]: one["category"] for one in record["ranking"]} == KIND


def test_one_category_is_the_same_as_none() -> None:
    table = reviews(APART / 3, 2)
    plain = eh.decide(table, top=5)
    one = eh.decide(table, top=5, within=dict.fromkeys(NAMES, "all"))
    left, right = (a.standings.drop(columns="category", errors="ignore") for a in (plain, one))
    pd.testing.assert_frame_equal(left, right)
    assert plain.loss == one.loss
    assert plain.expected_loss == pytest.approx(one.expected_loss)
    first, again = eh.decide(table, top=1), eh.decide(table, within=dict.fromkeys(NAMES, "all"))
    assert (first.inside, first.outside) == (again.inside, again.outside)


def test_values_are_those_of_all_rows_and_other_categories_lend_their_leniency() -> None:
    """A reviewer's leniency is known from all categories: leads inside have smaller errors."""
    table = reviews(APART / 3, 3, each=3)
    whole = eh.decide(table)
    answer = eh.decide(table, top=2, within="kind")
    assert [one.value for one in answer.ranking] == [one.value for one in whole.ranking]
    two = answer.compare("app 0", "app 3")
    alone = eh.decide(table[table["kind"] == "art"]).compare("app 0", "app 3")
    assert two.high - two.low < alone.high - alone.low


def test_panels_that_share_nobody_are_no_hindrance() -> None:
    rng = np.random.default_rng(4)
    rows = [
        (f"{kind} {x}", f"{kind} judge {j}", 3.0 * x + rng.normal(), kind)
        for kind in ("art", "law")
        for x in range(4)
        for j in range(6)
    ]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score", "kind"])
    assert not eh.decide(table).comparable
    answer = eh.decide(table, within="kind")
    assert answer.comparable
    assert set(answer.inside) == {"art 3", "law 3"}
    by_both = {name: "x" if name.endswith(("0", "1")) else "y" for name in set(table["option"])}
    assert not eh.decide(table.drop(columns="kind"), within=by_both).comparable


def test_small_categories_are_in_and_next_questions_are_about_lines() -> None:
    table = reviews(APART / 6, 6)
    kinds = {name: "small" if name in NAMES[:2] else "large" for name in NAMES}
    answer = eh.decide(table, top=3, within=kinds)
    assert {"app 0", "app 1"} <= set(answer.inside)
    assert len(answer.chosen) == 5
    asked = {question.options[0] for question in answer.next_questions}
    assert asked
    assert not asked & {"app 0", "app 1"}


@pytest.mark.parametrize("tables", [25, *nightly([200])])
def test_wrong_no_more_often_than_said_with_ties_at_every_line(tables: int) -> None:
    """Two of each category are tied at its line: of 15% allowed, over all categories together."""
    worth, wrong = np.array([4, 4, 4, 0, 0, 0, -1e-9, -1e-9, -1e-9, -4, -4, -4.0]), 0
    for seed in range(tables):
        answer = eh.decide(reviews(worth, seed), top=2, within="kind", confidence=0.85, next_n=0)
        wrong += bool(set(answer.inside) & set(NAMES[6:]) or set(answer.outside) & set(NAMES[:6]))
    assert wrong / tables <= 0.15 + 2.5 * np.sqrt(0.15 * 0.85 / tables)


def test_what_cannot_be_is_refused() -> None:
    table = reviews(APART, 7)
    for given, said in (
        ({"within": "colour"}, "no column"),
        ({"within": "kind", "bar": 3.0}, "goes with top"),
        ({"within": "kind", "against": "app 0"}, "goes with top"),
        ({"within": "kind", "top": 4}, "4 at most"),
        ({"within": {"app 0": "art"}}, "gives no category to 'app 1'"),
        ({"within": "kind", "assigned": "adaptively"}, "one look"),
    ):
        with pytest.raises(InputError, match=said):
            eh.decide(table, **given)
    table.loc[3, "kind"] = "other"
    with pytest.raises(InputError, match="has one category"):
        eh.decide(table, within="kind")
    table.loc[3, "kind"] = None
    with pytest.raises(InputError, match="the cell is empty"):
        eh.decide(table, within="kind")
