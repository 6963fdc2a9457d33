"""Policies by name: the built-in ones, and those that other packages bring.

A package adds a policy through the entry point group ``evenhand.policies``:

    [project.entry-points."evenhand.policies"]
    my-policy = "my_package:MyPolicy"
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from evenhand.actions import ActionSet
from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.policies.explore_then_commit import ExploreThenCommit
from evenhand.policies.fair_phased_elimination import FairPhasedElimination
from evenhand.policies.information_directed import (
    DirectedInformationSampling,
    InformationDirectedSampling,
)
from evenhand.policies.oful import OFUL, OFULDebiased, OFULEvaluation
from evenhand.policies.oracle import Oracle
from evenhand.policies.phased_elimination import PhasedElimination
from evenhand.policies.priced_exploration import PricedExploration
from evenhand.policies.thompson_sampling import ThompsonSampling
from evenhand.policies.uniform import Uniform

ENTRY_POINT_GROUP = "evenhand.policies"

_CLASSES: tuple[type[Policy], ...] = (
    DirectedInformationSampling,
    ExploreThenCommit,
    FairPhasedElimination,
    InformationDirectedSampling,
    OFUL,
    OFULDebiased,
    OFULEvaluation,
    Oracle,
    PhasedElimination,
    PricedExploration,
    ThompsonSampling,
    Uniform,
)
"""The built-in policies: a new one is imported and listed here, and nowhere else."""

_BUILT_IN: dict[str, type[Policy]] = {cls.name: cls for cls in _CLASSES}


def registered_policies() -> tuple[str, ...]:
    """Return the names of all policies there are.

    Examples
    --------
    >>> {"fair-phased-elimination", "uniform"} <= set(registered_policies())
    True
    """
    return tuple(sorted(_BUILT_IN | _brought()))


def policy_class(name: str) -> type[Policy]:
    """Return the class of a policy by its name."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    brought = _brought()
    if name in brought:
        try:
            cls = brought[name].load()
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"policy {name!r} cannot be loaded from its entry point "
                f"{brought[name].value!r}: {error}."
            ) from error
        if not (isinstance(cls, type) and issubclass(cls, Policy)):
            raise InputError(f"the entry point of policy {name!r} is not a Policy but {cls!r}.")
        return cls
    names = registered_policies()
    close = difflib.get_close_matches(name, names, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"no policy {name!r}.{meant} There are: {', '.join(names)}.")


def policy(name: str, actions: ActionSet, horizon: int, **options: Any) -> Policy:
    """Return a policy by its name.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    >>> eh.policy("uniform", actions, horizon=10).ask().counts
    array([1, 1])
    """
    return policy_class(name)(actions, horizon, **options)


def _brought() -> dict[str, EntryPoint]:
    """Return the policies of other packages; a name that is taken is an error, not a surprise."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name in _BUILT_IN or point.name in found:
            raise InputError(
                f"two policies are called {point.name!r}; one of them is {point.value!r}. "
                "Uninstall one of the packages or rename its entry point."
            )
        found[point.name] = point
    return found
