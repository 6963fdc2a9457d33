"""What each more evaluator buys: whom to add first, and what comes of so many of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.planning.panels import alike, asked_of, everything_once, price_of
from evenhand.planning.ways import Precise, Way, WayOutcome
from evenhand.questions.accuracy import accuracy

_POINTS, _FEW = 16, 6  # of a curve, at most; where the matrix of questions is large
_LARGE = 50_000  # numbers in such a matrix


@dataclass(frozen=True)
class Step:
    """What so many evaluators come to.

    Parameters
    ----------
    evaluators
        How many they are.
    added
        The last of them.
    hypothetical
        Whether the last of them is one who could be found, partial to nobody.
    evaluations, price
        What it takes with them; infinite where no number of evaluations will do.
    precision
        Half-width of the interval of the (first) bias, with these evaluations; NaN without one.
    probability
        Of being certain after one look; NaN where one asks until certain.
    enough
        Whether that is what was wanted.
    """

    evaluators: int
    added: str
    hypothetical: bool
    evaluations: float
    price: float
    precision: float
    probability: float
    enough: bool


def order_of_evaluators(way: Way, n: int) -> list[int]:
    """Return the first n evaluators, those who are worth most for their price first."""
    # Again and again whoever leaves the least variance × price is added, where everything is asked
    # as often as it may be. At first, and where no single one makes a difference, that may be a
    # pair: two who are partial have to be crossed. Where there are many, several are added at a
    # time.
    order: list[int] = []
    left, kinds = list(range(n)), alike(way.questions)
    at_once = max(1, n // _POINTS)
    while left:
        alone: list[tuple[int, ...]] = [(e,) for e in left]
        ranked = _ranked(way, order, alone, kinds)
        if not order or not ranked:
            firsts = left if len(left) <= _POINTS else left[:1]
            pairs: list[tuple[int, ...]] = [(e, f) for e in firsts for f in left if e < f]
            ranked = _ranked(way, order, alone + pairs, kinds)[:1] or alone
        added = [e for some in ranked[:at_once] for e in some]
        order += added
        left = [e for e in left if e not in added]
    return order


def _ranked(
    way: Way, there: list[int], more: list[tuple[int, ...]], kinds: list[int]
) -> list[tuple[int, ...]]:
    """Return who helps beside who is there, the best first; equal `kinds` are worth the same."""
    known: dict[tuple[int, ...], float] = {}
    worth = []
    for some in more:
        kind = tuple(sorted(kinds[e] for e in some))
        if kind not in known:
            known[kind] = _worth(way, [*there, *some])
        worth.append((known[kind], some))
    return [some for cost, some in sorted(worth) if cost < math.inf]


def _worth(way: Way, evaluators: list[int]) -> float:
    """Return variance × price with these evaluators, to nine digits; infinite if all is lost."""
    questions = way.questions
    there = np.zeros(len(questions.evaluators), dtype=bool)
    there[evaluators] = True
    counts = everything_once(questions, asked_of(questions, there), roughly=True).astype(float)
    if not counts.any():
        return math.inf
    return float(f"{way.roughly(accuracy(questions, counts)) * price_of(questions, counts):.9g}")


def curve(
    way: Way, order: list[int], n_more: int, budget: float | None = None
) -> tuple[tuple[Step, ...], list[WayOutcome]]:
    """Return what the first evaluators of an order reach, then with the `n_more` neutral ones.

    Of many evaluators some numbers, and among them the least that is enough and the most that a
    budget pays for.
    """
    questions, n = way.questions, len(order)
    everybody = order + list(range(len(questions.evaluators) - n_more, len(questions.evaluators)))
    points = _POINTS if math.prod(questions.rows.shape) <= _LARGE else _FEW
    found: dict[int, WayOutcome] = {}

    def with_first(size: int) -> WayOutcome:
        if size not in found:
            there = np.zeros(len(questions.evaluators), dtype=bool)
            there[everybody[:size]] = True
            found[size] = way.outcome(there)
        return found[size]

    sizes = np.unique(np.linspace(1, n, min(n, points)).round().astype(int)).tolist()
    for size in [*sizes, *range(n + 1, n + n_more + 1)]:
        with_first(size)
    _narrowed(sizes, lambda size: with_first(size).enough)
    if budget is not None:
        _narrowed(sizes, lambda size: with_first(size).price > budget)
    if isinstance(way, Precise):  # who is there need not be asked
        for fewer, more in itertools.pairwise(sorted(found)):
            if found[fewer].enough and found[fewer].price < found[more].price:
                found[more] = found[fewer]
    steps = [
        Step(
            size,
            questions.evaluators[everybody[size - 1]],
            size > n,
            one.evaluations,
            one.price,
            one.precision,
            one.probability,
            one.enough,
        )
        for size, one in sorted(found.items())
    ]
    return tuple(steps), [one for _, one in sorted(found.items())]


def _narrowed(sizes: list[int], reached: Callable[[int], bool]) -> None:
    """Look between sizes for the first at which something is reached, which it then stays."""
    high = next((size for size in sizes if reached(size)), None)
    if high is None:
        return
    low = max((size for size in sizes if size < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    if low:
        reached(low)
