"""The separating hyperplane as a user sees it: in the space of the features that vary.

Notation
--------
n    (d,)   normal of a hyperplane through 0 in the space of all features (paper, Lemma 1)
c           the features that are the same for all options, such as an intercept
s           the other ones; x·n = x_s·n_s + const, so n/‖n_s‖ measures distances among options

With an intercept the hyperplane through 0 is an ordinary one: {x_s : x_s·n_s = −const}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.geometry.bias import BiasGeometry
from evenhand.numerics.row_space import sample_rows

_SAMPLE = 100_000  # rows from which spreads are taken: they serve for words, not for numbers


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """The hyperplane that keeps the groups apart, measured where the options differ."""

    normal: Floats  # (d,) ``features @ normal`` is an option's distance, positive on the side of +1
    margin: float  # least distance of an option
    radius: float  # and largest
    # (d,) share of each feature, in standard deviations, in telling the groups apart
    importance: Floats


def separating_hyperplane(geometry: BiasGeometry) -> Hyperplane | None:
    """Return the hyperplane that keeps the groups apart, or None if there is none."""
    if geometry.normal is None or geometry.radius is None:
        return None
    X = geometry.actions.features
    slope = np.where(varying_features(geometry.actions), geometry.normal, 0.0)
    length = float(np.linalg.norm(slope))
    steps = np.abs(slope) * X[sample_rows(len(X), _SAMPLE)].std(axis=0)
    if not steps.any():
        steps = np.abs(slope)
    return Hyperplane(
        geometry.normal / length,
        max(geometry.margin, 0.0) / length,
        geometry.radius / length,
        steps / steps.sum(),
    )


def varying_features(actions: ActionSet) -> NDArray[np.bool_]:
    """Return which features differ between options; the others can only be an intercept."""
    varying: NDArray[np.bool_] = actions.features.max(axis=0) > actions.features.min(axis=0)
    return varying


def unit_of_distance(actions: ActionSet) -> str:
    """Return what distances between options are measured in, in words."""
    encoding = actions.encoding
    if encoding is None or all(
        column.mean == 0.0 and column.scale == 1.0 for column in encoding.features
    ):
        return "units of the features"
    return "standard deviations"
