"""What helps most, in sentences: who is not needed, who should be found, what money buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evenhand.inference.target import Target
from evenhand.planning.reviews import ReviewStep
from evenhand.planning.ways import WayOutcome

_MOST_MORE = 64  # neutral evaluators that are looked for, at most


def more_neutral(enough_with: Callable[[int], bool], n: int) -> str:
    """Return how many neutral evaluators more would be enough."""
    low, high = 0, 1
    while not enough_with(high):
        low, high = high, 2 * high
        if high > _MOST_MORE:
            return (
                f"Not even {low} neutral evaluators more would be enough: the leads are too small "
                "for the noise."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough_with(middle) else (middle, high)
    return (
        f"All {n} evaluators are not enough; with {high} neutral one{'' if high == 1 else 's'} "
        f"more, {n + high} in all, it would be."
    )


def asked_again(found: WayOutcome) -> str:
    """Return what it takes if the same may be asked again."""
    return (
        "If the same evaluators may be asked the same again, about "
        f"{math.ceil(found.counts.sum()):,} evaluations make it certain."
    )


def some_will_do(chosen: Sequence[str], n: int) -> str:
    """Return that fewer evaluators than there are will do."""
    return f"{len(chosen)} of the {n} evaluators will do: {_names(chosen)}."


def budget_for_evaluators(budget: float, wanted: float, n: int) -> str:
    """Return that a budget does not pay for as many evaluators as would be enough."""
    return f"A budget of {budget:g} pays for less: {n} evaluators cost {wanted:g}."


def too_few(most: int, k: int, reviews: float) -> str:
    """Return that workloads and conflicts allow fewer evaluations than wanted."""
    return (
        f"Workloads and conflicts of interest allow {most:,} evaluations, {most / k:.3g} of each "
        f"option; {reviews:g} of each would take {round(reviews * k):,}."
    )


def budget_for_reviews(budget: float, price: float, n: int) -> str:
    """Return that a budget pays for fewer evaluations than wanted."""
    return f"A budget of {budget:g} pays for less: {n:,} evaluations cost {price:g}."


def of_reviews(
    steps: Sequence[ReviewStep], planned: ReviewStep, target: Target, calls: int, *, robust: bool
) -> list[str]:
    """Return what more evaluations of each option buy, and what a hand-out withstands."""
    if math.isinf(planned.difference):
        return ["These do not compare all options: plan more of each, or fewer conflicts."]
    said = []
    after = next((step for step in steps if step.reviews >= planned.reviews + 0.5), None)
    if after is not None:
        more = after.evaluations - planned.evaluations
        per = "per place" if target.top is not None else "at each that is not"
        said.append(
            f"{more:,} evaluations more, {after.reviews:.3g} of each option, would make "
            f"{after.right:.3g} of {calls:,} right, not {planned.right:.3g}, and lose "
            f"{after.lost:.2g} {per}, not {planned.lost:.2g}. Asked at the line once scores are in "
            "(decide says about whom) they gain more than that."
        )
    if math.isinf(planned.precision):
        said.append("Nothing is told of the bias: nobody evaluates the own group.")
    stays = "All options can still be compared" if robust else "Not all options can be compared"
    said.append(f"{stays} if any one evaluator does not come.")
    return said


def budget_for_certainty(budget: float, price: float) -> str:
    """Return for which leads a budget is about enough; the price goes with their square."""
    factor = math.sqrt(price / budget)
    return (
        f"A budget of {budget:g} is about enough where leads are {factor:.2g} times what is "
        f"assumed, or the noise is 1/{factor:.2g} of it."
    )


def _names(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
