"""Plain values as strangers may send them: one part changed, in ways that break readers."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 3.5, -0.0, 1e-300, 1e300, math.nan, math.inf, -math.inf),
    *(2**31, -(2**31), 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400),
    *("", "x", "nan", "\0", "\ud800", [], [[]], [0], [None], {}, {"a": 1}, [[[[0]]]]),
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where the parts of a value are, and the whole of it."""
    found = [place]
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += places(value[key], (*place, key))
    return found


def mutated(value: Any, rng: np.random.Generator, where: list[tuple[Any, ...]]) -> Any:
    """Return a copy of a value of which one part, or a few, are something else."""
    changed = copy.deepcopy(value)
    for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.2 else 1):
        # first how deep, so that long lists do not get all of it
        depth = int(rng.choice(sorted({len(place) for place in where if place})))
        same = [place for place in where if len(place) == depth]
        *path, last = same[int(rng.integers(len(same)))]
        holder = changed
        try:
            for key in path:
                holder = holder[key]
            _change(holder, last, rng)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took it away
    return changed


def _change(holder: Any, key: Any, rng: np.random.Generator) -> None:
    part = holder[key]
    how = int(rng.integers(9))
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(part, list) and part:
        del part[int(rng.integers(len(part)))]
    elif how == 2 and isinstance(part, list):
        part.append(part[-1] if part else 0)
    elif how == 3 and isinstance(part, list) and len(part) > 1:
        part.reverse()
    elif how == 4 and isinstance(part, dict):
        part["odd"] = 1
    elif how == 5 and isinstance(part, int | float):
        holder[key] = -part
    elif how == 6 and isinstance(part, int | float):
        holder[key] = part + int(rng.choice([-1, 1, 7, 10**6]))
    elif how == 7:
        deep: Any = 0
        for _ in range(int(rng.choice([60, 400]))):
            deep = [deep]
        holder[key] = deep
    else:
        holder[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
