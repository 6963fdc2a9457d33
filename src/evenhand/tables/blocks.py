"""Matrices larger than memory, read by blocks of rows: memory-mapped arrays, Parquet, Dask.

A block is the least that is read at once where the matrix is kept: some rows of a memory map, one
or more row groups of a Parquet file, one or more chunks of a Dask array. It comes in pieces, of
about `BYTES` each, so that memory stays bounded where a row group does not. What was read is
counted in `Blocks.passes`.

pyarrow and Dask are imported by whoever made a dataset or an array with them, and here only to open
a path.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Floats, Indices, real_matrix, refuse_non_finite
from evenhand.errors import InputError

BYTES = 2**25
"""Size of a piece, as floats: long enough to be read at full speed, a small part of any memory."""

_NPY = ".npy"
_RUN = 16  # neighbouring rows read together when a memory map is sampled
_SAMPLED = 8  # blocks that are read for a sample where single rows cannot be


class Blocks:
    """A (k, m) matrix that is read by blocks of rows."""

    def __init__(self, starts: Sequence[int], m: int, columns: Sequence[str] | None = None) -> None:
        self.starts = np.asarray(starts, dtype=np.intp)  # first rows of the blocks, then k
        self.shape = (int(self.starts[-1]), m)
        self._columns = columns
        self._rows_read = 0
        if 0 in self.shape:
            raise InputError(
                f"points has the shape {self.shape}; at least one option (row) and one column are "
                "needed."
            )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def passes(self) -> float:
        """How often all rows were read."""
        return self._rows_read / self.shape[0]

    def pieces(self, b: int) -> Iterator[tuple[int, Floats]]:
        """Read block b: the number of a first row, and it and those after it, again and again."""
        start = int(self.starts[b])
        for rows in self._read(b):
            self._rows_read += len(rows)
            yield start, rows
            start += len(rows)
        if start != self.starts[b + 1]:
            raise InputError(
                f"points has changed while it was read: rows {self.starts[b]} to "
                f"{self.starts[b + 1]} were {start - self.starts[b]} this time."
            )

    def sample(self, size: int) -> tuple[Indices, Floats]:
        """Return about ``size`` rows, and their numbers, from all over the matrix."""
        n = min(len(self), _SAMPLED)
        chosen = np.linspace(0, len(self) - 1, n).round().astype(np.intp)
        indices, rows = [], []
        for b in chosen:
            share = size / (n * (self.starts[b + 1] - self.starts[b]))
            for start, piece in self.pieces(b):
                step = max(1, int(1.0 / share))
                indices.append(np.arange(start, start + len(piece), step))
                rows.append(piece[::step])
        return np.concatenate(indices), np.concatenate(rows)

    def refuse_non_finite(self, rows: Floats, start: int) -> None:
        """Raise an error that names the first entry of these rows that is NaN or infinite."""
        refuse_non_finite(rows, columns=self._columns, start=start)

    def _read(self, b: int) -> Iterator[Floats]:
        raise NotImplementedError


class MappedArray(Blocks):
    """A memory-mapped array, or any other, of which only the rows asked for are read."""

    def __init__(self, array: Any, size: int) -> None:
        self._array = real_matrix(array, "points")
        k, m = self._array.shape
        super().__init__([*range(0, k, _rows_in(size, m)), k], m)

    def sample(self, size: int) -> tuple[Indices, Floats]:
        """Return short runs of rows at random places, one in each stretch of equal length."""
        k = self.shape[0]
        if k <= size:
            indices = np.arange(k)
        else:
            places = np.linspace(0, k - _RUN, max(1, size // _RUN), endpoint=False)
            shifts = np.random.default_rng(20261117).random(len(places)) * np.diff(places, append=k)
            starts = np.minimum((places + shifts).astype(np.intp), k - _RUN)
            indices = np.unique(starts[:, None] + np.arange(_RUN))
        self._rows_read += len(indices)
        return indices, np.ascontiguousarray(self._array[indices], dtype=np.float64)

    def _read(self, b: int) -> Iterator[Floats]:
        rows = self._array[self.starts[b] : self.starts[b + 1]]
        yield np.ascontiguousarray(rows, dtype=np.float64)
        pages: Any = getattr(self._array, "_mmap", None)
        if hasattr(pages, "madvise") and getattr(self._array, "mode", "c") != "c":
            # what was read is ours no longer; in a private map that would undo changes
            pages.madvise(mmap.MADV_DONTNEED)


class ArrowDataset(Blocks):
    """A dataset of pyarrow: Parquet files, or whatever else it reads."""

    def __init__(self, dataset: Any, size: int) -> None:
        self._schema, self._size = dataset.schema, size
        names = self._schema.names
        numeric = [_is_numeric(field) for field in self._schema]
        if not any(numeric):
            raise InputError(
                "points has no numeric column"
                + (f" among {', '.join(map(repr, names))}" if names else "")
                + "; give one column of numbers per dimension."
            )
        if not all(numeric):
            j = numeric.index(False)
            raise InputError(
                f"column {names[j]!r} of points is of type {self._schema.field(j).type}, not of "
                "numbers. Leave it out: give a dataset with the columns that count, as from "
                "dataset.replace_schema(pyarrow.schema([...]))."
            )
        whole = _rows_in(size, len(names))
        parts: list[list[Any]] = []
        lengths: list[int] = []
        for part, n in _parts(dataset):
            if not parts or lengths[-1] + n > whole:
                parts.append([])
                lengths.append(0)
            parts[-1].append(part)
            lengths[-1] += n
        self._parts = [some for some, n in zip(parts, lengths, strict=True) if n]
        starts = [0, *accumulate(n for n in lengths if n)]
        super().__init__(starts, len(names), names)

    def _read(self, b: int) -> Iterator[Floats]:
        for part in self._parts[b]:
            batches = part.to_batches(
                schema=self._schema,
                columns=self._schema.names,
                batch_size=_rows_in(self._size, self.shape[1]),
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )
            for batch in batches:
                rows = np.empty((batch.num_rows, self.shape[1]))
                for j, column in enumerate(batch.columns):
                    rows[:, j] = column.to_numpy(zero_copy_only=False)  # what is null becomes NaN
                if len(rows):
                    yield rows


class DaskArray(Blocks):
    """A Dask array, computed by chunks of rows."""

    def __init__(self, array: Any, size: int) -> None:
        if array.ndim != 2:
            real_matrix(np.empty((1,) * array.ndim), "points")
        if array.dtype.kind not in "fiub":
            raise InputError(f"points is of {array.dtype}; a design needs real numbers.")
        k, m = array.shape
        if not (np.isfinite(k) and np.isfinite(m)):
            raise InputError(
                "points is a Dask array whose chunks are of unknown size; call its "
                "compute_chunk_sizes() first."
            )
        self._array = array
        ends = np.cumsum(array.chunks[0])
        starts, whole = [0], _rows_in(size, m)
        for end, after in pairwise([*ends.tolist(), k + whole]):
            if after - starts[-1] > whole and end > starts[-1]:
                starts.append(end)
        super().__init__(starts, m)
        self._whole = whole

    def _read(self, b: int) -> Iterator[Floats]:
        for start in range(self.starts[b], self.starts[b + 1], self._whole):
            rows = self._array[start : min(start + self._whole, self.starts[b + 1])]
            computed = rows.compute(scheduler="synchronous")
            yield np.ascontiguousarray(computed, dtype=np.float64)


def opened_blocks(points: Any, size: int | None = None) -> Blocks | None:
    """Return what is to be read by blocks, opened; None for anything that is in memory."""
    size = BYTES if size is None else size
    if isinstance(points, str | Path):
        return _opened_path(Path(points), size)
    if isinstance(points, np.memmap):
        return MappedArray(points, size)
    room = type(points).__module__.partition(".")[0]
    if room == "pyarrow" and hasattr(points, "get_fragments"):
        return ArrowDataset(points, size)
    if room == "dask" and hasattr(points, "chunks"):
        return DaskArray(points, size)
    return None


def _opened_path(path: Path, size: int) -> Blocks:
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r} to read points from.")
    try:
        if path.suffix == _NPY:
            return MappedArray(np.load(path, mmap_mode="r"), size)
        import pyarrow as pa  # noqa: PLC0415 (slow to import)
        import pyarrow.dataset as ds  # noqa: PLC0415

        try:
            return ArrowDataset(ds.dataset(path, format="parquet"), size)
        except pa.ArrowException as error:
            raise ValueError(error) from None
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{str(path)!r} cannot be read as points: {error}. Give a .npy file, a Parquet file or "
            "a folder of these."
        ) from None


def _parts(dataset: Any) -> Iterator[tuple[Any, int]]:
    """Return what can be read apart: row groups where there are some, else files."""
    for fragment in dataset.get_fragments():
        if hasattr(fragment, "row_groups"):
            for group in fragment.row_groups:
                yield fragment.subset(row_group_ids=[group.id]), group.num_rows
        else:
            yield fragment, fragment.count_rows()


def _is_numeric(field: Any) -> bool:
    return str(field.type) in {
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "halffloat",
        "float",
        "double",
        "bool",
    }


def _rows_in(size: int, m: int) -> int:
    return max(1, size // (8 * max(m, 1)))
