"""Draw up a plan: find a way, put evaluators in order, heed the budget, say what helps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Counts, Floats, is_number
from evenhand.best import Best, checked_best, sign
from evenhand.certainty.targets import Target
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.planning import advice
from evenhand.planning.assumed import Assumed, assumed
from evenhand.planning.curve import Step, curve, order_of_evaluators
from evenhand.planning.panels import asked_of, everything_once, price_of
from evenhand.planning.plan import Kind, Plan
from evenhand.planning.reviews import Reviews
from evenhand.planning.until_certain import UntilCertain
from evenhand.planning.ways import Bias, Evaluators, OneLookWay, Precise, Terms, Way, WayOutcome
from evenhand.questions import Askable, Questions, checked_askable
from evenhand.questions.accuracy import accuracy
from evenhand.questions.advice import with_neutral
from evenhand.questions.inputs import per_evaluator

_MOST = 10**15  # evaluations that are worth counting
_MORE = 4  # neutral evaluators that are tried beside those there are


def plan(
    questions: Askable,
    confidence: float = 0.95,
    *,
    precision: float | Mapping[str, float] | None = None,
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

    Say what is wanted: a bias of given precision, or certainty about the best option under an
    assumption about leads or values, or both.

    Where questions may be asked as often as one likes, the plan is the mean of what `CertainChoice`
    asks until it is certain. Where they may not (people are asked once), everything is asked and
    looked at once: the plan is for the fewest evaluators with whom that is certain with probability
    ``chance``. With ``reviews``, ``top``, ``bar`` or ``against`` every option is evaluated by some
    of the evaluators: the plan is who evaluates what, and what is expected to come of it.

    Parameters
    ----------
    questions
        Questions, or options that are their own questions.
    confidence
        Of the choice, or of the interval of the bias.
    precision
        Half-width wanted for the interval of the bias: the first, or several by name.
    leads
        By how much the best option leads: one number, over every other; or k − 1, over each of
        them. Which option is the best is not known, and the plan is the mean over that.
    values
        Instead of leads: one value per option, or one number, the standard deviation of values.
    noise_scale
        Standard deviation of an evaluation. If not given, leads, values, precision and tolerance
        are in units of it.
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
    (('S', 'P', 'Q', 'R'), 1)
    >>> plan = eh.plan(eh.Questions.panel(skaters, judges), reviews=2, top=2, values=3.0)
    >>> plan.evaluations, plan.hand_out.reviews, plan.hand_out.loads, round(plan.expected.right, 1)
    (8, array([2, 2, 2, 2]), array([2, 2, 2, 2]), 1.8)
    """
    given = Questions.of(checked_askable(questions))
    _check_numbers(confidence, tolerance, budget, chance, noise_scale)
    if workload is not None:
        work = per_evaluator(workload, given.evaluators, "workload", math.inf)
        given = given._changed(workload=work)
    best = checked_best(best) or "high"
    target = Target.of(top, bar, against, tolerance, best)
    if values is not None and np.ndim(values):
        values = sign(best) * np.asarray(values, dtype=np.float64)
    if reviews is not None or target is not None:
        target = Target(top=1, tolerance=tolerance, best=best) if target is None else target
        target.among(given.options.labels)
        sigma = 1.0 if noise_scale is None else float(noise_scale)
        said = leads is not None or values is not None
        assume = values if said else sigma
        prior = assumed(
            len(given.options), leads, assume, tolerance, sigma, best=target.top is not None
        )
        if not said:
            prior = replace(prior, words=f"{prior.words}, as is assumed here,")
        prior = _with_line(prior, target)
        terms = Terms(confidence, tolerance / sigma, sigma, _biases(given, precision))
        told = _Told(given, noise_scale, tolerance, chance, budget, prior, terms, "hand-out", best)
        ours = target if best == "high" else target.turned
        found = _handed_out(told, Reviews(given, terms, prior, ours), reviews)
        return replace(found, target=target)
    choice = leads is not None or values is not None
    if not choice and precision is None:
        raise InputError(
            "say what the plan is for: precision= (of the bias), or leads= or values= (what is "
            "assumed of the options), for a choice that is certain."
        )
    k, n = len(given.options), len(given.evaluators)
    sigma = 1.0 if noise_scale is None else float(noise_scale)
    premise = assumed(k, leads, values, tolerance, sigma) if choice and k > 1 else None

    def way_with(n_neutral: int, *, again: bool = False) -> Way:
        """Return the way with neutral evaluators beside, perhaps without limits on asking."""
        extended = with_neutral(_unlimited(given) if again else given, n_neutral)
        terms = Terms(confidence, tolerance / sigma, sigma, _biases(extended, precision))
        if premise is None:
            return Precise(extended, terms)
        if extended.limited:
            return OneLookWay(extended, terms, premise, chance)
        return UntilCertain(extended, terms, premise)

    way = way_with(_MORE if n else 0)
    told = _Told(
        given, noise_scale, tolerance, chance, budget, premise, way.terms, _kind(way), best
    )
    if premise is None and not way.terms.wanted():  # one option, and no bias to know
        return told.made(None, (), (), ())
    _refuse_unidentifiable(way, _first(way, n), given)
    if not n:
        return _with_all(told, way, way.outcome(), (), (), way_with)
    order = order_of_evaluators(way, n)
    steps, outcomes = curve(way, order, _MORE, budget)
    named = [given.evaluators[e] for e in order]
    if isinstance(way, OneLookWay):
        return _with_fewest(told, steps, outcomes, named, way_with)
    whole = next(o for s, o in zip(steps, outcomes, strict=True) if s.evaluators == n)
    return _with_all(told, way, whole, steps, named, way_with)


def _handed_out(told: _Told, way: Reviews, reviews: float | None) -> Plan:
    """Return the plan of a hand-out: as many evaluations of each option as wanted, or as may be."""
    k, e, said = len(way.questions.options), len(way.questions.evaluators), []
    if reviews is not None and not (is_number(reviews) and 0.0 < reviews <= e):
        raise InputError(
            f"reviews must be a number up to {e}, of different evaluators; got {reviews!r}."
        )
    n = way.most if reviews is None else round(reviews * k)
    enough = n <= way.most
    if not enough:
        said.append(advice.too_few(way.most, k, reviews or 0.0))
    counts = way.counts(min(n, way.most))
    if counts is None:
        raise InputError(
            "reviews=, top=, bar= and against= plan hand-outs of a panel (Questions.panel), "
            "without items for calibration; these are other questions, or more than can be handed "
            "out."
        )
    price = price_of(way.questions, counts)
    if told.budget is not None and not told.can_pay(price):
        enough = False
        said.append(advice.budget_for_reviews(told.budget, price, int(counts.sum())))
        fewer = way.counts(math.floor(counts.sum() * told.budget / price))
        assert fewer is not None
        counts = fewer
    expected = way.step(counts)
    steps = way.curve(expected)
    comparable = math.isfinite(expected.difference)
    wanted = told.terms.biases[0].half_width if told.terms.biases else math.inf
    enough &= comparable and (math.isinf(wanted) or expected.precision <= wanted)
    robust = comparable and way.without_one(counts)
    said += advice.of_reviews(steps, expected, way.target, way.calls, robust=robust)
    found = WayOutcome(
        counts.astype(float),
        expected.evaluations,
        price,
        expected.precision,
        expected.settled,
        True,
    )
    made = told.made(found, (), way.questions.evaluators, said, enough=enough)
    return replace(made, target=way.target, reviews_curve=tuple(steps), expected=expected)


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


@dataclass(frozen=True, eq=False)
class _Told:
    """What was asked for, to be put into the plan."""

    questions: Questions
    noise_scale: float | None
    tolerance: float
    chance: float
    budget: float | None
    premise: Assumed | None
    terms: Terms
    kind: Kind
    best: Best

    def can_pay(self, price: float) -> bool:
        """Whether the budget is large enough."""
        return self.budget is None or price <= self.budget * (1 + 1e-9)

    def made(
        self,
        found: WayOutcome | None,
        steps: Sequence[Step],
        chosen: Sequence[str],
        said: Sequence[str],
        *,
        enough: bool | None = None,
        limit: float = math.nan,
    ) -> Plan:
        """Return the plan of what was found; of nothing, where nothing needs to be asked."""
        q = len(self.questions)
        counts = _whole(np.zeros(q) if found is None else found.counts[:q])
        asked = {self.questions.evaluator_of(x) for x in np.flatnonzero(counts).tolist()}
        biases = self.terms.biases
        return Plan(
            questions=self.questions,
            kind=self.kind,
            counts=counts,
            price=float(counts @ self.questions.prices),
            limit=limit,
            precision=math.nan if found is None else found.precision,
            probability=math.nan if found is None else found.probability,
            enough=(found is None or found.enough) if enough is None else enough,
            evaluators_curve=tuple(steps),
            chosen=tuple(name for name in chosen if name in asked),
            advice=tuple(said),
            confidence=self.terms.confidence,
            tolerance=self.tolerance,
            noise_scale=self.noise_scale,
            wanted=biases[0].half_width if biases else math.inf,
            chance=self.chance,
            budget=self.budget,
            premise="" if self.premise is None else self.premise.words,
            target=Target(top=1, best=self.best),
        )


def _with_fewest(
    told: _Told,
    steps: Sequence[Step],
    outcomes: Sequence[WayOutcome],
    named: Sequence[str],
    way_with: Callable[..., Way],
) -> Plan:
    """Return the plan of one look with the fewest evaluators, of those there are."""
    real = [i for i, step in enumerate(steps) if not step.hypothetical]
    affordable = [i for i in real if told.can_pay(steps[i].price)]
    enough = next((i for i in real if steps[i].enough), None)
    said = []
    if told.budget is not None and len(affordable) < len(real):
        wanted = None if enough is None else steps[enough]
        cheapest = min(steps[i].price for i in real)
        said += advice.budget_for_evaluators(told.budget, cheapest, wanted)
    if not affordable:
        nothing = replace(
            outcomes[0], counts=np.zeros(len(told.questions)), probability=0.0, precision=math.inf
        )
        return told.made(nothing, steps, (), said, enough=False)
    at = enough if enough in affordable else affordable[-1]
    assert at is not None
    chosen = named[: steps[at].evaluators]
    if enough is None:
        said.append(advice.more_neutral(lambda n: way_with(n).outcome().enough, len(named)))
        said.append(advice.asked_again(way_with(0, again=True).outcome()))
    elif at == enough and len(chosen) < len(named):
        said.append(advice.some_will_do(chosen, len(named)))
    said += advice.one_neutral_more(steps, len(named))
    return told.made(outcomes[at], steps, chosen, said)


def _with_all(
    told: _Told,
    way: Way,
    found: WayOutcome,
    steps: Sequence[Step],
    named: Sequence[str],
    way_with: Callable[..., Way],
) -> Plan:
    """Return the plan with all evaluators; a fixed design is cut down to the budget."""
    said = []
    enough = found.enough
    if not enough and named:
        said.append(advice.more_neutral(lambda n: _all_precise(way_with(n)), len(named), bias=True))
    if told.budget is not None and not told.can_pay(found.price):
        enough = False
        if isinstance(way, Precise):
            less = _affordable(way, told.budget, _first(way, len(named)))
            said.append(advice.budget_for_bias(told.budget, less, found.price))
            nothing = replace(found, counts=0.0 * found.counts, precision=math.inf)
            found = nothing if less is None else less
        else:
            said.append(advice.budget_for_certainty(told.budget, found.price))
    said += advice.fewer_nearly_as_good(steps, named)
    said += advice.one_neutral_saves(steps, len(named))
    limit = math.nan
    if isinstance(way, UntilCertain):
        limit = way.limit(_first(way, len(named)))
    return told.made(found, steps, named, said, enough=enough, limit=limit)


def _all_precise(way: Way) -> bool:
    """Whether biases are known as well as wanted if everything is asked that may be."""
    everything = everything_once(way.questions, asked_of(way.questions, None))
    return way.terms.precise(accuracy(way.questions, everything.astype(float)))


def _affordable(way: Precise, budget: float, there: Evaluators) -> WayOutcome | None:
    """Return the fixed design of about the smallest half-width that a budget pays for."""

    def wider(factor: float) -> WayOutcome:
        biases = tuple(
            replace(bias, half_width=bias.half_width * factor) for bias in way.terms.biases
        )
        return replace(way, terms=replace(way.terms, biases=biases)).outcome(there)

    low, high = 1.0, 2.0
    while (found := wider(high)).price > budget:
        low, high = high, 2.0 * high
        if high > 1e6:
            return None
    for _ in range(20):
        middle = math.sqrt(low * high)
        tried = wider(middle)
        if tried.price > budget:
            low = middle
        else:
            high, found = middle, tried
    return found


def _first(way: Way, n: int) -> Evaluators:
    """Return marks of the first n evaluators; None where there are none."""
    return np.arange(len(way.questions.evaluators)) < n if n else None


def _kind(way: Way) -> Kind:
    if isinstance(way, OneLookWay):
        return "one look"
    return "until certain" if isinstance(way, UntilCertain) else "fixed"


def _unlimited(questions: Questions) -> Questions:
    """Return the same questions, to be asked as often as one likes."""
    return questions._changed(capacity=None, workload=None)


def _biases(
    questions: Questions, precision: float | Mapping[str, float] | None
) -> tuple[Bias, ...]:
    """Return the biases to know, the first or those named; one without a width is reported only."""
    names = questions.attribute_names
    favours = [
        name
        for name, column in zip(names, questions.columns, strict=True)
        if column.kind in ("bias", "attribute")
    ]
    if isinstance(precision, Mapping):
        wanted = dict(precision)
    elif favours:
        wanted = {favours[0]: math.inf if precision is None else precision}
    elif precision is None:
        return ()
    else:
        raise InputError(
            "precision is about a bias, and nobody is partial to anybody in these questions; leave "
            "it out, or say who is (partial=)."
        )
    found = []
    for name, width in wanted.items():
        if name not in names:
            raise InputError(f"no bias {name!r}; there are: {', '.join(names)}.")
        if not (isinstance(width, int | float) and width > 0.0):
            raise InputError(f"precision must be a number > 0, a half-width; got {width!r}.")
        direction = np.zeros(len(names))
        direction[names.index(name)] = 1.0
        found.append(Bias(name, direction, float(width)))
    return tuple(found)


def _refuse_unidentifiable(way: Way, there: Evaluators, given: Questions) -> None:
    """Raise where no number of evaluations will do, with what `Questions.check` says of it."""
    counts = everything_once(way.questions, asked_of(way.questions, there)).astype(float)
    found = accuracy(way.questions, counts)
    bias = way.terms.lost(found)
    if isinstance(way, Precise):
        if bias is None:
            return
    elif found.comparable and bias is None:
        return
    check = given.check()
    said = [] if check.comparable else [check.sentences[0]]
    said += [f"The bias {one.name!r} is not told: {one.why}." for one in check.not_identified]
    said += [f"What helps: {one.text[0].lower()}{one.text[1:]}" for one in check.advice]
    if not said:  # what may be asked is enough, but not as the workloads allow
        said = ["The evaluators' workloads leave too little: allow more, or ask others."]
    raise NotIdentifiableError(" ".join(said))


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


def _check_numbers(
    confidence: float,
    tolerance: float,
    budget: float | None,
    chance: float,
    noise_scale: float | None,
) -> None:
    if not 0.5 < confidence < 1.0:
        raise InputError(
            f"confidence must lie between 0.5, which a coin has, and 1; got {confidence!r}."
        )
    if not 0.0 < chance < 1.0:
        raise InputError(f"chance must lie between 0 and 1; got {chance!r}.")
    if not (math.isfinite(tolerance) and tolerance >= 0.0):
        raise InputError(f"tolerance must be a number ≥ 0, in units of value; got {tolerance!r}.")
    for name, number in (("budget", budget), ("noise_scale", noise_scale)):
        if number is not None and not (math.isfinite(number) and number > 0.0):
            raise InputError(f"{name} must be a number > 0; got {number!r}.")
