"""The panel that a table of past scores shows: who scored whom, and of which groups they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError
from evenhand.questions.questions import Questions
from evenhand.scores.parts import assigned
from evenhand.tables import Names
from evenhand.tables.recipe import no_such_column

if TYPE_CHECKING:
    from evenhand.scores.columns import Columns


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
    # see evenhand.tables
    from evenhand.scores.columns import read_columns  # noqa: PLC0415
    from evenhand.scores.defects import Places, check_cells  # noqa: PLC0415
    from evenhand.tables.opened import opened  # noqa: PLC0415

    source = opened(table, "scores")
    given: dict[str, str | None] = {"option": option, "evaluator": evaluator}
    given |= {"option_group": option_group, "evaluator_group": evaluator_group}
    given |= {} if score is None else {"score": score}
    parts = assigned(source, given)
    absent = [column for part, column in given.items() if column and not parts.one(part)]
    if absent:
        raise InputError(no_such_column(source, str(absent[0])))
    read = read_columns(source, parts)
    check_cells(Places(source, option), parts, read, remedy="")
    made = cls.panel(
        _grouped(read, option, "option"), _grouped(read, evaluator, "evaluator"), **settings
    )
    if not only_seen:
        return made
    seen = np.zeros((len(made.items), len(made.evaluators)), dtype=np.bool_)
    place = {name: i for i, name in enumerate(made.items)}  # calibration may stand between
    items = np.array([place[name] for name in read.names[option].names])
    seen[items[read.names[option].codes], read.names[evaluator].codes] = True
    return made.restrict(seen.reshape(-1))


def _grouped(read: Columns, column: str, part: str) -> Any:
    """Return distinct names, in the order in which they come, with their groups where given."""
    names = read.names[column].names
    if part not in read.members:
        return Names(names)
    groups = [None if code < 0 else read.groups[code] for code in read.members[part].tolist()]
    return dict(zip(names, groups, strict=True))
