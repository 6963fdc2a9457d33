"""Runs of policies with the log that a campaign would keep of them, for tests of the proof."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.answers.answer import answer_of
from evenhand.answers.choose import policy_for
from evenhand.arrays import Floats
from evenhand.campaigns.deciding import plain

Log = list[tuple[str, dict[str, Any]]]


def played(
    asked: eh.ActionSet | eh.Questions,
    means: Floats,
    seed: int,
    *,
    noise: float = 1.0,
    together: int = 1,
    stop: int | None = None,
    **given: Any,
) -> Log:
    """Play the policy that `choose` would; return its log up to the decision.

    Up to ``together`` answers are out at once, and come back in any order and number; after
    ``stop`` of them it is over.
    """
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {
        name: given.get(name, usual)
        for name, usual in (("at_most", None), ("confidence", 0.95), ("tolerance", 0.0))
    } | {name: given.get(name) for name in ("noise_scale", "bounds")}
    deviation = given.get("deviation")
    policy: Any = policy_for(
        asked, deviation, True, given.get("looks"), given.get("budget"), settings
    )
    loud = np.ones(len(means)) if policy.questions.noise is None else policy.questions.noise
    stated = {"tolerance": settings["tolerance"], "deviation": deviation}
    log: Log = [("created", {"policy": policy.state(), "settings": stated})]
    q, told = len(means), 0
    out: list[int] = []
    while stop is None or told < stop:
        pending = np.bincount(out, minlength=q)
        while (plan := policy.plan(pending)) is not None:  # early scores may make one whole at once
            log.append(("planned", {"plan": plan}))
            policy.begin(plan)
        if len(out) < together:
            counts = policy.ask(together - len(out), pending).counts
            out += rng.permutation(np.repeat(np.arange(q), counts)).tolist()
        if not out:
            break
        for _ in range(int(rng.integers(1, min(together, len(out)) + 1))):
            x = out.pop(int(rng.integers(len(out))))
            score = float(means[x] + noise * loud[x] * rng.standard_normal())
            policy.tell(eh.Feedback.from_scores(policy.actions, [x], [score]))
            told += 1
            log.append(("told", {"evaluations": [[told, told, x, score, "", f"{told}"]]}))
    policy.checks.look()
    answer = answer_of(
        policy,
        confidence=settings["confidence"],
        tolerance=settings["tolerance"],
        features_exact=deviation == 0,
    )
    log.append(("decided", {"answer": plain(answer.to_dict())}))
    return json.loads(json.dumps(log))  # type: ignore[no-any-return] # as it is read from a file


def changed(log: Log, where: list[Any], to: Any) -> Log:
    """Return a log of which one part is another."""
    copy: Any = json.loads(json.dumps(log))
    inner = copy
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to
    return copy  # type: ignore[no-any-return] # as above
