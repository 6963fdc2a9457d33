"""Numbers, intervals and names as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.policies.messages import Estimate
from evenhand.tables import joined

_LONGEST_NAME = 40
_MOST_NAMES = 4
_LIKELY, _RARE = 0.5, 0.05  # chances from which on something should, or may, be so


def interval(estimate: Estimate) -> str:
    """Return a number with its interval, to two digits of the interval's half-width.

    Examples
    --------
    >>> interval(Estimate(1.5849, 0.917, 2.31, 0.95))
    '1.58 (0.92 to 2.31)'
    >>> interval(Estimate(1.5849, float("-inf"), float("inf"), 0.95))
    '1.58'
    """
    size, span = size_and_span(estimate)
    return f"{size}{span}"


def number(value: float) -> str:
    """Return a number to three digits, with thousands apart.

    Examples
    --------
    >>> number(0.123456), number(12345.6), number(-2.0), number(3e9)
    ('0.123', '12,346', '−2', '3e+09')
    """
    size = abs(value)
    written = f"{value:,.0f}" if 100 <= size < 1e7 else f"{value:.3g}"
    return written.replace("-", "−") if size < 1e7 else written


def percent(share: float) -> str:
    """Return a probability as a percentage.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:.6g}%"


def settles(what: str, chance: float) -> str:
    """Return that something settles a choice, as probable as it is; NaN if nobody can say.

    Examples
    --------
    >>> settles("about 9 more", 0.634)
    'about 9 more should settle it (a chance of about 65%)'
    >>> settles("about 9 more", 0.2), settles("about 9 more", 0.004)
    ('about 9 more may settle it (a chance of about 20%)',
     'about 9 more would rarely settle it (a chance of less than 1%)')
    """
    if math.isnan(chance):
        return f"{what} would settle it if leads stay as they are"
    if chance < 0.01:
        said = "less than 1%"
    elif chance < 0.1:
        said = f"about {100 * chance:.0f}%"
    else:
        said = "more than 95%" if chance > 0.95 else f"about {5 * round(20 * chance)}%"
    verb = "should" if chance >= _LIKELY else "may" if chance >= _RARE else "would rarely"
    return f"{what} {verb} settle it (a chance of {said})"


def short(name: str, most: int = _LONGEST_NAME) -> str:
    r"""Return a name on one line, cut if it is very long.

    Examples
    --------
    >>> short("two\nlines"), len(short("x" * 1000))
    ('two lines', 40)
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def listed(names: Sequence[str]) -> str:
    """Return some names in a row.

    Examples
    --------
    >>> listed(["Ann"]), listed(["Ann", "Bo"]), listed(["a", "b", "c", "d", "e", "f"])
    ('Ann', 'Ann and Bo', 'a, b, c, d and 2 more')
    """
    return joined([short(name) for name in names], _MOST_NAMES)


def fixed(value: float, digits: int) -> str:
    """Return a number with so many decimals, or in powers of ten where it is huge or tiny."""
    if digits > 6 or abs(value) >= 1e7:
        return number(value)
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def size_and_span(estimate: Estimate) -> tuple[str, str]:
    """Return a number, and its interval in brackets if there is one."""
    if not math.isfinite(estimate.high - estimate.low):
        return number(estimate.value), ""
    digits = decimals((estimate.high - estimate.low) / 2)
    value, low, high = (fixed(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    return value, f" ({low} to {high})"


def decimals(width: float) -> int:
    """Return how many decimals a difference deserves: two of its digits, and no more than 6."""
    width = abs(width)
    return max(0, 1 - math.floor(math.log10(width))) if 0.0 < width < math.inf else 3
