"""Biases by name: whose they are, how large, with their intervals, and shrunken.

What is estimated poorly says little: it is drawn towards the mean of its kind as far as it is noise
(`inference.biases`), as in an audit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.inference.biases import TableFit, population
from evenhand.inference.designs import biases_by
from evenhand.linear import Fit
from evenhand.linear.design import regressors
from evenhand.policies.messages import Estimate
from evenhand.questions import Column, Questions
from evenhand.questions.inputs import Kind
from evenhand.scores.scores import POSITION

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NamedBias:
    """Something that scores react to and value does not.

    Parameters
    ----------
    name, kind
        What it is called, and what it is: "bias", a favour; "leniency", what an evaluator adds to
        all scores, more or less than the average of all evaluators; "position", what being named
        first adds; "attribute", anything else.
    evaluator, group
        Whose it is, and towards whom; None if it is everybody's.
    estimate, low, high
        How large it is, with its interval; NaN and infinite where that is not known.
    shrunk
        The same, drawn towards the mean of its kind by as much as it is uncertain: the better
        guess of each where there are several.

    Examples
    --------
    >>> NamedBias("own group", "bias", None, None, 1.5, 0.5, 2.5, 1.5).known
    True
    """

    name: str
    kind: Kind
    evaluator: str | None
    group: str | None
    estimate: float
    low: float
    high: float
    shrunk: float

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return math.isfinite(self.estimate)

    @property
    def interval(self) -> Estimate:
        """The estimate with its interval."""
        return Estimate(self.estimate, self.low, self.high, 0.0)


class Biases(tuple[NamedBias, ...]):
    """All biases, in order: a tuple, which `to_frame` makes a data frame of.

    Examples
    --------
    >>> import evenhand as eh
    >>> judges = {"P": "a", "Q": "b", "R": None}
    >>> panel = eh.Questions.panel({"Ann": "a", "Bo": "b"}, judges, capacity=None)
    >>> scores = dict(zip(panel.labels, panel.points @ [5.0, 4.0, 0.5, 0.2, 0.7]))
    >>> rng = np.random.default_rng(0)
    >>> def evaluate(question):
    ...     return scores[f"{question.label} by {question.evaluator}"] + 0.01 * rng.normal()
    >>> biases = eh.choose(panel, evaluate).biases
    >>> [(bias.name, bias.kind, round(bias.estimate, 1)) for bias in biases]
    [('own group', 'bias', 0.5), ('P', 'leniency', -0.3), ('Q', 'leniency', -0.1),
     ('R', 'leniency', 0.4)]
    >>> biases.named("own group") == biases[0]
    True
    """

    __slots__ = ()

    def named(self, name: str) -> NamedBias:
        """Return a bias by its name."""
        return next(bias for bias in self if bias.name == name)

    def of_kind(self, *kinds: Kind) -> Biases:
        """Return the biases of some kinds."""
        return Biases(bias for bias in self if bias.kind in kinds)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame, one row per bias."""
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        names = [entry.name for entry in fields(NamedBias)]
        return pd.DataFrame({name: [getattr(one, name) for one in self] for name in names})

    @property
    def _ends(self) -> Floats:
        """(n, 4) estimates, lower and upper ends, and what is shrunken."""
        rows = [(one.estimate, one.low, one.high, one.shrunk) for one in self]
        return np.array(rows).reshape(-1, 4)

    def _with(self, ends: Floats) -> Biases:
        """Return the same biases with other (n, 4) numbers."""
        return _made(self, ends[:, :3], ends[:, 3])

    def widened(self, others: Biases | None) -> Biases:
        """Return the estimates with intervals as wide as those of both; everything if of none."""
        known = {(one.name, one.kind): (one.low, one.high) for one in others or ()}
        theirs = [known.get((one.name, one.kind), (-math.inf, math.inf)) for one in self]
        low, high = np.array(theirs).reshape(-1, 2).T
        ends = self._ends
        ends[:, 1], ends[:, 2] = np.minimum(ends[:, 1], low), np.maximum(ends[:, 2], high)
        return self._with(ends)

    def turned(self) -> Biases:
        """Return the same of scores with the other sign."""
        return self._with(0.0 - self._ends[:, [0, 2, 1, 3]])

    def without_intervals(self) -> Biases:
        """Return the estimates alone."""
        return self.widened(None)

    def within(self, most: float, sizes: Sequence[float]) -> Biases:
        """Return them cut where they add more than ``most``, times regressors of these sizes."""
        if math.isinf(most):
            return self
        times = [size or 1.0 for size in sizes] + [1.0] * (len(self) - len(sizes))
        far, ends = most / np.array(times)[:, None], self._ends
        return self._with(np.where(np.isfinite(ends), np.clip(ends, -far, far), ends))


def _made(columns: Sequence[Column | NamedBias], ends: Floats, drawn: Floats) -> Biases:
    """Return biases by what they are, (n, 3) ends and (n,) what is shrunken."""
    rows = np.column_stack([ends, drawn]).tolist()
    return Biases(
        NamedBias(one.name, one.kind, one.evaluator, one.group, value, low, high, better)
        for one, (value, low, high, better) in zip(columns, rows, strict=True)
    )


def biases_of(table: TableFit, confidence: float, most: float = math.inf) -> Biases:
    """Return the biases of a table, severities included, which add ``most`` to a score at most."""
    scores = table.scores
    sizes = [float(np.abs(column).max()) for column in regressors(scores).values()]
    kinds: dict[str, Kind] = {table.partiality: "bias"}
    kinds |= {} if scores.baseline is None else {POSITION: "position"}
    columns = [Column(name, kinds.get(name, "attribute")) for name in table.names]
    found = [table.bias(confidence, name) for name in table.names]
    if (first := table.standing_first(confidence)) is not None and table.position:
        columns, found = [*columns, Column("position", "position")], [*found, first]
    ends = np.array([(one.value, one.low, one.high) for one in found]).reshape(-1, 3)
    drawn = ends[:, 0]
    if scores.evaluator is not None and scores.rival is None and len(scores.evaluator) > 1:
        columns += [Column(name, "leniency", name) for name in scores.evaluator.names]
        spread = table.values.severity()
        own = spread.ends(1.0 - confidence)
        better = shrunk(spread.estimate, spread.variance, about=0.0)  # the mean of all
        if scores.best == "low":
            own, better = 0.0 - own[:, [0, 2, 1]], 0.0 - better
        ends, drawn = np.vstack([ends, own]), np.append(drawn, better)
    return _made(columns, ends, drawn).within(most, sizes)


def biases_of_answers(
    fit: Fit,
    questions: Questions,
    which: Indices,
    confidence: float,
    most: float = math.inf,
    known: Sequence[tuple[Column, Estimate]] | None = None,
) -> Biases:
    """Return the biases of answers to questions; after a search, ``known`` intervals alone hold."""
    named = biases_by(questions, which, fit, 1.0 - confidence)
    columns, ends = [column for column, _ in named], np.array([ends for _, ends in named])
    ends = ends.reshape(-1, 3)
    spread = np.where(np.isfinite(ends[:, 2]), (ends[:, 2] - ends[:, 1]) / 4.0, np.inf) ** 2
    if known is not None:
        ends[:, 1:] = -np.inf, np.inf
        said = {_key(column): one for column, one in known if math.isfinite(one.value)}
        for row, column in zip(ends, columns, strict=True):
            if (one := said.get(_key(column))) is not None:
                row[:] = one.value, one.low, one.high
    drawn = ends[:, 0].copy()
    # those are shrunken to the same mean that are of one kind
    kinds = [(c.kind, c.evaluator is not None, c.group is not None) for c in columns]
    for kind in dict.fromkeys(kinds):
        mine = np.array([own == kind for own in kinds])
        about = 0.0 if kind[0] == "leniency" else None  # which is against the average
        drawn[mine] = shrunk(ends[mine, 0], spread[mine], about)
    sizes = abs(questions.matrix[:, questions.n_features :]).max(axis=0).toarray().ravel()
    own = [column.kind != "leniency" for column in questions.columns]
    return _made(columns, ends, drawn).within(most, sizes[own].tolist())


def _key(column: Column) -> tuple[str, str | None, str | None, str]:
    """Return what tells columns apart; a leniency is its evaluator's, whatever it is called."""
    name = "" if column.kind == "leniency" else column.name
    return column.kind, column.evaluator, column.group, name


def shrunk(estimates: Floats, variances: Floats, about: float | None = None) -> Floats:
    """Return estimates shrunken to their mean, or to a known one, where variances are known."""
    among = population(estimates, variances)
    if among is None:
        return estimates.copy()
    if about is not None:
        among = replace(among, mean=about)
    return np.where(np.isfinite(variances), among.shrunken(estimates, variances), estimates)
