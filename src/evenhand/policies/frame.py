"""Options in coordinates of their own, whatever the units of features and attributes.

Notation
--------
A       (k, m)  points a_x = (x; z_x)
c       (p,)    centre of the attributes; h_x = (x; c), so that h_x − h_y = (x − y; 0)
π       (k,)    G-optimal design on the points
P, H    (k, r)  a_x and h_x in coordinates in which Σ π_x a_x a_xᵀ is the unit matrix

What is worked out is shared by all runs on the same options (`per_action_set`). Threads may ask at
the same time. Nothing is locked, since a lock that is held while a process forks never opens in the
child: at worst two threads work out the same thing, and both get the first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, Indices, dense
from evenhand.designs import g_optimal_design
from evenhand.geometry import bias_optimal_design
from evenhand.numerics.row_space import space_of
from evenhand.numerics.tolerance import first_largest
from evenhand.questions import Askable, Questions
from evenhand.questions.identifiable import refuse_apart

Asked = TypeVar("Asked", bound=Askable)
Thing = TypeVar("Thing")
More = ParamSpec("More")


def per_action_set(
    make: Callable[Concatenate[Asked, More], Thing],
) -> Callable[Concatenate[Asked, More], Thing]:
    """Call a function once per set of options and further arguments, and keep what it gives."""
    # Equal sets share it. It goes with the set that it was made for; if an equal one lives on, it
    # is made again. What is kept must not hold the set itself, which would then never go.
    kept: WeakKeyDictionary[Asked, dict[Any, Thing]] = WeakKeyDictionary()

    @functools.wraps(make)
    def of(actions: Asked, /, *args: More.args, **options: More.kwargs) -> Thing:
        # held from here on: the entry may belong to an equal set, and go when that set goes
        things = kept.setdefault(actions, {})
        key = args, tuple(sorted(options.items()))
        if key not in things:
            things.setdefault(key, make(actions, *args, **options))
        return things[key]

    return of


class OptionFrame:
    """The options in coordinates in which their G-optimal design is a unit (`OptionFrame.of`), or
    `NotIdentifiableError` where some cannot be compared, however many evaluations are made.
    """

    def __init__(self, actions: Askable) -> None:
        questions = Questions.of(actions)
        A, d = questions.weighted_points, questions.n_features
        if isinstance(actions, ActionSet) and actions.group_names is not None:
            bias_optimal_design(actions)  # raises, and says why, where it cannot be estimated
        self.space = space_of(A)
        # (g, p) distinct attributes, (k,) which of them an option has, and (p,) their centre c
        self.cells, cell = np.unique(dense(questions.attributes), axis=0, return_inverse=True)
        self.cell: Indices = cell.reshape(-1)
        self.centre: Floats = self.cells.mean(axis=0)
        refuse_apart(actions, self.space)
        design = g_optimal_design(A)
        self.weights = design.weights  # (k,) π
        # the certificate is W with aᵀV(π)⁺a = ‖Wa‖² · value
        W = design.certificate.dual * math.sqrt(design.value)
        self.points: Floats = A @ W.T  # (q, r) P of what can be asked, then (k, r) H of options
        self.values: Floats = questions.options.features @ W[:, :d].T + W[:, d:] @ self.centre
        self.bias: Floats | None = None  # (r,) the first; None where no evaluations show it
        if questions.n_attributes:
            e = np.zeros(A.shape[1])
            e[d] = 1.0
            self.bias = W @ e if self.space.contains(e) else None
        self.transform: Floats = W

    @staticmethod
    @per_action_set
    def of(actions: Askable) -> OptionFrame:
        """Return the frame of these options, kept as long as they are."""
        return OptionFrame(actions)

    @property
    def rank(self) -> int:
        """Dimension r of the span of the points."""
        return int(self.points.shape[1])

    @cached_property
    def basis(self) -> Indices:
        """(r,) options whose points span all of them, each the longest beside those before it."""
        # Points of the design are all of one length, so that ties are the rule.
        beside = self.points.copy()
        chosen = np.zeros(self.rank, dtype=np.intp)
        for i in range(self.rank):
            squares = np.einsum("ij,ij->i", beside, beside)
            x = chosen[i] = first_largest(squares)
            unit = beside[x] / math.sqrt(squares[x])
            beside -= np.outer(beside @ unit, unit)
        return chosen
