"""What every check of a decision has in common: a record, rows of what is stated, estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from evenhand.campaigns.proof.asked import Floats, Indices, Truths
from evenhand.campaigns.proof.record import Record
from evenhand.campaigns.proof.squares import Fit, Scores

SLACK = 1e-4
"""What rounding may cost of the logarithm of evidence, or of a chance."""


class Checker(ABC):
    """Confirms what a decision states, by least squares.

    A number is refuted if it lies outside an interval as sure as is stated; the ends of such an
    interval are.

    Parameters
    ----------
    record
        What was asked, planned and answered.
    """

    def __init__(self, record: Record) -> None:
        self.record, self.asked = record, record.asked
        self.unit, self.delta = record.noise or 1.0, record.delta
        self.slack = record.setting("tolerance", 0.0) / self.unit

    @abstractmethod
    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""

    @abstractmethod
    def refuted_leads(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers the leads of an option over all are not."""

    @abstractmethod
    def refuted_values(self, null: Floats) -> Truths:
        """Tell (k,) which numbers the values are not."""

    @abstractmethod
    def refuted_biases(self, null: Floats) -> Truths:
        """Tell (n,) which numbers the biases are not."""

    def wrong_plans(self) -> Iterator[str]:
        """Say which plans cannot have been made before their scores."""
        return iter(())

    # ------------------------------------------------------------------ estimates

    @property
    def scores(self) -> Scores:
        """What estimates are made of."""
        return self.record.everything

    @cached_property
    def fit(self) -> Fit:
        """Least squares on them."""
        return self.record.fit(self.scores)

    def leads(self, option: int) -> Floats:
        """Return (k,) the leads of an option; NaN where that is not known."""
        return self._estimates(self.lead_rows(option))

    def values(self) -> Floats:
        """Return (k,) the values."""
        return self._estimates(self.asked.value_rows)

    def biases(self) -> Floats:
        """Return (n,) the biases."""
        return self._estimates(self.bias_rows)

    def _estimates(self, rows: Floats) -> Floats:
        said = self.fit.of_rows(rows)
        return np.where(np.isfinite(said.variances), said.estimates * self.unit, np.nan)

    def lead_rows(self, option: int, others: Indices | slice = slice(None)) -> Floats:
        """Return (n, m) the rows of leads of an option over others, or all."""
        return np.asarray(self.asked.options[option] - self.asked.options[others])

    @property
    def bias_rows(self) -> Floats:
        """(n, m) the rows of all biases."""
        rows = [bias.row for bias in self.asked.biases]
        return np.array(rows).reshape(len(rows), self.asked.rows.shape[1])
