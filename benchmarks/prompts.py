"""What it costs to choose a prompt by a cheap partial model and dear impartial people.

Six prompts, three for a model of the judge's family and three for another; a hundred tasks. The
model's verdicts favour its family and what is shown first, so that it is sure of the wrong prompt.
People favour nobody, cost 150 times as much, and know forty of the tasks.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.judges import Judge, JudgePanel, comparisons

WORTH = {
    "A plain": 0.0, "A steps": 0.5, "A brief": -0.2, "B plain": 0.1, "B steps": 1.0, "B brief": 0.3,
}  # fmt: skip
BEST = "B steps"
FAMILY = {name: name[0] for name in WORTH}
TASKS = tuple(f"task {n}" for n in range(100))
KNOWN = TASKS[:40]
FAVOUR, FIRST = 0.9, 0.4
"""What the model adds for its family, and for what is shown first, in units of worth."""

BETWEEN_TASKS, NOISE, MIDDLE = 0.7, 0.5, 0.3
"""Deviations of a prompt between tasks, and of a verdict; leads below the last are ties."""

PRICES = {"model": 0.01, "people": 1.5}
BUDGET = 400.0


@dataclass(frozen=True, eq=False)
class World:
    """Answers to the tasks, and who can judge them."""

    answers: dict[str, dict[str, str]]
    model: Judge
    people: Judge


def world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    good = {(o, t): rng.normal(w, BETWEEN_TASKS) for o, w in WORTH.items() for t in TASKS}
    answers = {o: {t: f"{o}, on {t}" for t in TASKS} for o in WORTH}

    def judged(favour: float, first: float) -> Callable[[str, str, str], str]:
        def call(one: str, other: str, task: str) -> str:
            a, b = (text.partition(",")[0] for text in (one, other))
            lead = good[a, task] - good[b, task] + first + rng.normal(scale=NOISE)
            lead += favour * ((FAMILY[a] == "A") - (FAMILY[b] == "A"))
            return "[[A]]" if lead > MIDDLE else "[[B]]" if lead < -MIDDLE else "[[C]]"

        return call

    return World(
        answers,
        Judge(judged(FAVOUR, FIRST), name="model", family="A", price=PRICES["model"]),
        Judge(judged(0.0, 0.0), name="people", price=PRICES["people"], once=True, items=KNOWN),
    )


def ways(made: World) -> dict[str, JudgePanel]:
    """Return the ways to ask: the model as if it were impartial, people alone, both."""
    return {
        "the model alone, believed": comparisons(made.answers, [made.model]),
        "people alone": comparisons(made.answers, [made.people]),
        "both": comparisons(made.answers, [made.model, made.people], family=FAMILY),
    }


@dataclass(frozen=True)
class Outcome:
    """What a way of asking came to."""

    way: str
    right: bool
    sure: bool
    paid: float
    by_people: int


def outcomes(seed: int, budget: float = BUDGET) -> Iterator[Outcome]:
    """Yield the outcome of every way, at the same budget."""
    for way, panel in ways(world(seed)).items():
        answer = panel.choose(budget=budget, at_most=20_000, seed=seed, progress=False)
        asked = panel.record()["evaluator"].value_counts()
        yield Outcome(
            way, answer.label == BEST, answer.sure, answer.paid, int(asked.get("people", 0))
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--budget", type=float, default=BUDGET)
    arguments = parser.parse_args(argv)
    found = [one for seed in range(arguments.worlds) for one in outcomes(seed, arguments.budget)]
    print("| asked | right | sure | sure and wrong | paid, mean | answers by people, mean |")
    print("| --- | --- | --- | --- | --- | --- |")
    for way in dict.fromkeys(one.way for one in found):
        own = [one for one in found if one.way == way]
        print(
            f"| {way} | {sum(one.right for one in own)} | {sum(one.sure for one in own)} | "
            f"{sum(one.sure and not one.right for one in own)} | "
            f"{np.mean([one.paid for one in own]):.0f} | "
            f"{np.mean([one.by_people for one in own]):.0f} |"
        )
    print(f"\n{arguments.worlds} worlds, at a budget of {arguments.budget:g}.")


if __name__ == "__main__":
    main()
