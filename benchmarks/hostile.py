"""Tables and ways of asking that could make 'sure' false: how often evenhand falls for them.

The two best options are worth exactly the same, so every 'sure' (of an audit: 'safe') is false; 5%
are allowed. The table is the one in docs/research/measured.md. Campaigns are in `handled.py`, cases
of audits in `audit_verdicts.py`. The last rows have a best option: what caution costs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import evenhand as eh
from audit_verdicts import TIES, Tie, audited
from handled import CASES as HANDLED

Case = Callable[[np.random.Generator], pd.DataFrame | eh.Answer | eh.Audit]


def frame(scores: np.ndarray, there: np.ndarray | None = None) -> pd.DataFrame:
    """(options, judges) or (options, judges, items) scores as a table."""
    names = ("option", "evaluator", "item")[: scores.ndim]
    places = np.nonzero(np.ones(scores.shape, dtype=bool) if there is None else there)
    columns = {
        name: np.char.add(name[0], at.astype(str)) for name, at in zip(names, places, strict=True)
    }
    return pd.DataFrame({**columns, "score": scores[places]})


def loud(rng: np.random.Generator, k: int, n: int, times: float) -> np.ndarray:
    """Two that tie are so many times as loud as the others, who are far behind."""
    sizes, values = np.ones(k), np.zeros(k)
    sizes[:2], values[2:] = times, -3.0 * (times + np.abs(rng.normal(size=k - 2)))
    return values[:, None] + rng.normal(size=n) + sizes[:, None] * rng.normal(size=(k, n))


def some(rng: np.random.Generator, k: int, n: int, each: int, times: float) -> pd.DataFrame:
    """The same, but each option is scored by a few of the judges."""
    there = rng.permuted(np.tile(np.arange(n) < each, (k, 1)), axis=1)
    return frame(loud(rng, k, n, times), there)


def votes(rng: np.random.Generator, k: int, n: int, share: float) -> pd.DataFrame:
    """Two have a share of the votes, the others 2%."""
    shares = np.where(np.arange(k) < 2, share, 0.02)
    return frame((rng.random((k, n)) < shares[:, None]).astype(float))


def marks(rng: np.random.Generator, others: float) -> pd.DataFrame:
    """Marks from 1 to 5: two in the middle, the others at the floor."""
    values = np.where(np.arange(10) < 2, 3.0, others)
    return frame(np.clip(np.rint(values[:, None] + rng.normal(size=(10, 10))), 1.0, 5.0))


def tried(
    rng: np.random.Generator, k: int, n: int, items: int, taste: float, lead: float = 0.0
) -> pd.DataFrame:
    """Options on items before judges with tastes; items suit some options more than others."""
    values = np.where(np.arange(k) < 2, 0.0, -1.0)
    values[0] += lead
    scores = values[:, None, None] + 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=items)
    scores = scores + taste * rng.normal(size=(k, n, 1)) + 0.4 * rng.normal(size=(k, 1, items))
    return frame(scores + rng.normal(size=(k, n, items)))


def again(rng: np.random.Generator, k: int, n: int, times: int, taste: float) -> pd.DataFrame:
    """The same pair of option and judge is scored several times."""
    values = np.where(np.arange(k) < 2, 0.0, -2.0)
    means = values[:, None] + rng.normal(size=n) + taste * rng.normal(size=(k, n))
    return pd.concat([frame(means + rng.normal(size=(k, n))) for _ in range(times)])


def templates(rng: np.random.Generator) -> pd.DataFrame:
    """Two options on 100 items made from ten templates, each of which suits one of them."""
    template = np.repeat(np.arange(10), 10)
    suits = 0.7 * rng.normal(size=(2, 10))[:, template] + rng.normal(size=(2, 100))
    found = frame(suits[:, None, :])
    return found.assign(cluster=template[found["item"].str[1:].astype(int)].astype(str))


def rare(rng: np.random.Generator) -> pd.DataFrame:
    """One leads by 1 on 95% of all items, and is behind by 19 on the others."""
    lead = np.where(rng.random(20) < 0.05, -19.0, 1.0)
    return frame(np.stack([lead, np.zeros(20)])[:, None, :])


def typo(rng: np.random.Generator) -> pd.DataFrame:
    """Marks from 1 to 10, one of them typed twice: 7 as 77."""
    values = 6.0 + 0.7 * np.sort(rng.normal(size=8))[::-1]
    scores = values[:, None] + 0.6 * rng.normal(size=8) + 0.8 * rng.normal(size=(8, 8))
    scores = np.clip(np.rint(scores), 1.0, 10.0)
    scores[3, 2] *= 11.0
    return frame(scores)


def leading(rng: np.random.Generator, k: int, n: int, lead: float) -> pd.DataFrame:
    """One option leads, all are as loud."""
    values = np.append(lead, -np.linspace(0.0, 3.0, k - 1))
    return frame(values[:, None] + rng.normal(size=n) + rng.normal(size=(k, n)))


def epochs(rng: np.random.Generator, n: int, times: int) -> pd.DataFrame:
    """Two equal models answer the same questions several times, each right or wrong."""
    chances = 1.0 / (1.0 + np.exp(-rng.normal(size=n) - 0.6 * rng.normal(size=(2, n))))
    right = (rng.random((times, 2, n)) < chances).astype(float)
    parts = [frame(one[:, None, :]).assign(epoch=str(e)) for e, one in enumerate(right)]
    return pd.concat(parts).drop(columns="evaluator")


def beside(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The same, with the cluster under a name of its own, which nobody names."""
    return table.rename(columns={"cluster": column})


def sessions(rng: np.random.Generator, size: float) -> pd.DataFrame:
    """Four options, six judges; in each of five sessions all judges see the same."""
    values, lenient = np.array([0.0, 0.0, -2.0, -2.0])[:, None], rng.normal(size=6)
    parts = [
        frame(values + lenient + size * rng.normal(size=(4, 1)) + rng.normal(size=(4, 6)))
        for _ in range(5)
    ]
    return pd.concat([part.assign(session=str(s)) for s, part in enumerate(parts)])


def schools(rng: np.random.Generator, size: float) -> pd.DataFrame:
    """Six options, twelve judges of four schools, each with tastes of its own."""
    school = np.arange(12) // 3
    tastes = size * rng.normal(size=(6, 4))[:, school] + rng.normal(size=(6, 12))
    table = frame(np.array([0.0, 0.0, -3.0, -3.0, -3.0, -3.0])[:, None] + tastes)
    return table.assign(school=school[table["evaluator"].str[1:].astype(int)].astype(str))


def unrelated(rng: np.random.Generator) -> pd.DataFrame:
    """60 items with columns that mean nothing: a template, an author, a remark, a school."""
    table = tried(rng, 4, 3, 60, 0.3)
    item, judge = (table[name].str[1:].astype(int) for name in ("item", "evaluator"))
    columns = {f"column {n}": rng.integers(n, size=60)[item].astype(str) for n in (5, 10)}
    remark = rng.integers(3, size=len(table)).astype(str)
    return table.assign(**columns, remark=remark, school=np.where(judge < 2, "x", "y"))


def cheap(
    rng: np.random.Generator, k: int, people: int, taste: float, lead: float = 0.0
) -> pd.DataFrame:
    """A model with likings for options, 200 scores each, beside people with one score each."""
    values = np.where(np.arange(k) < 2, 0.0, -1.0)[:, None]
    values[0] += lead
    likes = values + taste * rng.normal(size=(k, 1))
    model = [frame(likes + rng.normal(size=(k, 1))).assign(evaluator="m") for _ in range(200)]
    return pd.concat([*model, frame(values + rng.normal(size=(k, people)))])


def labelled(
    rng: np.random.Generator, k: int, people: int, n: int, taste: float, lead: float = 0.0
) -> pd.DataFrame:
    """A model with likings scores 300 items, people the first n of them; all see the same texts."""
    values = np.where(np.arange(k) < 2, 0.0, -1.0)
    values[0] += lead
    text = values[:, None] + rng.normal(size=300) + 0.7 * rng.normal(size=(k, 300))
    model = text + taste * rng.normal(size=(k, 1)) + 0.5 * rng.normal(size=(k, 300))
    labels = text[:, None, :n] + 0.5 * rng.normal(size=(k, people, n))
    return pd.concat([frame(model[:, None, :]).assign(evaluator="m"), frame(labels)])


def own_product(rng: np.random.Generator) -> pd.DataFrame:
    """A model that likes one of the two that tie by 1, and no other; 5 people, one score each."""
    table = cheap(rng, 6, 5, 0.0)
    liked = (table["evaluator"] == "m") & (table["option"] == "o0")
    return table.assign(score=table["score"] + 1.0 * liked)


def trusting(table: pd.DataFrame) -> eh.Answer:
    """What is sure where all but the model are trusted."""
    people = [name for name in table["evaluator"].unique() if name != "m"]
    return eh.decide(table, trusted=people, repeats=True, next_n=0)


def plain(rng: np.random.Generator, k: int, n: int, loudness: np.ndarray | float) -> np.ndarray:
    """Two tie, the others are behind by 1.5; judges, (n,), may be louder than others."""
    values = np.where(np.arange(k) < 2, 0.0, -1.5)[:, None]
    return values + 0.7 * rng.normal(size=n) + loudness * rng.normal(size=(k, n))


def partly(rng: np.random.Generator) -> pd.DataFrame:
    """Marks from 1 to 10 by judges of whom each uses a part of the scale."""
    slopes, levels = rng.uniform(0.6, 2.0, 8), 5.5 + rng.uniform(-1.5, 1.5, 8)
    return frame(np.clip(np.rint(levels + slopes * plain(rng, 6, 8, 1.0)), 1.0, 10.0))


def copied(rng: np.random.Generator, differing: float) -> pd.DataFrame:
    """One judge of six copies another's scores, all but for a little."""
    scores = plain(rng, 6, 6, 1.0)
    scores[:, 1] = scores[:, 0] + differing * rng.normal(size=6)
    return frame(scores)


def heavy(rng: np.random.Generator) -> pd.DataFrame:
    """One judge of eight has noise with 1.5 degrees of freedom."""
    scores = plain(rng, 6, 8, np.repeat([0.0, 1.0], [1, 7]))
    scores[:, 0] += rng.standard_t(1.5, size=6)
    return frame(scores)


def cut(
    rng: np.random.Generator, values: tuple[float, float], size: float, ends: tuple[float, float]
) -> pd.DataFrame:
    """Whole marks that are cut at the ends of their scale; the best two are near one."""
    means = np.where(np.arange(6) < 2, *values)[:, None] + 0.5 * size * rng.normal(size=8)
    return frame(np.clip(np.rint(means + size * rng.normal(size=(6, 8))), *ends))


def sought(rng: np.random.Generator) -> pd.DataFrame:
    """Loud options are scored by most judges, the others by a few."""
    there = rng.random((8, 12)) < np.where(np.arange(8) < 2, 0.85, 0.4)[:, None]
    there[:, :3] = True
    return frame(loud(rng, 8, 12, 3.0), there)


def committees(rng: np.random.Generator, stretched: float) -> pd.DataFrame:
    """Two committees of five, which share four options of 16 and use the scale unequally."""
    values = np.where(np.arange(16) < 2, 3.0, 2.0 - 2.0 * rng.random(16))[:, None]
    steps = np.where(np.arange(10) < 5, stretched, 1.0 / stretched)
    there = np.ones((16, 10), dtype=bool)
    there[:12:2, 5:] = there[1:12:2, :5] = False
    return frame(steps * values + rng.normal(size=10) + 0.7 * rng.normal(size=(16, 10)), there)


def multiplied(rng: np.random.Generator) -> pd.DataFrame:
    """The best two are before one half of the judges each, and scores are products."""
    values = np.where(np.arange(10) < 2, 0.0, -1.0)[:, None]
    lenient, there = np.repeat([0.4, -0.4], 6), np.ones((10, 12), dtype=bool)
    there[0, 6:] = there[1, :6] = False
    return frame(np.exp(2.0 + values + lenient + 0.4 * rng.normal(size=(10, 12))), there)


def ranks(rng: np.random.Generator, k: int, n: int) -> pd.DataFrame:
    """Every judge puts the options in order."""
    order = np.argsort(np.argsort(plain(rng, k, n, 1.0), axis=0), axis=0)
    return frame(order.astype(float))


def teams(rng: np.random.Generator) -> pd.DataFrame:
    """What a judge errs by is shared by two options of the same team."""
    shared = rng.normal(size=(3, 8))[np.arange(6) // 2]
    return frame(plain(rng, 6, 8, 0.7) + 0.7 * shared)


def voted(rng: np.random.Generator, k: int, n: int, share: float) -> eh.Answer:
    """`choose` by votes of a panel: two have a share of them, the others 2%."""
    shares, panel = np.where(np.arange(k) < 2, share, 0.02), named(k, n)
    return eh.choose(
        panel,
        lambda asked: float(rng.random() < shares[asked.option]),
        scores="votes",
        progress=False,
        seed=int(rng.integers(2**31)),
    )


def priced(rng: np.random.Generator, k: int, people: int, taste: float) -> eh.Answer:
    """`choose` by a cheap model with likings for options, and people who cost 20 times as much."""
    values, likes = np.where(np.arange(k) < 2, 0.0, -1.0), taste * rng.normal(size=k)
    panel = named(k, 1 + people, prices={f"e{n}": 20.0 for n in range(1, 1 + people)})

    def score(asked: eh.Question) -> float:
        liked = likes[asked.option] if asked.evaluator == "e0" else 0.0
        return float(values[asked.option] + liked + rng.normal())

    seed = int(rng.integers(2**31))
    return eh.choose(panel, score, at_most=3_000, progress=False, seed=seed)


def quiet(rng: np.random.Generator) -> eh.Answer:
    """`choose` by votes, with judges who are said to be quieter or louder than they are."""
    panel = eh.Questions.panel(["o0", "o1"], ["P", "Q"], capacity=None, noise={"P": 0.2, "Q": 3.0})
    return eh.choose(
        panel,
        lambda _: float(rng.random() < 0.5),
        bounds=(0.0, 1.0),
        at_most=400,
        progress=False,
        seed=int(rng.integers(2**31)),
    )


def in_folder(case: Callable[[np.random.Generator, Path], eh.Answer]) -> Case:
    """A campaign in a folder of its own."""

    def run(rng: np.random.Generator) -> eh.Answer:
        with tempfile.TemporaryDirectory() as folder:
            return case(rng, Path(folder))

    return run


def tie(case: Tie) -> Case:
    """An audit of a table in which two options tie."""
    return lambda rng: audited(case.scores(rng))


def named(k: int, n: int, prices: Mapping[str, float] | None = None) -> eh.Questions:
    """A panel; who has a price can be asked as often as one likes."""
    options, judges = [f"o{o}" for o in range(k)], [f"e{e}" for e in range(n)]
    if prices is None:
        return eh.Questions.panel(options, judges)
    return eh.Questions.panel(options, judges, prices=prices, capacity=None)


CASES: Mapping[str, Case] = {
    "equal noise, 10 options × 8 judges": lambda rng: frame(loud(rng, 10, 8, 1.0)),
    "equal noise, 10 × 5": lambda rng: frame(loud(rng, 10, 5, 1.0)),
    "equal noise, 4 × 5": lambda rng: frame(loud(rng, 4, 5, 1.0)),
    "best two 1.5 times as loud, 10 × 8": lambda rng: frame(loud(rng, 10, 8, 1.5)),
    "best two 2 times as loud, 10 × 8": lambda rng: frame(loud(rng, 10, 8, 2.0)),
    "best two 4 times as loud, 10 × 8": lambda rng: frame(loud(rng, 10, 8, 4.0)),
    "best two 4 times as loud, 20 × 8": lambda rng: frame(loud(rng, 20, 8, 4.0)),
    "best two 3 times as loud, 6 × 5": lambda rng: frame(loud(rng, 6, 5, 3.0)),
    "best two 2 times as loud, 20 × 6 of 14": lambda rng: some(rng, 20, 14, 6, 2.0),
    "votes: two at .5, eight at .02; 20 judges": lambda rng: votes(rng, 10, 20, 0.5),
    "votes: two at .3, eighteen at .02; 30 judges": lambda rng: votes(rng, 20, 30, 0.3),
    "marks 1–5, the others at the floor": lambda rng: marks(rng, -1.0),
    "marks 1–5, the others about 1": lambda rng: marks(rng, 1.0),
    "60 items × 3 judges with tastes of sd .3": lambda rng: tried(rng, 4, 3, 60, 0.3),
    "60 items × 3 judges with tastes of sd .6": lambda rng: tried(rng, 4, 3, 60, 0.6),
    "300 items × 9 judges with tastes of sd .05": lambda rng: tried(rng, 4, 9, 300, 0.05),
    "the same pair five times, 2 judges": lambda rng: again(rng, 4, 2, 5, 0.6),
    "the same pair five times, 3 judges": lambda rng: again(rng, 4, 3, 5, 0.6),
    "items from ten templates, which are named": templates,
    "a rare item undoes the lead on all others": rare,
    "one 7 typed as 77": typo,
    "300 items × 3 judges with tastes of sd .05": lambda rng: tried(rng, 4, 3, 300, 0.05),
    "800 items × 3 judges with tastes of sd .05": lambda rng: tried(rng, 4, 3, 800, 0.05),
    "20 questions, once": lambda rng: epochs(rng, 20, 1),
    "20 questions, 3 epochs": lambda rng: epochs(rng, 20, 3),
    "20 questions, 10 epochs": lambda rng: epochs(rng, 20, 10),
    "items from ten templates, a column nobody names": lambda rng: beside(
        templates(rng), "template"
    ),
    "sessions that all judges share, a column nobody names": lambda rng: sessions(rng, 0.7),
    "sessions that all judges share, in no column": lambda rng: sessions(rng, 0.7).drop(
        columns="session"
    ),
    "judges of four schools, a column nobody names": lambda rng: schools(rng, 1.0),
    "columns that mean nothing": unrelated,
    "a cheap judge with likings of sd .3, 3 people": lambda rng: cheap(rng, 4, 3, 0.3),
    "a cheap judge with likings of sd .3, 5 people": lambda rng: cheap(rng, 4, 5, 0.3),
    "choose by votes: two at .5, eight at .02; 20 judges": lambda rng: voted(rng, 10, 20, 0.5),
    "choose by votes: two at .3, eighteen at .02; 30 judges": lambda rng: voted(rng, 20, 30, 0.3),
    "choose by a cheap judge with likings, 3 people": lambda rng: priced(rng, 4, 3, 0.3),
    "choose by a cheap judge with likings, 1 person": lambda rng: priced(rng, 4, 1, 0.3),
    "choose by votes, judges said to be quiet": quiet,
    **{name: in_folder(case) for name, case in HANDLED.items()},
    **{f"audit: {name}": tie(case) for name, case in TIES.items()},
    "trusted: a cheap judge with likings of sd .3, 3 people": lambda rng: trusting(
        cheap(rng, 4, 3, 0.3)
    ),
    "trusted: a cheap judge with likings of sd .3, 5 people": lambda rng: trusting(
        cheap(rng, 4, 5, 0.3)
    ),
    "trusted: a cheap judge who likes one option by 1, 5 people": lambda rng: trusting(
        own_product(rng)
    ),
    "trusted: likings of sd .3 on 300 items, 40 labelled": lambda rng: trusting(
        labelled(rng, 4, 1, 40, 0.3)
    ),
    "trusted: likings of sd .1 on 300 items, 40 labelled": lambda rng: trusting(
        labelled(rng, 6, 1, 40, 0.1)
    ),
    "judges who use a part of the scale": partly,
    "marks cut at 10": lambda rng: cut(rng, (9.3, 8.0), 1.0, (1.0, 10.0)),
    "marks from 1 to 3": lambda rng: cut(rng, (2.0, 1.2), 0.8, (1.0, 3.0)),
    "percent, many of them 100": lambda rng: cut(rng, (97.0, 85.0), 8.0, (0.0, 100.0)),
    "one judge five times as loud": lambda rng: frame(
        plain(rng, 6, 8, np.repeat([5.0, 1.0], [1, 7]))
    ),
    "one judge with rare large errors": heavy,
    "one judge of six copies another": lambda rng: copied(rng, 0.0),
    "one judge of six copies another, but for .1": lambda rng: copied(rng, 0.1),
    "loud options are scored more often": sought,
    "two committees whose steps are as 1.3² to 1": lambda rng: committees(rng, 1.3),
    "the best two before other judges, scores multiply": multiplied,
    "orders of 6 by 8": lambda rng: ranks(rng, 6, 8),
    "orders of 4 by 5": lambda rng: ranks(rng, 4, 5),
    "teams share errors": teams,
    "LEAD trusted: 1.5, 5 people and a model": lambda rng: trusting(cheap(rng, 4, 5, 0.3, 1.5)),
    "LEAD the same, people alone": lambda rng: eh.decide(
        cheap(rng, 4, 5, 0.3, 1.5).query("evaluator != 'm'"), next_n=0
    ),
    "LEAD trusted: .35 on 300 items, 40 labelled": lambda rng: trusting(
        labelled(rng, 4, 1, 40, 0.3, 0.35)
    ),
    "LEAD the same, labels alone": lambda rng: eh.decide(
        labelled(rng, 4, 1, 40, 0.3, 0.35).query("evaluator != 'm'"), next_n=0
    ),
    "LEAD 1.5, 10 × 8": lambda rng: leading(rng, 10, 8, 1.5),
    "LEAD 2.5, 10 × 5": lambda rng: leading(rng, 10, 5, 2.5),
    "LEAD .5 on 60 items × 3 judges": lambda rng: tried(rng, 4, 3, 60, 0.0, 0.5),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=400, help="tables of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose name has this")
    asked = parser.parse_args()
    print("| case | sure, % | alarms, % |\n| --- | --- | --- |")
    for name, case in CASES.items():
        if asked.only not in name:
            continue
        sure = alarms = 0
        for n in range(asked.tables):
            said = outcome(case(np.random.default_rng([asked.seed, zlib.crc32(name.encode()), n])))
            sure += said[0] and (said[2] == "o0" or not name.startswith("LEAD"))
            alarms += said[1]
        share, alarmed = (100.0 * number / asked.tables for number in (sure, alarms))
        print(f"| {name} | {share:.1f} | {alarmed:.1f} |", flush=True)


def outcome(found: pd.DataFrame | eh.Answer | eh.Audit) -> tuple[bool, bool, str]:
    """Whether something is sure, whether there is an alarm, and of which option."""
    if isinstance(found, eh.Audit):
        return bool(found.decisions.verdict[0] == "safe"), False, ""
    answer = found if isinstance(found, eh.Answer) else eh.decide(found, repeats=True, next_n=0)
    return answer.sure, bool(answer.alarms), answer.label


if __name__ == "__main__":
    main()
