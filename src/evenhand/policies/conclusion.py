"""What scores have come to, whether a policy asked for them or they were there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.numerics.estimate import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Decision, Feedback, Finding
from evenhand.policies.sayings import (
    biases_of,
    chance_of,
    checks_of,
    end_of,
    forecast_of,
    values_of,
)
from evenhand.questions import Askable, Column, Questions, checked_askable
from evenhand.scores.level import AS_GIVEN, Level

Scope = Literal["these", "like these"]
"""Whom a conclusion is about: the judges who gave the scores, or judges like them."""

UNKNOWN = Estimate.without_interval()
"""A bias of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Conclusion:
    """All that an answer is made of.

    Parameters
    ----------
    actions, checks
        The options, or the questions about them; all scores, and what watches them.
    decision, bias, biases, values, findings
        What the scores say: as a policy does (`Policy.recommend`, `certainty.Choice`). A bias is
        unknown where there are leniencies only.
    method
        How that was worked out, in a few words.
    stopped_because
        Why nothing more is asked.
    spent, observed, at_most
        Scores that were asked for, that were there, and how many might be asked for in all.
    paid, budget
        What they cost, and how much money there was.
    forecast, chance
        How many more settle it if leads stay as they are, and how probable that is; NaN if nobody
        can say.
    may_ask
        Whether any question may still be asked.
    noise_scale, by_bounds
        The standard deviation of a score as it was stated, None if it was not, and whether bounds
        of the scores say so.
    scope
        Whom it is about: the judges who gave the scores, or judges like them.
    silent
        Whether no noise is heard: scores agree to the last digit, or none is left over.
    items
        On how many items options were tried; 0 where there are none.
    looks_once
        Whether scores are looked at once, when all are in.
    policy
        What asked; None where the scores were there.
    fit, unit
        Least squares that leads and their errors are from, where no policy has them; and what they
        are in units of.
    """

    actions: Askable
    checks: Checks
    decision: Decision
    bias: Estimate
    findings: tuple[Finding, ...]
    method: str
    stopped_because: str
    spent: int
    at_most: int
    paid: float
    biases: list[tuple[Column, Estimate]] = field(default_factory=list)
    values: Floats | None = None
    observed: int = 0
    budget: float = math.inf
    forecast: float = math.nan
    chance: float = math.nan
    may_ask: bool = True
    noise_scale: float | None = None
    by_bounds: bool = False
    scope: Scope = "these"
    silent: bool = False
    items: int = 0
    looks_once: bool = False
    policy: Policy | None = None
    fit: Any = None
    unit: float = 1.0

    @property
    def questions(self) -> Questions:
        """What could be asked."""
        return Questions.of(self.actions)


def conclusion_of(policy: Policy) -> Conclusion:
    """Return what a policy has come to.

    Examples
    --------
    >>> import evenhand as eh
    >>> policy = eh.policy("uniform", eh.ActionSet([[1.0], [1.0]], ["a", "b"]), horizon=10)
    >>> conclusion_of(policy).stopped_because
    'the policy asks for no more'
    """
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
        chance_of(policy),
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
    """Return scores that were there, with the checks of them and what they are to a conclusion.

    Parameters
    ----------
    actions
        The questions, or options that are their own.
    asked, scores
        (n,) indices of the questions that were answered, and the scores.
    noise_scale
        Standard deviation of a score; None if it is not known.
    level
        What was taken off all scores.

    Returns
    -------
    tuple
        The scores by question, in units of its relative noise; what has seen them; ``actions``,
        ``checks``, ``spent``, ``at_most``, ``paid``, ``may_ask`` and ``noise_scale`` by name.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["P"])
    >>> told, checks, known = scored(panel, [0, 1], [6.0, 4.0], None)
    >>> told.sums, known["spent"], known["may_ask"]
    (array([6., 4.]), 2, False)
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
