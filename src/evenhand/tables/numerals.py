"""Numerals: texts that are numbers or dates, and texts that are numbers written in another way.

A number is written with digits and at most one decimal point, such as -3.5 or 1e6; where a file
has decimal commas, with a comma in its place. Numbers written in other ways (1,200; 1 200; 20%;
€20) are recognised, so that a column of them is not taken for categories, but they are not read:
1,200 is a thousand and two hundred to some and one and a fifth to others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE
)

_MARKS = "%‰°"
_CODES = r"(?:EUR|USD|GBP|CHF|JPY|CNY|INR)"
# What may group thousands: a point, a comma, an apostrophe, or one of several blanks.
_GROUPED = r"[0-9]{1,3}([.,' \u2019\u00a0\u2009\u202f])[0-9]{3}(?:\1[0-9]{3})*(?:[.,][0-9]+)?"
_ELSEWHERE = re.compile(
    rf"[+-]?(?:{_GROUPED}|[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)

# One point or comma that may as well group thousands.
ONE_GROUP = r"^\s*[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}\s*$"

_MONTHS = (
    r"(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez)[a-z]*\.?|"
    r"(?:märz|mrz|janv|févr|avr|juin|juil|août|déc)\.?"
)
_DATE = re.compile(
    r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}([T ].*)?"
    r"|[0-9]{1,2}([-/.])[0-9]{1,2}\3(?:[0-9]{4}|[0-9]{2})([T ].*)?"
    rf"|(?:{_MONTHS})[ -]?[0-9]{{1,4}}(,? [0-9]{{4}})?"
    rf"|[0-9]{{1,2}}\.?[ -]?(?:{_MONTHS})([ -][0-9]{{2,4}})?"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?[ap]m)?",
    re.IGNORECASE,
)

_ABSENT = {"n/a", "na", "n.a.", "#n/a", "none", "null", "nil", "missing", "unknown"}
_ABSENT |= {"-", "--", "–", "—", "?", ".", "..", "...", "…"}
_SWAPPED = str.maketrans(".,", ",.")


def text_of(value: object) -> str:
    """The name of one value given by the user: 1.0 and 1 are the same group."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def parsed(
    texts: Sequence[str], decimal: str = "."
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Texts as numbers, NaN where a text is not one; and which of them are (as 'nan' is)."""
    if decimal == ",":
        texts = [text.translate(_SWAPPED) for text in texts]
    fits = np.fromiter((_NUMBER.fullmatch(text) is not None for text in texts), bool, len(texts))
    numbers = np.full(len(texts), np.nan)
    numbers[fits] = [float(texts[i]) for i in np.flatnonzero(fits).tolist()]
    return numbers, fits


def sorted_levels(levels: Sequence[str]) -> list[str]:
    """Levels in the order a reader expects: by value if all are numbers, else as text."""
    values, _ = parsed(levels)
    if not np.isfinite(values).all():
        return sorted(levels)
    return [level for _, level in sorted(zip(values.tolist(), levels, strict=True))]


def written_elsewhere(text: str) -> bool:
    """Whether a text is a number in some notation: 3.5, 3,5, 1,200, 1 200, 20%, €20 or −4."""
    return _ELSEWHERE.fullmatch(_bare(text)) is not None


def is_absent(text: str) -> bool:
    """Whether a text says that there is no value, as 'n/a', '-' or '?' do."""
    return text.casefold() in _ABSENT


def is_date(text: str) -> bool:
    """Whether a text is a date or a time of day."""
    return _DATE.fullmatch(text.strip()) is not None


def may_be_thousands(text: str) -> bool:
    """Whether a point or comma in a text may as well group thousands, as in 1,200 and 1.200."""
    return re.match(ONE_GROUP, text) is not None


def _bare(text: str) -> str:
    """A text without currencies, percent signs and the typographer's minus."""
    text = re.sub(rf"^{_CODES}\b|\b{_CODES}$", "", text.replace("\u2212", "-").strip())
    kept = "".join(c for c in text if unicodedata.category(c) != "Sc" and c not in _MARKS)
    return re.sub(r"^([+-])\s+", r"\1", kept.strip())
