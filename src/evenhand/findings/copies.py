"""Copies: evaluators who gave another's scores throughout, one opinion that is counted twice.

Notation
--------
d           differences of two evaluators' scores of what both scored, n of them
q           the share of pairs of such differences that are equal, among all other evaluators, or of
            pairs of one evaluator's scores if that is more

By chance all d are the same with a chance of about q^(n − 1): small for scores with decimals.
Votes, whole marks and orders, of which q is large, are left alone.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.report.words import short
from evenhand.scores import Finding, Scores
from evenhand.scores.scores import crossed

_MOST_EVALUATORS = 60  # evaluators, and
_MOST_CELLS = 2_000  # options and items, that are looked at
_FEWEST = 3  # scores in common
_RARE = 0.05  # q from which on two who agree may well give the same


def copies(scores: Scores) -> list[Finding] | None:
    """Return alarms on pairs of evaluators whose scores are equal, up to a constant; None where it
    cannot be asked: of one or two evaluators, of very many, in comparisons and repeats.
    """
    table = _by_evaluator(scores)
    if table is None or scores.evaluator is None:
        return None
    unit = 1e-9 * float(np.nanmax(np.abs(table))) or 1.0
    first, second = np.triu_indices(len(table), 1)
    apart = table[first] - table[second]
    common = np.isfinite(apart).sum(axis=1)
    own, ties = _ties(table, unit).sum(axis=0), _ties(apart, unit)
    ties[common < _FEWEST] = 0.0
    others = ties.sum(axis=0) - ties
    q = np.maximum((others[:, 0] + 1.0) / (others[:, 1] + 1.0), own[0] / max(own[1], 1.0))
    same = (ties[:, 1] > 0.0) & (ties[:, 0] == ties[:, 1]) & (q < _RARE)
    names = scores.evaluator.names
    return [
        Finding(
            "copies",
            f"{short(names[a])} and {short(names[b])} gave the same scores throughout, up to a "
            "constant, which is one opinion counted twice: leave one of them out.",
            p_value=min(1.0, len(same) * float(q[i] ** (common[i] - 1))),
        )
        for i, a, b in zip(np.flatnonzero(same), first[same], second[same], strict=True)
    ]


def _ties(values: Floats, unit: float) -> Floats:
    """Return, row by row, how many pairs of values are equal, up to rounding, and how many there
    are; NaN is none.
    """
    ordered = np.sort(np.rint(values / unit), axis=1)  # NaN last
    n = np.isfinite(ordered).sum(axis=1)
    first = np.ones(ordered.shape, dtype=np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(first)
    often = np.diff(starts, append=ordered.size)  # NaN is not even equal to itself: once each
    equal = np.bincount(starts // ordered.shape[1], often * (often - 1) / 2.0, len(values))
    return np.column_stack([equal, n * (n - 1) / 2.0])


def _by_evaluator(scores: Scores) -> Floats | None:
    """Return (evaluators, cells) scores, NaN where there is none."""
    if scores.evaluator is None or scores.rival is not None:
        return None
    e, who, (cell, n) = len(scores.evaluator), scores.evaluator.codes, scores.scored
    if not 2 < e <= _MOST_EVALUATORS or crossed(cell, who)[1] < len(scores):
        return None
    some = cell < _MOST_CELLS
    found = np.full((e, min(n, _MOST_CELLS)), np.nan)
    found[who[some], cell[some]] = scores.centred[some]
    return found
