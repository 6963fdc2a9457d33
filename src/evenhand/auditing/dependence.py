"""Scores that hang together: by a column that nobody named, or as copies of one another.

Notation
--------
e           what additive effects of options, evaluators and items leave over of a score
u           what a column is a matter of: items (a template), evaluators (a school), or single
            scores (a session, where pairs of option and evaluator come again)
c           the column's name in a row;  C = Σ (Σ e)²/n over cells of an option and a name
d           differences of two evaluators' scores of what both scored, n of them
q           the share of pairs of such differences that are equal, among all other evaluators, or of
            pairs of one evaluator's scores if that is more

Scores of one name that favour the same options make C large. If they hang together by nothing, the
column's names might as well be dealt out to the u's in any other way (those of single scores, to
scores of the same pair), so C is compared with what such permutations make of it: that is exact
where the u's are exchangeable, whatever the noise is. Of several columns each has its share of the
level.

A column that options have for themselves (their family) tells nothing here, nor does one that is
different in nearly every row. What varies within evaluators and items may be one more thing that
was said of the answer, such as how confident the judge was: it counts as a session only where it
tells apart the scores that an evaluator gave to the same.

Copies are evaluators who gave the same scores throughout: one opinion that is counted twice. By
chance all d are the same with a chance of about q^(n − 1): small for scores with decimals. Votes,
whole marks and orders, of which q is large, are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.report.words import p_value, short
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, Factor, Finding, crossed

LEVEL = 0.03
"""How probable it is that something is found in nothing, over all columns of a table."""

FEW_CLUSTERS = 6
"""Names of a column of items below which it is a stratum, and no sample of others like it."""

_FEWEST_SHARING = 4  # the same of evaluators or of scores, whose errors are shared as in sessions

_DRAWS = 999
_MOST = 200_000  # scores: more are not looked at
_ROUNDS = 200  # of taking effects off, one after another

LEVEL_OF_COPIES = 0.01
"""How probable it is at most that an alarm is raised by chance."""

_MOST_EVALUATORS = 60  # evaluators, and
_MOST_CELLS = 2_000  # options and items, that are looked at
_FEWEST = 3  # scores in common
_RARE = 0.05  # q from which on two who agree may well give the same: whole marks, orders


class ClusterColumn(NamedTuple):
    """A column by which scores hang together."""

    column: str
    of: str  # what it is a matter of: "items", "evaluators" or "scores"
    names: int  # how many it has
    chance: float  # how often names that were dealt out at random make as much of them

    @property
    def stratum(self) -> bool:
        """Whether no others than these are meant, as of data sets; schools are a sample."""
        return self.names < (FEW_CLUSTERS if self.of == "items" else _FEWEST_SHARING)


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
    """Return in words by what scores hang together; nothing is sure then, unless the column is a
    stratum.
    """
    return [
        Finding(
            "clusters",
            f"Scores with the same {short(one.column)} hang together beyond chance "
            f"({p_value(one.chance)}): {one.names:,} of them tell less than the {one.of} do. Name "
            f"it, cluster={one.column!r}; or, if no others than these {one.names:,} matter, say "
            "cluster=None.",
            alarm=not one.stratum,
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
            pairs,
            same & (share < _RARE) & (chances < LEVEL_OF_COPIES / max(len(pairs), 1)),
            strict=True,
        )
        if copied
    ]


def rivals_in_orders(table: Scores, option: int, failure: float) -> list[Finding]:
    """Return an alarm if scores are orders, and judges' own differences do not confirm a choice."""
    # Who puts one option first puts another one second: errors of options that compete for the same
    # places are opposed, and a difference is louder than both say.
    found = _by_evaluator(table)
    if found is None or table.item is not None or not np.isfinite(found).all():
        return []
    ordered = np.sort(found, axis=1)
    if (ordered != ordered[0]).any() or not (np.diff(ordered[0]) > 0.0).all():
        return []
    judges = len(found)
    apart = np.delete(found[:, [option]] - found, option, axis=1)
    error = apart.std(axis=0, ddof=1) / math.sqrt(judges)
    least = -float(special.stdtrit(judges - 1, 0.5 * failure)) * error
    if (apart.mean(axis=0) > least).all():
        return []
    return [
        Finding(
            "noise",
            "Scores are orders of all options: one that is put first puts another one second, so "
            "that options compete for places, and judge by judge the lead may be chance.",
            alarm=True,
        )
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
    if not 2 < e <= _MOST_EVALUATORS or crossed(cell, who)[1] < len(table):
        return None
    some = cell < _MOST_CELLS
    found = np.full((e, min(n, _MOST_CELLS)), np.nan)
    found[who[some], cell[some]] = np.asarray(table.score)[some]
    return found
