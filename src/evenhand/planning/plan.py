"""The plan: how many evaluations, of whom, at what price."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Counts
from evenhand.inference.target import Target
from evenhand.planning.one_look import ReviewStep, calls_of
from evenhand.questions import HandOut, Questions, names_about
from evenhand.report.model import Report, Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """How many evaluations, of whom, at what price; see `plan`.

    Parameters
    ----------
    questions
        What can be asked.
    counts
        (q,) how often each question is asked.
    between
        Until certain: how many evaluations eight of ten searches take; None otherwise.
    probability
        Of being certain after one look; NaN otherwise.
    enough
        Whether that is what was wanted, within the budget. Of a hand-out: whether there can be so
        many evaluations, which compare all options.
    chosen
        The names of those who are asked.
    advice
        What helps most, in sentences.
    confidence, tolerance, noise_scale, chance, budget, premise
        What was asked for: ``premise`` says what is assumed of values.
    target
        What is wanted: the m best, all above a bar, or all that beat one option.
    expected, reviews_curve
        What is expected to come of a hand-out, and of fewer and more evaluations of each option.

    Examples
    --------
    >>> import evenhand as eh
    >>> judges = {"P": "fr", "Q": "it"}
    >>> questions = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, judges, capacity=None)
    >>> plan = eh.plan(questions, leads=1.0)
    >>> plan.kind, plan.by_evaluator["P"] == plan.by_evaluator["Q"], plan.enough
    ('until certain', True, True)
    """

    questions: Questions
    counts: Counts
    between: tuple[int, int] | None = None
    probability: float = math.nan
    enough: bool = True
    chosen: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    confidence: float = 0.95
    tolerance: float = 0.0
    noise_scale: float | None = None
    chance: float = 0.8
    budget: float | None = None
    premise: str = ""
    target: Target = field(default_factory=lambda: Target(top=1))
    expected: ReviewStep | None = None
    reviews_curve: tuple[ReviewStep, ...] = ()

    @property
    def kind(self) -> Literal["until certain", "one look"]:
        """Whether it is asked until certain, as often as half of the searches take, or all of it is
        asked and then looked at once.
        """
        return "one look" if self.between is None else "until certain"

    @property
    def price(self) -> float:
        """What the evaluations cost."""
        return float(self.counts @ self.questions.prices)

    def can_pay(self, price: float) -> bool:
        """Tell whether the budget is large enough."""
        return self.budget is None or price <= self.budget * (1 + 1e-9)

    @property
    def calls(self) -> int:
        """How many options are chosen, or called better or worse than the bar or the one."""
        return calls_of(self.target, len(self.questions.options))

    @property
    def hand_out(self) -> HandOut:
        """Who evaluates what: how much everybody has, and how much of the own group."""
        return HandOut(self.questions, self.counts)

    @property
    def evaluations(self) -> int:
        """How many evaluations it takes."""
        return int(self.counts.sum())

    @property
    def evaluations_range(self) -> tuple[int, int]:
        """Between which numbers eight of ten searches end; the same number twice if it is fixed."""
        return self.between or (self.evaluations, self.evaluations)

    @property
    def by_evaluator(self) -> dict[str, int]:
        """How much every evaluator is asked."""
        return dict(zip(self.questions.evaluators, self.hand_out.loads.tolist(), strict=True))

    @property
    def by_pair(self) -> dict[tuple[str, str | None], int]:
        """How often each evaluator is asked about each option (or two), if at all."""
        pairs = Counter[tuple[str, str | None]]()
        for x in np.flatnonzero(self.counts).tolist():
            pairs[self._about(x), self.questions.evaluator_of(x)] += int(self.counts[x])
        return dict(pairs)

    def _about(self, question: int) -> str:
        """Return the name of what a question is about."""
        return " against ".join(names_about(self.questions, question)) or f"question {question + 1}"

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

    def _report(self) -> Report:
        from evenhand.planning.page import report_of  # noqa: PLC0415 # it speaks of plans

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return {
            "verdict": self._report().verdict,
            "kind": self.kind,
            "best": self.target.best,
            "premise": self.premise,
            "confidence": self.confidence,
            "tolerance": self.tolerance,
            "noise_scale": self.noise_scale,
            "enough": self.enough,
            "evaluations": self.evaluations,
            "evaluations_range": list(self.evaluations_range),
            "price": self.price,
            "budget": self.budget,
            "probability": self.probability,
            "chance": self.chance,
            "asked": list(self.chosen),
            "by_evaluator": self.by_evaluator,
            "by_pair": [
                {"option": option, "evaluator": who, "evaluations": n}
                for (option, who), n in self.by_pair.items()
            ],
            "target": self.target.to_dict(),
            "expected": None if self.expected is None else vars(self.expected),
            "reviews_curve": [vars(step) for step in self.reviews_curve],
            "advice": list(self.advice),
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.planning.figure import draw  # noqa: PLC0415 # slow to load

        return draw(self, axes)

    def __repr__(self) -> str:
        word = "enough" if self.enough else "not enough"
        return (
            f"Plan({self.evaluations:,} evaluations of {len(self.questions.options):,} options, "
            f"{self.kind}, price {self.price:g}, {word})"
        )
