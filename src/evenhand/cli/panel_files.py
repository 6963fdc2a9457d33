"""What commands on files of options and evaluators share: names, groups, prices, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.errors import InputError
from evenhand.tables import listed

if TYPE_CHECKING:
    from evenhand.tables.sources import Source

_UNLIMITED = "none"


def named_in(
    table: Source, label: str | None, label_flag: str, group: str | None, group_flag: str
) -> dict[str, str | None]:
    """Return names and groups; a missing or repeated name is refused with its line."""
    label = label_of(table, label, group)
    names = cells_in(table, label, label_flag)
    groups = [None] * len(names) if group is None else cells_in(table, group, group_flag)
    found: dict[str, str | None] = {}
    for row, (name, side) in enumerate(zip(names, groups, strict=True)):
        if name is None or name in found:
            place = table.places([row], None)[0]
            wrong = "has no name" if name is None else f"has the name {name!r} once more"
            raise InputError(
                f"{table.name}: {place} {wrong}, column {label!r}; give every line a name of its "
                f"own, or name another column ({label_flag})"
            )
        found[name] = side
    if not found:
        raise InputError(f"{table.name} has no lines below its header; it needs at least one")
    return found


def label_of(table: Source, label: str | None, group: str | None) -> str:
    """Return the column with the names: the first that is no group, if nobody says."""
    if label is not None:
        return label
    return next((name for name in table.columns if name and name != group), "")


def cells_in(table: Source, column: str, flag: str) -> list[str | None]:
    """Return the cells of a column as texts; None where one is empty."""
    from evenhand.tables.cells import as_text  # noqa: PLC0415 - see evenhand.tables

    _check_column(table, column, flag)
    return [cell for block in table.blocks([column]) for cell in as_text(block[0]).to_pylist()]


def numbers_in(table: Source, column: str, flag: str, what: str, least: float = 0.0) -> list[float]:
    """Return the cells of a column as numbers above a limit; a cell that is none is named."""
    from evenhand.tables.cells import read_numbers  # noqa: PLC0415 - see evenhand.tables

    _check_column(table, column, flag)
    found = [number for block in table.blocks([column]) for number in read_numbers(block[0])]
    for row, number in enumerate(found):
        if not least < number < float("inf"):
            place = table.places([row], None)[0]
            above = "" if least == -float("inf") else f" larger than {least:g}"
            raise InputError(
                f"{table.name}: {place}, column {column!r} is not a number{above}; {what} must be "
                "one: correct the cell or leave the line out"
            )
    return [float(number) for number in found]


def _check_column(table: Source, column: str, flag: str) -> None:
    if column not in table.columns or not column:
        raise InputError(
            f"{table.name} has no column {column!r}, named by {flag}; its columns are "
            f"{listed(table.columns, 30)}"
        )


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
