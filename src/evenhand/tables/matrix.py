"""The matrix: the whole way from a table to the matrix of an action set.

A first reading finds out what is in the table (`scan`); what is wrong is refused (`complaints`);
the encoding is settled; a second reading writes the matrix, allocated once, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.tables.cells import coded, read_numbers, recoded
from evenhand.tables.complaints import check_columns, check_labels, check_names, checked_groups
from evenhand.tables.encoding import INTERCEPT, EncodedColumn, Encoding
from evenhand.tables.recipe import Recipe, chosen_columns
from evenhand.tables.scan import ColumnScan, Scan, has_decimal_commas, scan
from evenhand.tables.sources import Source


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """A table turned into the matrix of an action set, with everything needed to turn back.

    Attributes
    ----------
    points : (k, m) floats
        Features, then attributes.
    encoding : Encoding
        Where each column comes from.
    attribute_names : tuple of str
        Names of the last columns of `points`.
    group_names : (str, str) or None
        The labels of groups −1 and +1.
    labels : pyarrow text or None
        The names of the options, if the table has them.
    """

    points: NDArray[np.float64]
    encoding: Encoding
    attribute_names: tuple[str, ...]
    group_names: tuple[str, str] | None
    labels: pa.ChunkedArray | None


def encode(source: Source, recipe: Recipe) -> EncodedTable:
    """Turn a table into the matrix of an action set.

    Parameters
    ----------
    source : Source
        The table: `CsvFile` or `Frame`.
    recipe : Recipe
        Which columns are what.

    Examples
    --------
    >>> from evenhand.tables.sources import Frame
    >>> table = pa.table({"age": [30, 50, 40], "side": ["home", "away", "home"]})
    >>> encoded = encode(Frame(table), Recipe(group="side"))
    >>> encoded.group_names
    ('away', 'home')
    >>> encoded.points.round(2)
    array([[ 1.  , -1.22,  1.  ],
           [ 1.  ,  1.22, -1.  ],
           [ 1.  ,  0.  ,  1.  ]])
    """
    features, attributes = chosen_columns(source, recipe)
    decimal = recipe.decimal or "."
    read = partial(
        scan, source, [*features, *attributes], recipe.categorical, recipe.group, recipe.label
    )
    found = read(decimal)
    if (
        recipe.decimal is None
        and source.commas_are_free
        and has_decimal_commas(found.columns.values())
    ):
        decimal = ","
        found = read(decimal)
    if found.n_rows == 0:
        raise InputError(f"{source.name} has a header but no rows; it needs one row per option")
    group_names = checked_groups(source, recipe, found)
    check_labels(source, recipe, found)
    check_columns(source, recipe, found, features, attributes)
    encoding = _encoding(recipe, found, features, attributes, decimal)
    check_names(source, encoding)
    return EncodedTable(
        points=_filled(source, found.n_rows, encoding, recipe.group, group_names),
        encoding=encoding,
        attribute_names=(
            tuple(column.name for column in encoding.attributes)
            if recipe.group is None
            else (recipe.group,)
        ),
        group_names=group_names,
        labels=found.labels,
    )


def _encoding(
    recipe: Recipe,
    found: Scan,
    features: Sequence[str],
    attributes: Sequence[str],
    decimal: str,
) -> Encoding:
    intercept = [EncodedColumn(INTERCEPT)] if recipe.intercept else []
    scans = found.columns
    return Encoding(
        features=(
            *intercept,
            *(column for name in features for column in _encoded(scans[name], recipe)),
        ),
        attributes=tuple(column for name in attributes for column in _encoded(scans[name], recipe)),
        intercept=recipe.intercept,
        references=tuple(
            (name, _reference(column, recipe))
            for name, column in scans.items()
            if recipe.intercept and column.is_category
        ),
        decimal=decimal,
    )


def _reference(column: ColumnScan, recipe: Recipe) -> str:
    """The category that others are measured from: the first, or the one that it was."""
    before = dict(recipe.like.references) if recipe.like else {}
    return before.get(column.name, column.sorted_levels[0])


def _encoded(column: ColumnScan, recipe: Recipe) -> list[EncodedColumn]:
    """What becomes of one of the user's columns."""
    name, like = column.name, recipe.like
    before = [c for c in (*like.features, *like.attributes) if c.source == name] if like else []
    before = [c for c in before if (c.category is not None) == column.is_category]
    if column.is_category:
        known = {c.category for c in before}
        if recipe.intercept:
            known.add(_reference(column, recipe))
        levels = [level for level in column.sorted_levels if level not in known]
        return [*before, *(EncodedColumn(name, level) for level in levels)]
    if before:
        return before
    if recipe.standardize:
        return [EncodedColumn(name, None, column.moments.mean, column.moments.deviation)]
    return [EncodedColumn(name)]


def _filled(
    source: Source,
    n_rows: int,
    encoding: Encoding,
    group: str | None,
    group_names: tuple[str, str] | None,
) -> NDArray[np.float64]:
    """Second reading: the matrix, written block by block."""
    m = len(encoding.features) + len(encoding.attributes) + (group is not None)
    try:
        points = np.empty((n_rows, m))
    except MemoryError:
        raise InputError(
            f"{source.name}: {n_rows} rows of {m} numbers need {n_rows * m * 8 / 1e9:.1f} GB, more "
            "than there is; use fewer rows or columns"
        ) from None
    writers = _writers(encoding)
    if group is not None and group_names is not None:
        writers[group] = slice(m - 1, m), partial(_write_groups, group_names)
    changed = InputError(f"{source.name} changed while it was read; read it again")
    row = 0
    for block in source.blocks(list(writers)):
        rows = points[row : row + len(block[0])]
        if len(rows) < len(block[0]):
            raise changed
        if encoding.intercept:
            rows[:, 0] = 1.0
        for (window, write), cells in zip(writers.values(), block, strict=True):
            write(rows[:, window], cells)
        # Writers leave NaN for a cell that the first reading did not find.
        if not np.isfinite(rows).all():
            raise changed
        row += len(rows)
    if row != n_rows:
        raise changed
    return points


# Writes the cells of one of the user's columns into its own columns of the matrix.
Writer = Callable[[NDArray[np.float64], pa.Array], None]


def _writers(encoding: Encoding) -> dict[str, tuple[slice, Writer]]:
    """For each of the user's columns: its columns in the matrix, and how to write them."""
    writers: dict[str, tuple[slice, Writer]] = {}
    references = dict(encoding.references)
    position = int(encoding.intercept)
    columns = [*encoding.features, *encoding.attributes][position:]
    for source, part in groupby(columns, key=lambda column: column.source):
        own = list(part)
        levels = [column.category for column in own if column.category is not None]
        if not levels:
            write: Writer = partial(_write_numbers, own[0], encoding.decimal)
        elif source in references:
            write = partial(_write_categories, [*levels, references[source]])
        else:
            write = partial(_write_categories, levels)
        writers[source] = slice(position, position + len(own)), write
        position += len(own)
    return writers


def _write_numbers(
    column: EncodedColumn, decimal: str, target: NDArray[np.float64], cells: pa.Array
) -> None:
    np.subtract(read_numbers(cells, decimal), column.mean, out=target[:, 0])
    target /= column.scale


def _write_categories(levels: Sequence[str], target: NDArray[np.float64], cells: pa.Array) -> None:
    """Mark each cell's level with 1; a reference, which has no column, is the last level."""
    codes = recoded(*coded(cells), levels)
    target[:] = 0.0
    target[codes < 0] = np.nan
    marked = np.flatnonzero((codes >= 0) & (codes < target.shape[1]))
    target[marked, codes[marked]] = 1.0


def _write_groups(names: tuple[str, str], target: NDArray[np.float64], cells: pa.Array) -> None:
    target[:, 0] = np.array([-1.0, 1.0, np.nan])[recoded(*coded(cells), names)]
