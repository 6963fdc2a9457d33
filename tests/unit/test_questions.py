"""Questions: rows by hand, every way to give names and numbers, plain values, and refusals."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.questions import UNLIMITED, Column, limited, with_exact_features
from panels import panels

OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "us"}
JUDGES = {"P": "fr", "Q": "it"}


def panel(**more: Any) -> eh.Questions:
    return eh.Questions.panel(OPTIONS, JUDGES, **more)


def test_the_rows_of_a_panel_are_those_of_the_formula() -> None:
    """y = v_o + s_e + β_. p_oe, written out pair by pair."""
    item = {name: i for i, name in enumerate(OPTIONS)}
    for bias, names in (
        ("common", ["own group"]),
        ("evaluator", ["own group of P", "own group of Q"]),
        ("group", ["own group fr", "own group it"]),
    ):
        questions = panel(bias=bias)
        assert questions.attribute_names == (*names, "Q")
        for o, group in OPTIONS.items():
            for e, side in JUDGES.items():
                row = np.zeros(3 + len(names) + 1)
                row[item[o]] = 1.0
                which = {"common": 0, "evaluator": "PQ".index(e), "group": int(side == "it")}
                row[3 + which[bias]] = float(group == side)
                row[-1] = float(e == "Q")
                (place,) = questions.find([o], e)
                assert questions.label(place) == f"{o} by {e}"
                assert questions.points[place].tolist() == row.tolist()
                assert questions.about[place].tolist() == [item[o], -1]
        assert questions.options.labels == ("Ann", "Bo", "Cy")


def test_names_come_in_many_ways_and_mean_the_same() -> None:
    frame = pd.DataFrame({"name": list(OPTIONS), "group": list(OPTIONS.values())})
    judges = pl.DataFrame({"group": list(JUDGES.values()), "judge": list(JUDGES)})
    assert eh.Questions.panel(frame, judges) == panel()
    side = {"Ann": "home", "Bo": "away", "Cy": "away"}
    actions = eh.ActionSet([[1.0], [2.0], [4.0]], list(side.values()), list(side))
    by_actions = eh.Questions.panel(actions, {"P": "home", "Q": "away"})
    alone = eh.Questions.panel(side, {"P": "home", "Q": "away"})
    np.testing.assert_array_equal(by_actions.points, alone.points)
    listed = eh.Questions.panel(np.array(["Ann", "Bo"]), ("P", 2), partial=None, prices={2: 7.0})
    assert listed.prices.tolist() == [1.0, 7.0] * 2
    assert (listed.options.labels, listed.evaluators) == (("Ann", "Bo"), ("P", "2"))
    assert listed.n_attributes == 1  # leniency alone


def test_numbers_of_pairs_come_in_many_ways_and_mean_the_same() -> None:
    by_hand = np.array([[1.0, 20.0], [1.0, 20.0], [3.0, 20.0]])
    labelled = pd.DataFrame(by_hand, index=list(OPTIONS), columns=list(JUDGES))
    column = labelled.reset_index(names="skater")
    for given_prices in (
        by_hand,
        labelled,
        column,
        pl.from_pandas(column)[::-1],
        {"Q": 20.0, ("Cy", "P"): 3},
    ):
        np.testing.assert_array_equal(panel(prices=given_prices).prices, by_hand.ravel())
    np.testing.assert_array_equal(panel(prices=[1.0, 20.0]).prices, np.tile([1.0, 20.0], 3))
    assert panel(prices=2).prices.tolist() == [2.0] * 6
    assert panel(workload={"Q": 2}).workload.tolist() == [UNLIMITED, 2]
    assert panel(capacity=None).capacity.tolist() == [UNLIMITED] * 6
    assert panel(capacity={("Ann", "Q"): 0}).capacity.tolist() == [1, 0, 1, 1, 1, 1]
    same = [[1, 0], [0, 1], [0, 0]]
    for partial in (same, pd.DataFrame(same, index=list(OPTIONS), columns=list(JUDGES))):
        assert panel(partial=partial) == panel()
    half = panel(partial={("Cy", "P"): 0.5})
    assert half.points[:, 3].tolist() == [0, 0, 0, 0, 0.5, 0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"options": ["Ann"]}, "one option only, 'Ann'"),
        ({"options": []}, "options is empty"),
        ({"options": "Ann"}, "options must be names"),
        ({"options": ["Ann", "Ann"]}, "options: the name 'Ann' stands in 2 rows"),
        ({"options": ["Ann", None]}, "options: row 1 is missing"),
        ({"evaluators": ["P", "Q"]}, "options have groups and evaluators have none"),
        ({"options": ["Ann", "Bo"]}, "evaluators have groups and options have none"),
        ({"partial": "own"}, "partial must be 'same group'"),
        ({"partial": [[1, 0], [0, np.nan], [0, 0]]}, r"partial\[1, 1\] \('Q'\) is nan"),
        ({"partial": [[1, 0]]}, "3 items × 2 evaluators"),
        ({"partial": pd.DataFrame({"n": ["Di"], "P": [1.0]})}, "'Di' is neither an item"),
        ({"bias": "own"}, "bias must be"),
        ({"prices": -1.0}, r"prices must be larger than 0; prices\[0\] is -1"),
        ({"prices": {"R": 2.0}}, "'R' is no evaluator"),
        ({"prices": {"P": "dear"}}, "prices of 'P' must be a number"),
        ({"prices": [1.0, 2.0, 3.0]}, "one for each of 2 evaluators"),
        ({"noise": [0.0, 1.0]}, r"noise\[0\] is 0"),
        ({"capacity": 1.5}, r"capacity must be whole numbers ≥ 0"),
        ({"capacity": -1}, r"capacity\[0\] is -1"),
        ({"workload": {"P": -2}}, r"workload\[0\] is -2"),
    ],
)
def test_a_panel_that_cannot_be_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    arguments = {"options": OPTIONS, "evaluators": JUDGES} | wrong
    options, evaluators = arguments.pop("options"), arguments.pop("evaluators")
    with pytest.raises(eh.InputError, match=words):
        eh.Questions.panel(options, evaluators, **arguments)


def test_a_bias_for_each_group_needs_groups() -> None:
    with pytest.raises(eh.InputError, match="needs the groups of all options"):
        eh.Questions.panel(["a", "b"], ["P"], partial=[[1], [0]], bias="group")


def test_exact_features_replace_the_dummies_and_nothing_else() -> None:
    X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    questions = panel(partial=[[1, 0], [0, 1], [0, 0]])
    exact = with_exact_features(questions, X)
    assert exact.feature_names == ("intercept", "x1", "x2")
    gamma = np.array([0.5, -1.0, 2.0])
    values = np.column_stack([np.ones(3), X]) @ gamma
    np.testing.assert_allclose(exact.options.features @ gamma, values)
    attributes = np.array([0.3, -0.4])
    np.testing.assert_allclose(
        exact.points @ np.concatenate([gamma, attributes]),
        questions.points @ np.concatenate([values, attributes]),
    )
    assert not exact.options.stand_alone
    constant = np.column_stack([X, np.full(3, 2.0)])
    named = with_exact_features(questions, constant, ["a", "b", "one"])
    assert named.feature_names == ("a", "b", "one")
    with pytest.raises(eh.InputError, match="have features already"):
        with_exact_features(exact, X)
    with pytest.raises(eh.InputError, match="features"):
        with_exact_features(panel(), X[:2])


def test_the_rows_of_comparisons_are_those_of_the_formula() -> None:
    options = {"Ann": "x", "Bo": "y", "Cy": None}
    questions = eh.Questions.comparisons(options, {"J": "x", "K": "y"}, prices={"K": 3.0})
    names = ("own family of J", "own family of K", "first by J", "first by K")
    assert questions.attribute_names == names
    assert [column.kind for column in questions.columns] == ["bias"] * 2 + ["position"] * 2
    assert len(questions) == 3 * 2 * 2
    for (a, one), (b, other) in itertools.permutations(options.items(), 2):
        for j, judge in enumerate("JK"):
            row = np.zeros(7)
            row[[list(options).index(a), list(options).index(b)]] = 1.0, -1.0
            row[3 + j] = float(one == "xy"[j]) - float(other == "xy"[j])
            row[5 + j] = 1.0
            (place,) = questions.find([(a, b)], judge)
            assert questions.points[place].tolist() == row.tolist()
            assert questions.prices[place] == (1.0, 3.0)[j]
    assert not limited(questions)


def identified(A: np.ndarray, vector: np.ndarray) -> bool:
    """Whether a vector lies in the row space, by rank."""
    return np.linalg.matrix_rank(np.vstack([A, vector])) == np.linalg.matrix_rank(A)


@given(
    st.lists(st.sampled_from(["x", "y", "z", None]), min_size=2, max_size=5),
    st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=3),
)
def test_judges_have_a_favour_of_their_own_exactly_where_verdicts_tell_it(
    families: list[str | None], judges: list[str | None]
) -> None:
    options = {f"o{i}": family for i, family in enumerate(families)}
    panel_of_judges = {f"j{i}": family for i, family in enumerate(judges)}
    made = eh.Questions.comparisons(options, panel_of_judges)
    each = eh.Questions.comparisons(options, panel_of_judges, bias="judge")
    d = each.n_features
    unit = np.eye(each.points.shape[1])
    told = all(
        identified(each.points, unit[d + j])
        for j, column in enumerate(each.columns)
        if column.kind == "bias"
    )
    common = eh.Questions.comparisons(options, panel_of_judges, bias="common")
    assert made == (each if told else common)


def test_how_verdicts_are_written_changes_leads_by_their_scale_only() -> None:
    rng = np.random.default_rng(3)
    questions = eh.Questions.comparisons(["a", "b", "c", "d"], ["J", "K"])
    signs = rng.integers(-1, 2, len(questions))  # −1, 0, 1
    leads = [
        np.linalg.lstsq(questions.points, verdicts, rcond=None)[0][:4]
        for verdicts in (signs, (signs + 1) / 2)
    ]
    one, other = (lead - lead[0] for lead in leads)
    np.testing.assert_allclose(one, 2 * other, atol=1e-12)
    assert np.abs(one).max() > 0.1


def test_comparisons_of_nothing_are_refused() -> None:
    without = eh.Questions.comparisons(["Ann", "Bo"], ["J"], position=False)
    assert without.n_attributes == 0
    with pytest.raises(eh.InputError, match="one option only"):
        eh.Questions.comparisons(["Ann"], ["J"])
    with pytest.raises(eh.InputError, match="bias must be"):
        eh.Questions.comparisons(["Ann", "Bo"], ["J"], bias="group")  # type: ignore[arg-type]


def scores() -> pd.DataFrame:
    pairs = [("Ann", "P"), ("Ann", "Q"), ("Bo", "P"), ("Cy", "Q"), ("Ann", "P")]
    return pd.DataFrame(
        {
            "skater": [o for o, _ in pairs],
            "judge": [e for _, e in pairs],
            "nation": [OPTIONS[o] for o, _ in pairs],
            "from": [JUDGES[e] for _, e in pairs],
            "score": [7.0, 6.5, 8.0, 5.0, 7.5],
        }
    )


def test_a_table_of_scores_shows_its_panel(tmp_path: Any) -> None:
    names = {"option": "skater", "evaluator": "judge", "score": "score"}
    groups = {"option_group": "nation", "evaluator_group": "from"}
    found = eh.Questions.from_scores(scores(), columns=names | groups)
    assert found == panel()
    path = tmp_path / "scores.csv"
    scores().to_csv(path, index=False)
    assert eh.Questions.from_scores(path, columns=names | groups) == panel()
    seen = eh.Questions.from_scores(
        scores(), columns=names | groups, only_seen=True, prices=[1.0, 2.0]
    )
    assert seen.capacity.tolist() == [1, 1, 1, 0, 0, 1]
    assert seen.prices.tolist() == [1.0, 2.0] * 3


@pytest.mark.parametrize(("options", "evaluators"), [
    (["Ann", "ANN"], ["P"]), (["Ann", "Bo"], ["P", "p."]),
    ({"Ann": "Lyon", "Bo": "LYON"}, {"P": "Lyon"}),
    ({"Ann": "Lyon", "Bo": "Nice"}, {"P": "lyon"}),
])  # fmt: skip
def test_names_that_differ_in_spelling_only_are_refused(options: Any, evaluators: Any) -> None:
    with pytest.raises(eh.InputError, match="differ in capitals"):
        eh.Questions.panel(options, evaluators)


def general(**more: Any) -> eh.Questions:
    arguments: dict[str, Any] = {
        "options": [[1.0, 0.0], [0.0, 1.0]],
        "features": [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [0.5, 0.5]],
        "attributes": [[1.0], [0.0], [0.0], [1.0]],
        "labels": ["Ann", "Bo"],
    }
    return eh.Questions(**(arguments | more))


def test_what_a_question_is_about_is_said_by_name_or_found() -> None:
    assert general().about.tolist() == [[0, -1], [1, -1], [0, 1], [-1, -1]]
    said = general(about=["Ann", "Bo", ("Ann", "Bo"), "Bo"])
    assert said.about.tolist() == [[0, -1], [1, -1], [0, 1], [1, -1]]
    assert general(about=[0, 1, (0, 1), -1]) == general()
    assert general(about=[[0, -1], [1, -1], [0, 1], [-1, -1]]) == general()


def test_columns_may_say_what_they_stand_for() -> None:
    favour = Column("own town", "bias", evaluator="P")
    assert general(attribute_names=[favour]).columns == (favour,)
    workers = general(evaluator=["P", "P", "Q", None], workload={"Q": 1})
    assert workers.evaluator.tolist() == [0, 0, 1, -1]
    assert workers.workload.tolist() == [UNLIMITED, 1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"options": [[1.0, 0.0]]}, "a choice needs two"),
        ({"options": [[1.0], [2.0]]}, "options have 1 features and questions 2"),
        ({"attributes": [[1.0]]}, "features has 4 rows and attributes 1"),
        ({"features": [[1.0, np.nan]] * 4}, r"features\[0, 1\] \('x2'\) is nan"),
        ({"about": ["Ann", "Bo"]}, "about has 2 entries"),
        ({"about": ["Ann", "Bo", "Ann", "Cy"]}, r"about\[3\] is 'Cy'"),
        ({"about": [0, 1, 2, 0]}, r"about\[2\] is 2"),
        ({"about": [0, 1, 0, (0, 1, 0)]}, r"about\[3\] is \(0, 1, 0\)"),
        ({"about": [0, 1, 0, 0.5]}, r"about\[3\] is 0.5"),
        ({"evaluator": ["P"]}, "evaluator has 1 names"),
        ({"workload": {"P": 1}}, "'P' is no evaluator"),
        ({"prices": [1.0, 2.0, 0.0, 1.0]}, r"prices\[2\] is 0"),
        ({"prices": [1.0, 2.0]}, "prices must have shape"),
        ({"prices": ["a"] * 4}, r"prices\[0\] is 'a'"),
        ({"capacity": [1, 2]}, "capacity must be one whole number or 4"),
        ({"labels": ["Ann", "Ann"]}, "stands in 2 rows"),
        ({"groups": ["a"]}, "groups has 1 entries"),
        ({"attribute_names": ["a", "b"]}, "attribute_names has 2 names"),
    ],
)
def test_questions_that_cannot_be_are_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(eh.InputError, match=words):
        general(**wrong)


def test_some_questions_are_available() -> None:
    questions = panel(capacity=3)
    assert questions.restrict(["P"]).capacity.tolist() == [3, 0] * 3
    assert questions.restrict([0, 5]).capacity.tolist() == [3, 0, 0, 0, 0, 3]
    assert questions.restrict(np.arange(6) < 2).capacity.tolist() == [3, 3, 0, 0, 0, 0]
    with pytest.raises(eh.InputError, match="no evaluator 'R'"):
        questions.restrict(["R"])
    with pytest.raises(eh.InputError, match="no question about 'Di' to 'P'"):
        questions.find(["Di"], ["P"])


@settings(max_examples=30)
@given(panels())
def test_questions_go_through_json_and_pickle(questions: eh.Questions) -> None:
    through_json = eh.Questions.from_dict(json.loads(json.dumps(questions.to_dict())))
    for again in (through_json, pickle.loads(pickle.dumps(questions))):
        assert again == questions
        assert hash(again) == hash(questions)
        np.testing.assert_array_equal(again.points, questions.points)
        with pytest.raises(ValueError, match="read-only"):
            again.prices[0] = 2.0
    if len(set(questions.capacity.tolist())) > 1:
        assert questions.restrict(questions.capacity == questions.capacity.min()) != questions


@pytest.mark.parametrize("part", sorted(panel().to_dict()))
def test_a_value_that_is_no_questions_is_refused(part: str) -> None:
    questions = with_exact_features(panel(noise=2.0), [[1.0], [2.0], [3.0]])
    without = questions.to_dict()
    del without[part]
    with pytest.raises(eh.InputError, match=f"no questions as to_dict.*{part}"):
        eh.Questions.from_dict(without)
    with pytest.raises(eh.InputError, match=part):
        eh.Questions.from_dict(questions.to_dict() | {part: 17})


def test_parts_that_contradict_each_other_are_refused() -> None:
    whole = panel().to_dict()
    for change in (
        {"about": [[9, -1]] * 6},
        {"evaluator": [5] * 6},
        {"columns": []},
        {"options": ["Ann", "Ann", "Bo"]},
        {"groups": ["fr"]},
        {"evaluators": ["P"]},
    ):
        with pytest.raises(eh.InputError, match="contradict other parts"):
            eh.Questions.from_dict(whole | change)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("questions", lambda places: [*places[:-1], 99]),
        ("questions", lambda places: [-1, *places[1:]]),
        ("questions", lambda places: [9**9, *places[1:]]),
        ("questions", lambda places: places[1:]),
        ("columns", lambda places: [*places[:-1], 99]),
        ("columns", lambda places: [-1, *places[1:]]),
        ("columns", lambda places: places[1:]),
        ("entries", lambda entries: [-1e308, *entries[1:]]),
        ("entries", lambda entries: [None, *entries[1:]]),
        ("entries", lambda entries: [float("nan"), *entries[1:]]),
    ],
)
def test_a_matrix_is_checked_before_anything_relies_on_it(part: str, change: Any) -> None:
    """Some of these ended the process: scipy takes the places of a sparse matrix for granted."""
    whole = panel().to_dict()
    whole["rows"][part] = change(whole["rows"][part])
    with pytest.raises(eh.InputError, match="these are no questions as to_dict"):
        eh.Questions.from_dict(whole)


def test_questions_in_another_order_than_options_have_their_own_names() -> None:
    unit = np.eye(3)
    turned = eh.Questions(unit, unit[[2, 0, 1]], np.ones((3, 1)), labels=["Ann", "Bo", "Cy"])
    assert turned.labels == ("Cy", "Ann", "Bo")
    assert [turned.label(x) for x in range(3)] == list(turned.labels)
