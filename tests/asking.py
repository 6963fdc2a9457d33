"""Answers to what policies ask, and policies that ask what they are told to ask."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.arrays import Counts, Floats
from evenhand.policies import Play
from evenhand.research.simulation import Results
from evenhand.research.simulation.experiment import play_out


def evaluated(
    counts: Counts, means: Floats, rng: np.random.Generator, noise: float | Floats = 1.0
) -> eh.Feedback:
    """Return scores one by one about their means, with normal noise."""
    asked = np.repeat(np.arange(len(counts)), counts)
    spread = np.broadcast_to(noise, counts.shape)[asked]
    scores = np.asarray(means)[asked] + spread * rng.standard_normal(len(asked))
    k = len(counts)
    return eh.Feedback(
        counts.copy(),
        np.bincount(asked, scores, minlength=k),
        np.bincount(asked, scores**2, minlength=k),
    )


def judged(
    policy: Any, means: Floats, seed: int = 0, noise: float | Floats = 1.0, n: int | None = None
) -> Any:
    """Play a policy to the end with normal scores, asked so many at a time; return it."""
    rng = np.random.default_rng(seed)
    while (asked := policy.ask(n)).total:
        policy.tell(evaluated(asked.counts, means, rng, noise))
    return policy


def played(policy: eh.Policy, problem: eh.BiasedLinearBandit, seed: int) -> Counts:
    """Play to the end by ask and tell; return how often each option was evaluated."""
    evaluations = eh.SimulatedEvaluations(problem, seed)
    total = np.zeros(len(policy.questions), dtype=np.int64)
    while not policy.finished:
        allocation = policy.ask()
        total += allocation.counts
        policy.tell(evaluations.evaluate(allocation))
    return total


def rounds(
    policy: eh.Policy, problem: eh.BiasedLinearBandit, n: int
) -> Iterator[tuple[Counts, eh.Feedback]]:
    """Yield what is asked and what comes back, before it is told, so often or to the end."""
    evaluations = eh.SimulatedEvaluations(problem, seed=1)
    for _ in range(n):
        allocation = policy.ask()
        if allocation.total == 0:
            return
        feedback = evaluations.evaluate(allocation)
        yield allocation.counts, feedback
        policy.tell(feedback)


def assert_same(one: Results, other: Results) -> None:
    """Assert that two simulations have the same rows, to the bit."""
    assert one.to_frame().equals(other.to_frame())
    assert one.outcomes().equals(other.outcomes())


def without_compiled(cls: type[eh.Policy]) -> type[eh.Policy]:
    """Return the same policy, without compiled steps."""
    return type("Asked", (cls,), {"_compiled": property(lambda self: None)})


def course(policy: eh.Policy, problem: eh.BiasedLinearBandit, stops: list[int]) -> list[Any]:
    """Return all that shows how a policy was played out, to the bit."""
    regret = play_out(policy, eh.SimulatedEvaluations(problem, 4), problem.gaps, stops)
    said = policy.recommend()
    shown = [regret.spent, policy.spent, policy._round, said, said.loss, repr(policy.bias())]
    return [*shown, regret.curve().tolist()]


class Scripted(eh.Policy):
    """Asks what it was given, and keeps what it was told."""

    name = "scripted"

    def __init__(
        self, actions: eh.ActionSet, horizon: int, script: Iterable[list[int]] = (), seed: int = 0
    ) -> None:
        super().__init__(actions, horizon, noise_scale=1.0, seed=seed)
        self.script = script
        self.told: list[eh.Feedback] = []

    def play(self) -> Play:
        for counts in self.script:
            feedback = yield np.array(counts, dtype=np.int64)
            self.told.append(feedback)

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, len(self.told) % 3)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(math.nan, -math.inf, math.inf, 0.9)


class Wants(eh.Policy):
    """Asks every question so often, within what is left, and says nothing certain."""

    name = "wants"
    plays_questions = True
    spends_all = False

    def __init__(
        self, questions: eh.Questions | eh.ActionSet, wanted: Any = 2, **settings: Any
    ) -> None:
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


class Says(Wants):
    """Says what it is told to say: of a decision, of biases and values, of what is to come."""

    def __init__(
        self, questions: eh.Questions | eh.ActionSet, wanted: Any = 2, **said: Any
    ) -> None:
        super().__init__(questions, wanted)
        self.said = said

    def recommend(self) -> eh.Decision:
        option = self.said.get("option", 0)
        return eh.Decision(
            option,
            self.options.labels[option],
            self.said.get("loss", math.inf),
            0.95,
            self.said.get("withstands", 0.0),
            self.said.get("leads"),
            self.said.get("certainty"),
            self.said.get("warnings", ()),
        )

    def bias(self) -> eh.Estimate:
        return eh.Estimate(*self.said.get("bias", (math.nan, -math.inf, math.inf)), 0.95)

    def values(self) -> Floats | None:
        return self.said.get("values")

    def findings(self) -> tuple[eh.Finding, ...]:
        return ()
