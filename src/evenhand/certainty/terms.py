"""What a search for certainty is told: how many evaluations it may take, and which scores exist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.policies.limits import is_number
from evenhand.questions import Askable, Questions, checked_askable

_PER_OPTION = 1_000
_MOST = 10**18


def most_evaluations(actions: Askable, horizon: int | None, at_most: int | None) -> int:
    """Return how many evaluations there are at most, by either name; else 1,000 per option.

    Examples
    --------
    >>> from evenhand import ActionSet
    >>> actions = ActionSet([[1.0], [0.5]], ["a", "b"])
    >>> most_evaluations(actions, None, 60), most_evaluations(actions, None, None)
    (60, 2000)
    """
    if horizon is not None and at_most is not None:
        raise InputError(
            f"horizon and at_most are two names for the same number; got {horizon!r} and "
            f"{at_most!r}. Give one."
        )
    if horizon is not None:
        return horizon  # `Policy` checks it
    if at_most is None:
        return _PER_OPTION * len(Questions.of(checked_askable(actions)).options)
    if not is_number(at_most) or not 1 <= at_most <= _MOST or at_most != int(at_most):
        raise InputError(f"at_most must be a whole number from 1 to 10¹⁸; got {at_most!r}.")
    return int(at_most)


def allow_more(policy: Policy, at_most: int) -> None:
    """Let a policy take so many evaluations in all, no fewer than before."""
    limit = most_evaluations(policy.actions, None, at_most)
    if limit < policy.horizon:
        raise InputError(
            f"at_most must be a whole number, and at least the {policy.horizon:,} evaluations "
            f"allowed so far; got {at_most!r}."
        )
    placed, named = policy._arguments
    kept = {name: value for name, value in named.items() if name != "horizon"}
    policy._arguments = placed[:1], kept | {"at_most": limit}
    policy.horizon = limit
    policy._answers.clear()


def afford_more(policy: Policy, budget: float) -> None:
    """Let a policy spend so much money in all, no less than it has spent.

    Examples
    --------
    >>> from evenhand.policies import CertainChoice
    >>> questions = Questions.panel(["Ann", "Bo"], ["P", "Q"], prices=[1.0, 5.0], capacity=None)
    >>> policy = CertainChoice(questions, budget=20.0)
    >>> afford_more(policy, 50.0)
    >>> policy.money
    50.0
    """
    if not is_number(budget) or budget <= 0.0 or budget < policy.paid:
        raise InputError(
            f"budget must be a number, and at least the {policy.paid:g} that was spent so far; got "
            f"{budget!r}."
        )
    before = policy._arguments, policy.money
    placed, named = policy._arguments
    policy._arguments, policy.money = (placed, named | {"budget": float(budget)}), float(budget)
    try:
        policy.allow(policy.horizon)  # what was given up may be worth another try
    except InputError:
        policy._arguments, policy.money = before
        raise
    policy._answers.clear()


def checked_bounds(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    """Return the lowest and the highest score there is, or say what is wrong with them.

    Examples
    --------
    >>> checked_bounds([0, 10])
    (0.0, 10.0)
    """
    if bounds is None:
        return None
    ends = list(bounds) if isinstance(bounds, Sequence | np.ndarray) else []
    if len(ends) != 2 or not all(is_number(end) for end in ends) or not ends[0] < ends[1]:
        raise InputError(
            "bounds must be the lowest and the highest possible score, two numbers such as "
            f"(0, 10); got {bounds!r}."
        )
    return float(ends[0]), float(ends[1])
