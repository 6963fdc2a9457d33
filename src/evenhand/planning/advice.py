"""What helps most, in sentences: who is not needed, who should be found, what money buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evenhand.certainty.targets import Target
from evenhand.planning.curve import Step
from evenhand.planning.reviews import ReviewStep
from evenhand.planning.ways import WayOutcome

_MOST_MORE = 64  # neutral evaluators that are looked for, at most
_NEARLY = 1.05  # a price that is nearly as low
_SAME = 0.005  # share of a price that is no difference
_RISE = 0.01  # of a probability that is worth a word
_LITTLE = 0.05  # a saving that may be the luck of the draws


def more_neutral(enough_with: Callable[[int], bool], n: int, *, bias: bool = False) -> str:
    """Return how many neutral evaluators more would be enough."""
    low, high = 0, 1
    while not enough_with(high):
        low, high = high, 2 * high
        if high > _MOST_MORE:
            if bias:
                return (
                    "Neutral evaluators alone would not be enough: a bias shows only where "
                    "somebody is partial. Add evaluators who are partial to some, and options "
                    "they are partial to, or let questions be asked again."
                )
            return (
                f"Not even {low} neutral evaluators more would be enough: the leads are too small "
                "for the noise."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough_with(middle) else (middle, high)
    return (
        f"All {n} evaluators are not enough; with {high} neutral one{_s(high)} more, {n + high} in "
        "all, it would be."
    )


def asked_again(found: WayOutcome) -> str:
    """Return what it takes if the same may be asked again."""
    return (
        "If the same evaluators may be asked the same again, about "
        f"{math.ceil(found.evaluations):,} evaluations make it certain."
    )


def some_will_do(chosen: Sequence[str], n: int) -> str:
    """Return that fewer evaluators than there are will do."""
    return f"{len(chosen)} of the {n} evaluators will do: {_names(chosen)}."


def one_neutral_more(steps: Sequence[Step], n: int) -> list[str]:
    """Return by how much a neutral evaluator raises the probability of being certain."""
    whole, after = _beside(steps, n)
    if whole is None or after is None or after.probability < whole.probability + _RISE:
        return []
    return [
        f"One more neutral evaluator beside all {n} would raise the probability of being certain "
        f"from {whole.probability:.0%} to {after.probability:.0%}."
    ]


def one_neutral_saves(steps: Sequence[Step], n: int) -> list[str]:
    """Return how much of the price a neutral evaluator saves."""
    whole, after = _beside(steps, n)
    if whole is None or after is None or not (whole.enough and after.enough):
        return []
    saved = 1.0 - after.price / whole.price
    what = f"saves {saved:.0%} of the price" if saved >= _LITTLE else "saves next to nothing"
    return [f"One more neutral evaluator {what}."]


def fewer_nearly_as_good(steps: Sequence[Step], named: Sequence[str]) -> list[str]:
    """Return how few evaluators, of those in this order, are nearly as cheap as all."""
    n = len(named)
    whole, _ = _beside(steps, n)
    if whole is None or not whole.enough:
        return []
    few = next(s for s in steps if s.enough and s.price <= _NEARLY * whole.price)
    if few.evaluators >= n:
        return []
    share = few.price / whole.price
    cost = f"{share:.0%} of the price" if abs(share - 1.0) >= _SAME else "the price"
    return [
        f"{few.evaluators} evaluator{_s(few.evaluators)} ({_names(named[: few.evaluators])}) would "
        f"do for {cost} of all {n}."
    ]


def budget_for_evaluators(budget: float, cheapest: float, wanted: Step | None) -> list[str]:
    """Return what a budget does not pay for."""
    said = []
    if budget < cheapest:
        said.append(
            f"A budget of {budget:g} does not pay for one evaluator about every option "
            f"({cheapest:g})."
        )
    if wanted is not None and wanted.price > budget:
        said.append(
            f"{wanted.evaluators} evaluators would be enough, at a price of {wanted.price:g}."
        )
    return said


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
        said.append(
            "Nothing is told of the bias: nobody evaluates the own group (own= says how many do)."
        )
    stays = "All options can still be compared" if robust else "Not all options can be compared"
    said.append(f"{stays} if any one evaluator does not come.")
    return said


def budget_for_bias(budget: float, found: WayOutcome | None, price: float) -> str:
    """Return how well a budget lets the bias be known."""
    if found is None:
        return f"A budget of {budget:g} is too small to estimate the bias at all."
    return (
        f"For a budget of {budget:g} the bias can be known to ±{found.precision:.3g}; what was "
        f"asked for costs {price:g}."
    )


def budget_for_certainty(budget: float, price: float) -> str:
    """Return for which leads a budget is about enough; the price goes with their square."""
    factor = math.sqrt(price / budget)
    return (
        f"A budget of {budget:g} is about enough where leads are {factor:.2g} times what is "
        f"assumed, or the noise is 1/{factor:.2g} of it."
    )


def _beside(steps: Sequence[Step], n: int) -> tuple[Step | None, Step | None]:
    """Return what all n evaluators come to, and with a neutral one more."""
    by_size = {step.evaluators: step for step in steps}
    return by_size.get(n), by_size.get(n + 1)


def _names(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _s(n: int) -> str:
    return "" if n == 1 else "s"
