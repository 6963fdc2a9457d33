"""What scores have come to, whether a policy asked for them or they were there.

What a policy says beside its decision and the bias is its own: searches for certainty
(`evenhand.search.Choice`) say most of it, and one of your own may have any of these:
``values()``, ``biases()``, ``difference(a, b)``, ``forecast()`` and
``stopped_because``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.numerics.intervals import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Decision, Feedback, Finding
from evenhand.questions import Askable, Column, Questions, checked_askable
from evenhand.scores.scores import AS_GIVEN, Level

Scope = Literal["these", "like these"]
"""Whom a conclusion is about: the judges who gave the scores, or judges like them."""

UNKNOWN = Estimate.without_interval()
"""A bias of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Conclusion:
    """All that an answer is made of: what the scores say, as a policy does (`Policy.recommend`,
    `search.Choice`), and how they came about.
    """

    actions: Askable
    checks: Checks
    decision: Decision
    bias: Estimate  # unknown where there are leniencies only
    findings: tuple[Finding, ...]
    method: str  # how that was worked out, in a few words
    stopped_because: str
    spent: int  # scores that were asked for,
    at_most: int  # of how many in all
    paid: float
    biases: list[tuple[Column, Estimate]] = field(default_factory=list)
    values: Floats | None = None
    observed: int = 0  # scores that were there
    budget: float = math.inf
    forecast: float = math.nan  # how many more settle it if leads stay as they are
    may_ask: bool = True  # whether any question may still be asked
    noise_scale: float | None = None  # of a score as it was stated; None if it was not
    by_bounds: bool = False  # whether bounds of the scores say so
    scope: Scope = "these"  # the judges who gave the scores, or judges like them
    # whether no noise is heard: scores agree to the last digit, or none is left over
    silent: bool = False
    looks_once: bool = False  # whether scores are looked at once, when all are in
    policy: Policy | None = None  # what asked; None where the scores were there

    @property
    def questions(self) -> Questions:
        """What could be asked."""
        return Questions.of(self.actions)


def conclusion_of(policy: Policy) -> Conclusion:
    """Return what a policy has come to."""
    limits, columns = policy.limits, policy.questions.columns
    left = limits.left(np.zeros(len(policy.questions), dtype=np.int64))
    biased = bool(columns) and columns[0].kind != "leniency"
    return Conclusion(
        policy.actions,
        checks_of(policy),
        policy.recommend(),
        policy.bias() if biased else UNKNOWN,
        policy.findings(),
        f"{policy.name}, seed {policy.seed}",
        end_of(policy) or _end(policy),
        policy.spent,
        policy.horizon,
        limits.paid,
        biases_of(policy),
        values_of(policy),
        policy.observed,
        limits.money,
        forecast_of(policy),
        bool(left.any()),
        policy.stated_noise,
        policy.bounds is not None and policy.stated_noise is not None,
        getattr(policy, "scope", "these"),
        looks_once=getattr(policy, "looks", None) == "once",
        policy=policy,
    )


def _end(policy: Policy) -> str:
    """Return why a policy that does not say is done."""
    if policy.remaining == 0:
        return f"all {policy.horizon:,} evaluations are spent"
    limits = policy.limits
    left = limits.left(np.zeros(len(policy.questions), dtype=np.int64)) > 0
    if not left.any() and limits.absent:
        return f"nobody is left to ask: {', '.join(limits.absent_names)} left"
    if not left.any():
        return "every question has been asked as often as it may be"
    cheapest = float(policy.questions.prices[left].min())
    if limits.money - limits.paid < cheapest:
        return (
            f"the budget of {limits.money:,g} is spent: {limits.money - limits.paid:,g} is left, "
            f"and an evaluation costs {cheapest:,g}"
        )
    return "the policy asks for no more"


def scored(
    actions: Askable,
    asked: Sequence[int],
    scores: Sequence[float],
    noise_scale: float | None,
    level: Level = AS_GIVEN,
) -> tuple[Feedback, Checks, dict[str, Any]]:
    """Return scores that were there by question, in units of its relative noise; the checks that
    have seen them; and what they are to a `Conclusion`, by name.
    """
    questions = Questions.of(checked_askable(actions))
    which, y = np.asarray(asked, dtype=np.intp), np.asarray(scores, dtype=np.float64)
    if questions.noise is not None:
        y = y / questions.noise[which]
    q, limits = len(questions), Limits(questions)
    told = Feedback(*(np.bincount(which, part, minlength=q) for part in (None, y, y**2)))
    limits.asked = told.counts
    checks = Checks(questions, noise_scale=noise_scale, level=level)
    checks.take(*told.parts)
    return (
        told,
        checks,
        {
            "actions": actions,
            "checks": checks,
            "spent": len(y),
            "at_most": max(1, len(y)),
            "paid": float(told.counts @ questions.prices),
            "may_ask": bool(limits.left(np.zeros(q, dtype=np.int64)).any()),
            "noise_scale": noise_scale,
        },
    )


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


def checks_of(policy: Policy) -> Checks:
    """Return what watches a policy's evaluations for what contradicts the assumptions."""
    return policy._watch


def end_of(policy: Policy) -> str | None:
    """Return why the policy is done, in words; None while it is not, or if it does not say."""
    because: str | None = getattr(policy, "stopped_because", None)
    return because
