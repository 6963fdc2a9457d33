"""Which column of a table of scores plays which part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.tables.columns import found_columns
from evenhand.tables.names import listed

if TYPE_CHECKING:
    from evenhand.tables.sources import Table

BY_NAME = (
    "evaluator",
    "rival",
    "item",
    "event",
    "cluster",
    "option_group",
    "rival_group",
    "evaluator_group",
)
"""Parts that a column of the same name plays, where there is one and nothing else was said."""

SEVERAL = ("item", "event", "cluster", "attributes", "features")
"""Parts that several columns may play together."""

OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "option": ("model", "system", "candidate", "generator", "generator_1"),
    "rival": ("generator_2",),
    "evaluator": ("judge", "grader", "annotator", "rater"),
    "item": ("prompt", "question", "instruction", "sample", "task"),
    "score": ("rating", "grade", "mark"),
}
"""What else people call a column with a part: it is found by that, if one such column is there."""

NUMBERS = ("score", "partial", "reference", "time", "attributes", "features")
"""Parts that columns of numbers play; the others are names."""


@dataclass(frozen=True)
class Parts:
    """The columns of a table by the parts that they play."""

    columns: Mapping[str, tuple[str, ...]]  # by part; one that nothing plays is not there
    # columns of numbers about the first option, with those about the second
    against: Mapping[str, str] = field(default_factory=dict)
    # columns that were found by another word, with their parts
    read_as: Mapping[str, str] = field(default_factory=dict)

    def one(self, part: str) -> str | None:
        """Return the column with this part; None if there is none."""
        return next(iter(self.columns.get(part, ())), None)

    def all(self, part: str) -> tuple[str, ...]:
        """Return the columns with this part."""
        return self.columns.get(part, ())

    @property
    def numbers(self) -> list[str]:
        """All columns of numbers."""
        own = [column for part in NUMBERS for column in self.all(part)]
        return own + [self.against[column] for column in own if column in self.against]

    @property
    def names(self) -> list[str]:
        """All columns of names that no row may lack."""
        parts = ("option", "evaluator", "rival", "item", "event", "cluster")
        return [column for part in parts for column in self.all(part)]

    @property
    def called(self) -> dict[str, str]:
        """What the user calls the parts."""
        return {part: ", ".join(columns) for part, columns in self.columns.items() if columns}


def assigned(
    source: Table,
    given: Mapping[str, Any],
    hint: Callable[[], str] = str,
    *,
    other_words: bool = True,
) -> Parts:
    """Return the columns of a table by the parts that they play; an error for one not there."""
    for part in ("option", "score"):
        if part in given and given[part] is None:
            raise InputError(f"{part}= must be the name of a column; got None")
    read_as = _by_other_words(source, given) if other_words else {}
    given = dict(given) | {part: column for column, part in read_as.items()}
    kept = found_columns(source, given, by_name=BY_NAME, several=SEVERAL, hint=hint)
    return Parts(kept, _against(source, kept), read_as)


def is_there(source: Table, given: Mapping[str, Any], part: str) -> bool:
    """Tell whether a column has a part: the one that was named, or one that is called so."""
    asked = given[part] not in (part, None)
    return asked or part in source.columns or part in _by_other_words(source, given).values()


def _by_other_words(source: Table, given: Mapping[str, Any]) -> dict[str, str]:
    """Return columns with the parts that they play by another word, of parts that nothing has."""
    taken = {c for part, value in given.items() if value != part for c in _named(value)}
    small = {c.lower(): c for c in source.columns if c not in taken and c not in given}
    found = {}
    for part, words in OTHER_WORDS.items():
        if given.get(part) == part and part not in source.columns:
            known = [small[word] for word in (part, *words) if word in small]
            if len(known) == 1:
                found[known[0]] = part
    return found


def _named(value: Any) -> list[Any]:
    """Return the columns that a value of the user's names."""
    if value is None or isinstance(value, Mapping):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _against(source: Table, columns: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    if "rival" not in columns:
        return {}
    own = [column for part in ("partial", "attributes") for column in columns.get(part, ())]
    return {column: f"rival_{column}" for column in own if f"rival_{column}" in source.columns}


def unused(source: Table, parts: Parts) -> list[str]:
    """Return the columns that play no part."""
    used = {column for columns in parts.columns.values() for column in columns}
    used |= set(parts.against.values())
    return [column for column in source.columns if column and column not in used]


def shown(columns: Sequence[str]) -> str:
    """Return columns for a message."""
    return ("columns " if len(columns) > 1 else "column ") + listed(columns, 6)
