"""Inspect options or questions before anything is asked: can the bias be told, at what price?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet
from evenhand.confounding import sentences
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError
from evenhand.geometry import BiasGeometry, bias_geometry, delta_optimal_design
from evenhand.inspection.inspection import InspectedBias, Inspection, Purchase, WorstLead
from evenhand.numerics.row_space import row_space, sample_rows
from evenhand.questions import Askable, Questions, checked_askable
from evenhand.questions.accuracy import accuracy
from evenhand.questions.advice import with_neutral
from evenhand.report.words import short

_CHUNK = 1024  # options compared with all others at once


def worst_lead(questions: Questions) -> WorstLead:
    """Return the lead with the largest variance when every question is asked once."""
    asked = questions.may_ask
    found = accuracy(questions, asked.astype(np.float64))
    if np.isinf(found.own).any():
        raise InputError("some options can be asked of nobody; see questions.check().")
    alone, among = found.own**2, found.shared
    lengths = np.einsum("ij,ij->i", among, among)
    variance, pair = 0.0, (0, 0)
    for start in range(0, len(alone), _CHUNK):
        some = slice(start, start + _CHUNK)
        between = lengths[some, None] + lengths - 2.0 * among[some] @ among.T
        total = alone[some, None] + alone + between
        total[np.arange(total.shape[0]), start + np.arange(total.shape[0])] = 0.0
        x, y = np.unravel_index(int(np.argmax(total)), total.shape)
        if total[x, y] > variance:
            variance, pair = float(total[x, y]), (start + int(x), int(y))
    labels = questions.options.labels
    return WorstLead((labels[pair[0]], labels[pair[1]]), variance, int(asked.sum()))


QUANTILE = 1.959963984540054  # of the normal distribution, two-sided at 95%

SMALL = 1000
"""Up to this many numbers (options × features) α and κ̃ take no time and come unasked."""

SMALL_PANEL = 200_000
"""Up to this many numbers (questions × columns) the price of each bias is worked out."""

_COUNTABLE = 10**15  # evaluations; beyond, no whole numbers are worked out


def inspect(
    options: Askable,
    attribute: str | None = None,
    *,
    precision: float | None = None,
    evaluations: int | None = None,
    gaps: ArrayLike | None = None,
    full: bool = False,
) -> Inspection:
    """Find out, before anything is asked, whether the bias can be told, at what price, and how.

    Of options it says how many evaluations the bias takes and which options to evaluate; of
    questions (a panel, comparisons) which options can be compared, which biases told, what to add,
    and what one more neutral evaluator saves. What no number of evaluations tells is no error
    here: ``identifiable`` is False, and `print` says why and what helps.

    Parameters
    ----------
    options
        The options, or the questions that can be asked about them.
    attribute
        Which attribute's bias; each of them if not given.
    precision
        Options only: half-width of the 95% interval of the bias that is wanted, in standard
        deviations of the noise; 0.5 if neither this nor ``evaluations`` is given.
    evaluations
        Options only, instead: how many evaluations there may be.
    gaps
        Options only: (k,) costs of the evaluations, for κ(Δ).
    full
        Whether to work out everything however long it takes: α and κ̃ of many options, the price
        of each bias in a large panel.

    Examples
    --------
    >>> import evenhand as eh
    >>> options = eh.ActionSet([[2.0], [-1.0]], ["home", "away"], labels=["Ann", "Bo"])
    >>> found = eh.inspect(options, evaluations=90)
    >>> [(one.option, one.evaluations) for one in found.bias.design]
    [('Bo', 60), ('Ann', 30)]
    >>> round(found.bias.precision, 3)                      # 1.96·√(9/90)
    0.62

    Here the group is what the feature says, so that no evaluations tell its bias:

    >>> found = eh.inspect(eh.ActionSet([[1.0], [-1.0]], ["home", "away"]))
    >>> found.identifiable, found.kappa_star
    (False, {'group': inf})

    Two judges, each partial to one of two skaters:

    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> found = eh.inspect(panel)
    >>> found.identifiable, {name: round(price, 6) for name, price in found.kappa_star.items()}
    (True, {'own group': 4.0})
    >>> round(found.worst.variance, 9), round(found.with_neutral.variance, 9)
    (1.0, 0.666666667)
    """
    subject = checked_askable(options)
    if isinstance(subject, Questions):
        given = {"precision": precision, "evaluations": evaluations, "gaps": gaps}
        strange = [f"{name}=" for name, value in given.items() if value is not None]
        if strange:
            raise InputError(
                f"{', '.join(strange)} is about options, and these are questions about them; leave "
                "it out."
            )
        return _of_questions(subject, attribute, full)
    precision, evaluations = _checked_wishes(precision, evaluations)
    names = [attribute]
    if attribute is None and subject.group_names is None:
        names = list(subject.attribute_names)
    biases = tuple(_of_options(subject, name, precision, evaluations, gaps, full) for name in names)
    points = subject.points
    space = row_space(points, sample_rows(len(points), 48 * points.shape[1]))
    return Inspection(subject, biases, space.rank)


def _of_options(
    actions: ActionSet,
    attribute: str | None,
    precision: float,
    evaluations: int | None,
    gaps: ArrayLike | None,
    full: bool,
) -> InspectedBias:
    """Return what is found about one bias, or why no evaluations tell it."""
    try:
        geometry = bias_geometry(actions, attribute)
    except NotIdentifiableError as error:
        name = attribute or actions.attribute_names[0]
        return InspectedBias(name, None, _confounded(error, actions, name), error.confounding)
    kappa_star = geometry.kappa_star
    if evaluations is None:
        # the last digits of κ_* are rounding, and should not buy an evaluation
        needed = kappa_star * (QUANTILE / precision) ** 2 * (1 - 1e-12)
        evaluations = max(1, math.ceil(needed))
    else:
        precision = QUANTILE * math.sqrt(kappa_star / evaluations)
    worked_out = full or actions.points.size <= SMALL
    return InspectedBias(
        geometry.name,
        geometry,
        precision=precision,
        evaluations=evaluations,
        design=_purchases(geometry, evaluations),
        alpha=_extra(geometry.alpha, full) if worked_out else None,
        kappa_minimax=_extra(geometry.kappa_minimax, full) if worked_out else None,
        kappa_gaps=None if gaps is None else delta_optimal_design(actions, gaps, attribute).value,
    )


def _of_questions(questions: Questions, attribute: str | None, full: bool) -> Inspection:
    check = questions.check()
    why = {one.name: one.why for one in check.not_identified}
    names = [*check.identified, *why]
    if attribute is not None and attribute not in names:
        raise InputError(f"no bias {attribute!r}; there are: {', '.join(names) or 'none'}.")
    worked_out = full or len(questions) * questions.rows.shape[1] <= SMALL_PANEL
    biases = [
        InspectedBias(name, why=(why[name],))
        if name in why
        else InspectedBias(name, bias_geometry(questions, name) if worked_out else None)
        for name in names
        if attribute in (None, name)
    ]
    worst = better = None
    if check.comparable:
        worst = worst_lead(questions)
        better = worst_lead(with_neutral(questions, 1))
    return Inspection(questions, tuple(biases), check.rank, check, worst, better)


def _confounded(error: NotIdentifiableError, actions: ActionSet, attribute: str) -> tuple[str, ...]:
    """Return why no evaluations tell the bias, and what would help: one sentence per entry."""
    if error.confounding is None:
        return (f"No: {error}",)
    first, *others = sentences(error.confounding, actions, attribute)
    whose = "the bias" if actions.group_names is not None else f"the bias of {short(attribute)}"
    return (f"No: {first.replace('the bias', whose, 1)}", *others)


def _extra(work_out: Callable[[], float], asked: bool) -> float | None:
    """Return a number beyond the question; if nobody asked, its failure spoils no answer."""
    # None, too, where it is infinite: α compares options by their values, which cannot be done if
    # the bias of another attribute cannot be told.
    try:
        return work_out()
    except NotIdentifiableError:
        return None
    except AccuracyError:
        if asked:
            raise
        return None


def _checked_wishes(precision: float | None, evaluations: int | None) -> tuple[float, int | None]:
    if precision is not None and evaluations is not None:
        raise InputError(
            f"precision ({precision:g}) and evaluations ({evaluations}) were both given, and each "
            "follows from the other; give one."
        )
    if precision is not None and not (math.isfinite(precision) and precision > 0):
        raise InputError(f"precision is {precision:g}; it must be a number above 0, such as 0.5.")
    if evaluations is not None and not 1 <= evaluations <= _COUNTABLE:
        raise InputError(
            f"evaluations is {evaluations}; it must be a whole number from 1 to {_COUNTABLE:g}."
        )
    return 0.5 if precision is None else precision, evaluations


def _purchases(geometry: BiasGeometry, evaluations: int) -> tuple[Purchase, ...]:
    actions, design = geometry.actions, geometry.design
    names = actions.group_names
    counts = design.counts(pulls=evaluations) if evaluations <= _COUNTABLE else None
    order = design.support[np.argsort(-design.weights[design.support], kind="stable")]
    return tuple(
        Purchase(
            actions.labels[x],
            None if names is None else names[int(actions.groups[x] > 0)],
            float(design.weights[x]),
            None if counts is None else int(counts[x]),
            actions.describe(x),
        )
        for x in order.tolist()
    )
