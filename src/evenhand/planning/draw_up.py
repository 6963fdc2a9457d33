"""Draw up a plan: find a way, heed the budget, say what helps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Counts, Floats, checked_aim, is_number
from evenhand.best import Best, checked_best, sign
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.inference.target import Target
from evenhand.planning import page
from evenhand.planning.assumed import Assumed, assumed
from evenhand.planning.one_look import OneLook, everything_once
from evenhand.planning.plan import Plan
from evenhand.planning.until_certain import until_certain
from evenhand.questions import Askable, Questions, checked_askable, limited
from evenhand.questions.advice import with_neutral
from evenhand.questions.identifiable import accuracy, refuse_incomparable
from evenhand.questions.inputs import per_evaluator

_MOST = 10**15  # evaluations that are worth counting
_DOUBLED = (1, 2, 4, 8, 16, 32, 64)  # neutral evaluators that are tried


def plan(
    questions: Askable,
    confidence: float = 0.95,
    *,
    leads: ArrayLike | None = None,
    values: ArrayLike | None = None,
    noise_scale: float | None = None,
    tolerance: float = 0.0,
    budget: float | None = None,
    chance: float = 0.8,
    reviews: float | None = None,
    workload: Any = None,
    top: int | None = None,
    bar: float | None = None,
    against: str | None = None,
    best: Best | None = None,
) -> Plan:
    """Return how many evaluations it takes, of whom and at what price, before any is made.

    Say what is assumed of leads or values. Where questions may be asked as often as one likes, some
    searches by `CertainChoice` are played, and the plan is the middle of what they ask until they
    are certain. Where they may not (people are asked once), everything is asked and looked at once:
    the plan is for the fewest evaluators, in the order in which they are given, with whom that is
    certain with probability ``chance``. With ``reviews``, ``top``, ``bar`` or ``against`` every
    option is evaluated by some of the evaluators: the plan is who evaluates what, and what is
    expected to come of it.

    Parameters
    ----------
    questions
        Questions, or options that are their own questions.
    confidence
        Of the choice.
    leads
        By how much the best option leads: one number, over every other; or k − 1, over each of
        them. Which option is the best is not known, and is drawn.
    values
        Instead of leads: one value per option, or one number, the standard deviation of values.
    noise_scale
        Standard deviation of an evaluation. If not given, leads, values and tolerance are in
        units of it.
    tolerance
        What may be lost; with ``bar`` or ``against``, by how much an option may be worse.
    budget
        What may be spent, at the questions' prices.
    chance
        Probability wanted of being certain after one look.
    reviews
        How many evaluations every option is to have, of different evaluators; 3.5 for three or
        four. If not given, and ``top``, ``bar`` or ``against`` is: as many as there can be.
    workload
        How much evaluators may be asked in all, if not as the questions say: one number, or one
        per evaluator.
    top
        How many options are wanted: the ``top`` best. For hand-outs; 1 if nothing else is wanted.
    bar
        Instead of ``top``: wanted are all that are worth more. On the scale of ``values``, if there
        is one for each option; else measured from the average option, so that 0.5 is half a unit
        above it.
    against
        Instead of ``top``: wanted are all that are better than this option. Unless ``values`` says
        what it is worth, it is one like the others, drawn as they are.
    best
        Whether the "high" or the "low" scores will be the best; "high" if not said. Where the
        lowest are, so are they of ``values``, and those are wanted that are below the ``bar``.

    Raises
    ------
    NotIdentifiableError
        Where no number of evaluations will do; it says who would help.

    Examples
    --------
    >>> import evenhand as eh
    >>> skaters = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr"}
    >>> judges = {"P": "fr", "Q": "it", "R": "us", "S": "ca"}
    >>> plan = eh.plan(eh.Questions.panel(skaters, judges), leads=5.0, noise_scale=2.0)
    >>> plan.kind, plan.evaluations, plan.enough
    ('one look', 16, True)
    >>> plan.chosen, plan.by_pair["Ann", "S"]
    (('P', 'Q', 'R', 'S'), 1)
    >>> plan = eh.plan(eh.Questions.panel(skaters, judges), reviews=2, top=2, values=3.0)
    >>> plan.evaluations, plan.hand_out.reviews, plan.hand_out.loads, round(plan.expected.right, 1)
    (8, array([2, 2, 2, 2]), array([2, 2, 2, 2]), 1.8)
    """
    given = Questions.of(checked_askable(questions))
    confidence, tolerance = checked_aim(confidence, tolerance, 0.5)
    if not 0.0 < chance < 1.0:
        raise InputError(f"chance must lie between 0 and 1; got {chance!r}.")
    for name, number in (("budget", budget), ("noise_scale", noise_scale)):
        if number is not None and not (is_number(number) and number > 0.0):
            raise InputError(f"{name} must be a number > 0; got {number!r}.")
    if workload is not None:
        work = per_evaluator(workload, given.evaluators, "workload", math.inf)
        given = given._changed(workload=work)
    best = checked_best(best) or "high"
    target = Target.of(top, bar, against, tolerance, best)
    handed, said = (
        reviews is not None or target is not None,
        leads is not None or values is not None,
    )
    if not (handed or said):
        raise InputError(
            "say what the plan is for: leads= or values= (what is assumed of the options), for a "
            "choice that is certain; or reviews=, how many evaluations every option is to have."
        )
    target = target or Target(top=1, tolerance=tolerance, best=best)
    sigma = 1.0 if noise_scale is None else float(noise_scale)
    if values is not None and np.ndim(values):
        values = sign(best) * np.asarray(values, dtype=np.float64)
    made = Plan(
        given,
        np.zeros(len(given), dtype=np.int64),
        confidence=confidence,
        tolerance=tolerance,
        noise_scale=noise_scale,
        chance=chance,
        budget=budget,
        target=target,
    )
    if len(given.options) == 1 and not handed:
        return made
    target.among(given.options.labels)
    spread = values if said else sigma
    only = target.top is not None
    premise = assumed(len(given.options), leads, spread, tolerance, sigma, best=only)
    if not said:
        premise = replace(premise, words=f"{premise.words}, as is assumed here,")
    premise = _with_line(premise, target)
    made = replace(made, premise=premise.words)
    ours = target if best == "high" else target.turned
    way = OneLook(given, premise, ours, confidence, sigma)
    if handed:
        return _handed_out(made, way, reviews)
    _refuse_unidentifiable(given)
    return (_one_look if limited(given) else _until_certain)(made, way)


def _found(made: Plan, counts: Floats | Counts, chosen: Sequence[str], **more: Any) -> Plan:
    """Return the plan with what was found: (q,) evaluations, of these evaluators."""
    whole = _whole(np.asarray(counts, dtype=np.float64))
    asked = {made.questions.evaluator_of(x) for x in np.flatnonzero(whole).tolist()}
    names = tuple(name for name in chosen if name in asked)
    return replace(made, counts=whole, chosen=names, **more)


def _handed_out(made: Plan, way: OneLook, reviews: float | None) -> Plan:
    """Return the plan of a hand-out: as many evaluations of each option as wanted, or as may be."""
    e, said = len(way.questions.evaluators), []
    if reviews is not None and not (is_number(reviews) and 0.0 < reviews <= e):
        raise InputError(
            f"reviews must be a number up to {e}, of different evaluators; got {reviews!r}."
        )
    n = way.most if reviews is None else round(reviews * way.k)
    enough = n <= way.most
    if not enough:
        said.append(page.too_few(way.most, way.k, reviews or 0.0))
    counts = way.counts(min(n, way.most))
    price = float(counts @ way.questions.prices)
    if made.budget is not None and not made.can_pay(price):
        enough = False
        said.append(page.budget_pays_less(made.budget, price, f"{counts.sum():,} evaluations"))
        counts = way.counts(math.floor(counts.sum() * made.budget / price))
    expected = way.step(counts, concluded=True)
    steps = tuple(way.curve(expected))
    comparable = math.isfinite(expected.difference)
    robust = comparable and way.without_one(counts)
    said += page.of_reviews(steps, expected, way.target, robust=robust, calls=made.calls)
    return _found(
        made,
        counts,
        way.questions.evaluators,
        probability=expected.settled,
        enough=enough and comparable,
        reviews_curve=steps,
        expected=expected,
        advice=tuple(said),
    )


def _with_line(prior: Assumed, target: Target) -> Assumed:
    """Return what is assumed, with where the bar is, or the option that others are held against."""
    if prior.values is not None or target.top is not None:
        return prior
    if target.bar is None:
        return replace(prior, words=f"{prior.words} and {target.against!r} is one like the others")
    if prior.spread is None:
        raise InputError(
            "leads= says by how much the best is ahead, and not where a bar is; with bar= say "
            "values=, one per option or their standard deviation."
        )
    side = "above" if target.bar > 0.0 else "below"
    where = f"{abs(target.bar):g} {side}" if target.bar else "at"
    return replace(prior, words=f"{prior.words} and the bar is {where} the average option")


def _one_look(made: Plan, way: OneLook) -> Plan:
    """Return the plan of one look with the fewest evaluators that are enough, or with all."""
    questions, names = made.questions, made.questions.evaluators
    e, said = len(names), list[str]()

    @cache
    def first(n: int) -> tuple[Counts, float]:
        counts = everything_once(questions, questions.evaluator < n)
        return counts, way.probability(counts)

    def enough_beside(m: int) -> bool:
        more = with_neutral(questions, m)
        counts = everything_once(more, np.ones(len(more), dtype=np.bool_))
        return replace(way, questions=more).probability(counts) >= made.chance

    enough = first(e)[1] >= made.chance
    n = _fewest(lambda n: first(n)[1] >= made.chance, 0, e) if enough else e
    if enough and n < e:
        said.append(page.some_will_do(names[:n], e))
    if not enough and e:
        high = next((m for m in _DOUBLED if enough_beside(m)), 0)
        more = _fewest(enough_beside, high // 2, high) if high else _DOUBLED[-1] + 1
        said.append(page.more_neutral(more, e, _DOUBLED[-1]))
    price = float(first(n)[0] @ questions.prices)
    if made.budget is not None and not made.can_pay(price):
        enough = False
        said.append(page.budget_pays_less(made.budget, price, f"{n} evaluators"))
        while n and not made.can_pay(float(first(n)[0] @ questions.prices)):
            n -= 1
    counts, chance = first(n)
    return _found(made, counts, names[:n], probability=chance, enough=enough, advice=tuple(said))


def _fewest(enough: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number that is enough, where one is not and another is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _until_certain(made: Plan, way: OneLook) -> Plan:
    """Return the plan of asking all evaluators until it is certain."""
    tolerance = way.target.tolerance / way.sigma
    found = until_certain(way.questions, way.assumed, way.confidence, tolerance)
    price, said = float(found.counts @ made.questions.prices), tuple[str, ...]()
    enough = made.can_pay(price)
    if made.budget is not None and not enough:
        said = (page.budget_for_certainty(made.budget, price),)
    everybody = made.questions.evaluators
    return _found(made, found.counts, everybody, enough=enough, advice=said, between=found.between)


def _refuse_unidentifiable(given: Questions) -> None:
    """Raise where no number of evaluations will do, with what `Questions.check` says of it."""
    refuse_incomparable(given)
    counts = everything_once(given, np.ones(len(given), dtype=np.bool_)).astype(float)
    if not accuracy(given, counts).comparable:
        raise NotIdentifiableError(
            "The evaluators' workloads leave too little to compare all options: allow more, or ask "
            "others."
        )


def _whole(counts: Floats) -> Counts:
    """Return whole numbers of the same sum, rounded up: those with the largest rest go up."""
    if not counts.sum() <= _MOST:
        raise InputError(
            f"that takes {counts.sum():.3g} evaluations, more than can be counted: ask for less, "
            "or check noise_scale."
        )
    down = np.floor(counts + 1e-9)
    rest = math.ceil(float(counts.sum()) - 1e-6) - int(down.sum())
    down[np.argsort(down - counts, kind="stable")[: max(0, rest)]] += 1
    return down.astype(np.int64)
