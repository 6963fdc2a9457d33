"""Searches until certain: what they cost, and how often they are false.

    python benchmarks/search.py cost     evaluations, beside the least that certainty can take
    python benchmarks/search.py level    how often something that is sure is false, of 5%

``--only`` takes the rows whose names match. Each prints what is asked beside what was measured. The
searches' constants were chosen on seeds below 100,000, where ``--seed`` does not begin unless told.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.arrays import Floats, Indices
from evenhand.cases.panels import skating_panels
from evenhand.questions import Questions
from evenhand.research.environments import classical
from evenhand.search.record import Plan, Stop

Rng = np.random.Generator
Scores = Callable[[Indices, Rng], Floats]  # of questions, by their places, one each
Problem = eh.BiasedLinearBandit
CONFIDENCE = 0.95


def play(
    policy: eh.CertainChoice, scores: Scores, rng: Rng, n: int | None = None
) -> eh.CertainChoice:
    """Ask and tell until nothing is asked any more, all that is asked or n at a time."""
    while (counts := policy.ask(n).counts).any():
        asked = np.repeat(np.arange(len(counts)), counts)
        y = scores(asked, rng)
        q = len(counts)
        policy.tell(
            eh.Feedback(counts.copy(), np.bincount(asked, y, q), np.bincount(asked, y * y, q))
        )
    return policy


def normal_scores(problem: Problem) -> Scores:
    """Return scores of a problem, with normal noise."""
    loud = problem.noise_scale
    return lambda asked, rng: problem.evaluations[asked] + loud * rng.normal(size=len(asked))


def false(policy: eh.CertainChoice, values: Floats) -> bool:
    """Tell whether what is said for sure is false, of options that are worth so much.

    Of those that are worth the same the first ones are held to be the best: they may be rejected no
    more often than any other truth.
    """
    said, target = policy.recommend(), policy.target
    order = np.argsort(-values, kind="stable").tolist()
    if said.level == 0.0:  # an alarm has withdrawn it
        return False
    if said.selection is None:
        if policy.tolerance:
            return said.loss < values.max() - values[said.option] - 1e-9
        return bool(policy._evidence.most[0, order[0]] >= policy.aim.enough)
    inside, outside = list(said.selection.inside), list(said.selection.outside)
    if target.top is not None:
        best = set(order[: target.top])
        return not set(inside) <= best or bool(best & set(outside))
    base = target.bar
    if base is None:
        base = values[policy.options.labels.index(target.against)]
    return bool((values[inside] <= base).any() or (values[outside] >= base).any())


@lru_cache(maxsize=4096)
def limit(problem: Problem) -> float:
    """Return T*·kl(δ, 1−δ): what no procedure that is as rarely wrong undercuts on average."""
    return eh.limits.characteristic_time(problem, tol=1e-3).evaluations(CONFIDENCE)


def normal(k: int, d: int, seed: int) -> Problem:
    """Return options with normal features, groups at random; limits from 5(d + 1) to 20,000."""
    for attempt in range(1_000):
        rng = np.random.default_rng([k, d, seed, attempt])
        X, z = rng.standard_normal((k, d)), rng.choice([-1, 1], k)
        gamma = rng.standard_normal(d)
        if abs(z.sum()) == k or np.linalg.matrix_rank(np.column_stack([X, z])) < min(k, d + 1):
            continue
        problem = eh.BiasedLinearBandit(eh.ActionSet(X, z), gamma, rng.normal())
        try:
            if 5 * (d + 1) <= limit(problem) <= 20_000:
                return problem
        except eh.NotIdentifiableError:
            continue
    raise RuntimeError("no such instance")


def panel(k: int, e: int, favours: bool, seed: int) -> Problem:
    """Return a panel whose best option leads by .3 to 1; in one of three groups, with favours."""
    gap = float(np.random.default_rng(seed).uniform(0.3, 1.0))
    problem = eh.families.panel(k, e, seed, gap=gap, capacity=None)
    if favours:
        return problem
    questions = Questions.panel(
        list(problem.questions.options.labels), list(problem.questions.evaluators), capacity=None
    )
    return eh.BiasedLinearBandit(questions, problem.gamma, problem.omega[1:])


def real(seed: int) -> Problem:
    """Return an event of the season: what its judges gave, fitted with the season's favour for the
    own nation, and noise of the size of the rest.
    """
    events = list(skating_panels())
    event = events[seed * 3 % len(events)]
    k, judges = event.table.shape
    favour = 3.18 * event.partial
    fair = event.table - favour
    fitted = fair.mean(axis=1)[:, None] + fair.mean(axis=0) - fair.mean() + favour
    noise = math.sqrt(((event.table - fitted) ** 2).sum() / ((k - 1) * (judges - 1)))
    questions = event.questions(capacity=None)
    means = np.linalg.lstsq(questions.matrix.toarray(), fitted.ravel())[0]
    return eh.BiasedLinearBandit(questions, means[:k], means[k:], noise)


def compared(k: int, e: int, seed: int) -> Problem:
    """Return options that are compared in pairs."""
    questions = Questions.comparisons(
        [f"o{x}" for x in range(k)], [f"e{j}" for j in range(e)], capacity=None
    )
    values = -np.random.default_rng(seed).exponential(1.0, k)
    values[0] = 0.5
    return eh.BiasedLinearBandit(questions, values, np.zeros(questions.n_attributes))


def worth(problem: Problem, policy: eh.CertainChoice) -> Floats:
    """Return what options are worth by the average evaluator, where they are held against a bar."""
    if policy.target.bar is None:
        return problem.values
    return problem.values + problem.questions.neutral @ problem.omega


@dataclass(frozen=True)
class Cost:
    """A kind of problem, and how many evaluations are asked for."""

    make: Callable[[int], Problem]
    most: float  # evaluations ÷ limit, or what another search took: by stages, at seeds 100,000 on
    before: float = 0.0  # the geometric mean of what that one took
    said: Mapping[str, Any] = field(default_factory=dict)


COSTS = {
    "normal (20, 3)": Cost(partial(normal, 20, 3), 2.4),
    "normal (50, 5)": Cost(partial(normal, 50, 5), 2.4),
    "normal (12, 2)": Cost(partial(normal, 12, 2), 2.4),
    "Soare, d = 20": Cost(lambda seed: classical.soare(20), 2.3),
    "Soare, d = 40": Cost(lambda seed: classical.soare(40), 2.3),
    "sphere (100, 20)": Cost(partial(classical.sphere, 100, 20), 3.4),
    "sphere (60, 30)": Cost(partial(classical.sphere, 60, 30), 3.4),
    "panel 10 × 8": Cost(partial(panel, 10, 8, False), 1.15, 289.0),
    "panel 30 × 12": Cost(partial(panel, 30, 12, False), 1.15, 732.0),
    "panel 60 × 20": Cost(partial(panel, 60, 20, False), 1.15, 1652.0),
    "panel 10 × 8, favours": Cost(partial(panel, 10, 8, True), 1.15, 336.0),
    "panel 30 × 12, favours": Cost(partial(panel, 30, 12, True), 1.15, 804.0),
    "panel 60 × 20, favours": Cost(partial(panel, 60, 20, True), 1.15, 1805.0),
    "skating, 6 to 36 by 9": Cost(real, 1.1, 117.0),
    "compared 10 by 4": Cost(partial(compared, 10, 4), 1.15, 136.0),
    "top 3 of 10 × 8": Cost(partial(panel, 10, 8, False), 1.5, 20048.0, said={"top": 3}),
    "bar of 10 × 8": Cost(partial(panel, 10, 8, False), 1.5, 3055.0, said={"bar": -1.0}),
    "against of 10 × 8": Cost(partial(panel, 10, 8, False), 1.5, 38375.0, said={"against": "O1"}),
    "tolerance in 10 × 8": Cost(partial(panel, 10, 8, False), 1.5, 203.0, said={"tolerance": 0.3}),
    "top 3 of normal (12, 2)": Cost(partial(normal, 12, 2), 1.5, 227.0, said={"top": 3}),
    "tolerance in normal (12, 2)": Cost(
        partial(normal, 12, 2), 1.5, 111.0, said={"tolerance": 0.1}
    ),
}


def cost(rows: Mapping[str, Cost], runs: int, seed: int) -> None:
    """Print evaluations of one run on each of fresh problems."""
    print("| problems | runs | evaluations | ÷ least or before | ± | asked | false | ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        logs, wrong, unsure, took = [], 0, 0, 0.0
        for at in range(seed, seed + runs):
            problem = row.make(at)
            start = time.process_time()
            policy = eh.CertainChoice(problem.actions, at_most=10**6, seed=at, **row.said)
            policy.checked = False  # one in a hundred has a false alarm, and no answer
            play(policy, normal_scores(problem), np.random.default_rng([at, 1]))
            took += time.process_time() - start
            wrong += false(policy, worth(problem, policy))
            unsure += "confidence" not in str(policy.stopped_because)
            logs.append(math.log(policy.spent / (row.before or limit(problem))))
        mean, off = math.exp(float(np.mean(logs))), np.std(logs) / math.sqrt(runs)
        print(
            f"| {name} | {runs} | {mean * row.before:,.0f} | {mean:.2f} | {mean * off:.2f} "
            f"| {row.most:g} | {wrong} of {runs - unsure} | {1e3 * took / runs:.0f} |",
            flush=True,
        )


@dataclass(frozen=True)
class Trap:
    """Something that must not be sure more often than said."""

    questions: eh.ActionSet | Questions
    values: Sequence[float]
    noise: Callable[[Indices, Rng], Floats] | None = None  # by question; normal, of size 1
    after: Callable[[Floats], Floats] | None = None  # what becomes of a score
    said: Mapping[str, Any] = field(default_factory=dict)
    enemy: bool = False
    lasts: float = 0.0  # how much of a judge's last noise on an option comes back
    at_most: int = 400
    most: float = 6.0  # percent

    def run(self, seed: int) -> eh.CertainChoice:
        """Return a search until something is certain or too much is spent."""
        rng = np.random.default_rng([seed, 2])
        kind = Hostile if self.enemy else eh.CertainChoice
        policy = kind(self.questions, at_most=self.at_most, seed=seed, **self.said)
        policy.checked = self.lasts > 0.0
        questions, worth = policy.questions, np.array(self.values)
        means = worth[questions.about[:, 0]] - np.where(
            questions.about[:, 1] < 0, 0.0, worth[questions.about[:, 1]]
        )
        before: dict[int, float] = {}

        def scores(asked: Indices, rng: Rng) -> Floats:
            z = rng.normal(size=len(asked)) if self.noise is None else self.noise(asked, rng)
            if self.lasts:
                for at, question in enumerate(asked.tolist()):
                    last = before.get(question, z[at])
                    z[at] = self.lasts * last + math.sqrt(1.0 - self.lasts**2) * z[at]
                    before[question] = z[at]
            y = means[asked] + z
            return y if self.after is None else self.after(y)

        return play(policy, scores, rng, 1 if self.lasts else None)


class Hostile(eh.CertainChoice):
    """Blocks by somebody who knows the truth: the best, option 0, is to be rejected. He chooses who
    is held against it, by whom, how often and with what bets, by all that he has seen.
    """

    def next_plan(self, pending: Any) -> Any:
        if self._search.settled or not self.remaining:
            return Stop("spent")
        rng = np.random.default_rng([self.seed, len(self.record.rounds)])
        n, judges = len(self.options), len(self.questions.evaluators)
        known = self.record.known
        means = known.means.reshape(n, judges)
        lead = means[1:] - means[0]
        if known.counts.min() == 0:
            rival, judge, hope = int(rng.integers(1, n)), int(rng.integers(judges)), 1.0
        else:  # who looks best beside it, to the judge who likes him most
            rival, judge = np.unravel_index(np.argmax(lead), lead.shape)
            rival, hope = int(rival) + 1, float(max(lead.max(), 0.1))
        order = np.array([judge, rival * judges + judge])
        if rng.random() < 0.3:  # the same, and again
            order = np.append(order, order[1:])
        times, off = int(rng.choice([1, 1, 3])), float(rng.choice([0.1, 1.0, 10.0]))
        pairs, hopes = np.array([[rival, 0]]), np.array([[hope, off, math.sqrt(2.0)]])
        return Plan("compare", order, times, pairs, hopes)


def judged(k: int, judges: int = 3) -> Questions:
    """Return questions of a panel, which may be asked again and again."""
    return Questions.panel(
        [f"o{x}" for x in range(k)], [f"e{j}" for j in range(judges)], capacity=None
    )


def loud(*sizes: float, by_judge: bool = False) -> Callable[[Indices, Rng], Floats]:
    """Return normal noise of these sizes: of options, or of three judges."""

    def noise(asked: Indices, rng: Rng) -> Floats:
        return np.array(sizes)[asked % 3 if by_judge else asked // 3] * rng.normal(size=len(asked))

    return noise


def rare(asked: Indices, rng: Rng) -> Floats:
    """Noise of mean 0 that is nearly always small; which side is rare depends on the option."""
    often = rng.random(len(asked)) > 0.05
    return np.where(asked // 3 % 2 == 0, -1.0, 1.0) * np.where(often, -0.2, 3.8)


def vote(y: Floats) -> Floats:
    """Return votes whose chance is this."""
    return (y > 0.0).astype(np.float64)


def mark(y: Floats) -> Floats:
    """Return marks from 1 to 5."""
    return np.clip(np.round(y), 1.0, 5.0)


def featured(k: int, seed: int = 5) -> tuple[eh.ActionSet, list[float]]:
    """Return options with two features in two groups, the two best of whom are worth the same."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, 2))
    order = np.argsort(-X[:, 0])
    X[order[1], 0] = X[order[0], 0]
    return eh.ActionSet(X, [(-1) ** x for x in range(k)]), (X @ [1.0, 0.0]).tolist()


def students(asked: Indices, rng: Rng) -> Floats:
    """Noise of t with 2.5 degrees of freedom."""
    return rng.standard_t(2.5, size=len(asked))


def traps() -> Iterator[tuple[str, Trap]]:
    """Yield what must not be sure: ties, near-ties, noise of all kinds, an enemy."""
    four, tie = judged(4), [0.0, 0.0, -1.0, -1.0]
    for k in (2, 3, 6, 10):
        yield f"{k} equal", Trap(judged(k), [0.0] * k)
    yield "two best of four equal", Trap(four, tie)
    yield "one judge", Trap(judged(4, 1), tie)
    yield "lead of .001", Trap(four, [0.001, 0.0, -1.0, -1.0])
    yield "noise stated", Trap(four, tie, said={"noise_scale": 1.0})
    yield "noisy (5) beside quiet (.3)", Trap(judged(2), [0.0] * 2, loud(5.0, 0.3))
    yield "quiet beside three noisy", Trap(four, [0.0] * 4, loud(0.3, 5, 5, 5))
    yield "noisy beside three quiet", Trap(four, [0.0] * 4, loud(5, 0.3, 0.3, 0.3))
    yield "judges unequal (.3, 1, 4)", Trap(four, tie, loud(0.3, 1.0, 4.0, by_judge=True))
    yield "t(2.5)", Trap(four, tie, students)
    yield "votes, even", Trap(four, [0.0] * 4, after=vote)
    yield "votes, nine of ten", Trap(four, [1.28] * 4, after=vote)
    yield "marks 1–5", Trap(four, [3.0] * 4, after=mark)
    yield "marks 1–5, near 5", Trap(four, [4.7] * 4, after=mark)
    yield "rare marks, bounds stated", Trap(four, [0.0] * 4, rare, said={"bounds": (-4.0, 4.0)})
    yield "votes, bounds stated", Trap(four, [1.28] * 4, after=vote, said={"bounds": (0.0, 1.0)})
    yield (
        "top 3 of 8, tie at the line",
        Trap(judged(8), [2, 2, 0, 0, -1, -1, -1, -1.0], said={"top": 3}),
    )
    yield "a bar exactly met", Trap(four, [0.0, 0.0, 0.0, 1.0], said={"bar": 0.0})
    yield "against one as good", Trap(four, [0.0, 0.0, 0.0, 1.0], said={"against": "o0"})
    yield (
        "compared, equal",
        Trap(
            Questions.comparisons(["a", "b", "c", "d"], ["P", "Q", "R"], capacity=None), [0.0] * 4
        ),
    )
    actions, worth = featured(8)
    yield "features, tie", Trap(actions, worth)
    yield "features, tie, t(2.5)", Trap(actions, worth, students)
    yield "an enemy", Trap(four, [0.0] * 4, enemy=True)
    yield "an enemy, noisy beside quiet", Trap(four, [0.0] * 4, loud(5, 5, 0.3, 0.3), enemy=True)
    yield "answers that last (.7), checked", Trap(four, [0.0] * 4, lasts=0.7)


def level(rows: Mapping[str, Trap], runs: int, seed: int) -> None:
    """Print how often something that is sure is false."""
    print("| what is drawn | runs | sure and false, % | ± | asked |")
    print("| --- | --- | --- | --- | --- |")
    total = 0
    for name, row in rows.items():
        wrong = sum(false(row.run(at), np.array(row.values)) for at in range(seed, seed + runs))
        total += wrong
        share = wrong / runs
        off = math.sqrt(max(share * (1.0 - share), 0.25 / runs) / runs)
        print(
            f"| {name} | {runs} | {100 * share:.1f} | {100 * off:.1f} | {row.most:g} |", flush=True
        )
    print(f"\n{total} of {runs * len(rows)}")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {
        "cost": (cost, COSTS, 60),
        "level": (level, dict(traps()), 200),
    }
    parser.add_argument("part", choices=parts)
    parser.add_argument("--runs", type=int, help="of each row")
    parser.add_argument("--seed", type=int, default=100_000, help="of the first run")
    parser.add_argument("--only", default="", help="rows whose names match this")
    asked = parser.parse_args(argv)
    table, rows, runs = parts[asked.part]
    some = {name: row for name, row in rows.items() if re.search(asked.only, name)}
    table(some, asked.runs or runs, asked.seed)


if __name__ == "__main__":
    main()
