"""What certainty costs on questions: panels, comparisons, prices; and how often it is false.

    python benchmarks/panels.py skating        136 skating panels, fitted scores, until certain
    python benchmarks/panels.py comparisons    'a against b', by judges who favour one
    python benchmarks/panels.py prices         cheap partial judges beside a dear impartial one
    python benchmarks/panels.py crossing       one partial judge, uniform questions
    python benchmarks/panels.py errors         a best option rejected, on ties and close gaps

Constants of the policy were chosen on skating panels with seeds below 10 and on nothing else here.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.cases.panels import skating_panels
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import QuestionOrder
from evenhand.certainty.stages import Inference
from evenhand.policies.conclusion import checks_of
from evenhand.questions import Questions

DELTA = 0.05


def play(
    policy: eh.CertainChoice, draw: Callable[[int, int], np.ndarray], share: float = 0.0
) -> eh.CertainChoice:
    """Ask and tell until the policy is done, so large a share of what was spent at a time."""
    while True:
        counts = policy.ask(max(1, int(share * policy.spent))).counts
        if not counts.any():
            return policy
        sums, squares = np.zeros(len(counts)), np.zeros(len(counts))
        for x in np.flatnonzero(counts).tolist():
            scores = draw(x, int(counts[x]))
            sums[x], squares[x] = scores.sum(), scores @ scores
        policy.tell(eh.Feedback(counts.copy(), sums, squares))


def normal(problem: eh.BiasedLinearBandit, rng: np.random.Generator) -> Callable[..., np.ndarray]:
    """Return what draws Gaussian answers."""
    sd = np.broadcast_to(problem.noise, len(problem.evaluations))
    return lambda x, n: problem.evaluations[x] + sd[x] * rng.standard_normal(n)


# ---------------------------------------------------------------------- skating


def skating(runs: int, seed: int) -> None:
    """Print what happened on the panels, noise known and not, with and without effects of pairs."""
    print("## Skating panels, until certain\n")
    print(
        "| noise | of pairs | runs | certain | false | not flagged | flagged | median | mean "
        "| pairs asked | most of one |"
    )
    print("| --- " * 11 + "|")
    panels = list(islice(skating_panels(), runs))
    for known in (False, True):
        for pair_share in (0.0, 0.5):
            spent, kinds, most = [], [], []
            sure = false = missed = flagged = 0
            for i, panel in enumerate(panels):
                judges = panel.fitted(seed + i, pair_share)
                noise = float(panel.residuals.std()) if known else None
                questions = panel.questions(capacity=None)
                policy = eh.CertainChoice(questions, noise_scale=noise, looks=0.1, seed=seed)
                while (asked := policy.ask(1)).total:
                    policy.tell(judges.evaluate(asked))
                checks_of(policy).look()  # as `choose` does
                alarm = any(finding.alarm for finding in policy.findings())
                answer = policy.inference.evidence().answer
                wrong = answer is not None and judges.values[answer] < judges.values.max()
                sure, false = sure + (answer is not None), false + wrong
                missed, flagged = missed + (wrong and not alarm), flagged + alarm
                spent.append(policy.spent)
                kinds.append(np.count_nonzero(policy.limits.asked))
                most.append(policy.limits.asked.max())
            n = len(panels)
            print(
                f"| {'known' if known else 'unknown'} | {pair_share:g} | {n} | {sure / n:.3f} "
                f"| {false} | {missed} | {flagged / n:.3f} | {np.median(spent):.0f} "
                f"| {np.mean(spent):.0f} | {np.median(kinds):.0f} | {np.median(most):.0f} |",
                flush=True,
            )
    print()


# ---------------------------------------------------------------------- comparisons


def verdicts(means: np.ndarray, rng: np.random.Generator) -> Callable[[int, int], np.ndarray]:
    """Return what draws 0, ½ or 1 with these means; a fifth of verdicts are ties, at most."""

    def draw(x: int, n: int) -> np.ndarray:
        m = means[x]
        tie = min(0.2, 2.0 * m, 2.0 * (1.0 - m))
        u = rng.random(n)
        return np.where(u < m - tie / 2, 1.0, np.where(u < m + tie / 2, 0.5, 0.0))

    return draw


def comparisons(runs: int, seed: int) -> None:
    """Print calls to certainty: ten options, one best by 0.2 or 0.15, the others alike."""
    print("## Comparisons: calls to certainty, ten options, verdicts 0, ½, 1\n")
    print("| judges | gap | noise | runs | certain | false | mean | ± | median |")
    print("| --- " * 9 + "|")
    names = [f"option {i}" for i in range(10)]
    families = dict(zip(names, ["a"] * 3 + ["b"] * 3 + [None] * 4, strict=True))
    cases = {
        "one, first favoured by .1 to .3": (Questions.comparisons(names, ["J"]), 0.3),
        "two, own family by .15, first by .1 to .15": (
            Questions.comparisons(families, {"A": "a", "B": "b"}),
            0.15,
        ),
    }
    for label, (questions, top) in cases.items():
        for gap in (0.2, 0.15):
            for known in (True, False):
                calls, sure, false = [], 0, 0
                for i in range(seed, seed + runs):
                    rng = np.random.default_rng([i, 5])
                    values = np.zeros(10)
                    best = int(rng.integers(10))
                    values[best] = gap
                    added = [
                        0.15 if column.kind == "bias" else rng.uniform(0.1, top)
                        for column in questions.columns
                    ]
                    means = 0.5 + questions.matrix @ np.concatenate([values, added])
                    policy = eh.CertainChoice(
                        questions, at_most=50_000, noise_scale=0.5 if known else None, seed=i
                    )
                    play(policy, verdicts(means, rng), 0.02)
                    calls.append(policy.spent)
                    answer = policy.inference.evidence().answer
                    sure += answer is not None
                    false += answer not in (None, best)
                print(
                    f"| {label} | {gap:g} | {'known' if known else 'unknown'} | {runs} "
                    f"| {sure / runs:.2f} | {false} | {np.mean(calls):.0f} "
                    f"| {np.std(calls) / math.sqrt(runs):.0f} | {np.median(calls):.0f} |",
                    flush=True,
                )
    print()


# ---------------------------------------------------------------------- prices


def prices(runs: int, seed: int) -> None:
    """Print what certainty costs with cheap judges, with a dear one, and with all of them."""
    print("## Prices: ten options, values 0 to 3, two partial judges at 1 and an impartial one\n")
    print("| dear price | dear σ | runs | all | cheap only | dear only | all ÷ best | all ÷ dear |")
    print("| --- " * 8 + "|")
    groups = {f"option {i}": "ab"[i % 2] for i in range(10)}
    cheap, dear = {"A": "a", "B": "b"}, {"D": "neither"}
    for price in (1.0, 2.0, 5.0, 20.0):
        for sd in (1.0, 0.7):
            sets = [
                Questions.panel(groups, who, capacity=None, prices=cost, noise=noise)
                for who, cost, noise in (
                    (cheap | dear, [1.0, 1.0, price], [1.0, 1.0, sd]),
                    (cheap, [1.0, 1.0], [1.0, 1.0]),
                    (dear, [price], [sd]),
                )
            ]
            paid = np.zeros((len(sets), runs))
            for j, questions in enumerate(sets):
                for i in range(runs):
                    rng = np.random.default_rng([seed, i])
                    values = rng.permutation(np.linspace(0.0, 3.0, 10))
                    added = [0.8 if c.kind == "bias" else rng.normal() for c in questions.columns]
                    problem = eh.BiasedLinearBandit(questions, values, added)
                    policy = eh.CertainChoice(questions, at_most=10**5, noise_scale=1.0, seed=i)
                    paid[j, i] = play(policy, normal(problem, rng), 0.05).limits.paid
            every, one, other = paid.mean(axis=1)
            print(
                f"| {price:g} | {sd:g} | {runs} | {every:.0f} | {one:.0f} | {other:.0f} "
                f"| {every / min(one, other):.2f} | {every / other:.3f} |",
                flush=True,
            )
    print()


# ---------------------------------------------------------------------- crossing


class EvenModel(DenseModel):
    """Every question as often as every other, in random order: the usual assignment."""

    def start(self, length: int, left: np.ndarray) -> np.ndarray:
        """Return all questions once, or more."""
        return self._passes(max(length, len(left)))

    def plan(
        self, leader: int, rivals: Any, weights: Any, length: int, *rest: Any
    ) -> QuestionOrder:
        """Return all questions in turn."""
        q = len(self.questions)
        variances = q * self.lead_variances(leader, rivals, np.arange(q))
        return QuestionOrder(self._passes(length), variances)

    def _passes(self, length: int) -> np.ndarray:
        q, rng = len(self.frame.points), np.random.default_rng(length)
        passes = [rng.permutation(q) for _ in range(math.ceil(length / q))]
        return np.concatenate(passes)[:length]


class Evenly(eh.CertainChoice):
    """The same certainty from a uniform assignment, with the joint model fitted afterwards."""

    name = "evenly"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.aim = replace(self.aim, model=EvenModel(self.actions))
        self._inference = Inference(self.aim, self.record)


def crossing(runs: int, seed: int) -> None:
    """Print how much more others need for the same certainty: ratios of geometric means."""
    print("## Crossing: evaluations of others ÷ those of certain-choice on the panel\n")
    print("| evaluators | runs | panel, median | uniform questions | one partial judge, features |")
    print("| --- " * 5 + "|")
    for e in (3, 5, 7, 9):
        spent = np.zeros((3, runs))
        for i in range(runs):
            rng = np.random.default_rng([seed, e, i])
            k = int(rng.integers(5, 15))
            X = np.column_stack([np.ones(k), rng.standard_normal((k, 3))])
            sides = ["home" if x % 2 else "away" for x in range(k)]
            values = X @ np.array([0.0, *rng.standard_normal(3)])
            values[np.argmax(values)] += 0.3  # the features do not tell quite all
            options = {f"option {x}": sides[x] for x in range(k)}
            judges = {f"J{j}": ("home", "away", None)[j % 3] for j in range(e)}
            questions = Questions.panel(options, judges, capacity=None)
            added = [1.0 if c.kind == "bias" else rng.normal() for c in questions.columns]
            problem = eh.BiasedLinearBandit(questions, values, added)
            for j, make in enumerate((eh.CertainChoice, Evenly)):
                policy = make(questions, at_most=20_000, noise_scale=1.0, seed=i)
                draws = normal(problem, np.random.default_rng([seed, e, i, j]))
                spent[j, i] = play(policy, draws, 0.03).spent
            gamma = np.linalg.lstsq(X, values, rcond=None)[0]
            alone = eh.BiasedLinearBandit(eh.ActionSet(X, sides, positive="home"), gamma, 0.5)
            policy = eh.CertainChoice(alone.actions, at_most=20_000, noise_scale=1.0, seed=i)
            spent[2, i] = play(policy, normal(alone, rng), 0.03).spent
        logs = np.log(spent[1:] / spent[0])
        middle, error = logs.mean(axis=1), 1.96 * logs.std(axis=1) / math.sqrt(runs)
        shown = [
            f"{math.exp(m):.2f} [{math.exp(m - d):.2f}, {math.exp(m + d):.2f}]"
            for m, d in zip(middle, error, strict=True)
        ]
        print(f"| {e} | {runs} | {np.median(spent[0]):.0f} | {shown[0]} | {shown[1]} |", flush=True)
    print()


# ---------------------------------------------------------------------- how often it is false


def traps() -> Iterator[tuple[str, Questions, np.ndarray]]:
    """Yield panels and comparisons whose best options tie, or are 0.05 apart."""
    three = {"A": "x", "B": "y", "C": "x"}
    for label, gap in (("tie", 0.0), ("gap of 0.05", 0.05)):
        judges = {"P": "x", "Q": "y"}
        yield f"3 options, 2 judges, {label}", panel_of(three, judges), np.array([gap, 0.0, -1.0])
        six = {name: "xyz"[i % 3] for i, name in enumerate("ABCDEF")}
        judges = {"P": "x", "Q": "y", "R": "z", "S": "w"}
        values = np.array([gap, 0.0, 0.0, -0.5, -0.5, -1.0])
        yield f"6 options, 4 judges, {label}", panel_of(six, judges), values
        yield f"the same, a bias for each, {label}", panel_of(six, judges, "evaluator"), values
        yield f"4 compared, {label}", Questions.comparisons(list("ABCD"), ["J"]), values[:4]


def panel_of(options: Any, judges: Any, bias: Any = "common") -> Questions:
    """Return the questions of a panel that may be asked as often as one likes."""
    return Questions.panel(options, judges, bias=bias, capacity=None)


def errors(runs: int, seed: int) -> None:
    """Print how often a best option was rejected, which is what the proof bounds by δ."""
    print(f"## A best option rejected, δ = {DELTA:g}, up to 150 evaluations\n")
    print("| problem | noise | runs | answers | rejected | share |")
    print("| --- " * 6 + "|")
    for label, questions, values in traps():
        best = values >= values.max() - 1e-12
        added = [0.5 * (-1) ** i for i in range(questions.n_attributes)]
        problem = eh.BiasedLinearBandit(questions, values, added)
        for known in (True, False):
            answers = false = 0
            for i in range(seed, seed + runs):
                noise = 1.0 if known else None
                policy = eh.CertainChoice(questions, at_most=150, noise_scale=noise, seed=i)
                play(policy, normal(problem, np.random.default_rng([i, 7])), 0.05)
                found = policy.inference.evidence()
                answers += found.answer is not None
                false += bool(found.rejected[best].any())
            print(
                f"| {label} | {'known' if known else 'unknown'} | {runs} | {answers} | {false} "
                f"| {false / runs:.4f} |",
                flush=True,
            )
    print()


SECTIONS: dict[str, tuple[Callable[[int, int], None], int]] = {
    "skating": (skating, 136),
    "comparisons": (comparisons, 100),
    "prices": (prices, 50),
    "crossing": (crossing, 100),
    "errors": (errors, 500),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one section, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("section", nargs="?", choices=sorted(SECTIONS))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=10_000)
    given = parser.parse_args(argv)
    start = time.perf_counter()
    for name, (section, runs) in SECTIONS.items():
        if given.section in (None, name):
            section(given.runs or runs, given.seed)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
