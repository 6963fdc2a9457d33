"""What is required of an answer: met, surely not, or open, by routes of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import InputError, RequirementError

LEAD = {"a": 0.3, "b": 0.0, "c": -0.01, "d": -0.3}  # over the baseline


def runs(
    lead: dict[str, float], items: int = 60, noise: float = 0.02, seed: int = 1
) -> pd.DataFrame:
    """Return scores of options, and of a baseline, that were tried on the same items."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=items)
    rows = [
        (name, item, hard[item] + more + noise * rng.normal())
        for name, more in ({"base": 0.0} | lead).items()
        for item in range(items)
    ]
    return pd.DataFrame(rows, columns=["option", "item", "score"])


def outcome(answer: eh.Answer, how: str = "sure", option: str | None = None) -> bool | None:
    try:
        answer.require(how, option)
    except RequirementError as error:
        return False if error.surely else None
    return True


def test_against_a_baseline_with_a_margin() -> None:
    """By the one-sided bounds of a difference at the level that each of four options has."""
    answer = eh.decide(runs(LEAD), against="base", tolerance=0.02)
    bounds = replace(answer, confidence=1.0 - 0.05 / 4)
    for name in LEAD:
        found = outcome(answer, option=name)
        better, worse = bounds.compare(name, "base"), bounds.compare("base", name)
        assert (found is True) == (better.at_least > -0.02)
        assert (found is False) <= (worse.at_least > 0.02)
    assert [outcome(answer, option=name) for name in LEAD] == [True, True, True, False]
    assert outcome(answer) is False  # not all of them
    assert answer.standings.set_index("option").loc["c", "verdict"] == "not worse"
    strict = eh.decide(runs(LEAD), against="base")
    assert [outcome(strict, option=name) for name in LEAD] == [True, None, False, False]


def test_of_two_options_the_other_one_is_meant() -> None:
    for lead, wanted in ((0.05, True), (-0.03, None), (-0.2, False)):
        noise = 0.05 if wanted is None else 0.02
        answer = eh.decide(runs({"new": lead}, 40, noise), against="base", tolerance=0.03)
        assert outcome(answer) is wanted
        assert outcome(answer, option="new") is wanted


def test_worse_within_the_margin_is_no_proof_of_more_than_it() -> None:
    """Surely worse, but by how much is not clear: neither passed nor failed."""
    answer = eh.decide(runs({"new": -0.03}, 30, 0.05), against="base", tolerance=0.03)
    assert answer.standings.set_index("option").loc["new", "verdict"] == "surely worse"
    assert outcome(answer) is None


def test_a_bar_the_best_ones_and_the_best() -> None:
    table = runs({name: 5 + more for name, more in LEAD.items()} | {"base": -5.0})
    level = table.groupby("option")["score"].mean()["b"]
    above = eh.decide(table, bar=level - 2.0)
    assert outcome(above, option="a") is True
    assert outcome(above, option="base") is False
    assert outcome(above) is False
    two = eh.decide(table, top=2)
    assert [outcome(two, option=name) for name in ("a", "d")] == [True, False]
    assert outcome(two) is (True if two.sure else None)
    best = eh.decide(table)
    assert [outcome(best), outcome(best, option="a"), outcome(best, option="d")] == [
        True,
        True,
        False,
    ]
    tied = eh.decide(runs({"same": 0.0}))
    assert [outcome(tied), outcome(tied, option="same")] == [None, None]


def test_probable_is_by_the_chance() -> None:
    answer = eh.decide(runs(LEAD, 30, 0.3), top=2)
    for one in answer.ranking:
        chance = answer.conclusion.chances[one.index]
        wanted = True if chance >= 0.95 else False if chance <= 0.05 else None
        assert outcome(answer, "probable", one.option) is wanted


def test_an_alarm_leaves_it_open_and_bad_names_are_refused() -> None:
    answer = eh.decide(runs(LEAD), against="base")
    alarm = eh.Finding("drift", "Scores rise.")
    assert outcome(replace(eh.decide(runs(LEAD)), warnings=(alarm,), sure=False)) is None
    for how, option in (("sure", "nobody"), ("sure", "base"), ("certain", None)):
        with pytest.raises(InputError):
            answer.require(how, option)
