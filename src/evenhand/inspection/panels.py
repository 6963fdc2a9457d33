"""Panels before anything is asked: who must be asked about whom, and what one more evaluator saves.

Notation
--------
n_oe         1 where evaluator e may be asked about item o, over the squared relative noise
c̄_o, n_o     mean attributes Σ_e n_oe z_oe / n_o of an item, and how much is asked about it
S            Σ n_oe z_oe z_oeᵀ − Σ_o n_o c̄_o c̄_oᵀ: what is told of attributes beside the items
var(b, j)    1/n_b + 1/n_j + (c̄_b − c̄_j)ᵀ S⁺ (c̄_b − c̄_j), of the lead of b over j
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.questions import Ask, Questions
from evenhand.questions.advice import NEUTRAL

_CHUNK = 1024  # options compared with all others at once
_RANGE = 1e-10  # eigenvalues of S above this, relatively, are no rounding error


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
    weights = asked.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise**2
    alone, among = (_by_items if questions.has_arrow_form else _by_rows)(questions, weights)
    variance, pair = 0.0, (0, 0)
    for start in range(0, len(alone), _CHUNK):
        some = slice(start, start + _CHUNK)
        lengths = np.einsum("ij,ij->i", among, among)
        between = lengths[some, None] + lengths - 2.0 * among[some] @ among.T
        total = alone[some, None] + alone + between
        total[np.arange(total.shape[0]), start + np.arange(total.shape[0])] = 0.0
        x, y = np.unravel_index(int(np.argmax(total)), total.shape)
        if total[x, y] > variance:
            variance, pair = float(total[x, y]), (start + int(x), int(y))
    labels = questions.options.labels
    return WorstLead((labels[pair[0]], labels[pair[1]]), variance, int(asked.sum()))


def _by_items(questions: Questions, weights: Floats) -> tuple[Floats, Floats]:
    """Return 1/n_o, (k,), and rows whose squared distance is the rest of var(b, j), (k, p)."""
    k, i, d = len(questions.options), len(questions.items), questions.n_features
    Z = sparse.csr_array(questions.matrix[:, d:])
    items = questions.about[:, 0]
    n = np.bincount(items, weights, i)
    if not (n[:k] > 0).all():
        raise InputError("some options can be asked of nobody; see questions.check().")
    of_item = sparse.csr_array((weights, (items, np.arange(len(items)))), shape=(i, len(items)))
    sums = np.asarray((of_item @ Z).toarray())
    means = sums / np.where(n > 0, n, 1.0)[:, None]
    M = np.asarray((Z.T @ (sparse.diags_array(weights) @ Z)).toarray())
    S = M - sums.T @ means
    return 1.0 / n[:k], means[:k] @ _root_of_inverse(S)


def _by_rows(questions: Questions, weights: Floats) -> tuple[Floats, Floats]:
    """Return 0, (k,), and rows whose squared distance is var(b, j), (k, d + p)."""
    A = questions.points * np.sqrt(weights)[:, None]
    root = _root_of_inverse(A.T @ A)
    k = len(questions.options)
    return np.zeros(k), questions.options.features @ root[: questions.n_features]


def _root_of_inverse(S: Floats) -> NDArray[np.float64]:
    """Return R with R Rᵀ = S⁺; directions that nothing tells are those no lead needs."""
    if not S.size:
        return np.zeros(S.shape)
    values, vectors = np.linalg.eigh(S)
    some = values > _RANGE * max(float(values[-1]), _RANGE)
    return np.asarray(vectors[:, some] / np.sqrt(values[some]))
