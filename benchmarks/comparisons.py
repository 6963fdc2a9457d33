"""How many calls of a model judge it takes to choose well: greedy questions against both orders.

A judge is asked 'a against b' and answers 0, ½ or 1. Its mean verdict is

    ½ + (v_a − v_b + π + β(f_a − f_b))/2

for values v, a favour π for what is named first, and β for options of its own family (f = 1). Half
of a verdict's room goes to each side, so a gap of .2 in value moves verdicts by .1. A fifth of the
verdicts are ties, or as many as the mean allows; policies are told σ = ½, a little more than it is.
The best option leads the second by the gap, and the others are spread evenly over the ½ below it.

Four ways to spend calls:

    both orders   every pair in both orders, round by round, in random order within a round: the
                  usual remedy. Values by least squares on verdicts, in which the favour cancels
    random        a random pair in random order, values by least squares
    uniform       `Uniform`: all questions equally often, the joint model fitted to it
    greedy        `GreedyQuestions`: the joint model decides what is asked

Printed is the smallest number of calls, in steps of ten, after which at most 5% of the runs choose
wrongly, with an interval: from where the share of wrong choices is no longer significantly above 5%
(one-sided, at 5%) to where it is significantly below. Every run has its options in random order.
`--part judges` asks what it costs to take one favour for all judges where each has its own.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

import evenhand as eh
from evenhand.policies.base import Policy

Rng = np.random.Generator

WRONG = 0.05
STEP = 10
TIES = 0.2
SPREAD = 0.5
CLOSE = 0.05
TARGET_RATIO, TARGET_FAMILY = 0.5, 500


@dataclass(frozen=True)
class Setting:
    """Options that differ by so much, and the judges who compare them.

    Parameters
    ----------
    k, gap
        Number of options, and the lead of the best over the second.
    position
        Favour for what is named first.
    favour
        Favour of every judge for its own family.
    judges
        Families of the judges; options belong to them in turn, and the best to none.
    most
        Calls after which the baselines give up.
    """

    k: int
    gap: float
    position: float
    favour: float = 0.0
    judges: tuple[str, ...] = ("none",)
    most: int = 3_000

    @property
    def words(self) -> str:
        own = f", own family {self.favour:g}" if self.favour else ""
        return f"{self.k} options, gap {self.gap:g}, position {self.position:g}{own}"

    @property
    def values(self) -> np.ndarray:
        return np.concatenate([[self.gap], -np.linspace(0.0, SPREAD, self.k - 1)])

    def families(self) -> list[str | None]:
        """The best belongs to nobody; the second to the first judge, and so on in turn."""
        if not self.favour:
            return [None] * self.k
        return [None, *(self.judges[x % len(self.judges)] for x in range(self.k - 1))]


SETTINGS = (
    Setting(8, 0.1, 0.1),
    Setting(8, 0.2, 0.3),
    Setting(10, 0.1, 0.3),
    Setting(10, 0.2, 0.2),
    Setting(12, 0.1, 0.2),
    Setting(12, 0.2, 0.1),
)
FAMILY = Setting(10, 0.15, 0.2, favour=0.15, judges=("x", "y"), most=14_400)


@functools.cache
def asked_of(
    options: tuple[tuple[str, str | None], ...], judges: tuple[tuple[str, str], ...]
) -> eh.Questions:
    """Return the questions, made once for all runs in which the families stand alike."""
    return eh.Questions.comparisons(dict(options), dict(judges), bias="common")


class Judges:
    """One run: options in random order, and judges who give verdicts on them."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting, self.rng = setting, np.random.default_rng([seed, setting.k])
        order = self.rng.permutation(setting.k)
        self.values = setting.values[order]
        self.best = int(self.values.argmax())
        families = setting.families()
        self.families = [families[x] for x in order]
        names = [f"option {x}" for x in range(setting.k)]
        self.questions = asked_of(
            tuple(zip(names, self.families, strict=True)),
            tuple((f"judge {j}", family) for j, family in enumerate(setting.judges)),
        )
        first, second = self.questions.about.T
        judge = [setting.judges[j] for j in self.questions.evaluator]
        own = np.array(
            [
                [(self.families[x] == family) for x in pair]
                for pair, family in zip(self.questions.about, judge, strict=True)
            ],
            dtype=float,
        )
        lead = self.values[first] - self.values[second]
        self.means = 0.5 + 0.5 * (
            lead + setting.position + setting.favour * (own[:, 0] - own[:, 1])
        )

    def verdict(self, question: int) -> float:
        return float(verdicts(self.means[question], self.rng.random()))


def by_policy(name: str, judges: Judges, calls: int, seed: int) -> list[int]:
    """Return what a policy would choose after every ten calls."""
    policy: Policy = eh.policy(name, judges.questions, calls, noise_scale=0.5, seed=seed)
    policy.checked = False
    chosen = []
    for call in range(1, calls + 1):
        counts = policy.ask(1).counts
        y = judges.verdict(int(np.argmax(counts)))
        policy.tell(eh.Feedback(counts, counts * y, counts * y * y))
        if call % STEP == 0:
            chosen.append(policy.recommend().option)
    return chosen


def by_orders(runs: Sequence[Judges], orders: np.ndarray, rng: Rng) -> np.ndarray:
    """Return (runs, steps) what least squares on verdicts, without any favour, chooses.

    Of all runs at once: ``orders`` are (runs, calls) questions.
    """
    k, each = runs[0].setting.k, np.arange(len(runs))
    about = runs[0].questions.about  # the same in all of them
    means = np.array([judges.means for judges in runs])
    V, b = np.tile(1e-6 * np.eye(k), (len(runs), 1, 1)), np.zeros((len(runs), k))
    chosen = []
    for call, asked in enumerate(orders.T, start=1):
        i, j = about[asked].T
        y = verdicts(means[each, asked], rng.random(len(runs))) - 0.5
        for one, other in ((i, j), (j, i)):
            V[each, one, one] += 1.0
            V[each, one, other] -= 1.0
        b[each, i] += y
        b[each, j] -= y
        if call % STEP == 0:
            chosen.append(np.linalg.solve(V, b[:, :, None])[:, :, 0].argmax(axis=1))
    return np.array(chosen).T


def verdicts(means: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return 0, ½ or 1 with these means, for numbers drawn from [0, 1)."""
    tie = np.minimum(TIES, 2.0 * np.minimum(means, 1.0 - means))
    return np.where(drawn < means - tie / 2, 1.0, np.where(drawn < means + tie / 2, 0.5, 0.0))


def both_orders(judges: Judges, calls: int, panel: int = 1) -> list[int]:
    """Return an order of questions: all pairs, each in both orders, by the first judges."""
    about, evaluator = judges.questions.about, judges.questions.evaluator
    pairs: dict[tuple[int, int, int], list[int]] = {}
    for x in np.flatnonzero(evaluator < panel).tolist():
        a, b = sorted(about[x].tolist())
        pairs.setdefault((a, b, int(evaluator[x])), []).append(x)
    both = list(pairs.values())
    order: list[int] = []
    while len(order) < calls:
        for place in judges.rng.permutation(len(both)).tolist():
            order += judges.rng.permutation(both[place]).tolist()
    return order[:calls]


def calls_to(wrong: np.ndarray) -> tuple[float, float, float]:
    """Return the calls after which 5% are wrong, and an interval; of (runs, steps) wrong choices.

    Infinite where that is never so.
    """
    runs, count = len(wrong), wrong.sum(axis=0)
    above = binom.sf(count - 1, runs, WRONG) < 0.05  # significantly more than 5%
    below = binom.cdf(count, runs, WRONG) < 0.05  # significantly fewer
    found = [count <= WRONG * runs, ~above, below]
    first = [STEP * (int(np.argmax(some)) + 1) if some.any() else math.inf for some in found]
    return first[0], first[1], first[2]


def measured(way: str, setting: Setting, n: int, calls: int, seed: int) -> np.ndarray:
    """Return (runs, steps) whether choices are wrong."""
    runs = [Judges(setting, seed + run) for run in range(n)]
    best = np.array([judges.best for judges in runs])
    if way in ("greedy", "uniform"):
        name = {"greedy": "greedy-questions", "uniform": "uniform"}[way]
        chosen = np.array([by_policy(name, run, calls, seed + i) for i, run in enumerate(runs)])
    else:
        panel = len(setting.judges) if way == "both orders, all judges" else 1
        if way == "random":
            pool = np.flatnonzero(runs[0].questions.evaluator == 0)
            orders = np.array([run.rng.choice(pool, calls) for run in runs])
        else:
            orders = np.array([both_orders(run, calls, panel) for run in runs])
        chosen = by_orders(runs, orders, np.random.default_rng([seed, setting.k]))
    return chosen != best[:, None]


def said(found: tuple[float, float, float]) -> str:
    return "never" if math.isinf(found[0]) else f"{found[0]:.0f} [{found[1]:.0f}, {found[2]:.0f}]"


def orders_part(console: Console, settings: Sequence[Setting], runs: int, seed: int) -> dict:
    """Position bias: calls to 5% wrong, by every way."""
    shown = Table(title=f"Calls to 5% wrong, {runs} runs", title_justify="left")
    shown.add_column("setting")
    for column in ("both orders", "random", "greedy", "greedy ÷ both orders"):
        shown.add_column(column, justify="right")
    kept, ratios = {}, []
    for setting in settings:
        found = {}
        for way in ("both orders", "random", "greedy"):
            # what takes longer than this is missed by far
            most = setting.most if way != "greedy" else min(setting.most, round(90 / setting.gap))
            found[way] = calls_to(measured(way, setting, runs, most, seed))
        ratios.append(found["greedy"][0] / found["both orders"][0])
        kept[setting.words] = {way: list(some) for way, some in found.items()}
        shown.add_row(setting.words, *map(said, found.values()), f"{ratios[-1]:.2f}")
        console.print(setting.words, kept[setting.words], highlight=False)
    mean = math.exp(float(np.mean(np.log(ratios))))
    shown.add_section()
    shown.add_row("geometric mean", "", "", "", f"{mean:.2f}", style="bold")
    console.print(shown)
    verdict = "reached" if mean <= TARGET_RATIO else "missed"
    console.print(f"greedy ÷ both orders: {mean:.2f}, target ≤ {TARGET_RATIO:g}: {verdict}\n")
    return kept | {"ratio": mean}


def family_part(console: Console, setting: Setting, runs: int, seed: int) -> dict:
    """An own family: the usual remedy does nothing about it."""
    shown = Table(title=f"{setting.words}: calls to 5% wrong, {runs} runs", title_justify="left")
    for column in ("way", "calls", "wrong at the end"):
        shown.add_column(column, justify="left" if column == "way" else "right")
    kept: dict[str, list[float]] = {}
    ways = {"both orders": 1, "both orders, all judges": 4, "uniform": 12, "greedy": 24}
    for way, shorter in ways.items():
        wrong = measured(way, setting, runs, setting.most // shorter, seed)
        found = calls_to(wrong)
        kept[way] = [*found, float(wrong[:, -1].mean())]
        share = f"{wrong[:, -1].mean():.1%} after {wrong.shape[1] * STEP:,}"
        shown.add_row(way, said(found), share)
    console.print(shown)
    greedy = kept["greedy"][0]
    verdict = "reached" if greedy <= TARGET_FAMILY else "missed"
    console.print(f"greedy: {greedy:.0f} calls, target ≤ {TARGET_FAMILY}: {verdict}\n")
    return kept


def drawn_panel(
    rng: Rng, n_judges: int, differ: float
) -> tuple[dict, dict, np.ndarray, np.ndarray]:
    """Return options and judges by family, values, and the favour of every judge."""
    k = int(rng.integers(6, 13))
    homes = [f"family {j}" for j in range(n_judges)]
    families = [*homes, None]
    options = {f"option {x}": families[int(rng.integers(len(families)))] for x in range(k)}
    values = Setting(k, CLOSE, 0.0).values
    favours = rng.uniform(0.2 - differ, 0.2 + differ, n_judges)
    judges = {f"judge {j}": home for j, home in enumerate(homes)}
    return options, judges, values[rng.permutation(k)], favours


def judges_part(console: Console, runs: int, seed: int, differ: float = 0.3) -> dict:
    """A favour per judge, or one for all: how often the choice is wrong however much is asked."""
    shown = Table(
        title=f"Judges whose favours lie within {0.2 - differ:.1f} and {0.2 + differ:.1f}: wrong "
        f"with all questions asked without end, {runs} cases as close as {CLOSE:g}",
        title_justify="left",
    )
    for column in ("judges", "one favour for all", "each its own", "no favour at all"):
        shown.add_column(column, justify="right")
    kept = {}
    for n_judges in (3, 4, 5):
        rng, wrong, told = np.random.default_rng([seed, n_judges]), np.zeros(3), 0
        while told < runs:
            options, judges, values, favours = drawn_panel(rng, n_judges, differ)
            own = eh.Questions.comparisons(options, judges, bias="judge")
            if not identified(own):
                continue
            told += 1
            common = eh.Questions.comparisons(options, judges, bias="common")
            families, homes = list(options.values()), list(judges.values())
            at = np.array([[f == home for f in families] for home in homes], dtype=float)
            (a, b), j = own.about.T, own.evaluator
            means = values[a] - values[b] + 0.2 + favours[j] * (at[j, a] - at[j, b])
            plain = np.hstack([own.features, np.ones((len(own), 1))])
            for place, rows in enumerate((common.points, own.points, plain)):
                fitted = np.linalg.lstsq(rows, means, rcond=None)[0][: len(values)]
                wrong[place] += int(np.argmax(np.round(fitted, 9))) != int(values.argmax())
        shown.add_row(str(n_judges), *(f"{share:.1%}" for share in wrong / runs))
        kept[str(n_judges)] = (wrong / runs).tolist()
    console.print(shown)
    return kept


def identified(questions: eh.Questions) -> bool:
    """Tell whether verdicts tell all values apart: the only unknown is a constant in them."""
    rank = int(np.linalg.matrix_rank(questions.points))
    return rank == questions.points.shape[1] - 1


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["orders", "family", "judges"], action="append")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=500_000)
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args(argv)
    parts = arguments.part or ["orders", "family", "judges"]
    runs, settings, family = arguments.runs, SETTINGS, FAMILY
    if arguments.tiny:
        runs = 2
        settings = (Setting(4, 0.4, 0.2, most=60),)
        family = Setting(4, 0.3, 0.2, favour=0.3, judges=("x", "y"), most=960)
    console, kept = Console(width=140), {}
    if "orders" in parts:
        kept["orders"] = orders_part(console, settings, runs, arguments.seed)
    if "family" in parts:
        kept["family"] = family_part(console, family, runs, arguments.seed)
    if "judges" in parts:
        kept["judges"] = judges_part(console, 2 * runs, arguments.seed)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
