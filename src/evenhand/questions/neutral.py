"""Neutral evaluators who could be found: they favour nobody, and are asked what others are."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.questions.advice import columns_of
from evenhand.questions.inputs import UNLIMITED
from evenhand.questions.questions import Questions
from evenhand.tables import Names


def with_neutral(questions: Questions, n: int) -> Questions:
    """Return the questions with n more evaluators, who favour nobody, about whatever others are."""
    # As `Questions.adding` does it, but for any number of them at once, and at the median price,
    # noise and workload of the others.
    if n == 0:
        return questions
    q, e = len(questions), len(questions.evaluators)
    _, first = np.unique(questions.about, axis=0, return_index=True)
    first.sort()
    kept = np.append(np.ones(questions.n_features), np.zeros(questions.n_attributes))
    rows = sparse.csr_array(questions.matrix[first] @ sparse.diags_array(kept))
    names, more, noise = _names(questions, n), n * len(first), questions.noise
    columns = columns_of(questions, names)
    extra = len(columns)
    blocks = [sparse.hstack([questions.matrix, sparse.csr_array((q, extra))])]
    for j in range(n):
        one = np.zeros((len(first), extra))
        one[:, j : j + 1] = 1.0
        blocks.append(sparse.hstack([rows, sparse.csr_array(one)]))
    groups = questions.evaluator_groups
    capacity, askable = max(1, int(questions.capacity.max())), questions.workload > 0
    workload = np.median(questions.workload[askable]) if askable.any() else UNLIMITED
    return questions._changed(
        rows=sparse.csr_array(sparse.vstack(blocks, format="csr")),
        columns=(*questions.columns, *columns),
        about=np.vstack([questions.about, np.tile(questions.about[first], (n, 1))]),
        evaluators=Names((*questions.evaluators, *names)),
        evaluator=np.append(questions.evaluator, np.repeat(e + np.arange(n), len(first))),
        evaluator_groups=None if groups is None else (*groups, *[None] * n),
        prices=_padded(questions.prices, more, np.median(questions.prices)),
        noise=None if noise is None else _padded(noise, more, np.median(noise)),
        capacity=_padded(questions.capacity, more, capacity),
        workload=_padded(questions.workload, n, min(workload, UNLIMITED)),
    )


def _padded(values: NDArray[Any], n: int, value: Any) -> NDArray[Any]:
    """Return values, and n more that are all the same."""
    return np.append(values, np.full(n, value, dtype=values.dtype))


def _names(questions: Questions, n: int) -> list[str]:
    """Return what neutral evaluators are called: names that nobody has."""
    numbers = (i for i in count(1) if f"neutral evaluator {i}" not in questions.evaluators)
    return [f"neutral evaluator {i}" for i in islice(numbers, n)]
