"""Tables of numbers on a terminal or in a pipe: never cut, however narrow it is."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def number_table() -> Table:
    """Return a table without lines, for names and numbers."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def print_table(terminal: Console, table: Table) -> None:
    """Print a table as wide as its numbers are; a narrow terminal breaks the lines.

    A pipe counts as 80 columns, and Rich would cut what does not fit there to "12…".
    """
    width = terminal.width
    wide = terminal.options.update(width=10**6)
    terminal.width = max(width, Measurement.get(terminal, wide, table).maximum)
    try:
        terminal.print(table, crop=False)
    finally:
        terminal.width = width
