"""One validator behind every door: holes in arrays, masks, other kinds, and whose array it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import limits
from evenhand.errors import InputError
from evenhand.plain import Form, canonical, decoded, shown
from evenhand.policies import registered_policies

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.3, 0.4]], [1, -1, -1, 1])
GOOD = np.array([[1.0, 0.5], [0.25, 1.0], [-0.2, 0.75], [0.3, 0.4]])

Door = Callable[[Any], object]

MATRICES: dict[str, Door] = {
    "features": lambda x: eh.ActionSet(x, [0, 1, 0, 1]),
    "attributes": lambda z: eh.ActionSet(GOOD, attributes=z),
    "points": eh.g_optimal_design,
    "points of c": lambda points: eh.c_optimal_design(points, [1.0, 0.0]),
}
VECTORS: dict[str, Door] = {
    "gaps": lambda gaps: eh.delta_optimal_design(ACTIONS, gaps),
    "gaps of kappa": lambda gaps: eh.kappa(ACTIONS, gaps),
    "costs": lambda costs: eh.c_optimal_design(ACTIONS.points, [0.0, 0.0, 1.0], costs),
}
PAIRS: dict[str, Door] = {
    "direction": lambda c: eh.c_optimal_design(GOOD, c),
    "gamma": lambda gamma: eh.BiasedLinearBandit(ACTIONS, gamma, 0.1),
    "omega": lambda omega: eh.BiasedLinearBandit(
        eh.ActionSet(GOOD, attributes=GOOD[:, ::-1]), [1.0, 2.0], omega
    ),
    "coefficients": ACTIONS.in_user_units,
}
# Every door with an array that it takes.
DOORS: list[tuple[str, Door, np.ndarray]] = [
    *((name, door, GOOD) for name, door in MATRICES.items()),
    *((name, door, np.array([1.0, 2.0, 0.5, 3.0])) for name, door in VECTORS.items()),
    *((name, door, np.array([0.75, 0.25])) for name, door in PAIRS.items()),
]


def refusal(door: Door, given: object) -> str:
    with pytest.raises(eh.InputError) as caught:
        door(given)
    return str(caught.value)


@pytest.mark.parametrize(("name", "door", "good"), DOORS, ids=[name for name, *_ in DOORS])
class TestEveryDoor:
    def test_nan_and_infinity_are_named_in_every_position(
        self, name: str, door: Door, good: np.ndarray
    ) -> None:
        door(good)
        for place in np.ndindex(good.shape):
            for hole in (np.nan, np.inf, -np.inf):
                given = good.copy()
                given[place] = hole
                where = ", ".join(map(str, place))
                assert f"{name.partition(' of ')[0]}[{where}]" in refusal(door, given)

    def test_a_mask_is_named_in_every_position(
        self, name: str, door: Door, good: np.ndarray
    ) -> None:
        for place in np.ndindex(good.shape):
            given = np.ma.array(good)
            given[place] = np.ma.masked
            where = ", ".join(map(str, place))
            expected = f"{name.partition(' of ')[0]}[{where}] is masked"
            assert expected in refusal(door, given)
            assert expected in refusal(door, list(given))

    def test_a_mask_that_hides_nothing_is_no_obstacle(
        self, name: str, door: Door, good: np.ndarray
    ) -> None:
        door(np.ma.array(good))
        door(np.ma.array(good, mask=np.zeros(good.shape, dtype=bool)))

    def test_texts_and_complex_numbers_are_refused(
        self, name: str, door: Door, good: np.ndarray
    ) -> None:
        assert "not a number" in refusal(door, np.full(good.shape, "a"))
        assert "complex" in refusal(door, good.astype(complex))

    def test_the_callers_array_stays_the_callers(
        self, name: str, door: Door, good: np.ndarray
    ) -> None:
        given = good.copy()
        answer = door(given)
        assert given.flags.writeable
        assert np.array_equal(given, good)
        for kept in vars(answer).values() if hasattr(answer, "__dict__") else ():
            if isinstance(kept, np.ndarray):
                assert not np.shares_memory(kept, given)


@pytest.mark.parametrize("groups", [np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0])])
def test_a_masked_group_or_name_is_missing(groups: np.ma.MaskedArray[Any, Any]) -> None:
    assert "row 2 is missing" in refusal(lambda g: eh.ActionSet(GOOD, g), groups)
    assert "row 2 is missing" in refusal(lambda g: eh.ActionSet(GOOD, [0, 1, 0, 1], g), groups)
    assert "row 2 is missing" in refusal(lambda g: eh.ActionSet(GOOD, list(g)), groups)


def test_single_masked_numbers_are_refused() -> None:
    masked = np.ma.masked
    assert "omega" in refusal(lambda w: eh.BiasedLinearBandit(ACTIONS, [1.0, 1.0], w), masked)
    assert "noise_scale" in refusal(
        lambda s: eh.BiasedLinearBandit(ACTIONS, [1.0, 1.0], 0.1, s), masked
    )


def test_masked_points_are_not_verified() -> None:
    design = eh.g_optimal_design(GOOD)
    points = np.ma.array(GOOD, mask=np.eye(4, 2))
    assert "points[0, 0] is masked" in refusal(design.verify, points)


def test_masked_feedback_is_refused() -> None:
    sums = np.ma.array([1.0, 2.0], mask=[False, True])
    assert "sums[1] is masked" in refusal(lambda s: eh.Feedback([1, 1], s, [1.0, 4.0]), sums)


@pytest.mark.parametrize(
    "given",
    [
        [[1.0]],
        np.eye(2),
        None,
        3.0,
        "options.csv",
        pd.DataFrame({"x": [1.0, 2.0], "g": [0, 1]}),
        eh.BiasedLinearBandit(ACTIONS, [1.0, 1.0], 0.1),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_action_set_is_refused_at_every_door(given: object) -> None:
    doors: list[Door] = [
        eh.bias_geometry,
        eh.bias_optimal_design,
        lambda a: eh.delta_optimal_design(a, [0.0]),
        eh.minimax_design,
        lambda a: eh.kappa(a, [0.0]),
        lambda a: eh.BiasedLinearBandit(a, [1.0], 0.1),
        lambda a: limits.worst_case_upper(a, 1000.0),
        eh.inspect,
        *(
            lambda a, name=name: eh.policy(name, a, horizon=10)  # type: ignore[misc]
            for name in registered_policies()
            if name != "oracle"
        ),
        lambda a: eh.policy("oracle", a, horizon=10, omega=0.0),
        lambda a: eh.PricedExploration(a, 10),
        lambda a: eh.FairPhasedElimination(a, 10),
    ]
    for door in doors:
        message = refusal(door, given)
        assert f"actions must be an ActionSet; got a {type(given).__name__}" in message


def test_plain_values_are_written_read_and_checked() -> None:
    assert canonical({"b": [1, 0.5], "a": "é"}) == '{"a":"é","b":[1,0.5]}'
    assert decoded('{"a":[1,0.5]}') == {"a": [1, 0.5]}
    with pytest.raises(InputError, match="1e400 is too large"):
        decoded("[1e400]")
    assert shown("a" * 1000) == "'" + "a" * 39 + "…"
    ticket = Form({"number": int, "prices": list[float], "note?": str | None})
    ticket.check({"number": 3, "prices": [1, 0.5]})
    with pytest.raises(InputError, match=r"prices\.1: a number is needed; got '0\.5'\."):
        ticket.check({"number": 3, "prices": [1, "0.5"]})
