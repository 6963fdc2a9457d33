"""What an inspection found: which biases can be told, at what price, by which evaluations.

Notation: N evaluations, divided as the bias-optimal design says, know the bias ω with variance
κ_* σ² / N, where σ is the noise of one evaluation. Its 95% interval is ω̂ ± 1.96 σ √(κ_*/N).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.assumptions import assumed
from evenhand.errors import Confounding, InputError, NotIdentifiableError
from evenhand.geometry import BiasGeometry
from evenhand.geometry.bias import Hyperplane, separating_hyperplane, unit_of_distance
from evenhand.geometry.sections import grade, meaning_of_bias, verdict
from evenhand.report.model import Report, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


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
        plane = self.hyperplane
        if self.geometry is None or plane is None:
            return {}
        actions = self.geometry.actions
        order = np.argsort(-plane.importance, kind="stable")
        terms: dict[str, float] = actions.in_user_units(plane.normal)
        ranked = [actions.feature_names[i] for i in order if actions.feature_names[i] in terms]
        return {name: terms[name] for name in [*ranked, *(t for t in terms if t not in ranked)]}

    @property
    def importance(self) -> dict[str, float]:
        """Share of each feature in telling the groups apart, the largest first."""
        plane = self.hyperplane
        if self.geometry is None or plane is None:
            return {}
        values, names = plane.importance, self.geometry.actions.feature_names
        order = np.argsort(-values, kind="stable")
        return {names[i]: float(values[i]) for i in order if values[i] > 0}


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
                    "combination": confounding.combination,
                    "twin": confounding.twin,
                    "twin_group": confounding.twin_group,
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
