"""Scores that were read, as the table that they are: to be shown, or read for more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evenhand.scores.factor import Codes, Factor
from evenhand.scores.parts import SEVERAL
from evenhand.scores.scores import Scores
from evenhand.tables.cells import as_text, is_text, plain_numbers
from evenhand.tables.sources import Cells, Table

if TYPE_CHECKING:
    import pandas as pd

_BY_COLUMN = ("attributes", "features")  # parts whose columns keep their names


class Kept(Table):
    """A table of scores whose columns are called as the parts that they play."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        of: dict[str, Factor | np.ndarray[Any, Any] | None] = {
            "option": scores.option,
            "evaluator": scores.evaluator,
            "item": scores.item,
            "score": scores.score,
            "event": scores.event,
            "cluster": scores.cluster,
            "rival": _of_codes(scores.rival, scores.option.names),
        }
        sides = scores.option_group
        of["option_group"] = _groups(scores, scores.option.codes, sides)
        of["rival_group"] = None if scores.rival is None else _groups(scores, scores.rival, sides)
        if scores.evaluator is not None:
            of["evaluator_group"] = _groups(scores, scores.evaluator.codes, scores.evaluator_group)
        of |= {"partial": scores.stated, "reference": scores.reference, "time": scores.time}
        of |= {**scores.attributes, **scores.features}
        kept = {name: column for name, column in of.items() if column is not None}
        self._columns = kept | {n: column for n, column in scores.beside.items() if n not in kept}
        super().__init__("the scores", list(self._columns))

    def read(self, columns: Sequence[str], names: Collection[str] = ()) -> dict[str, Cells]:
        """Return the cells of some columns."""
        return {column: _cells(self._columns[column]) for column in columns}

    def where(self, rows: Sequence[int]) -> list[str]:
        """Return where scores stand in the table that they come from."""
        return [self._scores.where(row) for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Return it as a frame; columns that play no part are numbers where all cells are."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        cells = self.read(self.columns)
        for column in self._scores.beside:
            texts = cells[column].dictionary_decode()
            numbers = plain_numbers(texts) if is_text(texts.type) else None
            if numbers is not None and texts.null_count < len(texts):
                whole = bool((numbers == np.floor(numbers)).all())  # false for NaN
                cells[column] = pa.array(numbers.astype(np.int64) if whole else numbers)
        return pd.DataFrame(
            {
                c: (as_text(own) if pa.types.is_dictionary(own.type) else own).to_pandas()
                for c, own in cells.items()
            }
        )

    def given(self, asked: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return what is asked of these scores, by the names of this table (a part that nobody
        names stays as it is; None: nothing plays it), and whether it is new.
        """
        scores, new = self._scores, False
        found: dict[str, Any] = {}
        for part, value in asked.items():
            own = list(getattr(scores, part)) if part in _BY_COLUMN else part
            has = bool(own) if part in _BY_COLUMN else part in self._columns
            called = scores.called.get(part)
            said = ", ".join(value) if part in SEVERAL and isinstance(value, list) else value
            unsaid = part not in _DROPPED and (value is None or value in ((), []))
            if unsaid or said in (part, called):
                found[part] = own if has else None if part not in _BY_COLUMN else ()
                continue
            new = new or value is not None or has
            found[part] = value
        return found, new


# Parts of which None says that nothing plays them, where it says nothing of others.
_DROPPED = (
    "evaluator", "rival", "item", "event", "cluster", "option_group", "rival_group",
    "evaluator_group",
)  # fmt: skip


def _of_codes(codes: Codes | None, names: tuple[str, ...]) -> Factor | None:
    return None if codes is None else Factor(codes, names)


def _groups(scores: Scores, codes: Codes, groups: Codes | None) -> Factor | None:
    return None if groups is None else Factor(groups[codes], scores.groups)


def _cells(column: Factor | np.ndarray[Any, Any]) -> pa.Array:
    if not isinstance(column, Factor):
        return pa.array(column, from_pandas=True)
    return pa.DictionaryArray.from_arrays(
        pa.array(column.codes, mask=column.codes < 0), pa.array(column.names, pa.string())
    )
