"""What PricedExploration pays for guarantee, ignorance and batches; and is what it says so?

Five parts, each a table or two in Markdown:

    envelope    its regret over that of the heuristic alone, which plays without the envelope
    settings    noise or horizon unknown, batches: regret over that with the usual settings
    looks       cost="evaluation": against designs that are fixed in advance, tuned in hindsight
    statements  how often what it says of bias, loss and leads is wrong, and how wide that is
    speed       runs per second, over those of Fair Phased Elimination

Replication i of everything that is compared sees the same noise. A ratio is one of mean regrets,
with the standard error that pairs leave; over several instances, the geometric mean. An instance
that is several problems (a worst-case pair, a family) counts as the mean over them.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evenhand as eh
from evenhand.designs import g_optimal_design
from evenhand.files import write_atomically
from evenhand.policies.base import Policy
from evenhand.policies.certified import Certified
from evenhand.policies.priced_exploration import BoundaryExploration, PricedExploration
from evenhand.research.comparison.instances import (
    FULL,
    QUICK,
    Benchmark,
    Continuous,
    FourGroups,
    GapDependent,
    Instance,
    Random,
    Shape,
    Skating,
    WorstCase,
    short_power,
)
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation import Runs
from evenhand.research.simulation.experiment import Contender, play_out

Floats = NDArray[np.float64]
Record = dict[str, Any]

SEED = 4
DELTAS = (0.1, 0.01)


@dataclass(frozen=True)
class Effort:
    """How much is run: what is played, and how many replications of each part."""

    benchmark: Benchmark
    growth_horizons: tuple[int, ...]
    envelope: int
    growth: int
    acts: int
    settings: int
    looks: int
    statements: int
    statements_others: int
    statements_always: int
    speed: int
    shapes: int | None = None  # of every part that has a list of them; all if not given


THOROUGH = Effort(
    benchmark=FULL,
    growth_horizons=tuple(10**e for e in range(6, 13)),
    envelope=30,
    growth=100,
    acts=10,
    settings=150,
    looks=4000,
    statements=10_000,
    statements_others=500,
    statements_always=40,
    speed=1000,
)
BRIEF = Effort(
    benchmark=QUICK,
    growth_horizons=(10**6, 10**9, 10**12),
    envelope=4,
    growth=6,
    acts=2,
    settings=8,
    looks=40,
    statements=500,
    statements_others=50,
    statements_always=3,
    speed=50,
)

TINY = Effort(
    benchmark=QUICK.only(["gaps"]).over([1000]),
    growth_horizons=(1000,),
    envelope=2,
    growth=2,
    acts=1,
    settings=2,
    looks=2,
    statements=2,
    statements_others=1,
    statements_always=3,
    speed=2,
    shapes=1,
)
"""To see that everything runs, in seconds."""

GROWTH = (GapDependent(4, 2.0, 0.1, 0.1), GapDependent(4, 4.0, 0.05, 0.1))
SETTINGS: dict[str, dict[str, Any]] = {
    "noise unknown": {"noise_scale": None},
    "horizon unknown": {"horizon_known": False},
    "batch 16": {"batch": 16},
    "batch 64": {"batch": 64},
    "batch 256": {"batch": 256},
}
TARGETS = {"noise unknown": 1.05, "horizon unknown": 1.25, "batch 64": 1.1}
SETTING_SHAPES: dict[str, tuple[Shape, ...]] = {
    "worst case": tuple(WorstCase(c, d, k) for c in (1.0, 3.0) for d, k in ((2, 1.0), (5, 4.0))),
    "gaps": (
        GapDependent(2, 4.0, 0.05, 0.2),
        GapDependent(4, 2.0, 0.1, 0.1),
        GapDependent(4, 4.0, 0.05, 0.1),
    ),
    "random": tuple(Random(k, d, seed) for k, d in ((20, 3), (50, 5)) for seed in (1, 2, 3)),
}
LOOK_SHAPES: tuple[Shape, ...] = (
    GapDependent(2, 4.0, 0.05, 0.2),
    GapDependent(4, 2.0, 0.1, 0.1),
    GapDependent(4, 4.0, 0.05, 0.1),
    *(Random(k, d, seed) for k, d in ((20, 3), (50, 5)) for seed in (1, 2, 3)),
)
WORTHS = (10**4, 10**6)  # evaluations that a loss of the value bound is worth
STATED_SHAPES: tuple[Shape, ...] = (
    WorstCase(1.0, 2, 1.0),
    WorstCase(3.0, 5, 4.0),
    GapDependent(4, 2.0, 0.1, 0.1),
    Random(20, 3, 1),
    FourGroups(20, 3, 1),
    Continuous(20, 3, 1),
    Skating(),
)
STATED_HORIZON = 10**5


# What is compared


@dataclass(frozen=True)
class Ratio:
    """A ratio of means and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"

    @staticmethod
    def of(these: Floats, those: Floats) -> Ratio:
        """Ratio of the means of pairs; the error is that of (these − ratio · those)."""
        ratio = float(these.mean() / those.mean())
        spread = (these - ratio * those).std(ddof=1) / math.sqrt(len(these))
        return Ratio(ratio, float(spread / those.mean()))

    @staticmethod
    def mean(ratios: Sequence[Ratio]) -> Ratio:
        """Geometric mean of independent ratios."""
        mean = math.exp(sum(math.log(ratio.value) for ratio in ratios) / len(ratios))
        relative = math.hypot(*(ratio.error / ratio.value for ratio in ratios)) / len(ratios)
        return Ratio(mean, mean * relative)


def played(
    instance: Instance,
    who: Sequence[Contender],
    replications: int,
    executor: Executor,
    *,
    longer: int = 1,
) -> dict[str, list[Runs]]:
    """Return the runs of every policy, problem by problem; ``longer`` times as long, if asked to.

    The first checkpoint is the horizon of the instance all the same.
    """
    runs: dict[str, list[Runs]] = {contender.name: [] for contender in who}
    for problem in instance.shape.problems(instance.horizon):
        results = eh.simulate(
            problem,
            [c.with_options(value_bound=instance.shape.value_bound) for c in who],
            longer * instance.horizon,
            replications,
            SEED,
            executor,
            checkpoints=(instance.horizon,),
            progress=False,
        )
        for one in results.runs:
            runs[one.policy].append(one)
    return runs


def regrets(runs: Sequence[Runs]) -> Floats:
    """(problems, replications) regret at the horizon of the instance."""
    return np.array([one.regret[:, 0] for one in runs])


# What the envelope costs

PAIR = (Contender("with", PricedExploration), Contender("without", BoundaryExploration))


def envelope(effort: Effort, executor: Executor) -> list[Record]:
    """Regret with the envelope over that without, for every instance.

    Without it the same is played to the last bit until the envelope first acts. So a run in which
    it never does has the same regret.
    """
    records = []
    for instance in effort.benchmark.instances:
        runs = played(instance, PAIR, effort.envelope, executor)
        those, these = regrets(runs["without"]), regrets(runs["with"])
        ratio = Ratio.of(these.mean(axis=0), those.mean(axis=0))
        records.append(
            {
                "suite": instance.suite,
                "horizon": instance.horizon,
                "instance": instance.shape.words,
                "ratio": ratio.value,
                "error": ratio.error,
                "acts": float((these != those).mean()),
            }
        )
        say(".")
    return records


def envelope_tables(records: Sequence[Record]) -> Iterable[str]:
    cells = dict.fromkeys((one["suite"], one["horizon"]) for one in records)
    rows = []
    for suite, horizon in cells:
        part = [one for one in records if (one["suite"], one["horizon"]) == (suite, horizon)]
        worst = max(part, key=lambda one: one["ratio"])
        rows.append(
            [
                suite,
                short_power(horizon),
                len(part),
                Ratio.mean([Ratio(one["ratio"], one["error"]) for one in part]),
                Ratio(worst["ratio"], worst["error"]),
                percent(np.mean([one["acts"] for one in part])),
            ]
        )
    yield table(
        ["suite", "T", "instances", "with ÷ without", "largest", "runs in which it acts"], rows
    )
    touched = [one for one in records if one["acts"] > 0.0]
    touched.sort(key=lambda one: -one["ratio"])
    if touched:
        yield "Where it acts, the largest ratio first:"
        yield table(
            ["instance", "T", "with ÷ without", "runs in which it acts"],
            [
                [
                    f"{one['suite']}: {one['instance']}",
                    short_power(one["horizon"]),
                    Ratio(one["ratio"], one["error"]),
                    percent(one["acts"]),
                ]
                for one in touched[:15]
            ],
        )
        if len(touched) > 15:
            yield f"And {len(touched) - 15} more, below {touched[14]['ratio']:.3f}."


def growth(effort: Effort, executor: Executor) -> list[Record]:
    """Mean regret with and without the envelope as the horizon grows, and when it acts."""
    records = []
    for shape in GROWTH[: effort.shapes]:
        for horizon in effort.growth_horizons:
            instance = Instance("gaps", shape, horizon)
            runs = played(instance, PAIR, effort.growth, executor)
            those, these = regrets(runs["without"]), regrets(runs["with"])
            n = len(shape.problems(horizon))
            jobs = [(shape, horizon, i % n, i) for i in range(n * effort.acts)]
            seen = list(executor.map(interventions, jobs))
            starts = [one["first"] / horizon for one in seen if one["first"] is not None]
            ratio = Ratio.of(these.mean(axis=0), those.mean(axis=0))
            records.append(
                {
                    "instance": shape.words,
                    "horizon": horizon,
                    "mean": float(these.mean()),
                    "mean_error": standard_error(these.mean(axis=0)),
                    "without": float(those.mean()),
                    "ratio": ratio.value,
                    "error": ratio.error,
                    "acts": float((these != those).mean()),
                    "from": float(np.median(starts)) if starts else None,
                    "frugal": float(np.mean([one["frugal"] for one in seen])),
                    "core": float(np.mean([one["core"] for one in seen])),
                    "wrong": float(np.mean([~one.correct for one in runs["with"]])),
                }
            )
            say(".")
    return records


def interventions(job: tuple[Shape, int, int, int]) -> Record:
    """Play once; return when the envelope first acted, and what its own moves cost in regret."""
    shape, horizon, which, replication = job
    problem = shape.problems(horizon)[which]
    player = Contender("with", PricedExploration).with_options(value_bound=shape.value_bound)
    policy = player.policy(problem, horizon, seed=0)
    assert isinstance(policy, PricedExploration)
    first: int | None = None
    cost: Counter[str] = Counter()
    turn = policy.turn  # whose the next turn is: when it is over, this is that of the one after

    def watch(_: Policy, allocation: eh.Allocation, __: eh.Feedback) -> None:
        nonlocal first, turn
        if turn in ("frugal", "core"):
            first = policy.spent - allocation.total if first is None else first
            cost[turn] += float(allocation.counts @ problem.gaps)
        turn = policy.turn

    evaluations = SimulatedEvaluations(problem, np.random.SeedSequence([SEED, replication]))
    play_out(policy, evaluations, problem.gaps, watch=watch)
    return {"first": first, "frugal": cost["frugal"], "core": cost["core"]}


def growth_tables(records: Sequence[Record]) -> Iterable[str]:
    for words in dict.fromkeys(one["instance"] for one in records):
        part = [one for one in records if one["instance"] == words]
        before: Record | None = None
        rows = []
        for one in part:
            rise = "–"
            if before is not None:
                decades = math.log10(one["horizon"] / before["horizon"])
                rise = f"{(one['mean'] - before['mean']) / decades:,.0f}"
            rows.append(
                [
                    short_power(one["horizon"]),
                    f"{one['mean']:,.0f} ± {one['mean_error']:,.0f}",
                    rise,
                    f"{one['without']:,.0f}",
                    Ratio(one["ratio"], one["error"]),
                    percent(one["acts"]),
                    "–" if one["from"] is None else f"{one['from']:.2f} T",
                    f"{one['frugal']:,.0f} / {one['core']:,.0f}",
                ]
            )
            before = one
        yield f"Gap-dependent family, {words}:"
        yield table(
            [
                "T", "regret", "more per decade", "heuristic alone", "with ÷ without",
                "runs in which it acts", "from", "cost of its cheaper looks / core",
            ],
            rows,
        )  # fmt: skip


# What it costs not to know, and to look in batches


def settings(effort: Effort, executor: Executor) -> list[Record]:
    """Regret with other settings over that with the usual ones, T = 10⁶.

    Who does not know the horizon is told one that is ten times as long, and looked at before: if
    it were told T as the latest end, it would not look at anything new shortly before.
    """
    records = []
    changed = {
        name: Contender(name, PricedExploration).with_options(**options)
        for name, options in SETTINGS.items()
    }
    endless = [who for who in changed.values() if ("horizon_known", False) in who.options]
    known = [who for who in changed.values() if who not in endless]
    known.append(Contender("usual", PricedExploration))
    for suite, shapes in SETTING_SHAPES.items():
        for shape in shapes[: effort.shapes]:
            instance = Instance(suite, shape, 10**6)
            runs = played(instance, known, effort.settings, executor)
            runs |= played(instance, endless, effort.settings, executor, longer=10)
            usual = regrets(runs["usual"]).mean(axis=0)
            for name in SETTINGS:
                these = regrets(runs[name])
                ratio = Ratio.of(these.mean(axis=0), usual)
                records.append(
                    {
                        "suite": suite,
                        "instance": shape.words,
                        "setting": name,
                        "mean": float(these.mean()),
                        "usual": float(usual.mean()),
                        "ratio": ratio.value,
                        "error": ratio.error,
                    }
                )
            say(".")
    return records


def settings_tables(records: Sequence[Record]) -> Iterable[str]:
    rows = []
    for name in SETTINGS:
        own = [one for one in records if one["setting"] == name]
        cells = []
        for suite in [*SETTING_SHAPES, None]:
            part = [one for one in own if suite in (one["suite"], None)]
            cells.append(Ratio.mean([Ratio(one["ratio"], one["error"]) for one in part]))
        target = TARGETS.get(name)
        rows.append([name, *cells, "–" if target is None else f"≤ {target:g}"])
    yield table(["setting", *SETTING_SHAPES, "all", "target"], rows)
    yield "Instance by instance:"
    instances = dict.fromkeys((one["suite"], one["instance"]) for one in records)
    rows = []
    for suite, words in instances:
        part = {
            one["setting"]: one
            for one in records
            if (one["suite"], one["instance"]) == (suite, words)
        }
        usual = next(iter(part.values()))["usual"]
        ratios = [Ratio(part[name]["ratio"], part[name]["error"]) for name in SETTINGS]
        rows.append([f"{suite}: {words}", f"{usual:,.0f}", *ratios])
    yield table(["instance", "usual", *SETTINGS], rows)


# Few evaluations instead of small regret


def looks(effort: Effort, executor: Executor) -> list[Record]:
    """What finding the best option costs: evaluations, and the loss in evaluations it is worth."""
    records = []
    for shape in LOOK_SHAPES[: effort.shapes]:
        for worth in WORTHS:
            instance = Instance("looks", shape, 10**9)
            who = Contender("priced", PricedExploration)
            who = who.with_options(cost="evaluation", worth=worth)
            runs = played(instance, [who], effort.looks, executor)["priced"]
            problems = shape.problems(instance.horizon)
            spent = np.array([one.spent for one in runs], dtype=float)
            loss = np.array([p.gaps[one.option] for p, one in zip(problems, runs, strict=True)])
            cost = (spent + worth * loss).mean(axis=0)
            record = {
                "instance": shape.words,
                "worth": worth,
                "evaluations": float(spent.mean()),
                "wrong": float(np.mean([~one.correct for one in runs])),
                "loss": float(loss.mean()),
                "cost": float(cost.mean()),
                "error": standard_error(cost),
            }
            G = g_optimal_design(problems[0].actions.points).weights
            uniform = np.full(len(G), 1.0 / len(G))
            for name, weights in (("G-design", G), ("uniform", uniform)):
                record[name] = in_hindsight(problems, weights, worth)
            records.append(record)
            say(".")
    return records


def in_hindsight(problems: Sequence[BiasedLinearBandit], weights: Floats, worth: float) -> Record:
    """Return what a design costs at the number of evaluations that is best for these problems.

    Numbers of evaluations are not rounded, in the design's favour; the same noise for all of them.
    """
    actions = problems[0].actions
    A, X, d = actions.points, actions.features, actions.n_features
    values, vectors = np.linalg.eigh(A.T @ (weights[:, None] * A))
    keep = values > 1e-10 * values[-1]
    root = vectors[:, keep] / np.sqrt(values[keep])
    noise = np.random.default_rng(SEED).standard_normal((4000, int(keep.sum())))
    errors = noise @ (X @ root[:d]).T  # of the estimated values after one evaluation
    numbers = np.geomspace(A.shape[1], 10.0 * worth, 150)
    losses, wrong = np.empty(len(numbers)), np.empty(len(numbers))
    for i, n in enumerate(numbers):
        lost = [
            p.gaps[np.argmax(p.values + p.noise_scale / math.sqrt(n) * errors, axis=1)]
            for p in problems
        ]
        losses[i], wrong[i] = np.mean(lost), np.mean(np.array(lost) > 0.0)
    cost = numbers + worth * losses
    best = int(np.argmin(cost))
    return {
        "evaluations": float(numbers[best]),
        "wrong": float(wrong[best]),
        "loss": float(losses[best]),
        "cost": float(cost[best]),
    }


def looks_tables(records: Sequence[Record]) -> Iterable[str]:
    rows = []
    for one in records:
        G, uniform = one["G-design"], one["uniform"]
        rows.append(
            [
                one["instance"],
                short_power(one["worth"]),
                f"{one['evaluations']:,.0f}",
                percent(one["wrong"]),
                f"{one['cost']:,.0f} ± {one['error']:,.0f}",
                f"{G['evaluations']:,.0f}",
                percent(G["wrong"]),
                f"{G['cost']:,.0f}",
                f"{uniform['cost']:,.0f}",
                f"{G['cost'] / one['cost']:.2f}",
                f"{uniform['cost'] / one['cost']:.2f}",
            ]
        )
    yield table(
        [
            "instance", "worth", "evaluations", "wrong", "cost", "G: evaluations", "wrong", "cost",
            "uniform: cost", "G ÷ ours", "uniform ÷ ours",
        ],
        rows,
    )  # fmt: skip
    for worth in WORTHS:
        part = [one for one in records if one["worth"] == worth]
        G, uniform = (
            math.exp(np.mean([math.log(one[name]["cost"] / one["cost"]) for one in part]))
            for name in ("G-design", "uniform")
        )
        yield (
            f"Worth {short_power(worth)}, geometric means: the G-design costs {G:.2f} times as "
            f"much, uniform evaluation {uniform:.2f} times."
        )


# Is what it says so?


SPEAKERS = {
    "priced-exploration": Contender("priced-exploration", PricedExploration),
    "noise unknown": Contender("noise unknown", PricedExploration, (("noise_scale", None),)),
    "horizon unknown": Contender("horizon unknown", PricedExploration, (("horizon_known", False),)),
    "Certified(ids-directed)": Contender("ids-directed", "ids-directed"),
}
STATEMENTS = ("bias", "loss", "leads")


@dataclass(frozen=True)
class Hearing:
    """Some replications of who speaks, and whether to listen at every ask or at the end."""

    speaker: str
    shape: Shape
    first: int
    last: int
    always: bool


def heard(job: Hearing) -> Floats:
    """(runs, δ, statement) largest error over half-width of what was said; above 1: it was wrong.

    For the loss, the gap of the recommended option over the bound; for leads, the largest ratio of
    all rivals. NaN where nothing was said that is not known in advance: an infinite interval, or a
    loss of at most 2B.
    """
    problems = job.shape.problems(STATED_HORIZON)
    speaker = SPEAKERS[job.speaker].with_options(value_bound=job.shape.value_bound)
    ratios = np.full((job.last - job.first, len(DELTAS), len(STATEMENTS)), np.nan)
    for row, replication in enumerate(range(job.first, job.last)):
        problem = problems[replication % len(problems)]
        made = speaker.policy(problem, STATED_HORIZON, seed=0)
        policy = made if isinstance(made, Certified) else Certified(made)
        evaluations = SimulatedEvaluations(problem, np.random.SeedSequence([SEED, replication]))
        told: list[Floats] = []
        listen = partial(hear, told, problem) if job.always else None
        play_out(policy, evaluations, problem.gaps, watch=listen)
        ratios[row] = np.fmax.reduce(told) if job.always else off(policy, problem)
    return ratios


def hear(told: list[Floats], problem: BiasedLinearBandit, policy: Policy, *_: object) -> None:
    """Keep how far off a policy is after a turn."""
    told.append(off(policy, problem))


def off(policy: Policy, problem: BiasedLinearBandit) -> Floats:
    """(δ, statement) error over half-width of what the policy says now."""
    assert isinstance(policy, Certified)
    truth = float(np.ravel(problem.omega)[0])
    found = np.empty((len(DELTAS), len(STATEMENTS)))
    for row, delta in enumerate(DELTAS):
        policy.delta = delta  # only what is said depends on it, not what is asked for
        decision, bias = policy.recommend(), policy.bias()
        assert decision.leads is not None
        value, _, high = decision.leads.T
        lead = problem.values[decision.option] - problem.values
        said = decision.loss < 2.0 * policy.value_bound
        found[row] = (
            over(np.abs(bias.value - truth), bias.high - bias.value),
            over(problem.gaps[decision.option], decision.loss if said else math.inf),
            over(np.abs(value - lead), high - value),
        )
    return found


def over(errors: Floats | float, widths: Floats | float) -> float:
    """Largest error in units of what was allowed; NaN if anything was. Rounding is no error."""
    errors, widths = np.atleast_1d(errors), np.atleast_1d(widths)
    if not np.isfinite(widths).all():
        return math.nan
    wrong = errors > 1e-9
    with np.errstate(divide="ignore"):
        return float((errors[wrong] / widths[wrong]).max(initial=0.0))


def statements(effort: Effort, executor: Executor) -> list[Record]:
    """How often what is said is wrong, at the end and at any time."""
    records = []
    for always in (False, True):
        for speaker in SPEAKERS:
            main = speaker == "priced-exploration"
            n = effort.statements if main else effort.statements_others
            if always:
                n = effort.statements_always // (1 if main else 3)
            piece = 2 if always else 250
            for shape in STATED_SHAPES[: effort.shapes]:
                jobs = [
                    Hearing(speaker, shape, first, min(first + piece, n), always)
                    for first in range(0, n, piece)
                ]
                ratios = np.concatenate(list(executor.map(heard, jobs)))
                for row, delta in enumerate(DELTAS):
                    for column, statement in enumerate(STATEMENTS):
                        own = ratios[:, row, column]
                        records.append(
                            {
                                "speaker": speaker,
                                "instance": shape.words,
                                "always": always,
                                "delta": delta,
                                "statement": statement,
                                "n": n,
                                "silent": int(np.isnan(own).sum()),
                                "failed": int((own > 1.0).sum()),
                                "slack": float(np.quantile(np.nan_to_num(own), 1.0 - delta)),
                            }
                        )
                say(".")
    return records


def statements_tables(records: Sequence[Record]) -> Iterable[str]:
    yield (
        "Wrong: runs in which the interval of the bias / the bound of the loss / some interval of "
        "a lead did not hold. Used: the 1 − δ quantile of error ÷ half-width; 1 would be as narrow "
        "as can be, “–” where nothing was said."
    )
    for always in (False, True):
        yield "At any time, looked at after every answer:" if always else "At the end:"
        part = [one for one in records if one["always"] == always]
        rows = []
        for speaker in SPEAKERS:
            own = [one for one in part if one["speaker"] == speaker]
            if speaker == "priced-exploration":
                for words in dict.fromkeys(one["instance"] for one in own):
                    rows.append(row_of(words, [one for one in own if one["instance"] == words]))
                rows.append(row_of("all of these (used: the most)", own))
            else:
                rows.append(row_of(f"{speaker}, all of these", own))
        header = ["instance", "runs"]
        for delta in DELTAS:
            header += [f"δ = {delta:g}: wrong", "used"]
        yield table(header, rows)


def row_of(words: str, records: Sequence[Record]) -> list[object]:
    """One row: failures summed over the instances, slack of the one where it is least."""
    first = [one for one in records if (one["delta"], one["statement"]) == (DELTAS[0], "bias")]
    cells: list[object] = [words, f"{sum(one['n'] for one in first):,}"]
    for delta in DELTAS:
        failed, used = [], []
        for statement in STATEMENTS:
            part = [
                one for one in records if (one["delta"], one["statement"]) == (delta, statement)
            ]
            failed.append(str(sum(one["failed"] for one in part)))
            said = [one["slack"] for one in part if one["silent"] < one["n"]]
            used.append(f"{max(said):.2f}" if said else "–")
        cells += [" / ".join(failed), " / ".join(used)]
    return cells


# Speed


def speed(effort: Effort) -> list[Record]:
    """Runs per second of processor time in one process, everything included; fastest of three."""
    problem = WorstCase(3.0, 2, 1.0).problems(10**6)[0]
    records = []
    with ThreadPoolExecutor(1) as here:
        for name in ("priced-exploration", "boundary-exploration", "fair-phased-elimination"):
            source = BoundaryExploration if name == "boundary-exploration" else name
            run = partial(
                eh.simulate, problem, {name: source}, 10**6, seed=SEED, executor=here,
                checkpoints=(), progress=False,
            )  # fmt: skip
            run(replications=2)
            taken = []
            for _ in range(3):
                start = time.process_time()
                run(replications=effort.speed)
                taken.append(time.process_time() - start)
            records.append({"policy": name, "per_second": effort.speed / min(taken)})
            say(".")
    return records


def speed_tables(records: Sequence[Record]) -> Iterable[str]:
    base = records[-1]["per_second"]
    yield table(
        ["policy", "runs per second and core", "÷ fair-phased-elimination"],
        [
            [one["policy"], f"{one['per_second']:,.0f}", f"{one['per_second'] / base:.2f}"]
            for one in records
        ],
    )


# Printing


def standard_error(sample: Floats) -> float:
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def say(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


PARTS: dict[str, tuple[str, Callable[..., list[Record]], Callable[..., Iterable[str]]]] = {
    "envelope": ("Cost of the envelope", envelope, envelope_tables),
    "growth": ("Growth with the horizon", growth, growth_tables),
    "settings": ("Not knowing, and batches", settings, settings_tables),
    "looks": ("One per evaluation", looks, looks_tables),
    "statements": ("What it says", statements, statements_tables),
    "speed": ("Speed", lambda effort, executor: speed(effort), speed_tables),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="few replications, few instances")
    size.add_argument("--tiny", action="store_true", help="just to see that it runs")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--processes", type=int, default=None, help="all processors if not given")
    parser.add_argument("--json", type=Path, help="file for the numbers behind the tables")
    arguments = parser.parse_args(argv)
    chosen = arguments.only.split(",")
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}.")
    effort = TINY if arguments.tiny else BRIEF if arguments.quick else THOROUGH
    kept: dict[str, list[Record]] = {}
    with ProcessPoolExecutor(arguments.processes) as executor:
        for name in chosen:
            title, run, tables = PARTS[name]
            say(f"{name} ")
            start = time.perf_counter()
            kept[name] = run(effort, executor)
            say(f" {time.perf_counter() - start:.0f} s\n")
            print(f"## {title}\n")
            for text in tables(kept[name]):
                print(f"{text}\n", flush=True)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(arguments.json, "the numbers") as draft:
            draft.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
