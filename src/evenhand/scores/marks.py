"""Scores as people write them: grades, words, percentages, 8/10, footnotes, conflicts of interest.

Grades are ordered words that somebody declared, the best first. They are read as equally spaced
numbers, from 1 for the worst, unless numbers are stated. Percent signs, marks out of the same
highest one and footnotes are taken off where all scores of the column allow it. Cells that say that
there is no score since somebody stood aside are no scores, and their rows are left out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.scores.grades import Grades, assumed_of, grades_in, spelled, verdict_in
from evenhand.scores.read import WORDS
from evenhand.scores.scores import crossed
from evenhand.tables.cells import as_text, coded, is_text, plain_numbers
from evenhand.tables.columns import Cells
from evenhand.tables.texts import is_absent, listed, number_in

_ASIDE = {
    *("coi", "c.o.i.", "conflict", "conflict of interest", "conflicted", "conflict of interests"),
    *("recused", "recusal", "abstain", "abstained", "abstention", "declined", "decline"),
    *("not reviewed", "no review", "did not review", "no score", "withdrawn", "excused"),
    *("biased", "absent"),
    *("befangen", "enthaltung", "enthalten", "keine wertung", "conflit d'intérêts", "conflit"),
}
_NUMBER = r"[+-]?[0-9]+(?:[.,][0-9]+)?"
_FOOTNOTE = re.compile(
    rf"({_NUMBER}(?:\s*%|\s*/\s*[0-9]+)?)\s*(?:[*†‡§¹²³]+|\([a-z0-9*]\)|\[[a-z0-9*]\])"
)
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_OUT_OF = re.compile(rf"({_NUMBER})\s*(?:/|out of|von|sur|of)\s*([0-9]+(?:[.,][0-9]+)?)")
_MOST_GRADES = 12
_SIGN = {"+": 0, "": 1, "-": 2, "−": 2, "–": 2}


@dataclass(frozen=True)
class Marking:
    """How cells with scores are read: declared grades as numbers."""

    grades: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, grades: Grades) -> Marking:
        """Return it, of what the user said."""
        return cls(grades_in(grades))

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest grade; None where there are none."""
        return (min(self.grades.values()), max(self.grades.values())) if self.grades else None

    def notes(self) -> list[str]:
        """Return what reading grades as numbers takes for granted."""
        return [assumed_of(self.grades)] if self.grades else []


@dataclass
class Marks:
    """What was done to a column of scores so that it is one of numbers."""

    cells: pa.Array
    aside: NDArray[np.bool_] | None = None  # (n,) cells of those who stood aside; None for none
    scale: tuple[float, float] | None = None  # that marks out of a highest one have
    notes: list[str] = field(default_factory=list)
    # texts that are no grades, with the nearest one, where grades were declared
    strange: dict[str, str] = field(default_factory=dict)
    given: pa.Array | None = None  # the cells as they were, where some are strange
    verdicts: bool = False  # whether they are words that say which of two options is better


def read_marks(cells: pa.Array, marking: Marking) -> Marks:
    """Return a column of texts as one of numbers as far as it can be read."""
    if not is_text(cells.type) or (not marking.grades and all_plain(cells)):
        return Marks(cells)
    cells = as_text(cells)
    names, codes = coded(cells)
    new: list[str | None] = [None if _is_none(name) else name for name in names]
    aside = np.array([_says_none(name) for name in names] + [False], dtype=np.bool_)
    new = [None if gone else name for name, gone in zip(new, aside[:-1], strict=True)]
    found = Marks(cells)
    if aside.any():
        found.aside = aside[codes]
        said = [name for name, gone in zip(names, aside[:-1], strict=True) if gone]
        n = int(found.aside.sum())
        found.notes.append(
            f"{n:,} cell{'' if n == 1 else 's'} with {listed(said, 4)} {'is' if n == 1 else 'are'} "
            "taken for no score."
        )
    new = _graded(new, marking, found) if marking.grades else _numbers(new, found)
    if new == names:
        return found
    found.cells = pa.array([*new, None], pa.string()).take(pa.array(codes % (len(new) + 1)))
    return found


def read_verdicts(cells: pa.Array, first: Cells, second: Cells) -> Marks | None:
    """Return a column of words, or truth values, that say which of two options is better, as 1, −1
    and 0; None where a cell says something else.
    """
    if pa.types.is_boolean(cells.type):
        return Marks(pc.subtract(pc.multiply(cells.cast(pa.float64()), 2.0), 1.0), verdicts=True)
    if not is_text(cells.type):
        return None
    columns = [coded(own) for own in (cells, first, second)]
    own, *others = (set(names) & {"1", "0"} for names, _ in columns)
    numbered = bool(own) and not any(others)
    codes, n = crossed(*(own + 1 for _, own in columns))
    rows = np.zeros(n, dtype=np.int64)
    rows[codes] = np.arange(len(codes))
    new: list[str | None] = []
    for row in rows.tolist():
        text, option, rival = (names[own[row]] if own[row] >= 0 else "" for names, own in columns)
        if not text or _is_none(text) or _says_none(text):
            new.append(text or None)
        elif (worth := _VOTES.get(text) if numbered else None) is None and (
            (worth := verdict_in(text, option, rival)) is None or (numbered and worth)
        ):
            return None
        else:
            new.append(str(worth))
    return Marks(pa.array(new, pa.string()).take(pa.array(codes)), verdicts=True)


_VOTES = {"1": 1.0, "½": 0.0, "1/2": 0.0, "0.5": 0.0, "0,5": 0.0, "0": -1.0}


def _is_none(name: str) -> bool:
    return name.casefold() == "nan" or is_absent(name)


_ASIDE_IN = re.compile(
    r"\b(?:coi|conflicts? of interests?|conflicted|recus\w+|befangen\w*|conflit d.int\w+)\b",
    re.IGNORECASE,
)


def stands_aside(text: str) -> bool:
    """Whether somebody says that he or she gives no score, as for a conflict of interest."""
    return text.strip().casefold().strip(" .!()[]") in _ASIDE or bool(_ASIDE_IN.search(text))


def _says_none(name: str) -> bool:
    return name.casefold().strip(" .!()[]") in _ASIDE


def all_plain(cells: pa.Array) -> bool:
    """Whether all cells are plainly numbers, or missing."""
    numbers = plain_numbers(cells)
    return numbers is not None and np.count_nonzero(np.isnan(numbers)) == cells.null_count


def _graded(names: Sequence[str | None], marking: Marking, found: Marks) -> list[str | None]:
    known = {spelled(name): value for name, value in marking.grades.items()}
    new: list[str | None] = []
    for name in names:
        if name is None or spelled(name) in known:
            new.append(None if name is None else repr(known[spelled(name)]))
            continue
        near = difflib.get_close_matches(spelled(name), list(known), n=1)
        found.strange[name] = next((g for g in marking.grades if spelled(g) in near), "")
        new.append(None)
    return new


def _numbers(names: list[str | None], found: Marks) -> list[str | None]:
    """Return texts without footnotes, percent signs and the highest mark, where all have them."""
    some = [name for name in names if name is not None]
    numbers = [number for name in some if (number := loose_number(name)) is not None]
    n_words = sum(name.casefold() in WORDS for name in some)
    if n_words + len(numbers) == len(some) and all(0.0 <= number <= 1.0 for number in numbers):
        names = [None if name is None else str(WORDS.get(name.casefold(), name)) for name in names]
    marked = [name for name in some if _FOOTNOTE.fullmatch(name)]
    if marked:
        names = [
            name if name is None else m[1] if (m := _FOOTNOTE.fullmatch(name)) else name
            for name in names
        ]
        found.notes.append(
            f"What stands behind numbers, as in {listed(marked, 3)}, is taken for footnotes."
        )
    some = [name for name in names if name is not None]
    if some and all(_PERCENT.fullmatch(name) for name in some):
        found.notes.append(f"Scores are percentages, such as {some[0]!r}; the sign is left out.")
        return [None if name is None else _PERCENT.sub(r"\1", name) for name in names]
    out_of = [_OUT_OF.fullmatch(name) for name in some]
    highest = {match[2] for match in out_of if match}
    if len(highest) == 1 and all(out_of):
        most = loose_number(next(iter(highest))) or 0.0
        found.scale = (0.0, most)
        found.notes.append(f"Scores such as {some[0]!r} are read as marks out of {most:g}.")
        return [None if name is None else _OUT_OF.sub(r"\1", name) for name in names]
    return names


def share_of_marks(texts: Iterable[str | None], marking: Marking) -> float:
    """Return which share of cells with something in them may be scores."""
    known = [text for text in texts if text and not _is_none(text)]
    known = [text for text in known if not _says_none(text)]
    if not known:
        return 0.0
    grades = {spelled(name) for name in marking.grades}
    return sum(loose_number(t) is not None or spelled(t) in grades for t in known) / len(known)


def loose_number(text: str) -> float | None:
    """Return the number in a cell that may be a score; None if there is none."""
    for pattern in (_FOOTNOTE, _PERCENT, _OUT_OF):
        text = match[1] if (match := pattern.fullmatch(text.strip())) else text
    try:
        return number_in(text, "," if "," in text else ".")
    except InputError:
        return None


def as_grades(texts: Iterable[Any]) -> list[str]:
    """Return texts that may be grades, in the order of letters; none if they are too many."""
    found = list({spelled(str(t)): str(t).strip() for t in texts if t is not None}.values())
    found = [t for t in found if not _is_none(t) and not _says_none(t)]
    if not 2 <= len(found) <= _MOST_GRADES or any(len(text) > 24 or "," in text for text in found):
        return []
    if all(re.fullmatch(r"[A-Za-z][+\-−–]?", text) for text in found):
        letters = [text.upper() for text in found]
        return sorted(letters, key=lambda text: (text[0], _SIGN[text[1:]]))
    return found
