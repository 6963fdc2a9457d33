"""Tables that a campaign exported: what was withdrawn, or came late, is no score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evenhand.tables.sources import Cells, Table

_STANDING = "standing"
_COLUMNS = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")


class Counted(Table):
    """A campaign's table of evaluations, without those that do not count."""

    def __init__(self, source: Table, standing: Sequence[str | None]) -> None:
        super().__init__(source.name, source.columns)
        self._source = source
        self.is_text, self.commas_are_free = source.is_text, source.commas_are_free
        self._kept = np.array([one == _KNOWN[0] for one in standing], dtype=bool)
        found = Counter(standing)
        self.left_out = {name: found[name] for name in _KNOWN[1:] if found[name]}

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        kept = pa.array(self._kept)
        return {c: cells.filter(kept) for c, cells in self._source.read(columns, names).items()}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where rows stand in the table as it is."""
        return self._source.where(np.flatnonzero(self._kept)[list(rows)].tolist())


def counted(source: Table, given: Mapping[str, Any]) -> Table:
    """Return a table without what does not count, if a campaign exported it; else as it is."""
    if not set(source.columns) >= _COLUMNS or _STANDING in map(str, given.values()):
        return source
    standing = source.texts(_STANDING)
    if set(standing) <= {_KNOWN[0]} or not set(standing) <= set(_KNOWN):
        return source
    return Counted(source, standing)
