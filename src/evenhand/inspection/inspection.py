"""Inspect options or questions before anything is asked: can the bias be told, at what price?

Notation: N evaluations, divided as the bias-optimal design says, know the bias ω with variance
κ_* σ² / N, where σ is the noise of one evaluation. Its 95% interval is ω̂ ± 1.96 σ √(κ_*/N).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

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
from evenhand.report.model import Cell, Picture, Report, Result, Section, Share, Table
from evenhand.report.words import number, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONFIDENCE = 0.95
QUANTILE = 1.959963984540054  # of the normal distribution, two-sided at 95%
SMALL_PANEL = 200_000
"""Up to this many numbers (questions × columns) the price of each bias is worked out."""

_COUNTABLE = 10**15  # evaluations; beyond, no whole numbers are worked out
_TITLE = "Can the bias be estimated, and at what price?"
_ATTRIBUTES = "Attributes have no margin and no separating hyperplane: these compare two groups."


class Purchase(NamedTuple):
    """An option that the bias-optimal design evaluates, in the user's names, units and words."""

    option: str
    group: str | None  # None where options have attributes instead
    share: float  # of all evaluations
    evaluations: int | None  # rounded up; None where there would be more than can be counted
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

    @cached_property
    def hyperplane(self) -> Hyperplane | None:
        """What keeps the groups apart; None where nothing does, or where there are no groups."""
        return None if self.geometry is None else separating_hyperplane(self.geometry)

    @property
    def hyperplane_in_user_units(self) -> dict[str, float]:
        """Distance from the hyperplane over the user's columns, the most important first."""
        if self.geometry is None or self.hyperplane is None:
            return {}
        terms: dict[str, float] = self.geometry.actions.in_user_units(self.hyperplane.normal)
        ranked = [name for name in self._ranked if name in terms]
        return {name: terms[name] for name in dict.fromkeys([*ranked, *terms])}

    @property
    def importance(self) -> dict[str, float]:
        """Share of each feature in telling the groups apart, the largest first."""
        return {name: share for name, share in self._ranked.items() if share > 0}

    @property
    def _ranked(self) -> dict[str, float]:
        if self.geometry is None or self.hyperplane is None:
            return {}
        names, shares = self.geometry.actions.feature_names, self.hyperplane.importance.tolist()
        return dict(sorted(zip(names, shares, strict=True), key=lambda one: -one[1]))


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
        several = self.actions.group_names is None
        said: list[tuple[str, str]] = []
        rests = [("Assumed", one) for one in self.assumptions] if self.told else []
        sections: list[Section] = []
        for bias in self.biases:
            about = f"{short(bias.name)}: " if several else ""
            if bias.geometry is None:
                said += [("Why not", one) for one in bias.why[1:]]
                continue
            said.append(("Price", f"{about}{_price(bias, bias.geometry)}"))
            sections += _sections(self, bias, bias.geometry, about)
        if self.actions.encoding is not None and self.actions.encoding.decimal == ",":
            rests.append(("Decimals", 'Decimals are read with a comma (decimal="." reads points).'))
        if self.told:
            drawn = Picture("inspection", self.plot, "The options, and what to evaluate.")
            sections.append(Section("In a picture", [drawn], "file"))
        sections.append(Section("", [_ATTRIBUTES if several else ""], "brief"))
        first = [b.why[0] if b.geometry is None else verdict(b.geometry) for b in self.biases]
        return Report(_TITLE, " ".join(first), said, sections, rests=rests)

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
        actions, geometry, d = self.actions, bias.geometry, self.actions.n_features
        known = {"identifiable": bias.identifiable, "assumptions": list(self.assumptions)}
        if geometry is None:
            why = None if bias.confounding is None else vars(bias.confounding)
            return known | {"verdict": " ".join(bias.why), "confounding": why}
        two, certificate = actions.group_names is not None, geometry.design.certificate
        own = dict(zip(actions.attribute_names, certificate.dual[d:].tolist(), strict=True))
        of_groups = {
            "grade": grade(geometry.kappa_star),
            "separable": geometry.separable,
            "margin": geometry.margin,
            "margin_over_radius": geometry.margin / (geometry.radius or math.inf),
        }
        plane = None
        if bias.hyperplane is not None:
            plane = {
                "distance": bias.hyperplane_in_user_units,
                "margin": bias.hyperplane.margin,
                "radius": bias.hyperplane.radius,
                "unit": unit_of_distance(actions),
                "importance": bias.importance,
            }
        return known | {
            "verdict": verdict(geometry),
            "attribute": None if two else bias.name,
            "bias_of_one": meaning_of_bias(geometry),
            "kappa_star": geometry.kappa_star,
            "proven_bound": certificate.bound,
            "relative_gap": certificate.gap,
            **(of_groups if two else dict.fromkeys(of_groups)),
            "radius": geometry.radius if two else None,
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
            "hyperplane": plane,
            "decimal": "." if actions.encoding is None else actions.encoding.decimal,
            # |features + sign·group| ≤ 1 for every option proves κ_* ≥ group²; with attributes, as
            # they are encoded, |features + Σ z·attributes| ≤ 1 proves κ_* ≥ attributes[asked]²
            "certificate": {
                "features": actions.in_user_units(certificate.dual[:d]),
                "group": float(certificate.dual[-1]) if two else None,
                "attributes": None if two else own,
            },
            "design": [purchase._asdict() for purchase in bias.design],
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


def _price(bias: InspectedBias, geometry: BiasGeometry) -> str:
    """Return what knowing the bias takes, in one sentence."""
    return (
        f"To know the bias to ±{number(bias.precision)} ({percent(CONFIDENCE)}, in standard "
        f"deviations of the noise of one evaluation) takes about "
        f"{number(float(bias.evaluations))} evaluations. A bias of 1 means that "
        f"{meaning_of_bias(geometry)}."
    )


def _sections(
    found: Inspection, bias: InspectedBias, geometry: BiasGeometry, about: str
) -> list[Section]:
    """Return the tables of one bias: numbers, what separates the groups, what to buy."""
    bought = sum(one.evaluations or 0 for one in bias.design)
    rounded = f", rounded up to {bought:,}" if bought > bias.evaluations else ""
    first = f"The best {bias.evaluations:,} evaluations to buy{rounded}"
    parts = [Section(f"{about}In numbers", [_numbers(found, bias, geometry)], "print")]
    if found.group_sizes:
        negative, positive = found.group_sizes
        title = f"this sum is above 0 for {short(positive)} and below for {short(negative)}"
        parts.append(Section(f"What separates them: {title}", [_hyperplane(bias)], "print"))
    parts.append(Section(f"{about}{first} (±{number(bias.precision)})", [_bought(bias)], "print"))
    return parts


def _numbers(found: Inspection, bias: InspectedBias, geometry: BiasGeometry) -> Table:
    certificate, plane, actions = geometry.design.certificate, bias.hyperplane, geometry.actions
    two = bool(found.group_sizes)
    least = "; 1 is the least" if two else ""
    gap = f"{certificate.gap:.1g}"
    rows: list[list[Cell]] = [
        ["κ*", _long(geometry.kappa_star), f"variance of the bias per evaluation{least}"],
        ["proven", f"≥ {_long(certificate.bound)}", f"by certificate; gap {gap}"],
    ]
    if plane is not None:
        unit = unit_of_distance(actions)
        rows += [
            ["margin", _long(plane.margin), "from the hyperplane to the nearest option"],
            ["radius", _long(plane.radius), f"to the farthest option, in {unit}"],
            ["margin/radius", _long(plane.margin / plane.radius), "(√κ* − 1) / (√κ* + 1)"],
        ]
    sizes = " and ".join(f"{size:,} {short(name)}" for name, size in found.group_sizes.items())
    names = [short(name) for name in actions.feature_names]
    rows += [
        ["options", f"{len(actions):,}", sizes],
        ["features", f"{len(names)}", ", ".join(names[:8]) + (", …" if len(names) > 8 else "")],
        [
            "rank",
            f"{found.rank} of {found.dimension}",
            f"of features and {'group' if two else 'attributes'}",
        ],
    ]
    return Table("The numbers behind it", ["number", "value", "what it is"], rows)


def _long(value: float) -> str:
    """Return a number to four digits and more: these are compared with other programs'."""
    size = abs(value)
    return number(value, 4) if 0.01 <= size < 1e4 else number(value)


def _hyperplane(bias: InspectedBias) -> Table:
    """Return the coefficients, the most important first, and the constant whatever is cut."""
    importance = bias.importance
    terms = bias.hyperplane_in_user_units
    rows: list[list[Cell]] = [
        [name, value, Share(importance[name]) if name in importance else ""]
        for name, value in terms.items()
    ]
    must = {place for place, name in enumerate(terms) if name == "(constant)"}
    return Table("What separates the groups", ["feature", "coefficient", "importance"], rows, must)


def _bought(bias: InspectedBias) -> Table:
    grouped = any(one.group is not None for one in bias.design)
    rows: list[list[Cell]] = [
        [one.option, *([one.group] if grouped else []), Share(one.share), one.evaluations]
        for one in bias.design
    ]
    header = ["option", *(["group"] if grouped else []), "share", "evaluations"]
    return Table("The evaluations to buy", header, rows)
