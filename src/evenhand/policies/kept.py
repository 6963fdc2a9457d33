"""What is worked out once and shared by all runs on the same options.

Before the first elimination all runs on the same options go the same way, and often after it. So
designs, and what is made of them, are kept: with the options (`per_action_set`), or by what they
depend on (`Recent`).

Threads may ask at the same time. Nothing is locked, since a lock that is held while a process forks
never opens in the child: at worst two threads work out the same thing, and both get the first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from evenhand.questions import Askable

Asked = TypeVar("Asked", bound=Askable)
Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")
More = ParamSpec("More")

_MOST = 4096  # things kept of a kind


def per_action_set(
    make: Callable[Concatenate[Asked, More], Thing],
) -> Callable[Concatenate[Asked, More], Thing]:
    """Call a function once for each set of options (and further arguments), and keep what it gives.

    Equal sets share it. It goes with the set that it was made for; if an equal one lives on, it is
    made again. What is kept must not hold the set itself, which would then never go.

    Examples
    --------
    >>> from evenhand import ActionSet
    >>> @per_action_set
    ... def size(actions):
    ...     print("counting")
    ...     return len(actions)
    >>> actions = ActionSet([[1.0], [2.0]], ["a", "b"])
    >>> size(actions), size(actions)
    counting
    (2, 2)
    """
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


class Recent(Generic[Key, Thing]):
    """Things by what they depend on; forgotten all at once when there are many.

    Examples
    --------
    >>> squares = Recent()
    >>> squares.get(3, lambda: 3**2), squares.get(3, lambda: 1 / 0)
    (9, 9)
    """

    def __init__(self) -> None:
        self._things: dict[Key, Thing] = {}

    def get(self, key: Key, make: Callable[[], Thing]) -> Thing:
        """Return what is kept under this key, or else make it."""
        things = self._things  # another thread may start over
        if key not in things:
            if len(things) >= _MOST:
                things = self._things = {}
            things.setdefault(key, make())
        return things[key]
