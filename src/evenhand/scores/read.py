"""From a frame or a file to scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.factor import Codes, Factor, crossed, taken_together
from evenhand.scores.finding import Finding
from evenhand.scores.parts import Parts, assigned, shown, unused
from evenhand.scores.scores import Scores

if TYPE_CHECKING:
    from evenhand.scores.columns import Columns
    from evenhand.tables.sources import Source

Groups = str | Mapping[str, str] | None

_MOST_BESIDE, _MOST_COLUMNS = 200_000, 32  # rows and columns that are read beside the parts


def read_table(
    table: Any,
    *,
    option: str = "option",
    score: str = "score",
    evaluator: str | None = "evaluator",
    rival: str | None = "rival",
    item: str | Sequence[str] | None = "item",
    event: str | Sequence[str] | None = "event",
    cluster: str | Sequence[str] | None = "cluster",
    option_group: Groups = "option_group",
    rival_group: str | None = "rival_group",
    evaluator_group: Groups = "evaluator_group",
    partial: str | None = None,
    reference: str | None = None,
    attributes: Sequence[str] = (),
    features: Sequence[str] = (),
    time: str | None = None,
    scale: tuple[float, float] | None = None,
    wide: bool | Sequence[str] = False,
    repeats: bool | Literal["unless copied"] = False,
    missing: Literal["refuse", "drop"] = "refuse",
    decimal: str | None = None,
    beside: bool = False,
) -> Scores:
    """Return the scores in a table; an `InputError` names row and column of what is wrong.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow, the path of a CSV, Parquet or Excel file, or `Scores`.
    option, score
        The columns with what was scored and the scores.
    evaluator, rival, item, event, cluster, option_group, rival_group, evaluator_group
        The columns with these parts, see `Scores`. Where nothing is said, a column of that name has
        the part, if there is one; None says that nothing has it. Several columns of one item, event
        or cluster are taken together. Groups may also come as a mapping from names to groups.
    partial, reference, attributes, features, time
        Columns of numbers with these parts, see `Scores`; ``time`` may hold dates, which count in
        days. In comparisons, a column ``length`` with
        a column ``rival_length`` beside it counts as the difference of both.
    scale
        The lowest and highest score that can be given; a score outside is refused.
    wide
        Whether the table has a row for each option and a column for each evaluator (True), or which
        columns these are; where ``evaluator`` has a column, they are items. Empty cells are no
        scores.
    repeats
        Whether an evaluator may have scored the same thing several times; "unless copied": yes,
        but rows that are the same in every cell are refused.
    missing
        What to do with rows where a cell is empty: "refuse" the table, or "drop" them.
    decimal
        What stands before decimals in texts, "." or ","; found out if not said.
    beside
        Whether to read columns, too, that play no part (not of a wide table).

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"skater": ["Ann", "Bo", "Ann"], "judge": ["P", "P", "Q"],
    ...                   "score": [7.0, 5.0, 6.5]})
    >>> scores = read_table(table, option="skater", evaluator="judge")
    >>> scores.score, scores.option.names, scores.evaluator.codes
    (array([7. , 5. , 6.5]), ('Ann', 'Bo'), array([0, 0, 1], dtype=int32))
    >>> print(scores.notes[0])
    Evaluators with one score only (1 of 2: 'Q') say nothing about a bias: one score can't tell who
    is lenient from what is good.
    """
    if isinstance(table, Scores):
        return table
    scale = _checked_scale(scale)
    _check_words(missing, decimal)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide= is True, False or a list of columns; got {wide!r}")
    given = {
        "option": option,
        "score": score,
        "evaluator": evaluator,
        "rival": rival,
        "item": item,
        "event": event,
        "cluster": cluster,
        "option_group": option_group,
        "rival_group": rival_group,
        "evaluator_group": evaluator_group,
        "partial": partial,
        "reference": reference,
        "attributes": attributes,
        "features": features,
        "time": time,
    }
    # All that follows works with pyarrow, which takes long to import.
    from evenhand.scores.columns import read_columns  # noqa: PLC0415
    from evenhand.scores.defects import (  # noqa: PLC0415
        Places,
        check_cells,
        check_evaluators,
        check_repeats,
        check_scores,
        check_spelling,
        check_two_groups,
    )
    from evenhand.scores.exported import Counted, counted  # noqa: PLC0415
    from evenhand.scores.notes import notes_on, on_standing  # noqa: PLC0415
    from evenhand.scores.wide import looks_wide, turned  # noqa: PLC0415
    from evenhand.tables.cells import give_back  # noqa: PLC0415
    from evenhand.tables.opened import opened  # noqa: PLC0415

    source: Source = counted(opened(table, "scores"), given)
    left_out = source.left_out if isinstance(source, Counted) else {}
    named = {part: dict(v) for part, v in given.items() if isinstance(v, Mapping)}
    given |= dict.fromkeys(named)
    if wide:
        source = turned(source, wide, given)
    parts = assigned(source, given, "" if wide else _hint(table, source, given))
    drop = [*parts.names, *parts.numbers] if missing == "drop" else []
    drop += parts.all("score") if wide else ()
    read = read_columns(source, parts, decimal=decimal, drop=drop)
    places = Places(source, parts.one("option"))
    check_cells(places, parts, read, drop)
    check_evaluators(places, parts, read)
    check_scores(places, parts, read, scale)
    if repeats is not True:
        check_repeats(places, parts, read, copies_only=repeats == "unless copied")
    check_spelling(places, parts, read)
    check_two_groups(places, parts, read)
    scores = _scores(parts, read, named, scale)
    lost = read.n_rows - len(scores) if missing == "drop" and not wide else 0
    known = parts.one("evaluator") is not None
    by_whom = [] if known else looks_wide(source, [score, *unused(source, parts)], like=score)
    notes = notes_on(scores, places, lost, _n_again(scores, bool(repeats)), by_whom)
    others = _beside(source, unused(source, parts), read) if beside and not wide else {}
    give_back()
    return replace(scores, notes=(*_said_of(table), *on_standing(left_out), *notes), beside=others)


def _beside(source: Source, columns: list[str], read: Columns) -> dict[str, Factor]:
    """Return columns that play no part, as names in the rows that were kept."""
    from evenhand.scores.columns import read_columns  # noqa: PLC0415 - as above

    if not columns or read.n_rows > _MOST_BESIDE:
        return {}
    names = read_columns(source, Parts({"item": tuple(columns[:_MOST_COLUMNS])})).names
    if read.rows is None:
        return dict(names)
    kept = ((column, Factor(of.codes[read.rows], of.names)) for column, of in names.items())
    return dict(kept)


def _said_of(table: Any) -> list[Finding]:
    """Return what whoever made a frame says of it, as `evenhand.read_scores` does."""
    said = getattr(table, "attrs", {}).get("notes", ())
    return [Finding.note("log", text) for text in said if isinstance(text, str)]


def _scores(
    parts: Parts,
    read: Columns,
    named: Mapping[str, Mapping[str, str]],
    scale: tuple[float, float] | None,
) -> Scores:
    option, score = parts.one("option"), parts.one("score")
    assert option is not None
    assert score is not None
    evaluator = None if (who := parts.one("evaluator")) is None else read.names[who]
    rival = None if (other := parts.one("rival")) is None else read.names[other].codes
    groups = {name: code for code, name in enumerate(read.groups)}
    of_options = _members("option", read.names[option], read, named, groups)
    of_evaluators = _members("evaluator", evaluator, read, named, groups)

    def numbers(part: str) -> Floats | None:
        column = parts.one(part)
        return None if column is None else _numbers(parts, read, column)

    return Scores(
        read.numbers[score],
        read.names[option],
        evaluator,
        rival=rival,
        item=_together(parts, read, "item"),
        event=_together(parts, read, "event"),
        cluster=_together(parts, read, "cluster"),
        groups=tuple(groups),
        option_group=of_options,
        evaluator_group=of_evaluators,
        stated=numbers("partial"),
        reference=numbers("reference"),
        attributes={column: _numbers(parts, read, column) for column in parts.all("attributes")},
        time=numbers("time"),
        scale=scale,
        called=parts.called,
        features={column: read.numbers[column] for column in parts.all("features")},
    )


def _together(parts: Parts, read: Columns, part: str) -> Factor | None:
    columns = [read.names[column] for column in parts.all(part)]
    return taken_together(columns) if columns else None


def _numbers(parts: Parts, read: Columns, column: str) -> Floats:
    own = read.numbers[column]
    return own - read.numbers[parts.against[column]] if column in parts.against else own


def _members(
    part: str,
    names: Factor | None,
    read: Columns,
    named: Mapping[str, Mapping[str, str]],
    groups: dict[str, int],
) -> Codes | None:
    """Return (names,) the group of each, as a column or the user's mapping says; None for none."""
    said = named.get(f"{part}_group")
    if said is None or names is None:
        return read.members.get(part)
    strange = [name for name in said if str(name) not in names.names]
    if len(strange) == len(said):
        raise InputError(
            f"{part}_group= names no {part} that is in the table: {strange[:5]!r}; its {part}s are "
            f"{names.names[:8]!r}"
        )
    texts = {str(name): str(group) for name, group in said.items() if group is not None}
    found = [groups.setdefault(texts[n], len(groups)) if n in texts else -1 for n in names.names]
    return np.array(found, dtype=np.int32)


def _n_again(scores: Scores, repeats: bool) -> int:
    """Return how many scores come again, if they may."""
    if not repeats or scores.evaluator is None:
        return 0
    columns = [scores.scored[0], scores.evaluator.codes]
    columns += [] if scores.rival is None else [scores.rival]
    return len(scores) - crossed(*columns)[1]


def _hint(table: Any, source: Source, given: Mapping[str, Any]) -> str:
    """Return what may be the matter if a column is not there: a wide table, or an index."""
    from evenhand.scores.wide import looks_wide  # noqa: PLC0415 - as above

    hints = []
    known = {part: (value,) for part, value in given.items() if isinstance(value, str)}
    found = (
        [] if given["score"] in source.columns else looks_wide(source, unused(source, Parts(known)))
    )
    if found:
        hints.append(
            f"{source.name}: {shown(found)} hold numbers and look like evaluators, a column each: "
            "say wide=True (--wide)"
        )
    index = [name for name in getattr(getattr(table, "index", None), "names", ()) if name]
    if index:
        hints.append(f"{shown(index)} is the frame's index: give frame.reset_index()")
    return "\n".join(hints)


def _checked_scale(scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise InputError(
            f"scale= is the lowest and the highest score that can be given, such as (0, 10); got "
            f"{scale!r}"
        )
    return low, high


def _check_words(missing: str, decimal: str | None) -> None:
    if missing not in ("refuse", "drop"):
        raise InputError(f"missing= is 'refuse' or 'drop'; got {missing!r}")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal={decimal!r} is neither '.' nor ','; leave it out to find it out")
