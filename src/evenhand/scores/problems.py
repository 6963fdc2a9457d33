"""What is wrong with a table of scores, and what its owner should know though it stops nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError, Remedy
from evenhand.scores.find import (
    Parts,
    evaluators_across,
    is_thing,
    looks_wide,
    may_name_evaluators,
    shown,
    tells_apart,
    words_in,
)
from evenhand.scores.grades import as_grades, is_letter, verdict_in
from evenhand.scores.roles import ROLES, counts_repeats
from evenhand.scores.scores import WHOLE, Codes, Finding, Scores, crossed, first_repeated
from evenhand.tables.cells import FEW, coded, day_among
from evenhand.tables.columns import Defects, Table
from evenhand.tables.office import texts_in
from evenhand.tables.texts import is_date, listed, parsed, spelled, written_elsewhere

if TYPE_CHECKING:
    from evenhand.scores.read import Columns
    from evenhand.tables.cells import ColumnScan

# Up to so many scores are far, if they are apart from all others (of which there are enough) by so
# many times the range of these; and nobody types more than so many.
_MOST_FAR, _ENOUGH, _FAR, _MOST_TYPED = 3, 8, 3.0, 100_000
_MOST_TRIED = 6  # columns of which two are tried together
_LEAST_RANKED = 4  # options, so that nobody's marks are ranks by chance
_MOST_NAMES = 100_000  # of which spellings are compared

# Texts by which 1 (or 0) is the best score, or by which it may be; the last of columns alone, since
# a title 'Note: …' or 'Place: …' says nothing of scores.
_GOOD = (
    r"(?:the\s+|die\s+|der\s+|das\s+)?(?:best[ere]?|excellente?|outstanding|exceptional|very\s+good"
    r"|sehr\s+gut|strongest|strong(?:ly)?\s+(?:agree|accept)|top|hervorragend|ausgezeichnet"
    r"|très\s+bon|très\s+bien|meilleure?"
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
    r"\b(?:place|places|platz|plätze|rangplatz|note|gesamtnote|position|puesto|rango|posto"
    r"|finish|endnote|nih score|overall impact|impact score)\b",
    re.IGNORECASE,
)
_DROP = Remedy("missing", "drop", "to leave these scores out")
_REPEATS = Remedy("repeats", True, "if the evaluator was asked again")
_VERDICTS = (
    "where options are compared, write first, second or tie (A, B, model_a, model_b, win, loss, or "
    "the name of the better one will do), 1 and 0, or by how much the first is better, below 0 "
    "where the second is"
)


def refuse_unclear(notes: Sequence[str], columns: Sequence[str], table: str) -> None:
    """Raise an error if a title or column says that low may be best, and nobody else does."""
    said = next((note for note in notes if _LOW_IS_BEST.search(note)), None)
    if said is None:
        texts = [column.replace("_", " ") for column in columns]
        if not all(_LOW_IS_BEST.search(text) or _PLACES.search(text) for text in texts):
            return
        said = f"The scores are in {shown(columns)}."
    raise _unclear(table, said)


def refuse_ranks(scores: Scores, table: str) -> None:
    """Raise an error if all evaluators gave each number from 1 on once, as ranks are given."""
    y = scores.score
    if scores.evaluator is None or y.min() != 1.0 or (y != np.rint(y)).any():
        return
    factors = (scores.evaluator, scores.item, scores.event)
    codes, _ = crossed(*(factor.codes for factor in factors if factor is not None))
    counts = np.bincount(codes)
    if counts.min() < _LEAST_RANKED or counts.max() != y.max():
        return
    order = np.lexsort((y, codes))
    ranks = 1 + np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    if (y[order] == ranks).all():
        raise _unclear(table, "Everybody gave each number from 1 on once, as ranks are given.")


def _unclear(table: str, said: str) -> InputError:
    return InputError(
        f"{table}: are the lowest scores the best? {said}",
        Remedy("best", "low", "if the lowest are, as of ranks or marks from 1"),
        Remedy("best", "high", "if the highest are"),
    )


class Problems(Defects):
    """What is wrong with a table of scores, by what was read of it."""

    def __init__(self, source: Table, parts: Parts, read: Columns, *, wide: int) -> None:
        super().__init__(source, parts.one("option"))
        self.parts, self.read, self.wide = parts, read, wide
        self.score = parts.one("score")
        self.scores = np.zeros(0) if self.score is None else read.numbers[self.score]
        if read.n_rows == 0:
            raise InputError(f"{source.name} has a header but no rows; it needs a row per score")

    def of_columns(self, drop: Sequence[str], grades: Mapping[str, float]) -> None:
        """Note cells that are empty, or not what their column is for."""
        read, who = self.read, self.parts.one("evaluator")
        for column, missing in read.missing.items():
            if column not in drop:
                self.of_cells(column, missing, read.n_rows, _DROP)
        for column, scan in read.scans.items():
            if column == self.score and read.marks.strange:
                self._of_strange(column, grades)
                continue
            if column not in drop or scan.missing.count == read.n_rows:
                self.of_cells(column, scan.missing, read.n_rows, _DROP)
            if column != self.score or not self._of_words(scan):
                self.of_numbers(scan, is_time=column == self.parts.one("time"))
        for torn in read.torn:
            first, second = torn.groups
            more = f" ({torn.count:,} have several)" if torn.count > 1 else ""
            said = (
                f": {torn.part} {torn.name!r} is of the group {first!r} and, in "
                f"{self.rows([torn.row])}, of {second!r}{more}; give everybody one group"
            )
            partial = Remedy("columns", {"partial": ...}, "that says who is partial to what")
            self.add(said, torn.column, None, (), partial, code="groups")
        if who is not None and not self.wide:
            names = read.names[who].names
            values, fits = parsed(names)
            if fits.all() and np.count_nonzero(values != np.floor(values)) * 2 > len(names):
                said = f" and the cells below hold numbers such as {listed(names[:3])}, not names"
                across = evaluators_across(self.source)
                columns = across if who in across else True
                wide = Remedy("wide", columns, "if each evaluator has a column of scores")
                self.add(f"{said} of evaluators", who, read.row(0), (), wide, code="wide")

    def _of_strange(self, column: str, grades: Mapping[str, float]) -> None:
        """Note texts that are none of the declared grades."""
        strange, texts = self.read.marks.strange, self.source.texts(column)
        (text, near), *others = strange.items()
        meant = f"; did you mean {near!r}?" if near else ";"
        more = f" ({len(strange):,} such texts: {listed(list(strange))})" if others else ""
        said = f": {text!r} is none of the grades {listed(list(grades), 20)}{more}{meant}"
        rows = [texts.index(other) for other in strange]
        said += " correct it, or declare it among the grades"
        self.add(said, column, rows[0], rows[1:], code="grades")

    def _of_words(self, scan: ColumnScan) -> bool:
        """Note words in the place of scores that may be verdicts or grades; tell whether so."""
        if scan.first_text is None:
            return False
        row, text = scan.first_text
        texts, ways = self.source.texts(scan.name), tuple[Remedy, ...]()
        if self.parts.one("rival"):
            odd = [(at, one) for at, one in enumerate(texts) if one and verdict_in(one) is None]
            words = [one for one in odd if not written_elsewhere(one[1])]
            row, text = next(iter(words or odd), scan.first_text)
            code, said = "verdicts", f": {text!r} is no verdict; {_VERDICTS}"
        elif scan.n_numbers or not (grades := as_grades(texts)) or any(map(is_date, grades)):
            return False
        elif all(verdict_in(one) is not None for one in grades) and max(map(len, grades)) > 1:
            code, said = "verdicts", f": {text!r} says which of two options is better"
            ways = (Remedy("columns", {"rival": ...}, "that has the second option"),)
        else:
            code, said = "grades", f": {text!r} is not a number, and no cell of the column is"
            others = [c for c in self.source.columns if c and c != scan.name]
            cells = {one for one in texts if one}
            names = {c: {*texts_in(self.source, c)} for c in others}
            option = next((c for c in others if 2 * len(cells & names[c]) >= len(cells)), None)
            if option:
                said += f"; these are names that column {option!r} has: say which was better"
                said += f" of two, with columns option and rival ({_VERDICTS})"
                code = "verdicts"
            elif all(map(is_letter, grades)):
                ways = (Remedy("grades", grades, "if these are grades, the best first"),)
            else:
                said += f"; the words are {listed(sorted(grades), 12)}"
                best_first = "with these words, the best first, if they are grades"
                ways = (Remedy("grades", ..., best_first),)
        self.add(said, scan.name, row, (), *ways, code=code)
        return True

    def of_scores(self, scale: tuple[float, float] | None) -> None:
        """Note scores that are outside the scale, or dates."""
        read, scores = self.read, self.scores
        if scale is not None:
            outside = np.flatnonzero((scores < scale[0]) | (scores > scale[1]))
            if outside.size:
                rows = [read.row(row) for row in outside[: FEW + 1].tolist()]
                said = (
                    f": {scores[outside[0]]:.15g} is outside the scale from {scale[0]:g} to "
                    f"{scale[1]:g} ({outside.size:,} of {len(scores):,} scores are); correct them, "
                    "or the scale"
                )
                self.add(said, self.score, rows[0], rows[1:], code="scale")
        elif np.isfinite(scores).all() and (day := day_among(scores)) is not None:
            said = f": {scores[day[0]]:.0f} looks like a date ({day[1]}); correct it"
            other = Remedy("columns", {"score": ...}, "if the scores are in another column")
            scale_ = Remedy("scale", ..., "with the lowest and the highest, if it is a score")
            self.add(said, self.score, read.row(day[0]), (), other, scale_, code="date")

    def of_repeats(self) -> bool:
        """Note that an evaluator scored the same thing twice, or that a row comes twice; tell
        whether a column counts these, as epochs and runs do, so that nothing is wrong.
        """
        keys, parts, read = self.parts.names, self.parts, self.read
        if parts.one("evaluator") is None:
            return False  # then it may have been two
        codes = [read.names[column].codes for column in keys]
        whole = np.flatnonzero(np.min(codes, axis=0) >= 0)  # empty cells are said by themselves
        again = first_repeated(*(one[whole] for one in codes))
        if again is None:
            return False
        counted = [c for c in ([] if self.wide else parts.unused(self.source)) if counts_repeats(c)]
        if any(tells_apart(self.source, [*keys, column]) for column in counted):
            return True
        rows, n = whole[again[0]], again[1]
        own = [read.names[column].names[read.names[column].codes[rows[0]]] for column in keys]
        what = ", ".join(f"{column} {name!r}" for column, name in zip(keys, own, strict=True))
        at = [read.row(row) for row in rows.tolist()]
        others = self._differing(at[0], at[1])
        by = [column for column in keys if column != parts.one("option")]
        own_names = read.names[str(parts.one("option"))].names
        options = {name for name in own_names if not name.isdigit()}
        second = next((c for c in others if not options.isdisjoint(self.source.texts(c))), None)
        ways: list[Remedy] = []
        if second and parts.one("rival") is None:
            ways.append(Remedy("columns", {"rival": second}, "if two options are compared"))
        elif better := next(
            (
                c
                for c in others
                if not is_thing(c) and self._comes_again(c) and tells_apart(self.source, [*by, c])
            ),
            None,
        ):
            ways.append(Remedy("columns", {"option": better}, "if that is what was scored"))
        if others and not any(map(counts_repeats, others)):
            when = f"or event, if that tells the scores apart ({listed(others, 4)} may)"
            new = self._telling(keys, others)
            items = [*parts.all("item"), *new] if new else []
            item = items[0] if len(items) == 1 else items or ...
            ways.append(Remedy("columns", {"item": item}, when))
        ways.append(_REPEATS)
        ways += [] if others else [Remedy("copies", "drop", "to keep one of each")]
        said = (
            f"{self.rows(at)}, column {self.score!r}: one evaluator scored the same thing twice "
            f"({what}{f'; {n:,} rows repeat one' if n > 1 else ''})"
        )
        self.add(said, None, None, (), *ways, code="repeats")
        return False

    def _telling(self, keys: Sequence[str], others: Sequence[str]) -> list[str]:
        """Return the fewest columns that tell apart what some columns do not, and of which names
        were scored by several, with several options; else the first of those.
        """
        few = [c for c in others if self._comes_again(c)]
        if self.source.is_large:
            return few[:1]
        items = self.parts.all("item")
        unused = [c for c in self.parts.unused(self.source) if self._comes_again(c)]
        several = (own for n in (2, 3) for own in combinations(unused[:_MOST_TRIED], n))
        some = [*((c,) for c in few), *(own for own in several if {*own} & {*few})]
        some = [own for own in some if self._is_shared([*items, *own])]
        fits = (list(own) for own in some if tells_apart(self.source, [*keys, *own]))
        return next(fits, list(some[0]) if some and len(some[0]) == 1 else [])

    def _is_shared(self, items: Sequence[str]) -> bool:
        """Whether most items were tried with several options, by several evaluators."""

        def codes_of(columns: Sequence[str]) -> list[Codes]:
            return [coded(cells)[1] for cells in self.source.read(columns).values()]

        _, item = np.unique(crossed(*codes_of(items))[0], return_inverse=True)
        for own in codes_of([str(self.parts.one(role)) for role in ("option", "evaluator")]):
            counts = np.bincount(np.unique(np.stack([item, own]), axis=1)[0])
            if 2 * np.count_nonzero(counts > 1) < len(counts):
                return False
        return True

    def _comes_again(self, column: str) -> bool:
        """Whether a column may name items: names come again, and it is called as no score."""
        if words_in(column)[-1:] in {(word,) for word in ("score", *ROLES["score"].words)}:
            return False
        texts = [text for text in texts_in(self.source, column) if text]
        return len({*texts}) * max(1, self.wide) < len(texts)  # of a wide table in each column

    def _differing(self, first: int, second: int) -> list[str]:
        """Return columns without a role in which two rows differ."""
        unused = self.parts.unused(self.source)
        texts = {column: texts_in(self.source, column) for column in unused}
        return [column for column, own in texts.items() if own and own[first] != own[second]]

    def of_unnamed(self, *, repeats: bool) -> None:
        """Note a column that may say who gave the scores, where nobody has said that."""
        column = may_name_evaluators(self.source, self.parts, repeats=repeats)
        alone = self.score == "score" or self.score in self.parts.read_as  # nobody named it
        alone &= len(self.read.names[str(self.parts.one("option"))]) == self.read.n_rows
        others = self.parts.unused(self.source) if alone and not self.source.is_large else []
        beside = [str(self.score), *others]
        judges = max((looks_wide(self.source, beside, like=c) for c in others), key=len, default=[])
        nobody = Remedy("columns", {"evaluator": None}, "if nobody knows who gave the scores")
        if column is not None and counts_repeats(column):
            self.add(
                f"column {column!r} counts how often the same was asked",
                None, None, (), _REPEATS, code="repeats",
            )  # fmt: skip
        elif across := [] if self.source.is_large else evaluators_across(self.source):
            said = f"{shown(across)} are called as evaluators are"
            wide = Remedy("wide", across, "if each holds the scores of one")
            self.add(said, None, None, (), wide, nobody, code="wide")
        elif len(judges) > 2 and self.score in judges:
            said = f"{shown(judges)} look like evaluators, and what they say together"
            self.add(said, None, None, (), Remedy("wide", True), nobody, code="wide")
        elif column is not None:
            items = [*self.parts.all("item"), column]
            item = items if items[1:] else column
            thing, who = is_thing(column), Remedy("columns", {"evaluator": column})
            says = "tells scores apart, and nobody says" if thing else "may say"
            self.add(
                f"column {column!r} {says} who gave the scores", None, None, (),
                *([] if thing else [who]),
                Remedy("columns", {"item": item}, "if options were tried on these"),
                nobody, code="evaluator",
            )  # fmt: skip

    def of_spellings(self, scores: Scores) -> None:
        """Note names that differ in capitals, blanks or points only."""
        option, evaluator = scores.option, scores.evaluator
        columns = [("option", option), *([("evaluator", evaluator)] if evaluator else [])]
        for role, names in columns:
            self._of_spellings(names.names, [(role, names.codes)])
        sides = (scores.option_group, scores.evaluator_group)
        groups = [
            (f"{role}_group", side[names.codes])
            for (role, names), side in zip(columns, sides, strict=False)
            if side is not None
        ]
        self._of_spellings(scores.groups, groups)

    def _of_spellings(self, names: Sequence[str], columns: Sequence[tuple[str, Codes]]) -> None:
        bare, seen = [*map(spelled, names[:_MOST_NAMES])], dict[str, int]()
        if len({*bare}) == len(bare):  # as most are, of millions of names fast
            return
        pairs = [(seen.setdefault(name, code), code) for code, name in enumerate(bare)]
        alike = [(first, code) for first, code in pairs if first != code]
        for one, other in alike[:1]:
            role, codes = next((c for c in columns if (c[1] == other).any()), columns[0])
            said = (
                f": {names[one]!r} and {names[other]!r} differ in capitals, blanks, points or "
                f"dashes only ({len(alike):,} such); spell them alike if they are one, else give "
                "each a name of its own"
            )
            row = self.read.row(int(np.argmax(codes == other)))
            self.add(said, self.parts.one(role), row, code="alike")

    def refuse_low_verdicts(self, *, logged: bool) -> None:
        """Raise an error where comparisons say by words, or by 1 and 0, which option is better."""
        if self.score is not None and (
            logged or self.read.marks.verdicts or _are_votes(self.scores)
        ):
            raise InputError(
                f"column {self.score!r}: these verdicts say which of two options is better; leave "
                "out that the lowest are the best, which is for numbers below and above 0, and "
                "write first, second or tie if 0 is a win."
            )

    def refuse_untold(self, *, telling: bool, scale: bool) -> None:
        """Refuse a table without scores, or one whose scores tell nothing on no stated scale."""
        column, scores, name = str(self.score), self.scores, self.source.name
        if len(scores) == 0:
            where = f"from {self.rows([0])} on, column {column!r} or another"
            raise InputError(f"{name}: an empty cell is in every row, {where}; nothing is left")
        low, high = float(scores.min()), float(scores.max())
        if not telling or (len(scores) > 1 and (low < high or scale)):
            return
        place = self.place(self.read.row(0), column)
        if len(scores) == 1:
            raise InputError(f"{name} has one score only ({place}): nothing to compare it with")
        said = f" (numbers of that size are rounded to {np.spacing(abs(low)):.2g})"
        raise InputError(
            f"{name}: from {place} on every score is {low:.15g}{said if abs(low) > WHOLE else ''}: "
            "nothing to compare; is it the column of the scores?"
        )

    def far_scores(self) -> Iterator[Finding]:
        """Yield scores that lie far from all others, as 77 among marks from 3 to 9 does."""
        scores, n = self.scores, len(self.scores)
        if not 0 < n <= _MOST_TYPED:
            return
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        for k in range(1, min(_MOST_FAR, n - _ENOUGH) + 1):
            for far, near, rest in (
                (order[n - k :], ordered[n - k], ordered[: n - k]),
                (order[:k], ordered[k - 1], ordered[k:]),
            ):
                low, high = float(rest[0]), float(rest[-1])
                if 0.0 < _FAR * (high - low) < max(near - high, low - near):
                    column = self.score or ""
                    said = "; ".join(
                        f"{self.place(self.read.row(x), column)}: {scores[x]:g}"
                        for x in sorted(far)
                    )
                    rest_ = f"far from all other scores, which go from {low:g} to {high:g}"
                    text = f"{said}. That is {rest_}, and weighs much here. Is it a typing error?"
                    yield Finding.note("far", text)
                    return


def leads(
    found: Problems, scale: tuple[float, float] | None
) -> tuple[Columns, tuple[float, float] | None]:
    """Return the scores of comparisons as leads of the first option, and the ends of these: 1 and 0
    are a win and a loss, ½ is a tie, and the middle of a scale without a sign is one, too. Refuse
    others that never change their sign.
    """
    read, column, scores = found.read, found.score, found.scores
    one_sided = len(scores) > 0 and ((scores >= 0.0).all() or (scores <= 0.0).all())
    signed = scale is None or scale[0] < 0.0 < scale[1]
    if (
        read.marks.verdicts and one_sided and scores.all()
    ):  # all for the same side: that tells something
        return read, scale or (-1.0, 1.0)
    if column is None or read.marks.verdicts or not one_sided or (signed and not scores.any()):
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
        low, high = (
            int(y) if y == int(y) else y for y in (float(scores.min()), float(scores.max()))
        )
        most = max(-low, high)
        tie = f"if {0.5 * (low + high):g} is a tie and {{}} is for the first"
        better = f"if the {'first' if high > 0.0 else 'second'} is better every time"
        ways = [
            *(
                Remedy("scale", ends, tie.format(f"{ends[1]:g}"))
                for ends in ((low, high), (high, low))
            ),
            Remedy("scale", (-most, most), better),
        ]
        found.add(
            f": scores go from {low:g} to {high:g}, which never tells one option's wins from the "
            f"other's; {_VERDICTS}",
            column, read.row(0), (), *ways[2 * (low == high) :], code="verdicts",
        )  # fmt: skip
        found.refuse()
    read = replace(read, numbers={**read.numbers, column: new}, notes=(*read.notes, f"{said}."))
    return read, None if scale is None else ends


def _are_votes(scores: Floats) -> bool:
    return {0.0} < set(np.unique(scores).tolist()) <= {0.0, 0.5, 1.0}


def notes_on(
    scores: Scores, left_out: int = 0, again: int = 0, beside: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield what is worth saying about scores that can be used."""
    if left_out:
        text = f"{left_out:,} rows were left out since a cell was empty, as you asked for. That is "
        text += "harmless only if it has nothing to do with what the scores would have been."
        yield Finding.note("missing", text)
    if again:
        were = "score was" if again == 1 else "scores were"
        yield Finding.note("repeats", f"{again:,} {were} given again by the same evaluator.")
    evaluator = scores.evaluator
    if evaluator is None:
        text = (
            "Nobody says who gave the scores, so lenient and severe evaluators can't be told from "
        )
        text += "good and bad options. If a column names them, say which."
        text += f" If {shown(beside)} are evaluators, say that the table is wide." if beside else ""
        yield Finding.note("evaluator", text)
    elif scores.rival is None and (single := np.flatnonzero(evaluator.counts == 1)).size:
        yield Finding.note(
            "evaluator",
            f"Evaluators with one score only ({single.size:,} of {len(evaluator):,}: "
            f"{_some([evaluator.names[code] for code in single])}) say nothing about a bias.",
        )
    for role, names, groups in (
        ("option", scores.option, scores.option_group),
        ("evaluator", evaluator, scores.evaluator_group),
    ):
        if names is not None and groups is not None and (groups < 0).any() and (groups >= 0).any():
            without = np.flatnonzero(groups < 0)
            yield Finding.note(
                f"{role}_group",
                f"{without.size:,} of {len(groups):,} {role}s have no group "
                f"({_some([names.names[code] for code in without])}): nobody counts as partial to "
                "them, and they to nobody.",
            )
    ours, theirs = (_seen(scores, g) for g in (scores.option_group, scores.evaluator_group))
    if ours and theirs and scores.stated is None and not ours & theirs:
        yield Finding.note(
            "evaluator_group",
            "No evaluator is of a group that an option is of: options have "
            f"{_some(sorted(ours), 3)}, evaluators {_some(sorted(theirs), 3)}. So nobody is "
            "partial to anything here.",
        )
    yield from _on_partiality(scores)


def on_standing(left_out: Mapping[str, int]) -> Iterator[Finding]:
    """Yield how many rows of a campaign's table are left out, by their standing."""
    if left_out:
        n = sum(left_out.values())
        rows, are = ("row", "is") if n == 1 else ("rows", "are")
        yield Finding.note(
            "standing",
            f"{n:,} {rows} of the campaign's record {are} left out: "
            f"{', '.join(f'{times:,} {name}' for name, times in left_out.items())}. "
            "`evenhand campaign answer` says what holds with those put back, too.",
        )


def _on_partiality(scores: Scores) -> Iterator[Finding]:
    if scores.stated is None:
        return
    column = scores.called.get("partial", "partial")
    low, high = float(scores.stated.min()), float(scores.stated.max())
    if low == high:
        said = f"is {low:g} in every row, so that no scores tell what that adds."
    elif low < (0.0 if scores.rival is None else -1.0) or high > 1.0:
        said = (
            f"runs from {low:g} to {high:g}, not from 0 to 1: the bias is what one unit of it adds."
        )
    else:
        return
    yield Finding.note("partial", f"Column {column!r} {said}")


def _seen(scores: Scores, groups: Codes | None) -> set[str]:
    """Return the groups that something is of."""
    return {scores.groups[g] for g in np.unique([] if groups is None else groups[groups >= 0])}


def _some(names: Sequence[str], most: int = 5) -> str:
    return listed(names[:most]) + (", …" if len(names) > most else "")
