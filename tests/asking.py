"""A policy that asks what it is told to ask, for tests of what becomes of the answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.arrays import Counts


class Wants(eh.Policy):
    """Asks every question so often, within what is left, and says nothing certain."""

    name = "wants"
    plays_questions = True
    spends_all = False

    def __init__(self, questions: eh.Questions, wanted: Any = 2, **settings: Any) -> None:
        self.wanted = np.broadcast_to(np.asarray(wanted, dtype=np.int64), (len(questions),))
        super().__init__(questions, int(self.wanted.sum()), **settings)

    def left(self, pending: Counts) -> Counts:
        return self.limits.left(pending)

    def propose(self, n: int | None, pending: Counts) -> Counts:
        lacking = np.maximum(self.wanted - self.limits.asked - pending, 0)
        wanted = np.minimum(lacking, self.left(pending))
        room = self.remaining - int(pending.sum())
        most = room if n is None else min(n, room)
        return np.diff(np.minimum(np.cumsum(wanted), most), prepend=0)

    def learn(self, feedback: eh.Feedback) -> None:
        pass

    def memory(self) -> dict[str, Any]:
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        pass

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(math.nan, -math.inf, math.inf, 0.95)
