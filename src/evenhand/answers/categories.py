"""Categories of options, which are compared only inside of them, by a column of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Indices
from evenhand.errors import InputError
from evenhand.scores import Scores
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
    elif table.rival is not None:
        raise InputError(
            "within= needs the category of every option, and a comparison is of two: give a "
            "mapping from options to categories."
        )
    else:
        called = within
        texts = _texts_of(table, within)
        for row, (x, category) in enumerate(zip(table.option.codes.tolist(), texts, strict=True)):
            name, wrong = table.option.names[x], ""
            if category is None:
                wrong = "the cell is empty; within= needs it in every row"
            elif found.setdefault(name, category) != category:
                wrong = (
                    f"{name!r} is in {category!r}, and in {found[name]!r} above; an option has one "
                    "category. Of options tried on several kinds of items, give the rows of one"
                )
            if wrong:
                raise InputError(f"{table.where(row)}, column {within!r}: {wrong}.")
    if lacking := [name for name in labels if name not in found]:
        raise InputError(f"within= gives no category to {listed(lacking)}; give it one.")
    names = tuple(dict.fromkeys(found[name] for name in labels))
    codes = np.array([names.index(found[name]) for name in labels], dtype=np.intp)
    if (most := np.bincount(codes).max()) <= top:
        raise InputError(
            f"top must be less than the number of options in a category, which is {most:,} at "
            f"most (within={called!r}); got {top:,}."
        )
    return Categories(called, names, codes)


def _texts_of(table: Scores, column: str) -> list[str | None]:
    """Return the cells of a column by the user's name for it; an error if it is not there."""
    from evenhand.scores.read import Kept  # noqa: PLC0415 # pyarrow takes long to load

    roles = {called: role for role, called in table.called.items()}
    return Kept(table).texts(roles.get(column, column), "within=")
