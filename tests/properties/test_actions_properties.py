"""What holds for every table: encoding and decoding undo each other, bad cells are found."""

import io
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import InputError

# Whole numbers of units, so that a column's spread is well above the rounding of its values.
columns = st.integers(4, 30).flatmap(
    lambda k: st.tuples(
        st.lists(st.integers(-1000, 1000), min_size=k, max_size=k),
        st.lists(
            st.sampled_from(["red", "green", "blue, dark", 'the "best"']), min_size=k, max_size=k
        ),
        st.lists(st.sampled_from(["home", "away"]), min_size=k, max_size=k),
    )
)
units = st.sampled_from([1e-6, 0.1, 1.0, 1e6])
offsets = st.sampled_from([0.0, -5.0, 1e9])


def identifiable(numbers: list[int], colours: list[str], groups: list[str]) -> bool:
    """Whether no column is constant or tells the group, said in another way than the code."""

    def tells(column: list[object]) -> bool:
        return len(set(zip(column, groups, strict=True))) == len(set(column))

    if len(set(groups)) < 2 or len(set(numbers)) < 2 or len(set(colours)) < 2:
        return False
    pairs = set(zip(numbers, groups, strict=True))
    return len(pairs) > 2 and not tells(list(colours))


Table = tuple[list[int], list[str], list[str]]


def read(table: Table, unit: float, offset: float, **settings: bool) -> tuple[Floats, ActionSet]:
    """Return the numbers in these units, and the options that a frame with them holds."""
    numbers, colours, groups = table
    assume(identifiable(numbers, colours, groups))
    assume(not (offset == 1e9 and unit < 1e-2))
    x = offset + unit * np.array(numbers)
    frame = pl.DataFrame({"x": x, "colour": colours, "g": groups})
    return x, ActionSet.from_table(frame, group="g", features=["x", "colour"], **settings)


@given(columns, units, offsets, st.booleans(), st.booleans())
def test_options_come_back_as_they_were(
    table: Table, unit: float, offset: float, intercept: bool, standardize: bool
) -> None:
    _, colours, groups = table
    x, actions = read(table, unit, offset, intercept=intercept, standardize=standardize)
    for option, (number, colour) in enumerate(zip(x, colours, strict=True)):
        row = actions.describe(option)
        assert row["colour"] == colour
        assert isinstance(row["x"], float)
        assert math.isclose(row["x"], number, rel_tol=1e-12, abs_tol=1e-12 * np.abs(x).max())
    names = actions.group_names or ()
    assert [names[int(z > 0)] for z in actions.groups] == groups


@given(columns, units, offsets, st.booleans(), st.integers(0, 10**6))
def test_a_function_of_features_is_the_same_function_in_user_units(
    table: Table, unit: float, offset: float, intercept: bool, seed: int
) -> None:
    colours = table[1]
    x, actions = read(table, unit, offset, intercept=intercept)
    c = np.random.default_rng(seed).normal(size=actions.n_features)
    told = actions.in_user_units(c)
    again = told["(constant)"] + told["x"] * x
    again = again + np.array([told.get(f"colour={colour}", 0.0) for colour in colours])
    size = 1 + abs(told["(constant)"]) + np.abs(told["x"] * x).max()
    np.testing.assert_allclose(again, actions.features @ c, atol=1e-13 * size)


@given(columns)
def test_files_and_frames_agree(table: Table) -> None:
    numbers, colours, groups = table
    assume(identifiable(numbers, colours, groups))
    frame = pl.DataFrame({"x": np.array(numbers) / 8, "colour": colours, "g": groups})
    file = io.BytesIO(frame.write_csv().encode())
    columns_used = ["x", "colour"]
    assert ActionSet.from_table(file, group="g", features=columns_used) == ActionSet.from_table(
        frame, group="g", features=columns_used
    )


@given(columns, st.data())
def test_a_bad_cell_is_found_wherever_it_is(table: Table, data: st.DataObject) -> None:
    numbers, _, groups = table
    assume(len(set(groups)) == 2)
    row = data.draw(st.integers(0, len(numbers) - 1))
    cell = data.draw(st.sampled_from(["?", "nan", "inf", "", "1,5", "12 kg"]))
    lines = [f'o{i},{g},"{n}"' for i, (g, n) in enumerate(zip(groups, numbers, strict=True))]
    lines[row] = f'o{row},{groups[row]},"{cell}"'
    file = io.StringIO("\n".join(["name,g,x", *lines]))
    with pytest.raises(InputError) as caught:
        ActionSet.from_table(file, group="g", label="name")
    assert f"line {row + 2} ('o{row}'), column 'x'" in str(caught.value)


@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=100),
    st.sampled_from([0.0, 1e9, -1e12]),
)
def test_moments_are_exact_at_any_offset(numbers: list[float], offset: float) -> None:
    whole = offset + np.array(numbers)
    frame = pl.DataFrame({"x": whole, "g": ["u", *"v" * (len(whole) - 1)]})
    try:
        encoding = ActionSet.from_table(frame, group="g").encoding
    except InputError:  # constant, or one number for each group
        reject()
    column, exact = encoding.features[1], [float(number) for number in whole]
    mean = math.fsum(exact) / len(exact)
    assert math.isclose(column.mean, mean, rel_tol=1e-14, abs_tol=1e-9)
    deviation = math.sqrt(math.fsum((number - mean) ** 2 for number in exact) / len(exact))
    assert math.isclose(column.scale, deviation, rel_tol=1e-9, abs_tol=1e-9 + 1e-15 * abs(offset))


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 4), st.integers(0, 10**6))
def test_arrays_are_kept_exactly(k: int, d: int, p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(k, d)), rng.normal(size=(k, p))
    actions = ActionSet(x, attributes=z)
    assert np.array_equal(actions.points, np.hstack([x, z]))
