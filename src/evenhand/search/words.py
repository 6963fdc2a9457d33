"""A search for certainty in words: why it asks nothing more, and what its answer rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.inference.target import Target
from evenhand.policies.messages import Certainty, Selection
from evenhand.search.evidence import BAR
from evenhand.search.record import Stop

if TYPE_CHECKING:
    from evenhand.search.choice import Choice

_SHOWN = 5  # rivals that are named,
_MANY = 12  # and options that are chosen


def stopped(
    policy: Choice, stop: Stop, target: Target | None = None, said: Selection | None = None
) -> str:
    """Return why nothing more is asked; with a ``target``, what is ``said`` of it."""
    limits, rivals = policy.limits, shown(policy.options, stop)
    about = "" if not stop.options else repr(policy.options.labels[stop.options[0]])
    if stop.options and stop.options[0] == BAR and target is not None:
        about = f"the bar of {target.bar:g}"
    if stop.why:
        return stop.why
    if stop.reason == "certain":
        alarms = [finding for finding in policy.findings() if finding.alarm]
        if alarms and all(finding.assumption == "kinds" for finding in alarms):
            return "it would be certain if no judge liked single options, which nobody confirms."
        if alarms:
            return "it would be certain if the model were right, but an alarm says that it is not."
        if target is not None and said is not None and target.top is None:
            return certain_sides(policy.options, target, said, policy.confidence)
        if said is not None:
            less = 0.0 if said.wrong_at_most == 0 else policy.tolerance
            return certain_set(policy.options, said.chosen, policy.confidence, less)
        return certain(policy.options, stop.options[0], policy.confidence, policy.tolerance)
    if stop.reason == "hopeless":
        rest = f"{policy.remaining} evaluations"
        if math.isfinite(limits.money):
            rest += f" and the {limits.money - limits.paid:g} of the budget"
        or_less = "" if policy.tolerance else ", or state a tolerance: how much may be lost"
        return (
            f"{about} and {rivals} cannot be told apart with the {rest} that are left. Call "
            f"allow() with more{or_less}."
        )
    if stop.reason == "stuck" and limits.absent:
        gone = ", ".join(repr(name) for name in limits.absent_names)
        return f"{about} and {rivals} cannot be compared while {gone} cannot be asked."
    if stop.reason == "stuck":
        return (
            f"{about} and {rivals} cannot be compared any more: the questions that would do it "
            "were asked as often as they may be. Allow more of them, or ask further evaluators."
        )
    if stop.reason == "broke":
        return f"the budget of {limits.money:g} is spent: {limits.paid:g} of it."
    return f"all {policy.horizon} evaluations are spent; allow() goes on with more."


def certain(options: Any, option: int, confidence: float, tolerance: float) -> str:
    """Return that an option is certain."""
    more = f" by more than {tolerance:g}" if tolerance else ""
    said = f"no option is better than {options.labels[option]!r}{more}, with "
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    return f"{said}{100 * confidence:g}% confidence{rests}"


def certain_set(
    options: Any, chosen: Sequence[int], confidence: float, tolerance: float = 0.0
) -> str:
    """Return that several options are certain to be the best."""
    names = ", ".join(repr(options.labels[x]) for x in chosen[:_MANY])
    more = "" if len(chosen) <= _MANY else f" and {len(chosen) - _MANY:,} more"
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    what = f"the {len(chosen):,} best, {names}{more},"
    if tolerance:
        what = f"{names}{more} by more than {tolerance:g},"
    return (
        f"no other option is better than any of {what} with {100 * confidence:g}% confidence{rests}"
    )


def certain_sides(options: Any, target: Target, said: Selection, confidence: float) -> str:
    """Return that it is certain of every option on which side of a bar, or of another, it is."""
    n, level = len(said.inside), f"{100 * confidence:g}% confidence"
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    are = "is" if n == 1 else "are"
    return f"{n:,} of {len(options.labels):,} options {are} {target.words}, with {level}{rests}"


def set_may_be_chance(options: Any, selection: Selection, n: int, confidence: float) -> str:
    """Return that n planned answers do not settle which options are the best few."""
    m, sure = len(selection.chosen), len(selection.inside)
    return (
        f"all {n} answers are in, and of the {m:,} that look best {sure:,} certainly are, at "
        f"{100 * confidence:g}% confidence. More evaluators from the start would help."
    )


def sides_may_be_chance(
    options: Any, target: Target, said: Selection, n: int, confidence: float
) -> str:
    """Return that n planned answers do not settle who is above a bar, or better than an option."""
    k = len(options.labels) - (target.against is not None)
    sure = len(said.inside) + len(said.outside)
    return (
        f"all {n} answers are in, and of {sure:,} of {k:,} options it is certain whether they are "
        f"{target.words}, at {100 * confidence:g}% confidence. More evaluators from the start "
        "would help, or a tolerance."
    )


def may_be_chance(options: Any, stop: Stop, n: int, confidence: float, would_help: str) -> str:
    """Return that n planned answers do not make the leader certain, and what would help."""
    return (
        f"all {n} answers are in, and that {options.labels[stop.options[0]]!r} leads "
        f"{shown(options, stop)} may be chance, at {100 * confidence:g}% confidence. A tolerance "
        f"would help (how much may be lost), or {would_help}."
    )


def nothing_left_over(
    options: Any, option: int, n: int, agree: bool, say: str = "how large noise is (noise_scale)"
) -> str:
    """Return that n answers cannot tell how sure the leader is: they agree, or none is spare;
    ``say`` is what would help if somebody knew it.
    """
    seen = "agree to the last digit" if agree else "are no more than the model has parameters"
    return (
        f"all {n} answers are in, and {options.labels[option]!r} leads; but they {seen}, and "
        "without any scatter scores cannot tell how sure that is. Ask further evaluators, or, if "
        f"it is known, say {say}."
    )


def not_compared(options: Any, stop: Stop, n: int) -> str:
    """Return which options remain apart after n answers."""
    first = options.labels[stop.options[0]]
    return f"the {n} answers that are in do not compare {first!r} with {shown(options, stop)}"


def shown(options: Any, stop: Stop) -> str:
    """Return the names of those that a leader is not certain to be better than, or some of them."""
    rivals = [repr(options.labels[x]) for x in stop.options[1 : _SHOWN + 1]]
    return ", ".join(rivals) + (", …" if len(stop.options) > _SHOWN + 1 else "")


def grounds(options: Any) -> Certainty:
    """Return what certainty rests on: options that stand for themselves need no model of value."""
    return "own scores" if options.stand_alone else "features exact"
