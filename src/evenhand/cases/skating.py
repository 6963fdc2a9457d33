"""A season of skating judges: what each of them gave to each performance.

`data/SOURCE.md` says where the scores are from, and under which licence.
"""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

LEAST_SKATERS = 6
"""Skaters that an event has at least, to be one of `panels.skating_panels`."""


def scores() -> pd.DataFrame:
    """Return the season's scores as a table, a row for what each judge gave to each performance.

    Columns are competition, program, skater, nation, judge, judge_nation, score, the mean of the
    other judges from other nations (reference), and what is known of the performance.

    Examples
    --------
    >>> table = scores()
    >>> len(table), table["judge"].nunique(), table["skater"].nunique()
    (14680, 214, 288)
    """
    import pandas as pd  # noqa: PLC0415 # slow to load

    return pd.read_csv(io.BytesIO(_packed()), compression="gzip")


def season() -> list[dict[str, str]]:
    """Return the rows of `scores` as they are written, without a library of tables."""
    return list(csv.DictReader(io.StringIO(gzip.decompress(_packed()).decode("utf-8"))))


def _packed() -> bytes:
    return (files("evenhand") / "data" / "skating_judges.csv.gz").read_bytes()
