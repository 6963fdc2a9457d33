"""Inspect options or questions before anything is asked: can the bias be told, at what price?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import overload

import numpy as np

from evenhand.actions import ActionSet
from evenhand.confounding import sentences
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.geometry import BiasGeometry, bias_geometry
from evenhand.inspection.inspection import InspectedBias, Inspection, Purchase
from evenhand.numerics.row_space import space_of
from evenhand.questions import Askable, Check, Questions, checked_askable
from evenhand.report.words import short

QUANTILE = 1.959963984540054  # of the normal distribution, two-sided at 95%

SMALL_PANEL = 200_000
"""Up to this many numbers (questions × columns) the price of each bias is worked out."""

_COUNTABLE = 10**15  # evaluations; beyond, no whole numbers are worked out


@overload
def inspect(options: Questions) -> Check: ...
@overload
def inspect(
    options: ActionSet,
    attribute: str | None = None,
    *,
    precision: float | None = None,
    evaluations: int | None = None,
) -> Inspection: ...
def inspect(
    options: Askable,
    attribute: str | None = None,
    *,
    precision: float | None = None,
    evaluations: int | None = None,
) -> Inspection | Check:
    """Find out, before anything is asked, whether the bias can be told, at what price, and how.

    Of options it says how many evaluations the bias takes and which options to evaluate; of
    questions (a panel, comparisons) which options can be compared, which biases told, and what to
    add. What no number of evaluations tells is no error here: ``identifiable`` is False, and
    `print` says why and what helps.

    Parameters
    ----------
    options
        The options, or the questions that can be asked about them.
    attribute
        Options only: which attribute's bias; each of them if not given.
    precision
        Options only: half-width of the 95% interval of the bias that is wanted, in standard
        deviations of the noise; 0.5 if neither this nor ``evaluations`` is given.
    evaluations
        Options only, instead: how many evaluations there may be.

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
    """
    subject = checked_askable(options)
    if isinstance(subject, Questions):
        given = {"attribute": attribute, "precision": precision, "evaluations": evaluations}
        strange = [f"{name}=" for name, value in given.items() if value is not None]
        if strange:
            raise InputError(
                f"{', '.join(strange)} is about options, and these are questions about them; leave "
                "it out."
            )
        return _of_questions(subject)
    precision, evaluations = _checked_wishes(precision, evaluations)
    names = [attribute]
    if attribute is None and subject.group_names is None:
        names = list(subject.attribute_names)
    biases = tuple(_of_options(subject, name, precision, evaluations) for name in names)
    return Inspection(subject, biases, space_of(subject.points).rank)


def _of_options(
    actions: ActionSet,
    attribute: str | None,
    precision: float,
    evaluations: int | None,
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
    return InspectedBias(
        geometry.name,
        geometry,
        precision=precision,
        evaluations=evaluations,
        design=_purchases(geometry, evaluations),
    )


def _of_questions(questions: Questions) -> Check:
    check = questions.check()
    if len(questions) * questions.rows.shape[1] > SMALL_PANEL:
        return check
    prices = {name: bias_geometry(questions, name).kappa_star for name in check.identified}
    return replace(check, prices=prices)


def _confounded(error: NotIdentifiableError, actions: ActionSet, attribute: str) -> tuple[str, ...]:
    """Return why no evaluations tell the bias, and what would help: one sentence per entry."""
    if error.confounding is None:
        return (f"No: {error}",)
    first, *others = sentences(error.confounding, actions, attribute)
    whose = "the bias" if actions.group_names is not None else f"the bias of {short(attribute)}"
    return (f"No: {first.replace('the bias', whose, 1)}", *others)


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
