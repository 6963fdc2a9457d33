"""Numbers, intervals and names as people read them: the only place that writes them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Protocol

_LONGEST_NAME = 40
_MOST_NAMES = 4
_LARGE = 1e7  # beyond it, numbers are written in powers of ten
_MOST_DECIMALS = 6


class Interval(Protocol):
    """A number with the ends of its interval."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end; −∞ if there is none."""

    @property
    def high(self) -> float:
        """The upper end; ∞ if there is none."""


def number(value: float | None, digits: int | None = None) -> str:
    """Return a number to three digits, or with so many decimals, with thousands apart."""
    if value is None or math.isnan(value):
        return "–"
    size = abs(value)
    if math.isinf(size):
        return "∞" if value > 0.0 else "−∞"
    if isinstance(value, numbers.Integral):
        written = f"{int(value):,}"
    elif digits is not None and digits <= _MOST_DECIMALS and size < _LARGE:
        written = f"{round(value, digits) + 0.0:,.{digits}f}"
    elif size >= _LARGE:
        return f"{value:.3g}".replace("-", "−", 1) if value < 0.0 else f"{value:.3g}"
    else:
        written = f"{value:,.0f}" if size >= 100 else f"{value:.3g}"
    return written.replace("-", "−")


def interval(estimate: Interval) -> str:
    """Return a number with its interval, to two digits of the interval's half-width."""
    size, span = size_and_span(estimate)
    return f"{size}{span}"


def size_and_span(estimate: Interval) -> tuple[str, str]:
    """Return a number, and its interval in brackets if there is one."""
    if not math.isfinite(estimate.high - estimate.low):
        return number(estimate.value), ""
    digits = decimals((estimate.high - estimate.low) / 2)
    low, high = (number(x, _seen(x, digits)) for x in (estimate.low, estimate.high))
    return number(estimate.value, digits), f" ({low} to {high})"


def _seen(end: float, digits: int) -> int:
    """Return enough decimals for an end that is not 0 to look so."""
    return decimals(end) - 1 if end and round(end, digits) == 0.0 else digits


def decimals(width: float) -> int:
    """Return how many decimals a difference deserves: two of its digits."""
    width = abs(width)
    return max(0, 1 - math.floor(math.log10(width))) if 0.0 < width < math.inf else 3


def percent(share: float) -> str:
    """Return a probability as a percentage."""
    return f"{100 * share:.6g}%"


def p_value(chance: float) -> str:
    """Return how probable as much would be by chance."""
    return f"p = {chance:.1g}" if chance >= 1e-12 else "p < 1e-12"


def counted(n: int, what: str) -> str:
    """Return how many of something there are, in its singular or plural."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(round(seconds / size), unit)
    return counted(max(1, round(seconds)), "second")


def visible(text: str) -> str:
    """Return a text on one line, with control characters and marks of direction made visible."""
    if text.isprintable():
        return " ".join(text.split())
    spaced = " ".join(text.split())
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in spaced
    )


def short(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name on one line, cut if it is very long, with control characters made visible."""
    line = visible(name)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def abridged(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name as `short` does, but of a long one start and end, which tell it apart."""
    line = visible(name)
    half = (most - 1) // 2
    return line if len(line) <= most else f"{line[:half].rstrip()}…{line[-half:]}"


def joined(parts: Sequence[str], most: int = 6) -> str:
    """Return parts of a sentence in a row, the first few of many."""
    if len(parts) > most:
        return f"{', '.join(parts[:most])} and {len(parts) - most:,} more"
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Return some names in a row."""
    return joined([short(name) for name in names], most)


def sentence(text: str) -> str:
    """Return a text with a capital at its start."""
    return text[:1].upper() + text[1:]
