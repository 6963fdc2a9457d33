"""What can be chosen, and what the columns of attributes stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.tables import Names

Kind = Literal["bias", "leniency", "position", "attribute"]


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
    known_features, known_names
        (k, d) features of options that stand for themselves all the same, and their names: what
        is known of them, and may help; see `Questions.with_exact_features`.

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
    known_features: Floats | None = None
    known_names: tuple[str, ...] | None = None

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
        return np.asarray(np.abs(X[option] - X).max(axis=1) <= 1e-12 * np.abs(X).max())

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
