"""Inspect options or questions before anything is asked: can the bias be told, at what price?

Notation: N evaluations, divided as the bias-optimal design says, know the bias ω with variance
κ_* σ² / N, where σ is the noise of one evaluation. Its 95% interval is ω̂ ± 1.96 σ √(κ_*/N).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from evenhand.actions import ActionSet
from evenhand.assumptions import assumed
from evenhand.confounding import sentences
from evenhand.errors import Confounding, InputError, NotIdentifiableError
from evenhand.geometry import BiasGeometry, bias_geometry
from evenhand.geometry.bias import Hyperplane, separating_hyperplane, unit_of_distance
from evenhand.geometry.sections import grade, meaning_of_bias, verdict
from evenhand.numerics.row_space import space_of
from evenhand.questions import Askable, Check, Questions, checked_askable
from evenhand.report.model import Report, Result
from evenhand.report.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
QUANTILE = 1.959963984540054  # of the normal distribution, two-sided at 95%
SMALL_PANEL = 200_000
"""Up to this many numbers (questions × columns) the price of each bias is worked out."""

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
class InspectedBias:
    """What was found about one bias.

    Parameters
    ----------
    name
        The attribute that evaluations react to.
    geometry
        What everything here is derived from; None where the bias cannot be told.
    why
        Why no number of evaluations tells it, and what would help, in sentences; () if they do.
    confounding
        Which combination of features the group is, if it is one.
    precision, evaluations
        So many evaluations know the bias to ± precision (95%), in units of the noise.
    design
        Which options to evaluate, the most important first.
    """

    name: str
    geometry: BiasGeometry | None = None
    why: tuple[str, ...] = ()
    confounding: Confounding | None = None
    precision: float = math.nan
    evaluations: int = 0
    design: tuple[Purchase, ...] = ()

    @property
    def identifiable(self) -> bool:
        """Whether evaluations tell it."""
        return not self.why

    @property
    def kappa_star(self) -> float:
        """Evaluations that know it as well as one knows its own option; ∞ if none tell it."""
        return math.inf if self.geometry is None else self.geometry.kappa_star

    @property
    def hyperplane(self) -> Hyperplane | None:
        """What keeps the groups apart; None where nothing does, or where there are no groups."""
        return None if self.geometry is None else separating_hyperplane(self.geometry)

    @property
    def hyperplane_in_user_units(self) -> dict[str, float]:
        """Distance from the hyperplane over the user's columns, the most important first."""
        if self.geometry is None or self.hyperplane is None:
            return {}
        terms: dict[str, float] = self.geometry.actions.in_user_units(self.hyperplane.normal)
        ranked = [name for name, _ in self._ranked if name in terms]
        return {name: terms[name] for name in dict.fromkeys([*ranked, *terms])}

    @property
    def importance(self) -> dict[str, float]:
        """Share of each feature in telling the groups apart, the largest first."""
        return {name: share for name, share in self._ranked if share > 0}

    @property
    def _ranked(self) -> list[tuple[str, float]]:
        if self.geometry is None or self.hyperplane is None:
            return []
        names, shares = self.geometry.actions.feature_names, self.hyperplane.importance.tolist()
        return sorted(zip(names, shares, strict=True), key=lambda one: -one[1])


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Result):
    """What evaluations can tell of options; see `inspect`.

    Parameters
    ----------
    actions
        The options.
    biases
        What was found about each bias: one for two groups, one per attribute otherwise.
    rank
        Dimension that the evaluations span, of features and attributes.

    Examples
    --------
    >>> import evenhand as eh
    >>> found = eh.inspect(eh.ActionSet([[2.0], [-1.0]], ["home", "away"], ["Ann", "Bo"]))
    >>> found.identifiable, round(found.bias.kappa_star, 6), found.bias.evaluations
    (True, 9.0, 139)
    """

    actions: ActionSet
    biases: tuple[InspectedBias, ...]
    rank: int

    @property
    def identifiable(self) -> bool:
        """Whether every bias can be told."""
        return all(bias.identifiable for bias in self.biases)

    @property
    def bias(self) -> InspectedBias:
        """What was found about the bias, where there is one."""
        if len(self.biases) != 1:
            names = ", ".join(bias.name for bias in self.biases[:5])
            raise InputError(f"there are {len(self.biases)} biases ({names}): see .biases")
        return self.biases[0]

    @property
    def told(self) -> tuple[BiasGeometry, ...]:
        """The geometry of every bias that can be told."""
        return tuple(bias.geometry for bias in self.biases if bias.geometry is not None)

    @property
    def kappa_star(self) -> dict[str, float]:
        """κ* of every bias by name: ∞ where no evaluations tell it."""
        return {bias.name: bias.kappa_star for bias in self.biases}

    @property
    def dimension(self) -> int:
        """Features and attributes: how many numbers describe an evaluation."""
        return int(self.actions.n_features + self.actions.n_attributes)

    @property
    def group_sizes(self) -> dict[str, int]:
        """How many options each of two groups has; −1 first. Empty where there are others."""
        if self.actions.group_names is None:
            return {}
        negative, positive = self.actions.group_names
        n_positive = int(np.count_nonzero(self.actions.groups > 0))
        return {negative: len(self.actions) - n_positive, positive: n_positive}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the answer takes for granted, in sentences."""
        return assumed(self.actions)

    def _report(self) -> Report:
        from evenhand.inspection.sections import report_of  # noqa: PLC0415 # it speaks of this

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        found = [self._record_of(bias) for bias in self.biases]
        if self.actions.group_names is not None:
            return found[0]
        return {
            "identifiable": self.identifiable,
            "attributes": [
                {"attribute": bias.name} | one for bias, one in zip(self.biases, found, strict=True)
            ],
        }

    def _record_of(self, bias: InspectedBias) -> dict[str, Any]:
        actions, geometry, confounding = self.actions, bias.geometry, bias.confounding
        if geometry is None:
            return {
                "identifiable": False,
                "assumptions": list(self.assumptions),
                "verdict": " ".join(bias.why),
                "confounding": None
                if confounding is None
                else {
                    name: getattr(confounding, name)
                    for name in ("combination", "twin", "twin_group")
                },
            }
        two, d = actions.group_names is not None, actions.n_features
        certificate, plane = geometry.design.certificate, bias.hyperplane
        return {
            "identifiable": True,
            "assumptions": list(self.assumptions),
            "verdict": verdict(geometry),
            "attribute": None if two else bias.name,
            "bias_of_one": meaning_of_bias(geometry),
            "grade": grade(geometry.kappa_star) if two else None,
            "kappa_star": geometry.kappa_star,
            "proven_bound": certificate.bound,
            "relative_gap": certificate.gap,
            "separable": geometry.separable if two else None,
            "margin": geometry.margin if two else None,
            "radius": geometry.radius,
            "margin_over_radius": geometry.margin / (geometry.radius or math.inf) if two else None,
            "n_options": len(actions),
            "groups": [
                {"name": name, "sign": 2 * number - 1, "n_options": size}
                for number, (name, size) in enumerate(self.group_sizes.items())
            ],
            "features": list(actions.feature_names),
            "rank": self.rank,
            "dimension": self.dimension,
            "evaluations": bias.evaluations,
            "precision": bias.precision,
            "confidence": CONFIDENCE,
            "hyperplane": None
            if plane is None
            else {
                "distance": bias.hyperplane_in_user_units,
                "margin": plane.margin,
                "radius": plane.radius,
                "unit": unit_of_distance(actions),
                "importance": bias.importance,
            },
            "decimal": "." if actions.encoding is None else actions.encoding.decimal,
            # |features + sign·group| ≤ 1 for every option proves κ_* ≥ group²; with attributes, as
            # they are encoded, |features + Σ z·attributes| ≤ 1 proves κ_* ≥ attributes[asked]²
            "certificate": {
                "features": actions.in_user_units(certificate.dual[:d]),
                "group": float(certificate.dual[-1]) if two else None,
                "attributes": None
                if two
                else dict(zip(actions.attribute_names, certificate.dual[d:].tolist(), strict=True)),
            },
            "design": [vars(purchase) for purchase in bias.design],
        }

    def _draw(self, axes: Axes | None) -> Figure:
        drawn = self.told
        if not drawn:
            said = " ".join(self.biases[0].why)
            raise NotIdentifiableError(
                f"there is no picture of evaluations that tell nothing. {said}"
            )
        from evenhand.geometry.figure import draw  # noqa: PLC0415 # slow to load
        from evenhand.report.pictures import new_figure, subtitle  # noqa: PLC0415 # as above

        if len(drawn) == 1 or axes is not None:
            return draw(drawn[0], axes)

        figure = new_figure(7.2, 2.6 * len(drawn))
        for geometry, part in zip(drawn, figure.subplots(len(drawn)), strict=True):
            draw(geometry, part)
            subtitle(part, verdict(geometry), wrap=76)
        return figure

    def __repr__(self) -> str:
        word = "can be told" if self.identifiable else "cannot all be told"
        n = len(self.biases)
        return (
            f"Inspection({len(self.actions):,} options, {n} bias{'' if n == 1 else 'es'}, {word})"
        )


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
        check = subject.check()
        if len(subject) * subject.rows.shape[1] > SMALL_PANEL:
            return check
        prices = {name: bias_geometry(subject, name).kappa_star for name in check.identified}
        return replace(check, prices=prices)
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
