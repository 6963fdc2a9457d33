"""Runs of policies with what a record would keep of them, for tests of the proof."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.answers.answer import answer_of
from evenhand.answers.choose import policy_for
from evenhand.arrays import Floats
from evenhand.campaigns.proof import Plan, Record


def played(
    asked: eh.ActionSet | eh.Questions,
    means: Floats,
    seed: int,
    *,
    noise: float = 1.0,
    together: int = 1,
    stop: int | None = None,
    **given: Any,
) -> tuple[Record, dict[str, Any]]:
    """Play the policy that `choose` would; return the record, and the answer as a plain value.

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
    told: list[int] = []
    scores: list[float] = []
    learnt: list[int] = []
    plans: list[Plan] = []

    def note() -> None:
        plan = policy.plan()
        if plan is not None and (not plans or plans[-1].content["id"] != plan["id"]):
            plans.append(Plan(len(told), json.loads(json.dumps(plan))))

    note()
    q = len(means)
    out: list[int] = []
    while stop is None or len(told) < stop:
        pending = np.bincount(out, minlength=q)
        if len(out) < together:
            counts = policy.ask(together - len(out), pending).counts
            out += rng.permutation(np.repeat(np.arange(q), counts)).tolist()
        if not out:
            break
        n = int(rng.integers(1, min(together, len(out)) + 1))
        back = [out.pop(int(rng.integers(len(out)))) for _ in range(n)]
        came = means[back] + noise * loud[back] * rng.standard_normal(n)
        parts = (np.bincount(back, weights, q) for weights in (None, came, came**2))
        policy.tell(eh.Feedback(*parts))
        told, scores = told + back, scores + came.tolist()
        learnt.append(len(told))
        note()
    policy.checks.look()
    answer = answer_of(
        policy,
        confidence=settings["confidence"],
        tolerance=settings["tolerance"],
        features_exact=deviation == 0,
    )
    kept = settings | {
        "deviation": deviation,
        "budget": given.get("budget"),
        "at_most": policy.horizon,
        "looks": policy.looks,
    }
    record = Record(
        policy.actions.to_dict(),
        policy.name,
        kept,
        np.array(told, dtype=np.intp),
        np.array(scores),
        np.zeros(len(told), dtype=np.bool_),
        np.full(len(told), -1),
        plans,
        learnt=np.array(learnt),
    )
    return record, answer.to_dict()


def changed(answer: Mapping[str, Any], where: list[Any], to: Any) -> dict[str, Any]:
    """Return an answer of which one part is another."""
    copy: Any = json.loads(json.dumps(answer))
    inner = copy
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to
    return dict(copy)
