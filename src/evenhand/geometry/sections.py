"""The geometry of a bias in words: the price of knowing it, and what makes it dear."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenhand.actions import ActionSet
from evenhand.assumptions import hardly_checked
from evenhand.geometry.bias import Hyperplane, separating_hyperplane, varying_features
from evenhand.report.words import joined, number, short

if TYPE_CHECKING:
    from evenhand.geometry.bias import BiasGeometry

# A grade goes up to this κ_*: so many times as many evaluations as in the easiest case.
_GRADES = {
    "easiest": 1.0 + 1e-9,
    "easy": 2.0,
    "moderate": 10.0,
    "hard": 1000.0,
    "hopeless": math.inf,
}


def verdict(geometry: BiasGeometry) -> str:
    """Return the answer in one or two sentences, and that it rests on linear values where options
    are too few to check that.
    """
    actions = geometry.actions
    few = hardly_checked(actions) is not None
    condition = ", if values are linear in the features" if few else ""
    return f"{headline(geometry)}{condition}. {explanation(geometry)}"


def grade(kappa_star: float) -> str:
    """Return how hard it is to estimate the bias, in a word."""
    return next(word for word, most in _GRADES.items() if kappa_star <= most)


def headline(geometry: BiasGeometry) -> str:
    """Return the answer in a few words, without a full stop; what it rests on stands elsewhere."""
    if geometry.actions.group_names is None:
        return f"Yes: the bias of {short(geometry.name)} can be estimated"
    return {
        "easiest": "Yes: the bias can be estimated, as easily as can be",
        "easy": "Yes: the bias can be estimated, at a low price",
        "moderate": "Yes: the bias can be estimated, at a moderate price",
        "hard": "Yes, but it is hard: the bias takes many evaluations",
        "hopeless": "Only in principle: the bias takes far too many evaluations",
    }[grade(geometry.kappa_star)]


def explanation(geometry: BiasGeometry) -> str:
    """Return what κ_* means here and where it comes from, in one sentence."""
    price = number(geometry.kappa_star)
    if geometry.actions.group_names is None:
        return (
            f"It takes about {price} evaluations to know it as well as one evaluation knows its "
            f"own option (κ* = {price})."
        )
    negative, positive = (short(name) for name in geometry.actions.group_names)
    hyperplane = separating_hyperplane(geometry)
    if hyperplane is None:
        through = " through 0" if varying_features(geometry.actions).all() else ""
        return (
            f"No hyperplane{through} separates {positive} from {negative}, so that every "
            "evaluation counts in full (κ* = 1)."
        )
    return (
        f"It takes about {price} evaluations to know it as well as one evaluation knows its own "
        f"option (κ* = {price}; 1 is the least), because "
        f"{_main_features(geometry.actions, hyperplane)} "
        f"{'all but tells' if geometry.kappa_star > 100 else 'separates'} "
        f"{positive} from {negative}."
    )


def meaning_of_bias(geometry: BiasGeometry) -> str:
    """Return what evaluations do where the bias is 1, to follow on "a bias of 1 means that"."""
    actions = geometry.actions
    if actions.group_names is not None:
        negative, positive = (short(name) for name in actions.group_names)
        return f"{positive} gets 1 too much and {negative} 1 too little"
    name = geometry.name
    if actions.encoding is None:
        return f"evaluations rise by 1 with every 1 of {name}"
    column = actions.encoding.attributes[actions.attribute_names.index(name)]
    if column.category is None:
        spread = " (a standard deviation)" if (column.mean, column.scale) != (0.0, 1.0) else ""
        return f"evaluations rise by 1 with every {column.scale:.4g} of {column.source}{spread}"
    reference = dict(actions.encoding.references).get(column.source)
    instead = "" if reference is None else f" instead of {reference}"
    return f"evaluations are higher by 1 where {column.source} is {column.category}{instead}"


def _main_features(actions: ActionSet, hyperplane: Hyperplane) -> str:
    """Name the few features that do most of the separating."""
    order = np.argsort(-hyperplane.importance, kind="stable")
    n_all = int(np.count_nonzero(hyperplane.importance > 1e-9))
    n_main = int(np.searchsorted(np.cumsum(hyperplane.importance[order]), 0.75)) + 1
    names = [short(actions.feature_names[i]) for i in order[: min(n_main, n_all, 3)]]
    main = joined(names)
    if len(names) < n_all:
        return f"a combination of features, mostly {main},"
    return main if n_all == 1 else f"a combination of {main}"
