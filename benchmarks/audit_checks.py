"""How often the checks of an audit find something: in scores that follow the model, and in others.

Panels of several shapes, drawn anew: values with standard deviation 2, leniencies and noise with 1,
a bias of 1 for the own group. Clean ones differ in shape and in what the interval allows for
anyway: pairs that stay, biases that differ, noise with heavy tails, whole numbers, votes, holes. In
the others something is planted. Printed for every shape: the share of tables in which anything
with a p-value was found, in which an alarm was raised, and how often each check spoke.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from evenhand.auditing.bias import clustered
from evenhand.auditing.diagnosis import diagnose
from evenhand.auditing.effects import two_way
from evenhand.scores import Factor, Scores

Rng = np.random.Generator


@dataclass(frozen=True)
class Shape:
    """A panel, and what becomes of its scores.

    ``pool``: evaluators, of whom ``seats`` sit at each event. ``planted``: what is wrong with it.
    """

    options: int
    seats: int
    events: int = 1
    groups: int = 3
    pool: int = 0
    pair: float = 0.0
    differ: float = 0.0
    holes: float = 0.0
    noise: str = "normal"
    timed: bool = False
    planted: str = ""


CLEAN = {
    "6 options, 3 evaluators": Shape(6, 3),
    "12 options, 5 evaluators": Shape(12, 5),
    "30 options, 9 evaluators": Shape(30, 9, groups=4),
    "12 events": Shape(12, 8, 12, 8, 30),
    "12 events, pairs stay, biases differ": Shape(12, 8, 12, 8, 30, pair=0.6, differ=0.5),
    "heavy tails": Shape(20, 8, 3, 4, noise="heavy"),
    "whole numbers": Shape(12, 6, 3, noise="whole"),
    "votes": Shape(20, 8, 2, 4, noise="votes"),
    "rare votes": Shape(20, 8, 2, 4, noise="rare votes"),
    "rare votes, 30 evaluators": Shape(20, 30, 1, 4, noise="rare votes"),
    "20 events of two": Shape(2, 5, 20, 2, 8),
    "20 events of two, pairs stay, biases differ": Shape(2, 5, 20, 2, 8, pair=0.6, differ=0.5),
    "20 events of three": Shape(3, 5, 20, 3, 8),
    "holes": Shape(30, 10, groups=5, holes=0.6),
    "with time": Shape(15, 6, 2, timed=True),
}
FAULTS = ("slope", "stretch", "loud", "level", "drift", "growth")


def drawn(shape: Shape, rng: Rng) -> Scores:
    """Return scores of a shape."""
    pool = shape.pool or shape.seats
    rows = [
        (event, option, evaluator)
        for event in range(shape.events)
        for evaluator in rng.choice(pool, shape.seats, replace=False)
        for option in range(shape.options)
        if rng.random() >= shape.holes
    ]
    event, option, evaluator = np.array(rows, dtype=np.int32).T
    of_options, of_evaluators = (
        (np.arange(n) % shape.groups).astype(np.int32) for n in (shape.options, pool)
    )
    own = (of_options[option] == of_evaluators[evaluator]).astype(float)
    value = (2.0 * rng.normal(size=shape.options))[option]
    lenient, bias = rng.normal(size=pool), 1.0 + shape.differ * rng.normal(size=pool)
    stays = shape.pair * rng.normal(size=(shape.options, pool))
    time = rng.random(len(rows))
    mean = value + lenient[evaluator] + bias[evaluator] * own + stays[option, evaluator]
    loud = np.ones(len(rows))
    if shape.planted == "slope":
        mean += 0.5 * own * value
    if shape.planted == "stretch":
        mean += 0.5 * value * (evaluator == 0)
    if shape.planted == "loud":
        loud[evaluator == 0] = 3.0
    if shape.planted == "level":
        loud = np.exp(0.3 * value)
    if shape.planted == "drift":
        mean += 3.0 * time
    if shape.planted == "growth":
        mean += 4.0 * own * (time - 0.5)
    return Scores(
        _scores(mean, loud, shape.noise, rng),
        Factor(option, tuple(f"o{i}" for i in range(shape.options))),
        Factor(evaluator, tuple(f"e{i}" for i in range(pool))),
        event=None if shape.events == 1 else Factor(event, tuple(map(str, range(shape.events)))),
        groups=tuple(map(str, range(shape.groups))),
        option_group=of_options,
        evaluator_group=of_evaluators,
        time=time if shape.timed else None,
    )


def _scores(mean: np.ndarray, loud: np.ndarray, noise: str, rng: Rng) -> np.ndarray:
    if noise == "votes":
        return (rng.random(len(mean)) < 0.5 + 0.25 * np.tanh(mean / 4.0)).astype(float)
    if noise == "rare votes":
        return (rng.random(len(mean)) < 0.02).astype(float)
    if noise == "heavy":
        return mean + rng.standard_t(4, size=len(mean))
    scores = mean + loud * rng.normal(size=len(mean))
    return np.rint(scores) if noise == "whole" else scores


def measured(shape: Shape, runs: int, seed: Sequence[int]) -> dict[str, float]:
    """Return how often anything was found, an alarm was raised, and each check spoke."""
    rng = np.random.default_rng(seed)
    spoke: Counter[str] = Counter()
    for _ in range(runs):
        effects = two_way(drawn(shape, rng))
        found = diagnose(effects, clustered(effects, 0.95))
        told = [finding for finding in found if not math.isnan(finding.p_value)]
        spoke.update({finding.assumption for finding in found})
        spoke["found"] += bool(told)
        spoke["alarm"] += any(finding.alarm for finding in found)
    return {name: count / runs for name, count in spoke.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Print how often checks speak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="Two tables of each shape.")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(argv)
    runs = 2 if given.tiny else given.runs
    base = replace(CLEAN["12 events"], timed=True)
    shapes = CLEAN | {f"planted: {fault}": replace(base, planted=fault) for fault in FAULTS}
    table = Table("scores", "found", "alarm", "each", title=f"{runs:,} tables each")
    numbers = {}
    for number, (name, shape) in enumerate(shapes.items()):
        found = measured(shape, runs, [given.seed, number])
        numbers[name] = found
        each = ", ".join(
            f"{check} {share:.1%}"
            for check, share in sorted(found.items())
            if check not in ("found", "alarm")
        )
        table.add_row(name, f"{found['found']:.1%}", f"{found['alarm']:.1%}", each)
    Console(width=120).print(table)
    if given.json:
        given.json.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
