"""Whether scores hang together by a column of the table that nobody named.

Notation
--------
e           what additive effects of options, evaluators and items leave over of a score
u           what a column is a matter of: items (a template), evaluators (a school), or single
            scores (a session, where pairs of option and evaluator come again)
c           the column's name in a row;  C = Σ (Σ e)²/n over cells of an option and a name

Scores of one name that favour the same options make C large. If they hang together by nothing, the
column's names might as well be dealt out to the u's in any other way (those of single scores, to
scores of the same pair), so C is compared with what such permutations make of it: that is exact
where the u's are exchangeable, whatever the noise is. Of several columns each has its share of the
level.

A column that options have for themselves (their family) tells nothing here, nor does one that is
different in nearly every row. What varies within evaluators and items may be one more thing that
was said of the answer, such as how confident the judge was: it counts as a session only where it
tells apart the scores that an evaluator gave to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.report.words import p_value, short
from evenhand.scores import Scores
from evenhand.scores.factor import Codes, Factor, crossed
from evenhand.scores.finding import Finding

LEVEL = 0.03
"""How probable it is that something is found in nothing, over all columns of a table."""

_DRAWS = 999
_MOST = 200_000  # scores: more are not looked at
_ROUNDS = 200  # of taking effects off, one after another


class ClusterColumn(NamedTuple):
    """A column by which scores hang together."""

    column: str
    of: str  # what it is a matter of: "items", "evaluators" or "scores"
    names: int  # how many it has
    chance: float  # how often names that were dealt out at random make as much of them


def together(scores: Scores, beside: Mapping[str, Factor], seed: int = 0) -> list[ClusterColumn]:
    """Return the columns, of those that play no part, by which scores hang together beyond chance,
    by a permutation test; of comparisons nothing is said.
    """
    if scores.rival is not None or len(scores) > _MOST:
        return []
    units = {column: of for column, names in beside.items() if (of := _unit_of(scores, names))}
    left, rng = _left_over(scores) if units else np.zeros(0), np.random.default_rng(seed)
    found = []
    for column, unit in units.items():
        names = beside[column]
        chance = _chance(left, scores.option.codes, names.codes, unit, rng)
        if chance <= LEVEL / len(units):
            found.append(ClusterColumn(column, unit.of, len(names), chance))
    return found


def findings(found: list[ClusterColumn]) -> list[Finding]:
    """Return in words by what scores hang together; nothing is sure then."""
    return [
        Finding(
            "clusters",
            f"Scores with the same {short(one.column)} hang together beyond chance "
            f"({p_value(one.chance)}): {one.names:,} of them tell less than the {one.of} do. Name "
            f"it, cluster={one.column!r}; or, if no others than these {one.names:,} matter, say "
            "cluster=None.",
            alarm=True,
            p_value=one.chance,
        )
        for one in found
    ]


class _Unit(NamedTuple):
    """What a column is a matter of: (n,) its number in each row, and (units,) where it may go."""

    of: str
    codes: Codes
    strata: Codes


def _unit_of(scores: Scores, names: Factor) -> _Unit | None:
    """Return what a column is a matter of; None where it cannot be told from anything."""
    c, n = names.codes, len(names)
    if n < 2 or (c < 0).any() or _one_each(scores.option.codes, c):
        return None
    for of, factor in (("items", scores.item), ("evaluators", scores.evaluator)):
        if factor is not None and _one_each(factor.codes, c):
            codes = np.unique(factor.codes, return_inverse=True)[1].reshape(-1).astype(np.int32)
            units = int(codes.max()) + 1
            enough = 2 * n <= units
            return _Unit(of, codes, np.zeros(units, dtype=np.int32)) if enough else None
    if scores.item is not None or scores.evaluator is None:
        return None
    pairs, m = crossed(scores.option.codes, scores.evaluator.codes)
    if m == len(c) or crossed(pairs, c)[1] < len(c) or 2 * n > len(c):
        return None
    return _Unit("scores", np.arange(len(c), dtype=np.int32), pairs)


def _one_each(codes: Codes, names: Codes) -> bool:
    """Tell whether all rows of a code have the same name."""
    return crossed(codes, names)[1] == len(np.unique(codes))


def _left_over(scores: Scores) -> Floats:
    """Return (n,) the scores less additive effects of options, evaluators and items."""
    factors = [f for f in (scores.option, scores.evaluator, scores.item) if f is not None]
    e = np.asarray(scores.score, dtype=np.float64) - scores.score.mean()
    size = float(np.abs(e).max(initial=0.0))
    for _ in range(_ROUNDS):
        moved = 0.0
        for factor in factors:
            means = np.bincount(factor.codes, e) / np.maximum(np.bincount(factor.codes), 1)
            e -= means[factor.codes]
            moved = max(moved, float(np.abs(means).max()))
        if moved <= 1e-9 * size:
            break
    return np.asarray(e)


def _chance(
    left: Floats, options: Codes, names: Codes, unit: _Unit, rng: np.random.Generator
) -> float:
    """Return how often names dealt out at random make C as large."""
    dealt = np.zeros(len(unit.strata), dtype=np.intp)
    dealt[unit.codes] = names
    base = np.argsort(unit.strata, kind="stable")
    at = options.astype(np.intp) * (int(names.max()) + 1)

    def size(name: Indices) -> float:
        cells = at + name[unit.codes]
        n, total = np.bincount(cells), np.bincount(cells, left)
        return float((total**2 / np.maximum(n, 1)).sum())

    seen, more = size(dealt) * (1.0 - 1e-9), 0
    for _ in range(_DRAWS):
        other = np.empty_like(dealt)
        other[np.lexsort((rng.random(len(dealt)), unit.strata))] = dealt[base]
        more += size(other) >= seen
    return (1 + more) / (1 + _DRAWS)
