"""Which biases a policy speaks of, and what they are in terms of the attributes.

A leniency is measured from the first evaluator's, which is nobody's business: what is said is how
far every evaluator is from the mean of the panel, the first included: of those who scored.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.questions import Column, Questions


def named_biases(
    questions: Questions, neutral: Floats | None = None
) -> tuple[list[Column], Floats]:
    """Return what is said of evaluations beside values, and (n, p) its rows over the attributes;
    ``neutral`` says among whom leniencies are compared (`Questions.neutral_among`).
    """
    columns = questions.columns
    neutral = questions.neutral if neutral is None else neutral
    said = [(column, place) for place, column in enumerate(columns) if not _level(column)]
    rows = np.zeros((len(said), len(columns)))
    rows[np.arange(len(said)), [place for _, place in said]] = 1.0
    lenient = {column.evaluator: place for place, column in enumerate(columns) if _level(column)}
    names = [column for column, _ in said]
    if lenient:
        names += [Column(name, "leniency", evaluator=name) for name in questions.evaluators]
        away = np.tile(0.0 - neutral, (len(questions.evaluators), 1))
        for who, name in enumerate(questions.evaluators):
            if name in lenient:
                away[who, lenient[name]] += 1.0
        rows = np.vstack([rows, away]) if said else away
    return names, rows


def _level(column: Column) -> bool:
    return column.kind == "leniency"
