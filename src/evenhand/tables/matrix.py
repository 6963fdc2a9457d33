"""The matrix: the whole way from a table to the matrix of an action set.

What is in the table is found out (`scan`); what is wrong is refused (`complaints`); the encoding is
settled; the matrix is written, column by column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.tables.cells import Missing, as_text, coded, read_numbers, recoded
from evenhand.tables.complaints import check_columns, check_labels, check_names, checked_groups
from evenhand.tables.encoding import INTERCEPT, EncodedColumn, Encoding
from evenhand.tables.recipe import Recipe, chosen_columns
from evenhand.tables.scan import ColumnScan, Scan, has_decimal_commas, scanned
from evenhand.tables.sources import Table


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """A table turned into the matrix of an action set, with everything needed to turn back."""

    points: NDArray[np.float64]  # (k, m) features, then attributes
    encoding: Encoding
    attribute_names: tuple[str, ...]  # of the last columns of `points`
    group_names: tuple[str, str] | None  # of groups −1 and +1
    labels: pa.ChunkedArray | None  # the names of the options, if the table has them


def encode(source: Table, recipe: Recipe) -> EncodedTable:
    """Turn a table into the matrix of an action set."""
    features, attributes = chosen_columns(source, recipe)
    special = [column for column in (recipe.group, recipe.label) if column is not None]
    cells = source.read([*features, *attributes, *special])
    decimal = recipe.decimal or "."
    found = _scan(cells, recipe, [*features, *attributes], decimal)
    if (
        recipe.decimal is None
        and source.commas_are_free
        and has_decimal_commas(found.columns.values())
    ):
        decimal = ","
        found = _scan(cells, recipe, [*features, *attributes], decimal)
    if found.n_rows == 0:
        raise InputError(f"{source.name} has a header but no rows; it needs one row per option")
    group_names = checked_groups(source, recipe, found)
    check_labels(source, recipe, found)
    check_columns(source, recipe, found, features, attributes)
    encoding = _encoding(recipe, found, features, attributes, decimal)
    check_names(source, encoding)
    points = _filled(source.name, cells, found.n_rows, encoding, group_names is not None)
    if recipe.group is not None and group_names is not None:
        side = recoded(*coded(cells[recipe.group]), group_names)
        points[:, -1] = np.array([-1.0, 1.0])[side]
    return EncodedTable(
        points=points,
        encoding=encoding,
        attribute_names=(
            tuple(column.name for column in encoding.attributes)
            if recipe.group is None
            else (recipe.group,)
        ),
        group_names=group_names,
        labels=None if found.labels is None else pa.chunked_array([found.labels]),
    )


def _scan(
    cells: Mapping[str, pa.Array], recipe: Recipe, columns: Sequence[str], decimal: str
) -> Scan:
    """Find out what is in a table."""
    n = len(next(iter(cells.values())))
    counts: dict[str, int] = {}
    sides, groupless = None, Missing()
    if recipe.group is not None:
        names, codes = coded(cells[recipe.group])
        groupless = Missing.of(codes < 0)
        counts = dict(zip(names, np.bincount(codes[codes >= 0]).tolist(), strict=True))
        sides = codes if len(counts) <= 2 else None
    return Scan(
        {
            name: scanned(
                name,
                cells[name],
                categorical=name in recipe.categorical,
                decimal=decimal,
                groups=sides,
            )
            for name in columns
        },
        n,
        counts,
        groupless,
        None if recipe.label is None else as_text(cells[recipe.label]),
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
    name: str, cells: Mapping[str, pa.Array], n_rows: int, encoding: Encoding, grouped: bool
) -> NDArray[np.float64]:
    """The matrix, but for the column of groups, which is last."""
    columns = [*encoding.features, *encoding.attributes]
    m = len(columns) + grouped
    try:
        points = np.empty((n_rows, m))
    except MemoryError:
        raise InputError(
            f"{name}: {n_rows} rows of {m} numbers need {n_rows * m * 8 / 1e9:.1f} GB, more than "
            "there is; use fewer rows or columns"
        ) from None
    position = int(encoding.intercept)
    points[:, :position] = 1.0
    for source, part in groupby(columns[position:], key=lambda column: column.source):
        own = list(part)
        target = points[:, position : position + len(own)]
        if own[0].category is None:
            np.subtract(
                read_numbers(cells[source], encoding.decimal), own[0].mean, out=target[:, 0]
            )
            target /= own[0].scale
        else:
            # a reference is none of them: it has no column, and no 1
            codes = recoded(*coded(cells[source]), [str(column.category) for column in own])
            target[:] = 0.0
            marked = np.flatnonzero(codes >= 0)
            target[marked, codes[marked]] = 1.0
        position += len(own)
    return points
