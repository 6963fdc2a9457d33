"""Large panels in arrow form against the dense way: time, memory, evaluations until certain.

Options of ten groups, evaluators of the same groups, all lenient by their own measure and partial
to their group; values are normal, with the best half a standard deviation of the noise ahead.

    make        seconds to make the policy, its start included
    plan        milliseconds of the tell that ends a stage and of the ask after it: all planning
    tell        milliseconds of other tells and asks, the median
    check       milliseconds of a look at the fit of the model
    memory      MB that policy and first stage take beyond the questions, at most
    state       MB of the policy's state as JSON, without the questions
    evaluations to certainty, on the same seeds

The dense way is left out where its matrix alone would have more than a hundred million numbers.
One thread; ratios are dense over arrow.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import json
import math
import time
import tracemalloc
from collections.abc import Sequence
from typing import NamedTuple
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

import evenhand as eh
from evenhand.certainty.arrow import ArrowModel
from evenhand.certainty.dense import DenseModel
from evenhand.policies.conclusion import checks_of
from evenhand.research.environments import SimulatedEvaluations

MODELS = {"arrow": ArrowModel, "dense": DenseModel}
SIZES = ((20, 5), (60, 10), (200, 20), (2000, 50))
TINY = ((6, 3), (9, 4))
_MOST = 10**8
_TELLS = 40  # whose median is taken


class Costs(NamedTuple):
    make: float
    plan: float
    tell: float
    check: float
    memory: float
    state: float


def panel(k: int, e: int) -> eh.Questions:
    """Return a panel of ten groups that may be asked as often as one likes."""
    groups = min(10, k // 2)
    return eh.Questions.panel(
        {f"option {i}": f"group {i % groups}" for i in range(k)},
        {f"evaluator {i}": f"group {i % groups}" for i in range(e)},
        capacity=None,
    )


def problem(questions: eh.Questions, seed: int) -> eh.BiasedLinearBandit:
    """Return random values and attributes of a panel."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(len(questions.options))
    values[int(rng.integers(len(values)))] = values.max() + 0.5
    attributes = rng.standard_normal(questions.n_attributes)
    return eh.BiasedLinearBandit(questions, values, attributes, noise_scale=1.0)


def made(model: str, questions: eh.Questions) -> eh.CertainChoice:
    """Return a policy that works with one of the models."""
    with mock.patch("evenhand.certainty.certain_choice.model_of", MODELS[model]):
        return eh.CertainChoice(questions, at_most=10**6, noise_scale=1.0)


def costs(model: str, k: int, e: int) -> Costs:
    """Return what the first stages of a search cost."""
    memory, questions = held(model, k, e), panel(k, e)
    start = time.process_time()
    policy = made(model, questions)
    make = time.process_time() - start
    evaluations = SimulatedEvaluations(problem(questions, 0), seed=0)
    plans, tells = [], []
    while len(plans) < 2 or len(tells) < _TELLS:
        allocation = policy.ask()
        if allocation.total == 0:
            break
        told, stages = evaluations.evaluate(allocation), len(policy.record.rounds)
        start = time.process_time()
        policy.tell(told)
        policy.ask()
        spent = time.process_time() - start
        if len(policy.record.rounds) > stages:
            plans.append(spent)
        elif policy.record.rounds[-1].plan.leader >= 0:
            tells.append(spent)
    start = time.process_time()
    checks_of(policy).lack_of_fit()
    check = time.process_time() - start
    state = {name: part for name, part in policy.state().items() if name != "arguments"}
    return Costs(
        make,
        1e3 * max(plans, default=math.nan),
        1e3 * float(np.median(tells or [math.nan])),
        1e3 * check,
        memory,
        len(json.dumps(state)) / 1e6,
    )


def held(model: str, k: int, e: int) -> float:
    """Return the MB that making a policy and planning its first two stages take at most."""
    questions = panel(k, e)
    assert questions.matrix.shape[0] == k * e
    evaluations = SimulatedEvaluations(problem(questions, 0), seed=0)
    tracemalloc.start()
    policy = made(model, questions)
    while len(policy.record.rounds) < 2:
        policy.tell(evaluations.evaluate(policy.ask()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def until_certain(model: str, questions: eh.Questions, seed: int) -> tuple[int, bool]:
    """Return how many evaluations it takes to be certain, and whether that is right."""
    truth = problem(questions, seed)
    evaluations, policy = SimulatedEvaluations(truth, seed=seed), made(model, questions)
    policy.checked = False
    while not policy.finished:
        policy.tell(evaluations.evaluate(policy.ask()))
    return policy.spent, policy.recommend().option == truth.best


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="seeds of evaluations to certainty")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    sizes, runs = (TINY, 2) if arguments.tiny else (SIZES, arguments.runs)
    console = Console(width=110)
    table = Table(title="What a panel costs")
    for column in ("panel", "model", "make s", "plan ms", "tell ms", "check ms", "MB", "state MB"):
        table.add_column(column, justify="left" if column in ("panel", "model") else "right")
    for k, e in sizes:
        shape = f"{k} × {e}"
        found = {"arrow": costs("arrow", k, e)}
        if k * e * (k + e) <= _MOST:
            found["dense"] = costs("dense", k, e)
        for model, cost in found.items():
            table.add_row(shape, model, *(f"{number:,.3g}" for number in cost))
        if "dense" in found:
            pairs = zip(found["dense"], found["arrow"], strict=True)
            table.add_row(shape, "ratio", *(f"{a / max(b, 1e-9):,.2g}" for a, b in pairs))
    console.print(table)
    for k, e in sizes[:-1]:
        questions = panel(k, e)
        number = {
            model: [until_certain(model, questions, seed) for seed in range(runs)]
            for model in MODELS
        }
        logs = np.log([[n for n, _ in number[model]] for model in ("dense", "arrow")])
        ratio = logs[0] - logs[1]
        half = 1.96 * ratio.std(ddof=1) / math.sqrt(runs)
        right = {model: sum(ok for _, ok in found) for model, found in number.items()}
        console.print(
            f"{k} × {e}: evaluations to certainty, mean of {runs}: arrow "
            f"{np.exp(logs[1]).mean():,.0f} ({right['arrow']} right), dense "
            f"{np.exp(logs[0]).mean():,.0f} ({right['dense']} right); ratio "
            f"{math.exp(ratio.mean()):.2f} [{math.exp(ratio.mean() - half):.2f}, "
            f"{math.exp(ratio.mean() + half):.2f}]",
            highlight=False,
        )


if __name__ == "__main__":
    main()
