"""Groups: the user's own two labels become −1 and +1."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.errors import InputError
from evenhand.tables.names import listed
from evenhand.tables.numerals import parsed, sorted_levels, text_of

# More categories than this are names or free text: one column each would fill the memory.
MAX_LEVELS = 1000


def two_groups(
    counts: Mapping[str, int], positive: object, what: str, several: str
) -> tuple[str, str]:
    """The names of groups −1 and +1; an error unless there are exactly two."""
    if len(counts) > MAX_LEVELS:
        raise InputError(
            f"{what} has more than {MAX_LEVELS} different values, such as "
            f"{listed(list(counts)[:3])}; give every option one of two labels"
        )
    names = sorted_levels(list(counts))
    if len(names) == 1:
        raise InputError(
            f"{what} has one group only, {names[0]!r} ({counts[names[0]]} options): the bias is a "
            "difference between two groups; add options of the other group"
        )
    if len(names) != 2:
        shown = ", ".join(f"{name!r} ({counts[name]})" for name in names[:8])
        more = ", …" if len(names) > 8 else ""
        raise InputError(
            f"{what} has {len(names)} groups, two are needed: {shown}{more}; {several}"
        )
    first, last = names
    if positive is None:
        return first, last
    wanted = text_of(positive)
    if wanted not in names:
        # Numbers may be written in several ways: 1 means the group '+1'.
        values, _ = parsed([first, last, wanted])
        same = [name for name, value in zip(names, values[:2], strict=True) if value == values[2]]
        if len(same) != 1:
            raise InputError(
                f"{what} has no group {positive!r}, named by positive=; "
                f"its groups are {listed(names)}"
            )
        wanted = same[0]
    return (last, first) if wanted == first else (first, last)
