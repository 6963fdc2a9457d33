"""How often a careful choice is sure, how often that is true, and what it costs.

On events as single skating judges saw them: with their references as the truth, which no features
explain in full, and with the references linearised; and on random options whose values the features
explain in part. A thousand runs take about a minute.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

import evenhand as eh
from evenhand.cases.skating import LEAST_SKATERS
from evenhand.cases.skating import scores as season_scores

Floats = NDArray[np.float64]
Event = tuple[eh.ActionSet, Floats]  # the skaters, and their references

AT_MOST = 2_000
TUNED_ON = 100  # events that settings were chosen on: the first of the order of seed 7
EVENTS = 295
HOME_BONUS = 1.59  # points for skaters from home, and off others: half of the mean gap
JUDGE_NOISE = 3.6  # standard deviation of a judge's total about what judges from elsewhere give

FEATURES = ("base_value", "max_base", "ability")


@dataclass(frozen=True)
class Instance:
    """Options, what they are worth, and how they are scored."""

    actions: eh.ActionSet
    values: Floats
    bias: Floats
    noise: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    certainty: str | None
    right: bool
    raw_right: bool
    spent: int
    alarm: bool
    unfit: bool


def run(instance: Instance, seed: int, **options: object) -> Outcome:
    """Let the policy choose; beside it, means of as many scores, spread evenly."""
    rng = np.random.default_rng(seed)
    k, means = len(instance.values), instance.values + instance.bias
    policy = eh.search.CarefulChoice(instance.actions, at_most=AT_MOST, **options)  # type: ignore[arg-type]
    while (wanted := policy.ask()).total:
        policy.tell(scores(wanted.counts, means, instance, rng))
    decision = policy.recommend()
    best = instance.values.max()
    each = np.full(k, max(policy.spent // k, 1), dtype=np.int64)
    raw = int(np.argmax(scores(each, means, instance, rng).means))
    return Outcome(
        decision.certainty if decision.loss <= policy.tolerance else None,
        bool(instance.values[decision.option] >= best - 1e-9),
        bool(instance.values[raw] >= best - 1e-9),
        policy.spent,
        any(finding.alarm for finding in decision.warnings),
        any(finding.assumption == "fit" for finding in decision.warnings),
    )


def scores(
    counts: NDArray[np.int64], means: Floats, instance: Instance, rng: np.random.Generator
) -> eh.Feedback:
    """Draw single scores, and add them up per option."""
    options = np.repeat(np.arange(len(counts)), counts)
    drawn = means[options] + instance.noise * rng.standard_normal(len(options))
    k = len(counts)
    return eh.Feedback(
        counts.copy(),
        np.bincount(options, drawn, minlength=k),
        np.bincount(options, drawn**2, minlength=k),
    )


@functools.cache
def season(features: tuple[str, ...], most: int | None) -> list[Event]:
    return list(islice(events_of(features), most))


def events_of(features: tuple[str, ...]) -> Iterator[Event]:
    """Yield the season's events as each single judge sees them: skaters of known ability, six or
    more, from home and not, where the features leave the bias identifiable.
    """
    known = season_scores().dropna(subset=["ability"])
    for _, rows in known.groupby(["competition", "program", "judge"]):
        if len(rows) < LEAST_SKATERS or rows["home"].nunique() < 2:
            continue
        columns = rows[list(features)].to_numpy(float)
        varies = np.ptp(columns, axis=0) > 0.0
        scaled = (columns - columns.mean(axis=0))[:, varies] / columns.std(axis=0)[varies]
        sides = np.where(rows["home"] == 1, 1, -1)
        actions = eh.ActionSet(np.column_stack([np.ones(len(rows)), scaled]), sides)
        try:
            eh.bias_geometry(actions)
        except eh.NotIdentifiableError:
            continue
        yield actions, rows["reference"].to_numpy(float)


def skating(
    features: Sequence[str], linear: bool, events: slice, most: int | None = None
) -> Iterator[Instance]:
    """Yield events of the first ``most``, in an order that is drawn once for all."""
    found = season(tuple(features), most)
    order = np.random.default_rng(7).permutation(len(found))
    for i in order[events]:
        actions, references = found[i]
        X, values = actions.features, references
        if linear:
            values = X @ np.linalg.lstsq(X, references, rcond=None)[0]
        yield Instance(actions, values, HOME_BONUS * actions.groups, JUDGE_NOISE)


def random_effects(n: int, deviation: float, tied: float = 0.0) -> Iterator[Instance]:
    """Yield random options: values x·γ + u, noise of scale 1, groups that lean to some features.

    ``deviation`` is the scale of u; with ``tied`` u goes with the group, by that correlation.
    """
    k, d = 15, 3
    for seed in range(n):
        rng = np.random.default_rng([seed, k, d])
        x = np.column_stack([np.ones(k), rng.standard_normal((k, d))])
        z = np.where(x[:, 1] + 1.5 * rng.standard_normal(k) > 0.5, 1, -1)
        if abs(int(z.sum())) > k - 4:
            z[:2], z[2:4] = 1, -1
        u = np.sqrt(1.0 - tied**2) * rng.standard_normal(k) + tied * z
        values = x @ rng.normal(0.0, 0.5, d + 1) + deviation * u
        yield Instance(eh.ActionSet(x, z), values, 0.5 * z)


def summary(name: str, outcomes: Sequence[Outcome]) -> str:
    n = len(outcomes)
    sure = [o for o in outcomes if o.certainty is not None]
    own = [o for o in sure if o.certainty == "own scores"]
    features = [o for o in sure if o.certainty == "features exact"]

    def share(part: Sequence[object]) -> str:
        return f"{len(part) / n:.1%}"

    def true(part: Sequence[Outcome]) -> str:
        return f"{sum(o.right for o in part) / len(part):.1%}" if part else "–"

    cells = (
        name,
        str(n),
        share(sure),
        true(sure),
        f"{share(own)} / {true(own)}",
        f"{share(features)} / {true(features)}",
        f"{np.mean([o.spent for o in outcomes]):.0f}",
        f"{np.mean([o.right for o in outcomes]):.1%}",
        f"{np.mean([o.raw_right for o in outcomes]):.1%}",
        share([o for o in outcomes if o.alarm]),
        share([o for o in outcomes if o.unfit]),
    )
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| values and features | runs | sure | true | own scores / true | features exact / true | "
    "evaluations | picks the best | raw means, same budget | alarms | lack of fit |\n"
    + "| --- " * 11
    + "|"
)

Part = tuple[str, Callable[[int, int], Iterator[Instance]]]


def parts(start: int, most: int | None = None) -> dict[str, list[Part]]:
    """Return what is run, by title: names, and instances for a number of events and draws."""

    def events(features: Sequence[str], linear: bool) -> object:
        return lambda n, _: skating(features, linear, slice(start, start + n), most)

    def drawn(deviation: float, tied: float = 0.0) -> object:
        return lambda _, n: random_effects(n, deviation, tied)

    without = FEATURES[:2]
    return {
        "Skating, events that nothing was tuned on": [
            ("real, three features", events(FEATURES, False)),
            ("real, without ability", events(without, False)),
            ("linearised, three features", events(FEATURES, True)),
            ("linearised, without ability", events(without, True)),
        ],
        "Random options, k = 15, noise 1, bias ± 0.5": [
            *((f"u of scale {t:g}", drawn(t)) for t in (0.0, 0.28, 1.0)),
            ("u of scale 0.28, tied to the group (.7)", drawn(0.28, 0.7)),
        ],
    }  # type: ignore[dict-item]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="runs per event or draw")
    parser.add_argument("--quick", action="store_true", help="just to see that it runs")
    parser.add_argument("--only", default="", help="parts whose title has this text")
    arguments = parser.parse_args(argv)
    events, draws, seeds = (2, 2, 1) if arguments.quick else (EVENTS, 200, arguments.seeds)
    chosen = parts(0, 150) if arguments.quick else parts(TUNED_ON)
    for title, rows in chosen.items():
        if arguments.only.lower() not in title.lower():
            continue
        print(f"\n## {title}\n\n{HEAD}", flush=True)
        for name, instances in rows:
            found = [run(i, seed) for i in instances(events, draws) for seed in range(seeds)]
            print(summary(name, found), flush=True)


if __name__ == "__main__":
    main()
