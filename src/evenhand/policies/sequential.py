"""Policies that decide step by step, in compiled code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenhand.arrays import Counts
from evenhand.policies._sequential import Stepper
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback


class SequentialPolicy(Policy):
    """A policy whose decisions and memory are a compiled `Stepper`.

    `ask` and `tell` go through the stepper; a simulation runs the same stepper in a compiled loop,
    and the policy catches up. So there is one implementation, and nothing but the stepper may
    remember what was told.
    """

    stepper: Stepper

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Ask the stepper."""
        if n is None and not pending.any():
            return self.stepper.ask(self.remaining)
        room = self.remaining - int(pending.sum())
        return self.stepper.ask_beside(room, n or 0, pending)

    def learn(self, feedback: Feedback) -> None:
        """Tell the stepper."""
        self.stepper.tell(feedback.counts, feedback.sums, feedback.sums_of_squares)
        self._round += 1

    def take_in(self, feedback: Feedback) -> bool:
        """Tell the stepper what was not asked for: it makes no difference to it."""
        self.stepper.tell(feedback.counts, feedback.sums, feedback.sums_of_squares)
        return True

    def memory(self) -> dict[str, Any]:
        """Return what the stepper remembers."""
        return self.stepper.memory()

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Have the stepper remember, if it can have been so."""
        self.stepper.recall(self.stepper.checked(memory))

    @property
    def _compiled(self) -> Stepper | None:
        """The stepper; none where money limits what is asked, which it knows nothing of."""
        return self.stepper if math.isinf(self.limits.money) else None
