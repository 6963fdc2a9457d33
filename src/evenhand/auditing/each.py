"""Biases one by one: of every evaluator, and towards every favoured party.

Each has a slope of its own in one fit (`inference.TableFit.each`). How much true biases differ, and
by how much each is shrunken, is `inference.biases`. Which differ from 0 is said so that of those
named no more than a given share are named falsely (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

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
    def of(
        cls, biases: Floats, variances: Floats, level: float, among: Population | None = None
    ) -> BiasSpread:
        """Return how much biases differ; intervals are infinite where too few are known. What they
        are ``among`` is worked out unless it is given.
        """
        found, nowhere = among or population(biases, variances), (-math.inf, math.inf)
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


@dataclass(frozen=True, eq=False)
class Each:
    """Biases one by one: of evaluators, or towards groups."""

    table: TableFit
    kind: str  # evaluator, group or option
    codes: Codes  # (n,) whose bias it is in each row, −1 for nobody's
    names: Sequence[str]
    about: Mapping[str, object]  # further columns of `frame`, after the names
    level: float  # of intervals; whoever has a q-value of at most 1 − level is flagged

    @cached_property
    def own(self) -> Spread:
        """(names,) the biases; NaN for those who have no partial scores, or none that is told."""
        return self.table.each(self.codes, len(self.names))

    @cached_property
    def among(self) -> Population | None:
        """What the biases say of those that are like them; None unless two are known."""
        return population(self.own.estimate, self.own.variance)

    @cached_property
    def spread(self) -> BiasSpread:
        """How much they differ."""
        return BiasSpread.of(*self.own[:2], self.level, self.among)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Columns, of everybody: the name; what else is known of them; ``scores``, and how many of
        these are ``own`` (partial); ``bias`` from ``low`` to ``high``; ``shrunk`` to the mean, from
        ``shrunk_low`` to ``shrunk_high``; ``p`` and ``q`` for a bias of 0; ``flagged``. Whoever has
        no partial scores has no bias of his own.
        """
        size, there, partial = len(self.names), self.codes >= 0, self.table.scores.partial
        mine = np.zeros(size, dtype=np.intp)
        if partial is not None:
            mine = np.bincount(self.codes[there & (partial != 0.0)], minlength=size)
        who = np.flatnonzero(mine)
        own = Spread(*(part[who] for part in self.own))
        known = np.isfinite(own.variance) & (own.variance > 0.0)
        p = np.where(known, 2.0 * own._replace(estimate=np.abs(own.estimate)).above, 1.0)
        ends, numbers = own.ends(1.0 - self.level), np.full((8, size), np.nan)
        ends[np.isnan(own.estimate)] = np.nan
        numbers[:, who] = np.vstack([ends.T, self._shrunken(own), p, _false_discovery(p)])
        scores = np.bincount(self.codes[there], minlength=size)
        return {
            self.kind: list(self.names),
            **self.about,
            "scores": scores,
            "own": mine,
            **dict(zip(_NUMBERS, numbers, strict=True)),
            "flagged": numbers[-1] <= 1.0 - self.level,
        }

    def _shrunken(self, own: Spread) -> Floats:
        """Return (3, m) biases drawn to their mean, with intervals."""
        among = self.among
        if among is None:
            return own.ends(1.0 - self.level).T
        noise, known = among.noise(own.variance), np.isfinite(own.variance)
        bias = among.shrunken(own.estimate, own.variance)
        variance = noise * among.between + noise**2 * among.mean_variance
        freedom = np.where(known, np.maximum(own.freedom, 1.0), among.n - 1.0)
        return Spread(bias, variance, freedom).ends(1.0 - self.level).T

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A data frame of `columns`, with a row for each."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        return pd.DataFrame(self.columns)


_NUMBERS = ("bias", "low", "high", "shrunk", "shrunk_low", "shrunk_high", "p", "q")


def of_evaluators(table: TableFit, level: float) -> Each:
    """Return the biases of evaluators, with their groups and leniencies."""
    scores = table.scores
    if scores.evaluator is None:
        return Each(table, "evaluator", np.full(len(scores), -1, dtype=np.int32), (), {}, level)
    codes, names = scores.evaluator.codes, scores.evaluator.names
    about: dict[str, object] = {}
    if scores.evaluator_group is not None:
        about["group"] = [scores.groups[g] if g >= 0 else None for g in scores.evaluator_group]
    lenient = np.full(len(names), np.nan)
    if scores.rival is None and scores.baseline is None:
        rows = np.bincount(codes, minlength=len(names))
        given = np.bincount(codes, table.severities[scores.chairs[0]], len(names))
        lenient = np.divide(given, rows, out=lenient, where=rows > 0)
    return Each(table, "evaluator", codes, names, about | {"leniency": lenient}, level)


def of_favoured(table: TableFit, level: float) -> Each:
    """Return the biases towards groups; where none are given, towards options."""
    scores, group = table.scores, table.scores.option_group
    codes, rival = scores.option.codes, scores.rival
    kind, names = ("option", scores.option.names) if group is None else ("group", scores.groups)
    if group is not None:
        codes, rival = group[codes], None if rival is None else group[rival]
    if rival is not None and scores.partial is not None:
        codes = np.where(scores.partial < 0.0, rival, codes)
    return Each(table, kind, codes, names, {}, level)
