"""Texts in tables and messages: names, groups, and numbers and dates as people write them; names
and groups of options that come in memory, and what is wrong with those.

A number is written with digits and at most one decimal point, such as -3.5 or 1e6, or a comma in
its place: `number_in` reads one, wherever it was typed. Numbers written in other ways (1 200; 20%;
€20) are recognised, so that a column of them is not taken for categories, but they are not read;
nor is 1,200, which is a thousand and two hundred to some and one and a fifth to others.

Nothing here imports pyarrow: whoever brings options as arrays does not wait for it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import unmasked
from evenhand.errors import InputError


class Names(tuple[str, ...]):
    """The names of the options, which are equal to a list of the same.

    Examples
    --------
    >>> names = Names.numbered(3)
    >>> names, names.index("option 3"), Names(("Ann", "Bo")) == ["Ann", "Bo"]
    (Names('option 1', 'option 2', 'option 3'), 2, True)
    """

    __slots__ = ()

    @classmethod
    def numbered(cls, k: int) -> Self:
        """Return names of `k` options without names of their own."""
        return cls(map("option ".__add__, map(str, range(1, k + 1))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | tuple) and tuple.__eq__(self, tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"Names({listed(self[:3])}{f', … ({len(self)})' if len(self) > 3 else ''})"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes for a message, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a', … (3 in all)")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand more than once, of a few names, such as those of columns."""
    return [name for name, count in Counter(names).items() if count > 1]


# More categories than this are names or free text: one column each would fill the memory.
MAX_LEVELS = 1000

_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE
)

_MARKS = "%‰°"
_DASHES = str.maketrans("−–", "--")
_CODES = r"(?:EUR|USD|GBP|CHF|JPY|CNY|INR)"
# What may group thousands: a point, a comma, an apostrophe, or one of several blanks.
_GROUPED = r"[0-9]{1,3}([.,' \u2019\u00a0\u2009\u202f])[0-9]{3}(?:\1[0-9]{3})*(?:[.,][0-9]+)?"
_ELSEWHERE = re.compile(
    rf"[+-]?(?:{_GROUPED}|[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)

_ONE_GROUP = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}\s*")

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

_ABSENT = {"nan", "n/a", "na", "n.a.", "#n/a", "none", "null", "nil", "missing", "unknown"}
_ABSENT |= {"-", "--", "–", "—", "?", ".", "..", "...", "…"}
_MINUS, _SWAPPED = str.maketrans("\u2212", "-"), str.maketrans(".,\u2212", ",.-")


def text_of(value: object) -> str:
    """The name of one value given by the user: 1.0 and 1 are the same group."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def parsed(
    texts: Sequence[str], decimal: str = "."
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Texts as numbers, NaN where a text is not one; and which of them are (as 'nan' is)."""
    texts = [text.translate(_SWAPPED if decimal == "," else _MINUS) for text in texts]
    fits = np.fromiter((_NUMBER.fullmatch(text) is not None for text in texts), bool, len(texts))
    numbers = np.full(len(texts), np.nan)
    numbers[fits] = [float(texts[i]) for i in np.flatnonzero(fits).tolist()]
    return numbers, fits


def whole_in(text: str, what: str) -> int:
    """Return the whole number, from 1 on, that somebody wrote."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise InputError(f"{what} must be a whole number from 1 on; got {text[:40]!r}.")
    return int(text)


def number_in(
    text: str, decimal: str | None = None, possible: Callable[[float], bool] | None = None
) -> float:
    """Return the number that somebody wrote, with a point or a comma before decimals; `InputError`
    for what is none, or may be two.

    `decimal` is what stands before decimals, if that is known; `possible` tells which numbers can
    be meant.

    Examples
    --------
    >>> number_in("7,5"), number_in("1e3"), number_in("1,250", possible=lambda x: x <= 10)
    (7.5, 1000.0, 1.25)
    >>> number_in("1,250")
    Traceback (most recent call last):
    evenhand.errors.InputError: '1,250' can be 1.25 or 1250: write 1.25 or 1250
    """
    bare = text.strip().replace("\u2212", "-")
    mark = "," if "," in bare else "."
    number = float(parsed([bare], mark)[0][0])
    if not math.isfinite(number):
        date = "; a spreadsheet may have made a date of it" if is_date(bare) else ""
        raise InputError(f"{text.strip()!r} is not a number{date}")
    if not may_be_thousands(bare) or mark == (decimal or "."):
        return number
    whole = float(bare.replace(mark, ""))
    found = [x for x in (number, whole) if possible is None or possible(x)]
    if len(found) != 1:
        raise InputError(f"{text.strip()!r} {two_readings(bare)}")
    return found[0]


def two_readings(text: str) -> str:
    """Say which two numbers a text can be whose point or comma may group thousands."""
    both = f"{float(text.replace(',', '.')):g} or {re.sub('[.,]', '', text)}"
    return f"can be {both}: write {both}"


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
    return _ONE_GROUP.fullmatch(text) is not None


def _bare(text: str) -> str:
    """A text without currencies, percent signs and the typographer's minus."""
    text = re.sub(rf"^{_CODES}\b|\b{_CODES}$", "", text.replace("\u2212", "-").strip())
    kept = "".join(c for c in text if unicodedata.category(c) != "Sc" and c not in _MARKS)
    return re.sub(r"^([+-])\s+", r"\1", kept.strip())


def check_length(what: str, n: int, k: int) -> None:
    """Refuse `n` entries for `k` options."""
    if n != k:
        raise InputError(f"{what} has {n} entries, features has {k} rows; one per option is needed")


_SEVERAL = "for several groups give attributes=, a column of zeros and ones for each but one"


def group_signs(
    groups: Any, k: int, positive: object, what: str = "groups", several: str = _SEVERAL
) -> tuple[NDArray[np.int8], tuple[str, str]]:
    """The group of each option as −1 or +1, a column (k, 1), and the names of the two groups.

    Examples
    --------
    >>> signs, names = group_signs(["home", "away", "home"], 3, positive=None)
    >>> signs.ravel(), names
    (array([ 1, -1,  1], dtype=int8), ('away', 'home'))
    """
    texts = _texts_of(groups, what, k)
    counts = Counter(texts)
    if len(counts) > MAX_LEVELS:
        some = listed(list(counts)[:3])
        raise InputError(f"{what} has more than {MAX_LEVELS} different values, such as {some}")
    names = sorted_levels(list(counts))
    if len(names) == 1:
        raise InputError(
            f"{what} has one group only, {names[0]!r} ({counts[names[0]]} options): the bias is a "
            "difference between two groups"
        )
    if len(names) != 2:
        shown = ", ".join(f"{name!r} ({counts[name]})" for name in names[:8])
        more = ", …" if len(names) > 8 else ""
        raise InputError(
            f"{what} has {len(names)} groups, two are needed: {shown}{more}; {several}"
        )
    if positive is not None:
        # Numbers may be written in several ways: 1 means the group '+1'.
        values, _ = parsed([*names, wanted := text_of(positive)])
        last = [wanted] if wanted in names else [names[i] for i in (0, 1) if values[i] == values[2]]
        if len(last) != 1:
            of = f"its groups are {listed(names)}"
            raise InputError(f"{what} has no group {positive!r}, named by positive=; {of}")
        names.sort(key=last.__contains__)
    signs = np.fromiter((1 if text == names[1] else -1 for text in texts), np.int8, k)
    return signs[:, np.newaxis], (names[0], names[1])


def option_names(labels: Any, k: int, what: str = "labels") -> Names:
    """The names of the options, as given or numbered; an error unless they all differ.

    Examples
    --------
    >>> option_names(["Ann", "Bo"], 2), option_names(None, 2)
    (Names('Ann', 'Bo'), Names('option 1', 'option 2'))
    """
    if labels is None:
        return Names.numbered(k)
    if isinstance(labels, Names):
        check_length(what, len(labels), k)
        return labels
    texts = _texts_of(labels, what, k)
    refuse_repeated(texts, what, lambda rows: list(map(str, rows)))
    return Names(texts)


def refuse_repeated(
    names: Sequence[str | None], what: str, where: Callable[[Sequence[int]], Sequence[str]]
) -> None:
    """Refuse names of which one comes again."""
    if len(set(names)) == len(names):
        return
    name = next(name for name, n in Counter(names).items() if n > 1)
    rows = [row for row, other in enumerate(names) if other == name]
    raise InputError(
        f"{what}: the name {name!r} stands in {len(rows)} rows ({', '.join(where(rows[:5]))}"
        f"{', …' * (len(rows) > 5)}); names must differ: keep one row of each"
    )


def spelled(name: str) -> str:
    """Return a name as it is known again, whatever its letters, blanks, points, dashes and form."""
    if name.isascii() and name.isalnum():  # as most are
        return name.casefold()
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_DASHES)
    return " ".join(plain.replace(". ", " ").rstrip(". ").split()) or name


def refuse_alike(names: Iterable[str | None], what: str) -> None:
    """Refuse names of which two differ in spelling only."""
    seen: dict[str, str] = {}
    for name in names:
        other = name if name is None else seen.setdefault(spelled(name), name)
        if other != name:
            raise InputError(
                f"{what}: {other!r} and {name!r} differ in capitals, blanks, points or dashes "
                "only; spell them alike if they are one, else give each a name of its own"
            )


def texts_or_none(values: Iterable[Any]) -> list[str | None]:
    """The trimmed text of each value; None where it is missing or empty.

    Examples
    --------
    >>> texts_or_none(["fr ", None, float("nan"), 3])
    ['fr', None, None, '3']
    """
    found: list[str | None] = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if isinstance(value, bytes):
            value = value.decode(errors="backslashreplace")  # noqa: PLW2901
        # NaN and NaT differ from themselves; pandas' NA has a name of its own
        missing = value is None or value is np.ma.masked or type(value).__name__ == "NAType"
        missing = missing or value != value  # noqa: PLR0124
        found.append(None if missing else text_of(value).strip() or None)
    return found


def _texts_of(values: Any, what: str, k: int) -> list[str]:
    """Return a text for each of k options; an error where one has none."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{what} must hold one value per option, not the single text {values!r}")
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        if array.ndim != 1:
            shape = f"not the shape {array.shape}; use {what}.ravel()"
            raise InputError(f"{what} must have one dimension, {shape}")
        if array.dtype.kind in "mM":
            values = [None if np.isnat(value) else str(value) for value in array]
        elif not np.ma.is_masked(values):
            values = array
    try:
        texts = texts_or_none(values)
    except TypeError:
        raise InputError(f"{what} must hold one value per option, not {values!r}") from None
    check_length(what, len(texts), k)
    if None in texts:
        where = f"row {texts.index(None)} is missing or empty"
        raise InputError(f"{what}: {where}; every option needs one")
    return list(map(str, texts))


def column_names(names: Sequence[str] | None, n: int, what: str, letter: str) -> tuple[str, ...]:
    """The names of `n` columns, as given, or a letter with numbers.

    Examples
    --------
    >>> column_names(None, 2, "feature_names", "x")
    ('x1', 'x2')
    """
    if names is None:
        return tuple(f"{letter}{number}" for number in range(1, n + 1))
    if isinstance(names, str):
        raise InputError(f"{what} is a list of names: {what}=[{names!r}]")
    result = tuple(str(name) for name in names)
    if len(result) != n:
        raise InputError(f"{what} has {len(result)} names, there are {n} columns")
    if twice := repeated(result):
        raise InputError(f"{what} has {listed(twice)} more than once; names must differ")
    return result


def option_positions(indices: ArrayLike, k: int) -> NDArray[np.int64]:
    """Distinct positions among `k` options, from positions or truth values.

    Examples
    --------
    >>> option_positions([True, False, True], 3)
    array([0, 2])
    """
    chosen = unmasked(indices, "indices")
    if chosen.dtype == np.bool_ and chosen.shape == (k,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise InputError(
            f"indices must be a list of at least one option number, or {k} truth values; got an "
            f"array of {chosen.dtype} of shape {chosen.shape}"
        )
    outside = chosen[(chosen < 0) | (chosen >= k)]
    if outside.size:
        raise InputError(f"there is no option {outside[0]}; they run from 0 to {k - 1}")
    values, counts = np.unique(chosen, return_counts=True)
    if len(values) < len(chosen):
        raise InputError(f"option {values[counts > 1][0]} is chosen twice")
    return chosen.astype(np.int64)
