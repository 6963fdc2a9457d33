"""What is kept with options: made once, shared by equal sets and threads, gone with the options."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import evenhand as eh
from evenhand.policies.frame import per_action_set


def options(top: float = 1.0) -> eh.ActionSet:
    return eh.ActionSet([[top], [2.0]], ["a", "b"])


class Thing:
    """Something that can be told apart and watched."""


def test_equal_sets_share_and_others_do_not() -> None:
    made = per_action_set(lambda actions: Thing())
    one, equal, other = options(), options(), options(3.0)
    assert one is not equal
    assert made(one) is made(one) is made(equal)
    assert made(other) is not made(one)


def test_further_arguments_count() -> None:
    @per_action_set
    def made(actions: eh.ActionSet, flag: bool, *, name: str = "") -> Thing:
        return Thing()

    actions = options()
    assert made(actions, True) is made(actions, True)
    assert made(actions, True) is not made(actions, False)
    assert made(actions, True, name="x") is not made(actions, True)


def test_what_is_kept_goes_with_the_options() -> None:
    made = per_action_set(lambda actions: Thing())
    first, equal = options(), options()
    watched = weakref.ref(made(first))
    del first
    gc.collect()
    assert watched() is None
    again = made(equal)  # an equal set that lives on has it made again, and keeps it
    assert made(equal) is again


def test_what_fails_is_tried_again() -> None:
    calls: list[int] = []

    @per_action_set
    def made(actions: eh.ActionSet) -> int:
        calls.append(1)
        if len(calls) == 1:
            raise eh.InputError("no")
        return 7

    actions = options()
    with pytest.raises(eh.InputError):
        made(actions)
    assert (made(actions), made(actions), len(calls)) == (7, 7, 2)


def test_threads_that_ask_at_the_same_time_get_the_same() -> None:
    """Two are let in before either has made it: both work, and both get the first."""
    both = threading.Barrier(2)
    calls: list[int] = []

    @per_action_set
    def made(actions: eh.ActionSet) -> Thing:
        calls.append(1)
        both.wait()
        return Thing()

    actions, got = options(), []
    threads = [threading.Thread(target=lambda: got.append(made(actions))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 2
    assert got[0] is got[1] is made(actions)
