"""The span of what was evaluated: what the model can follow, and what it leaves over.

Notation
--------
A, n    (s, m), (s,)  rows of the questions that were evaluated, and how often
U       (s, r)        orthonormal columns that span those of √n·A;  H = UUᵀ, h its diagonal

A panel keeps its structure (`numerics.panels`), and then there is no U.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.least_squares import Svd
from evenhand.questions import Questions

_LARGE = 20_000  # numbers in a dense matrix of rows, from which on panels keep their structure


class Span(Protocol):
    """The columns of √n·A."""

    @property
    def rank(self) -> int:
        """How many are independent."""

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for Σ with this diagonal."""


class RowSpan(NamedTuple):
    """The span of any rows, by (s, r) U."""

    U: Floats

    @classmethod
    def of(cls, points: Floats, counts: Counts) -> Self:
        """Return the span of rows, (s, m) A, asked (s,) n times."""
        return cls(Svd.of(points * np.sqrt(counts)[:, None]).U)

    @property
    def rank(self) -> int:
        """How many columns U has."""
        return int(self.U.shape[1])

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""
        return np.asarray(y - self.U @ (self.U.T @ y))

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""
        return np.asarray(np.einsum("ij,ij->i", self.U, self.U))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) = ‖UᵀΣU‖² for Σ with this diagonal."""
        inner = self.U.T @ (variances[:, None] * self.U)
        return float((inner**2).sum())


def span_of(questions: Questions, seen: Indices, counts: Counts) -> Span:
    """Return the span of the questions that were seen, so often each."""
    if not questions.has_arrow_form or len(seen) * questions.rows.shape[1] < _LARGE:
        return RowSpan.of(questions.weighted_points[seen], counts)
    return questions.panel_form(seen, counts)
