"""What the scores say as they stand: means by option, bias and all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.checks import Checks
from evenhand.questions import Questions


class RawScores(NamedTuple):
    """(k,) mean scores of the options, NaN without any, and how many evaluations they are of."""

    means: Floats
    counts: Counts

    @property
    def best(self) -> int | None:
        """The option of the highest mean; None without scores."""
        return int(np.nanargmax(self.means)) if self.counts.any() else None


def raw_scores(questions: Questions, checks: Checks) -> RawScores:
    """Return the mean of all answers about each option, of a comparison with opposite signs."""
    k = len(questions.options)
    answers = checks.means if questions.noise is None else checks.means * questions.noise
    answers = answers + checks.level.origin
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for items, sign in zip(questions.about.T, (1.0, -1.0), strict=True):
        about = (items >= 0) & (items < k)
        n = checks.counts[about]
        counts += np.bincount(items[about], n, k).astype(np.int64)
        sums += np.bincount(items[about], sign * n * answers[about], k)
    with np.errstate(invalid="ignore"):
        return RawScores(sums / counts, counts)
