"""The panel that a table of past scores shows: who scored whom, and of which groups they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.errors import InputError
from evenhand.readers import read_scores
from evenhand.tables import Names

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions
    from evenhand.scores import Factor, Scores
    from evenhand.scores.read import Groups
    from evenhand.scores.scores import Codes


def from_scores(  # noqa: D417 - a method of `Questions`
    cls: type[Questions],
    /,
    table: Any,
    option: str = "option",
    evaluator: str = "evaluator",
    score: str = "score",
    *,
    option_group: Groups = "option_group",
    evaluator_group: Groups = "evaluator_group",
    missing: Literal["refuse", "drop"] = "refuse",
    only_seen: bool = False,
    **settings: Any,
) -> Questions:
    """Return the panel that a table of past scores shows, one row per score.

    Every pair of an option and an evaluator in it may be asked, whether it was scored or not;
    with ``only_seen`` those that were, so that `check` tells what the scores can say.

    Parameters
    ----------
    table
        `Scores`, or what `evenhand.read_scores` takes: a frame, a file, a log. It may do without
        scores.
    option, evaluator, score
        The columns with these parts, if they have other names.
    option_group, evaluator_group
        The columns with their groups, or mappings from names to groups; None for none.
    missing
        What to do with rows where a cell is empty: "refuse" the table, or "drop" them.
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
    scores = read_scores(
        table,
        option=option,
        evaluator=evaluator,
        score=score,
        rival=None,
        item=None,
        event=None,
        cluster=None,
        option_group=option_group,
        evaluator_group=evaluator_group,
        missing=missing,
        scored=False,
        beside=False,
    )
    if scores.evaluator is None:
        raise InputError("a panel needs to know who gave the scores; name that column: evaluator=.")
    made = cls.panel(
        _grouped(scores, scores.option, scores.option_group),
        _grouped(scores, scores.evaluator, scores.evaluator_group),
        **settings,
    )
    if not only_seen:
        return made
    seen = np.zeros((len(made.items), len(made.evaluators)), dtype=np.bool_)
    place = {name: i for i, name in enumerate(made.items)}  # calibration may stand between
    items = np.array([place[name] for name in scores.option.names])
    seen[items[scores.option.codes], scores.evaluator.codes] = True
    return made.restrict(seen.reshape(-1))


def _grouped(scores: Scores, names: Factor, groups: Codes | None) -> Any:
    """Return distinct names, in the order in which they come, with their groups where given."""
    if groups is None:
        return Names(names.names)
    sides = [None if code < 0 else scores.groups[code] for code in groups.tolist()]
    return dict(zip(names.names, sides, strict=True))
