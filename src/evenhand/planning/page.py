"""The page of a plan: what it takes, whom to ask, what more reviews buy, and what helps most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from evenhand.best import direction
from evenhand.inference.target import Target
from evenhand.report.model import (
    Cell,
    Figures,
    Picture,
    Points,
    Report,
    Rounded,
    Section,
    Share,
    Table,
)
from evenhand.report.words import counted, joined, number, percent

if TYPE_CHECKING:
    from evenhand.planning.one_look import ReviewStep
    from evenhand.planning.plan import Plan


def report_of(plan: Plan) -> Report:
    """Return what a plan has to say."""
    who = "evaluator" if plan.by_evaluator else "option"
    title = "Whom to ask" if plan.by_evaluator else "What to ask about"
    handed = plan.expected is not None
    caption = "Who is asked about whom, and what more reviews buy; the numbers are in the tables."
    picture = Picture("plan", partial(plan.plot), caption)
    return Report(
        "How many evaluations, of whom, at what price?",
        verdict(plan),
        rests=[("Direction", direction(plan.target.best))],
        sections=[
            Section(
                title, [_asked(plan, who) if plan.evaluations and not handed else None], "print"
            ),
            Section("What reviews buy", [_reviews(plan) if plan.reviews_curve else None], "print"),
            Section("What helps most", [Points(plan.advice)], "print"),
            Section("Who evaluates what", [_handed(plan) if handed else None], "file"),
            Section("In a picture", [picture if plan.evaluations else None], "file"),
        ],
    )


def verdict(plan: Plan) -> str:
    """Return what it takes, in a few sentences."""
    n, k = plan.evaluations, len(plan.questions.options)
    level = percent(plan.confidence)
    priced = (plan.questions.prices != 1.0).any()
    cost = f" at a price of {number(plan.price)}" if priced else ""
    if n == 0 and plan.enough:
        return "Nothing needs to be asked: there is no other option."
    if n == 0:
        return f"A budget of {plan.budget:g} pays for nothing that helps."
    if plan.expected is not None:
        return _expected(plan, plan.expected)
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
        return said if plan.enough else f"{said} That is more than there is."
    who = counted(len(plan.chosen), "evaluator")
    said = (
        f"One look at {number(n)} evaluations by {who}{cost} tells for certain ({level}) {best}, "
        f"with probability {plan.probability:.0%}, if {plan.premise} ({unit(plan)})."
    )
    return said if plan.enough else f"{said} Wanted: {plan.chance:.0%}."


def _expected(plan: Plan, step: ReviewStep) -> str:
    """Return what is handed out, and what is expected to come of it."""
    said, top, level = plan.hand_out.words, plan.target.top, percent(plan.confidence)
    if math.isinf(step.difference):
        return f"{said} That does not compare all {len(plan.questions.options):,} options."
    least, lost, what = (
        "less than 3%",
        f"{step.lost:.2g} is expected to be lost",
        "it is",
    )  # 1 of 40
    right = f"The one that looks best is the best with a chance of {step.right:.0%}"
    if top is None:
        least, lost, what = "less than 1%", f"others are {step.lost:.2g} from the line", "all are"
        right = f"Of {counted(plan.calls, 'option')} {step.right:.3g} are expected to be called "
        right += f"right, as {plan.target.words} or not"
    elif top > 1:
        lost, what = f"{step.lost:.2g} per place is expected to be lost", "all of it is"
        right = f"Of the {top:,} that look best {step.right:.2g} are expected to be right"
    parts = [right, lost]
    parts += [f"about {step.at_line:.0f} stand at the line"] * math.isfinite(step.at_line)
    parts += [f"{step.sure:.2g} are sure ({level})"] * math.isfinite(step.sure)
    if math.isfinite(step.settled):
        chance = f"{step.settled:.0%}" if step.settled >= 0.01 else least
        parts.append(f"{what} certain ({level}) with a chance of {chance}")
    premise = f"if {plan.premise} ({unit(plan)}), however lenient evaluators are"
    return f"{said} {'; '.join(parts)}, {premise}."


def _reviews(plan: Plan) -> Table:
    """Return what fewer and more evaluations of each option come to."""
    top, steps = plan.target.top, plan.reviews_curve
    lost = "lost per wrong one" if top is None else "lost" if top == 1 else "lost per place"
    columns: dict[str, Sequence[Cell]] = {
        "of each": [Rounded(step.reviews, 1) for step in steps],
        "evaluations": [step.evaluations for step in steps],
        "difference": widths([step.difference for step in steps]),
        "right" if top == 1 else f"right of {plan.calls:,}": [
            Share(step.right) if top == 1 else Rounded(step.right, 1) for step in steps
        ],
        lost: [Rounded(step.lost, 3) for step in steps],
    }
    if not all(step.allowed for step in steps):
        columns["within workloads"] = [step.allowed for step in steps]
    return Table.of("Evaluations of each option, and what is expected", columns)


def _handed(plan: Plan) -> Table:
    """Return what everybody is handed out."""
    given = plan.to_frame().groupby("evaluator", sort=False)["option"].agg(", ".join)
    columns: dict[str, Sequence[Cell]] = {
        "evaluator": list(plan.by_evaluator),
        "evaluations": [int(n) for n in plan.by_evaluator.values()],
        "options": [given.get(name) for name in plan.by_evaluator],
    }
    return Table.of("What everybody evaluates", columns)


def unit(plan: Plan) -> str:
    """Return what leads and widths are measured in."""
    if plan.noise_scale is None:
        return "in standard deviations of one evaluation"
    return f"one evaluation has a standard deviation of {plan.noise_scale:g}"


def _asked(plan: Plan, who: str) -> Table:
    """Return how much every evaluator is asked, or about every option, those asked most first."""
    asked = plan.to_frame().groupby(who, sort=False)[["evaluations", "price"]].sum()
    names = asked["evaluations"].sort_values(ascending=False, kind="stable").index
    if plan.by_evaluator:
        names = dict.fromkeys([*plan.chosen, *plan.by_evaluator])
    asked = asked.reindex(list(names), fill_value=0)
    counts = asked["evaluations"].tolist()
    columns: dict[str, Sequence[Cell]] = {
        who: list(names),
        "evaluations": counts,
        "share": [Share(n / plan.evaluations) for n in counts],
        "price": [float(price) for price in asked["price"]],
    }
    if len({*plan.questions.prices.tolist()}) == 1:
        del columns["price"]
    return Table.of("How often each is asked", columns)


def widths(half: Sequence[float]) -> list[Cell]:
    """Return half-widths, all with the decimals that the smallest needs; None where unknown."""
    known = [x for x in half if math.isfinite(x)]
    places = max(0, 2 - math.floor(math.log10(min(known)))) if known else 0
    return [Figures(f"±{x:.{places}f}") if math.isfinite(x) else None for x in half]


def more_neutral(more: int, n: int, most: int) -> str:
    """Return how many neutral evaluators more would be enough beside n, if so many can be."""
    if more > most:
        return (
            f"Not even {most} neutral evaluators more would be enough: the leads are too small "
            "for the noise."
        )
    return (
        f"All {n} evaluators are not enough; with {more} neutral one{'' if more == 1 else 's'} "
        f"more, {n + more} in all, it would be."
    )


def some_will_do(chosen: Sequence[str], n: int) -> str:
    """Return that fewer evaluators than there are will do."""
    return f"{len(chosen)} of the {n} evaluators will do: {joined(chosen)}."


def budget_pays_less(budget: float, price: float, what: str) -> str:
    """Return that a budget pays for less than what would be enough, or is wanted."""
    return f"A budget of {budget:g} pays for less: {what} cost {price:g}."


def too_few(most: int, k: int, reviews: float) -> str:
    """Return that workloads and conflicts allow fewer evaluations than wanted."""
    return (
        f"Workloads and conflicts of interest allow {most:,} evaluations, {most / k:.3g} of each "
        f"option; {reviews:g} of each would take {round(reviews * k):,}."
    )


def of_reviews(
    steps: Sequence[ReviewStep], planned: ReviewStep, target: Target, *, calls: int, robust: bool
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
            f"{after.lost:.2g} {per}, not {planned.lost:.2g};"
            " asked at the line once scores are in, more than that."
        )
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
