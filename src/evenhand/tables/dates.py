"""Dates and times: as what they are, and as what they were made of by somebody's spreadsheet."""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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

# Days since 1899-12-30, as spreadsheets count them: from 1982 to 2064.
_SERIALS = 30_000, 60_000
_SERIAL_ZERO = date(1899, 12, 30)
_SMALL = 1_000  # scores of this size have no business beside such days


def is_date(text: str) -> bool:
    """Whether a text is a date or a time of day."""
    return _DATE.fullmatch(text.strip()) is not None


def is_moment(kind: pa.DataType) -> bool:
    """Whether cells of this type are dates, times or durations."""
    return bool(pa.types.is_temporal(kind))


def calendar_dates(numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Numbers such as 20160105 as days since 1970; None unless all of them are dates."""
    if not numbers.size or not (numbers.min() >= 19_000_101 and numbers.max() <= 20_991_231):
        return None
    whole = numbers.astype(np.int64)
    if not np.array_equal(whole, numbers):
        return None
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    ranges = ((month, 1, 12), (day, 1, 31))
    if not all(((low <= part) & (part <= high)).all() for part, low, high in ranges):
        return None
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    if not np.array_equal(days.astype("datetime64[M]"), months):
        return None
    return days.astype(np.float64)


def spreadsheet_days(numbers: NDArray[np.float64]) -> tuple[int, date] | None:
    """The row and the date of a number that is most likely a day as spreadsheets count them: all
    are whole and of the size of days since 1899, or a few are, and all others are small.
    """
    low, high = _SERIALS
    if not numbers.size or not numbers.max() >= low:
        return None
    days = (low <= numbers) & (numbers <= high) & (numbers == np.floor(numbers))
    others = np.abs(numbers[~days])
    suspect = others.max() < _SMALL if others.size else bool((numbers % 10 != 0).any())
    if not days.any() or not suspect:
        return None
    row = int(np.argmax(days))
    return row, _SERIAL_ZERO + timedelta(days=int(numbers[row]))


def moments(cells: pa.Array) -> NDArray[np.float64] | None:
    """Dates, or texts that are dates in ISO 8601, as days since 1970 (NaN where a cell is empty);
    None if one is neither.
    """
    kind = cells.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return None
    for unit in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            since = cells.cast(unit, safe=False).cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        days: NDArray[np.float64] = pc.cast(since, pa.float64()).to_numpy(zero_copy_only=False)
        return days / 86_400e6
    return None
