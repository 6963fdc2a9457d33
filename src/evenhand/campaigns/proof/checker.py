"""What every check of a decision has in common: a record, rows of what is stated, estimates.

A number is refuted if it lies outside an interval as sure as is stated. So the ends of an interval
are refuted, and a statement is checked where it stands: nothing is searched for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.record import Record
from evenhand.campaigns.proof.squares import Fit, Scores, Truths

SLACK = 1e-4
"""What rounding may cost of the logarithm of evidence, or of a chance."""


class Checker(ABC):
    """Confirms what a decision states.

    Parameters
    ----------
    record
        What was asked, planned and answered.
    places
        Plans and numbers of scores at which evidence is said to have sufficed; any look if empty.
    certainty
        What a loss is said to rest on.

    Attributes
    ----------
    says
        Of what there are estimates and intervals to confirm.
    grounds
        What a loss may be said to rest on.
    """

    says: tuple[str, ...] = ("leads", "values", "biases")

    def __init__(
        self, record: Record, places: Collection[tuple[int, int]] = (), certainty: str | None = None
    ) -> None:
        self.record, self.places, self.certainty = record, set(places), certainty
        self.unit, self.delta = record.noise or 1.0, record.policy.delta
        self.slack = record.policy.tolerance / self.unit
        alone = record.questions.options.stand_alone
        self.grounds: tuple[str | None, ...] = ("own scores" if alone else "features exact",)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Go through the plans."""

    @abstractmethod
    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""

    @abstractmethod
    def refuted_leads(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers the leads of an option over all others are not."""

    def refuted(self, rows: Floats, null: Floats) -> Truths:
        """Tell (n,) which numbers rows, (n, m), do not come to."""
        raise NotImplementedError

    def refuted_biases(self, null: Floats) -> Truths:
        """Tell (n,) which numbers the biases are not."""
        return self.refuted(self.record.bias_rows, null)

    def wrong_plans(self) -> Iterator[str]:
        """Say which plans cannot have been made before their scores."""
        return iter(())

    # ------------------------------------------------------------------ estimates

    @property
    def scores(self) -> Scores:
        """What estimates are made of; of the rest, all that there is."""
        return self.record.everything

    @cached_property
    def fit(self) -> Fit:
        """Least squares on them."""
        return self.record.fit(self.scores)

    @cached_property
    def _pooled(self) -> Fit:
        return self.record.fit(self.record.everything)

    def estimates(self, rows: Floats) -> Floats:
        """Return (n,) what rows, (n, m), come to; NaN where that is not known."""
        said, other = self.fit.of_rows(rows), self._pooled.of_rows(rows)
        rest = np.where(np.isfinite(other.variances), other.estimates, np.nan)
        return np.where(np.isfinite(said.variances), said.estimates, rest) * self.unit

    def leads(self, option: int) -> Floats:
        """Return (k,) the leads of an option; NaN where they are not known."""
        return self.estimates(self.lead_rows(option))

    def lead_rows(self, option: int, others: Indices | slice = slice(None)) -> Floats:
        """Return (n, m) the rows of leads of an option over others, or all."""
        return np.asarray(self.record.options[option] - self.record.options[others])

    def same(self, option: int) -> Truths:
        """Tell (k,) which options have the value of this one, having its features."""
        return self.record.questions.options.same_as(option)
