"""From a frame or a file to scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.factor import Codes, Factor, crossed
from evenhand.scores.scores import Scores


def read_table(
    table: Any,
    *,
    option: str = "option",
    score: str = "score",
    evaluator: str | None = None,
    rival: str | None = None,
    item: str | Sequence[str] | None = None,
    event: str | Sequence[str] | None = None,
    option_group: str | None = None,
    evaluator_group: str | None = None,
    partial: str | None = None,
    reference: str | None = None,
    attributes: Sequence[str] = (),
    time: str | None = None,
    scale: tuple[float, float] | None = None,
) -> Scores:
    """Return the scores in a table; an `InputError` names row and column of what is wrong.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow, `Scores`, or the path of a file.
    option, score, evaluator, rival, item, event, option_group, evaluator_group, partial, reference
        The columns with these parts, see `Scores`; several columns of one item or event are taken
        together.
    attributes, time, scale
        See `Scores`.
    """
    if isinstance(table, Scores):
        return table
    columns = _Columns(table)
    options = columns.names(option)
    evaluators = None if evaluator is None else columns.names(evaluator)
    groups: dict[str, int] = {}
    of_options = of_evaluators = None
    if option_group is not None:
        of_options = _group_of_each(options, columns.texts(option_group), groups, option_group)
    if evaluator_group is not None and evaluators is not None:
        of_evaluators = _group_of_each(
            evaluators, columns.texts(evaluator_group), groups, evaluator_group
        )
    called = {
        "option": option,
        "score": score,
        "evaluator": evaluator,
        "option_group": option_group,
        "evaluator_group": evaluator_group,
        "partial": partial,
    }
    return Scores(
        columns.numbers(score),
        options,
        evaluators,
        item=columns.taken_together(item),
        event=columns.taken_together(event),
        groups=tuple(groups),
        option_group=of_options,
        evaluator_group=of_evaluators,
        stated=None if partial is None else columns.numbers(partial),
        reference=None if reference is None else columns.numbers(reference),
        attributes={name: columns.numbers(name) for name in attributes},
        time=None if time is None else columns.numbers(time),
        scale=scale,
        called={part: name for part, name in called.items() if name is not None},
    )


class _Columns:
    def __init__(self, table: Any) -> None:
        import pandas as pd  # noqa: PLC0415

        self._frame = table if hasattr(table, "columns") else pd.read_csv(table)

    def texts(self, column: str) -> list[str]:
        return [str(cell) for cell in self._column(column)]

    def names(self, column: str) -> Factor:
        return Factor.of(self.texts(column))

    def numbers(self, column: str) -> Floats:
        return np.asarray(self._column(column), dtype=np.float64)

    def taken_together(self, columns: str | Sequence[str] | None) -> Factor | None:
        if columns is None:
            return None
        parts = [self.names(name) for name in ([columns] if isinstance(columns, str) else columns)]
        codes, n = crossed(*(part.codes for part in parts))
        names = [""] * n
        for row, code in enumerate(codes.tolist()):
            names[code] = ", ".join(part.names[part.codes[row]] for part in parts)
        return Factor(codes, tuple(names))

    def _column(self, column: str) -> Any:
        if column not in self._frame.columns:
            raise InputError(f"there is no column {column!r}")
        return self._frame[column]


def _group_of_each(names: Factor, texts: list[str], groups: dict[str, int], column: str) -> Codes:
    found = np.full(len(names), -1, dtype=np.int32)
    for row, (code, text) in enumerate(zip(names.codes.tolist(), texts, strict=True)):
        group = groups.setdefault(text, len(groups))
        if found[code] not in (-1, group):
            raise InputError(f"row {row}, column {column!r}: {names.names[code]!r} has two groups")
        found[code] = group
    return found
