"""A plan in plain words: what it takes, whom to ask, what each more evaluator buys, advice."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand.planning.curve import Step

if TYPE_CHECKING:
    from evenhand.planning.plan import Plan

WIDTH = 100
_MOST_ROWS = 20


def verdict(plan: Plan) -> str:
    """Return what it takes, in a few sentences."""
    n, k = plan.evaluations, len(plan.questions.options)
    level = f"{100 * plan.confidence:.6g}%"
    cost = _cost(plan)
    if n == 0 and plan.enough:
        return "Nothing needs to be asked: there is no other option."
    if n == 0:
        return f"A budget of {plan.budget:g} pays for nothing that helps."
    if plan.kind == "fixed":
        goal = f"know the bias to ±{plan.wanted:.3g} ({level}, {unit(plan)})"
        if plan.enough:
            return f"To {goal} takes {number(n)} evaluations{cost}, fixed beforehand."
        return (
            f"Not enough to {goal}: {number(n)} evaluations{cost} know it to ±{plan.precision:.3g}."
        )
    best = f"which of {k:,} options is the best"
    if plan.tolerance:
        best = f"which of {k:,} options is within {plan.tolerance:g} of the best"
    if plan.kind == "until certain":
        low, high = plan.evaluations_range
        said = (
            f"To be {level} certain {best} takes about {number(n)} evaluations{cost}, if "
            f"{plan.premise} ({unit(plan)}). Eight of ten searches take between {number(low)} and "
            f"{number(high)}."
        )
        if math.isfinite(plan.limit) and plan.limit > 0:
            what = "pays less" if plan.questions.priced else "does with fewer"
            said += f" No way of asking {what} than about {number(plan.limit)} on average."
        return said if plan.enough else f"{said} That is more than there is."
    asked = len(plan.chosen)
    who = f"{asked} evaluator{'' if asked == 1 else 's'}"
    said = (
        f"One look at {number(n)} evaluations by {who}{cost} tells for certain ({level}) {best}, "
        f"with probability {plan.probability:.0%}, if {plan.premise} ({unit(plan)})."
    )
    return said if plan.enough else f"{said} Wanted: {plan.chance:.0%}."


def unit(plan: Plan) -> str:
    """Return what leads and widths are measured in."""
    if plan.noise_scale is None:
        return "in standard deviations of one evaluation"
    return f"one evaluation has a standard deviation of {plan.noise_scale:g}"


def in_words(plan: Plan, width: int = WIDTH) -> str:
    """Return the plan as lines of text."""
    parts = ["\n".join(textwrap.wrap(verdict(plan), width))]
    if len(plan.questions.evaluators) and plan.evaluations:
        parts.append("Whom to ask\n" + _table(*asked_rows(plan)))
    elif plan.evaluations:
        parts.append("What to ask about\n" + _table(*option_rows(plan)))
    if plan.evaluators_curve:
        parts.append("What each more evaluator buys\n" + _table(*curve_rows(plan)))
    if plan.advice:
        lines = [
            "\n".join(textwrap.wrap(text, width, initial_indent="- ", subsequent_indent="  "))
            for text in plan.advice
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def asked_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return how much every evaluator is asked: header and rows, those asked most first."""
    counts = plan.by_evaluator
    prices = dict.fromkeys(counts, 0.0)
    for question in plan.counts.nonzero()[0].tolist():
        who = plan.questions.evaluator_of(question)
        if who is not None:
            prices[who] += float(plan.counts[question] * plan.questions.prices[question])
    names = [*plan.chosen, *(name for name in counts if name not in plan.chosen)]
    header = ["evaluator", "evaluations", "share"]
    priced = plan.questions.priced
    rows = [
        [name, number(counts[name]), f"{counts[name] / max(plan.evaluations, 1):.0%}"]
        + ([number(prices[name])] if priced else [])
        for name in names
    ]
    return header + (["price"] if priced else []), rows


def option_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return how often every option is asked about, where nobody in particular is asked."""
    pairs = sorted(plan.by_pair.items(), key=lambda pair: -pair[1])
    return ["option", "evaluations"], [[option, number(n)] for (option, _), n in pairs]


def curve_rows(plan: Plan) -> tuple[list[str], list[list[str]]]:
    """Return what each more evaluator buys: header and rows."""
    steps = plan.evaluators_curve
    shown = [
        ("evaluators", [f"{step.evaluators:,}" for step in steps]),
        ("with", [step.added for step in steps]),
        ("evaluations", [_count(step) for step in steps]),
    ]
    if plan.questions.priced:
        shown.append(("price", [number(step.price) for step in steps]))
    if any(math.isfinite(step.precision) for step in steps):
        shown.append(("bias known to", [_width(step) for step in steps]))
    if plan.kind == "one look":
        shown.append(("certain", [f"{step.probability:.0%}" for step in steps]))
    header = [title for title, _ in shown]
    return header, [list(row) for row in zip(*(cells for _, cells in shown), strict=True)]


def _count(step: Step) -> str:
    return number(step.evaluations) if math.isfinite(step.evaluations) else "never"


def _width(step: Step) -> str:
    return f"±{step.precision:.3g}" if math.isfinite(step.precision) else "not at all"


def _cost(plan: Plan) -> str:
    return f" at a price of {number(plan.price)}" if (plan.questions.prices != 1.0).any() else ""


def number(value: float) -> str:
    """Return a number as people read it: whole, with thousands apart, or three digits.

    Examples
    --------
    >>> number(12_345.6), number(2.5), number(7)
    ('12,346', '2.5', '7')
    """
    if not math.isfinite(value):
        return "∞"
    if float(value).is_integer() or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    left_out = len(rows) - _MOST_ROWS
    shown = [list(header), *(list(row) for row in rows[:_MOST_ROWS])]
    widths = [max(len(row[i]) for row in shown) for i in range(len(header))]
    # names stand left, numbers right
    named = [title in ("evaluator", "option", "with") for title in header]
    lines = [
        "  "
        + "  ".join(
            cell.ljust(w) if left else cell.rjust(w)
            for cell, w, left in zip(row, widths, named, strict=True)
        ).rstrip()
        for row in shown
    ]
    if left_out > 0:
        lines.append(f"  … and {left_out:,} more")
    return "\n".join(lines)
