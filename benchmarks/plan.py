"""Plans against what happens: evaluations until certain, and certainty after one look.

    python benchmarks/plan.py until      evaluations of CertainChoice ÷ planned, capacity unlimited
    python benchmarks/plan.py look       how often one look is certain, and planned, capacity 1

Panels have 3 to 9 evaluators and 5 to 20 options, with groups at random, so that some evaluators
are partial to several options and some to none. Values are drawn as the plan assumes, biases and
leniencies at random.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.inference import Target
from evenhand.planning.assumed import Assumed, assumed, normal_ranks
from evenhand.planning.one_look import OneLook
from evenhand.planning.until_certain import until_certain
from evenhand.questions.accuracy import accuracy


@dataclass(frozen=True)
class Panel:
    """A panel, its questions for a capacity, and the size of leads."""

    options: dict[str, str]
    judges: dict[str, str]
    size: float

    def questions(self, capacity: int | None) -> eh.Questions:
        return eh.Questions.panel(self.options, self.judges, capacity=capacity)


def panels(n: int, seed: int) -> Iterator[Panel]:
    """Return n panels in which all options can be compared."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < n:
        e, k, groups = (int(rng.integers(*ends)) for ends in ((3, 10), (5, 21), (3, 10)))
        options = {f"option {i}": f"group {rng.integers(groups)}" for i in range(k)}
        judges = {f"judge {j}": f"group {rng.integers(groups)}" for j in range(e)}
        panel = Panel(options, judges, float(rng.choice([0.3, 0.6, 1.2])))
        if accuracy(panel.questions(1), np.ones(k * e)).comparable:
            made += 1
            yield panel


PREMISES = ("one lead over all", "leads of normal ranks", "values drawn anew")


def values_of(premise: str, k: int, size: float, rng: np.random.Generator) -> Floats:
    """Return values as they are assumed to be."""
    if premise == PREMISES[0]:
        return size * np.eye(k)[rng.integers(k)]
    if premise == PREMISES[1]:
        return size * rng.permutation(normal_ranks(k))
    return size * rng.standard_normal(k)


def premise_of(panel: Panel, premise: str) -> Assumed:
    """Return an assumption as plans have it."""
    lead, spread = (panel.size, None) if premise == PREMISES[0] else (None, panel.size)
    return assumed(len(panel.options), lead, spread, 0.0, 1.0)


def problem_of(questions: eh.Questions, values: Floats, seed: int) -> eh.BiasedLinearBandit:
    """Return the problem with a bias of 1 and leniencies of ±0.5."""
    rng = np.random.default_rng(seed)
    omega = [
        1.0 if column.kind == "bias" else 0.5 * rng.standard_normal()
        for column in questions.columns
    ]
    return eh.BiasedLinearBandit(questions, values, omega, 1.0)


def until(n: int, runs: int, seed: int) -> dict[str, Floats]:
    """Return evaluations of CertainChoice ÷ planned, by assumption; one per run."""
    ratios: dict[str, list[float]] = {premise: [] for premise in PREMISES}
    right, within = list[bool](), dict.fromkeys(PREMISES, 0)
    for number, panel in enumerate(panels(n, seed)):
        questions = panel.questions(None)
        for premise in PREMISES:
            plan = until_certain(questions, premise_of(panel, premise), 0.95, 0.0)
            for run in range(runs):
                rng = np.random.default_rng([seed, number, run])
                values = values_of(premise, len(panel.options), panel.size, rng)
                problem = problem_of(questions, values, number)
                most = math.ceil(100 * plan.counts.sum())
                policy = eh.CertainChoice(questions, at_most=most, noise_scale=1.0)
                scores = eh.SimulatedEvaluations(problem, seed=int(rng.integers(2**31)))
                while not policy.finished:
                    policy.tell(scores.evaluate(policy.ask()))
                low, high = plan.between
                within[premise] += low <= policy.spent <= high
                ratios[premise].append(policy.spent / plan.counts.sum())
                right.append(policy.recommend().option == problem.best)
    print(f"{n} panels, {runs} runs each; right in {np.mean(right):.1%}\n")
    print("| assumed | evaluations ÷ planned: 10% | median | 90% | within the range |")
    print("| --- | --- | --- | --- | --- |")
    found = {premise: np.array(some) for premise, some in ratios.items()}
    for premise, some in found.items():
        low, middle, high = np.quantile(some, [0.1, 0.5, 0.9])
        share = within[premise] / len(some)
        print(f"| {premise} | {low:.2f} | {middle:.2f} | {high:.2f} | {share:.0%} |")
    return found


def look(n: int, runs: int, seed: int) -> list[tuple[float, float]]:
    """Return (planned probability, share of runs that were certain), per panel and assumption.

    Every cell is scored once; values are fitted by dense least squares, and the leader is tested
    with the covariance of that fit.
    """
    pairs, wrong, certified = [], 0, 0
    for number, given in enumerate(panels(n, seed)):
        panel = replace(given, size=4.0 * given.size)
        questions = panel.questions(1)
        A, k = questions.points, len(panel.options)
        fit = np.linalg.pinv(A)[:k]  # leads of it are those of least squares
        for premise in (PREMISES[0], PREMISES[2]):
            way = OneLook(questions, premise_of(panel, premise), Target(top=1), 0.95, 1.0)
            chance = way.probability(np.ones(len(questions), dtype=np.int64))
            rng = np.random.default_rng([seed, number])
            values = [values_of(premise, k, panel.size, rng) for _ in range(runs)]
            means = np.array([problem_of(questions, v, number).evaluations for v in values])
            fitted = (means + rng.standard_normal(means.shape)) @ fit.T
            leads = fitted.max(axis=1, keepdims=True) - fitted
            apart = fit[fitted.argmax(axis=1)][:, None] - fit
            error = np.sqrt((apart**2).sum(axis=2))
            certain = ((leads > 1.96 * error) | (leads == 0.0)).all(axis=1)
            best = np.array([int(np.argmax(v)) for v in values])
            wrong += int((certain & (fitted.argmax(axis=1) != best)).sum())
            certified += runs
            pairs.append((chance, float(certain.mean())))
    off = np.array([a - b for a, b in pairs])
    noise = math.sqrt(np.mean([b * (1 - b) for _, b in pairs]) * (1 / runs + 1 / 1500))
    print(f"{n} panels, {runs} runs each; false certificates {wrong / certified:.2%}\n")
    print("| planned − happened: mean | root of mean square | of which chance | largest |")
    print("| --- | --- | --- | --- |")
    print(
        f"| {off.mean():+.3f} | {np.sqrt((off**2).mean()):.3f} | {noise:.3f} | "
        f"{np.abs(off).max():.3f} |"
    )
    return pairs


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", nargs="?", choices=("until", "look", "all"), default="all")
    parser.add_argument("--panels", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--tiny", action="store_true", help="a size that only shows that it runs")
    asked = parser.parse_args(argv)
    n, runs = (2, 2) if asked.tiny else (asked.panels, asked.runs)
    if asked.what in ("until", "all"):
        until(n, runs, asked.seed)
        print()
    if asked.what in ("look", "all"):
        look(n, 40 * runs, asked.seed)


if __name__ == "__main__":
    main()
