"""How a policy that works in rounds is asked and told: its generator, `play`, run in parts.

A round is a plan: what `play` yields is handed out in parts, in any order, and sent back as one
feedback when it is whole. What comes beyond the round in force waits for the next.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, recalled
from evenhand.policies.limits import whole_counts
from evenhand.policies.messages import Feedback, counts_in, dense, nothing, sparse

if TYPE_CHECKING:
    from evenhand.policies.base import Policy

Play = Generator[Counts | Mapping[int, int], Feedback, None]
"""Yields how often to evaluate each option next, gets back what that came to."""


class Rounds:
    """The rounds of a policy that has `play`; ``_round`` tells it how many were learnt from."""

    def __init__(self, policy: Policy) -> None:
        self._policy, k = policy, len(policy.actions)
        self._none: Counts = np.zeros(k, dtype=np.int64)
        self._none.flags.writeable = False
        self._game: Play | None = None
        self._wanted: Counts | None = None  # by the round in force; None before the first
        self._offered: Counts | None = None  # the next one, once this one is whole
        self._gathered = nothing(k)
        self._early = nothing(k)  # told, and of no round yet
        self._over: list[dict[str, Any]] = []  # the rounds before, and what was spent then
        self._started_at = self._offered_at = 0  # what was spent when rounds were planned

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Return what the round in force lacks beside what is on its way, at most n."""
        left = np.maximum(self._in_force() - self._gathered.counts - pending, 0)
        # what came early may be of no round, and leave less than the round wants
        most = max(self._policy.remaining - int(pending.sum()), 0)
        return first_of(left, most if n is None else min(n, most))

    def learn(self, feedback: Feedback) -> None:
        """Gather what the round in force wants, and keep the rest for the next."""
        wanted = self._in_force() if self._wanted is None else self._wanted
        rest = nothing(len(self._none))
        for part in (self._early, feedback):
            fits = self._gathered.counts + part.counts <= wanted
            self._gathered = self._gathered + only(part, fits)
            rest = rest + only(part, ~fits)
        self._early = rest
        if self.whole:  # what comes next comes into force by `begin`
            self._advance()

    def fits(self, feedback: Feedback) -> bool:
        """Tell whether all of this is of the round in force."""
        return bool((self._gathered.counts + feedback.counts <= self._in_force()).all())

    @property
    def whole(self) -> bool:
        """Whether the round in force lacks no evaluation."""
        return self._wanted is not None and bool((self._gathered.counts == self._wanted).all())

    def next_plan(self) -> Counts | None:
        """Return the round that is due; None if none is."""
        if self._wanted is not None and not self.whole:
            return None
        self._advance()
        assert self._offered is not None
        over = self._wanted is not None and not self._offered.any()
        return None if over else self._offered

    def begin(self, plan: Counts) -> None:
        """Put a round in force; the one before is over, whatever came of it."""
        self._advance()
        if self._wanted is not None:
            (used,) = np.nonzero(self._wanted)
            round_ = {"wanted": used, "times": self._wanted[used]} | sparse(self._gathered)
            self._over.append(round_ | {"spent": self._offered_at})
        self._wanted, self._offered = plan, None
        self._gathered = nothing(len(self._none))
        self.learn(self._gathered)  # what came before the round began

    def _in_force(self) -> Counts:
        """Return what the round in force wants; if it is over, begin the next."""
        plan = self.next_plan()
        if plan is not None:
            self.begin(plan)
        assert self._wanted is not None
        return self._wanted

    def _advance(self) -> None:
        """Have the generator say what it wants next, once."""
        if self._offered is None:
            self._offered_at = self._policy.spent
            self._offered = self._policy._guarded(self._next_counts)

    def _next_counts(self) -> Counts:
        policy: Any = self._policy
        try:
            if self._game is None:
                self._game, self._started_at = policy.play(), policy.spent
                counts = next(self._game)
            else:
                policy._round += 1
                counts = self._game.send(self._gathered)
        except StopIteration:
            return self._none
        return policy._checked_counts(counts, policy.remaining)  # type: ignore[no-any-return]

    def memory(self) -> dict[str, Any]:
        """Return the rounds so far, to be played again."""
        return {
            "start": self._started_at,
            "rounds": self._over.copy(),
            "wanted": self._wanted,
            "gathered": sparse(self._gathered),
            "early": sparse(self._early),
            "whole": self._offered_at if self.whole else None,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned; what was planned is not derived again."""
        policy, k = self._policy, len(self._none)
        spent = policy.spent
        self._game, self._offered, self._wanted = None, None, None
        self._over, policy._round = [], 0
        policy._spent = recalled(memory, "start", (), int, 0, policy.horizon)
        for kept in memory["rounds"]:
            self.begin(counts_in({"questions": kept["wanted"], "counts": kept["times"]}, k))
            self._gathered = dense(kept, k)
            policy._spent = recalled(kept, "spent", (), int, 0, policy.horizon)
            self._advance()
        if memory["wanted"] is not None:
            self.begin(whole_counts(memory["wanted"], k, "wanted"))
        self._gathered, self._early = dense(memory["gathered"], k), dense(memory["early"], k)
        if memory["whole"] is not None:
            policy._spent = recalled(memory, "whole", (), int, 0, policy.horizon)
            self._advance()
        policy._spent = spent


def first_of(counts: Counts, n: int) -> Counts:
    """Return the first n of so many evaluations, in the order of the options."""
    return np.diff(np.minimum(np.cumsum(counts), n), prepend=0)


def only(feedback: Feedback, options: NDArray[np.bool_]) -> Feedback:
    """Return the part of a feedback that is about some options, (k,) truth values."""
    return Feedback(*(np.where(options, part, 0) for part in feedback.parts))
