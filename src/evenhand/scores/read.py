"""From a frame or a file to scores: which column plays which part, and what grades count."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from evenhand.arrays import Floats
from evenhand.best import Best, checked_best, oriented
from evenhand.errors import InputError
from evenhand.scores.grades import Grades
from evenhand.scores.scores import (
    Codes,
    Factor,
    Finding,
    Scores,
    crossed,
    first_repeated,
    taken_together,
)
from evenhand.tables.columns import GROUP_WORDS, Defects, check_decimal, found_columns
from evenhand.tables.texts import listed, number_in, written_elsewhere

if TYPE_CHECKING:
    from evenhand.scores.layouts import Columns
    from evenhand.tables.columns import Table

BY_NAME = (
    "evaluator",
    "rival",
    "item",
    "event",
    "cluster",
    "option_group",
    "rival_group",
    "evaluator_group",
)
"""Parts that a column of the same name plays, where there is one and nothing else was said."""

SEVERAL = ("item", "event", "cluster", "attributes")
"""Parts that several columns may play together."""

OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "option": (
        *("model", "model a", "model 1", "system", "candidate", "generator", "generator 1"),
        *("application", "applicant"),
        *("proposal", "submission", "paper", "project", "entry", "contestant", "nominee"),
        *("antrag", "bewerber", "bewerberin", "bewerbung", "kandidat", "kandidatin", "projekt"),
        *("candidat", "dossier", "projet", "candidato", "propuesta", "proyecto", "progetto"),
    ),
    "rival": ("generator 2", "model b", "model 2"),
    "evaluator": (
        *("judge", "grader", "annotator", "rater", "reviewer", "referee", "assessor", "juror"),
        *("judge model", "grader model", "evaluator model", "annotator model", "scorer", "labeler"),
        *("judge id", "grader id", "annotator id", "rater id", "reviewer id", "evaluator id"),
        *("labeller", "taster"),
        *("examiner", "voter", "jury member", "panel member"),
        *("gutachter", "gutachterin", "gutachter:in", "jurymitglied", "juror:in", "prüfer"),
        *("évaluateur", "rapporteur", "relecteur", "juré", "evaluador", "revisor", "jurado"),
        *("valutatore", "revisore", "beoordelaar", "recensent"),
    ),
    "item": (
        *("prompt", "question", "instruction", "sample", "task", "example", "document"),
        *("prompt id", "question id", "instruction id", "sample id", "task id", "example id"),
        *("item id", "doc id", "document id"),
    ),
    "score": (
        *("rating", "winner", "grade", "mark", "marks", "points", "vote", "punkte", "punktzahl"),
        *("bewertung",),
        *("wertung", "points attribués", "puntuación", "puntos", "calificación", "punteggio"),
        *("voto", "punten", "ocena", "punkty", "poäng", "pontos", "pontuação"),
    ),
}
"""What else people call a column with a part: it is found by that, if one such column is there."""

NUMBERS = ("score", "partial", "reference", "time", "attributes")
"""Parts that columns of numbers play; the others are names."""


_UNSAID = {part: part for part in ("option", "score", *BY_NAME)} | {
    "partial": None,
    "reference": None,
    "attributes": None,
    "time": None,
}

_NEEDED, _SUGGESTED = ("option", "evaluator", "score"), ("option_group", "evaluator_group")
_FIRST, _FIRST_PAIRS = 8, 10_000  # cells that are looked at to suggest what a column is


@dataclass(frozen=True)
class Parts:
    """The columns of a table by the parts that they play."""

    columns: Mapping[str, tuple[str, ...]]  # by part; one that nothing plays is not there
    # columns of numbers about the first option, with those about the second
    against: Mapping[str, str] = field(default_factory=dict)
    # columns that were found by another word, with their parts
    read_as: Mapping[str, str] = field(default_factory=dict)

    def one(self, part: str) -> str | None:
        """Return the column with this part; None if there is none."""
        return next(iter(self.columns.get(part, ())), None)

    def all(self, part: str) -> tuple[str, ...]:
        """Return the columns with this part."""
        return self.columns.get(part, ())

    @property
    def numbers(self) -> list[str]:
        """All columns of numbers."""
        own = [column for part in NUMBERS for column in self.all(part)]
        return own + [self.against[column] for column in own if column in self.against]

    @property
    def names(self) -> list[str]:
        """All columns of names that no row may lack."""
        parts = ("option", "evaluator", "rival", "item", "event", "cluster")
        return [column for part in parts for column in self.all(part)]

    @property
    def called(self) -> dict[str, str]:
        """What the user calls the parts."""
        return {part: ", ".join(columns) for part, columns in self.columns.items() if columns}


def assigned(
    source: Table,
    given: Mapping[str, Any],
    hint: Callable[[], str] = str,
    *,
    other_words: bool = True,
) -> Parts:
    """Return the columns of a table by the parts that they play; an error for one not there."""
    for part in ("option", "score"):
        if part in given and given[part] is None:
            raise InputError(f"{part}= must be the name of a column; got None")
    read_as = _by_other_words(source, given) if other_words else {}
    given = dict(given) | {part: column for column, part in read_as.items()}
    kept = found_columns(source, given, by_name=BY_NAME, several=SEVERAL, hint=hint)
    return Parts(kept, _against(source, kept), read_as)


def is_there(source: Table, given: Mapping[str, Any], part: str) -> bool:
    """Tell whether a column has a part: the one that was named, or one that is called so."""
    asked = given[part] not in (part, None)
    return asked or part in source.columns or part in _by_other_words(source, given).values()


def _by_other_words(
    source: Table,
    given: Mapping[str, Any],
    parts: Collection[str] = OTHER_WORDS,
    *,
    strict: bool = True,
) -> dict[str, str]:
    """Return columns with the parts that they play by another word, of parts that nothing has; an
    error where several may play one, and differ.
    """
    taken = {c for part, value in given.items() if value != part for c in _named(value)}
    small = {_small(c): c for c in source.columns if c not in taken and c not in given}
    found = {}
    for part in parts:
        if given.get(part) == part and part not in source.columns:
            known = [small[word] for word in (part, *OTHER_WORDS[part]) if word in small]
            if strict and len(known) > 1 and _differ(source, known):
                ways = " or ".join(f"{part}={column!r}" for column in known)
                raise InputError(f"{source.name}: {shown(known)} may be the {part}; say {ways}")
            if len(known) == 1 or (strict and known):
                found[known[0]] = part
    numbered = next((small[word] for word in ("id", "idx") if word in small), None)
    if "item" in parts and numbered and given.get("item") == "item":
        roles = {part: column for column, part in found.items()}
        own = [roles.get(p, given.get(p)) for p in ("evaluator", "option", "item")]
        of = [c for c in own[:2] if c in source.columns]
        plain = own[2] not in source.columns and own[1] in of
        if plain and not tells_apart(source, of) and tells_apart(source, [*of, numbered]):
            found[numbered] = "item"
    return found | _group_words(source, given, found)


def tells_apart(source: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows are the same in some columns, and some are in each of them."""
    from evenhand.tables.cells import coded  # noqa: PLC0415 # pyarrow takes long to import

    codes = [coded(cells)[1] for cells in source.read(columns, columns).values()]
    again = all(first_repeated(own) is not None for own in codes)
    return again and first_repeated(*codes) is None


def _differ(source: Table, columns: Sequence[str]) -> bool:
    """Whether columns do not name the same things, each in its own way."""
    from evenhand.tables.cells import coded  # noqa: PLC0415 # as above

    codes = np.stack([coded(c)[1] for c in source.read(columns, columns).values()])
    return len({np.unique(own, axis=1).shape[1] for own in (*codes[:, None], codes)}) > 1


def _names_by_words(source: Table, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of options and evaluators that are found by another word, by part."""
    found = _by_other_words(source, given, ("option", "evaluator"))
    return {part: column for column, part in found.items() if part in ("option", "evaluator")}


def _small(column: str) -> str:
    """Return a column's name in small letters, however its words are joined."""
    apart = re.sub(r"[_-]|(?<=[a-z])(?=[A-Z0-9]$)", " ", column)  # modelA, model1
    return " ".join(apart.casefold().split())


def _group_words(
    source: Table, given: Mapping[str, Any], found: Mapping[str, str]
) -> dict[str, str]:
    """Return columns of groups: 'university' of options, where 'reviewer university' is there."""
    groups = ("option_group", "evaluator_group")
    if any(given.get(part) != part or part in source.columns for part in groups):
        return {}
    small = {_small(column): column for column in source.columns if column}
    whose = {_small(c) for c, part in found.items() if part == "evaluator"} | {"evaluator"}
    named = given.get("evaluator")
    whose |= {_small(named)} if isinstance(named, str) else set()
    pairs = [
        (small[rest], small[name])
        for name in small
        for who in whose
        for rest in (name.removeprefix(f"{who} "), name.removesuffix(f" {who}"))
        if rest != name and rest in small
    ]
    return dict(zip(pairs[0], groups, strict=True)) if len(pairs) == 1 else {}


def suggested(source: Table, given: Mapping[str, Any] = _UNSAID) -> dict[str, str]:
    """Return which columns may have option, evaluator, score and the two groups, for somebody to
    confirm: what is found by name or by another word first, then by words in names, then by cells.

    Empty where one of the three is not there, as where each evaluator has a column. Nothing is read
    by it that nobody confirmed.
    """
    found = {p: p for p in (*_NEEDED, *_SUGGESTED) if p in source.columns}
    found |= {p: c for c, p in _by_other_words(source, given, strict=False).items()}
    found |= {p: c for p in _NEEDED if isinstance(c := given.get(p), str) and c in source.columns}
    words = {c: re.findall(r"[^\W_]+", c.casefold()) for c in source.columns if c}

    def having(starts: Sequence[str]) -> set[str]:
        ends = tuple(word for word in starts if len(word) > 4)  # JScore, JCountry
        return {
            c
            for c, own in words.items()
            if any(w.startswith(tuple(starts)) or w.endswith(ends) for w in own)
        }

    def take(part: str, fitting: Iterable[str]) -> None:
        free = (c for c in fitting if c not in found.values())
        if part not in found and (column := next(free, None)) is not None:
            found[part] = column

    judges, groups = having(OTHER_WORDS["evaluator"]), having(GROUP_WORDS)
    scores, numeric = having(("score", *OTHER_WORDS["score"], "note")), _numeric(source)
    take("evaluator_group", (c for c in words if c in judges & groups))
    take("evaluator", (c for c in words if c in judges - groups))
    take("option_group", (c for c in words if c in groups))
    own = found.get("option_group", "").casefold()  # JCountry beside Country
    take("evaluator_group", (c for c in words if own and c.casefold().endswith(own)))
    take("score", (c for c in words if c in scores & numeric))
    take("score", (c for c in words if c in scores))
    take("score", (c for c in words if c in numeric))
    if "option" not in found and "evaluator" in found:
        free = [c for c in words if c not in found.values()]
        found |= _scored(source, found, sorted(free, key=numeric.__contains__))
    else:
        take("option", (c for c in words if c not in numeric))
    if "option" in found:
        take("evaluator", _naming_rows_with(source, found["option"], words.keys() - numeric))
    return found if found.keys() >= {*_NEEDED} else {}


def _scored(source: Table, found: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return the column of options, with one of items if it takes that, so that no evaluator scored
    the same twice.
    """
    known = [found["evaluator"], *([found["item"]] if "item" in found else [])]
    for option in columns:
        if tells_apart(source, [*known, option]):
            return {"option": option}
    for option, item in permutations(columns, 2) if "item" not in found else ():
        if tells_apart(source, [*known, option, item]):
            return {"option": option, "item": item}
    return {}


def _numeric(source: Table) -> set[str]:
    """Return the columns of which the first cells are numbers, as far as they are filled in."""
    first = {c: [t for t in texts_in(source, c)[:_FIRST] if t] for c in source.columns if c}
    return {c for c, texts in first.items() if texts and all(map(written_elsewhere, texts))}


def texts_in(source: Table, column: str) -> list[str | None]:
    """Return the cells of a column as texts; none where they are neither names nor numbers."""
    try:
        return source.texts(column)
    except InputError:  # of lists, say: no names and no numbers
        return []


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


def _named(value: Any) -> list[Any]:
    """Return the columns that a value of the user's names."""
    if value is None or isinstance(value, Mapping):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _against(source: Table, columns: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    if "rival" not in columns:
        return {}
    own = [column for part in ("partial", "attributes") for column in columns.get(part, ())]
    return {column: f"rival_{column}" for column in own if f"rival_{column}" in source.columns}


def unused(source: Table, parts: Parts) -> list[str]:
    """Return the columns that play no part."""
    used = {column for columns in parts.columns.values() for column in columns}
    used |= set(parts.against.values())
    return [column for column in source.columns if column and column not in used]


def shown(columns: Sequence[str]) -> str:
    """Return columns for a message."""
    return ("columns " if len(columns) > 1 else "column ") + listed(columns, 6)


WORDS = {
    "c": 1.0,
    "correct": 1.0,
    "i": 0.0,
    "incorrect": 0.0,
    "p": 0.5,
    "partial": 0.5,
    "n": 0.0,
    "noanswer": 0.0,
    "yes": 1.0,
    "no": 0.0,
    "true": 1.0,
    "false": 0.0,
    "pass": 1.0,
    "passed": 1.0,
    "fail": 0.0,
    "failed": 0.0,
}
"""What letters and words count."""


def grade(value: Any) -> float:
    """Return a grade, letter or word as a number; NaN where there is none, ValueError for what
    means nothing here or is infinite.
    """
    if value is None or type(value).__name__ == "NAType":  # pandas' name for nothing
        return math.nan
    if isinstance(value, (bool, int, float)):
        return _finite(float(value))
    if not isinstance(value, str):
        raise ValueError(value)
    text = value.strip()
    known = WORDS.get(text.lower())
    if known is not None:
        return known
    if text.lower() in ("", "nan"):
        return math.nan
    try:
        return number_in(text)
    except InputError:
        raise ValueError(value) from None


def _finite(number: float) -> float:
    if math.isinf(number):
        raise ValueError(number)
    return number


Groups = str | Mapping[str, str] | None

Families = Callable[[str, Sequence[str]], Mapping[str, str | None] | None]
"""Says of a part and its names which groups they are of, where no column does."""


class ReadOptions(TypedDict, total=False):
    """How a table of scores is read.

    ``option`` to ``evaluator_group`` are the columns with these parts, see `Scores`. Where nothing
    is said, a column of that name has the part, or one that people call so (`parts.OTHER_WORDS`);
    None says that nothing has it. Several columns of one item, event or cluster are taken together.
    Groups may also come as a mapping from names to groups.

    ``partial`` to ``time`` are columns of numbers; ``time`` may hold dates, which count in days. In
    comparisons, a column ``length`` with ``rival_length`` beside it counts as the difference.

    ``scale``: the lowest and highest score that can be given; (5, 1) says that 1 is the best.
    ``best``: whether the "high" or the "low" scores are the best; "high" if not said, but where a
    title, a note or the name of the scores' column says that it may be the lowest. ``wide``:
    whether the table has a row for each option and a column for each evaluator, or which columns
    these are; where ``evaluator`` has a column, they are items; empty cells are no scores.
    ``repeats``: whether an evaluator may have scored the same thing several times.
    ``missing``: what to do with rows where a cell is empty. ``decimal``: what stands before
    decimals in texts; found out if not said.
    ``beside``: whether to keep columns that play no part (not of a wide table). ``scored``: whether
    there must be scores; else it will do who scored what. ``telling``: whether scores must tell
    something, two at least, that differ. ``grades``: words that scores are, the best first (equally
    spaced), or with numbers. ``copies``: what to do with rows that are the same in every cell.
    ``lengths``: whether the lengths of answers that were compared with one baseline are an
    attribute, if nobody says which are.
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
    attributes: Sequence[str] | None
    time: str | None
    scale: tuple[float, float] | None
    best: Best | None
    wide: bool | Sequence[str]
    repeats: bool
    missing: Literal["refuse", "drop"]
    decimal: str | None
    beside: bool
    scored: bool
    telling: bool
    lengths: bool
    grades: Grades
    copies: Literal["refuse", "drop"]


_MOST_BESIDE, _MOST_COLUMNS = 200_000, 32  # rows and columns that are kept beside the parts


def _given(reading: ReadOptions) -> dict[str, Any]:
    """Return what was said of every part; its own name where nothing was."""
    return {part: reading.get(part, unsaid) for part, unsaid in _UNSAID.items()}


def _wants_lengths(reading: ReadOptions) -> bool:
    asked = bool(reading.get("lengths")) and reading.get("attributes") is None
    return asked and not reading.get("wide")


@dataclass(frozen=True)
class Layout:
    """How a table of scores is laid out: what is read of it, and what is said of its columns."""

    table: Table  # as it stands
    source: Table  # as it is read: without totals, a wide one with a row for each cell
    given: Mapping[str, Any]  # columns by part, see `ReadOptions`
    wide: tuple[str, ...] = ()  # columns that hold the scores of an evaluator each
    notes: tuple[str, ...] = ()  # what was passed over, or taken for something
    left_out: Mapping[str, int] = field(default_factory=dict)  # rows of a campaign, by standing

    def parts(self, hint: Callable[[], str] = str) -> Parts:
        """Return the columns by the parts that they play; an error, with a hint, for one that is
        not there.
        """
        given = {
            p: None if isinstance(value, Mapping) else value for p, value in self.given.items()
        }
        return assigned(self.source, given, str if self.wide else hint, other_words=not self.wide)


def laid_out(table: Any, **reading: Unpack[ReadOptions]) -> Layout:
    """Return how a table of scores is laid out, before a score is read: the one answer to what is
    a header, a title, a total, and a column of scores.
    """
    from evenhand.scores.layouts import (  # noqa: PLC0415 # pyarrow takes long to import
        counted,
        guessed_wide,
        turned,
        without_copies,
        without_totals,
    )
    from evenhand.scores.marks import Marking  # noqa: PLC0415
    from evenhand.tables.opened import open_table  # noqa: PLC0415

    wide, scored = reading.get("wide", False), reading.get("scored", True)
    if not isinstance(wide, bool | Iterable | None):
        raise InputError(f"wide= is True, False or a list of columns; got {wide!r}")
    marking = Marking.of(reading.get("grades"))
    given = _given(reading)
    whole = open_table(table, "scores")
    told = [*whole.notes]
    source, left_out = counted(whole, given)
    for tidied in (without_totals, without_copies if reading.get("copies") == "drop" else None):
        if tidied is not None:
            source, text = tidied(source)
            told += [text] if text else []
    if _wants_lengths(reading):
        given["attributes"] = _lengths(source, given)
    unscored = not is_there(source, given, "score")
    if not wide and unscored and scored and not is_there(source, given, "rival"):
        by_words = _names_by_words(source, given)
        wide, text = guessed_wide(source, given | by_words, marking)
        told += [text] if text else []
    columns: tuple[str, ...] = ()
    if wide:
        by_words = _names_by_words(source, given)
        given |= {part: c for part, c in by_words.items() if wide is True or c not in (wide or ())}
        long, text = turned(source, wide, given, marking)
        source, columns = long, long.turned
        told += [text] if text else []
    if not scored and not is_there(source, given, "score"):
        del given["score"]
    return Layout(whole, source, given, columns, tuple(told), left_out)


def read_table(
    table: Any,
    *,
    families: Families | None = None,
    said: Iterable[str] = (),
    **reading: Unpack[ReadOptions],
) -> Scores:
    """Return the scores in a table; an `InputError` names row and column of what is wrong."""
    scale, best = oriented(reading.get("scale"), reading.get("best"))
    repeats, missing = reading.get("repeats", False), reading.get("missing", "refuse")
    decimal, telling = reading.get("decimal"), reading.get("telling", True)
    lengths = _wants_lengths(reading)
    _check_words(missing, decimal, reading.get("copies", "refuse"))
    # All that follows works with pyarrow, which takes long to import.
    from evenhand.scores import defects  # noqa: PLC0415
    from evenhand.scores.defects import (  # noqa: PLC0415
        notes_on,
        on_far_scores,
        on_standing,
        refuse_unclear,
    )
    from evenhand.scores.layouts import Kept, exported, looks_wide, read_columns  # noqa: PLC0415
    from evenhand.scores.marks import Marking  # noqa: PLC0415
    from evenhand.tables.cells import give_back  # noqa: PLC0415
    from evenhand.tables.opened import ABOVE  # noqa: PLC0415

    marking = Marking.of(reading.get("grades"))
    if isinstance(table, Scores):
        if reading.get("wide"):
            raise InputError("wide= is for tables, and these are scores; say it to read_scores")
        if marking.grades:
            raise InputError("grades= is for tables, and these are scores; say it to read_scores")
        kept = Kept(table)
        given, new = kept.given(_given(reading))
        if lengths and not given["attributes"]:
            given["attributes"] = _lengths(kept, given)
            new = new or bool(given["attributes"])
        checked = table.place is None or (repeats and not telling)
        if best == "low" and table.grades:
            raise InputError("these scores are grades, the best of them highest: leave out best=")
        best = best or table.best
        if not new and checked and scale is None and best == table.best:
            return table
        layout = Layout(kept, kept, given)
        notes = [note for note in table.notes if note.assumption in _OF_TABLES]
    else:
        layout = laid_out(table, **reading)
        notes = [Finding.note("log", text) for text in (*said, *_said_of(table))]
        notes += [Finding.note("table", text) for text in layout.notes]
        best = best or checked_best(getattr(table, "attrs", {}).get("best"))
    source, given, wide = layout.source, dict(layout.given), bool(layout.wide)
    if exported(source):
        repeats = True
        if best is None and "best" in source.columns:
            best = checked_best(next(iter(source.texts("best")), None))
    named: dict[str, dict[str, str | None]] = {
        part: dict(v) for part, v in given.items() if isinstance(v, Mapping)
    }
    parts = layout.parts(partial(_hint, table, source, given))
    matters = parts.one("score") and not parts.one("rival") and reading.get("scored", True)
    if best is None and not marking.grades and matters:
        titles = [text for text in layout.notes if text.startswith(ABOVE)]
        refuse_unclear([*titles, *_said_of(table)], layout.wide or parts.all("score"), source.name)
    if best is not None and marking.grades:
        raise InputError("grades= names the best first: leave out best=, which is for numbers")
    drop = [*parts.names, *parts.numbers] if missing == "drop" else []
    drop += parts.all("score") if wide else ()
    if parts.one("rival") and marking.grades:
        raise InputError(
            "grades= says how good one option is, and here two are compared; leave grades= out, "
            "and write first, second or tie"
        )
    read = read_columns(source, parts, decimal=decimal, drop=drop, marking=marking)
    give_back()
    scale = scale or marking.scale or read.scale
    found = Defects(source, parts.one("option"))
    defects.check_cells(found, parts, read, drop, marking)
    defects.check_evaluators(found, parts, read)
    if parts.one("score"):
        defects.check_scores(found, parts, read, scale)
    if not repeats:
        defects.check_repeats(found, parts, read)
    unsaid = given.get("evaluator") == "evaluator" and not isinstance(table, Scores)
    if unsaid and parts.one("score") and parts.one("evaluator") is None:
        defects.check_unnamed(found, parts, unused(source, parts), repeats and telling)
    defects.check_spelling(found, parts, read)
    found.refuse()
    if parts.one("rival") and oriented(reading.get("scale"), reading.get("best"))[1] == "low":
        defects.refuse_low_verdicts(parts, read, logged=_is_signed(table))
    if parts.one("rival") and not (isinstance(table, Scores) or _is_signed(table)):
        read, scale = defects.leads(found, parts, read, scale)
    if parts.one("score"):
        defects.check_told(found, parts, read, telling=telling, scale=scale is not None)
    if families is not None and given["partial"] is None:
        named |= _families(families, given, parts, read)
    scores = _scores(parts, read, named, scale, best or "high")
    lost = read.n_rows - len(scores) - read.n_aside if missing == "drop" and not wide else 0
    known = parts.one("evaluator") is not None
    of = parts.one("score")
    by_whom = [] if known or not of else looks_wide(source, [of, *unused(source, parts)], like=of)
    notes += [
        Finding.note("column", f"The column {column!r} is read as {part!r}.")
        for column, part in parts.read_as.items()
        if column.lower() != part
    ]
    notes += [Finding.note("marks", text) for text in (*read.notes, *marking.notes())]
    notes += on_standing(layout.left_out)
    notes += on_far_scores(found, parts, read) if scale is None else ()
    notes += notes_on(scores, found, lost, _n_again(scores, repeats), by_whom)
    others = [] if wide or not reading.get("beside") else unused(source, parts)
    if isinstance(table, Scores):
        scores = replace(scores, called={**table.called, **scores.called}, grades=table.grades)
    elif marking.grades:
        scores = replace(scores, grades=marking.grades)
    return replace(
        scores,
        notes=tuple(dict.fromkeys(notes)),
        beside=_beside(source, others, read),
        place=lambda row: source.where([read.row(row)])[0],
    )


_OF_TABLES = (
    "log",
    "table",
    "marks",
    "column",
    "standing",
    "far",
    "missing",
)  # notes that stay when scores are read for more


def _lengths(source: Table, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the column with the lengths of answers, where all were compared with one baseline."""
    from evenhand.scores.baseline import baseline_in  # noqa: PLC0415 - as below
    from evenhand.tables.cells import coded_among  # noqa: PLC0415

    both, own = ("length", "rival_length"), [given["option"], given["rival"], given["item"]]
    if not all(isinstance(c, str) and c in source.columns for c in (*both, *own)):
        return ()
    cells, names = source.read([*own[:2], *both]), dict[str, int]()
    first, second = (coded_among(cells[column], names) for column in own[:2])
    if any(cells[c].null_count for c in both) or min(first.min(), second.min()) < 0:
        return ()
    return () if baseline_in(first, second, len(names)) is None else both[:1]


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


def _is_signed(table: Any) -> bool:
    """Whether a frame is of ours, in which a comparison says by how much the first is better."""
    return bool(getattr(table, "attrs", {}).get("signed"))


def _said_of(table: Any) -> list[str]:
    """Return what whoever made a frame says of it, in ``frame.attrs["notes"]``."""
    return [t for t in getattr(table, "attrs", {}).get("notes", ()) if isinstance(t, str)]


def _scores(
    parts: Parts,
    read: Columns,
    named: Mapping[str, Mapping[str, str | None]],
    scale: tuple[float, float] | None,
    best: Best,
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
        best=best,
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
    may = {} if source.is_large else suggested(source, given)
    beside = may.get("evaluator") in {*_by_other_words(source, given, ("evaluator",)), "evaluator"}
    found = looks_wide(source, unused(source, Parts(known))) if lacking else []
    if found and not (may and beside):
        hints.append(
            f"{source.name}: {shown(found)} hold numbers and look like evaluators, a column each: "
            "say wide=True, or wide=[…] with those that are"
        )
    elif may:
        new = [f"{part}={c!r}" for part, c in may.items() if given.get(part) not in (c, None)]
        hints += [f"If that is what they are, say {', '.join(new)}."] if new else []
    index = [name for name in getattr(getattr(table, "index", None), "names", ()) if name]
    if index:
        hints.append(f"{shown(index)} is the frame's index: give frame.reset_index()")
    return "\n".join(hints)


def _check_words(missing: str, decimal: str | None, copies: str) -> None:
    for name, value in (("missing", missing), ("copies", copies)):
        if value not in ("refuse", "drop"):
            raise InputError(f"{name}= is 'refuse' or 'drop'; got {value!r}")
    check_decimal(decimal)
