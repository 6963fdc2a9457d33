"""The season of skating judges, read by another route."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from evenhand.cases.skating import scores
from evenhand.policies import Allocation
from evenhand.research.environments import skating

Events = dict[tuple[str, str, str], skating.OneJudgeEvent]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(str(files("evenhand") / "data" / "skating_judges.csv.gz"))


@pytest.fixture(scope="module")
def events() -> Events:
    return {(e.competition, e.program, e.judge): e for e in skating.one_judge_events()}


def test_events_are_those_with_six_skaters_of_known_ability_from_both_sides(
    table: pd.DataFrame, events: Events
) -> None:
    eligible = {}
    for key, rows in table.dropna(subset=["ability"]).groupby(["competition", "program", "judge"]):
        if len(rows) >= 6 and rows["home"].nunique() == 2:
            eligible[key] = rows
    assert set(events) <= set(eligible)
    for key, rows in eligible.items():
        X = np.column_stack([np.ones(len(rows)), rows[list(skating.FEATURES)]])
        side = rows["home"].to_numpy(dtype=float)
        left = side - X @ np.linalg.lstsq(X, side, rcond=None)[0]
        # the bias is identifiable unless the side is a combination of the features
        assert (key in events) == (np.abs(left).max() > 1e-9)
        if key in events:
            event = events[key]
            assert list(event.actions.labels) == rows["skater"].tolist()
            assert event.references == pytest.approx(rows["reference"].to_numpy())
            assert event.scores == pytest.approx(rows["score"].to_numpy())
            assert (event.actions.groups == 2 * side - 1).all()


def test_a_judge_gives_values_with_bonus_and_noise(events: Events) -> None:
    event = next(iter(events.values()))
    n = 40_000
    feedback = event.judged(3).evaluate(Allocation(np.full(len(event.actions), n), 0))
    expected = event.references + skating.HOME_BONUS * event.actions.groups
    assert np.abs(feedback.means - expected).max() < 5.0 * skating.JUDGE_NOISE / np.sqrt(n)
    scatter = feedback.sums_of_squares / n - feedback.means**2
    relative = np.abs(scatter / skating.JUDGE_NOISE**2 - 1.0)
    assert relative.max() < 5.0 * np.sqrt(2.0 / n)


def test_the_season_is_a_table(table: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(scores(), table)
