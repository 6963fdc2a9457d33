"""Tables that a campaign exported: what was withdrawn, or came late, is no score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evenhand.tables.cells import as_text
from evenhand.tables.sources import Source

_STANDING = "standing"
_COLUMNS = {"evaluation", "ticket", "evaluator", "score", _STANDING, "at", "key"}
_KNOWN = ("counted", "late", "withdrawn", "withdrawn blind")


class Counted:
    """A campaign's table of evaluations, without those that do not count.

    Parameters
    ----------
    source
        The table.
    standing
        (n,) how each of its rows stands.

    Attributes
    ----------
    left_out
        How many rows are left out, by their standing.

    Examples
    --------
    >>> from evenhand.tables.sources import Frame
    >>> table = Frame(pa.table({"score": [7, 75, 6], "standing": ["counted", "withdrawn", "late"]}))
    >>> counted = Counted(table, ["counted", "withdrawn", "late"])
    >>> [cells.to_pylist() for block in counted.blocks(["score"]) for cells in block]
    [[7]]
    >>> counted.left_out
    {'late': 1, 'withdrawn': 1}
    """

    def __init__(self, source: Source, standing: Sequence[str]) -> None:
        self._source = source
        self.name, self.columns = source.name, source.columns
        self.commas_are_free = source.commas_are_free
        self._kept = np.array([one == _KNOWN[0] for one in standing], dtype=bool)
        found = Counter(standing)
        self.left_out = {name: found[name] for name in _KNOWN[1:] if found[name]}

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block, in the order asked for."""
        start = 0
        for block in self._source.blocks(columns):
            kept = pa.array(self._kept[start : start + len(block[0])])
            start += len(block[0])
            yield [cells.filter(kept) for cells in block]

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """Where these rows stand in the table as it is."""
        return self._source.places(np.flatnonzero(self._kept)[list(rows)].tolist(), label)


def counted(source: Source, given: Mapping[str, Any]) -> Source:
    """Return a table without what does not count, if a campaign exported it; else as it is."""
    if not set(source.columns) >= _COLUMNS or _STANDING in map(str, given.values()):
        return source
    standing = [
        one for (cells,) in source.blocks([_STANDING]) for one in as_text(cells).to_pylist()
    ]
    if set(standing) <= {_KNOWN[0]} or not set(standing) <= set(_KNOWN):
        return source
    return Counted(source, standing)
