"""Which columns may have which role, where nobody has said it: for somebody to confirm.

Nothing is read by what is suggested here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

from evenhand.scores.layout import (
    Parts,
    by_words,
    given_roles,
    range_of,
    shown,
    tells_apart,
)
from evenhand.scores.roles import NEEDED, ROLES
from evenhand.tables.columns import GROUP_WORDS, Table
from evenhand.tables.office import texts_in
from evenhand.tables.texts import written_elsewhere

_SUGGESTED = (*NEEDED, "evaluator", "option_group", "evaluator_group")
_SHAPES = {  # tables of comparisons that others write, and how to have them read
    ("g1_winner", "g2_winner"): "Give the file as MT-bench wrote it, gpt-4_pair.jsonl",
    ("games",): "Give the files as arena-hard wrote them, JSON lines with games",
    ("winner", "loser"): "Write a column score with first in every row (and tie where nobody won), "
    "and say option='winner', rival='loser', score='score'",
    ("left", "right", "preferred"): "Say option='left', rival='right', score='preferred'",
}
_FIRST, _FIRST_PAIRS = 8, 10_000  # cells that are looked at


def suggested(source: Table, given: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return which columns may have option, evaluator, score and the two groups, for somebody to
    confirm: what is found by name or by another word first, then by words in names, then by cells.

    Empty where one of the three is not there, as where each evaluator has a column. Nothing is read
    by it that nobody confirmed.
    """
    given = given_roles({}) if given is None else given
    needed = (*NEEDED, "evaluator")
    found = {role: role for role in _SUGGESTED if role in source.columns}
    found |= {role: c for c, role in by_words(source, given, strict=False).items()}
    found |= {r: c for r in needed if isinstance(c := given.get(r), str) and c in source.columns}
    words = {c: re.findall(r"[^\W_]+", c.casefold()) for c in source.columns if c}

    def having(*starts: str) -> set[str]:
        ends = tuple(word for word in starts if len(word) > 4)  # JScore, JCountry
        return {
            c
            for c, own in words.items()
            if any(w.startswith(starts) or w.endswith(ends) for w in own)
        }

    def take(role: str, fitting: Iterable[str]) -> None:
        free = (c for c in fitting if c not in found.values())
        if role not in found and (column := next(free, None)) is not None:
            found[role] = column

    judges, groups = having(*ROLES["evaluator"].words), having(*GROUP_WORDS)
    scores, numeric = having("score", *ROLES["score"].words, "note", "overall"), _numeric(source)
    take("evaluator_group", (c for c in words if c in judges & groups))
    take("evaluator", (c for c in words if c in judges - groups))
    take("option_group", (c for c in words if c in groups))
    own = found.get("option_group", "").casefold()  # JCountry beside Country
    take("evaluator_group", (c for c in words if own and c.casefold().endswith(own)))
    for fitting in (scores & numeric, scores, numeric):
        take("score", (c for c in words if c in fitting))
    if "option" not in found and "evaluator" in found:
        free = [c for c in words if c not in found.values()]
        found |= _scored(source, found, sorted(free, key=numeric.__contains__))
    else:
        take("option", (c for c in words if c not in numeric))
    if "option" in found:
        take("evaluator", _naming_rows_with(source, found["option"], words.keys() - numeric))
    return found if found.keys() >= {*needed} else {}


def _scored(source: Table, found: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return columns of option, and perhaps item, by which no evaluator repeats."""
    known = [found[role] for role in ("evaluator", "item") if role in found]
    pairs = permutations(columns, 2) if "item" not in found else ()
    for some in [*((column,) for column in columns), *pairs]:
        if tells_apart(source, [*known, *some]):
            return dict(zip(("option", "item"), some, strict=False))
    return {}


def _numeric(source: Table) -> set[str]:
    """Return columns whose first cells are numbers, and that are not called ids."""
    first = {c: [t for t in texts_in(source, c)[:_FIRST] if t] for c in source.columns if c}
    found = {c for c, texts in first.items() if texts and all(map(written_elsewhere, texts))}
    return {c for c in found if re.search(r"(?:^|[\W_])id$", c, re.IGNORECASE) is None}


def _naming_rows_with(source: Table, option: str, others: Collection[str]) -> list[str]:
    """Return columns whose names come again and again, and name a row together with the option."""
    options = texts_in(source, option)[:_FIRST_PAIRS]
    found = []
    for column in (c for c in source.columns if c in others and c != option):
        texts = texts_in(source, column)[:_FIRST_PAIRS]
        pairs = {*zip(options, texts, strict=False)}
        if len({*texts}) < len(texts) == len(pairs) and len({*options}) < len(options):
            found.append(column)
    return found


def may_name_evaluators(source: Table, parts: Parts, *, repeats: bool) -> str | None:
    """Return a column that is called as evaluators are, or tells repeated scores apart."""
    keys = parts.names
    repeated = not repeats and not tells_apart(source, keys)
    for column in [] if source.is_large else parts.unused(source):
        texts = [text for text in texts_in(source, column) if text]
        words = set(re.findall(r"[^\W_]+", column.casefold()))
        called = not words.isdisjoint(ROLES["evaluator"].words) and words.isdisjoint(GROUP_WORDS)
        telling = repeated and (
            all(map(str.isdigit, texts)) or not any(map(written_elsewhere, texts))
        )
        if (called and 1 < len({*texts}) <= len(texts) // 2) or (
            telling and tells_apart(source, [*keys, column])
        ):
            return column
    return None


def looks_wide(source: Table, others: Sequence[str], like: str | None = None) -> list[str]:
    """Return the columns that hold numbers only, where two do or more: perhaps evaluators."""
    ranges = {column: range_of(source, column) for column in others}
    found = {column: ends for column, ends in ranges.items() if ends is not None}
    if like in found:
        low, high = found[like]
        room = high - low
        found = {c: e for c, e in found.items() if low - room <= e[0] <= e[1] <= high + room}
    return list(found) if len(found) > 1 else []


def hint_for(table: Any, source: Table, given: Mapping[str, Any]) -> str:
    """Return what may be the matter if a column is not there: a wide table, or an index."""
    for shape, advice in _SHAPES.items():
        if {*shape} <= {*source.columns}:
            return advice
    hints = []
    known = {part: (value,) for part, value in given.items() if isinstance(value, str)}
    score = given.get("score")
    lacking = score is not None and score not in source.columns
    may = {} if source.is_large else suggested(source, given)
    beside = may.get("evaluator") in {*by_words(source, given, ("evaluator",)), "evaluator"}
    found = looks_wide(source, Parts(known).unused(source)) if lacking else []
    if found and not (may and beside):
        said = "hold numbers and look like evaluators, a column each: say wide=True, or wide=[…]"
        hints.append(f"{source.name}: {shown(found)} {said} with those that are")
    elif may:
        new = [f"{part}={c!r}" for part, c in may.items() if given.get(part) not in (c, None)]
        hints += [f"If that is what they are, say {', '.join(new)}."] if new else []
    index = [name for name in getattr(getattr(table, "index", None), "names", ()) if name]
    if index:
        hints.append(f"{shown(index)} is the frame's index: give frame.reset_index()")
    return "\n".join(hints)
