"""What is taken for granted about the options; constants, and options left to check with."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.assumptions import assumed, hardly_checked, spare_options, without_constant
from reference import exact_rank

MATRICES = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=2, max_size=7)
)


def alternating(features) -> eh.ActionSet:
    return eh.ActionSet(np.array(features, dtype=float), [i % 2 for i in range(len(features))])


@given(MATRICES, st.sampled_from([1.0, 0.1, 1e6]))
def test_a_constant_is_found_exactly_where_there_is_one(rows, unit) -> None:
    """By ranks in rational arithmetic: 1 = Xγ for some γ iff a column of ones adds no rank."""
    with_ones = [[*row, 1] for row in rows]
    there = exact_rank(rows) == exact_rank(with_ones)
    assert alternating(unit * np.array(rows, dtype=float)).has_constant == there


@given(MATRICES)
def test_spare_options_are_those_beyond_the_rank(rows) -> None:
    actions = alternating(rows)
    assert spare_options(actions) == len(rows) - exact_rank(actions.points)
    assert (hardly_checked(actions) is None) == (spare_options(actions) > 2)


@given(MATRICES)
def test_an_intercept_is_a_column_of_ones_before_the_features(rows) -> None:
    X, z = np.array(rows, dtype=float), [i % 2 for i in range(len(rows))]
    actions = eh.ActionSet(X, z, intercept=True)
    by_hand = eh.ActionSet(np.column_stack([np.ones(len(X)), X]), z)
    assert np.array_equal(actions.points, by_hand.points)
    assert actions.has_constant
    assert without_constant(actions) is None
    assert actions.feature_names == ("intercept", *(f"x{i + 1}" for i in range(X.shape[1])))
    assert actions == eh.ActionSet.from_dict(json.loads(json.dumps(actions.to_dict())))
    assert actions == pickle.loads(pickle.dumps(actions))


def test_an_intercept_is_the_same_for_arrays_and_tables() -> None:
    pd = pytest.importorskip("pandas")
    X, z = np.array([[0.2, 3.0], [0.9, 1.0], [0.5, 2.0]]), ["home", "away", "home"]
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(side=z)
    table = eh.ActionSet.from_table(frame, group="side", standardize=False)
    array = eh.ActionSet(X, z, feature_names=["u", "v"], attribute_names=["side"], intercept=True)
    assert array == table
    assert array.in_user_units([2.0, 0.5, 1.0]) == {"u": 0.5, "v": 1.0, "(constant)": 2.0}
    assert array.describe(1) == {"u": 0.9, "v": 1.0}


def test_an_intercept_beside_attributes_is_inspected_in_plain_units() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.random((9, 2)), rng.random((9, 2))
    actions = eh.ActionSet(X, attributes=Z, intercept=True)
    assert eh.inspect(actions, "z2").to_dict()["attributes"][0]["bias_of_one"] == (
        "evaluations rise by 1 with every 1 of z2"
    )
    assert eh.ActionSet.from_dict(json.loads(json.dumps(actions.to_dict()))) == actions


def test_a_feature_called_intercept_is_refused_beside_one() -> None:
    with pytest.raises(eh.InputError, match="'intercept'"):
        eh.ActionSet([[1.0], [2.0]], [0, 1], feature_names=["intercept"], intercept=True)


def test_without_a_constant_votes_are_misread_and_with_one_they_are_not() -> None:
    """What the sentence says: scores ½ ± ω of options whose features are 0 and ±1, noise-free.

    Values are ½ for all. Without a constant, least squares finds bias where there is none.
    """
    X, groups = [[0.0], [0.0], [1.0], [-1.0]], [1, 1, 1, -1]
    scores = np.full(4, 0.5)
    plain = np.linalg.lstsq(eh.ActionSet(X, groups).points, scores, rcond=None)[0]
    constant = eh.ActionSet(X, groups, intercept=True).points
    whole = np.linalg.lstsq(constant, scores, rcond=None)[0]
    assert plain[-1] > 0.3
    assert whole == pytest.approx([0.5, 0.0, 0.0], abs=1e-12)
    assert len(assumed(eh.ActionSet(X, groups))) > len(
        assumed(eh.ActionSet(X, groups, intercept=True))
    )


@given(st.integers(2, 4), st.integers(1, 4), st.data())
def test_questions_are_left_to_check_with_beyond_the_rank(k, e, data) -> None:
    """By ranks in rational arithmetic, of those questions that can be asked at all."""
    pairs = st.lists(st.booleans(), min_size=k * e, max_size=k * e).filter(any)
    there = np.array(data.draw(pairs))
    options = {f"o{x}": "ab"[x % 2] for x in range(k)}
    judges = {f"j{x}": "abc"[x % 3] for x in range(e)}
    asked = eh.Questions.panel(options, judges).restrict(there)
    rows = asked.points[there].astype(int).tolist()
    spare = len(rows) - exact_rank(rows)
    said = hardly_checked(asked)
    if spare > 2:
        assert said is None
        return
    assert spare_options(asked) == spare
    assert said.startswith(
        "No evaluations" if spare == 0 else "Evaluations can hardly check that here: "
    )
    assert f"{len(rows)} questions are " in said
