"""The events of a table of scores, each a small panel: who competes, and by which values.

Notation
--------
y, x_j, β_j     scores, regressors (partiality first, then attributes) and their slopes
v(·)            (k,) values of an event's options by a fit of it alone, linear in the rows
s_j             standard error of β_j

Fair values are v(y) − Σ β_j v(x_j). Slopes are those of the whole table, and are not known exactly:
a lead of a over b errs by s_j (v_a − v_b)(x_j) beside the noise of the event, from which the slopes
are independent. What slopes cost in degrees of freedom is shared by all events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Floats, Indices
from evenhand.inference.biases import BiasEstimate, TableFit
from evenhand.linear import Design, Fit, Spread
from evenhand.linear.design import design_of_values, whose_position
from evenhand.linear.large import LargeFit
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import Codes

Flags = NDArray[np.bool_]

_LARGE = 30_000_000  # rows times effects of a table on items that are fitted at once
_NEAREST = 8  # rivals whose leads are looked at in a table that is fitted step by step


@dataclass(frozen=True, eq=False)
class Contests:
    """The events of a table of scores, and which options compete at each."""

    option: Codes  # (entries,) which option
    event: Codes  # (entries,) at which event; entries of one event follow each other
    names: tuple[str, ...]  # of the events
    grain: float = 0.0  # below what a difference of values is rounding of the scores

    @classmethod
    def of(cls, scores: Scores) -> Contests:
        """Return the events of a table of scores; all of it is one, if it has none."""
        k, event = len(scores.option), _event_codes(scores)
        keys = event * k + scores.option.codes
        if scores.rival is not None:
            keys = np.concatenate([keys, event * k + scores.rival])
        there = np.bincount(keys) if scores.event is None else np.unique(keys)
        found = np.flatnonzero(there) if scores.event is None else there
        present, at = np.unique(found // k, return_inverse=True)
        names = ("",) if scores.event is None else scores.event.names
        return cls(
            (found % k).astype(np.int32),
            at.reshape(-1).astype(np.int32),
            tuple(names[code] for code in present.tolist()),
            scores.level.grain,
        )

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.names)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(events,) how many options compete at each."""
        return np.bincount(self.event, minlength=len(self))

    @cached_property
    def starts(self) -> Indices:
        """(events,) the first entry of each event."""
        return np.cumsum(self.sizes) - self.sizes

    def places(self, values: Floats) -> Codes:
        """(entries,) the place of each at its event, from 0; those that tie share it."""
        order = np.lexsort((-values, self.event))
        arranged = values[order]
        behind = np.ones(len(order), dtype=np.bool_)
        behind[1:] = ~(arranged[:-1] - arranged[1:] <= self.enough(values))
        behind[self.starts] = True
        counted = np.cumsum(behind)
        places = np.empty(len(order), dtype=np.int32)
        places[order] = counted - np.repeat(counted[self.starts], self.sizes)
        return places

    def enough(self, values: Floats) -> float:
        """Return up to what difference such values tie."""
        size = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
        return max(TIE * size, self.grain)

    def order(self, values: Floats, also: Floats) -> Indices:
        """(entries,) entries event by event, the best first; of those that tie, by ``also``."""
        return np.lexsort((self.option, self.places(also), self.places(values), self.event))

    def leading(self, values: Floats, also: Floats) -> Indices:
        """(events, 2) the first two entries of each event in that order; −1 for nobody."""
        order, steps = self.order(values, also), np.arange(2)
        at = np.minimum(self.starts[:, None] + steps, len(order) - 1)
        return np.where(steps < self.sizes[:, None], order[at], -1)

    def lead(self, values: Floats, leading: Indices) -> Floats:
        """(events,) the first less the second: 0 where they tie, infinite without a second."""
        first, second = leading.T
        lead = values[first] - values[second]
        tied = np.abs(lead) <= self.enough(values)
        return np.where(second < 0, np.inf, np.where(tied, 0.0, lead))

    def any_of(self, marks: Flags) -> Flags:
        """(events,) whether an entry of each is marked."""
        return np.logical_or.reduceat(marks, self.starts)


def _event_codes(scores: Scores) -> NDArray[np.int64]:
    if scores.event is None:
        return np.zeros(len(scores), dtype=np.int64)
    return scores.event.codes.astype(np.int64)


class Slopes(NamedTuple):
    """(r,) slopes of the whole table, partiality first; 0 for what is not known."""

    value: Floats
    se: Floats
    freedom: float  # of the standard errors
    taken: float  # share of all degrees of freedom that went into slopes
    grain: float  # below what a difference is rounding of the scores

    @classmethod
    def of(cls, scores: Scores, biases: Sequence[BiasEstimate], n_events: int) -> Slopes:
        """Return the slopes that these biases are."""
        known = [one for one in biases if math.isfinite(one.value)]
        levels = scores.chairs[1] + (0 if scores.rival is not None else scores.scored[1])
        left = max(len(scores) - levels + n_events, 1)
        return cls(
            np.array([one.value if one in known else 0.0 for one in biases]),
            np.array([one.se if one in known else 0.0 for one in biases]),
            min((max(one.freedom, 0.3) for one in known), default=1.0),
            min(len(known) / left, 0.9),
            scores.level.grain,
        )


class EventFit(Fit):
    """The fit of one event, whose contrasts lean on slopes that are not known exactly."""

    def __init__(self, design: Design, slopes: Slopes) -> None:
        super().__init__(design)
        self.residual[np.abs(self.residual) <= slopes.grain] = 0.0  # before errors are asked for
        self.slopes, self.off = slopes, np.zeros((design.n_options, 1))  # see `Panel`

    def leads(self, a: ArrayLike, b: ArrayLike) -> Spread:
        """Return by how much options a are better than options b, pair by pair."""
        a, b = np.asarray(a, dtype=np.intp), np.asarray(b, dtype=np.intp)
        return self._wider(super().leads(a, b), self.off[a] - self.off[b])

    def level(self, like: bool = True) -> Spread:
        """Return the values with errors, for judges like these or for these alone."""
        return self._wider(super().level(like), self.off)

    def _wider(self, spread: Spread, off: Floats) -> Spread:
        estimate, variance, freedom = spread
        kept = 1.0 - self.slopes.taken
        return leaning(Spread(estimate, variance / kept, freedom * kept), off, self.slopes.freedom)


def leaning(spread: Spread, off: Floats, freedom: float) -> Spread:
    """Return contrasts that also err by (K, r) independent parts (Welch)."""
    more = (off * off).sum(axis=1)
    variance = spread.variance + more
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(variance) & (more > 0.0), more / variance, 0.0)
    least = 1.0 / ((1.0 - share) ** 2 / np.maximum(spread.freedom, 1e-3) + share**2 / freedom)
    return Spread(spread.estimate, variance, least)


@dataclass(frozen=True, eq=False)
class Panel:
    """One event: (k,) values of its options by every rule, and how sure leads are."""

    mean: Floats  # of scores as given
    mean_partial: Floats  # of partiality
    at_zero: Floats  # values without leniency, position and attributes; NaN without common measure
    per_bias: Floats  # by how much these fall with the bias
    fit: EventFit | LargeFit | None  # with biases off; None where references say what is true
    off: Floats  # (k, r) what one standard error of each slope moves values by
    slopes: Slopes

    def leads(self, first: int, also: Iterable[int]) -> tuple[Indices, Spread]:
        """Return rivals, and the leads of an option over them: all, or in a large table those who
        are nearest and ``also`` some.
        """
        fit, k = self.fit, len(self.mean)
        rivals = np.delete(np.arange(k), first)
        if isinstance(fit, EventFit):
            return rivals, fit.leads(np.full(k - 1, first), rivals)
        if fit is None:
            lead = self.at_zero[first] - self.at_zero[rivals]
            return rivals, Spread(lead, np.zeros(k - 1), np.ones(k - 1))
        v, times = fit.values, np.bincount(fit.design.option, minlength=k)
        near = np.argsort((v[first] - v[rivals]) * np.sqrt(times[rivals]), kind="stable")
        rivals = np.union1d(rivals[near[:_NEAREST]], np.array([*also], dtype=np.intp))
        found = fit.leads(np.full(len(rivals), first), rivals)
        return rivals, leaning(found, self.off[[first]] - self.off[rivals], self.slopes.freedom)


def panels(
    scores: Scores, bias: BiasEstimate, attributes: Mapping[str, BiasEstimate]
) -> Iterator[Panel]:
    """Yield the events of a table whose highest scores are the best, in the order of `Contests`;
    biases are slopes of the whole table.
    """
    y, p = scores.centred, scores.partial
    X = [np.zeros(len(y)) if p is None else p, *(scores.attributes[name] for name in attributes)]
    worth, position, rows = y, True, _rows(scores)
    slopes = Slopes.of(scores, [bias, *attributes.values()], len(rows))
    if scores.rival is not None and len(rows) > 1:  # where one stands is told by all events
        worth, position = y - TableFit(scores).panel.severities[whose_position(scores)[0]], False
    for some in rows:
        part = _of_event(scores, some)
        k, mean, partial = len(part.option), _means(part, y[some]), _means(part, X[0][some])
        if scores.reference is not None:
            known = _means(part, scores.reference[some] - scores.level.origin)
            yield Panel(mean, partial, known, np.zeros(k), None, np.zeros((k, 1)), slopes)
            continue
        x = np.column_stack([column[some] for column in X])
        made = design_of_values(part, position=position, y=worth[some], x=x)
        made = _reduced(made)
        left = replace(made, y=made.y - made.x @ slopes.value, x=np.zeros((len(made), 0)))
        fit = LargeFit(left) if left.large else EventFit(left, slopes)
        lean = np.column_stack([fit.values_of(column) for column in made.x.T])
        size = np.abs(made.x).max(axis=0, initial=1e-100)
        off = np.round(lean / size, 9) * size * np.minimum(slopes.se, 1e100)
        if isinstance(fit, EventFit):
            fit.off = off
        level = fit.values + slopes.value[0] * lean[:, 0]
        level = level if fit.compared else np.full(k, np.nan)
        yield Panel(mean, partial, level, lean[:, 0], fit, off, slopes)


def _rows(scores: Scores) -> list[Any]:
    """Return the rows of each event that has any."""
    if scores.event is None:
        return [slice(None)]
    order = np.argsort(scores.event.codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(scores.event.codes[order])) + 1)


def _of_event(scores: Scores, rows: Any) -> Scores:
    """Return who scored what in some rows, with the names that stand in them."""

    def of(factor: Factor | None) -> Factor | None:
        return None if factor is None else _present(factor, factor.codes[rows])

    codes, rival = scores.option.codes[rows], None
    if scores.rival is not None:
        codes = np.concatenate([codes, scores.rival[rows]])
    option = _present(scores.option, codes)
    n = len(codes) if scores.rival is None else len(codes) // 2
    if scores.rival is not None:
        rival = option.codes[n:]
    option = Factor(option.codes[:n], option.names)
    return Scores(
        scores.score[rows],
        option,
        of(scores.evaluator),
        rival,
        of(scores.item),
        cluster=of(scores.cluster),
    )


def _present(factor: Factor, codes: Codes) -> Factor:
    """Return codes with those names alone that have any."""
    there = np.flatnonzero(np.bincount(codes, minlength=len(factor)))
    number = np.zeros(len(factor), dtype=np.int32)
    number[there] = np.arange(len(there))
    return Factor(number[codes], tuple(factor.names[one] for one in there.tolist()))


def _means(part: Scores, column: Floats) -> Floats:
    """Return (k,) the mean of a column over the rows of each option; turned for second ones."""
    codes = part.option.codes
    if part.rival is not None:
        codes, column = np.concatenate([codes, part.rival]), np.concatenate([column, -column])
    return np.bincount(codes, column) / np.bincount(codes)


def _reduced(design: Design) -> Design:
    """Return a design that can be fitted step by step where items make it too large: items take the
    place of evaluators if there is one, else each pair of evaluator and option has its mean.
    """
    effects = design.n_options + design.n_evaluators
    if design.item is None or design.evaluator is None or len(design) * effects <= _LARGE:
        return design
    if design.n_evaluators == 1:
        return replace(
            design, item=None, n_items=0, evaluator=design.item, n_evaluators=design.n_items
        )
    mine = {"evaluator": design.evaluator}
    return replace(design, item=None, n_items=0, clusters=mine).averaged()
