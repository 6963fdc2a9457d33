"""Scores that are alike beyond chance: evaluators who copied another, columns that nobody named.

Notation
--------
d           differences of two evaluators' scores of what both scored, n of them
q           the share of pairs of such differences that are equal, among all other evaluators, or of
            pairs of one evaluator's scores if that is more
e           what additive effects of options, evaluators and items leave of a score
u           units of a column: items (a template), evaluators (a school), or single scores (a
            session, where pairs of option and evaluator come again)
C           Σ (Σ e)²/n over cells of an option and a name of the column

By chance all d are the same with a chance of about q^(n − 1): small for scores with decimals.
Votes, whole marks and orders, of which q is large, are left alone.

Scores of one name that favour the same options make C large. If they hang together by nothing, the
names might as well be dealt out to the units otherwise (those of single scores, among scores of the
same pair): a permutation test, which is exact whatever the noise is. It ends when enough draws were
as large (Besag and Clifford, 1991).

A column that options have for themselves tells nothing here, nor does one that is different in
nearly every row. What varies within evaluators and items may be one more thing that was said of the
answer, such as confidence: it counts as a session only where it tells apart scores that an
evaluator gave to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.findings.residuals import swept
from evenhand.report.words import p_value, short
from evenhand.scores import Finding, Scores
from evenhand.scores.scores import Codes, Factor, crossed

FEW_CLUSTERS = 6
"""Names of a column of items below which it is a stratum, and no sample of others like it."""

_FEWEST_SHARING = 4  # the same of evaluators or of scores, whose errors are shared as in sessions
_DRAWS, _ENOUGH = 999, 50  # draws, and how many of them as large end the test
_MOST = 200_000  # scores: more are not looked at
_MOST_EVALUATORS = 60  # evaluators, and
_MOST_CELLS = 2_000  # options and items, that are looked at for copies
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
    first, second = np.array([*combinations(range(len(table)), 2)]).T
    apart = table[first] - table[second]
    common = np.isfinite(apart).sum(axis=1)
    own, ties = _ties(table / unit).sum(axis=0), _ties(apart / unit)
    ties[common < _FEWEST] = 0.0
    others = ties.sum(axis=0) - ties
    q = np.maximum((others[:, 0] + 1.0) / (others[:, 1] + 1.0), own[0] / max(own[1], 1.0))
    same = (ties[:, 1] > 0.0) & (ties[:, 0] == ties[:, 1]) & (q < _RARE)
    names = scores.evaluator.names
    return [
        Finding(
            "copies",
            f"{short(names[first[i]])} and {short(names[second[i]])} gave the same scores "
            "throughout, up to a constant, which is one opinion counted twice: leave one of them "
            "out.",
            p_value=min(1.0, len(first) * float(q[i] ** (common[i] - 1))),
        )
        for i in np.flatnonzero(same).tolist()
    ]


def _ties(rows: Floats) -> Floats:
    """Return (m, 2) how many pairs of a row's values are equal, up to 1, and how many there are."""
    m, size = rows.shape
    known = np.isfinite(rows).sum(axis=1)
    rows = np.sort(np.rint(rows), axis=1)  # unknown ones last, each by itself
    new = np.ones((m, size), dtype=np.bool_)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    starts = np.flatnonzero(new)
    often = np.diff(starts, append=m * size)
    equal = np.bincount(starts // size, 0.5 * often * (often - 1), m)
    return np.column_stack([equal, 0.5 * known * (known - 1)])


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


def clusters(scores: Scores, beside: Mapping[str, Factor]) -> list[Finding]:
    """Return a finding for each column that can be asked about: an alarm, unless it is a stratum;
    of comparisons nothing is said.
    """
    if scores.rival is not None or len(scores) > _MOST:
        return []
    units = {column: of for column, names in beside.items() if (of := _unit_of(scores, names))}
    parts = [f.codes for f in (scores.option, scores.evaluator, scores.item) if f is not None]
    left, rng = swept(scores.centred, parts) if units else np.zeros(0), np.random.default_rng(0)
    return [
        _cluster(
            column, len(beside[column]), unit.of, _chance(left, scores, beside[column], unit, rng)
        )
        for column, unit in units.items()
    ]


def _cluster(column: str, n: int, of: str, chance: float) -> Finding:
    return Finding(
        "clusters",
        f"Scores with the same {short(column)} hang together beyond chance ({p_value(chance)}), so "
        f"that {n:,} of them tell less than the {of} do: name it, cluster={column!r}, or, if no "
        f"others than these {n:,} matter, say cluster=None.",
        alarm=n >= (FEW_CLUSTERS if of == "items" else _FEWEST_SHARING),
        p_value=chance,
    )


class _Unit(NamedTuple):
    """Units of a column: (n,) their numbers, and (units,) among which ones names are dealt out."""

    of: str
    codes: Codes
    strata: Codes


def _unit_of(scores: Scores, names: Factor) -> _Unit | None:
    """Return the units of a column; None where it cannot be told from anything."""
    c, n = names.codes, len(names)
    if n < 2 or (c < 0).any() or _one_each(scores.option.codes, c):
        return None
    for of, factor in (("items", scores.item), ("evaluators", scores.evaluator)):
        if factor is not None and _one_each(factor.codes, c):
            codes = np.unique(factor.codes, return_inverse=True)[1].reshape(-1).astype(np.int32)
            strata = np.zeros(int(codes.max()) + 1, dtype=np.int32)
            return _Unit(of, codes, strata) if 2 * n <= len(strata) else None
    if scores.item is not None or scores.evaluator is None:
        return None
    pairs, m = crossed(scores.option.codes, scores.evaluator.codes)
    if m == len(c) or crossed(pairs, c)[1] < len(c) or 2 * n > len(c):
        return None
    return _Unit("scores", np.arange(len(c), dtype=np.int32), pairs)


def _one_each(codes: Codes, names: Codes) -> bool:
    """Tell whether all rows of a code have the same name."""
    return crossed(codes, names)[1] == len(np.unique(codes))


def _chance(
    left: Floats, scores: Scores, names: Factor, unit: _Unit, rng: np.random.Generator
) -> float:
    """Return how often names dealt out at random make C as large."""
    dealt = np.zeros(len(unit.strata), dtype=np.intp)
    dealt[unit.codes] = names.codes
    base = np.argsort(unit.strata, kind="stable")
    at = scores.option.codes.astype(np.intp) * len(names)

    def size(name: np.ndarray) -> float:
        cells = at + name[unit.codes]
        n, total = np.bincount(cells), np.bincount(cells, left)
        return float((total**2 / np.maximum(n, 1)).sum())

    seen, more = size(dealt) * (1.0 - 1e-9), 0
    for drawn in range(1, _DRAWS + 1):
        other = np.empty_like(dealt)
        other[np.lexsort((rng.random(len(dealt)), unit.strata))] = dealt[base]
        more += size(other) >= seen
        if more == _ENOUGH:
            return _ENOUGH / drawn
    return (1 + more) / (1 + _DRAWS)
