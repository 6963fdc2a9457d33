"""Where a stated scale ends: what is estimated of scores on it does not lie beyond.

A value is what an impartial evaluator of average leniency would give, so it lies on the scale; a
lead or a bias is a difference of two such scores. In comparisons a score is a difference itself.
Ends that are infinite say that nothing is known, and stay so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.answers.biases import Biases, NamedBias
from evenhand.arrays import Floats
from evenhand.policies.messages import Decision
from evenhand.questions import Questions


@dataclass(frozen=True)
class Scale:
    """The lowest and highest score there is; none if both are infinite."""

    low: float = -math.inf
    high: float = math.inf
    comparing: bool = False  # scores compare two options each

    @classmethod
    def of(cls, ends: Sequence[float] | None, comparing: bool) -> Scale:
        """Return the scale with these ends, if anybody said them."""
        return cls() if ends is None else cls(float(ends[0]), float(ends[1]), comparing)

    @property
    def most(self) -> float:
        """How far apart two options may be."""
        return max(-self.low, self.high) if self.comparing else self.high - self.low

    def cut(self, ends: object, low: float, high: float) -> Floats:
        """Return numbers as far as they may go, where they are finite."""
        given = np.asarray(ends, dtype=np.float64)
        return np.where(np.isfinite(given), np.clip(given, low, high), given)

    def values(self, values: Floats) -> Floats:
        """Return (k, 3) values with intervals; in comparisons they are differences."""
        ends = (-self.most, self.most) if self.comparing else (self.low, self.high)
        return self.cut(values, *ends)

    def decision(self, decision: Decision) -> Decision:
        """Return a decision whose leads and losses the scale allows."""
        leads, most = decision.leads, self.most
        loss, withstands = self.cut([decision.loss, decision.withstands], 0.0, most).tolist()
        cut = None if leads is None else self.cut(leads, -most, most)
        return replace(decision, loss=loss, withstands=withstands, leads=cut)

    def biases(self, biases: Biases, questions: Questions) -> Biases:
        """Return all biases: what they add to a score is no more than the scale allows."""
        attributes = abs(questions.matrix[:, questions.n_features :]).max(axis=0).toarray()
        sizes = [
            float(size)
            for column, size in zip(questions.columns, attributes.reshape(-1), strict=True)
            if column.kind != "leniency"
        ]
        return Biases(
            self._bias(one, self.most / (sizes[i] or 1.0) if i < len(sizes) else self.most)
            for i, one in enumerate(biases)
        )

    def _bias(self, bias: NamedBias, most: float) -> NamedBias:
        names = ("estimate", "low", "high", "shrunk")
        cut = self.cut([getattr(bias, name) for name in names], -most, most).tolist()
        return replace(bias, **dict(zip(names, cut, strict=True)))
