"""Evaluators who gave the same scores throughout: one opinion that is counted twice.

Notation: d the differences of two evaluators' scores of what both scored, n of them; q the share of
pairs of such differences that are equal, among all other evaluators, or of pairs of one evaluator's
scores if that is more. By chance all d are the same with a chance of about q^(n − 1): small for
scores with decimals. Votes, whole marks and orders, of which q is large, are left alone.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.scores import Scores
from evenhand.scores.factor import crossed
from evenhand.scores.finding import Finding

LEVEL = 0.01
"""How probable it is at most that an alarm is raised by chance."""

_MOST = 60  # evaluators, and
_CELLS = 2_000  # options and items, that are looked at
_FEWEST = 3  # scores in common
_RARE = 0.05  # q from which on two who agree may well give the same: whole marks, orders


def copies(table: Scores) -> list[Finding]:
    """Return an alarm that names evaluators whose scores are another's, up to a constant."""
    found = _by_evaluator(table)
    if found is None:
        return []
    pairs = [(a, b) for a in range(len(found)) for b in range(a)]
    size = 1e-9 * float(np.nanmax(np.abs(found))) or 1.0
    own = np.array([_equal(row, size) for row in found]).sum(axis=0)
    equal, number = (np.zeros(len(pairs)) for _ in range(2))
    lengths = np.zeros(len(pairs), dtype=np.int64)
    for x, (a, b) in enumerate(pairs):
        d = found[a] - found[b]
        lengths[x] = n = int(np.isfinite(d).sum())
        if n >= _FEWEST:
            equal[x], number[x] = _equal(d, size)
    same = (number > 0) & (equal == number)
    others, among = equal.sum() - equal, number.sum() - number
    share = np.maximum((others + 1.0) / (among + 1.0), own[0] / max(own[1], 1.0))
    chances = share ** np.maximum(lengths - 1, 0)
    if table.evaluator is None:
        return []
    names = table.evaluator.names
    return [
        Finding(
            "copies",
            f"{names[b]} and {names[a]} gave the same scores throughout, up to a constant: that is "
            "one opinion, counted twice. Leave one of them out.",
            alarm=True,
        )
        for (a, b), copied in zip(
            pairs, same & (share < _RARE) & (chances < LEVEL / max(len(pairs), 1)), strict=True
        )
        if copied
    ]


def _equal(values: Floats, size: float) -> tuple[float, float]:
    """Return how many pairs of values are equal, up to rounding, and how many there are."""
    values = values[np.isfinite(values)]
    often = np.unique(np.rint(values / size), return_counts=True)[1]
    return float((often * (often - 1)).sum() / 2), len(values) * (len(values) - 1) / 2


def _by_evaluator(table: Scores) -> Floats | None:
    """Return (evaluators, cells) scores, NaN where there is none; None for many evaluators,
    comparisons, and where somebody scored the same twice.
    """
    if table.evaluator is None or table.rival is not None:
        return None
    cell, n = np.asarray(table.option.codes), len(table.option)
    if table.item is not None:
        cell, n = crossed(table.option.codes, table.item.codes)
    e, who = len(table.evaluator), np.asarray(table.evaluator.codes)
    if not 2 < e <= _MOST or crossed(cell, who)[1] < len(table):
        return None
    some = cell < _CELLS
    found = np.full((e, min(n, _CELLS)), np.nan)
    found[who[some], cell[some]] = np.asarray(table.score)[some]
    return found
