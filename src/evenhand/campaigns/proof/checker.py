"""What every check of a decision has in common: a record, a certificate, and what they confirm.

A number is refuted if it lies outside an interval as sure as is stated. So the ends of an interval
are refuted, and a statement is checked where it stands: nothing is searched for. What the
certificate says of the run (which looks there were, what an answer ended) is taken from it: replay
says whether that is so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.record import Record, Round
from evenhand.campaigns.proof.squares import Truths

SLACK = 1e-4
"""What rounding may cost of the logarithm of evidence, or of a chance."""


class Checker(ABC):
    """Confirms what a decision states, by the record and its certificate."""

    confirms: tuple[str, ...] = ("what is lost", "values", "biases")  # what is looked at
    leaves: tuple[str, ...] = ()  # what is left to replay

    def __init__(self, record: Record, certificate: Mapping[str, Any]) -> None:
        self.record, self.certificate = record, certificate
        self.unit, self.delta = record.noise or 1.0, record.policy.delta
        self.slack = record.policy.tolerance / self.unit
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Read the certificate."""

    @abstractmethod
    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""

    def refuted(self, rows: Floats, null: Floats) -> Floats:
        """Tell (n,) which numbers (n, m) rows do not come to: −1 too small, 1 too large, or 0."""
        return np.zeros(len(rows))

    def refuted_leads(self, option: int, null: Floats) -> Floats:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        return np.zeros(len(null))

    def refuted_biases(self, null: Floats) -> Floats:
        """Tell (n,) which numbers the biases are not."""
        return self.refuted(self.record.bias_rows, null)

    def wrong_plans(self) -> Iterator[str]:
        """Say which plans cannot have been made before their scores."""
        return iter(())

    # ------------------------------------------------------------------ parts

    def whole(self, given: Any, most: int, what: str) -> int:
        """Return a whole number of the certificate from 0 to the most that it may be."""
        if type(given) is not int or not 0 <= given <= most:
            raise ValueError(f"the certificate has {given!r:.80} for {what}")
        return given

    def round(self, r: Any) -> Round:
        """Return the plan of a number from 0."""
        return self.record.rounds[self.whole(r, len(self.record.rounds) - 1, "a plan")]

    def share(self, given: Any, most: float = 1.0) -> float:
        """Return a number of the certificate from 0 to the most that it may be."""
        if type(given) not in (int, float) or not 0.0 <= given <= most * (1.0 + SLACK):
            raise ValueError(f"the certificate has {given!r:.80} for a share of δ")
        return float(given)

    def lead_rows(self, option: int | Indices, others: Indices | slice = slice(None)) -> Floats:
        """Return (n, m) the rows of leads of an option (or each its own) over others, or all."""
        return np.asarray(self.record.options[option] - self.record.options[others])

    def same(self, option: int) -> Truths:
        """Tell (k,) which options have the value of this one, having its features."""
        return self.record.questions.options.same_as(option)


class Silent(Checker):
    """What nothing is known to: it refutes nothing, so that no statement is confirmed."""

    def prepare(self) -> None:
        """Take nothing from the certificate."""

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss: all others."""
        return np.asarray(np.arange(len(self.record.labels)) != option)
