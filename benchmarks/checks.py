"""How often each check sounds: where all is well, and where an assumption is broken.

Streams like those of a choice among few options: k from 6 to 20 options, 2 or 3 features and a
constant, two groups, bias 0.5, noise of standard deviation 1, one score at a time, of about 20.
Three orders:

    even        rounds of all options, each in random order
    adaptive    every option 4 times, then 3 in 4 scores go to the option of the largest mean plus
                1.5/√n, the others to options at random
    fives       as even, but five scores of an option are told at once, added up

Printed for every case and length: how often any alarm sounded, how often the right one did (any of
those named), and how often each check did.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import evenhand as eh
from evenhand.findings import Checks

LEVEL = 20.0
ORDERS = ("even", "adaptive", "fives")
CHECKS = ("fit", "scale", "drift", "dependence", "outliers", "repeats")

Rng = np.random.Generator


@dataclass
class Stream:
    """One run: options with their mean scores, and what becomes of the noise."""

    rng: Rng
    actions: eh.ActionSet
    means: np.ndarray
    spread: np.ndarray  # standard deviation per option
    time: int = 0
    last: float = 0.0
    kept: dict[int, float] = field(default_factory=dict)


def draw(rng: Rng, *, constant: bool = True) -> Stream:
    """Return options whose mean scores are linear in their features and group."""
    k, d = int(rng.integers(6, 21)), int(rng.integers(2, 4))
    while k < d + 4:
        k += 1
    x = rng.standard_normal((k, d))
    group = np.where(np.arange(k) % 2 == 0, -1, 1)
    values = x @ rng.standard_normal(d) + 0.5 * group + LEVEL
    features = np.column_stack([x, np.ones(k)]) if constant else x
    return Stream(rng, eh.ActionSet(features, group), values, np.ones(k))


Score = Callable[[Stream, int], float]


def gaussian(s: Stream, x: int) -> float:
    return float(s.means[x] + s.spread[x] * s.rng.standard_normal())


def student(s: Stream, x: int) -> float:
    return float(s.means[x] + s.rng.standard_t(3) / np.sqrt(3.0))


def vote(s: Stream, x: int) -> float:
    span = s.means.max() - s.means.min()
    return float(s.rng.random() < 0.1 + 0.8 * (s.means[x] - s.means.min()) / span)


def rounded(step: float) -> Score:
    return lambda s, x: float(step * np.round(gaussian(s, x) / step))


def strays(share: float, size: float) -> Score:
    def score(s: Stream, x: int) -> float:
        off = size * s.rng.choice([-1.0, 1.0]) if s.rng.random() < share else 0.0
        return gaussian(s, x) + off

    return score


def typed(share: float) -> Score:
    return lambda s, x: gaussian(s, x) / (10.0 if s.rng.random() < share else 1.0)


def autoregressive(rho: float) -> Score:
    def score(s: Stream, x: int) -> float:
        fresh = s.rng.standard_normal()
        s.last = fresh if s.time == 0 else rho * s.last + np.sqrt(1.0 - rho**2) * fresh
        return float(s.means[x] + s.last)

    return score


def drifting(per: float) -> Score:
    return lambda s, x: gaussian(s, x) + s.time / per


def repeating(s: Stream, x: int) -> float:
    return s.kept.setdefault(x, gaussian(s, x))


def spread_by_option(s: Stream) -> None:
    s.spread = 2.0 ** s.rng.uniform(-1.0, 1.0, len(s.means))


def spread_by_value(s: Stream) -> None:
    low, high = s.means.min(), s.means.max()
    s.spread = 0.5 * 4.0 ** ((s.means - low) / (high - low))


def residual(size: float) -> Callable[[Stream], None]:
    def change(s: Stream) -> None:
        s.means = s.means + size * s.rng.standard_normal(len(s.means))

    return change


@dataclass(frozen=True)
class Case:
    """A kind of stream, and the checks of which one should sound; none where all is well."""

    name: str
    score: Score = gaussian
    right: tuple[str, ...] = ()
    change: Callable[[Stream], None] = lambda s: None
    constant: bool = True
    noise_scale: float | None = None


CASES = (
    Case("Gaussian"),
    Case("Gaussian, σ stated", noise_scale=1.0),
    Case("Student t(3)", student),
    Case("Student t(3), σ stated", student, noise_scale=1.0),
    Case("votes 0/1", vote),
    Case("whole numbers", rounded(1.0)),
    Case("steps of 2.5 σ", rounded(2.5)),
    Case("σ from ½ to 2 by option", change=spread_by_option),
    Case("σ growing with value, ½ to 2", change=spread_by_value),
    Case("residuals of 0.28 σ", right=("fit",), change=residual(0.28)),
    Case("residuals of 0.55 σ", right=("fit",), change=residual(0.55)),
    Case("residuals of 1 σ", right=("fit",), change=residual(1.0)),
    Case("no intercept", right=("intercept", "fit"), constant=False),
    Case("σ stated too small, ÷ 1.5", right=("scale",), noise_scale=1 / 1.5),
    Case("σ stated too small, ½", right=("scale",), noise_scale=0.5),
    Case("σ stated too small, ¼", right=("scale",), noise_scale=0.25),
    Case("σ stated too large, × 3", noise_scale=3.0),
    Case("5% typed ÷ 10", typed(0.05), right=("outliers",)),
    Case("2% off by 10 σ", strays(0.02, 10.0), right=("outliers",)),
    Case("5% off by 10 σ", strays(0.05, 10.0), right=("outliers",)),
    Case("5% off by 10 σ, σ stated", strays(0.05, 10.0), right=("outliers",), noise_scale=1.0),
    Case("5% off by 6 σ", strays(0.05, 6.0), right=("outliers",)),
    Case("AR(1) 0.9", autoregressive(0.9), right=("dependence",)),
    Case("AR(1) 0.5", autoregressive(0.5), right=("dependence",)),
    Case("drift of σ in 1,000", drifting(1000.0), right=("drift",)),
    Case("drift of σ in 5,000", drifting(5000.0), right=("drift",)),
    Case("repeats itself", repeating, right=("repeats",)),
)


def next_option(s: Stream, order: str, checks: Checks, queue: list[int]) -> int:
    k = len(s.means)
    if order == "adaptive" and s.time >= 4 * k:
        if s.rng.random() < 0.25:
            return int(s.rng.integers(k))
        return int(np.argmax(checks.means + 1.5 / np.sqrt(checks.counts)))
    if not queue:
        queue.extend(s.rng.permutation(k).tolist())
    return queue.pop()


def run(case: Case, order: str, lengths: Sequence[int], seed: int) -> list[set[str]]:
    """Return which checks had sounded after each of the lengths."""
    s = draw(np.random.default_rng(seed), constant=case.constant)
    case.change(s)
    checks = Checks(s.actions, noise_scale=case.noise_scale)
    k, queue, sounded = len(s.means), list[int](), []
    counts, sums, squares = np.zeros(k, dtype=np.int64), np.zeros(k), np.zeros(k)
    at_once = 5 if order == "fives" else 1
    while s.time < max(lengths):
        x = next_option(s, order, checks, queue)
        for _ in range(at_once):
            y = case.score(s, x)
            counts[x], sums[x], squares[x] = counts[x] + 1, sums[x] + y, squares[x] + y**2
            s.time += 1
        checks.take(counts, sums, squares)
        counts[x] = sums[x] = squares[x] = 0
        if s.time in lengths:
            sounded.append({found.assumption for found in checks.findings() if found.alarm})
    return sounded


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--lengths", default="120,300,600,1000")
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--cases", default="", help="only those whose name has this in it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    if arguments.tiny:
        arguments.runs, arguments.lengths = 2, "40,60"
    lengths = sorted(int(n) for n in arguments.lengths.split(","))
    numbers: dict[str, dict[str, dict[int, dict[str, float]]]] = {}
    console = Console(width=160)
    for order in arguments.orders.split(","):
        table = Table(title=f"Alarms in {arguments.runs} runs each, in %; order: {order}")
        for column in ("case", "scores", "any", "right", *CHECKS):
            table.add_column(column, justify="left" if column == "case" else "right")
        for case in (case for case in CASES if arguments.cases in case.name):
            seeds = range(arguments.seed, arguments.seed + arguments.runs)
            runs = [run(case, order, lengths, seed) for seed in seeds]
            for i, n in enumerate(lengths):
                counted = Counter(check for sounded in runs for check in sounded[i])
                shares = {check: counted[check] / arguments.runs for check in CHECKS}
                shares["any"] = sum(bool(sounded[i]) for sounded in runs) / arguments.runs
                shares["right"] = (
                    sum(bool(sounded[i] & set(case.right)) for sounded in runs) / arguments.runs
                )
                numbers.setdefault(order, {}).setdefault(case.name, {})[n] = shares
                shown = [f"{100 * shares[name]:.1f}" for name in ("any", "right", *CHECKS)]
                if not case.right:
                    shown[1] = "–"
                table.add_row(case.name if i == 0 else "", str(n), *shown)
        console.print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(numbers, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
