"""Categories of options, which are compared only inside of them, by a column of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Indices
from evenhand.errors import InputError
from evenhand.scores import Factor, Scores
from evenhand.tables import listed


@dataclass(frozen=True, eq=False)
class Categories:
    """What options belong to that are compared only inside it."""

    column: str  # what the user calls it
    names: tuple[str, ...]
    codes: Indices  # (k,) the category of each option, a number of the names

    @property
    def parts(self) -> list[Indices]:
        """The options of each category."""
        return [np.flatnonzero(self.codes == c) for c in range(len(self.names))]

    def name(self, option: int) -> str:
        """Return the category of an option."""
        return self.names[int(self.codes[option])]


def categories_of(
    within: str | Mapping[str, str], table: Scores, labels: Sequence[str], top: int
) -> Categories:
    """Return the categories of options by a column of the scores, or a mapping from names."""
    called, found = "category", {}
    if isinstance(within, Mapping):
        found = dict(within)
    else:
        called, column = within, _factor_of(table, within)
        options = table.option.codes if table.rival is None else None
        if options is None:
            raise InputError(
                "within= needs the category of every option, and a comparison is of two: give a "
                "mapping from options to categories."
            )
        for row, (x, code) in enumerate(zip(options.tolist(), column.codes.tolist(), strict=True)):
            name, category = table.option.names[x], column.names[code]
            if found.setdefault(name, category) != category:
                raise InputError(
                    f"{table.where(row)}, column {within!r}: {name!r} is in {category!r}, and in "
                    f"{found[name]!r} above; an option has one category (within=). Where options "
                    "were tried on several kinds of items, give decide the rows of one kind."
                )
    lacking = [name for name in labels if name not in found]
    if lacking:
        raise InputError(f"within= gives no category to {listed(lacking)}; give it one.")
    names = tuple(dict.fromkeys(found[name] for name in labels))
    codes = np.array([names.index(found[name]) for name in labels], dtype=np.intp)
    sizes = np.bincount(codes)
    if sizes.max() <= top:
        raise InputError(
            f"top must be less than the number of options in a category, which is {sizes.max():,} "
            f"at most (within={called!r}); got {top:,}."
        )
    return Categories(called, names, codes)


def _factor_of(table: Scores, column: str) -> Factor:
    """Return a column of the scores as names; an error if it is not there, or has empty cells."""
    parts = {"item": table.item, "cluster": table.cluster, "evaluator": table.evaluator}
    named = {table.called.get(part): factor for part, factor in parts.items()}
    found = table.beside.get(column, named.get(column))
    grouped = column in (table.called.get("option_group"), "option_group")
    if found is None and grouped and table.option_group is not None:
        found = Factor(table.option_group[table.option.codes].astype(np.int32), table.groups)
    if found is None:
        others = f"those beside the parts are {listed(list(table.beside))}"
        if not table.beside:
            others = "no column is beside those with a part (of a wide table none is kept)"
        raise InputError(
            f"within={column!r} is no column of the scores that can be used: {others}."
        )
    if (found.codes < 0).any():
        row = int(np.argmax(found.codes < 0))
        raise InputError(
            f"{table.where(row)}, column {column!r}: the cell is empty; within= needs it in "
            "every row."
        )
    return found
