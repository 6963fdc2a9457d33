"""The recipe: which columns of a table play which part, and how they are to be encoded."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.errors import InputError
from evenhand.tables.names import listed, repeated
from evenhand.tables.numerals import parsed

if TYPE_CHECKING:
    from evenhand.tables.encoding import Encoding
    from evenhand.tables.sources import Table


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which columns play which part, and how they are to be encoded: perhaps as others were."""

    group: str | None = None
    label: str | None = None
    features: Sequence[str] | None = None
    attributes: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    intercept: bool = True
    standardize: bool = True
    positive: object = None
    decimal: str | None = None
    like: Encoding | None = None


def chosen_columns(source: Table, recipe: Recipe) -> tuple[list[str], list[str]]:
    """The columns of features and of attributes; an error if the table cannot meet the recipe."""
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
    for argument, value in (
        ("features", recipe.features),
        ("attributes", recipe.attributes),
        ("categorical", recipe.categorical),
    ):
        if isinstance(value, str):
            raise InputError(f"{argument} is a list of columns: {argument}=[{value!r}]")
    if recipe.decimal not in (None, ".", ","):
        raise InputError(
            f"decimal={recipe.decimal!r} is neither '.' nor ',', which may stand before decimals; "
            "leave it out to have it found out"
        )
    attributes = list(recipe.attributes or [])
    if recipe.attributes is not None and not attributes:
        raise InputError("attributes=[] names no column; list at least one, or use group=")
    given = [("group", recipe.group), ("label", recipe.label)]
    special = [(column, role) for role, column in given if column is not None]
    special += [(column, "attributes") for column in attributes]
    roles = dict(special)
    for column in [*roles, *(recipe.features or []), *recipe.categorical]:
        if column not in source.columns:
            raise InputError(no_such_column(source, column))
    if len(roles) < len(special):
        raise InputError("group=, label= and attributes= must name different columns")
    if recipe.features is None:
        features = [column for column in source.columns if column and column not in roles]
    else:
        features = list(recipe.features)
    twice = repeated(features)
    if twice:
        raise InputError(f"features names {twice[0]!r} twice; name every column once")
    for column in features:
        if column in roles:
            raise InputError(
                f"{column!r} is named in features= and in {roles[column]}=; a column can be only "
                "one of them: remove it from features"
            )
    if not features and not recipe.intercept:
        raise InputError(
            "without features and without an intercept there is nothing to value options by; "
            "name a column in features=, or leave the intercept in"
        )
    return features, attributes


def no_such_column(source: Table, column: str, said: str = "") -> str:
    """Say that a column is not there, and which one may be meant; `said` is what named it."""
    columns = [name for name in source.columns if name]
    lower = {name.casefold(): name for name in columns}
    close = difflib.get_close_matches(str(column).casefold(), list(lower), n=3)
    hint = f"did you mean {' or '.join(repr(lower[name]) for name in close)}? " if close else ""
    if parsed(columns)[1].any():
        hint += "The first line looks like data: does the table have a header? "
    named = f", named by {said}" if said else ""
    return (
        f"{source.name} has no column {column!r}{named}; {hint}Its columns are "
        f"{listed(columns, 30)}"
    )
