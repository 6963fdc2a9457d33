"""Options that were all compared with one baseline: by how much each is better, attributes off."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from evenhand.auditing.effects import Effects, regressors_of, two_way
from evenhand.auditing.words import attribute
from evenhand.scores import Scores
from evenhand.scores.baseline import Slope, as_scores, controlled
from evenhand.scores.scores import Finding, sums_over

if TYPE_CHECKING:
    import pandas as pd


def slopes_of(effects: Effects) -> list[Slope]:
    """Return the slopes of all regressors that are told from others, with what each item adds to
    their errors.
    """
    scores, found = effects.scores, []
    assert scores.item is not None
    for name, column in regressors_of(scores).items():
        along = effects.along(name)
        if along.told and along.freedom > 0:
            moved = sums_over(scores.item.codes, len(scores.item), along.own, along.residual)
            found.append(Slope(name, column, along.bias, moved / along.information))
    return found


def scores_by_baseline(scores: Scores, level: float) -> Scores:
    """Return comparisons with a baseline as scores on items, with attributes taken off, and a note
    that says which, and how much it was.
    """
    effects = two_way(scores)
    slopes = [slope for slope in slopes_of(effects) if slope.name in scores.attributes]
    found = as_scores(scores, controlled(scores, slopes))
    said = [
        Finding.note(
            "attributes",
            f"{attribute(effects, slope.name, level)} It is taken off all scores before "
            "anything is said; attributes=() (--attributes none) leaves it in.",
        )
        for slope in slopes
    ]
    return replace(found, notes=(*found.notes, *said))


def ranking(effects: Effects, level: float) -> pd.DataFrame:
    """Return options with by how much they are better than the baseline, the best first: as given,
    and with attributes and partiality taken off, with an interval by items.
    """
    import pandas as pd  # noqa: PLC0415 # slow to load

    scores = effects.scores
    assert scores.item is not None
    off = controlled(scores, slopes_of(effects))
    rows = []
    for option, name in enumerate(scores.option.names):
        if option == scores.baseline:
            rows.append((name, 0.0, 0.0, 0.0, 0.0, 0))
            continue
        mine = np.flatnonzero(scores.option.codes == option)
        if not mine.size:
            continue
        items, of = np.unique(scores.item.codes[mine], return_inverse=True)
        y = np.bincount(of, off[mine]) / np.bincount(of)
        value, n = float(y.mean()), len(items)
        half = math.inf
        if n > 1:
            t = -float(special.stdtrit(n - 1, 0.5 * (1.0 - level)))
            half = t * float(y.std(ddof=1)) / math.sqrt(n)
        given = float((np.bincount(of, scores.score[mine]) / np.bincount(of)).mean())
        rows.append((name, given, value, value - half, value + half, n))
    columns = ["option", "as given", "value", "low", "high", "items"]
    frame = pd.DataFrame(rows, columns=columns)
    up = scores.best == "low"
    frame["rank as given"] = frame["as given"].rank(ascending=up, method="min").astype(int)
    return frame.sort_values("value", ascending=up, kind="stable").reset_index(drop=True)
