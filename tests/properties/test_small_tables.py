"""Small dull tables: what is said of them is what exact arithmetic says, or is refused by name.

Each single case below was once answered falsely.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
import shell
from evenhand.designs.elfving import ElfvingProgram
from evenhand.numerics import DoubtfulRankError, row_space
from reference import elfving_value, exact_rank, in_range, kappa_star
from small_tables import check, check_g, small_tables


def test_nothing_false_is_said_of_small_tables(tries: tuple[int, int]) -> None:
    seed, n = tries
    for number, table in enumerate(islice(small_tables(seed), n // 60)):
        assert check(table) + check_g(table) == [], f"{seed}, {number}: {table}"


def test_percentages_that_add_to_100_can_be_estimated(tmp_path: Path) -> None:
    table = tmp_path / "shares.csv"
    table.write_text("side,a,b,c\naway,0,10,90\naway,30,40,30\nhome,50,0,50\nhome,30,30,40\n")
    answer = shell.run("inspect", table, "--column=option_group=side")
    assert answer.exit_code == 0, answer.output
    features = [[1, 0, 10, 90], [1, 30, 40, 30], [1, 50, 0, 50], [1, 30, 30, 40]]
    actions = eh.ActionSet.from_table(table, group="side")
    found = eh.bias_geometry(actions)
    assert found.kappa_star == pytest.approx(kappa_star(features, [-1, -1, 1, 1]), rel=1e-9)
    assert found.kappa_star == pytest.approx(1.44)
    assert found.alpha() > 0
    assert found.kappa_minimax() == pytest.approx(
        eh.minimax_design(eh.ActionSet(features, [-1, -1, 1, 1])).value, rel=1e-6
    )


@pytest.mark.parametrize("closeness", [1e-3, 1e-5, 1e-6, 1e-7, 1e-8])
def test_every_row_of_nearly_and_of_fully_dependent_columns(closeness: float) -> None:
    x = np.arange(1.0, 9.0)
    points = np.column_stack([x, x + closeness * x**2, 0 * x])
    for row in points:
        exact = elfving_value(points, row).kappa
        assert eh.c_optimal_design(points, row).value == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("richest", [1, 10**3, 10**5])
def test_a_rich_person_in_two_currencies(richest: int) -> None:
    """κ_* of the table as it is, in cents; one income is many times the others."""
    cents = np.array([2_345_678, 3_456_789, 1_234_567, 4_567_891, 5_432_112, 2_500_000 * richest])
    dollars = np.array([2_542_011, 3_746_122, 1_337_900, 4_950_223, 5_886_780, 2_709_250 * richest])
    groups = [1, -1, 1, -1, 1, -1]
    exact = kappa_star(np.column_stack([cents, dollars, np.ones(6)]), groups)
    actions = eh.ActionSet(np.column_stack([cents / 100, dollars / 100, np.ones(6)]), groups)
    assert kappa_or_refusal(actions, "x1, x2") in (None, pytest.approx(exact, rel=1e-6))
    if richest <= 10**3:
        assert kappa_or_refusal(actions, "x1, x2") is not None


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("power", range(9))
def test_what_standardising_erases_is_not_taken_for_dependent(
    power: int, standardize: bool
) -> None:
    """The mean is nearly that of one rich person, and to subtract it takes the others' cents."""
    cents = np.array([3_008_746, 3_877_012, 6_742_145 * 10**power, 3_633_782])
    others = cents * 10_837 // 10_000
    groups = [1, -1, -1, -1]
    exact = kappa_star(np.column_stack([cents, others, np.ones(4)]), groups)
    frame = pd.DataFrame({"euros": cents / 100, "dollars": others / 100, "side": groups})
    actions = eh.ActionSet.from_table(frame, group="side", positive=1, standardize=standardize)
    found = kappa_or_refusal(actions, "euros, dollars")
    assert found in (None, pytest.approx(exact, rel=1e-6))
    assert found is not None or power > (2 if standardize else 7)


def test_a_long_row_takes_no_digits_from_the_others() -> None:
    """Incomes in two currencies beside shares of 100; one income is 1e7 times the others."""
    cents = [2858343, 5024212, 3090204, 844919, 8363902, 5203933, 9127147, 9216344, 5767132]
    cents.append(99550060000000)
    shares = np.array([[23, 44], [46, 25], [23, 35], [30, 30], [37, 31], [37, 32], [32, 35]])
    shares = np.vstack([shares, [[42, 28], [29, 36], [27, 40]]])
    X = np.column_stack([cents, np.array(cents) * 10837 // 10000, shares, 100 - shares.sum(axis=1)])
    groups = np.array([1, -1, 1, 1, 1, 1, -1, -1, -1, -1])
    gaps = np.arange(10) % 4 / 4.0
    points = np.column_stack([X, np.ones(10), groups]).astype(float)
    exact = elfving_value(points, np.eye(7)[-1], gaps).kappa
    units = np.array([0.01, 0.01, 1.0, 1.0, 1.0, 1.0, 1.0])
    found = eh.c_optimal_design(points * units, np.eye(7)[-1], gaps)
    assert found.value == pytest.approx(exact, rel=1e-7)


def test_zeros_have_no_digits_to_erase() -> None:
    """Small counts of which one column is minus another; the mean is not far from zero."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        k = int(rng.integers(4, 12))
        x = rng.choice([0, 0, 0, 1, 2, -2], k)
        x[:2] = [1, 0]
        groups = rng.choice([-1, 1], k)
        groups[:3] = [1, -1, 1]
        frame = pd.DataFrame({"a": x, "b": -x, "side": groups})
        points = np.column_stack([x, -x, np.ones(k), groups])
        if not in_range(points, np.eye(4)[-1]):
            continue
        actions = eh.ActionSet.from_table(frame, group="side", positive=1)
        exact = kappa_star(points[:, :3], groups)
        assert eh.bias_geometry(actions).kappa_star == pytest.approx(exact, rel=1e-9)


def kappa_or_refusal(actions: eh.ActionSet, columns: str) -> float | None:
    """κ_*, or None if it is refused because of these columns."""
    try:
        return eh.bias_geometry(actions).kappa_star
    except eh.errors.AccuracyError as error:
        if columns not in str(error):
            raise
        return None


@pytest.mark.parametrize("length", [1.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("closeness", [2.0**-10, 2.0**-20, 2.0**-26])
def test_the_rank_where_a_long_row_meets_collinear_columns(length: float, closeness: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(1, 100, 12).astype(float)
    points = np.column_stack([x, x + closeness * rng.integers(-9, 10, 12), np.ones(12)])
    points[7, :2] *= length
    space = row_space(points, np.arange(12))
    assert space.rank == exact_rank(points) == 3
    assert not space.doubt


def test_what_16_digits_do_not_tell_is_refused_by_name() -> None:
    x = np.arange(1.0, 9.0)
    wobble = 1.0 + 1e-13 * (-1.0) ** np.arange(8) * x
    groups = np.where(np.arange(8) % 3 == 0, 1, -1)
    X = np.column_stack([x, x * wobble, x**2])
    actions = eh.ActionSet(X, groups, feature_names=["a", "b", "c"])
    with pytest.raises(eh.errors.AccuracyError, match=r"the columns a, b .* Leave one of them out"):
        eh.bias_geometry(actions)
    with pytest.raises(DoubtfulRankError) as caught:
        eh.c_optimal_design(actions.points, [0.0, 0.0, 0.0, 1.0])
    assert caught.value.columns[:2] == (0, 1)


def test_a_combination_is_printed_only_if_it_holds() -> None:
    rng = np.random.default_rng(8)
    seen = 0
    for _ in range(200):
        k, d = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        X = rng.integers(-3, 4, (k, d)).astype(float)
        groups = rng.choice([-1, 1], k)
        groups[:2] = [1, -1]
        points = np.column_stack([X, groups])
        actions = eh.ActionSet(X, groups, feature_names=[f"f{j}" for j in range(d)])
        if in_range(points, np.eye(d + 1)[-1]):
            continue
        with pytest.raises(eh.NotIdentifiableError) as caught:
            eh.bias_geometry(actions)
        terms = caught.value.confounding.combination
        beta = np.array([terms.get(f"f{j}", 0.0) for j in range(d)])
        np.testing.assert_allclose(X @ beta, groups, atol=1e-9)
        seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("points", "direction"),
    [
        ([[1e200]], [1.0]),
        ([[1e-200]], [1.0]),
        ([[1e300, 1.0], [0.0, 1.0]], [1.0, 0.0]),
        ([[5e-324, 1.0], [0.0, 1.0]], [0.0, 1.0]),
        ([[1e308, 1.0], [0.0, 1.0]], [0.0, 1.0]),
    ],
)
def test_what_leaves_the_range_of_floats_is_refused(
    points: list[list[float]], direction: list[float]
) -> None:
    with pytest.raises(eh.InputError, match="Choose"):
        eh.c_optimal_design(points, direction)


@pytest.mark.parametrize("unit", [1e-299, 1e-150, 1.0, 1e150, 1e299])
def test_units_of_columns_change_nothing(unit: float) -> None:
    points = np.array([[1.0, 2.0], [3.0, -1.0], [2.0, 2.0]]) * [unit, 1.0]
    plain = eh.c_optimal_design(points / [unit, 1.0], [0.0, 1.0])
    scaled = eh.c_optimal_design(points, [0.0, 1.0])
    assert scaled.value == pytest.approx(plain.value, rel=1e-12)
    np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-12)


def test_a_certified_price_is_never_called_impossible() -> None:
    """α and κ̃ ask about differences of points, which are combinations of points."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        k = int(rng.integers(4, 10))
        one_hot = np.eye(3)[rng.integers(0, 3, k)]
        groups = rng.choice([-1, 1], k)
        groups[:2] = [1, -1]
        X = np.column_stack([one_hot, np.ones(k), rng.integers(0, 9, k)])
        if not in_range(np.column_stack([X, groups]), np.eye(6)[-1]):
            continue
        geometry = eh.bias_geometry(eh.ActionSet(X, groups))
        assert np.isfinite(geometry.alpha())
        assert np.isfinite(geometry.kappa_minimax())


def test_the_dual_of_long_rows_proves_as_much_as_that_of_short_ones() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((10, 10)) * 10.0 ** rng.uniform(-6, 6, (10, 1))
    solution = ElfvingProgram(points).solve(np.eye(10)[0])
    assert (np.abs(points @ solution.dual) <= 1.0).all()
    assert solution.root_bound == pytest.approx(solution.root, rel=1e-9)


def test_kappa_of_one_attribute_of_several() -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.standard_normal((9, 2)), rng.standard_normal((9, 2))
    actions = eh.ActionSet(X, attributes=Z, attribute_names=["age", "rater"])
    gaps = rng.uniform(0.1, 1.0, 9)
    for j, name in enumerate(["age", "rater"]):
        exact = elfving_value(np.column_stack([X, Z]), np.eye(4)[2 + j], gaps).kappa
        assert eh.kappa(actions, gaps, attribute=name) == pytest.approx(exact, rel=1e-9)
    with pytest.raises(eh.InputError, match="say which one"):
        eh.kappa(actions, gaps)
