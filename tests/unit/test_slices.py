"""The same question in every slice, with one level over all, and win rates beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.answers.slices import win_rate
from evenhand.errors import InputError, RequirementError

LANGUAGES = ("en", "de", "fr")


def runs(lead: dict[str, dict[str, float]], items: int = 40, seed: int = 0) -> pd.DataFrame:
    """Return scores on items of three languages, with leads over the baseline by language."""
    rng = np.random.default_rng(seed)
    rows = []
    for language in LANGUAGES:
        for item in range(items):
            hard = rng.normal()
            for name, by in ({"base": dict.fromkeys(LANGUAGES, 0.0)} | lead).items():
                y = hard + by[language] + 0.2 * rng.normal()
                rows.append((name, f"{language} {item}", language, y))
    return pd.DataFrame(rows, columns=["option", "item", "language", "score"])


MIXED = {"new": {"en": 0.5, "de": 0.5, "fr": -0.4}, "big": dict.fromkeys(LANGUAGES, 0.05)}


def test_a_slice_is_decided_by_its_own_rows_at_its_share_of_the_level() -> None:
    table = runs(MIXED)
    answer = eh.decide(table, slices="language", against="base", tolerance=0.1)
    whole = eh.decide(table.drop(columns="language"), against="base", tolerance=0.1)
    assert answer.slices is not None
    assert [one.value for one in answer.ranking] == [one.value for one in whole.ranking]
    assert answer.slices.names == LANGUAGES
    worst = {"new": 0.0, "big": 0.0}
    for language in LANGUAGES:
        rows = table[table["language"] == language].drop(columns="language")
        alone = eh.decide(rows, confidence=1.0 - 0.05 / 3, against="base", tolerance=0.1)
        assert answer.slices.answers[language].confidence == pytest.approx(alone.confidence)
        verdicts = alone.standings.set_index("option")["verdict"]
        for row in answer.slices:
            if row.slice == language:
                assert row.option is not None
                said = verdicts[row.option]
                assert row.verdict == ("cannot tell" if said.startswith("probably") else said)
                # two differences with the baseline in each of three slices
                two = replace(alone, confidence=1.0 - 0.05 / 6).compare(row.option, "base")
                assert (row.lead.low, row.lead.high) == (two.low, two.high)
                assert row.at_least == two.at_least
                worst[row.option] = max(worst[row.option], -two.at_least)
    assert answer.slices.worst == pytest.approx(worst)
    found = {(row.slice, row.option): row.verdict for row in answer.slices}
    assert (found["en", "new"], found["fr", "new"]) == ("better", "worse")
    assert "in no language worse than base" in " ".join(str(answer).split())


def test_a_gate_is_closed_by_a_slice_that_surely_fails() -> None:
    lead = {"new": {"en": 0.9, "de": 0.9, "fr": -0.4}}
    eh.decide(runs(lead).drop(columns="language"), against="base").require("sure")
    with pytest.raises(RequirementError, match="in the language 'fr'") as error:
        eh.decide(runs(lead), against="base", slices="language").require("sure")
    assert error.value.surely
    for lowest in (0.0, 0.9):  # cannot be told there: no hindrance
        lead["new"]["fr"] = lowest
        eh.decide(runs(lead), against="base", slices="language").require("sure")


def test_win_rates_are_shares_of_items_with_ties_half() -> None:
    table = pd.DataFrame(
        [("a", 1, 3), ("b", 1, 2), ("a", 2, 2), ("b", 2, 2), ("a", 3, 1), ("b", 3, 2),
         ("a", 4, 5), ("b", 4, 2), ("a", 5, 9), ("b", 6, 9)] * 2,
        columns=["option", "item", "score"],
    )  # fmt: skip
    table["half"] = ["x"] * 10 + ["y"] * 10
    answer = eh.decide(table, slices="half", next_n=0, repeats=True)
    assert answer.slices is not None
    rows = {row.slice: row for row in answer.slices}
    assert rows["x"].wins.value == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert rows["x"].option == "a"
    assert answer.slices.to_frame()["win_rate"].tolist() == pytest.approx([0.625] * 3)


def test_the_interval_of_a_win_rate_covers_as_often_as_it_says() -> None:
    """Three judges of each item agree more than by chance: items are what is independent."""
    rng, true, missed, tables = np.random.default_rng(3), stats.norm.cdf(0.5), 0, 400
    for _ in range(tables):
        ahead = (
            0.5 * np.sqrt(1.2)
            + rng.normal(size=30)[:, None]
            + np.sqrt(0.2) * rng.normal(size=(30, 3))
        )
        rows = [
            (name, item, f"j{j}", sign * 0.5 * ahead[item, j])
            for item in range(30) for j in range(3) for name, sign in (("a", 1), ("b", -1))
        ]  # fmt: skip
        frame = pd.DataFrame(rows, columns=["option", "item", "evaluator", "score"])
        found = win_rate(eh.read_scores(frame), "a", "b", 0.1)
        missed += not found.low <= true <= found.high
    assert missed / tables <= 0.1 + 2.5 * np.sqrt(0.09 / tables)


def test_comparisons_have_win_rates_of_verdicts() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for item in range(60):
        pair = ("a", "b") if item % 2 else ("b", "a")
        better = 1.0 if rng.random() < 0.8 else -1.0
        rows.append((*pair, item, "P", better if pair[0] == "a" else -better, "xy"[item % 3 == 0]))
    table = pd.DataFrame(rows, columns=["option", "rival", "item", "evaluator", "score", "half"])
    answer = eh.decide(table, slices="half", next_n=0)
    assert answer.slices is not None
    sign = np.where(table["option"] == answer.label, 1.0, -1.0)
    wins = (sign * table["score"] > 0).groupby(table["half"]).mean()
    assert {
        row.slice: row.wins.value for row in answer.slices if row.slice != "all"
    } == wins.to_dict()


def test_several_wanted_and_what_cannot_be() -> None:
    table = runs(MIXED)
    answer = eh.decide(table, slices="language", top=1)
    assert answer.slices is not None
    assert {row.slice: row.inside for row in answer.slices}["en"] == ("new",)
    assert answer.to_dict()["slices"]["rows"][1]["inside"] == ["new"]
    one = {"en": "en", "de": "de", "fr": "fr"}
    for given, frame, said in (
        ({"slices": "item"}, table.head(90), "too many"),
        ({"slices": "colour"}, table, "no column"),
        ({"slices": "language"}, table[table["language"] == "en"], "one name"),
        (
            {"slices": "maker"},
            table.assign(maker=table["option"].map({"base": "m", "new": "n", "big": "n"})),
            "within=",
        ),
        ({"slices": "language", "within": one}, table, "leave out"),
        ({"slices": "language", "assigned": "adaptively"}, table, "leave out"),
        ({"slices": "language"}, table.assign(language=[None, *table["language"][1:]]), "empty"),
    ):
        with pytest.raises(InputError, match=said):
            eh.decide(frame, **given)


def test_a_slice_that_cannot_be_decided_is_said_and_nothing_is_claimed_of_all() -> None:
    table = runs(MIXED)
    gone = (table["language"] == "fr") & (table["option"] == "base")
    answer = eh.decide(table[~gone], slices="language", against="base")
    assert answer.slices is not None
    (row,) = (row for row in answer.slices if row.slice == "fr")
    assert row.verdict.startswith("not decided")
    assert not answer.slices.worst
    assert "in no language" not in str(answer)


def test_wrong_in_any_slice_no_more_often_than_said() -> None:
    """Options are worth the same in every language: 'better' or 'worse' anywhere is false."""
    tables, wrong = 60, 0
    for seed in range(tables):
        table = runs({"new": dict.fromkeys(LANGUAGES, 0.0)}, 10, seed)
        answer = eh.decide(table, confidence=0.8, slices="language", against="base", next_n=0)
        assert answer.slices is not None
        wrong += any(r.verdict in ("better", "worse") for r in answer.slices if r.slice != "all")
    assert 0.0 < wrong / tables <= 0.2 + 2.5 * np.sqrt(0.16 / tables)
