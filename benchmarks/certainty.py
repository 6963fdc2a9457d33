"""What certainty costs, and how often it is false.

    python benchmarks/certainty.py cost           evaluations ÷ the limit T*·kl(δ, 1−δ)
    python benchmarks/certainty.py random         the same on four random families, and their mean
    python benchmarks/certainty.py classical      the same on Soare's problem and on spheres
    python benchmarks/certainty.py side           sixteen evaluators at once beside one at a time
    python benchmarks/certainty.py errors         false answers on ties, near-ties, with an enemy
    python benchmarks/certainty.py bias           intervals of the bias: coverage and width
    python benchmarks/certainty.py top            the m best: cost, and false claims
    python benchmarks/certainty.py sides          a bar and one option: cost, and false claims

Instances and seeds of the printed tables are not those that the policy's constants were chosen on
(``--seed`` below 1,000). Every evaluation is looked at, or one per cent of what was spent at once.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.arrays import Floats, Indices
from evenhand.certainty.e_process import certainty_entropy
from evenhand.certainty.models import Fit
from evenhand.certainty.places import Places, SetEvidence, SetInference
from evenhand.certainty.stage_plans import SetPlanner, StagePlanner
from evenhand.certainty.stages import Evidence
from evenhand.designs.joint import joint_design
from evenhand.research.environments import classical
from evenhand.research.environments.skating import skate_canada

DELTA = 0.05


def limit(problem: eh.BiasedLinearBandit, delta: float = DELTA) -> float:
    """Return T*·kl(δ, 1−δ): no δ-correct procedure has fewer evaluations on average."""
    return eh.limits.characteristic_time(problem, tol=1e-3).evaluations(1.0 - delta)


def play(
    problem: eh.BiasedLinearBandit, policy: eh.Policy, rng: np.random.Generator, share: float = 0.01
) -> eh.Policy:
    """Ask and tell until the policy is done, one per cent of what was spent at a time."""
    sd = problem.noise_scale
    while True:
        counts = policy.ask(max(1, int(share * policy.spent))).counts
        if not counts.any():
            return policy
        sums, squares = np.zeros(len(counts)), np.zeros(len(counts))
        (used,) = np.nonzero(counts)
        n = counts[used]
        total = n * problem.evaluations[used] + sd * np.sqrt(n) * rng.standard_normal(len(used))
        sums[used] = total
        within = sd**2 * 2.0 * rng.standard_gamma((n - 1) / 2.0)
        squares[used] = total**2 / n + within
        policy.tell(eh.Feedback(counts.copy(), sums, squares))


# ---------------------------------------------------------------------- what it costs


def normal(k: int, d: int, seed: int) -> eh.BiasedLinearBandit:
    """Return options with normal features, groups at random; limits from 5(d + 1) to 100,000."""
    for attempt in range(1_000):
        rng = np.random.default_rng([k, d, seed, attempt])
        X, z = rng.standard_normal((k, d)), rng.choice([-1, 1], k)
        gamma = rng.standard_normal(d)
        actions = eh.ActionSet(X, z) if abs(z.sum()) < k else None
        if actions is None or np.linalg.matrix_rank(actions.points) < min(k, d + 1):
            continue
        try:
            eh.bias_optimal_design(actions)
        except eh.NotIdentifiableError:
            continue
        problem = eh.BiasedLinearBandit(
            actions, gamma=gamma / np.linalg.norm(gamma), omega=rng.normal()
        )
        if 5 * (d + 1) <= limit(problem) <= 1e5:
            return problem
    raise RuntimeError("no such instance")


def small(seed: int) -> eh.BiasedLinearBandit:
    """Return two to five options with normal features."""
    k = 2 + seed % 4
    return normal(k, 1 + (seed // 4) % min(k - 1, 3), seed)


def gap_family(seed: int) -> eh.BiasedLinearBandit:
    """Return one of the problems of the gap family (4, 4, .05, .1)."""
    family = list(eh.families.gap_dependent(4, 4.0, 0.05, 0.1))
    return family[seed % len(family)]


KINDS: dict[str, tuple[Callable[[int], eh.BiasedLinearBandit], float]] = {
    "skating": (lambda seed: skate_canada().problem, 2.0),
    "random (20, 3)": (partial(eh.families.random, 20, 3), 2.2),
    "random (50, 5)": (partial(eh.families.random, 50, 5), 2.7),
    "random (200, 10)": (partial(eh.families.random, 200, 10), 3.0),
    "normal (20, 3)": (partial(normal, 20, 3), 2.2),
    "normal (50, 5)": (partial(normal, 50, 5), 2.7),
    "gap family": (gap_family, 2.5),
    "k = 2…5": (small, 2.0),
}


RANDOM = {
    f"random ({k}, {d})": (partial(eh.families.random, k, d), 2.35)
    for k, d in ((15, 3), (25, 4), (40, 5), (4, 2))
}
"""Families of options whose geometric mean stands for all."""


CLASSICAL: dict[str, tuple[Callable[[int], eh.BiasedLinearBandit], float]] = {
    "Soare, d = 20": (lambda seed: classical.soare(20), 2.1),
    "Soare, d = 40": (lambda seed: classical.soare(40), 2.4),
    "sphere, 100 options, d = 20": (partial(classical.sphere, 100, 20), 3.3),
    "sphere, 60 options, d = 30": (partial(classical.sphere, 60, 30), 3.3),
}
"""Problems of the literature in many dimensions, without a bias."""


def cost(
    runs: int,
    seed: int,
    kinds: dict[str, tuple[Callable[[int], eh.BiasedLinearBandit], float]],
    known: bool,
) -> None:
    """Print evaluations ÷ limit, one run for each fresh instance."""
    title = "known" if known else "unknown"
    print(f"## Evaluations ÷ limit, δ = {DELTA:g}, noise {title}\n")
    print("| instances | runs | mean | ± | median | target | false | ms a run |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    means = []
    for name, (make, target) in kinds.items():
        ratios, false, start = [], 0, time.perf_counter()
        for i in range(seed, seed + runs):
            problem = make(i)
            policy = eh.CertainChoice(
                problem.actions,
                at_most=10**8,
                noise_scale=problem.noise_scale if known else None,
            )
            play(problem, policy, np.random.default_rng([i, 1]))
            decision = policy.recommend()
            false += problem.gaps[decision.option] > 1e-12
            ratios.append(policy.spent / limit(problem))
        error = np.std(ratios) / math.sqrt(runs)
        taken = 1e3 * (time.perf_counter() - start) / runs
        print(
            f"| {name} | {runs} | {np.mean(ratios):.2f} | {error:.2f} | {np.median(ratios):.2f} "
            f"| {target:g} | {false} | {taken:.0f} |",
            flush=True,
        )
        means.append(float(np.mean(ratios)))
    print(f"\nGeometric mean of the means: {math.exp(np.log(means).mean()):.2f}\n")


# ---------------------------------------------------------------------- side by side


def work(
    problem: eh.BiasedLinearBandit,
    policy: eh.CertainChoice,
    evaluators: int,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Have evaluators answer until nothing is asked, and what is on its way came.

    Returns the share of the time until it was sure that they were at work, and the scores by then.
    """
    questions = problem.questions
    pending = np.zeros(len(questions), dtype=np.int64)
    free, out, now = list(range(evaluators)), [], 0.0
    turns: list[tuple[float, float]] = []  # when each evaluation was begun and ended
    end, by_then = math.inf, 0
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
        counts = np.eye(len(policy.actions), dtype=np.int64)[x]
        policy.tell(eh.Feedback(counts, counts * score, counts * score**2))
        if not policy.settled:
            by_then = policy.spent + 1
        elif math.isinf(end):
            end = now
    end = min(end, now)
    worked = sum(min(until, end) - begun for begun, until in turns if begun < end)
    return (worked / (evaluators * end) if end else 1.0), min(by_then, policy.spent)


def side_by_side(runs: int, seed: int) -> None:
    """Print what sixteen evaluators at once cost beside one, and how busy they are."""
    makers: dict[str, Callable[[int], eh.BiasedLinearBandit]] = {
        "panel 8 × 16": partial(eh.families.panel, 8, 16, gap=0.5, bias=1.0, capacity=None),
        "random (15, 3)": partial(eh.families.random, 15, 3),
    }
    print("## Sixteen evaluators side by side, answers of lognormal times\n")
    print("| instances | runs | scores until certain ÷ one at a time | all | at work | false |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, make in makers.items():
        ratios, busy, false = [], [], 0
        for i in range(seed, seed + runs):
            problem, scores = make(i), []
            for evaluators in (1, 16):
                policy = eh.CertainChoice(problem.actions, at_most=20_000)
                rng = np.random.default_rng([i, evaluators])
                share, by_then = work(problem, policy, evaluators, rng)
                decision = policy.recommend()
                false += decision.loss == 0.0 and decision.option != problem.best
                scores.append((by_then, policy.spent))
            ratios.append(np.log(np.array(scores[1]) / scores[0][0]))
            busy.append(share)
        until, everything = np.exp(np.mean(ratios, axis=0))
        error = np.std(ratios, axis=0)[0] / math.sqrt(runs)
        print(
            f"| {name} | {runs} | {until:.2f} ± {error:.2f} | {everything:.2f} "
            f"| {100 * np.mean(busy):.1f}% | {false} |",
            flush=True,
        )
    print()


# ---------------------------------------------------------------------- how often it is false


class Fickle(StagePlanner):
    """An enemy: a leader at random in every plan, of those not rejected."""

    def leading(self, guess: Fit, now: Evidence) -> int:
        open_ = np.flatnonzero(~now.rejected)
        chance = np.random.default_rng([self.seed, len(self.inference.record.rounds)])
        return int(chance.choice(open_))


class Contrary(StagePlanner):
    """An enemy: whoever has least evidence against it leads; the nearly rejected are tested."""

    def leading(self, guess: Fit, now: Evidence) -> int:
        return int(np.argmin(np.where(now.rejected, np.inf, now.wealth)))


class FickleChoice(eh.CertainChoice):
    """Plans as `Fickle` does."""

    name = "fickle"
    planner = Fickle


class ContraryChoice(eh.CertainChoice):
    """Plans as `Contrary` does."""

    name = "contrary"
    planner = Contrary


@dataclass(frozen=True)
class Trap:
    """A problem in which false answers are likely, if anywhere."""

    name: str
    problem: eh.BiasedLinearBandit
    at_most: int


def traps() -> Iterator[Trap]:
    """Yield ties, near-ties and the skating event with all values alike."""
    rng = np.random.default_rng(7)
    for name, gap in (("a tie of two", 0.0), ("a gap of 0.001", 1e-3)):
        actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0]], [1, -1, 1])
        problem = eh.BiasedLinearBandit(actions, gamma=[0.5 + gap, 0.5], omega=0.4)
        yield Trap(name, problem, 300)
    X = rng.standard_normal((6, 2))
    flat = eh.BiasedLinearBandit(
        eh.ActionSet(X, [1, -1, 1, -1, 1, -1]), gamma=[1e-6, 0.0], omega=0.3
    )
    yield Trap("six about equal", flat, 300)


def errors(runs: int, seed: int) -> None:
    """Print how often a best option was rejected, which is what the proof bounds by δ."""
    print(f"## A best option rejected, δ = {DELTA:g}\n")
    print("| problem | leader | noise | runs | answers | rejected | share |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    policies: dict[str, type[eh.CertainChoice]] = {
        "own": eh.CertainChoice,
        "random": FickleChoice,
        "contrary": ContraryChoice,
        "own, eight at once": eh.CertainChoice,
    }
    for trap in traps():
        values = trap.problem.values
        best = values >= values.max() - 1e-12
        for label, cls in policies.items():
            for known in (True, False):
                answers = false = 0
                for i in range(seed, seed + runs):
                    options: dict[str, Any] = {"noise_scale": 1.0} if known else {}
                    policy = cls(trap.problem.actions, at_most=trap.at_most, seed=i, **options)
                    rng = np.random.default_rng([i, 2])
                    if "eight" in label:
                        work(trap.problem, policy, 8, rng)
                    else:
                        play(trap.problem, policy, rng, share=0.02)
                    found = policy.inference.evidence()
                    answers += found.answer is not None
                    false += bool(found.rejected[best].any())
                noise = "known" if known else "unknown"
                print(
                    f"| {trap.name} | {label} | {noise} | {runs} | {answers} | {false} "
                    f"| {false / runs:.4f} |",
                    flush=True,
                )
    print()


# ---------------------------------------------------------------------- the bias


def bias(runs: int, seed: int) -> None:
    """Print coverage and width of the interval of the bias, beside ± 1.96 sd of pooled fits."""
    print("## The bias: intervals of 95% on the skating event\n")
    print("| policy | noise | evaluations | covered | mean half-width | in sd |")
    print("| --- | --- | --- | --- | --- | --- |")
    problem = skate_canada().problem
    for cls in (eh.CertainChoice,):
        for known in (True, False):
            covered, widths, scaled, spent = 0, [], [], []
            for i in range(seed, seed + runs):
                options: dict[str, Any] = {"noise_scale": problem.noise_scale} if known else {}
                policy = cls(problem.actions, at_most=640, **options)
                play(problem, policy, np.random.default_rng([i, 3]))
                said = policy.bias()
                covered += said.covers(float(np.atleast_1d(problem.omega)[0]))
                widths.append(0.5 * (said.high - said.low))
                counts = policy.record.everything.counts
                rows = problem.actions.points * np.sqrt(counts)[:, None]
                direction = np.eye(1, rows.shape[1], problem.actions.n_features)[0]
                variance = direction @ np.linalg.pinv(rows.T @ rows, hermitian=True) @ direction
                scaled.append(widths[-1] / (problem.noise_scale * math.sqrt(variance)))
                spent.append(policy.spent)
            print(
                f"| {cls.name} | {'known' if known else 'unknown'} | {np.mean(spent):.0f} "
                f"| {covered / runs:.3f} | {np.mean(widths):.2f} | {np.mean(scaled):.2f} |",
                flush=True,
            )
    print()


# ---------------------------------------------------------------------- the m best


def top_limit(problem: eh.BiasedLinearBandit, m: int) -> float:
    """Return T*·kl(δ, 1−δ) for the m best: pairs across the line in the place of rivals."""
    order = np.argsort(-problem.values, kind="stable")
    x, y = np.repeat(order[:m], len(order) - m), np.tile(order[m:], m)
    features, points = problem.questions.options.features, problem.questions.weighted_points
    leads = np.zeros((len(x), points.shape[1]))
    leads[:, : features.shape[1]] = features[x] - features[y]
    gaps = problem.values[x] - problem.values[y]
    if gaps.min() <= 0.0:
        return math.inf
    scaled = leads * (math.sqrt(2.0) * problem.noise_scale / gaps)[:, None]
    value = joint_design(points, scaled, problem.questions.prices, 1e-3).value
    return value * certainty_entropy(1.0 - DELTA)


def with_line(k: int, d: int, m: int, seed: int) -> tuple[eh.BiasedLinearBandit, float]:
    """Return a random problem whose m best can be found, and its limit: up to 50,000."""
    for attempt in range(1_000):
        problem = eh.families.random(k, d, np.random.default_rng([k, d, seed, attempt]))
        found = top_limit(problem, m)
        if 5 * (d + 1) <= found <= 5e4:
            return problem, found
    raise RuntimeError("no such instance")


@dataclass(frozen=True, eq=False)
class Pairs(Places):
    """Evidence for every pair of options by itself; nothing is lost where places change."""

    pairs: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # (k, k)

    def with_wealth(self, wealth: Floats) -> Pairs:
        pairs, m = self.pairs.copy(), self.top
        pairs[np.ix_(self.order[:m], self.order[m:])] = wealth
        return replace(self, wealth=wealth, pairs=pairs)

    def arranged(self, order: Indices) -> Pairs:
        wealth = self.pairs[np.ix_(order[: self.top], order[self.top :])]
        return replace(self, order=order, wealth=wealth)


class PairInference(SetInference):
    """The m best by pairs, each at its share of the level."""

    def _start(self) -> SetEvidence:
        k, m = len(self.aim.questions.options), self.aim.top
        none = np.zeros((k, k))
        return SetEvidence(Pairs(np.arange(k), none[:m, m:], 0.0, self.aim.kinds, none))


class PairsChoice(eh.CertainChoice):
    """The m best by pairs with a union over those across the line."""

    name = "pairs"

    def _new_inference(self) -> SetInference:
        m, k = self.aim.top, len(self.options)
        shared = 1.0 - (1.0 - self.confidence) / (m * (k - m))
        return PairInference(replace(self.aim, confidence=shared), self.record)


def uniform(problem: eh.BiasedLinearBandit, m: int, rng: np.random.Generator) -> tuple[int, bool]:
    """Return how many evaluations it takes if all options have as many, and whether it is right.

    A look after every per cent; pairs across the line with a union, by normal mixtures.
    """
    X, k = problem.actions.points, len(problem.values)
    V, d = np.linalg.pinv(X.T @ X), problem.questions.options.features.shape[1]
    n, sums = 2, math.sqrt(2.0) * rng.standard_normal(k)
    need = 2.0 * math.log(m * (k - m) / DELTA)
    while True:
        theta = V @ (X.T @ (problem.evaluations + problem.noise_scale * sums / n))
        values = X[:, :d] @ theta[:d]
        order = np.argsort(-values, kind="stable")
        x, y = np.repeat(order[:m], k - m), np.tile(order[m:], m)
        D = X[x] - X[y]
        D[:, d:] = 0.0
        one = np.einsum("ij,jk,ik->i", D, V, D) * problem.noise_scale**2
        J, rho = n / one, 20.0 / one  # tuned to twenty evaluations of each
        z = (values[x] - values[y]) * np.sqrt(J)
        if (z**2 * J / (J + rho) >= need + np.log1p(J / rho)).all() and (z > 0.0).all():
            return n * k, values_right(problem, order[:m])
        more = max(1, n // 100)
        sums, n = sums + math.sqrt(more) * rng.standard_normal(k), n + more


def values_right(problem: eh.BiasedLinearBandit, chosen: Indices) -> bool:
    """Tell whether nobody who is left out is better than anybody who is chosen."""
    inside = np.isin(np.arange(len(problem.values)), chosen)
    return bool(problem.values[inside].min() >= problem.values[~inside].max() - 1e-12)


def top_cost(runs: int, seed: int, families: Sequence[tuple[int, int, int, float]]) -> None:
    """Print evaluations ÷ limit for the m best, one run for each fresh instance."""
    print(f"## The m best: evaluations ÷ limit, δ = {DELTA:g}, noise known\n")
    print("| options, features, wanted | by | runs | mean | ± | median | target | false | ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for k, d, m, target in families:
        found: dict[str, list[tuple[float, bool, float]]] = {}
        for i in range(seed, seed + runs):
            problem, least = with_line(k, d, m, i)
            for name, cls in (("places", eh.CertainChoice), ("pairs, union", PairsChoice)):
                start = time.perf_counter()
                policy = cls(problem.actions, at_most=10**8, noise_scale=1.0, top=m)
                policy.checked = False  # a false alarm is no matter of certainty
                play(problem, policy, np.random.default_rng([i, 1]))
                said = policy.recommend().selection
                assert said is not None
                assert said.wrong_at_most == 0
                right = values_right(problem, np.array(said.chosen))
                taken = 1e3 * (time.perf_counter() - start)
                found.setdefault(name, []).append((policy.spent / least, right, taken))
            start = time.perf_counter()
            n, right = uniform(problem, m, np.random.default_rng([i, 2]))
            taken = 1e3 * (time.perf_counter() - start)
            found.setdefault("uniform", []).append((n / least, right, taken))
        for name, rows in found.items():
            ratios = np.array([row[0] for row in rows])
            print(
                f"| {k} × {d}, {m} | {name} | {runs} | {ratios.mean():.2f} "
                f"| {ratios.std() / math.sqrt(runs):.2f} | {np.median(ratios):.2f} "
                f"| {target if name == 'places' else '–'} | {sum(not row[1] for row in rows)} "
                f"| {np.mean([row[2] for row in rows]):.0f} |",
                flush=True,
            )
    print()


class Restless(SetPlanner):
    """An enemy: other places in every plan, at random."""

    def arranged(self, guess: Fit, now: SetEvidence) -> Places:
        chance = np.random.default_rng([self.seed, len(self.inference.record.rounds)])
        return now.places.arranged(chance.permutation(len(now.places.order)))


class RestlessChoice(eh.CertainChoice):
    """Plans as `Restless` does."""

    name = "restless"
    set_planner = Restless


def top_errors(runs: int, seed: int) -> None:
    """Print how often a claim contradicts one fixed true set, which the proof bounds by δ."""
    print(f"## The two best of six, a tie at the line: one true set contradicted, δ = {DELTA:g}\n")
    print("| at the line | places | noise | runs | answers | contradicted | share |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    X = np.random.default_rng(7).standard_normal((6, 2))
    policies = {"own": eh.CertainChoice, "at random": RestlessChoice}
    for name, gap in (("a tie", 0.0), ("a gap of .001", 1e-3), ("all about equal", math.nan)):
        features = X.copy()
        if not math.isnan(gap):  # the values are the first feature: 1, .5, .5 − gap, 0, …
            features[:, 0] = [1.0, 0.5, 0.5 - gap, 0.0, -0.5, -1.0]
        scale = 1e-6 if math.isnan(gap) else 1.0
        actions = eh.ActionSet(features, [1, -1, 1, -1, 1, -1])
        problem = eh.BiasedLinearBandit(actions, gamma=[scale, 0.0], omega=0.3)
        true = set(np.argsort(-problem.values, kind="stable")[:2].tolist())
        for label, cls in policies.items():
            for known in (True, False):
                answers = false = 0
                for i in range(seed, seed + runs):
                    noise = {"noise_scale": 1.0} if known else {}
                    policy = cls(actions, at_most=300, seed=i, top=2, **noise)
                    play(problem, policy, np.random.default_rng([i, 2]), share=0.02)
                    said = policy.recommend().selection
                    assert said is not None
                    answers += said.wrong_at_most == 0
                    false += not (set(said.inside) <= true and true.isdisjoint(said.outside))
                print(
                    f"| {name} | {label} | {'known' if known else 'unknown'} | {runs} | {answers} "
                    f"| {false} | {false / runs:.4f} |",
                    flush=True,
                )
    print()


LENIENT = (0.6, -0.3, -0.3)  # 0 on average


def judged(values: Sequence[float]) -> eh.BiasedLinearBandit:
    """Return options of these values by the average of three judges, who are asked at will."""
    panel = eh.Questions.panel([f"o{i}" for i in range(len(values))], list("PQR"), capacity=None)
    omega = [one - LENIENT[0] for one in LENIENT[1:]]
    return eh.BiasedLinearBandit(panel, gamma=[v + LENIENT[0] for v in values], omega=omega)


def side_limit(problem: eh.BiasedLinearBandit, against: int | None) -> float:
    """Return T*·kl(δ, 1−δ) for all sides, of a bar at 0 or of one option."""
    questions = problem.questions
    X, points = questions.options.features, questions.weighted_points
    rows = np.hstack([X, np.tile(questions.neutral, (len(X), 1))])
    if against is not None:
        rows = np.delete(rows - rows[against], against, axis=0)
    away = rows @ np.concatenate([problem.gamma, problem.omega])
    scaled = rows * (math.sqrt(2.0) / np.abs(away))[:, None]
    value = joint_design(points, scaled, questions.prices, 1e-3).value
    return value * certainty_entropy(1.0 - DELTA)


def side_cost(runs: int, seed: int) -> None:
    """Print evaluations ÷ limit until it is certain of twelve options on which side they are."""
    print(f"## Twelve options, three judges: evaluations ÷ limit, δ = {DELTA:g}, noise known\n")
    print("| held against | runs | mean | ± | median | false |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, given in (("a bar", {"bar": 0.0}), ("the median option", {"against": "o6"})):
        ratios, false = [], 0
        for i in range(seed, seed + runs):
            values = np.sort(np.random.default_rng([i, 3]).normal(size=12))
            rival = None if "bar" in given else 6
            away = values - (0.0 if rival is None else values[rival])
            if np.abs(np.delete(away, 6) if rival else away).min() < 0.05:
                continue
            problem = judged(values.tolist())
            policy = eh.CertainChoice(problem.questions, at_most=10**7, noise_scale=1.0, **given)
            play(problem, policy, np.random.default_rng([i, 1]))
            said = policy.recommend().selection
            assert said is not None
            ratios.append(policy.spent / side_limit(problem, rival))
            false += bool(
                (away[list(said.inside)] < 0).any() or (away[list(said.outside)] > 0).any()
            )
        error = np.std(ratios) / math.sqrt(len(ratios))
        print(
            f"| {name} | {len(ratios)} | {np.mean(ratios):.2f} | {error:.2f} "
            f"| {np.median(ratios):.2f} | {false} |",
            flush=True,
        )
    print()


def side_errors(runs: int, seed: int) -> None:
    """Print how often anything false is said where options are worth exactly as much."""
    print(f"## Five options, three of them at the bar: anything false, δ = {DELTA:g}\n")
    print("| held against | tolerance | noise | runs | false | share |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, given in (("a bar", {"bar": 0.0}), ("an option", {"against": "o0"})):
        for tolerance in (0.0, 0.3):
            tied = -tolerance - 1e-9 if tolerance else 0.0
            values = np.array([0.0 if name == "an option" else tied, tied, tied, 1.0, -1.0])
            problem = judged(values.tolist())
            for known in (True, False):
                false = 0
                for i in range(seed, seed + runs):
                    noise = {"noise_scale": 1.0} if known else {}
                    policy = eh.CertainChoice(
                        problem.questions, at_most=300, tolerance=tolerance, **given, **noise
                    )
                    play(problem, policy, np.random.default_rng([i, 2]), share=0.05)
                    said = policy.recommend().selection
                    assert said is not None
                    least = -tolerance if tolerance else 1e-12
                    false += bool(
                        (values[list(said.inside)] < least).any()
                        or (values[list(said.outside)] >= 0.0).any()
                    )
                print(
                    f"| {name} | {tolerance:g} | {'known' if known else 'unknown'} | {runs} "
                    f"| {false} | {false / runs:.3f} |",
                    flush=True,
                )
    print()


def main(argv: Sequence[str] | None = None) -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "part",
        nargs="?",
        choices=["cost", "random", "classical", "side", "errors", "bias", "top", "sides", "all"],
        default="all",
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100_000)
    parser.add_argument("--kinds", default=",".join(KINDS).replace(", ", "; "))
    parser.add_argument("--tiny", action="store_true", help="a size that is only there for tests")
    given = parser.parse_args(argv)
    runs = 2 if given.tiny else given.runs
    kinds = [kind.replace("; ", ", ") for kind in given.kinds.split(",")]
    if given.tiny:
        kinds = ["skating", "k = 2…5"]
    if given.part in ("cost", "all"):
        for known in (True, False):
            cost(runs, given.seed, {kind: KINDS[kind] for kind in kinds}, known)
    if given.part in ("random", "all"):
        cost(runs, given.seed, RANDOM, known=True)
    if given.part in ("classical", "all"):
        cost(runs, given.seed, CLASSICAL, known=True)
    if given.part in ("side", "all"):
        side_by_side(runs, given.seed)
    if given.part in ("errors", "all"):
        errors(runs, given.seed)
    if given.part in ("bias", "all"):
        bias(runs, given.seed)
    if given.part in ("top", "all"):
        sizes = [(5, 2, 2, 3.2)] if given.tiny else [(12, 3, 3, 3.2), (20, 5, 5, 3.6)]
        top_cost(runs, given.seed, sizes)
        top_errors(runs, given.seed)
    if given.part in ("sides", "all"):
        side_cost(runs, given.seed)
        side_errors(runs, given.seed)


if __name__ == "__main__":
    main()
