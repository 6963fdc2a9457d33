"""How much sooner is the best option found if no evaluator waits for another?

`PricedExploration` with ``cost="evaluation"`` (it stops by itself) has 16 evaluators, whose times
are lognormal, in two ways:

    side by side    whoever is free asks at once, beside what is on its way
    rounds          16 evaluations are asked for, and all wait for the slowest

Replication i of both sees the same noise and the same times, by the running number of the
evaluation. A run ends when its last evaluation is back. A ratio is one of means over problems and
replications of an instance, side by side over rounds; over instances, the geometric mean, with the
standard error that pairs leave.

    clock           how long a run takes; target: at most a third
    evaluations     how many it takes; target: at most 1.15
    ideal           the ratio of clocks if both took the same evaluations, nobody were ever idle and
                    all rounds full: the mean time over that of the slowest of 16
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import integrate, stats

from evenhand.research.comparison.instances import (
    GapDependent,
    Instance,
    Random,
    Skating,
    WorstCase,
)
from evenhand.research.comparison.table import geometric_mean
from evenhand.research.environments import Latency
from evenhand.research.simulation import Parallel, simulate
from evenhand.research.simulation.experiment import Contender

Floats = NDArray[np.float64]

EVALUATORS = 16
SIGMAS = (1.0, 0.5)
TARGET_CLOCK, TARGET_EVALUATIONS = 1 / 3, 1.15
HORIZONS = (10**5, 10**6)  # those of `evenhand compare`; what an evaluation is worth grows with it
SHAPES = (
    Skating(),
    Random(20, 3, 1),
    Random(50, 5, 1),
    Random(100, 10, 2),
    GapDependent(2, 4.0, 0.05, 0.2),
    GapDependent(4, 2.0, 0.1, 0.1),
    WorstCase(3.0, 2, 1.0),
    WorstCase(3.0, 5, 4.0),
)
POLICY = Contender("priced", "priced-exploration").with_options(cost="evaluation")


@dataclass(frozen=True, eq=False)
class Measured:
    """(n,) means over the problems of an instance, by replication."""

    clock: Floats
    spent: Floats
    correct: Floats


def played(instance: Instance, parallel: Parallel, replications: int, seed: int) -> Measured:
    """Play all problems of an instance."""
    player = POLICY.with_options(value_bound=instance.shape.value_bound)
    runs = [
        simulate(
            problem,
            [player],
            instance.horizon,
            replications,
            seed,
            checkpoints=(),
            parallel=parallel,
            progress=False,
        ).runs[0]
        for problem in instance.shape.problems(instance.horizon)
    ]
    return Measured(
        **{
            f.name: np.mean([getattr(one, f.name) for one in runs], axis=0)
            for f in fields(Measured)
        }
    )


def ratio(above: Floats, below: Floats) -> tuple[float, Floats]:
    """Return the ratio of means, and by how much its logarithm moves with each replication."""
    times = float(above.mean() / below.mean())
    return times, above / above.mean() - below / below.mean()


def ideal(sigma: float, n: int = EVALUATORS) -> float:
    """Return E e^{σZ} / E e^{σM}, with Z normal and M the largest of n such."""
    normal = stats.norm
    slowest, _ = integrate.quad(
        lambda z: math.exp(sigma * z) * n * normal.pdf(z) * normal.cdf(z) ** (n - 1), -12.0, 12.0
    )
    return math.exp(sigma**2 / 2) / slowest


def measured(
    instances: Sequence[Instance], sigma: float, replications: int, seed: int
) -> Iterator[tuple[Instance, Measured, Measured]]:
    """Play every instance side by side, and in rounds."""
    latency = Latency.lognormal(median=1.0, sigma=sigma)
    for instance in instances:
        beside, rounds = (
            played(instance, Parallel(EVALUATORS, latency, rounds), replications, seed)
            for rounds in (False, True)
        )
        yield instance, beside, rounds


def table(
    title: str, rows: Sequence[tuple[Instance, Measured, Measured]]
) -> tuple[Table, dict[str, float]]:
    """Return the table, and the geometric means under it."""
    shown = Table(title=title, title_justify="left")
    shown.add_column("instance", no_wrap=True)
    for column in ("clock", "in rounds", "ratio", "evaluations", "in rounds", "ratio", "right"):
        shown.add_column(column, justify="right")
    ratios: dict[str, list[float]] = {"clock": [], "spent": []}
    moves: dict[str, list[Floats]] = {"clock": [], "spent": []}
    for instance, beside, rounds in rows:
        cells = []
        for name, digits in (("clock", 1), ("spent", 0)):
            one, two = getattr(beside, name), getattr(rounds, name)
            times, moved = ratio(one, two)
            ratios[name].append(times)
            moves[name].append(moved)
            cells += [f"{one.mean():,.{digits}f}", f"{two.mean():,.{digits}f}", f"{times:.3f}"]
        right = f"{beside.correct.mean():.0%} / {rounds.correct.mean():.0%}"
        shown.add_row(instance.words, *cells, right)
    means = {name: geometric_mean(values) for name, values in ratios.items()}
    # all instances share the noise of a replication: averaged over them before the spread is taken
    errors = {
        name: means[name] * float(np.mean(moved, axis=0).std(ddof=1)) / math.sqrt(len(moved[0]))
        for name, moved in moves.items()
    }
    said = {name: f"{means[name]:.3f} ± {errors[name]:.3f}" for name in means}
    shown.add_section()
    shown.add_row("geometric mean", "", "", said["clock"], "", "", said["spent"], "", style="bold")
    return shown, means


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--horizon", type=float, action="append", help="1e5 and 1e6 if not given")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    horizons = [int(T) for T in arguments.horizon or HORIZONS]
    shapes, sigmas, replications = SHAPES, SIGMAS, arguments.replications
    if arguments.tiny:
        horizons, shapes, sigmas, replications = [1000], SHAPES[:2], SIGMAS[:1], 2
    console = Console(width=150)
    for sigma in sigmas:
        for horizon in horizons:
            instances = [Instance("parallel", shape, horizon) for shape in shapes]
            rows = list(measured(instances, sigma, replications, arguments.seed))
            title = f"{EVALUATORS} evaluators, sigma {sigma:g}, {replications} replications"
            shown, means = table(title, rows)
            console.print(shown)
            for name, what, most, least in (
                ("clock", "clock", TARGET_CLOCK, ideal(sigma)),
                ("spent", "evaluations", TARGET_EVALUATIONS, 0.0),
            ):
                verdict = "reached" if means[name] <= most else "missed"
                if least > most:
                    verdict = "out of reach for everybody"
                console.print(f"{what}: {means[name]:.3f}, target ≤ {most:.3f}: {verdict}")
            console.print(f"ideal ratio of clocks: {ideal(sigma):.3f}\n")


if __name__ == "__main__":
    main()
