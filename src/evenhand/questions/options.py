"""What can be chosen, and what the columns of attributes stand for.

A leniency is measured from the first evaluator's, which is nobody's business: what is said is how
far every evaluator is from the mean of the panel, the first included: of those who scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.tables import Names

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

Kind = Literal["bias", "leniency", "position", "attribute"]

_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
"""Share of a column's largest number by which two of its numbers may differ and be the same."""


@dataclass(frozen=True, eq=False)
class Options:
    """What can be chosen.

    Parameters
    ----------
    labels
        Their names.
    groups
        The group of each, by name, None for none; None if none has one.
    own_features
        (k, d) what their values depend on; None if every option stands for itself.
    n_items
        How many items the questions are about, options among them; the options are the first.

    Examples
    --------
    >>> options = Options(Names(("Ann", "Bo")), groups=("home", "away"))
    >>> len(options), options.group_of(1), options.features
    (2, 'away', array([[1., 0.],
           [0., 1.]]))
    """

    labels: Names
    groups: tuple[str | None, ...] | None = None
    own_features: Floats | None = None
    n_items: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def stand_alone(self) -> bool:
        """Whether every option stands for itself, so that no model of value is needed."""
        return self.own_features is None

    @cached_property
    def features(self) -> Floats:
        """(k, d) what values depend on; a unit matrix where options stand for themselves."""
        if self.own_features is not None:
            return self.own_features
        return np.eye(len(self), max(self.n_items, len(self)))

    def same_as(self, option: int) -> NDArray[np.bool_]:
        """Tell (k,) which options have the same features as one, and so the same value."""
        X = self.own_features
        if X is None:
            return np.asarray(np.arange(len(self)) == option)
        # up to rounding, each column in its own unit: 0.1 + 0.2 is 0.3
        return np.asarray((np.abs(X[option] - X) <= _ROUNDING * np.abs(X).max(axis=0)).all(axis=1))

    def group_of(self, option: int) -> str | None:
        """Return the name of an option's group; None if it has none."""
        return None if self.groups is None else self.groups[option]


@dataclass(frozen=True)
class Column:
    """What a column of attributes stands for.

    Parameters
    ----------
    name
        What it is called.
    kind
        "bias": a favour; "leniency": what an evaluator adds to all scores; "position": what being
        named first adds; "attribute": anything else.
    evaluator, group
        Whose it is, and towards whom; None if it is everybody's.
    """

    name: str
    kind: Kind = "attribute"
    evaluator: str | None = None
    group: str | None = None


def of_kind(columns: Sequence[Column], kind: Kind) -> NDArray[np.bool_]:
    """Return (p,) which columns are of a kind."""
    return np.array([column.kind == kind for column in columns], dtype=np.bool_)


def names_about(questions: Questions, question: int) -> tuple[str, ...]:
    """Return the names of the items that a question is about."""
    return tuple(questions.items[x] for x in questions.about[question].tolist() if x >= 0)


def named_biases(questions: Questions) -> list[Column]:
    """Return what is said of evaluations beside values: of leniencies, those of all evaluators."""
    found = [column for column in questions.columns if column.kind != "leniency"]
    if len(found) < len(questions.columns):
        found += [Column(name, "leniency", evaluator=name) for name in questions.evaluators]
    return found
