"""Tables that could make 'sure' false: how often `decide` falls for them.

The two best options are worth exactly the same, so every 'sure' is false; 5% are allowed. The table
is the one in docs/fooled.md. The last rows have a best option, and show what caution costs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

import evenhand as eh

Case = Callable[[np.random.Generator], pd.DataFrame]


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
    for i, (name, case) in enumerate(CASES.items()):
        if asked.only not in name:
            continue
        sure = alarms = 0
        for n in range(asked.tables):
            answer = eh.decide(case(np.random.default_rng([asked.seed, i, n])), next_n=0)
            sure += answer.sure and (answer.label == "o0" or not name.startswith("LEAD"))
            alarms += bool(answer.alarms)
        share, alarmed = (100.0 * number / asked.tables for number in (sure, alarms))
        print(f"| {name} | {share:.1f} | {alarmed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
