"""The state of a policy as a plain value, and back: to stop here and go on anywhere.

A state holds what the policy was made of, and what it remembers of its run: k counts and sums, an
m × m matrix, plans with their scores, the record of the checks (at most 2048 entries). It is made
of dictionaries, lists, texts and numbers only, so JSON carries it without loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts
from evenhand.errors import InputError
from evenhand.plain import shown
from evenhand.policies.base import Policy
from evenhand.policies.registry import policy_class
from evenhand.questions import Questions

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
    cls = _class_called(named) if policy is None else policy
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
        "absent": sorted(limits.absent),
        "memory": policy._memory(),
        "checks": None if policy._checks is None else policy._checks.memory(),
    }
    return _arguments_of(policy), run


def revived(cls: type[Policy], arguments: dict[str, Any], run: Mapping[str, Any]) -> Policy:
    """Make a policy of a class from a snapshot."""
    policy = _new(cls, arguments)
    limits = policy.limits
    policy._round, policy._spent, policy.observed = (
        whole_number(run[name], name) for name in ("round", "spent", "observed")
    )
    limits.paid = float(run["paid"])
    limits.asked = whole_numbers(run["asked"], len(limits.asked), "asked")
    limits.absent = {whole_number(e, "absent") for e in run["absent"]}
    outstanding = whole_numbers(run["outstanding"], len(limits.asked), "outstanding")
    if not limits.absent <= set(range(len(policy.questions.evaluators))):
        raise ValueError(f"evaluators {sorted(limits.absent)} left, of {policy.questions!r}")
    policy._hook("recall")(run["memory"])  # with more evaluations than at first, perhaps
    if policy.spent > policy.horizon or not 0.0 <= limits.paid < math.inf:
        raise ValueError(f"{policy.spent} of {policy.horizon} evaluations spent, {limits.paid}")
    if run["checks"] is not None:
        policy._watch.recall(run["checks"])
    limits.outstanding = outstanding
    return policy


def whole_number(given: Any, name: str) -> int:
    """Return a whole number from 0 to 10¹⁸, or raise `ValueError`."""
    if isinstance(given, bool | str) or given != int(given) or not 0 <= given <= 10**18:
        raise ValueError(f"{name} is {given!r:.80}")
    return int(given)


def whole_numbers(given: Any, n: int, name: str) -> Counts:
    """Return (n,) whole numbers from 0 to 10¹⁸, or raise `ValueError`."""
    found = np.asarray(given)
    if (
        found.shape != (n,)
        or found.dtype.kind not in "iu"
        or not ((found >= 0) & (found <= 10**18)).all()
    ):
        raise ValueError(f"{name} is {given!r:.80}")
    return found.astype(np.int64)


def _class_called(name: str) -> type[Policy]:
    """Return the registered policy of that name, or else the only one in memory."""
    try:
        return policy_class(name)
    except InputError:
        found, level = [], [Policy]
        while level:
            level = [heir for cls in level for heir in cls.__subclasses__()]
            found += [cls for cls in level if vars(cls).get("name") == name]
        if len(found) != 1:
            raise
        return found[0]


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
    if isinstance(value, Policy):
        return {"policy": type(value), "arguments": _arguments_of(value)}
    return value


def _made(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"policy", "arguments"}:
        cls = (
            _class_called(value["policy"]) if isinstance(value["policy"], str) else value["policy"]
        )
        return _new(cls, value["arguments"])
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
    if isinstance(value, type) and issubclass(value, Policy):
        if _class_called(value.name) is not value:
            raise InputError(
                f"the state cannot hold a {value.__name__}: {value.name!r} is the name of another "
                "policy. Give the class a name of its own."
            )
        return value.name
    if value is None or isinstance(value, str | int | float):
        return value
    raise InputError(
        f"the state cannot hold {value!r}, of {type(value).__name__}; make the policy of numbers, "
        "texts and lists."
    )


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
