"""Scores as people write them: grades, verdicts, words, percentages, 8/10, conflicts of interest.

Grades are ordered words that somebody declared, the best first: equally spaced steps, from 1 for
the worst, unless their numbers are stated. Percent signs, marks out of the same highest one and
footnotes are taken off where all scores of the column allow it. Cells that say that somebody stood
aside are no scores, and their rows are left out.

Nothing here imports pyarrow: what is read are the distinct texts of a column.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.tables.office import is_none, loose_number, says_none, unmarked
from evenhand.tables.texts import listed, number_in, spelled

Grades = Sequence[str] | Mapping[str, float] | None
"""Ordered words that are scores, the best first; or with their numbers."""

WORDS = {
    **dict.fromkeys(("c", "correct", "yes", "true", "pass", "passed"), 1.0),
    **dict.fromkeys(("i", "incorrect", "n", "noanswer", "no", "false", "fail", "failed"), 0.0),
    **dict.fromkeys(("p", "partial"), 0.5),
}
"""What letters and words count, as tools write them."""

VERDICTS = {"first": 1.0, "second": -1.0, "tie": 0.0}
"""Verdicts as they are asked for: which of two options is better."""
_VERDICTS = {
    **dict.fromkeys(("first", "a", "modela", "model1", "left", "option", "a>>b"), 1.0),
    **dict.fromkeys(("win", "won", "wins", "true"), 1.0),
    **dict.fromkeys(("second", "b", "modelb", "model2", "right", "rival", "b>>a"), -1.0),
    **dict.fromkeys(("loss", "lose", "lost", "loses", "false"), -1.0),
    **dict.fromkeys(("tie", "tiebothbad", "both", "bothbad", "draw", "a=b"), 0.0),
    **{"a>b": 0.5, "b>a": -0.5},
}
_SCALE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:,|;|-|\u2013|to)\s*(-?\d+(?:\.\d+)?)")
_VOTES = {"1": 1.0, "½": 0.0, "1/2": 0.0, "0.5": 0.0, "0,5": 0.0, "0": -1.0}

_MOST_GRADES = 12
_SIGN = {"+": 0, "": 1, "-": 2, "−": 2, "–": 2}


def grades_in(grades: Grades) -> dict[str, float]:
    """Return grades with their numbers; an error for what is no order of two or more."""
    if grades is None:
        return {}
    if isinstance(grades, Mapping):
        if wrong := [name for name, value in grades.items() if not is_number(value)]:
            name = str(wrong[0]).strip()
            raise InputError(f"grades needs a finite number for each grade; {name!r} has none")
        order = sorted(grades.items(), key=lambda one: -float(one[1]))
        found = {str(name).strip(): float(value) for name, value in order}
    elif not isinstance(grades, str) and all(isinstance(name, str) for name in grades):
        found = {name.strip(): float(len(grades) - at) for at, name in enumerate(grades)}
    else:
        raise InputError(
            f"grades are a list of grades, the best first, or a mapping to numbers; got {grades!r}"
        )
    names = [str(name) for name in grades]
    if len(set(map(spelled, names))) < len(names):
        raise InputError(f"grades names a grade twice: {listed(names, 30)}")
    if len(found) < 2 or "" in found:
        raise InputError(f"grades needs two grades or more, each with a name; got {grades!r}")
    return found


def typed_grades(names: Sequence[str]) -> Grades:
    """Return grades as somebody types them, the best first; with numbers where all are stated."""
    if not all("=" in name for name in names):
        return list(names)
    pairs = (one.rsplit("=", 1) for one in names)
    try:
        return {name.strip(): number_in(value) for name, value in pairs}
    except InputError:
        said = "grades states numbers as A=4,B=3,C=2, or names grades, the best first, as A,B,C"
        raise InputError(f"{said}; got {', '.join(names)!r}.") from None


def typed_scale(text: str) -> tuple[float, float]:
    """Return the ends of a scale as somebody types them: 0,10 or 1-10 or 1 to 10."""
    ends = _SCALE.fullmatch(text.strip().lower().replace("\u2212", "-"))
    try:
        low, high = map(number_in, ends.groups() if ends else text.split(","))
    except ValueError:
        raise InputError(
            "scale is the lowest and the highest score, two numbers such as 0, 10 (5, 1 where 1 "
            f"is the best); got {text!r}."
        ) from None
    return low, high


def typed_scores(text: str) -> dict[str, Any]:
    """Return what scores are as somebody types it: ``scale``, ``grades``, or ``best``.

    Examples
    --------
    >>> typed_scores("0, 10"), typed_scores("low"), typed_scores("A, B, C")
    ({'scale': (0.0, 10.0)}, {'best': 'low'}, {'grades': ['A', 'B', 'C']})
    >>> typed_scores("1, 5, low")
    {'scale': (1.0, 5.0), 'best': 'low'}
    """
    ends, _, last = (part.strip() for part in text.rpartition(","))
    if last in ("low", "high") and (not ends or _SCALE.fullmatch(ends)):
        return ({"scale": typed_scale(ends)} if ends else {}) | {"best": last}
    names = [name.strip() for name in text.split(",") if name.strip()]
    worded = len(names) > 1 and not any(character.isdigit() for character in text)
    if worded or len(names) > 2 or (names and all("=" in one for one in names)):
        return {"grades": typed_grades(names)}
    return {"scale": typed_scale(text)}


def assumed_of(grades: Mapping[str, float]) -> str:
    """Return what reading grades as numbers takes for granted."""
    said = ", ".join(f"{name} = {value:g}" for name, value in grades.items())
    steps = np.diff(list(grades.values()))
    if not np.allclose(steps, steps[0]):
        return f"Grades are numbers as you stated them: {said}."
    first, second = list(grades)[:2]
    return (
        f"Grades are read as equally spaced: {said}. Numbers of your own can be stated, such as "
        f"{first}=4, {second}=3.5, …."
    )


def is_letter(text: str) -> bool:
    """Whether a text is a letter as schools give them, of which the order is known."""
    return re.fullmatch(r"[A-Za-z][+\-−–]?", text) is not None


def as_grades(texts: Iterable[Any]) -> list[str]:
    """Return texts that may be grades, in the order of letters; none if they are too many."""
    found = list({spelled(str(t)): str(t).strip() for t in texts if t is not None}.values())
    found = [text for text in found if not is_none(text)]
    if not 2 <= len(found) <= _MOST_GRADES or any(len(text) > 24 or "," in text for text in found):
        return []
    if all(map(is_letter, found)):
        letters = [text.upper() for text in found]
        return sorted(letters, key=lambda text: (text[0], _SIGN[text[1:]]))
    return found


def verdict_in(text: str, first: str = "", second: str = "") -> float | None:
    """Return what a verdict says of two options: 1 for the first, −1 for the second, 0 for a tie;
    None if it is none. The names of the two may be given, and be the verdict.

    Examples
    --------
    >>> [verdict_in(text) for text in ("A", "model_b", "Tie (bothbad)", "lost", "A>B", "7")]
    [1.0, -1.0, 0.0, -1.0, 0.5, None]
    >>> verdict_in("gpt-4", "llama", "GPT-4")
    -1.0
    """
    bare = _bare(text)
    found = _VERDICTS.get(bare)
    named = 1.0 if bare == _bare(first) else -1.0 if bare == _bare(second) else None
    if not bare or named is None or first == second:
        return found
    if found is not None and found != named:
        raise InputError(
            f"{text!r} may be the option of that name or the {'first' if found > 0 else 'second'} "
            f"of {first!r} and {second!r}; write first, second or tie"
        )
    return named


def _bare(text: str) -> str:
    return re.sub(r"[\s_().]|(?<=\w)-(?=\w)", "", text.casefold())


def verdicts_in(rows: Iterable[tuple[str, str, str]]) -> list[str | None] | None:
    """Return verdicts beside the names of two options as 1, −1 and 0; None if one is none."""
    rows = list(rows)
    numbered = any(text in ("0", "1") for text, *_ in rows) and not any(
        name in ("0", "1") for _, *names in rows for name in names
    )
    found: list[str | None] = []
    for text, *both in rows:
        if not text or is_none(text):
            found.append(text or None)
            continue
        worth = _VOTES.get(text) if numbered else None
        if worth is None and ((worth := verdict_in(text, *both)) is None or (numbered and worth)):
            return None
        found.append(str(worth))
    return found


def grade(value: Any) -> float:
    """Return a grade, letter or word as a number; NaN for none, ValueError for nonsense."""
    if value is None or type(value).__name__ == "NAType":  # pandas' name for nothing
        return math.nan
    if not isinstance(value, str):
        if not isinstance(value, bool | int | float) or abs(value) > sys.float_info.max:
            raise ValueError(value)
        return float(value)
    text = value.strip().lower()
    if text in ("", "nan"):
        return math.nan
    try:
        return WORDS[text] if text in WORDS else number_in(text)
    except InputError:
        raise ValueError(value) from None


@dataclass
class Marks:
    """What was done to the texts of a column of scores so that they are numbers."""

    # that are numbers as far as they can be read; None for no score
    texts: list[str | None] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)  # that say that somebody stood aside
    scale: tuple[float, float] | None = None  # that marks out of a highest one have
    notes: list[str] = field(default_factory=list)
    # texts that are no grades, with the nearest one, where grades were declared
    strange: dict[str, str] = field(default_factory=dict)
    verdicts: bool = False  # whether they are words that say which of two options is better


def read_marks(names: Sequence[str], grades: Mapping[str, float]) -> Marks:
    """Return the distinct texts of a column as numbers, by declared grades if there are any."""
    found = Marks(
        [None if is_none(name) else name for name in names], list(filter(says_none, names))
    )
    if not grades:
        _read_numbers(found)
        return found
    found.scale = min(grades.values()), max(grades.values())
    known = {spelled(name): name for name in grades}
    for at, name in enumerate(found.texts):
        if name is None:
            continue
        same = known.get(spelled(name))
        found.texts[at] = None if same is None else repr(grades[same])
        if same is None:
            near = difflib.get_close_matches(spelled(name), list(known), n=1)
            found.strange[name] = known[near[0]] if near else ""
    return found


def _read_numbers(found: Marks) -> None:
    """Take words for numbers, and what stands behind numbers off them."""
    some = [name for name in found.texts if name is not None]
    numbers = [number for name in some if (number := loose_number(name)) is not None]
    n_words = sum(name.casefold() in WORDS for name in some)
    if n_words + len(numbers) == len(some) and all(0.0 <= number <= 1.0 for number in numbers):
        found.texts = [
            None if name is None else str(WORDS.get(name.casefold(), name)) for name in found.texts
        ]
    found.texts, found.scale, notes = unmarked(found.texts)
    found.notes += notes


def share_of_marks(texts: Iterable[str | None], grades: Mapping[str, float]) -> float:
    """Return which share of cells with something in them may be scores."""
    known = [text for text in texts if text and not is_none(text)]
    names = {spelled(name) for name in grades}
    marks = sum(loose_number(text) is not None or spelled(text) in names for text in known)
    return marks / len(known) if known else 0.0
