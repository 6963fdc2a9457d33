"""The matrix: the whole way from a table of options to the matrix of an action set.

What is in the columns is found out (`cells`); what is wrong is refused (`columns`); the encoding is
settled; the matrix is written, column by column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError, Remedy
from evenhand.tables.cells import ColumnScan, coded, recoded, scanned_together
from evenhand.tables.columns import Defects, Table, check_decimal, found_columns
from evenhand.tables.encoding import CONSTANT, INTERCEPT, EncodedColumn, Encoding, Recipe
from evenhand.tables.texts import MAX_LEVELS, group_signs, listed, repeated, sorted_levels

# Shorter runs 1, 2, 3, … are common honest features, such as a start order.
_NUMBERED_FROM = 20
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
    return _Options(source, recipe).encoded()


class _Options(Defects):
    """A table of options on its way to a matrix, and what is wrong with it."""

    def __init__(self, source: Table, recipe: Recipe) -> None:
        super().__init__(source, recipe.label)
        self.recipe, self.n = recipe, source.n_rows
        self.features, self.attributes, categorical = self._chosen()
        cells = source.read([*self.features, *self.attributes])
        if self.n == 0:
            raise InputError(f"{source.name} has a header but no rows; it needs one row per option")
        self.scans = scanned_together(
            cells,
            commas=source.commas_are_free,
            decimal=recipe.decimal,
            categorical=categorical,
        )
        # the categories, and the code of each cell among them
        self.coded = {c: coded(cells[c]) for c, scan in self.scans.items() if scan.is_category}
        self.groups = None if recipe.group is None else self._groups(recipe.group)

    def _chosen(self) -> tuple[list[str], list[str], Sequence[str]]:
        """Return the columns of features, of attributes and of categories among both."""
        recipe, columns = self.recipe, [column for column in self.source.columns if column]
        if (recipe.group is None) == (recipe.attributes is None):
            raise InputError(
                "exactly one is needed: a column with two groups, or attributes that evaluations "
                f"react to and value does not; the columns of {self.source.name} are "
                f"{listed(columns, 30)}",
                Remedy("group", ..., "with the column of the groups"),
                Remedy("attributes", ..., "with the others"),
            )
        if recipe.group is None and recipe.positive is not None:
            said = f"positive={recipe.positive!r} names a group; leave it out, or say group"
            raise InputError(said)
        check_decimal(recipe.decimal)
        parts, several = ("group", "label", "attributes", "features"), ("attributes", "features")
        found = found_columns(
            self.source, {part: getattr(recipe, part) for part in parts}, several=several
        )
        categorical = found_columns(
            self.source, {"categorical": recipe.categorical}, several=("categorical",)
        )
        attributes, features = (list(found.get(part, ())) for part in several)
        if recipe.group is None and not attributes:
            raise InputError("attributes names no column; list at least one, or use group")
        if recipe.features is None:
            taken = {column for some in found.values() for column in some}
            features = [column for column in columns if column not in taken]
        if not features and not recipe.intercept:
            raise InputError(
                "there is nothing to value options by; name features, or have an intercept"
            )
        return features, attributes, categorical.get("categorical", ())

    def _groups(self, column: str) -> tuple[tuple[str, str], Floats]:
        """Return the names of groups −1 and +1, and the group of each option."""
        texts = self.source.texts(column)
        if None in texts:
            empty = " is empty; every option needs a group: fill it in or remove the row"
            self.add(empty, column, texts.index(None))
            self.refuse()
        what = f"{self.source.name}: column {column!r}"
        several = f"for several groups give attributes, [{column!r}], instead of a group"
        signs, names = group_signs(texts, self.n, self.recipe.positive, what, several)
        return names, signs[:, 0].astype(np.float64)

    def encoded(self) -> EncodedTable:
        """Return the matrix; an error says what is wrong with any column."""
        recipe, source = self.recipe, self.source
        labels = None if recipe.label is None else tuple(source.names(recipe.label))
        usable = [column for column in self.features if self._is_usable(column, "features")]
        for column in self.attributes:
            self._is_usable(column, "attributes")
        if recipe.features is None:
            unnamed = [str(place) for place, c in enumerate(source.columns, start=1) if not c]
            if unnamed:
                said = f"column {', '.join(unnamed)} has no name; give it one, or leave it out"
                self.add(f"{said} (a row number written by pandas: write with index=False)")
            lost = bool(usable and (unnamed or len(usable) < len(self.features)))
            use = "to use those that can be used as they are"
            self.refuse(*[Remedy("features", usable, use)] * lost)
        self.refuse()
        ones = [EncodedColumn(INTERCEPT)] if recipe.intercept else []
        encoding = Encoding(
            features=(*ones, *(own for c in self.features for own in self._encoded(c))),
            attributes=tuple(own for c in self.attributes for own in self._encoded(c)),
            intercept=recipe.intercept,
            references=tuple((c, self._reference(c)) for c in self.coded if recipe.intercept),
            decimal=recipe.decimal
            or next(iter(self.scans.values()), ColumnScan("")).decimal
            or ".",
        )
        names = [column.name for column in encoding.features + encoding.attributes]
        if clash := repeated(names) or [name for name in names if name == CONSTANT]:
            raise InputError(
                f"{source.name}: the name {clash[0]!r} would stand for two things ('intercept', "
                "'(constant)' and 'column=category' are made here); rename the column"
            )
        points, of_groups = self._filled(encoding), None
        own = tuple(column.name for column in encoding.attributes)
        if self.groups is not None:
            of_groups, points[:, -1] = self.groups
            own = (str(recipe.group),)
        return EncodedTable(points, encoding, own, of_groups, labels)

    def _is_usable(self, column: str, part: str) -> bool:
        """Note what is wrong with a column; features alone may not tell the group."""
        scan, before, label = self.scans[column], len(self), list[Remedy]()
        self.of_cells(column, scan.missing, self.n, or_else=", or leave the column out")
        if len(self) > before:
            return False
        if column in self.coded:
            problem = self._problem_of_category(column, part)
            n = len(self.coded[column][0])
            if self.recipe.label is None and (n > MAX_LEVELS or n == self.n > 1):
                label.append(Remedy("label", column, "if it names the options"))
        elif self.of_numbers(
            scan, Remedy("categorical", [column], "if the column holds categories")
        ):
            return False
        else:
            problem = self._problem_of_numbers(column, part)
        if problem is not None:
            self.add(f" {problem}", column, None, (), *label, code="column")
        return problem is None

    def _problem_of_category(self, column: str, part: str) -> str | None:
        (names, codes), n = self.coded[column], self.n
        if len(names) > MAX_LEVELS or len(names) == n > 1:
            many = f"more than {MAX_LEVELS}" if len(names) > MAX_LEVELS else str(n)
            return (
                f"holds {many} different texts in {n} rows, such as {sorted_levels(names)[0]!r}, "
                f"which is of no use among {part}; leave it out"
            )
        if len(names) == 1:
            said = f"is {names[0]!r} in every row, which the intercept says already; leave it out"
            return f"{said} of {part}" if self.recipe.intercept else None
        if self.groups is not None:
            sums = np.bincount(codes, self.groups[1])
            if np.array_equal(np.abs(sums), np.bincount(codes)):
                return (
                    f"tells the group ({self.recipe.group!r}): each of its {len(names)} categories "
                    "occurs in one group only, so the bias cannot be separated from it; leave it "
                    "out of features"
                )
        return None

    def _problem_of_numbers(self, column: str, part: str) -> str | None:
        numbers, recipe = self._numbers(column), self.recipe
        constant = _is_constant(numbers)
        if constant and (recipe.intercept or recipe.standardize):
            why = "so it has no spread to be standardised by"
            why = "which the intercept says already" if recipe.intercept else why
            return f"is {numbers.min():.15g} in every row, {why}; leave it out of {part}"
        if self.groups is not None and not constant:
            names, signs = self.groups
            own, other = numbers[signs == signs[0]], numbers[signs != signs[0]]
            if _is_constant(own) and _is_constant(other):
                one, two = names[:: -int(signs[0])]
                return (
                    f"tells the group ({recipe.group!r}): it is {own[0]:.15g} for every {one!r} "
                    f"and {other[0]:.15g} for every {two!r}, so the bias cannot be separated from "
                    "it; leave it out of features"
                )
        if recipe.standardize and not 0 < _moments(numbers)[1] < math.inf:
            ends = f"{numbers.min():.3g} to {numbers.max():.3g}"
            return f"runs from {ends}, beyond what squares can hold; give it in another unit"
        counts = np.array_equal(numbers, numbers[0] + np.arange(self.n))
        if part == "features" and recipe.features is None and counts and self.n >= _NUMBERED_FROM:
            first = f"{numbers[0]:.15g}, {numbers[0] + 1:.15g}"
            return f"counts the rows ({first}, …); leave it out, or list it among features"
        return None

    def _numbers(self, column: str) -> Floats:
        values = self.scans[column].values
        return np.zeros(0) if values is None else values

    def _reference(self, column: str) -> str:
        """The category that others are measured from: the first, or the one that it was."""
        before = dict(self.recipe.like.references) if self.recipe.like else {}
        return before.get(column, sorted_levels(self.coded[column][0])[0])

    def _encoded(self, column: str) -> list[EncodedColumn]:
        """What becomes of one of the user's columns."""
        like, recipe = self.recipe.like, self.recipe
        before = [*like.features, *like.attributes] if like else []
        before = [c for c in before if c.source == column]
        if column in self.coded:
            before = [c for c in before if c.category is not None]
            known = {c.category for c in before}
            known |= {self._reference(column)} if recipe.intercept else set()
            levels = [one for one in sorted_levels(self.coded[column][0]) if one not in known]
            return [*before, *(EncodedColumn(column, one) for one in levels)]
        if before := [c for c in before if c.category is None]:
            return before
        moments = _moments(self._numbers(column)) if recipe.standardize else ()
        return [EncodedColumn(column, None, *moments)]

    def _filled(self, encoding: Encoding) -> Floats:
        """The matrix, but for the column of groups, which is last."""
        columns = [*encoding.features, *encoding.attributes]
        m = len(columns) + (self.groups is not None)
        try:
            points = np.empty((self.n, m))
        except MemoryError:
            needed = f"{self.n} rows of {m} numbers need {self.n * m * 8 / 1e9:.1f} GB"
            said = f"{self.source.name}: {needed}, more than there is; use fewer"
            raise InputError(said) from None
        position = int(encoding.intercept)
        points[:, :position] = 1.0
        for source, part in groupby(columns[position:], key=lambda column: column.source):
            own = list(part)
            target = points[:, position : position + len(own)]
            if source not in self.coded:
                np.subtract(self._numbers(source), own[0].mean, out=target[:, 0])
                target /= own[0].scale
            else:
                # a reference is none of them: it has no column, and no 1
                codes = recoded(*self.coded[source], [str(one.category) for one in own])
                target[:] = 0.0
                marked = np.flatnonzero(codes >= 0)
                target[marked, codes[marked]] = 1.0
            position += len(own)
        return points


def _moments(numbers: Floats) -> tuple[float, float]:
    """Mean and spread, measured from the first number, so that 1e9 + small keeps it."""
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = numbers - numbers[0]
        mean = float(shifted.mean())
        shifted -= mean
        return float(numbers[0]) + mean, math.sqrt(float(shifted @ shifted) / len(shifted))


def _is_constant(numbers: Floats) -> bool:
    """Whether the spread is no more than rounding."""
    low, high = float(numbers.min()), float(numbers.max())
    return high - low <= _ROUNDING * max(abs(low), abs(high))
