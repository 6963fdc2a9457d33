"""Which biases a policy speaks of, and what they are in terms of the attributes.

A leniency is measured from the first evaluator's, which is nobody's business: what is said is how
far every evaluator is from the mean of the panel, the first included.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.questions import Column, Questions


def named_biases(questions: Questions) -> tuple[list[Column], Floats]:
    """Return what is said of evaluations beside values, and (n, p) its rows over the attributes.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> columns, rows = named_biases(panel)
    >>> [column.name for column in columns], rows.tolist()
    (['own group', 'P', 'Q'], [[1.0, 0.0], [0.0, -0.5], [0.0, 0.5]])
    """
    unit, columns = np.eye(questions.n_attributes), questions.columns
    said = [(column, row) for column, row in zip(columns, unit, strict=True) if not _level(column)]
    lenient = {c.evaluator: row for c, row in zip(columns, unit, strict=True) if _level(c)}
    if lenient:
        for name in questions.evaluators:
            row = lenient.get(name, np.zeros(len(unit))) - questions.neutral
            said.append((Column(name, "leniency", evaluator=name), row))
    rows = np.array([row for _, row in said]).reshape(len(said), len(unit))
    return [column for column, _ in said], rows


def _level(column: Column) -> bool:
    return column.kind == "leniency"
