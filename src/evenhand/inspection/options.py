"""Can the bias be estimated, at what price, why, and by which evaluations: in words and numbers.

Notation: N evaluations, divided as the bias-optimal design says, know the bias ω with variance
κ_* σ² / N, where σ is the noise of one evaluation. Its 95% interval is ω̂ ± 1.96 σ √(κ_*/N).

A set with attributes has one bias per attribute, and each is inspected by itself. Grades, margin,
radius and hyperplane compare two groups of options; attributes have none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet
from evenhand.assumptions import assumed, hardly_checked
from evenhand.confounding import sentences
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError
from evenhand.geometry import BiasGeometry, bias_geometry, delta_optimal_design
from evenhand.inspection.hyperplane import (
    Hyperplane,
    separating_hyperplane,
    unit_of_distance,
    varying_features,
)
from evenhand.numerics.passes import sample_rows
from evenhand.numerics.row_space import row_space
from evenhand.tables import joined

CONFIDENCE = 0.95
QUANTILE = 1.959963984540054  # of the normal distribution, two-sided at CONFIDENCE

SMALL = 1000
"""Up to this many numbers (options × features) α and κ̃ take no time and come unasked."""

# A grade goes up to this κ_*: so many times as many evaluations as in the easiest case.
_GRADES = {
    "easiest": 1.0 + 1e-9,
    "easy": 2.0,
    "moderate": 10.0,
    "hard": 1000.0,
    "hopeless": math.inf,
}
_COUNTABLE = 10**15  # evaluations; beyond, no whole numbers are worked out


@dataclass(frozen=True)
class Purchase:
    """An option that the bias-optimal design evaluates.

    Parameters
    ----------
    option, group
        The user's names; no group where the options have attributes instead.
    share
        Share of all evaluations.
    evaluations
        How many that is, rounded up; None where there would be more than can be counted.
    features
        The option's features, in the user's units and words.
    """

    option: str
    group: str | None
    share: float
    evaluations: int | None
    features: dict[str, float | str]


@dataclass(frozen=True, eq=False)
class Inspection:
    """How hard it is to estimate the bias of two groups or of one attribute, and what to do.

    Parameters
    ----------
    geometry
        What everything here is derived from.
    rank
        Dimension that the options span, of ``dimension`` (features and group).
    hyperplane
        What keeps the groups apart; None where nothing does, or where there are no groups.
    precision, evaluations
        So many evaluations know the bias to ± precision (95%), in units of the noise.
    design
        Which options to evaluate, the most important first.
    alpha, kappa_minimax, kappa_gaps
        α, κ̃ and κ(Δ), where they were asked for.
    """

    geometry: BiasGeometry
    rank: int
    hyperplane: Hyperplane | None
    precision: float
    evaluations: int
    design: tuple[Purchase, ...]
    alpha: float | None = None
    kappa_minimax: float | None = None
    kappa_gaps: float | None = None

    @property
    def attribute(self) -> str | None:
        """The attribute whose bias this is about; None for two groups."""
        grouped = self.geometry.actions.group_names is not None
        return None if grouped else _attribute(self.geometry)

    @property
    def dimension(self) -> int:
        """Features and group: how many numbers describe an option."""
        return int(self.geometry.actions.points.shape[1])

    @property
    def group_sizes(self) -> dict[str, int]:
        """How many options each group has; −1 first. Empty where there are attributes instead."""
        if self.geometry.actions.group_names is None:
            return {}
        negative, positive = self.geometry.actions.group_names
        n_positive = int(np.count_nonzero(self.geometry.actions.groups > 0))
        return {negative: len(self.geometry.actions) - n_positive, positive: n_positive}

    @property
    def hyperplane_in_user_units(self) -> dict[str, float]:
        """Distance from the hyperplane over the user's columns, the most important first."""
        if self.hyperplane is None:
            return {}
        actions = self.geometry.actions
        order = np.argsort(-self.hyperplane.importance, kind="stable")
        terms = actions.in_user_units(self.hyperplane.normal)
        ranked = [actions.feature_names[i] for i in order if actions.feature_names[i] in terms]
        return {name: terms[name] for name in [*ranked, *(t for t in terms if t not in ranked)]}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the answer takes for granted, in sentences."""
        return assumed(self.geometry.actions)

    @property
    def verdict(self) -> str:
        """The answer in one or two sentences.

        With too few options to check that values are linear, it says that it rests on that.
        """
        few = hardly_checked(self.geometry.actions) is not None
        condition = ", if values are linear in the features" if few else ""
        return f"{headline(self.geometry)}{condition}. {explanation(self.geometry)}"

    @property
    def price(self) -> str:
        """What knowing the bias takes, in one sentence."""
        return (
            f"To know the bias to ±{self.precision:.3g} (95%, in standard deviations of the noise "
            f"of one evaluation) takes about {plain_number(self.evaluations)} evaluations. A bias "
            f"of 1 means that {meaning_of_bias(self.geometry)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts, lists and dictionaries, for JSON."""
        geometry, actions = self.geometry, self.geometry.actions
        certificate = geometry.design.certificate
        d = actions.n_features
        hyperplane = None
        if self.hyperplane is not None:
            hyperplane = {
                "distance": self.hyperplane_in_user_units,
                "margin": self.hyperplane.margin,
                "radius": self.hyperplane.radius,
                "unit": unit_of_distance(actions),
                "importance": _by_name(actions, self.hyperplane.importance),
            }
        return {
            "identifiable": True,
            "assumptions": list(self.assumptions),
            "verdict": self.verdict,
            "attribute": self.attribute,
            "bias_of_one": meaning_of_bias(geometry),
            "grade": None if self.attribute else grade(geometry.kappa_star),
            "kappa_star": geometry.kappa_star,
            "proven_bound": certificate.bound,
            "relative_gap": certificate.gap if math.isfinite(certificate.gap) else None,
            "separable": None if self.attribute else geometry.separable,
            "margin": None if self.attribute else geometry.margin,
            "radius": geometry.radius,
            "margin_over_radius": None
            if self.attribute
            else geometry.margin / (geometry.radius or math.inf),
            "alpha": self.alpha,
            "kappa_minimax": self.kappa_minimax,
            "kappa_gaps": self.kappa_gaps,
            "n_options": len(actions),
            "groups": [
                {"name": name, "sign": 2 * number - 1, "n_options": size}
                for number, (name, size) in enumerate(self.group_sizes.items())
            ],
            "features": list(actions.feature_names),
            "rank": self.rank,
            "dimension": self.dimension,
            "evaluations": self.evaluations,
            "precision": self.precision,
            "confidence": CONFIDENCE,
            "hyperplane": hyperplane,
            "decimal": "." if actions.encoding is None else actions.encoding.decimal,
            # |features + sign·group| ≤ 1 for every option proves κ_* ≥ group²; with attributes, as
            # they are encoded, |features + Σ z·attributes| ≤ 1 proves κ_* ≥ attributes[asked]²
            "certificate": {
                "features": actions.in_user_units(certificate.dual[:d]),
                "group": None if self.attribute else float(certificate.dual[-1]),
                "attributes": dict(
                    zip(actions.attribute_names, certificate.dual[d:].tolist(), strict=True)
                )
                if self.attribute
                else None,
            },
            "design": [
                {
                    "option": purchase.option,
                    "group": purchase.group,
                    "share": purchase.share,
                    "evaluations": purchase.evaluations,
                    "features": purchase.features,
                }
                for purchase in self.design
            ],
        }


def inspect_options(
    actions: ActionSet,
    attribute: str | None = None,
    *,
    precision: float | None = None,
    evaluations: int | None = None,
    gaps: ArrayLike | None = None,
    full: bool = False,
) -> Inspection:
    """Find out whether the bias can be estimated, how hard it is, why, and what to evaluate.

    Parameters
    ----------
    actions
        The options.
    attribute
        Which attribute's bias, where there is more than one.
    precision
        Half-width of the 95% interval of the bias that is wanted, in standard deviations of the
        noise; 0.5 if neither this nor ``evaluations`` is given.
    evaluations
        Instead: how many evaluations there may be.
    gaps
        (k,) costs of the evaluations, for κ(Δ).
    full
        Whether to work out α and κ̃ however long it takes, not only for small sets.

    Raises
    ------
    NotIdentifiableError
        Where no number of evaluations estimates the bias; it says why.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[2.0], [-1.0]], ["home", "away"], labels=["Ann", "Bo"])
    >>> inspection = inspect_options(actions, evaluations=90)
    >>> [(item.option, item.evaluations) for item in inspection.design]
    [('Bo', 60), ('Ann', 30)]
    >>> round(inspection.precision, 3)                      # 1.96·√(9/90)
    0.62
    """
    precision, evaluations = _checked_wishes(precision, evaluations)
    geometry = bias_geometry(actions, attribute)
    kappa_star = geometry.kappa_star
    if evaluations is None:
        # the last digits of κ_* are rounding, and should not buy an evaluation
        needed = kappa_star * (QUANTILE / precision) ** 2 * (1 - 1e-12)
        evaluations = max(1, math.ceil(needed))
    else:
        precision = QUANTILE * math.sqrt(kappa_star / evaluations)
    points = actions.points
    worked_out = full or points.size <= SMALL
    sample = sample_rows(len(points), 48 * points.shape[1])
    space = row_space(points, sample)
    return Inspection(
        geometry,
        space.rank,
        separating_hyperplane(geometry),
        precision,
        evaluations,
        _purchases(geometry, evaluations),
        _extra(geometry.alpha, full) if worked_out else None,
        _extra(geometry.kappa_minimax, full) if worked_out else None,
        None if gaps is None else delta_optimal_design(actions, gaps, attribute).value,
    )


def _extra(work_out: Callable[[], float], asked: bool) -> float | None:
    """Return a number beyond the question; if nobody asked, its failure spoils no answer.

    None, too, where it is infinite: α compares options by their values, which cannot be done if
    the bias of another attribute cannot be told.
    """
    try:
        return work_out()
    except NotIdentifiableError:
        return None
    except AccuracyError:
        if asked:
            raise
        return None


def grade(kappa_star: float) -> str:
    """Return how hard it is to estimate the bias, in a word.

    Examples
    --------
    >>> [grade(value) for value in (1.0, 1.5, 5.0, 200.0, 1e6)]
    ['easiest', 'easy', 'moderate', 'hard', 'hopeless']
    """
    return next(word for word, most in _GRADES.items() if kappa_star <= most)


def headline(geometry: BiasGeometry) -> str:
    """Return the answer in a few words, without a full stop; what it rests on stands elsewhere."""
    if geometry.actions.group_names is None:
        return f"Yes: the bias of {_attribute(geometry)} can be estimated"
    return {
        "easiest": "Yes: the bias can be estimated, as easily as can be",
        "easy": "Yes: the bias can be estimated, at a low price",
        "moderate": "Yes: the bias can be estimated, at a moderate price",
        "hard": "Yes, but it is hard: the bias takes many evaluations",
        "hopeless": "Only in principle: the bias takes far too many evaluations",
    }[grade(geometry.kappa_star)]


def explanation(geometry: BiasGeometry) -> str:
    """Return what κ_* means here and where it comes from, in one sentence."""
    price = plain_number(geometry.kappa_star)
    if geometry.actions.group_names is None:
        return (
            f"It takes about {price} evaluations to know it as well as one evaluation knows its "
            f"own option (κ* = {price})."
        )
    negative, positive = geometry.actions.group_names
    hyperplane = separating_hyperplane(geometry)
    if hyperplane is None:
        through = " through 0" if varying_features(geometry.actions).all() else ""
        return (
            f"No hyperplane{through} separates {positive} from {negative}, so that every "
            "evaluation counts in full (κ* = 1)."
        )
    return (
        f"It takes about {price} evaluations to know it as well as one evaluation knows its own "
        f"option (κ* = {price}; 1 is the least), because "
        f"{_main_features(geometry.actions, hyperplane)} "
        f"{'all but tells' if geometry.kappa_star > 100 else 'separates'} "
        f"{positive} from {negative}."
    )


def meaning_of_bias(geometry: BiasGeometry) -> str:
    """Return what evaluations do where the bias is 1, to follow on "a bias of 1 means that".

    Examples
    --------
    >>> import evenhand as eh
    >>> meaning_of_bias(eh.bias_geometry(eh.ActionSet([[2.0], [-1.0]], ["home", "away"])))
    'home gets 1 too much and away 1 too little'
    >>> meaning_of_bias(eh.bias_geometry(eh.ActionSet([[2.0], [1.0]], attributes=[[3.0], [0.5]])))
    'evaluations rise by 1 with every 1 of z1'
    """
    actions = geometry.actions
    if actions.group_names is not None:
        negative, positive = actions.group_names
        return f"{positive} gets 1 too much and {negative} 1 too little"
    name = _attribute(geometry)
    if actions.encoding is None:
        return f"evaluations rise by 1 with every 1 of {name}"
    column = actions.encoding.attributes[actions.attribute_names.index(name)]
    if column.category is None:
        spread = " (a standard deviation)" if (column.mean, column.scale) != (0.0, 1.0) else ""
        return f"evaluations rise by 1 with every {column.scale:.4g} of {column.source}{spread}"
    reference = dict(actions.encoding.references).get(column.source)
    instead = "" if reference is None else f" instead of {reference}"
    return f"evaluations are higher by 1 where {column.source} is {column.category}{instead}"


def _attribute(geometry: BiasGeometry) -> str:
    return geometry.attribute or geometry.actions.attribute_names[0]


def confounding_in_words(error: NotIdentifiableError, actions: ActionSet) -> list[str]:
    """Return why no evaluations tell the bias, and what would help: one sentence per entry."""
    if error.confounding is None or actions.group_names is None:
        return [str(error)]  # of several attributes the message names the one it is about
    first, *others = sentences(error.confounding, actions, actions.attribute_names[0])
    return [f"No: {first}", *others]


def confounding_to_dict(error: NotIdentifiableError, actions: ActionSet) -> dict[str, Any]:
    """Return why no evaluations estimate the bias, for JSON."""
    found = error.confounding
    return {
        "identifiable": False,
        "assumptions": list(assumed(actions)),
        "verdict": " ".join(confounding_in_words(error, actions)),
        "confounding": None
        if found is None
        else {
            "combination": found.combination,
            "twin": found.twin,
            "twin_group": found.twin_group,
        },
    }


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


def _main_features(actions: ActionSet, hyperplane: Hyperplane) -> str:
    """Name the few features that do most of the separating."""
    order = np.argsort(-hyperplane.importance, kind="stable")
    n_all = int(np.count_nonzero(hyperplane.importance > 1e-9))
    n_main = int(np.searchsorted(np.cumsum(hyperplane.importance[order]), 0.75)) + 1
    names = [actions.feature_names[i] for i in order[: min(n_main, n_all, 3)]]
    main = joined(names)
    if len(names) < n_all:
        return f"a combination of features, mostly {main},"
    return main if n_all == 1 else f"a combination of {main}"


def _by_name(actions: ActionSet, values: Any) -> dict[str, float]:
    """Return the varying features' values, the largest first."""
    order = np.argsort(-values, kind="stable")
    return {actions.feature_names[i]: float(values[i]) for i in order if values[i] > 0}


def plain_number(value: float) -> str:
    """Return a number as people read it: three digits, or thousands with commas."""
    if value >= 1e7:
        return f"{value:.2e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
