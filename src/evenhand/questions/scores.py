"""The panel that a table of past scores shows: who scored whom, and of which groups they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError
from evenhand.scores.parts import assigned
from evenhand.tables import Names
from evenhand.tables.recipe import no_such_column

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions
    from evenhand.scores.columns import Columns


def from_scores(  # noqa: D417 - a method of `Questions`
    cls: type[Questions],
    /,
    table: Any,
    option: str,
    evaluator: str,
    score: str | None = None,
    *,
    option_group: str | None = None,
    evaluator_group: str | None = None,
    only_seen: bool = False,
    **settings: Any,
) -> Questions:
    """Return the panel that a table of past scores shows, one row per score.

    Every pair of an option and an evaluator in it may be asked, whether it was scored or not;
    with ``only_seen`` those that were, so that `check` tells what the scores can say.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow, or the path of a CSV, Parquet or Excel file.
    option, evaluator
        The columns with their names.
    score
        The column with the scores; if given, they are checked to be numbers.
    option_group, evaluator_group
        The columns with their groups.
    only_seen
        Whether pairs that were not scored cannot be asked.
    settings
        Further arguments of `panel`, such as ``bias`` or ``prices``.

    Examples
    --------
    >>> import evenhand as eh
    >>> import pyarrow as pa
    >>> scores = pa.table({"skater": ["Ann", "Bo", "Ann"], "judge": ["P", "P", "Q"],
    ...                    "nation": ["fr", "it", "fr"], "from": ["fr", "fr", "it"]})
    >>> panel = eh.Questions.from_scores(scores, "skater", "judge", option_group="nation",
    ...                               evaluator_group="from", only_seen=True)
    >>> panel.capacity.reshape(2, 2)
    array([[1, 1],
           [1, 0]])
    """
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
