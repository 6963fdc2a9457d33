"""Entries of `Questions`: what is given for each question, checked, and made arrays of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Counts, Floats, Indices, as_vector, unmasked
from evenhand.errors import InputError
from evenhand.questions.options import Column
from evenhand.tables import Names, column_names, listed, texts_or_none

UNLIMITED = 2**62
"""How often a question may be asked that may be asked as often as one likes."""


def attribute_columns(names: Sequence[str | Column] | None, n: int) -> tuple[Column, ...]:
    """Return what attributes stand for."""
    given: list[Any] = [None] * n if names is None else list(names)
    plain = column_names(
        None if names is None else [getattr(one, "name", one) for one in given],
        n,
        "attribute_names",
        "z",
    )
    return tuple(
        one if isinstance(one, Column) else Column(name)
        for one, name in zip(given, plain, strict=True)
    )


def evaluators_of(names: Sequence[object] | None, q: int) -> tuple[Names | None, Indices | None]:
    """Return who can be asked, and (q,) who is."""
    if names is None:
        return None, None
    if len(names) != q:
        raise InputError(
            f"evaluator has {len(names)} names; one for each of {q} questions, please."
        )
    texts = texts_or_none(names)
    everybody = list(dict.fromkeys(text for text in texts if text is not None))
    place: dict[str | None, int] = {name: i for i, name in enumerate(everybody)}
    place[None] = -1
    return Names(tuple(everybody)), np.array([place[text] for text in texts], dtype=np.intp)


def workload_of(given: Any, evaluators: Names | None) -> ArrayLike | None:
    """Return how much each evaluator may be asked, of numbers or a mapping by name."""
    if not isinstance(given, Mapping):
        return None if given is None else np.asarray(given)
    names = [] if evaluators is None else list(evaluators)
    strange = [name for name in given if name not in names]
    if strange:
        raise InputError(f"workload: {listed(strange)} is no evaluator; there are {listed(names)}.")
    return np.array([float(given.get(name, np.inf)) for name in names])


def items_of(about: Any, F: Floats, X: Floats, items: Names) -> Indices:
    """Return (q, 2) the items of questions, as given or by their features."""
    q = len(F)
    if about is not None:
        return _given_about(about, q, items)
    k = len(X)
    found = np.full((q, 2), -1, dtype=np.intp)
    place: dict[bytes, tuple[int, int]] = {}
    for a in range(k):
        place.setdefault((X[a] + 0.0).tobytes(), (a, -1))
    if k <= 200:  # differences of two
        for a in range(k):
            for b in range(k):
                if a != b:
                    place.setdefault((X[a] - X[b] + 0.0).tobytes(), (a, b))
    for row in range(q):
        found[row] = place.get((F[row] + 0.0).tobytes(), (-1, -1))
    return found


def _given_about(about: Any, q: int, items: Names) -> Indices:
    place = {name: i for i, name in enumerate(items)}
    entries = list(about)
    if len(entries) != q:
        raise InputError(
            f"about has {len(entries)} entries; one for each of {q} questions, please."
        )
    found = np.full((q, 2), -1, dtype=np.intp)
    for row, entry in enumerate(entries):
        pair = (entry,) if isinstance(entry, str) or np.ndim(entry) == 0 else tuple(entry)
        for side, one in enumerate(pair):
            at = place.get(one, -2) if isinstance(one, str) else one
            if side > 1 or isinstance(at, float | np.floating) or not -1 <= at < len(items):
                raise InputError(
                    f"about[{row}] is {entry!r}; it must be an item or a pair of items, by name or "
                    f"by index (0 to {len(items) - 1}, −1 for none). Items are "
                    f"{listed(list(items))}."
                )
            found[row, side] = at
    return found


def positive(values: ArrayLike | None, n: int, name: str) -> Floats:
    """Return (n,) positive numbers, of one number or n."""
    if values is None:
        return np.ones(n)
    given = unmasked(values, name)
    vector = as_vector(np.full(n, given) if given.ndim == 0 else given, n, name)
    if not (vector > 0.0).all():
        place = int(np.argmin(vector > 0.0))
        raise InputError(f"{name} must be larger than 0; {name}[{place}] is {vector[place]:g}.")
    return vector


def limits(values: ArrayLike | None, n: int, name: str) -> Counts:
    """Return (n,) whole numbers, `UNLIMITED` where there is no limit (None or infinite)."""
    if values is None:
        return np.full(n, UNLIMITED, dtype=np.int64)
    given = unmasked(values, name)
    vector = np.full(n, given) if given.ndim == 0 else given
    if vector.shape != (n,) or vector.dtype.kind not in "fiub":
        raise InputError(
            f"{name} must be one whole number or {n}; got an array of {vector.dtype} of shape "
            f"{given.shape}."
        )
    fine = (vector >= 0) & (vector == np.floor(vector))
    if not fine.all():
        place = int(np.argmin(fine))
        raise InputError(
            f"{name} must be whole numbers ≥ 0 (infinite: no limit); {name}[{place}] is "
            f"{vector[place]}."
        )
    counts: Counts = np.minimum(vector, UNLIMITED).astype(np.int64)
    return counts
