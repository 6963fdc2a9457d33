"""Runs of policies with the log that a campaign would keep of them, for tests of the proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.answers.answer import answer_of
from evenhand.answers.choose import policy_for
from evenhand.arrays import Floats
from evenhand.policies.base import Policy
from evenhand.policies.conclusion import certificate_of, checks_of
from evenhand.policies.state import plain as plain_state

Log = list[tuple[str, dict[str, Any]]]


class Play:
    """A policy that is played, with its log.

    Parameters
    ----------
    asked, seed
        What is asked, and where noise comes from.
    policy
        What asks; what `choose` would, if not given.
    noise
        How loud scores are.
    together
        Up to how many answers are out at once; they come back in any order and number.
    given
        What `choose` would be told.
    """

    def __init__(
        self,
        asked: eh.ActionSet | eh.Questions,
        seed: int,
        *,
        policy: Policy | None = None,
        noise: float = 1.0,
        together: int = 1,
        **given: Any,
    ) -> None:
        self.rng, self.noise, self.together = np.random.default_rng(seed), noise, together
        settings: dict[str, Any] = {
            name: given.get(name, usual)
            for name, usual in (("at_most", None), ("confidence", 0.95), ("tolerance", 0.0))
        } | {name: given.get(name) for name in ("noise_scale", "bounds")}
        self.settings, self.deviation = settings, given.get("deviation")
        looks, budget = given.get("looks"), given.get("budget")
        self.policy: Any = policy or policy_for(
            asked, self.deviation, True, looks, budget, settings
        )
        self.scale = given.get("bounds")
        stated = {
            "tolerance": settings["tolerance"],
            "deviation": self.deviation,
            "bounds": self.scale,
        }
        self.log: Log = [("created", {"policy": self.policy.state(), "settings": stated})]
        self.numbers = np.arange(len(self.policy.actions))  # of the questions
        self.told: list[tuple[str, int, float]] = []  # kind, number of the question, score
        self.out: list[int] = []

    def go_on(self, mean: Callable[[str], float], stop: int | None = None) -> None:
        """Ask until it is over, or so many were told."""
        policy, rng, q = self.policy, self.rng, len(self.policy.actions)
        while stop is None or len(self.told) < stop:
            pending = np.bincount(self.out, minlength=q)
            while (plan := policy.plan(pending)) is not None:  # early scores may make one whole
                self.log.append(("planned", {"plan": plan}))
                policy.begin(plan)
            if len(self.out) < self.together:
                counts = policy.ask(self.together - len(self.out), pending).counts
                self.out += rng.permutation(np.repeat(np.arange(q), counts)).tolist()
            if not self.out:
                break
            for _ in range(int(rng.integers(1, min(self.together, len(self.out)) + 1))):
                self._enter("told", self.out.pop(int(rng.integers(len(self.out)))), mean)

    def observe(self, mean: Callable[[str], float], n: int) -> None:
        """Have scores come that nobody asked for."""
        for x in self.rng.integers(len(self.policy.actions), size=n).tolist():
            self._enter("imported", x, mean)

    def _enter(self, kind: str, x: int, mean: Callable[[str], float]) -> None:
        noise = self.policy.questions.noise
        loud = self.noise * (1.0 if noise is None else noise[x])
        score = float(mean(self.policy.actions.labels[x]) + loud * self.rng.standard_normal())
        if self.scale is not None:
            score = min(max(score, self.scale[0]), self.scale[1])
        self.told.append((kind, int(self.numbers[x]), score))
        n = len(self.told)
        self.log.append((kind, {"evaluations": [[n, n, self.told[-1][1], score, "", f"{n}"]]}))
        self._take(kind, x, score)

    def _take(self, kind: str, x: int, score: float) -> None:
        told = eh.Feedback.from_scores(self.policy.actions, [x], [score])
        (self.policy.tell if kind == "told" else self.policy.observe)(told)

    def withdraw(self, *evaluations: int) -> None:
        """Fold the log anew, without some scores, which nobody looked at."""
        for n in evaluations:
            gone = {"evaluation": n, "ticket": n, "blind": True, "reopened": False}
            self.log.append(("withdrawn", gone))
        self.policy = eh.restore(self.log[0][1]["policy"])
        for kind, content in self.log:
            if kind == "planned":
                self.policy.begin(content["plan"])
            elif kind == "told" and content["evaluations"][0][0] not in evaluations:
                _, _, x, score, *_ = content["evaluations"][0]
                one = np.eye(len(self.numbers), dtype=np.int64)[x]
                self.policy.limits.hand_out(one, 0 * one)
                self._take(kind, x, score)

    def extend(self, asked: eh.Questions) -> None:
        """Go on with more questions; those before keep their numbers."""
        labels = [self.policy.actions.labels[x] for x in np.argsort(self.numbers)]
        old = {label: number for number, label in enumerate(labels)}
        new = (label for label in asked.labels if label not in old)
        old |= {label: len(old) + i for i, label in enumerate(list(new))}
        self.policy = self.policy.extended(asked)
        self.numbers, self.out = np.array([old[label] for label in asked.labels]), []
        questions = plain_state({"questions": asked})["questions"]
        content = {"questions": questions, "numbers": self.numbers.tolist()}
        self.log.append(("extended", content | {"at_most": None, "budget": None}))

    def decided(self) -> Log:
        """Return the log with what the policy has come to, as it is read from a file."""
        if self.policy.spent:
            checks_of(self.policy).look()
        answer = answer_of(
            self.policy,
            confidence=self.settings["confidence"],
            tolerance=self.settings["tolerance"],
            features_exact=self.deviation == 0,
            scale=self.scale,
        )
        certificate = certificate_of(self.policy)
        decision = {"answer": answer.to_dict(), "certificate": certificate}
        return json.loads(json.dumps([*self.log, ("decided", decision)]))  # type: ignore[no-any-return] # as it was


def played(
    asked: eh.ActionSet | eh.Questions,
    means: Floats,
    seed: int,
    *,
    stop: int | None = None,
    **given: Any,
) -> Log:
    """Play a policy until it is over; return its log with the decision."""
    play = Play(asked, seed, **given)
    worth = dict(zip(asked.labels, means.tolist(), strict=True))
    play.go_on(worth.__getitem__, stop)
    return play.decided()


def changed(log: Log, where: list[Any], to: Any) -> Log:
    """Return a log of which one part is another."""
    copy: Any = json.loads(json.dumps(log))
    inner = copy
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to
    return copy  # type: ignore[no-any-return] # as above
