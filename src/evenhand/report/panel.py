"""Panels before anything is asked: whom to ask about whom, and what one more evaluator saves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.geometry import bias_geometry
from evenhand.questions import Ask, Check, Questions
from evenhand.questions.accuracy import accuracy
from evenhand.questions.advice import NEUTRAL
from evenhand.report.inspection import plain_number

SMALL = 200_000
"""Up to this many numbers (questions × columns) the price of each bias is worked out."""

_CHUNK = 1024  # options compared with all others at once


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


@dataclass(frozen=True, eq=False)
class PanelInspection:
    """What a panel can tell, at what price, and what one more neutral evaluator saves.

    Parameters
    ----------
    check
        What can be compared and told, and what to add.
    prices
        κ_* of every bias that is told: the least price of knowing it as well as one answer knows
        its own question; None where the panel is too large to work that out unasked.
    worst, with_neutral
        The worst lead, now and with one more evaluator who favours nobody, asked about every
        option; None where options cannot be compared.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> found = inspect_panel(panel)
    >>> prices = {name: round(price, 6) for name, price in found.prices.items()}
    >>> prices, round(found.worst.variance, 9), round(found.with_neutral.variance, 9)
    ({'own group': 4.0}, 1.0, 0.666666667)
    """

    check: Check
    prices: dict[str, float] | None
    worst: WorstLead | None
    with_neutral: WorstLead | None

    @property
    def sentences(self) -> list[str]:
        """What was found, in plain words."""
        return [*self.check.sentences, *self._on_prices(), *self._on_one_more()]

    def _on_prices(self) -> list[str]:
        if not self.prices:
            return []
        each = [f"{name} {plain_number(price)}" for name, price in list(self.prices.items())[:6]]
        more = len(self.prices) - len(each)
        return [
            "To know a bias as well as one answer knows its own question costs at least (κ*): "
            f"{', '.join(each)}{f', and {more} more' if more else ''}."
        ]

    def _on_one_more(self) -> list[str]:
        now, then = self.worst, self.with_neutral
        if now is None or then is None:
            return []
        a, b = now.options
        change = 1.0 - then.per_answer / now.per_answer
        verdict = (
            f"so that an answer is worth {change:.0%} more"
            if change > 0.005
            else "so that an answer is worth no more than before"
        )
        return [
            f"With every question asked once ({now.questions:,} answers) the lead that is known "
            f"worst, of {a!r} over {b!r}, has a standard error of {now.error:.3g}, in units of the "
            f"noise. One more evaluator who favours nobody, asked about every option "
            f"({then.questions:,} answers in all), makes that {then.error:.3g} for the worst, "
            f"{verdict}."
        ]

    def start_by_evaluator(self) -> dict[str, list[str]]:
        """Return the start: whom to ask about what."""
        found: dict[str, list[str]] = {}
        questions = self.check.questions
        for x in [] if self.check.start is None else self.check.start.tolist():
            items = " against ".join(questions.items[i] for i in questions.options_of(x))
            found.setdefault(questions.evaluator_of(x) or "anybody", []).append(items)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as a plain value, fit for JSON."""
        leads = {"worst_lead": self.worst, "with_one_more_neutral_evaluator": self.with_neutral}
        return {
            "fine": self.check.fine,
            "words": self.sentences,
            **self.check.to_dict(),
            "start_by_evaluator": self.start_by_evaluator(),
            "kappa_star": self.prices,
            **{
                name: None
                if lead is None
                else {
                    "options": list(lead.options),
                    "standard_error": lead.error,
                    "answers": lead.questions,
                    "variance_per_answer": lead.per_answer,
                }
                for name, lead in leads.items()
            },
        }


def inspect_panel(questions: Questions, full: bool = False) -> PanelInspection:
    """Return what a panel can tell, and at what price.

    Parameters
    ----------
    questions
        The panel.
    full
        Whether to work out the price of each bias in a large panel, too.
    """
    check = questions.check()
    prices = None
    if full or len(questions) * questions.rows.shape[1] <= SMALL:
        prices = {name: bias_geometry(questions, name).kappa_star for name in check.identified}
    worst = with_neutral = None
    if check.comparable:
        worst = worst_lead(questions)
        with_neutral = worst_lead(with_one_more(questions))
    return PanelInspection(check, prices, worst, with_neutral)


def with_one_more(questions: Questions) -> Questions:
    """Return the questions with one more evaluator, who favours nobody, about every option."""
    name = NEUTRAL
    while name in questions.evaluators:
        name = f"another {name.removeprefix('a ')}"
    labels = list(questions.options.labels)
    if (questions.about[:, 1] >= 0).any():
        asks = [Ask((a, b), name) for a in labels for b in labels if a != b]
    else:
        asks = [Ask((label,), name) for label in labels]
    return questions.adding(asks)


def worst_lead(questions: Questions) -> WorstLead:
    """Return the lead with the largest variance when every question is asked once.

    Examples
    --------
    >>> import evenhand as eh
    >>> lead = worst_lead(eh.Questions.panel(["Ann", "Bo"], ["P", "Q", "R", "S"], partial=None))
    >>> round(lead.variance, 9), lead.questions       # two means of four: 1/4 + 1/4
    (0.5, 8)
    """
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
