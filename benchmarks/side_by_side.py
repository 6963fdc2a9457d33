"""Evaluators side by side: how busy they are, and what it costs beside asking one at a time.

In virtual time: n evaluators whose answers take lognormal times (σ = 1), each asked again as soon
as he has answered. Panels have a judge for each evaluator; otherwise anybody may answer anything.

    python benchmarks/side_by_side.py --runs 40
"""

from __future__ import annotations

import argparse
import heapq
import math
from collections.abc import Sequence

import numpy as np

import evenhand as eh


def work(
    problem: eh.BiasedLinearBandit,
    policy: eh.CertainChoice,
    evaluators: int,
    rng: np.random.Generator,
) -> float:
    """Have evaluators answer until nothing is asked; return how busy they were till it was sure."""
    questions = problem.questions
    pending = np.zeros(len(questions), dtype=np.int64)
    free, out, now = list(range(evaluators)), [], 0.0
    turns: list[tuple[float, float]] = []  # when each evaluation was begun and ended
    end = math.inf
    named = len(questions.evaluators) > 1 and evaluators > 1
    while True:
        waiting: list[int] = []
        for who in free:
            there = [questions.evaluators[who]] if named else None
            counts = policy.ask(1, pending, there).counts
            if counts.any():
                x = int(np.argmax(counts))
                pending[x] += 1
                turns.append((now, now + float(rng.lognormal())))
                heapq.heappush(out, (turns[-1][1], len(turns), who, x))
            else:
                waiting.append(who)
        if not out:
            break
        now, _, who, x = heapq.heappop(out)
        free = [*waiting, who]
        pending[x] -= 1
        score = problem.evaluations[x] + problem.noise_scale * rng.standard_normal()
        counts = policy.single(x, 1)
        policy.tell(eh.Feedback(counts, counts * score, counts * score**2))
        end = min(end, now) if policy.settled else end
    end = min(end, now)
    worked = sum(min(until, end) - begun for begun, until in turns if begun < end)
    return worked / (evaluators * end) if end else 1.0


def run(
    problem: eh.BiasedLinearBandit, evaluators: int, seed: int, at_most: int
) -> tuple[int, float, bool]:
    """Return evaluations, how busy evaluators were until it was certain, whether it is right."""
    policy = eh.CertainChoice(problem.actions, at_most=at_most)
    busy = work(problem, policy, evaluators, np.random.default_rng(seed))
    decision = policy.recommend()
    right = decision.option == problem.best or decision.loss > 0.0
    return policy.spent, busy, right


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=5_000)
    given = parser.parse_args(argv)
    makers = {
        "panel 8 × 16": lambda s: eh.families.panel(
            k=8, e=16, seed=s, gap=0.5, bias=1.0, capacity=None
        ),
        "options (15, 3)": lambda s: eh.families.random(15, 3, s),
    }
    print("| instances | evaluators | evaluations ÷ one at a time | at work | wrong |")
    print("| --- | --- | --- | --- | --- |")
    for name, make in makers.items():
        ratios, busy, wrong = [], [], 0
        for seed in range(given.seed, given.seed + given.runs):
            problem = make(seed)
            alone, _, right = run(problem, 1, seed, 20_000)
            spent, share, also = run(problem, 16, seed, 20_000)
            ratios.append(math.log(spent / alone))
            busy.append(share)
            wrong += (not right) + (not also)
        error = np.std(ratios) / math.sqrt(given.runs)
        print(
            f"| {name} | 16 | {math.exp(np.mean(ratios)):.2f} ± {error:.2f} | "
            f"{100 * np.mean(busy):.1f}% | {wrong} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
