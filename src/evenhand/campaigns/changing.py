"""Changes of a campaign: paused and resumed, people who leave and join, more to ask or to spend."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from evenhand.actions import ActionSet
from evenhand.campaigns.following import Follower
from evenhand.campaigns.given import checked_display, checked_reason
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.replica import Replica, asked_to
from evenhand.campaigns.stores.session import Session
from evenhand.certainty.choice import Choice
from evenhand.errors import InputError
from evenhand.policies.limits import is_number
from evenhand.questions import Askable, Questions, Superset

Result = TypeVar("Result")


def pause(follower: Follower, reason: Any) -> None:
    """Hand out nothing until `resume`; what is out may come back."""
    reason = checked_reason(reason)

    def work(session: Session) -> None:
        page = Page(session, follower.id)
        if page.status == "finished":
            raise InputError(f"campaign {follower.name!r} is finished; there is nothing to pause.")
        if page.status == "running":
            page.append("paused", {"reason": reason})
            page.status = "paused"
            page.close()

    follower.store.write(work)


def resume(follower: Follower) -> None:
    """Go on after `pause`, and try again what could not be done."""

    def work(session: Session) -> None:
        page = Page(session, follower.id)
        if page.status == "finished":
            raise InputError(
                f"campaign {follower.name!r} is finished; extend() goes on with more to spend or "
                "to ask."
            )
        if page.status == "paused":
            page.append("resumed", {})
            page.status = "running"
            page.close()

    follower.store.write(work)


def leave(follower: Follower, evaluator: Any, reason: Any) -> None:
    """Go on without an evaluator, until `join`; tickets that wait for him are taken back."""
    name, reason = follower.evaluator(evaluator), checked_reason(reason)

    def change(replica: Replica, page: Page) -> None:
        if name not in replica.left:
            tickets = page.void_of(name)
            page.append("left", {"evaluator": name, "reason": reason, "tickets": tickets})

    changed(follower, change)


def join(follower: Follower, evaluator: Any) -> None:
    """Have an evaluator back who left."""
    name = follower.evaluator(evaluator)

    def change(replica: Replica, page: Page) -> None:
        if name in replica.left:
            page.append("joined", {"evaluator": name})
            reopen(page)

    changed(follower, change)


def extend(follower: Follower, at_most: Any, budget: Any, questions: Any, display: Any) -> None:
    """Allow more evaluations or money, or add questions; a finished campaign goes on."""
    if at_most is None and budget is None and questions is None and display is None:
        raise InputError("say what there is more of: at_most, budget or questions.")

    def prepare(replica: Replica) -> dict[str, Any] | None:
        return _more(replica, at_most, budget, questions, display)

    def change(replica: Replica, page: Page, more: dict[str, Any] | None) -> None:
        if more is not None:
            page.append("extended", more)
            reopen(page)

    changed(follower, change, prepare)


def _more(
    replica: Replica, at_most: Any, budget: Any, questions: Askable | None, display: Any
) -> dict[str, Any] | None:
    """Return what an extension comes to, or say why it cannot be; None if there is nothing new."""
    before = policy = replica.policy
    numbers = None
    if any(given is not None for given in (at_most, budget, questions)):
        if not isinstance(before, Choice):
            raise InputError(
                f"{before.name!r} was made for {before.horizon:,} evaluations of what there is, "
                "and takes no more; begin another campaign."
            )
        counted = isinstance(before.actions, ActionSet) and math.isinf(before.limits.money)
        if counted and budget is not None:  # each costs 1
            if not is_number(budget) or budget < 1.0:
                raise InputError(f"budget must be a number ≥ 1, the price of one; got {budget!r}.")
            at_most = min(math.floor(budget), math.inf if at_most is None else at_most)
            budget = None
        policy = more = copy.copy(before)
        if questions is not None:
            numbers = _numbers(replica, questions)
            policy = more = more.extended(questions)
        more.allow(at_most, budget)
    shown = checked_display(display, policy.questions.items)
    same = (policy.horizon, policy.limits.money) == (before.horizon, before.limits.money)
    if same and policy.actions == before.actions and shown.items() <= replica.display.items():
        return None
    return {
        "at_most": None if at_most is None else int(at_most),
        "budget": None if budget is None else float(budget),
        "questions": None if questions is None else asked_to(questions),
        "numbers": numbers,
        "display": shown,
    }


def _numbers(replica: Replica, questions: Askable) -> list[int]:
    """Return the numbers of questions: those before keep theirs, new ones come after."""
    before = Superset.of(replica.policy.actions, questions).questions
    numbers = np.full(len(Questions.of(questions)), -1)
    numbers[before] = replica.numbers
    numbers[numbers < 0] = np.arange(len(before), len(numbers))
    return numbers.tolist()


def reopen(page: Page) -> None:
    """Let a campaign that was decided run again."""
    if page.status == "finished":
        page.status = "running"


def changed(
    follower: Follower,
    change: Callable[..., Result],
    prepare: Callable[[Replica], Any] | None = None,
) -> Result:
    """Make a change to a campaign that is as the replica knows it.

    Parameters
    ----------
    follower
        The campaign.
    change
        Is called in a transaction with the replica, the page, and what ``prepare`` returned.
    prepare
        Works something out beforehand, from the replica.
    """
    while True:
        with follower.lock:
            replica = follower.followed()
            known = replica.version, replica.head, replica.seal
            more = () if prepare is None else (prepare(replica),)
        done = follower.store.write(partial(_put, follower.id, known, change, replica, more))
        if done is not None:
            return done[0]


def _put(
    id: int,
    known: tuple[int, int, str],
    change: Callable[..., Result],
    replica: Replica,
    more: tuple[Any, ...],
    session: Session,
) -> tuple[Result] | None:
    """Make a change, unless the campaign has moved on."""
    page = Page(session, id)
    if not page.follows(*known):
        return None
    result = change(replica, page, *more)
    page.close()
    return (result,)
