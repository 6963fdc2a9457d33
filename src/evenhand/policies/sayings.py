"""What some policies say beside their decision and the bias; others say nothing of it.

Searches for certainty (`evenhand.certainty.Choice`) say most of it. A policy of your own may have
any of these: ``values()``, ``biases()``, ``difference(a, b)``, ``forecast()``, ``chance()``,
``certificate()`` and ``stopped_because``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.numerics.intervals import Estimate
from evenhand.questions import Column

if TYPE_CHECKING:
    from evenhand.policies.base import Policy


def values_of(policy: Policy) -> Floats | None:
    """Return (k, 3) the value of every option with its interval; None if the policy does not say.

    Examples
    --------
    >>> import evenhand as eh
    >>> values_of(eh.policy("uniform", eh.ActionSet([[1.0], [1.0]], ["a", "b"]), 10)) is None
    True
    """
    say = getattr(policy, "values", None)
    values: Floats | None = None if say is None else say()
    return values


def biases_of(policy: Policy) -> list[tuple[Column, Estimate]]:
    """Return all biases with their intervals; none of those that the policy does not say."""
    say = getattr(policy, "biases", None)
    return [] if say is None else list(say())


def difference_of(policy: Policy, a: int, b: int) -> Floats | None:
    """Return (4,) by how much option a is better than b, its interval, and what it is at least.

    None if the policy does not say.
    """
    say = getattr(policy, "difference", None)
    found: Floats | None = None if say is None else say(a, b)
    return found


def forecast_of(policy: object) -> float:
    """Return how many evaluations are still expected to come; NaN if the policy cannot say."""
    say = getattr(policy, "forecast", None)
    return math.nan if say is None else float(say())


def chance_of(policy: object) -> float:
    """Return how probable it is that as many as are forecast settle it; NaN if nobody can say."""
    say = getattr(policy, "chance", None)
    return math.nan if say is None else float(say())


def checks_of(policy: Policy) -> Checks:
    """Return what watches a policy's evaluations for what contradicts the assumptions."""
    return policy._watch


def certificate_of(policy: Policy) -> dict[str, Any]:
    """Return a policy's certificate: what has to be known to check its decision by its scores.

    Whole numbers count from 0. Empty where the policy has none.
    """
    say = getattr(policy, "certificate", None)
    certificate: dict[str, Any] = {} if say is None else say()
    return certificate


def end_of(policy: Policy) -> str | None:
    """Return why the policy is done, in words; None while it is not, or if it does not say."""
    because: str | None = getattr(policy, "stopped_because", None)
    return because
