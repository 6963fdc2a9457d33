"""What callers give, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.tables.texts import listed

_LONGEST = 200  # characters of a name
_LONGEST_REASON = 2000


def checked_name(value: object, what: str, *, empty: bool = False) -> str:
    """Return a name of 1 to 200 characters (or none, if `empty`); refuse anything else."""
    return _checked_text(value, what, 0 if empty else 1, _LONGEST)


def checked_reason(value: object, what: str = "reason") -> str:
    """Return a reason in one line, cut where it is very long (an error message, perhaps)."""
    if isinstance(value, BaseException):
        value = f"{type(value).__name__}: {value}"
    if not isinstance(value, str):
        raise InputError(f"{what} must be a text; got {value!r}.")
    line = " ".join(value.replace("\0", " ").split())
    return line.encode("utf-8", "replace").decode()[:_LONGEST_REASON]


def checked_seconds(value: object, what: str = "lease") -> float:
    """Return a span of time, or say what is wrong with it."""
    if not is_number(value) or not 0.0 < value <= 1e10:
        raise InputError(f"{what} must be a number of seconds larger than 0; got {value!r}.")
    return float(value)


def checked_display(given: Any, names: Any) -> dict[str, dict[str, str]]:
    """Return what evaluators are shown of options, or say what is wrong with it."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "display must say by an option's name what is shown of it, such as "
            f"{{'Ann': {{'title': 'Sonata'}}}}; got {given!r}."
        )
    known, shown = set(names), {}
    for name, columns in given.items():
        if name not in known:
            raise InputError(
                f"display names {name!r}, which is no option; there are {listed(list(names))}."
            )
        if not isinstance(columns, Mapping):
            raise InputError(f"display of {name!r} must be texts by name; got {columns!r}.")
        for column, text in columns.items():
            _checked_text(column, f"a column that is shown of {name!r}", 1, _LONGEST)
            _checked_text(text, f"{column!r} of {name!r}", 0, 100_000)
        shown[str(name)] = {str(column): str(text) for column, text in columns.items()}
    return shown


def _checked_text(value: object, what: str, least: int, most: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise InputError(f"{what} must be a text of {least} to {most:,} characters; got {value!r}.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} has characters that are none: {value!r}.") from None
    if "\0" in value:
        raise InputError(f"{what} has a character that no database takes: {value!r}.")
    return str(value)
