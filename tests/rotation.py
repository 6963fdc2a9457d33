"""A few of all combinations of several factors, in which any two levels of two factors still meet.

The product of all factors but the smallest is kept whole, and the smallest is dealt out over it in
turn: of k₁ ≥ k₂ ≥ k₃ levels, the cell (i, j) gets level i + j modulo k₃. Whoever fixes i sees all
of the smallest factor as j goes on, and the other way round.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any


def rotated(*factors: Sequence[Any], each: int = 1) -> list[tuple[Any, ...]]:
    """Return combinations in which every cell of the larger factors has ``each`` of the smallest.

    Those of one cell lie as far apart as they can. Two factors are their product.
    """
    sizes = [len(factor) for factor in factors]
    small = min(range(len(factors)), key=lambda i: (sizes[i], -i)) if len(factors) > 2 else None
    return [
        tuple(f[i] for f, i in zip(factors, cell, strict=True))
        for cell in _cells(sizes, small, each)
    ]


def _cells(sizes: Sequence[int], small: int | None, each: int) -> Iterator[tuple[int, ...]]:
    for cell in itertools.product(*(range(1 if i == small else n) for i, n in enumerate(sizes))):
        if small is None:
            yield cell
            continue
        k = sizes[small]
        for turn in sorted({(sum(cell) + t * k // each) % k for t in range(min(each, k))}):
            yield (*cell[:small], turn, *cell[small + 1 :])


def unmet(
    combinations: Sequence[tuple[Any, ...]], *factors: Sequence[Any]
) -> list[tuple[Any, Any]]:
    """Return the pairs of levels of two factors that are in no combination."""
    missing = []
    for a, b in itertools.combinations(range(len(factors)), 2):
        met = {(id(one[a]), id(one[b])) for one in combinations}
        missing += [
            (x, y)
            for x, y in itertools.product(factors[a], factors[b])
            if (id(x), id(y)) not in met
        ]
    return missing
