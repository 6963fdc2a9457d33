"""What is worked out once and shared by all runs on the same options.

Threads may ask at the same time. Nothing is locked, since a lock that is held while a process forks
never opens in the child: at worst two threads work out the same thing, and both get the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from evenhand.questions import Askable

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
