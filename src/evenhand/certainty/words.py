"""Why a search for certainty asks nothing more, in words."""

from __future__ import annotations

import math

from evenhand.certainty.choice import Choice
from evenhand.certainty.record import Stop

_SHOWN = 5  # rivals that are named


def stopped(policy: Choice, stop: Stop) -> str:
    """Return why nothing more is asked."""
    names, limits = policy.options.labels, policy.limits
    about = [repr(names[x]) for x in stop.options]
    shown = ", ".join(about[1 : _SHOWN + 1]) + (", …" if len(about) > _SHOWN + 1 else "")
    if stop.reason == "certain":
        return _certain(policy, names[stop.options[0]])
    if stop.reason == "hopeless":
        rest = f"{policy.remaining} evaluations"
        if math.isfinite(limits.money):
            rest += f" and the {limits.money - limits.paid:g} of the budget"
        return (
            f"{about[0]} and {shown} cannot be told apart with the {rest} that are left. Call "
            "allow() with more, or state a tolerance: how much may be lost."
        )
    if stop.reason == "stuck" and limits.absent:
        gone = ", ".join(repr(name) for name in limits.absent_names)
        return f"{about[0]} and {shown} cannot be compared while {gone} cannot be asked."
    if stop.reason == "stuck":
        return (
            f"{about[0]} and {shown} cannot be compared any more: the questions that would do it "
            "were asked as often as they may be. Allow more of them, or ask further evaluators."
        )
    if stop.reason == "broke":
        return f"the budget of {limits.money:g} is spent: {limits.paid:g} of it."
    return f"all {policy.horizon} evaluations are spent; allow() goes on with more."


def _certain(policy: Choice, name: str) -> str:
    if any(finding.alarm for finding in policy.findings()):
        return "it would be certain if the model were right, but an alarm says that it is not."
    more = f" by more than {policy.tolerance:g}" if policy.tolerance else ""
    said = f"no option is better than {name!r}{more}, with {100 * policy.confidence:g}% confidence"
    return said + (
        "." if policy.options.stand_alone else " and if the features tell values exactly."
    )
