"""The matrix: the whole way from a table to the matrix of an action set.

What is in the table is found out (`scan`); what is wrong is refused (`columns`); the encoding is
settled; the matrix is written, column by column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.tables.cells import (
    ColumnScan,
    DecimalPoints,
    Missing,
    Scan,
    coded,
    has_decimal_commas,
    read_numbers,
    recoded,
    scanned,
)
from evenhand.tables.columns import Defects, Table, check_decimal, found_columns
from evenhand.tables.encoding import CONSTANT, INTERCEPT, EncodedColumn, Encoding, Recipe
from evenhand.tables.texts import MAX_LEVELS, listed, repeated, two_groups

# Shorter runs 1, 2, 3, … are common honest features, such as a start order.
_ROW_NUMBERS_FROM = 20


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
    features, attributes, categorical = _chosen(source, recipe)
    recipe = replace(recipe, categorical=categorical)
    special = [] if recipe.group is None else [recipe.group]
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
    defects = Defects(source, recipe.label)
    group_names = _checked_groups(defects, recipe, found)
    labels = None if recipe.label is None else source.names(recipe.label)
    _check_columns(defects, recipe, found, features, attributes)
    encoding = _encoding(recipe, found, features, attributes, decimal)
    _check_names(source, encoding)
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
        labels=None if labels is None else pa.chunked_array([labels]),
    )


def _chosen(source: Table, recipe: Recipe) -> tuple[list[str], list[str], Sequence[str]]:
    """Return the columns of features, of attributes and of categories among both."""
    if (recipe.group is None) == (recipe.attributes is None):
        raise InputError(
            "exactly one of group= and attributes= is needed: group= names the column with the two "
            "groups, attributes= lists columns that evaluations react to and value does not; "
            f"the columns of {source.name} are {listed([c for c in source.columns if c], 30)}"
        )
    if recipe.group is None and recipe.positive is not None:
        raise InputError(
            f"positive={recipe.positive!r} names a group, but attributes= was given; leave it out"
        )
    check_decimal(recipe.decimal)
    several = ("attributes", "features", "categorical")
    given = {part: getattr(recipe, part) for part in ("group", "label", "attributes", "features")}
    found = found_columns(source, given, several=several)
    categorical = found_columns(source, {"categorical": recipe.categorical}, several=several)
    attributes = list(found.get("attributes", ()))
    if recipe.group is None and not attributes:
        raise InputError("attributes=[] names no column; list at least one, or use group=")
    features = list(found.get("features", ()))
    if recipe.features is None:
        taken = [column for columns in found.values() for column in columns]
        features = [column for column in source.columns if column and column not in taken]
    if not features and not recipe.intercept:
        raise InputError(
            "without features and without an intercept there is nothing to value options by; "
            "name a column in features=, or leave the intercept in"
        )
    return features, attributes, categorical.get("categorical", ())


def _checked_groups(found: Defects, recipe: Recipe, scan: Scan) -> tuple[str, str] | None:
    """Return the names of groups −1 and +1, None if there are attributes instead."""
    if recipe.group is None:
        return None
    if scan.groupless.count:
        found.add(
            " is empty; every option needs a group: fill it in or remove the row",
            recipe.group,
            scan.groupless.first,
        )
        found.refuse()
    return two_groups(
        scan.group_counts,
        recipe.positive,
        f"{found.source.name}: column {recipe.group!r}",
        f"for several groups use attributes=[{recipe.group!r}] instead of group=, "
        "or make a column with two values",
    )


def _check_columns(
    found: Defects, recipe: Recipe, scan: Scan, features: Sequence[str], attributes: Sequence[str]
) -> None:
    """Refuse columns that cannot be used, all of them at once."""
    usable = [name for name in features if _is_usable(found, recipe, scan, name, "features")]
    for name in attributes:
        _is_usable(found, recipe, scan, name, "attributes")
    unnamed = [str(place) for place, name in enumerate(found.source.columns, start=1) if not name]
    if unnamed and recipe.features is None:
        found.add(
            f"column {', '.join(unnamed)} has no name; give it one, or leave it out "
            "(a row number written by pandas: write with index=False)"
        )
    lost = unnamed or len(usable) < len(features)
    found.refuse(
        f"\nThe columns that can be used as they are: features={usable!r}"
        if recipe.features is None and usable and lost
        else ""
    )


def _is_usable(found: Defects, recipe: Recipe, scan: Scan, name: str, part: str) -> bool:
    """Take note of what is wrong with a column, and tell whether nothing is."""
    column, before = scan.columns[name], len(found)
    found.of_cells(name, column.missing, scan.n_rows, ", or leave the column out")
    if len(found) > before:
        return False
    if column.is_category:
        problem = _problem_of_category(recipe, scan, column, part)
    else:
        if recipe.decimal is not None:  # then nobody doubts what points are
            column.points = DecimalPoints(column.points.first)
        category = f"; or, if the column holds categories, say categorical=[{name!r}]"
        wrong = found.of_numbers(column, category=category)
        problem = None if wrong else _problem_of_numbers(recipe, scan, column, part)
    if problem is not None:
        found.add(f" {problem}", name)
    return len(found) == before


def _problem_of_category(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    name, levels, n = column.name, column.levels, found.n_rows
    if len(levels) > MAX_LEVELS or len(levels) == n > 1:
        many = f"more than {MAX_LEVELS}" if len(levels) > MAX_LEVELS else str(n)
        example = column.sorted_levels[0]
        names = "" if recipe.label else f"say label={name!r} if it names the options, or "
        return (
            f"holds {many} different texts in {n} rows, such as {example!r}: "
            f"that describes each option by itself and is of no use among {role}; {names}"
            "leave it out"
        )
    if len(levels) == 1 and recipe.intercept:
        return (
            f"is {next(iter(levels))!r} in every row, which the intercept says "
            f"already; leave it out of {role}"
        )
    in_one_group = recipe.group is not None and all(len(seen) == 1 for seen in levels.values())
    if role == "features" and in_one_group and len(levels) > 1:
        return (
            f"tells the group ({recipe.group!r}): each of its {len(levels)} "
            "categories occurs in one group only, so the bias cannot be separated from it; "
            "leave it out of features"
        )
    return None


def _problem_of_numbers(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    moments = column.moments
    if moments.constant and (recipe.intercept or recipe.standardize):
        why = (
            "which the intercept says already"
            if recipe.intercept
            else "so it has no spread to be standardised by"
        )
        return f"is {moments.low:.15g} in every row, {why}; leave it out of {role}"
    values = column.group_values
    if role == "features" and values is not None and len(values) == 2 and not moments.constant:
        groups = list(found.group_counts)
        told = " and ".join(
            f"{value:.15g} for every {groups[number]!r}" for number, value in sorted(values.items())
        )
        return (
            f"tells the group ({recipe.group!r}): it is {told}, so the bias cannot "
            "be separated from it; leave it out of features"
        )
    if recipe.standardize and not 0 < moments.deviation < math.inf:
        return (
            f"runs from {moments.low:.3g} to {moments.high:.3g}, which is beyond "
            "what squares can hold; give it in another unit"
        )
    if (
        role == "features"
        and recipe.features is None
        and column.counts_rows
        and found.n_rows >= _ROW_NUMBERS_FROM
    ):
        return (
            f"counts the rows ({moments.low:.15g}, {moments.low + 1:.15g}, …); "
            "leave it out, or list it in features= if it means something"
        )
    return None


def _check_names(source: Table, encoding: Encoding) -> None:
    """Refuse names of the user's that are also made here."""
    names = [column.name for column in encoding.features + encoding.attributes]
    clash = repeated(names) or [name for name in names if name == CONSTANT]
    if clash:
        raise InputError(
            f"{source.name}: the name {clash[0]!r} would stand for two things; rename the column "
            "(the names 'intercept', '(constant)' and 'column=category' are made here)"
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
