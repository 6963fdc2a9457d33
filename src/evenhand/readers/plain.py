"""Plain tables of scores: long, a line each, or wide, evaluators in columns.

Files are read as all tables are (`evenhand.tables`); what is a column of numbers there is one here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.errors import InputError
from evenhand.readers.documents import Document, TableFile
from evenhand.readers.families import Families
from evenhand.readers.grades import grade
from evenhand.readers.record import short
from evenhand.tables.names import listed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from evenhand.tables.sources import Source

NAME = "table"
WANTED = (
    "a table (CSV, TSV, Excel, Parquet, lines of JSON) with the columns option, evaluator, score"
)

_OTHER_WORDS = {
    "option": ("model", "system", "candidate", "generator", "generator_1"),
    "rival": ("generator_2",),
    "evaluator": ("judge", "grader", "annotator", "rater"),
    "item": ("prompt", "question", "instruction", "sample", "task"),
    "score": ("rating", "grade", "mark"),
}
_NAMES = ("option", "rival", "evaluator", "item", "option_group", "rival_group", "evaluator_group")

Place: TypeAlias = "Callable[[int], str]"
"""Where a row stands, in the user's words."""


def recognises(content: Any) -> bool:
    """Tell whether this is a table: one in a file, or a list of objects."""
    if isinstance(content, TableFile):
        return True
    return isinstance(content, list) and bool(content) and all(isinstance(r, dict) for r in content)


def frame_of(document: Document, families: Families, notes: list[str]) -> pd.DataFrame:
    """Return a table with the names of columns that audits know."""
    table, place = _read(document)
    where = document.where
    if table.empty:
        raise InputError(f"{where} has no lines under its header: there are no scores in it.")
    table = _renamed(table, where, notes)
    if "score" not in table.columns:
        table = _long(table, where, notes)
    if "option" not in table.columns:
        raise _without("option", table, where)
    for part in ("option", "evaluator", "rival"):
        _refuse_nested(table, part, where, place)
    table["score"] = _scores(table["score"], where, place)
    missing = table["score"].isna()
    if missing.all():
        raise InputError(f"{where}: the column 'score' is empty: there are no scores in it.")
    if missing.any():
        first = place(int(missing.to_numpy().argmax()))
        notes.append(
            f"Left out, as there is no score: {int(missing.sum())}, the first in {where}, {first}."
        )
    return _with_families(table[~missing].reset_index(drop=True), families)


def _read(document: Document) -> tuple[pd.DataFrame, Place]:
    """The table, and where its rows stand."""
    import pandas as pd  # noqa: PLC0415 # slow to load

    if not isinstance(document.content, TableFile):
        frame = pd.DataFrame(document.content)
        return frame.rename(columns=str), lambda row: f"object {row + 1}"
    from evenhand.tables.opened import opened  # noqa: PLC0415

    source = opened(document.path)
    blocks = list(source.blocks(source.columns))
    columns = {
        name.strip(): _column(source, name.strip(), [block[position] for block in blocks])
        for position, name in enumerate(source.columns)
    }
    return pd.DataFrame(columns), lambda row: source.places([row], None)[0]


def _column(source: Source, name: str, blocks: list[pa.Array]) -> Any:
    """Cells of a column: numbers where all are, and where they are no names of something."""
    import pyarrow as pa  # noqa: PLC0415

    from evenhand.tables.cells import as_text, is_text, plain_numbers  # noqa: PLC0415

    cells = pa.chunked_array(blocks).combine_chunks() if blocks else pa.array([], pa.string())
    if name.lower() in _NAMES:
        return as_text(cells).to_pandas()
    if is_text(cells.type):
        cells = as_text(cells)
    numbers = plain_numbers(cells)
    if numbers is None and source.commas_are_free:
        numbers = plain_numbers(cells, decimal=",")
    if numbers is None:
        return as_text(cells).to_pandas()
    whole = (numbers == numbers.round()).all()  # false for NaN
    return numbers.astype("int64") if whole and name.lower() != "score" else numbers


def _scores(cells: pd.Series[Any], where: str, place: Place) -> list[float]:
    found = []
    for row, value in enumerate(cells.tolist()):
        try:
            found.append(grade(value))
        except ValueError:
            raise InputError(
                f"{where}, {place(row)}, column 'score': {short(repr(value), 40)} is no score; "
                "known are numbers, C, P, I, N, yes, no, true, false, pass and fail."
            ) from None
    return found


def _renamed(table: pd.DataFrame, where: str, notes: list[str]) -> pd.DataFrame:
    """The table with other words for a column replaced, where just one of them is there."""
    small = {name.lower(): name for name in table.columns}
    new = {}
    for part, words in _OTHER_WORDS.items():
        if part in table.columns:
            continue
        found = [small[word] for word in (part, *words) if word in small]
        if len(found) == 1:
            new[found[0]] = part
            if found[0].lower() != part:
                notes.append(f"{where}: the column {found[0]!r} is read as {part!r}.")
    return table.rename(columns=new)


def _long(table: pd.DataFrame, where: str, notes: list[str]) -> pd.DataFrame:
    """A wide table as a long one: columns of numbers are evaluators."""
    import pandas as pd  # noqa: PLC0415

    numbers = [c for c in table.columns if pd.api.types.is_numeric_dtype(table[c])]
    names = [c for c in table.columns if c in ("option", "item", "option_group")]
    if not names and table.columns[0] not in numbers:
        names = [table.columns[0]]
    judges = [c for c in numbers if c not in names]
    if not names or "evaluator" in table.columns or len(judges) < 2:
        raise _without("score", table, where)
    strange = [c for c in table.columns if c not in names and c not in judges]
    if strange:
        notes.append(f"{where}: the columns {listed(strange)} are no numbers, and left out.")
    notes.append(
        f"{where} has evaluators in columns ({listed(judges)}): read as a line for each score."
    )
    if "option" not in names:
        table = table.rename(columns={names[0]: "option"})
        names[0] = "option"
    long = table.melt(id_vars=names, value_vars=judges, var_name="evaluator", value_name="score")
    return long.dropna(subset="score").reset_index(drop=True)


def _refuse_nested(table: pd.DataFrame, part: str, where: str, place: Place) -> None:
    if part not in table.columns:
        return
    for row, value in enumerate(table[part]):
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{where}, {place(row)}, column {part!r}: {short(value, 40)} is no name; put a "
                "text or a number there."
            )


def _without(part: str, table: pd.DataFrame, where: str) -> InputError:
    return InputError(
        f"{where} has no column {part!r}; its columns are {listed(list(table.columns))}. Call the "
        f"column with the {part}s {part!r}, or name it where you use the table: eh.audit(path, "
        "option=…, evaluator=…, score=…)."
    )


def _with_families(table: pd.DataFrame, families: Families) -> pd.DataFrame:
    """The table with families, where its options are models by their names, or families are given.

    Names of people are no models: unless most options are known, nobody gets a family.
    """
    for part in ("option", "rival", "evaluator"):
        if part not in table.columns:
            continue
        names = {name: families.family(str(name)) for name in table[part].dropna().unique()}
        known = sum(found is not None for found in names.values())
        if part == "option" and 2 * known < len(names) and not families.stated:
            break
        if known and f"{part}_group" not in table.columns:
            table[f"{part}_group"] = table[part].map(names)
    return table
