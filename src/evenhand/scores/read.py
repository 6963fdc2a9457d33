"""From a frame or a file to scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.factor import Codes, Factor, crossed, taken_together
from evenhand.scores.finding import Finding
from evenhand.scores.parts import BY_NAME, Parts, assigned, is_there, shown, unused
from evenhand.scores.scores import Scores
from evenhand.tables.columns import Defects, check_decimal

if TYPE_CHECKING:
    from evenhand.scores.columns import Columns
    from evenhand.tables.sources import Table

Groups = str | Mapping[str, str] | None

Families = Callable[[str, Sequence[str]], Mapping[str, str | None] | None]
"""Says of a part and its names which groups they are of, where no column does."""


class Reading(TypedDict, total=False):
    """How a table of scores is read.

    ``option`` to ``evaluator_group`` are the columns with these parts, see `Scores`. Where nothing
    is said, a column of that name has the part, or one that people call so (`parts.OTHER_WORDS`);
    None says that nothing has it. Several columns of one item, event or cluster are taken together.
    Groups may also come as a mapping from names to groups.

    ``partial`` to ``time`` are columns of numbers; ``time`` may hold dates, which count in days. In
    comparisons, a column ``length`` with ``rival_length`` beside it counts as the difference.

    ``scale``: the lowest and highest score that can be given. ``wide``: whether the table has a row
    for each option and a column for each evaluator, or which columns these are; where ``evaluator``
    has a column, they are items; empty cells are no scores. ``repeats``: whether an evaluator may
    have scored the same thing several times; "unless copied": yes, but rows that are the same in
    every cell are refused. ``missing``: what to do with rows where a cell is empty. ``decimal``:
    what stands before decimals in texts; found out if not said. ``beside``: whether to keep columns
    that play no part (not of a wide table). ``scored``: whether there must be scores; else it will
    do who scored what. ``telling``: whether scores must tell something, two at least, that differ.
    """

    option: str | Sequence[str]
    score: str
    evaluator: str | None
    rival: str | None
    item: str | Sequence[str] | None
    event: str | Sequence[str] | None
    cluster: str | Sequence[str] | None
    option_group: Groups
    rival_group: str | None
    evaluator_group: Groups
    partial: str | None
    reference: str | None
    attributes: Sequence[str]
    features: Sequence[str]
    time: str | None
    scale: tuple[float, float] | None
    wide: bool | Sequence[str]
    repeats: bool | Literal["unless copied"]
    missing: Literal["refuse", "drop"]
    decimal: str | None
    beside: bool
    scored: bool
    telling: bool


_MOST_BESIDE, _MOST_COLUMNS = 200_000, 32  # rows and columns that are kept beside the parts

_UNSAID = {part: part for part in ("option", "score", *BY_NAME)} | {
    "partial": None,
    "reference": None,
    "attributes": (),
    "features": (),
    "time": None,
}


def read_table(
    table: Any,
    *,
    families: Families | None = None,
    said: Iterable[str] = (),
    **reading: Unpack[Reading],
) -> Scores:
    """Return the scores in a table; an `InputError` names row and column of what is wrong."""
    scale = _checked_scale(reading.get("scale"))
    wide, repeats = reading.get("wide", False), reading.get("repeats", False)
    missing, decimal = reading.get("missing", "refuse"), reading.get("decimal")
    scored, telling = reading.get("scored", True), reading.get("telling", True)
    _check_words(missing, decimal)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide= is True, False or a list of columns; got {wide!r}")
    given: dict[str, Any] = {part: reading.get(part, unsaid) for part, unsaid in _UNSAID.items()}
    # All that follows works with pyarrow, which takes long to import.
    from evenhand.scores import defects  # noqa: PLC0415
    from evenhand.scores.columns import read_columns  # noqa: PLC0415
    from evenhand.scores.layouts import (  # noqa: PLC0415
        Counted,
        Kept,
        counted,
        looks_wide,
        turned,
    )
    from evenhand.scores.notes import notes_on, on_standing  # noqa: PLC0415
    from evenhand.tables.cells import give_back  # noqa: PLC0415
    from evenhand.tables.opened import opened  # noqa: PLC0415

    notes = [Finding.note("log", text) for text in (*said, *_said_of(table))]
    if isinstance(table, Scores):
        if wide:
            raise InputError("wide= is for tables, and these are scores; say it to read_scores")
        kept = Kept(table)
        given, new = kept.given(given)
        checked = table.place is None or (repeats is True and not telling)
        if not new and checked and scale is None:
            return table
        source: Table = kept
        notes = [note for note in table.notes if note.assumption in _OF_TABLES]
    else:
        source = counted(opened(table, "scores"), given)
    left_out = source.left_out if isinstance(source, Counted) else {}
    named: dict[str, dict[str, str | None]] = {
        part: dict(v) for part, v in given.items() if isinstance(v, Mapping)
    }
    given |= dict.fromkeys(named)
    if wide:
        source = turned(source, wide, given)
    if not scored and not is_there(source, given, "score"):
        del given["score"]
    hint = (lambda: "") if wide else partial(_hint, table, source, given)
    parts = assigned(source, given, hint, other_words=not wide)
    drop = [*parts.names, *parts.numbers] if missing == "drop" else []
    drop += parts.all("score") if wide else ()
    read = read_columns(source, parts, decimal=decimal, drop=drop)
    give_back()
    found = Defects(source, parts.one("option"))
    defects.check_cells(found, parts, read, drop)
    defects.check_evaluators(found, parts, read)
    if parts.one("score"):
        defects.check_scores(found, parts, read, scale, telling=telling)
    if repeats is not True:
        defects.check_repeats(found, parts, read, copies_only=repeats == "unless copied")
    defects.check_spelling(found, parts, read)
    defects.check_two_groups(found, parts, read)
    if families is not None and given["partial"] is None:
        named |= _families(families, given, parts, read)
    scores = _scores(parts, read, named, scale)
    lost = read.n_rows - len(scores) if missing == "drop" and not wide else 0
    known = parts.one("evaluator") is not None
    of = parts.one("score")
    by_whom = [] if known or not of else looks_wide(source, [of, *unused(source, parts)], like=of)
    notes += [
        Finding.note("column", f"The column {column!r} is read as {part!r}.")
        for column, part in parts.read_as.items()
        if column.lower() != part
    ]
    notes += on_standing(left_out)
    notes += notes_on(scores, found, lost, _n_again(scores, bool(repeats)), by_whom)
    others = [] if wide or not reading.get("beside") else unused(source, parts)
    if isinstance(table, Scores):
        scores = replace(scores, called={**table.called, **scores.called})
    return replace(
        scores,
        notes=tuple(dict.fromkeys(notes)),
        beside=_beside(source, others, read),
        place=lambda row: source.where([read.row(row)])[0],
    )


_OF_TABLES = (
    "log",
    "column",
    "standing",
    "missing",
)  # notes that stay when scores are read for more


def _families(
    families: Families, given: Mapping[str, Any], parts: Parts, read: Columns
) -> dict[str, dict[str, str | None]]:
    """Return the groups of names, where no column has any and nobody said that there are none."""
    found = {}
    for part in ("option", "evaluator"):
        column, group = parts.one(part), f"{part}_group"
        if column is None or parts.one(group) or given[group] != group:
            continue
        own = families(part, read.names[column].names)
        if own is None:
            break
        if any(one is not None for one in own.values()):
            found[group] = dict(own)
    return found


def _beside(source: Table, columns: list[str], read: Columns) -> dict[str, Factor]:
    """Return columns that play no part, as names in the rows that were kept."""
    from evenhand.tables.cells import coded  # noqa: PLC0415 - as above

    found = {}
    for column in columns[:_MOST_COLUMNS] if read.n_rows <= _MOST_BESIDE else ():
        with suppress(InputError):  # of lists, say, which nobody asked for
            names, codes = coded(source.read([column], [column])[column])
            found[column] = Factor(codes if read.rows is None else codes[read.rows], tuple(names))
    return found


def _said_of(table: Any) -> list[str]:
    """Return what whoever made a frame says of it, in ``frame.attrs["notes"]``."""
    return [t for t in getattr(table, "attrs", {}).get("notes", ()) if isinstance(t, str)]


def _scores(
    parts: Parts,
    read: Columns,
    named: Mapping[str, Mapping[str, str | None]],
    scale: tuple[float, float] | None,
) -> Scores:
    option, score = parts.one("option"), parts.one("score")
    assert option is not None
    evaluator = None if (who := parts.one("evaluator")) is None else read.names[who]
    rival = None if (other := parts.one("rival")) is None else read.names[other].codes
    groups = {name: code for code, name in enumerate(read.groups)}
    of_options = _members("option", read.names[option], read, named, groups)
    of_evaluators = _members("evaluator", evaluator, read, named, groups)

    def numbers(part: str) -> Floats | None:
        column = parts.one(part)
        return None if column is None else _numbers(parts, read, column)

    return Scores(
        np.zeros(len(read.names[option].codes)) if score is None else read.numbers[score],
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
    named: Mapping[str, Mapping[str, str | None]],
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


def _hint(table: Any, source: Table, given: Mapping[str, Any]) -> str:
    """Return what may be the matter if a column is not there: a wide table, or an index."""
    from evenhand.scores.layouts import looks_wide  # noqa: PLC0415 - as above

    hints = []
    known = {part: (value,) for part, value in given.items() if isinstance(value, str)}
    score = given.get("score")
    lacking = score is not None and score not in source.columns
    found = looks_wide(source, unused(source, Parts(known))) if lacking else []
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
    check_decimal(decimal)
