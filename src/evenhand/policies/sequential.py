"""Policies that decide step by step, in compiled code."""

from __future__ import annotations

from evenhand.policies._sequential import Stepper
from evenhand.policies.base import Feedback, Play, Policy


class SequentialPolicy(Policy):
    """A policy whose decisions and memory are a compiled `Stepper`.

    `ask` and `tell` go through the stepper; a simulation runs the same stepper in a compiled loop
    and then calls `caught_up`. So there is one implementation, and nothing but the stepper may
    remember what was told.
    """

    stepper: Stepper

    def play(self) -> Play:
        """Ask what the stepper proposes, tell it what came back."""
        while self.remaining > 0:
            feedback = yield self.stepper.ask(self.remaining)
            self.stepper.tell(feedback.counts, feedback.sums, feedback.sums_of_squares)

    @property
    def compiled(self) -> Stepper:
        """The stepper."""
        return self.stepper

    def observe(self, feedback: Feedback) -> None:
        """Learn from evaluations that were not asked for, and decide anew."""
        super().observe(feedback)
        self.stepper.tell(feedback.counts, feedback.sums, feedback.sums_of_squares)
        self._forget_pending()
