"""What of many combinations is tried by day: few in which levels still meet; and what by night.

All factors but one are kept whole, and that one is dealt out over their product in turn: of three
factors the cell (i, j) gets level i + j modulo k. Whoever fixes i sees all k levels as j goes on,
where there are at least k of j, and the other way round.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def rotated(dealt: int, *factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return combinations: every cell of the other factors, with one level of factor ``dealt``."""
    places = [range(1 if i == dealt else len(factor)) for i, factor in enumerate(factors)]
    cells = [list(cell) for cell in itertools.product(*places)]
    for cell in cells:
        cell[dealt] = sum(cell) % len(factors[dealt])
    return [tuple(f[i] for f, i in zip(factors, cell, strict=True)) for cell in cells]


def nightly(levels: Iterable[Any]) -> list[Any]:
    """Return levels of a parameter, or tuples of several, that are for `make nightly`."""
    each = (level if isinstance(level, tuple) else (level,) for level in levels)
    return [pytest.param(*level, marks=pytest.mark.nightly) for level in each]
