"""How often a choice is certain when people can be asked once, and how often that is wrong.

On 136 events of a skating season, every judge's score of every performance: the real scores, each
once; scores drawn from a fit of each event; and panels in which nobody is best, where whoever is
certain is wrong. Settings of the looks were chosen on the real scores, with other seeds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy import stats

import evenhand as eh
from evenhand import families
from evenhand.cases.panels import SkatingPanel, skating_panels
from evenhand.research.environments import SimulatedEvaluations

POOLED = 2.998
"""Standard deviation of a score about performance, judge and bias, pooled over all events."""

SPREAD = 1.38
"""Standard deviation between judges of what they add for their own nation."""

Looks = Literal["once", "always"]


class Judges(Protocol):
    """Somebody who answers."""

    def evaluate(self, allocation: eh.Allocation) -> eh.Feedback:
        """Return the answers to what is asked."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    option: int
    sure: bool
    alarm: bool
    share: float


def run(
    questions: eh.Questions,
    judges: Judges,
    looks: Looks,
    noise_scale: float | None,
    seed: int,
    *,
    checked: bool = True,
) -> Outcome:
    """Ask, one by one where one looks always, until the policy has enough."""
    policy = eh.certainty.PlannedChoice(questions, looks=looks, noise_scale=noise_scale, seed=seed)
    policy.checked = checked
    while (allocation := policy.ask()).total:
        policy.tell(judges.evaluate(allocation))
    ended = policy.stopped_because or ""
    sure = ended.startswith(("no option is better", "it would be certain"))
    if not (sure or checked):
        return Outcome(-1, False, False, policy.spent / len(questions))
    decision = policy.recommend()
    alarm = any(finding.alarm for finding in decision.warnings)
    return Outcome(decision.option, sure, alarm, policy.spent / len(questions))


def reflected(panel: SkatingPanel, seed: int, failure: float = 0.05) -> Outcome:
    """Look after every score by the reflection principle, with the pooled noise.

    For every pair of options the estimated lead times its information is a walk that exceeds
    z √(all its information) at any time with a chance of 2 Φ(−z). The best option can be beaten by
    K − 1 others.
    """
    questions = panel.questions()
    A, k, y = questions.points, len(questions.options), panel.scores
    order = np.random.default_rng(seed).permutation(len(A))
    z = float(stats.norm.isf(failure / (2 * (k - 1))))
    whole = np.linalg.inv(A.T @ A)
    option = 0
    for n in range(A.shape[1], len(A) + 1):
        rows = A[order[:n]]
        V = rows.T @ rows
        if np.linalg.matrix_rank(V) < len(V):
            continue
        inverse = np.linalg.inv(V)
        theta = inverse @ (rows.T @ y[order[:n]])
        option = int(np.argmax(theta[:k]))
        D = np.delete(np.eye(k, len(V))[option] - np.eye(k, len(V)), option, axis=0)
        now, last = (np.einsum("ij,jk,ik->i", D, C, D) for C in (inverse, whole))
        if (D @ theta / POOLED / now >= z / np.sqrt(last)).all():
            return Outcome(option, True, False, n / len(A))
    return Outcome(option, False, False, 1.0)


MODES: tuple[tuple[str, Looks, float | None], ...] = (
    ("once, σ = 2.998", "once", POOLED),
    ("once, σ unknown", "once", None),
    ("always, σ = 2.998", "always", POOLED),
    ("always, σ unknown", "always", None),
)


def real_scores(panels: Sequence[SkatingPanel], seeds: Iterable[int]) -> Iterator[str]:
    """Certified events, by real scores each used once, and whether the whole panel agrees."""
    yield "| looks | events | sure | agree with the whole panel | cells used | alarms on these |"
    yield "| --- | --- | --- | --- | --- | --- |"
    whole = [run(panel.questions(), panel.replay(), "once", None, 0).option for panel in panels]

    def row(name: str, ask: Callable[[SkatingPanel, int], Outcome], many: Iterable[int]) -> str:
        found = [[ask(panel, seed) for panel in panels] for seed in many]
        sure = [sum(outcome.sure for outcome in one) for one in found]
        pairs = [(o, b) for one in found for o, b in zip(one, whole, strict=True) if o.sure]
        agree = sum(outcome.option == best for outcome, best in pairs)
        cells = np.mean([outcome.share for one in found for outcome in one])
        alarms = np.mean([sum(o.sure and o.alarm for o in one) for one in found])
        said = f"{sure[0]}" if len(sure) == 1 else f"{np.mean(sure):.1f} ({min(sure)}–{max(sure)})"
        return (
            f"| {name} | {len(panels)} | {said} | {agree} of {len(pairs)} | {100 * cells:.1f}% | "
            f"{alarms:.1f} |"
        )

    for name, looks, noise_scale in MODES:
        yield row(
            name,
            lambda panel, seed, looks=looks, noise_scale=noise_scale: run(  # type: ignore[misc]
                panel.questions(), panel.replay(), looks, noise_scale, seed
            ),
            [0] if looks == "once" else seeds,
        )
    yield row("reflection, σ = 2.998", reflected, list(seeds)[:2])


def drawn_scores(panels: Sequence[SkatingPanel], seeds: Iterable[int]) -> Iterator[str]:
    """Certified runs with scores drawn from the fit of each event, and whether they are right."""
    yield "| looks | runs | sure | of these wrong | cells used |"
    yield "| --- | --- | --- | --- | --- |"
    for name, looks, noise_scale in MODES:
        runs, sure, wrong, cells = 0, 0, 0, 0.0
        for seed in seeds:
            for panel in panels:
                judges = panel.fitted(seed=1_000 + seed)
                outcome = run(panel.questions(), judges, looks, noise_scale, seed, checked=False)
                runs, sure, cells = runs + 1, sure + outcome.sure, cells + outcome.share
                wrong += outcome.sure and outcome.option != judges.best
        shares = f"{100 * sure / runs:.1f}% | {wrong} | {100 * cells / runs:.1f}%"
        yield f"| {name} | {runs} | {shares} |"


def nobody_best(panels: Sequence[SkatingPanel], n: int) -> Iterator[str]:
    """Certified panels in which nobody is best: all of these are wrong."""
    yield "| looks | nobody is best | panels | sure | share |"
    yield "| --- | --- | --- | --- | --- |"
    small = [panel for panel in panels if len(panel.performances) <= 10] or panels
    kinds: dict[str, Callable[[int], tuple[eh.Questions, Judges, float]]] = {
        "skating, two tied": lambda i: _tied(small, i, 2),
        "Gaussian, two to six tied": _gaussian,
        "skating, all tied": lambda i: _tied(small, i, None),
    }
    for kind, make in kinds.items():
        for _, looks, noise_scale in MODES:
            wrong = 0
            for i in range(n):
                questions, judges, loud = make(i)
                known = None if noise_scale is None else loud
                one = run(questions, judges, looks, known, i, checked=False)
                wrong += one.sure
            noise = "known" if noise_scale else "unknown"
            yield f"| {looks}, noise {noise} | {kind} | {n} | {wrong} | {100 * wrong / n:.2f}% |"


def _tied(
    panels: Sequence[SkatingPanel], i: int, tied: int | None
) -> tuple[eh.Questions, Judges, float]:
    panel = panels[i % len(panels)]
    return panel.questions(), panel.null(seed=i, tied=tied), float(panel.residuals.std())


def _gaussian(i: int) -> tuple[eh.Questions, Judges, float]:
    problem = families.panel(
        k=2 + i % 5, e=4 + i % 3, seed=i, gap=0.0, bias=1.0, n_groups=2 + i % 3
    )
    return problem.questions, SimulatedEvaluations(problem, seed=i), 1.0


def judges_differ(panels: Sequence[SkatingPanel], seeds: Iterable[int]) -> Iterator[str]:
    """Judges whose biases differ, scored by a common bias and by one each."""
    yield "| noise | spread of biases | runs | bias | chosen wrong | sure | of these wrong | told |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    close = [panel for panel in panels if np.diff(np.sort(panel.values)[-2:])[0] < 1.5]
    for loud in (3.0, 1.0, 0.3):
        for spread in (0.0, SPREAD):
            for bias in ("common", "evaluator"):
                runs = wrong = sure = false = told = 0
                for seed in seeds:
                    for i, panel in enumerate(close):
                        rng = np.random.default_rng([seed, i])
                        own = 3.18 + spread * rng.standard_normal(len(panel.judges))
                        means = panel.values[:, None] + panel.leniencies + own * panel.partial
                        scores = (means + loud * rng.standard_normal(means.shape)).ravel()
                        policy = eh.certainty.PlannedChoice(panel.questions(bias=bias))  # type: ignore[arg-type]
                        one = np.ones(len(scores), dtype=np.int64)
                        policy.ask()
                        policy.tell(eh.Feedback(one, scores, scores**2))
                        decision = policy.recommend()
                        runs += 1
                        missed = decision.option != int(np.argmax(panel.values))
                        wrong, sure = wrong + missed, sure + (decision.loss == 0.0)
                        false += missed and decision.loss == 0.0
                        told += any(f.assumption == "alike" for f in decision.warnings)
                if runs:
                    yield (
                        f"| {loud:g} | {spread:g} | {runs} | {bias} | {100 * wrong / runs:.1f}% | "
                        f"{100 * sure / runs:.1f}% | {false} | {100 * told / runs:.1f}% |"
                    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="orders, and draws, of every event")
    parser.add_argument("--panels", type=int, default=3_000, help="panels in which nobody is best")
    parser.add_argument("--only", default="", help="parts whose title has this text")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    panels = list(skating_panels())
    seeds, n = range(arguments.seeds), arguments.panels
    if arguments.tiny:
        panels, seeds, n = panels[::60], range(1), 2
    parts = {
        "Real scores, each once": lambda: real_scores(panels, seeds),
        "Scores drawn from a fit": lambda: drawn_scores(panels, seeds),
        "Nobody is best": lambda: nobody_best(panels, n),
        "Close events, judges who differ": lambda: judges_differ(panels, seeds),
    }
    for title, lines in parts.items():
        if arguments.only.lower() not in title.lower():
            continue
        print(f"\n## {title}\n", flush=True)
        for line in lines():
            print(line, flush=True)


if __name__ == "__main__":
    main()
