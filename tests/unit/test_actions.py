"""Action sets from arrays: what they hold, what they refuse, how they behave as values."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from evenhand.actions import ActionSet
from evenhand.errors import InputError

X = np.array([[1.0, 0.2], [1.0, 0.9], [1.0, 0.5]])


def refusal(*arguments: Any, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        ActionSet(*arguments, **more)
    return str(caught.value)


def test_points_are_features_then_groups_in_one_matrix() -> None:
    actions = ActionSet(X, ["home", "away", "home"])
    assert actions.points.tolist() == [[1, 0.2, 1], [1, 0.9, -1], [1, 0.5, 1]]
    assert actions.points.flags.c_contiguous
    assert actions.points.dtype == np.float64
    assert np.shares_memory(actions.features, actions.points)
    assert np.shares_memory(actions.attributes, actions.points)
    assert (len(actions), actions.n_actions, actions.n_features, actions.n_attributes) == (
        3,
        3,
        2,
        1,
    )
    assert actions.group_names == ("away", "home")
    assert actions.groups.dtype == np.int8
    assert (actions.feature_names, actions.attribute_names) == (("x1", "x2"), ("group",))
    assert actions.encoding is None


def test_nothing_can_be_changed() -> None:
    given = X.copy()
    actions = ActionSet(given, [0, 1, 0])
    for array in (actions.points, actions.features, actions.attributes, actions.groups):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    with pytest.raises(FrozenInstanceError):
        actions.n_features = 1
    given[0, 0] = 99  # the user's own array stays the user's own
    assert given.flags.writeable
    assert actions.features[0, 0] == 1


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([-1, 1, -1], ("-1", "1")),
        ([1, 0, 0], ("0", "1")),
        ([1.0, 0.0, 1.0], ("0", "1")),
        ([True, False, True], ("False", "True")),
        (["-1", "+1", "-1"], ("-1", "+1")),
        ([9, 10, 9], ("9", "10")),
        (np.array(["b", "a", "a"]), ("a", "b")),
        (np.array(["b", "a", "a"], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", "a"]), ("a", "b")),
        (pl.Series(["b", "a", "a"]), ("a", "b")),
        (pd.Categorical(["b", "a", "a"]), ("a", "b")),
        ((1, "one", 1), ("1", "one")),
    ],
)
def test_groups_under_any_labels(groups: Any, names: tuple[str, str]) -> None:
    actions = ActionSet(X, groups)
    assert actions.group_names == names
    labels = [str(int(g)) if isinstance(g, float) else str(g) for g in groups]
    assert actions.groups.tolist() == [1 if label == names[1] else -1 for label in labels]


@pytest.mark.parametrize(
    ("groups", "positive"), [([0, 1, 1], 0), ([0.0, 1.0, 1.0], 0), (["0", "1", "1"], 0.0)]
)
def test_positive_is_settable(groups: list[Any], positive: object) -> None:
    actions = ActionSet(X, groups, positive=positive)
    assert actions.groups.tolist() == [1, -1, -1]
    assert actions.group_names == ("1", "0")


def test_attributes_of_any_number() -> None:
    Z = [[0.5, 1], [0.25, 2], [0.125, 3]]
    actions = ActionSet(X, attributes=Z, attribute_names=["age", "judge"])
    assert actions.attributes.tolist() == Z
    assert actions.n_attributes == 2
    assert actions.group_names is None
    with pytest.raises(InputError, match="'age', 'judge', not two groups"):
        _ = actions.groups
    assert ActionSet([[2.0]], attributes=[[1.0]]).n_actions == 1


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_any_real_type_is_taken(dtype: type) -> None:
    x: Any = np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype, order="F")
    assert np.array_equal(ActionSet(x, [0, 1, 0]).features, x)


@pytest.mark.parametrize(
    ("features", "parts"),
    [
        ([[1.0, 2.0], [np.nan, 1.0], [1.0, 1.0]], ["features[1, 0] ('x1') is nan", "Fill it in"]),
        ([[1.0, 2.0], [1.0, 1.0], [1.0, -np.inf]], ["features[2, 1] ('x2') is -inf"]),
        ([[1, 2], [1, "a"], [3, 4]], ["features[1, 1] is 'a'", "not a number", "from_table"]),
        ([[1, 2], [3], [4, 5]], ["row 1 has 1 numbers, row 0 has 2"]),
        ([[1, 2], 3, [4, 5]], ["row 1 has 1 numbers"]),
        ([[1, None], [2, 3], [4, 5]], ["features[0, 1] is None", "not a number"]),
        (np.ones((3, 2), dtype=object), ["type object", "dtype=float"]),
        (np.ones((3, 2), dtype=complex), ["complex", ".real"]),
        ([1.0, 2.0, 3.0], ["two dimensions", "not 1", "reshape(-1, 1)"]),
        (np.ones((3, 2, 1)), ["two dimensions", "(3, 2, 1)"]),
        (np.ones((3, 0)), ["(3, 0)", "one column"]),
        (np.ones((0, 3)), ["(0, 3)", "at least one option"]),
    ],
)
def test_bad_features_are_named(features: object, parts: list[str]) -> None:
    message = refusal(features, [0, 1, 0])
    for part in ["features", *parts]:
        assert part in message


def test_bad_numbers_are_found_in_any_block() -> None:
    x = np.zeros((200_000, 2))
    x[199_999, 1] = np.inf
    assert "features[199999, 1]" in refusal(x, attributes=x[:, :1])
    message = refusal(x[:, :1], attributes=x, attribute_names=["a", "b"])
    assert "attributes[199999, 1] ('b') is inf" in message


@pytest.mark.parametrize(
    ("groups", "parts"),
    [
        ([1, 1, 1], ["one group only, '1' (3 options)"]),
        (["a", "b", "c"], ["3 groups", "'a' (1), 'b' (1), 'c' (1)", "attributes="]),
        (["a", None, "b"], ["row 1 is missing"]),
        ([1.0, 0.0, np.nan], ["row 2 is missing"]),
        (["a", "", "b"], ["row 1 is missing or empty"]),
        ([0, 1], ["2 entries, features has 3 rows"]),
        (np.array([[0], [1], [0]]), ["one dimension", "(3, 1)", "ravel"]),
        ("aba", ["single text 'aba'"]),
        (5, ["one value per option, not 5"]),
    ],
)
def test_bad_groups_are_named(groups: Any, parts: list[str]) -> None:
    message = refusal(X, groups)
    for part in ["groups", *parts]:
        assert part in message


def test_groups_are_counted_over_all_blocks() -> None:
    groups = np.zeros(200_000, dtype=int)
    groups[150_000:] = 1
    actions = ActionSet(np.ones((200_000, 1)), groups)
    assert np.array_equal(actions.groups, 2 * groups - 1)
    groups[-1] = 2
    message = refusal(np.ones((200_000, 1)), groups)
    assert "'0' (150000), '1' (49999), '2' (1)" in message


def test_names_are_not_taken_for_groups() -> None:
    message = refusal(np.ones((2000, 1)), np.arange(2000))
    assert "groups has more than 1000 different values, such as '0', '1', '2'" in message


def test_one_option_has_one_group() -> None:
    assert "one group only" in refusal([[1.0]], ["a"])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"positive": 1}, "no groups were given"),
        ({"groups": [0, 1, 0], "attributes": [[1], [2], [3]]}, "both given"),
        ({"attributes": [[1], [2]]}, "attributes has 2 entries, features has 3 rows"),
        ({"attributes": [1, 2, 3]}, "attributes must be a matrix with two dimensions"),
        ({"attributes": [[1], [2], [3]], "positive": 1}, "positive=1"),
        ({"groups": [0, 1, 0], "positive": "b"}, "'b'"),
        ({"groups": [0, 1, 0], "labels": ["a", "b"]}, "labels has 2 entries"),
        ({"groups": [0, 1, 0], "labels": ["a", "b", "a"]}, "'a' stands in 2 rows (0, 2)"),
        ({"groups": [0, 1, 0], "labels": ["a", "", "c"]}, "labels: row 1 is missing or empty"),
        ({"groups": [0, 1, 0], "labels": "abc"}, "single text"),
        ({"groups": [0, 1, 0], "feature_names": ["a"]}, "1 names, there are 2 columns"),
        ({"groups": [0, 1, 0], "feature_names": ["a", "a"]}, "'a' more than once"),
        ({"groups": [0, 1, 0], "feature_names": "ab"}, "list of names"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], part: str) -> None:
    assert part in refusal(X, **arguments)


def test_labels_of_any_kind_become_names() -> None:
    assert ActionSet(X, [0, 1, 0], labels=[7, 8, 9]).labels == ["7", "8", "9"]
    assert ActionSet(X, [0, 1, 0], labels=np.array(["é", "b", "c"])).labels[0] == "é"
    assert ActionSet(X, [0, 1, 0], labels=pd.Series(["p", "q", "r"])).labels[-1] == "r"


def test_names_are_a_sequence() -> None:
    given = ActionSet(X, [0, 1, 0], labels=["a", "b", "c"]).labels
    assert list(given) == ["a", "b", "c"]
    assert list(given[1:]) == ["b", "c"]
    assert list(reversed(given)) == ["c", "b", "a"]
    assert given == ("a", "b", "c")
    assert given != ("a", "b")
    assert given.index("c") == 2
    assert "z" not in given
    assert 3 not in given
    assert hash(given) == hash(ActionSet(X, [0, 1, 0], labels=("a", "b", "c")).labels)
    assert hash(given) == hash(("a", "b", "c"))
    numbered = ActionSet(X, [0, 1, 0]).labels
    assert list(numbered[::-1]) == ["option 3", "option 2", "option 1"]
    assert numbered == ActionSet(X, [0, 1, 0], labels=list(numbered)).labels
    assert repr(numbered) == "Names('option 1', 'option 2', 'option 3')"


def test_sets_are_equal_by_content() -> None:
    actions = ActionSet(X, [0, 1, 0])
    assert actions == ActionSet(X.tolist(), ["0", "1", "0"])
    assert hash(actions) == hash(ActionSet(X.tolist(), ["0", "1", "0"]))
    assert actions != ActionSet(X, [0, 1, 0], positive=0)
    assert actions != ActionSet(X, [0, 1, 1])
    assert actions != ActionSet(X + 1e-9, [0, 1, 0])
    assert actions != ActionSet(X, [0, 1, 0], labels=list("abc"))
    assert actions != ActionSet(X, [0, 1, 0], feature_names=["a", "b"])
    assert actions != ActionSet(X, attributes=actions.attributes, attribute_names=["group"])
    assert actions != "actions"
    frame = pl.DataFrame({"g": [0, 1, 0], "x": [1.0, 2.0, 4.0]})
    metres, raw = (
        ActionSet.from_table(frame.with_columns(pl.col("x") * unit), group="g") for unit in (1, 8)
    )
    assert np.array_equal(metres.points, raw.points)
    assert metres != raw  # the same numbers, but not in the same units
    zero = ActionSet([[0.0], [1.0]], [0, 1])
    assert zero == ActionSet([[-0.0], [1.0]], [0, 1])
    assert hash(zero) == hash(ActionSet([[-0.0], [1.0]], [0, 1]))


def test_copies_are_equal_and_as_frozen() -> None:
    frame = pd.DataFrame({"n": list("abc"), "g": ["u", "v", "u"], "x": [1, 2, 4]})
    for actions in (
        ActionSet(X, [0, 1, 0]),
        ActionSet.from_table(frame, group="g", label="n"),
    ):
        for other in (pickle.loads(pickle.dumps(actions)), copy.deepcopy(actions)):
            assert other == actions
            assert hash(other) == hash(actions)
            assert not other.points.flags.writeable
            assert other.describe(0) == actions.describe(0)


def test_identity_units_for_arrays() -> None:
    actions = ActionSet(X, [0, 1, 0], labels=list("abc"), feature_names=["one", "age"])
    assert actions.in_user_units([2, -1]) == {"one": 2.0, "age": -1.0}
    assert actions.describe("b") == actions.describe(1) == {"one": 1.0, "age": 0.9}
    with pytest.raises(InputError, match=r"shape \(2,\).*\(3,\)"):
        actions.in_user_units([1, 2, 3])
    with pytest.raises(InputError, match="no option 'z'"):
        actions.describe("z")
    with pytest.raises(InputError, match="from 0 to 2"):
        actions.describe(3)
    for wrong in (True, 1.0, None):
        with pytest.raises(InputError, match="named or numbered"):
            actions.describe(wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_the_representation_is_short() -> None:
    actions = ActionSet(np.ones((1000, 50)) * np.arange(50), [0, 1] * 500)
    assert repr(actions) == (
        "ActionSet(1000 options, 50 features: x1, x2, x3, x4, …; groups '0' (500) and '1' (500))"
    )
    assert repr(ActionSet(X, attributes=X)) == (
        "ActionSet(3 options, 2 features: x1, x2; attributes: z1, z2)"
    )
