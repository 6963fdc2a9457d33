"""What is wrong with a table of scores, and what its owner should know though it stops nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.scores.grades import verdict_in
from evenhand.scores.layouts import Columns, Torn, Wide
from evenhand.scores.marks import Marking, as_grades
from evenhand.scores.read import OTHER_WORDS, Parts, shown, tells_apart, texts_in, unused
from evenhand.scores.scores import WHOLE, Factor, Finding, Scores, first_repeated
from evenhand.tables.cells import (
    FEW,
    ColumnScan,
    Missing,
    as_text,
    calendar_dates,
    spreadsheet_days,
)
from evenhand.tables.columns import GROUP_WORDS, Defects, Table
from evenhand.tables.texts import is_date, listed, parsed, written_elsewhere

# Up to so many scores are far, if they are apart from all others (of which there are enough) by so
# many times the range of these; and nobody types more than so many.
_MOST_FAR, _ENOUGH, _FAR, _MOST_TYPED = 3, 8, 3.0, 100_000

# Texts by which 1 (or 0) is the best score, or by which it may be; the last of columns alone, since
# a title 'Note: …' or 'Place: …' says nothing of scores.
_GOOD = (
    r"(?:the\s+|die\s+|der\s+|das\s+)?(?:best[ere]?|excellente?|outstanding|exceptional|very\s+good"
    r"|sehr\s+gut|strongest|top|hervorragend|ausgezeichnet|très\s+bon|très\s+bien|meilleure?"
    r"|excelente|sobresaliente|mejor|ottimo|eccellente|migliore|uitstekend)\b"
)
_BAD = r"(?:the\s+)?(?:worst|poorest|schlechteste)\b"
_ONE = r"(?<![\w.,])[01](?:[.,]0+)?(?![\d.,]*\d)"
_LOW_IS_BEST = re.compile(
    rf"{_ONE}\s*(?:=|\(|is\b|means\b|ist\b)\s*{_GOOD}"
    rf"|{_ONE}\s*[-–—:]?\s*{_GOOD}(?!\s+(?!(?:to|and|bis|through)\b|\d)\w)"
    rf"|{_GOOD}\s*(?:=|:|\(|is\b|ist\b)\s*{_ONE}"
    rf"|(?<![\w.,])(?:[2-9]|[1-9][0-9]+)\s*(?:=|\(|:|is\b)\s*{_BAD}"
    r"|\blow(?:er|est)?(?:\s+(?:score|mark|number|value|rating)s?)?\s*"
    r"(?:(?:=|is|are)\s*(?:the\s+)?(?:better|best|good)|wins?)\b"
    r"|\b(?:schulnoten?|noten)\b"
    r"|\b(?:rank|ranks|ranked|ranking|rankings|placing|placings|placement|placements"
    r"|platzierung|platzierungen|rang|rangliste|classement)\b",
    re.IGNORECASE,
)
_PLACES = re.compile(
    r"\b(?:place|places|platz|plätze|rangplatz|note|gesamtnote|position|puesto|rango|posto)\b",
    re.IGNORECASE,
)
_DROP = ", or say missing='drop' to leave these scores out"


def refuse_unclear(notes: Sequence[str], columns: Sequence[str], table: str) -> None:
    """Raise an error if a title, a note or the names of the scores' columns say that the lowest
    scores may be the best, which nobody has said or denied.
    """
    said = next((note for note in notes if _LOW_IS_BEST.search(note)), None)
    if said is None:
        texts = [column.replace("_", " ") for column in columns]
        if not all(_LOW_IS_BEST.search(text) or _PLACES.search(text) for text in texts):
            return
        said = f"The scores are in {shown(columns)}."
    raise InputError(
        f"{table}: are the lowest scores the best? {said} If the lowest are, as of ranks or marks "
        "from 1, say best='low'; if the highest are, say best='high'."
    )


def check_cells(
    found: Defects, parts: Parts, read: Columns, drop: Sequence[str], marking: Marking
) -> None:
    """Note cells that are empty, or not what their column is for."""
    if read.n_rows == 0:
        raise InputError(f"{found.source.name} has a header but no rows; it needs a row per score")
    for column, missing in read.missing.items():
        if column not in drop:
            found.of_cells(column, missing, read.n_rows, _DROP)
    for column in parts.numbers:
        scan = read.scans[column]
        is_score = column == parts.one("score")
        if is_score and read.strange:
            _note_strange(found, column, read, marking)
            continue
        if (column not in drop and not _all_aside(is_score, scan, read)) or (
            scan.missing.count == read.n_rows
        ):
            found.of_cells(column, _given(scan.missing, read, is_score), read.n_rows, _DROP)
        if is_score and scan.first_text is not None and parts.one("rival"):
            texts = enumerate(found.source.texts(column))
            odd = [(at, text) for at, text in texts if text and verdict_in(text) is None]
            words = [one for one in odd if not written_elsewhere(one[1])]
            row, strange = next(iter(words or odd), scan.first_text)
            found.add(f": {strange!r} is no verdict; {_VERDICTS}", column, row)
            continue
        if is_score and scan.first_text is not None and not scan.n_numbers:
            grades = as_grades(found.source.read([column])[column].to_pylist())
            if grades and not any(map(is_date, grades)):
                _note_grades(found, column, grades, *scan.first_text)
                continue
        found.of_numbers(scan, is_time=column == parts.one("time"))
    for torn in read.torn:
        found.add(*_in_two_groups(found, torn))


def _all_aside(is_score: bool, scan: ColumnScan, read: Columns) -> bool:
    """Whether all empty scores are of those who stood aside, whose rows are left out."""
    return is_score and scan.missing.count == read.n_aside


def _given(missing: Missing, read: Columns, is_score: bool) -> Missing:
    """Return which scores are missing, but for those of whom stood aside."""
    if not is_score or not read.n_aside or read.rows is None:
        return missing
    gone = np.ones(read.n_rows, dtype=np.bool_)
    gone[read.rows] = False
    rows = [row for row in (missing.first, *missing.also) if not gone[row]]
    if not rows:
        return Missing(missing.count - read.n_aside, missing.first)
    return Missing(missing.count - read.n_aside, rows[0], tuple(rows[1:]))


def _note_strange(found: Defects, column: str, read: Columns, marking: Marking) -> None:
    """Note texts that are none of the declared grades."""
    text, (row, near) = next(iter(read.strange.items()))
    also = [first for first, _ in list(read.strange.values())[1:]]
    meant = f"; did you mean {near!r}?" if near else ";"
    more = f" ({len(read.strange):,} such texts: {listed(list(read.strange))})" * (len(also) > 0)
    found.add(
        f": {text!r} is none of the grades {listed(list(marking.grades), 20)}{more}{meant} Correct "
        "the cells, or declare the grade in grades=",
        column,
        row,
        also,
    )


def _note_grades(found: Defects, column: str, grades: Sequence[str], row: int, text: str) -> None:
    if all(verdict_in(one) is not None for one in grades) and max(map(len, grades)) > 1:
        compared = (
            ": {!r} says which of two options is better; name the column of the second, rival="
        )
        found.add(f"{compared.format(text)}, or another column of scores", column, row)
        return
    said = f"grades={list(grades)!r}"
    found.add(
        f": {text!r} is not a number, and no cell of the column is. If these are grades, name "
        f"them, the best first: {said} (in the right order); else name another column",
        column,
        row,
    )


def check_scores(
    found: Defects,
    parts: Parts,
    read: Columns,
    scale: tuple[float, float] | None,
) -> None:
    """Note scores that are no scores."""
    column = parts.one("score")
    assert column is not None
    scores = read.numbers[column]
    if scale is not None:
        _note_beyond(found, read, column, scores, scale)
    elif len(scores) and np.isfinite(scores).all():
        _note_dates(found, read, column, scores)


_VERDICTS = (
    "where options are compared, write first, second or tie (A, B, model_a, model_b, win, loss, or "
    "the name of the better one will do), 1 and 0, or by how much the first is better, below 0 "
    "where the second is"
)


def leads(
    found: Defects, parts: Parts, read: Columns, scale: tuple[float, float] | None
) -> tuple[Columns, tuple[float, float] | None]:
    """Return the scores of comparisons as leads of the first option, and the ends of these: 1 and 0
    are a win and a loss, ½ is a tie, and the middle of a scale without a sign is one, too. Refuse
    others that never change their sign.
    """
    column = parts.one("score")
    scores = np.zeros(0) if column is None else read.numbers[column]
    one_sided = len(scores) > 0 and ((scores >= 0.0).all() or (scores <= 0.0).all())
    signed = scale is None or scale[0] < 0.0 < scale[1]
    if read.verdicts and one_sided and scores.all():  # all for the same side: that tells something
        return read, scale or (-1.0, 1.0)
    if column is None or read.verdicts or not one_sided or (signed and not scores.any()):
        return read, scale
    said = "Comparisons: 1 is read as a win of the option, 0 as a loss"
    if _are_votes(scores) and scale in (None, (0.0, 1.0)):
        new, ends = 2.0 * scores - 1.0, (-1.0, 1.0)
        said += ", ½ as a tie" if (scores == 0.5).any() else ""
    elif scale is not None and not signed:
        middle, half = 0.5 * (scale[0] + scale[1]), 0.5 * (scale[1] - scale[0])
        new, ends, said = scores - middle, (-half, half), f"Comparisons: {middle:g} is a tie"
    elif scale is not None:
        return read, scale
    else:
        low, high = float(scores.min()), float(scores.max())
        most = max(-low, high)
        between = (
            f"if {0.5 * (low + high):g} is a tie, say scale=({low:g}, {high:g}) where {high:g} is "
            f"for the first, scale=({high:g}, {low:g}) where {low:g} is; "
        )
        found.add(
            f": scores go from {low:g} to {high:g}, which never tells one option's wins from the "
            f"other's; {_VERDICTS}; {between if low < high else ''}if the "
            f"{'first' if high > 0.0 else 'second'} is better every time, "
            f"scale=({-most:g}, {most:g})",
            column,
            read.row(0),
        )
        found.refuse()
    read = replace(read, numbers={**read.numbers, column: new}, notes=(*read.notes, f"{said}."))
    return read, None if scale is None else ends


def _are_votes(scores: Floats) -> bool:
    return {0.0} < set(np.unique(scores).tolist()) <= {0.0, 0.5, 1.0}


def refuse_low_verdicts(parts: Parts, read: Columns, logged: bool) -> None:
    """Raise an error where comparisons say by words, or by 1 and 0, which option is better."""
    column = parts.one("score")
    if column is not None and (logged or read.verdicts or _are_votes(read.numbers[column])):
        raise InputError(
            f"column {column!r}: these verdicts say which of two options is better; best='low', or "
            "a scale from high to low, is for comparisons by numbers below and above 0, and for "
            "scores. Leave it out, and write first, second or tie if 0 is a win."
        )


def check_told(
    found: Defects, parts: Parts, read: Columns, *, telling: bool = True, scale: bool = False
) -> None:
    """Refuse a table without scores; if they are to tell something, one that tells nothing: scores
    that are all equal do on a ``scale`` that is stated.
    """
    column = parts.one("score")
    assert column is not None
    scores = read.numbers[column]
    if len(scores) == 0:
        raise InputError(
            f"{found.source.name}: of {read.n_rows:,} rows every one has an empty cell, from "
            f"{found.rows([0])} on, column {column!r} or another; nothing is left"
        )
    if len(scores) == 1 and telling:
        place = found.place(read.row(0), column)
        raise InputError(
            f"{found.source.name} has one score only ({place}): there is nothing to compare it "
            "with; give the scores of several options by several evaluators"
        )
    low, high = float(scores.min()), float(scores.max())
    if high == low and telling and not scale:
        size = abs(low)
        rounded = f" (numbers of that size are rounded to {np.spacing(size):.2g})"
        raise InputError(
            f"{found.source.name}: from {found.place(read.row(0), column)} on every score is "
            f"{low:.15g}{rounded if size > WHOLE else ''}: nothing to compare; is it the column of "
            "the scores?"
        )


def check_repeats(found: Defects, parts: Parts, read: Columns) -> None:
    """Note that an evaluator scored the same thing twice, or that a row comes twice."""
    if parts.one("evaluator") is None:
        return  # then it may have been two
    keys = parts.names
    codes = [read.names[column].codes for column in keys]
    whole = np.flatnonzero(np.min(codes, axis=0) >= 0)  # empty cells are said by themselves
    again = first_repeated(*(one[whole] for one in codes))
    if again is None:
        return
    rows, n = whole[again[0]], again[1]
    what = ", ".join(
        f"{column} {read.names[column].names[read.names[column].codes[rows[0]]]!r}"
        for column in keys
    )
    at = [read.row(row) for row in rows.tolist()]
    more = f"; {n:,} rows repeat one" if n > 1 else ""
    others = _differing(found.source, parts, at[:2])
    by = [column for column in keys if column != parts.one("option")]
    better = next((c for c in others if tells_apart(found.source, [*by, c])), None)
    meant = f"If {better!r} is what was scored, say option={better!r}. " if better else ""
    options = read.names[str(parts.one("option"))].names
    second = next((c for c in others if not set(options).isdisjoint(found.source.texts(c))), None)
    if second and parts.one("rival") is None:
        meant = f"If two options are compared, say rival={second!r}. "
    differ = "differs" if len(others) == 1 else "differ"
    tell = f" ({', '.join(repr(c) for c in others[:4])} {differ} there)" if others else ""
    copied = "" if others else "; if they are copies, say copies='drop' to keep one of each"
    found.add(
        f"{found.rows(at)}, column {parts.one('score')!r}: one evaluator scored the same thing "
        f"twice ({what}{more}). {meant}If something tells the scores apart, name its column as "
        f"item= or event={tell}; if the evaluator was asked again, say repeats=True{copied}; else "
        "remove the copies"
    )


def check_unnamed(found: Defects, parts: Parts, others: Sequence[str], repeats: bool) -> None:
    """Note that nobody said who scored, where a column may: it is called so, or tells apart the
    scores that an option has (on an item), unless these are said to be repeats.
    """
    keys = parts.names
    repeated = not repeats and not tells_apart(found.source, keys)
    for column in [] if found.source.is_large else others:
        texts = [text for text in texts_in(found.source, column) if text]
        words = set(re.findall(r"[^\W_]+", column.casefold()))
        named = not words.isdisjoint(OTHER_WORDS["evaluator"]) and words.isdisjoint(GROUP_WORDS)
        telling = repeated and (
            all(map(str.isdigit, texts)) or not any(map(written_elsewhere, texts))
        )
        if (named and 1 < len({*texts}) <= len(texts) // 2) or (
            telling and tells_apart(found.source, [*keys, column])
        ):
            found.add(
                f"column {column!r} may say who gave the scores, which nobody has said: say "
                f"evaluator={column!r} (item={column!r} if options were tried on these), or "
                "evaluator=None if no column does"
            )
            return


def check_spelling(found: Defects, parts: Parts, read: Columns) -> None:
    """Note groups of options and of evaluators that differ in spelling only."""
    if {"option", "evaluator"} - read.members.keys():
        return
    ours, theirs = (
        {read.groups[code] for code in np.unique(read.members[part]).tolist() if code >= 0}
        for part in ("option", "evaluator")
    )
    if ours & theirs or not ours or not theirs:
        return
    alike = alike_names(sorted(ours), sorted(theirs))
    if alike:
        one, other = alike[0]
        group, option = parts.one("option_group"), parts.one("option")
        assert group is not None
        assert option is not None
        who = np.flatnonzero(read.members["option"] == read.groups.index(one))[0]
        row = read.row(int(np.argmax(read.names[option].codes == who)))
        found.add(
            f": {one!r} is {other!r} in column {parts.one('evaluator_group')!r} ({len(alike)} "
            "groups differ so, and none is the same in both); spell groups alike",
            group,
            row,
        )


def alike_names(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[str, str]]:
    """Return names that differ in capitals, blanks and marks only."""
    bare = {_bare(name): name for name in theirs}
    return [
        (name, bare[_bare(name)])
        for name in ours
        if _bare(name) in bare and bare[_bare(name)] != name
    ]


def _bare(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()) or name


def _in_two_groups(found: Defects, torn: Torn) -> tuple[str, str]:
    first, second = torn.groups
    more = f" ({torn.count:,} have several)" if torn.count > 1 else ""
    said = (
        f": {torn.part} {torn.name!r} is of the group {first!r} and, in {found.rows([torn.row])}, "
        f"of {second!r}{more}; give everybody one group, or say with partial= who is partial to "
        "what"
    )
    return said, torn.column


def _note_beyond(
    found: Defects, read: Columns, column: str, scores: Floats, scale: tuple[float, float]
) -> None:
    outside = np.flatnonzero((scores < scale[0]) | (scores > scale[1]))
    if outside.size:
        first = int(outside[0])
        found.add(
            f": {scores[first]:.15g} is outside the scale from {scale[0]:g} to {scale[1]:g} "
            f"({outside.size:,} of {len(scores):,} scores are); correct the scores or scale=",
            column,
            read.row(first),
            [read.row(row) for row in outside[1 : FEW + 1].tolist()],
        )


def _note_dates(found: Defects, read: Columns, column: str, scores: Floats) -> None:
    remedy = "if they are scores all the same, say so with scale=(lowest, highest)"
    if calendar_dates(scores) is not None:
        found.add(
            f": {scores[0]:.0f} looks like a date, and so do all others; name the column of the "
            f"scores, or, {remedy}",
            column,
            read.row(0),
        )
    elif (day := spreadsheet_days(scores)) is not None:
        found.add(
            f": {scores[day[0]]:.0f} is {day[1]} as spreadsheets count days, which looks like a "
            f"date among scores; correct it, or, {remedy}",
            column,
            read.row(day[0]),
        )


def _differing(source: Table, parts: Parts, rows: Sequence[int]) -> list[str]:
    """Return columns without a part in which two rows differ."""
    if isinstance(source, Wide):
        return []
    cells = source.read(unused(source, parts))
    both = {c: as_text(own.take(pa.array(rows, pa.int64()))) for c, own in cells.items()}
    return [column for column, texts in both.items() if len(set(texts.to_pylist())) > 1]


def check_evaluators(found: Defects, parts: Parts, read: Columns) -> None:
    """Note scores in the place of evaluators: numbers with decimals, which names have not."""
    column = parts.one("evaluator")
    if column is None or isinstance(found.source, Wide):
        return
    names = read.names[column].names
    values, fits = parsed(names)
    if not fits.all() or np.count_nonzero(values != np.floor(values)) * 2 <= len(names):
        return
    found.add(
        f" and the cells below hold numbers such as {listed(names[:3])}, not names of evaluators; "
        "if each evaluator has a column of scores, say wide=True",
        column,
        read.row(0),
    )


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
            f"{left_out:,} rows were left out since a cell was empty, as you asked for. That is "
            "harmless only if it has nothing to do with what the scores would have been.",
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


def on_far_scores(found: Defects, parts: Parts, read: Columns) -> Iterator[Finding]:
    """Yield scores that lie far from all others, as 77 among marks from 3 to 9 does."""
    column = parts.one("score")
    scores = np.zeros(0) if column is None else read.numbers[column]
    if not 0 < len(scores) <= _MOST_TYPED:
        return
    order = np.argsort(scores, kind="stable")
    ordered, n = scores[order], len(scores)
    for k in range(1, min(_MOST_FAR, n - _ENOUGH) + 1):
        for far, near, rest in (
            (order[n - k :], ordered[n - k], ordered[: n - k]),
            (order[:k], ordered[k - 1], ordered[k:]),
        ):
            low, high = float(rest[0]), float(rest[-1])
            if 0.0 < _FAR * (high - low) < max(near - high, low - near):
                places = [(found.place(read.row(x), column or ""), scores[x]) for x in sorted(far)]
                said = "; ".join(f"{at}: {score:g}" for at, score in places)
                yield Finding.note(
                    "far",
                    f"{said}. That is far from all other scores, which go from {low:g} to "
                    f"{high:g}, and has much weight in what is said here. Is it a typing error?",
                )
                return


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
        (first, name) for name in few if (first := known.setdefault(_plainly(name), name)) != name
    ]
    if alike:
        one, other = alike[0]
        yield Finding.note(
            part,
            f"Column {column!r}: {one!r} and {other!r} count as two ({len(alike):,} such); if they "
            "are one, spell them alike.",
        )


def _plainly(name: str) -> str:
    """Return a name in small letters, without points and blanks that nobody sees."""
    return " ".join(name.casefold().replace(". ", " ").rstrip(".").split())


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
