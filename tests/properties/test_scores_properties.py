"""Any small table of scores: its rows come back as they stand, or words say what is wrong where."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.scores import Scores
from score_tables import read_table

PLACED = re.compile(r"(line|row) [0-9]+.*column '|column '.*(line|row) [0-9]+|empty in every row")
COLUMNS = ("option", "evaluator", "item", "option_group", "evaluator_group", "score")

NUMBERS = ["7", "7.5", "-1", "1e3", "+2", ".5", "0"]
ODD = ["", "n/a", "nan", "inf", "x", "5,5", "Jan 5", "20160105", "42374", "True"]
GROUPS = ((0, 3), (1, 4))
"""Places of options and their groups, of evaluators and theirs."""

rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "B", " c ", "2-Mar", "1", ""]),
        st.sampled_from(["P", "Q", "3", "7.5", ""]),
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["FRA", "ITA", ""]),
        st.sampled_from(["FRA", "fra", "ITA", ""]),
        st.sampled_from([*NUMBERS, *ODD]),
    ),
    max_size=12,
)
plain_rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["P", "Q", "R"]),
        st.sampled_from(["x", "y"]),
        st.just(""),
        st.just(""),
        st.sampled_from(NUMBERS),
    ),
    min_size=2,
    max_size=6,
    unique_by=lambda row: row[:3],
)


def text_of(table: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([COLUMNS, *table])
    return out.getvalue()


def texts(scores: Scores) -> list[tuple[Any, ...]]:
    parts = (scores.option, scores.evaluator, scores.item)
    columns = [[f.names[code] for code in f.codes] for f in parts if f is not None]
    return list(zip(*columns, scores.score.tolist(), strict=True))


def number(cell: str) -> float:
    return float({"True": "1", "n/a": "nan", "": "nan"}.get(cell, cell))


@pytest.mark.parametrize("missing", ["refuse", "drop"])
@given(table=st.one_of(rows, plain_rows), repeats=st.booleans(), grouped=st.booleans())
def test_rows_come_back_or_the_defect_is_named(
    missing: Any, table: list[tuple[str, ...]], repeats: bool, grouped: bool
) -> None:
    groups: dict[str, Any] = {} if grouped else {"option_group": None, "evaluator_group": None}
    settings: dict[str, Any] = {"missing": missing, "repeats": repeats, **groups}
    as_text = pd.DataFrame(table, columns=list(COLUMNS), dtype=object)
    for given_as in (io.StringIO(text_of(table)), as_text):
        try:
            scores = read_table(given_as, **settings)
        except eh.InputError as error:
            said = str(error)
            assert PLACED.search(said) or "has a header but no rows" in said, said
            assert ("no rows" in said) == (not table)
            continue
        kept = [[cell.strip() for cell in row] for row in table]
        if missing == "drop":
            kept = [r for r in kept if all(r[:3]) and not np.isnan(number(r[5]))]
        assert texts(scores) == [(*row[:3], number(row[5])) for row in kept]
        if not repeats:
            assert len({tuple(row[:3]) for row in kept}) == len(kept)
        if grouped:
            # everybody has one group, or none
            of = [{row[who]: row[group] for row in kept if row[group]} for who, group in GROUPS]
            own = [float(row[0] in of[0] and of[0][row[0]] == of[1].get(row[1])) for row in kept]
            np.testing.assert_array_equal(scores.partial, own)


@given(table=plain_rows)
def test_plain_tables_are_refused_for_one_reason_only(table: list[tuple[str, ...]]) -> None:
    """With nothing wrong in it a table is read, unless all scores are the same."""
    same = len({number(row[5]) for row in table}) == 1
    if same:
        with pytest.raises(eh.InputError, match="every score is"):
            read_table(io.StringIO(text_of(table)))
    else:
        assert len(read_table(io.StringIO(text_of(table)))) == len(table)


@given(
    cells=st.lists(
        st.lists(st.sampled_from(["7", "7.5", "", "-1", "3"]), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_a_wide_table_is_its_cells(cells: list[list[str]]) -> None:
    lines = [f"o{i},{','.join(row)}" for i, row in enumerate(cells)]
    right = [
        (f"o{i}", who, float(cell))
        for i, row in enumerate(cells)
        for who, cell in zip("PQR", row, strict=True)
        if cell
    ]
    text = "\n".join(["what,P,Q,R", *lines])
    if len({score for _, _, score in right}) < 2:
        with pytest.raises(eh.InputError):
            read_table(io.StringIO(text), wide=True)
    else:
        assert texts(read_table(io.StringIO(text), wide=True)) == right
