"""Policies by name.

A built-in policy is a class that carries `registered`, in a module of one of the folders `_ROOMS`.
One that is called as its module is found there; else all modules are looked at, so nothing lists
them.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import pkgutil
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from evenhand.errors import InputError
from evenhand.questions import Askable

if TYPE_CHECKING:
    from evenhand.policies.base import Policy

_ROOMS = ("evenhand.policies", "evenhand.search", "evenhand.research.rivals")

_BUILT_IN: dict[str, type[Policy]] = {}
IN_MEMORY: WeakSet[type[Policy]] = WeakSet()
"""All classes of policies that there are, registered or not: `Policy` puts them here."""

SomePolicy = TypeVar("SomePolicy", bound="type[Policy]")


def registered(cls: SomePolicy) -> SomePolicy:
    """Put a policy into the registry, under its name (a class decorator).

    Examples
    --------
    >>> from evenhand.research.rivals.uniform import Uniform
    >>> registered(Uniform) is Uniform              # it is there already: nothing changes
    True
    """
    name = vars(cls).get("name")
    if not isinstance(name, str):
        raise TypeError(f"{cls.__qualname__} has no name of its own to be registered under")
    there = _BUILT_IN.setdefault(name, cls)
    if (there.__module__, there.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.__qualname__} and {there.__qualname__} are both called {name!r}")
    return cls


@functools.cache
def _import_all() -> None:
    """Import every module of the rooms; one that cannot be imported is an error here."""
    for room in _ROOMS:
        for module in pkgutil.iter_modules(importlib.import_module(room).__path__):
            importlib.import_module(f"{room}.{module.name}")


def _import_by_name(name: object) -> None:
    """Import the module that is called as a policy, if there is one."""
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        return
    for room in _ROOMS[:2]:
        module = f"{room}.{name.replace('-', '_')}"
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
            return


def built_in_policies() -> dict[str, type[Policy]]:
    """Return the classes of the built-in policies by their names."""
    _import_all()
    return _BUILT_IN


def registered_policies() -> tuple[str, ...]:
    """Return the names of all policies there are.

    Examples
    --------
    >>> {"fair-phased-elimination", "uniform"} <= set(registered_policies())
    True
    """
    return tuple(sorted(built_in_policies()))


def policy_class(name: str) -> type[Policy]:
    """Return the class of a policy by its name."""
    if name not in _BUILT_IN:
        _import_by_name(name)
    found = _BUILT_IN if name in _BUILT_IN else built_in_policies()
    if name in found:
        return found[name]
    names = registered_policies()
    close = difflib.get_close_matches(name, names, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"no policy {name!r}.{meant} There are: {', '.join(names)}.")


def class_in_state(name: str) -> type[Policy]:
    """Return the registered policy of that name, or else the only class in memory that has it."""
    try:
        return policy_class(name)
    except InputError:
        found = [cls for cls in IN_MEMORY if vars(cls).get("name") == name]
        if len(found) != 1:
            raise
        return found[0]


def policy(name: str, actions: Askable, horizon: int, **options: Any) -> Policy:
    """Return a policy by its name.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    >>> eh.policy("uniform", actions, horizon=10).ask().counts
    array([1, 1])
    """
    return policy_class(name)(actions, horizon, **options)
