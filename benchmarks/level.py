"""Level and power of everything that is said to be sure, over tables whose truth is known.

    python benchmarks/level.py                         make level: beside benchmarks/level.json
    python benchmarks/level.py --n 400 --seed 7 --only 'top|bar' --out mine.json --jobs 2
    python benchmarks/level.py --against '' --out benchmarks/level.json     a new baseline

A shape is a way to draw a table with its truth (`Drawn`), a question that is asked of it, and what
is measured in the answer. *False*: the share of tables (or of intervals) in which something is sure
that is not true; 5% are allowed. At an exact tie everything that is sure of the two is false.
*Found*: the share in which what is true is said; of intervals, those that end within 2 of the
truth. Tables depend on (seed, shape, number) alone, so that two states of the project are compared
on the same ones: *worse* is a difference of more than 2.5 of its standard error (McNemar's), unless
it is more of a level that is allowed. A table that is refused counts as an alarm.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import json
import math
import multiprocessing
import re
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import evenhand as eh

Rng, Values = np.random.Generator, np.ndarray
BASELINE, SEED = Path(__file__).with_name("level.json"), 35001  # the seed of the baseline
ALLOWED, NARROW, ERRORS = 0.05, 2.0, 2.5
KINDS = ("false", "found", "alarms")
ACCEPTED: dict[str, str] = {}  # rows that may find less, and why


@dataclass
class Drawn:
    """A table, and its truth: options o0, o1, … and judges e0, e1, …"""

    table: pd.DataFrame
    values: Values
    severity: Values | None = None
    favour: float = 0.0
    score: Callable[[eh.Question], float] = lambda _: math.nan
    more: Mapping[str, Any] = field(default_factory=dict)  # to be told with the table
    kinds: Values | None = None  # categories of options


def decide(drawn: Drawn, **asked: Any) -> eh.Answer:
    """Return the answer by one look. What differs between states of the project is in here."""
    return eh.decide(drawn.table, repeats=True, next_n=0, **drawn.more, **asked)


def audit(drawn: Drawn) -> eh.Audit:
    return eh.audit(drawn.table, **drawn.more)


def trusting(drawn: Drawn) -> eh.Answer:
    """Return the answer where all but the model are trusted."""
    return decide(
        drawn, trusted=[name for name in drawn.table["evaluator"].unique() if name != "m"]
    )


def people(drawn: Drawn) -> eh.Answer:
    """Return the answer by people alone."""
    return decide(Drawn(drawn.table.query("evaluator != 'm'"), drawn.values))


def choose(drawn: Drawn) -> eh.Answer:
    return eh.choose(drawn.more["questions"], drawn.score, progress=False, **drawn.more["said"])


def campaign(drawn: Drawn, fails: bool) -> eh.Answer:
    """Return the answer of a campaign with one look: some answers fail and are asked again, or the
    three lowest of who leads are withdrawn, and asked again.
    """
    with tempfile.TemporaryDirectory() as folder:
        made: dict[str, Any] = {"retries": 20} if fails else {"looks": "once"}
        run = eh.Campaign.create(Path(folder) / "it.db", "it", drawn.more["questions"], **made)
        own: dict[int, tuple[int, float]] = {}
        everybody(run, drawn, own)
        if not fails:
            ahead = run.answer().option
            for _, number in sorted((y, i) for i, (o, y) in own.items() if o == ahead)[:3]:
                run.withdraw(number, "a typing error")
            everybody(run, drawn, own)
        answer = run.answer()
        run.close()
    return answer


def everybody(run: eh.Campaign, drawn: Drawn, own: dict[int, tuple[int, float]]) -> None:
    """Have everybody answer what there is to ask."""
    told = True
    while told:
        told = False
        for judge in drawn.more["questions"].evaluators:
            found = run.ask(judge, n=len(drawn.values))
            for ticket in found if isinstance(found, list) else []:
                told = True
                try:
                    y = drawn.score(ticket.question)
                except RuntimeError:
                    run.fail(ticket, "refused")
                    continue
                own[run.tell(ticket, y).evaluation] = ticket.question.option, y


Measured = tuple[float, float]  # false, found; NaN where there is nothing to find


def sure(answer: Any, drawn: Drawn, sign: float = 1.0) -> Measured:
    """The best option."""
    return of_best(answer.sure, answer.label, sign * drawn.values)


def lowest(answer: Any, drawn: Drawn) -> Measured:
    """The best option, where the lowest is."""
    return sure(answer, drawn, -1.0)


def safe(found: Any, drawn: Drawn) -> Measured:
    """What an audit says of the winner of the first event."""
    made = found.decisions
    said, winner = made["verdict"][0], made["winner"][0]
    false, power = of_best(said == "safe", winner, drawn.values)
    return false or (said == "wrong" and (math.isnan(power) or winner == "o0")), power


def of_best(said: bool, name: str, values: Values) -> Measured:
    best = np.flatnonzero(values >= values.max() - 1e-12)
    right = len(best) == 1 and name == f"o{best[0]}"
    return said and not right, float(said and right) if len(best) == 1 else math.nan


def placed(answer: Any, drawn: Drawn) -> Measured:
    """Who is surely in, above, better; who is surely not."""
    v, target = drawn.values, answer.conclusion.target
    if target.bar is not None:
        inside, outside = v > target.bar, v < target.bar
    elif target.against is not None:
        inside, outside = v > v[0], v < v[0]
    else:
        kinds = np.zeros(len(v)) if drawn.kinds is None else drawn.kinds
        others = (kinds == kinds[:, None]) & ~np.eye(len(v), dtype=bool)
        inside = ((v >= v[:, None]) & others).sum(axis=1) < target.top
        outside = ((v > v[:, None]) & others).sum(axis=1) >= target.top
    first = int(target.against is not None)  # o0 is what the others are held against
    said = [[int(o[1:]) for o in some] for some in (answer.inside, answer.outside)]
    said = [[x for x in some if x >= first] for some in said]
    right = int(inside[said[0]].sum() + outside[said[1]].sum())
    there = int(inside.sum() + outside.sum())
    return right < len(said[0]) + len(said[1]), right / there if there else math.nan


def intervals(ends: Sequence[tuple[float, float, float]]) -> Measured:
    """Intervals, each with the truth."""
    low, high, true = np.array(ends, dtype=float).T
    narrow = (low > true - NARROW) & (high < true + NARROW)
    return float(((true < low) | (true > high)).mean()), float(narrow.mean())


def values(answer: Any, drawn: Drawn) -> Measured:
    """Intervals of values, to judges like these."""
    return intervals([(s.low, s.high, drawn.values[int(s.option[1:])]) for s in answer.ranking])


def severity(answer: Any, drawn: Drawn, wanted: str = "") -> Measured:
    """Intervals of the judges' severity, against that of the average."""
    assert drawn.severity is not None
    true = drawn.severity - drawn.severity.mean()
    some = [one for one in answer.biases if one.kind in ("leniency", "severity")]
    some = [one for one in some if one.evaluator.startswith(wanted)]
    return intervals([(one.low, one.high, true[int(one.evaluator[1:])]) for one in some])


def noisiest(answer: Any, drawn: Drawn) -> Measured:
    """The severity of the first judge alone, who is the noisiest."""
    return severity(answer, drawn, "e0")


def compare(answer: Any, drawn: Drawn) -> Measured:
    """The difference of two options that were named before."""
    found = answer.compare("o0", "o1")
    return intervals([(found.low, found.high, drawn.values[0] - drawn.values[1])])


def bias(found: Any, drawn: Drawn) -> Measured:
    """The interval of the favour for the own group; found if it is above 0."""
    low, high = found.bias.low, found.bias.high
    return not low <= drawn.favour <= high, low > 0.0 if drawn.favour else math.nan


def chance(answer: Any, drawn: Drawn) -> Measured:
    """Options that are said to be in, or out, with a chance above 90%: 5% of them on average."""
    where = {
        f"o{x}": rank < answer.conclusion.target.top
        for rank, x in enumerate(np.argsort(-drawn.values))
    }
    found = [(p, where[o]) for o, p in answer.standings[["option", "chance"]].to_numpy()]
    wrong = [not there for p, there in found if p >= 0.9] + [t for p, t in found if p <= 0.1]
    return float(np.mean(wrong)) if wrong else 0.0, len(wrong) / len(found)


def frame(scores: Values, there: Values | None = None) -> pd.DataFrame:
    """Scores of (options, judges) or (options, judges, items) as a table."""
    names = ("option", "evaluator", "item")[: scores.ndim]
    places = np.nonzero(np.ones(scores.shape, dtype=bool) if there is None else there)
    columns = {n: np.char.add(n[0], at.astype(str)) for n, at in zip(names, places, strict=True)}
    return pd.DataFrame({**columns, "score": scores[places]})


def worth(k: int, lead: float, behind: float) -> Values:
    """One leads by so much; a second at 0; the others behind it."""
    return np.concatenate([[lead, 0.0], -np.linspace(1.0, 1.5, k - 2) * behind])[:k]


def dealt(rng: Rng, k: int, n: int, each: int) -> Values:
    """Which of n, drawn anew for each of k, are the first few."""
    return rng.permuted(np.tile(np.arange(n) < each, (k, 1)), axis=1)


def spread(rng: Rng, k: int, n: int, both: float) -> Values:
    """How loud noise is in each cell, by option and by judge."""
    return np.exp(both * (rng.normal(size=(k, 1)) + rng.normal(size=n)))


Tails = Mapping[str, Callable[[Rng, tuple[int, ...]], Values]]
TAILS: Tails = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t2.5": lambda rng, shape: rng.standard_t(2.5, size=shape),
    "skew": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "lognormal": lambda rng, shape: np.exp(rng.normal(size=shape)) - math.exp(0.5),
    "rare": lambda rng, shape: rng.normal(size=shape) + 8.0 * (rng.random(shape) < 0.03) - 0.24,
}
After = Callable[[Rng, Values], Values]


def halo(rng: Rng, y: Values) -> Values:
    """A third of the score before rubs off, in an order that is drawn for each judge."""
    out = y.copy()
    for j in range(y.shape[1]):
        order = rng.permutation(len(y))
        out[order[1:], j] += 0.35 * y[order[:-1], j]
    return out


def categories(rng: Rng, y: Values) -> Values:
    """Judges like categories; one option is alone in its own."""
    kind = np.maximum(np.arange(len(y)) - 1, -1) // 3 + 1
    return y + 0.7 * rng.normal(size=(kind.max() + 1, y.shape[1]))[kind]


# What becomes of scores (y: options by judges).
A = SimpleNamespace(
    marks=lambda low, high, middle: lambda _, y: np.clip(np.rint(middle + y), low, high),
    votes=lambda rng, y: (rng.random(y.shape) < 1.0 / (1.0 + np.exp(-y))).astype(float),
    graded=lambda rng, y: (
        1.0  # every judge with thresholds of the own
        + (y > np.sort(-1.5 + 1.7 * rng.normal(size=(4, 1, y.shape[1])), axis=0)).sum(axis=0)
    ),
    first_less=lambda rng, y: (
        y - 2.0 * (np.arange(len(y))[:, None] == rng.integers(len(y), size=y.shape[1]))
    ),
    alike=lambda rng, y: y + (np.arange(y.shape[1]) < 4) * rng.normal(size=(len(y), 1)),
    herd=lambda _, y: (y + y[:, :1]) / 2,
    slopes=lambda size: lambda rng, y: y * np.exp(size * rng.normal(size=y.shape[1])),
    scales=lambda _, y: np.rint(
        np.clip(0.5 + y / 10.0, 0.0, 1.0) * np.resize([5.0, 10.0, 100.0], y.shape[1])
    ),
    drift=lambda rng, y: (
        y  # stricter by 2 over the options, in an order of each judge
        - 2.0 * rng.permuted(np.tile(np.linspace(0, 1, len(y)), (y.shape[1], 1)), axis=1).T
    ),
    ranks=lambda _, y: np.argsort(np.argsort(y, axis=0), axis=0).astype(float),
    gammas=lambda rng, y: (
        np.exp(0.5 * y) * rng.gamma(2.0, size=y.shape) * (rng.random(y.shape) < 0.5)
    ),
    counts=lambda rng, y: rng.poisson(np.exp(1.5 + 0.5 * y)) * 1.0,
    exp=lambda scale: lambda _, y: np.exp(scale * y),
    mostly=lambda rng, y: (rng.random(y.shape) < 1.0 / (1.0 + np.exp(-y - 1.5))) * 1.0,
    teams=lambda rng, y: y + 0.7 * rng.normal(size=y.shape)[np.arange(len(y)) // 2],
    copied=lambda by: (
        lambda rng, y: np.column_stack([y[:, 0], y[:, 0] + by * rng.normal(size=len(y)), y[:, 2:]])
    ),
    typo=lambda _, y: (
        np.clip(np.rint(6.0 + y), 1.0, 10.0)
        * (1.0 + 10.0 * np.outer(np.arange(len(y)) == 3, np.arange(y.shape[1]) == 2))
    ),
    steps=lambda _, y: (y + 3.0) * np.where(np.arange(y.shape[1]) < y.shape[1] // 2, 1.3, 1 / 1.3),
)
# Which scores there are.
W = SimpleNamespace(
    good=lambda rng, y: (
        (rng.random(y.shape) < 1.0 / (1.0 + np.exp(-1.5 - y))) | (np.arange(y.shape[1]) < 2)
    ),
    sessions=lambda _, y: (
        ((np.arange(len(y)) % 2)[:, None] == np.arange(y.shape[1]) % 2)
        | (np.arange(y.shape[1]) < 2)
    ),
    finalists=lambda _, y: (
        (np.arange(y.shape[1]) < y.shape[1] // 2)
        | (np.argsort(np.argsort(-y[:, : y.shape[1] // 2].mean(axis=1))) < 4)[:, None]
    ),
    chain=lambda _, y: (
        (np.arange(len(y))[:, None] - np.arange(y.shape[1])) % len(y) < 3  # three neighbours
    ),
    one_all=lambda each: (
        lambda rng, y: dealt(rng, y.shape[1], len(y), each).T | (np.arange(y.shape[1]) == 0)
    ),
    sought=lambda rng, y: (
        (rng.random(y.shape) < np.where(np.arange(len(y)) < 2, 0.85, 0.4)[:, None])
        | (np.arange(y.shape[1]) < 3)
    ),
    thrice=lambda _, y: (np.arange(len(y)) > 0)[:, None] | (np.arange(y.shape[1]) < 3),
    apart=lambda _, y: (
        (np.arange(len(y)) > 1)[:, None]
        | ((np.arange(len(y)) == 0)[:, None] == (np.arange(y.shape[1]) < y.shape[1] // 2))
    ),
)


def panel(
    rng: Rng, lead: float, k: int = 8, n: int = 6, behind: float = 2.0, noise: float = 1.0,
    severe: float = 1.0, level: Sequence[float] | None = None, of: Sequence[float] = (),
    by: Sequence[float] = (), both: float = 0.0, tail: str = "normal", each: int = 0,
    after: After | None = None, there: After | None = None,
) -> Drawn:  # fmt: skip
    """Options by judges. `of`, `by`: how many times as noisy the first options and judges are;
    `both`: spread of noise among cells; `each`: judges of an option; `after`: what becomes of the
    scores; `there`: which of them there are.
    """
    true = worth(k, lead, behind) if level is None else np.array(level, dtype=float)
    sizes = noise * spread(rng, k, n, both)
    sizes[: len(of)] *= np.array(of).reshape(-1, 1)
    sizes[:, : len(by)] *= np.array(by)
    severities = severe * rng.normal(size=n)
    y = true[:, None] + severities + sizes * TAILS[tail](rng, (k, n))
    y = y if after is None else after(rng, y)
    mask = dealt(rng, k, n, each) if each else None
    return Drawn(frame(y, mask if there is None else there(rng, y)), true, severities)


def tried(
    rng: Rng, lead: float, k: int = 4, n: int = 3, items: int = 60, taste: float = 0.3,
    suits: float = 0.4, epochs: int = 1, kept: float = 1.0, after: After | None = None,
    templates: str = "",
) -> Drawn:  # fmt: skip
    """Options on items before judges with tastes; items suit some options more than others."""
    true = worth(k, lead, 1.0)
    y = true[:, None, None] + 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=items)
    template = np.arange(items) // 10
    liked = rng.normal(size=(k, 1, items // 10 + 1))[:, :, template] if templates else 0.0
    y = y + taste * rng.normal(size=(k, n, 1)) + suits * rng.normal(size=(k, 1, items))
    parts = []
    for epoch in range(epochs):
        scores = y + 0.7 * liked + rng.normal(size=(k, n, items))
        scores = scores if after is None else after(rng, scores)
        parts.append(frame(scores, rng.random(scores.shape) < kept).assign(epoch=str(epoch)))
    table = pd.concat(parts).drop(columns=[] if epochs > 1 else ["epoch"])
    if templates:
        table[templates] = template[table["item"].str[1:].astype(int)].astype(str)
    return Drawn(table.drop(columns=["evaluator"] if n == 1 else []), true)


def rare_item(rng: Rng, lead: float) -> Drawn:
    """One leads by 1 on 95% of all items, and is behind by 19 on the others."""
    ahead = np.where(rng.random(20) < 0.05, -19.0, 1.0)
    return Drawn(frame(np.stack([ahead, np.zeros(20)])[:, None, :]), np.full(2, lead))


def again(rng: Rng, lead: float, n: int) -> Drawn:
    """The same pair of option and judge is scored five times."""
    true = worth(4, lead, 2.0)
    means = true[:, None] + rng.normal(size=n) + 0.6 * rng.normal(size=(4, n))
    return Drawn(pd.concat([frame(means + rng.normal(size=(4, n))) for _ in range(5)]), true)


def schools(rng: Rng, lead: float) -> Drawn:
    """Twelve judges of four schools with tastes."""
    true, school = worth(4, lead, 2.0), np.arange(12) // 3
    y = true[:, None] + rng.normal(size=(4, 4))[:, school] + rng.normal(size=(4, 12))
    table = frame(y)
    of = school[table["evaluator"].str[1:].astype(int)].astype(str)
    return Drawn(table.assign(school=of), true)


def sessions(rng: Rng, lead: float, column: bool) -> Drawn:
    """Five sessions that all judges see, with errors in common."""
    true, lenient = worth(4, lead, 2.0), rng.normal(size=6)
    y = [true[:, None] + lenient + 0.7 * rng.normal(size=(4, 1)) for _ in range(5)]
    parts = [frame(m + rng.normal(size=(4, 6))).assign(session=str(s)) for s, m in enumerate(y)]
    return Drawn(pd.concat(parts).drop(columns=[] if column else ["session"]), true)


def cheap(rng: Rng, lead: float, k: int, n: int, taste: float, liked: float = 0.0) -> Drawn:
    """A model with likings for options, 200 scores each, beside n people with one score each."""
    true = worth(k, lead, 1.0)
    likes = true[:, None] + taste * rng.normal(size=(k, 1)) + liked * (np.arange(k) == 0)[:, None]
    model = [frame(likes + rng.normal(size=(k, 1))).assign(evaluator="m") for _ in range(200)]
    return Drawn(pd.concat([*model, frame(true[:, None] + rng.normal(size=(k, n)))]), true)


def labelled(rng: Rng, lead: float, n: int, labels: int, taste: float) -> Drawn:
    """A model with likings scores 300 items, people the first of them; all see the same texts."""
    true = worth(4, lead, 1.0)
    text = true[:, None] + rng.normal(size=300) + 0.7 * rng.normal(size=(4, 300))
    model = text + taste * rng.normal(size=(4, 1)) + 0.5 * rng.normal(size=(4, 300))
    said = text[:, None, :labels] + 0.5 * rng.normal(size=(4, n, labels))
    return Drawn(pd.concat([frame(model[:, None, :]).assign(evaluator="m"), frame(said)]), true)


def battles(
    rng: Rng, lead: float, k: int = 4, n: int = 6, taste: float = 0.0, circle: float = 0.0,
    named: bool = True,
) -> Drawn:  # fmt: skip
    """Comparisons of all pairs in both orders: 1, 0 (a tie) and −1; position by judge."""
    true = worth(k, lead, 1.0)
    a, b, j = (x.ravel() for x in np.indices((k, k, n)))
    a, b, j = (x[(a != b)] for x in (a, b, j))
    likes, turns = taste * rng.normal(size=(k, n)), np.triu(rng.normal(size=(k, k)), 1)
    turns = turns - turns.T  # of which differences of values are no part
    turns -= turns.mean(axis=1, keepdims=True) - turns.mean(axis=1)
    at = true[a] - true[b] + likes[a, j] - likes[b, j] + (0.3 * rng.normal(size=n) + 0.2)[j]
    at = at + circle * turns[a, b] + rng.logistic(size=len(a))
    table = pd.DataFrame({"option": a, "rival": b, "evaluator": j}).astype(str)
    table = ("o" + table[["option", "rival"]]).assign(evaluator="e" + table["evaluator"])
    table["score"] = np.where(np.abs(at) < 0.4, 0.0, np.sign(at))
    return Drawn(table if named else table.drop(columns="evaluator"), true)


def grants(rng: Rng, lead: float, line: int = 0, kinds: int = 1) -> Drawn:
    """48 applications, 14 reviewers of 7 universities who read twelve each, marks from 1 to 10."""
    true = rng.normal(0.0, 1.3, 48)
    for kind in range(kinds):  # who is on both sides of the line is worth the same
        some = np.arange(kind, 48, kinds)
        order = some[np.argsort(-true[some])]
        true[order[line]] = true[order[line - 1]] + lead if line else true[order[line]]
    severities, of, by = rng.normal(size=14), rng.integers(7, size=48), np.arange(14) % 7
    times, there = np.zeros(48), np.zeros((48, 14), dtype=bool)
    for judge in rng.permutation(14).tolist():
        mine = np.lexsort((rng.random(48), times))[:12]
        times[mine], there[mine, judge] = times[mine] + 1, True
    y = 5.5 + true[:, None] + severities + 0.8 * (of[:, None] == by)
    y = np.clip(np.rint(y + 1.2 * rng.normal(size=y.shape)), 1.0, 10.0)
    table = grouped(frame(y, there), of, by)
    if kinds > 1:
        table["category"] = "c" + (table["option"].str[1:].astype(int) % kinds).astype(str)
    more = {"scale": (1, 10)}
    return Drawn(table, true, severities, 0.8, more=more, kinds=np.arange(48) % kinds)


def grouped(table: pd.DataFrame, of: Values, by: Values) -> pd.DataFrame:
    """The table with groups of options and of judges; −1: that of no option."""
    option, judge = (table[name].str[1:].astype(int) for name in ("option", "evaluator"))
    groups = [np.char.add("g", codes.astype(str)) for codes in (of, by)]
    return table.assign(option_group=groups[0][option], evaluator_group=groups[1][judge])


def favours(
    rng: Rng, favour: float, k: int = 12, n: int = 8, groups: int = 2, own: int = 0,
    neutral: int = 0, worlds: float = 0.0, lenient: float = 0.0, slope: float = 0.0,
    by_option: float = 0.0, tastes: float = 0.0, good: bool = False, both: float = 0.0,
    tail: str = "normal", own_noise: float = 1.0, first_noise: float = 1.0, steps: float = 1.0,
    events: int = 1, tie: bool = False, noise: float = 1.0, each: int = 0,
    after: After | None = None, there: After | None = None,
) -> Drawn:  # fmt: skip
    """Judges favour their own group by so much on average. `own`: options of the first group;
    `neutral`: judges of no group; `worlds`: groups' worth apart; `slope`, `by_option`, `tastes`:
    how much favours differ by judge, by option, by group and option; `good`: only who is good is
    favoured; `steps`: the first group's use of the scale; `tie`: two of different groups are best.
    """
    parts = []
    of, by = rng.permutation(np.arange(k) % groups), np.arange(n) % groups
    of = np.where(np.arange(k) < own, 0, 1 + np.arange(k)) if own else of
    by[n - neutral :] = -1
    by = np.where(np.arange(n) < n // 2, 0, -1) if own else by
    for event in range(events):
        true = rng.normal(size=k) + worlds * (2.0 * (of > 0) - 1.0)
        if tie:
            of, true = np.arange(k) % 2, worth(k, 0.0, 2.0)
        mine = of[:, None] == by
        adds = favour + slope * rng.normal(size=n) + by_option * rng.normal(size=(k, 1))
        adds = adds * np.where(true > 0.0, 2.0, 0.0)[:, None] if good else adds
        severities = rng.normal(size=n) + lenient * (2.0 * (by > 0) - 1.0)
        sizes = noise * spread(rng, k, n, both)
        sizes = sizes * np.where(mine, own_noise, 1.0) * np.where(by == 0, first_noise, 1.0)
        y = true[:, None] * np.where(by == 0, steps, 1.0) + severities + mine * adds
        y = y + tastes * rng.normal(size=(k, groups))[:, by] + sizes * TAILS[tail](rng, (k, n))
        y = y if after is None else after(rng, y)
        mask = dealt(rng, k, n, each) if each else None
        parts.append(grouped(frame(y, mask if there is None else there(rng, y)), of, by))
        if events > 1:
            parts[-1]["event"] = f"v{event}"
    return Drawn(pd.concat(parts), true, severities, favour)


def searched(
    rng: Rng, lead: float, k: int = 4, n: int = 3, lasts: float = 0.0, drift: float = 0.0,
    noise: Callable[[Rng, int, int], float] | None = None, after: Callable[[float], float] = float,
    taste: float = 0.0, fails: bool = False, prices: Mapping[str, float] | None = None,
    capacity: int | None = None, trusted: Sequence[str] | None = None, **said: Any,
) -> Drawn:  # fmt: skip
    """A panel that is asked until it is certain. `noise`: of option and judge; `lasts`: how much of
    a judge's last noise on the option comes back; `fails`: a rival's lowest sixth does.
    """
    true, severities = worth(k, lead, 1.5), rng.normal(size=n)
    likes, last, asked = taste * rng.normal(size=k), {}, [0]

    def score(question: eh.Question) -> float:
        x, who = question.option, str(question.evaluator)
        judge = int(who[1:])
        z = float(rng.normal()) if noise is None else noise(rng, x, judge)
        if fails and x == 1 and z < -0.9674:
            raise RuntimeError("refused")
        z = lasts * last.get((x, who), z) + math.sqrt(1.0 - lasts**2) * z
        last[x, who], asked[0] = z, asked[0] + 1
        liked = likes[x] if judge == 0 else 0.0
        return after(true[x] + liked + severities[judge] + drift * asked[0] * judge + z)

    names = [f"o{o}" for o in range(k)], [f"e{e}" for e in range(n)]
    made: dict[str, Any] = {"prices": prices, "capacity": capacity, "trusted": trusted}
    questions = eh.Questions.panel(*names, **made)
    said = {"at_most": 300, "seed": int(rng.integers(2**31)), **said}
    return Drawn(pd.DataFrame(), true, score=score, more={"questions": questions, "said": said})


def featured(rng: Rng, lead: float, bend: Callable[[Rng, int, int], float]) -> Drawn:
    """Twelve options with three features; a bias of ± .6 between two groups; noise by `bend`."""
    true = np.zeros(12)
    while np.diff(np.sort(true)[-2:])[0] <= lead:
        features, groups = rng.normal(size=(12, 3)), np.where(rng.permutation(12) < 6, 1, -1)
        true = features @ rng.normal(size=3) + rng.normal()
    asked = [0]

    def score(question: eh.Question) -> float:
        asked[0] += 1
        x = question.option
        return float(true[x] + 0.6 * groups[x]) + bend(rng, x, asked[0])

    options = eh.ActionSet(features, groups, [f"o{x}" for x in range(12)], intercept=True)
    more = {"questions": options, "said": {"at_most": 400}}
    return Drawn(pd.DataFrame(), true, score=score, more=more)


@dataclass(frozen=True)
class Shape:
    """A way to draw tables, what is asked of them, what is measured, and of how many tables."""

    make: Callable[[Rng], Drawn]
    ask: Callable[[Drawn], Any] = decide
    measures: tuple[Callable[[Any, Drawn], Measured], ...] = (sure,)
    share: float = 1.0


P, T, F = (partial(partial, make) for make in (panel, tried, favours))
C, B, X = (partial(partial, make) for make in (searched, battles, featured))
Makes = Mapping[str, tuple[Callable[..., Drawn], float]]
LEADS: Makes = {  # how a table is drawn in which two tie, and a lead
    "2 options x 4 judges": (P(k=2, n=4), 2.5),
    "3 x 3": (P(k=3, n=3), 3.0),
    "3 x 3, two scores each": (P(k=3, n=3, each=2), 4.0),
    "3 x 4": (P(k=3, n=4), 2.5),
    "4 x 5": (P(k=4, n=5), 2.0),
    "5 equal x 4": (P(k=5, n=4, behind=0.0), 2.5),
    "8 x 2 judges": (P(n=2), 4.0),
    "10 x 5": (P(k=10, n=5), 2.0),
    "10 x 8": (P(k=10, n=8), 1.5),
    "20 x 12": (P(k=20, n=12, behind=1.0), 1.2),
    "20 x 6 of 14": (P(k=20, n=14, each=6), 1.8),
    "12 x 4 of 9": (P(k=12, n=9, each=4), 2.5),
    "graded 1-5, own thresholds, 8 x 6": (P(after=A.graded), 1.5),
    "graded 1-5, 4 of 9 judges each": (P(n=9, each=4, after=A.graded), 2.0),
    "marks 1-5, 8 x 10": (P(n=10, after=A.marks(1, 5, 3.5)), 1.2),
    "marks 1-5, others at the floor": (P(k=10, n=10, behind=4, after=A.marks(1, 5, 3)), 1.2),
    "marks cut at 10": (P(k=6, n=8, behind=1.3, severe=0.5, after=A.marks(1, 10, 9.3)), 1.5),
    "marks from 1 to 3": (P(k=6, n=8, behind=0.8, noise=0.8, after=A.marks(1, 3, 2)), 1.0),
    "percent near 100": (P(k=6, n=8, behind=12, noise=8, after=A.marks(0, 100, 97)), 10.0),
    "votes, two at .5, 20 judges": (P(k=10, n=20, behind=4, severe=0, noise=0, after=A.votes), 2.0),
    "votes, 8 x 12": (P(n=12, severe=0.5, noise=0, after=A.votes), 2.5),
    "halo from the score before": (P(after=halo), 1.8),
    "judges skip the bad (MNAR), 8 x 10": (P(n=10, there=W.good), 1.3),
    "sessions with own judges, 2 in common": (P(n=10, there=W.sessions), 2.5),
    "two blocks linked by 2 judges, unequal noise": (
        P(k=12, n=10, by=(2, 2), there=W.sessions),
        2.5,
    ),
    "each judge scores three neighbours, 8 x 12": (P(n=12, there=W.chain), 3.0),
    "noise by judge and option, 4 of 12": (P(k=12, n=12, each=4, both=0.7), 4.0),
    "noise by judge and option, 8 x 8": (P(n=8, both=0.6), 2.5),
    "zero-inflated gamma, 8 x 10": (P(n=10, noise=0, severe=0.3, after=A.gammas), 2.0),
    "counts, 8 x 8": (P(n=8, severe=0.5, noise=0, after=A.counts), 1.2),
    "lognormal scores, 8 x 7": (P(n=7, after=A.exp(0.5)), 1.5),
    "lognormal noise, 8 x 7": (P(n=7, tail="lognormal"), 2.5),
    "skewed noise, 8 x 6": (P(tail="skew"), 1.5),
    "t2.5 noise, 8 x 6": (P(tail="t2.5"), 2.5),
    "rare large scores, 8 x 8": (P(n=8, tail="rare"), 2.5),
    "first shown gets 2 less, 6 x 6": (P(k=6, after=A.first_less), 1.6),
    "4 of 8 judges share errors, no column": (P(n=8, after=A.alike), 1.5),
    "herding to the first score": (P(k=6, n=7, after=A.herd), 1.5),
    "scales of 5, 10, 100 mixed": (P(n=9, after=A.scales), 2.0),
    "slopes of judges lognormal .8": (P(after=A.slopes(0.8)), 2.0),
    "best two x3, 13 others x.5, 4 judges": (P(k=15, n=4, noise=0.5, of=(6, 6), behind=9), 6.0),
    "best two x1.5, 10 x 8": (P(k=10, n=8, of=(1.5, 1.5), behind=6), 2.2),
    "best two x4, 10 x 8": (P(k=10, n=8, of=(4, 4), behind=14), 6.0),
    "best two x2, 20 x 6 of 14": (P(k=20, n=14, each=6, of=(2, 2), behind=8), 4.0),
    "o0 x4, o1 x.5, 8 x 6": (P(of=(4, 0.5), behind=9), 5.0),
    "o0 noisy on 3 scores, o1 quiet on 12": (P(n=12, of=(3, 0.5), behind=8, there=W.thrice), 4.0),
    "noisy options are scored more often": (P(n=12, of=(3, 3), behind=9, there=W.sought), 3.0),
    "one judge x5, 6 x 8": (P(k=6, n=8, by=(5,)), 1.8),
    "two-stage jury: 4 finalists by score": (P(n=8, there=W.finalists), 1.3),
    "one judge scores all, 8 score 3": (P(n=9, there=W.one_all(3)), 2.5),
    "drift in strictness, 12 x 5": (P(k=12, n=5, after=A.drift), 2.0),
    "judge x category, group of one": (P(k=10, n=8, after=categories), 2.0),
    "orders of 6 by 8": (P(k=6, n=8, after=A.ranks), 1.8),
    "ranks of 5 of 10, 12 judges": (P(k=10, n=12, each=5, after=A.ranks), 1.5),
    "teams share errors": (P(k=6, n=8, noise=0.7, after=A.teams), 1.5),
    "two committees, steps 1.7 to 1": (P(k=12, n=10, after=A.steps, there=W.apart), 2.0),
    "products, best two before other judges": (
        P(k=10, n=12, severe=0.4, noise=0.4, behind=1, after=A.exp(1), there=W.apart),
        0.8,
    ),
    "one judge of six copies another": (P(k=6, after=A.copied(0.0)), 2.0),
    "one copies another but for .1": (P(k=6, after=A.copied(0.1)), 2.0),
    "one 7 typed as 77": (P(n=8, after=A.typo), 2.0),
    "60 items x 3 judges, tastes .3": (T(), 0.8),
    "60 items x 3 judges, tastes .6": (T(taste=0.6), 1.5),
    "60 items x 3 judges, no tastes": (T(taste=0.0), 0.5),
    "300 items x 3 judges, tastes .05": (T(items=300, taste=0.05), 0.4),
    "8 items, 1 judge": (T(n=1, items=8, taste=0), 1.5),
    "25 items, 1 judge, 3 options": (T(k=3, n=1, items=25, taste=0), 0.8),
    "12 items x 2 judges": (T(n=2, items=12), 1.5),
    "30 items, half of the scores missing": (T(items=30, kept=0.5), 1.0),
    "15 items, votes, 5 epochs": (T(k=2, n=1, items=15, epochs=5, after=A.votes, taste=0), 1.2),
    "20 questions, 3 epochs": (T(k=2, n=1, items=20, epochs=3, taste=0, suits=1), 1.0),
    "100 items of ten templates, named": (
        T(k=2, n=1, items=100, taste=0, templates="cluster"),
        1.0,
    ),
    "100 items of ten templates, not named": (
        T(k=2, n=1, items=100, taste=0, templates="template"),
        1.0,
    ),
    "the same pair five times, 2 judges": (partial(again, n=2), 4.0),
    "the same pair five times, 3 judges": (partial(again, n=3), 3.0),
    "sessions all judges share, not named": (partial(sessions, column=True), 1.5),
    "sessions all judges share, no column": (partial(sessions, column=False), 1.5),
    "judges of four schools, not named": (schools, 2.5),
    "a cheap judge with likings .3, 3 people": (partial(cheap, k=4, n=3, taste=0.3), 2.0),
    "comparisons, ties, position by judge": (B(), 1.5),
    "comparisons, 4 judges with tastes .6": (B(n=4, taste=0.6), 2.0),
    "comparisons, 5 options, in circles": (B(k=5, circle=0.5), 1.5),
    "comparisons, nobody named": (B(named=False), 1.5),
}
TRUSTED: Makes = {
    "likings .3, 3 people": (partial(cheap, k=4, n=3, taste=0.3), 2.0),
    "likings .3, 5 people": (partial(cheap, k=4, n=5, taste=0.3), 1.5),
    "likes one by 1, 5 people": (partial(cheap, k=6, n=5, taste=0.0, liked=1.0), 1.5),
    "300 items, 1 person, 40 labels": (partial(labelled, n=1, labels=40, taste=0.3), 0.35),
    "300 items, 2 people, 15 labels": (partial(labelled, n=2, labels=15, taste=0.5), 0.6),
}
INTERVALS: Mapping[str, dict[str, Any]] = {
    "6 x 8": {"k": 6, "n": 8},
    "6 x 4": {"k": 6, "n": 4},
    "10 x 3": {"k": 10, "n": 3},
    "12 x 4 of 9": {"k": 12, "n": 9, "each": 4},
    "noise by both": {"both": 0.6},
    "one judge x5": {"by": (5.0,)},
}
BAR, TOP, VERSUS = (
    partial(decide, **{k: v}) for k, v in (("bar", 0.0), ("top", 3), ("against", "o0"))
)
LINE = [9, 6, 3, 3, 0, -3, -6, -9]  # the third and the fourth are worth the same
ALL_BUT = [20, 18, 0, -1e-6, -2e-6, 1e-6, 2e-6, 3e-6, -20, -20, -20, -20]
TARGETS: Mapping[str, tuple[Callable[..., Any], Callable[..., Drawn]]] = {
    **{
        f"tie | all at the bar, {k} x {n}, severity {s:g}": (
            BAR,
            P(k=k, n=n, severe=s, level=[0] * k),
        )
        for k, n in ((6, 4), (6, 8), (10, 3))
        for s in (0.0, 0.5, 1.0)
    },
    "tie | all at the bar, 6 x 8, severity 1, noise .6": (
        BAR,
        P(k=6, n=8, noise=0.6, level=[0] * 6),
    ),
    "tie | all at the bar, 24 x 4 of 12, severity 1": (BAR, P(k=24, n=12, each=4, level=[0] * 24)),
    "tie | all at the bar, 8 x 4, noise by both .6": (
        BAR,
        P(n=4, both=0.6, severe=0, level=[0] * 8),
    ),
    "lead 2.5 | bar, 6 x 8, severity 0": (BAR, P(k=6, n=8, severe=0, level=[2.5] + [-2.5] * 5)),
    "lead 2.5 | bar, 6 x 8, severity 1": (BAR, P(k=6, n=8, level=[2.5] + [-2.5] * 5)),
    "tie | top 3, 3rd = 4th, 8 x 3": (TOP, P(n=3, level=LINE)),
    "tie | top 3, 3rd = 4th, 8 x 4": (TOP, P(n=4, level=LINE)),
    "tie | top 3, 3rd = 4th, 12 x 4 of 12": (TOP, P(k=12, n=12, each=4, level=LINE + [-12] * 4)),
    "tie | top 3, places 2 to 6 equal, 8 x 4": (TOP, P(n=4, level=[4, 0, 0, 0, 0, 0, -4, -4])),
    "tie | top 3, 3rd = 4th noisy x3, 8 x 4": (
        TOP,
        P(n=4, of=(1, 1, 3, 3), level=[20, 12, 0, 0, -12, -20, -20, -20]),
    ),
    "tie | top 3, 3rd noisy x4, 4th quiet, 8 x 4": (
        TOP,
        P(n=4, of=(1, 1, 4, 0.5), level=[30, 20, 0, 0] + [-20] * 4),
    ),
    "tie | top 3, 3rd = 4th, noise by both .6, 8 x 4": (TOP, P(n=4, both=0.6, level=LINE)),
    "tie | top 3, places 3 to 8 all but equal, noisy x2": (
        TOP,
        P(k=12, n=9, of=(1, 1, 2, 2, 2), level=ALL_BUT),
    ),
    "tie | top 3, all equal, 10 x 9": (TOP, P(k=10, n=9, level=[0] * 10)),
    "tie | top 3, 3rd = 4th, marks 1-10": (
        TOP,
        P(n=6, level=[3, 2, 1, 1, 0, -1, -2, -3], after=A.marks(1, 10, 6)),
    ),
    "lead 3 | top 3, 8 x 3": (TOP, P(n=3, level=[9, 6, 3, 0, -3, -6, -9, -9])),
    "lead 3 | top 3, 8 x 4": (TOP, P(n=4, level=[9, 6, 3, 0, -3, -6, -9, -9])),
    **{
        f"tie | against one, equal, {name}": (VERSUS, P(**made))
        for name, made in {
            "5 x 3": {"k": 5, "n": 3, "level": [0] * 5},
            "5 x 4": {"k": 5, "n": 4, "level": [0] * 5},
            "8 x 4": {"k": 8, "n": 4, "level": [0] * 8},
            "6 x 4, it is x3": {"k": 6, "n": 4, "of": (3,), "level": [0] * 6},
            "12 x 3 of 9": {"k": 12, "n": 9, "each": 3, "level": [0] * 12},
        }.items()
    },
    "lead 3 | against one, 5 x 4": (VERSUS, P(k=5, n=4, level=[0, 3, -3, -3, -3])),
}
FAVOURS: Makes = {  # how judges are, and a favour that is to be found; 0 where only its absence is
    "12 x 8, 2 groups": (F(), 0.5),
    "4 x 4": (F(k=4, n=4), 1.5),
    "6 x 5": (F(k=6, n=5), 1.0),
    "20 x 8, seven nations": (F(k=20, groups=7), 1.0),
    "slopes 1, 12 x 8": (F(slope=1.0), 0.8),
    "slopes 1, 30 x 6": (F(k=30, n=6, slope=1.0), 0.8),
    "slopes 1, 4 of 10 judges": (F(k=16, n=10, each=4, slope=1.0), 0.8),
    "favours differ by option": (F(by_option=1.0), 0.5),
    "groups share tastes for options": (F(tastes=0.7), 0.5),
    "groups share tastes, 6 options": (F(k=6, tastes=0.7), 0.8),
    "grants, 48 x 14, 3 each, 7 universities": (F(k=48, n=14, groups=7, each=3), 0.8),
    "2 of 20 options own": (F(k=20, own=2), 1.0),
    "noise by judge and option": (F(both=0.6), 0.8),
    "drift by order": (F(after=A.drift), 0.5),
    "one judge scores all, others a third": (F(there=W.one_all(4)), 0.8),
    "only the good are favoured": (F(good=True), 0.5),
    "t2.5 noise": (F(tail="t2.5"), 0.8),
    "judges of the own group x3": (F(first_noise=3.0), 0.8),
    "own scores x3": (F(own_noise=3.0), 0.8),
    "20 events of two": (F(k=2, n=5, events=20), 0.5),
    "8 events of 12": (F(n=6, groups=3, events=8), 0.3),
    "groups 1 apart, 20 x 8": (F(k=20, worlds=0.5, lenient=0.5), 0.6),
    "groups 2 apart, 20 x 8": (F(k=20, worlds=1.0, lenient=0.5), 0.6),
    "graded 1-5, own thresholds": (F(after=A.graded), 0.0),
    "graded 1-5, groups 1.5 apart": (F(after=A.graded, worlds=0.75), 0.0),
    "lognormal scores": (F(after=A.exp(0.6)), 0.0),
    "slopes of judges lognormal .5": (F(after=A.slopes(0.5)), 0.0),
    "slopes lognormal .5, groups 2 apart": (F(after=A.slopes(0.5), worlds=1.0), 0.0),
    "votes": (F(after=A.votes), 0.0),
    "votes, better group before severe judges": (
        F(k=20, after=A.votes, worlds=-1.2, lenient=1.2),
        0.0,
    ),
    **{  # where most say yes a vote is bent, and groups that differ in worth look favoured
        f"votes, most yes, {k} x {n}, better before {who}": (
            F(k=k, n=n, noise=0.0, after=A.mostly, worlds=worlds, lenient=1.2),
            0.0,
        )
        for k, n in ((20, 8), (40, 16))
        for who, worlds in (("severe", -1.2), ("lenient", 1.2))
    },
    "marks from 1 to 3, better before severe": (
        F(k=20, worlds=-1.2, lenient=1.0, after=A.marks(1, 3, 2.7)),
        0.0,
    ),
    "zero-inflated": (F(after=A.gammas), 0.0),
    "judges skip the bad (MNAR)": (F(there=W.good), 0.0),
    "marks cut at 10, better before severe": (
        F(k=20, worlds=-1.2, lenient=1.0, after=A.marks(1, 10, 8)),
        0.0,
    ),
    "marks cut at 10, better before lenient": (
        F(k=20, worlds=1.5, lenient=1.0, after=A.marks(1, 10, 8)),
        0.0,
    ),
    "marks cut at 1": (F(k=20, worlds=-1.2, lenient=1.0, after=A.marks(1, 10, 3)), 0.0),
    "products": (F(k=20, noise=0.4, worlds=0.5, lenient=0.4, after=A.exp(1)), 0.0),
    "one group stretches twice as much": (F(k=20, worlds=1.0, steps=2.0), 0.0),
}
WINNERS: Mapping[str, dict[str, Any]] = {
    "10 x 8": {"k": 10},
    "10 x 5": {"k": 10, "n": 5},
    "2 options, 4 judges, 10 events": {"k": 2, "n": 4, "events": 10},
    "12 x 5 of 10": {"k": 12, "n": 10, "each": 5},
    "own noise x2": {"k": 10, "own_noise": 2.0},
}
ACROSS: Mapping[str, dict[str, Any]] = {
    "6 A, 2 neutral judges": {"groups": 1, "neutral": 2},
    "4 A, 4 B": {},
    "6 A, 2 neutral, noise 2": {"groups": 1, "neutral": 2, "noise": 2.0},
}
PEOPLE = ["e1", "e2", "e3"]
OPPOSITE = (10.0, -10.0, 0.0, 0.0)
SEARCHES: Makes = {
    "normal": (C(), 1.0),
    "o0 x5, o1 x.3": (C(noise=lambda r, x, _: r.normal() * (5.0, 0.3, 1.0, 1.0)[x]), 3.0),
    "judges unequal": (C(noise=lambda r, _, j: r.normal() * (4.0, 1.0, 0.3)[j]), 1.0),
    "exponential": (C(noise=lambda r, _, __: r.exponential() - 1.0), 1.0),
    "t2.5": (C(noise=lambda r, _, __: r.standard_t(2.5)), 1.5),
    "rare 10 up and down": (
        C(noise=lambda r, x, _: r.normal() + OPPOSITE[x] * ((r.random() < 0.03) - 0.03)),
        1.0,
    ),
    "AR .7": (C(lasts=0.7), 1.0),
    "drift of judges": (C(drift=0.01), 1.0),
    "marks 1-5": (C(after=lambda y: float(np.clip(np.rint(3 + y), 1, 5))), 1.0),
    "a cheap judge with likings .3, 3 people who are trusted": (
        C(n=4, taste=0.3, prices=dict.fromkeys(PEOPLE, 20.0), trusted=PEOPLE, at_most=1_000),
        1.0,
    ),
    "a rival's lowest sixth fails, 10 x 8, once": (
        C(k=10, n=8, fails=True, capacity=1, retries=20),
        1.5,
    ),
    "a rival's lowest sixth fails, search": (C(k=5, n=4, fails=True, retries=20), 1.0),
    "once each, 8 x 8, one look": (C(k=8, n=8, capacity=1), 1.5),
}
FEATURED: Mapping[str, Callable[[Rng, int, int], float]] = {
    "normal": lambda r, _, __: float(r.normal()),
    "t3": lambda r, _, __: r.standard_t(3) / 3**0.5,
    "noise by option, 1/2 to 2": lambda r, x, _: r.normal() * 2.0 ** (x % 3 - 1),
    "5% of scores off by 10": lambda r, _, __: (
        r.normal() + 10.0 * r.choice([-1, 1]) * (r.random() < 0.05)
    ),
    "drift of 1 in 300": lambda r, _, t: r.normal() + t / 300,
}
GRANTS = (("tie | grants, top 10, 10th = 11th", 10, 1), ("lead 0 | grants, top 10", 0, 1),
          ("tie | grants, top 3 in 4 categories, 3rd = 4th", 3, 4))  # fmt: skip


def shapes() -> dict[str, Shape]:
    """Return every shape by what it is, a tie, a lead or a favour, and its name."""
    all_: dict[str, Shape] = {}
    for name, (make, lead) in LEADS.items():
        all_[f"tie | {name}"] = Shape(partial(make, lead=0.0))
        all_[f"lead {lead:g} | {name}"] = Shape(partial(make, lead=lead), share=0.5)
    all_["tie | a rare item undoes the lead"] = Shape(partial(rare_item, lead=0.0))
    for name, (make, lead) in TRUSTED.items():
        tied, ahead = (partial(make, lead=by) for by in (0.0, lead))
        all_[f"tie | trusted: {name}"] = Shape(tied, trusting, (sure, compare))
        all_[f"lead {lead:g} | trusted: {name}"] = Shape(ahead, trusting, share=0.5)
        all_[f"lead {lead:g} | people alone: {name}"] = Shape(ahead, people, share=0.5)
    for name, made in INTERVALS.items():
        measures = (values, severity, compare, *([noisiest] if "by" in made else []))
        all_[f"intervals | {name}"] = Shape(P(lead=1.0, **made), measures=measures)
    for name, (ask, make) in TARGETS.items():
        all_[name] = Shape(partial(make, lead=0.0), ask, (placed,))
    for name, line, kinds in GRANTS:
        ask = partial(decide, top=10) if kinds == 1 else partial(decide, top=3, within="category")
        make = partial(grants, lead=0.0, line=line, kinds=kinds)
        all_[name] = Shape(make, ask, (placed,) if line else (placed, chance), 0.5)
    low = P(lead=0.0, k=6, n=8, level=[1, 1, 3, 3, 3, 3], after=A.marks(1, 5, 1))
    ask = partial(decide, best="low")
    all_["tie | 1 is best, 6 x 8"] = Shape(low, ask, (lowest,))
    for name, (make, favour) in FAVOURS.items():
        all_[f"no favour | {name}"] = Shape(partial(make, favour=0.0), audit, (bias,))
        there = partial(make, favour=favour)
        if favour:
            all_[f"favour {favour:g} | {name}"] = Shape(there, audit, (bias,))
        if name in ("12 x 8, 2 groups", "20 x 8, seven nations", "slopes 1, 12 x 8"):
            all_[f"favour {favour:g} | decide: {name}"] = Shape(there, measures=(bias,))
    for name, made in ACROSS.items():
        across = F(favour=0.0, k=8, slope=1.0, tie=True, **made)
        all_[f"tie | across groups, favours differ, {name}"] = Shape(across)
    for name, made in WINNERS.items():
        tied = F(favour=0.5, tie=True, **made)
        all_[f"tie | audit's winner, {name}"] = Shape(tied, audit, (safe,))
    for name, (make, lead) in SEARCHES.items():
        all_[f"tie | choose: {name}"] = Shape(partial(make, lead=0.0), choose, share=0.4)
        all_[f"lead {lead:g} | choose: {name}"] = Shape(partial(make, lead=lead), choose, share=0.2)
    for name, bend in FEATURED.items():
        all_[f"lead | choose by features: {name}"] = Shape(
            X(lead=0.25, bend=bend), choose, share=0.2
        )
    once, lost = C(lead=0.0, k=8, n=8, capacity=1), C(lead=0.0, k=6, n=12, fails=True, capacity=1)
    withdrawn, failed = (partial(campaign, fails=fails) for fails in (False, True))
    all_["tie | campaign, the leader's lowest withdrawn"] = Shape(once, withdrawn, share=0.4)
    all_["tie | campaign, a rival's lowest sixth fails"] = Shape(lost, failed, share=0.4)
    return all_


SHAPES = shapes()

Row = dict[str, Values]  # by kind: a number for each table


def run(name: str, n: int, seed: int) -> tuple[dict[str, Row], float]:
    """Return what is measured of a shape, by measure, and the processor's seconds."""
    shape, begun = SHAPES[name], time.process_time()
    found = np.full((len(shape.measures), 3, max(2, round(shape.share * n))), np.nan)
    for i in range(found.shape[2]):
        try:
            drawn = shape.make(np.random.default_rng([seed, zlib.crc32(name.encode()), i]))
            answer = shape.ask(drawn)
            alarm = any(finding.alarm for finding in answer.warnings)
            found[:, :, i] = [(*measure(answer, drawn), alarm) for measure in shape.measures]
        except eh.EvenhandError:
            found[:, :, i] = 0.0, 0.0, 1.0  # refused: nothing false, and nothing found
        except Exception as error:  # a crash is a finding, not the end of the run
            print(f"CRASH {name}, table {i}: {error!r}", file=sys.stderr)
            found[:, :, i] = 1.0, 0.0, 1.0
    names = (f"{name} | {measure.__name__}" for measure in shape.measures)
    rows = {key: dict(zip(KINDS, row, strict=True)) for key, row in zip(names, found, strict=True)}
    return rows, time.process_time() - begun


def packed(row: Values) -> Any:
    """Zeros and ones as bits, all else as a list; a row of nothing as None."""
    if np.isnan(row).all():
        return None
    if np.isin(row, (0.0, 1.0)).all():
        return np.packbits(row.astype(bool)).tobytes().hex()
    return [None if math.isnan(x) else round(x, 4) for x in row.tolist()]


def unpacked(row: Any, n: int) -> Values:
    """The inverse of `packed`."""
    if isinstance(row, str):
        return np.unpackbits(np.frombuffer(bytes.fromhex(row), np.uint8))[:n] * 1.0
    return np.full(n, np.nan) if row is None else np.array(row, dtype=float)


def read(path: Path | None, seed: int) -> dict[str, Row]:
    """Return the rows of a file, if they are of this seed."""
    kept = {} if path is None or not path.is_file() else json.loads(path.read_text())
    rows = kept["rows"] if kept.get("seed") == seed else {}
    return {
        key: {kind: unpacked(one, n) for kind, one in zip(KINDS, row, strict=True)}
        for key, (n, *row) in rows.items()
    }


def write(path: Path, seed: int, rows: Mapping[str, Row]) -> None:
    lines = [
        f"{json.dumps(key)}: "
        + json.dumps([len(row["false"]), *map(packed, row.values())], separators=(",", ":"))
        for key, row in rows.items()
    ]
    path.write_text(f'{{"seed": {seed}, "rows": {{\n' + ",\n".join(lines) + "\n}}\n")


def moved(now: Values, was: Values) -> float:
    """How many standard errors it rose, on the tables that both have."""
    n = min(len(now), len(was))
    apart = (now[:n] - was[:n])[~np.isnan(now[:n] - was[:n])].round(3)  # files have no more
    size = math.sqrt(float((apart**2).sum()))
    return float(apart.sum()) / size if size else 0.0


def verdict(now: Row, was: Row | None) -> str:
    """Say whether a row is worse or better than it was."""
    if was is None:
        return "new"
    false, found = (moved(now[kind], was[kind]) for kind in ("false", "found"))
    allowed = float(np.nanmean(now["false"])) <= ALLOWED
    earned = float(np.nanmean(was["false"])) <= ALLOWED or false > -ERRORS  # what was found
    return "; ".join(
        ["WORSE: more false"] * (false > ERRORS and not allowed)
        + ["more false, as allowed"] * (false > ERRORS and allowed)
        + ["less false"] * (false < -ERRORS)
        + ["finds more"] * (found > ERRORS)
        + ["WORSE: finds less"] * (found < -ERRORS and earned)
        + ["finds less, which was false"] * (found < -ERRORS and not earned)
    )


def cells(row: Row, was: Row | None, kind: str) -> str:
    """Return a share in percent with its standard error, and what it was."""
    there = row[kind][~np.isnan(row[kind])]
    if not len(there):
        return " | "
    error = f" ± {100.0 * there.std() / math.sqrt(len(there)):.1f}" if kind != "alarms" else ""
    old = "–" if was is None else f"{100.0 * np.nanmean(was[kind][: len(row[kind])]):.1f}"
    return f"{100.0 * there.mean():.1f}{error} | {old}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a row is worse than it was."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200, help="tables of a shape; searches have fewer")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="shapes whose name has this (a regular pattern)")
    parser.add_argument("--out", type=Path, help="where to keep the numbers; goes on from there")
    parser.add_argument("--against", default=str(BASELINE), help="numbers to compare with")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args(argv)
    old = read(Path(asked.against) if asked.against else None, asked.seed)
    new, spent = read(asked.out, asked.seed), 0.0
    names = [name for name in SHAPES if re.search(asked.only, name)]
    done = {key.rsplit(" | ", 1)[0] for key in new}
    todo = [name for name in names if name not in done]
    with multiprocessing.Pool(asked.jobs) as pool:
        for rows, seconds in pool.imap(partial(run, n=asked.n, seed=asked.seed), todo):
            new, spent = new | rows, spent + seconds
            if asked.out is not None:
                write(asked.out, asked.seed, new)
    print("| what | shape | measured | n | false, % | was | found, % | was | alarms, % | was | |")
    print("| --- " * 11 + "|")
    worse = []
    for key, row in new.items():
        if key.rsplit(" | ", 1)[0] in names:
            was = old.get(key)
            said = verdict(row, was)
            if key in ACCEPTED:
                said = said.replace("WORSE: finds less", f"finds less: {ACCEPTED[key]}")
            worse += [key] if "WORSE" in said else []
            shares = " | ".join(cells(row, was, kind) for kind in KINDS)
            print(f"| {key} | {len(row['false'])} | {shares} | {said} |")
    print(f"\n{len(names)} shapes, seed {asked.seed}, {spent:.0f} s of a processor.", end=" ")
    print(f"Worse: {'; '.join(worse)}." if worse else "No row is worse.")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
