"""The record with every score as it was first given: what was withdrawn is put back.

Who withdraws a score after looking at it, and has it asked again, chooses among scores. Then the
record without it claims more than it may: where the two best options tie and the three lowest
scores of one are asked again, it is 'sure' in a fifth of all cases. So a decision has to follow
from this record, too, unless the withdrawal was decided without the score (blind), and then no
choice among scores was made.

Every ticket has one score here, the first (of those that were not withdrawn blindly). Whether it is
withdrawn, and what is asked instead, changes nothing about it. Plans are those of the log, each
frozen before its scores; so each is a fixed design with fresh noise, as the proofs need
(docs/research/certainty.md), whatever else was known when it was made. Whatever the campaign is
ever sure of, this record was sure of. So all that is ever said is wrong with probability δ at most,
whoever withdraws what, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback
from evenhand.policies.registry import restore
from evenhand.questions import Askable
from evenhand.search.choice import Choice


class AsGiven:
    """A policy that is told scores as they were first given, until it can say no more."""

    def __init__(self, state: Mapping[str, Any] | None) -> None:
        self.policy: Policy | None = None
        self._let(lambda: setattr(self, "policy", None if state is None else restore(state)))

    def tell(self, told: Feedback) -> None:
        """Take a first score."""
        if self.policy is not None and self.policy.remaining == 0:
            self.policy.horizon += 1  # the campaign may ask as much without what was withdrawn
        self.take("tell", told)

    def take(self, what: str, *given: Any) -> None:
        """Have the policy take something in, such as "observe" scores, or "begin" a plan."""
        if self.policy is not None:
            self._let(lambda: getattr(self.policy, what)(*given))

    def asks_on(self) -> Policy | None:
        """Return the policy if it can still become certain, though the campaign's own is."""
        if self.policy is None or is_certain(self.policy):
            return None
        return None if any(found.alarm for found in self.policy.findings()) else self.policy

    def extend(self, questions: Askable) -> None:
        """Go on with more questions."""
        policy, self.policy = self.policy, None
        if isinstance(policy, Choice):
            self._let(lambda: setattr(self, "policy", policy.extended(questions)))

    def memory(self) -> dict[str, Any] | None:
        """Return all of it as a plain value."""
        return None if self.policy is None else self.policy.state()

    def _let(self, work: Any) -> None:
        """Do something; a policy that breaks on it says no more."""
        try:
            work()
        except Exception:  # whatever broke: then nothing is sure with the scores put back
            self.policy = None


def is_certain(policy: Policy) -> bool:
    """Tell whether a search for certainty has found it."""
    if not isinstance(policy, Choice):
        return False
    said = policy.recommend()
    return said.certainty is not None and said.loss <= policy.tolerance
