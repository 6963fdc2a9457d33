"""Complaints: what is wrong with a table, where it stands, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.errors import InputError
from evenhand.tables.cells import Missing, repeated_name
from evenhand.tables.encoding import CONSTANT, Encoding
from evenhand.tables.groups import MAX_LEVELS, two_groups
from evenhand.tables.names import repeated
from evenhand.tables.numerals import parsed, written_elsewhere
from evenhand.tables.recipe import Recipe
from evenhand.tables.scan import ColumnScan, Scan
from evenhand.tables.sources import Table

# Shorter runs 1, 2, 3, … are common honest features, such as a start order.
ROW_NUMBERS_FROM = 20


def checked_groups(source: Table, recipe: Recipe, found: Scan) -> tuple[str, str] | None:
    """The names of groups −1 and +1, None if there are attributes instead; an error if not two."""
    if recipe.group is None:
        return None
    if found.groupless.count:
        place = source.places([found.groupless.first], recipe.label)[0]
        raise InputError(
            f"{source.name}: {place}, column {recipe.group!r} is empty; every option needs a "
            "group: fill it in or remove the row"
        )
    return two_groups(
        found.group_counts,
        recipe.positive,
        f"{source.name}: column {recipe.group!r}",
        f"for several groups use attributes=[{recipe.group!r}] instead of group=, "
        "or make a column with two values",
    )


def check_labels(source: Table, recipe: Recipe, found: Scan) -> None:
    """Refuse options without a name, and names that stand for two options."""
    if found.labels is None:
        return
    unlabelled = Missing.of(found.labels.is_null().to_numpy(zero_copy_only=False))
    if unlabelled.count:
        place = source.where([unlabelled.first])[0]
        raise InputError(
            f"{source.name}: {place}, column {recipe.label!r} is empty; every option needs a name: "
            "fill it in, or leave label= out to have them numbered"
        )
    twice = repeated_name(found.labels)
    if twice is not None:
        name, rows = twice
        places = ", ".join(source.where(rows[:5])) + (", …" if len(rows) > 5 else "")
        raise InputError(
            f"{source.name}: the name {name!r} in column {recipe.label!r} stands in {len(rows)} "
            f"rows ({places}); names must differ: keep one row per option, or name another column"
        )


def check_columns(
    source: Table, recipe: Recipe, found: Scan, features: Sequence[str], attributes: Sequence[str]
) -> None:
    """Report everything that is wrong with the columns at once, so that it is fixed at once."""
    problems = {
        name: problem
        for name in [*features, *attributes]
        if (problem := _problem(source, recipe, found, name)) is not None
    }
    unnamed = [str(number) for number, name in enumerate(source.columns, start=1) if not name]
    if unnamed and recipe.features is None:
        problems[""] = (
            f"column {', '.join(unnamed)} has no name; give it one, or leave it out "
            "(a row number written by pandas: write with index=False)"
        )
    if not problems:
        return
    usable = [name for name in features if name not in problems]
    advice = ""
    if recipe.features is None and usable and not problems.keys() <= set(attributes):
        advice = f"\nThe columns that can be used as they are: features={usable!r}"
    if len(problems) == 1:
        raise InputError(f"{source.name}: {next(iter(problems.values()))}{advice}")
    lines = "".join(f"\n  - {problem}" for problem in problems.values())
    raise InputError(
        f"{source.name}: {len(problems)} columns cannot be used as they are:{lines}{advice}"
    )


def _problem(source: Table, recipe: Recipe, found: Scan, name: str) -> str | None:
    """What is wrong with one column, and what to do; None if it is fine."""
    column = found.columns[name]
    n = found.n_rows
    role = "attributes" if name in (recipe.attributes or ()) else "features"

    def at(row: int) -> str:
        return f"{source.places([row], recipe.label)[0]}, column {name!r}"

    if column.unsupported is not None:
        return f"column {name!r} holds {column.unsupported}, not numbers or categories; convert it"
    if column.missing.count == n:
        return f"column {name!r} is empty in every row; leave it out"
    if column.missing.count:
        return (
            f"{at(column.missing.first)} is empty ({column.missing.count} of {n} rows are); "
            "fill in the cells, remove the rows, or leave the column out"
        )
    if column.is_category:
        return _problem_of_category(recipe, found, column, role)
    if column.first_text is not None:
        row, text = column.first_text
        return _problem_of_notation(source, column, f"{at(row)}: {text!r}", text)
    doubtful = column.points.doubtful
    if doubtful is not None and recipe.decimal is None:
        row, text = doubtful
        return (
            f"{at(row)}: {text!r} may be {text.replace('.', '')} or {float(text):g}, as the other "
            f"numbers have no point; {plainly(source, column, '.')}"
        )
    if column.first_infinite is not None:
        row, number = column.first_infinite
        return f"{at(row)}: {number} is not a finite number; correct the cell or remove the row"
    return _problem_of_numbers(recipe, found, column, role)


def _problem_of_notation(source: Table, column: ColumnScan, cell: str, text: str) -> str:
    """What is wrong with a text in a column of numbers."""
    more = f" ({column.n_texts:,} cells are not)" if column.n_texts > 1 else ""
    category = f"or, if the column holds categories, say categorical=[{column.name!r}]"
    if not written_elsewhere(text):
        return (
            f"{cell} is not a number{more}; correct the cell, remove the row or leave the column "
            f"out, {category}"
        )
    mark = "," if column.decimal == "." and parsed([text], ",")[1][0] else None
    return f"{cell} is not plainly a number{more}; {plainly(source, column, mark)}, {category}"


def plainly(source: Table, column: ColumnScan, mark: str | None) -> str:
    """What to do about a number in another notation; `mark` is what may stand before decimals."""
    if not source.is_text:
        return "convert the column to numbers"
    plain = f"write numbers plainly, such as 1234{column.decimal}5, without signs or separators"
    if mark is None:
        return plain
    called = {".": "point", ",": "comma"}[mark]
    return f"say decimal={mark!r} if the {called} stands before decimals; if not, {plain}"


def _problem_of_category(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    name, levels, n = column.name, column.levels, found.n_rows
    if len(levels) > MAX_LEVELS or len(levels) == n > 1:
        many = f"more than {MAX_LEVELS}" if len(levels) > MAX_LEVELS else str(n)
        example = column.sorted_levels[0]
        names = "" if recipe.label else f"say label={name!r} if it names the options, or "
        return (
            f"column {name!r} holds {many} different texts in {n} rows, such as {example!r}: "
            f"that describes each option by itself and is of no use among {role}; {names}"
            "leave it out"
        )
    if len(levels) == 1 and recipe.intercept:
        return (
            f"column {name!r} is {next(iter(levels))!r} in every row, which the intercept says "
            f"already; leave it out of {role}"
        )
    in_one_group = recipe.group is not None and all(len(seen) == 1 for seen in levels.values())
    if role == "features" and in_one_group and len(levels) > 1:
        return (
            f"column {name!r} tells the group ({recipe.group!r}): each of its {len(levels)} "
            "categories occurs in one group only, so the bias cannot be separated from it; "
            "leave it out of features"
        )
    return None


def _problem_of_numbers(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    name, moments = column.name, column.moments
    if moments.constant and (recipe.intercept or recipe.standardize):
        why = (
            "which the intercept says already"
            if recipe.intercept
            else "so it has no spread to be standardised by"
        )
        return f"column {name!r} is {moments.low:.15g} in every row, {why}; leave it out of {role}"
    values = column.group_values
    if role == "features" and values is not None and len(values) == 2 and not moments.constant:
        groups = list(found.group_counts)
        told = " and ".join(
            f"{value:.15g} for every {groups[number]!r}" for number, value in sorted(values.items())
        )
        return (
            f"column {name!r} tells the group ({recipe.group!r}): it is {told}, so the bias cannot "
            "be separated from it; leave it out of features"
        )
    if recipe.standardize and not 0 < moments.deviation < math.inf:
        return (
            f"column {name!r} runs from {moments.low:.3g} to {moments.high:.3g}, which is beyond "
            "what squares can hold; give it in another unit"
        )
    if (
        role == "features"
        and recipe.features is None
        and column.counts_rows
        and found.n_rows >= ROW_NUMBERS_FROM
    ):
        return (
            f"column {name!r} counts the rows ({moments.low:.15g}, {moments.low + 1:.15g}, …); "
            "leave it out, or list it in features= if it means something"
        )
    return None


def check_names(source: Table, encoding: Encoding) -> None:
    """Refuse names of the user's that are also made here."""
    names = [column.name for column in encoding.features + encoding.attributes]
    clash = repeated(names) or [name for name in names if name == CONSTANT]
    if clash:
        raise InputError(
            f"{source.name}: the name {clash[0]!r} would stand for two things; rename the column "
            "(the names 'intercept', '(constant)' and 'column=category' are made here)"
        )
