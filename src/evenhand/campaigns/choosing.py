"""`choose` on a store: the campaign of the same call, begun or gone on with."""

from __future__ import annotations

import math
from typing import Any

from evenhand.answers.answer import Answer
from evenhand.campaigns import ledger
from evenhand.campaigns.campaign import Campaign, Where
from evenhand.campaigns.founding import founded, founding
from evenhand.campaigns.stores import Store, open_store
from evenhand.errors import ConflictError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.state import restore
from evenhand.questions import Askable

NAME = "choice"
_MAY_GROW = ("at_most", "budget")


def choose_on(store: Where, options: Askable, made: dict[str, Any], run: dict[str, Any]) -> Answer:
    """Have options evaluated, on a store.

    Parameters
    ----------
    store
        Where the campaign is kept.
    options
        The options, or questions.
    made
        How it is made, as for `Campaign.create`.
    run
        How it is run, as for `Campaign.run`.
    """
    own = not isinstance(store, Store)
    opened = open_store(store)
    try:
        return _resumed(opened, options, made).run(**run)
    finally:
        if own:
            opened.close()


def _resumed(store: Store, options: Askable, made: dict[str, Any]) -> Campaign:
    """Return the campaign of this call: a new one, or the one that is there."""
    grows = {name: made.get(name) for name in _MAY_GROW}
    content = founding(NAME, options, **made)
    try:
        return Campaign(store, NAME, founded(store, NAME, content))
    except ConflictError:
        campaign = Campaign.open(store, NAME)
    id = campaign._id
    (first,) = store.read(lambda session: ledger.events_after(session, id, 0, 1))
    differs = _difference(first.content, content)
    if differs is not None:
        raise InputError(
            f"{store.name!r} holds a choice that was begun with {differs}; give another store, or "
            "the same again. Only at_most and budget may grow."
        )
    limits = _limits(restore(first.content["policy"]), restore(content["policy"]), grows)
    for name, (began, now) in limits.items():
        if now < began:
            raise InputError(
                f"{store.name!r} holds a choice that was begun with {name}={began:,g}, where "
                f"{now:,g} is given now: it may grow, and not shrink. Give another store, or as "
                "much again."
            )
    policy = campaign._followed().policy
    there = {"at_most": policy.horizon, "budget": policy.limits.money}
    more = {name: now for name, (_, now) in limits.items() if now > there[name]}
    if more:
        campaign.extend(**more)
    return campaign


def _limits(was: Policy, now: Policy, given: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the limits that are given now: what they were at first, and what they are now."""
    # where all cost the same, a budget is a number of evaluations
    counted = given["budget"] is not None and math.isinf(now.limits.money)
    limits: dict[str, tuple[Any, Any]] = {}
    if given["at_most"] is not None or counted:
        limits["at_most"] = was.horizon, now.horizon
    if given["budget"] is not None and not counted:
        limits["budget"] = was.limits.money, now.limits.money
    return limits


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return what a choice was begun with that is not given now; None if that is all the same."""
    for name, value in before["settings"].items():
        if now["settings"].get(name) != value:
            return f"{name}={value!r}, where {now['settings'].get(name)!r} is given now"
    old, new = before["policy"], now["policy"]
    if old["policy"] != new["policy"]:
        return f"the policy {old['policy']!r}, where {new['policy']!r} is given now"
    if old["arguments"]["placed"] != new["arguments"]["placed"]:
        return "other options or questions"
    for name in old["arguments"]["named"].keys() | new["arguments"]["named"].keys():
        was, is_ = (part["arguments"]["named"].get(name) for part in (old, new))
        if was != is_ and name not in _MAY_GROW:
            return f"{name}={was!r}, where {is_!r} is given now"
    return None
