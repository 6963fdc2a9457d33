"""The verdict: its numbers hold on the user's own table, and its words follow from them."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.geometry.bias import separating_hyperplane, varying_features
from evenhand.geometry.sections import grade
from evenhand.tables import linear_rule
from reference import elfving_value

TABLE = """name,side,age,income,city
Ann,home,31,20,Lyon
Bo,away,45,35,Paris
Cy,away,52,28,Lyon
Di,home,28,31,Paris
Ed,away,39,44,Nice
Flo,home,35,24,Nice
Gus,away,61,40,Paris
Hal,away,47,52,Lyon
"""


def family(kappa: float) -> eh.ActionSet:
    """The paper's three options in the plane, with κ_* = kappa."""
    third = -(1 - 2 / (math.sqrt(kappa) + 1))
    return eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [third, 0.0]],
        ["home", "away", "away"],
        labels=["x1", "x2", "x3"],
    )


def table_actions(**choices: object) -> eh.ActionSet:
    return eh.ActionSet.from_table(
        io.StringIO(TABLE), group="side", label="name", positive="home", **choices
    )  # type: ignore[arg-type]  # choices are checked by from_table


def on_every_row(terms: dict[str, float]) -> dict[str, float]:
    """Evaluate a linear function of the user's columns on the table as the user wrote it."""
    result = {}
    for row in csv.DictReader(io.StringIO(TABLE)):
        total = terms.get("(constant)", 0.0)
        for name, value in terms.items():
            column, _, category = name.partition("=")
            if category:
                total += value * (row[column] == category)
            elif name != "(constant)":
                total += value * float(row[column])
        result[row["name"]] = total
    return result


def signs() -> dict[str, int]:
    rows = csv.DictReader(io.StringIO(TABLE))
    return {row["name"]: 1 if row["side"] == "home" else -1 for row in rows}


@pytest.mark.parametrize("standardize", [True, False])
def test_the_hyperplane_holds_on_the_users_table(standardize: bool) -> None:
    found = eh.inspect(table_actions(standardize=standardize)).bias
    assert found.hyperplane is not None
    assert found.geometry.kappa_star > 1.1
    distance = on_every_row(found.hyperplane_in_user_units)
    sides = signs()
    own_side = [sides[name] * value for name, value in distance.items()]
    assert min(own_side) == pytest.approx(found.hyperplane.margin, rel=1e-9)
    assert max(own_side) == pytest.approx(found.hyperplane.radius, rel=1e-9)
    root = math.sqrt(found.geometry.kappa_star)
    ratio = found.hyperplane.margin / found.hyperplane.radius
    assert ratio == pytest.approx((root - 1) / (root + 1), rel=1e-9)


def test_units_change_neither_the_price_nor_what_matters() -> None:
    standard = eh.inspect(table_actions(standardize=True)).bias
    plain = eh.inspect(table_actions(standardize=False)).bias
    assert plain.geometry.kappa_star == pytest.approx(standard.geometry.kappa_star, rel=1e-9)
    assert plain.hyperplane is not None
    assert standard.hyperplane is not None
    np.testing.assert_allclose(
        plain.hyperplane.importance, standard.hyperplane.importance, atol=1e-9
    )
    assert plain.hyperplane.importance.sum() == pytest.approx(1.0)
    assert plain.hyperplane.importance[0] == 0.0  # an intercept tells nobody apart


def test_the_most_important_feature_comes_first() -> None:
    found = eh.inspect(table_actions()).bias
    assert found.hyperplane is not None
    names = [name for name in found.hyperplane_in_user_units if name != "(constant)"]
    importance = dict(
        zip(found.geometry.actions.feature_names, found.hyperplane.importance, strict=True)
    )
    assert names[0] == max(importance, key=lambda name: importance[name])
    assert [importance[name] for name in names] == sorted(importance.values(), reverse=True)[:-1]


def test_a_stranger_can_check_the_certificate_on_the_table() -> None:
    found = eh.inspect(table_actions()).bias
    certificate = eh.inspect(table_actions()).to_dict()["certificate"]
    value = on_every_row(certificate["features"])
    sides = signs()
    for name, x in value.items():
        assert abs(x + sides[name] * certificate["group"]) <= 1 + 1e-9
    assert certificate["group"] ** 2 == pytest.approx(found.geometry.kappa_star, rel=1e-9)


def variance_of_the_bias(actions: eh.ActionSet, counts: dict[str, int]) -> float:
    n = np.array([counts.get(name, 0) for name in actions.labels], dtype=float)
    V = actions.points.T @ (n[:, None] * actions.points)
    return float(np.linalg.pinv(V, hermitian=True)[-1, -1])


@pytest.mark.parametrize("precision", [0.05, 0.5, 2.0])
def test_the_evaluations_bought_reach_the_precision_asked_for(precision: float) -> None:
    actions = family(9.0)
    found = eh.inspect(actions, precision=precision).bias
    assert found.evaluations == math.ceil(9 * (1.959963984540054 / precision) ** 2 - 1e-6)
    counts = {item.option: item.evaluations or 0 for item in found.design}
    half_width = 1.959963984540054 * math.sqrt(variance_of_the_bias(actions, counts))
    assert half_width <= precision * (1 + 1e-9)
    # rounding up adds less than one evaluation per option
    assert found.evaluations <= sum(counts.values()) < found.evaluations + len(counts)


def test_a_number_of_evaluations_says_what_precision_it_buys() -> None:
    found = eh.inspect(family(9.0), evaluations=900).bias
    assert {item.option: item.evaluations for item in found.design} == {"x3": 600, "x1": 300}
    counts = {item.option: item.evaluations or 0 for item in found.design}
    deviation = math.sqrt(variance_of_the_bias(family(9.0), counts))
    assert found.precision == pytest.approx(1.959963984540054 * deviation, rel=1e-9)


def test_the_design_lists_the_heaviest_first_in_the_users_words() -> None:
    found = eh.inspect(table_actions()).bias
    shares = [item.share for item in found.design]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(TABLE))}
    for item in found.design:
        assert item.group == rows[item.option]["side"]
        assert item.features["city"] == rows[item.option]["city"]
        assert item.features["age"] == pytest.approx(float(rows[item.option]["age"]))


@pytest.mark.parametrize("kappa", [1.0, 1.0001, 9.0, 1e6, 1e9, 1e12])
def test_the_dictionary_is_json_without_nan_at_any_price(kappa: float) -> None:
    found = eh.inspect(family(kappa))
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["kappa_star"] == pytest.approx(kappa, rel=1e-6)
    assert values["separable"] == (kappa > 1)
    assert values["rank"] == values["dimension"] == 3


def test_grades_rise_with_the_price_and_speak_of_it() -> None:
    prices = [1.0, 1.5, 5.0, 200.0, 1e6]
    found = [eh.inspect(family(price)) for price in prices]
    assert [grade(item.bias.kappa_star) for item in found] == [
        "easiest",
        "easy",
        "moderate",
        "hard",
        "hopeless",
    ]
    said = [" ".join(str(item).split()) for item in found]
    assert len({text.split(".")[0] for text in said}) == 5
    assert "No hyperplane through 0 separates home from away" in said[0]
    assert "κ* = 200" in said[3]
    assert "about 77 evaluations" in said[2]  # 5·(1.96/0.5)²


def test_a_rank_below_the_dimension_is_told() -> None:
    X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [3.0, 6.0]])
    found = eh.inspect(eh.ActionSet(X, ["a", "b", "a", "b"]))
    assert (found.rank, found.dimension) == (2, 3)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"precision": 0.0}, "precision is 0"),
        ({"precision": -1.0}, "precision is -1"),
        ({"precision": math.nan}, "precision is nan"),
        ({"evaluations": 0}, "evaluations is 0"),
        ({"evaluations": 10**16}, "from 1 to 1e+15"),
        ({"precision": 1.0, "evaluations": 5}, "give one"),
    ],
)
def test_impossible_wishes_are_refused(wishes: dict[str, float], said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.inspect(family(4.0), **wishes)  # type: ignore[arg-type]  # bad on purpose
    assert said in str(caught.value)


@pytest.mark.parametrize("attribute", ["side=home", "age"])
def test_each_attribute_has_a_bias_of_its_own(attribute: str) -> None:
    actions = eh.ActionSet.from_table(
        io.StringIO(TABLE), label="name", attributes=["side", "age"], features=["income"]
    )
    whole = eh.inspect(actions, attribute, precision=0.25)
    assert whole.group_sizes == {}
    inspection = whole.bias
    assert inspection.name == attribute
    assert inspection.hyperplane is None
    direction = np.eye(4)[2 + actions.attribute_names.index(attribute)]
    exact = elfving_value(actions.points, direction)
    assert inspection.geometry.kappa_star == pytest.approx(exact.kappa, rel=1e-9)
    # what is bought is as precise as was asked for: ω̂ ± 1.96 √(cᵀ V⁻¹ c)
    counts = np.zeros(len(actions))
    for purchase in inspection.design:
        assert purchase.group is None
        counts[actions.labels.index(purchase.option)] = purchase.evaluations or 0
    V = actions.points.T @ (counts[:, None] * actions.points)
    variance = direction @ np.linalg.pinv(V, hermitian=True) @ direction
    assert 1.959963984540054 * math.sqrt(variance) <= 0.25 * (1 + 1e-9)


def test_the_certificate_of_an_attribute_can_be_checked() -> None:
    actions = eh.ActionSet.from_table(
        io.StringIO(TABLE), label="name", attributes=["side", "age"], features=["income"]
    )
    (found,) = json.loads(json.dumps(eh.inspect(actions, "age").to_dict(), allow_nan=False))[
        "attributes"
    ]
    certificate = found["certificate"]
    along = on_every_row(certificate["features"])
    z = actions.attributes @ [certificate["attributes"][name] for name in actions.attribute_names]
    assert np.abs(np.array(list(along.values())) + z).max() <= 1 + 1e-9
    assert certificate["attributes"]["age"] ** 2 == pytest.approx(found["proven_bound"])
    for nothing in ("grade", "separable", "margin", "radius", "margin_over_radius", "hyperplane"):
        assert found[nothing] is None
    assert found["groups"] == []


def test_what_a_bias_of_one_means_is_in_the_users_units() -> None:
    def meanings(**choices: object) -> list[str]:
        actions = eh.ActionSet.from_table(
            io.StringIO(TABLE), attributes=["city", "age"], features=["income"], **choices
        )  # type: ignore[arg-type]  # choices are checked by from_table
        return [one["bias_of_one"] for one in eh.inspect(actions).to_dict()["attributes"]]

    spread = np.array([31.0, 45, 52, 28, 39, 35, 61, 47]).std()
    assert meanings() == [
        "evaluations are higher by 1 where city is Nice instead of Lyon",
        "evaluations are higher by 1 where city is Paris instead of Lyon",
        f"evaluations rise by 1 with every {spread:.4g} of age (a standard deviation)",
    ]
    assert meanings(standardize=False)[-1] == "evaluations rise by 1 with every 1 of age"


def test_a_bias_is_told_where_that_of_another_attribute_cannot_be() -> None:
    # z2 is a constant like the feature: its bias is no bias
    actions = eh.ActionSet([[1.0], [1.0], [1.0]], attributes=[[0.0, 2.0], [1.0, 2.0], [3.0, 2.0]])
    # known at 0 and 3: κ_* = (2/3)²
    inspection = eh.inspect(actions, "z1").bias
    assert inspection.geometry.kappa_star == pytest.approx(4 / 9)
    both = eh.inspect(actions)
    assert [bias.identifiable for bias in both.biases] == [True, False]
    assert not both.identifiable
    assert "No: the bias of z2 cannot be estimated" in " ".join(str(both).split())
    assert both.to_dict()["attributes"][1]["identifiable"] is False
    with pytest.raises(eh.InputError, match=r"see \.biases"):
        _ = both.bias


def test_distances_are_taken_where_options_differ() -> None:
    # away stands at 0 and 1, home at 3 and 4: the hyperplane is at 2
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 4.0]])
    actions = eh.ActionSet(X, ["away", "away", "home", "home"])
    assert varying_features(actions).tolist() == [False, True]
    plane = separating_hyperplane(eh.bias_geometry(actions))
    assert plane is not None
    np.testing.assert_allclose(plane.normal, [-2.0, 1.0], atol=1e-12)
    assert (plane.margin, plane.radius) == pytest.approx((1.0, 2.0))


def test_no_hyperplane_no_distances() -> None:
    mixed = eh.ActionSet([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], ["a", "b", "a"])
    assert separating_hyperplane(eh.bias_geometry(mixed)) is None
    found = eh.inspect(mixed)
    said = found.to_dict()["verdict"]
    assert "No hyperplane separates b from a" in said  # an intercept: not through 0 only
    assert found.bias.hyperplane_in_user_units == {}
    assert found.to_dict()["hyperplane"] is None


def test_long_rules_are_cut() -> None:
    terms = {f"x{i}": float(i) for i in range(1, 30)}
    assert linear_rule(terms, most=2) == "x1 + 2·x2 + …"
    assert linear_rule({"x1": 0.0}) == "0"
