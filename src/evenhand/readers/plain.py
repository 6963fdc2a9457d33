"""Plain tables of scores, in files: read as all tables are (`evenhand.scores`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.readers.documents import Document, TableFile

if TYPE_CHECKING:
    from evenhand.tables.sources import Table

NAME = "table"
WANTED = (
    "a table (CSV, TSV, Excel, Parquet, lines of JSON) with the columns option, evaluator, score"
)


def recognises(content: Any) -> bool:
    """Tell whether this is a table: one in a file, or a list of objects."""
    if isinstance(content, TableFile):
        return True
    return isinstance(content, list) and bool(content) and all(isinstance(r, dict) for r in content)


def table_of(documents: Sequence[Document]) -> Table:
    """Return the table in a file; of several, one below the other."""
    from evenhand.tables.opened import opened  # noqa: PLC0415 # pyarrow is slow to load
    from evenhand.tables.sources import Rows, StackedTables  # noqa: PLC0415

    tables: list[Table] = [
        opened(document.path)
        if isinstance(document.content, TableFile)
        else Rows.of(document.content, document.where, "object")
        for document in documents
    ]
    return tables[0] if len(tables) == 1 else StackedTables(tables)
