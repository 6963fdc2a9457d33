"""The matrix: the whole way from a table of options to the matrix of an action set.

What is in the columns is found out (`cells`); what is wrong is refused (`columns`); the encoding is
settled; the matrix is written, column by column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from evenhand.arrays import Floats
from evenhand.errors import InputError, Remedy
from evenhand.tables.cells import Codes, ColumnScan, coded, recoded, scanned_together
from evenhand.tables.columns import Defects, Table, check_decimal, found_columns
from evenhand.tables.encoding import CONSTANT, INTERCEPT, EncodedColumn, Encoding, Recipe
from evenhand.tables.texts import MAX_LEVELS, group_signs, listed, repeated, sorted_levels

# Shorter runs 1, 2, 3, … are common honest features, such as a start order.
_ROW_NUMBERS_FROM = 20
# A spread of a few units in the last place of the largest value is rounding, not information.
_ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """A table turned into the matrix of an action set, with everything needed to turn back."""

    points: Floats  # (k, m) features, then attributes
    encoding: Encoding
    attribute_names: tuple[str, ...]  # of the last columns of `points`
    group_names: tuple[str, str] | None  # of groups −1 and +1
    labels: tuple[str, ...] | None  # the names of the options, if the table has them


def encode(source: Table, recipe: Recipe) -> EncodedTable:
    """Turn a table into the matrix of an action set."""
    features, attributes, categorical = _chosen(source, recipe)
    of_columns = source.read([*features, *attributes])
    n = source.n_rows
    if n == 0:
        raise InputError(f"{source.name} has a header but no rows; it needs one row per option")

    scans = scanned_together(
        of_columns, commas=source.commas_are_free, decimal=recipe.decimal, categorical=categorical
    )
    columns = {name: _Column(scans[name], own) for name, own in of_columns.items()}
    defects = Defects(source, recipe.label)
    groups = None if recipe.group is None else _groups(defects, recipe, recipe.group)
    labels = None if recipe.label is None else tuple(source.names(recipe.label))
    usable = [c for c in features if _is_usable(defects, recipe, columns[c], "features", groups)]
    for name in attributes:
        _is_usable(defects, recipe, columns[name], "attributes")
    _refuse_columns(defects, usable if recipe.features is None else None, len(features))
    encoding = Encoding(
        features=(
            *([EncodedColumn(INTERCEPT)] if recipe.intercept else []),
            *(own for name in features for own in _encoded(columns[name], recipe)),
        ),
        attributes=tuple(own for name in attributes for own in _encoded(columns[name], recipe)),
        intercept=recipe.intercept,
        references=tuple(
            (name, _reference(column, recipe))
            for name, column in columns.items()
            if recipe.intercept and column.scan.is_category
        ),
        decimal=recipe.decimal or next((one.decimal for one in scans.values()), None) or ".",
    )
    _check_names(source, encoding)
    points = _filled(source.name, columns, n, encoding, groups is not None)
    if groups is not None:
        points[:, -1] = groups.signs
    names = tuple(column.name for column in encoding.attributes)
    own = names if recipe.group is None else (recipe.group,)
    return EncodedTable(points, encoding, own, groups and groups.names, labels)


class _Groups(NamedTuple):
    """The names of groups −1 and +1, and the group of each option."""

    names: tuple[str, str]
    signs: Floats


@dataclass(frozen=True)
class _Column:
    """A column of the user's, and what is in it."""

    scan: ColumnScan
    cells: pa.Array

    @cached_property
    def coded(self) -> tuple[list[str], Codes]:
        """The categories, and the code of each cell among them."""
        return coded(self.cells)

    @property
    def levels(self) -> list[str]:
        """The categories in their order."""
        return sorted_levels(self.coded[0])

    @property
    def numbers(self) -> Floats:
        """(n,) the numbers, of a column that is usable."""
        return self.scan.values if self.scan.values is not None else np.zeros(0)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and spread, measured from the first number, so that 1e9 + small keeps it."""
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = self.numbers - self.numbers[0]
            mean = float(shifted.mean())
            shifted -= mean
            return float(self.numbers[0]) + mean, math.sqrt(float(shifted @ shifted) / len(shifted))


def _is_constant(numbers: Floats) -> bool:
    """Whether the spread is no more than rounding."""
    low, high = float(numbers.min()), float(numbers.max())
    return high - low <= _ROUNDING * max(abs(low), abs(high))


def _chosen(source: Table, recipe: Recipe) -> tuple[list[str], list[str], Sequence[str]]:
    """Return the columns of features, of attributes and of categories among both."""
    if (recipe.group is None) == (recipe.attributes is None):
        raise InputError(
            "exactly one of group and attributes is needed: the column with two groups, or those "
            "that evaluations react to and value does not; the columns of "
            f"{source.name} are {listed([c for c in source.columns if c], 30)}"
        )
    if recipe.group is None and recipe.positive is not None:
        raise InputError(f"positive={recipe.positive!r} names a group; leave it out, or say group")
    check_decimal(recipe.decimal)
    several = ("attributes", "features", "categorical")
    given = {part: getattr(recipe, part) for part in ("group", "label", "attributes", "features")}
    found = found_columns(source, given, several=several)
    categorical = found_columns(source, {"categorical": recipe.categorical}, several=several)
    attributes = list(found.get("attributes", ()))
    if recipe.group is None and not attributes:
        raise InputError("attributes names no column; list at least one, or use group")
    features = list(found.get("features", ()))
    if recipe.features is None:
        taken = [column for columns in found.values() for column in columns]
        features = [column for column in source.columns if column and column not in taken]
    if not features and not recipe.intercept:
        raise InputError(
            "there is nothing to value options by; name features, or have an intercept"
        )
    return features, attributes, categorical.get("categorical", ())


def _groups(found: Defects, recipe: Recipe, column: str) -> _Groups:
    """Return the two groups in a column; an error where an option has none, or there are others."""
    texts = found.source.texts(column)
    if None in texts:
        empty = " is empty; every option needs a group: fill it in or remove the row"
        found.add(empty, column, texts.index(None))
        found.refuse()
    what = f"{found.source.name}: column {column!r}"
    several = f"for several groups give attributes, [{column!r}], instead of a group"
    signs, names = group_signs(texts, len(texts), recipe.positive, what, several)
    return _Groups(names, signs[:, 0].astype(np.float64))


def _refuse_columns(found: Defects, usable: Sequence[str] | None, n: int) -> None:
    """Refuse what is wrong with columns, and say which of n are `usable`."""
    unnamed = [str(place) for place, name in enumerate(found.source.columns, start=1) if not name]
    if unnamed and usable is not None:
        said = f"column {', '.join(unnamed)} has no name; give it one, or leave it out"
        found.add(f"{said} (a row number written by pandas: write with index=False)")
    lost = bool(usable and (unnamed or len(usable) < n))
    found.refuse(*[Remedy("features", usable, "to use those that can be used as they are")] * lost)


def _is_usable(
    found: Defects, recipe: Recipe, column: _Column, part: str, groups: _Groups | None = None
) -> bool:
    """Note what is wrong with a column; features alone may not tell the group."""
    scan, before = column.scan, len(found)
    name = scan.name
    found.of_cells(name, scan.missing, len(column.cells), or_else=", or leave the column out")
    if len(found) > before:
        return False
    if scan.is_category:
        problem = _problem_of_category(recipe, column, part, groups)
    else:
        category = Remedy("categorical", [name], "if the column holds categories")
        wrong = found.of_numbers(scan, category)
        problem = None if wrong else _problem_of_numbers(recipe, column, part, groups)
    if problem is not None:
        n_names = len(column.coded[0]) if scan.is_category and recipe.label is None else 0
        names = n_names > MAX_LEVELS or n_names == len(column.cells) > 1
        label = [Remedy("label", name, "if it names the options")] * names
        found.add(f" {problem}", name, None, (), *label, code="column")
    return len(found) == before


def _problem_of_category(
    recipe: Recipe, column: _Column, part: str, groups: _Groups | None
) -> str | None:
    (names, codes), n = column.coded, len(column.cells)
    if len(names) > MAX_LEVELS or len(names) == n > 1:
        many = f"more than {MAX_LEVELS}" if len(names) > MAX_LEVELS else str(n)
        return (
            f"holds {many} different texts in {n} rows, such as {column.levels[0]!r}, which is of "
            f"no use among {part}; leave it out"
        )
    if len(names) == 1:
        said = f"is {names[0]!r} in every row, which the intercept says already; leave it out of"
        return f"{said} {part}" if recipe.intercept else None
    sums = None if groups is None else np.bincount(codes, groups.signs)
    if sums is not None and np.array_equal(np.abs(sums), np.bincount(codes)):
        return (
            f"tells the group ({recipe.group!r}): each of its {len(names)} categories occurs in "
            "one group only, so the bias cannot be separated from it; leave it out of features"
        )
    return None


def _problem_of_numbers(
    recipe: Recipe, column: _Column, part: str, groups: _Groups | None
) -> str | None:
    numbers, n = column.numbers, len(column.cells)
    constant = _is_constant(numbers)
    if constant and (recipe.intercept or recipe.standardize):
        why = "so it has no spread to be standardised by"
        why = "which the intercept says already" if recipe.intercept else why
        return f"is {numbers.min():.15g} in every row, {why}; leave it out of {part}"
    if groups is not None and not constant:
        first = groups.signs == groups.signs[0]
        own, other = numbers[first], numbers[~first]
        if _is_constant(own) and _is_constant(other):
            one, two = groups.names[:: -int(groups.signs[0])]
            return (
                f"tells the group ({recipe.group!r}): it is {own[0]:.15g} for every {one!r} and "
                f"{other[0]:.15g} for every {two!r}, so the bias cannot be separated from it; "
                "leave it out of features"
            )
    if recipe.standardize and not 0 < column.moments[1] < math.inf:
        ends = f"{numbers.min():.3g} to {numbers.max():.3g}"
        return f"runs from {ends}, beyond what squares can hold; give it in another unit"
    counts = np.array_equal(numbers, numbers[0] + np.arange(n))
    if part == "features" and recipe.features is None and counts and n >= _ROW_NUMBERS_FROM:
        first = f"{numbers[0]:.15g}, {numbers[0] + 1:.15g}"
        return f"counts the rows ({first}, …); leave it out, or list it among features"
    return None


def _check_names(source: Table, encoding: Encoding) -> None:
    """Refuse names of the user's that are also made here."""
    names = [column.name for column in encoding.features + encoding.attributes]
    clash = repeated(names) or [name for name in names if name == CONSTANT]
    if clash:
        raise InputError(
            f"{source.name}: the name {clash[0]!r} would stand for two things ('intercept', "
            "'(constant)' and 'column=category' are made here); rename the column"
        )


def _reference(column: _Column, recipe: Recipe) -> str:
    """The category that others are measured from: the first, or the one that it was."""
    before = dict(recipe.like.references) if recipe.like else {}
    return before.get(column.scan.name, column.levels[0])


def _encoded(column: _Column, recipe: Recipe) -> list[EncodedColumn]:
    """What becomes of one of the user's columns."""
    name, like, is_category = column.scan.name, recipe.like, column.scan.is_category
    before = [c for c in (*like.features, *like.attributes) if c.source == name] if like else []
    before = [c for c in before if (c.category is not None) == is_category]
    if is_category:
        known = {c.category for c in before}
        known |= {_reference(column, recipe)} if recipe.intercept else set()
        return [*before, *(EncodedColumn(name, one) for one in column.levels if one not in known)]
    if before:
        return before
    return [EncodedColumn(name, None, *(column.moments if recipe.standardize else ()))]


def _filled(
    name: str, cells: Mapping[str, _Column], n_rows: int, encoding: Encoding, grouped: bool
) -> Floats:
    """The matrix, but for the column of groups, which is last."""
    columns = [*encoding.features, *encoding.attributes]
    m = len(columns) + grouped
    try:
        points = np.empty((n_rows, m))
    except MemoryError:
        needed = f"{n_rows} rows of {m} numbers need {n_rows * m * 8 / 1e9:.1f} GB"
        raise InputError(f"{name}: {needed}, more than there is; use fewer") from None
    position = int(encoding.intercept)
    points[:, :position] = 1.0
    for source, part in groupby(columns[position:], key=lambda column: column.source):
        own, column = list(part), cells[source]
        target = points[:, position : position + len(own)]
        if own[0].category is None:
            np.subtract(column.numbers, own[0].mean, out=target[:, 0])
            target /= own[0].scale
        else:
            # a reference is none of them: it has no column, and no 1
            codes = recoded(*column.coded, [str(one.category) for one in own])
            target[:] = 0.0
            marked = np.flatnonzero(codes >= 0)
            target[marked, codes[marked]] = 1.0
        position += len(own)
    return points
