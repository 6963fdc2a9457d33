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
from evenhand.questions import Askable, Check, Questions
from evenhand.report.model import Report, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONFIDENCE = 0.95


@dataclass(frozen=True)
class WorstLead:
    """The lead that is known worst when every question that may be asked is asked once.

    Parameters
    ----------
    options
        The two options.
    variance
        Of the lead, in units of the noise.
    questions
        How many answers that takes.
    """

    options: tuple[str, str]
    variance: float
    questions: int

    @property
    def error(self) -> float:
        """Its standard error, in units of the noise."""
        return math.sqrt(self.variance)

    @property
    def per_answer(self) -> float:
        """Variance times answers: what an answer is worth, the less the better."""
        return self.variance * self.questions

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        return {
            "options": list(self.options),
            "standard_error": self.error,
            "answers": self.questions,
            "variance_per_answer": self.per_answer,
        }


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
        What everything here is derived from; None where the bias cannot be told, or where the
        price of it in a large panel was not asked for.
    why
        Why no number of evaluations tells it, and what would help, in sentences; () if they do.
    confounding
        Which combination of features the group is, if it is one.
    precision, evaluations
        So many evaluations know the bias to ± precision (95%), in units of the noise.
    design
        Which options to evaluate, the most important first.
    alpha, kappa_minimax, kappa_gaps
        α, κ̃ and κ(Δ), where they were asked for.
    """

    name: str
    geometry: BiasGeometry | None = None
    why: tuple[str, ...] = ()
    confounding: Confounding | None = None
    precision: float = math.nan
    evaluations: int = 0
    design: tuple[Purchase, ...] = ()
    alpha: float | None = None
    kappa_minimax: float | None = None
    kappa_gaps: float | None = None

    @property
    def identifiable(self) -> bool:
        """Whether evaluations tell it."""
        return not self.why

    @property
    def kappa_star(self) -> float:
        """Evaluations that know it as well as one knows its own option; ∞ if none tell it."""
        if self.why:
            return math.inf
        return math.nan if self.geometry is None else self.geometry.kappa_star

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
    """What evaluations can tell of options, or answers to questions; see `inspect`.

    Parameters
    ----------
    subject
        The options or the questions.
    biases
        What was found about each bias: one for two groups, one per attribute otherwise.
    rank
        Dimension that the evaluations span, of features and attributes.
    check
        Questions only: what can be compared, and what to add.
    worst, with_neutral
        Questions only: the lead that is known worst when every question is asked once, now and
        with one more evaluator who favours nobody; None where options cannot be compared.

    Examples
    --------
    >>> import evenhand as eh
    >>> found = eh.inspect(eh.ActionSet([[2.0], [-1.0]], ["home", "away"], ["Ann", "Bo"]))
    >>> found.identifiable, round(found.bias.kappa_star, 6), found.bias.evaluations
    (True, 9.0, 139)
    """

    subject: Askable
    biases: tuple[InspectedBias, ...]
    rank: int
    check: Check | None = None
    worst: WorstLead | None = None
    with_neutral: WorstLead | None = None

    @property
    def identifiable(self) -> bool:
        """Whether every bias can be told, and, by questions, every two options compared."""
        return all(bias.identifiable for bias in self.biases) and (
            self.check is None or self.check.comparable
        )

    @property
    def bias(self) -> InspectedBias:
        """What was found about the bias, where there is one."""
        if len(self.biases) != 1:
            names = ", ".join(bias.name for bias in self.biases[:5])
            raise InputError(f"there are {len(self.biases)} biases ({names}): see .biases")
        return self.biases[0]

    @property
    def told(self) -> tuple[BiasGeometry, ...]:
        """The geometry of every bias that can be told, as far as it was worked out."""
        return tuple(bias.geometry for bias in self.biases if bias.geometry is not None)

    @property
    def kappa_star(self) -> dict[str, float]:
        """κ* of every bias by name: ∞ where none can tell it, NaN where it was not worked out."""
        return {bias.name: bias.kappa_star for bias in self.biases}

    @property
    def dimension(self) -> int:
        """Features and attributes: how many numbers describe an evaluation."""
        return int(self.subject.n_features + self.subject.n_attributes)

    @property
    def group_sizes(self) -> dict[str, int]:
        """How many options each of two groups has; −1 first. Empty where there are others."""
        if not isinstance(self.subject, ActionSet) or self.subject.group_names is None:
            return {}
        negative, positive = self.subject.group_names
        n_positive = int(np.count_nonzero(self.subject.groups > 0))
        return {negative: len(self.subject) - n_positive, positive: n_positive}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the answer takes for granted, in sentences."""
        return assumed(self.subject) if isinstance(self.subject, ActionSet) else ()

    def _report(self) -> Report:
        from evenhand.inspection.sections import report_of  # noqa: PLC0415 # it speaks of this

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        if self.check is not None:
            return self._record_of_questions(self.check)
        assert isinstance(self.subject, ActionSet)
        found = [self._record_of(bias) for bias in self.biases]
        if self.subject.group_names is not None:
            return found[0]
        return {
            "identifiable": self.identifiable,
            "attributes": [
                {"attribute": bias.name} | one for bias, one in zip(self.biases, found, strict=True)
            ],
        }

    def _record_of(self, bias: InspectedBias) -> dict[str, Any]:
        actions = self.subject
        assert isinstance(actions, ActionSet)
        geometry, confounding = bias.geometry, bias.confounding
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
            "alpha": bias.alpha,
            "kappa_minimax": bias.kappa_minimax,
            "kappa_gaps": bias.kappa_gaps,
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

    def _record_of_questions(self, check: Check) -> dict[str, Any]:
        from evenhand.inspection.sections import words  # noqa: PLC0415 # it speaks of this

        prices = {one.name: one.kappa_star for one in self.biases if one.geometry is not None}
        leads = {"worst_lead": self.worst, "with_one_more_neutral_evaluator": self.with_neutral}
        worked_out = len(prices) == len(check.identified)
        return {
            "identifiable": self.identifiable,
            "fine": check.fine,
            "words": words(self, check),
            **check.to_dict(),
            "start_by_evaluator": check.start_by_evaluator(),
            "kappa_star": prices if worked_out else None,
            **{name: None if lead is None else lead.to_dict() for name, lead in leads.items()},
        }

    def _draw(self, axes: Axes | None) -> Figure:
        if self.check is not None:
            return self.check._draw(axes)
        drawn = self.told
        if not drawn:
            said = " ".join(self.biases[0].why)
            raise NotIdentifiableError(
                f"there is no picture of evaluations that tell nothing. {said}"
            )
        if len(drawn) == 1 or axes is not None:
            return drawn[0]._draw(axes)
        from evenhand.report.pictures import new_figure, subtitle  # noqa: PLC0415 # slow to load

        figure = new_figure(7.2, 2.6 * len(drawn))
        for geometry, part in zip(drawn, figure.subplots(len(drawn)), strict=True):
            geometry._draw(part)
            subtitle(part, verdict(geometry), wrap=76)
        return figure

    def __repr__(self) -> str:
        what = "questions" if isinstance(self.subject, Questions) else "options"
        word = "can be told" if self.identifiable else "cannot all be told"
        n = len(self.biases)
        return f"Inspection({len(self.subject):,} {what}, {n} bias{'' if n == 1 else 'es'}, {word})"
