"""The life of a campaign after it was created: paused, resumed, extended; who leaves and joins.

Also what it does by itself: it goes on without an evaluator who fails again and again, and pauses
where everything fails.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import is_number
from evenhand.campaigns.arguments import checked_display, checked_reason
from evenhand.campaigns.course import Course, is_certain
from evenhand.campaigns.events import Kind
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.newcomers import with_newcomers
from evenhand.campaigns.state import asked_to
from evenhand.campaigns.status import answer_from
from evenhand.errors import InputError
from evenhand.questions import Askable, Questions, Superset
from evenhand.search.choice import Choice
from evenhand.tables.texts import listed


def pause(follower: Follower, reason: Any, **code: Any) -> None:
    """Hand out nothing until `resume`; tickets that are out may be told."""
    said = {"reason": checked_reason(reason)} | code
    _move(follower, "running", "paused", said, "there is nothing to pause.")


def resume(follower: Follower) -> None:
    """Go on after `pause`, and try again what failed."""
    otherwise = "extend() goes on with more to spend or to ask."
    _move(follower, "paused", "resumed", {}, otherwise)


def _move(
    follower: Follower, before: str, kind: Kind, content: dict[str, Any], otherwise: str
) -> None:
    """Write an event if the campaign is as it was before; refuse if it is finished."""

    def work(page: Page) -> None:
        if page.state.status == "finished":
            raise InputError(f"campaign {follower.name!r} is finished; {otherwise}")
        if page.state.status == before:
            page.append(kind, content)

    follower.write(work)


def leave(follower: Follower, evaluator: Any, reason: Any, **code: str) -> None:
    """Go on without an evaluator, until `join`; his tickets are taken back."""
    name, reason = follower.evaluator(evaluator), checked_reason(reason)

    def work(page: Page) -> None:
        if name not in page.state.left:
            tickets = sorted(row.number for row in page.state.waiting_for(name))
            left = {"evaluator": name, "reason": reason, "tickets": tickets}
            page.append("left", left | code)

    follower.write(work)


def join(follower: Follower, evaluator: Any) -> None:
    """Have an evaluator back who left."""
    name = follower.evaluator(evaluator)
    follower.write(
        lambda page: name in page.state.left and page.append("joined", {"evaluator": name})
    )


def extend(
    follower: Follower,
    at_most: Any,
    budget: Any,
    questions: Any,
    display: Any,
    newcomers: Mapping[str, Any] | None = None,
    *,
    in_vain: bool = False,
) -> None:
    """Allow more evaluations or money, or add questions; a finished campaign goes on.

    What would have nobody asked anything is refused, unless it may be ``in_vain``.
    """
    newcomers = {name: given for name, given in (newcomers or {}).items() if given is not None}
    if not newcomers and all(given is None for given in (at_most, budget, questions, display)):
        raise InputError(
            "say what there is more of: at_most, budget, questions, options or evaluators."
        )
    if newcomers and questions is not None:
        raise InputError(
            f"questions= are all that can be asked from now on, so that {listed([*newcomers])} "
            "has nothing to add; say one or the other."
        )

    def extended(more: dict[str, Any], known: tuple[object, int], page: Page) -> bool:
        if not page.follows(*known):
            return False
        page.append("extended", more)
        return True

    while True:  # again, if the campaign moved on meanwhile
        with follower.course() as course:
            asked = _grown(course.policy.actions, newcomers) if newcomers else questions
            more = _more(course, at_most, budget, asked, display)
            if more is not None and not in_vain:
                _refuse_in_vain(course, more)
            known = course.known
        if more is None or follower.write(partial(extended, more, known)):
            return


def _grown(actions: Askable, newcomers: Mapping[str, Any]) -> Questions:
    """Return what can be asked, with newcomers."""
    if not isinstance(actions, Questions):
        raise InputError(
            "nobody in particular is asked in this campaign, so that nobody can come in addition; "
            "give all options, old and new: extend(questions=…)."
        )
    conflicts = newcomers.get("conflicts", ())
    more = {name: given for name, given in newcomers.items() if name != "conflicts"}
    return with_newcomers(actions, **more).barring(conflicts)


def _more(
    course: Course, at_most: Any, budget: Any, questions: Askable | None, display: Any
) -> dict[str, Any] | None:
    """Return what an extension comes to, or say why it cannot be; None if there is nothing new."""
    before = policy = course.policy
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
            numbers = _numbers(course, questions)
            policy = more = more.extended(questions)
        more.allow(at_most, budget)
    shown = checked_display(display, policy.questions.options.labels)
    same = (policy.horizon, policy.limits.money) == (before.horizon, before.limits.money)
    if same and policy.actions == before.actions and shown.items() <= course.state.display.items():
        return None
    return {
        "at_most": None if at_most is None else int(at_most),
        "budget": None if budget is None else float(budget),
        "questions": None if questions is None else asked_to(questions),
        "numbers": numbers,
        "display": shown,
    }


def _refuse_in_vain(course: Course, more: dict[str, Any]) -> None:
    """Raise `InputError` where something is decided, and would be looked for again for nothing."""
    if all(more[what] is None for what in ("at_most", "budget", "questions")):
        return
    after = course.extended(more)
    plan = after.due_plan(np.zeros_like(after.pending))
    if not after.finished and (plan is None or plan.get("order") != []):
        return
    if is_certain(after.policy):
        raise InputError("it is certain already: nothing more would be asked.")
    policy: Any = after.policy  # a search for certainty: others were refused
    why = policy.stopped_because or (
        "all that may be asked was answered. Add evaluators, or begin a new campaign."
    )
    raise InputError(f"nothing more would be asked: {why}")


def _numbers(course: Course, questions: Askable) -> list[int]:
    """Return the numbers of questions: those before keep theirs, new ones come after."""
    before = Superset.of(course.policy.actions, questions).questions
    numbers = np.full(len(Questions.of(questions)), -1)
    numbers[before] = course.numbers
    numbers[numbers < 0] = np.arange(len(before), len(numbers))
    return numbers.tolist()


def mend(follower: Follower) -> None:
    """Go on without evaluators who fail again and again; pause where everything fails."""
    state = follower.state()
    broken, hopeless = state.broken(), state.hopeless()
    if broken is not None and not set(state.questions.evaluators) - {broken, *state.left}:
        broken, hopeless = None, {"code": "alone", "about": broken}
    if broken is not None:  # without the last nothing could be asked
        leave(follower, broken, "", code="failing")
    elif hopeless is not None and state.status == "running":
        pause(follower, "", **hopeless)


def give_another_chance(follower: Follower) -> None:
    """Undo `mend`: ask failed questions and absent evaluators again, unless it is over."""
    with follower.course() as course:
        state = course.state
        left = [name for name in state.left if name in state.mended]
        if left and state.status == "finished":
            left = [] if course.policy.remaining == 0 or answer_from(course).sure else left
    if state.status == "paused" and "" in state.mended:
        resume(follower)
    for name in left:
        join(follower, name)
