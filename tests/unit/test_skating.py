"""The season of skating judges, read by another route."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from evenhand.cases.skating import scores


def test_the_season_is_a_table() -> None:
    table = pd.read_csv(str(files("evenhand") / "data" / "skating_judges.csv.gz"))
    pd.testing.assert_frame_equal(scores(), table)
