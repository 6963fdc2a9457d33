"""Questions in several versions, that differ in what answers may react to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evenhand.arrays import Floats, refuse_non_finite, unmasked
from evenhand.errors import InputError
from evenhand.questions.options import Column
from evenhand.questions.questions import Questions
from evenhand.tables import listed


def in_versions(
    questions: Questions,
    n: int,
    attributes: Mapping[str | Column, ArrayLike],
    prices: ArrayLike | None,
    capacity: ArrayLike | None,
) -> Questions:
    """Return the questions in n versions each; see `Questions.in_versions`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n must be a whole number of versions ≥ 1; got {n!r}.")
    columns = tuple(one if isinstance(one, Column) else Column(one) for one in attributes)
    both = [column.name for column in columns if column.name in questions.attribute_names]
    if both:
        raise InputError(f"attributes: {listed(both)} is an attribute already; name it otherwise.")
    again = np.repeat(np.arange(len(questions)), n)
    added = np.zeros((len(again), len(columns)))
    for place, (column, given) in enumerate(zip(columns, attributes.values(), strict=True)):
        added[:, place] = _each(given, questions, n, f"attributes[{column.name!r}]")
    refuse_non_finite(added, "attributes", tuple(column.name for column in columns))
    rows: Any = questions.rows[again]
    if isinstance(rows, np.ndarray):
        rows = np.hstack([rows, added])
    else:
        rows = sparse.csr_array(sparse.hstack([rows, sparse.csr_array(added)], format="csr"))
    return questions._changed(
        rows=rows,
        about=questions.about[again],
        columns=(*questions.columns, *columns),
        evaluator=questions.evaluator[again],
        noise=None if questions.noise is None else questions.noise[again],
        prices=questions.prices[again] if prices is None else _each(prices, questions, n, "prices"),
        capacity=(
            questions.capacity[again]
            if capacity is None
            else _each(capacity, questions, n, "capacity")
        ),
    )


def _each(given: ArrayLike, questions: Questions, n: int, what: str) -> Floats:
    """Return (q n,) the number of every version, version by version of each question."""
    array, q = unmasked(given, what), len(questions)
    if array.shape not in ((q, n), (q * n,), *([(q,)] if n == 1 else [])):
        raise InputError(
            f"{what} must be {q} × {n} numbers, for each of {q} questions its {n} versions; got an "
            f"array of shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must be numbers; got an array of {array.dtype}.")
    return array.reshape(-1).astype(np.float64)
