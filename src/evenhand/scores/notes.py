"""What the owner of a table of scores should know about it, and what stops nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evenhand.scores.defects import alike_names
from evenhand.scores.factor import Factor
from evenhand.scores.finding import Finding
from evenhand.scores.parts import shown
from evenhand.scores.scores import Scores
from evenhand.tables.columns import Defects
from evenhand.tables.names import listed
from evenhand.tables.numerals import is_date

_MOST_NAMES = 100_000  # of which spellings are compared


def notes_on(
    scores: Scores,
    defects: Defects,
    left_out: int = 0,
    repeats: int = 0,
    beside: Sequence[str] = (),
) -> Iterator[Finding]:
    """Yield what is worth saying about scores that can be used."""
    if left_out:
        yield Finding.note(
            "missing",
            f"{left_out:,} rows were left out since a cell was empty, as missing='drop' says. That "
            "is harmless only if it has nothing to do with what the scores would have been.",
        )
    if repeats:
        yield Finding.note("repeats", f"{repeats:,} scores were given again by the same evaluator.")
    evaluator = scores.evaluator
    if evaluator is None:
        yield Finding.note(
            "evaluator",
            "Nobody says who gave the scores, so lenient and severe evaluators can't be told from "
            "good and bad options. If a column names them, say which: evaluator=."
            + (f" If {shown(beside)} are evaluators, say wide=True." if beside else ""),
        )
    else:
        yield from _on_one_score(scores, evaluator)
    for part, names in (("option", scores.option), ("evaluator", evaluator)):
        if names is not None:
            yield from _on_names(part, scores.called.get(part, part), names, defects)
    yield from _on_groups(scores)
    yield from _on_partiality(scores)


def on_standing(left_out: Mapping[str, int]) -> Iterator[Finding]:
    """Yield how many rows of a campaign's table are left out, by their standing."""
    if left_out:
        n, parts = sum(left_out.values()), listed_counts(left_out)
        yield Finding.note(
            "standing",
            f"{n:,} row{'' if n == 1 else 's'} of the campaign's record "
            f"{'is' if n == 1 else 'are'} left out: {parts}. Who withdraws scores after looking at "
            "them chooses among them: `evenhand campaign answer` says what holds with them, too.",
        )


def listed_counts(counts: Mapping[str, int]) -> str:
    """Return counts in words."""
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())


def _on_one_score(scores: Scores, evaluator: Factor) -> Iterator[Finding]:
    if scores.rival is not None:
        return
    single = np.flatnonzero(evaluator.counts == 1)
    if single.size:
        who = listed([evaluator.names[code] for code in single[:5].tolist()])
        more = ", …" if single.size > 5 else ""
        yield Finding.note(
            "evaluator",
            f"Evaluators with one score only ({single.size:,} of {len(evaluator):,}: {who}{more}) "
            "say nothing about a bias: one score can't tell who is lenient from what is good.",
        )


def _on_names(part: str, column: str, names: Factor, defects: Defects) -> Iterator[Finding]:
    few = names.names[:_MOST_NAMES]
    dated = [code for code, name in enumerate(few) if is_date(name)]
    if dated:
        row = int(np.argmax(names.codes == dated[0]))
        yield Finding.note(
            part,
            f"{defects.place(row, column)}: {few[dated[0]]!r} looks like a date, as spreadsheets "
            f"make of names ({len(dated):,} of {len(names):,} names do). If not, correct it.",
        )
    known: dict[str, str] = {}
    alike = [
        (first, name) for name in few if (first := known.setdefault(name.casefold(), name)) != name
    ]
    if alike:
        one, other = alike[0]
        yield Finding.note(
            part,
            f"Column {column!r}: {one!r} and {other!r} count as two ({len(alike):,} such); if they "
            "are one, spell them alike.",
        )


def _on_groups(scores: Scores) -> Iterator[Finding]:
    for part, groups in (("option", scores.option_group), ("evaluator", scores.evaluator_group)):
        if groups is not None and (groups < 0).any() and (groups >= 0).any():
            names = (
                scores.option if part == "option" or scores.evaluator is None else scores.evaluator
            )
            without = np.flatnonzero(groups < 0)
            who = listed([names.names[code] for code in without[:5].tolist()])
            yield Finding.note(
                f"{part}_group",
                f"{without.size:,} of {len(groups):,} {part}s have no group ({who}"
                f"{', …' if without.size > 5 else ''}): nobody counts as partial to them, and they "
                "to nobody.",
            )
    if scores.option_group is None or scores.evaluator_group is None:
        return
    ours, theirs = (_seen(scores, codes) for codes in (scores.option_group, scores.evaluator_group))
    alike = alike_names(sorted(ours - theirs), sorted(theirs))
    if alike:
        one, other = alike[0]
        yield Finding.note(
            "option_group",
            f"The group {one!r} of options and {other!r} of evaluators count as two "
            f"({len(alike):,} such); if they are one, spell them alike.",
        )
    elif not ours & theirs and scores.stated is None:
        yield Finding.note(
            "evaluator_group",
            f"No evaluator is of a group that an option is of: options have {_some(ours)}, "
            f"evaluators {_some(theirs)}. So nobody is partial to anything here.",
        )


def _on_partiality(scores: Scores) -> Iterator[Finding]:
    stated = scores.stated
    if stated is None:
        return
    column = scores.called.get("partial", "partial")
    low, high = float(stated.min()), float(stated.max())
    if low == high:
        yield Finding.note(
            "partial",
            f"Column {column!r} is {low:g} in every row: everybody is as partial to everything, "
            "and no scores tell what that adds.",
        )
    elif low < (0.0 if scores.rival is None else -1.0) or high > 1.0:
        yield Finding.note(
            "partial",
            f"Column {column!r} runs from {low:g} to {high:g}, not from 0 (impartial) to 1 "
            "(partial): the bias is what one unit of it adds.",
        )


def _seen(scores: Scores, codes: np.ndarray[tuple[int], np.dtype[np.int32]]) -> set[str]:
    return {scores.groups[code] for code in np.unique(codes).tolist() if code >= 0}


def _some(names: set[str]) -> str:
    few: Sequence[str] = sorted(names)
    return listed(few[:3]) + (", …" if len(few) > 3 else "")
