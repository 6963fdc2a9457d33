"""What `choose` says where an assumption fails, and where none does.

Twelve options with three features and a constant, values x·γ, bias ± 0.6, noise of scale 1; the
evaluator behaves as each case says. *Right alarm*: one that names the assumption that failed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import evenhand as eh

Floats = NDArray[np.float64]

K, D, BIAS, LEAST_LEAD = 12, 3, 0.6, 0.25


@dataclass
class Evaluator:
    """Scores options; ``bend`` makes a score of option, mean, fresh noise and time."""

    means: Floats
    rng: np.random.Generator
    bend: Callable[[Evaluator, int, float, float], float]
    time: int = 0
    last: float = 0.0  # noise of the score before, where it lasts

    def __call__(self, question: eh.Question) -> float:
        self.time += 1
        x = question.option
        return self.bend(self, x, float(self.means[x]), float(self.rng.standard_normal()))


def honest(_: Evaluator, __: int, mean: float, noise: float) -> float:
    return mean + noise


def lasting(who: Evaluator, _: int, mean: float, noise: float) -> float:
    who.last = 0.9 * who.last + math.sqrt(1.0 - 0.81) * noise
    return mean + who.last


def drifting(per: int) -> Callable[[Evaluator, int, float, float], float]:
    return lambda who, _, mean, noise: mean + noise + who.time / per


def vote(who: Evaluator, _: int, mean: float, __: float) -> float:
    return float(who.rng.random() < min(max(0.5 + 0.1 * mean, 0.0), 1.0))


def far_out(share: float) -> Callable[[Evaluator, int, float, float], float]:
    return lambda who, _, mean, noise: mean + noise + 10.0 * stray(who.rng, share)


def stray(rng: np.random.Generator, share: float) -> float:
    return float(rng.choice([-1.0, 1.0])) if rng.random() < share else 0.0


def mistyped(who: Evaluator, _: int, mean: float, noise: float) -> float:
    return (mean + noise) / (10.0 if who.rng.random() < 0.05 else 1.0)


@dataclass(frozen=True)
class Case:
    """How evaluations are made, what `choose` is told, and which alarm would be right."""

    name: str
    bend: Callable[[Evaluator, int, float, float], float] = honest
    right: tuple[str, ...] = ()
    told: dict[str, object] = field(default_factory=dict)
    level: float = 0.0  # added to all values
    constant: bool = True  # whether the features hold one


CASES = (
    Case("Gaussian noise"),
    Case("… its scale stated", told={"noise_scale": 1.0}),
    Case("noise t(3)", lambda who, _, mean, __: mean + who.rng.standard_t(3) / math.sqrt(3.0)),
    Case("noise that differs by option, ½ to 2", lambda _, x, mean, e: mean + e * 2 ** (x % 3 - 1)),
    Case("scores rounded to thirds", lambda _, __, mean, e: round(3 * (mean + e)) / 3),
    Case("votes", vote, told={"scores": "votes"}),
    Case("5% of scores typed ÷ 10", mistyped, ("outliers",), level=50.0),
    Case("5% of scores off by 10σ", far_out(0.05), ("outliers",)),
    Case("2% of scores off by 10σ", far_out(0.02), ("outliers",)),
    Case("σ stated as ½", right=("scale",), told={"noise_scale": 0.5}),
    Case("σ stated as ¼", right=("scale",), told={"noise_scale": 0.25}),
    Case("noise that lasts, AR(1) .9", lasting, ("dependence",)),
    Case("no constant, values about 5", right=("intercept",), level=5.0, constant=False),
    Case("drift of 1σ in 1,000", drifting(1_000), ("drift",)),
    Case("drift of 1σ in 300", drifting(300), ("drift",)),
    Case("scores that repeat", lambda _, __, mean, ___: mean, ("repeats",)),
)


def run(case: Case, seed: int, at_most: int) -> tuple[eh.Answer, bool]:
    """Return the answer, and whether the choice is right."""
    rng = np.random.default_rng([seed, 77])
    while True:
        features = rng.standard_normal((K, D))
        groups = np.where(rng.permutation(K) < K // 2, 1, -1)
        values = features @ rng.standard_normal(D) + rng.standard_normal()
        if np.diff(np.sort(values)[-2:])[0] > LEAST_LEAD:
            break
    actions = eh.ActionSet(features, groups, intercept=case.constant)
    evaluator = Evaluator(values + case.level + BIAS * groups, rng, case.bend)
    answer = eh.choose(actions, evaluator, at_most=at_most, progress=False, **case.told)  # type: ignore[arg-type]
    return answer, bool(values[answer.option] == values.max())


def row(case: Case, runs: Sequence[tuple[eh.Answer, bool]]) -> str:
    """Return a line of the table."""
    n = len(runs)
    alarms = [{finding.assumption for finding in answer.alarms} for answer, _ in runs]
    cells = [case.name, f"{sum(bool(alarm) for alarm in alarms) / n:.1%}"]
    rightly = sum(bool(alarm & set(case.right)) for alarm in alarms)
    cells.append(f"{rightly / n:.1%}" if case.right else "–")
    for kind in ("own scores", "features exact"):
        said = [right for answer, right in runs if answer.certainty == kind]
        cells.append(f"{len(said) / n:.1%} / {len(said) - sum(said)}")
    cells.append(f"{sum(right for _, right in runs) / n:.1%}")
    cells.append(f"{np.mean([answer.spent for answer, _ in runs]):.0f}")
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| evaluations | any alarm | right alarm | sure by own scores / false | sure if features are "
    "exact / false | picks the best | evaluations |\n" + "| --- " * 7 + "|"
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="runs per case")
    parser.add_argument("--seed", type=int, default=900_000, help="of the first run")
    parser.add_argument("--at-most", type=int, default=1_500, help="evaluations per run")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    n, most = (1, 60) if arguments.tiny else (arguments.runs, arguments.at_most)
    print(HEAD, flush=True)
    for case in CASES:
        print(row(case, [run(case, arguments.seed + i, most) for i in range(n)]), flush=True)


if __name__ == "__main__":
    main()
