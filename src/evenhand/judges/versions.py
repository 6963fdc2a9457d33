"""Questions in as many versions as lengths need, with the items of each.

Without lengths every question has the items of its judge. With lengths they are sorted by how much
longer the first text is, and cut into halves, each a version of the question with the mean of its
own: see `panel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.judges.judge import Judge
from evenhand.judges.texts import Texts
from evenhand.questions import UNLIMITED, Column, Questions
from evenhand.tables import listed

Length = Callable[[str], float]
Pool = tuple[str | None, ...]

_STRATA = 2  # versions of a question that differ in length: more would each have fewer items


def versions_of(
    base: Questions, texts: Texts, jury: Mapping[str, Judge], length: Length | None
) -> tuple[Questions, list[Pool]]:
    """Return the questions in their versions, at their prices, and the items of each."""
    judges = list(jury.values())
    pools = [_pool(judge, texts) for judge in judges]
    reacting = [j for j, judge in enumerate(judges) if judge.reacts_to_length and length]
    n = min((len(pools[j]) for j in reacting), default=1)
    n = min(n, _STRATA)
    if length is not None:
        texts.known("length")
    if any(callable(judge.price) for judge in judges):
        texts.known("a price by text")
    middle = _middle(base, texts, length)
    parts: list[Pool] = []
    sizes: Floats = np.zeros((len(base), n))
    prices, capacity = np.ones((len(base), n)), np.full((len(base), n), float(UNLIMITED))
    for x in range(len(base)):
        judge = judges[base.evaluator[x]]
        pool = pools[base.evaluator[x]]
        names = tuple(base.items[option] for option in base.options_of(x))
        strata: list[Pool] = [pool] + [()] * (n - 1)
        if length is not None and judge.reacts_to_length:
            longer = [_longer(texts, names, item, length, middle) for item in pool]
            cuts = np.array_split(np.argsort(longer, kind="stable"), n)
            strata = [tuple(pool[i] for i in cut.tolist()) for cut in cuts]
            sizes[x] = [np.mean([longer[i] for i in cut.tolist()]) for cut in cuts]
        for version, stratum in enumerate(strata):
            if judge.once or not stratum:
                capacity[x, version] = len(stratum)
            prices[x, version] = _price(judge, texts, names, stratum)
        parts += strata
    attributes: dict[str | Column, Floats] = {
        _column(judges[j], len(reacting)): np.where((base.evaluator == j)[:, None], sizes, 0.0)
        for j in reacting
    }
    questions = base.in_versions(n, attributes=attributes, prices=prices, capacity=capacity)
    return questions, parts


def _pool(judge: Judge, texts: Texts) -> Pool:
    """Return the items that a judge can be asked about; one of no name if there are none."""
    if judge.items is None:
        return texts.items or (None,)
    strange = [item for item in judge.items if item not in texts.items]
    if strange or not judge.items:
        raise InputError(
            f"{judge.name} has items of its own, but {listed(list(map(str, strange))) or 'none'} "
            "of them is there; options must have a text for each."
        )
    return tuple(judge.items)


def _middle(base: Questions, texts: Texts, length: Length | None) -> float:
    """Return the length at which options are worth what they are worth: the mean of all texts."""
    if length is None or (base.about[:, 1] >= 0).any():
        return 0.0
    pool = texts.items or (None,)
    return float(np.mean([texts.doublings(o, i, length) for o in texts.held for i in pool]))


def _longer(
    texts: Texts, names: tuple[str, ...], item: str | None, length: Length, middle: float
) -> float:
    """Return how many doublings longer the first is than the second, or than the middle."""
    first, *second = (texts.doublings(name, item, length) for name in names)
    return first - (second[0] if second else middle)


def _price(judge: Judge, texts: Texts, names: tuple[str, ...], pool: Pool) -> float:
    """Return what an answer costs on average over a pool."""
    if not callable(judge.price):
        return judge.price
    if not pool:
        return 1.0  # never asked
    price = float(np.mean([judge.price_of(texts.shown(names, item)) for item in pool]))
    if not np.isfinite(price) or price <= 0.0:
        raise InputError(
            f"the price of {judge.name} for {names[0]!r} is {price!r}; it must be > 0."
        )
    return price


def _column(judge: Judge, several: int) -> Column:
    by = "" if several == 1 else f" by {judge.name}"
    return Column(f"length in doublings{by}", "attribute", judge.name)
