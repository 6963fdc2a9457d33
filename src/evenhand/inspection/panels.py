"""Panels before anything is asked: which lead will be known worst."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.questions import Questions
from evenhand.questions.accuracy import accuracy

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

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        return {
            "options": list(self.options),
            "standard_error": self.error,
            "answers": self.questions,
            "variance_per_answer": self.per_answer,
        }


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
