"""Policies by name, and their state as a plain value and back: to stop here and go on anywhere.

A built-in policy is a class that carries `registered`, in a module of one of the folders `_ROOMS`.
One that is called as its module is found there; else all modules are looked at, so nothing lists
them.

A state holds what the policy was made of, and what it remembers of its run: k counts and sums, an
m × m matrix, plans with their scores, the record of the checks (at most 2048 entries). It is made
of dictionaries, lists, texts and numbers only, so JSON carries it without loss.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import math
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import recalled, recalled_counts
from evenhand.errors import InputError
from evenhand.plain import shown
from evenhand.questions import Askable, Questions

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


VERSION = 1
_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def restore(state: Mapping[str, Any], policy: type[Policy] | None = None) -> Policy:
    """Return the policy whose `Policy.state` this is; it goes on where that was taken.

    Parameters
    ----------
    state
        What `Policy.state` returned, perhaps by way of a JSON file.
    policy
        The class, where it is neither registered nor the only one in memory of that name.

    Examples
    --------
    >>> import json
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> policy = eh.PricedExploration(actions, horizon=1_000)
    >>> policy.tell(eh.Feedback.from_scores(actions, [1], [0.7]))
    >>> text = json.dumps(policy.state())                    # the laptop is closed
    >>> again = eh.restore(json.loads(text))
    >>> again.spent, bool((again.ask().counts == policy.ask().counts).all())
    (1, True)
    """
    if not isinstance(state, Mapping) or "evenhand" not in state:
        raise InputError("this is no state of a policy; give what policy.state() returned.")
    if state["evenhand"] != VERSION:
        raise InputError(
            f"this state is of version {shown(state['evenhand'])}; this evenhand reads version "
            f"{VERSION}."
        )
    named = state.get("policy")
    if not isinstance(named, str):
        raise InputError(f"this state is of no policy that has a name, but of {shown(named)}.")
    cls = class_in_state(named) if policy is None else policy
    if cls.name != named:
        raise InputError(f"this is the state of {named!r}, not of {cls.name!r}.")
    try:
        return revived(cls, as_it_was(state["arguments"]), as_it_was(state["run"]))
    except InputError:
        raise
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InputError(
            f"this state of {named!r} is not whole, or was changed: {error!r}. Give what "
            "policy.state() returned."
        ) from error


def state_of(policy: Policy) -> dict[str, Any]:
    """Return the state of a policy."""
    arguments, run = snapshot_of(policy)
    return {
        "evenhand": VERSION,
        "policy": policy.name,
        "arguments": plain(arguments),
        "run": plain(run),
    }


def snapshot_of(policy: Policy) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a policy is made of, and what it remembers of its run; arrays as they are."""
    if policy._failure is not None:
        raise policy._failure
    limits = policy.limits
    run = {
        "round": policy._round,
        "spent": policy._spent,
        "observed": policy.observed,
        "outstanding": limits.outstanding.copy(),
        "asked": limits.asked,
        "paid": limits.paid,
        "priced": limits.priced,
        "absent": sorted(limits.absent),
        "barred": sorted(limits.barred),
        "memory": policy._memory(),
        "checks": None if policy._checks is None else policy._checks.memory(),
    }
    return _arguments_of(policy), run


def revived(cls: type[Policy], arguments: dict[str, Any], run: Mapping[str, Any]) -> Policy:
    """Make a policy of a class from a snapshot."""
    policy = _new(cls, arguments)
    limits, q = policy.limits, len(policy.questions)
    policy._round, policy._spent, policy.observed = (
        recalled(run, name, (), int, 0) for name in ("round", "spent", "observed")
    )
    limits.paid, limits.priced = (recalled(run, name, least=0.0) for name in ("paid", "priced"))
    limits.asked = recalled_counts(run, "asked", q)
    evaluators = len(policy.questions.evaluators)
    limits.absent = set(recalled(run, "absent", (None,), int, 0, evaluators - 1).tolist())
    limits.barred = set(recalled(run, "barred", (None,), int, 0, q - 1).tolist())
    outstanding = recalled_counts(run, "outstanding", q)
    policy._hook("recall")(run["memory"])  # with more evaluations than at first, perhaps
    if policy.spent > policy.horizon:
        raise ValueError(f"{policy.spent} of {policy.horizon} evaluations are spent")
    if run["checks"] is not None:
        policy._watch.recall(run["checks"])
    limits.outstanding = outstanding
    return policy


def _arguments_of(policy: Policy) -> dict[str, Any]:
    """Return what a policy was made of: arguments by place and by name."""
    placed, named = policy._arguments
    return {
        "placed": [_recipe(value) for value in placed],
        "named": {name: _recipe(value) for name, value in named.items()},
    }


def _new(cls: type[Policy], arguments: Mapping[str, Any]) -> Policy:
    return cls(
        *(_made(value) for value in arguments["placed"]),
        **{name: _made(value) for name, value in arguments["named"].items()},
    )


def _recipe(value: Any) -> Any:
    """Return how to make an argument anew: a policy inside another is made fresh."""
    if type(value) in IN_MEMORY:
        return {"policy": type(value), "arguments": _arguments_of(value)}
    return value


def _made(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"policy", "arguments"}:
        cls = value["policy"]
        return _new(class_in_state(cls) if isinstance(cls, str) else cls, value["arguments"])
    return value


def plain(value: Any) -> Any:
    """Return a value as dictionaries, lists, texts and numbers."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return [plain(inner) for inner in value.tolist()]
        return value.tolist()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, ActionSet):
        return {"actions": value.to_dict()}
    if isinstance(value, Questions):
        return {"questions": value.to_dict()}
    if isinstance(value, type) and value in IN_MEMORY:
        return _name_of(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise InputError(
        f"the state cannot hold {value!r}, of {type(value).__name__}; make the policy of numbers, "
        "texts and lists."
    )


def _name_of(cls: Any) -> str:
    """Return the name that a state has for a class; an error if it stands for another one."""
    if class_in_state(cls.name) is not cls:
        raise InputError(
            f"the state cannot hold a {cls.__name__}: {cls.name!r} is the name of another policy. "
            "Give the class a name of its own."
        )
    return str(cls.name)


def as_it_was(value: Any) -> Any:
    """Return a plain value with options and infinite numbers as they were."""
    if isinstance(value, Mapping):
        if set(value) == {"number"}:
            return _NON_FINITE[value["number"]]
        if set(value) == {"actions"}:
            return ActionSet.from_dict(value["actions"])
        if set(value) == {"questions"}:
            return Questions.from_dict(value["questions"])
        return {name: as_it_was(inner) for name, inner in value.items()}
    if isinstance(value, list) and any(isinstance(inner, list | Mapping) for inner in value):
        return [as_it_was(inner) for inner in value]
    return value
