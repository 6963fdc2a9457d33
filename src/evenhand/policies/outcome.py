"""What scores have come to, whether a policy asked for them or they were there.

What a policy says beside its decision and the bias is its own: searches for certainty
(`evenhand.search.Choice`) say most of it, and one of your own may have any of these: ``values()``,
``biases()``, ``difference(a, b)``, ``forecast()`` and ``stopped_because``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.numerics.intervals import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.messages import Decision, Finding
from evenhand.questions import Askable, Column, Questions


@dataclass(frozen=True, eq=False)
class Outcome:
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
    scope: Literal["these", "like these"] = (
        "these"  # the judges who gave the scores, or judges like them
    )
    # whether no noise is heard: scores agree to the last digit, or none is left over
    silent: bool = False
    looks_once: bool = False  # whether scores are looked at once, when all are in
    policy: Policy | None = None  # what asked; None where the scores were there

    @property
    def questions(self) -> Questions:
        """What could be asked."""
        return Questions.of(self.actions)


def outcome_of(policy: Policy) -> Outcome:
    """Return what a policy has come to."""
    limits, columns = policy.limits, policy.questions.columns
    left = limits.left(np.zeros(len(policy.questions), dtype=np.int64)) > 0
    biased = bool(columns) and columns[0].kind != "leniency"
    return Outcome(
        policy.actions,
        checks_of(policy),
        policy.recommend(),
        policy.bias() if biased else Estimate.without_interval(),
        policy.findings(),
        f"{policy.name}, seed {policy.seed}",
        said_by(policy, "stopped_because") or _end(policy, left),
        policy.spent,
        policy.horizon,
        limits.paid,
        list(said_by(policy, "biases") or []),
        said_by(policy, "values"),
        policy.observed,
        limits.money,
        forecast_of(policy),
        bool(left.any()),
        policy.stated_noise,
        policy.bounds is not None and policy.stated_noise is not None,
        said_by(policy, "scope") or "these",
        looks_once=said_by(policy, "looks") == "once",
        policy=policy,
    )


def _end(policy: Policy, left: NDArray[np.bool_]) -> str:
    """Return why a policy that does not say is done; (q,) what may still be asked is left."""
    limits = policy.limits
    if policy.remaining == 0:
        return f"all {policy.horizon:,} evaluations are spent"
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


def said_by(policy: object, what: str, *args: Any) -> Any:
    """Return what a policy says of something, by the name of a method or an attribute; None if it
    does not say.
    """
    said = getattr(policy, what, None)
    return said(*args) if callable(said) else said


def forecast_of(policy: object) -> float:
    """Return how many evaluations are still expected to come; NaN if the policy cannot say."""
    said = said_by(policy, "forecast")
    return math.nan if said is None else float(said)


def checks_of(policy: Policy) -> Checks:
    """Return what watches a policy's evaluations for what contradicts the assumptions."""
    return policy._watch
