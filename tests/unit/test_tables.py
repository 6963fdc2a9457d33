"""Tables: what is read from files and frames, and how every defect is reported."""

import io
import math
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from evenhand.actions import ActionSet
from evenhand.errors import InputError
from evenhand.tables.opened import open_table

PEOPLE = """name,nation,age,town
Ann,home,31,Ulm
Bo,away,45,Bonn
Cy,away,50,Ulm
Di,home,38,Kiel
"""


def from_text(text: str, **arguments: Any) -> ActionSet:
    return ActionSet.from_table(io.StringIO(text), **arguments)


def refusal(table: Any, **arguments: Any) -> str:
    """What the user is told of a frame, or of the text of a file."""
    streams: dict[type, Any] = {str: io.StringIO, bytes: io.BytesIO}
    with pytest.raises(InputError) as caught:
        ActionSet.from_table(streams.get(type(table), lambda frame: frame)(table), **arguments)
    return str(caught.value)


def test_columns_are_encoded_as_documented() -> None:
    actions = from_text(PEOPLE, group="nation", label="name")
    assert actions.feature_names == ("intercept", "age", "town=Kiel", "town=Ulm")
    age = np.array([31.0, 45, 50, 38])
    expected = np.column_stack(
        [np.ones(4), (age - age.mean()) / age.std(), [0, 0, 0, 1], [1, 0, 1, 0], [1, -1, -1, 1]]
    )
    np.testing.assert_allclose(actions.points, expected, atol=1e-15)
    assert actions.group_names == ("away", "home")
    assert actions.attribute_names == ("nation",)
    assert actions.labels == ("Ann", "Bo", "Cy", "Di")
    assert actions.encoding is not None
    assert actions.encoding.references == (("town", "Bonn"),)


def test_without_intercept_every_category_has_a_column() -> None:
    actions = from_text(PEOPLE, group="nation", label="name", intercept=False, standardize=False)
    assert actions.feature_names == ("age", "town=Bonn", "town=Kiel", "town=Ulm")
    assert actions.features[:, 0].tolist() == [31, 45, 50, 38]
    assert actions.features[:, 1:].sum(axis=1).tolist() == [1, 1, 1, 1]
    assert actions.describe("Cy") == {"age": 50.0, "town": "Ulm"}
    assert actions.in_user_units([2, 1, 0, 5]) == {
        "age": 2,
        "town=Bonn": 1,
        "town=Kiel": 0,
        "town=Ulm": 5,
    }


def test_features_keep_the_order_asked_for_and_positive_is_settable() -> None:
    actions = from_text(PEOPLE, group="nation", features=["town", "age"], positive="away")
    assert actions.feature_names == ("intercept", "town=Kiel", "town=Ulm", "age")
    assert actions.group_names == ("home", "away")
    assert actions.groups.tolist() == [-1, 1, 1, -1]
    assert list(actions.labels) == ["option 1", "option 2", "option 3", "option 4"]


def test_typed_categories_in_frames() -> None:
    frame = pd.DataFrame(
        {
            "g": [1.0, 0.0, 1.0, 0.0],
            "flag": [True, True, False, False],
            "code": pd.Categorical([30, 30, 4, 4], categories=[4, 7, 30]),
        }
    )
    actions = ActionSet.from_table(frame, group="g")
    # No column for 7, which no row holds; 4 sorts before 30.
    assert actions.feature_names == ("intercept", "flag=True", "code=30")
    assert actions.features[:, 1:].tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    assert actions.group_names == ("0", "1")


def test_numbers_can_be_declared_categories() -> None:
    text = "g,zone,x\nu,10,1\nv,9,2\nu,9,3\nv,10,5\n"
    actions = from_text(text, group="g", categorical=["zone"])
    assert actions.feature_names == ("intercept", "zone=10", "x")
    assert actions.features[:, 1].tolist() == [1, 0, 0, 1]


def test_a_column_whose_text_comes_late_is_still_a_category() -> None:
    codes = ["1", "2", "b", "c", "b", "c", "b", "2"]
    frame = pl.DataFrame({"g": list("uvuvuvvu"), "code": codes})
    actions = ActionSet.from_table(frame, group="g")
    assert actions.feature_names == ("intercept", "code=2", "code=b", "code=c")
    assert [actions.describe(i)["code"] for i in range(8)] == codes


def test_attributes_take_the_place_of_groups() -> None:
    text = "judge,age,x\nA,30,1\nB,40,2\nC,55,4\nA,61,8\nB,20,9\n"
    actions = from_text(text, attributes=["judge", "age"])
    assert actions.attribute_names == ("judge=B", "judge=C", "age")
    assert actions.feature_names == ("intercept", "x")
    assert actions.attributes[:, :2].tolist() == [[0, 0], [1, 0], [0, 1], [0, 0], [1, 0]]
    assert abs(actions.attributes[:, 2].mean()) < 1e-15
    assert actions.group_names is None
    full = from_text(text, attributes=["judge"], intercept=False)
    assert full.attribute_names == ("judge=A", "judge=B", "judge=C")


def test_blanks_semicolons_blank_lines_and_a_byte_order_mark_are_understood() -> None:
    text = "\ufeff\ng ; x\n u;+1.5\n\nv ; 2e0\nu; .5\n"
    actions = from_text(text, group="g", standardize=False)
    assert actions.features.tolist() == [[1, 1.5], [1, 2.0], [1, 0.5]]
    assert actions.group_names == ("u", "v")


def test_quoted_cells_may_hold_separators_and_line_ends() -> None:
    text = 'n,g,x\n"Ann, the\nfirst",u,1\n"Bo ""B""",v,2\nCy,u,4\n'
    actions = from_text(text, group="g", label="n")
    assert actions.labels == ("Ann, the\nfirst", 'Bo "B"', "Cy")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_standardising_survives_scales_and_offsets(scale: float, offset: float) -> None:
    steps = np.array([0, 1, 3, 7, 2, 9.0]) * scale
    column = offset + steps
    spread_in_rounding = 9 * scale / np.spacing(max(offset, scale))
    frame = pl.DataFrame({"g": list("uvuvuv"), "x": column})
    x = ActionSet.from_table(frame, group="g").features[:, 1]
    exact = (steps - steps.mean()) / steps.std()
    np.testing.assert_allclose(x, exact, atol=4 / spread_in_rounding + 1e-14)


def test_results_come_back_in_user_units() -> None:
    actions = from_text(PEOPLE, group="nation", label="name")
    coefficients = np.array([2.0, -1.5, 0.25, 3.0])
    units = actions.in_user_units(coefficients)
    assert list(units) == ["age", "town=Kiel", "town=Ulm", "(constant)"]
    for option, value in enumerate(actions.features @ coefficients):
        row = actions.describe(option)
        assert isinstance(row["age"], float)
        told = units["(constant)"] + units["age"] * row["age"]
        told += units.get(f"town={row['town']}", 0.0)
        assert math.isclose(told, value, rel_tol=1e-12)
    assert actions.describe("Bo") == {"age": 45.0, "town": "Bonn"}


def test_a_cell_that_is_not_a_number_is_named() -> None:
    text = PEOPLE.replace("\nCy,away,50", "\n\nCy,away,n/a")
    message = refusal(text, group="nation", label="name", features=["age"])
    assert "line 5 ('Cy'), column 'age': 'n/a' is not a number" in message
    assert "categorical=['age']" in message


def dull_tables(k: int) -> dict[str, list[list[str]]]:
    """Integers, percentages that add up to 100, one-hot columns: k rows of texts each."""
    return {
        "integers": [[str(3 * i), str((7 * i) % 5 - 2)] for i in range(k)],
        "percentages": [[str(100 * i // k), str(100 - 100 * i // k)] for i in range(k)],
        "one-hot": [[str(int(i == j)) for j in range(k)] for i in range(k)],
    }


def as_csv(rows: list[list[str]]) -> str:
    header = ["g", *(f"x{j}" for j in range(len(rows[0])))]
    lines = [["uv"[i % 2], *row] for i, row in enumerate(rows)]
    return "".join(",".join(line) + "\n" for line in [header, *lines])


@pytest.mark.parametrize("k", range(1, 13))
@pytest.mark.parametrize("kind", ["integers", "percentages", "one-hot"])
def test_small_dull_tables_are_read_as_they_stand(kind: str, k: int) -> None:
    rows = dull_tables(k)[kind]
    rows += [[cell] * len(rows[0]) for cell in "5678"]  # so that no column tells the group
    actions = from_text(as_csv(rows), group="g", intercept=False, standardize=False)
    assert actions.features.tolist() == [[float(cell) for cell in row] for row in rows]
    assert actions.groups.tolist() == [2 * (i % 2) - 1 for i in range(len(rows))]


@pytest.mark.parametrize("k", range(1, 13))
@pytest.mark.parametrize("hole", ["", " ", "nan", "inf", "-inf", "n/a", "?", "20%", "1 000"])
def test_a_hole_is_named_in_every_position(hole: str, k: int) -> None:
    for i, j in np.ndindex(k, 2):
        rows = dull_tables(k)["integers"]
        rows[i][j] = hole
        rows += [["100", "100"], ["150", "130"], ["200", "125"]]  # k = 1 has one group only
        message = refusal(as_csv(rows), group="g", intercept=False, standardize=False)
        assert f"line {i + 2}, column 'x{j}'" in message
        assert ("not a finite number" in message) == (hole in ("inf", "-inf", "nan"))


# Numbers written in another way

ELSEWHERE = [
    "3,5", "1,200", "1,200.50", "1.200,50", "1.200.000", "1 200", "1\u00a0200", "1\u202f200,5",
    "1'200", "20%", "20 %", "3,5 %", "€20", "20 €", "-$1,200", "EUR 20",
]  # fmt: skip


@pytest.mark.parametrize("cell", ELSEWHERE)
@pytest.mark.parametrize("k", range(4, 13))
def test_numbers_in_another_notation_are_no_categories(cell: str, k: int) -> None:
    """Whether one cell, half of the cells or all of them are written so."""
    for n_elsewhere in {1, k // 2, k}:
        cells = [str(7 * i + 3) for i in range(k - n_elsewhere)] + [cell] * n_elsewhere
        rows = "".join(f'o{i},{"uv"[i % 2]},"{text}"\n' for i, text in enumerate(cells))
        message = refusal(f"n,g,x\n{rows}", group="g", label="n")
        line = k - n_elsewhere + 2
        what = "can be 1.2 or 1200" if cell == "1,200" else "is not plainly a num"
        assert f"line {line} ('o{line - 2}'), column 'x': {cell!r} {what}" in message
        assert "categorical=['x']" in message
    frame = pl.DataFrame({"g": ["u", "v"] * k, "x": [cell] * (2 * k)})
    assert "convert the column to numbers" in refusal(frame, group="g")


@pytest.mark.parametrize("cell", [*ELSEWHERE, "38,5"])
def test_the_user_may_say_that_they_are_categories(cell: str) -> None:
    text = f'g,x\nu,"{cell}"\nv,"39"\nu,"39"\nv,"{cell}"\n'
    actions = from_text(text, group="g", categorical=["x"])
    assert {row["x"] for row in map(actions.describe, range(4))} == {cell, "39"}


@pytest.mark.parametrize("cells", [
    ["a", "b", "a", "20%"], ["18-25", "26-40", "18-25", "41+"],
    ["1.2.3", "1.2.4", "1.2.3", "1.2.4"], ["3rd", "1st", "3rd", "1st"],
    ["+", "-", "+", "-"], ["none", "mild", "none", "none"],
    ["n/a", "unknown", "n/a", "unknown"], ["A 1", "A 2", "A 1", "A 2"],
])  # fmt: skip
def test_words_stay_categories(cells: list[str]) -> None:
    rows = "".join(f"{group},{text}\n" for group, text in zip("uvvu", cells, strict=True))
    actions = from_text(f"g,x\n{rows}", group="g")
    assert [actions.describe(i)["x"] for i in range(4)] == cells


@pytest.mark.parametrize("absent", ["n/a", "NA", "-", "?", "unknown"])
def test_numbers_among_many_absent_ones_are_numbers(absent: str) -> None:
    text = f"g,x\nu,1\nv,{absent}\nu,{absent}\nv,{absent}\nu,4\n"
    message = refusal(text, group="g")
    assert f"line 3, column 'x': {absent!r} is not a number (3 cells are not)" in message


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas_are_read_where_they_can_be_nothing_else(delimiter: str) -> None:
    rows = [("g", "x", "y", "c"), ("u", "3,5", "1,125", "p"), ("v", "-,25", "7", "q")]
    rows += [("u", "1,5e3", "8,5", "p"), ("v", "4", "1,200", "p")]
    commas = "".join(delimiter.join(row) + "\n" for row in rows)
    points = commas.replace(",", ".")
    actions = from_text(commas, group="g")
    assert actions == from_text(points, group="g")
    assert actions.encoding is not None
    assert actions.encoding.decimal == ","
    assert actions.describe(3) == {"x": 4.0, "y": 1.2, "c": "p"}
    assert from_text(commas, group="g", decimal=",") == actions


def test_a_file_with_doubtful_decimals_is_refused_until_the_user_says() -> None:
    thousands = "g;x\nu;1,200\nv;3,500\nu;700\n"
    assert "say decimal=','" in refusal(thousands, group="g")
    read = from_text(thousands, group="g", decimal=",")
    assert [read.describe(i)["x"] for i in range(3)] == [1.2, 3.5, 700.0]
    both = "g;x;y\nu;3,5;1.5\nv;1,5;2.5\nu;7;3\n"
    assert "'3,5' is not plainly a number (2 cells are not)" in refusal(both, group="g")
    said = refusal(both, group="g", decimal=",")
    assert "column 'y': '1.5' is not plainly a number (2 cells are not)" in said
    assert "1234,5" in said
    quoted = 'g,x\nu,"3,5"\nv,"1,5"\nu,7\n'
    assert "say decimal=','" in refusal(quoted, group="g")
    assert from_text(quoted, group="g", decimal=",").describe(1) == {"x": 1.5}
    assert "decimal is '.' or ','" in refusal(quoted, group="g", decimal=";")


def test_points_that_may_group_thousands_are_refused_until_the_user_says() -> None:
    text = "n,g,x\na,u,800\nb,v,1.200\nc,u,1.500\n"
    message = refusal(text, group="g", label="n")
    assert "line 3 ('b'), column 'x': '1.200' may be 1200 or 1.2" in message
    assert "decimal='.'" in message
    assert from_text(text, group="g", label="n", decimal=".").describe("b") == {"x": 1.2}
    mixed = text + "d,v,n/a\n"
    assert "'n/a' is not a number" in refusal(mixed, group="g", label="n")


@pytest.mark.parametrize(
    "cells",
    [
        ["0.125", "1.200", "3"],  # nobody writes 0.125 for 125
        ["1.25", "1.200", "3"],
        ["1200", "1.200", "3"],  # a thousand without a point
        ["1.200", "1.500", "2.125"],  # all alike: three decimals
        ["1200.5", "3", "4"],
    ],
)
def test_decimal_points_are_decimal_points(cells: list[str]) -> None:
    rows = "".join(f"{group},{text}\n" for group, text in zip("uvu", cells, strict=True))
    actions = from_text(f"g,x\n{rows}", group="g", standardize=False)
    assert actions.features[:, 1].tolist() == [float(text) for text in cells]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('n,g,x\na,u,1\n"b,v,2\nc,u,5\nd,v,7\n', 3),  # never closed
        ('n,g,x\n"a,u,1\nb",v,2\nc,u,5\nd,v,7\n', 2),  # closed at the end of another cell
        ('n,g,x\n"a,u,1\n"b,v,2\nc,u,5\nd,v,7\n', 2),  # closed by another stray one
        ('n,g,x\na,u,1\n"b,v,2\nc,u,5\n"d",v,7\n', 3),  # closed by a good one
        ('n,g,x\na,u,1\nb,v,2\n"c\n1",u,5\n"d,v,7\ne",u,8\n', 6),
        ('n,g,x\na,u,1\n"5" pipe",v,2\nc,u,4\n', 3),  # in the middle of a cell
    ],
)
def test_a_quotation_mark_may_not_swallow_lines(text: str, line: int) -> None:
    message = refusal(text, group="g", label="n")
    assert f"line {line} has a quotation mark without its partner" in message


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(PEOPLE,))
    writer.start()
    actions = ActionSet.from_table(pipe, group="nation", label="name")
    writer.join()
    assert actions == from_text(PEOPLE, group="nation", label="name")


def test_a_file_opened_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"g,x\nu,1\nv,\xe9\n")
    with (
        (tmp_path / "latin.csv").open(encoding="utf-8") as file,
        pytest.raises(InputError, match="open it in binary mode"),
    ):
        ActionSet.from_table(file, group="g")


def test_missing_cells_are_counted_and_the_first_is_named() -> None:
    text = PEOPLE.replace("50", "").replace("38", " ")
    message = refusal(text, group="nation", label="name")
    assert "line 4 ('Cy'), column 'age' is empty (2 of 4 rows are)" in message
    message = refusal(PEOPLE.replace(",Bonn", ","), group="nation", label="name")
    assert "line 3 ('Bo'), column 'town' is empty (1 of 4 rows are)" in message
    assert "'age' is empty in every row" in refusal("g,age,x\nu,,1\nv,,2\nu,,5\n", group="g")


def test_all_problems_are_told_at_once_with_what_remains() -> None:
    text = (
        "id,name,g,flag,same,only,age,region\n"
        "7,Ann,u,0,5,men,31,n\n3,Bo,v,1,5,men,45,s\n9,Cy,v,1,5,men,50,e\n4,Di,u,0,5,men,x,w\n"
        "5,Ed,u,0,5,men,33,n\n"
    )
    message = refusal(text, group="g")
    for part in (
        "6 things to correct",
        "column 'name' holds 5 different texts in 5 rows, such as 'Ann'",
        "label='name'",
        "column 'flag' tells the group ('g'): it is 0 for every 'u' and 1 for every 'v'",
        "column 'same' is 5 in every row, which the intercept says already",
        "column 'only' is 'men' in every row",
        "line 5, column 'age': 'x' is not a number",
        "column 'region' tells the group ('g'): each of its 4 categories occurs in one group only",
        "features=['id']",
    ):
        assert part in message


def test_group_revealing_columns_are_found_up_to_an_affine_map() -> None:
    text = "g,x\nu,7.5\nv,-2\nu,7.5\nv,-2\n"
    assert "7.5 for every 'u' and -2 for every 'v'" in refusal(text, group="g")
    assert "tells the group" in refusal(text, group="g", features=["x"], categorical=["x"])
    # One row that differs is enough to tell them apart.
    assert from_text(text + "v,-1\n", group="g").n_features == 2


def test_constant_columns() -> None:
    text = "g,x,y\nu,3,1\nv,3,2\nu,3,5\n"
    assert "intercept says already" in refusal(text, group="g")
    assert "no spread" in refusal(text, group="g", intercept=False)
    kept = from_text(text, group="g", intercept=False, standardize=False)
    assert kept.features[:, 0].tolist() == [3, 3, 3]
    rounding = pl.DataFrame({"g": list("uvu"), "x": [1e9, np.nextafter(1e9, 2e9), 1e9]})
    assert "in every row" in refusal(rounding, group="g")
    wide = pl.DataFrame({"g": list("uvu"), "x": [1e200, -1e200, 0.0]})
    assert "another unit" in refusal(wide, group="g")


def test_groups_must_be_two() -> None:
    one = refusal("g,x\nu,1\nu,2\n", group="g")
    assert "one group only, 'u' (2 options)" in one
    three = refusal("g,x\nu,1\nw,2\nv,5\nu,7\n", group="g")
    assert "has 3 groups, two are needed: 'u' (2), 'v' (1), 'w' (1)" in three
    assert "attributes, ['g']" in three
    assert "'z'" in refusal("g,x\nu,1\nv,2\nu,4\n", group="g", positive="z")
    assert "line 3 ('b'), column 'g' is empty" in refusal(
        "n,g,x\na,u,1\nb,,2\nc,v,3\n", group="g", label="n"
    )
    many = pl.DataFrame({"g": np.arange(2000.0), "x": np.arange(2000.0) ** 2})
    assert "more than 1000 different values" in refusal(many, group="g")


def test_names_must_be_there_and_differ() -> None:
    repeated = refusal(PEOPLE.replace("Di", "Bo"), group="nation", label="name")
    assert "column 'name': the name 'Bo' stands in 2 rows (line 3, line 5)" in repeated
    missing = refusal(PEOPLE.replace("Cy", ""), group="nation", label="name")
    assert "line 4, column 'name' is empty" in missing


def test_free_text_is_not_taken_for_categories() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"g": rng.choice(["u", "v"], 3000), "t": [f"word {i % 1500}" for i in range(3000)]}
    )
    assert "more than 1000 different texts in 3000 rows" in refusal(frame, group="g")


def test_row_numbers_are_not_taken_for_features_unless_asked_for() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"id": range(5, 35), "g": ["u", "v"] * 15, "x": rng.normal(size=30)})
    assert "column 'id' counts the rows (5, 6, …)" in refusal(frame, group="g")
    assert ActionSet.from_table(frame, group="g", features=["id", "x"]).n_features == 3


def test_columns_without_a_name() -> None:
    text = ",g,x\n0,u,1\n1,v,2\n2,u,5\n"
    assert "column 1 has no name" in refusal(text, group="g")
    assert from_text(text, group="g", features=["x"]).n_features == 2


def test_missing_columns_come_with_suggestions() -> None:
    message = refusal(PEOPLE, group="Nations")
    assert "no column 'Nations'; did you mean 'nation'?" in message
    assert "'name', 'nation', 'age', 'town'" in message
    assert "does the table have a header?" in refusal("1.5,u\n2.5,v\n", group="g")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, "exactly one is needed"),
        ({"group": "nation", "attributes": ["age"]}, "exactly one is needed"),
        ({"group": "nation", "features": ["age", "age"]}, "'age' twice"),
        ({"group": "nation", "features": ["nation"]}, "is named as group and as features"),
        ({"group": "nation", "label": "nation"}, "only one of them"),
        ({"attributes": []}, "at least one"),
        ({"group": "nation", "features": [], "intercept": False}, "nothing to value"),
    ],
)
def test_contradictory_requests(arguments: dict[str, object], part: str) -> None:
    assert part in refusal(PEOPLE, **arguments)


def test_names_made_here_may_not_clash() -> None:
    text = "g,intercept\nu,1\nv,2\nu,4\n"
    assert "'intercept' would stand for two things" in refusal(text, group="g")
    assert from_text(text, group="g", intercept=False).n_features == 1


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file .*nowhere\.csv"):
        ActionSet.from_table(tmp_path / "nowhere.csv", group="g")
    with pytest.raises(InputError, match="directory"):
        ActionSet.from_table(tmp_path, group="g")
    for text, said in (("\n\n", "is empty"), ("g,x", "no rows")):
        assert said in refusal(text, group="g")
    assert "'g' more than once" in refusal("g,x,g\nu,1,u\n", group="g")
    assert "line 3 has 3 cells, the header has 2" in refusal("g,x\nu,1\nv,2,3\n", group="g")
    assert "line 3 is not text in UTF-8" in refusal(b"g,x\nu,1\nv,\x81\n", group="g")
    for encoding in ("utf-16", "cp1252"):
        actions = ActionSet.from_table(io.BytesIO("g,x\nü,1\nv,2\nv,4\n".encode(encoding)), "g")
        assert actions.group_names == ("v", "ü")
    assert "no column 'g'" in refusal("x" * 200_000, group="g")


@pytest.mark.parametrize("file", [3, None, [], {}, [["g"], [0]], {"g": "uv"}, np.eye(2)])
def test_what_is_no_table(file: Any) -> None:
    assert "must be a frame of pandas, polars or pyarrow, a list" in refusal(file, group="g")


def test_columns_in_memory_are_of_one_length() -> None:
    uneven = {"nation": ["home", "away"], "age": ["31"]}
    assert "'age' has 1" in refusal(uneven, group="nation")


def test_a_lone_quotation_mark_inside_a_cell_is_just_a_character() -> None:
    actions = from_text('n,g,x\n5" pipe,u,1\nrod,v,2\nbar,u,4\n', group="g", label="n")
    assert actions.labels[0] == '5" pipe'


def test_defects_of_frames() -> None:
    names = ["a", "b", "c", "d"]
    mixed = pd.DataFrame({"n": names, "g": [0, 1, 0, 1], "x": [1, 2, "n/a", 4.0]})
    message = refusal(mixed, group="g", label="n")
    assert "row 2 ('c'), column 'x': 'n/a' is not a number" in message
    nameless = pl.DataFrame({"n": ["a", None], "g": ["u", None], "x": [1, 2]})
    assert "row 1, column 'g' is empty" in refusal(nameless, group="g", label="n")
    hole = pd.DataFrame({"g": [0, 1, 0, 1], "x": [1, 2, None, 4.0]})
    assert "row 2, column 'x' is empty" in refusal(hole, group="g")
    not_a_number = pl.DataFrame({"g": [0, 1, 0, 1], "x": [1.0, 2.0, math.nan, 4.0]})
    assert "row 2, column 'x': nan" in refusal(not_a_number, group="g")
    twice = pd.DataFrame([[0, 1], [1, 2]], columns=["g", "g"])
    assert "own name" in refusal(twice, group="g")
    alike = pd.DataFrame([["u", 1, 2], ["v", 2, 3]], columns=["g", 1, "1"])
    assert "'1' names more than one column" in refusal(alike, group="g")
    dates = pd.DataFrame({"g": [0, 1], "when": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    assert "column 'when' holds dates or times, timestamp" in refusal(dates, group="g")
    assert "no rows" in refusal(pl.DataFrame({"g": [], "x": []}), group="g")
    lists = pl.DataFrame({"g": [[1], [2]], "x": [1, 2]})
    assert "cannot be read as text" in refusal(lists, group="g")


def test_places_count_the_lines_of_the_file() -> None:
    file = open_table(io.StringIO('n,x\n"a\nb",1\n\nc,2\nd,3\n'))
    assert file.places([0, 1, 2], None) == ["line 2", "line 5", "line 6"]
    assert file.places([2], "n") == ["line 6 ('d')"]


@pytest.mark.parametrize("intercept", [True, False])
def test_what_is_read_like_others_is_what_it_was_there(intercept: bool) -> None:
    old = pl.DataFrame(
        {"g": list("uvuv"), "x": [1, 5, 2, 4], "c": list("qqrr"), "one": list("mmmm")}
    )
    more = pl.DataFrame({"g": ["v"], "x": [900], "c": ["p"], "one": ["m"]})  # 'p' sorts first
    columns = ["x", "c"] if intercept else ["x", "c", "one"]
    before = ActionSet.from_table(old, "g", features=columns, intercept=intercept)
    both = pl.concat([more, old])
    after = ActionSet.from_table(both, "g", features=columns, intercept=intercept, like=before)
    assert set(after.feature_names) == {*before.feature_names, "c=p"}
    at = [after.feature_names.index(name) for name in before.feature_names]
    np.testing.assert_array_equal(after.features[1:, at], before.features)
    assert after.describe(0)["x"] == 900.0
    assert after.describe(0)["c"] == "p"
    assert after.describe(1)["c"] == "q"
    again = ActionSet.from_table(old, "g", features=columns, intercept=intercept, like=before)
    assert again == before
    with pytest.raises(InputError, match="ActionSet"):
        ActionSet.from_table(old, "g", like=old)  # type: ignore[arg-type]


def test_what_is_no_workbook_is_refused_and_a_workbook_may_be_called_anything(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame({"name": list("ABC"), "g": list("uvu"), "x": [1.0, 5.0, 2.5]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    (tmp_path / "a.xlsx").rename(tmp_path / "from the committee")
    assert len(ActionSet.from_table(tmp_path / "from the committee", "g", "name")) == 3
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:  # an OpenDocument is one, too
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    (tmp_path / "b.ods").write_bytes(b"PK\x03\x04 and so on")
    for name in ("a.ods", "b.ods"):
        with pytest.raises(InputError, match="save it anew"):
            ActionSet.from_table(tmp_path / name, "g", "name")
