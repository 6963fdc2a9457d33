"""Read a log, of whichever tool it is."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read_scores(path: str | PathLike[str]) -> pd.DataFrame:
    """Return the scores in a file as a frame, a row each."""
    import pandas as pd  # noqa: PLC0415 # slow to load

    return pd.read_csv(path)
