"""Plain values: texts, numbers, and lists and names of them, as JSON has them.

A record or a state may come from a stranger. What is read here is refused in words if it is too
large, nested too deeply, or not of the form that is needed; arrays and kernels see it afterwards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin

from evenhand.errors import InputError

LARGEST = 100_000_000  # characters
DEEPEST = 50  # lists in lists

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(content: Any) -> str:
    """Return a plain value as JSON in one form: names in order, no spaces, floats that come back
    exactly.
    """
    return _ENCODER.encode(content)


def decoded(text: str) -> Any:
    """Return the plain value of a JSON text, whose numbers are finite, whole ones of 64 bits, and
    whose lists in lists have an end.
    """
    if len(text) > LARGEST:
        raise InputError(f"it has more than {LARGEST:,} characters.")
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise InputError(f"{_TOO_DEEP}.") from None
    except MemoryError:
        raise InputError("it takes more memory than there is.") from None
    except json.JSONDecodeError as error:
        raise InputError(f"it is no JSON: {error.msg} at character {error.pos + 1:,}.") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InputError(f"the number {_cut(digits)} is too large.")
    return number


def _whole(digits: str) -> int:
    number = int(digits) if len(digits) <= 20 else 2**64
    if not -(2**63) <= number < 2**64:
        raise InputError(f"the number {_cut(digits)} is too large.")
    return number


def _none(word: str) -> NoReturn:
    raise InputError(f"{word} is no number.")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_whole, parse_constant=_none)
_TOO_DEEP = f"it has lists in lists, more than {DEEPEST} deep"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def shown(value: Any) -> str:
    """Return a value as an error shows it: in one line, and not much of it."""
    try:
        return _cut(repr(value[:40] if isinstance(value, str | list | tuple) else value))
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"


class Form:
    """What plain values must be like: a type, or lists and names of such, as the comment says."""

    # int (of 64 bits), float (also a whole number, and finite), str, bool; list[...], or [...] of
    # what is no type; tuple[..., ...] for a list of so many; dict[str, ...] for any names;
    # {"name": ..., "other?": ...} for known ones, of which the other may be missing; ... | None;
    # Any for whatever is not nested too deeply.
    def __init__(self, form: Any) -> None:
        self._check = _check_of(form)

    def check(self, value: Any) -> None:
        """Raise an error that says where a value is not like this."""
        try:
            self._check(value)
        except _OddError as odd:
            where = f"{'.'.join(odd.place)}: " if odd.place else ""
            raise InputError(f"{where}{odd}.") from None


class _OddError(Exception):
    """A part is not what is needed; whatever it is a part of adds its place."""

    place: tuple[str, ...] = ()


_Check = Callable[[Any], None]
_PLAIN: Mapping[Any, tuple[str, set[type]]] = {
    int: ("a whole number", {int}),
    float: ("a number", {int, float}),
    str: ("a text", {str}),
    bool: ("true or false", {bool}),
}


def _check_of(form: Any) -> _Check:
    if isinstance(form, Mapping):
        checks = {name.removesuffix("?"): _check_of(inner) for name, inner in form.items()}
        return _named_as(checks, [name for name in form if not name.endswith("?")])
    if isinstance(form, list):
        return _list_of(form[0])
    origin, inner = get_origin(form), get_args(form)
    if form is Any:
        return _check_depth
    if origin is UnionType:
        (other,) = (_check_of(one) for one in inner if one is not NoneType)
        return lambda value: None if value is None else other(value)
    if origin is list:
        return _list_of(inner[0])
    if origin is tuple:
        return _row_of([_check_of(one) for one in inner])
    if origin is dict:
        return _named(_check_of(inner[1]))
    return _exactly(*_PLAIN[form])


def _exactly(called: str, types: set[type]) -> _Check:
    def check(value: Any) -> None:
        kind = type(value)
        if (
            kind not in types
            or (kind is int and not -(2**63) <= value < 2**63)
            or (kind is float and not math.isfinite(value))
        ):
            _refuse(called, value)

    return check


def _are(values: Sequence[Any], types: set[type]) -> bool:
    """Tell whether all values are of some plain types, and those that are numbers have an end."""
    there = set(map(type, values))
    if not there <= types:
        return False
    if int in there and (min(values) < -(2**63) or max(values) >= 2**63):
        return False
    return float not in there or all(map(math.isfinite, values))


def _refuse(needed: str, value: Any) -> NoReturn:
    raise _OddError(f"{needed} is needed; got {shown(value)}")


def _part(place: int | str, check: _Check, value: Any) -> None:
    try:
        check(value)
    except _OddError as odd:
        odd.place = _cut(str(place)), *odd.place
        raise


def _list_of(form: Any) -> _Check:
    check = _check_of(form)
    types = _PLAIN[form][1] if isinstance(form, type) and form in _PLAIN else None

    def check_all(value: Any) -> None:
        if type(value) is not list:
            _refuse("a list", value)
        if types is None or not _are(value, types):
            for place, inner in enumerate(value):
                _part(place, check, inner)

    return check_all


def _row_of(checks: Sequence[_Check]) -> _Check:
    def check_each(value: Any) -> None:
        if type(value) is not list or len(value) != len(checks):
            _refuse(f"a list of {len(checks)}", value)
        for place, (check, inner) in enumerate(zip(checks, value, strict=True)):
            _part(place, check, inner)

    return check_each


def _named(check: _Check) -> _Check:
    def check_all(value: Any) -> None:
        if type(value) is not dict:
            _refuse("values by name", value)
        for name, inner in value.items():
            if type(name) is not str:
                _refuse("a text as a name", name)
            _part(name, check, inner)

    return check_all


def _named_as(checks: Mapping[str, _Check], required: Sequence[str]) -> _Check:
    def check_each(value: Any) -> None:
        if type(value) is not dict:
            _refuse("values by name", value)
        for name in required:
            if name not in value:
                raise _OddError(f"{name!r} is missing")
        for name, inner in value.items():
            if name not in checks:
                raise _OddError(f"{shown(name)} is not known")
            _part(name, checks[name], inner)

    return check_each


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if type(outer) is list or type(outer) is dict
            for inner in (outer.values() if type(outer) is dict else outer)
        ]
        if not level:
            return
    raise _OddError(_TOO_DEEP)
