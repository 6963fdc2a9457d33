"""How often scores that exist settle a choice, how often that is wrong, what it costs.

On 136 events of a skating season, with all scores and with some; with scores that decided what came
next; and by asking on, the questions that `decide` names or any. What it takes of the processor is
measured beside `audit` on the same table, in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import stats

import evenhand as eh
from evenhand import families
from evenhand.cases.panels import SkatingPanel, skating_panels
from evenhand.research.environments import SimulatedEvaluations


def frame_of(
    questions: eh.Questions, which: Sequence[int], scores: Sequence[float]
) -> pd.DataFrame:
    """Return answers to questions of a panel as a table of scores."""
    names, people = questions.options.labels, questions.evaluators
    return pd.DataFrame(
        {
            "option": [names[x] for x in questions.about[list(which), 0].tolist()],
            "evaluator": [people[x] for x in questions.evaluator[list(which)].tolist()],
            "score": list(scores),
        }
    )


def events(panels: Sequence[SkatingPanel]) -> Iterator[str]:
    """Events that real scores settle: by all of them, and by a random share."""
    yield "| scores | events | sure | agree with the whole panel |"
    yield "| --- | --- | --- | --- |"
    whole: list[int] = []
    for share in (1.0, 0.7, 0.5):
        sure = agree = 0
        for i, panel in enumerate(panels):
            questions = panel.questions()
            kept = np.flatnonzero(np.random.default_rng(i).random(len(questions)) < share)
            answer = eh.decide(
                questions, frame_of(questions, kept.tolist(), panel.scores[kept].tolist()), next_n=0
            )
            if share == 1.0:
                whole.append(answer.option)
            sure += answer.sure
            agree += answer.sure and answer.option == whole[i]
        yield f"| {100 * share:.0f}% | {len(panels)} | {sure} | {agree} of {sure} |"


def looked_at(n: int, most: int = 60) -> Iterator[str]:
    """Two options that are worth the same, scored until one looks better by a t test."""
    yield "| who chose when to stop | taken for | runs | sure | share |"
    yield "| --- | --- | --- | --- | --- |"
    panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    for stops in (False, True):
        wrong = {"before": 0, "adaptively": 0}
        for i in range(n):
            y = np.random.default_rng([7, i]).normal(size=(most, 2))
            m = _stop(y) if stops else most
            table = frame_of(panel, [0, 1] * m, y[:m].ravel().tolist())
            for assigned in wrong:
                answer = eh.decide(panel, table, assigned=assigned, next_n=0)  # type: ignore[arg-type]
                wrong[assigned] += answer.loss == 0.0
        who = "whoever saw the scores" if stops else "nobody: 60 of each"
        for assigned, sure in wrong.items():
            yield f"| {who} | {assigned} | {n} | {sure} | {100 * sure / n:.1f}% |"


def _stop(y: np.ndarray) -> int:
    """Return after how many scores of each a t test finds a difference; all if it never does."""
    for m in range(3, len(y) + 1):
        if stats.ttest_ind(y[:m, 0], y[:m, 1]).pvalue < 0.05:
            return m
    return len(y)


PANELS = ((6, 8, None), (12, 6, None), (6, 12, 4))
"""Options, judges, and how often a judge may be asked the same."""


def asking_on(n: int, most: int = 300) -> Iterator[str]:
    """Questions asked until one look is sure: those that `decide` names, or any that are left."""
    yield "| panel | runs settled by both | named | any | ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for k, e, capacity in PANELS if n > 1 else PANELS[:1]:
        named, drawn = [], []
        for i in range(n):
            problem = families.panel(k=k, e=e, seed=i, gap=0.8, bias=1.0, capacity=capacity)
            start = np.random.default_rng([3, i]).permutation(len(problem.questions))
            first = start[: len(start) // 2].tolist()
            ends = [_until_sure(problem, first, i, by, most) for by in ("named", "any")]
            if None not in ends:
                named.append(ends[0])
                drawn.append(ends[1])
        if named:
            ratio = np.mean(drawn) / np.mean(named)
            yield (
                f"| {k} × {e}, {capacity or 'any'} times each | {len(named)} of {n} | "
                f"{np.mean(named):.0f} | {np.mean(drawn):.0f} | {ratio:.2f} |"
            )


def _until_sure(
    problem: eh.BiasedLinearBandit, first: list[int], seed: int, by: str, most: int
) -> int | None:
    """Return how many questions it took beside the first; None if that many would not do."""
    questions, rng = problem.questions, np.random.default_rng([5, seed])
    evaluations = SimulatedEvaluations(problem, seed=seed)
    asked, scores = [], []

    def ask(x: int) -> None:
        counts = np.zeros(len(questions), dtype=np.int64)
        counts[x] = 1
        asked.append(x)
        scores.append(float(evaluations.evaluate(eh.Allocation(counts, 0)).sums[x]))

    for x in first:
        ask(x)
    while len(asked) - len(first) < most:
        table = frame_of(questions, asked, scores)
        answer = eh.decide(questions, table, next_n=5 if by == "named" else 0)
        if answer.sure:
            return len(asked) - len(first)
        have = np.bincount(asked, minlength=len(questions))
        left = np.flatnonzero(have < questions.capacity)
        batch = [one.question for one in answer.next_questions]
        for x in batch if by == "named" else rng.choice(left, min(5, len(left)), replace=False):
            ask(int(x))
        if not len(left):
            return None
    return None


def scored(
    k: int, e: int, *, each: int | None = None, times: int = 1, groups: int = 0, G: int = 0
) -> pd.DataFrame:
    """Scores of k options by e judges: all of them or so many of each, again, or on G items."""
    rng = np.random.default_rng([k, e, G])
    option, judge, item = (x.ravel() for x in np.indices((k, e, max(G, 1))))
    if each is not None:
        option = np.repeat(np.arange(k), each)
        judge = np.concatenate([rng.choice(e, each, replace=False) for _ in range(k)])
        item = np.zeros_like(option)
    option, judge, item = (np.repeat(x, times) for x in (option, judge, item))
    parts = {"option": option, "evaluator": judge} | ({"item": item} if G else {})
    frame = pd.DataFrame({part: [f"{part} {x}" for x in of] for part, of in parts.items()})
    if groups:
        frame["option_group"] = [f"group {x % groups}" for x in option]
        frame["evaluator_group"] = [f"group {x % groups}" for x in judge]
    worth = rng.normal(size=k)[option] + rng.normal(size=e)[judge]
    return frame.assign(score=worth + rng.normal(size=len(option)))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "100 × 50": lambda: scored(100, 50),
    "100 × 200": lambda: scored(100, 200),
    "100 × 500": lambda: scored(100, 500),
    "100 × 500, three groups": lambda: scored(100, 500, groups=3),
    "200 × 500": lambda: scored(200, 500),
    "2,000 × 50": lambda: scored(2_000, 50),
    "20 × 5,000": lambda: scored(20, 5_000),
    "100 × 20, fifty times each": lambda: scored(100, 20, times=50),
    "5,000 × 500, three of each option": lambda: scored(5_000, 500, each=3),
    "the same, three groups": lambda: scored(5_000, 500, each=3, groups=3),
    "10 × 9 on 1,000 items": lambda: scored(10, 9, G=1_000),
    "200 × 500, nobody named": lambda: scored(200, 500).drop(columns="evaluator"),
}
"""Options × judges."""


def cost(names: Sequence[str]) -> Iterator[str]:
    """Seconds of the processor that `decide` takes, beside `audit` and what it says."""
    yield "| options × judges | scores | decide, s | ÷ audit |"
    yield "| --- | --- | --- | --- |"
    small = scored(4, 3)
    eh.decide(small), str(eh.audit(small))  # what is loaded when it is first used
    for name in names:
        table = TABLES[name]()
        start = time.process_time()
        eh.decide(table, repeats=True)
        taken, ratio = time.process_time() - start, "–"
        if "evaluator" in table:
            start = time.process_time()
            str(eh.audit(table, repeats=name.endswith("each")))
            ratio = f"{taken / (time.process_time() - start):.1f}"
        yield f"| {name} | {len(table):,} | {taken:.2f} | {ratio} |"


PLANS = ((50, 9, None), (200, 9, None), (200, 20, 1), (2_000, 50, 1))
"""Options, judges, and how often a judge may be asked the same."""


def cost_of_plans(n: int) -> Iterator[str]:
    """Seconds of the processor that `plan` takes, beside the smallest of these panels."""
    yield "| options × judges | asked | plan, s | ÷ the first |"
    yield "| --- | --- | --- | --- |"
    first = 0.0
    for k, e, capacity in PLANS[:n]:
        names, judges = ([f"{what} {x}" for x in range(m)] for what, m in (("o", k), ("j", e)))
        questions = eh.Questions.panel(names, judges, capacity=capacity)
        start = time.process_time()
        plan = eh.plan(questions, values=1.0)
        taken = time.process_time() - start
        first = first or taken
        yield f"| {k:,} × {e} | {plan.kind} | {taken:.2f} | {taken / first:.1f} |"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="runs of the simulations")
    parser.add_argument("--only", default="", help="parts whose title has this text")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    panels = list(skating_panels())
    tables = list(TABLES)
    runs, asked = arguments.runs, max(2, arguments.runs // 20)
    if arguments.tiny:
        panels, runs, asked = panels[::60], 1, 1
        tables = tables[:1]
    parts = {
        "Real events": lambda: events(panels),
        "Scores that decided what came next": lambda: looked_at(runs),
        "Asking on": lambda: asking_on(asked),
        "What it costs": lambda: cost(tables),
        "What plans cost": lambda: cost_of_plans(1 if arguments.tiny else len(PLANS)),
    }
    for title, lines in parts.items():
        if arguments.only.lower() not in title.lower():
            continue
        print(f"\n## {title}\n", flush=True)
        for line in lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()
