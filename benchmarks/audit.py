"""How sure an audit is: skating's numbers, and how often intervals hold the bias.

python benchmarks/audit.py skating                         what the season says, and should
python benchmarks/audit.py coverage --runs 1000 --seed 1   intervals, by the shape of the table
python benchmarks/audit.py flags --runs 1000 --seed 1      evaluators who are flagged falsely
"""

from __future__ import annotations

import argparse
import gzip
import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.scores import Factor, Scores

COLUMNS = {
    "option": "skater",
    "evaluator": "judge",
    "event": ["competition", "program"],
    "option_group": "nation",
    "evaluator_group": "judge_nation",
}


def season() -> pd.DataFrame:
    """Return the scores of the skating season 2016–17."""
    packed = (files("evenhand") / "data" / "skating_judges.csv.gz").read_bytes()
    return pd.read_csv(io.BytesIO(gzip.decompress(packed)), comment="#")


# ----------------------------------------------------------------------- shapes


def table(option: np.ndarray, evaluator: np.ndarray, partial: np.ndarray, **more: object) -> Scores:
    """Return scores of 0 of numbered options by numbered evaluators."""

    def factor(codes: np.ndarray) -> Factor:
        found, codes = np.unique(codes, return_inverse=True)
        return Factor(codes.astype(np.int32), tuple(str(x) for x in found))

    scored = np.zeros(len(option))
    parts = {name: factor(codes) for name, codes in more.items()}
    stated = partial.astype(float)
    return Scores(scored, factor(option), factor(evaluator), stated=stated, **parts)


def grid(
    n_evaluators: int, n_options: int, items: int = 1, groups: int = 0, own: int = 0
) -> Scores:
    """Return a full table; groups of evaluators and options in turn, the first ``own`` partial."""
    e, o, item = (x.ravel() for x in np.indices((n_evaluators, n_options, items)))
    groups = groups or n_evaluators
    partial = (e % groups == o % groups) & (e < (own or n_evaluators))
    return table(o, e, partial, item=item)


def panels(pool: int, n_options: int, judges: int, events: int, groups: int, seed: int) -> Scores:
    """Return events of ten options each, before a few judges of a pool."""
    rng = np.random.default_rng(seed)
    of_judge, of_option = rng.integers(groups, size=pool), rng.integers(groups, size=n_options)
    bench = [rng.choice(pool, judges, replace=False) for _ in range(events)]
    rows = [
        (o, e, event)
        for event in range(events)
        for o in rng.choice(n_options, 10, replace=False)
        for e in bench[event]
    ]
    o, e, event = np.array(rows).T
    return table(o, e, of_judge[e] == of_option[o], event=event)


def unequal(n_evaluators: int, n_options: int) -> Scores:
    """Return a table in which each evaluator scores twice the items of the one before."""
    e, o, item = (x.ravel() for x in np.indices((n_evaluators, n_options, 2**n_evaluators)))
    kept = item < 2 ** (e + 1)
    return table(o[kept], e[kept], (o % n_evaluators == e)[kept], item=item[kept])


def one_group(n_evaluators: int, n_options: int, partial: int, favoured: int) -> Scores:
    """Return a full table in which the first evaluators favour the first options."""
    e, o = (x.ravel() for x in np.indices((n_evaluators, n_options)))
    return table(o, e, (e < partial) & (o < favoured))


def verdicts(n_evaluators: int, n_options: int, items: int, groups: int, seed: int) -> Scores:
    """Return comparisons of all options two by two, the first by lot; groups in turn."""
    pairs = np.array([(a, b) for a in range(n_options) for b in range(a)])
    e, pair, item = (x.ravel() for x in np.indices((n_evaluators, len(pairs), items)))
    turned = np.random.default_rng(seed).integers(2, size=len(e))
    first, second = pairs[pair, turned], pairs[pair, 1 - turned]
    own = (e % groups == first % groups) * 1.0 - (e % groups == second % groups)
    made = table(first, e, own, item=item)
    number = {name: i for i, name in enumerate(made.option.names)}
    return replace(made, rival=np.array([number[str(x)] for x in second], dtype=np.int32))


def skating_season() -> Scores:
    """Return who scored whom in the season."""
    return eh.read_scores(season(), **COLUMNS)


def few_judges(n: int) -> Scores:
    """Return the season as the ``n`` judges saw it who have the most scores of home skaters."""
    frame = season()
    most = frame.groupby("judge")["home"].sum().nlargest(n).index
    met = frame[frame["judge"].isin(most)]
    return eh.read_scores(met, **COLUMNS)


SHAPES: dict[str, Callable[[], Scores]] = {
    "skating season": skating_season,
    "3 evaluators, 12 options": lambda: grid(3, 12),
    "3 evaluators, 60 options": lambda: grid(3, 60),
    "3 evaluators, 6 options, 40 items": lambda: grid(3, 6, 40),
    "3 evaluators of 2 groups, 10 options": lambda: grid(3, 10, groups=2),
    "5 evaluators, 15 options": lambda: grid(5, 15),
    "5 evaluators, 10 options, 20 items": lambda: grid(5, 10, 20),
    "9 evaluators, 18 options": lambda: grid(9, 18),
    "9 evaluators, 9 options, 20 items": lambda: grid(9, 9, 20),
    "9 evaluators, 3 of them partial": lambda: grid(9, 18, own=3),
    "9 evaluators, 2 of them partial": lambda: grid(9, 18, own=2),
    "9 evaluators, 1 of them partial": lambda: grid(9, 18, own=1),
    "2 evaluators, crossed": lambda: grid(2, 12),
    "6 evaluators of 2 groups": lambda: grid(6, 10, groups=2),
    "half of 8 favour a third of 12": lambda: one_group(8, 12, 4, 4),
    "half of 8 favour one of 12": lambda: one_group(8, 12, 4, 1),
    "1 of 8 favours one of 12": lambda: one_group(8, 12, 1, 1),
    "panels of 3 from 12": lambda: panels(12, 30, 3, 20, 4, seed=4),
    "panels of 5 from 30": lambda: panels(30, 40, 5, 20, 6, seed=3),
    "5 evaluators, 1 to 16 items": lambda: unequal(5, 10),
    "4 compare 8, 5 times each": lambda: verdicts(4, 8, 5, 4, seed=1),
    "9 compare 9, 2 times each": lambda: verdicts(9, 9, 2, 4, seed=1),
    "skating, the 9 judges with most": lambda: few_judges(9),
    "skating, the 30 judges with most": lambda: few_judges(30),
}

# ------------------------------------------------------------------------ truth


@dataclass(frozen=True)
class World:
    """What scores come from.

    Parameters
    ----------
    bias, evaluators, options, pairs, noise
        The bias; the spread of evaluators and options about it; what an evaluator sees in an
        option beside its value; noise.
    loud
        By which power of e the noise of evaluators differs.
    binary
        Whether scores are 0 and 1.
    """

    bias: float = 3.3
    evaluators: float = 1.38
    options: float = 0.0
    pairs: float = 1.62
    noise: float = 2.75
    loud: float = 0.0
    binary: bool = False


WORLDS: dict[str, World] = {
    "as in skating": World(),
    "no bias": World(bias=0.0, evaluators=0.0),
    "no bias, noise alone": World(bias=0.0, evaluators=0.0, pairs=0.0),
    "evaluators differ": World(evaluators=3.0, pairs=0.5, noise=1.0),
    "all differ": World(evaluators=3.0, options=3.0, pairs=0.5, noise=1.0),
    "noise differs": World(loud=0.7),
    "0 or 1": World(bias=0.15, evaluators=0.05, pairs=0.05, binary=True),
    "0 or 1, no bias": World(bias=0.0, evaluators=0.0, pairs=0.05, binary=True),
}


def draw(scores: Scores, world: World, rng: np.random.Generator) -> np.ndarray:
    """Return (n,) scores."""
    e, o, p = scores.evaluator.codes, scores.option.codes, scores.partial
    favoured = o if scores.rival is None else np.where(p < 0.0, scores.rival, o)

    def effects(codes: np.ndarray, sd: float) -> np.ndarray:
        return sd * rng.standard_normal(int(codes.max()) + 1)[codes]

    y = p * (world.bias + effects(e, world.evaluators) + effects(favoured, world.options))
    sees = world.pairs * rng.standard_normal((len(scores.evaluator), len(scores.option)))
    y += sees[e, o] if scores.rival is None else sees[e, o] - sees[e, scores.rival]
    if world.binary:
        chance = 0.5 + y + effects(scores.scored[0], 0.08) + effects(scores.chairs[0], 0.05)
        return (rng.random(chance.shape) < chance).astype(float)
    return y + np.exp(effects(e, world.loud)) * world.noise * rng.standard_normal(len(y))


def coverage(runs: int, seed: int, shapes: Sequence[str], worlds: Sequence[str]) -> None:
    """Print how often 95% intervals hold the bias, and how wide they are."""
    print(f"## How often a 95% interval holds the bias, in % of {runs}\n")
    print("In brackets: the naive one; how many times as wide as for who knows the error.\n")
    print("| table | " + " | ".join(worlds) + " |")
    print("| --- |" + " --- |" * len(worlds))
    for shape in shapes:
        scores, cells = SHAPES[shape](), []
        for world in worlds:
            rng, truth = np.random.default_rng(seed), WORLDS[world].bias
            found = []
            for _ in range(runs):
                audit = eh.audit(replace(scores, score=draw(scores, WORLDS[world], rng)))
                bias, naive = audit.bias, audit.naive
                found.append(
                    (bias.covers(truth), naive.covers(truth), bias.value, bias.high - bias.low)
                )
            held, naively, values, widths = np.array(found).T
            wide = float(np.median(widths)) / (3.92 * float(np.std(values)))
            cells.append(f"{100 * held.mean():.1f} ({100 * naively.mean():.0f}; {wide:.2f})")
        print(f"| {shape} | " + " | ".join(cells) + " |", flush=True)
    error = 100 * math.sqrt(0.95 * 0.05 / runs)
    print(f"\nStandard error of a share of 95%: {error:.1f}. Seed {seed}.")


# ------------------------------------------------------------------------ flags


def flags(runs: int, seed: int, shapes: Sequence[str]) -> None:
    """Print how often evaluators are flagged, where half of those who could be are fair."""
    print(f"## Evaluators, half of them fair, half with a bias of 3.3 ± 1.38; {runs} tables\n")
    print("| table | noise | falsely flagged, % of flagged | of the partial, % | intervals, % |")
    print("| --- | --- | --- | --- | --- |")
    for shape, loud in product(shapes, (0.0, 0.5)):
        scores = SHAPES[shape]()
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(runs):
            y, truth = _half_fair(scores, loud, rng)
            frame = eh.audit(replace(scores, score=y)).evaluators
            mine = (frame["own"] > 0).to_numpy()
            frame, true = frame[mine], truth[mine]
            flagged, fair = frame["flagged"].to_numpy(), true == 0.0
            held = ((frame["low"] <= true) & (true <= frame["high"])).to_numpy()
            found.append(
                (
                    (flagged & fair).sum() / max(flagged.sum(), 1),
                    (flagged & ~fair).sum() / max((~fair).sum(), 1),
                    held.mean(),
                )
            )
        false, power, held = 100 * np.mean(found, axis=0)
        noise = "unequal" if loud else "equal"
        print(f"| {shape} | {noise} | {false:.1f} | {power:.0f} | {held:.1f} |", flush=True)
    print(f"\nSeed {seed}. At most 5% are meant to be flagged falsely.")


def _half_fair(
    scores: Scores, loud: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and (evaluators,) the bias of each; noise differs by factors of e^±loud."""
    n = len(scores.evaluator)
    truth = np.where(rng.random(n) < 0.5, 0.0, rng.normal(3.3, 1.38, size=n))
    e, o = scores.evaluator.codes, scores.option.codes
    sees = 1.62 * rng.standard_normal((n, len(scores.option)))
    pairs = sees[e, o] if scores.rival is None else sees[e, o] - sees[e, scores.rival]
    noise = pairs + 2.75 * rng.standard_normal(len(scores))
    return scores.partial * truth[e] + np.exp(loud * rng.standard_normal(n))[e] * noise, truth


# ---------------------------------------------------------------------- skating


def skating() -> None:
    """Print what an audit of the season says, beside what is known."""
    start = time.perf_counter()
    audit = eh.audit(season(), **COLUMNS)
    took = time.perf_counter() - start
    bias, naive = audit.bias, audit.naive
    print("## The skating season 2016–17: 14,680 scores\n")
    print(f"bias                  {bias.value:.3f}   (3.31 ± .02)")
    print(f"interval              {bias.low:.2f} to {bias.high:.2f}   (published: about 3.4)")
    print(
        f"standard error        {bias.se:.3f}   (.15 to .21), {bias.freedom:.0f} degrees of freedom"
    )
    print(f"the same, naive       {naive.se:.4f}   (.093)")
    placebo, spread = audit.placebo, audit.spread
    print(f"placebo               z = {placebo.z:.1f}   (above 20), sd {placebo.sd:.3f}")
    print(f"nations               sd {spread.groups.sd:.2f}   (1.02)")
    low, high = spread.groups.next_low, spread.groups.next_high
    print(f"one more nation       {low:.1f} to {high:.1f}   (about .9 to 5.7)")
    print(f"judges                sd {spread.evaluators.sd:.2f}   (1.09)")
    flagged = int(audit.evaluators["flagged"].sum())
    print(f"judges flagged        {flagged} of {spread.evaluators.n}")
    print(f"took                  {took:.1f} s, {time.perf_counter() - start:.1f} s in all")


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("skating", "coverage", "flags"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", default="", help="those whose name contains this")
    parser.add_argument("--worlds", default="", help="likewise")
    parser.add_argument("--tiny", action="store_true", help="two runs on the smallest tables")
    given = parser.parse_args(argv)
    if given.tiny:
        given.runs, given.shapes = 2, "12 options"
    if given.what == "skating":
        skating()
        return
    shapes = [name for name in SHAPES if given.shapes in name]
    if given.what == "flags":
        flags(given.runs, given.seed, shapes)
        return
    coverage(given.runs, given.seed, shapes, [name for name in WORLDS if given.worlds in name])


if __name__ == "__main__":
    main()
