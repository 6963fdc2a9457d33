"""Parquet files, as streams of columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import InputError
from evenhand.tables.cells import as_text
from evenhand.tables.names import listed, repeated
from evenhand.tables.sources import FRAME_BLOCK_ROWS, placed


class ParquetFile:
    """A Parquet file, read a block of rows at a time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "options.parquet"
    ...     pq.write_table(pa.table({"name": ["Ann", "Bo"], "age": [31, 45]}), path)
    ...     table = ParquetFile(path)
    ...     table.columns, table.places([1], "name")
    (('name', 'age'), ["row 1 ('Bo')"])
    """

    commas_are_free = False  # its numbers are numbers

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.name = str(path)
        try:
            self.columns = tuple(pq.read_schema(self._path).names)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name} cannot be read as Parquet: {error}") from None
        twice = repeated(self.columns)
        if twice:
            raise InputError(
                f"{self.name} has {listed(twice)} more than once; give every column a name of its "
                "own"
            )

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block."""
        try:
            with pq.ParquetFile(self._path) as file:
                for batch in file.iter_batches(
                    FRAME_BLOCK_ROWS, columns=list(columns), use_threads=False
                ):
                    yield [batch.column(column) for column in columns]
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The positions of these rows, counted from 0, with the names of the options."""
        names: dict[int, str | None] = {}
        start = 0
        for (cells,) in self.blocks([label]) if label is not None else ():
            within = [row for row in rows if start <= row < start + len(cells)]
            texts = as_text(cells.take(pa.array([row - start for row in within], pa.int64())))
            names |= zip(within, texts.to_pylist(), strict=True)
            start += len(cells)
        return [placed(f"row {row}", names.get(row)) for row in rows]
