"""Grades: ordered words that somebody declared, the best first, and the numbers they stand for.

They are equally spaced steps unless their numbers are stated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.errors import InputError
from evenhand.tables.texts import listed

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
        return {name.strip(): float(value) for name, value in (one.rsplit("=", 1) for one in names)}
    except ValueError:
        raise InputError(
            "grades= states numbers as A=4,B=3,C=2, or names grades, the best first, as A,B,C; "
            f"got {', '.join(names)!r}."
        ) from None


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
