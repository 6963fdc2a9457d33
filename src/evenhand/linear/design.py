"""The design of a table of scores: what each score is the sum of.

Notation
--------
y = value of the option (+ effect of the item) + severity of the evaluator + x·β + e
y       (n,)    scores, the highest the best
x       (n, r)  biases: own group, length, what models say of the same answer
Φ       (k, d)  features of options, where values are Φθ and nothing else

In comparisons y = value of the option − value of its rival + what the evaluator adds to whatever
is named first + x·β + e.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Floats
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, crossed, sums_over

_LARGE = 30_000_000  # rows times effects of the smaller kind beyond which nothing is written out


@dataclass(frozen=True, eq=False)
class Design:
    """Rows of a table as a linear model; codes count names from 0.

    Parameters
    ----------
    y
        (n,) scores.
    option, n_options
        (n,) what was scored, and how many there are.
    evaluator, n_evaluators
        (n,) whose severity is in the row (in comparisons, whose liking for the first place); None
        where there is none.
    rival
        (n,) in comparisons, the option that stands second.
    item, n_items
        (n,) what options were tried on, where several were tried on the same; None without.
    x
        (n, r) further regressors.
    clusters
        By name, (n,) what comes back: scores of one cluster may share an error.
    features
        (k, d) features that values are linear in; None where each option has a value of its own.
    control
        (k, items) what models say of option and item less their mean of the option, for the first
        column of x; NaN where they say nothing.
    grain
        How far y may be off by rounding before it was read.
    """

    y: Floats
    option: Codes
    n_options: int
    evaluator: Codes | None = None
    n_evaluators: int = 0
    rival: Codes | None = None
    item: Codes | None = None
    n_items: int = 0
    x: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    clusters: Mapping[str, Codes] = field(default_factory=dict)
    features: Floats | None = None
    control: Floats | None = None
    grain: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.x.reshape(len(self.y), -1))

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.y)

    @property
    def biases(self) -> Floats:
        """(n, ·) columns of x that judges may differ in; a control variate is none."""
        return self.x if self.control is None else self.x[:, 1:]

    @property
    def n_values(self) -> int:
        """How many numbers the values of options are made of."""
        return self.n_options if self.features is None else self.features.shape[1]

    @property
    def large(self) -> bool:
        """Whether a basis would be too large to write out: it is fitted step by step (`large`)."""
        smaller = min(self.n_values, self.n_evaluators)
        return len(self) * max(smaller, 1) > _LARGE and self.item is None

    def averaged(self) -> Design:
        """Return one row for each pair of option and evaluator: asked again, it is one opinion."""
        if self.evaluator is None or self.rival is not None or self.item is not None:
            return self
        parts = [self.option, self.evaluator, *self.clusters.values()]
        cell, n = crossed(*parts)
        if n == len(self):
            return self
        first = np.zeros(n, dtype=np.intp)
        first[cell[::-1]] = np.arange(len(self))[::-1]
        times = sums_over(cell, n)
        means = [sums_over(cell, n, column) / times for column in (self.y, *self.x.T)]
        return Design(
            means[0],
            self.option[first],
            self.n_options,
            self.evaluator[first],
            self.n_evaluators,
            x=np.column_stack(means[1:]) if self.x.size else np.zeros((n, 0)),
            clusters={name: codes[first] for name, codes in self.clusters.items()},
            features=self.features,
            grain=self.grain,
        )


PARTIALITY = "own group"
"""What the regressor is called that says how partial the evaluator is to the option."""

_MANY = 12  # judges or options that tell how others would be, beside items, which are many
_VERDICTS = 20  # of an evaluator, from which on its liking for the first place is its own


def regressors(scores: Scores) -> dict[str, Floats]:
    """Return what scores may react to and value does not, by name: partiality, and attributes."""
    found: dict[str, Floats] = {}
    if scores.partial is not None:
        found[scores.called.get("partial", PARTIALITY)] = scores.partial
    return found | dict(scores.attributes)


def _matrix(columns: Iterable[Floats], n: int) -> Floats:
    listed = list(columns)
    return np.column_stack(listed) if listed else np.zeros((n, 0))


def _shared(first: Codes, second: Codes) -> bool:
    """Tell whether something in the second column stands beside two of the first."""
    whose = np.zeros(int(second.max(initial=-1)) + 1, dtype=first.dtype)
    whose[second] = first
    return bool((whose[second] != first).any())


def design_of_values(
    scores: Scores,
    like: bool = True,
    position: bool = True,
    y: Floats | None = None,
    x: Floats | None = None,
) -> Design:
    """Return the design by which options are compared; the highest scores are the best.

    Parameters
    ----------
    scores
        The table.
    like
        Whether judges like these are meant, so that scores of one judge come back together; else
        single scores are independent, or those of an item or cluster.
    position
        Whether judges may favour what is named first, in comparisons.
    y, x
        (n,) what is taken for the scores, and (n, r) for regressors; by default the scores, from
        the origin of their level, partiality and attributes.
    """
    n, evaluator, item = len(scores), scores.evaluator, scores.item
    clusters: dict[str, Codes] = {}
    if evaluator is not None and np.ptp(evaluator.codes) > 0 and like:
        clusters["evaluator"] = evaluator.codes
    drawn = scores.cluster or item
    if drawn is not None and np.ptp(drawn.codes) > 0:
        clusters["item" if scores.cluster is None else "cluster"] = drawn.codes
    whose, many = (None, 0) if evaluator is None else (evaluator.codes, len(evaluator))
    if scores.rival is not None:
        whose, many = whose_position(scores) if position else (None, 0)
    crosses = item is not None and scores.rival is None and _shared(scores.option.codes, item.codes)
    made = Design(
        scores.centred if y is None else y,
        scores.option.codes,
        len(scores.option),
        whose,
        many,
        scores.rival,
        item.codes if item is not None and crosses else None,
        len(item) if item is not None and crosses else 0,
        _matrix(_beside_values(scores), n) if x is None else x,
        clusters,
        grain=scores.level.grain,
    )
    # one judge alone is a judge like none: what is said again is noise
    return made.averaged() if "evaluator" in clusters and item is None else made


def _beside_values(scores: Scores) -> list[Floats]:
    """Return the regressors, 0 in place of attributes that every option has one of: as with a
    favour that all share, what these add cannot be told from worth, and is part of the values.
    """
    order = np.argsort(scores.option.codes, kind="stable")
    starts = np.unique(scores.option.codes[order], return_index=True)[1]

    def varies(x: Floats) -> bool:
        least, most = (end.reduceat(x[order], starts) for end in (np.minimum, np.maximum))
        return bool((least < most).any())

    some = scores.attributes if scores.rival is None and len(scores) else {}
    return [
        x if name not in some or varies(x) else 0.0 * x for name, x in regressors(scores).items()
    ]


def design_of_biases(scores: Scores) -> Design:
    """Return the design by which biases are told from worth and severity: what was scored, an
    option on an item at an event, and evaluators at events. The same as that of values where there
    are neither items nor events; and where nobody scored the same, so that it would tell nothing.
    """
    chairs, y, second = scores.chairs, scores.centred, None
    if scores.reference is not None:
        y = y - (scores.reference - scores.level.origin)
        scored: tuple[Codes, int] = np.zeros(len(scores), dtype=np.int32), 1
    elif scores.rival is not None:
        first, second, k = sides(scores)
        scored, chairs = (first, k), whose_position(scores)
    elif scores.baseline is not None and scores.item is not None:
        who = np.zeros(len(scores), np.int32)
        who = who if scores.evaluator is None else scores.evaluator.codes
        scored = scores.option.codes, len(scores.option)
        chairs = crossed(who, scores.item.codes)
    else:
        scored = scores.scored
        if scores.item is not None and scores.event is None and not _shared(chairs[0], scored[0]):
            return replace(design_of_values(scores), clusters=clusters_of_biases(scores))
    x = _matrix(regressors(scores).values(), len(scores))
    return Design(y, *scored, *chairs, second, x=x, clusters=clusters_of_biases(scores))


def clusters_of_biases(scores: Scores) -> dict[str, Codes]:
    """Return by what biases may differ: evaluators and options, in comparisons the favoured one or,
    where none is, both; with a baseline also items.
    """
    options = scores.option.codes
    if scores.rival is not None:
        p = scores.partial if scores.partial is not None else np.zeros(len(scores))
        first, second = scores.option.codes, scores.rival
        favoured = np.where(p > 0.0, first, second)
        one = np.where(p == 0.0, np.minimum(first, second), favoured).astype(np.int32)
        other = np.where(p == 0.0, 1 + np.maximum(first, second), 0).astype(np.int32)
        options = crossed(one, other)[0]
    found = {} if scores.evaluator is None else {"evaluators": scores.evaluator.codes}
    found["options"] = options
    least = 1
    if scores.baseline is not None and scores.item is not None:
        found["items"], least = scores.item.codes, _MANY - 1
    return {name: codes for name, codes in found.items() if codes.max(initial=0) >= least}


def sides(scores: Scores) -> tuple[Codes, Codes, int]:
    """Return (n,) who stands first and who second, options at events, and how many there are."""
    assert scores.rival is not None
    first, second = scores.option.codes, scores.rival
    if scores.event is None:
        return first, second, len(scores.option)
    event = scores.event.codes
    both, k = crossed(np.concatenate([first, second]), np.concatenate([event, event]))
    return both[: len(first)], both[len(first) :], k


def whose_position(scores: Scores) -> tuple[Codes, int]:
    """Return (n,) whose position counts: evaluators with many verdicts, and all others as one."""
    if scores.evaluator is None:
        return np.zeros(len(scores), dtype=np.int32), 1
    many = scores.evaluator.counts >= _VERDICTS
    number = np.where(many, np.cumsum(many) - 1, int(many.sum())).astype(np.int32)
    others = int(not many.all())
    return number[scores.evaluator.codes], int(many.sum()) + others
