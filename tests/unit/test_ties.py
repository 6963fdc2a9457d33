"""Ties are broken by place: what is chosen is the same however the last bits fall.

Every case has a tie by construction, and is turned or shaken so that rounding would break it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.designs.elfving import ElfvingProgram
from evenhand.numerics import TIE, first_largest, rounded_up
from evenhand.policies import AttributePlan, OptionFrame
from evenhand.research.environments import families
from evenhand.research.rivals._ids import best_mixture

HEADER = Path(eh.__file__).parent / "numerics" / "_ties.h"


def rotation(size: int, seed: int) -> Floats:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def alike(size: int, seed: int) -> eh.ActionSet:
    """Return options at right angles, of length one: to every policy they look the same."""
    return eh.ActionSet(rotation(size, seed), attributes=np.ones((size, 1)))


def shaken(values: Floats, rng: np.random.Generator) -> Floats:
    """Return the values, changed by a hundred times what rounding does."""
    return values * (1.0 + 2e-14 * rng.uniform(-1, 1, size=values.shape))


def test_the_kernels_have_the_same_tolerance() -> None:
    (found,) = re.findall(r"#define TIE (\S+)", HEADER.read_text())
    assert float(found) == TIE


@pytest.mark.parametrize("seed", range(20))
def test_of_equal_values_the_first_is_the_largest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    thirds = rng.integers(-9, 9, size=rng.integers(1, 20)) / 3.0
    assert first_largest(shaken(thirds, rng)) == list(thirds).index(thirds.max())


def test_what_differs_by_more_than_a_tie_is_told_apart() -> None:
    assert first_largest(np.array([1.0, 1.0 + 2 * TIE])) == 1
    assert first_largest(np.array([-1.0 - 2 * TIE, -1.0])) == 1
    # a largest value near zero was computed from terms as large as the others
    assert first_largest(np.array([-1e-12, -5.0, 1e-12])) == 0


def test_infinite_values_have_no_size() -> None:
    assert first_largest(np.array([-np.inf, 1.0, 1.1])) == 2
    assert first_largest(np.array([1.0, np.inf, np.inf])) == 1
    assert first_largest(np.full(3, -np.inf)) == 0


@pytest.mark.parametrize("denominator", [2, 3, 7, 50])
def test_whole_numbers_are_met_from_either_side(denominator: int) -> None:
    rng = np.random.default_rng(denominator)
    for whole in (0, 1, 2, 49, 10**6, 10**9):
        assert set(rounded_up(shaken(np.full(50, float(whole)), rng))) == {whole}
    for numerator in range(1, 4 * denominator):
        exact = Fraction(numerator, denominator)
        assert set(rounded_up(shaken(np.full(50, float(exact)), rng))) == {-(-exact // 1)}


def test_rounding_up_keeps_what_was_promised() -> None:
    x = 10.0 ** np.random.default_rng(0).uniform(-30, 18, size=10_000)
    up = rounded_up(x)
    assert (up >= x * (1.0 - TIE)).all()
    assert (up >= 1.0).all()
    assert (up <= x * (1.0 + TIE) + 1.0).all()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 16, 19])
@pytest.mark.parametrize("seed", range(3))
def test_options_that_look_alike_take_turns_in_their_order(size: int, seed: int) -> None:
    policies = (
        eh.policy("oful", alike(size, seed), horizon=1000, switching=0.0),
        eh.policy("oracle", alike(size, seed), horizon=1000, switching=0.0, omega=[0.0]),
    )
    for policy in policies:
        for turn in range(size):
            counts = policy.ask().counts
            assert np.flatnonzero(counts).tolist() == [turn]
            policy.tell(eh.Feedback(counts, 0.0 * counts, 0.0 * counts))


@pytest.mark.parametrize("seed", range(20))
def test_how_long_to_stay_does_not_hang_on_the_last_bit_of_a_leverage(seed: int) -> None:
    """A leverage of 1/50: det V grows by more than ½ after 26 evaluations, not after 25."""
    policy = eh.policy("oful", alike(3, seed), horizon=1000, ridge=50.0, switching=0.5)
    assert policy.ask().counts.tolist() == [26, 0, 0]


@pytest.mark.parametrize("size", [3, 8, 11])
def test_a_basis_of_points_that_are_alike_is_in_their_order(size: int) -> None:
    for seed in range(5):
        points = np.vstack([rotation(size, seed), 0.5 * rotation(size, seed + 50)])
        actions = eh.ActionSet(points[:, 1:], attributes=points[:, :1])
        assert OptionFrame(actions).basis.tolist() == list(range(size))


@pytest.mark.parametrize("seed", range(30))
def test_a_mixture_does_not_depend_on_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.integers(1, 5, size=12) / 3.0  # many ties, and corners on a line
    information = rng.integers(0, 5, size=12) / 7.0
    left, right, share = best_mixture(gaps, information)
    for _ in range(20):
        near = best_mixture(shaken(gaps, rng), shaken(information, rng))
        assert near[:2] == (left, right)
        assert near[2] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_many_optimal_designs_rounding_does_not_choose(seed: int) -> None:
    """Where the groups' hulls overlap, Elfving's program has a face of solutions, √κ = 3/2."""
    actions = families.random_groups(20, 3, seed, n_groups=4).actions
    plan, rng = AttributePlan.of(actions), np.random.default_rng(seed)
    flat = 0
    for direction in plan.directions:
        weights = elfving_weights(actions.points, direction)
        flat += abs(np.abs(weights).sum() - 1.5) < 1e-9
        for _ in range(20):
            points = actions.points.copy()
            points[:, :3] = shaken(points[:, :3], rng)
            np.testing.assert_allclose(elfving_weights(points, direction), weights, atol=1e-9)
    assert flat > 0


def elfving_weights(points: Floats, direction: Floats) -> Floats:
    rows, w = ElfvingProgram(points).solve(direction).support()
    weights = np.zeros(len(points))
    weights[rows] = w
    return weights
