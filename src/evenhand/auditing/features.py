"""A bias by features alone, where nobody said who gave which score.

Notation
--------
x       features of what was scored, with a constant;  value = x·γ, taken to be exact
p       1 for scores of the group that may be favoured, 0 for the others
2ω      by how much p moves scores: ±ω of `inspect`, in the units of β

The model is score = x·γ + 2ω p + noise. Whatever features leave out of value and goes with p is
taken for a bias, and no interval tells: with evaluators who are known, two-way effects do without
features, and say by how much features mislead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.bias import BiasEstimate, clustered
from evenhand.auditing.effects import Effects, FittedEffects, beside, regressors_of
from evenhand.errors import InputError
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.tolerance import RANK
from evenhand.report.words import number
from evenhand.scores import Scores
from evenhand.scores.scores import Finding, chunks
from evenhand.tables import listed

_SHOWN = 8  # names in a sentence


class FeatureColumns:
    """What a constant and a few (n,) columns explain of numbers, and what they leave."""

    def __init__(self, columns: Mapping[str, Floats], n: int) -> None:
        self._columns, self._n = tuple(columns.values()), n
        self._means = np.array([column.mean() for column in self._columns])
        spread = np.array([column.std() for column in self._columns])
        tiny = RANK * np.maximum(np.abs(self._means), 1e-300)
        self._units = np.where(spread > tiny, spread, np.inf)  # a constant column is 0
        gram = sum((Z.T @ Z for Z in self._blocks()), np.zeros((len(self._columns),) * 2)) / n
        self._form = Gram.of_matrix(gram, np.diagonal(gram))

    @property
    def rank(self) -> int:
        """How many independent numbers the columns explain, the constant included."""
        return 1 + int(self._form.root.shape[1])

    def without(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what is left of numbers, the coefficients (in scaled units) and the constant."""
        left = np.array(values.reshape(len(values), -1), order="F", dtype=np.float64)
        means = left.mean(axis=0)
        left -= means
        coefs = np.zeros((len(self._columns), left.shape[1]))
        for _ in range(2):  # the second time takes off what rounding has left
            sums = np.zeros_like(coefs)
            for rows, Z in zip(chunks(self._n), self._blocks(), strict=True):
                sums += Z.T @ left[rows]
            step = self._form.inverse @ sums / self._n
            for rows, Z in zip(chunks(self._n), self._blocks(), strict=True):
                left[rows] -= Z @ step
            coefs += step
        return left.reshape(values.shape), coefs, means[None]

    @property
    def alone(self) -> bool:
        """Whether it is known that no two rows have the same effects: nothing is known here."""
        return False

    def left_over(self, column: Callable[[slice], Floats]) -> float:
        """Return the squared length of what is left of a column, given a few rows at a time."""
        left = self.without(np.concatenate([column(rows) for rows in chunks(self._n)]))[0]
        return float(left @ left)

    def forget(self) -> None:
        """Drop what can be made again: nothing is large."""

    def fitted(self, coefs: Floats, constant: float) -> Floats:
        """Return (n,) the constant and what columns add with these coefficients."""
        return constant + np.concatenate([Z @ coefs for Z in self._blocks()])

    def _blocks(self) -> Iterator[Floats]:
        for rows in chunks(self._n):
            some = [column[rows] for column in self._columns]
            Z = np.column_stack(some) if some else np.zeros((rows.stop - rows.start, 0))
            yield (Z - self._means) / self._units


@dataclass(frozen=True, eq=False)
class FeatureBias:
    """The bias by features alone, and how far that may be trusted."""

    bias: BiasEstimate  # by how much scores of the favoured group are higher than features explain
    effects: Effects  # scores less what features explain
    favoured: str | None  # the group taken to be raised; None where a column says who is partial
    two_way: float = math.nan  # the bias by two-way effects; NaN where it is not known

    @property
    def ratio(self) -> float:
        """How many times what two-way effects say features alone say; NaN where it is unknown."""
        return self.bias.value / self.two_way if self.two_way else math.nan

    @property
    def warning(self) -> Finding:
        """What is wrong with it, in words."""
        names = listed(tuple(self.effects.scores.features), _SHOWN)
        said = (
            f"By features alone ({names}) the bias is {number(self.bias.value)}. Whatever they "
            "leave out of value and goes with partiality is taken for a bias: it may be wrong in "
            "either direction, and the interval does not cover that."
        )
        if math.isfinite(self.ratio):
            said += (
                f" Evaluators who scored the same things say {number(self.two_way)}: features "
                f"alone {self._verdict}."
            )
        elif self.effects.told:
            said += (
                " Scores of the same things by several evaluators, with their names, would tell."
            )
        return Finding("features", said)

    @property
    def _verdict(self) -> str:
        ratio = self.ratio
        if ratio <= 0.0:
            return "say the contrary"
        if ratio > 1.05:
            return f"overstate the bias, {ratio:.2g} times"
        return f"understate the bias, {ratio:.2g} times" if ratio < 0.95 else "come near that here"


def by_features(scores: Scores, level: float, two_way: float = math.nan) -> FeatureBias:
    """Return the bias by the features of scores alone, clustered on options that come back."""
    partial, favoured = _favoured(scores)
    alone = replace(
        scores, evaluator=None, evaluator_group=None, stated=partial, rival=None, reference=None
    )
    met = FeatureColumns(scores.features, len(scores))
    scored, n_scored = scores.scored

    def levels(coefs: Floats, constants: Floats) -> FittedEffects:
        times = np.maximum(np.bincount(scored, minlength=n_scored), 1)
        constant = float(constants[0]) + scores.level.origin
        values = np.bincount(scored, met.fitted(coefs, constant), minlength=n_scored)
        return FittedEffects(values / times, np.zeros(0), np.zeros(n_scored, dtype=np.int32))

    found = beside(alone, scores.centred, regressors_of(alone), met, (scored, n_scored), levels)
    return FeatureBias(clustered(found, level), found, favoured, two_way)


def _favoured(scores: Scores) -> tuple[Floats, str | None]:
    """Return (n,) p, and the group that it is 1 for."""
    if scores.rival is not None:
        raise InputError("features= is about scores; comparisons need none: leave features= out")
    if scores.partial is not None:
        return scores.partial, None
    groups = scores.option_group
    if groups is None:
        raise InputError(
            "features= needs to know whose scores may be raised: name a column with the two groups "
            "of options (option_group=), or one that is 1 where the evaluator is partial (partial=)"
        )
    there = sorted({scores.groups[code] for code in np.unique(groups[groups >= 0]).tolist()})
    if len(there) != 2 or (groups < 0).any():
        raise InputError(
            f"features= needs two groups of options; option_group= has {len(there)}: "
            f"{listed(there, _SHOWN)}. Name a column with two, or one that is 1 for those who may "
            "be favoured (partial=)"
        )
    of = groups == scores.groups.index(there[1])
    return of[scores.option.codes].astype(np.float64), there[1]
