"""The panel that a table of past scores shows: who scored whom, and of which groups they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.questions.given import FrameColumns
from evenhand.questions.questions import Questions
from evenhand.tables import Names


def panel_of_scores(
    cls: type[Questions],
    table: Any,
    option: str,
    evaluator: str,
    score: str | None,
    option_group: str | None,
    evaluator_group: str | None,
    only_seen: bool,
    settings: dict[str, Any],
) -> Questions:
    """Return the questions of the panel behind a table of scores; see `Questions.from_scores`."""
    from evenhand.tables.sources import CsvFile  # noqa: PLC0415 - see evenhand.tables

    source = table if hasattr(table, "columns") else CsvFile(table)
    columns = FrameColumns(source, "scores")
    options, evaluators = _names(columns, option), _names(columns, evaluator)
    if score is not None:
        columns.numbers(score)  # an error names a cell that is none
    groups = None if option_group is None else columns.texts(option_group)
    sides = None if evaluator_group is None else columns.texts(evaluator_group)
    made = cls.panel(
        _grouped(options, groups, "option"), _grouped(evaluators, sides, "evaluator"), **settings
    )
    if not only_seen:
        return made
    items = {name: i for i, name in enumerate(made.items)}
    who = {name: i for i, name in enumerate(made.evaluators)}
    seen = np.zeros((len(items), len(who)), dtype=np.bool_)
    seen[[items[name] for name in options], [who[name] for name in evaluators]] = True
    return made.restrict(seen.reshape(-1))


def _names(columns: FrameColumns, column: str) -> list[str]:
    """Return the names in a column; an error where one is missing."""
    names: list[str] = []
    for row, text in enumerate(columns.texts(column)):
        if text is None:
            raise InputError(
                f"scores: row {row}, column {column!r} is empty; every score needs a name there."
            )
        names.append(text)
    return names


def _grouped(names: list[str], groups: list[str | None] | None, what: str) -> Any:
    """Return distinct names, in the order in which they come, with their groups where given."""
    if groups is None:
        return Names(tuple(dict.fromkeys(names)))
    found: dict[str, str | None] = {}
    for row, (name, group) in enumerate(zip(names, groups, strict=True)):
        if found.setdefault(name, group) != group:
            raise InputError(
                f"scores: {what} {name!r} is of the group {found[name]!r} and, in row {row}, of "
                f"{group!r}; give everybody one group."
            )
    return found
