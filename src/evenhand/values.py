"""Values that hold arrays or NaN: they never change, and are equal when their contents are."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class ArrayValue:
    """Base of frozen dataclasses (``eq=False``) whose arrays are their own: copied when they come
    from outside and read-only from then on, also after copying and unpickling.
    """

    def __post_init__(self) -> None:
        self._own(copy=True)

    def _own(self, *, copy: bool) -> None:
        for declared in fields(self):  # type: ignore[arg-type] # every subclass is a dataclass
            value = getattr(self, declared.name)
            # what is read-only and owns its memory is some other value's, and may be shared
            if isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None):
                own = value.copy() if copy else value
                own.flags.writeable = False
                object.__setattr__(self, declared.name, own)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._own(copy=False)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same(getattr(self, declared.name), getattr(other, declared.name))
            for declared in fields(self)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        # the plain fields tell values apart well enough, and cost nothing where arrays are long
        plain = (getattr(self, declared.name) for declared in fields(self))  # type: ignore[arg-type]
        told = (v for v in plain if isinstance(v, str | int | float) and not _is_nan(v))
        return hash((type(self), *told))


def same(one: object, other: object) -> bool:
    """Tell whether two contents are the same, arrays or not; NaN is the same as NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 # only NaN is not itself
