"""A bias for each evaluator, where one was taken to be common to all."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.questions.options import Column
from evenhand.questions.questions import Questions


def with_own_biases(questions: Questions) -> Questions | None:
    """Return the same questions with a bias for each evaluator; None if nobody shares one.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "a", "Bo": "b"}, {"P": "a", "Q": "b", "R": "c"})
    >>> apart = with_own_biases(panel)
    >>> apart.attribute_names[:2], apart == Questions.panel(
    ...     {"Ann": "a", "Bo": "b"}, {"P": "a", "Q": "b", "R": "c"}, bias="evaluator")
    (('own group of P', 'own group of Q'), True)
    """
    d, matrix = questions.n_features, questions.matrix.tocsc()
    biases: list[tuple[Column, sparse.csc_array]] = []
    others: list[tuple[Column, sparse.csc_array]] = []
    for place, column in enumerate(questions.columns):
        entries = matrix[:, [d + place]]
        if column.kind != "bias" or column.evaluator is not None:
            (biases if column.kind == "bias" else others).append((column, entries))
            continue
        rows = entries.nonzero()[0]
        for who in np.unique(questions.evaluator[rows]).tolist():
            if who < 0:
                biases.append((column, entries))
                break
            name = questions.evaluators[who]
            own = sparse.csc_array(entries.multiply((questions.evaluator == who)[:, None]))
            named = Column(f"{column.name} of {name}", "bias", name, column.group)
            biases.append((named, own))
    if len(biases) + len(others) == len(questions.columns):
        return None
    columns = [*biases, *others]
    stacked = sparse.hstack([matrix[:, :d], *(entries for _, entries in columns)], format="csr")
    rows_ = sparse.csr_array(stacked)
    rows_.eliminate_zeros()
    return questions._changed(rows=rows_, columns=tuple(column for column, _ in columns))
