"""The plan: how many evaluations, of whom, at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Counts
from evenhand.planning.curve import Step
from evenhand.questions import Questions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Kind = Literal["until certain", "one look", "fixed"]

LUCK = (0.5, 1.5)
"""Eight of ten searches until certain take between these multiples of what is planned."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How many evaluations, of whom, at what price; see `plan`.

    Parameters
    ----------
    questions
        What can be asked.
    kind
        "until certain": asked as often as it takes, a mean. "one look": everything that may be
        asked, then looked at once. "fixed": evaluations for a bias, fixed beforehand.
    counts
        (q,) how often each question is asked.
    price
        What that costs.
    limit
        Price below which no policy is certain, in the mean; NaN unless asked until certain.
    precision
        Half-width of the interval of the (first) bias by these evaluations; NaN without one.
    probability
        Of being certain after one look; NaN otherwise.
    enough
        Whether that is what was wanted, within the budget.
    evaluators_curve
        What each more evaluator buys, those worth most first, then neutral ones who could be found.
    chosen
        The names of those who are asked, in that order.
    advice
        What helps most, in sentences.
    confidence, tolerance, noise_scale, wanted, chance, budget, premise
        What was asked for: ``wanted`` is the half-width of the first bias, ``premise`` says what is
        assumed of values.

    Examples
    --------
    >>> import evenhand as eh
    >>> judges = {"P": "fr", "Q": "it"}
    >>> questions = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, judges, capacity=None)
    >>> plan = eh.plan(questions, precision=1.0)            # κ* = 4, (1.96)²·4 = 15.4
    >>> plan.evaluations, plan.by_evaluator, plan.enough
    (16, {'P': 8, 'Q': 8}, True)
    """

    questions: Questions
    kind: Kind
    counts: Counts
    price: float
    limit: float
    precision: float
    probability: float
    enough: bool
    evaluators_curve: tuple[Step, ...]
    chosen: tuple[str, ...]
    advice: tuple[str, ...]
    confidence: float
    tolerance: float
    noise_scale: float | None
    wanted: float
    chance: float
    budget: float | None
    premise: str

    @property
    def evaluations(self) -> int:
        """How many evaluations it takes."""
        return int(self.counts.sum())

    @property
    def evaluations_range(self) -> tuple[int, int]:
        """Between which numbers eight of ten searches end; the same number twice if it is fixed."""
        n = self.evaluations
        if self.kind != "until certain":
            return n, n
        return math.ceil(LUCK[0] * n), math.floor(LUCK[1] * n)

    @property
    def by_evaluator(self) -> dict[str, int]:
        """How much every evaluator is asked."""
        names = list(self.questions.evaluators)
        known = self.questions.evaluator >= 0
        totals = np.bincount(
            self.questions.evaluator[known], self.counts[known], minlength=len(names)
        )
        return {name: int(n) for name, n in zip(names, totals, strict=True)}

    @property
    def by_pair(self) -> dict[tuple[str, str | None], int]:
        """How often each evaluator is asked about each option (or two), if at all."""
        pairs: dict[tuple[str, str | None], int] = {}
        for question in np.flatnonzero(self.counts).tolist():
            pair = self._about(question), self.questions.evaluator_of(question)
            pairs[pair] = pairs.get(pair, 0) + int(self.counts[question])
        return pairs

    def _about(self, question: int) -> str:
        """Return the name of what a question is about."""
        items = [self.questions.items[x] for x in self.questions.options_of(question)]
        return " against ".join(items) or f"question {question + 1}"

    @cached_property
    def evaluators_needed(self) -> int | None:
        """The least number of evaluators that is enough; None if none on the curve is."""
        return next((step.evaluators for step in self.evaluators_curve if step.enough), None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per question that is asked: option, evaluator, evaluations, price.

        Examples
        --------
        >>> import evenhand as eh
        >>> questions = eh.Questions.panel(["Ann", "Bo"], ["P"], partial=None, capacity=None)
        >>> eh.plan(questions, leads=1.0).to_frame()["evaluator"].tolist()
        ['P', 'P']
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        asked = np.flatnonzero(self.counts)
        return pd.DataFrame(
            {
                "option": [self._about(x) for x in asked.tolist()],
                "evaluator": [self.questions.evaluator_of(x) for x in asked.tolist()],
                "evaluations": self.counts[asked],
                "price": self.counts[asked] * self.questions.prices[asked],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts, lists and dictionaries, for JSON."""
        from evenhand.planning.words import verdict  # noqa: PLC0415 # words speak of plans

        return {
            "verdict": verdict(self),
            "kind": self.kind,
            "premise": self.premise,
            "confidence": self.confidence,
            "tolerance": self.tolerance,
            "noise_scale": self.noise_scale,
            "enough": self.enough,
            "evaluations": self.evaluations,
            "evaluations_range": list(self.evaluations_range),
            "price": self.price,
            "limit": self.limit,
            "budget": self.budget,
            "precision": self.precision,
            "precision_wanted": self.wanted,
            "probability": self.probability,
            "chance": self.chance,
            "evaluators_needed": self.evaluators_needed,
            "asked": list(self.chosen),
            "by_evaluator": self.by_evaluator,
            "by_pair": [
                {"option": option, "evaluator": who, "evaluations": n}
                for (option, who), n in self.by_pair.items()
            ],
            "evaluators_curve": [vars(step) for step in self.evaluators_curve],
            "advice": list(self.advice),
        }

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Draw what each more evaluator buys, beside who is asked about whom.

        Parameters
        ----------
        path
            Where to write the picture (.png, .svg or .pdf); nowhere if not given.
        """
        from evenhand.planning.figure import draw_plan_picture, plan_picture  # noqa: PLC0415
        from evenhand.report.bias_figure import checked_format, save_figure  # noqa: PLC0415

        if path is not None:
            checked_format(str(path))
        figure = draw_plan_picture(plan_picture(self))
        if path is not None:
            save_figure(figure, str(path))
        return figure

    def __str__(self) -> str:
        from evenhand.planning.words import in_words  # noqa: PLC0415

        return in_words(self)

    def __repr__(self) -> str:
        word = "enough" if self.enough else "not enough"
        return (
            f"Plan({self.evaluations:,} evaluations of {len(self.questions.options):,} options, "
            f"{self.kind}, price {self.price:g}, {word})"
        )

    def _repr_html_(self) -> str:
        from evenhand.planning.page import page_of  # noqa: PLC0415 # only notebooks need it

        return page_of(self)
