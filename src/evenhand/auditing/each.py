"""Biases one by one: of every evaluator, and towards every favoured party.

Each has a slope of its own in one fit (`inference.TableFit.each`). How much true biases differ, and
by how much each is shrunken, is `inference.biases`. Which differ from 0 is said so that of those
named no more than a given share are named falsely (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.inference.biases import Population, TableFit, population
from evenhand.linear import Spread
from evenhand.scores.scores import Codes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BiasSpread:
    """How much the biases of evaluators, or towards groups, differ.

    Parameters
    ----------
    n
        How many have a bias that is known.
    mean, low, high
        Their mean, each counted by how well it is known, and an interval of ``level``.
    sd
        Standard deviation of true biases.
    next_low, next_high
        Between what the bias of one more would lie with probability ``level``.
    level
        Confidence of both intervals.
    chance
        How probable as much would be if all were alike.

    Examples
    --------
    >>> found = BiasSpread.of(np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, 0.5), 0.95)
    >>> found.n, round(found.mean, 6), round(found.sd**2, 6)
    (4, 3.0, 2.833333)
    """

    n: int
    mean: float
    low: float
    high: float
    sd: float
    next_low: float
    next_high: float
    level: float
    chance: float

    @classmethod
    def of(cls, biases: Floats, variances: Floats, level: float) -> BiasSpread:
        """Return how much biases differ; intervals are infinite where too few are known."""
        found, nowhere = population(biases, variances), (-math.inf, math.inf)
        if found is None:
            b = biases[np.isfinite(variances)]
            mean = float(b.mean()) if len(b) else math.nan
            return cls(len(b), mean, *nowhere, math.nan, *nowhere, level, math.nan)
        around = np.array([found.mean_variance, found.between + found.mean_variance])
        freedom = np.array([found.n - 1.0, max(found.next_freedom, 0.1)])
        ends = Spread(np.full(2, found.mean), around, freedom).ends(1.0 - level).tolist()
        next_low, next_high = ends[1][1:] if found.n > 2 else nowhere
        sd, (mean, low, high) = math.sqrt(found.between), ends[0]
        return cls(found.n, mean, low, high, sd, next_low, next_high, level, found.chance)


class Spreads(NamedTuple):
    """How much biases differ: among evaluators, and among groups that are favoured (options,
    without any).
    """

    evaluators: BiasSpread
    groups: BiasSpread


def _false_discovery(chances: Floats) -> Floats:
    """Return q-values: the share of falsely named, were all with a chance as small named."""
    m, order = len(chances), np.argsort(chances)
    q = np.empty(m)
    scaled = chances[order] * m / np.arange(1, m + 1)
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q, 1.0)


class Each(NamedTuple):
    """Biases one by one, a row for each, and how much they differ.

    Columns: the name; what else is known of it; ``scores``, and how many of these are ``own``
    (partial); ``bias`` from ``low`` to ``high``; ``shrunk`` to the mean, from ``shrunk_low`` to
    ``shrunk_high``; ``p`` and ``q`` for a bias of 0; ``flagged``, with a q-value of at most 1 −
    ``level``. Whoever has no partial scores has no bias of his own.
    """

    frame: pd.DataFrame
    spread: BiasSpread


_NUMBERS = ("bias", "low", "high", "shrunk", "shrunk_low", "shrunk_high", "p", "q")


def each(
    table: TableFit, level: float, kind: str, codes: Codes, names: Sequence[str], **about: object
) -> Each:
    """Return biases one by one; (n,) codes say whose it is in each row, −1 for nobody's."""
    import pandas as pd  # noqa: PLC0415 # slow to load

    size, there, partial = len(names), codes >= 0, table.scores.partial
    mine = np.zeros(size, dtype=np.intp)
    if partial is not None:
        mine = np.bincount(codes[there & (partial != 0.0)], minlength=size)
    who, found = np.flatnonzero(mine), table.each(codes, size)
    own = Spread(*(part[who] for part in found))
    known = np.isfinite(own.variance) & (own.variance > 0.0)
    p = np.where(known, 2.0 * own._replace(estimate=np.abs(own.estimate)).above, 1.0)
    ends, numbers = own.ends(1.0 - level), np.full((8, size), np.nan)
    ends[np.isnan(own.estimate)] = np.nan
    drawn = _shrunken(own, population(*found[:2])).ends(1.0 - level)
    numbers[:, who] = np.vstack([ends.T, drawn.T, p, _false_discovery(p)])
    scores = np.bincount(codes[there], minlength=size)
    columns = {kind: list(names), **about, "scores": scores, "own": mine}
    columns |= dict(zip(_NUMBERS, numbers, strict=True))
    frame = pd.DataFrame(columns).assign(flagged=numbers[-1] <= 1.0 - level)
    return Each(frame, BiasSpread.of(*found[:2], level))


def _shrunken(own: Spread, among: Population | None) -> Spread:
    """Return (m,) biases drawn to the mean of those that are like them, if that is known."""
    if among is None:
        return own
    noise, known = among.noise(own.variance), np.isfinite(own.variance)
    variance = noise * among.between + noise**2 * among.mean_variance
    freedom = np.where(known, np.maximum(own.freedom, 1.0), among.n - 1.0)
    return Spread(among.shrunken(own.estimate, own.variance), variance, freedom)


def of_evaluators(table: TableFit, level: float) -> Each:
    """Return the biases of evaluators, with their groups and leniencies."""
    scores = table.scores
    if scores.evaluator is None:
        return each(table, level, "evaluator", np.full(len(scores), -1, dtype=np.int32), ())
    codes, names = scores.evaluator.codes, scores.evaluator.names
    about: dict[str, object] = {}
    if scores.evaluator_group is not None:
        about["group"] = [scores.groups[g] if g >= 0 else None for g in scores.evaluator_group]
    lenient = np.full(len(names), np.nan)
    if scores.rival is None and scores.baseline is None:
        rows = np.bincount(codes, minlength=len(names))
        given = np.bincount(codes, table.severities[scores.chairs[0]], len(names))
        lenient = np.divide(given, rows, out=lenient, where=rows > 0)
    return each(table, level, "evaluator", codes, names, **about, leniency=lenient)


def of_favoured(table: TableFit, level: float) -> Each:
    """Return the biases towards groups; where none are given, towards options."""
    scores, group = table.scores, table.scores.option_group
    codes, rival = scores.option.codes, scores.rival
    kind, names = ("option", scores.option.names) if group is None else ("group", scores.groups)
    if group is not None:
        codes, rival = group[codes], None if rival is None else group[rival]
    if rival is not None and scores.partial is not None:
        codes = np.where(scores.partial < 0.0, rival, codes)
    return each(table, level, kind, codes, names)
