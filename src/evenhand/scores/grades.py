"""Words that are scores: grades that somebody declared, the best first; verdicts on two options.

Grades are equally spaced steps unless their numbers are stated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.errors import InputError
from evenhand.tables.texts import listed, number_in

Grades = Sequence[str] | Mapping[str, float] | None
"""Ordered words that are scores, the best first; or with their numbers."""


def grades_in(grades: Grades) -> dict[str, float]:
    """Return grades with their numbers; an error for what is no order of two or more."""
    if grades is None:
        return {}
    if isinstance(grades, Mapping):
        found = {str(name).strip(): value for name, value in grades.items()}
        wrong = [
            name
            for name, value in found.items()
            if isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
        ]
        if wrong:
            raise InputError(f"grades= needs a finite number for each grade; {wrong[0]!r} has none")
        order = dict(sorted(found.items(), key=lambda one: -float(one[1])))
        found = {name: float(value) for name, value in order.items()}
    elif isinstance(grades, str) or not all(isinstance(name, str) for name in grades):
        raise InputError(
            f"grades= is a list of grades, the best first, or a mapping to numbers; got {grades!r}"
        )
    else:
        found = {name.strip(): float(len(grades) - at) for at, name in enumerate(grades)}
    names = [str(name) for name in grades]
    if len(set(map(spelled, names))) < len(names):
        raise InputError(f"grades= names a grade twice: {listed(names, 30)}")
    if len(found) < 2 or "" in found:
        raise InputError(f"grades= needs two grades or more, each with a name; got {grades!r}")
    return found


def typed_grades(names: Sequence[str]) -> Grades:
    """Return grades as somebody types them, the best first; with numbers where all are stated."""
    if not all("=" in name for name in names):
        return list(names)
    try:
        return {
            name.strip(): number_in(value) for name, value in (one.rsplit("=", 1) for one in names)
        }
    except InputError:
        raise InputError(
            "grades= states numbers as A=4,B=3,C=2, or names grades, the best first, as A,B,C; "
            f"got {', '.join(names)!r}."
        ) from None


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


def spelled(name: str) -> str:
    """Return a grade as it is known again, whatever its letters, spaces and dashes."""
    return re.sub("[−–]", "-", " ".join(name.casefold().split()))


def assumed_of(grades: Mapping[str, float]) -> str:
    """Return what reading grades as numbers takes for granted."""
    said = ", ".join(f"{name} = {value:g}" for name, value in grades.items())
    steps = np.diff(list(grades.values()))
    if not np.allclose(steps, steps[0]):
        return f"Grades are numbers as you stated them: {said}."
    first, second = list(grades)[:2]
    return (
        f"Grades are read as equally spaced: {said}. So the step from {second} to {first} "
        "counts as much as any other. For numbers of your own, say grades=, such as "
        f"{first}=4, {second}=3.5, …."
    )
