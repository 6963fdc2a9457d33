"""What commands on files of options and evaluators share: tables, names, groups, how often."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.tables.sources import SourceTable

_UNLIMITED = "none"


def table_at(path: str | Path) -> SourceTable:
    """Return the table in a file of any kind; "-" is the standard input."""
    from evenhand.tables.opened import opened  # noqa: PLC0415 - see evenhand.tables

    if str(path) == "-":
        return opened(typer.get_binary_stream("stdin"), name="the standard input")
    return opened(path)


def named_in(
    table: SourceTable, label: str | None, label_flag: str, group: str | None, group_flag: str
) -> dict[str, str | None]:
    """Return names and groups; a missing or repeated name is refused with its line."""
    label = label_of(table, label, group)
    names = table.texts(label, label_flag)
    groups = [None] * len(names) if group is None else table.texts(group, group_flag)
    found: dict[str, str | None] = {}
    for row, (name, side) in enumerate(zip(names, groups, strict=True)):
        if name is None or name in found:
            wrong = "has no name" if name is None else f"has the name {name!r} once more"
            raise InputError(
                f"{table.name}: {table.where([row])[0]} {wrong}, column {label!r}; give every line "
                f"a name of its own, or name another column ({label_flag})"
            )
        found[name] = side
    if not found:
        raise InputError(f"{table.name} has no lines below its header; it needs at least one")
    return found


def label_of(table: SourceTable, label: str | None, group: str | None) -> str:
    """Return the column with the names: the first that is no group, if nobody says."""
    if label is not None:
        return label
    return next((name for name in table.columns if name and name != group), "")


def capacity_in(text: str) -> int | None:
    """Return how often the same may be asked; None for as often as one likes."""
    if text.strip().lower() == _UNLIMITED:
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 10**9:
        raise InputError(f"--capacity must be a whole number ≥ 1, or none; got {text!r}.")
    return number
