"""What it costs to choose a prompt by a cheap partial model and dear impartial people.

Six prompts, three for a model of the judge's family and three for another; a hundred tasks. The
model's verdicts favour its family and what is shown first, so that it is sure of the wrong prompt.
People favour nobody, cost 150 times as much, and know forty of the tasks.

With ``--scored``: five prompts, each scored on 120 tasks by two models, with all prompts on the
same tasks and one look, or by a search that draws tasks anew and stops when it is sure. Tasks
differ by more than anything else.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.judges import Judge, JudgePanel, comparisons, panel

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
        Judge(judged(FAVOUR, FIRST), name="model", family="A", price=PRICES["model"], once=False),
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
    for way, made in ways(world(seed)).items():
        answer = made.choose(budget=budget, at_most=20_000, seed=seed, progress=False)
        asked = made.record()["evaluator"].value_counts()
        yield Outcome(
            way, answer.label == BEST, answer.sure, answer.paid, int(asked.get("people", 0))
        )


SCORED, N_TASKS, GAP = 5, 120, 0.25
"""Prompts, tasks, and what each prompt is worth less than the one before."""

OF_TASKS, OF_ANSWERS, OF_SCORES, OF_TASTES = 1.5, 0.6, 0.6, 0.1
"""Deviations: how good answers to a task are at all, one prompt's on it, noise, and what a model
thinks of a prompt whatever the task."""


def scored(seed: int, gap: float, tastes: float) -> JudgePanel:
    rng = np.random.default_rng([seed, 5])
    prompts, tasks = [f"prompt {n}" for n in range(SCORED)], [f"task {n}" for n in range(N_TASKS)]
    answers = {o: {t: f"{o}, on {t}" for t in tasks} for o in prompts}
    easy = dict(zip(tasks, OF_TASKS * rng.normal(size=N_TASKS), strict=True))
    good = {
        text: -gap * n + easy[task] + OF_ANSWERS * rng.normal()
        for n, prompt in enumerate(prompts)
        for task, text in answers[prompt].items()
    }

    def judged(name: str) -> Judge:
        likes = dict(zip(prompts, tastes * rng.normal(size=SCORED), strict=True))

        def call(text: str, task: str) -> float:
            liked = likes[text.partition(",")[0]]
            return float(good[text] + liked + OF_SCORES * rng.normal())

        return Judge(call, name=name, once=False)

    return panel(answers, [judged("model 1"), judged("model 2")], seed=seed)


def print_scored(worlds: int) -> None:
    print("| prompts | asked | right | sure | sure and wrong | evaluations, mean |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, gap, tastes in (
        (f"{GAP:g} apart", GAP, OF_TASTES),
        ("all alike, no tastes", 0.0, 0.0),
    ):
        for design in ("paired", "search"):
            found = [
                scored(seed, gap, tastes).choose(
                    design=design, at_most=2 * SCORED * N_TASKS, seed=seed, progress=False
                )
                for seed in range(worlds)
            ]
            right = [gap > 0.0 and one.label == "prompt 0" for one in found]
            wrong = sum(one.sure and not good for one, good in zip(found, right, strict=True))
            print(
                f"| {case} | {design} | {sum(right) if gap else '–'} | "
                f"{sum(one.sure for one in found)} | {wrong} | "
                f"{np.mean([one.spent for one in found]):.0f} |"
            )
    print(f"\n{worlds} worlds, at most {2 * SCORED * N_TASKS:,} evaluations.")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--budget", type=float, default=BUDGET)
    parser.add_argument("--scored", action="store_true")
    arguments = parser.parse_args(argv)
    if arguments.scored:
        print_scored(arguments.worlds)
        return
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
