"""Plain tables of scores: long, a line each, or wide, evaluators in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.readers.families import Families
from evenhand.readers.grades import grade
from evenhand.readers.record import short
from evenhand.tables.names import listed

if TYPE_CHECKING:
    import pandas as pd

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


def recognises(content: Any) -> bool:
    """Tell whether this is a table: a frame, or a list of objects."""
    import pandas as pd  # noqa: PLC0415 # slow to load

    if isinstance(content, pd.DataFrame):
        return True
    return isinstance(content, list) and bool(content) and all(isinstance(r, dict) for r in content)


def frame_of(content: Any, where: str, families: Families, notes: list[str]) -> pd.DataFrame:
    """Return a table with the names of columns that audits know."""
    import pandas as pd  # noqa: PLC0415

    table = content if isinstance(content, pd.DataFrame) else pd.DataFrame(content)
    if table.empty:
        raise InputError(f"{where} has no lines under its header: there are no scores in it.")
    table = table.rename(columns={name: str(name).strip() for name in table.columns})
    table = _renamed(table, where, notes)
    if "score" not in table.columns:
        table = _long(table, where, notes)
    if "option" not in table.columns:
        raise _without("option", table, where)
    for part in ("option", "evaluator", "rival"):
        _refuse_nested(table, part, where)
    if not pd.api.types.is_float_dtype(table["score"]):
        table["score"] = [_score(value, row, where) for row, value in enumerate(table["score"], 2)]
    missing = table["score"].isna()
    if missing.all():
        raise InputError(f"{where}: the column 'score' is empty: there are no scores in it.")
    if missing.any():
        notes.append(
            f"{where}: {int(missing.sum())} lines without a score are left out, first line "
            f"{int(missing.to_numpy().argmax()) + 2}."
        )
    return _with_families(table[~missing].reset_index(drop=True), families)


def _renamed(table: pd.DataFrame, where: str, notes: list[str]) -> pd.DataFrame:
    """The table with other words for a column replaced, where just one of them is there."""
    small = {str(name).lower(): name for name in table.columns}
    new = {}
    for part, words in _OTHER_WORDS.items():
        if part in table.columns:
            continue
        found = [small[word] for word in (part, *words) if word in small]
        if len(found) == 1:
            new[found[0]] = part
            if str(found[0]).lower() != part:
                notes.append(f"{where}: the column {found[0]!r} is read as {part!r}.")
    return table.rename(columns=new)


def _long(table: pd.DataFrame, where: str, notes: list[str]) -> pd.DataFrame:
    """A wide table as a long one: columns of numbers are evaluators."""
    names = [c for c in table.columns if c in ("option", "item", "option_group")]
    if not names and not table.iloc[:, 0].map(_is_number).all():
        names = [table.columns[0]]
    judges = [
        c for c in table.columns if c not in names and table[c].dropna().map(_is_number).all()
    ]
    if not names or "evaluator" in table.columns or len(judges) < 2:
        raise _without("score", table, where)
    strange = [c for c in table.columns if c not in names and c not in judges]
    if strange:
        notes.append(f"{where}: the columns {listed(strange)} are no numbers, and left out.")
    notes.append(
        f"{where} has evaluators in columns ({listed(judges)}): read as a line for each score."
    )
    if names and "option" not in names:
        table = table.rename(columns={names[0]: "option"})
        names[0] = "option"
    long = table.melt(id_vars=names, value_vars=judges, var_name="evaluator", value_name="score")
    return long.dropna(subset="score").reset_index(drop=True)


def _refuse_nested(table: pd.DataFrame, part: str, where: str) -> None:
    if part not in table.columns:
        return
    for line, value in enumerate(table[part], 2):
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{where}, line {line}, column {part!r}: {short(value, 40)} is no name; put a text "
                "or a number there."
            )


def _without(part: str, table: pd.DataFrame, where: str) -> InputError:
    return InputError(
        f"{where} has no column {part!r}; its columns are {listed(list(table.columns))}. Call the "
        f"column with the {part}s {part!r}, or name it where you use the table: eh.audit(path, "
        "option=…, evaluator=…, score=…)."
    )


def _is_number(value: Any) -> bool:
    try:
        grade(value)
    except ValueError:
        return False
    return not isinstance(value, str) or any(sign.isdigit() for sign in value)


def _score(value: Any, line: int, where: str) -> float:
    try:
        return grade(value if not hasattr(value, "item") else value.item())
    except ValueError:
        raise InputError(
            f"{where}, line {line}, column 'score': {short(repr(value), 40)} is no score; known "
            "are numbers, C, P, I, N, yes, no, true, false, pass and fail."
        ) from None


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
