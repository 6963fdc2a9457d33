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

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Floats
from evenhand.scores.scores import Codes, crossed, sums_over


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.x.reshape(len(self.y), -1))

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.y)

    @property
    def n_values(self) -> int:
        """How many numbers the values of options are made of."""
        return self.n_options if self.features is None else self.features.shape[1]

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
        )
