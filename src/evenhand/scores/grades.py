"""Grades as numbers: letters, words and truth values that tables have in place of scores."""

from __future__ import annotations

import math
from typing import Any

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
    try:
        return _finite(float(text)) if text else math.nan
    except ValueError:
        raise ValueError(value) from None


def _finite(number: float) -> float:
    if math.isinf(number):
        raise ValueError(number)
    return number
