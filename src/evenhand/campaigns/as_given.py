"""The record with every score as it was first given: what was withdrawn is put back.

Who withdraws a score after looking at it, and has it asked again, chooses among scores. Then the
record without it claims more than it may: where the two best options tie and the three lowest
scores of one are asked again, it is 'sure' in a fifth of all cases. So a decision has to follow
from this record, too, unless the withdrawal was decided without the score (blind), and then no
choice among scores was made.

Why it holds
------------
Every ticket has one score here, the first (of those that were not withdrawn blindly). Whether it
is withdrawn, and what is asked instead, changes nothing about it. Plans are those of the log, each
frozen before its scores; so each is a fixed design with fresh noise, as the proofs need
(docs/research/certainty.md), if

- a second score of a ticket counts for nothing;
- no score counts for a plan that was made when it was known. A score may come while the plan here
  is whole and that of the campaign lacks what was withdrawn: the next plan knows it;
- no plan is closed by what this record does not show: if another follows because the campaign was
  decided without it, nothing more can be said (`lost`). If this record is certain by then, that is
  what it stays certain of.

Whatever the campaign is ever sure of, this record was sure of, at some look. So all that is ever
said is wrong with probability δ at most, whoever withdraws what, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.certainty.choice import Choice
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback
from evenhand.policies.state import restore
from evenhand.questions import Askable


class AsGiven:
    """A policy that is told scores as they were first given, until it can say no more."""

    # `certain` is whether it was so when the campaign began another plan: it is told no more then.

    def __init__(self, policy: Policy) -> None:
        self.policy: Policy | None = None
        self.certain = False
        self._plans: dict[int, int] = {}  # for which plan a ticket's withdrawn score counts
        self._lacking: dict[int, int] = {}  # scores that the campaign lacks here, by plan
        self._let(lambda: setattr(self, "policy", restore(policy.state())))

    def put_back(self, ticket: int, told: Feedback) -> None:
        """Take the first score of a ticket, though the campaign is to lack it."""
        self._plans[ticket] = self._in_force if self._behind else plan_of(self.policy)
        self.tell(told)

    def withdrawn(self, ticket: int) -> None:
        """Take note that the campaign lacks the score of a ticket from now on."""
        if ticket in self._plans:
            plan = self._plans[ticket]
            self._lacking[plan] = self._lacking.get(plan, 0) + 1

    def again(self, ticket: int) -> None:
        """Take note of a further score: where it is of the plan in force, that lacks it no more."""
        if self._plans[ticket] == self._in_force:
            self._lacking[self._in_force] = self._lacking.get(self._in_force, 0) - 1

    def tell(self, told: Feedback) -> None:
        """Take a first score; one that the next plan will know counts for none."""
        if self._behind:
            self._lacking[self._in_force] -= 1
            return
        if self.policy is not None and self.policy.remaining == 0:
            self.policy.horizon += 1  # the campaign may ask as much without what was withdrawn
        self.take("tell", told)

    @property
    def _in_force(self) -> int:
        return len(self.policy.record.rounds) - 1 if isinstance(self.policy, Choice) else 0

    @property
    def _behind(self) -> bool:
        """Whether the campaign's plan lacks scores, while the same is whole here."""
        # Where all plans are one design it does not matter which of them a score counts for.
        if not isinstance(self.policy, Choice) or self.policy.one_design:
            return False
        now = self.policy.record.now
        return now is not None and now.whole and self._lacking.get(self._in_force, 0) > 0

    def take(self, what: str, *given: Any) -> None:
        """Have the policy take something in, such as "observe" scores."""
        if not self.certain:
            self._let(lambda: getattr(self.policy, what)(*given))

    def begin(self, plan: Mapping[str, Any], campaigns: Policy, decided: bool) -> None:
        """Put the campaign's next plan in force, unless it is certain already."""
        # `decided` says whether the campaign had been, so that its own answer ended the last plan.
        if self.policy is None or self.certain:
            return
        now, there = _round(self.policy), _round(campaigns)
        self.certain = now is not None and is_certain(self.policy)
        ended = decided or plan.get("purpose") == "check the model"
        if now is not None and not now.whole and (ended or (there is not None and there.whole)):
            self.policy = self.policy if self.certain else None
        if self.policy is not None:
            self.take("begin", plan)

    def asks_on(self) -> Policy | None:
        """Return the policy if it can still become certain, though the campaign's own is."""
        if self.policy is None or self.certain or is_certain(self.policy):
            return None
        return None if any(found.alarm for found in self.policy.findings()) else self.policy

    def extend(self, questions: Askable) -> None:
        """Go on with more questions."""
        policy, self.policy = self.policy, None
        if isinstance(policy, Choice) and not self.certain:  # else it says nothing of what is added
            self._let(lambda: setattr(self, "policy", policy.extended(questions)))

    def _let(self, work: Any) -> None:
        """Do something; a policy that breaks on it says no more."""
        try:
            work()
        except Exception:  # whatever broke: then nothing is sure with the scores put back
            self.policy = None

    # ------------------------------------------------------------------ snapshots

    def memory(self) -> dict[str, Any]:
        """Return all of it as a plain value."""
        return {
            "policy": None if self.policy is None else self.policy.state(),
            "certain": self.certain,
            "plans": list(self._plans.items()),
            "lacking": list(self._lacking.items()),
        }

    @classmethod
    def recall(cls, memory: Mapping[str, Any]) -> AsGiven:
        """Return what `memory` was taken of."""
        new = cls.__new__(cls)
        new.policy = None if memory["policy"] is None else restore(memory["policy"])
        new.certain = memory["certain"]
        new._plans, new._lacking = dict(memory["plans"]), dict(memory["lacking"])
        return new


def is_certain(policy: Policy) -> bool:
    """Tell whether a search for certainty has found it."""
    if not isinstance(policy, Choice):
        return False
    said = policy.recommend()
    return said.certainty is not None and said.loss <= policy.tolerance


def plan_of(policy: Policy | None) -> int:
    """Return for which plan the next score counts; 0 where there are none."""
    if not isinstance(policy, Choice):
        return 0
    now = policy.record.now
    return len(policy.record.rounds) - (now is not None and not now.whole)


def _round(policy: Policy | None) -> Any:
    return policy.record.now if isinstance(policy, Choice) else None
